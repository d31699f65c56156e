"""How well intervals do: the committed simulation, and a small one."""

from __future__ import annotations

import json

import pytest

from benchmarks import coverage, report

COMMITTED = json.loads((report.RESULTS / "coverage_all.json").read_text(encoding="utf-8"))
INTERVALS = [
    (case["case"], row) for case in COMMITTED["results"]["cases"] for row in case["intervals"]
]


def test_intervals_cover_the_mean_in_every_case():
    assert COMMITTED["settings"]["simulations"] == 10_000
    assert {row["deals"] for _, row in INTERVALS} == set(coverage.DEALS)
    assert [(case, row) for case, row in INTERVALS if row["coverage"] < 0.93] == []
    assert sum(row["outside"] + row["empty"] for _, row in INTERVALS) == 0
    assert min(row["student_coverage"] for _, row in INTERVALS) < 0.1  # they are hard


@pytest.mark.parametrize("number", [0, 3, 4, 45])
def test_the_committed_simulation_is_of_the_present_intervals(number):
    case, settings = coverage.made_cases()[number], COMMITTED["settings"]
    committed = COMMITTED["results"]["cases"][number]
    assert case.to_json()["case"] == committed["case"]
    found = coverage.simulate(case, 5, settings["simulations"], settings["seed"] + number)
    assert found == pytest.approx(committed["intervals"][0])


def test_the_command_says_what_is_wrong(capsys):
    assert coverage.main(["--simulations", "0"]) == 2
    assert "--simulations must be at least 1" in capsys.readouterr().err
