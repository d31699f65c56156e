"""Tutorials as pages: scripts in percent format, shown with the output that was recorded.

python docs/tutorial_pages.py SCRIPT.py …

runs tutorials as their readers do, in the current folder, and records what each cell prints in
``docs/tutorials/output``. A picture that a page shows as ``output/X`` is the run's ``runs/X``.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

FOLDER = Path(__file__).parent / "tutorials"
SCRIPTS = tuple(sorted(FOLDER.glob("*.py")))
_RECORDS = FOLDER / "output"

_CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)
_PROSE = re.compile(r'"""\n(.*?)\n?"""\n*', re.DOTALL)
_PICTURE = re.compile(r"\]\(output/([^)]+)\)")


class Cell(NamedTuple):
    """A cell: what stands after its mark, and its text or code."""

    header: str
    text: str

    @property
    def is_prose(self) -> bool:
        """Whether it is Markdown."""
        return "[markdown]" in self.header


def cells(script: Path) -> list[Cell]:
    """The cells of a script; prose without its quotes."""
    before, *parts = _CELL.split(script.read_text(encoding="utf-8"))
    assert not before, f"{script} must begin with a cell"
    found = [Cell(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return [
        cell._replace(text=_PROSE.fullmatch(cell.text)[1]) if cell.is_prose else cell
        for cell in found
    ]


def run(
    script: Path, arguments: Sequence[str] = (), parameters: Mapping[str, Any] | None = None
) -> dict[int, str]:
    """Run a script cell by cell in the current folder.

    Args:
        script: The tutorial.
        arguments: Its command line.
        parameters: What takes the place of values set in its cell with the tag ``parameters``.

    Returns:
        What its cells print, by the numbers of those that print something.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = {}
    with patch.object(sys, "argv", [str(script), *arguments]):
        for number, cell in enumerate(cells(script)):
            if not cell.is_prose:
                with redirect_stdout(StringIO()) as printed:
                    exec(compile(cell.text, f"{script.name}, cell {number}", "exec"), names)
                if "parameters" in cell.header:
                    assert (parameters or {}).keys() <= names.keys()
                    names.update(parameters or {})
                if printed.getvalue():
                    outputs[number] = printed.getvalue()
    return outputs


def recorded(script: Path) -> dict[int, str]:
    """What its cells printed when it was recorded."""
    path = _RECORDS / f"{script.stem}.txt"
    _, *parts = re.split(r"^# %% (\d+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[::2], parts[1::2], strict=True)}


def pictures(script: Path) -> list[str]:
    """The pictures that it shows, below ``runs`` and among what is recorded."""
    return _PICTURE.findall(script.read_text(encoding="utf-8"))


def record(script: Path) -> None:
    """Run a script, and keep what it prints and the pictures that it shows."""
    outputs = run(script)
    text = "".join(f"# %% {number}\n{printed}" for number, printed in outputs.items())
    (_RECORDS / f"{script.stem}.txt").write_text(text, encoding="utf-8")
    for picture in pictures(script):
        (_RECORDS / picture).parent.mkdir(exist_ok=True)
        shutil.copyfile(Path("runs") / picture, _RECORDS / picture)


def page(script: Path) -> str:
    """The page of a tutorial."""
    outputs = recorded(script)
    parts = []
    for number, cell in enumerate(cells(script)):
        parts.append(cell.text if cell.is_prose else f"```python\n{cell.text.strip()}\n```")
        if number in outputs:
            parts.append(f'```text title="Output"\n{outputs[number].rstrip()}\n```')
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        record(Path(name))
