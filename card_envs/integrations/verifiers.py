"""Verifiers: deals of a game as tasks, and one seat of the table as the environment's agent.

Needs ``pip install 'card_envs[verifiers]'``. Verifiers finds a taskset by the name of a top-level
module: one of your own imports the classes of this module's ``__all__`` and names them in its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from card_envs.contract.agent import FORFEIT_REWARD
from card_envs.evaluation.deals import deal_seeds
from card_envs.text.seat import TextSeatEnv
from card_envs.utils.extras import import_extra

if not TYPE_CHECKING:
    import_extra("verifiers.v1", "verifiers")
import verifiers.v1 as vf
from openai import AsyncOpenAI
from pydantic import model_validator
from verifiers.v1.dialects.chat import message_to_wire

__all__ = ["CardPlayer", "CardTable", "CardTaskset"]


class CardTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """What is played: ``--env.taskset.KEY VALUE``."""

    game: str = "beaver_gang"
    """The game's id or versioned name."""
    num_players: int | None = None
    """Number of players; None: the game's default."""
    opponents: str | list[str] = "heuristic"
    """Agents of the other seats, in turn order after the model's; one name stands for all."""
    deals: int = 100
    """How many deals; each is a task for every seat."""
    seed: int = 0
    """The seed of the deals, as in ``card_envs.evaluation.evaluate``."""
    options: dict[str, Any] = {}
    """What ``TextSeatEnv`` takes besides, the game's own options among them."""

    def make_env(self, seat: int) -> TextSeatEnv:
        """The game with the model at this seat."""
        return TextSeatEnv(
            self.game,
            num_players=self.num_players,
            opponents=self.opponents,
            seat=seat,
            **self.options,
        )

    @model_validator(mode="after")
    def check(self) -> CardTasksetConfig:
        """ValueError if a value is not allowed; the message says what is."""
        try:
            env = self.make_env(0)
            self.num_players = env.game.check_num_players(self.num_players)
            env.close()
            deal_seeds(self.seed, self.deals)
        except TypeError as error:
            raise ValueError(str(error)) from error
        return self


class CardTaskData(vf.TaskData):  # type: ignore[misc]
    """A deal and a seat."""

    deal: int
    seat: int


class CardTask(vf.Task[CardTaskData]):  # type: ignore[misc]
    """One game."""


class CardTaskset(vf.Taskset[CardTask, CardTasksetConfig]):  # type: ignore[misc]
    """Every deal in every seat, one deal after the other."""

    def load(self) -> Iterator[CardTask]:
        """The tasks, which hold no cards."""
        config = self.config
        for deal in deal_seeds(config.seed, config.deals).tolist():
            for seat in range(config.num_players):
                name = f"{config.game}, deal {deal}, seat {seat}"
                yield CardTask(CardTaskData(name=name, deal=deal, seat=seat), config.task)


class CardPlayer(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """Asks for a reply to the conversation, in this process: verifiers' own start one a turn."""

    APPENDS_SYSTEM_PROMPT = SUPPORTS_RESUME = True
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: CardTaskData,
    ) -> vf.ProgramResult:
        """One turn of the model, which verifiers records at the endpoint."""
        system, conversation = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        messages += map(message_to_wire, conversation)
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, timeout=None) as client:
            await client.chat.completions.create(model=ctx.model, messages=messages)
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class CardTableConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: ``--env.player.KEY VALUE``."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The model; its harness is ``CardPlayer`` unless it has another."""


class CardTable(vf.Env[CardTableConfig]):  # type: ignore[misc]
    """A table with the model at one seat: texts are its user's turns, its replies are answers.

    The trace has the reward ``game``, as the game's option ``reward`` says, and the metrics
    ``answers``, ``wrong_answers`` and ``is_over``. A game that the run's limits end before it is
    over is lost, as one with too many wrong answers is.
    """

    async def run(self, task: CardTask, agents: Any) -> None:
        """Play the task's deal."""
        # Opponents may think for long: other games go on meanwhile.
        env = await asyncio.to_thread(self.taskset.config.make_env, task.data.seat)
        try:
            text, _ = await asyncio.to_thread(env.reset, seed=task.data.deal)
            total, answers, is_over = 0.0, 0, False
            async with agents.player.interaction(task) as interaction:
                while not is_over:
                    segment = await interaction.turn(text)
                    if segment.terminated:
                        break
                    text, reward, terminated, truncated, _ = await asyncio.to_thread(
                        env.step, segment.last_reply
                    )
                    total += reward
                    answers += 1
                    is_over = terminated or truncated
        finally:
            env.close()
        if interaction.trace.errors:  # the endpoint's, say: no result of the model
            return
        interaction.trace.record_reward("game", total if is_over else FORFEIT_REWARD)
        interaction.trace.record_metrics(
            {"answers": answers, "wrong_answers": env.wrong_answers, "is_over": is_over}
        )
