"""``SingleSeatEnv``: one seat of a game as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.agents import AgentLike
from card_envs.contract.options import DEFAULT_MAX_STEPS, View
from card_envs.envs.observation_space import Observation, is_mask_in_info, observation_space
from card_envs.envs.seat import SeatEnv
from card_envs.games import load_game
from card_envs.utils.checks import as_whole_number


class SingleSeatEnv(SeatEnv[Observation, np.int64]):
    """One seat of a card game against opponents, which move between the learner's decisions.

    ## Description
    A game of ``card_envs.games``; its rules, actions, observation and options are in its
    RULES.md.

    ## Action Space
    ``Discrete(A)``; :meth:`action_masks` (the method that sb3-contrib's MaskablePPO calls) and
    ``info["action_mask"]`` say which actions are legal.

    ## Observation Space
    ``Box(0, 1, (D,), float32)``: what the learner can know, their own seat first. With
    ``observation_dtype="uint8"``: ``Box(0, game.fields.scale, (D,), uint8)``, the same in whole
    units.

    With ``mask="observation"``: ``Dict{"observation": that Box, "action_mask": Box(0, 1, (A,),
    int8)}``; the mask is then not in ``info``.

    ## Starting State
    Cards, and the learner's seat unless it is given, follow from the seed. The opponents have
    played up to the learner's first decision.

    ## Rewards
    The sum of the learner's rewards from their decision until their next one or the end of the
    game. Rewards before their first decision (with ``reward="score"``, when a round ends with
    forced moves only) are not included.

    ## Episode End
    The end of the game, or truncation after ``max_steps`` decisions of all players together.

    ## Arguments
    The others are documented in ``card_envs.envs.options.EnvOptions``; ``memory`` and ``features``
    are the learner's (opponents observe as they were made for), and ``mask`` is ``"info"`` by
    default.

    Args:
        game: The game's id or versioned name.
        num_players: One number, or a pair (low, high): each game then draws its own. None: the
            game's default.
        opponents: An agent for all other seats, or one for each, from the learner's left on (then
            ``num_players`` must be one number): a name, a ``card_envs.agents.Agent``, or a function
            of observations and masks that gives legal actions (M,) for float32 (M, D) and int8
            (M, A). None: the heuristic, or random if the game has none.
        seat: The learner's seat; None: drawn at each reset.
        skip_forced: Whether forced moves (a single legal action) are made for the learner.
        observation_dtype: ``"float32"``: values in [0, 1]; ``"uint8"``: the same in whole units,
            ``value * game.fields.scale``.
        **own_options: The game's own options, which are in its RULES.md.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.

    ## Version History
    The version is the game's: games of one ``-vN`` play out the same in every release.
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
        features: bool = True,
        mask: str = "info",
        on_illegal: str = "terminate",
        observation_dtype: str = "float32",
        render_mode: str | None = None,
        render_perspective: int | str | None = None,
        **own_options: Any,
    ) -> None:
        self._mask_in_info = is_mask_in_info(mask)
        super().__init__(
            load_game(game),
            render_mode,
            render_perspective,
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
            arguments=("mask", "render_mode", "render_perspective"),
            **own_options,
        )
        self._actions = np.zeros(1, np.int64)
        self.observation_space = observation_space(self.game, self._mask_in_info, observation_dtype)
        self.action_space = spaces.Discrete(self.game.num_actions)

    @property
    def view(self) -> View:
        """The learner's ``memory`` and ``features``."""
        return self._games.arena.view

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a new game and let the opponents play to the learner's first decision.

        A game that ends before that is skipped; the next one has the next seed.

        Returns:
            The observation, float32 or uint8 (D,), and ``{"action_mask": int8 (A,), "seat": int}``;
            with ``mask="observation"`` the mask is with the observation.

        Raises:
            ValueError, TypeError: The seed is wrong; or there are options: a game's are given to
                the constructor.
        """
        self._begin(seed, options)
        return self._observe()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the learner's action, and play until their next decision.

        Args:
            action: From 0 to A - 1; ``on_illegal`` says what an illegal one does.

        Returns:
            The observation; the learner's reward since their last decision; whether the game has
            terminated; whether ``max_steps`` truncated it; and the info, as in :meth:`reset`, at
            the end with ``"place"``: the learner's place in the final standing, from 1, which
            players who are level share, and ``"num_players"``; there are none if an illegal action
            ended the game.

        Raises:
            ResetNeeded: No game has begun, or it is over, or an opponent's error broke it off.
            ValueError: There is no such action, or it is illegal with ``on_illegal="raise"``.
        """
        self._check_running()
        number = as_whole_number(action)
        if number is None or not 0 <= number < self.game.num_actions:
            raise ValueError(
                f"actions are whole numbers from 0 to {self.game.num_actions - 1}, got {action!r}"
            )
        self._actions[0] = number
        rewards, terminated, truncated = self._games.step(self._actions)
        self._is_over = bool(terminated[0] or truncated[0])
        observation, info = self._observe()
        self._show()
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        if self._is_over:
            self._games.observe_ended(self._games.all)
        observation = self._games.arena.observation[0].copy()
        info: dict[str, Any] = {"seat": self.seat, **self._place()}
        if self._mask_in_info:
            return observation, {"action_mask": self.action_masks(), **info}
        return {"observation": observation, "action_mask": self.action_masks()}, info

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now: int8 (A,), all 0 when the game is over; ResetNeeded before
        the first ``reset``."""
        mask: NDArray[np.int8] = self._games.action_masks()[0]
        return mask

    def action_name(self, action: int) -> str:
        """An action in words."""
        return self.game.action_name(action)
