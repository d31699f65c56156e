"""The rollout buffer on the learner's device: nothing of a rollout leaves it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples


class DeviceRolloutBuffer(MaskableRolloutBuffer):
    """A MaskableRolloutBuffer of tensors on the learner's device.

    Returns and advantages are those of SB3. Minibatches are drawn with torch's generator. Only
    ``values`` and ``returns`` are copied to the CPU, once a rollout: SB3 logs there how well the
    one explains the other.
    """

    def reset(self) -> None:
        """Begin a new rollout; the memory of the last one is used again."""
        if not hasattr(self, "_rows"):
            actions: Any = self.action_space
            steps = (self.buffer_size, self.n_envs)
            self._observations = self._zeros(*steps, *self.obs_shape)
            self._masks = self._zeros(*steps, int(actions.n), dtype=torch.bool)
            self._actions = self._zeros(*steps, dtype=torch.int64)
            self._rows = {
                name: self._zeros(*steps)
                for name in ("rewards", "starts", "values", "log_probs", "advantages", "returns")
            }
        self.pos = 0
        self.full = False

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def add(self, *args: Any, action_masks: Any = None, **kwargs: Any) -> None:
        """Keep a whole step, as MaskableRolloutBuffer does; arrays or tensors."""
        observation, actions, rewards, starts, values, log_probs = map(torch.as_tensor, args)
        self._observations[self.pos] = observation.to(self.device)
        self._masks[self.pos] = torch.as_tensor(action_masks).to(self.device) != 0
        self._actions[self.pos] = actions.to(self.device).flatten()
        step = {"rewards": rewards, "starts": starts, "values": values, "log_probs": log_probs}
        for name, tensor in step.items():
            self._rows[name][self.pos] = tensor.to(self.device).flatten()
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: Any) -> None:
        """Returns and advantages, given the values (N, 1) and dones (N,) after the last step."""
        rows = self._rows
        following = last_values.detach().flatten()
        goes_on = 1.0 - torch.as_tensor(dones).to(self.device).float()
        advantage = torch.zeros_like(following)
        for step in reversed(range(self.buffer_size)):
            error = rows["rewards"][step] + self.gamma * following * goes_on - rows["values"][step]
            advantage = error + self.gamma * self.gae_lambda * goes_on * advantage
            rows["advantages"][step] = advantage
            following, goes_on = rows["values"][step], 1.0 - rows["starts"][step]
        torch.add(rows["advantages"], rows["values"], out=rows["returns"])
        self.values, self.returns = (rows[k].cpu().numpy() for k in ("values", "returns"))

    def get(self, batch_size: int | None = None) -> Generator[Any, None, None]:
        """Minibatches of the whole rollout, in random order."""
        assert self.full
        size = self.buffer_size * self.n_envs
        rows = [self._rows[k] for k in ("values", "log_probs", "advantages", "returns")]
        tensors = [self._observations, self._actions, *rows, self._masks]
        flat = [tensor.flatten(0, 1) for tensor in tensors]
        for chosen in torch.randperm(size, device=self.device).split(batch_size or size):
            yield MaskableRolloutBufferSamples(*(tensor[chosen] for tensor in flat))
