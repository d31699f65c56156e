"""What docs/text.md shows of a game and of lengths."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import card_envs

PAGE = Path(__file__).parents[2] / "docs" / "text_page.py"


@pytest.fixture
def page():
    spec = importlib.util.spec_from_file_location("text_page", PAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_transcript_is_of_both_players_without_the_rules(page):
    transcript = page.transcript()
    assert transcript.startswith("```text\n=== player ")
    for player in (0, 1):
        assert f"=== player {player} reads:" in transcript
        assert f"=== player {player} answers:\n\n[" in transcript
    assert transcript.count("(... the rules: ") == 2  # each player reads them once
    assert transcript.count("Your legal actions, by number and in words:") == 3


def test_measured_lengths_are_within_the_bounds(page):
    _, _, *rows = page.lengths().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == [card_envs.load_game(g).title for g in card_envs.GAMES][
        : len(cells)
    ]
    for _, rules, first, _, later, _, bound in cells:
        rules, first, later, bound = (int(n.replace(",", "")) for n in (rules, first, later, bound))
        assert rules < first <= bound
        assert later <= first
