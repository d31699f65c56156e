"""The README's examples run as they stand, and its table of games is the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import EACH_GAME, kit_of, needs_training

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(
    "interface",
    [
        r"_v\d\.env\(",
        r"gymnasium\.make\(",
        r"gymnasium\.make_vec\(",
        r"card_envs\.make_vec\(",
        r"\.clone\(\)",
        r"\.determinize\(",
        r"\.load\(",
        r"def \w+\(observation, action_mask\)|FunctionAgent\(",
    ],
)
def test_there_is_an_example_of_each_interface(interface):
    assert any(re.search(interface, example) for example in EXAMPLES)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=str(k), marks=[needs_training] * ("sb3" in example))
        for k, example in enumerate(EXAMPLES)
    ],
)
def test_example_runs(example):
    assert len(example.strip().splitlines()) <= 14
    exec(compile(example, "README.md", "exec"), {})


@pytest.mark.parametrize("game", [p for p in EACH_GAME if kit_of(p.values[0]).is_own])
def test_table_of_games(game):
    row = next(line for line in README.splitlines() if f"| `{game.id}` |" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0].startswith(game.title)
    assert cells[2:5] == [
        f"{game.min_players}–{game.max_players}",
        str(game.num_actions),
        str(game.fields.size),
    ]
