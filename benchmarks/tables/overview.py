"""README.md's table of results: the shipped policies at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from card_envs.evaluation.display import short_names, with_interval
from card_envs.games import load_game
from card_envs.utils.markdown import markdown_table

#: What is shown of a card, and the search whose strength among ``ppo`` stands beside it.
_COLUMNS = ("heuristic", "ppo_v2")
_SEARCH = "search:64"


def overview(cards: Mapping[str, dict[str, Any]], searches: Mapping[str, dict[str, Any]]) -> str:
    """A row for each game, given by the game's id the cards of the policies ``ppo``, and what
    ``benchmarks.search`` has measured."""
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
    return markdown_table([*header, f"one `{_SEARCH}` among `ppo`"], rows, len(header))
