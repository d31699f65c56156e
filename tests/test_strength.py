"""Leaderboard, best responses and studies: complete, restartable, and what they say is so."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import ALL_GAMES, SCRIPTED, SHIPPED, SMALL
from random_policies import policy_file, random_network
from tiny_runs import TINY

from benchmarks import all_agents, report, strength
from benchmarks.tables import TABLES, learning
from benchmarks.tables.learning import without_folders
from card_envs.agents import make_agent, policy_path, shipped_policies
from card_envs.agents.identity import hash_of_agent
from card_envs.agents.network import write_policy
from card_envs.contract.options import View
from card_envs.evaluation import run_tournament, tables_of
from card_envs.evaluation.display import short_names
from training import best_response, study, train
from training.runs.config import Config, PPOSection
from training.runs.keys import load
from training.runs.records import identity, predecessors, read_json
from training.runs.run import Run

ROOT = report.RESULTS.parent.parent
COMMITTED = [
    pytest.param(g, id=g.id)
    for g in ALL_GAMES
    if (report.RESULTS / f"strength_{g.id}.json").exists()
]


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch):
    """Predecessors are named by their paths from there."""
    monkeypatch.chdir(ROOT)


# ---------------------------------------------------------------------------------------------
# The leaderboard
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    path = tmp_path_factory.mktemp("policies") / "mine.safetensors"
    return ["random", "heuristic", policy_file(SCRIPTED, path)]


@pytest.fixture(scope="module")
def measured_with(agents):
    def measured_with(folder, *words):
        path = folder / "strength.json"
        argv = ["--game", SCRIPTED.id, "--agents", *agents, "--deals", "5", "--json", str(path)]
        status = strength.main([*argv, "--cache", str(folder / "cache"), *words])
        return status, path

    return measured_with


@pytest.fixture(scope="module")
def played(tmp_path_factory, measured_with):
    """A small leaderboard: its folder, and the bytes of its JSON."""
    folder = tmp_path_factory.mktemp("leaderboard")
    status, path = measured_with(folder, "--jobs", "1")
    assert status == 0
    return folder, path.read_bytes()


def test_everybody_plays_everybody_at_every_table_size(played, agents):
    measured = json.loads(played[1])
    sizes = measured["by_num_players"]
    assert [int(n) for n in sizes] == list(SCRIPTED.table_sizes)
    for players, size in sizes.items():
        tables = [tuple(agents.index(a) for a in table["agents"]) for table in size["tables"]]
        assert tables == tables_of(3, int(players))
        for table in size["tables"]:
            assert sum(table["rank"]) == pytest.approx(0)
            assert sum(table["win"]) == pytest.approx(1)
            assert table["truncated"] == 0
        pairwise = np.array(size["pairwise"])
        assert pairwise + pairwise.T == pytest.approx(np.ones((3, 3)))
    for of_all in (*sizes.values(), measured["overall"]):
        assert of_all["truncated"] == 0
        random, heuristic, _ = of_all["agents"]
        assert [row["name"] for row in of_all["agents"]] == agents
        for row in of_all["agents"]:
            for key in ("rating", "rank", "win"):
                low, high = row[f"{key}_ci95"]
                assert low is None or low <= row[key]
                assert high is None or row[key] <= high
        assert random["rating"] < heuristic["rating"]
    assert measured["agents"][:2] == ["random", "heuristic"]
    assert measured["agents"][2].startswith(f"{agents[2]} ")  # and what is in its file
    table = TABLES["strength"](measured)
    assert "| `mine` |" in table
    assert "truncated" not in table
    measured["overall"]["truncated"] = 0.25
    assert "25.0% of the games were truncated" in TABLES["strength"](measured)


def test_finished_tables_are_not_played_again(played, measured_with, monkeypatch, capsys):
    folder, before = played
    files = sorted((folder / "cache").iterdir())
    assert len(files) == sum(len(tables_of(3, n)) for n in SCRIPTED.table_sizes)
    calls = []
    play = strength.play_table
    monkeypatch.setattr(strength, "play_table", lambda *a: calls.append(a[0]) or play(*a))
    status, path = measured_with(folder, "--jobs", "1")
    assert (status, calls) == (0, [])
    assert path.read_bytes() == before
    files[5].unlink()
    status, path = measured_with(folder, "--jobs", "1")
    assert (status, len(calls)) == (0, 1)
    assert path.read_bytes() == before
    files[5].write_bytes(files[5].read_bytes()[:100])
    capsys.readouterr()
    assert measured_with(folder, "--jobs", "1")[0] == 2
    assert f"the finished table {files[5]} is damaged, delete it" in capsys.readouterr().err
    files[5].unlink()


@pytest.mark.parametrize("words", [("--seed", "1"), ("--deals", "6")])
def test_tables_of_other_deals_are_played(words, played, measured_with, monkeypatch):
    class PlayedError(Exception):
        pass

    def play(*args):
        raise PlayedError

    monkeypatch.setattr(strength, "play_table", play)
    with pytest.raises(PlayedError):
        measured_with(played[0], "--jobs", "1", *words)


def test_every_table_size_is_a_tournament(played, agents):
    """In the same random orders: it can matter who sits to whose left."""
    players = SCRIPTED.max_players
    found = json.loads(played[1])["by_num_players"][str(players)]
    assert found == run_tournament(SCRIPTED, agents, players, deals=5).summary.to_json()


@pytest.mark.slow
def test_any_number_of_jobs_gives_the_same_bytes(played, measured_with, tmp_path):
    status, path = measured_with(tmp_path, "--jobs", "2")
    assert status == 0
    assert path.read_bytes() == played[1]


def test_all_agents_of_a_game_take_part_by_default():
    for game in ALL_GAMES:
        names = strength.default_agents(game)
        assert ("heuristic" in names) == (game.heuristic is not None)
        assert set(names) >= {"random", *shipped_policies(game), *predecessors(game)}
        assert len(names) == len(set(short_names(names)))


def test_another_file_under_the_same_name_is_another_agent(tmp_path):
    path = policy_file(SMALL, tmp_path / "mine.safetensors")
    first = identity(path, SMALL)
    assert first.startswith(f"{path} ")
    policy_file(SMALL, tmp_path / "mine.safetensors", seed=1)
    assert identity(path, SMALL) != first
    assert identity("random", SMALL) == "random"


def test_wrong_leaderboards_name_the_mistake(tmp_path, capsys, monkeypatch):
    argv = ["--game", SCRIPTED.id, "--cache", str(tmp_path), "--agents", "random"]
    for words, message in (
        ([], "2 to 15 agents can play each other, got ['random']"),
        (["random"], "agents must have different names, got ['random', 'random']"),
        (["nobody"], "there is no agent 'nobody'"),
        (["heuristic", "--deals", "1"], "deals must be at least 2"),
        (["heuristic", "--seed", "-1"], "seed must be from 0 to 2**64 - 1, got -1"),
        (["heuristic", "--game", "chess"], "there is no game 'chess'"),
        (["heuristic", "--games-from", "nowhere"], "No module named 'nowhere'"),
    ):
        assert strength.main([*argv, *words]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    assert strength.main([*argv, "heuristic", "--deals", "2", "--backend", "ray"]) == 2
    assert "--backend ray needs Ray: pip install --group cluster" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# The leaderboard with search
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "players"), [(2, 2), (5, 2), (4, 3), (10, 3), (10, 4), (3, 5)])
def test_every_two_agents_meet_and_all_play_about_as_often(count, players):
    tables = all_agents.covering_tables(count, players)
    assert set(tables) <= set(tables_of(count, players))
    assert len(tables) == len(set(tables))
    pairs = [pair for table in tables for pair in combinations(sorted(set(table)), 2)]
    assert set(pairs) == set(combinations(range(count), 2))
    if players == 2:
        assert len(pairs) == len(set(pairs))
    seen = np.bincount([agent for table in tables for agent in set(table)])
    assert seen.max() - seen.min() <= 1


def test_searches_of_each_kind_take_part_by_default():
    for game in ALL_GAMES:
        names = all_agents.agents_and_searches(game)
        assert set(names) > set(strength.default_agents(game))
        assert len(names) == len(set(short_names(names)))
        kinds = {"random", *["heuristic"] * (game.heuristic is not None)}
        rollouts = {make_agent(name, game)._policy[0] for name in names if "search" in name}
        assert len(rollouts) == len(kinds) + ("ppo" in names)


def test_a_leaderboard_with_search(tmp_path, monkeypatch, capsys):
    path = tmp_path / "search.json"
    agents = ["random", "heuristic", "search:4", "search:4,method=tree"]
    argv = ["--game", SCRIPTED.id, "--agents", *agents, "--deals", "2", "--jobs", "1"]
    argv += ["--cache", str(tmp_path / "cache"), "--json", str(path)]
    assert all_agents.main(argv) == 0
    measured = read_json(path)
    shown = TABLES["all_agents"](measured)
    rows = {row["name"]: row for row in measured["results"]["agents"]}
    assert list(rows) == agents
    for name, row in rows.items():
        assert f"| `{name}` | " in shown
        assert row["unfinished"] == 0
        assert row["decision_ms"] > 0
    assert rows["search:4"]["rating"] > rows["random"]["rating"]
    assert measured["settings"]["num_players"] == SCRIPTED.min_players
    assert len(measured["results"]["tables"]) == 6
    monkeypatch.setattr(strength, "play_table", None)  # finished tables are not played again
    assert all_agents.main(argv) == 0
    again = read_json(path)["results"]
    assert again["pairwise"] == measured["results"]["pairwise"]
    assert all_agents.main([*argv, "--players", "1"]) == 2
    assert "num_players" in capsys.readouterr().err


def test_an_agents_truncated_games_are_those_of_its_own_tables(monkeypatch, tmp_path):
    """Of three agents only the first two have met for too long."""
    names = ["one", "two", "three"]
    level = {"rating": 0.0, "rating_ci95": None, "rank": 0.0, "rank_ci95": None}
    summary = {"agents": [{"name": name, **level} for name in names], "tables": [{}] * 3}

    def play_tables(game, names, tables, matches):
        assert tables == [(0, 1), (0, 2), (1, 2)]
        return [SimpleNamespace(truncated=np.full((2, 2), t == (0, 1))) for t in tables], {}

    monkeypatch.setattr(all_agents, "play_tables", play_tables)
    monkeypatch.setattr(
        all_agents, "summarize", lambda *args: SimpleNamespace(to_json=lambda: summary)
    )
    monkeypatch.setattr(all_agents, "decision_seconds", lambda *args: 0.0025)
    matches = strength.Matches(2, 0, tmp_path, 1, "loky")
    measured = all_agents.measure(SMALL.id, names, 2, matches)
    rows = measured["results"]["agents"]
    assert [row["unfinished"] for row in rows] == [0.5, 0.5, 0.0]
    lines = TABLES["all_agents"](measured).splitlines()
    assert lines[0] == "| agent | rating | rank reward | truncated games | ms a decision |"
    assert lines[2] == "| `one` | +0 (–) | +0.000 (–, fewer than 5 deals) | 50.0% | 2.5 |"


def test_the_time_of_a_decision_is_that_of_all_by_their_number(monkeypatch):
    watched = SimpleNamespace(seconds=6.0, decisions=4)
    monkeypatch.setattr(all_agents, "StopwatchAgent", lambda agent, game: watched)
    monkeypatch.setattr(all_agents, "evaluate", lambda *args: None)
    assert all_agents.decision_seconds(SMALL, "random", 2, 0) == 1.5


def test_a_search_with_another_policy_is_another_agent(tmp_path):
    path = policy_file(SMALL, tmp_path / "mine.safetensors")
    name = f"search:4,policy={path}"
    first = identity(name, SMALL)
    assert first.startswith(f"{name} ")
    policy_file(SMALL, tmp_path / "mine.safetensors", seed=1)
    assert identity(name, SMALL) != first
    assert short_names([name, path]) == [name, "mine"]


def test_a_search_with_a_policy_that_draws_or_sees_less_is_another_agent(tmp_path):
    """Its weights are the same."""
    path = tmp_path / "mine.safetensors"
    network, name = random_network(SMALL, (12,)), f"search:4,policy={path}"
    found = set()
    for view, draws in ((View(), False), (View(), True), (View(memory="none"), False)):
        write_policy(path, network, SMALL, view, draws=draws)
        found.add(identity(name, SMALL))
    assert len(found) == 3


# ---------------------------------------------------------------------------------------------
# What is committed
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", COMMITTED)
def test_committed_leaderboards_are_of_the_games_policies(game):
    """Of these very files."""
    measured = read_json(report.RESULTS / f"strength_{game.id}.json")
    expected = [identity(name, game) for name in strength.default_agents(game)]
    assert [*map(short_identity, measured["agents"])] == [*map(short_identity, expected)]


def short_identity(identity):
    """An agent's short name, and the SHA-256 of a policy's file."""
    name, *digest = identity.split(" ")
    return " ".join([*short_names([name]), *digest])


@pytest.mark.parametrize("game", SHIPPED)
def test_less_is_gained_from_a_policy_than_from_its_predecessor(game):
    """At each table size that is measured: by the better of the two, which is the bound that is
    reported."""
    responses = read_json(ROOT / "training" / "results" / f"best_response_{game.id}.json")[
        "responses"
    ]
    sizes = sorted({game.min_players, game.default_players})
    (before,) = predecessors(game)[-1:]
    gains = {}
    for row in responses:
        assert row["identity"] == identity(row["against"], game)
        assert row["decisions"] > 10_000_000
        gains[row["against"], row["num_players"]] = row["gain"], row["search"]["gain"]
    assert list(gains) == [(name, n) for name in ("heuristic", before, "ppo") for n in sizes]
    for n in sizes:
        assert max(gains["ppo", n]) < max(gains[before, n])


@pytest.mark.parametrize("game", SHIPPED)
def test_shipped_policies_are_stronger_than_their_predecessors(game):
    """Against them, and against heuristics on the same deals, on average over table sizes."""
    card = read_json(policy_path("ppo", game).with_suffix(".json"))["strength"]
    means = {mean["opponents"]: mean for mean in card["means"] if mean["name"] == "ppo"}
    for name in predecessors(game):
        before = read_json(policy_path(name, game).with_suffix(".json"))["strength"]
        assert (card["deals"], card["seed"]) == (before["deals"], before["seed"]) == (2000, 0)
        assert means[name]["rank_ci95"][0] > 0
        short = short_names([name])[0]
        ranks = [
            row["rank"]
            for row in before["results"]
            if (row["name"], row["opponents"]) == (short, "heuristic")
        ]
        assert len(ranks) == len(game.table_sizes)
        assert means["heuristic"]["rank"] > np.mean(ranks)


def is_there(what):
    """Whether this clone has a commit, or a file of one."""
    command = ["git", "-C", str(ROOT), "cat-file", "-e", what]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize("game", SHIPPED)
def test_cards_say_how_the_policies_were_made(game):
    """By which configuration, with the trainer of which commit."""
    for name in (*shipped_policies(game), *predecessors(game)):
        card = read_json(policy_path(name, game).with_suffix(".json"))
        config = Config.model_validate(card["config"])
        found = (config.name, config.game, config.seed)
        assert found == (short_names([name])[0], game.id, card["seed"])
        assert {"decisions", "hours", "machine", "versions", "strength"} <= set(card)
        assert card["strength"]["sha256"] == hash_of_agent(name, game)
        assert card["commands"][0].startswith("python -m training.train ")
        assert re.fullmatch("[0-9a-f]{7,}", card["commit"])
        if name in shipped_policies(game) and is_there(card["commit"]):  # not in a shallow clone
            _, path = card["commands"][0].split("training.train ")
            assert is_there(f"{card['commit']}:{path}")
        if "curve" in card and name in shipped_policies(game):
            path = Path("configs", "policies", f"{game.id}.yaml")
            assert load(Config, ROOT / path) == config
            assert card["commands"] == [f"python -m training.train {path.as_posix()}"]


# ---------------------------------------------------------------------------------------------
# Best responses
# ---------------------------------------------------------------------------------------------


def tiny_file(folder, game, **changes):
    path = folder / "tiny.yaml"
    path.write_text(json.dumps({"game": game.id, **TINY, **changes}))  # JSON is YAML
    return path


@pytest.mark.slow
def test_best_response_gains_from_a_weak_agent(tmp_path):
    path = tmp_path / "response.json"
    sizes = list(SCRIPTED.table_sizes)[:2]
    argv = [str(tiny_file(tmp_path, SCRIPTED)), "--against", "random", "heuristic"]
    argv += ["--players", *map(str, sizes), "--start", "heuristic", "--deals", "40"]
    argv += ["--search", "search:16", "--search-deals", "40"]
    argv += ["--set", "decisions=192", "imitation.decisions=64", "evaluation.deals=2"]
    argv += ["ppo.n_steps=8", "ppo.batch_size=32", "environment.num_envs=8"]
    argv += ["--out", str(tmp_path / "runs"), "--jobs", "1", "--json", str(path)]
    assert best_response.main(argv) == 0
    result = json.loads(path.read_text())
    rows = {(row["against"], row["num_players"]): row for row in result["responses"]}
    assert list(rows) == [(name, n) for name in ("random", "heuristic") for n in sizes]
    assert result["command"].startswith("python -m training.best_response ")
    for row in rows.values():
        assert row["gain_ci95"][0] <= row["gain"] <= row["gain_ci95"][1]
        assert (row["start"], row["decisions"]) == ("heuristic", 192)
        assert row["identity"] == row["against"]  # a policy's has its hash
        assert 0 <= row["truncated"] <= 1
        search = row["search"]
        assert search["agent"] == f"search:16,policy={row['against']}"
        assert search["gain_ci95"][0] <= search["gain"] <= search["gain_ci95"][1]
        assert 0 <= search["truncated"] <= 1
    for n in sizes:
        assert rows["random", n]["gain"] > rows["heuristic", n]["gain"]
        assert rows["random", n]["search"]["gain_ci95"][0] > 0
    table = TABLES["best_response"](result)
    assert "gain of `search:16`" in table
    assert f"{rows['random', sizes[0]]['search']['gain']:+.3f}" in table
    folder = tmp_path / "runs" / f"random_{sizes[1]}"
    config = load(Config, folder / "config.yaml")
    assert config.environment.num_players == sizes[1]
    assert config.opponents.agents == {"random": 1}
    assert config.opponents.pool == 0
    weights = (folder / "best_response.safetensors").stat()
    assert best_response.main(argv) == 0
    assert json.loads(path.read_text()) == result
    again = (folder / "best_response.safetensors").stat()
    assert again.st_mtime_ns == weights.st_mtime_ns


def test_all_policies_meet_the_same_best_response(tmp_path):
    """A gentler configuration does not make its policy seem harder to exploit."""
    ppo = {"learning_rate": 1e-6, "ent_coef": 0.5}
    gentle = tiny_file(tmp_path, SMALL, ppo=ppo, draws=True, truncation="loss", seed=7)
    players = SMALL.min_players
    config = best_response.response_config(gentle, "random", players, "random", ())
    assert config.ppo == PPOSection(**best_response.PPO)
    assert config.environment.num_envs == best_response.NUM_ENVS
    assert config.seed == best_response.SEED
    assert not config.draws
    assert config.truncation == "bootstrap"
    faster = ("ppo.learning_rate=2e-3",)
    config = best_response.response_config(gentle, "random", players, "random", faster)
    assert config.ppo == PPOSection(**{**best_response.PPO, "learning_rate": 2e-3})


def test_best_responses_start_with_the_weights_of_a_policy(tmp_path):
    path = tiny_file(tmp_path, SMALL)
    policy = policy_file(SMALL, tmp_path / "mine.safetensors")
    for start, copied in ((policy, True), ("random", False)):
        config = best_response.response_config(path, "random", SMALL.min_players, start, ())
        assert (config.imitation.agent, config.imitation.copy_weights) == (start, copied)


def test_a_search_plays_rollouts_with_what_it_can():
    names = ("random", "cmd:false", "nobody")
    found = [best_response._can_be_made(f"search:4,policy={name}", SMALL) for name in names]
    assert found == [True, False, False]


def test_a_response_starts_with_the_policy_that_it_responds_to(tmp_path):
    path = tmp_path / "response.json"
    policy = policy_file(SMALL, tmp_path / "mine.safetensors")
    argv = [str(tiny_file(tmp_path, SMALL)), "--against", policy, "random", "--deals", "4"]
    argv += ["--players", str(SMALL.min_players), "--search-deals", "0", "--jobs", "1"]
    argv += ["--set", "decisions=64", "imitation.decisions=64", "evaluation.deals=2"]
    argv += ["ppo.n_steps=8", "ppo.batch_size=32", "environment.num_envs=8"]
    assert best_response.main([*argv, "--out", str(tmp_path / "runs"), "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    other = "ppo" if "ppo" in shipped_policies(SMALL) else SMALL.default_opponent
    assert [row["start"] for row in result["responses"]] == [policy, other]
    assert "--start" not in result["command"]


@pytest.mark.parametrize("game", SHIPPED)
def test_responses_to_a_games_policies_can_start_with_their_weights(game, tmp_path):
    path = ROOT / "configs" / f"{game.id}.yaml"
    for name in (*predecessors(game), "ppo"):
        config = best_response.response_config(path, name, game.min_players, name, ())
        Run(config, tmp_path)


def test_a_game_without_heuristic_has_best_responses_too(tmp_path):
    """To random play, and starting from it: the game's default opponent."""
    path = tmp_path / "response.json"
    argv = [str(tiny_file(tmp_path, SMALL)), "--deals", "4", "--jobs", "1"]
    argv += ["--set", "decisions=64", "imitation.decisions=64", "evaluation.deals=2"]
    argv += ["ppo.n_steps=8", "ppo.batch_size=32", "environment.num_envs=8"]
    assert best_response.main([*argv, "--out", str(tmp_path / "runs"), "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["responses"]
    expected = {SMALL.default_opponent, *(n for n in shipped_policies(SMALL) if n == "ppo")}
    assert {row["against"] for row in rows} == expected


def test_wrong_best_responses_name_the_mistake(tmp_path, capsys):
    config = str(tiny_file(tmp_path, SMALL))
    n = str(SMALL.min_players)
    against = [config, "--against", "random", "--players"]
    chosen = "--set: the table is chosen by --against and --players"
    for words, message in (
        ([config, "--against", "nobody", "--players", n], "there is no agent 'nobody'"),
        ([*against, str(SMALL.max_players + 1)], f"got num_players={SMALL.max_players + 1}"),
        ([*against, n, "--deals", "1"], "deals must be at least"),
        ([*against, n, "--search-deals", "100000000"], "--search-deals must be 0, or at least 2"),
        ([*against, n, "--set", "environment.num_players=[2, 2]"], chosen),
        ([*against, n, "--set", "opponents.pool=0.5"], chosen),
        ([*against, n, "--set", "nonsense=1"], "'nonsense'"),
        (["nowhere.yaml", "--against", "random", "--players", n], "cannot read"),
    ):
        assert best_response.main([*words, "--out", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# Studies
# ---------------------------------------------------------------------------------------------

STUDY = {
    "question": "Which?",
    "seeds": [1, 2, 3],
    "deals": 2,
    "against": ["heuristic", "random"],
    "base": {
        "game": SCRIPTED.id,
        "decisions": 64,
        "threads": 1,
        "network": {"hidden": [8]},
        "environment": {"num_envs": 8},
        "imitation": {"decisions": 64},
        "ppo": {"n_steps": 8, "batch_size": 32, "n_epochs": 1},
        "evaluation": {"every": 1000, "deals": 2, "players": [SCRIPTED.min_players]},
    },
    "settings": {
        "larger": ["network.hidden=[16]"],
        "small_tables": [f"environment.num_players={SCRIPTED.min_players}"],
    },
}


@pytest.mark.slow
def test_study_compares_settings_over_seeds(tmp_path, monkeypatch, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(STUDY))
    results = tmp_path / "results" / "study_mine.json"
    runs = tmp_path / "runs"
    argv = [str(path), "--out", str(runs), "--jobs", "1", "--json", str(results)]
    assert study.main(argv) == 0
    result = read_json(results)
    assert list(result["settings"]) == ["base", "larger", "small_tables"]
    assert result["imitated"] == "heuristic"
    sizes = [str(n) for n in SCRIPTED.table_sizes]
    level = [0] * len(sizes)
    assert [*result["imitated_against"]["heuristic"].values()] == pytest.approx(level, abs=1e-9)
    assert min(result["imitated_against"]["random"].values()) > 0
    for name, setting in result["settings"].items():
        assert [run["seed"] for run in setting["runs"]] == [1, 2, 3]
        for run in setting["runs"]:
            assert list(run["against"]) == ["heuristic", "random"]
            assert list(run["against"]["random"]) == sizes
            config = load(Config, runs / name / str(run["seed"]) / "config.yaml")
            assert config.seed == run["seed"]
            card = read_json(runs / name / str(run["seed"]) / "ppo.json")
            assert card["commands"] == [result["command"]]
            assert config.network.hidden == ((16,) if name == "larger" else (8,))
    table = TABLES["study"](result)
    assert "| larger | `network.hidden=[16]` |" in table
    assert "| `heuristic` itself |  | +0.000 |" in table
    # Settings that train at other table sizes are shown at each.
    of_small = [
        next(iter(run["against"].values())) for run in result["settings"]["small_tables"]["runs"]
    ]
    means = [np.mean([found[n] for found in of_small]) for n in of_small[0]]
    row = next(r for r in table.splitlines() if re.match(r"\| small_tables \| [+-]", r))
    assert [cell.split()[0] for cell in row.split(" | ")[1:]] == [f"{mean:+.3f}" for mean in means]
    del result["settings"]["small_tables"]
    assert f"{next(iter(of_small[0]))} players" not in TABLES["study"](result)
    result = read_json(results)
    # What is finished is not repeated; what was begun with other settings is not mixed with it.
    monkeypatch.setattr(train, "train", None)
    monkeypatch.setattr(study, "ranks_against", lambda *args: result["imitated_against"])
    assert study.main(argv) == 0
    assert read_json(results) == result
    # Others under the same names are measured again, into another file.
    with monkeypatch.context() as patch:
        another = {**vars(study.records), "identity": lambda name, game: f"another {name}"}
        patch.setattr(study, "records", SimpleNamespace(**another))
        assert study.main(argv) == 2
        assert "holds runs of another study: agents differs; choose" in capsys.readouterr().err
        assert read_json(results) == result
        results.unlink()
        assert study.main(argv) == 0
    again = read_json(results)
    assert again["settings"]["base"]["runs"][0]["against"] == result["imitated_against"]
    path.write_text(json.dumps(STUDY).replace("[16]", "[24]"))
    results.unlink()
    assert study.main(argv) == 2
    assert "is of another configuration" in capsys.readouterr().err
    path.write_text(json.dumps({**STUDY, "cpu_minutes": 5}))
    assert study.main(argv) == 2
    wrong = f"{runs} holds runs of another study: cpu_minutes differs; choose another"
    assert wrong in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_command_runs_the_module_that_other_processes_import(monkeypatch):
    """Those of ``--jobs`` cannot unpickle what is defined in ``__main__``."""
    monkeypatch.setattr(study, "main", lambda argv: 7)
    with pytest.raises(SystemExit) as left:
        runpy.run_module("training.study", run_name="__main__")
    assert left.value.code == 7


def test_a_study_can_be_made_in_pieces(tmp_path, monkeypatch, capsys):
    """What the JSON holds of the same study is kept, and not repeated."""
    path, results = tmp_path / "mine.yaml", tmp_path / "mine.json"
    monkeypatch.setattr(study, "train_or_resume", lambda run, command: run.policy_path)
    monkeypatch.setattr(
        study, "ranks_against", lambda run, *rest: {"random": {"2": run.config.seed}}
    )
    card = {"decisions": 64, "hours": 0.1, "machine": "this one", "commit": "1234567"}
    monkeypatch.setattr(study.records, "read_json", lambda path: card)
    base = {**STUDY["base"], "imitation": {}}
    path.write_text(json.dumps({**STUDY, "base": base, "seeds": [1]}))

    def made(folder, *chosen):
        before = json.loads(results.read_text()) if results.exists() else None
        found = study.run_study(path, tmp_path / folder, 1, (), chosen, before)
        results.write_text(json.dumps(found))
        trained = [path.name for path in (tmp_path / folder).iterdir() if path.is_dir()]
        return list(found["settings"]), sorted(trained)

    assert made("here", "small_tables") == (["base", "small_tables"], ["base", "small_tables"])
    assert "processor" not in learning.study(json.loads(results.read_text()))
    card["machine"] = "another, 2 cores"
    assert made("there") == (["base", "larger", "small_tables"], ["larger"])
    _, table, *_ = learning.study(json.loads(results.read_text())).split("\n\n")
    rows = [[cell.strip() for cell in line.split("|")] for line in table.split("\n")]
    place = rows[0].index("processor")
    assert [row[place] for row in rows[2:]] == ["this one", "another", "this one"]
    path.write_text(path.read_text().replace("[16]", "[24]"))  # another setting of that name
    assert made("again") == (["base", "larger", "small_tables"], ["larger"])
    path.write_text(path.read_text().replace("Which?", "Which, then?"))
    assert made("others", "larger") == (["base", "larger", "small_tables"], [])
    text = path.read_text()
    for old, new, lost in (('"larger":', '"wider":', "larger"), ("[1]", "[2]", "base")):
        path.write_text(text.replace(old, new))
        message = f"JSON file holds a run of {lost} with the seed 1, which this study has not"
        with pytest.raises(ValueError, match=message):
            made("lost")
    path.write_text(text)
    path.write_text(path.read_text().replace('"deals": 2, "against"', '"deals": 3, "against"'))
    kept = {**json.loads(results.read_text()), "deals": 3}
    with pytest.raises(ValueError, match="JSON file holds runs of another study: deals differs"):
        made("other", "larger")
    for damaged, why in ((1, "of another study"), ({**kept, "settings": 1}, "is damaged")):
        results.write_text(json.dumps(damaged))
        with pytest.raises(ValueError, match=f"JSON file .*{why}"):
            made("other", "larger")
    assert study.main([str(path), "--settings", "largest"]) == 2
    assert "no setting 'largest' (did you mean 'larger'?)" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["0", "-2", "many"])
def test_a_wrong_number_of_jobs_leaves_no_folder(jobs, tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text(json.dumps(STUDY))
    runs = tmp_path / "runs"
    with pytest.raises(SystemExit, match="2"):
        study.main([str(tmp_path / "mine.yaml"), "--out", str(runs), "--jobs", jobs])
    assert f"--jobs: must be -1 or at least 1, got '{jobs}'" in capsys.readouterr().err
    assert not runs.exists()


def test_a_study_can_say_how_much_time_a_run_takes(tmp_path):
    """The number of decisions follows from it once, when the run begins."""
    base = {**STUDY["base"], "imitation": {}, "decisions": 1}
    path = tmp_path / "mine.yaml"
    path.write_text(
        json.dumps({**STUDY, "base": base, "settings": {}, "seeds": [1], "cpu_minutes": 0.002})
    )
    results = [study.run_study(path, tmp_path / "runs", 1) for _ in range(2)]
    (run,) = results[0]["settings"]["base"]["runs"]
    config = load(Config, tmp_path / "runs" / "base" / "1" / "config.yaml")
    assert 1 < config.decisions <= run["decisions"]
    assert results[0]["imitated"] is None
    assert results[0] == results[1]


def test_a_study_does_not_know_how_long_a_run_took_that_was_there(tmp_path):
    """Also one of imitation alone, whose decisions are none."""
    path, base = tmp_path / "mine.yaml", {**STUDY["base"], "decisions": 0}
    path.write_text(json.dumps({**STUDY, "base": base, "settings": {}, "seeds": [1]}))
    for _ in range(2):
        result = study.run_study(path, tmp_path / "runs", 1)
        (run,) = result["settings"]["base"]["runs"]
        (tmp_path / "runs" / "base" / "1" / "measured.json").unlink()
    assert run["decisions"] == 0
    assert run["cpu_minutes"] is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"larger":', '"base":', "a setting's name"),
        ('"larger":', '"Larger one":', "a setting's name"),
        ("network.hidden=[16]", "network.width=16", "unknown key 'network.width'"),
        ("[1, 2, 3]", "[]", "seeds"),
        ('"deals": 2', '"cpu_minutes": 0, "deals": 2', "cpu_minutes"),
        ("[1, 2, 3]", "[1, 2, 1]", "seeds must be different, got [1, 2, 1]"),
        ("[1, 2, 3]", "[1, 2, -1]", "seed"),
        ("network.hidden=[16]", "seed=7", "larger: game, name and seed cannot be set"),
        ('["heuristic"', '["nobody"', "there is no agent 'nobody'"),
        ('"question": "Which?"', '"nonsense": 1', "unknown key 'nonsense'"),
        (f'"game": "{SCRIPTED.id}"', '"game": "chess"', "chess"),
    ],
)
def test_wrong_studies_name_the_mistake(old, new, message, tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    assert old in json.dumps(STUDY)
    path.write_text(json.dumps(STUDY).replace(old, new))
    assert study.main([str(path), "--out", str(tmp_path / "runs")]) == 2
    assert message in capsys.readouterr().err


def test_studies_name_policy_files_by_their_stems():
    change = "opponents={pool: 0.4, agents: {training/policies/x/ppo_v1.safetensors: 0.3}}"
    assert without_folders(change) == "opponents={pool: 0.4, agents: {ppo_v1: 0.3}}"


def test_means_are_over_the_runs_of_which_something_is_known():
    """Of a resumed run nobody knows the CPU time."""
    assert (
        learning._mean([{"cpu_minutes": k} for k in (1.0, None, 2.0)], "cpu_minutes", ".1f")
        == "1.5"
    )
    assert learning._mean([{"cpu_minutes": None}], "cpu_minutes", ".1f") == "–"
