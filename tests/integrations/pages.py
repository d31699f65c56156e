"""Run the documentation's page of a tool as a user would: its code from top to bottom."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

PAGES = Path(__file__).parents[2] / "docs" / "tools"


def run_page(tool: str) -> dict[str, Any]:
    """The names that the Python code of ``docs/tools/<tool>.md`` defines, all blocks in order."""
    text = (PAGES / f"{tool}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks, f"{tool}.md has no code"
    # A module, so that what the page defines can be pickled.
    module = ModuleType(f"page_{tool}")
    sys.modules[module.__name__] = module
    exec(compile("\n".join(blocks), f"{tool}.md", "exec"), module.__dict__)
    return module.__dict__
