"""README.md's table of results: the shipped policies at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from card_envs.evaluation.display import short_names, with_interval
from card_envs.games import load_game
from card_envs.utils.markdown import markdown_table, with_section

README = Path(__file__).parents[2] / "README.md"

#: What is shown of a card, and the search whose strength among ``ppo`` stands beside it.
_COLUMNS = ("heuristic", "ppo_v2")
_SEARCH = "search:64"


def updated_readme(
    cards: Mapping[str, dict[str, Any]], searches: Mapping[str, dict[str, Any]]
) -> str:
    """README.md with its table renewed, given by the game's id the cards of the policies ``ppo``,
    and what ``benchmarks.search`` has measured; ValueError if it has no place for the table."""
    rows = []
    for game_id, card in cards.items():
        means = {
            short_names([mean["opponents"]])[0]: with_interval(mean, "rank")
            for mean in card["strength"]["means"]
            if mean["name"] == card["name"]
        }
        tables = searches[game_id]["results"]["tables"] if game_id in searches else []
        gains = [
            f"{table['num_players']} players {with_interval(table, 'rank')}"
            for table in tables
            if table["agent"] == _SEARCH
        ]
        shown = [means.get(name, "–") for name in _COLUMNS]
        rows.append([load_game(game_id).title, *shown, "; ".join(gains) or "–"])
    header = ["", *(f"one `ppo` among `{name}`" for name in _COLUMNS)]
    table = markdown_table([*header, f"one `{_SEARCH}` among `ppo`"], rows, len(header))
    return with_section(README.read_text(encoding="utf-8"), "results", table)
