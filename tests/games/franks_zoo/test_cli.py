"""Frank's Zoo on the command line: what the others do is told without the cards they give."""

from __future__ import annotations

import re
import sys

from helpers import replayed
from person import PlayingPerson, story_of

from card_envs.commands.cli import main
from card_envs.engine.history import Replay


def test_the_others_do_not_tell_which_cards_they_give(capsys, monkeypatch, tmp_path):
    """FZ-18: a whole game with an exchange of cards."""
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = ["play", "franks_zoo", "--players", "5", "--seat", "2", "--seed", "7"]
    argv += ["--opponents", "random", "--option", "target_score=8", "--save", str(path)]
    assert main(argv) == 0
    screen = "".join([*keyboard.seen, *keyboard.listed, capsys.readouterr().out])
    gifts = {True: 0, False: 0}
    for env, action in replayed(Replay.load(path)):
        is_own = env.agent_selection == "player_2"
        gifts[is_own] += env.action_name(action).startswith("give away: ")
    assert gifts[False] == 4 * gifts[True] >= 8
    told = [name for _, name in story_of(screen) if "give" in name]
    assert told == ["give away a card"] * gifts[False]
    # Which card it is stands only where the person chooses, or has chosen.
    lines = [line for line in screen.splitlines() if "give away: " in line]
    own = re.compile(r"(Your action \(.*\): )?( +\d+  |You: )give away: 1 ")
    assert all(map(own.match, lines))
    assert sum("You: " in line for line in lines) == gifts[True]
