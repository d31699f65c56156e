"""The tutorials run with small numbers, and their recorded output is that of their cells."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from helpers import SCRIPTED, TINY_LEARNER, needs_training
from integrations.test_cleanrl import TINY

pytestmark = needs_training
ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tutorials"

_TINY = ["--set", *(change for change in TINY_LEARNER if "imitation" not in change)]
_TINY += ["evaluation.deals=5"]
#: What is smaller than for readers, by the name of the script; and the arguments of ``ppo``.
SMALL = {
    "first_agent": {"CONFIG": ROOT / "configs" / "quickstart.yaml", "CHANGES": _TINY, "DEALS": 5},
    "ppo": {},
    "sb3": {"DECISIONS": 64, "NUM_ENVS": 8, "N_STEPS": 8, "DEALS": 5},
    "paper_figure": {
        "GAMES": [SCRIPTED.id],
        "SEEDS": [1, 2, 3],
        "DECISIONS": 64,
        "NUM_ENVS": 8,
        "DEALS": 2,
        "JOBS": 1,
    },
    "search": {"CANDIDATES": 2, "WORLDS": 2, "DEALS": 5},
    "language_model": {"DEALS": 5},
    "own_game": {"FIXTURES": ROOT / "tests" / "fixtures", "CHANGES": _TINY, "DEALS": 5},
}
_PPO = [word for name, value in TINY.items() for word in (f"--{name}", str(value))]


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """What makes the pages; a tutorial's runs go to a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.setattr(sys, "path", [*sys.path])
    return importlib.import_module("tutorial_pages")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("paper_figure", "search")))
        for name in SMALL
    ],
)
def test_it_runs_and_its_recorded_output_is_of_the_same_cells(name, pages, tmp_path):
    script = FOLDER / f"{name}.py"
    outputs = pages.run(script, _PPO if name == "ppo" else (), SMALL[name])
    assert outputs.keys() == pages.recorded(script).keys()
    assert {path.name for path in tmp_path.iterdir()} <= {"runs"}
    for picture in pages.pictures(script):
        assert (tmp_path / "runs" / picture).is_file()
        assert (FOLDER / "output" / picture).is_file()
    page = pages.page(script)
    assert page.startswith("# ")
    assert page.count("```python\n") == sum(not cell.is_prose for cell in pages.cells(script))


def test_every_tutorial_is_tested_and_on_the_overview(pages):
    names = [script.stem for script in pages.SCRIPTS]
    assert names == sorted(SMALL)
    overview = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert all(f"(./{name}.py)" in overview for name in names)
    records = {path.name.partition(".")[0] for path in (FOLDER / "output").iterdir()}
    assert records == set(names)
