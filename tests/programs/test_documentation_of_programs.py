"""The page on programs says what the code does."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

from helpers import ALL_GAMES

from card_envs.agents.programs import faults, messages
from card_envs.agents.programs.names import Limits
from card_envs.agents.programs.process import MAX_LINE

PAGE = (Path(__file__).parent.parent.parent / "docs" / "programs.md").read_text(encoding="utf-8")


def rows(heading):
    """The first cells of the table under a heading."""
    table = PAGE.partition(f"\n{heading}\n")[2].partition("|\n\n")[0]
    return [cell.strip("` ") for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE)][2:]


def test_version_and_limits():
    assert f"## The protocol, version {messages.VERSION}\n" in PAGE
    assert f'`"{messages.PROTOCOL}"`, {messages.VERSION} |' in PAGE
    assert rows("## Limits") == [field.name for field in fields(Limits)]
    for field in fields(Limits):
        default = f"{field.default:g}" if not isinstance(field.default, str) else field.default
        assert re.search(rf"^\| `{field.name}` \| `?{default}`? \|", PAGE, re.MULTILINE)
    assert f"{MAX_LINE:,} bytes" in PAGE


def test_every_fault_is_documented():
    kinds = [value for name, value in vars(faults).items() if name.isupper()]
    assert rows("## Faults") == kinds


def test_every_key_is_documented():
    message = messages.decide(
        0, 0, 2, {}, [], [], ALL_GAMES[0].actions, {"observation": [], "mask": [], "text": ""}
    )
    documented = [key for cell in rows("**`decide`**") for key in cell.split("`, `")]
    assert ["type", *documented] == [
        "type",
        *(key for key in json.loads(messages.encode(message)) if key != "type"),
    ]
