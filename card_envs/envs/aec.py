"""``CardEnv``: every game as a PettingZoo AEC environment."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env_logger import EnvLogger

from card_envs.contract.game import Game, repr_of
from card_envs.contract.options import DEFAULT_MAX_STEPS, View, arguments_of
from card_envs.contract.outcome import mover
from card_envs.engine.history import Redraw, Replay
from card_envs.engine.seeds import check_given_seed, check_seed
from card_envs.engine.templates import write_full_states
from card_envs.envs.agent_iter import AgentIterable
from card_envs.envs.observation_space import Observation, is_mask_in_info, observation_space
from card_envs.envs.ongoing_game import OngoingGame, copied_from_the_game, of_the_game
from card_envs.envs.options import RENDER_MODES, check_on_illegal
from card_envs.envs.wrong_actions import not_in_space, not_legal, warn_of_illegal_move
from card_envs.games import load_game
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.utils.checks import as_whole_number, check_has_begun
from card_envs.utils.threads import OneThread, in_use, one_thread_at_a_time

if TYPE_CHECKING:
    from card_envs.envs.aec_types import AECEnv
else:
    from pettingzoo.utils.env import AECEnv


class CardEnv(OneThread, AECEnv[str, Observation, int]):
    """A card game with players ``player_0`` ... ``player_{n-1}``.

    ## Description
    A game of ``card_envs.games``; its rules, actions, observation and options are in its
    RULES.md.

    ## Action Space
    ``Discrete(A)``, the same for any number of players; ``action_name`` gives an action in words.

    ## Observation Space
    ``Dict{"observation": Box(0, 1, (D,), float32), "action_mask": Box(0, 1, (A,), int8)}``, equal
    for all agents. The observation holds what the agent can know, seats relative to their own; the
    mask is all 0 for an agent that is not to move. ``unwrapped.unflatten(observation)`` names the
    fields.

    With ``mask="info"``, for wrappers that take nothing but a Box: ``Box(0, 1, (D,), float32)``;
    the mask, int8 (A,), is then in ``infos[agent]["action_mask"]``.

    ## Starting State
    Cards are dealt from the seed: the same seed and actions play out the same everywhere.

    ## Rewards
    By the option ``reward``: ``"rank"`` (at the end, the mean over the opponents of +1, 0, -1 for
    being ahead, level, behind), ``"win"`` (the winners share 1) or ``"score"`` (each round's
    points relative to the table's mean, times ``game.score_scale``).

    ## Episode End
    All agents terminate together when the game is over, or are truncated after ``max_steps``
    decisions. ``infos[agent]["place"]`` is then the place in the final standing, from 1; players
    who are level share it.

    With ``on_illegal="terminate"`` an illegal action ends the game, -1 for the offender and 0 for
    the others, as with PettingZoo's TerminateIllegalWrapper, and nobody has a place; with
    ``"raise"`` it is a ValueError and nothing changes. Actions outside the action space and
    calls in the wrong order give the errors of PettingZoo's AssertOutOfBoundsWrapper and
    OrderEnforcingWrapper: no wrapper is needed.

    An environment serves one thread at a time: a method that changes it raises a RuntimeError if
    another thread is in one.

    ## Arguments
    The options that all games share are documented in ``card_envs.envs.options.EnvOptions``.

    Args:
        game: The game's id or versioned name.
        **own_options: The game's own options, which are in its RULES.md.

    Raises:
        ValueError, TypeError: A value or the name of an option is wrong; the message says what is
            allowed.

    ## Version History
    The version is the game's: games of one ``-vN`` play out the same in every release.
    """

    metadata: dict[str, Any] = {
        "render_modes": [*RENDER_MODES],
        "is_parallelizable": False,
        "render_fps": FPS,
    }

    # What belongs to the game under way.
    agents: list[str] = of_the_game("agents")
    agent_selection: str = of_the_game("agent_selection")
    possible_agents: list[str] = copied_from_the_game("possible_agents")
    rewards: dict[str, float] = of_the_game("rewards")
    terminations: dict[str, bool] = of_the_game("terminations")
    truncations: dict[str, bool] = of_the_game("truncations")
    infos: dict[str, dict[str, Any]] = of_the_game("infos")
    num_players: int = copied_from_the_game("num_players")
    options: dict[str, Any] = copied_from_the_game("options")
    _cumulative_rewards: dict[str, float] = of_the_game("cumulative_rewards")
    _skip_agent_selection: str | None = of_the_game("skip_agent_selection")

    def __init__(
        self,
        game: str,
        *,
        num_players: int | None = None,
        reward: str = "rank",
        max_steps: int = DEFAULT_MAX_STEPS,
        memory: str = "perfect",
        features: bool = True,
        mask: str = "observation",
        on_illegal: str = "terminate",
        render_mode: str | None = None,
        render_perspective: int | str | None = None,
        **own_options: Any,
    ) -> None:
        super().__init__()
        self.game: Game = load_game(game)
        num_players = self.game.check_num_players(num_players)
        options = self.game.check_options(
            {"reward": reward, "max_steps": max_steps, **own_options}, arguments_of(CardEnv)
        )
        self.view = View(memory, features)
        self._renderer = TableRenderer(
            self.game,
            num_players,
            mode=render_mode,
            modes=self.metadata["render_modes"],
            perspective=render_perspective,
        )
        self._mask_in_info = is_mask_in_info(mask)
        self._ongoing = OngoingGame(self.game, num_players, options, self.view, self._mask_in_info)
        self.render_mode = render_mode
        self._shows_steps = render_mode == "human"
        self.on_illegal = check_on_illegal(on_illegal)
        self.metadata = {**type(self).metadata, "name": self.game.name}
        self._action_space = spaces.Discrete(self.game.num_actions)
        self._num_actions = self.game.num_actions
        self._make_spaces()
        #: Space of :meth:`state`.
        self.state_space = spaces.Box(0.0, 1.0, (self.game.state_fields.size,), np.float32)

    def _make_spaces(self) -> None:
        """Spaces of each agent's own."""
        agents, in_info, count = self.possible_agents, self._mask_in_info, self._num_actions
        self.observation_spaces = {a: observation_space(self.game, in_info) for a in agents}
        self.action_spaces: dict[str, spaces.Discrete] = {a: spaces.Discrete(count) for a in agents}

    # The AEC interface

    def observation_space(self, agent: str) -> Any:
        """The agent's observation space: always the same object."""
        self._player_of(agent)  # a KeyError that names the agents
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The agent's action space: always the same object."""
        self._player_of(agent)
        return self.action_spaces[agent]

    @one_thread_at_a_time
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a new game.

        Args:
            seed: A whole number in [0, 2**64): the game plays out the same for the same seed and
                actions. None: it follows from the seed of the game before; the first one is drawn
                from the operating system.
            options: Ignored, as PettingZoo's tests want: a game's options are the constructor's.

        Raises:
            ValueError, TypeError: The seed is out of range, or no whole number.
            RuntimeError: Another thread is using this environment.
        """
        now = self._ongoing
        now.begin(check_seed(now.next_seed if seed is None else seed))
        if self._shows_steps:
            self.render()

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Take the action of ``agent_selection``; None if the game is over.

        Raises:
            ValueError: The action is illegal, with ``on_illegal="raise"``.
            RuntimeError: Another thread is using this environment.
        """
        now = self._ongoing
        if not now.has_begun:
            EnvLogger.error_step_before_reset()
        now.has_updated = True
        if not now.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = now.agent_selection
        # A wrapper may have ended the game of an agent, such as one with a time limit.
        if now.is_over or now.terminations[agent] or now.truncations[agent]:
            if action is not None and not self._action_space.contains(action):
                raise not_in_space(action, self._num_actions)
            self._was_dead_step(action)
            return
        # Raised, not asserted: ``python -O`` drops asserts, and kernels take anything.
        number = action if type(action) is int else as_whole_number(action)
        if number is None or not 0 <= number < self._num_actions:
            raise not_in_space(action, self._num_actions)
        if self._in_use:  # as ``one_thread_at_a_time`` does, without another call
            raise in_use(self)
        self._in_use = True
        try:
            is_legal = now.step(number)
            if not is_legal:
                self._refuse(number)
        finally:
            self._in_use = False
        if is_legal and self._shows_steps:
            self.render()

    def _refuse(self, action: int) -> None:
        """An action in the space that the rules do not allow."""
        about = not_legal(self.game, action, self.agent_selection, self.legal_actions())
        if self.on_illegal == "raise":
            raise ValueError(about)
        warn_of_illegal_move(about)
        self._ongoing.lose()

    def observe(self, agent: str) -> Observation:
        """What the agent can know, and which actions are legal for them.

        Returns:
            ``observation``: float32 (D,) in [0, 1]. ``action_mask``: int8 (A,). Both are the
            caller's own. With ``mask="info"`` the observation alone.

        Raises:
            KeyError: There is no such agent.
        """
        now = self._ongoing
        if not now.has_begun:
            EnvLogger.error_observe_before_reset()
        now.follow_record()
        is_to_move = agent == now.mover
        observation = now.take_given() if is_to_move else None
        if observation is None:
            observation = now.observe(self._player_of(agent))
        if self._mask_in_info:
            return observation
        action_mask = now.action_mask.copy() if is_to_move else np.zeros_like(now.action_mask)
        return {"observation": observation, "action_mask": action_mask}

    def _player_of(self, agent: str) -> int:
        player = self._ongoing.player_of.get(agent)
        if player is None:
            raise KeyError(f"there is no agent {agent!r}; the agents are {self.possible_agents}")
        return player

    def state(self) -> NDArray[np.float32]:
        """The true full state as float32 (S,) in [0, 1], hidden cards included, player_0 first."""
        if not self._ongoing.has_begun:
            EnvLogger.error_state_before_reset()
        out = np.empty((1, self.game.state_fields.size), np.float32)
        first = np.zeros(1, np.int64)
        write_full_states(self.game, self._ongoing.states, first, first, out)
        row: NDArray[np.float32] = out[0]
        return row

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table in words or as a picture, by ``render_mode``; or it is shown in a window.

        Raises:
            MissingExtraError: ``pip install 'card_envs[render]'`` is needed.
            OSError: There is no display for the window.
        """
        if not self._ongoing.has_begun:
            EnvLogger.error_render_before_reset()
        if self.render_mode is None:
            gymnasium.logger.warn(
                "You are calling render method without specifying any render mode."
            )
            return None
        player = self._player_of(self.agent_selection) if self.agents else 0
        return self._renderer.render(self._ongoing.states, 0, player, self.view.codes[0])

    def _repr_svg_(self) -> str | None:
        """What notebooks show: the table of the game under way, whatever ``render_mode`` is."""
        if not self._ongoing.has_begun:
            return None
        states = self._ongoing.states
        return self._renderer.svg(states, 0, mover(states[0]), self.view.codes[0])

    def agent_iter(self, max_iter: int = 2**63) -> AgentIterable:
        """Yields the agent to move until no agent is left; ``step`` once for each."""
        if not self._ongoing.has_begun:
            EnvLogger.error_agent_iter_before_reset()
        return AgentIterable(self, max_iter)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    if not TYPE_CHECKING:  # a misspelt attribute is an error under a type checker

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                ongoing = self.__dict__.get("_ongoing")
                check_has_begun(ongoing is not None and ongoing.has_begun, name)
                return object.__getattribute__(self, name)  # its own error, once more
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return repr_of(self, self.game, self.options, num_players=self.num_players)

    # Beyond PettingZoo

    @property
    def unwrapped(self) -> CardEnv:
        """The environment itself."""
        return self

    @property
    def states(self) -> NDArray[np.void]:
        """The game's record, in an array of one: what kernels and agents work on.

        A record changed by hand is no longer the one that :meth:`save` would bring back.
        """
        return self._ongoing.lend()

    @property
    def history(self) -> tuple[int, tuple[int | Redraw, ...]]:
        """The game's seed, and what was done since: actions, and calls of :meth:`determinize`.

        Raises:
            AttributeError: No game has begun.
            ValueError: It is a world, see ``card_envs.envs.world``: it has none.
        """
        check_has_begun(self._ongoing.has_begun, "history")
        return self._ongoing.history

    def _check_reset(self, what: str) -> None:
        if not self._ongoing.has_begun:
            raise AssertionError(f"reset() needs to be called before {what}.")

    def legal_actions(self) -> list[int]:
        """The legal actions of the agent to move, ascending; [] when the game is over.

        Raises:
            AssertionError: ``reset`` was not called first.
        """
        self._check_reset("legal_actions")
        self._ongoing.follow_record()
        return np.flatnonzero(self._ongoing.action_mask).tolist()

    def action_name(self, action: int) -> str:
        """An action in words."""
        return self.game.action_name(action)

    def unflatten(self, observation: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """The fields of an observation vector by name, as views.

        Raises:
            ValueError: It is not of shape (..., D).
            TypeError: It is a dict, as :meth:`observe` gives: take its ``"observation"``.
        """
        return self.game.fields.unflatten(observation)

    @one_thread_at_a_time
    def determinize(self, agent: str, seed: int) -> None:
        """Redraw all that the agent cannot know, uniformly over what agrees with their knowledge:
        all that they have seen, also with ``memory="none"``.

        For users' own search: on a :meth:`clone`. Neither the agent's observation nor, if they are
        to move, their mask changes.

        Args:
            agent: Whose knowledge stays.
            seed: A whole number in [0, 2**64); the result follows from it and from what the agent
                knows.

        Raises:
            KeyError: There is no such agent.
            ValueError: The seed is out of range.
            TypeError: The seed is not a whole number.
            AssertionError: ``reset`` was not called first.
        """
        self._check_reset("determinize")
        seed, player = check_given_seed(seed), self._player_of(agent)
        self._ongoing.redraw(player, seed)

    def clone(self) -> CardEnv:
        """A fast copy of the running game, for search.

        It shares the spaces and what a subclass adds, which ``copy.deepcopy`` copies too. With
        ``render_mode="human"`` it shows its table only when :meth:`render` is called.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._in_use = False
        twin._renderer = self._renderer.without_window()
        twin._shows_steps = False
        twin._ongoing = self._ongoing.copy()
        return twin

    def __copy__(self) -> CardEnv:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> CardEnv:
        twin = memo[id(self)] = self.clone()
        for name in twin.__dict__.keys() - {"_ongoing", "_renderer"}:  # which are its own
            twin.__dict__[name] = copy.deepcopy(twin.__dict__[name], memo)
        return twin

    def save(self) -> bytes:
        """The game's history for :meth:`load`: one line of UTF-8 JSON, the same as a replay file.

        It holds seed, options, actions and redraws; neither an illegal action that ended the game
        nor the dead steps after the end are included.

        Raises:
            AssertionError: ``reset`` was not called first.
            ValueError: It is a world, see ``card_envs.envs.world``: it has no history.
        """
        self._check_reset("save")
        return Replay.of(self).to_json().encode()

    @one_thread_at_a_time
    def load(self, data: bytes) -> None:
        """Continue a game that :meth:`save` or a replay file holds, with its own options.

        It is played back with every action checked. The games after it have its options, too.

        Raises:
            ValueError: The bytes are damaged or foreign, of another game or of an earlier format,
                or an action in them is illegal; or ``render_perspective`` is no seat of the game.
                The environment is as it was.
        """
        replay = Replay.from_bytes(data)
        if replay.game != self.game.name:
            raise ValueError(f"this is a game of {replay.game}, not of {self.game.name}")
        replay.play()  # which checks every action
        num_players = replay.num_players
        loaded = OngoingGame(
            self.game, num_players, replay.game_options, self.view, self._mask_in_info
        )
        loaded.begin(replay.seed)
        for entry in replay.actions:
            if isinstance(entry, Redraw):
                loaded.redraw(entry.player, entry.seed)
            else:
                loaded.step(entry)
        self._renderer.check_num_players(num_players)
        before, self._ongoing = self._ongoing, loaded
        if num_players != before.num_players:  # else spaces stay the same objects
            self._make_spaces()
