"""The leaderboard of ``card-envs benchmark``: its entries, checked and shown.

    python -m benchmarks.leaderboard            # checks the form of all entries
    python -m benchmarks.leaderboard NAME …     # plays these again, minutes for each game
    python -m benchmarks.leaderboard NAME … --seed N    # and on other deals, as many

An entry is a folder of ``benchmarks/entries``: ``claim.json``, which ``card-envs benchmark --json``
has written; ``method.txt``, one line about the method; and the policy file or the program, unless
the agent comes with the package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from html import escape
from math import comb
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

from card_envs.agents import make_agent, runs_code
from card_envs.agents.identity import hash_of_agent
from card_envs.commands import arguments, running
from card_envs.engine.seeds import check_given_seed
from card_envs.evaluation import DIFFERENCE_BOUNDS, estimate_mean
from card_envs.evaluation.benchmark import rounded, run_benchmark
from card_envs.evaluation.claims import difference_from_play, read_claim
from card_envs.evaluation.display import with_interval
from card_envs.evaluation.protocol import CURRENT, Protocol
from card_envs.games import load_game
from card_envs.utils.markdown import markdown_table

ENTRIES = Path(__file__).with_name("entries")

_SCHEMA = Path(__file__).parent.parent / "docs" / "json_output.schema.json"
_CLAIM, _METHOD = "claim.json", "method.txt"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_LONGEST_METHOD = 200
_ROUNDING = 2e-6  # of means of rounded numbers


@dataclass(frozen=True)
class Entry:
    """An entry.

    Attributes:
        folder: Its folder, whose name is its own.
        claim: The claim.
        method: The line about the method.
    """

    folder: Path
    claim: dict[str, Any]
    method: str

    @classmethod
    def read(cls, folder: Path) -> Entry:
        """The entry in a folder.

        Raises:
            ValueError: It is not as it should be.
            OSError: A file cannot be read.
        """
        path = folder / _CLAIM
        if not _NAME.fullmatch(folder.name):
            raise ValueError(f"{folder}: an entry's name has small letters, digits, and _ . -")
        claim = read_claim(path)
        schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
        of_claims = {"$ref": "#/$defs/benchmark", "$defs": schema["$defs"]}
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(of_claims).iter_errors(claim)
        )
        if error is not None:
            raise ValueError(f"{path}: {error.json_path.removeprefix('$.')}: {error.message}")
        method = (folder / _METHOD).read_text(encoding="utf-8").strip()
        if not method or "\n" in method or len(method) > _LONGEST_METHOD:
            raise ValueError(
                f"{folder / _METHOD} must be one line of at most {_LONGEST_METHOD} characters"
            )
        entry = cls(folder, claim, method)
        if claim["quick"]:
            raise ValueError(f"{path} was made with --quick")
        names = [result["game"] for result in claim["games"]]
        if len({*names}) < len(names):
            raise ValueError(f"{path} has a game twice: {', '.join(names)}")
        try:
            protocol = Protocol.load(claim["protocol"])
            for result in claim["games"]:
                entry._check(result, protocol)
        except ValueError as wrong:
            raise ValueError(f"{path}: {wrong}") from None
        return entry

    def _check(self, result: dict[str, Any], protocol: Protocol) -> None:
        """Raise a ValueError if a game's scores cannot be those of the agent in the folder."""
        name, by_deal, is_current = result["game"], result["by_deal"], self.is_current(result)
        if protocol.status == "frozen" and not is_current:
            raise ValueError(
                f"{name} was played against other opponents than those of {protocol.name}, which "
                "has been frozen since, or it names others"
            )
        if not result["deals"] == len(by_deal) == protocol.deals:
            raise ValueError(f"{name} must have {protocol.deals} deals, as many by_deal")
        if abs(np.mean(by_deal) - result["rank"]) > _ROUNDING:
            raise ValueError(f"{name}: rank is not the mean over by_deal")
        agent, game = self.claim["agent"], load_game(name)
        has_code = runs_code(agent)
        with chdir(self.folder):
            sha256 = hash_of_agent(agent, game)
            if not has_code:
                make_agent(agent, game)
        if sha256 is None and has_code:
            raise ValueError(f"{agent!r} names no file beside the claim that could be hashed")
        if sha256 != result["sha256"] and is_current:
            raise ValueError(
                f"{name} was played by another {agent}: its SHA-256 is {sha256}, not "
                f"{result['sha256']}"
            )

    def is_current(self, result: dict[str, Any]) -> bool:
        """Whether a game was played against the protocol's opponents of today: while it is a draft
        they change."""
        protocol = Protocol.load(self.claim["protocol"])
        pool = protocol.pool(load_game(result["game"]))
        return (self.claim["status"], result["pool"]) == (protocol.status, pool.play)

    def difference_from_play(self) -> str:
        """Play it again; the first difference in words, or ""."""
        with chdir(self.folder):
            return difference_from_play(Path(_CLAIM), self.claim["agent"], progress=True)

    def on_other_deals(self, seed: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """For each game the claim's result and the agent's score on other deals."""
        protocol = replace(Protocol.load(self.claim["protocol"]), seed=seed)
        for result in self.claim["games"]:
            game = load_game(result["game"])
            with chdir(self.folder):
                played = run_benchmark(game, self.claim["agent"], protocol, progress=True)
            yield result, rounded(played.rank)


def entries() -> Iterator[Entry]:
    """All entries.

    Raises:
        ValueError, OSError: As for :meth:`Entry.read`.
    """
    for path in sorted(ENTRIES.glob(f"*/{_CLAIM}")):
        yield Entry.read(path.parent)


def tables() -> str:
    """The leaderboard in Markdown: a table for each game, of the entries that are current."""
    own = [entry for entry in entries() if entry.claim["protocol"] == CURRENT]
    found = [(entry, result) for entry in own for result in entry.claim["games"]]
    found = [(entry, result) for entry, result in found if entry.is_current(result)]
    sections = []
    for name in Protocol.load().pools:
        of_game = [(entry, result) for entry, result in found if result["game"] == name]
        of_game.sort(key=lambda pair: -float(pair[1]["rank"]))
        rows = [
            [
                f"`{entry.folder.name}`",
                with_interval(result, "rank"),
                _behind(of_game[0][1], result, len(of_game)),
                _cell(result["worst"]),
                _cell(result["most_gained"]),
                f"{result['truncated']:.1%}",
                escape(entry.method).replace("|", "&#124;"),
            ]
            for entry, result in of_game
        ]
        header = [
            "entry",
            "rank reward",
            "behind the first",
            "worst, among",
            "most gained from it, by",
            "truncated",
            "method",
        ]
        shown = markdown_table(header, rows) if rows else "No entries yet."
        sections.append(f"### {load_game(name).title}\n\n{shown}")
    return "\n\n".join(sections)


def _behind(first: dict[str, Any], result: dict[str, Any], entries: int) -> str:
    """How far a result is behind the first one, deal by deal; since the deals also say which of the
    entries is first, the intervals hold for all pairs of them at once."""
    if result is first:
        return "–"
    differences = np.subtract(first["by_deal"], result["by_deal"])
    confidence = 1 - 0.05 / comb(entries, 2)
    behind = estimate_mean(differences, DIFFERENCE_BOUNDS, confidence=confidence)
    return with_interval(rounded(behind), "rank")


def _cell(cell: dict[str, Any]) -> str:
    return f"{with_interval(cell, 'rank')} `{cell['name']}`, {cell['num_players']} players"


@running.command("benchmarks.leaderboard")
def main(argv: Sequence[str] | None) -> int:
    """The command ``python -m benchmarks.leaderboard``; status 1 if a claim does not hold."""
    parser = arguments.module_parser("benchmarks.leaderboard", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="entries to play again")
    about = "play these on as many deals of another seed too, and say where they score less"
    parser.add_argument("--seed", type=int, metavar="N", help=about)
    args = parser.parse_args(argv)
    if args.seed is not None and not args.names:
        parser.error("--seed N is of entries that are played: give their names")
    if args.seed is not None:
        check_given_seed(args.seed)  # before the claims are played, for minutes
    known = {entry.folder.name: entry for entry in entries()}
    missing = [name for name in args.names if name not in known]
    if missing:
        raise ValueError(
            f"there is no entry {', '.join(missing)}; the entries are {', '.join(known)}"
        )
    status = 0
    for name in args.names:
        difference = known[name].difference_from_play()
        print(f"{name}: {difference or 'the claim holds'}")
        status |= bool(difference)
        if args.seed is None or difference:
            continue
        for claimed, other in known[name].on_other_deals(args.seed):
            is_less = other["rank_ci95"][1] < claimed["rank_ci95"][0]
            found = ": less, so that it may know the deals of the claim" if is_less else ""
            print(
                f"{name}: {claimed['game']}: {with_interval(claimed, 'rank')} as claimed, "
                f"{with_interval(other, 'rank')} on deals of the seed {args.seed}{found}"
            )
            status |= is_less
    if not args.names:
        print(f"entries that are as they should be: {len(known)}")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
