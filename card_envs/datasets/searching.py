"""What a search finds about decisions in recorded games: values of what could have been done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import SearchAgent
from card_envs.contract.agent import turn_of
from card_envs.contract.outcome import RANK
from card_envs.datasets.recording import RecordedGames
from card_envs.engine.templates import compile_for, take_actions


@dataclass(frozen=True, eq=False)
class SearchedDecisions:
    """The T decisions of one seat in one game as a search sees them, and a last row for the end.

    A decision without a choice has no candidates, as the end has none. Values are mean rank
    rewards, whatever the games' option ``reward``.

    Attributes:
        candidates: int64 (T + 1, K), the actions that were tried, by their numbers; -1: no more.
        values: float32 (T + 1, K), the mean of each one's rollouts; NaN: no more.
        errors: float32 (T + 1, K), the values' standard errors; NaN: of a single world.
        visits: int64 (T + 1, K), the numbers of rollouts.
        choice: int64 (T + 1,), the action that the search prefers; at the end -1.
        worlds_seed: uint64 (T + 1,), where the redrawn worlds come from: world k is what
            ``determinize`` draws from ``kernels.rng.seed_in(worlds_seed, k)``; 0: none was drawn.
        outcome: float64 (T + 1,), the seat's rank reward at the end of the game, in each row.
    """

    candidates: NDArray[np.int64]
    values: NDArray[np.float32]
    errors: NDArray[np.float32]
    visits: NDArray[np.int64]
    choice: NDArray[np.int64]
    worlds_seed: NDArray[np.uint64]
    outcome: NDArray[np.float64]


def search_decisions(games: RecordedGames, agent: SearchAgent) -> Iterator[SearchedDecisions]:
    """Search the first agent's decisions in each game, as ``first_agents_decisions`` yields them.

    The search is told of all decisions, and looks with the eyes of the seat, like one that plays.

    Args:
        games: The games.
        agent: The search.

    Raises:
        ValueError: It searches another game.
        TypeError: It is no ``SearchAgent``, but a name or a tree search.
    """
    if not isinstance(agent, SearchAgent):
        raise TypeError(
            f"a SearchAgent is needed, as make_agent('search:64', game) makes one, got {agent!r}"
        )
    game = games.game
    agent.check_game(game)
    states = games.begin()
    states["reward_mode"] = RANK
    follower = agent.follow(None)
    for i, seat in enumerate(games.seats.tolist()):
        follower.begin(states, i, [seat])
    returns = np.zeros((len(games), game.max_players), np.float64)
    rows: list[list[tuple[Any, ...]]] = [[] for _ in range(len(games))]
    for k in range(int(games.decisions.max(initial=0))):
        playing = np.flatnonzero(games.decisions > k)
        own = playing[states["current_player"][playing] == games.seats[playing]]
        if len(own):
            found = follower.search(turn_of(game, states, own, agent.view))
            tried = found.candidates(agent.candidates)
            columns = [
                np.where(tried >= 0, np.take_along_axis(of_actions, tried, axis=1), none)
                for of_actions, none in (
                    (found.values, np.nan),
                    (found.errors, np.nan),
                    (found.visits, 0),
                )
            ]
            found_rows = zip(tried, *columns, found.actions, found.seeds, strict=True)
            for i, row in zip(own.tolist(), found_rows, strict=True):
                rows[i].append(row)
        actions = games.actions[playing, k]
        for i, action in zip(playing.tolist(), actions.tolist(), strict=True):
            follower.watch(states, i, action)
        compile_for(game, take_actions)(states, playing, actions, returns)
    unknown = np.full(agent.candidates, np.nan)
    none = np.full(agent.candidates, -1)
    end = (none, unknown, unknown, np.zeros_like(none), -1, 0)
    kinds = (np.int64, np.float32, np.float32, np.int64, np.int64, np.uint64)
    for of_game, seat, gained in zip(rows, games.seats.tolist(), returns, strict=True):
        if of_game:
            by_kind = zip(zip(*of_game, end, strict=True), kinds, strict=True)
            arrays: list[Any] = [np.array(column, kind) for column, kind in by_kind]
            arrays.append(np.full(len(of_game) + 1, gained[seat]))
            yield SearchedDecisions(*arrays)
