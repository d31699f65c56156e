"""Tables of intervals: how often they contain the mean."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import origin
from card_envs.utils.markdown import markdown_table

# Numbers of deals at which the width is compared to that of Student's t, and where t itself holds.
_WIDTH_DEALS = (100, 1000)
_HOLDS = (0.93, 0.97)


def coverage(measured: dict[str, Any]) -> str:
    """How often intervals contain the mean, which ``benchmarks.coverage`` writes."""
    rows = []
    cases = measured["results"]["cases"]
    for case in cases:
        found = case["intervals"]
        rows.append(
            [
                case["case"],
                *(f"{100 * r['coverage']:.1f} ({100 * r['student_coverage']:.1f})" for r in found),
                *(_ratio(row) for row in found if row["deals"] in _WIDTH_DEALS),
            ]
        )
    header = ["deals", *(f"{row['deals']:,}" for row in cases[0]["intervals"])]
    header += [f"width, {deals:,}" for deals in _WIDTH_DEALS]
    intervals = [row for case in cases for row in case["intervals"]]
    lowest = min(row["coverage"] for row in intervals)
    wide = sum(map(_is_wide, intervals))
    compared = sum(row["deals"] in _WIDTH_DEALS and _ratio(row) != "–" for row in intervals)
    note = (
        f"Coverage of 95% intervals in percent, in brackets that of Student's t; "
        f"{measured['settings']['simulations']:,} simulations a cell. Lowest: {100 * lowest:.1f}. "
        f"Width: compared to Student's t where that covers 93 to 97%; more than 1.10 (bold) in "
        f"{wide} of {compared} cells."
    )
    return "\n\n".join([markdown_table(header, rows, len(header) - 1), note, origin(measured)])


def _ratio(row: dict[str, Any]) -> str:
    if not _HOLDS[0] <= row["student_coverage"] <= _HOLDS[1]:
        return "–"
    shown = f"{row['width'] / row['student_width']:.2f}"
    return f"**{shown}**" if _is_wide(row) else shown


def _is_wide(row: dict[str, Any]) -> bool:
    """Whether an interval is more than 10% wider than Student's t where that holds."""
    holds = _HOLDS[0] <= row["student_coverage"] <= _HOLDS[1]
    is_compared = row["deals"] in _WIDTH_DEALS and holds
    return is_compared and bool(row["width"] > 1.1 * row["student_width"])
