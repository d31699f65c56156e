"""Reports on programs: their time per decision, and their faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from card_envs.agents.programs.faults import (
    CRASHED,
    ILLEGAL,
    NO_ANSWER,
    NO_START,
    OUT_OF_TIME,
    TOO_MUCH,
    TOO_SLOW,
)

#: What reports count, by the kinds of faults; games of a program that was given up are neither.
COUNTED = {
    "illegal_answers": (ILLEGAL, NO_ANSWER, TOO_MUCH),
    "timeouts": (TOO_SLOW, OUT_OF_TIME),
    "crashes": (NO_START, CRASHED),
}


@dataclass(frozen=True)
class FaultCount:
    """How often a program had one kind of fault.

    Attributes:
        fault: The kind, such as ``"no answer in time"``.
        count: How often: games lost, or decisions replaced.
        first: What happened the first time, in words.
        last_words: The last lines of its standard error at that time.
    """

    fault: str
    count: int
    first: str
    last_words: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The count as JSON data."""
        return {
            "fault": self.fault,
            "count": self.count,
            "first": self.first,
            "last_words": list(self.last_words),
        }


@dataclass(frozen=True)
class ProgramReport:
    """A program's decisions, time and faults in some games.

    Attributes:
        name: The agent's name.
        decisions: The number of its decisions.
        seconds: The time that they took.
        on_fault: What a fault costs: ``"lose"`` (the game) or ``"random"`` (that decision).
        faults: Its faults, by kind.
    """

    name: str
    decisions: int
    seconds: float
    on_fault: str
    faults: tuple[FaultCount, ...]

    @property
    def is_silent(self) -> bool:
        """Whether it was asked, and never gave a legal answer."""
        return bool(self.faults) and not self.decisions

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data. Times are measured: they differ from run to run."""
        return {
            "name": self.name,
            "decisions": self.decisions,
            "seconds_per_decision": self.seconds / self.decisions if self.decisions else None,
            "on_fault": self.on_fault,
            **{
                key: sum(fault.count for fault in self.faults if fault.fault in kinds)
                for key, kinds in COUNTED.items()
            },
            "faults": [fault.to_json() for fault in self.faults],
        }


def merged(reports: Iterable[ProgramReport]) -> tuple[ProgramReport, ...]:
    """One report for each name, in the order in which they first occur."""
    by_name: dict[str, ProgramReport] = {}
    for report in reports:
        old = by_name.get(report.name)
        by_name[report.name] = report if old is None else _sum(old, report)
    return tuple(by_name.values())


def _sum(a: ProgramReport, b: ProgramReport) -> ProgramReport:
    faults = {fault.fault: fault for fault in a.faults}
    for fault in b.faults:
        old = faults.get(fault.fault)
        if old is not None:
            fault = FaultCount(old.fault, old.count + fault.count, old.first, old.last_words)
        faults[fault.fault] = fault
    return ProgramReport(
        a.name,
        a.decisions + b.decisions,
        a.seconds + b.seconds,
        a.on_fault,
        tuple(faults.values()),
    )
