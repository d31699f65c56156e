"""How a program did: its time per decision, and its faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FaultCount:
    """How often a program had one kind of fault.

    Attributes:
        fault: The kind, such as ``"no answer in time"``.
        count: How often: games lost, or decisions replaced.
        first: What happened the first time, in words.
        last_words: The last lines that it had written to its standard error by then.
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
class ProgramRecord:
    """How a program did in some games.

    Attributes:
        name: The agent's name.
        decisions: How many it has made.
        seconds: The time that it took for them.
        on_fault: What a fault costs: ``"lose"`` (the game) or ``"random"`` (that decision).
        faults: Its faults, by kind.
    """

    name: str
    decisions: int
    seconds: float
    on_fault: str
    faults: tuple[FaultCount, ...]

    def to_json(self) -> dict[str, Any]:
        """The record as JSON data. Times are measured: they differ from run to run."""
        return {
            "name": self.name,
            "decisions": self.decisions,
            "seconds_per_decision": self.seconds / self.decisions if self.decisions else None,
            "on_fault": self.on_fault,
            "faults": [fault.to_json() for fault in self.faults],
        }


def merged(records: Iterable[ProgramRecord]) -> tuple[ProgramRecord, ...]:
    """One record for each name, in the order in which they first occur."""
    by_name: dict[str, ProgramRecord] = {}
    for record in records:
        old = by_name.get(record.name)
        by_name[record.name] = record if old is None else _sum(old, record)
    return tuple(by_name.values())


def _sum(a: ProgramRecord, b: ProgramRecord) -> ProgramRecord:
    faults = {fault.fault: fault for fault in a.faults}
    for fault in b.faults:
        old = faults.get(fault.fault)
        if old is not None:
            fault = FaultCount(old.fault, old.count + fault.count, old.first, old.last_words)
        faults[fault.fault] = fault
    return ProgramRecord(
        a.name,
        a.decisions + b.decisions,
        a.seconds + b.seconds,
        a.on_fault,
        tuple(faults.values()),
    )
