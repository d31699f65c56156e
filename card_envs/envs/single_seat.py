"""``SeatEnv``: one seat of a game as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.agents import Agent
from card_envs.envs.seats import SeatGames
from card_envs.games import load_game


class SeatEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One seat against given opponents, who move between the learner's decisions.

    ## Action space
    ``Discrete(A)``; :meth:`action_masks` (as sb3-contrib's MaskablePPO asks for it) and
    ``info["action_mask"]`` say which actions are legal.

    ## Observation space
    ``Box(0, 1, (D,), float32)``: what the learner can know, his own seat first.

    ## Rewards
    What the learner gets from his decision until his next one or the end of the game. What a game
    pays him before his first decision (``reward="score"``, when a round ends with forced moves
    only) is part of no reward.

    ## Episode end
    The end of the game, or truncation after ``max_steps`` decisions of all players together.

    Args:
        game: The game's id.
        num_players: One number, or a pair (low, high): each game then draws its own.
        opponents: An agent or its name for all other seats, or one for each, from the learner's
            left on. An agent of your own has a ``name`` and ``act(observation, action_mask)``,
            which gives legal actions (M,) for float32 (M, D) and int8 (M, A); others are a
            ValueError.
        seat: The learner's seat; None: drawn anew at each reset.
        skip_forced: Whether the learner's moves are made for him where only one is legal.
        on_illegal: ``"terminate"``: an illegal action ends the game with reward -1 (as
            PettingZoo's TerminateIllegalWrapper does); ``"raise"``: it is a ValueError, and the
            game is unchanged.
        render_mode: None or ``"ansi"``.
        **options: The game's options.

    Raises:
        ValueError: A wrong argument; the message says what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        game: str,
        *,
        num_players: int | tuple[int, int] = 4,
        opponents: str | Agent | Sequence[str | Agent] = "heuristic",
        seat: int | None = None,
        skip_forced: bool = False,
        on_illegal: str = "terminate",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode must be None or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        self.game = load_game(game)
        self._games = SeatGames(
            self.game,
            1,
            num_players=num_players,
            opponents=opponents,
            seat=seat,
            skip_forced=skip_forced,
            on_illegal=on_illegal,
            **options,
        )
        self._actions = np.zeros(1, np.int64)
        self._has_game = False
        self._is_over = False
        self.observation_space = spaces.Box(0.0, 1.0, (self.game.fields.size,), np.float32)
        self.action_space = spaces.Discrete(self.game.num_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a new game and let the opponents play to the learner's first decision.

        A game that ends before it is passed over: the next one has the seed that follows.

        Returns:
            The observation, float32 (D,), and ``{"action_mask": int8 (A,), "seat": int}``.
        """
        super().reset(seed=seed)
        if seed is None and self._has_game:
            self._games.go_on(self._games.all)
        else:
            self._games.reset(seed)
        self._has_game = True
        self._is_over = False
        return self._look()

    def step(
        self, action: np.int64 | int
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """The learner's action, and all that follows until his next decision."""
        if not self._has_game:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before step")
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the game is over: call reset()")
        if not self.action_space.contains(action):
            raise ValueError(f"actions are from 0 to {self.game.num_actions - 1}, got {action!r}")
        self._actions[0] = action
        rewards, terminated, truncated = self._games.step(self._actions)
        self._is_over = bool(terminated[0] or truncated[0])
        observation, info = self._look()
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def _look(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        if self._is_over:
            self._games.observe_ended(self._games.all)
        info = {"action_mask": self.action_masks(), "seat": int(self._games.learner_seats[0])}
        return self._games.arena.observation[0].copy(), info

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now: int8 (A,), all 0 when the game is over."""
        return self._games.arena.action_mask[0].copy()

    def action_name(self, action: int) -> str:
        """An action in words."""
        return self.game.action_name(int(action))

    def render(self) -> str | None:
        """The table in words as the learner sees it (``render_mode="ansi"``)."""
        if self.render_mode is None or not self._has_game:
            return None
        return self.game.describe(self._games.arena.states, 0, int(self._games.learner_seats[0]))
