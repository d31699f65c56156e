"""The page of training runs: what is in the folder now, and nothing that is half written."""

from __future__ import annotations

import json
import math
import os
import sys
import time

import pytest
import yaml
from filelock import FileLock

from card_envs.evaluation import RatedAgentResult
from card_envs.evaluation.statistics import MeanEstimate
from card_envs.web.runs import read_runs


def entry(decisions, seconds, rank):
    return {
        "decisions": decisions,
        "seconds": seconds,
        "vs_heuristic": rank,
        "vs_heuristic_ci95": [rank - 0.1, rank + 0.1],
        "truncated": 0.25,
    }


ENTRIES = [entry(0, 0.0, -0.5), entry(1000, 10.0, 0.0), entry(4000, 25.0, 0.25)]
BOARD = {
    "game": "some_game",
    "num_players": 4,
    "deals": 10,
    "agents": [
        {"name": "weak", "rank": -0.5, "rank_ci95": [-0.6, -0.4], "win": 0.1},
        {"name": "strong", "rank": 0.5, "rank_ci95": [0.4, 0.6], "win": 0.9},
    ],
}


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "tests" / "first"
    run.mkdir(parents=True)
    config = {"game": "some_game", "decisions": 10_000, "name": "ppo"}
    (run / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    lines = "".join(json.dumps(line) + "\n" for line in ENTRIES)
    (run / "progress.jsonl").write_text(lines + '{"decisions": 50', encoding="utf-8")
    return tmp_path


def test_a_run_is_shown_as_far_as_it_has_come(folder):
    (run,) = read_runs(folder).runs
    assert (run.name, run.game, run.state) == ("tests/first", "some_game", "stopped")
    assert (run.decisions, run.target, run.seconds) == (4000, 10_000, 25.0)
    assert run.rate == 200.0  # 3000 decisions in 15 seconds
    assert run.seconds_left == 30.0
    assert run.at == [0, 1000, 4000]
    (curve,) = run.curves
    assert curve.against == "heuristic"
    assert curve.mean == [-0.5, 0.0, 0.25]
    assert curve.interval[2] == (0.15, 0.35)
    assert run.truncated == 0.25


def test_with_few_deals_there_are_no_intervals(visit, folder):
    without = [{**line, "vs_heuristic_ci95": None} for line in ENTRIES]
    lines = "".join(json.dumps(line) + "\n" for line in without)
    (folder / "tests" / "first" / "progress.jsonl").write_text(lines, encoding="utf-8")
    rank, win = MeanEstimate(0.0, None, None), MeanEstimate(0.5, None, None)
    agents = [RatedAgentResult(f"agent {k}", 20.0 * k, None, rank, win).to_json() for k in (0, 1)]
    board = {"game": "some_game", "deals": 4, "agents": agents}
    (folder / "tournament.json").write_text(json.dumps(board), encoding="utf-8")
    shown = visit(runs=folder).get("/api/runs").json()
    assert shown["runs"][0]["curves"][0]["interval"] == [None, None, None]
    for agent in shown["leaderboards"][0]["agents"]:
        assert (agent["rank_ci95"], agent["rating_ci95"]) == (None, None)


def test_whether_a_run_is_training_or_finished(folder):
    run = folder / "tests" / "first"
    config = yaml.safe_load((run / "config.yaml").read_text())
    (run / "ppo.json").write_text(json.dumps({"config": {**config, "decisions": 1}}))
    assert read_runs(folder).runs[0].state == "stopped"
    (run / "ppo.json").write_text(json.dumps({"config": config, "finished": False}))
    assert read_runs(folder).runs[0].state == "stopped"
    (run / "ppo.json").write_text(json.dumps({"config": config, "finished": True}))
    assert read_runs(folder).runs[0].state == "stopped"  # its policy was removed
    (run / "ppo.safetensors").touch()
    assert read_runs(folder).runs[0].state == "finished"
    # A run that was killed leaves its process's number, which may be another process's by now.
    run.with_name(".first.pid").write_text(str(os.getpid()), encoding="utf-8")
    lock = run.with_name(".first.lock")
    with FileLock(lock):
        assert read_runs(folder).runs[0].state == "training"
    assert read_runs(folder).runs[0].state == "finished"


def test_a_run_behind_a_link_is_locked_where_it_is(folder):
    (folder / "tests" / "second").symlink_to(folder / "tests" / "first")
    with FileLock(folder / "tests" / ".first.lock"):
        assert [run.state for run in read_runs(folder).runs] == ["training"] * 2


def test_what_a_lock_leads_to_is_not_touched(folder):
    victim = folder / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    (folder / "tests" / ".first.lock").symlink_to(victim)
    assert read_runs(folder).runs[0].state == "stopped"
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_tried(folder, monkeypatch):
    run = folder / "tests" / "first"
    run.with_name(".first.lock").mkdir()
    assert read_runs(folder).runs[0].state == "stopped"
    run.with_name(".first.pid").touch()
    assert read_runs(folder).runs[0].state == "training"


def test_agents_in_another_order_are_another_run(folder):
    """Who sits where is drawn by it, so training does not take the run for finished either."""
    run = folder / "tests" / "first"
    (run / "ppo.safetensors").touch()
    config = yaml.safe_load((run / "config.yaml").read_text())
    reversed_config = dict(reversed(config.items()))
    for noted, state in ((config, "finished"), (reversed_config, "stopped")):
        (run / "ppo.json").write_text(json.dumps({"config": noted}))
        assert read_runs(folder).runs[0].state == state


def test_a_run_that_has_just_begun_has_no_curve(folder):
    (folder / "tests" / "first" / "progress.jsonl").write_text("", encoding="utf-8")
    (run,) = read_runs(folder).runs
    assert (run.decisions, run.rate, run.seconds_left, run.curves) == (0, None, None, [])


def test_what_is_no_run_is_left_out(folder):
    for name, text in (
        ("config.yaml", "{"),
        ("progress.jsonl", "no JSON\n"),
        ("config.yaml", "game: some_game"),
    ):
        other = folder / f"other {name} {len(text)}"
        other.mkdir()
        (other / "config.yaml").write_text("{game: a, decisions: 1, name: ppo}", encoding="utf-8")
        (other / "progress.jsonl").write_text("", encoding="utf-8")
        (other / name).write_text(text, encoding="utf-8")
    assert [run.name for run in read_runs(folder).runs] == ["tests/first"]


@pytest.mark.parametrize(
    "line",
    ["[]", '"a"', "5", "null", "[" * 100_000, '{"decisions": Infinity}'],
    ids=["list", "text", "number", "null", "deep", "infinite"],
)
def test_a_line_of_another_kind_leaves_out_its_run_alone(visit, folder, line):
    other = folder / "other"
    other.mkdir()
    (other / "config.yaml").write_text("{game: a, decisions: 1, name: ppo}", encoding="utf-8")
    (other / "progress.jsonl").write_text(line + "\n", encoding="utf-8")
    (folder / "board.json").write_text(line, encoding="utf-8")
    answer = visit(runs=folder).get("/api/runs")
    assert answer.status_code == 200
    assert [run["name"] for run in answer.json()["runs"]] == ["tests/first"]


def test_a_folder_that_cannot_be_read_is_left_out(folder, monkeypatch):
    (folder / "secret").mkdir()
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("secret"):
            raise PermissionError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [run.name for run in read_runs(folder).runs] == ["tests/first"]


def test_leaderboards_are_sorted_by_strength(folder):
    (folder / "result.json").write_text(json.dumps(BOARD), encoding="utf-8")
    rated = [{**agent, "rating": -agent["rank"]} for agent in BOARD["agents"]]
    overall = {"game": "some_game", "deals": 5, "overall": {"agents": rated}}
    (folder / "strength.json").write_text(json.dumps(overall), encoding="utf-8")
    for name, text in (("damaged", "{"), ("foreign", '{"agents": ["a", "b"]}'), ("list", "[]")):
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    boards = {board.name: board for board in read_runs(folder).leaderboards}
    assert set(boards) == {"result.json", "strength.json"}
    assert [agent.name for agent in boards["result.json"].agents] == ["strong", "weak"]
    assert [agent.name for agent in boards["strength.json"].agents] == ["weak", "strong"]


def test_an_end_of_a_ratings_interval_may_be_open(visit, folder):
    intervals = [(-math.inf, math.inf), (-30.0, math.inf), (-10.0, 50.0)]
    rank, win = MeanEstimate(0.0, -0.1, 0.1), MeanEstimate(0.5, 0.4, 0.6)
    agents = [
        RatedAgentResult(f"agent {k}", 20.0 * k, ends, rank, win)
        for k, ends in enumerate(intervals)
    ]
    board = {"game": "some_game", "deals": 5, "agents": [agent.to_json() for agent in agents]}
    (folder / "tournament.json").write_text(json.dumps(board), encoding="utf-8")
    (shown,) = visit(runs=folder).get("/api/runs").json()["leaderboards"]
    ends = [agent["rating_ci95"] for agent in shown["agents"]]
    assert ends == [[-10.0, 50.0], [-30.0, None], [None, None]]


def test_the_server_shows_the_folder_that_it_was_begun_with(visit, folder):
    assert visit().get("/api/runs").status_code == 404
    client = visit(runs=folder)
    assert client.get("/api/games").json()["has_runs"]
    assert [run["name"] for run in client.get("/api/runs").json()["runs"]] == ["tests/first"]
    with pytest.raises(OSError, match="--runs: there is no folder"):
        visit(runs=folder / "nothing")


# ---------------------------------------------------------------------------------------------
# Files that must not be opened, and names that cannot be sent
# ---------------------------------------------------------------------------------------------

BIG = 3_900_000
QUICKLY = 5.0  # seconds; without limits these files take a minute, or for ever


def run_folder(folder, name, config="{game: a, decisions: 1, name: ppo}", progress=""):
    run = folder / name
    run.mkdir()
    (run / "config.yaml").write_text(config, encoding="utf-8")
    (run / "progress.jsonl").write_text(progress, encoding="utf-8")
    return run


def replaced(path, make):
    path.unlink(missing_ok=True)
    make(path)


def link_to_zeros(path):
    path.symlink_to("/dev/zero")


def link_to_too_long_a_name(path):
    path.symlink_to("x" * 300)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have names on POSIX systems")
@pytest.mark.parametrize("make", [os.mkfifo, link_to_zeros, link_to_too_long_a_name])
@pytest.mark.parametrize(
    "name", ["config.yaml", "progress.jsonl", "ppo.json", "board.json", "folder"]
)
def test_only_regular_files_are_opened(folder, make, name):
    run = run_folder(folder, "other")
    (run / "ppo.safetensors").touch()
    replaced(run / name, make)
    begun = time.monotonic()
    found = read_runs(folder)
    assert time.monotonic() - begun < QUICKLY
    is_part_of_the_run = name in ("config.yaml", "progress.jsonl", "ppo.json")
    assert {run.name for run in found.runs} == {"tests/first"} | (
        set() if is_part_of_the_run else {"other"}
    )
    assert not found.leaderboards


@pytest.mark.parametrize(
    "config",
    [
        "a: [" + "{b: c}, " * (BIG // 8) + "]",
        "a: &a {x: 1}\n" + "".join(f"b{k}: &a {{<<: [*a, *a]}}\n" for k in range(40)),
        "a: " + "[" * 20_000 + "]" * 20_000,
        "- " * 30_000 + "x",
    ],
    ids=["large", "aliases", "nested", "nested_blocks"],
)
def test_a_config_that_is_no_runs_is_left_out_quickly(visit, folder, config):
    run_folder(folder, "other", config)
    begun = time.monotonic()
    answer = visit(runs=folder).get("/api/runs")
    assert time.monotonic() - begun < QUICKLY
    assert [run["name"] for run in answer.json()["runs"]] == ["tests/first"]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are any bytes on Linux")
def test_names_that_are_no_text_are_shown_as_far_as_they_are(visit, folder):
    run_folder(folder, os.fsdecode(b"caf\xe9"))
    (folder / os.fsdecode(b"board\xff.json")).write_text(json.dumps(BOARD), encoding="utf-8")
    answer = visit(runs=folder).get("/api/runs")
    assert {run["name"] for run in answer.json()["runs"]} == {"tests/first", "caf�"}
    assert [board["name"] for board in answer.json()["leaderboards"]] == ["board�.json"]


def test_text_that_cannot_be_sent_leaves_out_its_file_alone(visit, folder):
    run_folder(
        folder,
        "other",
        progress=json.dumps({**ENTRIES[0], "vs_\ud800": 0, "vs_\ud800_ci95": [0, 0]}) + "\n",
    )
    (folder / "board.json").write_text(json.dumps({**BOARD, "game": "\ud800"}), encoding="utf-8")
    found = visit(runs=folder).get("/api/runs").json()
    assert [run["name"] for run in found["runs"]] == ["tests/first"]
    assert not found["leaderboards"]
