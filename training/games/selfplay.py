"""``SelfPlayGames``: games in which the learner holds all seats, or one among opponents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, PolicyAgent
from card_envs.agents.network import Network
from card_envs.engine.arena import Arena
from card_envs.engine.game import Game, View
from card_envs.engine.seeds import consecutive_seeds, next_seeds
from card_envs.engine.templates import NOBODY, compile_for, play_out, write_full_states
from training.config import Config
from training.games.tables import LEARNER, Tables

#: Games in a row that may end before the learner's first decision.
_TRIES = 1000

_ARENA_ARRAYS = ("seating", "waiting", "observation", "action_mask", "returns", "_streams")


@dataclass(frozen=True)
class Outcome:
    """What followed from the learner's decisions in all games.

    Attributes:
        rewards: float64 (N, P), what each seat has got since.
        ended: int64 (E,), the games that are over; others have begun in their place.
        truncated: int64 (T,), those of them whose values are bootstrapped.
        last: float32 (T, P, inputs), what their seats' critics see at their end.
    """

    rewards: NDArray[np.float64]
    ended: NDArray[np.int64]
    truncated: NDArray[np.int64]
    last: NDArray[np.float32]


class SelfPlayGames:
    """``num_envs`` games that all wait for a decision of the learner.

    Forced moves are made for it. Games have seeds that follow from the run's seed; finished games
    are reset in the same step.

    Args:
        game: The game.
        config: The run's configuration: its sections ``environment``, ``opponents``, ``network``,
            and ``seed`` and ``truncation``.
        agents: The opponents by the names that the configuration uses.

    Attributes:
        players: int64 (N,), the player to move in each game.
        inputs: What a row of :meth:`observe` holds, the observation first.
    """

    def __init__(self, game: Game, config: Config, agents: Mapping[str, Agent]) -> None:
        environment, opponents = config.environment, config.opponents
        options, view = game.split_options(environment.options)
        low, high = game.check_player_range(environment.num_players)
        sizes = range(low, high + 1)
        weights = environment.table_weights or (1.0,) * len(sizes)
        count = environment.num_envs
        self.game = game
        self.view: View = view
        self._opponents = opponents
        self._named = [agents[name] for name in opponents.agents]
        self.arena = Arena(game, count, [None, *self._named], view=view, skip_forced=True, **options)
        self.tables = Tables(
            count,
            sizes,
            np.array(weights) / sum(weights),
            round(opponents.self_share * count),
            opponents.block_size,
            game.max_players,
            config.seed,
        )
        self._all = np.arange(count)
        self._seeds = consecutive_seeds(config.seed * count, count)
        self.players = np.zeros(count, np.int64)
        self._pool: list[int] = []  # the snapshots' places among the arena's agents
        self._pays_standing = self.arena.options["reward"] != "score"
        self._truncation = config.truncation
        self._with_state = config.network.critic in ("state", "both")
        self._with_seat = self._with_state and game.write_state is None
        self._play_out = compile_for(game, play_out) if config.network.critic_playout else None
        self._scratch = game.new_states(1)
        self.inputs = (
            game.fields.size
            + self._with_state * game.state_fields.size
            + self._with_seat * game.max_players
            + config.network.critic_playout
        )

    # -----------------------------------------------------------------------------------------
    # Opponents
    # -----------------------------------------------------------------------------------------

    @property
    def pool(self) -> list[PolicyAgent]:
        """The snapshots of the learner's past."""
        return [agent for k in self._pool if isinstance(agent := self.arena.agents[k], PolicyAgent)]

    def begin(self, network: Network) -> None:
        """Reset all games; until there is a snapshot this network, the learner's own, stands for
        the pool (see :meth:`follow`)."""
        if self.tables.blocks:
            self._stand_in = self._place(network)
            self._redraw()
        self._start(self._all)

    def follow(self, network: Network) -> None:
        """The learner's network has changed: what stands for the pool changes with it."""
        if self.tables.blocks and not self._pool:
            self.arena.agents[self._stand_in] = self._snapshot(network)

    def add_snapshot(self, network: Network) -> None:
        """Put a network into the pool, in the place of a random one if it is full, and redraw the
        blocks."""
        if not self.tables.blocks:
            return
        place = self._place(network)
        if len(self._pool) < self._opponents.pool_size:
            self._pool.append(place)
        else:
            self._pool[self.tables.rng.integers(len(self._pool))] = place
        self._redraw()

    def _place(self, network: Network) -> int:
        """Put a snapshot where no game needs the agent any more; returns where."""
        used = {*self.arena.seating.flat, *self.tables.seating.flat, *self._pool}
        agents = self.arena.agents
        free = (k for k in range(1 + len(self._named), len(agents)) if k not in used)
        place = next(free, len(agents))
        agents[place : place + 1] = [self._snapshot(network)]
        return place

    def _snapshot(self, network: Network) -> PolicyAgent:
        return PolicyAgent(network, "snapshot", self.view, seed=0)

    def _redraw(self) -> None:
        pool = self._pool or [self._stand_in]
        weights = [*self._opponents.agents.values(), *[self._opponents.pool / len(pool)] * len(pool)]
        agents = [*range(1, 1 + len(self._named)), *pool]
        self.tables.redraw(weights, agents, self._opponents.same_agent)

    # -----------------------------------------------------------------------------------------
    # Games
    # -----------------------------------------------------------------------------------------

    def observe(self) -> NDArray[np.float32]:
        """What the players to move and their critics see, float32 (N, inputs); the legal actions
        are ``arena.action_mask`` (N, A)."""
        return self._inputs_of(self._all, self.players, self.arena.observation)

    def step(self, actions: NDArray[np.int64]) -> Outcome:
        """Take the learner's actions (N,), and play on to its next decision in every game."""
        arena = self.arena
        arena.returns[:] = 0.0
        arena.act(self._all, actions)
        rewards = arena.returns.copy()
        ended = np.flatnonzero(arena.waiting == NOBODY)
        cut = ended[arena.states["truncated"][ended]  != 0]
        if self._truncation != "bootstrap":
            if self._pays_standing:
                rewards[cut] = 0.0
            rewards[cut] += -1.0 if self._truncation == "loss" else 0.0
        if self._truncation != "bootstrap" or self._pays_standing:
            cut = cut[:0]
        last = self._last_inputs(cut)
        self._seeds[ended] = next_seeds(self._seeds[ended])
        self._start(ended)
        return Outcome(rewards, ended, cut, last)

    def _start(self, games: NDArray[np.int64]) -> None:
        """Begin games at their tables, and those in their place that the learner has no decision
        in."""
        arena, tables = self.arena, self.tables
        for _ in range(_TRIES):
            tables.is_present[games] = True
            arena.start(games, self._seeds[games], tables.num_players[games], tables.seating[games])
            games = games[arena.waiting[games] == NOBODY]
            if not len(games):
                self.players[:] = arena.states["current_player"]
                return
            self._seeds[games] = next_seeds(self._seeds[games])
        raise ValueError(
            f"{_TRIES} games in a row ended before the learner's first decision: "
            f"max_steps={arena.options['max_steps']} is too small"
        )

    def _last_inputs(self, games: NDArray[np.int64]) -> NDArray[np.float32]:
        seats = self.game.max_players
        last = np.zeros((len(games), seats, self.inputs), np.float32)
        for player in range(seats if len(games) else 0):
            there = np.flatnonzero(self.arena.states["num_players"][games] > player)
            observation = np.zeros((len(there), self.game.fields.size), np.float32)
            for row, i in zip(observation, games[there].tolist(), strict=True):
                self.game.observe(self.arena.states, i, player, *self.view.codes, row)
            players = np.full(len(there), player)
            last[there, player] = self._inputs_of(games[there], players, observation)
        return last

    def _inputs_of(
        self,
        games: NDArray[np.int64],
        players: NDArray[np.int64],
        observation: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        seen = [observation]
        if self._with_state:
            state = np.empty((len(games), self.game.state_fields.size), np.float32)
            write_full_states(self.game, self.arena.states, games, players, state)
            seen.append(state)
        if self._with_seat:
            seen.append(np.eye(self.game.max_players, dtype=np.float32)[players])
        if self._play_out is not None:
            reward = np.empty((len(games), 1), np.float32)
            self._play_out(self.arena.states, games, players, self._scratch, reward[:, 0])
            seen.append(reward)
        return np.concatenate(seen, axis=1)
