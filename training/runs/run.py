"""A training run: its configuration and its folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from card_envs.agents import NetworkAgent
from training.runs.config import Config, load_config
from training.runs.run_folder import RunFolder, load_resumed


@dataclass(frozen=True)
class Run(RunFolder[Config]):
    """A training run; :meth:`open` and :meth:`reopen` make one."""

    LENGTH = "decisions"

    @classmethod
    def open(cls, config: Config, folder: Path) -> Run:
        """Resolve a configuration; nothing is written.

        Args:
            config: The configuration.
            folder: The run's folder.

        Raises:
            ValueError: There is no such agent, or the imitated one's weights cannot be copied.
        """
        imitated = [config.imitation.agent] if config.imitation.decisions else []
        run = cls._resolve(config, folder, imitated)
        run._check_imitation()
        run._check_memory()
        return run

    @classmethod
    def reopen(cls, folder: Path, overrides: Sequence[str] = ()) -> Run:
        """The run in a folder, perhaps with more decisions.

        The learning rate then decays again over what is left.

        Args:
            folder: The folder.
            overrides: ``decisions=N`` or nothing.

        Raises:
            ValueError: The folder holds no run, something other than more decisions is asked for,
                or as for :meth:`open`.
        """
        return cls.open(load_resumed(load_config, folder, overrides, cls.LENGTH), folder)

    def _check_memory(self) -> None:
        """What the rollout and the networks take at least must fit into the machine's memory."""
        if not hasattr(os, "sysconf"):
            return
        config, game = self.config, self.game
        values = game.fields.size + game.num_actions
        inputs = game.fields.size
        if config.network.critic != "observation":
            values += game.state_fields.size
            inputs += game.state_fields.size
        # Sparse rows take 8 bytes for a value that is not 0, which about an eighth are.
        rollout = values * config.environment.num_envs * config.ppo.n_steps
        sizes = [inputs, *config.network.hidden, game.num_actions]
        weights = 4 * 4 * 2 * sum(a * b for a, b in pairwise(sizes))  # with gradient and moments
        needed, there = rollout + weights, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > there:
            raise ValueError(
                f"environment.num_envs, ppo.n_steps and network.hidden need {needed / 2**30:,.0f} "
                f"GiB of memory at least, this machine has {there / 2**30:,.0f}"
            )

    def _check_imitation(self) -> None:
        imitation, network = self.config.imitation, self.config.network
        if not imitation.decisions:
            return
        agent = self.agents[imitation.agent]
        if not isinstance(agent, NetworkAgent):
            for key, default in (("copy_weights", False), ("temperature", 1.0)):
                if getattr(imitation, key) != default:
                    raise ValueError(f"imitation.{key}: {imitation.agent!r} is not a policy")
            return
        if not imitation.copy_weights:
            return
        sizes = [len(bias) for _, bias in agent.network.layers[:-1]]
        hidden = network.hidden
        if (
            len(sizes) != len(hidden)
            or any(size > room for size, room in zip(sizes, hidden, strict=True))
            or agent.network.activation != network.activation
        ):
            raise ValueError(
                f"imitation.copy_weights: network.hidden {list(hidden)} with {network.activation} "
                f"has no room for {imitation.agent!r}, which has hidden layers of {sizes} with "
                f"{agent.network.activation}; false imitates it instead"
            )
        if agent.view != self.view:
            raise ValueError(
                f"imitation.copy_weights: {imitation.agent!r} observes with {agent.view}, the "
                f"learner with {self.view}; false imitates it instead"
            )
