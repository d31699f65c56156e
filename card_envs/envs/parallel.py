"""``ParallelCardEnv``: every game in PettingZoo's parallel API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pettingzoo.utils.env_logger import EnvLogger

from card_envs.contract.game import repr_of
from card_envs.envs.aec import CardEnv
from card_envs.envs.observation_space import Observation
from card_envs.envs.ongoing_game import copied
from card_envs.utils.portable import Undivided

if TYPE_CHECKING:
    from card_envs.envs.aec_types import turn_based_aec_to_parallel_wrapper
else:
    from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper


class ParallelCardEnv(Undivided, turn_based_aec_to_parallel_wrapper[str, Observation, int]):
    """A card game as a parallel environment, for tools that need this API.

    One agent is to move at a time: ``infos[agent]["active_agent"]``, the same for all agents until
    the game is over. A step takes that agent's action; actions of others are ignored and may be
    left out. Their masks are all 0. Every agent gets an observation, a reward and an info at every
    step.

    This is PettingZoo's ``turn_based_aec_to_parallel``, except that ``reset`` too names the active
    agent, that infos do not change after they were returned, and that a step after the end returns
    five empty dicts.

    Args:
        game: The game's id or versioned name.
        **options: The arguments of the ``CardEnv`` that it wraps (``unwrapped``).

    Raises:
        ValueError, TypeError: As for ``CardEnv``.
    """

    aec_env: CardEnv

    def __init__(self, game: str, **options: Any) -> None:
        super().__init__(CardEnv(game, **options))
        self.metadata = {**self.metadata, "is_parallelizable": True}

    @property
    def agents(self) -> list[str]:
        """The game's agents; [] when it is over."""
        return self.aec_env.agents[:]

    @agents.setter
    def agents(self, agents: list[str]) -> None:
        """Ignored: PettingZoo's class assigns a copy, which would be stale after ``load``."""

    @property
    def possible_agents(self) -> list[str]:
        """The table's agents."""
        return self.aec_env.possible_agents

    @possible_agents.setter
    def possible_agents(self, agents: list[str]) -> None:
        """As for ``agents``."""

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin a new game; see ``CardEnv.reset``.

        Returns:
            Observations and infos of all agents.
        """
        observations, _ = super().reset(seed, options)
        return observations, self._infos()

    def step(
        self, actions: Mapping[str, int | None]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Take the active agent's action.

        Returns:
            Observations, rewards, terminations, truncations and infos of all agents; {} each when
            the game was over before.

        Raises:
            ValueError: The active agent's action is missing, or it is illegal with
                ``on_illegal="raise"``.
            TypeError: The actions are not in a dict.
        """
        env = self.aec_env
        if not hasattr(env, "agents"):
            EnvLogger.error_step_before_reset()
        if not env.agents:
            return {}, {}, {}, {}, {}
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"actions must be a dict such as {{{env.agent_selection!r}: 0}}, got {actions!r}"
            )
        if env.agent_selection not in actions:
            raise ValueError(
                f"{env.agent_selection} is to move, but their action is missing: there are those "
                f"of {', '.join(map(str, actions)) or 'nobody'}"
            )
        env.step(actions[env.agent_selection])
        observations = {agent: env.observe(agent) for agent in env.agents}
        rewards, terminations = {**env.rewards}, {**env.terminations}
        truncations, infos = {**env.truncations}, self._infos()
        while env.agents and (
            env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
        ):
            env.step(None)
        return observations, rewards, terminations, truncations, infos

    def __repr__(self) -> str:
        env = self.aec_env
        return repr_of(self, env.game, env.options, num_players=env.num_players)

    def _repr_svg_(self) -> str | None:
        return self.aec_env._repr_svg_()

    def _infos(self) -> dict[str, dict[str, Any]]:
        env = self.aec_env
        is_over = any(env.terminations.values()) or any(env.truncations.values())
        active = {} if is_over else {"active_agent": env.agent_selection}
        return {agent: {**copied(info), **active} for agent, info in env.infos.items()}
