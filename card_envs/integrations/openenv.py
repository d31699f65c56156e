"""OpenEnv: one seat of a game in words, as an environment behind a server with sessions.

Needs ``pip install 'card_envs[openenv]'``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gymnasium.error import ResetNeeded

import card_envs
from card_envs.text.seat import TextSeatEnv
from card_envs.utils.extras import import_extra

if not TYPE_CHECKING:
    import_extra("openenv", "openenv")
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import Field

__all__ = ["CardAction", "CardEnvironment", "CardObservation", "CardState", "make_app"]


class CardAction(Action):  # type: ignore[misc]
    """An answer of the player at the seat."""

    answer: str = Field(description="the answer, which names an action, such as [draw] or [3]")


class CardObservation(Observation):  # type: ignore[misc]
    """What the player at the seat reads; the reward comes with their next text or the end."""

    text: str = Field(description="what they read")
    legal_actions: list[str] = Field(description="their legal actions in words; [] at the end")
    message: str = Field(description="what their last answer lacked; empty: it was understood")


class CardState(State):  # type: ignore[misc]
    """What is known of a session; nothing of it is hidden from the seat."""

    game: str = Field(description="the game's id")
    num_players: int | None = Field(None, description="the number of players; None before reset")
    seat: int | None = Field(None, description="the player's number from 0; None before reset")
    wrong_answers: int = Field(0, description="answers of this game that were not understood")


class CardEnvironment(Environment[CardAction, CardObservation, CardState]):  # type: ignore[misc]
    """``TextSeatEnv`` as an OpenEnv environment; a session of the server has one of its own.

    Args:
        game: The game's id or versioned name.
        **options: As in :class:`~card_envs.text.seat.TextSeatEnv`.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, game: str, **options: Any) -> None:
        super().__init__()
        self._env = TextSeatEnv(game, **options)
        self._state = CardState(game=self._env.game.id)

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **others: Any
    ) -> CardObservation:
        """Begin a new game and let the opponents play to the seat's first decision.

        Args:
            seed: As in ``TextSeatEnv.reset``.
            episode_id: The game's name in the state; None: a random one.
            **others: None are allowed.

        Raises:
            ValueError, TypeError: An argument is wrong; the message says what is allowed.
        """
        if others:
            raise TypeError(f"reset takes seed and episode_id, got {', '.join(sorted(others))}")
        text, info = self._env.reset(seed=seed)
        self._state = CardState(
            game=self._env.game.id,
            num_players=self._env.num_players,
            seat=self._env.seat,
            episode_id=episode_id or str(uuid4()),
        )
        return _observation(text, info)

    def step(
        self, action: CardAction, timeout_s: float | None = None, **others: Any
    ) -> CardObservation:
        """Take an answer, and play to the seat's next decision or the end of the game.

        Raises:
            gymnasium.error.ResetNeeded: There is no game, or it is over.
        """
        text, reward, terminated, truncated, info = self._env.step(action.answer)
        state = self._state
        self._state = state.model_copy(
            update={
                "step_count": state.step_count + 1,
                "wrong_answers": self._env.wrong_answers,
            }
        )
        return _observation(text, info, reward=reward, done=terminated or truncated)

    @property
    def state(self) -> CardState:
        """What is known of the session."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """What ``/metadata`` gives."""
        return EnvironmentMetadata(
            name=self._env.game.id,
            description=f"{self._env.game.title}, one seat, in words",
            version=card_envs.__version__,
        )

    def close(self) -> None:
        """End the opponents' programs."""
        self._env.close()


def _observation(text: str, info: dict[str, Any], **result: Any) -> CardObservation:
    return CardObservation(
        text=text, legal_actions=info["legal_actions"], message=info["message"], **result
    )


def make_app(game: str, *, max_concurrent_envs: int = 64, **options: Any) -> FastAPI:
    """An application that serves a game to OpenEnv's clients, such as ``GenericEnvClient``.

    It begins a game to compile the rules first: clients would not wait that long.

    Args:
        game: The game's id or versioned name.
        max_concurrent_envs: The most sessions at a time.
        **options: As in :class:`~card_envs.text.seat.TextSeatEnv`. Clients cannot change them.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    make_environment = partial(CardEnvironment, game, **options)
    first = make_environment()
    first.step(CardAction(answer=first.reset(seed=0).legal_actions[0]))
    first.close()
    app: FastAPI = create_fastapi_app(
        make_environment,
        CardAction,
        CardObservation,
        max_concurrent_envs,
        env_name=first.state.game,
        state_cls=CardState,
    )
    for error in (ResetNeeded, TypeError, ValueError):
        app.add_exception_handler(error, _refuse)
    return app


def _refuse(request: Request, error: Exception) -> JSONResponse:
    """The answer to a bad request by HTTP; WebSockets get messages from OpenEnv itself."""
    hint = "; a POST has no session: play over the WebSocket /ws"
    detail = f"{error}{hint * isinstance(error, ResetNeeded)}"
    return JSONResponse({"detail": detail}, 400)
