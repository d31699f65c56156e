"""How an agent does at the tables of a protocol: ``card-envs benchmark``.

At each table size the agent plays among copies of each member of the pool, each member plays among
copies of the agent, and with three or more players the agent plays at mixed tables. All are played
on the same duplicate deals, in all cyclic seatings.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, AgentLike, NetworkAgent
from card_envs.agents.identity import hash_of_agent
from card_envs.agents.programs import ProgramReport
from card_envs.agents.programs.reports import COUNTED, merged
from card_envs.agents.table import made_agent
from card_envs.contract.game import Game
from card_envs.evaluation.deals import (
    agent_name,
    deal_seeds,
    play_deals,
)
from card_envs.evaluation.protocol import CURRENT, Protocol
from card_envs.evaluation.statistics import MeanEstimate, estimate_mean
from card_envs.games import as_game
from card_envs.kernels.rng import mix
from card_envs.utils.extras import import_extra
from card_envs.utils.progress import track

#: What a row of mixed tables is called.
MIXED = "mixed"

# Sums may differ in their last digits from machine to machine. Adding 0.0 makes 0.0 of -0.0.
_DIGITS = 6


class BenchmarkTableResult(NamedTuple):
    """What was played at a table.

    Attributes:
        ranks: The first agent's rank rewards, one for each deal.
        truncated: The share of games that ended at ``max_steps``.
    """

    ranks: NDArray[np.float64]
    truncated: float

    def to_json(self) -> dict[str, Any]:
        """The result as claims have it."""
        share = round(self.truncated, _DIGITS)
        return {**rounded(estimate_mean(self.ranks)), "truncated": share}


#: By opponents and number of players.
_Results = dict[str, dict[int, BenchmarkTableResult]]


@dataclass(frozen=True)
class BenchmarkRow:
    """Rank rewards with one kind of opponents.

    Attributes:
        name: The pool's member, or ``MIXED``.
        rank: The mean over table sizes.
        by_num_players: The result at each table size.
    """

    name: str
    rank: MeanEstimate
    by_num_players: Mapping[int, BenchmarkTableResult]

    def to_json(self) -> dict[str, Any]:
        """The row as JSON data."""
        sizes = [
            {"num_players": players, **result.to_json()}
            for players, result in self.by_num_players.items()
        ]
        return {"name": self.name, **rounded(self.rank), "by_num_players": sizes}


class BenchmarkCell(NamedTuple):
    """The lowest, or the highest, of the rank rewards with each opponent at each table size.

    Attributes:
        name: The pool's member, or ``MIXED``.
        num_players: The table size.
        rank: The rank reward; the intervals of all that it was chosen among hold at once.
    """

    name: str
    num_players: int
    rank: MeanEstimate

    def to_json(self) -> dict[str, Any]:
        """The cell as JSON data."""
        return {"name": self.name, "num_players": self.num_players, **rounded(self.rank)}


@dataclass(frozen=True)
class BenchmarkResult:
    """How an agent does in one game of a protocol.

    Attributes:
        about: What was played: the game, the agent's hash, the deals, the pool's play.
        rank: The mean of the agent's rank rewards over ``among``.
        by_deal: The same on each deal, which makes agents comparable deal by deal.
        worst: The lowest rank reward of ``among``.
        most_gained: The highest of ``gains``.
        among: The agent among copies of each member, and at mixed tables.
        gains: Each member among copies of the agent.
        truncated: The share of games that ended at ``max_steps``.
        programs: The reports on the programs among the agents.
    """

    about: Mapping[str, Any]
    rank: MeanEstimate
    by_deal: tuple[float, ...]
    worst: BenchmarkCell
    most_gained: BenchmarkCell
    among: tuple[BenchmarkRow, ...]
    gains: tuple[BenchmarkRow, ...]
    truncated: float
    programs: tuple[ProgramReport, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data, with what is counted of programs, but not their times."""
        return {
            **self.about,
            **rounded(self.rank),
            "worst": self.worst.to_json(),
            "most_gained": self.most_gained.to_json(),
            "among": [row.to_json() for row in self.among],
            "gains": [row.to_json() for row in self.gains],
            "by_deal": [round(rank, _DIGITS) + 0.0 for rank in self.by_deal],
            "truncated": round(self.truncated, _DIGITS),
            **_counts(self.programs),
        }


def rounded(estimate: MeanEstimate) -> dict[str, Any]:
    """A mean rank reward as claims have it."""
    values = (None if value is None else round(value, _DIGITS) + 0.0 for value in estimate)
    return MeanEstimate(*values).to_json("rank")  # type: ignore[arg-type]


def _extreme(rows: _Results, own: Collection[str], sign: float) -> BenchmarkCell:
    """The lowest or the highest rank reward of all rows and sizes, and where it is. The rows of
    members of the pool that the agent itself is say nothing, and do not count."""
    others = {name: sizes for name, sizes in rows.items() if name not in own} or rows
    cells = [
        (name, players, result.ranks)
        for name, sizes in others.items()
        for players, result in sizes.items()
    ]
    name, players, ranks = max(cells, key=lambda cell: sign * round(cell[2].mean(), _DIGITS))
    # Which of them is the most extreme is chance, too: each has a share of the 5% of error.
    return BenchmarkCell(name, players, estimate_mean(ranks, confidence=1.0 - 0.05 / len(cells)))


def _counts(programs: Sequence[ProgramReport]) -> dict[str, Any]:
    keys = ("name", "decisions", "on_fault", *COUNTED)
    counts = [{key: report.to_json()[key] for key in keys} for report in programs]
    return {"programs": counts} if counts else {}


def about(protocol: Protocol, game: Game, agent: AgentLike, quick: bool) -> dict[str, Any]:
    """What of a game's claim is known before it is played."""
    name = os.fspath(agent) if isinstance(agent, (str, os.PathLike)) else None
    return {
        "game": game.name,
        "sha256": None if name is None else hash_of_agent(name, game),
        "deals": protocol.quick_deals if quick else protocol.deals,
        "pool": protocol.pool(game).play,
    }


class BenchmarkTables:
    """The tables of a protocol for one game and one agent.

    Args:
        protocol: The protocol.
        game: One of its games.
        agent: The agent.
        stack: It closes the agents that are made here.
        quick: Whether only ``quick_deals`` are played.
    """

    def __init__(
        self,
        protocol: Protocol,
        game: Game,
        agent: AgentLike,
        stack: ExitStack,
        quick: bool = False,
    ) -> None:
        pool = protocol.pool(game)
        self.sizes = game.table_sizes
        self.members = {
            member: made_agent(member, game, protocol.seed, stack) for member in pool.members
        }
        self._agent = made_agent(agent, game, protocol.seed, stack)
        #: The members that the agent itself is: by name, or by its weights in float16.
        self.own = {
            name
            for name, member in self.members.items()
            if name == agent_name(agent, self._agent) or _are_one_policy(self._agent, member)
        }
        self._game = game
        deals = (protocol.quick_seed, protocol.quick_deals)
        self._seeds = deal_seeds(*(deals if quick else (protocol.seed, protocol.deals)))
        self._truncated: list[NDArray[np.bool_]] = []
        self._reports: list[ProgramReport] = []

    @property
    def truncated(self) -> float:
        """The share of truncated games so far."""
        return float(np.concatenate(self._truncated).mean())

    @property
    def programs(self) -> tuple[ProgramReport, ...]:
        """The reports on programs so far."""
        return merged(self._reports)

    def among(self, member: str, players: int) -> BenchmarkTableResult:
        """The agent among copies of a member of the pool, or at mixed tables (``MIXED``)."""
        if member == MIXED:
            return self._mixed(players)
        table = [self._agent, *[self.members[member]] * (players - 1)]
        return self._play(table, self._seeds)

    def gained(self, member: str, players: int) -> BenchmarkTableResult:
        """A member of the pool among copies of the agent."""
        table = [self.members[member], *[self._agent] * (players - 1)]
        return self._play(table, self._seeds)

    def _mixed(self, players: int) -> BenchmarkTableResult:
        """The agent with members that are drawn for each deal, without replacement while there are
        enough, and sit to the agent's left in the order in which they were drawn."""
        drawn = _draws(self._seeds, len(self.members), players - 1)
        in_order = np.sort(drawn, axis=1)  # of the pool
        ranks = np.zeros(len(self._seeds))
        truncated = 0.0
        names = list(self.members)
        for chosen in np.unique(in_order, axis=0):
            deals = np.flatnonzero((in_order == chosen).all(axis=1))
            # The member that is k-th in the pool's order sits where it was drawn.
            seats = 1 + np.argsort(drawn[deals], axis=1, kind="stable")
            orders = np.hstack([np.zeros((len(deals), 1), np.int64), seats])
            table = [self._agent, *(self.members[names[k]] for k in chosen)]
            result = self._play(table, self._seeds[deals], orders)
            ranks[deals] = result.ranks
            truncated += result.truncated * len(deals)
        return BenchmarkTableResult(ranks, truncated / len(ranks))

    def _play(
        self,
        table: Sequence[Agent],
        seeds: NDArray[np.uint64],
        orders: NDArray[np.int64] | None = None,
    ) -> BenchmarkTableResult:
        played = play_deals(self._game, table, seeds, orders=orders)
        self._truncated.append(played.truncated.ravel())
        self._reports += played.programs
        ranks = played.rank_by_deal[:, 0]
        return BenchmarkTableResult(ranks, played.truncated_share)


def _are_one_policy(one: Agent, other: Agent) -> bool:
    """Whether two agents are policies whose weights are the same in float16."""
    if not (isinstance(one, NetworkAgent) and isinstance(other, NetworkAgent)):
        return False
    layers = one.network.layers, other.network.layers
    return (
        (one.view, one.draws, one.network.activation)
        == (other.view, other.draws, other.network.activation)
        and len(layers[0]) == len(layers[1])
        and all(
            np.array_equal(np.float16(a), np.float16(b))
            for pair in zip(*layers, strict=True)
            for a, b in zip(*pair, strict=True)
        )
    )


def _draws(seeds: NDArray[np.uint64], members: int, count: int) -> NDArray[np.int64]:
    """The members drawn for each deal, int64 (deals, count): all of them in a random order, and as
    often again as is needed."""
    keys = [[mix(seed ^ np.uint64(k + 1)) for k in range(members)] for seed in seeds]
    order = np.argsort(np.array(keys, np.uint64), axis=1)
    return np.tile(order, -(-count // members))[:, :count]


def run_benchmark(
    game: Game | str,
    agent: AgentLike,
    protocol: Protocol | str | None = None,
    *,
    quick: bool = False,
    progress: bool = False,
) -> BenchmarkResult:
    """Play an agent at all tables of a protocol for one game.

    Args:
        game: The game, or its name.
        agent: The agent, as for ``evaluate``.
        protocol: The protocol, or its name; None: the current one.
        quick: Whether to play few deals, other ones, to see how it goes.
        progress: Whether to show a progress bar on stderr.

    Raises:
        ValueError: There is no such protocol, it lacks the game, or as for ``evaluate``.
        TypeError: As for ``evaluate``.
        OSError: The agent's file cannot be read.
        MissingExtraError: scipy, or rich for a progress bar, is not installed.
    """
    import_extra("scipy.stats", "evaluation")  # missed before the games, not after them
    game = as_game(game)
    if not isinstance(protocol, Protocol):
        protocol = Protocol.load(protocol or CURRENT)
    with ExitStack() as stack:
        tables = BenchmarkTables(protocol, game, agent, stack, quick)
        head = about(protocol, game, agent, quick)  # the agent's file may change meanwhile
        among: _Results = {}
        gains: _Results = {}
        cells = [*_cells(tables)]
        for member, players in track(cells, game.title) if progress else cells:
            result = tables.among(member, players)
            among.setdefault(member, {})[players] = result
            if member != MIXED:  # with two players these are the same games
                back = result._replace(ranks=-result.ranks)
                gain = back if players == 2 else tables.gained(member, players)
                gains.setdefault(member, {})[players] = gain
        by_deal = np.mean([_over_sizes(row) for row in among.values()], axis=0)
        return BenchmarkResult(
            head,
            estimate_mean(by_deal),
            tuple(by_deal.tolist()),
            _extreme(among, tables.own, -1.0),
            _extreme(gains, tables.own, 1.0),
            tuple(_row(*row) for row in among.items()),
            tuple(_row(*row) for row in gains.items()),
            tables.truncated,
            tables.programs,
        )


def _cells(tables: BenchmarkTables) -> Iterator[tuple[str, int]]:
    """The opponents and the numbers of players of all tables; those of two are not mixed."""
    for member in (*tables.members, MIXED):
        for players in tables.sizes:
            if member != MIXED or players > 2:
                yield member, players


def _over_sizes(results: Mapping[int, BenchmarkTableResult]) -> NDArray[np.float64]:
    return np.asarray(np.mean([result.ranks for result in results.values()], axis=0))


def _row(name: str, results: Mapping[int, BenchmarkTableResult]) -> BenchmarkRow:
    return BenchmarkRow(name, estimate_mean(_over_sizes(results)), results)


def claim(
    protocol: Protocol, agent: str, quick: bool, results: Sequence[BenchmarkResult]
) -> dict[str, Any]:
    """What ``card-envs benchmark --json`` writes: the same agent gives the same bytes.

    Args:
        protocol: The protocol.
        agent: The agent's name without folders.
        quick: Whether few deals were played.
        results: The result of each game.
    """
    return {
        "protocol": protocol.name,
        "status": protocol.status,
        "agent": agent,
        "quick": quick,
        "games": [result.to_json() for result in results],
    }
