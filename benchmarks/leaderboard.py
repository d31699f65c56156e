"""The leaderboard of ``card-envs benchmark``: its entries, checked and shown.

    python -m benchmarks.leaderboard            # checks the form of all entries
    python -m benchmarks.leaderboard NAME …     # plays these again, minutes for each game

An entry is a folder of ``benchmarks/entries``: ``claim.json``, which ``card-envs benchmark --json``
has written; ``method.txt``, one line about the method; and the policy file or the program, unless
the agent comes with the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from card_envs.agents.identity import hash_of_agent
from card_envs.commands import arguments, running
from card_envs.evaluation.benchmark import BenchmarkTables
from card_envs.evaluation.claims import difference_from_play, first_difference, read_claim
from card_envs.evaluation.display import with_interval
from card_envs.evaluation.protocol import CURRENT, Protocol
from card_envs.games import load_game
from card_envs.utils.markdown import markdown_table

ENTRIES = Path(__file__).with_name("entries")

_CLAIM, _METHOD = "claim.json", "method.txt"
_LONGEST_METHOD = 200


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
        claim = read_claim(folder / _CLAIM)
        method = (folder / _METHOD).read_text(encoding="utf-8").strip()
        if not method or "\n" in method or len(method) > _LONGEST_METHOD:
            raise ValueError(
                f"{folder / _METHOD} must be one line of at most {_LONGEST_METHOD} characters"
            )
        entry = cls(folder, claim, method)
        if claim["quick"]:
            raise ValueError(f"{folder / _CLAIM} was made with --quick")
        protocol = Protocol.load(claim["protocol"])
        for result in claim["games"]:
            if protocol.status == "frozen" and not entry.is_current(result):
                raise ValueError(f"{folder / _CLAIM}: {protocol.name} has been frozen since")
            with chdir(folder):
                sha256 = hash_of_agent(claim["agent"], load_game(result["game"]))
            if sha256 != result.get("sha256") and entry.is_current(result):
                raise ValueError(f"{folder / _CLAIM} is of another {claim['agent']}")
        return entry

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

    def difference_at_a_table(self, result: dict[str, Any]) -> str:
        """Play a table of a game again: with the fewest players, among the last member of the
        pool. The first difference in words, or ""."""
        game = load_game(result["game"])
        with chdir(self.folder), ExitStack() as stack:
            protocol = Protocol.load(self.claim["protocol"])
            tables = BenchmarkTables(protocol, game, self.claim["agent"], stack)
            member = [*tables.members][-1]
            table = tables.among(member, game.min_players)
        played = {"num_players": game.min_players, **table.to_json()}
        (row,) = (row for row in result["among"] if row["name"] == member)
        return first_difference(row["by_num_players"][0], played)


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
        rows = [
            [
                f"`{entry.folder.name}`",
                with_interval(result, "rank"),
                _cell(result["worst"]),
                _cell(result["most_gained"]),
                entry.method,
            ]
            for entry, result in sorted(of_game, key=lambda pair: -float(pair[1]["rank"]))
        ]
        header = ["entry", "rank reward", "worst, among", "most gained from it, by", "method"]
        shown = markdown_table(header, rows) if rows else "No entries yet."
        sections.append(f"### {load_game(name).title}\n\n{shown}")
    return "\n\n".join(sections)


def _cell(cell: dict[str, Any]) -> str:
    return f"{with_interval(cell, 'rank')} `{cell['name']}`, {cell['num_players']} players"


@running.command("benchmarks.leaderboard")
def main(argv: Sequence[str] | None) -> int:
    """The command ``python -m benchmarks.leaderboard``; status 1 if a claim does not hold."""
    parser = arguments.module_parser("benchmarks.leaderboard", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="entries to play again")
    args = parser.parse_args(argv)
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
    if not args.names:
        print(f"{len(known)} entries are as they should be")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
