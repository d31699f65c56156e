"""``AgentIterable``: what ``CardEnv.agent_iter`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from card_envs.envs.aec_types import AECIterable, AECIterator
else:
    from pettingzoo.utils.env import AECIterable, AECIterator


class AgentIterable(AECIterable[str, Any, int]):
    """The agents to move, one after the other; the environment has to be stepped in between."""

    def __iter__(self) -> _AgentIterator:
        return _AgentIterator(self.env, self.max_iter)


class _AgentIterator(AECIterator[str, Any, int]):
    def __next__(self) -> str:
        agent = super().__next__()
        now = self.env._ongoing
        if not now.has_updated:
            raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
        now.has_updated = False
        return agent
