"""Tables in Markdown, and texts with generated sections."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A Markdown table whose last ``numbers`` columns are aligned to the right."""
    rule = ["---"] * (len(header) - numbers) + ["---:"] * numbers
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


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
