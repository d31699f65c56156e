"""Stable-Baselines3: the compiled batch as a ``VecEnv``, and evaluation on duplicate deals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.seeds import check_seed
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.observation_space import observation_space
from card_envs.games import load_game
from card_envs.integrations.sb3_evaluation import DealsEvalCallback, as_agent
from card_envs.utils.checks import check_actions, check_has_begun, check_reset_options
from card_envs.utils.extras import import_extra

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvStepReturn
else:
    VecEnv = import_extra("stable_baselines3.common.vec_env", "sb3").VecEnv

__all__ = ["CardVecEnv", "DealsEvalCallback", "as_agent", "make_vec_env"]


def make_vec_env(
    game: str, num_envs: int, *, seed: int | None = None, **arguments: Any
) -> CardVecEnv:
    """``num_envs`` games with the learner in one seat each, in one compiled loop.

    Args:
        game: The game's id or versioned name.
        num_envs: Number of games.
        seed: That of the first ``reset``, as :meth:`CardVecEnv.seed` sets it; None: it is drawn.
        **arguments: ``num_players``, ``opponents``, ``seat``, ``skip_forced``, ``on_illegal``,
            ``observation_dtype``, ``reward``, ``max_steps``, ``memory``, ``features`` and the
            game's own options, as for ``card_envs.envs.single_seat.SingleSeatEnv``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    envs = CardVecEnv(LearnerGames(load_game(game), num_envs, **arguments))
    if seed is not None:
        envs.seed(seed)
    return envs


#: What ``get_attr`` gives of the games, game by game, and ``set_attr`` refuses.
_OF_A_GAME: dict[str, Callable[[CardVecEnv], list[Any]]] = {
    "action_masks": lambda envs: [partial(np.copy, m) for m in envs.games.arena.action_mask],
    "action_space": lambda envs: [envs.action_space] * envs.num_envs,
    "game": lambda envs: [envs.games.game] * envs.num_envs,
    "game_seed": lambda envs: envs.games.game_seeds.tolist(),
    "num_players": lambda envs: envs.games.arena.states["num_players"].tolist(),
    "observation_space": lambda envs: [envs.observation_space] * envs.num_envs,
    "options": lambda envs: [dict(envs.games.arena.options) for _ in range(envs.num_envs)],
    "render_mode": lambda envs: [None] * envs.num_envs,
    "seat": lambda envs: envs.games.learner_seats.tolist(),
    "view": lambda envs: [envs.games.arena.view] * envs.num_envs,
}

#: What no game has before it begins.
_AFTER_RESET = ("game_seed", "num_players", "seat")


class CardVecEnv(VecEnv):
    """Games as Stable-Baselines3 expects them: those of ``SingleSeatEnv``, game by game.

    ``env_method("action_masks")`` gives the masks, int8 (A,) of each game. Finished games are reset
    in the same step; their infos hold ``terminal_observation`` and ``TimeLimit.truncated``, the
    infos of all others are empty. For episode statistics, wrap them in a VecMonitor.
    """

    games: LearnerGames

    def __init__(self, games: LearnerGames) -> None:
        self.games = games
        self._attributes: dict[str, list[Any]] = {}  # what set_attr has set
        self._actions: NDArray[np.int64] | None = None
        super().__init__(
            games.num_envs,
            observation_space(games.game, True, games.arena.observation.dtype),
            spaces.Discrete(games.game.num_actions),
        )

    def reset(self) -> NDArray[Any]:
        """Begin all games, and return the observations (N, D).

        After ``seed(s)`` game i has the seed ``s + i``; else the seeds follow those before.
        """
        self.games.reset(self._seeds[0])
        self._reset_seeds()
        return self._observe(self.games.all)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """The seed of the next ``reset``, see there; None: one is drawn.

        Returns:
            That of each game, by Stable-Baselines3's convention.

        Raises:
            ValueError, TypeError: It is not a whole number in [0, 2**64).
        """
        return list(super().seed(None if seed is None else check_seed(seed)))

    def set_options(self, options: Any = None) -> None:
        """Of ``reset``: there are none.

        Raises:
            ValueError: There are some.
        """
        for of_game in options if isinstance(options, list) else [options]:
            check_reset_options(of_game)
        super().set_options(options)

    def _observe(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """What the learner sees in these games."""
        return self.games.arena.observation[indices]

    def step_async(self, actions: ArrayLike) -> None:
        """Keep the actions, whole numbers (N,), for ``step_wait``."""
        array = np.asarray(actions)
        check_actions(array, self.num_envs)
        if not self.games.has_begun:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before step")
        self._actions = array.astype(np.int64)

    def step_wait(self) -> VecEnvStepReturn:
        """Observations, rewards, dones and infos; finished games are reset in the same step."""
        if self._actions is None:
            raise gymnasium.error.ResetNeeded("step_async() needs to be called before step_wait")
        actions, self._actions = self._actions, None
        rewards, terminated, truncated = self.games.step(actions)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(dones)
        if len(ended):
            for i, info in zip(ended, self._final_infos(ended, truncated[ended]), strict=True):
                infos[i] = info
            self.games.reset_next(ended)
        return self._observe(self.games.all), rewards.astype(np.float32), dones, infos

    def _final_infos(
        self, ended: NDArray[np.int64], truncated: NDArray[np.bool_]
    ) -> list[dict[str, Any]]:
        """The infos of the games ``ended`` (M,), given which of them were truncated (M,): with
        the learner's ``place`` and ``num_players``, unless the game was forfeited."""
        self.games.observe_ended(ended)
        # SB3 adds the value of the last observation where this is set.
        is_paid = self.games.pays_standing
        places = self.games.places()[ended].tolist()
        counts = self.games.arena.states["num_players"][ended].tolist()
        return [
            {
                "terminal_observation": last,
                "TimeLimit.truncated": bool(is_truncated) and not is_paid,
                **({"place": place, "num_players": count} if place else {}),
            }
            for last, is_truncated, place, count in zip(
                self._observe(ended), truncated, places, counts, strict=True
            )
        ]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """``action_masks`` (a function), ``action_space``, ``game``, ``game_seed``,
        ``num_players``, ``observation_space``, ``options``, ``seat``, ``view`` (how the learner
        observes), or what was set.

        Raises:
            AttributeError: There is no such attribute, or not before the first reset.
        """
        if attr_name in _AFTER_RESET:
            check_has_begun(self.games.has_begun, attr_name)
        if attr_name in _OF_A_GAME:
            values = _OF_A_GAME[attr_name](self)
        elif attr_name in self._attributes:
            values = self._attributes[attr_name]
        else:
            known = ", ".join([*_OF_A_GAME, *self._attributes])
            raise AttributeError(f"the games have {known}, and no {attr_name!r}")
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Keep an attribute of the caller's own for ``get_attr``.

        Raises:
            AttributeError: It is one of the games' attributes, which cannot be set.
        """
        if attr_name in _OF_A_GAME:
            raise AttributeError(f"{attr_name!r} cannot be set: it follows from the game")
        values = self._attributes.setdefault(attr_name, [None] * self.num_envs)
        for i in self._get_indices(indices):
            values[i] = value

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """``"action_masks"``: int8 (A,) of each game; others are an AttributeError."""
        if method_name != "action_masks":
            raise AttributeError(f"the only method is action_masks, got {method_name!r}")
        return list(self.games.arena.action_mask[list(self._get_indices(indices))])

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """No game is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """End the opponents' programs, if there are any."""
        self.games.close()
