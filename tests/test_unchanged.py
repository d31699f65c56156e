"""Whatever is rebuilt, the games stay the same byte for byte: hashes of all that they compute.

Run as a script, this file writes ``tests/unchanged.json``: ``python tests/test_unchanged.py``. It
imports public names alone, so that it can be run with any layout of the package.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs

FILE = Path(__file__).parent / "unchanged.json"
#: The games that have a kit.
NAMES = sorted(path.parent.name for path in FILE.parent.glob("games/*/kit.py"))
GAMES = 6  # of each table size
STEPS = 400


def digest(*parts: Any) -> str:
    """A hash of bytes, arrays and plain data."""
    total = hashlib.sha256()
    for part in parts:
        if not isinstance(part, bytes | np.ndarray):
            part = json.dumps(part).encode()
        total.update(np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part)
    return total.hexdigest()[:16]


def variants(game: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each option of the game or of an observer, at another value than the default."""
    yield "usual", {}
    yield from (("win", {"reward": "win"}), ("score", {"reward": "score"}))
    yield from (("memory", {"memory": "none"}), ("features", {"features": False}))
    yield "max_steps", {"max_steps": 30}
    for option in game.own_options:
        other: Any = option.minimum + 1
        if isinstance(option.default, bool):
            other = not option.default
        yield option.name, {option.name: other}


def walk(game: Any, num_players: int, options: dict[str, Any]) -> dict[str, str]:
    """Hashes of games that are played with actions which follow from the masks alone."""
    batch = card_envs.make_vec(game.id, GAMES, num_players, **options)
    observation, mask = batch.reset(seed=1)
    full = np.zeros((1, game.state_fields.size), np.float32)
    redrawn = game.new_states(1)
    found: dict[str, list[Any]] = {
        name: [] for name in ("records", "observations", "masks", "rewards", "rest", "public_names")
    }
    for step in range(STEPS):
        found["records"].append(batch.states.tobytes())
        found["observations"].append(observation.tobytes())
        found["masks"].append(mask.tobytes())
        actions = np.zeros(GAMES, np.int64)
        for i in range(GAMES):
            legal = np.flatnonzero(mask[i])
            actions[i] = legal[(7919 * step + 104729 * i) % 1299709 % len(legal)]
        i = step % GAMES
        player = (step // GAMES) % num_players
        found["public_names"].append(
            [game.public_action_name(batch.states, i, action) for action in np.flatnonzero(mask[i])]
        )
        if game.heuristic is not None:
            found["rest"].append(int(game.heuristic(batch.states, i)))
        if game.write_state is not None:
            game.write_state(batch.states, i, player, full[0])
            found["rest"].append(full.tobytes())
        redrawn.view(np.uint8)[:] = batch.states[i : i + 1].view(np.uint8)
        game.rules.determinize(redrawn, 0, player, np.uint64(step))
        found["rest"].append(redrawn.tobytes())
        observation, mask, rewards, terminated, truncated = batch.step(actions)
        found["rewards"].append(rewards.tobytes() + terminated.tobytes() + truncated.tobytes())
    return {name: digest(*parts) for name, parts in found.items()}


def declared(game: Any) -> dict[str, Any]:
    """Hashes of what a game declares, and its sizes."""
    fields = [
        (field.name, field.shape, field.scale, field.derived, field.remembered)
        for field in chain(game.fields, game.state_fields)
    ]
    record = [
        (name, dtype.str, dtype.subdtype and str(dtype.subdtype), offset)
        for name, (dtype, offset, *_) in game.state_dtype.fields.items()
    ]
    return {
        "name": game.name,
        "players": [game.min_players, game.max_players, game.default_players],
        "actions": game.num_actions,
        "action_names": digest([game.action_name(a) for a in range(game.num_actions)]),
        "action_features": [
            *game.action_features.shape,
            digest(game.action_features.astype(np.float32)),
        ],
        "observation": [game.fields.size, game.fields.fingerprint],
        "fields": digest(fields),
        "record": [game.state_dtype.itemsize, digest(record)],
        "options": digest([[o.name, o.default, o.allowed] for o in game.options]),
        "score_scale": game.score_scale,
    }


def games_of(game: Any) -> dict[str, dict[str, str]]:
    """Hashes of its games: usual ones at every size of table, and one of each other option."""
    found = {}
    for variant, options in variants(game):
        sizes = range(game.min_players, game.max_players + 1)
        for num_players in sizes if not options else [game.default_players]:
            found[f"{variant} {num_players}"] = walk(game, num_players, options)
    return found


@cache
def known() -> Any:
    """The hashes that were written once, by game."""
    return json.loads(FILE.read_text(encoding="utf-8"))


each_name = pytest.mark.parametrize("name", NAMES)


@each_name
def test_what_a_game_declares_is_unchanged(name: str) -> None:
    assert json.loads(json.dumps(declared(card_envs.load_game(name)))) == known()[name]["declared"]


@each_name
def test_games_are_unchanged(name: str) -> None:
    assert games_of(card_envs.load_game(name)) == known()[name]["games"]


def main() -> None:
    """Write the hashes of all games that have a kit."""
    from helpers import ALL_GAMES

    found = {}
    for game in ALL_GAMES:
        found[game.id] = {"declared": declared(game), "games": games_of(game)}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
