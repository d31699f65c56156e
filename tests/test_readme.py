"""The README's examples run as they stand, and its table of games is the code's."""

import re
from pathlib import Path

import pytest

from card_envs.games import GAMES, load_game

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_is_an_example_for_each_api():
    for name in (
        "beaver_gang_v0.env",
        "gymnasium.make(",
        "gymnasium.make_vec(",
        'make_vec("',
        ".load(",
    ):
        assert any(name in example for example in EXAMPLES), name


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs(example):
    assert len(example.strip().splitlines()) <= 14
    exec(compile(example, "README.md", "exec"), {})


@pytest.mark.parametrize("game_id", GAMES)
def test_table_of_games(game_id):
    game = load_game(game_id)
    row = next(line for line in README.splitlines() if f"| `{game_id}` |" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0].startswith(game.title)
    assert cells[2:5] == [
        f"{game.min_players}–{game.max_players}",
        str(game.num_actions),
        str(game.fields.size),
    ]
