"""Self-play: games in which the learner holds one seat, as a vector environment for SB3.

The rewards of a transition are what the learner got from its decision until its next one: what
the other players' moves brought it is part of it, as it must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from threadpoolctl import threadpool_limits

from card_envs.agents import make_agent
from card_envs.agents.network import Network
from card_envs.engine.game import Game
from card_envs.engine.templates import compile_for, play_out, write_states
from card_envs.envs.seats import SeatGames
from card_envs.games import load_game
from training.config import Config


class Snapshot:
    """A state of the learner as an agent.

    It takes the likeliest action, or with ``rng`` draws its actions from the policy.
    """

    name = "snapshot"

    def __init__(self, network: Network, rng: np.random.Generator | None = None) -> None:
        self.network = network
        self._rng = rng

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
    ) -> NDArray[np.int64]:
        """Actions (M,) for observations (M, D) and masks (M, A)."""
        return self.network.act(observation, action_mask, self._rng)


class SelfPlayGames(SeatGames):
    """Every other seat is held by a snapshot or a named agent, drawn anew each game."""

    def __init__(self, game: Game, config: Config) -> None:
        super().__init__(
            game,
            config.environment.num_envs,
            num_players=config.environment.num_players,
            skip_forced=True,  # a forced move teaches nothing
            on_illegal="raise",
            **config.environment.options,
        )
        # The snapshots' matrices are small: several threads would only wait for each other.
        threadpool_limits(1, "blas")
        self._mix = config.opponents
        self._table_weights = config.environment.table_weights
        self.activation = config.network.activation
        self.rng = np.random.default_rng([config.seed, 1])
        named = [make_agent(name, game) for name in self._mix.agents]
        self.arena.agents = [None, *named]
        self._first_snapshot = len(self.arena.agents)

    @property
    def snapshots(self) -> list[Snapshot]:
        """The pool."""
        return [agent for agent in self.arena.agents if isinstance(agent, Snapshot)]

    def add_snapshot(self, network: Network) -> None:
        """Put the learner's present state into the pool, in place of a random one if it is full."""
        snapshot = Snapshot(network, self.rng)
        if len(self.snapshots) < self._mix.pool_size:
            self.arena.agents.append(snapshot)
        else:
            place = self._first_snapshot + self.rng.integers(self._mix.pool_size)
            self.arena.agents[place] = snapshot

    def _draw_tables(
        self, seeds: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._table_weights is None:
            return super()._draw_tables(seeds)
        weights = np.array(self._table_weights)
        low, high = self.player_range
        sizes = np.arange(low, high + 1)
        num_players = self.rng.choice(sizes, len(seeds), p=weights / weights.sum())
        return num_players, self.rng.integers(num_players)

    def _seat_opponents(
        self, num_players: NDArray[np.int64], learner_seats: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        count = len(self.snapshots)
        snapshots = self._mix.snapshots if count else 0.0
        weights = np.array([*self._mix.agents.values(), snapshots])
        shape = (len(num_players), self.game.max_players)
        seats = 1 + self.rng.choice(len(weights), shape, p=weights / weights.sum())
        if count:
            is_snapshot = seats == self._first_snapshot
            seats[is_snapshot] += self.rng.integers(count, size=int(is_snapshot.sum()))
        if self._mix.alike:
            are_alike = self.rng.random(len(seats)) < self._mix.alike
            seats[are_alike] = seats[are_alike, :1]
        return seats


class SelfPlayVecEnv(VecEnv):
    """``SelfPlayGames`` as Stable-Baselines3 wants it, with ``env_method("action_masks")``.

    Args:
        games: The games.
        with_state: Whether the full state follows the observation, for the critic.
        with_playout: Whether the learner's next payment follows if all play by the heuristic.
    """

    def __init__(
        self, games: SelfPlayGames, *, with_state: bool = False, with_playout: bool = False
    ) -> None:
        self.games = games
        game = games.game
        self._with_state = with_state
        self._with_playout = with_playout
        self._write_states = compile_for(game, write_states)
        self._play_out = compile_for(game, play_out)
        self._scratch = game.new_states(1)
        size = game.fields.size + with_state * game.state_fields.size + with_playout
        super().__init__(
            games.num_envs,
            spaces.Box(-np.inf, np.inf, (size,), np.float32),
            spaces.Discrete(game.num_actions),
        )

    def reset(self) -> NDArray[np.float32]:
        """Begin all games.

        Game i has the seed ``(s - 1) * num_envs + 1 + i``, modulo 2**64, with the s of ``seed()``:
        runs of different seeds play different deals.
        """
        seed = self._seeds[0]
        if seed is not None:
            seed = ((seed - 1) * self.num_envs + 1) % 2**64
        self.games.reset(seed)
        return self._look(self.games.all)

    def _look(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the learner sees in these games, and what its critic sees beyond."""
        states, players = self.games.arena.states, self.games.learner_seats[indices]
        seen = [self.games.arena.observation[indices]]
        if self._with_state:
            seen.append(np.empty((len(indices), self.games.game.state_fields.size), np.float32))
            self._write_states(states, indices, players, seen[-1])
        if self._with_playout:
            seen.append(np.empty((len(indices), 1), np.float32))
            self._play_out(states, indices, players, self._scratch, seen[-1][:, 0])
        return np.concatenate(seen, axis=1)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, dones and infos; games that are over begin anew."""
        games = self.games
        rewards, terminated, truncated = games.step(self._actions)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            # A cut game goes on in the learner's estimate, unless its standing was paid as the end.
            cut = np.flatnonzero(truncated & (games.arena.options["reward"] == "score"))
            games.observe_ended(cut)
            for i, last in zip(cut, self._look(cut), strict=True):
                infos[i] = {"TimeLimit.truncated": True, "terminal_observation": last}
            ended = np.flatnonzero(dones)
            games.go_on(ended)
        return self._look(games.all), rewards.astype(np.float32), dones, infos

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Only ``action_masks``."""
        if method_name != "action_masks":
            raise AttributeError(f"there is no method {method_name!r}")
        return list(self.games.arena.action_mask.copy())

    def has_attr(self, attr_name: str) -> bool:
        """Whether the environments have it (they have ``action_masks``)."""
        return attr_name == "action_masks"

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Only ``render_mode``, which is None."""
        if attr_name != "render_mode":
            raise AttributeError(f"there is no attribute {attr_name!r}")
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """There is nothing to set."""
        raise AttributeError(f"there is no attribute {attr_name!r}")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False] * self.num_envs

    def get_images(self) -> Sequence[Any]:
        """There are none."""
        return []

    def close(self) -> None:
        """Nothing is held open."""


def make_env(config: Config) -> SelfPlayVecEnv:
    """The games that the configuration describes, and what its critic is told of them."""
    return SelfPlayVecEnv(
        SelfPlayGames(load_game(config.game), config),
        with_state=config.network.critic == "state",
        with_playout=config.network.critic_plays_out,
    )
