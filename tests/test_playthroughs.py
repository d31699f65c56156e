"""Whole games that must never play out differently within a version.

A kit says which (``PLAYTHROUGHS``) and what they show together (``SHOWN``). One of them is written
out to be read (``playthrough.txt`` in the game's folder); of all, ``histories.json`` there has the
actions, and a hash of every record, of what all players observe of it, and of every mask. After a
change of the words (a change of the rules needs a new version), write both again with
``python tests/test_playthroughs.py [GAME ...]`` and read the difference before committing it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    MEMORY_MODES,
    bytes_of_entries,
    kit_of,
    mask_of,
    observation_of,
)

import card_envs
from card_envs.agents import HeuristicAgent, RandomAgent, choose
from card_envs.contract.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.utils.words import WIDTH, ranges

RULE = "=" * 80


def name_of(written: Mapping[str, Any]) -> str:
    return f"{written['num_players']}{written.get('variant', '')}"


PLAYTHROUGHS = [
    pytest.param(game, written, id=f"{game.id}-{name_of(written)}")
    for game in ALL_GAMES
    for written in kit_of(game).playthroughs
]
READABLE = [param for param in PLAYTHROUGHS if param.values[1].get("readable")]


def options_of(written: Mapping[str, Any]) -> dict[str, Any]:
    memory = {"memory": written["memory"]} if "memory" in written else {}
    return {"num_players": written["num_players"], **written.get("options", {}), **memory}


# ---------------------------------------------------------------------------------------------
# Games as data
# ---------------------------------------------------------------------------------------------


def decisions(game: Game, written: Mapping[str, Any]) -> Iterator[tuple[int, CardEnv, int | None]]:
    """The number of each decision, the environment before it, and the action; at the end None."""
    kit = kit_of(game)
    env = card_envs.make(game.name, render_mode="ansi", on_illegal="raise", **options_of(written))
    env.reset(seed=written["seed"])
    chance = RandomAgent(game, written["seed"])
    scripted = chance if game.heuristic is None else HeuristicAgent(game)
    number = 0
    while env.legal_actions():
        number += 1
        if env.possible_agents.index(env.agent_selection) % 2 == 0:
            action = choose(scripted, game, env.states)
        else:
            action = kit.choose_at_random(env, chance)
        action = kit.plays_instead(env, number, action, written)
        yield number, env, action
        env.step(action)
    yield number + 1, env, None


def short_hash(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:8]


def history(game: Game, written: Mapping[str, Any]) -> dict[str, Any]:
    """A game as JSON holds it: hashes before each decision and at the end, separated by blanks."""
    actions, records, observations, masks = [], [], [], []
    for _, env, action in decisions(game, written):
        states, players = env.states, range(env.num_players)
        views = (
            observation_of(game, states, p, memory) for p in players for memory in MEMORY_MODES
        )
        records.append(short_hash(bytes_of_entries(states)))
        observations.append(short_hash(*(view.tobytes() for view in views)))
        masks.append(short_hash(mask_of(game, states).tobytes()))
        actions += [] if action is None else [action]
    return {
        "options": options_of(written),
        "seed": written["seed"],
        "actions": actions,
        "records": " ".join(records),
        "observations": " ".join(observations),
        "masks": " ".join(masks),
    }


def histories_path(game: Game) -> Path:
    return kit_of(game).folder / "histories.json"


def read_histories(game: Game) -> dict[str, Any]:
    return json.loads(histories_path(game).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("game", "written"), PLAYTHROUGHS)
def test_the_game_plays_out_as_it_did(game, written):
    expected, found = read_histories(game)[name_of(written)], history(game, written)
    for key in ("actions", "masks", "records", "observations"):
        one, other = (
            entry[key].split() if isinstance(entry[key], str) else entry[key]
            for entry in (expected, found)
        )
        differing = [k for k, pair in enumerate(zip_longest(one, other), 1) if len({*pair}) > 1]
        assert not differing, f"the {key} differ from decision {differing[0]} on"
    assert found == expected


# ---------------------------------------------------------------------------------------------
# Games in words
# ---------------------------------------------------------------------------------------------


def path_of(game: Game) -> Path:
    return kit_of(game).folder / "playthrough.txt"


def legal_in_words(env: CardEnv) -> str:
    """The legal actions by their numbers; where that is long, how many there are of each group."""
    legal = env.legal_actions()
    text = ranges(legal)
    if len(text) <= WIDTH:
        return text
    groups = env.game.actions.groups(legal)
    return ", ".join(f"{len(actions)} × {group}" for group, actions in groups.items())


def playthrough(game: Game, written: Mapping[str, Any]) -> str:
    """A game in words: every decision, with the table as the player to move sees it."""
    kit = kit_of(game)
    options = ", ".join(f"{name}={value}" for name, value in options_of(written).items())
    lines = [f"{game.name}, {options}, seed={written['seed']}", kit.how.format(**written)]
    for number, env, action in decisions(game, written):
        if number > 1 and any(env.rewards.values()):
            lines.append(f"Rewards: {env.rewards}")
        if action is None:
            lines += [RULE, "The end, player_0", "", str(env.render()), ""]
            break
        title = f"Decision {number}, {env.agent_selection}"
        words = f"{action} ({env.action_name(action)})"
        table = ["", str(env.render())] if kit.shows_table(env, number) else []
        if not table and len(env.legal_actions()) == 1:
            lines.append(f"{title}, forced: {words}")
            continue
        lines += [
            RULE if table else "",
            title,
            *(table or kit.in_short(env)),
            *table[:1],
            f"Legal: {legal_in_words(env)}",
            f"Action: {words}",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(("game", "written"), READABLE)
def test_the_game_reads_as_written(game, written):
    assert playthrough(game, written) == path_of(game).read_text(encoding="utf-8")


@pytest.mark.parametrize("game", FEW_GAMES)
def test_the_games_show_all_that_there_is(game):
    kit = kit_of(game)
    texts = [playthrough(game, written) for written in kit.playthroughs]
    assert all("The game is over." in text for text in texts)
    sizes = {written["num_players"] for written in kit.playthroughs}
    assert sizes == set(game.table_sizes) or (not sizes and not kit.is_own)
    counts = {
        pattern: len(re.findall(pattern, "".join(texts), re.MULTILINE)) for pattern in kit.shown
    }
    missing = {p: count for p, count in counts.items() if count < kit.shown[p]}
    assert not missing
    assert kit.shown or not kit.is_own


@pytest.mark.parametrize("game", EACH_GAME)
def test_one_game_is_short_and_to_be_read_and_all_are_data(game):
    kit = kit_of(game)
    if not kit.playthroughs:
        assert not path_of(game).exists()
        assert not histories_path(game).exists()
        return
    assert sum(bool(written.get("readable")) for written in kit.playthroughs) == 1
    assert len(path_of(game).read_text(encoding="utf-8").splitlines()) < 2000
    assert list(read_histories(game)) == [name_of(written) for written in kit.playthroughs]


def main() -> None:
    """Write the games of all kits, or of those that are named."""
    names = sys.argv[1:] or [game.id for game in ALL_GAMES]
    for game, written in (param.values for param in READABLE):
        if game.id not in names:
            continue
        path_of(game).write_text(playthrough(game, written), encoding="utf-8")
        entries = [
            f"{json.dumps(name_of(written))}: {json.dumps(history(game, written))}"
            for written in kit_of(game).playthroughs
        ]
        text = "{\n" + ",\n".join(entries) + "\n}\n"
        histories_path(game).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
