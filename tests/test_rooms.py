"""Rooms: what the layout promises beyond what import-linter checks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"
GAMES = sorted(path.parent for path in FIXTURES.glob("*/RULES.md"))


@pytest.mark.parametrize("folder", GAMES, ids=lambda folder: folder.name)
def test_a_game_of_another_package_needs_the_contract_alone(folder):
    imported = {
        str(node.module)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    assert {module for module in imported if module.startswith("card_envs")} == {
        "card_envs.contract"
    }
