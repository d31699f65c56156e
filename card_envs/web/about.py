"""What the page is told about the games: options, agents and their strength, the guide."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from card_envs.agents import agent_names, policy_path, shipped_policies
from card_envs.contract.game import Game
from card_envs.contract.options import Option
from card_envs.contract.style import Face, Style
from card_envs.games import how_to_play
from card_envs.render.colours import BLACK, INK, PAPER, WHITE, mixed, on, player_colour, readable
from card_envs.web.sessions import Limits

#: How much white a table has at most: in the middle, where something has just happened.
_LIT = 0.18


def guide(game: Game) -> str:
    """The game explained, in Markdown: its GUIDE.md, else its rules; empty: it has neither."""
    path = how_to_play(game)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def about(game: Game, labels: Sequence[str], limits: Limits) -> dict[str, Any]:
    """What the page is told about a game.

    Args:
        game: The game.
        labels: Its agents.
        limits: What is allowed.
    """
    return {
        "id": game.id,
        "title": game.title,
        "players": {
            "min": game.min_players,
            "max": game.max_players,
            "default": game.default_players,
        },
        "options": [_option(option, limits) for option in game.options],
        "agents": list(labels),
        "default_agent": "ppo" if "ppo" in labels else game.default_opponent,
        "strength": _strength(game),
        "style": _style(game.style),
    }


def _strength(game: Game) -> dict[str, list[dict[str, Any]]]:
    """How agents did against others, by label: from the cards of the shipped policies."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in shipped_policies(game):
        path = policy_path(name, game)
        if path is not None and path.with_suffix(".json").is_file():
            card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            for result in card.get("strength", {}).get("results", ()):
                if result["opponents"] in agent_names(game):
                    kept = {key: result[key] for key in ("opponents", "num_players", "rank")}
                    found.setdefault(result["name"], []).append(kept)
    return found


def _option(option: Option, limits: Limits) -> dict[str, Any]:
    default, maximum = option.default, option.maximum
    if option.name == "max_steps":
        maximum = limits.decisions
        default = min(int(default or 0), maximum)
    return {
        "name": option.name,
        "default": default,
        "doc": option.doc,
        "choices": list(option.choices),
        "minimum": option.minimum,
        "maximum": maximum,
    }


def player_colours(games: Iterable[Game]) -> list[dict[str, str]]:
    """The colours of the players at the largest table, with those of their numbers."""
    colours = [player_colour(k) for k in range(max(game.max_players for game in games))]
    return [{"colour": colour, "ink": on(colour)} for colour in colours]


def _style(style: Style) -> dict[str, Any]:
    """A game's style, with all colours that follow from its own."""
    table = style.table
    while on(mixed(table, WHITE, _LIT)) != WHITE:
        table = mixed(table, BLACK, 0.05)
    return {
        "table": table,
        "back": {
            "ground": style.back,
            "edge": mixed(style.back, BLACK, 0.35),
            "ink": mixed(style.back, WHITE, 0.3),
        },
        "faces": {name: _face(face) for name, face in style.faces.items()},
        "plain": _face(style.face("")),
    }


def _face(face: Face) -> dict[str, str | None]:
    ground = mixed(face.colour, PAPER, 0.88)
    return {
        "symbol": face.symbol,
        "label": face.label,
        "badge": face.badge,
        "ground": ground,
        "edge": mixed(face.colour, INK, 0.2),
        "ink": readable(face.colour, ground),
    }
