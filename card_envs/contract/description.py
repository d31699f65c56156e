"""A game described as plain data: for ``card-envs info --json`` and for programs at the table."""

from __future__ import annotations

from typing import Any

from card_envs.contract.game import Game
from card_envs.contract.options import VIEW_OPTIONS


def describe_game(game: Game) -> dict[str, Any]:
    """Names, numbers of players, options, actions by number, and the observation's fields."""
    return {
        "id": game.id,
        "name": game.name,
        "title": game.title,
        "pettingzoo": f'card_envs.make("{game.name}")',
        "gymnasium": game.gymnasium_id,
        "players": {
            "min": game.min_players,
            "max": game.max_players,
            "default": game.default_players,
        },
        "options": [
            {
                "name": option.name,
                "default": option.default,
                "allowed": option.allowed,
                "meaning": option.doc,
            }
            for option in (*game.options, *VIEW_OPTIONS)
        ],
        "actions": list(game.actions.names),
        "structured_actions": list(map(game.actions.to_dict, range(game.num_actions))),
        "observation": {
            "size": game.fields.size,
            "fingerprint": game.fields.fingerprint,
            "fields": [
                {
                    "name": field.name,
                    "start": game.fields.offset(field.name),
                    "shape": field.shape,
                    "scale": field.scale,
                    "remembered": field.remembered,
                    "derived": field.derived,
                    "meaning": field.meaning,
                }
                for field in game.fields
            ],
        },
    }
