"""A person who plays in the terminal, for tests of the program ``card-envs``."""

from __future__ import annotations

import io
import re


class PlayingPerson(io.TextIOBase):
    """Asks for all actions, then types the last one of the list.

    ``seen`` holds what was on the screen at each first question, ``listed`` the lists.
    """

    def __init__(self, capsys):
        self.capsys = capsys
        self.seen = []
        self.listed = []

    def readline(self, size=-1):
        out = self.capsys.readouterr().out
        if len(self.seen) == len(self.listed):
            self.seen.append(out)
            return "?\n"
        self.listed.append(out)
        return re.findall(r"^ +(\d+)  \S", out, re.MULTILINE)[-1] + "\n"


def story_of(text: str) -> list[tuple[int, str]]:
    """What the others did, as it is told: players and actions in words."""
    return [
        (int(player), name)
        for player, names in re.findall(r"^Player (\d): (.*)\.$", text, re.MULTILINE)
        for name in names.split("; ")
    ]
