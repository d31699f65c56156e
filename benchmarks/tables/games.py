"""Tables of what games are like, and of what was checked along them."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import origin
from card_envs.games import GAMES, load_game
from card_envs.utils.markdown import markdown_table


def title_of(game: str) -> str:
    """A game's title; that of another package may not be there when its table is made."""
    return load_game(game).title if game in GAMES else game.replace("_", " ").capitalize()


def games(measured: dict[str, Any]) -> str:
    """Lengths and legal actions, which ``benchmarks.games`` writes."""
    rows = [
        [
            f"`{row['agent']}`",
            str(row["players"]),
            f"{row['decisions']:.0f} ({' … '.join(f'{n:.0f}' for n in row['decisions_spread'])})",
            f"{row['forced']:.0%}",
            f"{row['legal_actions']:.1f}",
            str(row["most_legal_actions"]),
            f"{row['truncated']:.1%}",
        ]
        for row in measured["results"]["rows"]
    ]
    header = ["agent", "players", "decisions of a game", "forced", "legal actions", "most"]
    header.append("truncated")
    return "\n\n".join(
        [
            markdown_table(header, rows, len(header) - 1),
            f"{measured['settings']['games']:,} games a row: the mean number of decisions of all "
            "players (5th and 95th percentile), the share of decisions with a single legal "
            "action, the mean and the maximum number of legal actions at the others, and the share "
            "of games that `max_steps` truncated.",
            origin(measured),
        ]
    )


def soak(measured: dict[str, Any]) -> str:
    """The violations that ``benchmarks.soak`` has found."""
    rows = []
    for game, row in measured["results"].items():
        numbers = [f"{row[key]:,}" for key in ("decisions", "games", "samples")]
        found = ", ".join(f"{check}: {count}" for check, count in row["found"].items() if count)
        rows.append([title_of(game), *numbers, found or "none"])
    header = ["game", "decisions", "games", "positions sampled", "violations"]
    return f"{markdown_table(header, rows, 4)}\n\n{origin(measured)}"
