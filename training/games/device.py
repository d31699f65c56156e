"""``DeviceGames``: the learner's games where its networks are computed, without a copy in between.

On a GPU nothing waits for the CPU within a rollout: kernels decide, make forced moves, ask scripted
opponents, reset and observe; networks choose by torch. On a CPU, which stands for a GPU in tests,
the same kernels work on the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from card_envs.agents import NetworkAgent
from card_envs.contract.game import Game
from card_envs.engine.seeds import next_seeds
from card_envs.engine.templates import (
    ASKED,
    NOBODY,
    compile_for,
    decide_and_restart,
    observe_games,
    reset_games,
    write_states,
)
from card_envs.envs.learner_games import TRIES, stuck
from training.games.base import Games
from training.networks.legal_actions import ILLEGAL, drawn


class OnCpu:
    """Arrays of the kernels, and torch's view of them, on a CPU."""

    device = torch.device("cpu")

    def run(self, game: Game, template: Callable[..., None], count: int, *arguments: Any) -> None:
        """Run a loop over this many games."""
        compile_for(game, template)(*arguments)

    def put(self, array: NDArray[Any]) -> Any:
        """A copy for the kernels; a matrix is in Fortran order."""
        return np.array(array, order="F", subok=True)

    def tensor(self, array: Any) -> torch.Tensor:
        """A tensor of the same memory."""
        return torch.as_tensor(array, device=self.device)

    def host(self, array: Any) -> NDArray[Any]:
        """A copy on the CPU."""
        return np.array(array)


class OnGpu(OnCpu):
    """The same on a GPU, one thread for each game."""

    device = torch.device("cuda")

    def __init__(self) -> None:
        from card_envs.engine import cuda_jit  # needs the extra cuda

        cuda_jit.check_gpu()
        self._jit = cuda_jit

    def run(self, game: Game, template: Callable[..., None], count: int, *arguments: Any) -> None:
        """Run a loop over this many games."""
        self._jit.compile_for_gpu(game, template)(count, *arguments)

    def put(self, array: NDArray[Any]) -> Any:
        """A copy for the kernels; a matrix is in Fortran order."""
        return self._jit.cuda.to_device(super().put(array))

    def host(self, array: Any) -> NDArray[Any]:
        """A copy on the CPU."""
        copy: NDArray[Any] = array.copy_to_host()
        return copy


class DeviceGames(Games):
    """``num_envs`` games that all wait for a network's decision, the learner's or a snapshot's.

    Every step is one such decision in every game. Games, seeds and tables are those of
    ``HostGames``; where the learner holds all seats, the same actions make the same games.

    Args:
        place: Where arrays are.
        game: The game.
        *arguments, **more: Those of :class:`Games`.

    Attributes:
        observation: uint8 (N, D), in units of ``scale``, of the player to move.
        state: uint8 (N, S), the full state as that player's critic sees it; S is 0 without one.
        scale: float32 (D + S,), what units are divided by.
        action_mask: int8 (N, A).
        players: int64 (N,), the player to move.
        waiting: int64 (N,), which agent that is.
        rewards: float64 (N, P), what each seat has got in the last step, until its game ended.
        ended, cut: bool (N,), whether the last step ended a game, and whether by truncation.
    """

    def __init__(self, place: OnCpu, game: Game, *arguments: Any, **more: Any) -> None:
        super().__init__(game, *arguments, **more)
        self._place_for_arrays = place
        count, seats = len(self.all), game.max_players
        self._encoded = game.encode_options(self.options)
        fields = [game.fields, game.state_fields] if self.with_state else [game.fields]
        self.scale = torch.from_numpy(np.concatenate([f.scale for f in fields])).to(place.device)
        self._arrays: dict[str, Any] = {
            "indices": place.put(self.all),
            "states": place.put(game.new_states(count)),
            "streams": place.put(np.zeros(count, np.uint64)),
        }
        self._tensors: dict[str, torch.Tensor] = {}
        for name, shape, dtype in (
            ("tables", (count, seats), np.int64),
            ("num_players", (count,), np.int64),
            ("is_present", (count,), np.bool_),
            ("seating", (count, seats), np.int64),
            ("actions", (count,), np.int64),
            ("rewards", (count, seats), np.float64),
            ("ended", (count,), np.bool_),
            ("cut", (count,), np.bool_),
            ("waiting", (count,), np.int64),
            ("players", (count,), np.int64),
            ("observation", (count, game.fields.size), np.uint8),
            ("action_mask", (count, game.num_actions), np.int8),
            *([("state", (count, game.state_fields.size), np.uint8)] if self.with_state else []),
        ):
            self._arrays[name] = place.put(np.zeros(shape, dtype))
            self._tensors[name] = place.tensor(self._arrays[name])
        own = self._tensors
        own["is_present"].fill_(True)
        self.observation, self.action_mask = own["observation"], own["action_mask"]
        self.state = own["state"] if self.with_state else self.observation[:, :0]
        self.players, self.waiting = own["players"], own["waiting"]
        self.rewards, self.ended, self.cut = own["rewards"], own["ended"], own["cut"]
        self._asked: list[tuple[torch.Tensor, int, NetworkAgent, list[Any]]] = []

    @property
    def seating(self) -> NDArray[np.int64]:
        """int64 (N, P), which of the agents holds each seat now."""
        seating: NDArray[np.int64] = self._tensors["seating"].cpu().numpy()
        return seating

    def _start_all(self) -> None:
        self._tensors["seating"].copy_(self._tensors["tables"])
        self._tensors["is_present"].fill_(True)
        seeds, streams = map(self._place_for_arrays.put, (self._seeds, next_seeds(self._seeds)))
        self._run(reset_games, "states", "indices", seeds, "num_players", self._encoded)
        self._arrays["streams"] = streams
        self._tensors["actions"].fill_(-1)
        self._advance()
        self.check()

    def redraw(self) -> None:
        """Draw new tables for the blocks of which all games play their present one."""
        if self.tables.blocks:
            self.tables.is_present[:] = self._tensors["is_present"].cpu().numpy()
        super().redraw()
        self._send_tables()

    def _send_tables(self) -> None:
        """Copy the tables to the device, and find out whom to ask where."""
        for name, array in (
            ("tables", self.tables.seating),
            ("num_players", self.tables.num_players),
            ("is_present", self.tables.is_present),
        ):
            self._tensors[name].copy_(torch.from_numpy(array))
        self._find_whom_to_ask()

    def _find_whom_to_ask(self) -> None:
        """Each network among the opponents with the games that it sits in, now or after a reset."""
        seated = np.hstack([self.seating, self.tables.seating])
        device = self._place_for_arrays.device
        kernels = [ASKED if agent is None else agent.kernel or ASKED for agent in self.agents]
        self._arrays["kernels"] = self._place_for_arrays.put(np.array(kernels))
        self._asked = []
        for k, agent in enumerate(self.agents):
            games = np.flatnonzero((seated == k).any(axis=1))
            if isinstance(agent, NetworkAgent) and len(games):
                layers = [
                    (torch.from_numpy(weight).to(device), torch.from_numpy(bias).to(device))
                    for weight, bias in agent.network.layers
                ]
                self._asked.append((torch.from_numpy(games).to(device), k, agent, layers))

    def follow(self, policy: Any) -> None:
        """The learner's policy has changed: what stands for the pool changes with it."""
        super().follow(policy)
        if self._has_pool and not self.pool:
            self._find_whom_to_ask()

    def step(self, actions: torch.Tensor, generator: torch.Generator) -> None:
        """Take a decision in every game: the learner's, int64 (N,), or an opponent's, for which the
        generator draws."""
        chosen = self._tensors["actions"]
        chosen.copy_(actions)
        for games, k, agent, layers in self._asked:
            theirs = self._choose(games, agent, layers, generator)
            chosen[games] = torch.where(self.waiting[games] == k, theirs, chosen[games])
        self._advance()

    def _advance(self) -> None:
        tables = "tables", "num_players", "is_present", "seating"
        how = "kernels", self._encoded, "streams", TRIES
        found = "rewards", "ended", "cut", "waiting", "players", "action_mask"
        self._run(decide_and_restart, "states", "actions", *tables, *how, *found)
        self._run(observe_games, "states", *self.view.codes, "observation", "action_mask")
        if self.with_state:
            self._run(write_states, "states", "indices", "players", "state")

    def _run(self, template: Callable[..., None], *arguments: Any) -> None:
        """Run a loop over all games; arrays are given by their names."""
        given = (self._arrays[each] if isinstance(each, str) else each for each in arguments)
        self._place_for_arrays.run(self.game, template, len(self.all), *given)

    def _choose(
        self,
        games: torch.Tensor,
        agent: NetworkAgent,
        layers: list[Any],
        generator: torch.Generator,
    ) -> torch.Tensor:
        """What a network does in some games, int64 (M,)."""
        x = self.observation[games] / self.scale[: self.observation.shape[1]]
        activation = torch.relu if agent.network.activation == "relu" else torch.tanh
        for weight, bias in layers[:-1]:
            x = activation(torch.addmm(bias, x, weight.t()))
        weight, bias = layers[-1]
        logits = torch.addmm(bias, x, weight.t())
        logits = logits.masked_fill(self.action_mask[games] == 0, ILLEGAL)
        if not agent.draws:
            return logits.argmax(dim=1)
        numbers = torch.rand(len(games), generator=generator, device=logits.device)
        return drawn(torch.softmax(logits, dim=1), numbers)[:, 0]

    def check(self) -> None:
        """Wait for the device; ValueError if a game found nobody to ask."""
        if (self.waiting == NOBODY).any():
            raise stuck(self.options, forfeits=False)

    def arrays(self) -> dict[str, Any]:
        """The tables, the snapshots and the next seeds, for a checkpoint: a run that is resumed
        begins new games, since what they hold would make a large file."""
        seeds = self._place_for_arrays.host(self._arrays["states"])["seed"]
        return {"seeds": next_seeds(np.ascontiguousarray(seeds)), **super().arrays()}

    def restore(self, arrays: dict[str, Any], activation: str) -> None:
        """Bring tables and snapshots to what :meth:`arrays` gave, and begin other games."""
        super().restore(arrays, activation)
        self._seeds[:] = arrays["seeds"]
        self.tables.is_present[:] = True
        self._send_tables()
        self._start_all()
