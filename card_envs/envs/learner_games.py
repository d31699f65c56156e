"""``LearnerGames``: games in which a learner holds one seat against opponents.

The Gymnasium environments, single and vector, are built on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, AgentLike
from card_envs.agents.table import OPPONENT_SEED, distinct_agents
from card_envs.contract.agent import FORFEIT_REWARD
from card_envs.contract.game import Game
from card_envs.contract.options import arguments_of
from card_envs.contract.outcome import places
from card_envs.engine.arena import Arena
from card_envs.engine.seeds import consecutive_seeds, draw_tables, next_seeds
from card_envs.engine.templates import NOBODY, compile_for, find_illegal
from card_envs.envs.options import check_on_illegal, pays_standing
from card_envs.utils.checks import as_whole_number, check_flag, check_whole_number, memory_for
from card_envs.utils.threads import OneThread, one_thread_at_a_time

#: Games in a row that may end before the learner's first decision.
TRIES = 1000

_LEARNER = 0  # its index among the arena's agents


class LearnerGames(OneThread):
    """``num_envs`` games in which a learner decides for one seat.

    They serve one thread at a time: concurrent calls raise a RuntimeError. If an opponent raises
    an error, games may be left between two learner decisions: all must be restarted.

    Args:
        game: The game.
        num_envs: Number of games.
        num_players: One number, or a pair (low, high): each game then draws its own. None: the
            game's default.
        opponents: An agent (or its name, or a function of observations and masks) for all other
            seats; or one for each of the other seats, from the learner's left on (then
            ``num_players`` must be one number). None: the heuristic, or random if the game has
            none.
        seat: The learner's seat; None: drawn for each game from its seed.
        skip_forced: Whether forced moves (a single legal action) are made for the learner.
        on_illegal: ``"terminate"``: an illegal action ends its game with -1; ``"raise"``: it is
            an error, and no game changes.
        observation_dtype: ``"float32"``, or ``"uint8"``: the learner's observations are whole
            units of ``game.fields.scale``.
        arguments: Further arguments of the environment, to be listed in error messages.
        **options: The game's options, and the learner's ``memory`` and ``features``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
        MemoryError: There is not enough memory for this many games.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        /,
        *,
        num_players: int | tuple[int, int] | None = None,
        opponents: AgentLike | Sequence[AgentLike] | None = None,
        seat: int | None = None,
        skip_forced: bool = False,
        on_illegal: str = "terminate",
        observation_dtype: str = "float32",
        arguments: Sequence[str] = (),
        **options: Any,
    ) -> None:
        own = [name for name in arguments_of(LearnerGames) if name != "arguments"]
        checked, view = game.split_options(options, (*own, *arguments))
        self.game = game
        self.num_envs = check_whole_number("num_envs", num_envs, 1)
        self.player_range = game.check_player_range(num_players)
        self._on_illegal = check_on_illegal(on_illegal)
        self._seat = self._check_seat(seat)
        self._per_seat = isinstance(opponents, Sequence) and not isinstance(opponents, str)
        agents: list[Agent | None] = [None, *self._make_opponents(opponents)]
        with memory_for(self.num_envs):
            self.arena = Arena(
                game,
                self.num_envs,
                agents,
                view=view,
                skip_forced=check_flag("skip_forced", skip_forced),
                observation_dtype=observation_dtype,
                **checked,
            )
        #: Whether a truncated game pays its standing, which leaves nothing to bootstrap.
        self.pays_standing = pays_standing(self.arena.options["reward"])
        self.all = np.arange(self.num_envs)
        #: Whether games have begun, if only up to an error of an opponent.
        self.has_begun = False
        self._is_broken = False  # by an error of an opponent
        #: The learner's seat in each game (N,).
        self.learner_seats = np.zeros(self.num_envs, np.int64)
        #: The seed of each game (N,).
        self.game_seeds = np.zeros(self.num_envs, np.uint64)

    def _make_opponents(self, opponents: Any) -> list[Agent]:
        if opponents is None:
            opponents = self.game.default_opponent
        entries = list(opponents) if self._per_seat else [opponents]
        if self._per_seat and self.player_range != (len(entries) + 1,) * 2:
            raise ValueError(
                f"opponents: one for each other seat is needed, {len(entries)} given for "
                f"{_in_words(self.player_range)} players"
            )
        try:
            agents, indices, self._own_agents = distinct_agents(self.game, entries, OPPONENT_SEED)
        except TypeError as error:
            raise TypeError(f"opponents: {error}") from None
        # Who has which seat to the learner's left, the learner's own first.
        self._agent_of = np.concatenate(([_LEARNER], 1 + indices))
        return agents

    def _check_seat(self, seat: int | None) -> int | None:
        number, low = as_whole_number(seat), self.player_range[0]
        if seat is not None and (number is None or not 0 <= number < low):
            raise ValueError(f"seat must be None or from 0 to {low - 1}, got {seat!r}")
        return number

    def seeds_from(self, seed: int | None) -> NDArray[np.uint64]:
        """The seeds of all games (N,): game i has the seed ``seed + i``; None: those that follow
        the games' seeds, the first ones drawn from the operating system."""
        goes_on = seed is None and self.has_begun
        seeds: NDArray[np.uint64] = (
            next_seeds(self.game_seeds) if goes_on else consecutive_seeds(seed, self.num_envs)
        )
        return seeds

    @one_thread_at_a_time
    def reset(self, seed: int | None) -> None:
        """Begin all games, with the seeds of :meth:`seeds_from`."""
        self._begin(self.all, self.seeds_from(seed))

    @one_thread_at_a_time
    def restart(self, indices: NDArray[np.int64], seeds: NDArray[np.uint64]) -> None:
        """Restart the games ``indices`` (M,) with the seeds (M,)."""
        self._begin(indices, seeds)

    def reset_next(self, indices: NDArray[np.int64]) -> None:
        """Restart the games ``indices`` with the seeds that follow theirs."""
        self.restart(indices, next_seeds(self.game_seeds[indices]))

    def _begin(self, indices: NDArray[np.int64], seeds: NDArray[np.uint64]) -> None:
        stays_broken = self._is_broken and len(indices) < self.num_envs
        self.has_begun = self._is_broken = True
        for _ in range(TRIES):
            num_players, learner_seats, seating = self.draw(seeds)
            self.learner_seats[indices] = learner_seats
            self.game_seeds[indices] = seeds
            # Games that ended before the learner had a decision are skipped.
            self.arena.start(indices, seeds, num_players, seating)
            ended = self.arena.waiting[indices] == NOBODY
            indices, seeds = indices[ended], next_seeds(seeds[ended])
            if not len(indices):
                self._is_broken = stays_broken
                return
        forfeits = bool((self.arena.forfeited[indices] != NOBODY).any())
        raise stuck(self.arena.options, forfeits=forfeits)

    def draw(
        self, seeds: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The tables of the games with these seeds.

        Returns:
            The number of players (M,), the learner's seat (M,), and who sits where
            (M, max_players): indices into the arena's agents, 0 for the learner.
        """
        num_players = np.empty(len(seeds), np.int64)
        learner_seats = np.empty(len(seeds), np.int64)
        draw_tables(seeds, *self.player_range, num_players, learner_seats)
        if self._seat is not None:
            learner_seats[:] = self._seat
        seating = np.ones((len(seeds), self.game.max_players), np.int64)
        if self._per_seat:
            players = np.arange(self.game.max_players)
            seating = self._agent_of[(players - learner_seats[:, None]) % num_players[:, None]]
        seating[np.arange(len(seeds)), learner_seats] = _LEARNER
        return num_players, learner_seats, seating

    @one_thread_at_a_time
    def step(
        self, actions: NDArray[np.int64], indices: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Take the learner's actions (M,) in the games ``indices`` (M,); None: in all games.

        Finished games stay finished, and must not be among them. Errors of opponents propagate.

        Returns:
            rewards, terminated, truncated (M,): the learner's rewards since their decision.

        Raises:
            ValueError: An action is not in the action space, or it is illegal with
                ``on_illegal="raise"``; no game has changed.
            gymnasium.error.ResetNeeded: An opponent has raised an error, and not all games have
                been restarted since.
        """
        self.check_unbroken()
        arena = self.arena
        games = self.all if indices is None else indices
        legal = self._where_legal(actions, games)
        arena.returns[:] = 0.0
        self._is_broken = True
        if legal is None:
            arena.act(games, actions)
        else:
            arena.forfeit(games[~legal])
            arena.act(games[legal], actions[legal])
        self._is_broken = False
        rewards = arena.returns[games, self.learner_seats[games]]
        forfeited = arena.forfeited[games] != NOBODY
        terminated = arena.states["terminated"][games] | forfeited
        return rewards, terminated, arena.states["truncated"][games]

    def _where_legal(
        self, actions: NDArray[np.int64], games: NDArray[np.int64]
    ) -> NDArray[np.bool_] | None:
        """Where the actions are legal (M,), or None: everywhere; errors are those of
        :meth:`step`."""
        mask = self.arena.action_mask
        first = compile_for(self.game, find_illegal)(actions, games, mask)
        if first < 0:
            return None
        outside = (actions < 0) | (actions >= self.game.num_actions)
        if outside.any():
            wrong = actions[outside][0]
            raise ValueError(
                f"actions are whole numbers from 0 to {self.game.num_actions - 1}, got {wrong}"
            )
        self._refuse(int(actions[first]), int(games[first]))
        is_legal: NDArray[np.bool_] = mask[games, actions] != 0
        return is_legal

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now (N, A), all 0 for a game that is over.

        Raises:
            gymnasium.error.ResetNeeded: No game has begun.
        """
        if not self.has_begun:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before action_masks()")
        return self.arena.action_mask.copy()

    def check_unbroken(self) -> None:
        """ResetNeeded if an error of an opponent has left games between two decisions."""
        if self._is_broken:
            raise gymnasium.error.ResetNeeded(
                "an opponent raised an error during the last step or reset: call reset()"
            )

    def _refuse(self, action: int, game: int) -> None:
        allowed = np.flatnonzero(self.arena.action_mask[game]).tolist()
        where = f" in game {game}" if len(self.all) > 1 else ""
        message = f"action {action} is not legal{where}; legal actions: {allowed}"
        if self._on_illegal == "raise":
            raise ValueError(message)
        gymnasium.logger.warn(f"{message}. The game ends with {FORFEIT_REWARD} for the offender.")

    def close(self) -> None:
        """Close the agents that were created from names."""
        for agent in self._own_agents:
            agent.close()

    def places(self) -> NDArray[np.int64]:
        """The learner's place in each game (N,), from 1; players who are level share it, and where
        a game was forfeited it is 0."""
        arena = self.arena
        standing = arena.states["standing"]
        is_there = np.arange(standing.shape[1]) < arena.states["num_players"][:, None]
        last = np.iinfo(standing.dtype).min
        of_all = places(np.where(is_there, standing, last))
        return np.where(arena.forfeited == NOBODY, of_all[self.all, self.learner_seats], 0)

    def observe_ended(self, indices: NDArray[np.int64]) -> None:
        """Write the learner's last observation and an empty mask for finished games."""
        arena = self.arena
        for i in indices:
            self.game.observe(
                arena.states, i, self.learner_seats[i], *arena.view.codes, arena.observation[i]
            )
            arena.action_mask[i] = 0


def stuck(options: Mapping[str, Any], *, forfeits: bool) -> ValueError:
    """The error where ``TRIES`` games in a row ended before the learner's first decision."""
    about = f"{TRIES} games in a row ended before the learner's first decision"
    if forfeits:
        return ValueError(f"{about}: an opponent forfeits them")
    return ValueError(f"{about}: max_steps={options['max_steps']} is too small")


def _in_words(player_range: tuple[int, int]) -> str:
    low, high = player_range
    return f"{low}" if low == high else f"{low} to {high}"
