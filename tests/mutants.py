"""Faults that the tests must catch: ``python tests/mutants.py [NUMBER ...]`` plants one after the
other in a copy of the repository and runs the tests that should fail.

A mutant is a file, what is written there once, what stands there instead, and the tests, in the
words of pytest's command line, of which at least one must fail without those marked slow. The
command fails if a mutant survives, or if its text is not found any more.
"""

from __future__ import annotations

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


GAMES = "card_envs/games"
HIDING = "tests/test_hidden_information.py"
MUTANTS = [
    # Rules
    Mutant(
        "rules: only the first seat to the left can be swapped with",
        f"{GAMES}/beaver_gang/rules.py",
        "targets = SLOTS * (int(s.num_players) - 1)",
        "targets = SLOTS",
        "tests/games/beaver_gang/test_rules.py",
    ),
    Mutant(
        "rules: draw-twos under way are not discarded at the end of the turn",
        f"{GAMES}/beaver_gang/rules.py",
        "        discard(s, DRAW_TWO)\n",
        "        pass\n",
        "tests/games/beaver_gang/test_rules.py",
    ),
    Mutant(
        "rules: the most elegant collection brings one bonus card only",
        f"{GAMES}/animalia/rules.py",
        "draw_bonus_cards(s, best, 2)",
        "draw_bonus_cards(s, best, 1)",
        "tests/games/animalia/test_rules.py",
    ),
    Mutant(
        "rules: who took the lot deals next, not who is to the dealer's left",
        f"{GAMES}/animalia/rules.py",
        "s.dealer = next_incomplete(s, int(s.dealer))",
        "s.dealer = next_incomplete(s, int(s.current_player))",
        "tests/games/animalia/test_rules.py",
    ),
    Mutant(
        "rules: juniors may ask a senior who has no cards left",
        f"{GAMES}/franks_zoo/rules.py",
        "return is_junior(s, player) and s.hand_size[s.partner[player]] > 0",
        "return is_junior(s, player)",
        "tests/games/franks_zoo/test_rules.py",
    ),
    Mutant(
        "rules: the dealer is dealt to first",
        f"{GAMES}/franks_zoo/rules.py",
        "        player = to_the_left(s, player)\n        s.hand[player, draw_card",
        "        s.hand[player, draw_card",
        "tests/games/franks_zoo/test_rules.py tests/test_playthroughs.py -k franks_zoo",
    ),
    Mutant(
        "rules: with two players left one card is a majority",
        f"{GAMES}/swim_for_your_life/rules.py",
        "least = 2 if players_left(s) == 2 else 1",
        "least = 1",
        "tests/games/swim_for_your_life/test_rules.py",
    ),
    Mutant(
        "rules: three cards are enough to lay down four",
        f"{GAMES}/swim_for_your_life/rules.py",
        "if s.hand[player, animal] == 3:",
        "if s.hand[player, animal] == -1:",
        "tests/games/swim_for_your_life/test_rules.py",
    ),
    Mutant(
        "rewards: level players are paid as if they were behind",
        "card_envs/contract/outcome.py",
        "elif s.standing[player] < s.standing[other]:",
        "elif other != player:",
        "tests/test_properties.py -k test_rewards",
    ),
    # Hiding
    Mutant(
        "hiding: an observation shows the card that another player has drawn",
        f"{GAMES}/beaver_gang/observation.py",
        "    sees_drawn = s.current_player == me\n",
        "    sees_drawn = True\n",
        f"{HIDING} -k beaver_gang",
    ),
    Mutant(
        "hiding: without memory all cards that are known are seen",
        f"{GAMES}/beaver_gang/observation.py",
        "observe_rows(s, me, int(s.in_view[me]), out)",
        "observe_rows(s, me, int(s.known[me]), out)",
        "tests/games/beaver_gang/test_hidden_information.py",
    ),
    Mutant(
        "hiding: redrawing prefers cards that come early in the list of kinds",
        "card_envs/contract/cards.py",
        "    place = draw_below(s, size)\n    while place >= pool",
        "    place = min(draw_below(s, size), draw_below(s, size))\n    while place >= pool",
        f"{HIDING} tests/games/beaver_gang -k 'beaver_gang and (redraw or uniform or even)'",
    ),
    Mutant(
        "hiding: what partners have given each other is not redrawn",
        f"{GAMES}/franks_zoo/knowledge.py",
        "if s.is_senior[senior] == 1 and player != senior and player != s.partner[senior]:",
        "if s.is_senior[senior] == 2:",
        f"{HIDING} -k franks_zoo",
    ),
    Mutant(
        "hiding: the table in words tells everybody the first card of a gift",
        f"{GAMES}/franks_zoo/scene.py",
        'if mover == observer and s["gift"] != NO_CARD:',
        'if s["gift"] != NO_CARD:',
        "tests/games/franks_zoo/test_text.py -k hidden",
    ),
    Mutant(
        "hiding: the others hear which card is given away",
        f"{GAMES}/franks_zoo/actions.py",
        'return "give away a card" if kind == "give" else ACTIONS.name(action)',
        "return ACTIONS.name(action)",
        "tests/games/franks_zoo/test_text.py tests/text tests/programs -k franks_zoo",
    ),
    # Determinism
    Mutant(
        "determinism: every hand is dealt from the stream that the one before has left",
        f"{GAMES}/franks_zoo/rules.py",
        "    seed_stream(s, s.seed, s.hand_number)\n",
        "    seed_stream(s, s.rng, s.hand_number)\n",
        "tests/test_determinism.py tests/test_playthroughs.py -k franks_zoo",
    ),
    # Resuming
    Mutant(
        "resume: damaged saved games are played",
        "card_envs/engine/history.py",
        'if data.pop("checksum") != _digest(body + "}") or',
        'if data.pop("checksum") == "" or',
        "tests/test_saving.py tests/test_replay.py",
    ),
    Mutant(
        "resume: what a clone does goes into the history of the game that was cloned",
        "card_envs/envs/aec.py",
        '    "_history",\n    "_action_mask",\n)',
        '    "_action_mask",\n)',
        "tests/test_saving.py tests/test_api.py tests/test_replay.py",
    ),
    Mutant(
        "resume: redrawn cards are dealt again by another seed",
        "card_envs/engine/history.py",
        "rules.determinize(states, 0, entry.player, np.uint64(entry.seed))",
        "rules.determinize(states, 0, entry.player, np.uint64(entry.seed // 2))",
        "tests/test_saving.py tests/test_replay.py",
    ),
    # Statistics
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
        ".t.ppf(0.975, degrees)",
        ".t.ppf(0.95, degrees)",
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


def main() -> int:
    """Plant the mutants of these numbers, or all; 1 if one survives."""
    numbers = [int(word) for word in sys.argv[1:]] or range(1, len(MUTANTS) + 1)
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "runs", "site"))
        for number in numbers:
            mutant = MUTANTS[number - 1]
            is_caught, last = closing_line(mutant, copy)
            survived += not is_caught
            verdict = "caught  " if is_caught else "SURVIVED"
            print(f"{number:2} {verdict} {mutant.about}: {last}", flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
