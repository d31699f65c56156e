"""The learner: who sits where, advantages of every seat, the update's formula, what it learns."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from exploitability import exploitability
from helpers import EACH_GAME, FEW_GAMES, SCRIPTED, SMALL, needs_training
from random_policies import policy_file, random_network
from tiny_runs import tiny_run

import card_envs
from card_envs.agents import NetworkAgent
from card_envs.contract.agent import turn_of
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.engine.seeds import next_seed
from card_envs.engine.templates import write_full_states
from training import ppo, train
from training.games.host import HostGames
from training.games.tables import LEARNER, Tables
from training.networks.legal_actions import evaluate_actions
from training.networks.sparse import SparseRows, as_dense
from training.ppo import PPO
from training.runs.config import PoolSection
from training.runs.run import Run
from training.train import make_learner

pytestmark = [needs_training, pytest.mark.usefixtures("on_one_core")]
HERE = Path("unused")


def learner_of(game: Game, *overrides: str) -> PPO:
    """A learner whose games have begun."""
    learner = make_learner(tiny_run(game, HERE, *overrides))
    learner.begin()
    return learner


def games_of(game: Game, *overrides: str) -> HostGames:
    """Such a learner's games."""
    return learner_of(game, *overrides).games


# ---------------------------------------------------------------------------------------------
# Who sits where
# ---------------------------------------------------------------------------------------------


def tables_of(count: int = 400, own: int = 100, block: int = 30) -> Tables:
    return Tables(
        count,
        [2, 4],
        np.array([0.75, 0.25]),
        own_games=own,
        block_size=block,
        max_players=5,
        seed=3,
    )


@pytest.mark.parametrize(("share", "games"), [(0, 0), (0.01, 1), (0.5, 4), (0.99, 7), (1, 8)])
def test_a_share_of_the_games_is_none_or_all_only_if_it_is_0_or_1(share, games):
    others = {} if share == 1 else {"agents": {"random": 1}}
    opponents = json.dumps({"self": share, **others})
    tables = games_of(SMALL, "environment.num_envs=8", f"opponents={opponents}").tables
    assert sum(block.stop - block.start for block in tables.blocks) == 8 - games


def test_own_games_come_first_and_the_others_lie_in_blocks():
    tables = tables_of()
    assert (tables.seating[:100] == LEARNER).all()
    assert np.bincount(tables.num_players[:100]).tolist() == [0, 0, 75, 0, 25]
    tables.redraw([1, 3], [1, 2], 0.0)
    assert [(block.start, block.stop) for block in tables.blocks] == [
        (k, min(k + 30, 400)) for k in range(100, 400, 30)
    ]
    for block in tables.blocks:
        num_players = set(tables.num_players[block].tolist())
        (row,) = {tuple(row) for row in tables.seating[block].tolist()}
        (players,) = num_players
        assert row[:players].count(LEARNER) == 1
        assert set(row[players:]) <= {LEARNER}  # nobody sits in absent seats


def test_pure_self_play_can_be_said_in_full():
    said = {"self": 1, "pool": 0, "agents": {}}
    assert PoolSection.model_validate(said).own == 1
    for own in (0, 0.5):
        with pytest.raises(ValueError, match="pool or one of agents must be above 0"):
            PoolSection.model_validate({**said, "self": own})


def test_a_block_is_redrawn_when_no_game_plays_its_old_table():
    tables = tables_of()
    tables.redraw([1], [1], 0.0)
    assert not tables.is_present[100:].any()
    before = tables.seating.copy()
    tables.is_present[:] = True
    tables.is_present[tables.blocks[1].start] = False  # this game still plays the old one
    tables.redraw([1], [7], 0.0)
    for k, block in enumerate(tables.blocks):
        assert (tables.seating[block] == before[block]).all() == (k == 1)
        assert tables.is_present[block].sum() == (29 if k == 1 else 0)
    assert tables.is_present[:100].all()


@pytest.mark.parametrize("same_agent", [0.0, 0.4])
def test_tables_are_drawn_in_the_configured_proportions(same_agent):
    tables = tables_of(16_000, 0, 1)
    tables.redraw([3, 2, 5], [1, 2, 3], same_agent)
    full = tables.seating[tables.num_players == tables.num_players.max()]
    others = np.sort(full, axis=1)[:, 2:]  # the learner is 0, in its seat and in an absent one
    shares = np.bincount(others.ravel(), minlength=4) / others.size
    assert shares == pytest.approx([0.0, 0.3, 0.2, 0.5], abs=0.02)
    have_one = (others == others[:, :1]).all(axis=1)
    by_chance = 0.3**3 + 0.2**3 + 0.5**3
    assert have_one.mean() == pytest.approx(same_agent + (1 - same_agent) * by_chance, abs=0.03)
    assert (tables.num_players == 2).mean() == pytest.approx(0.75, abs=0.03)
    seats = np.argmin(tables.seating, axis=1)  # the first one is the learner's own
    for players in (2, 4):
        counts = np.bincount(seats[tables.num_players == players])
        assert counts / counts.sum() == pytest.approx(np.full(players, 1 / players), abs=0.05)


def test_games_take_a_blocks_new_table_when_they_are_reset():
    opponents = (
        "opponents={self: 0.25, pool: 0.5, agents: {random: 0.5}, block_size: 4, pool_size: 2}"
    )
    games = games_of(SCRIPTED, opponents, "environment.num_envs=16")
    rng = np.random.default_rng(0)
    played = games.arena.seating.copy()
    assert (played[:4] == LEARNER).all()
    changed = 0
    for step in range(120):
        if step % 10 == 0:
            games.add_snapshot(random_network(SCRIPTED, seed=step))
            assert len(games.pool) <= 2
        mask = games.arena.action_mask
        outcome = games.step((rng.random(mask.shape) * mask).argmax(axis=1))
        stays = np.setdiff1d(games.all, outcome.ended)
        assert (games.arena.seating[stays] == played[stays]).all()
        assert (games.arena.seating[outcome.ended] == games.tables.seating[outcome.ended]).all()
        changed += int((games.arena.seating[4:] != played[4:]).any())
        played = games.arena.seating.copy()
        # Whoever is seated is there: no snapshot that is still needed was replaced.
        for agent in games.arena.agents[2:]:
            assert agent.name == "snapshot"
        assert played.max() < len(games.arena.agents)
        assert set(games.arena.states["current_player"][4:]) <= set(range(SCRIPTED.max_players))
        seats = games.arena.seating[games.all, games.players]
        assert (seats == LEARNER).all()
    assert changed > 3


def test_the_present_policy_stands_for_the_pool_until_there_is_a_snapshot():
    learner = learner_of(SCRIPTED, "opponents={pool: 1, agents: {}}")
    assert learner.games.pool == []
    before = learner.games.arena.agents[1].network
    learner.collect()
    learner.update()
    stands = learner.games.arena.agents[1].network
    now = learner.networks.actor.network()
    for (weight, _), (other, _), (old, _) in zip(
        stands.layers, now.layers, before.layers, strict=True
    ):
        assert (weight == other).all()
        assert (weight != old).any()
    learner.games.add_snapshot(learner.policy())
    (place,) = learner.games.pool
    learner.update()
    snapshot = learner.games.agents[place].network
    assert snapshot.layers[0][0].shape == stands.layers[0][0].shape


def test_all_table_sizes_are_played_by_their_weights():
    sizes = SCRIPTED.table_sizes
    weights = [3, *[0] * (len(sizes) - 2), 1]
    count = ["environment.num_envs=400", f"environment.table_weights={weights}"]
    num_players = games_of(SCRIPTED, *count).arena.states["num_players"]
    assert (num_players == sizes[0]).sum() == 300
    assert (num_players == sizes[-1]).sum() == 100


def test_the_learners_share_of_the_decisions_follows_from_who_sits_there(tmp_path):
    """Three in four of the other agents are networks, which are asked as the learner is."""
    low, high = SCRIPTED.min_players, SCRIPTED.max_players
    policy = policy_file(SCRIPTED, tmp_path / "other.safetensors")
    weights = f"environment.table_weights={[3, *[0] * (high - low - 1), 1]}"
    agents = f"pool: 2, agents: {{random: 1, {policy}: 1}}"
    among_others = 0.75 / (1 + 0.75 * (low - 1)) + 0.25 / (1 + 0.75 * (high - 1))
    for own, expected in (
        (0, among_others),
        (0.25, 0.25 + 0.75 * among_others),
        (1, 1),  # nobody else plays
    ):
        run = tiny_run(SCRIPTED, HERE, weights, f"opponents={{self: {own}, {agents}}}")
        assert make_learner(run).games.own_decisions == pytest.approx(expected)


def test_the_policy_joins_the_pool_every_few_updates():
    learner = learner_of(SMALL, "opponents={self: 0, pool: 1, agents: {}, snapshot_every: 2}")
    sizes = []
    for _ in range(5):
        learner.iterate()
        sizes.append(len(learner.games.pool))
    assert sizes == [0, 0, 1, 1, 2]


def test_runs_of_different_seeds_play_different_deals():
    dealt = [set(games_of(SMALL, f"seed={seed}")._seeds.tolist()) for seed in range(4)]
    assert len(set.union(*dealt)) == 4 * 8


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("features", [True, False])
def test_the_learner_and_its_snapshots_observe_in_the_view_of_the_configuration(memory, features):
    options = f"environment.options={{memory: {memory}, features: {str(features).lower()}}}"
    games = games_of(SCRIPTED, options, "opponents={pool: 1, agents: {}}")
    assert games.view == View(memory, features)
    games.add_snapshot(random_network(SCRIPTED))
    assert [games.agents[k].view for k in games.pool] == [games.view]
    for _ in range(10):
        turn = turn_of(SCRIPTED, games.arena.states, games.all, games.view)
        assert (games.observe()[:, : SCRIPTED.fields.size] == turn.observation).all()
        games.step(games.arena.action_mask.argmax(axis=1))


# ---------------------------------------------------------------------------------------------
# What the critic sees
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("critic", ["observation", "state", "both"])
@pytest.mark.parametrize("game", FEW_GAMES)
def test_the_critic_sees_what_it_is_to_see_and_the_actor_the_observation(game, critic):
    learner = learner_of(game, f"network.critic={critic}", "opponents.self=1")
    games = learner.games
    for _ in range(3):
        games.step(games.arena.action_mask.argmax(axis=1))
    inputs = games.observe()
    observed = game.fields.size
    assert (inputs[:, :observed] == games.arena.observation).all()
    if critic != "observation":
        state = np.empty((8, game.state_fields.size), np.float32)
        write_full_states(game, games.arena.states, games.all, games.players, state)
        assert (inputs[:, observed : observed + state.shape[1]] == state).all()
        seats = inputs[:, observed + state.shape[1] :]
        assert seats.shape[1] == (game.max_players if game.write_state is None else 0)
        if seats.size:
            assert (seats.argmax(axis=1) == games.players).all()
            assert (seats.sum(axis=1) == 1).all()
    others, own = inputs.copy(), inputs.copy()
    others[:, observed:] += 1
    own[:, :observed] += 1
    rows, own_rows, other_rows = (SparseRows.of(x) for x in (inputs, own, others))
    with torch.no_grad():
        networks = learner.networks
        assert (networks.logits(rows) == networks.logits(other_rows)).all()
        assert (networks.logits(rows) != networks.logits(own_rows)).any()
        sees_own = bool((networks.values(rows) != networks.values(own_rows)).any())
        sees_others = bool((networks.values(rows) != networks.values(other_rows)).any())
    assert sees_own == (critic != "state")
    assert sees_others == (critic != "observation")


@pytest.mark.parametrize("game", [g for g in FEW_GAMES if g.values[0].heuristic is not None])
def test_the_critic_is_told_what_would_be_paid_next(game):
    """The plain loop says the same, and no game has changed by it."""
    games = games_of(game, "network={critic: observation, critic_playout: true}")
    rng = np.random.default_rng(0)
    paid = 0
    for _ in range(12):
        before = games.arena.states.copy()
        told = games.observe()[:, -1]
        for i in games.all:
            played = before[i : i + 1].copy()
            played["rewards"] = 0  # of the move before
            while not (played["rewards"].any() or played["terminated"] or played["truncated"]):
                game.rules.step(played, 0, game.heuristic(played, 0))
            assert told[i] == np.float32(played["rewards"][0, games.players[i]])
            paid += bool(told[i])
        assert (games.arena.states == before).all()
        masks = games.arena.action_mask
        games.step((rng.random(masks.shape) * masks).argmax(axis=1))
    assert paid


# ---------------------------------------------------------------------------------------------
# Advantages
# ---------------------------------------------------------------------------------------------


class Recorder:
    """The games of a learner; notes its actions in each."""

    def __init__(self, learner: PPO) -> None:
        games = learner.games
        self.seeds = games._seeds.tolist()
        self.tables = list(
            zip(games.tables.num_players.tolist(), games.arena.seating.tolist(), strict=True)
        )
        self.actions: list[list[int]] = [[] for _ in self.tables]
        self._step = games.step
        games.step = self  # type: ignore[method-assign, assignment]

    def __call__(self, actions: np.ndarray) -> Any:
        for own, action in zip(self.actions, actions.tolist(), strict=True):
            own.append(action)
        return self._step(actions)


def decisions_of(
    game: Game, options: dict[str, Any], seed: int, num_players: int, actions: list[int]
) -> list[dict[str, Any]]:
    """The decisions of a game's seats one by one, in AEC environments: the slow reference.

    Of each: its seat, the rewards until the seat's next decision or the end, whether the game ended
    first, whether it was truncated, and the number (among the decisions of all seats) of the seat's
    next one.
    """
    decisions: list[dict[str, Any]] = []
    left = list(actions)
    while True:
        env = card_envs.make(game.name, num_players=num_players, on_illegal="raise", **options)
        env.reset(seed=seed)
        last: dict[str, dict[str, Any]] = {}
        while legal := env.legal_actions():
            agent = env.agent_selection
            if len(legal) > 1:
                if not left:
                    return decisions
                decision = {"seat": env.possible_agents.index(agent), "reward": 0.0, "next": None}
                decision |= {"ends": False, "cut": False}
                if agent in last:
                    last[agent]["next"] = len(decisions)
                decisions.append(decision)
                last[agent] = decision
                env.step(left.pop(0))
            else:
                env.step(legal[0])
            for one, decision in last.items():
                decision["reward"] += env.rewards[one]
        for decision in last.values():
            decision |= {"ends": True, "cut": any(env.truncations.values())}
        seed = int(next_seed(np.uint64(seed)))


@pytest.mark.parametrize(
    ("game", "reward", "truncation"),
    [
        *((game.values[0], "score", "bootstrap") for game in EACH_GAME),
        *((SCRIPTED, "score", truncation) for truncation in ("loss", "draw")),
        *((SCRIPTED, "rank", truncation) for truncation in ("bootstrap", "loss", "draw")),
    ],
    ids=lambda value: getattr(value, "id", value),
)
def test_advantages_are_those_of_games_played_one_by_one(game, reward, truncation):
    """All table sizes, forced moves, truncations, and rollouts that end within games."""
    steps, gamma, lam = 12, 0.9, 0.7
    options = {"reward": reward, "max_steps": 25}
    overrides = [f"ppo.n_steps={steps}", f"ppo.gamma={gamma}", f"ppo.gae_lambda={lam}"]
    overrides += [f"environment.options={options}", "environment.num_envs=12"]
    learner = learner_of(game, "opponents.self=1", f"truncation={truncation}", *overrides)
    recorder = Recorder(learner)
    count, rollout = len(recorder.tables), learner.rollout
    checked = cut = 0
    carried = np.empty((0, 2), np.int64)
    for iteration in range(3 if game is SCRIPTED else 2):
        learner.collect()
        complete, advantages, _ = rollout.advantages(gamma, lam)
        # Each game's decisions by their number within the game's slot, carried ones first.
        first = rollout.size - count * steps
        numbers = np.empty((rollout.size, 2), np.int64)
        numbers[first:, 0] = np.tile(np.arange(count), steps)
        numbers[first:, 1] = iteration * steps + np.repeat(np.arange(steps), count)
        numbers[:first] = carried
        value_of, reward_of = {}, {}
        for k, (i, number) in enumerate(numbers.tolist()):
            value_of[i, number] = float(rollout.decisions["value"][k])
            reward_of[i, number] = float(rollout.decisions["reward"][k])
        advantage_of = {
            tuple(numbers[k].tolist()): float(a) for k, a in zip(complete, advantages, strict=True)
        }
        for i, (num_players, _) in enumerate(recorder.tables):
            decisions = decisions_of(
                game, options, recorder.seeds[i], num_players, recorder.actions[i]
            )
            assert len(decisions) == (iteration + 1) * steps

            def reward_until(decision: dict[str, Any]) -> float:
                if not decision["cut"] or truncation == "bootstrap":
                    return decision["reward"]
                return (decision["reward"] if reward == "score" else 0.0) - (truncation == "loss")

            def advantage(n: int) -> float | None:
                """None: it is open."""
                decision = decisions[n]  # noqa: B023
                if decision["cut"] and truncation == "bootstrap" and reward == "score":
                    return None
                gained = reward_until(decision) - value_of[i, n]  # noqa: B023
                if decision["ends"]:
                    return gained
                if decision["next"] is None:
                    return None
                after = advantage(decision["next"]) or 0.0
                return gained + gamma * (value_of[i, decision["next"]] + lam * after)  # noqa: B023

            for n in (n for slot, n in value_of if slot == i):
                expected = advantage(n)
                assert (expected is None) == ((i, n) not in advantage_of)
                cut += decisions[n]["cut"]
                if expected is not None:
                    assert advantage_of[i, n] == pytest.approx(expected, abs=1e-5)
                    checked += 1
        carried = numbers[rollout.open[rollout.open >= 0]]
    assert checked > 100
    assert cut or game is not SCRIPTED


# ---------------------------------------------------------------------------------------------
# The update
# ---------------------------------------------------------------------------------------------


def dense_update(learner: PPO) -> list[torch.Tensor]:
    """The weights after one update by the formula: dense rows, torch's operations, autograd."""
    config, rollout, game = learner.config.ppo, learner.rollout, learner.games.game
    networks = copy.deepcopy(learner.networks)
    optimizer = torch.optim.Adam(networks.parameters(), lr=config.learning_rate, eps=1e-5)
    complete, advantages, _ = rollout.advantages(config.gamma, config.gae_lambda)
    inputs = rollout.inputs.to_dense()[complete]
    legal = rollout.legal.to_dense()[complete] > 0
    actions, old = (
        torch.from_numpy(rollout.decisions[x][complete]) for x in ("action", "log_prob")
    )
    gains = torch.from_numpy(advantages)
    returns = gains + torch.from_numpy(rollout.decisions["value"][complete])
    gains = (gains - gains.mean()) / (gains.std(correction=0) + 1e-8)
    features = torch.from_numpy(networks.actor.action_features)

    def distribution(of: Any) -> torch.distributions.Categorical:
        logits = of.actor(inputs[:, : game.fields.size]) @ features.T
        return torch.distributions.Categorical(logits=logits.masked_fill(~legal, -1e9))

    policy, anchor = distribution(networks), distribution(learner.anchor)
    ratio = torch.exp(policy.log_prob(actions) - old)
    clipped = torch.clamp(ratio, 1 - config.clip_range, 1 + config.clip_range)
    values = networks.values(inputs)
    loss = (
        -torch.min(ratio * gains, clipped * gains).mean()
        + config.vf_coef * ((values - returns) ** 2).mean()
        - config.ent_coef * policy.entropy().mean()
        + config.kl_coef * torch.distributions.kl_divergence(policy, anchor).mean()
    )
    loss.backward()
    torch.nn.utils.clip_grad_norm_(networks.parameters(), config.max_grad_norm)
    optimizer.step()
    return list(networks.parameters())


@pytest.mark.parametrize(
    "overrides",
    [
        ["network={hidden: [16, 8], critic: both}", "ppo.kl_coef=0.5"],
        ["network={hidden: [16], logits: actions, critic: observation, activation: tanh}"],
        ["network={hidden: []}", "ppo.kl_coef=0.1"],
    ],
    ids=str,
)
@pytest.mark.parametrize("is_sparse", [True, False])
def test_an_update_is_that_of_the_formula(overrides, is_sparse, monkeypatch):
    """Sparse rows, as on a CPU, and dense ones, as on a GPU: the same weights, but for rounding."""
    if not is_sparse:
        monkeypatch.setattr(ppo, "rows_on", lambda device, rows, dtype=None: rows.to_dense())
    learner = learner_of(SCRIPTED, "opponents.self=1", "ppo.batch_size=512", *overrides)
    with torch.no_grad():
        for parameter in learner.networks.parameters():  # now there is a KL divergence
            parameter += 0.1 * torch.randn_like(parameter)
    learner.collect()
    with torch.no_grad():
        for parameter in learner.networks.parameters():  # and ratios that are clipped
            parameter += 0.05 * torch.randn_like(parameter)
    before = [parameter.detach().clone() for parameter in learner.networks.parameters()]
    expected = dense_update(learner)
    learner.update()
    for old, own, other in zip(before, learner.networks.parameters(), expected, strict=True):
        assert not torch.equal(old, own)
        # Adam's first step is the learning rate in the direction of the gradient.
        assert torch.allclose(own, other, atol=2e-6)


def test_rollouts_keep_what_the_policy_said():
    learner = learner_of(SCRIPTED, "opponents.self=1")
    learner.collect()
    rollout, networks = learner.rollout, learner.networks
    with torch.no_grad():
        logits = networks.actor(as_dense(rollout.inputs)[:, : SCRIPTED.fields.size])
        of_actions = logits @ torch.from_numpy(networks.actor.action_features).T
        of_actions[rollout.legal.to_dense() == 0] = -torch.inf
        log_probs = torch.log_softmax(of_actions, dim=1).numpy()
        values = networks.values(as_dense(rollout.inputs)).numpy()
    decisions = rollout.decisions[: rollout.size]
    taken = np.arange(rollout.size), decisions["action"]
    np.testing.assert_allclose(decisions["log_prob"], log_probs[taken], atol=1e-5)
    np.testing.assert_allclose(decisions["value"], values, atol=1e-5)
    assert learner.decisions == rollout.size == 64


@pytest.mark.parametrize(
    ("size", "expected"),
    [(64, [32, 32]), (79, [32, 47]), (80, [32, 32, 16]), (10, [10]), (1, [1]), (0, [])],
)
def test_a_small_last_minibatch_joins_the_one_before(size, expected):
    learner = learner_of(SMALL)
    batches = list(learner.minibatches(size, epochs=2))
    assert [len(batch) for batch in batches] == 2 * expected
    for epoch in (batches[: len(expected)], batches[len(expected) :]):
        assert sorted(np.concatenate([*epoch, []]).tolist()) == list(range(size))


def test_a_rollout_without_a_complete_decision_changes_nothing():
    learner = learner_of(SCRIPTED, "environment.num_envs=1", "ppo.n_steps=1", "opponents.self=1")
    before = [parameter.clone() for parameter in learner.networks.parameters()]
    learner.collect()
    learner.update()
    for old, now in zip(before, learner.networks.parameters(), strict=True):
        assert torch.equal(old, now)


def test_schedules():
    config = tiny_run(SMALL, HERE, "ppo={learning_rate: 1, final_learning_rate: 0.2}").config.ppo
    assert [config.learning_rate_at(x) for x in (0, 0.5, 1, 2)] == pytest.approx([1, 0.6, 0.2, 0.2])
    assert config.ent_coef_at(0.7, 5) == config.ent_coef
    linear = tiny_run(SMALL, HERE, "ppo={ent_coef: 0.4, final_ent_coef: 0}").config.ppo
    assert [linear.ent_coef_at(x, 9) for x in (0, 0.5, 1)] == pytest.approx([0.4, 0.2, 0])
    falling = tiny_run(SMALL, HERE, "ppo={ent_coef: 0.4, ent_power: 0.5}").config.ppo
    assert [falling.ent_coef_at(0.5, t) for t in (0, 3, 15)] == pytest.approx([0.4, 0.2, 0.1])
    with pytest.raises(ValueError, match="final_ent_coef and ent_power exclude each other"):
        tiny_run(SMALL, HERE, "ppo={final_ent_coef: 0, ent_power: 0.5}")


def test_the_policy_is_the_moving_average_of_the_weights():
    """At the beginning a faster one."""
    learner = learner_of(SMALL, "ema_decay=0.15")
    expected = [p.detach().clone() for p in learner.networks.parameters()]
    for decay in (0.1, 0.15, 0.15):
        learner.collect()
        learner.update()
        now = list(learner.networks.parameters())
        expected = [
            decay * e + (1 - decay) * x.detach() for e, x in zip(expected, now, strict=True)
        ]
    for average, e, x in zip(learner.average.parameters(), expected, now, strict=True):
        assert torch.allclose(average, e, atol=1e-6)
        assert not torch.equal(average, x)


def test_a_great_divergence_ends_an_update():
    moved = []
    for target in ("null", "1.0e-9"):
        learner = learner_of(SCRIPTED, f"ppo.target_kl={target}", "ppo.n_epochs=20")
        before = learner.networks.actor.network().layers[0][0]
        learner.collect()
        learner.update()
        moved.append(np.abs(learner.networks.actor.network().layers[0][0] - before).max())
    assert 0 < moved[1] < moved[0] / 3


def test_an_update_ends_at_one_and_a_half_times_the_target_divergence():
    def updated(target: str) -> tuple[float, float]:
        """The mean divergence, which is 0 before the first step; and how many steps were taken."""
        batches = "ppo.batch_size=512", "ppo.n_epochs=2", "ppo.learning_rate=0.01"
        learner = learner_of(SMALL, "opponents.self=1", *batches, f"ppo.target_kl={target}")
        learner.collect()
        mean = learner.update()["train/approx_kl"]
        return mean, max(float(state["step"]) for state in learner.optimizer.state.values())

    mean, steps = updated("null")
    assert mean > 1e-4
    assert steps == 2
    for factor, expected in ((0.99, 1), (1.01, 2)):
        assert updated(str(factor * 2 * mean / 1.5))[1] == expected


def test_explained_variance_is_what_the_values_leave_of_the_returns():
    learner = learner_of(SMALL, "opponents.self=1")
    learner.collect()
    rollout, config = learner.rollout, learner.config.ppo
    complete, _, returns = rollout.advantages(config.gamma, config.gae_lambda)
    left = returns - rollout.decisions["value"][complete]
    found = learner.update()["train/explained_variance"]
    assert found == pytest.approx(1 - left.var() / returns.var(), abs=1e-5)
    assert abs(found - 1) > 0.01  # or the sign would not matter


def test_a_kl_term_keeps_the_policy_near_to_its_anchor():
    """With a great weight of it an update changes the probabilities far less."""
    changes = []
    for kl_coef in (0, 100):
        learner = learner_of(SCRIPTED, f"ppo.kl_coef={kl_coef}", "ppo.n_epochs=20")
        learner.collect()
        learner.update()
        places = np.arange(learner.rollout.size)
        inputs, legal = learner.rows(places)
        decisions = learner.rollout.decisions[places]
        actions, old = (torch.from_numpy(decisions[x].copy()) for x in ("action", "log_prob"))
        logits = learner.networks.logits(inputs)
        log_prob, *_ = evaluate_actions(logits, learner.features, legal, actions)
        changes.append((log_prob - old).abs().mean().item())
    without, with_term = changes
    assert 0 < with_term < without / 3


@pytest.mark.parametrize("logits", ["features", "actions"])
def test_logits_of_features_or_of_actions(logits):
    last = learner_of(SCRIPTED, f"network.logits={logits}").networks.actor.linear[-1]
    actions, features = SCRIPTED.action_features.shape
    assert last.weight.shape[0] == (features if logits == "features" else actions)


def test_weights_that_are_no_sums_over_features_are_refused():
    learner = learner_of(SCRIPTED, "network.hidden=[]")
    shape = (SCRIPTED.num_actions, SCRIPTED.fields.size)
    weight = np.random.default_rng(0).random(shape, np.float32)
    network = card_envs.agents.network.Network(
        [(weight, np.zeros(SCRIPTED.num_actions, np.float32))], "relu"
    )
    with pytest.raises(ValueError, match="not sums over action features"):
        learner.networks.actor.copy_weights(network)


def test_a_gpu_that_is_not_there_is_not_replaced_in_silence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device: there is no GPU that torch can use"):
        learner_of(SMALL, "device=cuda")


# ---------------------------------------------------------------------------------------------
# What it learns
# ---------------------------------------------------------------------------------------------

KUHN_PPO = (
    "ppo={n_steps: 2, batch_size: 256, n_epochs: 1, learning_rate: 1.0e-2, "
    "final_learning_rate: 1.0e-5, gae_lambda: 1, ent_coef: 0.05, kl_coef: 0.5, kl_decay: 0.95}"
)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_self_play_in_kuhn_poker_approaches_an_equilibrium(seed):
    """A uniformly random policy can be exploited by 11/24, an equilibrium by nothing."""
    import kuhn_poker
    from test_exploitability import DEALS

    game = kuhn_poker.GAME
    learner = learner_of(
        game,
        f"seed={seed}",
        "opponents.self=1",
        "decisions=300_000",
        "ema_decay=0.99",
        "environment.num_envs=256",
        "network={hidden: [32]}",
        KUHN_PPO,
    )
    while learner.decisions < learner.config.decisions:
        learner.collect()
        learner.update()
    policy = NetworkAgent(learner.policy(), "learner", draw_seed=0)
    assert exploitability(game, DEALS, policy) < 0.1


@pytest.mark.parametrize("hidden", [[], [64, 64]])
@pytest.mark.parametrize(("rows", "angle"), [("dense", 0.9999), ("bfloat16", 0.98)])
def test_other_rows_lead_the_same_way(rows, angle, hidden):
    """Values, log probabilities and the gradient, but for rounding; weights stay float32."""
    found = []
    for form in ("sparse", rows):
        given = "opponents.self=1", f"rows={form}", f"network.hidden={hidden}"
        learner = learner_of(SCRIPTED, *given)
        learner.collect()
        inputs, _ = learner.rows(np.arange(64))
        logits, values = learner.networks.logits(inputs), learner.networks.values(inputs)
        learner.networks.zero_grad()
        (logits.square().mean() + values.mean()).backward()
        parameters = [*learner.networks.parameters()]
        assert {array.dtype for array in (logits, values, *parameters)} == {torch.float32}
        gradient = torch.cat([parameter.grad.flatten() for parameter in parameters])
        found.append((logits, values, gradient))
    for own, expected in zip(found[1], found[0], strict=True):
        assert torch.cosine_similarity(own.flatten(), expected.flatten(), dim=0) > angle
        assert torch.equal(own, expected) == (rows == "sparse")


@pytest.mark.slow
def test_the_fastest_rows_are_measured_once(tmp_path, monkeypatch):
    run = tiny_run(SCRIPTED, tmp_path / "run", "rows=fastest", "decisions=600")
    train.train(run, quiet=True)
    chosen = Run.reopen(run.folder).config.rows
    assert chosen in ("sparse", "dense", "bfloat16")
    monkeypatch.setattr(train, "decisions_a_second", None)
    again = Run.reopen(run.folder, ["decisions=1200"])
    train.train(again, resume=True, quiet=True)
    assert Run.reopen(run.folder).config.rows == chosen
    longer = tiny_run(SCRIPTED, run.folder, "rows=fastest", "decisions=1200")
    assert train.train_or_resume(longer, "") == run.policy_path


def test_how_long_a_run_lasts_is_measured_with_its_fastest_rows(tmp_path, monkeypatch):
    speeds = {"sparse": 1.0, "dense": 3.0, "bfloat16": 2.0}
    measured = []

    def speed(run, *arguments):
        measured.append(run.config.rows)
        return speeds[run.config.rows]

    monkeypatch.setattr(train, "decisions_a_second", speed)
    run = train.lasting(tiny_run(SCRIPTED, tmp_path / "run", "rows=fastest"), 2.0)
    assert (run.config.rows, run.config.decisions) == ("dense", 360)
    assert measured == [*speeds, "dense"]
