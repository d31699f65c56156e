"""Games on a device, advanced until the learner must be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from card_envs.agents import NetworkAgent
from card_envs.agents.network import Network
from card_envs.contract.agent import Agent
from card_envs.engine.arena import Arena
from card_envs.engine.templates import ASKED, NOBODY, advance_to_decision, take_actions
from card_envs.kernels.perceptron import LAYOUT_SIZE, SCRATCH_ROWS
from training.device_loops import DeviceLoops
from training.device_templates import begin_games, copy_ends, observe_players
from training.distribution import MaskedCategorical


class DeviceArena:
    """The games of an ``Arena``, on a device.

    Scripted and random agents play in the compiled loop. Policies are networks that torch evaluates
    for all games at once that wait for one: their actions are those of the CPU up to rounding, and
    drawn actions are drawn with torch's generator.

    Attributes:
        waiting: int64 (N,), as of an ``Arena``.
        observation, action_mask: float32 (N, D), int8 (N, A), of the player to move.
        returns: float64 (N, max_players), rewards added up since they were last set to 0.

    Args:
        arena: The arena whose games, agents and options they are; it is not played on.
        loops: The game's templates on the device.
        num_games: Number of games.
    """

    def __init__(self, arena: Arena, loops: DeviceLoops, num_games: int) -> None:
        game = arena.game
        self._arena = arena
        self._loops = loops
        self.num_games = num_games
        self.states = loops.new_states(num_games)
        self._streams = loops.zeros(num_games, np.uint64)
        self.seating = self._zeros((num_games, game.max_players), torch.int64)
        self.waiting = self._zeros((num_games,), torch.int64)
        self.observation = self._zeros((num_games, game.fields.size), torch.float32)
        self.action_mask = self._zeros((num_games, game.num_actions), torch.int8)
        self.returns = self._zeros((num_games, game.max_players), torch.float64)
        self._options = game.encode_options(arena.options)
        # What advance_to_decision takes besides: no networks, no followers, no recording.
        self._no_networks = (
            loops.zeros(1, np.float32),
            loops.zeros((1, LAYOUT_SIZE), np.int64),
            loops.zeros((SCRATCH_ROWS, game.num_actions), np.float32),
        )
        self._is_followed = loops.zeros(num_games, np.bool_)
        self._chosen = loops.zeros(num_games, np.int64)
        self._recorded = loops.zeros((num_games, 0), np.int64)
        self._networks: list[tuple[Agent, _Player]] = []

    def _zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, device=self._loops.device)

    def start(
        self,
        indices: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        num_players: NDArray[np.int64],
        seating: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Begin games as an ``Arena`` does; returns which of them (M,) are over already."""
        loops, games = self._loops, self._loops.tensor(indices)
        loops.run(
            begin_games,
            len(indices),
            self.states,
            games,
            loops.array(seeds),
            loops.tensor(num_players),
            self._options,
            loops.tensor(seating),
            self.seating,
            self._streams,
            self.returns,
        )
        self._play(games)
        over: NDArray[np.bool_] = (self.waiting[games] == NOBODY).cpu().numpy()
        return over

    def act(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the learner's legal actions (N,) in all games, and advance these.

        Returns:
            terminated, truncated: bool (N,).
        """
        games = torch.arange(self.num_games, device=self._loops.device)
        self._take(games, actions)
        self._play(games)
        ends = [self._zeros((self.num_games,), torch.bool) for _ in range(2)]
        self._loops.run(copy_ends, self.num_games, self.states, *ends)
        return ends[0], ends[1]

    def observe(self, games: torch.Tensor, players: torch.Tensor) -> None:
        """Write what one player observes of each of these games (M,)."""
        self._loops.run(
            observe_players,
            len(games),
            self.states,
            games,
            players,
            *self._arena.view.codes,
            self.observation,
        )

    def _take(self, games: torch.Tensor, actions: torch.Tensor) -> None:
        self._loops.run(take_actions, len(games), self.states, games, actions, self.returns)

    def _play(self, games: torch.Tensor) -> None:
        agents = self._arena.agents
        views = [(self._arena.view if agent is None else agent.view).codes for agent in agents]
        kernels = [ASKED if a is None or a.kernel is None else a.kernel for a in agents]
        self._networks = [(a, p) for a, p in self._networks if any(a is b for b in agents)]
        arguments = (
            self.seating,
            self._loops.array(np.array(kernels, np.int64)),
            self._loops.array(np.array(views, np.int64)),
            *self._no_networks,
            self._streams,
            True,  # forced moves are taken
            self._is_followed,
            self._chosen,
            self.returns,
            self.waiting,
            self.observation,
            self.action_mask,
            self._recorded,
        )
        while len(games):
            self._loops.run(advance_to_decision, len(games), self.states, games, *arguments)
            waiting = self.waiting[games]
            counts = torch.bincount(waiting - NOBODY, minlength=len(agents) + 1).tolist()
            _, _, *asked = games[torch.argsort(waiting, stable=True)].split(counts)
            for agent, waiting_games in zip(agents[1:], asked, strict=True):
                if len(waiting_games):
                    self._take(waiting_games, self._choose(agent, waiting_games))
            games = torch.cat(asked) if asked else games[:0]

    def _choose(self, agent: Agent | None, games: torch.Tensor) -> torch.Tensor:
        player = next((p for a, p in self._networks if a is agent), None)
        if player is None:
            if not isinstance(agent, NetworkAgent):
                name = "the caller" if agent is None else agent.name
                raise ValueError(
                    f"device: the opponent {name!r} cannot play on a GPU; policies, random and "
                    "heuristic can"
                )
            player = _Player(agent, self._loops.device)
            self._networks.append((agent, player))
        return player.choose(self.observation[games], self.action_mask[games])

    def to_host(self) -> dict[str, NDArray[Any]]:
        """All that a checkpoint needs of the games; ``restore`` takes it."""
        states = self._loops.to_host(self.states)
        arrays = {"states": np.frombuffer(states.tobytes(), np.uint8)}
        arrays["_streams"] = self._loops.to_host(self._streams)
        for name in ("seating", "waiting", "observation", "action_mask", "returns"):
            arrays[name] = getattr(self, name).cpu().numpy()
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Bring the games to a checkpoint's state."""
        records = self._arena.game.new_states(self.num_games)
        records.view(np.ndarray).view(np.uint8)[:] = arrays["states"]
        self.states = self._loops.array(records)
        self._streams = self._loops.array(arrays["_streams"].copy())
        for name in ("seating", "waiting", "observation", "action_mask", "returns"):
            getattr(self, name).copy_(torch.from_numpy(arrays[name]))


class _Player:
    """A policy agent's network in torch."""

    def __init__(self, agent: NetworkAgent, device: torch.device) -> None:
        network: Network = agent.network
        self._draws = agent.draws
        self._layers = [
            (torch.from_numpy(weight).to(device), torch.from_numpy(bias).to(device))
            for weight, bias in network.layers
        ]
        self._activation = torch.relu if network.activation == "relu" else torch.tanh

    def choose(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Legal actions, int64 (M,)."""
        with torch.no_grad():
            for k, (weight, bias) in enumerate(self._layers):
                inputs = self._activation(observation) if k else observation
                observation = torch.nn.functional.linear(inputs, weight, bias)
            distribution = MaskedCategorical(action_mask.shape[1]).proba_distribution(observation)
            distribution.apply_masking(action_mask)
            return distribution.sample() if self._draws else distribution.mode()
