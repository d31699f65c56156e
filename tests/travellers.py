"""The one table of objects that travel between processes, and what each does when it arrives.

``TRAVELLERS`` names them: an object is made fresh or in the middle of a game, and ``use`` gives
all that its calls return, the same for every copy.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helpers
import numpy as np
import onnx_models

import card_envs
from card_envs.agents import (
    FunctionAgent,
    NetworkAgent,
    RandomAgent,
    SearchAgent,
    TreeSearchAgent,
    choose,
    make_agent,
)
from card_envs.agents.onnx import OnnxAgent, OnnxModel, RecurrentOnnxAgent
from card_envs.agents.programs.reports import ProgramReport
from card_envs.agents.table import Table
from card_envs.contract.agent import Agent, Turn, turn_of
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.datasets import Recording
from card_envs.engine.arena import Arena
from card_envs.engine.history import Replay
from card_envs.engine.templates import NOBODY
from card_envs.envs.aec import CardEnv
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.parallel import ParallelCardEnv
from card_envs.envs.redrawn_worlds import world, worlds
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.evaluation import Rankings, evaluate, play_deals, run_tournament
from card_envs.evaluation.benchmark import run_benchmark
from card_envs.evaluation.protocol import Pool, Protocol
from card_envs.render import picture
from card_envs.render.text import describe, draw
from card_envs.text.env import TextEnv
from card_envs.text.game import Reply
from card_envs.text.seat import TextSeatEnv

_PLAYER = Path(__file__).parent / "fixtures" / "programs" / "player.py"
PROGRAM = "cmd:" + shlex.join([sys.executable, str(_PLAYER), "counts events"])

# What has happened before an object travels, and what follows.
_BEFORE, _AFTER = 1, 4  # the shortest games have two decisions


@dataclass(frozen=True)
class Traveller:
    """An object of the table."""

    make: Callable[[Game], Any]
    use: Callable[[Any], list[Any]]
    #: Plays a game to its middle; None: there are no games in it.
    begin: Callable[[Any], Any] | None = None


def first_legal(observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
    return action_mask.argmax(axis=1)


# ---------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------


def begin_aec(env: Any) -> None:
    env.reset(seed=1)
    for _ in range(_BEFORE):
        env.step(env.legal_actions()[0])


def use_aec(env: Any) -> list[Any]:
    if not hasattr(env, "agents"):
        env.reset(seed=1)
    seen = [
        env.save(),
        env.state(),
        env.clone().save(),
        env.unflatten(env.last()[0]["observation"]),
    ]
    world = env.clone()
    world.determinize(env.agent_selection, 1)
    seen += [world.legal_actions(), world.states.tobytes(), env.render()]
    for _ in range(_AFTER):
        if not env.agents:
            env.reset()
        seen += [env.last(), env.infos]
        env.step(env.legal_actions()[0] if env.legal_actions() else None)
    for agent in ("random", "ppo" if card_envs.agents.shipped_policies(env.game) else "random"):
        env.reset(seed=2)
        seen.append(choose(make_agent(agent, env.game), env.game, env.states))
    env.load(env.save())
    return [*seen, env.observe(env.agent_selection)]


def begin_parallel(env: Any) -> None:
    env.reset(seed=1)
    for _ in range(_BEFORE):
        env.step({env.aec_env.agent_selection: env.aec_env.legal_actions()[0]})


def use_parallel(env: Any) -> list[Any]:
    seen: list[Any] = []
    if not hasattr(env.aec_env, "agents"):
        seen.append(env.reset(seed=1))
    for _ in range(_AFTER):
        agent, legal = env.aec_env.agent_selection, env.aec_env.legal_actions()
        seen.append(env.step({agent: legal[0]}) if legal else env.reset(seed=1))
    return [*seen, env.reset()]


def _step_seat(env: Any) -> Any:
    masks = env.action_masks()
    if masks.ndim == 1 and not masks.any():
        return env.reset()
    return env.step(masks.argmax(axis=-1))


def begin_seat(env: Any) -> None:
    env.reset(seed=1)
    for _ in range(_AFTER):
        _step_seat(env)


def use_seat(env: Any) -> list[Any]:
    seen: list[Any] = []
    if not env._games.has_begun:
        seen.append(env.reset(seed=1))
    seen += [env.render(), *(_step_seat(env) for _ in range(_AFTER)), env.reset(), env.render()]
    env.close()
    return seen


def begin_batch(batch: Any) -> None:
    _, action_mask = batch.reset(seed=1)
    for _ in range(_BEFORE):
        _, action_mask, *_ = batch.step(action_mask.argmax(axis=1))


def use_batch(batch: Any) -> list[Any]:
    if not batch.states["num_players"].any():
        batch.reset(seed=1)
    game, states = batch.game, batch.states
    action_mask = np.zeros((len(states), game.num_actions), np.int8)
    for i in range(len(states)):
        game.rules.legal_action_mask(states, i, action_mask[i])
    seen = [batch.current_player.copy(), batch.game_seeds.copy(), batch.state()]
    for _ in range(_AFTER):
        result = [array.copy() for array in batch.step(action_mask.argmax(axis=1))]
        action_mask = result[1]
        seen += result
    return [*seen, batch.reset(seed=2)[0].copy()]


def begin_arena(arena: Any) -> None:
    count, n = len(arena.states), arena.game.min_players
    seating = np.tile(np.arange(arena.game.max_players) % len(arena.agents), (count, 1))
    seeds, counts = np.arange(1, count + 1, dtype=np.uint64), np.full(count, n)
    arena.start(np.arange(count), seeds, counts, seating)
    _act_in_arena(arena)


def _act_in_arena(arena: Any) -> list[Any]:
    games = np.flatnonzero(arena.waiting != NOBODY)
    arena.act(games, arena.action_mask[games].argmax(axis=1))
    return [arena.returns.copy(), arena.observation.copy(), arena.histories.copy()]


def use_arena(arena: Any) -> list[Any]:
    if not arena.states["num_players"].any():
        begin_arena(arena)
    seen = [_act_in_arena(arena) for _ in range(_AFTER)]
    begin_arena(arena)
    for agent in arena.agents:
        if agent is not None:
            agent.close()
    return [*seen, arena.states.tobytes()]


def begin_learner_games(games: Any) -> None:
    games.reset(1)


def use_learner_games(games: Any) -> list[Any]:
    if not games.learner_seats.size or not games.arena.states["num_players"].any():
        games.reset(1)
    seen: list[Any] = []
    for _ in range(_AFTER):
        rewards, terminated, truncated = games.step(games.arena.action_mask.argmax(axis=1))
        seen += [rewards, terminated, games.arena.observation.copy()]
        ended = np.flatnonzero(terminated | truncated)
        games.observe_ended(ended)
        games.reset_next(ended)
    return seen


def begin_text(env: Any) -> None:
    env.reset(seed=1)
    for _ in range(_BEFORE):
        env.step(env.legal_actions[0])


def use_text(env: Any) -> list[Any]:
    if env._env is None:
        env.reset(seed=1)
    seen: list[Any] = []
    for _ in range(_AFTER):
        seen += [env.get_observation(), env.step("?")]
        seen.append(env.step(env.legal_actions[0]))
        if seen[-1][0]:
            env.reset()
    return [*seen, env.rewards, env.game_info, env.aec.save()]


def begin_text_seat(env: Any) -> None:
    _, info = env.reset(seed=1)
    for _ in range(_BEFORE):
        *_, over, cut, info = env.step(info["legal_actions"][0])
        if over or cut:
            env.reset()


def use_text_seat(env: Any) -> list[Any]:
    seen: list[Any] = []
    if not env._games.has_begun:
        seen.append(env.reset(seed=1))
    for _ in range(_AFTER):
        seen.append(env.step("?"))
        seen.append(env.step(seen[-1][-1]["legal_actions"][0]))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    seen += [env.render(), env.reset()]
    env.close()
    return seen


def make_table(game: Game) -> Table:
    agents = ["random", PROGRAM, first_legal, None]
    return Table(game.name, [agents[k % 4] for k in range(game.default_players)], seed=1)


def begin_table(table: Any) -> None:
    _step_table(table)


def _step_table(table: Any) -> int:
    agent = table.agents[table.player]
    return table.step(table.legal_actions()[0] if agent is None else None)


def use_table(table: Any) -> list[Any]:
    seen: list[Any] = []
    for _ in range(_AFTER):
        if table.is_over:
            seen += [table.places, table.returns.copy()]
            table.begin(2)
        seen += [_step_table(table), table.history, table.states.tobytes()]
    table.undo(0)
    seen += [table.player, table.history, table.legal_actions()]
    table.forfeit(table.player)
    table.close()
    return [*seen, table.returns]


def _turn(game: Game, view: View = View()) -> Turn:
    """Two games that wait."""
    positions = []
    for seed in (1, 2):
        env = card_envs.make(game.name, num_players=game.min_players)
        env.reset(seed=seed)
        positions.append(env.states)
    return turn_of(game, helpers.stacked(game, positions), np.arange(2), view)


@dataclass
class AgentOfGame:
    """An agent, and the game to ask it about."""

    agent: Agent
    game: Game


def begin_agent(one: AgentOfGame) -> None:
    one.agent.act(_turn(one.game, one.agent.view))


def use_agent(one: AgentOfGame) -> list[Any]:
    """It is asked, also about records that may not be written, and plays for others."""
    agent, game = one.agent, one.game
    turn = _turn(game, agent.view)
    turn.states.flags.writeable = False
    turns = [turn, Turn(game, turn.states, turn.indices, turn.observation, turn.action_mask)]
    seen = [agent.act(turns[1]) for _ in range(3)]
    seen.append([choose(agent, game, turn.states, i) for i in range(2)])
    if isinstance(agent, NetworkAgent):
        seen.append(agent.probabilities(turns[1]))
    arena = Arena(game, 2, [agent, None], keep_histories=True, max_steps=30)
    seen += use_arena(arena)
    agent.close()
    return seen


def use_turn(turn: Any) -> list[Any]:
    seen = [turn.states.tobytes(), turn.observation, turn.action_mask, len(turn)]
    for name in card_envs.agents.agent_names(turn.game):
        agent = make_agent(name, turn.game)
        seen += [agent.act(turn), choose(agent, turn.game, turn.states)]
    search = make_agent("search:8,policy=random", turn.game)
    return [*seen, search.act(turn), describe(turn.game, turn.states, 1, 0)]


def use_network(network: Any) -> list[Any]:
    inputs, outputs = network.sizes
    observation, mask = np.ones((3, inputs), np.float32), np.ones((3, outputs), np.int8)
    streams = np.zeros(1, np.uint64)
    return [
        network.act(observation, mask),
        network.act(observation, mask, streams),
        network.logits(observation),
        network.at_temperature(2.0).logits(observation),
    ]


def make_recording(game: Game) -> Recording:
    agents = ["random"] * game.min_players
    return Recording(game, agents, games=3, seed=1, options={"max_steps": 40})


def use_recording(recording: Any) -> list[Any]:
    return [each for games in recording for each in use_recorded(games)]


def use_recorded(games: Any) -> list[Any]:
    seen = [replay.to_json() for replay in games.replays()]
    return [*seen, *(use_decisions(one) for one in games.first_agents_decisions())]


def use_decisions(decisions: Any) -> list[Any]:
    return list(vars(decisions).values())


def make_replay(game: Game) -> Replay:
    env = card_envs.make(game.name, num_players=game.min_players)
    begin_aec(env)
    env.determinize(env.agent_selection, 3)
    return Replay.of(env)


def use_results(results: Any) -> list[Any]:
    return [results.rank, results.win, results.truncated_share]


def _benchmark(game: Game) -> Any:
    pool = Pool(("random",), "")
    protocol = Protocol("ce-1", "draft", 1, 5, 2, 2, {game.name: pool})
    return protocol, run_benchmark(game, "random", protocol, quick=True)


def use_benchmark(benchmarked: Any) -> list[Any]:
    protocol, result = benchmarked
    return [protocol.pools, result.to_json()]


def make_faulty(game: Game) -> ProgramReport:
    """The record of a program that has failed."""
    agents = ["cmd:false", *["random"] * (game.min_players - 1)]
    return play_deals(game, agents, np.ones(1, np.uint64)).programs[0]


def make_rankings(game: Game) -> Any:
    agents = ["random"] * game.min_players
    standing = play_deals(game, agents, np.arange(5, dtype=np.uint64), {"max_steps": 40}).standing
    rankings = Rankings(game.min_players, [(tuple(range(game.min_players)), standing)])
    return rankings, rankings.ratings(2, np.random.default_rng(1))


def use_rankings(pair: Any) -> list[Any]:
    rankings, estimates = pair
    return [*estimates, *rankings.ratings(2, np.random.default_rng(1))]


def use_data_of(data: Any) -> list[Any]:
    fields, actions, options, style, *scenes = data
    return [
        fields.fingerprint,
        [actions.to_dict(action) for action in range(actions.size)],
        actions.features,
        fields.unflatten(np.zeros(fields.size, np.float32)),
        [option.check(option.default) for option in options],
        style.faces,
        [draw(scene) for scene in scenes],
    ]


def make_data_of(game: Game) -> Any:
    """What belongs to a game and to a position, as data."""
    env = card_envs.make(game.name, max_steps=1)
    env.reset(seed=1)
    begun = game.scene(env.states, 0, 0, 0, True)
    env.step(env.legal_actions()[0])
    ended = game.scene(env.states, 0, 0, 0, True)
    return game.fields, game.actions, game.options, game.style, begun, ended


def use_world(env: Any) -> list[Any]:
    seen = [env.states.tobytes(), env.last(), env.clone().states.tobytes()]
    for _ in range(_AFTER):
        env.step(env.legal_actions()[0] if env.legal_actions() else None)
        seen.append(env.last() if env.agents else env.states.tobytes())
    return seen


def use_worlds(batch: Any) -> list[Any]:
    seen = [batch.observation, batch.action_mask]
    seen += batch.step(batch.action_mask.argmax(axis=1))
    return [*seen, *batch.reset(3)]


def make_picture(game: Game) -> picture.Picture:
    env = card_envs.make(game.name)
    env.reset(seed=1)
    return picture.draw(game.scene(env.states, 0, 0, 0, True), game.style)


def use_as_it_is(value: Any) -> list[Any]:
    return [repr(value)]


def _deals(game: Game) -> Any:
    seeds = np.arange(1, 6, dtype=np.uint64)
    return play_deals(game, ["random"] * game.min_players, seeds, {"max_steps": 40})


def _evaluation(game: Game) -> Any:
    return evaluate(game, ["random"] * game.min_players, 5, 1, {"max_steps": 40})


def _tournament(game: Game) -> Any:
    agents = [FunctionAgent(name, first_legal) for name in "abcdefgh"[: game.min_players + 1]]
    return run_tournament(game, agents, game.min_players, 5, 1, {"max_steps": 40})


def _policy(game: Game, **arguments: Any) -> NetworkAgent:
    return NetworkAgent(helpers.network_of(game, activation="relu"), "policy", **arguments)


def _search(game: Game) -> SearchAgent:
    return SearchAgent(game, rollouts=8, policy=_policy(game), proposer=_policy(game, seed=1))


# ---------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------


def _env(kind: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[Game], Any]:
    """Makes an environment; an option that is a function of the game is called with it."""

    def make(game: Game) -> Any:
        own = {key: value(game) if callable(value) else value for key, value in options.items()}
        return kind(game.name, *arguments, **own)

    return make


def _agent(make: Callable[[Game], Agent]) -> Traveller:
    return Traveller(lambda game: AgentOfGame(make(game), game), use_agent, begin_agent)


def _seats(opponents: Any, count: int = 3) -> dict[str, Traveller]:
    """One seat, alone and in a vector, against these opponents."""
    vector = _env(SingleSeatVectorEnv, count, opponents=opponents)
    return {
        "seat": Traveller(
            _env(SingleSeatEnv, opponents=opponents, render_mode="ansi"), use_seat, begin_seat
        ),
        "vector": Traveller(vector, use_seat, begin_seat),
        "text seat": Traveller(
            _env(TextSeatEnv, opponents=opponents, render_mode="ansi"),
            use_text_seat,
            begin_text_seat,
        ),
    }


_OPPONENTS: dict[str, Callable[[Game], Any]] = {
    "random": lambda game: "random",
    "policy": _policy,
    "function": lambda game: first_legal,
    "search": _search,
    "program": lambda game: PROGRAM,
}


def _sb3() -> dict[str, Traveller]:
    """What Stable-Baselines3 is given, where it is installed."""
    if not helpers.HAS_TRAINING:
        return {}
    from sb3_contrib import MaskablePPO

    from card_envs.integrations import sb3, sb3_evaluation

    def begin(env: Any) -> None:
        env.seed(1)
        env.reset()
        use(env)

    def use(env: Any) -> list[Any]:
        seen = []
        if not env.games.learner_seats.any():
            env.seed(1)
            seen.append(env.reset())
        for _ in range(_AFTER):
            seen.append(env.step(np.stack(env.env_method("action_masks")).argmax(axis=1)))
        return [*seen, env.get_attr("num_players"), env.reset()]

    def make_agent_of_model(game: Game) -> Agent:
        env = sb3.make_vec_env(game.name, 2, opponents="random")
        return sb3_evaluation.as_agent(MaskablePPO("MlpPolicy", env, seed=1, device="cpu"))

    return {
        "sb3": Traveller(_env(sb3.make_vec_env, 3, seat=1), use, begin),
        "model": _agent(make_agent_of_model),
    }


TRAVELLERS: dict[str, Traveller] = {
    "aec": Traveller(_env(CardEnv, render_mode="ansi"), use_aec, begin_aec),
    "parallel": Traveller(_env(ParallelCardEnv, mask="info"), use_parallel, begin_parallel),
    "batch": Traveller(_env(card_envs.make_vec, 5), use_batch, begin_batch),
    "units": Traveller(
        _env(card_envs.make_vec, 5, observation_dtype="uint8"), use_batch, begin_batch
    ),
    "text": Traveller(_env(TextEnv), use_text, begin_text),
    "table": Traveller(make_table, use_table, begin_table),
    **{
        f"{kind} against {name}": traveller
        for name, opponents in _OPPONENTS.items()
        for kind, traveller in _seats(opponents).items()
    },
    "arena": Traveller(
        lambda game: Arena(game, 3, [None, _policy(game, seed=1)], keep_histories=True),
        use_arena,
        begin_arena,
    ),
    "learner's games": Traveller(
        lambda game: LearnerGames(game, 3, opponents=first_legal),
        use_learner_games,
        begin_learner_games,
    ),
    "random": _agent(RandomAgent),
    "heuristic": _agent(lambda game: make_agent(game.default_opponent, game)),
    "shipped": _agent(lambda game: make_agent(card_envs.agents.agent_names(game)[-1], game)),
    "policy": _agent(_policy),
    "policy that samples": _agent(lambda game: _policy(game, seed=3)),
    "policy that draws": _agent(lambda game: _policy(game, draw_seed=3)),
    "function": _agent(lambda game: FunctionAgent("first", first_legal)),
    "search": _agent(_search),
    "tree search": _agent(lambda game: TreeSearchAgent(game, rollouts=8)),
    "program": _agent(lambda game: make_agent(PROGRAM, game)),
    "model of ONNX": _agent(
        lambda game: OnnxAgent(
            OnnxModel(onnx_models.linear(game, -np.arange(game.num_actions), None)), game, "onnx"
        )
    ),
    "recurrent model": _agent(
        lambda game: RecurrentOnnxAgent(OnnxModel(onnx_models.counting(game)), game, "recurrent")
    ),
    "turn": Traveller(_turn, use_turn),
    "world": Traveller(lambda game: world(_turn(game), 0, 5), use_world),
    "worlds": Traveller(lambda game: worlds(_turn(game), 1, 3, 5), use_worlds),
    "picture": Traveller(make_picture, lambda drawn: [drawn.svg(), drawn.pixels()]),
    "network": Traveller(helpers.network_of, use_network),
    "replay": Traveller(make_replay, lambda replay: [replay.play().tobytes(), replay.to_json()]),
    "recording": Traveller(make_recording, use_recording),
    "recorded games": Traveller(lambda game: next(iter(make_recording(game))), use_recorded),
    "decisions": Traveller(
        lambda game: next(iter(make_recording(game)).__next__().first_agents_decisions()),
        use_decisions,
    ),
    "results": Traveller(_deals, use_results),
    "evaluation": Traveller(_evaluation, lambda result: [result.to_json()]),
    "benchmark": Traveller(_benchmark, use_benchmark),
    "rankings": Traveller(make_rankings, use_rankings),
    "record of a program": Traveller(make_faulty, lambda record: [record.to_json()]),
    "answer": Traveller(lambda game: Reply(3, "why"), use_as_it_is),
    "data of a game": Traveller(make_data_of, use_data_of),
    **_sb3(),
    "tournament": Traveller(_tournament, lambda result: [result.to_json()]),
}


def names_of(game: Game) -> list[tuple[str, bool]]:
    """What travels in a game, fresh and in the middle of a game: names in the table."""
    return [
        (name, is_begun)
        for name, traveller in TRAVELLERS.items()
        for is_begun in ((False, True) if traveller.begin is not None else (False,))
    ]


def depart(game: Game, name: str, is_begun: bool) -> Any:
    """An object of the table."""
    traveller = TRAVELLERS[name]
    value = traveller.make(game)
    if is_begun and traveller.begin is not None:
        traveller.begin(value)
    return value


def arrive(name: str, value: Any) -> Any:
    """What the calls of an object return, as plain data."""
    return plain(TRAVELLERS[name].use(value))


def plain(value: Any) -> Any:
    """Data that can be compared with ==."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    return value
