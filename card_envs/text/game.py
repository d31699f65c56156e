"""``TextGame``: one game told to its players in words, and played by their answers.

Both interfaces of text, ``TextEnv`` and ``TextSeatEnv``, are built on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import FORFEIT_REWARD
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.contract.outcome import mover
from card_envs.engine.seeds import random_action, stream_of
from card_envs.render.text import describe
from card_envs.text import prompt as text_prompt
from card_envs.text.answers import read_answer
from card_envs.utils.checks import check_whole_number
from card_envs.utils.portable import Undivided
from card_envs.utils.words import counted

#: The characters of all texts: printable ASCII and the end of a line.
CHARACTERS = "".join(map(chr, range(32, 127))) + "\n"

#: What stands for an action's number where none was taken: what is told in ``info`` has one type,
#: as Gymnasium's vector environments need it.
NO_ACTION = -1

_MODES = ("terminate", "random")
_CONSEQUENCES = {
    "terminate": "the game is over and you have lost it",
    "random": "a random legal action is taken for you",
}
# Stands where legal actions would, and is shorter than the head of their list.
_FORFEITED = "Player {} forfeits: the game is over."
_BETWEEN = "\n\n"


@dataclass(frozen=True)
class Reply:
    """What became of an answer.

    Args:
        action: The action that was taken; ``NO_ACTION``: there is another try, or the game has
            ended.
        message: What the answer lacked; empty: it was understood.
    """

    action: int
    message: str = ""


class Playable(Protocol):
    """A game under way that can be played on, such as a ``CardEnv``."""

    @property
    def num_players(self) -> int:
        """The number of players."""

    @property
    def history(self) -> tuple[int, tuple[Any, ...]]:
        """The game's seed, and what was done since."""

    @property
    def states(self) -> NDArray[np.void]:
        """The game's record (1,)."""

    def legal_actions(self) -> list[int]:
        """The legal actions of the player to move; [] when the game is over."""

    def step(self, action: int) -> Any:
        """Take a legal action of the player to move."""


class TextGame(Undivided):
    """One game at a time, in words.

    Args:
        game: The game.
        player_range: The fewest and the most players that games will have.
        memory: ``"perfect"`` (the table holds all that the player has been able to learn, and what
            has happened since their last decision is told) or ``"none"`` (the table as they can see
            it now).
        max_tries: How many answers a player may give to one decision.
        on_illegal: What follows when all of them are wrong: ``"terminate"`` or ``"random"``.
        options: The game's options, checked.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    def __init__(
        self,
        game: Game,
        player_range: tuple[int, int],
        *,
        memory: str,
        max_tries: int,
        on_illegal: str,
        options: dict[str, Any],
    ) -> None:
        if on_illegal not in _MODES:
            raise ValueError(f"on_illegal must be 'terminate' or 'random', got {on_illegal!r}")
        view = View(memory)
        self.game = game
        self.memory = view.memory
        self.max_tries = check_whole_number("max_tries", max_tries, 1)
        self.on_illegal = on_illegal
        self.options = options
        self._codes = view.codes
        self._names = game.actions.names
        self.max_chars = max(
            self._most_characters(num_players)
            for num_players in range(player_range[0], player_range[1] + 1)
        )

    def _most_characters(self, num_players: int) -> int:
        """The most characters of a text at a table of that size: the sum of its pieces' bounds."""
        introduction = text_prompt.instructions(
            self.game, num_players, 0, self.options, self.memory
        )
        told = text_prompt.MOST_NEWS if self.memory == "perfect" else 0
        pieces = [
            max(len(introduction), text_prompt.longest_complaint(self.game)),
            told,
            text_prompt.MOST_TABLE,
            text_prompt.longest_actions(self.game),
        ]
        return sum(pieces) + len(_BETWEEN) * len(pieces)

    def tell(self, played: Playable) -> None:
        """Tell a game that has just been dealt."""
        self.played = played
        num_players, (seed, _) = played.num_players, played.history
        self._streams = stream_of(seed)
        #: What has been done since each player's last answer was taken: players, actions in words.
        self._news: list[list[tuple[int, list[str]]]] = [[] for _ in range(num_players)]
        self._is_new = [True] * num_players
        #: Whether the decision to come is what an answer led to; others are forced or opponents'.
        self._is_answer = False
        #: Decisions that each player has taken, and their wrong answers.
        self.decisions = [0] * num_players
        self.wrong_answers = [0] * num_players
        self.returns = [0.0] * num_players
        self._tries_left = self.max_tries
        #: What was said to each player's wrong answers, until they give a right one.
        self._notes = [""] * num_players
        self.is_lost = False
        #: The player who gave up the game, as a program may; None: nobody did.
        self.forfeited_by: int | None = None

    @property
    def player(self) -> int:
        """The player to move."""
        return mover(self.played.states[0])

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, was truncated, lost by wrong answers, or forfeited."""
        return self.is_lost or self.forfeited_by is not None or not self.played.legal_actions()

    def legal_names(self) -> dict[int, str]:
        """The legal actions of the player to move, in words."""
        return {action: self._names[action] for action in self.played.legal_actions()}

    def text(self, player: int) -> str:
        """What a player reads: when they are to move, and when the game is over."""
        is_asked = not self.is_over and player == self.player
        first = self._notes[player]
        if self._is_new[player] and not first:
            first = text_prompt.instructions(
                self.game, self.played.num_players, player, self.options, self.memory
            )
        scene = describe(self.game, self.played.states, 0, player, self._codes[0])
        last = text_prompt.legal_actions(self.game, self.legal_names()) if is_asked else ""
        if self.forfeited_by is not None:
            last = _FORFEITED.format(self.forfeited_by)
        pieces = [
            first,
            text_prompt.news(self._news[player], player),
            text_prompt.table(scene, self.game),
            last,
        ]
        return _BETWEEN.join(piece for piece in pieces if piece)

    def answer(self, text: str) -> Reply:
        """Take the action that the answer of the player to move means.

        Raises:
            TypeError: The answer is not a text.
        """
        if not isinstance(text, str):
            raise TypeError(f"an answer is a str, got {text!r}")
        player, legal = self.player, self.legal_names()
        found, actions = read_answer(text, legal, self.game.actions)
        if len(actions) == 1:
            self._notes[player] = ""
            self.play(actions[0])
            return Reply(actions[0])
        self.wrong_answers[player] += 1
        self._tries_left -= 1
        forbidden = [] if actions else self._forbidden(found)
        message = text_prompt.complaint(found, actions, legal, forbidden, self._what_follows())
        self._notes[player] = message
        if self._tries_left > 0:
            return Reply(NO_ACTION, message)
        if self.on_illegal == "terminate":
            self.is_lost = True
            self.returns[player] += FORFEIT_REWARD
            return Reply(NO_ACTION, message)
        action = self.play_at_random()
        self._notes[player] = f"{message[:-1]}: {self._names[action]}."
        return Reply(action, self._notes[player])

    def _what_follows(self) -> str:
        """What is said to a wrong answer about further tries."""
        consequence = _CONSEQUENCES[self.on_illegal]
        if self._tries_left == 0:
            return f"That was your last try: {consequence}."
        tries = counted(self._tries_left, "more try", "more tries")
        return f"You have {tries}; after that {consequence}."

    def _forbidden(self, answer: str) -> list[str]:
        """The names of the actions that an answer means, if they are not legal now."""
        _, actions = read_answer(f"[{answer}]", dict(enumerate(self._names)), self.game.actions)
        return [self._names[action] for action in actions]

    def play_at_random(self) -> int:
        """Take a random legal action, which follows from the game's seed."""
        mask = np.zeros(self.game.num_actions, np.int8)
        legal = self.played.legal_actions()
        mask[legal] = 1
        action = int(random_action(self._streams, 0, mask, len(legal)))
        self.play(action)
        return action

    def play(self, action: int) -> None:
        """Take a legal action for the answer of the player to move, who has read their text."""
        player = self.player
        self._news[player].clear()
        self._is_new[player] = False
        self._is_answer = True
        self._take(action)

    def _take(self, action: int) -> None:
        """Take an action, and tell the others."""
        self.watch(self.played.states, 0, action)
        self.played.step(action)
        rewards = self.played.states["rewards"][0, : self.played.num_players].tolist()
        for other, reward in enumerate(rewards):
            self.returns[other] += reward

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """Tell players what the one to move in ``states[i]`` is about to do: the others, and that
        one too if a forced action is taken without an answer."""
        player = mover(states[i])
        if self.memory == "perfect":
            name = self.game.public_action_name(states, i, action)
            for reader, told in enumerate(self._news):
                if reader == player and self._is_answer:
                    continue
                did = self._names[action] if reader == player else name
                if told and told[-1][0] == player:
                    told[-1][1].append(did)
                else:
                    told.append((player, [did]))
        self.decisions[player] += 1
        self._tries_left = self.max_tries
        self._is_answer = False
