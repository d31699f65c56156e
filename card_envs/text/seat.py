"""``TextSeatEnv``: one seat of a game in words, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from card_envs.agents import AgentLike, GameForfeitedError
from card_envs.contract.game import DEFAULT_MAX_STEPS
from card_envs.engine.seeds import check_seed, next_seed, random_action
from card_envs.engine.table import BaseTable
from card_envs.engine.templates import RANDOM
from card_envs.envs.learner_games import OPPONENT_FAILED, TRIES, LearnerGames
from card_envs.games import load_game
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.text.game import CHARACTERS, NO_ACTION, TextGame
from card_envs.text.space import TextSpace
from card_envs.utils.checks import check_flag
from card_envs.utils.threads import OneThread, one_thread_at_a_time

#: The longest answer of the action space; ``step`` reads longer ones too.
MAX_ANSWER = 10_000

# What the environment takes besides the game's options.
_ARGUMENTS = (
    "num_players",
    "opponents",
    "seat",
    "skip_forced",
    "memory",
    "max_tries",
    "on_illegal",
    "render_mode",
    "render_perspective",
)


class TextSeatEnv(OneThread, gymnasium.Env[str, str]):
    """One seat of a card game in words against opponents, who move between the learner's decisions.

    ## Description
    The game of ``SingleSeatEnv``, told as ``TextEnv`` tells it: for the same seed and actions it is
    the same game, with the same opponents, unless one is a ``NetworkAgent`` with a ``seed``, whose
    samples differ here.

    ## Action Space
    ``Text(1, 10000)`` of printable ASCII: an answer that names an action by its number or in its
    words. ``step`` reads any text, longer ones and other characters too.

    ## Observation Space
    ``Text(1, max_chars)`` of printable ASCII. The first text of a game holds the rules, the options
    in force and how to answer; each holds what the others have done since the learner's last
    decision, the table as they see it, and their legal actions.

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

    metadata: dict[str, Any] = {
        "render_modes": ["ansi", "human", "rgb_array", "svg"],
        "render_fps": FPS,
    }

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
        self.render_mode = render_mode
        self.game = load_game(game)
        options = self.game.check_options(
            {"reward": reward, "max_steps": max_steps, **own_options}, _ARGUMENTS
        )
        # Draws the tables and makes the opponents; the games are played here, one by one, since
        # what the opponents do is told.
        self._tables = LearnerGames(
            self.game,
            1,
            num_players=num_players,
            opponents=opponents,
            seat=seat,
            memory=memory,
            **options,
        )
        self._game = TextGame(
            self.game,
            self._tables.player_range,
            memory=memory,
            max_tries=max_tries,
            on_illegal=on_illegal,
            options=options,
        )
        nobody = [None] * self._tables.player_range[0]
        self._table = BaseTable(self.game, nobody, seed=0, **options)
        self._skip_forced = check_flag("skip_forced", skip_forced)
        self._renderer = TableRenderer(
            self.game,
            render_mode,
            render_perspective,
            self.metadata["render_modes"],
            self._tables.player_range[0],
        )
        self._next_seed: int | None = None
        self._seat = 0
        self.observation_space = TextSpace(self.max_chars, min_length=1, charset=CHARACTERS)
        self.action_space = spaces.Text(MAX_ANSWER, min_length=1, charset=CHARACTERS)

    @property
    def max_chars(self) -> int:
        """The maximum number of characters in a text."""
        return self._game.max_chars

    @property
    def num_players(self) -> int:
        """The number of players of the present game."""
        self._check_reset("num_players")
        return self._table.num_players

    @property
    def seat(self) -> int:
        """The learner's seat in the present game."""
        self._check_reset("seat")
        return self._seat

    def _check_reset(self, attribute: str) -> None:
        if self._next_seed is None:
            raise AttributeError(f"{attribute} cannot be accessed before reset")

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
        """
        super().reset(seed=seed)
        following = self._next_seed if seed is None and self._next_seed is not None else seed
        following = check_seed(following)
        for _ in range(TRIES):
            # Noted first: what an opponent raises does not repeat the game.
            self._next_seed = int(next_seed(np.uint64(following)))
            self._begin(following)
            following = self._next_seed
            if not self._game.is_over:
                break
        else:
            about = f"{TRIES} games in a row ended before the learner's first decision"
            if self._game.forfeited_by is not None:
                raise ValueError(f"{about}: an opponent forfeits them")
            raise ValueError(f"{about}: max_steps={self._game.options['max_steps']} is too small")
        if self.render_mode == "human":
            self.render()
        return self._observe(NO_ACTION, "")

    def _begin(self, seed: int) -> None:
        num_players, seats, seating = self._tables.draw(np.array([seed], np.uint64))
        self._seat = int(seats[0])
        self._seating = seating[0]
        self._streams = np.array([next_seed(np.uint64(seed))], np.uint64)
        agents = [self._tables.arena.agents[k] for k in self._seating[: int(num_players[0])]]
        agents[self._seat] = None
        self._table.begin(seed, agents)
        self._game.begin(self._table)
        self._advance()

    def _advance(self) -> None:
        """Let the opponents play to the learner's next decision, or to the end."""
        while not self._game.is_over:
            try:
                action = self._opponents_action()
            except GameForfeitedError:
                self._game.forfeit()
                continue
            if action is None:
                return
            self._game.play(action)
        loser = self._seat if self._game.is_lost else self._game.forfeited_by
        if loser is not None:
            self._table.forfeit(loser)

    def _opponents_action(self) -> int | None:
        """The action of the player to move, as the compiled loop chooses it; None: it is the
        learner's to choose."""
        player, legal = self._game.player, self._table.legal_actions()
        agent = None if player == self._seat else self._tables.arena.agents[self._seating[player]]
        is_random = agent is not None and agent.kernel == RANDOM
        is_asked = agent is None or (agent.kernel is None and agent.network_kernel is None)
        if is_random or (is_asked and self._skip_forced and len(legal) == 1):
            mask = np.zeros(self.game.num_actions, np.int8)
            mask[legal] = 1
            return int(random_action(self._streams, 0, mask, len(legal)))
        return None if agent is None else self._table.choose()

    @one_thread_at_a_time
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The learner's answer, and all that follows until their next decision.

        Raises:
            gymnasium.error.ResetNeeded: There is no game, it is over, or an opponent has raised an
                error in it.
            TypeError: The answer is not a text.
        """
        if self._next_seed is None:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before step")
        if self._game.is_over:
            raise gymnasium.error.ResetNeeded("the game is over: call reset()")
        if self._game.player != self._seat:
            raise gymnasium.error.ResetNeeded(OPPONENT_FAILED)
        self._game.returns[self._seat] = 0.0
        reply = self._game.answer(action)
        self._advance()
        state = self._table.states[0]
        is_forfeited = self._game.forfeited_by is not None
        terminated = bool(state["terminated"]) or reply.lost or is_forfeited
        truncated = bool(state["truncated"])
        reward = self._game.returns[self._seat]
        if self.render_mode == "human":
            self.render()
        observation, info = self._observe(reply.action, reply.message)
        return observation, reward, terminated, truncated, info

    def _observe(self, action: int, message: str) -> tuple[str, dict[str, Any]]:
        legal = [] if self._game.is_over else list(self._game.legal_names().values())
        return self._game.text(self._seat), {
            "seat": self._seat,
            "legal_actions": legal,
            "action": action,
            "message": message,
        }

    def render(self) -> Any:
        """The table in words or as a picture, by ``render_mode``; or it is shown in a window.

        Raises:
            MissingExtraError: ``pip install 'card_envs[render]'`` is needed.
            OSError: There is no display for the window.
        """
        if self.render_mode is None or self._next_seed is None:
            return None
        memory = self._tables.arena.view.codes[0]
        return self._renderer.render(self._table.states, 0, self._seat, memory)

    def close(self) -> None:
        """Close the window, if there is one, and end the opponents' programs."""
        self._renderer.close()
        self._tables.close()
