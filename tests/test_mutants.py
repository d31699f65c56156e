"""The mutants still fit the code: a rewritten line needs another mutant."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.about)
def test_what_a_mutant_changes_is_there_once(mutant):
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.before) == 1
    assert mutant.after != mutant.before
