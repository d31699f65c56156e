"""``Games``: what is the same wherever games are played: tables, opponents, critics' inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, NetworkAgent
from card_envs.agents.network import Network
from card_envs.contract.game import Game
from card_envs.engine.seeds import consecutive_seeds
from card_envs.engine.templates import compile_for, play_out, write_full_states
from card_envs.envs.options import pays_standing
from training.games.tables import Tables
from training.runs.config import EnvironmentSection, PoolSection

_Indices = NDArray[np.int64]

_TABLES = ("num_players", "seating", "is_present")


def _games_of(share: float, count: int) -> int:
    """How many of the games a share of them is: some, but not all, if it is neither 0 nor 1."""
    games = round(share * count)
    return games if share in (0, 1) else min(max(games, 1), count - 1)


class Games:
    """``num_envs`` games, who sits where in them, and the pool of snapshots.

    Args:
        game: The game.
        environment, opponents: The sections of the configuration.
        agents: The opponents by the names that ``opponents`` uses.
        seed: Of seeds and tables.
        critic: What the critic sees, see ``NetworkSection.critic``.
        truncation: What a truncated game pays, see ``Config.truncation``.
        with_playout: Whether the critic also sees a playout, see ``NetworkSection.critic_playout``.

    Attributes:
        agents: All agents: the learner, None, comes first; then those that ``opponents`` names, and
            snapshots.
        pool: Where the snapshots of the learner's past are among the agents.
        tables: Who sits where.
        options: The game's options, all of them.
        view: How the learner observes.
        with_state: Whether the critic sees the full state.
        inputs: How many values players and their critics see, the observation first.
        bootstraps: Whether truncated games are bootstrapped: what is open then is not learned from.
        cut_rewards: By what the rewards of a step that truncates a game are multiplied, and what is
            then taken from them.
    """

    def __init__(
        self,
        game: Game,
        environment: EnvironmentSection,
        opponents: PoolSection,
        agents: Mapping[str, Agent],
        seed: int,
        *,
        critic: str = "observation",
        truncation: str = "bootstrap",
        with_playout: bool = False,
    ) -> None:
        self.options, self.view = game.split_options(environment.options)
        low, high = game.check_player_range(environment.num_players)
        sizes = range(low, high + 1)
        weights = np.array(environment.table_weights or (1.0,) * len(sizes))
        count = environment.num_envs
        self.game = game
        self.with_state = critic != "observation"
        self._with_seat = self.with_state and game.write_state is None
        self._play_out = compile_for(game, play_out) if with_playout else None
        self._scratch = game.new_states(1)
        self.inputs = (
            game.fields.size
            + self.with_state * game.state_fields.size
            + self._with_seat * game.max_players
            + with_playout
        )
        pays = pays_standing(self.options["reward"])  # also where a game is truncated
        self.bootstraps = truncation == "bootstrap" and not pays
        is_kept = truncation == "bootstrap" or not pays
        self.cut_rewards = float(is_kept), float(truncation == "loss")
        self._opponents = opponents
        named = [agents[name] for name in opponents.agents]
        self.agents: list[Agent | None] = [None, *named]
        self._first_snapshot = len(self.agents)
        self.tables = Tables(
            count,
            sizes,
            weights / weights.sum(),
            own_games=_games_of(opponents.own, count),
            block_size=opponents.block_size,
            max_players=game.max_players,
            seed=seed,
        )
        self.all = np.arange(count)
        self._seeds = consecutive_seeds(seed * count, count)
        self.pool: list[int] = []

    @property
    def seating(self) -> NDArray[np.int64]:
        """int64 (N, P), which of the agents holds each seat now."""
        raise NotImplementedError

    def _start_all(self) -> None:
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw new tables for the blocks of which all games play their present one."""
        pool = (self.pool or [self._first_snapshot]) if self._has_pool else []
        of_pool = [self._opponents.pool / max(len(pool), 1)] * len(pool)
        weights = [*self._opponents.agents.values(), *of_pool]
        agents = [*range(1, self._first_snapshot), *pool]
        self.tables.redraw(weights, agents, self._opponents.same_agent)

    @property
    def _has_pool(self) -> bool:
        return bool(self.tables.blocks) and self._opponents.pool > 0

    def begin(self, network: Network) -> None:
        """Reset all games; until there is a snapshot this network, the learner's own, stands for
        the pool (see :meth:`follow`)."""
        if self._has_pool:
            self._place(network)
        self.redraw()
        self._start_all()

    def follow(self, policy: Callable[[], Network]) -> None:
        """The learner's policy has changed: what stands for the pool changes with it."""
        if self._has_pool and not self.pool:
            self.agents[self._first_snapshot] = self._snapshot(policy())

    def add_snapshot(self, network: Network) -> None:
        """Put a network into the pool, in the place of a random one if it is full, and redraw the
        blocks."""
        if self._has_pool:
            place = self._place(network)
            if len(self.pool) < self._opponents.pool_size:
                self.pool.append(place)
            else:
                self.pool[self.tables.rng.integers(len(self.pool))] = place
        self.redraw()

    def _place(self, network: Network) -> int:
        """Put a snapshot where no game needs the agent any more; returns where."""
        used = {*self.seating.flat, *self.tables.seating.flat, *self.pool}
        agents = self.agents
        free = (k for k in range(self._first_snapshot, len(agents)) if k not in used)
        place = next(free, len(agents))
        agents[place : place + 1] = [self._snapshot(network)]
        return place

    def _snapshot(self, network: Network) -> NetworkAgent:
        return NetworkAgent(network, "snapshot", self.view, seed=0)

    def arrays(self) -> dict[str, Any]:
        """The games, their tables and the snapshots, for a checkpoint."""
        snapshots = {}
        for k, agent in enumerate(self.agents[self._first_snapshot :]):
            layers = agent.network.layers if isinstance(agent, NetworkAgent) else []
            snapshots[str(k)] = {
                f"{j}.{name}": array
                for j, layer in enumerate(layers)
                for name, array in zip(("weight", "bias"), layer, strict=True)
            }
        return {
            "pool": np.array(self.pool, np.int64),
            # Beside them a checkpoint has the state of ``tables.rng``.
            "tables": {name: getattr(self.tables, name) for name in _TABLES},
            "snapshots": snapshots,
        }

    def restore(self, arrays: dict[str, Any], activation: str) -> None:
        """Bring the games to what :meth:`arrays` gave; snapshots have this activation."""
        for name, array in arrays["tables"].items():
            getattr(self.tables, name)[:] = array
        self.pool = arrays["pool"].tolist()
        snapshots = arrays.get("snapshots", {})
        del self.agents[self._first_snapshot :]
        for k in range(len(snapshots)):
            own = snapshots[str(k)]
            layers = [(own[f"{j}.weight"], own[f"{j}.bias"]) for j in range(len(own) // 2)]
            self.agents.append(self._snapshot(Network(layers, activation)))

    @property
    def own_decisions(self) -> float:
        """The share of the decisions that are asked for which are the learner's, to be expected."""
        section = self._opponents
        weights = {1 + k: weight for k, weight in enumerate(section.agents.values())}
        networks = section.pool
        for k, weight in weights.items():
            agent = self.agents[k]
            networks += weight if agent is not None and agent.network_kernel is not None else 0.0
        share = networks / max(section.pool + sum(weights.values()), 1e-9)
        tables = self.tables
        of_block = float((tables.shares / (1.0 + share * (tables.sizes - 1))).sum())
        own = section.own if tables.blocks else 1.0
        return own + (1.0 - own) * of_block

    def _inputs_of(
        self, states: Any, games: _Indices, players: _Indices, observation: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """What players and their critics see of some games, float32 (M, inputs)."""
        seen = [observation]
        if self.with_state:
            state = np.empty((len(games), self.game.state_fields.size), np.float32)
            write_full_states(self.game, states, games, players, state)
            seen.append(state)
        if self._with_seat:
            seen.append(np.eye(self.game.max_players, dtype=np.float32)[players])
        if self._play_out is not None:
            reward = np.empty((len(games), 1), np.float32)
            self._play_out(states, games, players, self._scratch, reward[:, 0])
            seen.append(reward)
        return np.concatenate(seen, axis=1)
