"""Leaderboard, best responses and studies: complete, restartable, and what they say is so."""

from __future__ import annotations

import importlib.util
import json
import sys

import numpy as np
import pytest
from helpers import TINY_LEARNER

from benchmarks import leaderboard, report, strength
from card_envs.agents import policy_path, shipped_policies
from card_envs.games import GAMES, load_game
from training import best_response, study, train
from training.config import Config, load_config
from training.evaluate import Played
from training.records import identity, with_tables
from training.tournament import interval_of_rating, standings, tables_of

ROOT = report.README.parent.parent
AGENTS = ["random", "heuristic", "ppo"]
TINY = [
    *TINY_LEARNER,
    "imitation.decisions=64",
    "evaluation.every=64",
    "evaluation.deals=2",
]


def measured_with(tmp_path, *words):
    path = tmp_path / "strength.json"
    argv = ["--game", "beaver_gang", "--agents", *AGENTS, "--deals", "3", "--json", str(path)]
    status = strength.main([*argv, "--cache", str(tmp_path / "cache"), *words])
    return status, path


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A small leaderboard: its folder, and the bytes of its JSON."""
    folder = tmp_path_factory.mktemp("leaderboard")
    status, path = measured_with(folder, "--jobs", "1")
    assert status == 0
    return folder, path.read_bytes()


def test_everybody_plays_everybody_at_every_table_size(played):
    measured = json.loads(played[1])
    game = load_game("beaver_gang")
    sizes = measured["by_num_players"]
    assert [int(n) for n in sizes] == list(range(game.min_players, game.max_players + 1))
    for players, size in sizes.items():
        tables = [tuple(AGENTS.index(a) for a in table["agents"]) for table in size["tables"]]
        assert tables == tables_of(3, int(players))
        for table in size["tables"]:
            assert sum(table["rank"]) == pytest.approx(0)
            assert sum(table["win"]) == pytest.approx(1)
        pairwise = np.array(size["pairwise"])
        assert pairwise + pairwise.T == pytest.approx(np.ones((3, 3)))
    for of_all in (*sizes.values(), measured["overall"]):
        random, heuristic, ppo = of_all["agents"]
        assert [random["name"], heuristic["name"], ppo["name"]] == AGENTS
        for row in of_all["agents"]:
            for key in ("rating", "rank", "win"):
                low, high = row[f"{key}_ci95"]
                assert low is None or low <= row[key]
                assert high is None or row[key] <= high
        assert random["rating"] < heuristic["rating"]
    assert measured["agents"][:2] == ["random", "heuristic"]
    assert measured["agents"][2].startswith("ppo ")  # and what is in its file


def test_finished_tables_are_not_played_again(played, monkeypatch, capsys):
    folder, before = played
    files = sorted((folder / "cache").iterdir())
    assert len(files) == sum(len(tables_of(3, n)) for n in range(2, 7))
    calls = []
    play = strength.play_table
    monkeypatch.setattr(strength, "play_table", lambda *a: calls.append(a[1]) or play(*a))
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


def test_any_number_of_jobs_gives_the_same_bytes(played, tmp_path):
    status, path = measured_with(tmp_path, "--jobs", "2")
    assert status == 0
    assert path.read_bytes() == played[1]


def test_cards_take_no_rows_of_other_policies(played, monkeypatch):
    measured = json.loads(played[1])
    monkeypatch.setattr(leaderboard, "write_json", None)
    with pytest.raises(ValueError, match=r"leaderboard of beaver_gang is without ppo_v1 \w+: meas"):
        leaderboard.put_on_cards(measured)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra cluster")
def test_a_ray_cluster_gives_the_same_bytes(played, tmp_path):
    status, path = measured_with(tmp_path, "--backend", "ray", "--jobs", "2")
    assert status == 0
    assert path.read_bytes() == played[1]


def test_means_are_over_tables_then_over_table_sizes():
    """Two agents at tables of 2 and 3; 0 is always ahead of 1, copies are level."""
    tables = [(0, 1), (0, 0, 1), (0, 1, 1)]
    played = []
    for table in tables:
        standing = np.tile(-np.array(table, float), (2, 1, 1))
        played.append(Played(standing, standing))
    first, second = standings(["a", "b"], tables, played, 0)["agents"]
    assert first["rank"] == pytest.approx((1 + (0.5 + 1) / 2) / 2)
    assert second["rank"] == pytest.approx((-1 + (-1 - 0.5) / 2) / 2)
    assert first["win"] == pytest.approx((1 + (0.5 + 1) / 2) / 2)
    assert second["win"] == 0
    assert first["rating"] > second["rating"]
    for row in (first, second):
        assert row["rating_ci95"] == [None, None]
        assert interval_of_rating(row) == "open"
    assert interval_of_rating({"rating_ci95": [-3.2, 4.0]}) == "-3 … +4"


def test_another_file_under_the_same_name_is_another_agent(tmp_path):
    game = load_game("beaver_gang")
    path = tmp_path / "mine.safetensors"
    path.write_bytes(policy_path("ppo", game).read_bytes())
    first = identity(str(path), game)
    path.write_bytes(policy_path("ppo_v1", game).read_bytes())
    assert identity(str(path), game) != first


def test_wrong_leaderboards_name_the_mistake(tmp_path, capsys, monkeypatch):
    argv = ["--cache", str(tmp_path), "--agents", "random"]
    for words, message in (
        ([], "2 to 15 different agents can play each other, got ['random']"),
        (["random"], "2 to 15 different agents"),
        (["nobody"], "there is no agent 'nobody'"),
        (["heuristic", "--deals", "1"], "deals must be at least 2"),
        (["heuristic", "--seed", "-1"], "seed must be from 0 to 2**64 - 1, got -1"),
        (["heuristic", "--game", "chess"], "there is no game 'chess'"),
    ):
        assert strength.main([*argv, *words]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    assert strength.main([*argv, "heuristic", "--deals", "2", "--backend", "ray"]) == 2
    assert "--backend ray needs Ray: pip install -e '.[cluster]'" in capsys.readouterr().err


def test_committed_leaderboards_are_of_the_shipped_policies():
    """Tables, pictures and cards say what the results say, which are of these very files."""
    text = report.README.read_text()
    assert with_tables(text, "strength", report.RESULTS, leaderboard.table) == text
    assert with_tables(text, "best_response", report.RESULTS, leaderboard.response_table) == text
    for game_id in GAMES:
        game = load_game(game_id)
        assert f"<!-- strength:{game_id} -->" in text
        measured = json.loads((report.RESULTS / f"strength_{game_id}.json").read_text())
        names = ["random", "heuristic", *shipped_policies(game)]
        assert measured["agents"] == [identity(name, game) for name in names]
        assert (report.RESULTS / f"strength_{game_id}.png").read_bytes().startswith(b"\x89PNG")
        for name in shipped_policies(game):
            card = json.loads(policy_path(name, game).with_suffix(".json").read_text())
            rows = card["leaderboard"]["by_num_players"]
            assert list(rows) == [*measured["by_num_players"], "all"]
            of_all = {row["name"]: row for row in measured["overall"]["agents"]}
            assert rows["all"] == of_all[name]


@pytest.mark.parametrize("game_id", GAMES)
def test_shipped_policies_are_harder_to_exploit_than_the_heuristic(game_id):
    """At each table size, by more than the intervals."""
    game = load_game(game_id)
    assert f"<!-- best_response:{game_id} -->" in report.README.read_text()
    path = report.RESULTS / f"best_response_{game_id}.json"
    responses = json.loads(path.read_text())["responses"]
    sizes = sorted({game.min_players, 4})
    gains = {(row["against"], row["num_players"]): row["gain_ci95"] for row in responses}
    for row in responses:
        assert row["identity"] == identity(row["against"], game)
    assert list(gains) == [(name, n) for name in ("heuristic", "ppo") for n in sizes]
    for n in sizes:
        assert gains["ppo", n][1] < gains["heuristic", n][0]


@pytest.mark.parametrize("game_id", GAMES)
def test_shipped_policies_are_stronger_than_their_predecessors(game_id):
    """Among them, and among heuristics on the same deals, on average over table sizes."""
    game = load_game(game_id)
    cards = {}
    for name in ("ppo", "ppo_v1"):
        card = json.loads(policy_path(name, game).with_suffix(".json").read_text())
        cards[name] = card["strength"]
    assert {(card["deals"], card["seed"]) for card in cards.values()} == {(2000, 0)}
    means = {m["opponents"]: m for m in cards["ppo"]["means"] if m["name"] == "ppo"}
    assert means["ppo_v1"]["rank_ci95"][0] > 0
    before = [
        row["rank"]
        for row in cards["ppo_v1"]["results"]
        if (row["name"], row["opponents"]) == ("ppo_v1", "heuristic")
    ]
    assert len(before) == game.max_players - game.min_players + 1
    assert means["heuristic"]["rank"] > np.mean(before)


@pytest.mark.parametrize("game_id", GAMES)
def test_cards_say_how_to_make_the_policies_again(game_id):
    game = load_game(game_id)
    for name in shipped_policies(game):
        card = json.loads(policy_path(name, game).with_suffix(".json").read_text())
        config = Config.model_validate(card["config"])
        (line,) = card["commands"]
        module, path = line.removeprefix("python -m ").split()
        assert module == "training.train"
        assert config == load_config(ROOT / path)
        assert (config.name, config.game, config.seed) == (name, game_id, card["seed"])
        assert {"decisions", "hours", "machine", "versions", "strength"} <= set(card)
        assert path == f"configs/{'' if name == 'ppo' else name + '/'}{game_id}.yaml"


def test_best_response_gains_from_a_weak_agent(tmp_path, capsys):
    path = tmp_path / "response.json"
    argv = [str(ROOT / "configs" / "beaver_gang.yaml"), "--against", "random", "heuristic"]
    argv += ["--players", "2", "3", "--start", "heuristic", "--set", *TINY, "--deals", "40"]
    argv += ["--out", str(tmp_path / "runs"), "--jobs", "1", "--json", str(path)]
    assert best_response.main(argv) == 0
    result = json.loads(path.read_text())
    rows = {(row["against"], row["num_players"]): row for row in result["responses"]}
    assert list(rows) == [("random", 2), ("random", 3), ("heuristic", 2), ("heuristic", 3)]
    assert result["command"].startswith("python -m training.best_response ")
    assert "random" in capsys.readouterr().out
    for row in rows.values():
        assert row["gain_ci95"][0] <= row["gain"] <= row["gain_ci95"][1]
        assert (row["start"], row["decisions"]) == ("heuristic", 192)
        assert row["identity"] == row["against"]  # a policy's has its hash
    for n in (2, 3):
        assert rows["random", n]["gain"] > rows["heuristic", n]["gain"]
    config = load_config(tmp_path / "runs" / "random_3" / "config.yaml")
    assert config.environment.num_players == 3
    assert config.opponents.agents == {"random": 1}
    assert config.opponents.snapshots == 0
    weights = (tmp_path / "runs" / "random_3" / "best_response.safetensors").stat()
    assert best_response.main(argv) == 0
    assert json.loads(path.read_text()) == result
    again = (tmp_path / "runs" / "random_3" / "best_response.safetensors").stat()
    assert again.st_mtime_ns == weights.st_mtime_ns


def test_best_responses_begin_with_the_weights_of_a_policy():
    path = ROOT / "configs" / "beaver_gang.yaml"
    for start, copied in (("ppo", True), ("heuristic", False)):
        imitation = best_response.response_config(path, "random", 3, start, ()).imitation
        assert (imitation.agent, imitation.copy_weights) == (start, copied)


def test_wrong_best_responses_name_the_mistake(tmp_path, capsys):
    config = str(ROOT / "configs" / "beaver_gang.yaml")
    for words, message in (
        ([config, "--against", "nobody", "--players", "2"], "there is no agent 'nobody'"),
        (
            [config, "--against", "ppo", "--players", "7"],
            "is for 2 to 6 players, got num_players=7",
        ),
        ([config, "--against", "ppo", "--players", "2", "--deals", "1"], "deals must be at least"),
        (
            [config, "--against", "ppo", "--players", "2", "--set", "environment.num_players=3"],
            "--set: who sits at the table is said by --against and --players",
        ),
        (
            [config, "--against", "ppo", "--players", "2", "--set", "opponents.snapshots=0.5"],
            "--set: who sits at the table is said by --against and --players",
        ),
        ([config, "--against", "ppo", "--players", "2", "--set", "nonsense=1"], "'nonsense'"),
        (["nowhere.yaml", "--against", "ppo", "--players", "2"], "cannot read"),
    ):
        assert best_response.main([*words, "--out", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err


STUDY = """
question: Which?
seeds: [1, 2, 3]
deals: 2
among: [heuristic, random]
base: {game: beaver_gang, decisions: 64, network: {hidden: [8]}, environment: {num_envs: 8},
  ppo: {n_steps: 8, batch_size: 32, n_epochs: 1},
  evaluation: {every: 1000, deals: 2, players: [2]}}
settings:
  larger: ["network.hidden=[16]"]
  small_tables: ["environment.num_players=[2, 3]"]
"""


def test_study_compares_settings_over_seeds(tmp_path, monkeypatch, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text(STUDY)
    monkeypatch.setattr(study, "RESULTS", tmp_path / "results")
    runs = tmp_path / "runs"
    argv = [str(path), "--out", str(runs), "--jobs", "1"]
    assert study.main(argv) == 0
    result = json.loads((tmp_path / "results" / "study_mine.json").read_text())
    assert list(result["settings"]) == ["base", "larger", "small_tables"]
    assert result["imitated"] == "heuristic"
    assert [*result["imitated_among"]["heuristic"].values()] == pytest.approx([0] * 5, abs=1e-9)
    assert min(result["imitated_among"]["random"].values()) > 0
    for name, setting in result["settings"].items():
        assert [run["seed"] for run in setting["runs"]] == [1, 2, 3]
        for run in setting["runs"]:
            assert list(run["among"]) == ["heuristic", "random"]
            assert list(run["among"]["random"]) == ["2", "3", "4", "5", "6"]
            config = load_config(runs / name / str(run["seed"]) / "config.yaml")
            assert config.seed == run["seed"]
            assert config.network.hidden == ((16,) if name == "larger" else (8,))
    table = capsys.readouterr().out
    assert "| larger | `network.hidden=[16]` |" in table
    assert "| `heuristic` itself |  | +0.000 |" in table
    # What is finished is not made again; what was begun with other settings is not mixed with it.
    monkeypatch.setattr(train, "train", None)
    monkeypatch.setattr(study, "ranks_among", lambda *args: result["imitated_among"])
    assert study.main(argv) == 0
    assert json.loads((tmp_path / "results" / "study_mine.json").read_text()) == result
    # Others under the same names are measured anew.
    with monkeypatch.context() as patch:
        patch.setattr(study, "identity", lambda name, game: f"another {name}")
        assert study.main(argv) == 0
    again = json.loads((tmp_path / "results" / "study_mine.json").read_text())
    assert again["settings"]["base"]["runs"][0]["among"] == result["imitated_among"]
    path.write_text(STUDY.replace("[16]", "[24]"))
    assert study.main(argv) == 2
    assert "is of another configuration" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("larger:", "base:", "a setting's name"),
        ("larger:", "Larger one:", "a setting's name"),
        ("network.hidden=[16]", "network.width=16", "unknown key 'network.width'"),
        ("seeds: [1, 2, 3]", "seeds: [1, 2]", "seeds"),
        ("seeds: [1, 2, 3]", "seeds: [1, 2, 1]", "seeds must be different, got [1, 2, 1]"),
        ("seeds: [1, 2, 3]", "seeds: [1, 2, -1]", "seed"),
        ("network.hidden=[16]", "seed=7", "larger: game, name and seed are no settings"),
        ("among: [heuristic", "among: [nobody", "there is no agent 'nobody'"),
        ("question: Which?", "nonsense: 1", "unknown key 'nonsense'"),
        ("game: beaver_gang", "game: chess", "chess"),
    ],
)
def test_wrong_studies_name_the_mistake(old, new, message, tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text(STUDY.replace(old, new))
    assert study.main([str(path), "--out", str(tmp_path / "runs")]) == 2
    assert message in capsys.readouterr().err


def test_studies_tables_are_those_of_the_results():
    text = study.README.read_text()
    assert with_tables(text, "study", study.RESULTS, study.study_table) == text
    for path in sorted(study.RESULTS.glob("*.json")):
        name = path.stem.removeprefix("study_")
        assert f"<!-- study:{name} -->" in text
        result = json.loads(path.read_text())
        loaded = study.load_study(ROOT / "configs" / "studies" / f"{name}.yaml")
        assert (result["base"], result["deals"]) == (loaded.base, loaded.deals)
        changes = {key: setting["changes"] for key, setting in result["settings"].items()}
        assert changes == {"base": [], **{k: list(v) for k, v in loaded.settings.items()}}
        for setting in result["settings"].values():
            assert tuple(run["seed"] for run in setting["runs"]) == loaded.seeds
