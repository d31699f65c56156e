"""RLlib: a game as a multi-agent environment of its new API stack, and its modules as agents.

Needs ``pip install 'card_envs[rllib]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.agents.function import PolicyFunction, best_legal
from card_envs.envs.aec import CardEnv
from card_envs.envs.options import pays_standing
from card_envs.games import load_game
from card_envs.utils.extras import import_extra

if not TYPE_CHECKING:
    import_extra("ray.rllib", "rllib")
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.tune.registry import register_env

__all__ = ["CardMultiAgentEnv", "policy_function", "register_game"]

_Observations = dict[str, dict[str, NDArray[Any]]]


class CardMultiAgentEnv(MultiAgentEnv):  # type: ignore[misc]
    """A card game with agents ``player_0`` ... ``player_{n-1}``, for RLlib's new API stack.

    ``observation_spaces[agent]`` is ``Dict{"observations": Box(0, 1, (D,), float32),
    "action_mask": Box(0, 1, (A,), int8)}``, as RLlib's ``ActionMaskingTorchRLModule`` expects it,
    ``action_spaces[agent]`` is ``Discrete(A)``: equal for all agents, so that one module can play
    in all seats. Only the agent to move gets an observation; when the game is over, all get their
    last one, with a mask of zeros.

    Rewards go to all agents in the step that pays them; RLlib adds up what an agent is paid until
    its next observation. An illegal action ends the game, -1 for the offender and 0 for the others.
    A game that is truncated has paid its standing with ``reward="rank"`` and ``"win"``: it is said
    to be terminated then, since RLlib would add the value of going on.

    Args:
        config: ``{"game": …}``, the game's id or versioned name, and options of ``card_envs.make``
            other than ``mask``: ``num_players``, ``reward``, ``max_steps``, …

    Raises:
        ValueError, TypeError: A value or the name of an option is wrong; the message says what is
            allowed.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        if "game" not in config:
            raise ValueError(f"env_config needs the key 'game', got {dict(config)}")
        if "mask" in config:
            raise ValueError("env_config takes no 'mask': the action mask is always observed")
        self.env = CardEnv(**config)
        self.agents = self.possible_agents = list(self.env.possible_agents)
        self.observation_spaces = {
            a: spaces.Dict(_with_rllib_keys(self.env.observation_space(a))) for a in self.agents
        }
        self.action_spaces = {a: self.env.action_space(a) for a in self.agents}
        self._pays_standing = pays_standing(self.env.options["reward"])
        self.render_mode = self.env.render_mode
        super().__init__()

    def render(self) -> Any:
        """As the AEC environment renders."""
        return self.env.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.env.close()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Observations, dict[str, dict[str, Any]]]:
        """Begin a new game: the first agent's observation, and no infos."""
        self.env.reset(seed=seed)
        return self._observe([self.env.agent_selection]), {}

    def step(
        self, action_dict: dict[str, int]
    ) -> tuple[_Observations, dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Take the action of the agent to move.

        Returns:
            Observations of the agent to move, or of all when the game is over; the rewards of all
            agents in this step; whether the game is over for each of them and for ``"__all__"``,
            terminated and truncated; the infos of those who observe.

        Raises:
            ValueError: These are not the actions of the agent to move alone; or the action is
                illegal, with ``on_illegal="raise"``.
        """
        agent = self.env.agent_selection
        if set(action_dict) != {agent}:
            raise ValueError(f"it is the turn of {agent} alone, got actions of {[*action_dict]}")
        self.env.step(action_dict[agent])
        terminated = self.env.terminations[agent]
        # An illegal action does both, which RLlib knows no case of.
        truncated = self.env.truncations[agent] and not terminated
        over = terminated or truncated
        if truncated and self._pays_standing:
            terminated, truncated = True, False
        observers = self.possible_agents if over else [self.env.agent_selection]
        everybody = [*self.possible_agents, "__all__"]
        return (
            self._observe(observers),
            dict(self.env.rewards),
            dict.fromkeys(everybody, terminated),
            dict.fromkeys(everybody, truncated),
            {a: dict(self.env.infos[a]) for a in observers},
        )

    def _observe(self, agents: list[str]) -> _Observations:
        return {a: _with_rllib_keys(self.env.observe(a)) for a in agents}


def _with_rllib_keys(observed: Any) -> dict[str, Any]:
    return {"observations": observed["observation"], "action_mask": observed["action_mask"]}


def register_game(game: str) -> str:
    """Register a game with RLlib, on all nodes of the cluster; they need ``card_envs``.

    Args:
        game: The game's id or versioned name.

    Returns:
        The name that it is registered under, for ``AlgorithmConfig.environment``: the game's
        versioned name. ``env_config`` then takes the options of :class:`CardMultiAgentEnv`.

    Raises:
        ValueError: There is no such game.
    """
    loaded = load_game(game)  # nodes get the game itself, which they may know no name of
    register_env(loaded.name, lambda config: CardMultiAgentEnv({"game": loaded.name, **config}))
    return loaded.name


def policy_function(module: Any) -> PolicyFunction:
    """A trained module as an agent: the most probable legal action, wherever one is expected.

    Args:
        module: A torch ``RLModule`` that observes as :class:`CardMultiAgentEnv` does, such as
            ``Algorithm.get_module``'s; it is used as it is then, not copied.

    Returns:
        A function of observations (N, D) and masks (N, A) that returns actions (N,). It observes
        with perfect memory and all features; for a module that was trained with other options it
        goes into ``FunctionAgent("rllib", function, memory="none")``.
    """
    return _MostProbable(module)


class _MostProbable:
    """The function of a module's agent; it can be pickled if the module can."""

    __name__ = "rllib"  # what the agent is called in results

    def __init__(self, module: Any) -> None:
        self._module = module

    def __call__(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
    ) -> NDArray[Any]:
        torch = import_extra("torch", "rllib")
        # It needs torch, which RLlib's environments do not.
        from card_envs.integrations.export import rllib_logits

        with torch.no_grad():
            seen = torch.from_numpy(observation), torch.from_numpy(action_mask)
            logits = rllib_logits(self._module, *seen).cpu().numpy()
        return best_legal(logits, action_mask)
