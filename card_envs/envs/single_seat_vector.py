"""``SingleSeatVectorEnv``: the compiled batch of ``SingleSeatEnv``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from card_envs.agents import AgentLike
from card_envs.engine.game import DEFAULT_MAX_STEPS
from card_envs.envs.learner_games import LearnerGames
from card_envs.games import load_game


class SingleSeatVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` games with a learner in one seat each; see ``SingleSeatEnv`` for the arguments.

    Finished games are reset in the same step (``AutoresetMode.SAME_STEP``): ``infos["final_obs"]``
    then holds the last observations of the games that ended, and ``infos["_final_obs"]`` says which
    they are; ``infos["final_info"]`` and ``"_final_info"`` likewise. ``infos["action_mask"]``
    (N, A) and ``infos["seat"]`` (N,) belong to the observations returned; by Gymnasium's
    convention, ``"_action_mask"`` and ``"_seat"`` say that all games have them.
    """

    metadata: dict[str, Any] = {
        "render_modes": ["ansi"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        num_players: int | tuple[int, int] | None = None,
        opponents: AgentLike | Sequence[AgentLike] | None = None,
        seat: int | None = None,
        skip_forced: bool = False,
        reward: str = "rank",
        max_steps: int = DEFAULT_MAX_STEPS,
        memory: str = "perfect",
        features: bool = True,
        on_illegal: str = "terminate",
        render_mode: str | None = None,
        **own_options: Any,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode must be None or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        self.game = load_game(game)
        self._games = LearnerGames(
            self.game,
            num_envs,
            num_players=num_players,
            opponents=opponents,
            seat=seat,
            skip_forced=skip_forced,
            on_illegal=on_illegal,
            reward=reward,
            max_steps=max_steps,
            memory=memory,
            features=features,
            **own_options,
        )
        self._has_game = False
        self.num_envs = self._games.num_envs
        self.single_observation_space = spaces.Box(0.0, 1.0, (self.game.fields.size,), np.float32)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin all games; game i has the seed ``seed + i`` and is that of ``SingleSeatEnv``.

        (With policies as opponents, up to a network's rounding, which may differ between one
        observation and a batch.)
        """
        super().reset(seed=seed)
        if seed is None and self._has_game:
            self._games.reset_next(self._games.all)
        else:
            self._games.reset(seed)
        self._has_game = True
        return self._games.arena.observation.copy(), self._infos()

    def step(
        self, actions: ArrayLike
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Take the learners' actions (N,), and all that follows until their next decisions.

        Raises:
            ValueError: The array is of the wrong shape or dtype, an action is outside the action
                space, or it is illegal with ``on_illegal="raise"``; no game has changed.
        """
        if not self._has_game:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before step")
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be whole numbers of shape ({self.num_envs},), "
                f"got {array.dtype} of shape {array.shape}"
            )
        rewards, terminated, truncated = self._games.step(array.astype(np.int64))
        over = terminated | truncated
        final = {}
        if over.any():
            ended = np.flatnonzero(over)
            self._games.observe_ended(ended)
            final_obs = np.full(self.num_envs, None, object)
            for i in ended:
                final_obs[i] = self._games.arena.observation[i].copy()
            last = {
                "action_mask": np.zeros_like(self._games.arena.action_mask),
                "seat": np.where(over, self._games.learner_seats, 0),
            }
            final = _with_flags(
                {"final_obs": final_obs, "final_info": _with_flags(last, over)}, over
            )
            self._games.reset_next(ended)
        infos = {**self._infos(), **final}
        return self._games.arena.observation.copy(), rewards, terminated, truncated, infos

    def _infos(self) -> dict[str, Any]:
        infos = {
            "action_mask": self._games.arena.action_mask.copy(),
            "seat": self._games.learner_seats.copy(),
        }
        return _with_flags(infos, np.ones(self.num_envs, np.bool_))

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now: int8 (N, A)."""
        return self._games.arena.action_mask.copy()

    def render(self) -> tuple[str, ...] | None:
        """Every table in words as its learner sees it (``render_mode="ansi"``)."""
        if self.render_mode is None or not self._has_game:
            return None
        arena, seats = self._games.arena, self._games.learner_seats
        return tuple(
            self.game.describe(arena.states, i, int(seats[i]), arena.view.codes[0])
            for i in range(self.num_envs)
        )


def _with_flags(infos: dict[str, Any], games: NDArray[np.bool_]) -> dict[str, Any]:
    """The infos, and for each key which games have it: Gymnasium's convention."""
    return {**infos, **{f"_{key}": games.copy() for key in infos}}
