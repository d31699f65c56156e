"""What docs/text.md shows of a game and of lengths is what the code gives."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "text_page.py"


def test_the_page_is_up_to_date():
    """After a change: ``python docs/text_page.py``."""
    spec = importlib.util.spec_from_file_location("text_page", PAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.PAGE.read_text(encoding="utf-8")
    assert module.page(text) == text
    assert "=== player 1 reads:" in text
