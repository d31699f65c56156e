"""Faults that the tests must catch: ``python tests/mutants.py [NUMBER ...]`` plants one after the
other in a copy of the repository and runs the tests that should fail.

A mutant is a file, what is written there once, what stands there instead, and the tests, in the
words of pytest's command line, of which at least one must fail without those marked slow. Those
of a game are in its folder, ``tests/games/<id>/mutants.py``. The command fails if a mutant
survives, or if its text is not found any more.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Mutant(NamedTuple):
    """A fault and what should catch it."""

    about: str
    file: str
    before: str
    after: str
    tests: str


MUTANTS = [
    Mutant(
        "rewards: level players are paid as if they were behind",
        "card_envs/contract/outcome.py",
        "balance -= s.standing[player] < s.standing[other]",
        "balance -= other != player and s.standing[player] <= s.standing[other]",
        "tests/test_properties.py -k test_rewards",
    ),
    Mutant(
        "hiding: redrawing prefers cards that come early in the list of kinds",
        "card_envs/contract/cards.py",
        "    position = draw_below(s, size)\n    while position >= count_of",
        "    position = draw_below(s, draw_below(s, size) + 1)\n    while position >= count_of",
        "tests/games -k 'uniform or evenly'",
    ),
    Mutant(
        "resume: damaged saved games are played",
        "card_envs/engine/history.py",
        'if data.pop("checksum") != _digest(body + "}") or',
        'if data.pop("checksum") == "" or',
        "tests/test_saving.py tests/test_replay.py",
    ),
    Mutant(
        "resume: what a clone does goes into the history of the game that was cloned",
        "card_envs/envs/ongoing_game.py",
        "return value.copy() if isinstance(value, (list, np.ndarray)) else value",
        "return value.copy() if isinstance(value, np.ndarray) else value",
        "tests/test_saving.py tests/test_api.py tests/test_replay.py",
    ),
    Mutant(
        "resume: redrawn cards are dealt again by another seed",
        "card_envs/engine/history.py",
        "rules.determinize(states, 0, entry.player, np.uint64(entry.seed))",
        "rules.determinize(states, 0, entry.player, np.uint64(entry.seed // 2))",
        "tests/test_saving.py tests/test_replay.py",
    ),
    Mutant(
        "benchmarks: the first place is counted as the last",
        "benchmarks/games.py",
        "for p in range(1, len(agents) + 1)]",
        "for p in range(len(agents), 0, -1)]",
        "tests/test_benchmarks.py -k places",
    ),
    Mutant(
        "benchmarks: tables of other deals are taken from the cache",
        "benchmarks/strength.py",
        "self._about = [game.sources, players, deals, seed]",
        "self._about = [game.sources, players, deals]",
        "tests/test_strength.py -k other_deals",
    ),
    Mutant(
        "statistics: intervals of shares of victories are those of rank rewards",
        "card_envs/evaluation/matches.py",
        "estimate_mean(wins[:, k], WIN_BOUNDS)",
        "estimate_mean(wins[:, k])",
        "tests/test_evaluation.py -k shares",
    ),
    Mutant(
        "evaluation: one against many plays by the default options",
        "card_envs/evaluation/deals.py",
        "play_deals(game, [one, *[rest] * (n - 1)], checked_seeds, checked)",
        "play_deals(game, [one, *[rest] * (n - 1)], checked_seeds)",
        "tests/test_evaluation.py -k one_against",
    ),
    Mutant(
        "statistics: pseudo-observations have no weight",
        "card_envs/evaluation/statistics.py",
        "_WEIGHT = 4.0",
        "_WEIGHT = 0.0",
        "tests/test_evaluation.py",
    ),
    Mutant(
        "statistics: intervals of 90% are called 95%",
        "card_envs/evaluation/statistics.py",
        "t.ppf(0.5 + confidence",
        "t.ppf(0.475 + confidence",
        "tests/test_evaluation.py",
    ),
    Mutant(
        "statistics: every seating of a deal is the first one",
        "card_envs/evaluation/deals.py",
        "seats_of = (np.arange(n)[:, None] + orders[:, None, :]) % n",
        "seats_of = (0 * np.arange(n)[:, None] + orders[:, None, :]) % n",
        "tests/test_evaluation.py",
    ),
    Mutant(
        "statistics: players who share a place count as an event each",
        "card_envs/evaluation/ratings.py",
        "weight = 1.0 / level.sum(axis=-1)",
        "weight = np.ones(level.shape[:-1])",
        "tests/test_ratings.py",
    ),
]
for path in sorted((ROOT / "tests" / "games").glob("*/mutants.py")):
    game = path.parent.name
    for about, file, *rest in importlib.import_module(f"games.{game}.mutants").MUTANTS:
        MUTANTS.append(Mutant(f"{game}: {about}", f"card_envs/games/{game}/{file}", *rest))


def closing_line(mutant: Mutant, folder: Path) -> tuple[bool, str]:
    """Whether a test fails with the mutant in a copy of the repository, and pytest's last line."""
    path = folder / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.before) != 1:
        raise ValueError(
            f"{mutant.file} has this {text.count(mutant.before)} times, not once:\n{mutant.before}"
        )
    path.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    words = f"{sys.executable} -m pytest -x -p no:cacheprovider -m 'not slow' {mutant.tests}"
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),  # no mutant stays in the user's
    }
    run = subprocess.run(
        ["sh", "-c", words], cwd=folder, env=environment, capture_output=True, text=True
    )
    path.write_text(text, encoding="utf-8")
    if run.returncode not in (0, 1):  # neither passed nor failed
        raise RuntimeError(f"pytest has not run:\n{run.stdout}{run.stderr}")
    *_, last = run.stdout.splitlines()
    return run.returncode == 1, last


def left_out(folder: str, names: list[str]) -> set[str]:
    """What is hidden, and the runs and the site that lie in the root."""
    at_root = {"runs", "site"} if Path(folder) == ROOT else set()
    return {name for name in names if name.startswith(".") or name in at_root}


def main() -> int:
    """Plant the mutants of these numbers, or all; 1 if one survives."""
    numbers = [int(word) for word in sys.argv[1:]] or range(1, len(MUTANTS) + 1)
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(ROOT, copy, ignore=left_out)
        for number in numbers:
            mutant = MUTANTS[number - 1]
            is_caught, last = closing_line(mutant, copy)
            survived += not is_caught
            verdict = "caught  " if is_caught else "SURVIVED"
            print(f"{number:2} {verdict} {mutant.about}: {last}", flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
