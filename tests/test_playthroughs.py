"""Whole games, written out to be read: they must never play out differently within a version.

A kit says which (``PLAYTHROUGHS``) and what they show together (``SHOWN``); the files are in the
game's folder. After a change of the words (a change of the rules needs a new version), write them
again with ``python tests/test_playthroughs.py [GAME ...]`` and read the difference before
committing it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import ALL_GAMES, EACH_GAME, kit_of, table_sizes

import card_envs
from card_envs.agents import HeuristicAgent, RandomAgent, choose
from card_envs.engine.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.render.words import WIDTH, ranges

RULE = "=" * 80

PLAYTHROUGHS = [
    pytest.param(
        game, written, id=f"{game.id}-{written['num_players']}{written.get('variant', '')}"
    )
    for game in ALL_GAMES
    for written in kit_of(game).playthroughs
]


def path_of(game: Game, written: Mapping[str, Any]) -> Path:
    name = f"{written['num_players']}{written.get('variant', '')}.txt"
    return kit_of(game).folder / "playthroughs" / name


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
    options = {"num_players": written["num_players"], **written.get("options", {})}
    options |= {"memory": written["memory"]} if "memory" in written else {}
    env = card_envs.make(game.name, render_mode="ansi", on_illegal="raise", **options)
    env.reset(seed=written["seed"])
    chance = RandomAgent(game, written["seed"])
    scripted = chance if game.heuristic is None else HeuristicAgent(game)
    lines = [
        f"{game.name}, {', '.join(f'{name}={value}' for name, value in options.items())}, "
        f"seed={written['seed']}",
        kit.how.format(**written),
    ]
    number = 0
    while env.legal_actions():
        agent = env.agent_selection
        number += 1
        is_scripted = env.possible_agents.index(agent) % 2 == 0
        action = (
            choose(scripted, game, env.states)
            if is_scripted
            else (kit.choose_at_random(env, chance))
        )
        action = kit.plays_instead(env, number, action, written)
        table = ["", str(env.render())] if kit.shows_table(env, number) else []
        lines += [
            RULE if table else "",
            f"Decision {number}, {agent}",
            *(table or kit.in_short(env)),
            *table[:1],
            f"Legal: {legal_in_words(env)}",
            f"Action: {action} ({env.action_name(action)})",
        ]
        env.step(action)
        if any(env.rewards.values()):
            lines.append(f"Rewards: {env.rewards}")
    lines += [RULE, "The end, player_0", "", str(env.render()), ""]
    return "\n".join(lines)


@pytest.mark.parametrize(("game", "written"), PLAYTHROUGHS)
def test_the_game_plays_out_as_written(game, written):
    assert playthrough(game, written) == path_of(game, written).read_text(encoding="utf-8")


@pytest.mark.parametrize("game", EACH_GAME)
def test_the_written_games_show_all_that_there_is(game):
    kit = kit_of(game)
    texts = [path_of(game, written).read_text(encoding="utf-8") for written in kit.playthroughs]
    assert all("The game is over." in text for text in texts)
    assert all(len(text) < 250_000 for text in texts)
    sizes = {written["num_players"] for written in kit.playthroughs}
    assert sizes == set(table_sizes(game)) or (not sizes and not kit.is_own)
    counts = {
        pattern: len(re.findall(pattern, "".join(texts), re.MULTILINE)) for pattern in kit.shown
    }
    missing = {p: count for p, count in counts.items() if count < kit.shown[p]}
    assert not missing
    assert kit.shown or not kit.is_own


@pytest.mark.parametrize("game", EACH_GAME)
def test_every_file_is_of_a_written_game(game):
    kit = kit_of(game)
    found = sorted((kit.folder / "playthroughs").glob("*"))
    assert found == sorted(path_of(game, written) for written in kit.playthroughs)


def main() -> None:
    """Write the games of all kits, or of those that are named."""
    names = sys.argv[1:] or [game.id for game in ALL_GAMES]
    for game in (game for game in ALL_GAMES if game.id in names):
        for written in kit_of(game).playthroughs:
            path = path_of(game, written)
            path.parent.mkdir(exist_ok=True)
            path.write_text(playthrough(game, written), encoding="utf-8")


if __name__ == "__main__":
    main()
