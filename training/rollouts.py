"""The rollout buffer, whose layout needs no copy: sparse rows, in the order they come."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples

from training.sparse import SparseRows, SparseRowsBuffer


class SparseRolloutBuffer(MaskableRolloutBuffer):
    """A MaskableRolloutBuffer of sparse rows, on a CPU.

    ``observations`` and ``action_masks`` of its samples are ``SparseRows``. Everything else, the
    advantages above all, is SB3's own.
    """

    def reset(self) -> None:
        """Begin a new rollout; the memory of the last one is used again."""
        actions: Any = self.action_space
        if not hasattr(self, "_inputs"):
            size = self.buffer_size * self.n_envs
            self._inputs = SparseRowsBuffer(size, *self.obs_shape)
            self._legal = SparseRowsBuffer(size, int(actions.n))
            shape = self.buffer_size, self.n_envs
            self.actions = np.zeros(shape, np.int64)
            for name in ("rewards", "returns", "advantages"):
                setattr(self, name, np.zeros(shape, np.float32))
            for name in ("episode_starts", "values", "log_probs"):
                setattr(self, name, np.zeros(shape, np.float32))
        self._inputs.clear()
        self._legal.clear()
        self.pos = 0
        self.full = False

    def observe(
        self, observations: NDArray[Any], action_masks: NDArray[Any]
    ) -> tuple[SparseRows, SparseRows]:
        """Keep the observations (N, D) and masks (N, A) of the next step, and return them.

        What else belongs to the step is for :meth:`add_step`.
        """
        return self._inputs.append(observations), self._legal.append(action_masks)

    def add_step(
        self,
        actions: NDArray[np.int64],
        rewards: NDArray[np.float32],
        episode_starts: NDArray[Any],
        values: torch.Tensor,
        log_probs: torch.Tensor,
    ) -> None:
        """Keep the rest of a step: all (N,), as for MaskableRolloutBuffer."""
        self.actions[self.pos] = actions
        self.rewards[self.pos] = rewards
        self.episode_starts[self.pos] = episode_starts
        self.values[self.pos] = values.numpy().ravel()
        self.log_probs[self.pos] = log_probs.numpy()
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def add(self, *args: Any, action_masks: Any = None, **kwargs: Any) -> None:
        """Keep a whole step, as MaskableRolloutBuffer does."""
        observation, action, *rest = args
        self.observe(observation, action_masks)
        self.add_step(action.ravel(), *rest, **kwargs)

    def get(self, batch_size: int | None = None) -> Generator[Any, None, None]:
        """Minibatches of the whole rollout, in random order."""
        assert self.full
        samples: Any = MaskableRolloutBufferSamples  # but with sparse rows
        size = self.buffer_size * self.n_envs
        indices = np.random.permutation(size)  # noqa: NPY002 (SB3's generator)
        inputs, legal = self._inputs.rows, self._legal.rows
        rest = [
            torch.from_numpy(array.ravel())
            for array in (self.actions, self.values, self.log_probs, self.advantages, self.returns)
        ]
        for start in range(0, size, batch_size or size):
            batch = indices[start : start + (batch_size or size)]
            chosen = torch.from_numpy(batch)
            yield samples(inputs.take(batch), *(array[chosen] for array in rest), legal.take(batch))
