"""Tables in Markdown and in plain text, and texts in which some sections are generated."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A Markdown table whose last ``numbers`` columns are aligned to the right."""
    rule = ["---"] * (len(header) - numbers) + ["---:"] * numbers
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """A table in plain text, no line longer than ``width``: the last column is wrapped."""
    lines = [header, *rows]
    *widths, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
    indent = sum(widths) + 2 * len(widths)
    return "\n".join(
        textwrap.fill(
            row[-1],
            width,
            initial_indent="".join(f"{c:{w}}  " for c, w in zip(row[:-1], widths, strict=True)),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
        for row in lines
    )


def with_section(text: str, name: str, content: str) -> str:
    """The text with all between ``<!-- name -->`` and the next ``<!-- end -->`` renewed.

    Raises:
        ValueError: The text has no such place, or more than one.
    """
    before, marker, rest = text.partition(f"<!-- {name} -->\n")
    old, end, after = rest.partition("<!-- end -->\n")
    if not marker or not end or "<!--" in old or marker in after:
        raise ValueError(f"the text needs one place for a table: <!-- {name} --> … <!-- end -->")
    return f"{before}{marker}\n{content}\n\n{end}{after}"
