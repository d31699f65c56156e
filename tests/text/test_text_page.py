"""What docs/text.md shows of a game and of lengths."""

from __future__ import annotations

import card_envs
from benchmarks.tables import texts


def test_the_transcript_is_of_both_players_without_the_rules():
    transcript = texts.transcript()
    assert transcript.startswith("```text\n=== player ")
    for player in (0, 1):
        assert f"=== player {player} reads:" in transcript
        assert f"=== player {player} answers:\n\n[" in transcript
    assert transcript.count("(... the rules: ") == 2  # each player reads them once
    assert transcript.count("Your legal actions, by number and in words:") == 3


def test_measured_lengths_are_within_the_bounds():
    _, _, *rows = texts.lengths().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == [card_envs.load_game(g).title for g in card_envs.GAMES][
        : len(cells)
    ]
    for _, rules, first, _, later, _, bound in cells:
        rules, first, later, bound = (int(n.replace(",", "")) for n in (rules, first, later, bound))
        assert rules < first <= bound
        assert later <= first
