"""``SelfPlayGames``: games in which the learner holds all seats, or one among opponents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, NetworkAgent
from card_envs.agents.network import Network
from card_envs.contract.game import Game, View
from card_envs.engine.arena import Arena
from card_envs.engine.seeds import consecutive_seeds, next_seeds
from card_envs.engine.templates import NOBODY, compile_for, play_out, write_full_states
from training.games.tables import Tables
from training.runs.config import EnvironmentSection, NetworkSection, PoolSection

#: Games in a row that may end before the learner's first decision.
_TRIES = 1000

_Indices = NDArray[np.int64]

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
        environment, opponents: The sections of the configuration.
        agents: The opponents by the names that ``opponents`` uses.
        seed: Of seeds and tables.
        network: Says what the critic sees; None: the observation alone.
        truncation: What a truncated game pays, see ``Config.truncation``.

    Attributes:
        players: int64 (N,), the player to move in each game.
        inputs: What a row of :meth:`observe` holds, the observation first.
    """

    def __init__(
        self,
        game: Game,
        environment: EnvironmentSection,
        opponents: PoolSection,
        agents: Mapping[str, Agent],
        seed: int,
        network: NetworkSection | None = None,
        truncation: str = "bootstrap",
    ) -> None:
        options, view = game.split_options(environment.options)
        low, high = game.check_player_range(environment.num_players)
        sizes = range(low, high + 1)
        weights = np.array(environment.table_weights or (1.0,) * len(sizes))
        count = environment.num_envs
        self.game = game
        self.view: View = view
        self._opponents = opponents
        named = [agents[name] for name in opponents.agents]
        self._first_snapshot = 1 + len(named)
        self.arena = Arena(game, count, [None, *named], view=view, skip_forced=True, **options)
        self.tables = Tables(
            count,
            sizes,
            weights / weights.sum(),
            round(opponents.own * count),
            opponents.block_size,
            game.max_players,
            seed,
        )
        self.all = np.arange(count)
        self._seeds = consecutive_seeds(seed * count, count)
        self.players = np.zeros(count, np.int64)
        self._pool: list[int] = []  # the snapshots' places among the arena's agents
        self._pays_standing = self.arena.options["reward"] != "score"
        self._truncation = truncation
        self._with_state = network is not None and network.critic in ("state", "both")
        self._with_seat = self._with_state and game.write_state is None
        with_playout = network is not None and network.critic_playout
        self._play_out = compile_for(game, play_out) if with_playout else None
        self._scratch = game.new_states(1)
        self.inputs = (
            game.fields.size
            + self._with_state * game.state_fields.size
            + self._with_seat * game.max_players
            + with_playout
        )

    @property
    def pool(self) -> list[NetworkAgent]:
        """The snapshots of the learner's past."""
        agents = self.arena.agents
        return [agent for k in self._pool if isinstance(agent := agents[k], NetworkAgent)]

    @property
    def _has_pool(self) -> bool:
        return bool(self.tables.blocks) and self._opponents.pool > 0

    def begin(self, network: Network) -> None:
        """Reset all games; until there is a snapshot this network, the learner's own, stands for
        the pool (see :meth:`follow`)."""
        if self._has_pool:
            self._place(network)
        self.redraw()
        self._start(self.all)

    def follow(self, policy: Callable[[], Network]) -> None:
        """The learner's policy has changed: what stands for the pool changes with it."""
        if self._has_pool and not self._pool:
            self.arena.agents[self._first_snapshot] = self._snapshot(policy())

    def add_snapshot(self, network: Network) -> None:
        """Put a network into the pool, in the place of a random one if it is full, and redraw the
        blocks."""
        if self._has_pool:
            place = self._place(network)
            if len(self._pool) < self._opponents.pool_size:
                self._pool.append(place)
            else:
                self._pool[self.tables.rng.integers(len(self._pool))] = place
        self.redraw()

    def _place(self, network: Network) -> int:
        """Put a snapshot where no game needs the agent any more; returns where."""
        used = {*self.arena.seating.flat, *self.tables.seating.flat, *self._pool}
        agents = self.arena.agents
        free = (k for k in range(self._first_snapshot, len(agents)) if k not in used)
        place = next(free, len(agents))
        agents[place : place + 1] = [self._snapshot(network)]
        return place

    def _snapshot(self, network: Network) -> NetworkAgent:
        return NetworkAgent(network, "snapshot", self.view, seed=0)

    def redraw(self) -> None:
        """Draw new tables for the blocks of which all games play their present one."""
        pool = (self._pool or [self._first_snapshot]) if self._has_pool else []
        of_pool = [self._opponents.pool / max(len(pool), 1)] * len(pool)
        weights = [*self._opponents.agents.values(), *of_pool]
        agents = [*range(1, self._first_snapshot), *pool]
        self.tables.redraw(weights, agents, self._opponents.same_agent)

    def arrays(self) -> dict[str, Any]:
        """The running games, their tables and the snapshots, for a checkpoint."""
        snapshots = {}
        for k, agent in enumerate(self.arena.agents[self._first_snapshot :]):
            layers = agent.network.layers if isinstance(agent, NetworkAgent) else []
            snapshots[str(k)] = {
                f"{j}.{name}": array
                for j, layer in enumerate(layers)
                for name, array in zip(("weight", "bias"), layer, strict=True)
            }
        return {
            "arena": {name: getattr(self.arena, name) for name in _ARENA_ARRAYS},
            "states": np.frombuffer(self.arena.states.tobytes(), np.uint8),
            "seeds": self._seeds,
            "pool": np.array(self._pool, np.int64),
            "tables": self.tables.arrays(),
            "snapshots": snapshots,
        }

    def restore(self, arrays: dict[str, Any], activation: str) -> None:
        """Bring the games to what :meth:`arrays` gave; snapshots have this activation."""
        arena = self.arena
        for owner, kept in ((arena, arrays["arena"]), (self.tables, arrays["tables"])):
            for name, array in kept.items():
                getattr(owner, name)[:] = array
        arena.states.view(np.ndarray).view(np.uint8)[:] = arrays["states"]
        self.players[:] = arena.states["current_player"]
        self._seeds[:] = arrays["seeds"]
        self._pool = arrays["pool"].tolist()
        snapshots = arrays.get("snapshots", {})
        del arena.agents[self._first_snapshot :]
        for k in range(len(snapshots)):
            own = snapshots[str(k)]
            layers = [(own[f"{j}.weight"], own[f"{j}.bias"]) for j in range(len(own) // 2)]
            arena.agents.append(self._snapshot(Network(layers, activation)))

    def observe(self) -> NDArray[np.float32]:
        """What the players to move and their critics see, float32 (N, inputs); the legal actions
        are ``arena.action_mask`` (N, A)."""
        return self._inputs_of(self.all, self.players, self.arena.observation)

    def step(self, actions: NDArray[np.int64]) -> Outcome:
        """Take the learner's actions (N,), and play on to its next decision in every game."""
        arena = self.arena
        arena.returns[:] = 0.0
        arena.act(self.all, actions)
        rewards = arena.returns.copy()
        ended = np.flatnonzero(arena.waiting == NOBODY)
        cut = ended[arena.states["truncated"][ended] != 0]
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
        about = f"{_TRIES} games in a row ended before the learner's first decision"
        if (arena.forfeited[games] != NOBODY).any():
            raise ValueError(f"{about}: an opponent forfeits them")
        raise ValueError(f"{about}: max_steps={arena.options['max_steps']} is too small")

    def _last_inputs(self, games: _Indices) -> NDArray[np.float32]:
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
        self, games: _Indices, players: _Indices, observation: NDArray[np.float32]
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
