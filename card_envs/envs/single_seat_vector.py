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
from card_envs.contract.game import repr_of
from card_envs.contract.options import DEFAULT_MAX_STEPS, View
from card_envs.engine.seeds import check_seeds
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.observation_space import Observation, is_mask_in_info, observation_space
from card_envs.envs.options import RENDER_MODES
from card_envs.games import load_game
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.utils.checks import check_actions, check_has_begun, check_reset_options
from card_envs.utils.portable import Undivided

# What ``call`` and ``get_attr`` know of each game, besides what ``set_attr`` has set.
_METHODS = ("action_masks", "action_name", "render")
_OF_A_GAME = ("game_seed", "num_players", "seat")
_OF_ALL_GAMES = {
    "game": "game",
    "options": "options",
    "render_mode": "render_mode",
    "view": "view",
    "observation_space": "single_observation_space",
    "action_space": "single_action_space",
}


class SingleSeatVectorEnv(Undivided, VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` games with a learner in one seat each: ``SingleSeatEnv``, batched and compiled.

    Observations, infos, rewards and flags are those that ``gymnasium.vector.SyncVectorEnv`` gives
    for ``num_envs`` of ``SingleSeatEnv`` with the same seeds and ``autoreset_mode``. Game i of one
    seed has ``seed + i``, modulo 2**64.

    ``infos["action_mask"]``, int8 (N, A), and ``infos["seat"]``, int64 (N,), belong to the
    observations returned; ``infos["_action_mask"]`` and ``infos["_seat"]``, bool (N,), say which
    games have them. All games have them except after a ``reset`` of some: the rows of the
    others are then 0, and :meth:`action_masks` returns the masks of all.

    When games have ended, ``place`` and ``num_players``, int64 (N,), ``_place`` and
    ``_num_players`` are in ``infos["final_info"]``, or, unless ``autoreset_mode`` is ``SAME_STEP``,
    in ``infos``; they are in neither if illegal actions ended all of them, see
    ``SingleSeatEnv.step``.

    With ``mask="observation"`` observations are ``{"observation": float32 or uint8 (N, D),
    "action_mask": int8 (N, A)}``, and there is no mask in ``infos``.

    Args:
        game: The game's id or versioned name.
        num_envs: Number of games.
        autoreset_mode: When finished games are reset, as ``gymnasium.vector.AutoresetMode``, its
            name or its value:

            - ``SAME_STEP``: in the step in which they end. ``infos["final_obs"]`` and
              ``infos["final_info"]`` then hold the last observations and infos of the games that
              ended; ``infos["_final_obs"]`` and ``infos["_final_info"]`` say which they are.
            - ``NEXT_STEP``: in the step after that. Their action in that step is ignored, and
              their reward is 0. A finished game has an action mask of zeros.
            - ``DISABLED``: by the caller, with ``reset(options={"reset_mask": ...})``. A step in
              which one of the games is over is an error.
        render_mode: None, ``"ansi"``, ``"rgb_array"`` or ``"svg"``: a text or a picture of each
            game.
        **own_options: The game's own options; all other arguments are those of ``SingleSeatEnv``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    metadata: dict[str, Any] = {
        "render_modes": [mode for mode in RENDER_MODES if mode != "human"],
        "render_fps": FPS,
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
        mask: str = "info",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        on_illegal: str = "terminate",
        observation_dtype: str = "float32",
        render_mode: str | None = None,
        render_perspective: int | str | None = None,
        **own_options: Any,
    ) -> None:
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self._mask_in_info = is_mask_in_info(mask)
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
            observation_dtype=observation_dtype,
            reward=reward,
            max_steps=max_steps,
            memory=memory,
            features=features,
            arguments=("mask", "autoreset_mode", "render_mode", "render_perspective"),
            **own_options,
        )
        self._renderer = TableRenderer(
            self.game,
            self._games.player_range[0],
            mode=render_mode,
            modes=self.metadata["render_modes"],
            perspective=render_perspective,
        )
        self.num_envs = self._games.num_envs
        # The games that are over and not yet reset.
        self._over = np.zeros(self.num_envs, np.bool_)
        self._own_attributes: dict[str, tuple[Any, ...]] = {}
        self.single_observation_space = observation_space(
            self.game, self._mask_in_info, observation_dtype
        )
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    @property
    def view(self) -> View:
        """The learner's ``memory`` and ``features``."""
        return self._games.arena.view

    def __repr__(self) -> str:
        numbers = {"num_envs": self.num_envs, "num_players": self._games.player_range}
        return repr_of(self, self.game, self.options, **numbers)

    @property
    def options(self) -> dict[str, Any]:
        """The games' options."""
        return dict(self._games.arena.options)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin all games, or some.

        A game plays out as in ``SingleSeatEnv`` with the same seed.

        Args:
            seed: One seed: game i has the seed ``seed + i``. Or one for each game, which may be
                None. None: the seed that follows that of the game before; the first one is drawn
                from the operating system.
            options: ``{"reset_mask": bool (N,)}``: which games to begin; at least one. The others
                stay as they are.

        Returns:
            The observations of all games, and the infos of those that have begun.

        Raises:
            ValueError, TypeError: A seed or the mask is wrong; no game has changed.
            gymnasium.error.ResetNeeded: The first reset is not of all games.
        """
        check_reset_options(options, "reset_mask")
        chosen = self._check_reset_mask(options)
        seeds = self._check_seeds(seed)
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
        if not chosen.all() and not self._games.has_begun:
            raise gymnasium.error.ResetNeeded("the first reset() must be one of all games")
        games = np.flatnonzero(chosen)
        self._games.restart(games, seeds[games])
        self._over &= ~chosen
        return self._observations(), self._infos(chosen)

    def _check_reset_mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, np.bool_)
        mask = options["reset_mask"]
        about = f"options['reset_mask'] must be an array of {self.num_envs} bools"
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            kind = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
            raise TypeError(f"{about}, got {kind}")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"{about}, got the shape {mask.shape}")
        if not mask.any():
            raise ValueError(f"{about}, one of them True; all are False")
        return mask

    def _check_seeds(self, seed: Any) -> NDArray[np.uint64]:
        """The seed of each game, if it is to begin."""
        if seed is None or np.ndim(seed) == 0:
            return self._games.seeds_from(seed)
        return check_seeds(seed, self._games.seeds_from(None))

    def step(
        self, actions: ArrayLike
    ) -> tuple[
        Observation,
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Take the learners' actions (N,), and play until their next decisions.

        Returns:
            The observations, float32 or uint8 (N, D); the learners' rewards since their last
            decisions, float64 (N,); whether the games have terminated, and whether ``max_steps``
            truncated them, both bool (N,); and the infos, as in :meth:`reset`, with ``"place"``
            and ``"num_players"`` of games that have ended. With ``mask="observation"`` masks are
            with the observations.

        Raises:
            ValueError: The array is of the wrong shape or dtype, an action is outside the action
                space, or it is illegal with ``on_illegal="raise"``; no game has changed.
            gymnasium.error.ResetNeeded: There are no games yet; or one is over, with
                ``AutoresetMode.DISABLED``; or an opponent's error broke them off.
        """
        if not self._games.has_begun:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before step")
        array = np.asarray(actions)
        check_actions(array, self.num_envs)
        rewards, terminated, truncated = self._step_games(array.astype(np.int64))
        over = terminated | truncated
        places, final = {}, {}
        if over.any():
            places = self._places(over)
            ended = np.flatnonzero(over)
            self._games.observe_ended(ended)
            if self.autoreset_mode == AutoresetMode.SAME_STEP:
                final, places = self._final_infos(over, places), {}
                self._games.reset_next(ended)
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            self._over = over
        infos = {**self._infos(), **places, **final}
        return self._observations(), rewards, terminated, truncated, infos

    def _step_games(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Step the games that are not over, and begin the others."""
        if not self._over.any():
            return self._games.step(actions)
        over = np.flatnonzero(self._over)
        if self.autoreset_mode == AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(
                f"the games {over.tolist()} are over: call reset(options={{'reset_mask': ...}})"
            )
        running = np.flatnonzero(~self._over)
        results = (
            np.zeros(self.num_envs),
            np.zeros(self.num_envs, np.bool_),
            np.zeros(self.num_envs, np.bool_),
        )
        for of_all, of_running in zip(
            results, self._games.step(actions[running], running), strict=True
        ):
            of_all[running] = of_running
        self._games.reset_next(over)
        return results

    def _observations(self) -> Observation:
        observation = self._games.arena.observation.copy()
        if self._mask_in_info:
            return observation
        return {"observation": observation, "action_mask": self.action_masks()}

    def _infos(self, games: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        """The infos of some games, or of all."""
        infos: dict[str, NDArray[Any]] = {"seat": self._games.learner_seats.copy()}
        if self._mask_in_info:
            infos["action_mask"] = self.action_masks()
        if games is None:
            games = np.ones(self.num_envs, np.bool_)
        else:
            for array in infos.values():
                array[~games] = 0
        return _with_flags(infos, games)

    def _places(self, over: NDArray[np.bool_]) -> dict[str, Any]:
        """The infos that games have at their end: none if nobody has a place."""
        places = np.where(over, self._games.places(), 0)
        if not places.any():
            return {}
        has_place = places > 0
        counts = np.where(has_place, self._games.arena.states["num_players"], 0).astype(np.int64)
        return _with_flags({"place": places, "num_players": counts}, has_place)

    def _final_infos(self, over: NDArray[np.bool_], places: dict[str, Any]) -> dict[str, Any]:
        """Last observations and infos of games that are about to be reset."""
        final_obs: NDArray[Any] = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(over):
            observation = self._games.arena.observation[i].copy()
            if self._mask_in_info:
                final_obs[i] = observation
            else:
                action_mask = self._games.arena.action_mask[i].copy()
                final_obs[i] = {"observation": observation, "action_mask": action_mask}
        final_info = {**self._infos(over), **places}
        return _with_flags({"final_obs": final_obs, "final_info": final_info}, over)

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now: int8 (N, A), all 0 for a game that is over; ResetNeeded
        before the first ``reset``."""
        return self._games.action_masks()

    def action_name(self, action: int) -> str:
        """An action in words."""
        return self.game.action_name(action)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of ``SingleSeatEnv``, or get an attribute, in each game.

        Args:
            name: ``"action_masks"``, ``"action_name"`` or ``"render"``; or an attribute, see
                :meth:`get_attr`.
            *args: The method's arguments.
            **kwargs: The method's arguments.

        Returns:
            One result for each game.

        Raises:
            AttributeError: There is no such method or attribute; or it is one of a game, and there
                are none yet.
        """
        if name in self._own_attributes:
            return self._own_attributes[name]
        if name in _OF_ALL_GAMES:
            return (getattr(self, _OF_ALL_GAMES[name]),) * self.num_envs
        if name == "action_name":
            return (self.action_name(*args, **kwargs),) * self.num_envs
        if name == "render":
            return self.render(*args, **kwargs) or (None,) * self.num_envs
        if name == "action_masks":
            return tuple(self.action_masks(*args, **kwargs))
        if name not in _OF_A_GAME:
            known = (*_METHODS, *_OF_A_GAME, *_OF_ALL_GAMES, *self._own_attributes)
            raise AttributeError(f"a game has no attribute {name!r}; it has {', '.join(known)}")
        check_has_begun(self._games.has_begun, name)
        games = self._games
        of_each = {
            "game_seed": games.game_seeds,
            "num_players": games.arena.states["num_players"],
            "seat": games.learner_seats,
        }
        return tuple(of_each[name].tolist())

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of ``SingleSeatEnv`` in each game.

        Args:
            name: ``"game_seed"``, ``"num_players"`` or ``"seat"`` (of the present games),
                ``"game"``, ``"options"``, ``"view"``, ``"render_mode"``, ``"observation_space"``,
                ``"action_space"``, or what :meth:`set_attr` has set.

        Returns:
            One value for each game.

        Raises:
            AttributeError: As for :meth:`call`.
        """
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of the caller's own for each game, such as a label.

        Args:
            name: Its name.
            values: A list or tuple with one value for each game, or one value for all.

        Raises:
            AttributeError: It is one of the environment's attributes, which cannot be set.
            ValueError: The number of values is not that of the games.
        """
        if name in (*_METHODS, *_OF_A_GAME, *_OF_ALL_GAMES):
            raise AttributeError(f"{name!r} cannot be set: it follows from the game")
        if not isinstance(values, (list, tuple)):
            values = (values,) * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"{len(values)} values are given for {self.num_envs} games")
        self._own_attributes[name] = tuple(values)

    def close_extras(self, **kwargs: Any) -> None:
        """End the opponents' programs; called by ``close``."""
        if hasattr(self, "_games"):  # Gymnasium 1.1 also closes what could not be made
            self._games.close()

    def render(self) -> tuple[Any, ...] | None:
        """All tables, in words or as pictures, by ``render_mode``.

        Raises:
            MissingExtraError: ``pip install 'card_envs[render]'`` is needed.
        """
        if self.render_mode is None or not self._games.has_begun:
            return None
        arena, seats = self._games.arena, self._games.learner_seats
        return tuple(
            self._renderer.render(arena.states, i, int(seats[i]), arena.view.codes[0])
            for i in range(self.num_envs)
        )


def _with_flags(infos: dict[str, Any], games: NDArray[np.bool_]) -> dict[str, Any]:
    """The infos and, for each key, which games have it, by Gymnasium's convention."""
    return {**infos, **{f"_{key}": games.copy() for key in infos}}


def _autoreset_mode(mode: Any) -> AutoresetMode:
    for known in AutoresetMode:
        if mode is known or (isinstance(mode, str) and mode in (known.name, known.value)):
            return known
    names = ", ".join(repr(known.name) for known in AutoresetMode)
    raise ValueError(
        f"autoreset_mode must be a gymnasium.vector.AutoresetMode or one of {names}, got {mode!r}"
    )
