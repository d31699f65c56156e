"""Self-play on a device: what the learner sees and gets are tensors that stay there."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from card_envs.engine.templates import play_out, write_states
from training.device_arena import DeviceArena
from training.device_loops import DeviceLoops, device_of
from training.run import Run
from training.run_folder import RunFolder
from training.selfplay import SelfPlayGames, SelfPlayVecEnv, critic_inputs


class DeviceSelfPlayGames(SelfPlayGames):
    """``SelfPlayGames`` on a device. Who sits where is drawn as on a CPU, and copied there.

    Args:
        run: The run.
        truncation: As for ``SelfPlayGames``.
        device: The device, as torch calls it.

    Raises:
        ValueError, MissingExtraError: As for ``DeviceLoops``.
    """

    def __init__(self, run: RunFolder[Any], truncation: str, device: str) -> None:
        super().__init__(run, truncation)
        self.loops = DeviceLoops(self.game, device)
        self.on_device = DeviceArena(self.arena, self.loops, self.num_envs)
        #: The learner's seat in each game (N,), on the device.
        self.seats = self.loops.tensor(self.learner_seats.copy())

    def _start(
        self,
        indices: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        num_players: NDArray[np.int64],
        seating: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        self.seats[self.loops.tensor(indices)] = self.loops.tensor(self.learner_seats[indices])
        return self.on_device.start(indices, seeds, num_players, seating)

    def step(self, actions: Any, indices: Any = None) -> tuple[Any, Any, Any]:
        """Take the learner's legal actions, int64 (N,) on the device, in all games.

        Returns:
            rewards, terminated, truncated: float32 (N,) and bool (N,), on the device.
        """
        arena = self.on_device
        arena.returns.zero_()
        terminated, truncated = arena.act(actions)
        rewards = arena.returns.gather(1, self.seats[:, None]).squeeze(1)
        if self._forgets_standing:
            rewards = rewards.masked_fill(truncated, 0.0)
        rewards += self._truncation_reward * truncated
        return rewards.float(), terminated, truncated

    def running(self) -> dict[str, NDArray[Any]]:
        """The games that are being played, for a checkpoint."""
        return {f"arena.{name}": array for name, array in self.on_device.to_host().items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Bring the games to what ``running`` gave, and the learner's seats."""
        prefix = "arena."
        own = {name.removeprefix(prefix): array for name, array in arrays.items()}
        self.on_device.restore(own)
        self.seats.copy_(torch.from_numpy(self.learner_seats))


class DeviceVecEnv(SelfPlayVecEnv):
    """``DeviceSelfPlayGames`` for the learner, as tensors, with what the critic sees besides.

    Args:
        games: The games.
        with_state: As for ``SelfPlayVecEnv``.
        with_playout: As for ``SelfPlayVecEnv``.

    Raises:
        ValueError: The critic is to see the full state, and the game does not write it.
    """

    games: DeviceSelfPlayGames

    def __init__(
        self, games: DeviceSelfPlayGames, *, with_state: bool = False, with_playout: bool = False
    ) -> None:
        game = games.game
        if with_state and game.write_state is None:
            raise ValueError(
                f"network.critic: {game.id} does not write its full state, which device: cuda needs"
            )
        super().__init__(games, with_state=with_state, with_playout=with_playout)
        self._rooms = games.loops.new_states(games.num_envs if with_playout else 1)

    def _observe(self, indices: Any) -> Any:
        games, loops = self.games, self.games.loops
        if isinstance(indices, np.ndarray):
            indices = loops.tensor(indices)
        states, players = games.on_device.states, games.seats[indices]
        seen = [games.on_device.observation[indices]]
        if self._with_state:
            seen.append(self._new(len(indices), games.game.state_fields.size))
            loops.run(write_states, len(indices), states, indices, players, seen[-1])
        if self._play_out is not None:
            out = self._new(len(indices))
            loops.run(play_out, len(indices), states, indices, players, self._rooms, out)
            seen.append(out[:, None])
        return torch.cat(seen, dim=1)

    def _new(self, *shape: int) -> torch.Tensor:
        return torch.zeros(shape, device=self.games.loops.device)

    def step_on_device(self, actions: Any) -> Any:
        """Take the learner's actions, int64 (N,); finished games are reset in the same step.

        Returns:
            The observations (N, inputs), rewards and dones (N,); and the truncated games whose
            value is to be bootstrapped (M,) with their last observations (M, inputs).
        """
        games = self.games
        rewards, terminated, truncated = games.step(actions)
        cut = truncated.nonzero().squeeze(1) if games.is_bootstrapped else truncated[:0].long()
        if len(cut):
            games.on_device.observe(cut, games.seats[cut])
        last = self._observe(cut)
        dones = terminated | truncated
        ended = dones.nonzero().squeeze(1).cpu().numpy()
        if len(ended):
            games.reset_next(ended)
        return self._observe(games.all), rewards, dones, (cut, last)


def make_device_env(run: Run) -> DeviceVecEnv:
    """The games that a run's configuration describes, on its device.

    Raises:
        ValueError, MissingExtraError: The device is not available.
    """
    config = run.config
    games = DeviceSelfPlayGames(run, config.truncation, device_of(config))
    return DeviceVecEnv(games, **critic_inputs(config.network))
