"""Strength of search agents among `ppo`, their decisions a second, and where their time goes.

    python -m benchmarks.search [--game GAME] [--deals N] [--json FILE]
    python -m benchmarks.search --game franks_zoo --table 3 search:64 --table 4 search:256
    python -m benchmarks.search --speed --json FILE

A table is a number of players and a search agent, which plays against `ppo` in all other seats; or
against another policy, which then also plays the rollouts, unless the agent's name says otherwise.
Strength may be measured on a machine that does other work; speed may not: ``--speed`` measures that
of a file's tables again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from card_envs.agents import Agent, NetworkAgent, Turn, choose, make_agent
from card_envs.agents.search.agents import Searcher
from card_envs.agents.search.names import is_search, policies_of, words_of
from card_envs.commands import arguments, running
from card_envs.contract.agent import Follower, FollowingAgent
from card_envs.contract.game import Game
from card_envs.engine.templates import compile_for
from card_envs.evaluation import evaluate
from card_envs.games import load_game
from card_envs.kernels.perceptron import choose_by_network, join
from card_envs.utils.progress import track
from training.runs.evaluation import one_against
from training.runs.records import read_json

PACKAGES = ("numba", "numpy")
DEALS = 300
SPEED_DEALS = 10
MAX_STEPS = 3000

# Arguments that have nothing to do with speed.
_OF_STRENGTH = ("table", "opponent", "deals", "seed")

#: Who searches at a game's smallest table unless the command says otherwise.
DEFAULT_AGENT = "search:64"

# Positions that the cost of a search's pieces is measured in, how far each is played on, and how
# often everything is repeated.
_POSITIONS, _ROLLOUT, _REPEATS = 64, 30, 20
_PIECES = ("determinize", "network", "scripted player", "observation", "rules")


class StopwatchAgent(FollowingAgent):
    """An agent, with the CPU time of its decisions and some of its positions."""

    def __init__(self, agent: Agent, game: Game) -> None:
        self.name, self.view = agent.name, agent.view
        self.agent = agent
        self.seconds = 0.0
        self.decisions = 0
        self.positions = game.new_states(0)

    def follow(self, options: Mapping[str, Any] | None) -> StopwatchFollower:
        """One that the agent's time is taken in."""
        agent = self.agent
        told = agent.follow(options) if isinstance(agent, FollowingAgent) else None
        return StopwatchFollower(self, told)


class StopwatchFollower(Follower):
    """Passes on what happens in the games, if the agent follows them, and takes the time."""

    def __init__(self, watched: StopwatchAgent, follower: Follower | None) -> None:
        self._watched = watched
        self._follower = follower

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        """Tell the agent that a game begins."""
        if self._follower is not None:
            self._follower.begin(states, i, players)

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """Tell the agent of a decision."""
        if self._follower is not None:
            begun = time.thread_time()
            self._follower.watch(states, i, action)
            self._watched.seconds += time.thread_time() - begun

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        """The agent's actions (M,)."""
        watched = self._watched
        begun = time.thread_time()
        actions = (self._follower.decide if self._follower else watched.agent.act)(turn)
        watched.seconds += time.thread_time() - begun
        has_choice = turn.action_mask.sum(axis=1) > 1
        watched.decisions += int(has_choice.sum())
        if len(watched.positions) < _POSITIONS:
            chosen = turn.states[turn.indices[has_choice]]
            watched.positions = np.concatenate([watched.positions, chosen])
        return actions

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        """Tell the agent that a game is over."""
        if self._follower is not None:
            self._follower.end(states, i, loser)


def redraw_worlds(states, worlds, repeats):
    """Redraw what the player to move cannot know, in a copy of each game."""
    for k in range(repeats):
        for i in range(len(states)):
            worlds[i] = states[i]
            determinize(worlds, i, states[i].current_player, k)


def observe_units(states, repeats, observation):
    """Write the observation of the player to move in each game, in units."""
    for _ in range(repeats):
        for i in range(len(states)):
            observe(states, i, states[i].current_player, 0, 1, observation[i])


def follow_heuristic(states, repeats, actions):
    """Ask the scripted player for an action in each game."""
    for _ in range(repeats):
        for i in range(len(states)):
            actions[i] = heuristic(states, i)


def evaluate_network(weights, layout, observation, action_mask, streams, scratch, repeats):
    """Choose an action for each observation."""
    for _ in range(repeats):
        for i in range(len(observation)):
            choose_by_network(
                weights, layout, observation[i], SCALE, action_mask[i], 0, streams, i, scratch
            )


def replay_rollouts(positions, actions, worlds, action_mask, repeats):
    """Play recorded rollouts: the rules alone, as a rollout has them."""
    for _ in range(repeats):
        for i in range(len(positions)):
            worlds[i] = positions[i]
            for action in actions[i]:
                if action >= 0:
                    legal_action_mask(worlds, i, action_mask[i])
                    step(worlds, i, action)


def play_rollouts(
    game: Game, agent: NetworkAgent, positions: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Roll out each position.

    Returns:
        The states in which there was a choice, one after the other (their order matters: weights
        that the last evaluation used are still in the cache), and the actions (P, R), -1: none.
    """
    found = []
    actions = np.full((len(positions), _ROLLOUT), -1, np.int64)
    mask = np.zeros(game.num_actions, np.int8)
    for k in range(len(positions)):
        world = positions[k : k + 1].copy()
        for step in range(_ROLLOUT):
            legal = game.rules.legal_action_mask(world, 0, mask)
            if legal == 0:
                break
            if legal > 1:
                found.append(world.copy())
            actions[k, step] = choose(agent, game, world)
            game.rules.step(world, 0, actions[k, step])
    return np.concatenate(found), actions


def measure_pieces(
    game: Game, agent: NetworkAgent, positions: NDArray[np.void]
) -> dict[str, float]:
    """Seconds of each of a search's pieces, one by one."""
    states, actions = play_rollouts(game, agent, positions)
    count = len(states)
    observation = np.zeros((count, game.fields.size), np.uint8)
    action_mask = np.zeros((count, game.num_actions), np.int8)
    for i in range(count):
        game.rules.legal_action_mask(states, i, action_mask[i])
    weights, layouts, scratch = join([agent.network.kernel])
    scratch = np.zeros((len(scratch), max(scratch.shape[1], game.num_actions)), np.float32)
    streams = np.zeros(count, np.uint64)
    worlds = game.new_states(len(positions))
    calls: dict[str, tuple[Any, ...]] = {
        "determinize": (redraw_worlds, positions, worlds, _REPEATS),
        "rules": (replay_rollouts, positions, actions, worlds, action_mask.copy(), _REPEATS),
        "observation": (observe_units, states, _REPEATS, observation),
        "network": (
            *(evaluate_network, weights, layouts[0], observation, action_mask),
            *(streams, scratch, _REPEATS),
        ),
    }
    made = {"determinize": len(positions), "rules": int((actions >= 0).sum())}
    made |= {"observation": count, "network": count}
    if game.heuristic is not None:
        calls["scripted player"] = (follow_heuristic, states, _REPEATS, np.zeros(count, np.int64))
        made["scripted player"] = count
    seconds = {}
    for name, (template, *values) in calls.items():
        compiled = compile_for(game, template)
        compiled(*values)
        begun = time.thread_time()
        compiled(*values)
        seconds[name] = (time.thread_time() - begun) / (_REPEATS * made[name])
    return seconds


def _with_rollouts_of(opponent: str, name: str, game: Game) -> str:
    """The name of a search, to which the opponent is added as the policy if it names none."""
    names_one = any(word.startswith("policy=") for word in words_of(name))
    if names_one or not is_search(name) or policies_of(name, game)[1] == opponent:
        return name
    return f"{name},policy={opponent}"


def _searcher(game: Game, name: str, opponent: str, seed: int) -> Searcher:
    """The search agent of that name, for a table with this opponent."""
    if not isinstance(make_agent(opponent, game), NetworkAgent):
        raise ValueError(f"the opponent must be a policy, got {opponent!r}")
    searcher = make_agent(name, game, seed)
    if not isinstance(searcher, Searcher):
        raise ValueError(f"{name!r} is not a search agent, such as search:64")
    return searcher


def measure_strength(
    game: Game, num_players: int, name: str, opponent: str, deals: int, seed: int
) -> dict[str, Any]:
    """The rank reward of one search agent among copies of a policy."""
    searcher = _searcher(game, name, opponent, seed)
    found = one_against(game, searcher, opponent, num_players, deals, seed, _options(), seed)
    return {"num_players": num_players, "agent": name, **found}


def measure_speed(
    game: Game, num_players: int, name: str, opponent: str, deals: int, seed: int
) -> dict[str, Any]:
    """Decisions a second of one search agent among copies of a policy, and what they consist of."""
    searcher = _searcher(game, name, opponent, seed)
    table = [opponent] * (num_players - 1)
    evaluate(game, [searcher, *table], 2, (seed + 1) % 2**64, _options())  # compiles
    searcher.work[:] = 0
    agent = StopwatchAgent(searcher, game)
    evaluate(game, [agent, *table], deals, seed, _options())
    worlds, steps, evaluations = (int(number) / agent.decisions for number in searcher.work)
    seconds = agent.seconds / agent.decisions
    policy = make_agent(opponent, game)
    assert isinstance(policy, NetworkAgent)
    pieces = measure_pieces(game, policy, agent.positions[:_POSITIONS])
    calls = {"determinize": worlds, "network": evaluations, "observation": evaluations}
    calls["rules"] = steps
    if policies_of(name, game)[1] == "heuristic":
        calls["scripted player"] = steps
    return {
        "num_players": num_players,
        "agent": name,
        "decisions": agent.decisions,
        "decisions_per_second": 1.0 / seconds,
        "worlds": worlds,
        "rollout_decisions": steps,
        "evaluations": evaluations,
        "shares": {
            name: calls.get(name, 0.0) * pieces.get(name, 0.0) / seconds for name in _PIECES
        },
    }


def _options() -> dict[str, Any]:
    return {"max_steps": MAX_STEPS}


def measure(
    game_id: str, tables: Sequence[tuple[int, str]], opponent: str, deals: int, seed: int
) -> dict[str, Any]:
    """Measure search agents among copies of a policy.

    Args:
        game_id: The game.
        tables: Numbers of players, and names of search agents.
        opponent: The policy.
        deals: Duplicate deals, each played in all cyclic seatings.
        seed: Of the deals.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: A number or a name is not allowed; the message says what is.
    """
    game = load_game(game_id)
    tables = [(players, _with_rollouts_of(opponent, name, game)) for players, name in tables]
    for players, name in tables:
        game.check_num_players(players)
        _searcher(game, name, opponent, seed)  # a mistake in the last one must not come up late
    played = (
        measure_strength(game, players, name, opponent, deals, seed) for players, name in tables
    )
    rows = list(track(played, "tables", len(tables)))
    arguments = ["--game", game.id, "--deals", str(deals), "--seed", str(seed)]
    arguments += ["--opponent", opponent]
    for players, name in tables:
        arguments += ["--table", str(players), name]
    settings = {"deals": deals, "seed": seed, "opponent": opponent, "max_steps": MAX_STEPS}
    measured = report.document("search", game.id, arguments, PACKAGES, settings, {"tables": rows})
    return with_speed(measured)


def with_speed(measured: dict[str, Any]) -> dict[str, Any]:
    """The document with the speed of its tables measured again, by itself a document too."""
    game, settings = load_game(measured["game"]), measured["settings"]
    seed, deals = settings["seed"], min(SPEED_DEALS, settings["deals"])
    rows = [
        measure_speed(game, row["num_players"], row["agent"], settings["opponent"], deals, seed)
        for row in measured["results"]["tables"]
    ]
    arguments = ["--game", game.id, "--speed", "--json"]
    arguments.append(f"benchmarks/results/search_{game.id}.json")
    speed = report.document(
        "search", game.id, arguments, PACKAGES, {"deals": deals}, {"tables": rows}
    )
    results = {"tables": measured["results"]["tables"], "speed": speed}
    return {**measured, "results": results}


@running.command("benchmarks.search")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.search``."""
    parser = arguments.module_parser("benchmarks.search", __doc__)
    parser.add_argument(
        "--table",
        nargs=2,
        action="append",
        metavar=("PLAYERS", "AGENT"),
        help="a number of players and a search agent; may be repeated; default: search:64 at the "
        "smallest table",
    )
    parser.add_argument("--opponent", metavar="POLICY", help="in all other seats; default: ppo")
    parser.add_argument("--deals", type=int, help=f"default: {DEALS}")
    parser.add_argument("--seed", type=int, help="of the deals; default: 0")
    parser.add_argument(
        "--speed", action="store_true", help="measure the speed of the tables in --json FILE again"
    )
    args = report.parse_arguments(parser, argv)
    if args.speed:
        for name in _OF_STRENGTH:
            if getattr(args, name) is not None:
                raise ValueError(f"--speed measures what is in --json FILE: leave out --{name}")
        earlier = _earlier(args.json)
        report.finish(args, lambda: with_speed(earlier))
        return
    if args.table is None:
        tables = [(load_game(args.game).min_players, DEFAULT_AGENT)]
    else:
        tables = [(_number(players), name) for players, name in args.table]
    deals = DEALS if args.deals is None else args.deals
    if deals < 2:
        raise ValueError("--deals must be at least 2")
    report.finish(
        args,
        lambda: measure(args.game, tables, args.opponent or "ppo", deals, args.seed or 0),
    )


def _earlier(path: Path | None) -> dict[str, Any]:
    """The document whose speed is to be measured."""
    if path is None or not path.exists():
        raise ValueError("--speed needs --json FILE, a file that benchmarks.search has written")
    measured = read_json(path)
    if not isinstance(measured, dict) or measured.get("benchmark") != "search":
        raise ValueError(f"--json: {path} is no result of benchmarks.search")
    return measured


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--table: PLAYERS must be a whole number, got {text!r}") from None


if __name__ == "__main__":
    raise SystemExit(main())
