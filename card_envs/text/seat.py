"""``TextSeatEnv``: one seat of a game in words, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.agents import AgentLike
from card_envs.contract.agent import FORFEIT_REWARD, Follower, Turn
from card_envs.contract.options import DEFAULT_MAX_STEPS, arguments_of
from card_envs.engine.templates import NOBODY
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.seat import SeatEnv
from card_envs.games import load_game
from card_envs.text.game import CHARACTERS, NO_ACTION, TextGame
from card_envs.text.space import TextSpace
from card_envs.utils.threads import OneThread, one_thread_at_a_time

#: The longest answer of the action space; ``step`` reads longer ones too.
MAX_ANSWER = 10_000


class _Played:
    """The learner's game, as a text game plays it."""

    def __init__(self, games: LearnerGames) -> None:
        self._games = games
        #: What the last step gave: the learner's reward, and whether it terminated or truncated.
        self.result = 0.0, False, False

    @property
    def states(self) -> NDArray[np.void]:
        return self._games.arena.states

    @property
    def num_players(self) -> int:
        return int(self.states["num_players"][0])

    @property
    def history(self) -> tuple[int, tuple[()]]:
        return int(self._games.game_seeds[0]), ()

    def legal_actions(self) -> list[int]:
        arena = self._games.arena
        return [] if arena.waiting[0] == NOBODY else np.flatnonzero(arena.action_mask[0]).tolist()

    def step(self, action: int) -> None:
        reward, terminated, truncated = self._games.step(np.array([action]))
        self.result = float(reward[0]), bool(terminated[0]), bool(truncated[0])

    def lose(self) -> None:
        """The learner loses the game, which ends it."""
        self._games.arena.forfeit(self._games.all)
        self.result = FORFEIT_REWARD, True, False


class _SeatGame(TextGame, Follower):
    """The learner's game in words, which the arena tells of all that is done in it."""

    def _take(self, action: int) -> None:
        self.played.step(action)

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        self.tell(self.played)

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        raise NotImplementedError("the learner decides by answers")

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        self.forfeited_by = None if self.is_lost else loser


class TextSeatEnv(OneThread, SeatEnv[str, str]):
    """One seat of a card game in words against opponents, who move between the learner's decisions.

    ## Description
    The game of ``SingleSeatEnv``, told as ``TextEnv`` tells it: for the same seed and actions it is
    the same game, with the same opponents.

    ## Action Space
    ``Text(1, 10000)`` of printable ASCII: an answer that names an action by its number or in its
    words. ``step`` reads any text, longer ones and other characters too.

    ## Observation Space
    ``Text(1, max_chars)`` of printable ASCII. The first text of a game holds the rules, the options
    in force and how to answer; each holds what the others have done since the learner's last
    decision, the table as they see it, and their legal actions (of more than 40 one of each
    kind).

    ## Starting State
    Cards, and the learner's seat unless it is given, follow from the seed. The opponents have
    played up to the learner's first decision.

    ## Rewards
    The sum of the learner's rewards from their decision until their next one or the end of the
    game; 0 for a wrong answer that leaves another try. Rewards before their first decision are not
    included.

    ## Episode End
    The end of the game, or truncation after ``max_steps`` decisions of all players together.

    ## Arguments
    Args:
        game: The game's id or versioned name.
        memory: As in ``TextEnv``, like ``max_tries`` and ``on_illegal``.
        **own_options: The game's own options; the other arguments are those of ``SingleSeatEnv``,
            except for ``features``, ``mask`` and ``observation_dtype``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.

    ## Version History
    The version is the game's. Texts may change between releases.
    """

    def __init__(
        self,
        game: str,
        *,
        num_players: int | tuple[int, int] | None = None,
        opponents: AgentLike | Sequence[AgentLike] | None = None,
        seat: int | None = None,
        skip_forced: bool = False,
        reward: str = "rank",
        max_steps: int = DEFAULT_MAX_STEPS,
        memory: str = "perfect",
        max_tries: int = 3,
        on_illegal: str = "terminate",
        render_mode: str | None = None,
        render_perspective: int | str | None = None,
        **own_options: Any,
    ) -> None:
        card_game = load_game(game)
        options = card_game.check_options(
            {"reward": reward, "max_steps": max_steps, **own_options}, arguments_of(TextSeatEnv)
        )
        super().__init__(
            card_game,
            render_mode,
            render_perspective,
            num_players=num_players,
            opponents=opponents,
            seat=seat,
            skip_forced=skip_forced,
            memory=memory,
            **options,
        )
        self._text = _SeatGame(
            card_game,
            self._games.player_range,
            memory=memory,
            max_tries=max_tries,
            on_illegal=on_illegal,
            options=options,
        )
        self._text.played = self._played = _Played(self._games)
        self._games.arena.follower = self._text
        self.observation_space = TextSpace(self.max_chars, min_length=1, charset=CHARACTERS)
        self.action_space = spaces.Text(MAX_ANSWER, min_length=1, charset=CHARACTERS)

    @property
    def max_chars(self) -> int:
        """The maximum number of characters in a text."""
        return self._text.max_chars

    @one_thread_at_a_time
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a new game and let the opponents play to the learner's first decision.

        A game that ends before that is skipped: the next one has the seed that follows.

        Returns:
            The text, and ``info``: ``seat``, ``legal_actions`` (in words), ``action`` (the number
            of the action that was taken last; -1: none was) and ``message`` (what a wrong answer
            lacked; empty: there was none).

        Raises:
            ValueError, TypeError: As for ``SingleSeatEnv.reset``.
        """
        self._begin(seed, options)
        return self._observe(NO_ACTION, "")

    @one_thread_at_a_time
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The learner's answer, and all that follows until their next decision.

        Raises:
            gymnasium.error.ResetNeeded: There is no game, it is over, or an opponent has raised an
                error in it.
            TypeError: The answer is not a text.
        """
        self._check_running()
        self._games.check_unbroken()
        self._played.result = 0.0, False, False
        reply = self._text.answer(action)
        if self._text.is_lost:
            self._played.lose()
        reward, terminated, truncated = self._played.result
        self._is_over = terminated or truncated
        self._show()
        observation, info = self._observe(reply.action, reply.message)
        return observation, reward, terminated, truncated, info

    @property
    def wrong_answers(self) -> int:
        """How many answers of this game were wrong."""
        return self._text.wrong_answers[self.seat]

    def _observe(self, action: int, message: str) -> tuple[str, dict[str, Any]]:
        info = {
            "seat": self.seat,
            "legal_actions": [] if self._is_over else list(self._text.legal_names().values()),
            "action": action,
            "message": message,
            **self._place(),
        }
        return self._text.text(self.seat), info
