"""Whole games, written out to be read: they must never play out differently within a version.

After a change of the words (a change of the rules needs a new version), write them anew with
``python -m tests.test_playthroughs`` and read the difference before committing it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import card_envs
from card_envs.agents import HeuristicAgent, RandomAgent
from card_envs.render import ranges

FOLDER = Path(__file__).parent / "playthroughs"
NUM_PLAYERS = (2, 3, 4, 5, 6)
# Chosen so that every kind of action occurs, a draw two within a draw two and a reshuffle too.
SEEDS = {2: 39, 3: 30, 4: 82, 5: 38, 6: 38}
# The number of the first decision that may be a knock: the games would be very short otherwise.
FIRST_KNOCK = {2: 30, 3: 160, 4: 40, 5: 40, 6: 40}
RULE = "=" * 80


def file_of(num_players: int) -> Path:
    return FOLDER / f"beaver_gang_{num_players}.txt"


def playthrough(num_players: int) -> str:
    """A game in words: every decision with the table as the player to move sees it."""
    seed = SEEDS[num_players]
    options = {"num_players": num_players, "rounds": 2 if num_players == 2 else 1}
    env = card_envs.make("beaver_gang", render_mode="ansi", on_illegal="raise", **options)
    env.reset(seed=seed)
    heuristic, chance = HeuristicAgent(env.game), RandomAgent(env.game, seed)
    lines = [
        f"{env.game.name}, {', '.join(f'{name}={value}' for name, value in options.items())}, "
        f"seed={seed}",
        "Players 0, 2, 4 follow the heuristic, players 1, 3, 5 choose at random; "
        f"nobody knocks before decision {FIRST_KNOCK[num_players]}.",
    ]
    number = 0
    while legal := env.legal_actions():
        agent = env.agent_selection
        number += 1
        chooser = chance if int(agent[-1]) % 2 else heuristic
        action = chooser.choose(env.states, 0)
        if env.action_name(action) == "knock" and number < FIRST_KNOCK[num_players]:
            action = legal[-1]
        lines += [
            RULE,
            f"Decision {number}, {agent}",
            "",
            str(env.render()),
            "",
            f"Legal: {ranges(legal)}",
            f"Action: {action} ({env.action_name(action)})",
        ]
        env.step(action)
        if any(env.rewards.values()):
            lines.append(f"Rewards: {env.rewards}")
    lines += [RULE, "The end, player_0", "", str(env.render()), ""]
    return "\n".join(lines)


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_game_plays_out_as_written(num_players):
    written = file_of(num_players).read_text(encoding="utf-8")
    assert playthrough(num_players) == written


def test_the_written_games_show_every_kind_of_action():
    texts = [file_of(num_players).read_text(encoding="utf-8") for num_players in NUM_PLAYERS]
    actions = [int(action) for text in texts for action in re.findall(r"Action: (\d+)", text)]
    kinds = {
        "take": range(4),
        "draw": (4,),
        "discard": (5,),
        "exchange": range(6, 10),
        "swap": range(10, 90),
        "peek": range(90, 94),
        "draw two": (94,),
        "knock": (95,),
        "do not knock": (96,),
    }
    counts = {kind: sum(a in numbers for a in actions) for kind, numbers in kinds.items()}
    assert min(counts.values()) >= 4, counts
    assert all("The game is over." in text for text in texts)
    assert any("Draw-two cards under way: 2." in text for text in texts)
    assert any("since before the last reshuffle" in text for text in texts)


if __name__ == "__main__":
    for count in NUM_PLAYERS:
        file_of(count).write_text(playthrough(count), encoding="utf-8")
