"""``python -m benchmarks.gpu`` tries itself: all stages with tiny numbers, and a resumed run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from helpers import SCRIPTED

from benchmarks import gpu

ROOT = Path(__file__).parents[2]
MOST_BYTES = 16_000_000


def measure(out, *words):
    command = [sys.executable, "-m", "benchmarks.gpu", "--tiny", "--out", str(out), *words]
    simulated = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, cwd=ROOT, env=simulated, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "gpu.json").read_text())["results"], done.stdout


def progress(run):
    """The evaluations of a run so far."""
    return (run / "progress.jsonl").read_text().splitlines()


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "little.yaml"
    path.write_text(
        f"{{game: {SCRIPTED.id}, decisions: 1000000000, checkpoint_every: 8, "
        "opponents: {self: 1}, environment: {num_envs: 4}, network: {hidden: [8]}, evaluation: "
        f"{{every: 8, against: [random], deals: 2, players: [{SCRIPTED.min_players}]}}}}"
    )
    return path


def test_everything_is_measured_and_kept(tmp_path, config):
    results, shown = measure(tmp_path / "out", "--config", str(config))
    assert [row["result"] for row in results["equality"]] == ["equal", "equal"]
    cases = {(row["layout"], row["dtype"]) for row in results["environment"]}
    assert len(cases) == len(results["environment"]) == 6
    assert all(row["decisions_per_second"] > 0 for row in results["environment"])
    assert "whole_decisions_per_second" in results["training"][0]
    assert [row["labels"] for row in results["labels"]] == [1, 2]
    trained = results["train"][0]["decisions"]
    assert trained > 0
    for stage in gpu.STAGES:
        assert f"\n{stage}" in f"\n{shown}"
    measured = json.loads((tmp_path / "out" / "gpu.json").read_text())
    table = subprocess.run(
        [sys.executable, "-m", "benchmarks.tables", str(tmp_path / "out" / "gpu.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert table.returncode == 0, table.stderr
    assert "columns, one kernel" in table.stdout
    assert measured["settings"]["commit"] in table.stdout
    files = list((tmp_path / "out").iterdir())
    assert {"gpu.json", "ppo.safetensors", "ppo.json", "little.tar.0"} == {f.name for f in files}
    assert all(file.stat().st_size <= MOST_BYTES for file in files)

    # Another machine has the folder alone.
    (tmp_path / "out").rename(tmp_path / "moved")
    before = progress(tmp_path / "out_little")
    words = ("--config", str(config), "--only", "train")
    results, _ = measure(tmp_path / "moved", *words)
    assert results["train"][0]["decisions"] > trained
    assert progress(tmp_path / "moved_little")[: len(before)] == before  # with the seconds it took
    assert "equality" not in results


def test_the_policy_is_kept_under_the_name_that_the_changes_give_it(tmp_path, config):
    out, run = tmp_path / "out", tmp_path / "out_little"
    for folder in (out, run):
        folder.mkdir()
    (run / "mine.safetensors").write_bytes(b"weights")
    gpu.Session(out, config, ["name=mine"], 60.0, tiny=True)._keep()
    assert (out / "mine.safetensors").read_bytes() == b"weights"
