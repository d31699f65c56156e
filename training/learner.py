"""The learner: MaskablePPO with the policy and the hyperparameters of a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from card_envs.engine.game import Game
from training.config import Config
from training.policy import AsymmetricPolicy
from training.run import Run
from training.selfplay import SelfPlayVecEnv

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


class Learner(MaskablePPO):
    """MaskablePPO that may keep an exponential moving average of its policy's weights.

    Gradients are mostly noise once a policy is strong; the average is stronger than the weights.

    Args:
        *args: As for MaskablePPO.
        ema_decay: The average's decay at each update; 0: there is no average.
        **kwargs: As for MaskablePPO.
    """

    def __init__(self, *args: Any, ema_decay: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.average: AveragedModel | None = None
        if ema_decay:
            self.average = AveragedModel(self.policy, multi_avg_fn=get_ema_multi_avg_fn(ema_decay))

    def train(self) -> None:
        """One update, the average's included."""
        super().train()
        if self.average is not None:
            self.average.update_parameters(self.policy)

    @property
    def best_policy(self) -> Any:
        """The average, or the policy itself where there is none yet."""
        if self.average is None or not self.average.n_averaged:
            return self.policy
        return self.average.module


def ppo_arguments(config: Config) -> dict[str, Any]:
    """MaskablePPO's arguments but policy and environment, from a run's configuration."""
    ppo = config.ppo
    start, final = ppo.learning_rate, ppo.final_learning_rate

    def falling_rate(remaining: float) -> float:
        return start if final is None else final + (start - final) * remaining

    return {
        "learning_rate": falling_rate,
        "n_steps": ppo.n_steps,
        "batch_size": ppo.batch_size,
        "n_epochs": ppo.n_epochs,
        "gamma": ppo.gamma,
        "gae_lambda": ppo.gae_lambda,
        "clip_range": ppo.clip_range,
        "ent_coef": ppo.ent_coef,
        "vf_coef": ppo.vf_coef,
        "max_grad_norm": ppo.max_grad_norm,
        "target_kl": ppo.target_kl,
        "seed": config.seed,
        "device": config.device,
    }


def make_learner(run: Run, env: SelfPlayVecEnv) -> Learner:
    """The learner that a run's configuration describes.

    Args:
        run: The run.
        env: Its games.

    Raises:
        ValueError: Its device is not available.
    """
    config, game = run.config, run.game
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: there is no GPU that torch can use; take auto or cpu")
    by_features = config.network.logits == "features"
    policy_kwargs = {
        "observed": game.fields.size,
        "critic_observes": config.network.critic == "observation",
        "hidden": list(config.network.hidden),
        "ablated": _values_of(game, config.network.ablated_fields),
        "action_features": game.action_features if by_features else None,
        "activation_fn": ACTIVATIONS[config.network.activation],
    }
    return Learner(
        AsymmetricPolicy,
        env,
        policy_kwargs=policy_kwargs,
        ema_decay=config.ema_decay,
        **ppo_arguments(config),
    )


def _values_of(game: Game, fields: Sequence[str]) -> NDArray[np.bool_]:
    """Which of an observation's values belong to the fields."""
    values = np.zeros(game.fields.size, np.float32)
    for name in fields:
        game.fields.unflatten(values)[name][...] = 1.0
    return values > 0
