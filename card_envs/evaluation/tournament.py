"""A tournament: every table that the agents can form, their ratings, and pairwise results.

The ratings are strengths on Elo's scale (400 points: ten to one), fitted to the whole rankings of
all games (``card_envs.evaluation.ratings``); their mean is 0 over the agents whose intervals are
closed. Deviation ratings (``card_envs.evaluation.deviation``) stand beside them, from how much more
often an agent is ahead than behind at the tables where two agents meet without a third. All tables
play the same deals; for each deal the agents' order is drawn, and it is played in all cyclic
seatings of that order. Everything is drawn and summed over the agents in the order of their names,
so that the results do not depend on the order in which they are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import AgentLike
from card_envs.agents.programs import ProgramReport, merged
from card_envs.agents.table import check_are_listed, made_agent
from card_envs.contract.game import Game
from card_envs.evaluation.deals import (
    MatchResults,
    agent_name,
    check_evaluation_options,
    deal_seeds,
    play_deals,
    random_orders,
)
from card_envs.evaluation.deviation import estimate_deviation_ratings
from card_envs.evaluation.matches import programs_as_json
from card_envs.evaluation.ratings import MAX_AGENTS, Rankings
from card_envs.evaluation.statistics import (
    FEWEST_VALUES,
    WIN_BOUNDS,
    MeanEstimate,
    estimate_mean,
)
from card_envs.games import as_game
from card_envs.utils.extras import import_extra
from card_envs.utils.progress import track

_BOOTSTRAPS = 200


@dataclass(frozen=True)
class RatedAgentResult:
    """The results of one agent of a tournament.

    Attributes:
        name: The agent's name.
        rating: On Elo's scale.
        rating_interval: The ends of its 95% interval, infinite where it is open; None below 5
            deals.
        rank: The rank reward, from -1 (behind everybody) to +1 (ahead of everybody).
        win: The share of victories; winners share one.
        deviation: The deviation rating, 0 at best, which copies of agents do not move; None unless
            every two agents met at a table without a third.
    """

    name: str
    rating: float
    rating_interval: tuple[float, float] | None
    rank: MeanEstimate
    win: MeanEstimate
    deviation: MeanEstimate | None = None

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data; an open end of an interval is null, as is one below 5 deals."""
        ends = self.rating_interval
        return {
            "name": self.name,
            "rating": self.rating,
            "rating_ci95": ends and [end if np.isfinite(end) else None for end in ends],
            **self.rank.to_json("rank"),
            **self.win.to_json("win"),
            **(self.deviation.to_json("deviation") if self.deviation else {}),
        }


@dataclass(frozen=True)
class TableResult:
    """The results of one table of a tournament.

    Attributes:
        agents: The names of the agents in its seats; an agent may have several.
        rank: The mean rank reward of each seat's agent.
        win: The mean share of victories of each seat's agent.
        truncated: The share of games that ended at ``max_steps``.
    """

    agents: tuple[str, ...]
    rank: tuple[float, ...]
    win: tuple[float, ...]
    truncated: float

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "agents": list(self.agents),
            "rank": list(self.rank),
            "win": list(self.win),
            "truncated": self.truncated,
        }

    def listed(self, names: Sequence[str]) -> TableResult:
        """The same result with the agents in the order of ``names``."""
        order = sorted(range(len(self.agents)), key=lambda k: names.index(self.agents[k]))
        return TableResult(
            tuple(self.agents[k] for k in order),
            tuple(self.rank[k] for k in order),
            tuple(self.win[k] for k in order),
            self.truncated,
        )


@dataclass(frozen=True, eq=False)
class TournamentSummary:
    """The results of the agents over tables, perhaps of several sizes.

    Means are over an agent's seats at a table, then over tables, then over table sizes.

    Attributes:
        agents: The agents' ratings and mean results.
        pairwise: float64 (agents, agents): how often the row's agent is ahead of the column's,
            ties counting half.
        pairwise_intervals: float64 (agents, agents, 2), the ends of their 95% intervals; None below
            5 deals.
        tables: The results of each table.
        truncated: The share of games that ended at ``max_steps``, of all tables alike.
        programs: The reports on the programs among the agents, over all tables.
    """

    agents: tuple[RatedAgentResult, ...]
    pairwise: NDArray[np.float64]
    pairwise_intervals: NDArray[np.float64] | None
    tables: tuple[TableResult, ...]
    truncated: float
    programs: tuple[ProgramReport, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON data, with ``programs`` where programs play."""
        return {
            "agents": [agent.to_json() for agent in self.agents],
            "pairwise": self.pairwise.tolist(),
            "pairwise_ci95": None
            if self.pairwise_intervals is None
            else self.pairwise_intervals.tolist(),
            "tables": [table.to_json() for table in self.tables],
            "truncated": self.truncated,
            **programs_as_json(self.programs),
        }

    def listed(self, names: Sequence[str]) -> TournamentSummary:
        """The same summary with the agents in another order."""
        places = {agent.name: k for k, agent in enumerate(self.agents)}
        order = [places[name] for name in names]
        tables = [table.listed(names) for table in self.tables]
        intervals = self.pairwise_intervals
        tables.sort(key=lambda table: (len(table.agents), [*map(names.index, table.agents)]))
        return replace(
            self,
            agents=tuple(self.agents[k] for k in order),
            pairwise=self.pairwise[np.ix_(order, order)],
            pairwise_intervals=None if intervals is None else intervals[np.ix_(order, order)],
            tables=tuple(tables),
        )


@dataclass(frozen=True)
class TournamentResult:
    """A tournament at tables of one size.

    Attributes:
        game: The game's versioned name.
        num_players: The number of players of every table.
        deals: The number of deals of every table; each was played in ``num_players`` seatings.
        seed: The deals' seed.
        options: The game's options except ``reward``.
        summary: The results of the agents over all tables.
    """

    game: str
    num_players: int
    deals: int
    seed: int
    options: Mapping[str, Any]
    summary: TournamentSummary

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data; the same seed gives the same bytes."""
        return {
            "game": self.game,
            "num_players": self.num_players,
            "deals": self.deals,
            "seed": self.seed,
            "options": dict(self.options),
            **self.summary.to_json(),
        }


def tables_of(count: int, players: int) -> list[tuple[int, ...]]:
    """Every table of ``players`` seats with at least two of ``count`` agents, as indices."""
    tables = combinations_with_replacement(range(count), players)
    return [table for table in tables if len(set(table)) > 1]


def _check_number(agents: Sequence[Any]) -> None:
    if not 2 <= len(agents) <= MAX_AGENTS:
        raise ValueError(f"2 to {MAX_AGENTS} agents can play each other, got {list(agents)}")


def check_entrants(names: Sequence[str]) -> None:
    """Raise a ValueError unless these are the names of 2 to 15 different agents."""
    _check_number(names)
    if len(set(names)) != len(names):
        raise ValueError(
            f"agents must have different names, got {list(names)}; a function gets one by "
            "card_envs.agents.FunctionAgent(name, function), another agent by its attribute `name`"
        )


def run_tournament(
    game: Game | str,
    agents: Sequence[AgentLike],
    players: int,
    deals: int = 200,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    *,
    progress: bool = False,
) -> TournamentResult:
    """Play every table that the agents can form.

    The summary lists the agents in the given order; nothing else depends on it.

    Args:
        game: The game, or its name.
        agents: 2 to 15 agents of different names (names, agents, or functions of observations and
            masks).
        players: The number of players of every table.
        deals: Deals of every table, each played in all cyclic seatings; at least 2.
        seed: The deals' seed, that of agents that choose at random, and the bootstrap's.
        options: The game's options except ``reward``.
        progress: Whether to show a progress bar on stderr.

    Raises:
        ValueError: An agent, a number or an option is wrong, or an agent's action is illegal.
        TypeError: There is no such option, something given as an agent is not one, or the number of
            deals or the seed is not a whole number.
        MissingExtraError: scipy, threadpoolctl, or rich for a progress bar, is not installed.
    """
    for module in ("scipy.stats", "threadpoolctl"):  # missed before the games, not after
        import_extra(module, "evaluation")
    game = as_game(game)
    players = game.check_num_players(players)
    check_are_listed(agents, "agents must be a list")
    _check_number(agents)
    checked = check_evaluation_options(game, options or {})
    seeds = deal_seeds(seed, deals)
    orders = random_orders(seed, deals, players)
    with ExitStack() as stack:
        made = [made_agent(agent, game, seed, stack) for agent in agents]
        names = [agent_name(agent, of_it) for agent, of_it in zip(agents, made, strict=True)]
        check_entrants(names)
        by_name, ordered = dict(zip(names, made, strict=True)), sorted(names)
        tables = tables_of(len(agents), players)
        played = [
            play_deals(game, [by_name[ordered[k]] for k in table], seeds, checked, orders)
            for table in (track(tables, "tables") if progress else tables)
        ]
    summary = summarize(ordered, tables, played, seed).listed(names)
    return TournamentResult(game.name, players, int(deals), int(seed), checked, summary)


def summarize(
    names: Sequence[str],
    tables: Sequence[Sequence[int]],
    played: Sequence[MatchResults],
    seed: int = 0,
) -> TournamentSummary:
    """The results of the agents over tables, perhaps of several sizes.

    Args:
        names: The agents' names.
        tables: The agents in each table's seats, as indices of ``names``; at every size, every two
            agents meet at one of them.
        played: The results of each table, of the same deals.
        seed: The seed of the bootstrap.

    Raises:
        ValueError: Two agents do not meet at a size, or the results are not of these tables and of
            the same deals.
        MissingExtraError: scipy or threadpoolctl is not installed.
    """
    count = len(names)
    sizes = sorted({len(table) for table in tables})
    numbers = {len(result.standing) for result in played}
    if len(tables) != len(played) or len(numbers) != 1:
        raise ValueError(
            "played must be the results of all tables, of one at least, and of the same deals"
        )
    for table, result in zip(tables, played, strict=True):
        if not all(0 <= k < count for k in table) or result.standing.shape[2] != len(table):
            raise ValueError(
                f"a table of the agents {list(table)} of {count}, by index, has the results of "
                f"{result.standing.shape[2]} seats"
            )
    (deals,) = numbers
    ranks, wins = np.full((2, len(sizes), count, deals), np.nan)
    ahead, duels = np.full((2, len(sizes), count, count, deals), np.nan)
    for k, players in enumerate(sizes):
        own = [n for n, table in enumerate(tables) if len(table) == players]
        standings = [(tables[n], played[n].standing) for n in own]
        ahead[k] = _ahead(count, deals, standings)
        apart = np.argwhere(np.isnan(ahead[k]).any(axis=-1))
        if len(apart):
            first, second = (names[index] for index in apart[0])
            raise ValueError(f"{first} and {second} meet at no table of {players}")
        duels[k] = _ahead(count, deals, [pair for pair in standings if len({*pair[0]}) == 2])
        results = [_of_agents(count, tables[n], played[n]) for n in own]
        # nan where an agent is not at a table
        ranks[k] = np.nanmean([rank for rank, _ in results], axis=0)
        wins[k] = np.nanmean([win for _, win in results], axis=0)
    met = (1.0 + ahead.mean(axis=0)) / 2.0
    rankings = Rankings(count, [(t, p.standing) for t, p in zip(tables, played, strict=True)])
    # Several threads sum in an order of their own.
    with import_extra("threadpoolctl", "evaluation").threadpool_limits(1, "blas"):
        ratings = rankings.ratings(_BOOTSTRAPS, np.random.default_rng(seed))
        deviation = estimate_deviation_ratings(duels.mean(axis=0), np.random.default_rng(seed))
    agents = [
        RatedAgentResult(
            name,
            float(ratings.rating[k]),
            (float(ratings.low[k]), float(ratings.high[k])) if deals >= FEWEST_VALUES else None,
            estimate_mean(ranks[:, k].mean(axis=0)),
            estimate_mean(wins[:, k].mean(axis=0), WIN_BOUNDS),
            deviation[k] if deviation else None,
        )
        for k, name in enumerate(names)
    ]
    of_tables = [
        TableResult(
            tuple(names[k] for k in table),
            tuple(result.rank.mean(axis=(0, 1)).tolist()),
            tuple(result.win.mean(axis=(0, 1)).tolist()),
            result.truncated_share,
        )
        for table, result in zip(tables, played, strict=True)
    ]
    truncated = float(np.concatenate([result.truncated.ravel() for result in played]).mean())
    programs = merged(report for result in played for report in result.programs)
    return TournamentSummary(
        tuple(agents), met.mean(axis=-1), _intervals(met), tuple(of_tables), truncated, programs
    )


def _of_agents(
    count: int, table: Sequence[int], result: MatchResults
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rank reward and share of victories of each agent at one table (count, deals); NaN for agents
    that are not there."""
    ranks, wins = np.full((2, count, len(result.standing)), np.nan)
    places = np.array(table)
    for a in set(table):
        ranks[a] = result.rank[..., places == a].mean(axis=(1, 2))
        wins[a] = result.win[..., places == a].mean(axis=(1, 2))
    return ranks, wins


def _ahead(
    count: int, deals: int, tables: Sequence[tuple[Sequence[int], NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """How much more often each agent is ahead of each other than behind, at the tables where both
    are: float64 (count, count, deals); NaN where there is no such table.

    Args:
        count: The number of agents.
        deals: The number of deals.
        tables: The agents in each table's seats, and their standings, of tables of one size.
    """
    total, number = np.zeros((count, count, deals)), np.identity(count)
    for agents, standing in tables:
        for a, b in combinations(sorted({*agents}), 2):
            own, other = (standing[..., np.array(agents) == k] for k in (a, b))
            ahead = np.sign(own[..., :, None] - other[..., None, :]).mean(axis=(1, 2, 3))
            for place, value in (((a, b), ahead), ((b, a), -ahead)):
                total[place] += value
                number[place] += 1
    return np.asarray(total / np.where(number, number, np.nan)[..., None])


def _intervals(met: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The 95% intervals of how often agents are ahead of each other, from each deal's share (count,
    count, deals); None if there are too few deals."""
    count, _, deals = met.shape
    if deals < FEWEST_VALUES:
        return None
    ends = np.full((count, count, 2), 0.5)
    for a, b in permutations(range(count), 2):
        ends[a, b] = estimate_mean(met[a, b], WIN_BOUNDS).interval
    return ends
