"""Evaluation: duplicate deals, tables, tournaments, and the commands that show them."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.optimize
from helpers import ALL_GAMES, EACH_GAME, SCRIPTED, SMALL
from random_policies import policy_file

import card_envs.evaluation.display as display
from card_envs.agents import FunctionAgent, RandomAgent, choose, make_agent, shipped_policies
from card_envs.agents.table import Table
from card_envs.commands import arguments, running
from card_envs.commands.evaluation import add_evaluate, add_tournament
from card_envs.datasets import Recording
from card_envs.envs.aec import CardEnv
from card_envs.evaluation import (
    deal_seeds,
    deviation_ratings,
    estimate_mean,
    evaluate,
    play_deals,
    play_one_against,
    random_orders,
    run_tournament,
    summarize,
    tables_of,
)
from card_envs.evaluation.deals import MatchResults
from card_envs.evaluation.deviation import estimate_deviation_ratings
from card_envs.evaluation.statistics import WIN_BOUNDS
from card_envs.utils import extras, files
from training import evaluate as evaluate_module
from training import tournament as tournament_module

ROOT = Path(__file__).parent.parent
TABLE = ["heuristic", "random", "random"]


def first_legal(observation, action_mask):
    """An agent that users might write."""
    return action_mask.argmax(axis=1)


# ---------------------------------------------------------------------------------------------
# Deals
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", EACH_GAME)
def test_deals_equal_games_played_one_by_one(game):
    name = game.default_opponent if game.heuristic else None
    agent = make_agent(name, game) if name else first_legal
    n = game.min_players
    seeds = deal_seeds(3, 3)
    for options in ({}, {"max_steps": 2}):
        played = play_deals(game, [agent] * n, seeds, options)
        for deal, seed in enumerate(seeds):
            env = CardEnv(game.id, num_players=n, **options)
            env.reset(seed=int(seed))
            one = agent if name else FunctionAgent("first", first_legal)
            while env.legal_actions():
                env.step(choose(one, game, env.states))
            by_seat = [env._cumulative_rewards[agent_] for agent_ in env.possible_agents]
            for seating in range(n):
                expected = [by_seat[(k + seating) % n] for k in range(n)]
                assert played.rank[deal, seating].tolist() == pytest.approx(expected)
                assert played.truncated[deal, seating] == env.states["truncated"][0]
        assert played.truncated_share == played.truncated.mean()


def test_results_are_what_the_rewards_pay():
    """Rank and win follow from the standing; score is what was paid."""
    seeds = deal_seeds(1, 30)
    n = SCRIPTED.min_players + 1
    played = play_deals(SCRIPTED, ["random"] * n, seeds)
    assert played.standing.shape == played.score.shape == (30, n, n)
    assert played.rank.sum(axis=-1) == pytest.approx(np.zeros((30, n)))
    assert played.win.sum(axis=-1) == pytest.approx(np.ones((30, n)))
    assert played.score.sum(axis=-1) == pytest.approx(np.zeros((30, n)), abs=1e-9)
    level = MatchResults(np.array([[[1.0, 1.0, 0.0]]]), np.zeros((1, 1, 3)), np.zeros((1, 1), bool))
    assert level.rank.tolist() == [[[0.5, 0.5, -1.0]]]
    assert level.win.tolist() == [[[0.5, 0.5, 0.0]]]


def test_seeds_of_deals_do_not_depend_on_their_number():
    assert (deal_seeds(7, 50)[:20] == deal_seeds(7, 20)).all()
    assert len(set(deal_seeds(7, 500).tolist()) | set(deal_seeds(8, 500).tolist())) == 1000
    for seed, deals, message in (
        (-1, 5, "from 0 to 2"),
        (2**64, 5, "from 0 to 2"),
        (0, 1, "deals"),
    ):
        with pytest.raises(ValueError, match=message):
            deal_seeds(seed, deals)


def test_many_deals_are_played_in_pieces(monkeypatch):
    """With the same results."""
    agents = ["random", first_legal]
    whole = play_deals(SMALL, agents, deal_seeds(5, 40))
    monkeypatch.setattr("card_envs.evaluation.deals._GAMES_AT_ONCE", 6)
    in_pieces = play_deals(SMALL, agents, deal_seeds(5, 40))
    for name in ("standing", "score", "truncated"):
        assert (getattr(whole, name) == getattr(in_pieces, name)).all()


def test_orders_say_which_agent_has_which_seat(tmp_path):
    agents = ["heuristic", "random", policy_file(SCRIPTED, tmp_path / "p.safetensors")]
    a, b, c = (make_agent(name, SCRIPTED) for name in agents)
    seeds = deal_seeds(3, 5)

    def played(agents, order):
        return play_deals(SCRIPTED, agents, seeds, orders=np.tile(np.array(order), (5, 1))).standing

    given = play_deals(SCRIPTED, [a, b, c], seeds).standing
    assert (played([a, b, c], [0, 1, 2]) == given).all()
    assert (played([a, b, c], [1, 2, 0]) == given[:, [1, 2, 0]]).all()  # one seating further
    swapped = play_deals(SCRIPTED, [a, c, b], seeds).standing[..., [0, 2, 1]]
    assert (played([a, b, c], [0, 2, 1]) == swapped).all()
    assert (swapped != given).any()
    orders = random_orders(0, 600, 3)
    assert len(np.unique(orders, axis=0)) == 6
    for order in np.unique(orders, axis=0):
        assert 70 < (orders == order).all(axis=1).sum() < 130


def test_one_against_copies_of_another():
    sizes = [SCRIPTED.min_players, SCRIPTED.min_players + 1]
    seeds = deal_seeds(2, 4)
    results = list(play_one_against(SCRIPTED, "heuristic", "random", sizes, seeds))
    assert [n for n, _ in results] == sizes
    for n, played in results:
        expected = play_deals(SCRIPTED, ["heuristic", *["random"] * (n - 1)], seeds)
        assert (played.standing == expected.standing).all()
    [(_, cut)] = play_one_against(SCRIPTED, "random", "random", sizes[:1], seeds, {"max_steps": 2})
    assert cut.truncated.all()


def test_what_one_cannot_play_against_is_said_at_once():
    right = {"agent": "random", "others": "random", "sizes": [2], "seeds": deal_seeds(2, 4)}
    for key, wrong, message in (
        ("agent", "nobody", "there is no agent 'nobody'"),
        ("others", "nobody", "there is no agent 'nobody'"),
        ("sizes", [2, 1], "got num_players=1"),
        ("sizes", ["2"], "num_players must be a whole number"),
        ("seeds", [0.5], "seeds must be one or more whole numbers"),
        ("options", {"reward": "win"}, "option reward"),
    ):
        with pytest.raises(ValueError, match=message):
            play_one_against(SMALL, **{**right, key: wrong})
    for key, wrong, message in (
        ("sizes", 2, r"sizes must be numbers of players, such as \[2, 4\], got 2"),
        ("options", {"rewards": "win"}, "its options are (?!reward)"),
    ):
        with pytest.raises(TypeError, match=message):
            play_one_against(SMALL, **{**right, key: wrong})


class Counting(RandomAgent):
    """It counts how often it is asked, and for how many games."""

    asked: list[int] = []

    def act(self, turn):
        self.asked.append(len(turn))
        return first_legal(turn.observation, turn.action_mask)


def test_an_agent_is_asked_once_for_all_its_seats():
    agent = Counting(SMALL)
    Counting.asked = []
    results = play_deals(SMALL, [agent, agent], deal_seeds(0, 10))
    assert Counting.asked[0] == 20
    assert (results.standing[:, 0] == results.standing[:, 1, ::-1]).all()


def test_the_seed_is_that_of_the_agents_too():
    seeds = []

    class Seeded(RandomAgent):
        def __init__(self, game, seed=0):
            seeds.append(seed)
            super().__init__(game, seed=seed)

    evaluate(SMALL, [Seeded, "random"], 2, seed=5)
    assert seeds == [5]


def test_a_tournaments_seed_is_that_of_its_agents_and_their_orders(monkeypatch):
    from card_envs.evaluation import tournament

    seeds = []
    make, orders = tournament.made_agent, tournament.random_orders
    monkeypatch.setattr(tournament, "made_agent", lambda *a: (seeds.append(a[2]), make(*a))[1])
    monkeypatch.setattr(tournament, "random_orders", lambda *a: (seeds.append(a[0]), orders(*a))[1])
    run_tournament(SMALL, ["random", first_legal], 2, 4, seed=7)
    assert seeds == [7, 7, 7]


def test_shares_of_victories_stay_between_0_and_1(monkeypatch):
    """Where one always wins: rank rewards reach below 0, and have wider bounds."""

    def play(game, agents, seeds, *arguments, **more):
        standing = np.tile([0.0, 1.0], (len(seeds), 2, 1))
        return MatchResults(standing, np.zeros_like(standing), np.zeros((len(seeds), 2), bool))

    for module in ("matches", "tournament"):
        monkeypatch.setattr(f"card_envs.evaluation.{module}.play_deals", play)
    tournament = run_tournament(SMALL, ["random", first_legal], 2, deals=10).summary
    for agents in (evaluate(SMALL, ["random", first_legal], 10).agents, tournament.agents):
        loser, winner = sorted(agents, key=lambda agent: agent.win.mean)
        assert loser.win.low == 0.0 < loser.win.high < 0.5
        assert 0.5 < winner.win.low < winner.win.high == 1.0


# ---------------------------------------------------------------------------------------------
# Tables and tournaments
# ---------------------------------------------------------------------------------------------


def test_whatever_stands_for_an_agent_can_be_evaluated(tmp_path):
    path = policy_file(SMALL, tmp_path / "p.safetensors")
    for agent, name in (
        (first_legal, "first_legal"),
        (FunctionAgent("mine", first_legal), "mine"),
        (path, path),
        (Path(path), path),
    ):
        result = evaluate(SMALL.id, [agent, "random"], 10, 1)
        assert [row.name for row in result.agents] == [name, "random"]
        assert result.game == SMALL.name
    with pytest.raises(TypeError, match="an agent is a name, the"):
        evaluate(SMALL, [3, "random"], 10, 1)
    with pytest.raises(ValueError, match="which is not legal"):
        evaluate(SMALL, [lambda o, m: m.argmin(axis=1) - 1, "random"], 10, 1)


def test_estimates_are_students_with_an_observation_at_each_end_of_the_range():
    stats = pytest.importorskip("scipy.stats")
    values = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.0])
    estimate = estimate_mean(values)
    more = np.array([*values, -1.0, 1.0])
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(more)
    assert estimate == pytest.approx((values.mean(), more.mean() - half, more.mean() + half))
    assert estimate.interval == [estimate.low, estimate.high]
    assert estimate.to_json("rank") == {"rank": estimate.mean, "rank_ci95": estimate.interval}
    # With many different values they hardly count.
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 1000)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate_mean(values) == pytest.approx((values.mean(), low, high), abs=1e-3)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_fewer_than_five_values_give_no_interval(count):
    estimate = estimate_mean(np.linspace(-1.0, 1.0, count))
    assert (estimate.low, estimate.high, estimate.interval) == (None, None, None)
    assert estimate.to_json("rank") == {"rank": estimate.mean, "rank_ci95": None}


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, 1.0), (-2.0, 2.0)])
def test_intervals_stay_in_the_range_and_have_a_width(bounds):
    low, high = bounds
    rng = np.random.default_rng(1)
    rows = [np.full(n, value) for n in (5, 100, 100_000) for value in (low, 0.3, high)]
    rows += [rng.choice([low, high], 6, p=[p, 1 - p]) for p in (0.05, 0.5) for _ in range(50)]
    rows += [low + (high - low) * rng.beta(0.1, 1.0, 7) for _ in range(50)]
    for values in rows:
        mean, *ends = estimate_mean(values, bounds)
        assert low <= ends[0] < ends[1] <= high
        assert ends[0] <= mean <= ends[1]


@pytest.mark.parametrize("deals", [5, 20, 100])
@pytest.mark.parametrize(
    ("bounds", "values", "shares"),
    [
        ((-1.0, 1.0), [1.0, 0.5, 0.0, -1.0], [0.95, 0.03, 0.015, 0.005]),  # most deals are alike
        ((-1.0, 1.0), [0.0, 1.0, -1.0], [0.9, 0.05, 0.05]),
        ((0.0, 1.0), [1.0, 0.0], [0.98, 0.02]),
        ((-2.0, 2.0), [0.0, 0.5, -2.0], [0.9, 0.08, 0.02]),
    ],
)
def test_intervals_cover_the_mean_in_skewed_cases(bounds, values, shares, deals):
    """Student's t covers 10 to 90% here; ``benchmarks.coverage`` has many more cases."""
    drawn = np.random.default_rng(3).choice(values, (1000, deals), p=shares)
    mean = np.dot(values, shares)
    ends = np.array([estimate_mean(row, bounds).interval for row in drawn])
    assert np.mean((ends[:, 0] <= mean) & (mean <= ends[:, 1])) >= 0.93


@pytest.mark.parametrize("deals", [100, 1000])
def test_intervals_are_hardly_wider_than_students_where_that_holds(deals):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(4)
    for drawn in (
        rng.choice([0.0, 1.0, -1.0], (200, deals), p=[0.9, 0.05, 0.05]),
        rng.choice([1.0, -1.0], (200, deals), p=[0.7, 0.3]),
        np.clip(rng.normal(0.2, 0.2, (200, deals)), -1.0, 1.0),
    ):
        ends = np.array([estimate_mean(row).interval for row in drawn])
        students = 2.0 * stats.t.ppf(0.975, deals - 1) * stats.sem(drawn, axis=1)
        assert (ends[:, 1] - ends[:, 0]).mean() <= 1.1 * students.mean()


def test_values_that_are_equal_but_for_rounding_are_alike():
    values = np.full(50, 0.3)
    rounded = values + np.linspace(-1e-15, 1e-15, 50)
    assert estimate_mean(rounded) == pytest.approx(estimate_mean(values))


@pytest.mark.parametrize("values", [[0.0, 1.5], [np.nan, 0.0], [-1.0, -1.1]])
def test_values_outside_their_range_are_refused(values):
    with pytest.raises(ValueError, match=r"from -1\.0 to 1\.0, got .*: bounds gives their"):
        estimate_mean(np.array(values))


def test_summaries_are_means_over_tables_then_over_table_sizes():
    """Two agents at tables of 2 and 3; 0 is always ahead of 1, copies are level."""
    tables = [(0, 1), (0, 0, 1), (0, 1, 1)]
    played = []
    for k, table in enumerate(tables):
        standing = np.tile(-np.array(table, float), (2, 1, 1))
        played.append(MatchResults(standing, standing, np.full((2, 1), k == 1)))
    summary = summarize(["a", "b"], tables, played, 0)
    assert summary.truncated == pytest.approx(1 / 3)
    assert [table.truncated for table in summary.tables] == [0, 1, 0]
    first, second = summary.to_json()["agents"]
    assert first["rank"] == pytest.approx((1 + (0.5 + 1) / 2) / 2)
    assert second["rank"] == pytest.approx((-1 + (-1 - 0.5) / 2) / 2)
    assert first["win"] == pytest.approx((1 + (0.5 + 1) / 2) / 2)
    assert second["win"] == 0
    assert first["rating"] > second["rating"]
    for row in (first, second):
        assert row["rating_ci95"] is None
        assert display.rating_interval(row) == "–"
    played = [
        MatchResults(*(np.repeat(part, 3, axis=0) for part in (p.standing, p.score, p.truncated)))
        for p in played
    ]
    for row in summarize(["a", "b"], tables, played, 0).to_json()["agents"]:
        assert row["rating_ci95"] == [None, None]
        assert display.rating_interval(row) == "open"
    assert display.rating_interval({"rating_ci95": [-3.2, 4.0]}) == "-3 … +4"
    assert display.rating_interval({"rating_ci95": [None, 4.0]}) == "open … +4"
    assert display.rating_interval({"rating_ci95": [-3.2, None]}) == "-3 … open"


def test_what_cannot_be_summarized_is_refused():
    standing = np.tile([1.0, 0.0], (2, 1, 1))
    played, other = (
        MatchResults(standing[:deals], standing[:deals], np.zeros((deals, 1), bool))
        for deals in (2, 1)
    )
    for results in ([], [played], [played, other]):
        with pytest.raises(ValueError, match="played must be the results of all tables"):
            summarize(["a", "b"], [(0, 1), (1, 0)], results)
    with pytest.raises(ValueError, match="played must be the results of all tables"):
        summarize(["a", "b"], [], [])
    with pytest.raises(ValueError, match="a and c meet at no table of 2"):
        summarize(["a", "b", "c"], [(0, 1)], [played])
    for table in ((0, 2), (0, -1), (0, 0, 1)):
        with pytest.raises(ValueError, match=r"a table of the agents .* of 2, by index, has"):
            summarize(["a", "b"], [table], [played])


def test_a_rating_that_says_little_leaves_the_others_their_room():
    known = [
        {"rating": 0.0, "rating_ci95": [-40.0, 50.0]},
        {"rating": 100.0, "rating_ci95": [None, 160.0]},
    ]
    far = {"rating": -2000.0, "rating_ci95": [None, None]}
    assert display.rating_limits([*known, far]) == (-60.0, 180.0)
    assert display.rating_limits(known) is None
    assert display.rating_limits([far]) is None
    half_open = {"rating": -2000.0, "rating_ci95": [None, -500.0]}
    assert display.rating_limits([*known, half_open]) == (-566.0, 226.0)
    assert display.rating_limits([{"rating": 3.0, "rating_ci95": [3.0, 3.0]}, far]) is None


def test_tables_of_a_tournament():
    assert tables_of(2, 3) == [(0, 0, 1), (0, 1, 1)]
    assert tables_of(3, 2) == [(0, 1), (0, 2), (1, 2)]


def test_pairwise_intervals_are_those_of_the_deals():
    """Of the tables at which both are, each deal's share is one value."""
    result = run_tournament(SMALL, ["random", first_legal], SMALL.min_players, 12, seed=3)
    seeds, n = deal_seeds(3, 12), SMALL.min_players
    orders = random_orders(3, 12, n)
    shares = []
    for table in tables_of(2, n):  # by name: first_legal, random
        seats = np.array(table)
        played = play_deals(
            SMALL, [("random" if k else first_legal) for k in table], seeds, orders=orders
        )
        of = (played.standing[..., seats == k] for k in (1, 0))
        ahead = np.sign(next(of)[..., :, None] - next(of)[..., None, :])
        shares.append((1 + ahead.mean(axis=(1, 2, 3))) / 2)
    expected = estimate_mean(np.mean(shares, axis=0), WIN_BOUNDS)
    summary = result.summary
    assert summary.pairwise[0, 1] == pytest.approx(expected.mean)
    assert summary.pairwise_intervals[0, 1] == pytest.approx(expected.interval)
    assert summary.pairwise_intervals[1, 0] == pytest.approx(1 - np.array(expected.interval)[::-1])
    assert run_tournament(SMALL, ["random", first_legal], n, 4).summary.pairwise_intervals is None


def test_tournaments_take_functions_too():
    result = run_tournament(SMALL, [first_legal, "random"], SMALL.min_players, 10)
    assert [row.name for row in result.summary.agents] == ["first_legal", "random"]
    assert result.summary.pairwise[0, 1] + result.summary.pairwise[1, 0] == pytest.approx(1)


def test_short_names():
    assert display.short_names(["a/x.safetensors", "b/y.onnx", "ppo"]) == ["x", "y", "ppo"]
    assert display.short_names(["runs/a/x.safetensors", "runs/b/x.safetensors", "y"]) == [
        "a/x",
        "b/x",
        "y",
    ]
    assert display.short_names(["runs/mine/ppo.safetensors", "ppo"]) == ["mine/ppo", "ppo"]
    assert display.short_names(["x.safetensors", "a/x.safetensors"]) == ["x", "a/x"]
    assert display.short_names(["random", "random"]) == ["random", "random"]
    assert display.short_names(["search:100"]) == ["search:100"]


# ---------------------------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------------------------


def test_evaluation_keeps_its_contract(tmp_path, capsys):
    files = []
    for name in ("a", "b"):
        files.append(tmp_path / "new" / name)
        arguments = [SCRIPTED.name, "--agents", *TABLE, "--deals", "20", "--seed", "5"]
        arguments += ["--option", "max_steps=3000", "--json", str(files[-1])]
        assert evaluate_module.main(arguments) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    result = json.loads(files[0].read_text())
    assert list(result) == [
        "game",
        "num_players",
        "deals",
        "seed",
        "options",
        "agents",
        "truncated",
    ]
    assert (result["game"], result["num_players"]) == (SCRIPTED.name, 3)
    assert result["options"]["max_steps"] == 3000
    assert not {"reward", "memory", "features"} & set(result["options"])
    assert result["truncated"] == 0
    assert [row["name"] for row in result["agents"]] == TABLE
    for row in result["agents"]:
        assert list(row) == ["name", "rank", "rank_ci95", "win", "win_ci95", "score"]
        assert row["rank_ci95"][0] <= row["rank"] <= row["rank_ci95"][1]
    assert sum(row["rank"] for row in result["agents"]) == pytest.approx(0)
    assert sum(row["win"] for row in result["agents"]) == pytest.approx(1)
    assert sum(row["score"] for row in result["agents"]) == pytest.approx(0)
    assert result["agents"][0]["rank_ci95"][0] > 0
    shown = capsys.readouterr().out
    assert "heuristic" in shown
    assert "truncated" not in shown


def test_truncated_games_are_reported(tmp_path, capsys):
    for main, words in (
        (evaluate_module.main, ["--agents", "random", "random"]),
        (
            tournament_module.main,
            ["--agents", "random", "heuristic", "--players", str(SCRIPTED.min_players)],
        ),
    ):
        path = tmp_path / "result.json"
        limit = ["--option", "max_steps=3", "--deals", "3", "--json", str(path)]
        assert main([SCRIPTED.id, *words, *limit]) == 0
        assert json.loads(path.read_text())["truncated"] == 1
        assert "100.0% of the games were truncated at max_steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess", "--agents", "random", "random"], "there is no game 'chess'"),
        ([SMALL.id, "--agents", "random"], f"{SMALL.min_players} to {SMALL.max_players} players"),
        ([SMALL.id, "--agents", "random", "alphago"], "there is no agent 'alphago'"),
        ([SMALL.id, "--agents", "random", "random", "--deals", "1"], "at least 2"),
        ([SMALL.id, "--agents", "random", "random", "--seed", "-1"], "seed must be"),
        ([SMALL.id, "--agents", "random", "random", "--option", "max_steps"], "KEY=VALUE"),
        ([SMALL.id, "--agents", "random", "random", "--option", "x=1"], "no option 'x'"),
        ([SMALL.id, "--agents", "random", "random", "--option", "memory=none"], "of an observer"),
        (
            [SMALL.id, "--agents", "random", "random", "--option", "features=false"],
            "of an observer",
        ),
        (
            [SMALL.id, "--agents", "random", "random", "--option", "reward=win"],
            "rank, win and score at once",
        ),
    ],
)
def test_wrong_evaluations_name_the_mistake(arguments, message, capsys):
    assert evaluate_module.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("card-envs: error: ")
    assert error.count("\n") == 1


def test_tournament(tmp_path, capsys):
    files = []
    for name in ("a", "b"):
        files.append(tmp_path / name)
        arguments = [SCRIPTED.id, "--agents", "random", "heuristic", "--players", "3"]
        arguments += ["--deals", "10", "--json", str(files[-1]), "--plot", str(tmp_path / "p.png")]
        assert tournament_module.main(arguments) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads(files[0].read_text())
    assert list(result) == [
        *("game", "num_players", "deals", "seed", "options"),
        *("agents", "pairwise", "pairwise_ci95", "tables", "truncated"),
    ]
    assert len(result["tables"]) == 2
    random, heuristic = result["agents"]
    assert heuristic["rating_ci95"][0] > random["rating_ci95"][1]
    assert result["pairwise"][1][0] > 0.75
    assert result["pairwise"][1][0] + result["pairwise"][0][1] == pytest.approx(1)
    low, high = result["pairwise_ci95"][1][0]
    assert 0.5 < low < result["pairwise"][1][0] < high
    printed = capsys.readouterr()
    assert "rating" in printed.out
    assert f" .{100 * low:.0f}–" in printed.out
    assert "tables" in printed.err  # the progress bar
    assert "tables" not in printed.out


ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def test_deviation_ratings():
    assert deviation_ratings(ROCK_PAPER_SCISSORS).tolist() == [0.0, 0.0, 0.0]
    ahead = np.array([[0.0, 0.5, 0.75], [-0.5, 0.0, 0.25], [-0.75, -0.25, 0.0]])
    assert deviation_ratings(ahead).tolist() == pytest.approx([0.0, -0.5, -0.75])
    # Two are level: the mixture is the one against which the third gets least.
    level = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.25], [-0.5, -0.25, 0.0]])
    assert deviation_ratings(level).tolist() == pytest.approx([0.0, 0.0, -0.5])
    assert deviation_ratings(ahead.tolist()).tolist() == deviation_ratings(ahead).tolist()
    infinite = np.array([[0.0, np.inf], [-np.inf, 0.0]])
    for wrong in (np.ones((2, 2)), np.zeros((2, 3)), np.zeros(2), infinite, infinite * np.nan):
        with pytest.raises(ValueError, match="antisymmetric matrix of finite numbers"):
            deviation_ratings(wrong)


@pytest.mark.parametrize("seed", range(20))
def test_copies_of_an_agent_do_not_move_deviation_ratings(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    drawn = np.round(rng.uniform(-0.5, 0.5, (count, count)), 1)
    payoffs = drawn - drawn.T
    copied = int(rng.integers(count))
    with_copies = [*range(count), *[copied] * 10]
    ratings = deviation_ratings(payoffs)
    again = deviation_ratings(payoffs[np.ix_(with_copies, with_copies)])
    np.testing.assert_allclose(again, ratings[with_copies], atol=1e-6)
    assert ratings.max() == pytest.approx(0.0, abs=1e-6)


def test_deviation_ratings_where_the_solver_finds_no_mixture_at_last():
    """The bounds of settled agents then leave a single mixture, and rounding not even that."""
    drawn = np.random.default_rng(578).uniform(-0.5, 0.5, (10, 10))
    with_copies = [*range(10), *range(0, 10, 2)]
    ratings = deviation_ratings(drawn - drawn.T)
    again = deviation_ratings((drawn - drawn.T)[np.ix_(with_copies, with_copies)])
    np.testing.assert_allclose(again, ratings[with_copies], atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_deviation_ratings_are_exact(seed):
    """Of 15 agents without ties there is a single best mixture: what each gets against it."""
    drawn = np.random.default_rng(seed).uniform(-0.5, 0.5, (15, 15))
    ratings = deviation_ratings(drawn - drawn.T)
    shares, off = scipy.optimize.nnls(np.r_[drawn - drawn.T, np.ones((1, 15))], np.r_[ratings, 1.0])
    assert off < 1e-9
    assert ratings.max() == 0.0
    assert shares @ ratings == pytest.approx(0.0, abs=1e-9)


def test_similar_samples_take_few_linear_programs(monkeypatch):
    """Intervals come from 200 samples; here the first agent is the best in nearly all of them."""
    rng = np.random.default_rng(0)
    drawn = np.array([0.3, 0.1, 0.0, 0.0])[:, None, None] + rng.choice([-0.3, 0.3], (4, 4, 100))
    solve = Mock(wraps=scipy.optimize.linprog)
    monkeypatch.setattr(scipy.optimize, "linprog", solve)
    estimates = estimate_deviation_ratings(drawn - drawn.transpose(1, 0, 2), rng)
    assert [estimate.mean == 0.0 for estimate in estimates] == [True, False, False, False]
    assert all(estimate.low < estimate.mean < 0.0 for estimate in estimates[1:])
    assert solve.call_count <= 5


@pytest.mark.slow
@pytest.mark.parametrize(("ahead", "deals"), [(0.98, 20), (0.95, 5), (0.55, 50)])
def test_intervals_of_deviation_ratings_hold(ahead, deals):
    """Of two agents who are ahead of each other as often as given, over two seatings a deal: also
    where in most samples all deals are alike, or it is not clear who is better."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(60):
        payoff = np.where(rng.random((deals, 2)) < ahead, 1.0, -1.0).mean(axis=1)
        payoffs = np.zeros((2, 2, deals))
        payoffs[0, 1], payoffs[1, 0] = payoff, -payoff
        weaker = estimate_deviation_ratings(payoffs, rng)[1]
        held += weaker.low - 1e-9 <= 1.0 - 2.0 * ahead <= weaker.high + 1e-9
        assert weaker.low < weaker.high
    assert held >= 54


def test_deviation_ratings_of_agents_that_play_alike():
    """They are level on each deal, and taken for copies."""
    payoffs = np.zeros((3, 3, 10))
    payoffs[:2, 2], payoffs[2, :2] = 0.5, -0.5
    payoffs[:2, 2, 0], payoffs[2, :2, 0] = 0.4, -0.4
    first, second, third = estimate_deviation_ratings(payoffs, np.random.default_rng(1))
    assert first == second == (0.0, 0.0, 0.0)
    assert third.mean == pytest.approx(-0.49)
    assert third.low < third.mean < third.high < 0.0


@pytest.mark.slow
def test_ten_copies_move_elo_and_no_deviation_rating():
    """In a game of rock, paper and scissors, played by the standings of one deal after another."""

    def ratings(kinds):
        tables = tables_of(len(kinds), 2)
        played = []
        for a, b in tables:
            payoff = ROCK_PAPER_SCISSORS[kinds[a], kinds[b]]
            standing = np.tile([payoff, -payoff], (8, 2, 1))
            standing[:, 0] *= np.where(np.arange(8) < 2, -1.0, 1.0)[:, None]  # never all of them
            none = np.zeros((8, 2), bool)
            played.append(MatchResults(standing, standing, none, ()))
        summary = summarize([str(k) for k in range(len(kinds))], tables, played)
        return [(agent.rating, agent.deviation.mean) for agent in summary.agents]

    rock, paper, scissors = ratings([0, 1, 2])
    assert [rock[0], paper[0], scissors[0]] == pytest.approx([0.0] * 3, abs=1e-6)
    with_copies = ratings([0, 1, 2, *[0] * 10])
    assert with_copies[1][0] - with_copies[2][0] > 100.0  # paper meets many rocks
    for before, after in zip((rock, paper, scissors), with_copies, strict=False):
        assert after[1] == pytest.approx(before[1], abs=1e-6)


@pytest.mark.parametrize("players", range(SMALL.min_players, SMALL.max_players + 1)[:2])
def test_the_order_in_which_agents_are_listed_changes_nothing_else(players):
    def entrants():
        rng = np.random.default_rng(5)  # an agent whose choices depend on those made before

        def draws(observation, action_mask):
            return np.where(action_mask == 1, rng.random(action_mask.shape), -1.0).argmax(axis=1)

        return {"random": "random", "first_legal": first_legal, "draws": draws}

    found = []
    for names in (["random", "first_legal", "draws"], ["draws", "random", "first_legal"]):
        agents = entrants()
        result = run_tournament(SMALL, [agents[name] for name in names], players, 6, 2).to_json()
        assert [row["name"] for row in result["agents"]] == names
        sets = [
            sorted(zip(t.pop("agents"), t.pop("rank"), t.pop("win"), strict=True))
            for t in result["tables"]
        ]
        result["tables"] = sorted(sets)
        order = np.argsort(names)
        result["agents"] = [result["agents"][k] for k in order]
        for key in ("pairwise", "pairwise_ci95"):
            result[key] = np.array(result[key])[np.ix_(order, order)].tolist()
        found.append(json.dumps(result))
    assert found[0] == found[1]


@pytest.mark.parametrize("which", ["evaluate", "tournament"])
def test_few_deals_have_no_intervals_and_tables_say_why(which, tmp_path, capsys):
    main = {"evaluate": evaluate_module, "tournament": tournament_module}[which].main
    words = [SCRIPTED.id, "--agents", "random", "heuristic"]
    words += ["--players", "3", "--plot", str(tmp_path / "plot.png")]
    if which == "evaluate":
        words = [SCRIPTED.id, "--agents", "random", "heuristic", "random"]
    for deals, has_intervals in (("4", False), ("5", True)):
        path = tmp_path / f"{deals}.json"
        assert main([*words, "--deals", deals, "--json", str(path)]) == 0
        rows = json.loads(path.read_text())["agents"]
        ends = [value for row in rows for key, value in row.items() if key.endswith("_ci95")]
        assert all((value is not None) is has_intervals for value in ends)
        shown = capsys.readouterr().out
        assert ("No 95% interval (–): that takes at least 5 deals." in shown) is not has_intervals
        assert (" – " in shown) is not has_intervals


def test_wrong_tournaments_name_the_mistake(capsys):
    for agents, message in (
        (["random", "random"], "agents must have different names, got ['random', 'random']"),
        (["random"], "2 to 15 agents can play each other, got ['random']"),
        (["random", "nobody"], "there is no agent 'nobody'"),
        ([f"random{k}" for k in range(16)], "2 to 15 agents can play each other"),
    ):
        words = ["--agents", *agents, "--players", str(SMALL.min_players)]
        assert tournament_module.main([SMALL.id, *words]) == 2
        assert message in capsys.readouterr().err


TABLES = {
    "evaluate": lambda agents: evaluate(SMALL, agents, 2),
    "recording": lambda agents: Recording(SMALL, agents, 2),
    "table": lambda agents: Table(SMALL.name, agents),
}
PLAYS = {
    **TABLES,
    "tournament": lambda agents: run_tournament(SMALL, agents, SMALL.min_players, 2),
}


@pytest.mark.parametrize(
    "agents",
    ["random", Path("policy.onnx"), lambda *seen: None, {"random": 1}, iter(["random", "mine"])],
)
@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
def test_what_is_no_list_of_agents_is_refused(play, agents):
    with pytest.raises(TypeError, match=r"agents must be a list.*, got "):
        play(agents)


@pytest.mark.parametrize("play", TABLES.values(), ids=TABLES)
def test_a_table_needs_an_agent_for_each_player(play):
    allowed = f"{SMALL.id} is for {SMALL.min_players} to {SMALL.max_players} players"
    for count, got in ((0, "0 agents"), (1, "1 agent"), (9, "9 agents")):
        with pytest.raises(ValueError, match=f"{allowed}, with an agent for each, got {got}$"):
            play(["random"] * count)


def test_the_commands_can_be_added_to_a_program(capsys):
    parser = argparse.ArgumentParser()
    arguments.add_games_argument(parser)
    commands = parser.add_subparsers()
    for add in (add_evaluate, add_tournament):
        add(commands)
    for subparser in commands.choices.values():
        arguments.add_games_argument(subparser)
    words = ["evaluate", SMALL.id, "--agents", "random", "random", "--deals", "2"]
    args = arguments.parse_arguments(parser, words)
    assert args.games_from == []
    args.run(args)
    assert SMALL.name in capsys.readouterr().out
    words = ["tournament", SMALL.id, "--agents", "random", "--players", "2"]
    args = arguments.parse_arguments(parser, words)
    with pytest.raises(ValueError, match="2 to 15 agents can play each other"):
        args.run(args)
    for place in (0, len(words)):  # before and after the command's name
        given = [*words[:place], "--games-from", SMALL.package, *words[place:]]
        assert arguments.parse_arguments(parser, given).games_from == [SMALL.package]


def test_games_come_from_modules(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("good_module.py").write_text(f"from {SMALL.package} import GAME\n")
    Path("empty_module.py").write_text("")
    Path("other_module.py").write_text(
        f"from dataclasses import replace\nfrom {SMALL.package} import GAME\n"
        "GAME = replace(GAME, title='Another one')\n"
    )
    assert arguments.import_games(["good_module", "good_module"]) == [SMALL, SMALL]
    words = [SMALL.id, "--agents", "random", "random", "--games-from"]
    for module, message in (
        ("nowhere", "--games-from: importing nowhere failed: ModuleNotFoundError: No module "),
        ("empty_module", "--games-from empty_module: the module has no GAME"),
        ("other_module", f"there is already a game {SMALL.name!r}"),
    ):
        assert evaluate_module.main([*words, module]) == 2
        assert message in capsys.readouterr().err


def test_errors_and_exit_statuses(capsys):
    def raising(error):
        def main():
            raise error

        return main

    assert running.run("program", lambda: None) == 0
    assert running.run("program", lambda: 3) == 3
    for error in (ValueError("a"), TypeError("a"), OSError("a"), extras.MissingExtraError("a")):
        assert running.run("program", raising(error)) == 2
        assert capsys.readouterr().err == "program: error: a\n"
    assert running.run("program", raising(KeyboardInterrupt())) == 130
    with pytest.raises(ZeroDivisionError):
        running.run("program", raising(ZeroDivisionError()))


def test_json_files_are_written_in_one_piece(tmp_path, monkeypatch):
    path = tmp_path / "new" / "result.json"
    files.write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        files.write_json(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1}


def test_missing_libraries_name_their_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(extras.MissingExtraError, match=r"pip install 'card_envs\[evaluation\]'"):
        estimate_mean(np.zeros(3))
    words = [SMALL.id, "--agents", "random", "random", "--deals", "2"]
    assert evaluate_module.main(words) == 2
    assert "scipy is not installed" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["scipy.stats", "threadpoolctl", "rich.table"])
def test_a_missing_library_is_missed_before_the_games(module, monkeypatch):
    asked = []

    def agent(observation, action_mask):
        asked.append(len(action_mask))
        return action_mask.argmax(axis=1)

    monkeypatch.setitem(sys.modules, module, None)
    library = module.partition(".")[0]
    calls = {
        "scipy.stats": lambda: evaluate(SMALL, ["random", agent], 2),
        "threadpoolctl": lambda: run_tournament(SMALL, ["random", agent], 2, 2),
        "rich.table": display.check_display,
    }
    with pytest.raises(extras.MissingExtraError, match=f"{library} is not installed"):
        calls[module]()
    assert not asked


@pytest.mark.parametrize("which", ["evaluate", "tournament"])
def test_results_are_written_though_they_cannot_be_shown(which, tmp_path, monkeypatch):
    main = {"evaluate": evaluate_module, "tournament": tournament_module}[which].main
    path = tmp_path / "result.json"

    def fail(content):
        raise OSError("the disk is full")

    monkeypatch.setattr(display, "print_content", fail)
    players = SCRIPTED.min_players
    words = [SCRIPTED.id, "--agents", "heuristic", *["random"] * (players - 1)]
    if which == "tournament":
        words = [SCRIPTED.id, "--agents", "heuristic", "random", "--players", str(players)]
    assert main([*words, "--deals", "2", "--json", str(path)]) == 2
    assert json.loads(path.read_text())["deals"] == 2


def rated(name, rating):
    row = {"name": name, "rating": rating, "rating_ci95": [rating - 1, rating + 1]}
    return {**row, "deviation": 0.0, "rank": 0.0, "rank_ci95": [-0.1, 0.1]}


RATED = {
    "game": "a game",
    "num_players": 2,
    "deals": 9,
    "truncated": 0.0,
    "agents": [rated("weak", -10.0), rated("strong", 20.0)],
    "pairwise": [[0.5, 0.125], [0.875, 0.5]],
    "pairwise_ci95": [[[0.5, 0.5], [0.1, 0.2]], [[0.8, 0.9], [0.5, 0.5]]],
}


def test_the_strongest_is_first_and_rows_are_ahead_of_columns(capsys, monkeypatch):
    drawn = []
    monkeypatch.setattr(display, "write_picture", lambda figure, picture: drawn.append(figure))
    display.show_tournament(RATED)
    shown = capsys.readouterr().out
    assert shown.index("strong") < shown.index("weak")
    display.plot_ratings(RATED, "ratings.png", "A game")
    ratings, shares = drawn[0].axes
    assert [label.get_text() for label in ratings.get_yticklabels()] == ["strong", "weak"]
    texts = {text.get_position()[::-1]: text.get_text() for text in shares.texts}
    assert texts[0, 1].startswith("0.88")  # the row of the strong, the column of the weak
    assert texts[1, 0].startswith("0.12")


def test_each_number_of_an_evaluation_is_in_its_column(capsys):
    row = {"name": "mine", "rank": 0.1, "rank_ci95": [0.2, 0.3], "win": 0.4, "win_ci95": [0.5, 0.6]}
    result = {"game": "a game", "num_players": 2, "deals": 9, "truncated": 0.0}
    display.show_evaluation({**result, "agents": [{**row, "score": 0.7}], "programs": []})
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "mine" in line)
    numbers = [float(number) for number in re.findall(r"[-+]?\d\.\d+", line)]
    assert numbers == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


@pytest.mark.parametrize(("share", "begins"), [(1.0, "Warning: 100.0%"), (0.005, "0.5%")])
def test_many_truncated_games_are_warned_of(share, begins, capsys):
    display.print_truncated({"truncated": share})
    assert capsys.readouterr().out.startswith(begins)


def test_tables_are_whole_in_files_and_in_narrow_terminals(capsys, monkeypatch):
    names = ["heuristic", "ppo", *(f"search:{n},policy=heuristic" for n in (64, 256, 1000, 4000))]
    count = len(names)
    row = {"rating": 1.0, "rating_ci95": [0.0, 2.0], "rank": 0.5, "rank_ci95": [0.4, 0.6]}
    row["deviation"] = -0.25
    result = {
        "game": "a game",
        "num_players": 2,
        "deals": 2,
        "truncated": 0.0,
        "agents": [{"name": name, **row} for name in names],
        "pairwise": np.full((count, count), 0.125).tolist(),
        "pairwise_ci95": np.full((count, count, 2), (0.05, 0.25)).tolist(),
    }
    display.show_tournament(result)
    whole = capsys.readouterr().out
    assert whole.count("0.125") == count * (count - 1)
    assert all(whole.count(name) == 3 for name in names[2:])

    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    monkeypatch.setenv("COLUMNS", "100")
    display.show_tournament(result)
    narrow = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert max(map(len, narrow.splitlines())) <= 100
    assert narrow.count("0.125") == count * (count - 1)
    assert "…" not in narrow.partition("how often")[2]
    assert f"{count} {names[-1]}" in narrow


def test_evaluation_needs_neither_torch_nor_the_repository(tmp_path):
    """In a fresh process, which is told of the game."""
    folder = Path(sys.modules[SMALL.package].__file__).parent.parent
    words = [SMALL.id, "--agents", "random", "random", "--deals", "2"]
    words += ["--games-from", SMALL.package]
    code = f"""
import json, sys
import gymnasium, numba, pettingzoo.utils, safetensors  # which load some of these themselves
before = set(sys.modules)
from card_envs.commands.cli import main
assert "rich" not in sys.modules
assert main(["evaluate", *{words}]) == 0
print(json.dumps(sorted({{name.split(".")[0] for name in set(sys.modules) - before}})))
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    loaded = set(json.loads(run.stdout.splitlines()[-1]))
    assert not loaded & {"torch", "pydantic", "yaml", "training", "benchmarks", "joblib"}


@pytest.mark.parametrize(
    "game", [pytest.param(game, id=game.id) for game in ALL_GAMES if shipped_policies(game)]
)
def test_shipped_policies_can_be_evaluated_by_their_names(game):
    n = game.min_players
    result = evaluate(game, ["ppo", *["random"] * (n - 1)], 20, 0)
    assert result.agents[0].rank.low > 0


def test_numbers_of_numpy_can_be_written_as_json():
    result = evaluate(SMALL, ["random"] * 2, np.int64(4), np.int64(3))
    assert json.dumps(result.to_json()) == json.dumps(
        evaluate(SMALL, ["random"] * 2, 4, 3).to_json()
    )
    played = run_tournament(SMALL, ["random", first_legal], np.int64(2), np.int64(4), np.int64(3))
    json.dumps(played.to_json())
    for wrong in (None, "3", 2.5):
        with pytest.raises(TypeError, match="seed"):
            evaluate(SMALL, ["random"] * 2, 4, wrong)
        with pytest.raises(TypeError, match="deals"):
            evaluate(SMALL, ["random"] * 2, wrong)


def test_seeds_and_orders_of_deals_are_checked():
    seeds = np.arange(40)
    agents = ["random", first_legal]
    expected = play_deals(SMALL, agents, seeds.astype(np.uint64)).rank
    for dtype in (np.int32, np.uint32, np.int64):
        np.testing.assert_array_equal(play_deals(SMALL, agents, seeds.astype(dtype)).rank, expected)
    large = np.array([2**63, 1], np.uint64)
    np.testing.assert_array_equal(
        play_deals(SMALL, agents, large.tolist()).rank, play_deals(SMALL, agents, large).rank
    )
    for wrong in (seeds.astype(np.float64), [0.5], [True], seeds.reshape(2, 20), seeds[:0]):
        with pytest.raises(ValueError, match="seeds must be one or more whole numbers"):
            play_deals(SMALL, agents, wrong)
    for wrong, got in ((seeds - 1, -1), ([1, 2**64], 2**64)):
        with pytest.raises(ValueError, match=rf"seeds must be from 0 to 2\*\*64 - 1, got {got}"):
            play_deals(SMALL, agents, wrong)
    right = np.tile([0, 1], (40, 1))
    for orders in (0 * right, right[1:], right + 1, right.astype(float)):
        with pytest.raises(ValueError, match="orders must be a permutation of 0 to 1"):
            play_deals(SMALL, agents, seeds, orders=orders)
    for orders in (right.tolist(), right.astype(np.uint64)):
        played = play_deals(SMALL, agents, seeds, orders=orders).rank
        np.testing.assert_array_equal(played, expected)
    for values in (expected, expected[:0, 0, 0], ["0.5"] * 5, 0.5):
        with pytest.raises(ValueError, match="values must be one or more numbers"):
            estimate_mean(values)
    assert estimate_mean([0, 1, 0.5, 0, 1]) == estimate_mean(np.array([0.0, 1.0, 0.5, 0.0, 1.0]))
    for bounds in ((0,), (1, 0), (0, 0), (0, 1, 2), (0, float("nan"))):
        with pytest.raises(ValueError, match="bounds must be the least and the greatest"):
            estimate_mean(np.zeros(5), bounds)
    for confidence in (0.0, 1.0, 95, float("nan")):
        with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
            estimate_mean(np.zeros(5), confidence=confidence)
    values = np.repeat([0.5, 1.0], 8)  # two results are as common as each other
    mirrored = estimate_mean(-values)
    assert estimate_mean(values)[1:] == pytest.approx((-mirrored.high, -mirrored.low))
