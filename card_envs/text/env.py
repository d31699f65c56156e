"""``TextEnv``: every game in words for all seats, with the calls of TextArena."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.contract.game import Game
from card_envs.contract.options import DEFAULT_MAX_STEPS, arguments_of
from card_envs.engine.seeds import check_seed, next_seed
from card_envs.envs.aec import CardEnv
from card_envs.games import load_game
from card_envs.text.game import NO_ACTION, TextGame
from card_envs.utils.checks import check_has_begun
from card_envs.utils.threads import OneThread, one_thread_at_a_time


class TextEnv(OneThread):
    """A card game in words: players read texts and answer with texts.

    Its calls are those of TextArena: :meth:`reset`, :meth:`get_observation`, :meth:`step`,
    :meth:`close`. Players are numbers from 0.

    The first text of a player holds the rules, the options in force and how to answer. Each text
    holds what the others have done since the player's last decision, the table as they see it, and
    their legal actions (of more than 40 one of each kind). It says nothing that the player cannot
    know.

    An answer names an action by its number or in its words, in square brackets or not. One that is
    not understood, or not legal, is answered with a message, and there is another try.

    Attributes:
        game: The game.
        num_players: The number of players of the present game.
        max_chars: The maximum number of characters in a text.
        max_chars_per_game: The maximum in all texts of one player in one game together.
        legal_actions: The legal actions of the player to move, in words.
        aec: The game as a PettingZoo environment, for replays (``aec.save()``) and search.

    Args:
        game: The game's id or versioned name.
        num_players: Number of players, unless :meth:`reset` says otherwise; None: the game's
            default.
        memory: What texts hold: with ``"perfect"`` recall, or ``"none"``: the table as the player
            can see it now.
        max_tries: How many answers a player may give to one decision.
        on_illegal: What follows when all of them are wrong: ``"terminate"`` (the game ends, with -1
            for the player, as in ``CardEnv``) or ``"random"`` (a random legal action is taken).
        **own_options: The game's own options, which are in its RULES.md; ``reward`` and
            ``max_steps`` are documented in ``card_envs.envs.options.EnvOptions``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    def __init__(
        self,
        game: str,
        *,
        num_players: int | None = None,
        reward: str = "rank",
        max_steps: int = DEFAULT_MAX_STEPS,
        memory: str = "perfect",
        max_tries: int = 3,
        on_illegal: str = "terminate",
        **own_options: Any,
    ) -> None:
        self.game: Game = load_game(game)
        self.num_players = self.game.check_num_players(num_players)
        options = self.game.check_options(
            {"reward": reward, "max_steps": max_steps, **own_options}, arguments_of(TextEnv)
        )
        self._table = TextGame(
            self.game,
            (self.game.min_players, self.game.max_players),
            memory=memory,
            max_tries=max_tries,
            on_illegal=on_illegal,
            options=options,
        )
        self._next_seed: int | None = None
        self._env: CardEnv | None = None

    @property
    def max_chars(self) -> int:
        """The maximum number of characters in a text."""
        return self._table.max_chars

    @property
    def max_chars_per_game(self) -> int:
        """The maximum number of characters in all texts of one player in one game."""
        steps = int(self._table.options["max_steps"])
        return steps * self._table.max_tries * self.max_chars

    @property
    def legal_actions(self) -> list[str]:
        """The legal actions of the player to move, in words; [] when the game is over."""
        check_has_begun(self._env is not None, "legal_actions")
        return [] if self._table.is_over else list(self._table.legal_names().values())

    @property
    def aec(self) -> CardEnv:
        """The running game as a PettingZoo environment: for replays, pictures and search.

        It does not end where wrong answers end the game in words. Stepping it directly
        bypasses the texts.
        """
        check_has_begun(self._env is not None, "aec")
        assert self._env is not None
        return self._env

    @property
    def rewards(self) -> dict[int, float]:
        """What each player has been paid in the present game so far, added up."""
        check_has_begun(self._env is not None, "rewards")
        return dict(enumerate(self._table.returns))

    @property
    def game_info(self) -> dict[int, dict[str, Any]]:
        """For each player what TextArena reports at the end: ``turn_count`` (decisions taken),
        ``invalid_move`` (whether their wrong answers ended the game), further ``wrong_answers`` and
        ``place``: in the final standing from 1, None unless the game was played to its end."""
        check_has_begun(self._env is not None, "game_info")
        table = self._table
        places = [self.aec.infos[agent].get("place") for agent in self.aec.possible_agents]
        return {
            player: {
                "role": f"Player {player}",
                "invalid_move": table.is_lost and player == table.player,
                "turn_count": table.decisions[player],
                "wrong_answers": table.wrong_answers[player],
                "place": places[player],
            }
            for player in range(self.num_players)
        }

    @one_thread_at_a_time
    def reset(self, num_players: int | None = None, seed: int | None = None) -> None:
        """Begin a new game.

        Args:
            num_players: Number of players, of this game and those that follow; None: as before.
            seed: A whole number in [0, 2**64): the game plays out the same for the same seed and
                answers. None: it follows from the seed of the game before; the first one is drawn
                from the operating system.

        Raises:
            ValueError, TypeError: An argument is wrong; the message says what is allowed.
        """
        if num_players is not None:
            num_players = self.game.check_num_players(num_players)
        if seed is None and self._next_seed is not None:
            seed = self._next_seed
        seed = check_seed(seed)
        if num_players is not None:
            self.num_players = num_players
        if self._env is None or self._env.num_players != self.num_players:
            self._env = CardEnv(
                self.game.name,
                num_players=self.num_players,
                memory=self._table.memory,
                on_illegal="raise",
                **self._table.options,
            )
        self._env.reset(seed=seed)
        self._table.tell(self._env)
        self._next_seed = int(next_seed(np.uint64(seed)))

    @one_thread_at_a_time
    def get_observation(self) -> tuple[int, str]:
        """The player to move, and their text: the same until :meth:`step`.

        Raises:
            RuntimeError: There is no game, or it is over.
        """
        self._check_running("get_observation")
        return self._table.player, self._table.text(self._table.player)

    @one_thread_at_a_time
    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Take the answer of the player to move.

        Args:
            action: The answer, with whatever stands around it.

        Returns:
            Whether the game is over, and ``info``: ``player`` (who answered), ``action`` (the
            number of the action that was taken; -1: none was), ``action_name`` (its words) and
            ``message`` (what a wrong answer lacked; empty: it was understood).

        Raises:
            RuntimeError: There is no game, or it is over.
            TypeError: The answer is not a text.
        """
        self._check_running("step")
        player = self._table.player
        reply = self._table.answer(action)
        name = "" if reply.action == NO_ACTION else self.game.action_name(reply.action)
        return self._table.is_over, {
            "player": player,
            "action": reply.action,
            "action_name": name,
            "message": reply.message,
        }

    @one_thread_at_a_time
    def close(self) -> dict[int, float]:
        """Each player's rewards of the game, added up; it can be called at any time.

        With ``reward="rank"`` or ``"win"`` a game that is not over has paid nothing yet. {}: no
        game has begun.
        """
        return {} if self._env is None else self.rewards

    def _check_reset(self, what: str) -> None:
        if self._env is None:
            raise RuntimeError(f"reset() needs to be called before {what}")

    def _check_running(self, what: str) -> None:
        self._check_reset(what)
        if self._table.is_over:
            raise RuntimeError(
                f"the game is over, {what} needs a running one: "
                "close() gives the rewards, reset() begins a new game"
            )
