"""What is installed: the lowest versions that are tested are those that the package claims."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lowest_claimed(requirement: Requirement) -> Version:
    (bound,) = [part.version for part in requirement.specifier if part.operator == ">="]
    return Version(bound)


def test_the_lowest_versions_tested_are_those_claimed():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    target = re.search(r"^test-lowest:(.*?)\n\n", makefile, re.MULTILINE | re.DOTALL)[1]
    extras = re.search(r'--editable "\.\[([\w,]+)\]"', target)[1].split(",")
    lines = PROJECT["dependencies"] + [
        line for extra in extras for line in PROJECT["optional-dependencies"][extra]
    ]
    lines_pinned = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        name: Version(version)
        for name, _, version in (line.partition("==") for line in lines_pinned if "==" in line)
    }
    for requirement in map(Requirement, lines):
        assert pinned.get(requirement.name) == lowest_claimed(requirement), requirement
