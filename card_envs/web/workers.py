"""``Workers``: the threads that answer requests, and those in which agents think."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TypeVar

from card_envs.agents import Agent, ProgramAgent
from card_envs.contract.agent import GameForfeitedError, notes_of_agents

logger = logging.getLogger("card_envs")

_QUICK = 40

_Result = TypeVar("_Result")


class Workers:
    """Threads for all work that takes a while, in bounded numbers.

    What is quick never waits for an agent that thinks, nor for what takes long without one, which
    has a single thread. Each program has one worker, since it answers one question at a time;
    searches, and whatever else is no kernel, share as many as there are cores. Work that is
    cancelled is not waited for, but keeps its worker until it is done.
    """

    def __init__(self) -> None:
        self._quick = ThreadPoolExecutor(_QUICK)
        self._long = ThreadPoolExecutor(1)
        self._thinking = ThreadPoolExecutor(os.cpu_count() or 1)
        self._programs: dict[int, ThreadPoolExecutor] = {}  # by the agent's id: the menu keeps it

    async def run(
        self,
        work: Callable[[], _Result],
        agent: Agent | None = None,
        *,
        takes_long: bool = False,
    ) -> _Result:
        """Do some work while other pages are answered.

        Args:
            work: The work.
            agent: Who is asked for it; None: nobody, it is quick.
            takes_long: Whether it may take seconds although nobody is asked.

        Raises:
            ValueError: An agent has failed. What it says is for the log: it may tell cards.
        """
        try:
            executor = self._long if takes_long else self._of(agent)
            return await asyncio.get_running_loop().run_in_executor(executor, work)
        except Exception as error:
            if not (notes_of_agents(error) or isinstance(error, GameForfeitedError)):
                raise
            logger.warning("an agent has failed", exc_info=True)
            raise ValueError("the agent has failed, as the server's log says") from error

    def _of(self, agent: Agent | None) -> Executor:
        if isinstance(agent, ProgramAgent):
            return self._programs.setdefault(id(agent), ThreadPoolExecutor(1))
        if agent is None or agent.kernel is not None or agent.network_kernel is not None:
            return self._quick
        return self._thinking

    def close(self) -> None:
        """Begin nothing any more; what is being done is not waited for."""
        for executor in (self._quick, self._long, self._thinking, *self._programs.values()):
            executor.shutdown(wait=False, cancel_futures=True)
