"""Self-play: games in which the learner holds one seat, as a vector environment for SB3.

A transition's rewards are what the learner got from their decision until their next one: what the
other players' moves brought them is included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.agents import NetworkAgent
from card_envs.agents.network import Network
from card_envs.engine.templates import compile_for, play_out, write_full_states
from card_envs.envs.learner_games import LearnerGames
from card_envs.integrations.sb3 import CardVecEnv
from training.config import NetworkSection
from training.run import Run
from training.run_folder import RunFolder

_ARENA_ARRAYS = ("seating", "waiting", "observation", "action_mask", "returns", "_streams")


class SelfPlayGames(LearnerGames):
    """Games whose other seats are held by snapshots or named agents, drawn for each game.

    Args:
        run: The run.
        truncation: What the learner gets when a game is truncated, see ``Config.truncation``.
    """

    def __init__(self, run: RunFolder[Any], truncation: str = "bootstrap") -> None:
        environment = run.config.environment
        super().__init__(
            run.game,
            environment.num_envs,
            num_players=environment.num_players,
            opponents="random",  # until the run's own are put in their place
            skip_forced=True,  # a forced move teaches nothing
            on_illegal="raise",
            **environment.options,
        )
        #: Whether the value of a truncated game is bootstrapped: its standing has not been paid.
        self.is_bootstrapped = truncation == "bootstrap" and not self.pays_standing
        self._forgets_standing = truncation != "bootstrap" and self.pays_standing
        self._truncation_reward = -1.0 if truncation == "loss" else 0.0
        self._opponents = run.config.opponents
        self._table_weights = environment.table_weights
        self.rng = np.random.default_rng([run.config.seed, 1])
        self.arena.agents = [None, *(run.agents[name] for name in self._opponents.agents)]
        self._first_snapshot = len(self.arena.agents)

    def step(
        self, actions: NDArray[np.int64], indices: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """As LearnerGames does; what a truncated game pays is the run's own."""
        rewards, terminated, truncated = super().step(actions, indices)
        if self._forgets_standing:
            rewards[truncated] = 0.0
        rewards[truncated] += self._truncation_reward
        return rewards, terminated, truncated

    @property
    def pool(self) -> list[NetworkAgent]:
        """The opponent pool: snapshots of the learner's past."""
        snapshots = self.arena.agents[self._first_snapshot :]
        return [agent for agent in snapshots if isinstance(agent, NetworkAgent)]

    def add_snapshot(self, network: Network) -> None:
        """Put the learner's present network into the pool, replacing a random one if it is full."""
        snapshot = NetworkAgent(network, "snapshot", self.arena.view, seed=0)
        if len(self.pool) < self._opponents.pool_size:
            self.arena.agents.append(snapshot)
        else:
            place = self._first_snapshot + self.rng.integers(self._opponents.pool_size)
            self.arena.agents[place] = snapshot

    def running(self) -> dict[str, NDArray[Any]]:
        """The games that are being played, for a checkpoint."""
        arena = self.arena
        states = np.frombuffer(arena.states.tobytes(), np.uint8)
        others = {f"arena.{name}": getattr(arena, name) for name in _ARENA_ARRAYS}
        return {"arena.states": states, **others}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Bring the games to what ``running`` gave; the learner's seats are set already."""
        arena = self.arena
        arena.states.view(np.ndarray).view(np.uint8)[:] = arrays["arena.states"]
        for name in _ARENA_ARRAYS:
            getattr(arena, name)[:] = arrays[f"arena.{name}"]

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
        count = len(self.pool)
        pool = self._opponents.pool if count else 0.0
        weights = np.array([*self._opponents.agents.values(), pool])
        shape = (len(num_players), self.game.max_players)
        seating = 1 + self.rng.choice(len(weights), shape, p=weights / weights.sum())
        if count:
            is_snapshot = seating == self._first_snapshot
            seating[is_snapshot] += self.rng.integers(count, size=int(is_snapshot.sum()))
        if self._opponents.same_agent:
            have_one = self.rng.random(len(seating)) < self._opponents.same_agent
            seating[have_one] = seating[have_one, :1]
        return seating


class SelfPlayVecEnv(CardVecEnv):
    """``SelfPlayGames`` as a ``VecEnv``, with what the critic sees besides.

    Args:
        games: The games.
        with_state: Whether the full state follows the observation, for the critic.
        with_playout: Whether the learner's next reward if all players followed the heuristic
            follows, for the critic.
    """

    games: SelfPlayGames

    def __init__(
        self, games: SelfPlayGames, *, with_state: bool = False, with_playout: bool = False
    ) -> None:
        game = games.game
        self._with_state = with_state
        self._play_out = compile_for(game, play_out) if with_playout else None
        self._scratch = game.new_states(1)
        super().__init__(games)
        size = game.fields.size + with_state * game.state_fields.size + with_playout
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(self) -> NDArray[np.float32]:
        """Begin all games, and return what the learner and their critic see, float32 (N, inputs).

        Game i has the seed ``(s - 1) * num_envs + 1 + i``, modulo 2**64, with the s of ``seed()``:
        runs of different seeds play different deals.
        """
        seed = self._seeds[0]
        if seed is not None:
            seed = ((seed - 1) * self.num_envs + 1) % 2**64
        self.games.reset(seed)
        return self._observe(self.games.all)

    def _observe(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the learner sees in these games, and what else their critic sees."""
        game = self.games.game
        states, players = self.games.arena.states, self.games.learner_seats[indices]
        observation = self.games.arena.observation
        # The rows of all games are copied below, with what follows them, and not here too.
        seen = [observation if len(indices) == self.num_envs else observation[indices]]
        if self._with_state:
            seen.append(np.empty((len(indices), game.state_fields.size), np.float32))
            write_full_states(game, states, indices, players, seen[-1])
        if self._play_out is not None:
            seen.append(np.empty((len(indices), 1), np.float32))
            self._play_out(states, indices, players, self._scratch, seen[-1][:, 0])
        return np.concatenate(seen, axis=1)

    def _final_infos(
        self, ended: NDArray[np.int64], truncated: NDArray[np.bool_]
    ) -> list[dict[str, Any]]:
        # Nobody looks at the last observations of other games than those that are bootstrapped.
        infos: list[dict[str, Any]] = [{} for _ in ended]
        if self.games.is_bootstrapped:
            cut = np.flatnonzero(truncated)
            for k, info in zip(cut, super()._final_infos(ended[cut], truncated[cut]), strict=True):
                infos[k] = info
        return infos


def make_env(run: Run) -> SelfPlayVecEnv:
    """The games that a run's configuration describes, and what else its critic sees."""
    return SelfPlayVecEnv(
        SelfPlayGames(run, run.config.truncation), **critic_inputs(run.config.network)
    )


def critic_inputs(network: NetworkSection) -> dict[str, bool]:
    """What a critic sees besides the observation, as arguments of ``SelfPlayVecEnv``."""
    return {"with_state": network.critic == "state", "with_playout": network.critic_playout}
