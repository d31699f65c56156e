"""PettingZoo's AEC classes with types, for checkers only: PettingZoo itself is untyped.

Without them a misspelt attribute of an environment would not be an error.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

AgentID = TypeVar("AgentID")
ObsType = TypeVar("ObsType")
ActionType = TypeVar("ActionType")

class AECEnv(Generic[AgentID, ObsType, ActionType]):
    metadata: dict[str, Any]
    possible_agents: list[AgentID]
    agents: list[AgentID]
    agent_selection: AgentID
    observation_spaces: dict[AgentID, Any]
    action_spaces: dict[AgentID, Any]
    rewards: dict[AgentID, float]
    terminations: dict[AgentID, bool]
    truncations: dict[AgentID, bool]
    infos: dict[AgentID, dict[str, Any]]
    render_mode: str | None
    _cumulative_rewards: dict[AgentID, float]
    _skip_agent_selection: AgentID | None
    @property
    def num_agents(self) -> int: ...
    @property
    def max_num_agents(self) -> int: ...
    def last(self, observe: bool = True) -> tuple[ObsType, float, bool, bool, dict[str, Any]]: ...
    def _accumulate_rewards(self) -> None: ...
    def _deads_step_first(self) -> AgentID: ...
    def _was_dead_step(self, action: Any) -> None: ...

class AECIterable(Generic[AgentID, ObsType, ActionType]):
    env: Any
    max_iter: int
    def __init__(self, env: Any, max_iter: int) -> None: ...
    def __iter__(self) -> AECIterator[AgentID, ObsType, ActionType]: ...

class AECIterator(Iterator[AgentID], Generic[AgentID, ObsType, ActionType]):
    env: Any
    iters_til_term: int
    def __init__(self, env: Any, max_iter: int) -> None: ...
    def __next__(self) -> AgentID: ...

class turn_based_aec_to_parallel_wrapper(Generic[AgentID, ObsType, ActionType]):
    metadata: dict[str, Any]
    possible_agents: list[AgentID]
    agents: list[AgentID]
    render_mode: str | None
    state_space: Any
    @property
    def num_agents(self) -> int: ...
    @property
    def max_num_agents(self) -> int: ...
    def __init__(self, aec_env: Any) -> None: ...
    def observation_space(self, agent: AgentID) -> Any: ...
    def action_space(self, agent: AgentID) -> Any: ...
    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[AgentID, ObsType], dict[AgentID, dict[str, Any]]]: ...
    def state(self) -> Any: ...
    def render(self) -> Any: ...
    def close(self) -> None: ...
    @property
    def unwrapped(self) -> Any: ...
