"""The learner: MaskablePPO with the policy and the hyperparameters of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import get_device, obs_as_tensor
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from card_envs.contract.game import Game
from training.config import Config
from training.device_loops import device_of, has_games_on_device
from training.device_rollouts import DeviceRolloutBuffer
from training.device_selfplay import DeviceVecEnv
from training.policy import AsymmetricPolicy, Regularization
from training.rollouts import SparseRolloutBuffer
from training.run import Run
from training.selfplay import SelfPlayVecEnv
from training.sparse import SparseRows

# In place: the layers before need nothing of their outputs for the gradient.
ACTIVATIONS = {"relu": partial(nn.ReLU, inplace=True), "tanh": nn.Tanh}
# As MaskablePPO has it, in one pass over the weights.
_ADAM = {"eps": 1e-5, "fused": True}


class Learner(MaskablePPO):
    """MaskablePPO with rollouts of sparse rows, and perhaps an average of its policy's weights.

    The average is an exponential moving one. Gradients are mostly noise once a policy is strong:
    the average is stronger than the weights.

    Args:
        *args: As for MaskablePPO.
        ema_decay: The average's decay at each update; 0: there is no average.
        entropy_weight: The weight of the entropy in the loss, given the share of the training that
            is left.
        kl_coef: Weight in the loss of the KL divergence from the anchor, another such average; 0:
            there is none. SB3's ``entropy_loss`` is then the sum of both terms.
        kl_decay: The anchor's decay at each update.
        **kwargs: As for MaskablePPO.
    """

    def __init__(
        self,
        *args: Any,
        ema_decay: float,
        entropy_weight: Callable[[float], float],
        kl_coef: float,
        kl_decay: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._entropy_weight = entropy_weight
        self._kl_coef = kl_coef
        #: The moving averages, by name: ``average`` and ``anchor``.
        self.averages = {
            name: AveragedModel(self.policy, multi_avg_fn=get_ema_multi_avg_fn(decay))
            for name, decay, is_wanted in (
                ("average", ema_decay, ema_decay),
                ("anchor", kl_decay, kl_coef),
            )
            if is_wanted
        }

    def collect_rollouts(
        self,
        env: Any,
        callback: BaseCallback,
        rollout_buffer: Any,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """As MaskablePPO does; sparse rows are made once, for the networks and for the buffer.

        On a device nothing leaves it but the numbers of games that are over.
        """
        if isinstance(rollout_buffer, DeviceRolloutBuffer):
            return self._collect_on_device(env, callback, rollout_buffer, n_rollout_steps)
        if not isinstance(rollout_buffer, SparseRolloutBuffer):
            return super().collect_rollouts(
                env, callback, rollout_buffer, n_rollout_steps, use_masking
            )
        policy: Any = self.policy
        policy.set_training_mode(False)
        rollout_buffer.reset()
        callback.on_rollout_start()
        for _ in range(n_rollout_steps):
            last_obs: Any = self._last_obs
            seen = rollout_buffer.observe(last_obs, env.games.arena.action_mask)
            tensors, values, log_probs = policy.act(*seen)
            actions = tensors.numpy()
            new_obs, rewards, dones, infos = env.step(actions)
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            ended = np.flatnonzero(dones)
            self._update_info_buffer([infos[i] for i in ended], dones[ended])
            for i in ended:
                if infos[i].get("TimeLimit.truncated", False):
                    last = infos[i]["terminal_observation"]
                    rewards[i] += self.gamma * float(self.values(last[None]))
            starts: Any = self._last_episode_starts
            rollout_buffer.add_step(actions, rewards, starts, values, log_probs)
            self._last_obs, self._last_episode_starts = new_obs, dones
        rollout_buffer.compute_returns_and_advantage(self.values(new_obs), dones)
        callback.on_rollout_end()
        return True

    def _collect_on_device(
        self,
        env: DeviceVecEnv,
        callback: BaseCallback,
        buffer: DeviceRolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        policy: Any = self.policy
        policy.set_training_mode(False)
        buffer.reset()
        callback.on_rollout_start()
        observation: Any = self._last_obs
        starts: Any = self._last_episode_starts
        for _ in range(n_rollout_steps):
            action_masks = env.games.on_device.action_mask.clone()
            with torch.no_grad():
                actions, values, log_probs = policy(observation, action_masks=action_masks)
            following, rewards, dones, (cut, last) = env.step_on_device(actions)
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            if len(cut):
                rewards[cut] += self.gamma * self.values(last).flatten()
            step = observation, actions, rewards, starts, values, log_probs
            buffer.add(*step, action_masks=action_masks)
            observation, starts = following, dones
            self._last_obs, self._last_episode_starts = observation, starts
        buffer.compute_returns_and_advantage(self.values(observation), starts)
        callback.on_rollout_end()
        return True

    def resume_from(self, observation: NDArray[Any], episode_starts: NDArray[Any]) -> None:
        """Go on from what the last step of a checkpoint gave."""
        last: Any = observation, episode_starts
        if isinstance(self.rollout_buffer, DeviceRolloutBuffer):
            last = tuple(torch.from_numpy(array).to(self.device) for array in last)
        self._last_obs, self._last_episode_starts = last

    def values(self, observation: NDArray[np.float32] | torch.Tensor) -> torch.Tensor:
        """The values (N, 1) of what the critic sees (N, inputs)."""
        policy: Any = self.policy
        inputs: Any = observation
        if isinstance(self.rollout_buffer, SparseRolloutBuffer):
            inputs = SparseRows.of(inputs)
        elif not isinstance(inputs, torch.Tensor):
            inputs = obs_as_tensor(inputs, self.device)
        with torch.no_grad():
            values: torch.Tensor = policy.predict_values(inputs)
        return values

    def train(self) -> None:
        """One update, the averages' included."""
        policy: Any = self.policy
        self.ent_coef = self._entropy_weight(self._current_progress_remaining)
        anchor = self.averages.get("anchor")
        if anchor is not None:
            if not anchor.n_averaged:  # what training begins with
                anchor.update_parameters(self.policy)
            module: Any = anchor.module
            policy.regularization = Regularization(module, self.ent_coef, self._kl_coef)
            self.ent_coef = 1.0  # the policy weights both terms
        super().train()
        for average in self.averages.values():
            average.update_parameters(self.policy)

    @property
    def best_policy(self) -> Any:
        """The average, or the policy itself where there is none yet."""
        average = self.averages.get("average")
        return self.policy if average is None or not average.n_averaged else average.module


# What torch decides, whatever a run of this process has set.
_DEFAULT_THREADS = torch.get_num_threads()


def use_threads(threads: int | None) -> None:
    """Set torch's CPU threads; None: as many as torch decided at the start."""
    torch.set_num_threads(threads or _DEFAULT_THREADS)


def linear_schedule(start: float, final: float | None) -> Callable[[float], float]:
    """A value that goes linearly from one to another with the share of the training that is left.

    Args:
        start: At the start.
        final: At the end; None: it stays the same.
    """
    if final is None:
        return lambda remaining: start
    # The last iteration goes beyond the end, where the line may be below 0.
    return lambda remaining: max(final + (start - final) * remaining, 0.0)


def ppo_arguments(config: Config) -> dict[str, Any]:
    """MaskablePPO's arguments but policy and environment, from a run's configuration."""
    ppo = config.ppo
    return {
        "learning_rate": linear_schedule(ppo.learning_rate, ppo.final_learning_rate),
        "n_steps": ppo.n_steps,
        "batch_size": ppo.batch_size,
        "n_epochs": ppo.n_epochs,
        "gamma": ppo.gamma,
        "gae_lambda": ppo.gae_lambda,
        "clip_range": ppo.clip_range,
        "vf_coef": ppo.vf_coef,
        "max_grad_norm": ppo.max_grad_norm,
        "target_kl": ppo.target_kl,
        "seed": config.seed,
        "device": device_of(config),
    }


def rollout_buffer_class(config: Config) -> type[MaskableRolloutBuffer] | None:
    """The buffer of a run; None: SB3's own, of dense rows.

    A GPU takes dense rows, and so does a network without hidden layers: it has no input layer.
    """
    if has_games_on_device(config):
        return DeviceRolloutBuffer
    is_sparse = get_device(config.device).type == "cpu" and config.network.hidden
    return SparseRolloutBuffer if is_sparse else None


def make_learner(run: Run, env: SelfPlayVecEnv) -> Learner:
    """The learner that a run's configuration describes.

    Args:
        run: The run.
        env: Its games.

    Raises:
        ValueError: Its device is not available.
    """
    config, game = run.config, run.game
    by_features = config.network.logits == "features"
    policy_kwargs = {
        "observed": game.fields.size,
        "critic_observes": config.network.critic == "observation",
        "hidden": list(config.network.hidden),
        "ablated": _values_of(game, config.network.ablated_fields),
        "action_features": game.action_features if by_features else None,
        "activation_fn": ACTIVATIONS[config.network.activation],
        "optimizer_kwargs": _ADAM,
    }
    return Learner(
        AsymmetricPolicy,
        env,
        rollout_buffer_class=rollout_buffer_class(config),
        policy_kwargs=policy_kwargs,
        ema_decay=config.ema_decay,
        entropy_weight=linear_schedule(config.ppo.ent_coef, config.ppo.final_ent_coef),
        kl_coef=config.ppo.kl_coef,
        kl_decay=config.ppo.kl_decay,
        **ppo_arguments(config),
    )


def _values_of(game: Game, fields: Sequence[str]) -> NDArray[np.bool_]:
    """Which of an observation's values belong to the fields."""
    values = np.zeros(game.fields.size, np.float32)
    for name in fields:
        game.fields.unflatten(values)[name][...] = 1.0
    return values > 0
