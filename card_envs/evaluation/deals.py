"""Duplicate deals: every deal is played in all cyclic seatings with the same cards.

Seating r puts agent k in seat (k + r) mod n. Games of one deal are correlated; the means of the
deals are independent, and intervals are computed from these.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.agents import Agent, AgentLike, ProgramAgent
from card_envs.agents.programs import ProgramReport
from card_envs.agents.search.agents import Searcher
from card_envs.agents.table import agents_at_table, check_table, made_agent
from card_envs.contract.game import Game
from card_envs.contract.outcome import rank_rewards, standing_after_forfeit, win_rewards
from card_envs.engine.arena import Arena
from card_envs.engine.seeds import check_given_seed, check_seed_range
from card_envs.engine.templates import NOBODY
from card_envs.games import as_game
from card_envs.kernels.rng import mix
from card_envs.utils.checks import as_whole_number
from card_envs.utils.progress import track

#: The most deals of a match: all of its results are kept.
MOST_DEALS = 10_000_000

_GAMES_AT_ONCE = 1024
_SLOW_AT_ONCE = 128  # searches take room for each game, and programs keep what happens in it


@dataclass(frozen=True, eq=False)
class MatchResults:
    """The results of a table's games; each deal was played in several seatings.

    Attributes:
        standing: float64 (deals, seatings, agents): higher is better, equal is a tie.
        score: float64 (deals, seatings, agents), the total reward with ``reward="score"``.
        truncated: bool (deals, seatings), games that ended at ``max_steps``.
        programs: The reports on the programs among the agents.
    """

    standing: NDArray[np.float64]
    score: NDArray[np.float64]
    truncated: NDArray[np.bool_]
    programs: tuple[ProgramReport, ...] = ()

    @property
    def rank(self) -> NDArray[np.float64]:
        """What ``reward="rank"`` pays (deals, seatings, agents)."""
        return rank_rewards(self.standing)

    @property
    def win(self) -> NDArray[np.float64]:
        """What ``reward="win"`` pays (deals, seatings, agents)."""
        return win_rewards(self.standing)

    @property
    def rank_by_deal(self) -> NDArray[np.float64]:
        """The mean of ``rank`` over a deal's seatings (deals, agents): one sample a deal."""
        by_deal: NDArray[np.float64] = self.rank.mean(axis=1)
        return by_deal

    @property
    def truncated_share(self) -> float:
        """The share of games that ended at ``max_steps``."""
        return float(self.truncated.mean())


def deal_seeds(seed: int, deals: int) -> NDArray[np.uint64]:
    """The seeds of the deals, uint64 (deals,); a larger number begins with the same ones.

    Args:
        seed: A whole number from 0 to 2**64 - 1.
        deals: How many, from 2 to ``MOST_DEALS``.

    Raises:
        ValueError: There are fewer than 2 deals, or too many; or the seed is out of range.
        TypeError: The seed or the number of deals is not a whole number.
    """
    if as_whole_number(deals) is None:
        raise TypeError(f"deals must be a whole number, got {deals!r}")
    if not 2 <= deals <= MOST_DEALS:
        raise ValueError(f"deals must be at least 2 and at most {MOST_DEALS}, got {deals}")
    start = mix(np.uint64(check_given_seed(seed)))
    return np.array([mix(start ^ np.uint64(deal)) for deal in range(deals)], np.uint64)


def random_orders(seed: int, deals: int, players: int) -> NDArray[np.int64]:
    """A random order of the agents for each deal, int64 (deals, players), for ``play_deals``."""
    orders = np.tile(np.arange(players), (deals, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def play_deals(
    game: Game | str,
    agents: Sequence[AgentLike],
    seeds: NDArray[np.uint64],
    options: Mapping[str, Any] | None = None,
    orders: NDArray[np.int64] | None = None,
    *,
    agent_seed: int = 0,
    progress: bool = False,
) -> MatchResults:
    """Play every deal in all cyclic seatings.

    A game ends when a program forfeits it: the program is last, and the others are tied.

    Args:
        game: The game, or its name.
        agents: The agents of the table (names, agents, or functions of observations and masks);
            their number is the number of players.
        seeds: The deals' seeds, whole numbers (deals,).
        options: The game's options except ``reward``.
        orders: int64 (deals, agents), a permutation for each deal: the agents' seats in its first
            seating. None: in the order given. It can matter who sits to whose left.
        agent_seed: For agents that choose at random, except ``random``, which uses deals' seeds.
        progress: Whether to show a progress bar on stderr.

    Returns:
        The results, for each deal in each of the seatings.

    Raises:
        ValueError: An agent, their number, an option, the seeds or the orders are wrong, or an
            agent's action is illegal.
        TypeError: There is no such option, or something given as an agent is not one.
    """
    game = as_game(game)
    n = check_table(agents, game)
    checked = check_evaluation_options(game, options or {})
    seeds = _check_seeds(seeds)
    orders = np.tile(np.arange(n), (len(seeds), 1)) if orders is None else np.asarray(orders)
    is_whole = orders.shape == (len(seeds), n) and orders.dtype.kind in "iu"
    if not is_whole or (np.sort(orders, axis=1) != np.arange(n)).any():
        raise ValueError(f"orders must be a permutation of 0 to {n - 1} for each deal")
    orders = orders.astype(np.int64)  # seats cannot be counted in uint64
    with agents_at_table(game, agents, agent_seed) as (distinct, index_of):
        return _play_deals(game, distinct, index_of, seeds, checked, orders, progress)


def _check_seeds(seeds: ArrayLike) -> NDArray[np.uint64]:
    """The seeds of deals; a ValueError unless they are such."""
    given = np.array(seeds, object)  # a list of large numbers would become one of floats
    if given.ndim != 1 or not len(given) or any(as_whole_number(seed) is None for seed in given):
        raise ValueError(
            f"seeds must be one or more whole numbers (deals,), got {given.shape}: {given!r:.60}"
        )
    for seed in (given.min(), given.max()):
        check_seed_range("seeds", seed)
    return given.astype(np.uint64)


def _play_deals(
    game: Game,
    distinct: Sequence[Agent],
    index_of: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    options: Mapping[str, Any],
    orders: NDArray[np.int64],
    progress: bool,
) -> MatchResults:
    n = len(index_of)
    seats_of = (np.arange(n)[:, None] + orders[:, None, :]) % n  # (deal, seating, agent)
    seating = np.zeros((len(seeds), n, game.max_players), np.int64)  # (deal, seating, seat): agent
    np.put_along_axis(seating, seats_of, index_of[None, None], axis=2)
    standing = np.zeros((len(seeds), n, n))
    score = np.zeros((len(seeds), n, n))
    truncated = np.zeros((len(seeds), n), np.bool_)
    is_slow = any(isinstance(agent, (ProgramAgent, Searcher)) for agent in distinct)
    deals_at_once = max(1, (_SLOW_AT_ONCE if is_slow else _GAMES_AT_ONCE) // n)
    firsts = range(0, len(seeds), deals_at_once)
    for first in track(firsts, "deals") if progress else firsts:
        these = slice(first, first + deals_at_once)
        chunk = seeds[these]
        games = len(chunk) * n
        arena = Arena(game, games, distinct, **options, reward="score")
        arena.start(  # game i is of the seating i mod n, which tables with partners rely on
            np.arange(games),
            np.repeat(chunk, n),
            np.full(games, n),
            seating[these].reshape(games, game.max_players),
        )
        truncated[these] = arena.states["truncated"].reshape(len(chunk), n)
        final = arena.states["standing"][:, :n].astype(np.float64)
        for k in np.flatnonzero(arena.forfeited != NOBODY):
            final[k] = standing_after_forfeit(n, arena.forfeited[k])
        for results, by_seat in (
            (standing, final),
            (score, arena.returns[:, :n]),
        ):
            by_seating = by_seat.reshape(len(chunk), n, n)
            results[these] = np.take_along_axis(by_seating, seats_of[these], axis=2)
    programs = [agent for agent in distinct if isinstance(agent, ProgramAgent)]
    return MatchResults(
        standing, score, truncated, tuple(agent.take_report() for agent in programs)
    )


def play_one_against(
    game: Game | str,
    agent: AgentLike,
    others: AgentLike,
    sizes: Iterable[int],
    seeds: NDArray[np.uint64],
    options: Mapping[str, Any] | None = None,
    *,
    agent_seed: int = 0,
) -> Iterator[tuple[int, MatchResults]]:
    """Play one agent against copies of another (1 vs n-1) at several table sizes.

    Args:
        game: The game, or its name.
        agent: The single agent; it is agent 0 of the results.
        others: The agent in all other seats.
        sizes: Numbers of players.
        seeds: The deals' seeds, uint64 (deals,), the same for every size.
        options: The game's options except ``reward``.
        agent_seed: As for :func:`play_deals`.

    Returns:
        Each number of players with its results, as they are played.

    Raises:
        ValueError, TypeError: As for :func:`play_deals`.
    """
    game = as_game(game)
    if not isinstance(sizes, Iterable):
        raise TypeError(f"sizes must be numbers of players, such as [2, 4], got {sizes!r}")
    counts = [game.check_num_players(players) for players in sizes]
    checked = check_evaluation_options(game, options or {})
    checked_seeds = _check_seeds(seeds)
    with ExitStack() as making:
        one, rest = (made_agent(entry, game, agent_seed, making) for entry in (agent, others))
        made = making.pop_all()

    def play() -> Iterator[tuple[int, MatchResults]]:
        with made:
            for n in counts:
                yield n, play_deals(game, [one, *[rest] * (n - 1)], checked_seeds, checked)

    return play()  # so that what is wrong is said before it is iterated over


def check_evaluation_options(game: Game, options: Mapping[str, Any]) -> dict[str, Any]:
    """The game's options except ``reward``, with defaults filled in.

    Raises:
        ValueError: A value is not allowed, or ``reward`` is given.
        TypeError: They are no mapping, or there is no such option.
    """
    checked = game.check_options(options, without=("reward",))
    if "reward" in options:
        raise ValueError("option reward: an evaluation reports rank, win and score at once")
    del checked["reward"]
    return checked


def agent_name(agent: AgentLike, made: Agent) -> str:
    """An agent's name in results: the name given, or that of what was made of it."""
    return os.fspath(agent) if isinstance(agent, (str, os.PathLike)) else made.name


def check_agent(agent: AgentLike, games: Iterable[Game], seed: int) -> None:
    """Make the agent for each game and close it again, so that an error comes before any play."""
    for game in games:
        with ExitStack() as stack:
            made_agent(agent, game, seed, stack)
