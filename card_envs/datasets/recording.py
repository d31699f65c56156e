"""``Recording``: games between agents, played in the compiled loop with their actions recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import AgentLike, ProgramAgent
from card_envs.agents.programs import ProgramReport
from card_envs.agents.table import OPPONENT_SEED, check_table, distinct_agents
from card_envs.contract.game import Game
from card_envs.contract.options import View, check_view
from card_envs.engine.arena import Arena
from card_envs.engine.history import Replay
from card_envs.engine.seat_decisions import count_decisions, write_decisions
from card_envs.engine.seeds import check_given_seed, draw_tables
from card_envs.engine.templates import NOBODY, compile_for, reset_games
from card_envs.evaluation.deals import MOST_DEALS
from card_envs.games import as_game
from card_envs.kernels.rng import mix
from card_envs.utils.checks import check_whole_number
from card_envs.utils.version import VERSION

_GAMES_AT_ONCE = 256

# Recorded games are none of those that ``evaluate`` deals from the same seed.
_RECORDED = np.uint64(0x9FB21C651E98DF25)


@dataclass(frozen=True, eq=False)
class SeatDecisions:
    """All decisions of one seat in one game, in their order: T of them.

    Attributes:
        seed: The game's seed.
        observation: float32 (T + 1, D) in [0, 1]: before each decision, and at the end.
        action_mask: int8 (T + 1, A), 1 for each legal action; at the end all 0.
        actions: int64 (T,).
        rewards: float64 (T,): from a decision until the seat's next one, or the end of the game.
        terminated: Whether the game is over.
        truncated: Whether it ended at ``max_steps``.
    """

    seed: int
    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminated: bool
    truncated: bool


@dataclass(frozen=True, eq=False)
class RecordedGames:
    """M games that have been played to their ends.

    Attributes:
        game: The game.
        num_players: The number of players.
        options: All options of the game.
        seeds: uint64 (M,), the games' seeds.
        seats: int64 (M,), the seat of the first agent; the others follow to the left.
        actions: int64 (M, K), the actions of all players in order, of which the first
            ``decisions`` count.
        decisions: int64 (M,), how many there are.
        truncated: bool (M,), games that ended at ``max_steps``.
        forfeited: How many more there were that a program forfeited; they are left out.
    """

    game: Game
    num_players: int
    options: Mapping[str, Any]
    seeds: NDArray[np.uint64]
    seats: NDArray[np.int64]
    actions: NDArray[np.int64]
    decisions: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    forfeited: int = 0

    def __len__(self) -> int:
        return len(self.seeds)

    def replays(self) -> Iterator[Replay]:
        """The games as replays, in their order."""
        options = {"num_players": self.num_players, **self.options}
        for seed, actions, decisions in zip(
            self.seeds.tolist(), self.actions, self.decisions, strict=True
        ):
            yield Replay(
                self.game.name,
                VERSION,
                options,
                seed,
                tuple(actions[:decisions].tolist()),
            )

    def first_agents_decisions(self, view: View | None = None) -> Iterator[SeatDecisions]:
        """The first agent's decisions in each game.

        Rewards before their first decision are not included. A game that ended before it is left
        out.

        Args:
            view: How the seat observes (None: the default view).

        Raises:
            TypeError: ``view`` is no ``View``.
        """
        view = view or View()
        check_view(view)
        if not len(self):
            return
        states = self.begin()
        counts = np.zeros(len(self), np.int64)
        compile_for(self.game, count_decisions)(
            states, self.actions, self.decisions, self.seats, counts
        )
        ends = np.cumsum(counts + 1)
        rows = ends - counts - 1
        total = int(ends[-1])
        observation = np.zeros((total, self.game.fields.size), np.float32)
        action_mask = np.zeros((total, self.game.num_actions), np.int8)
        actions, rewards = np.zeros(total, np.int64), np.zeros(total)
        states = self.begin()
        compile_for(self.game, write_decisions)(
            states,
            self.actions,
            self.decisions,
            self.seats,
            rows,
            *view.codes,
            observation,
            action_mask,
            actions,
            rewards,
        )
        for i in np.flatnonzero(counts):
            own = slice(rows[i], ends[i])
            decisions = slice(rows[i], ends[i] - 1)
            yield SeatDecisions(
                int(self.seeds[i]),
                observation[own],
                action_mask[own],
                actions[decisions],
                rewards[decisions],
                bool(states["terminated"][i]),
                bool(states["truncated"][i]),
            )

    def begin(self) -> NDArray[np.void]:
        """The games' records at their beginning."""
        states = self.game.new_states(len(self))
        everything = np.arange(len(self))
        counts = np.full(len(self), self.num_players)
        encoded = self.game.encode_options(self.options)
        compile_for(self.game, reset_games)(states, everything, self.seeds, counts, encoded)
        return states


class Recording:
    """Games between the agents of one table, played as they are iterated over.

    The table is the agents' in their order around it: in each game the first one has the seat that
    ``SingleSeatEnv`` draws from the game's seed, and the others follow to the left. So every agent
    has each seat equally often, and ``SingleSeatEnv(game, num_players=n, opponents=agents[1:])``
    has the same table, cards and seats for the same seed. Games of different ``seed`` differ, and
    none is a deal of ``evaluate``.

    Iterating gives the games in batches of up to 256 (:class:`RecordedGames`), the same each time
    unless an agent of your own draws other actions then; ``len`` is the number of batches. Agents
    that were given by name are closed at its end.

    Args:
        game: The game, or its name.
        agents: The agents of the table (names, agents, or functions of observations and masks);
            their number is the number of players.
        games: How many games, at least 1.
        seed: What the games' seeds are drawn from, a whole number from 0 to 2**64 - 1.
        options: The game's options.

    Raises:
        ValueError: An agent, a number or an option is wrong; or, while playing, an agent's action
            is illegal.
        TypeError: There is no such option, ``agents`` is no list, something in it is no agent, or
            the seed is not a whole number.
    """

    def __init__(
        self,
        game: Game | str,
        agents: Sequence[AgentLike],
        games: int,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.game = as_game(game)
        self.num_players = check_table(agents, self.game)
        self.options = self.game.check_options(options or {})
        self.games = check_whole_number("games", games, 1, MOST_DEALS)
        self.seed = check_given_seed(seed)
        # Seeded as opponents of environments are, which then play the same games.
        made = distinct_agents(self.game, agents, OPPONENT_SEED)
        self._agents, self._indices, self._own_agents = made

    def __len__(self) -> int:
        return -(-self.games // _GAMES_AT_ONCE)

    def __iter__(self) -> Iterator[RecordedGames]:
        start = mix(np.uint64(self.seed) ^ _RECORDED)
        with ExitStack() as stack:
            for agent in self._own_agents:
                stack.callback(agent.close)
            for first in range(0, self.games, _GAMES_AT_ONCE):
                numbers = range(first, min(first + _GAMES_AT_ONCE, self.games))
                yield self._play(np.array([mix(start ^ np.uint64(k)) for k in numbers], np.uint64))

    def take_reports(self) -> list[ProgramReport]:
        """The reports on the programs among the agents, since the last call."""
        programs = [agent for agent in self._agents if isinstance(agent, ProgramAgent)]
        return [program.take_report() for program in programs]

    def _play(self, seeds: NDArray[np.uint64]) -> RecordedGames:
        games, n = len(seeds), self.num_players
        counts, seats = np.zeros((2, games), np.int64)
        draw_tables(seeds, n, n, counts, seats)
        seating = np.zeros((games, self.game.max_players), np.int64)
        places = (seats[:, None] + np.arange(n)) % n
        np.put_along_axis(seating, places, self._indices[None], axis=1)
        arena = Arena(self.game, games, self._agents, keep_histories=True, **self.options)
        arena.start(np.arange(games), seeds, counts, seating)
        whole = arena.forfeited == NOBODY
        states = arena.states[whole]
        return RecordedGames(
            self.game,
            n,
            self.options,
            seeds[whole],
            seats[whole],
            arena.histories[whole],
            states["steps"].astype(np.int64),
            states["truncated"].astype(np.bool_),
            int((~whole).sum()),
        )
