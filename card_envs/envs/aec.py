"""``CardEnv``: every game as a PettingZoo AEC environment."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv, AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from card_envs.engine.game import Game
from card_envs.engine.seeds import check_seed, next_seed
from card_envs.engine.templates import OVER, PAID, compile_for, step_and_look
from card_envs.envs import saves
from card_envs.games import load_game

Observation = dict[str, NDArray[Any]]

_ILLEGAL_REWARD = -1.0
_NEEDS_RESET = {
    "rewards",
    "terminations",
    "truncations",
    "infos",
    "agent_selection",
    "num_agents",
    "agents",
}


class CardEnv(AECEnv[str, Observation, int]):
    """One game with its players as agents ``player_0`` ... ``player_{n-1}``.

    ## Action space
    ``Discrete(A)``, the same for any number of players; see the action table of the game.

    ## Observation space
    ``Dict{"observation": Box(0, 1, (D,), float32), "action_mask": Box(0, 1, (A,), int8)}``, equal
    for all agents. The observation holds what the agent can know, seats relative to himself; the
    mask is all 0 for an agent who is not to move. ``unwrapped.unflatten(observation)`` names the
    parts.

    ## Rewards
    By the option ``reward``: ``"rank"`` (at the end, the mean over the opponents of +1, 0, -1 for
    being ahead, level, behind), ``"win"`` (the winners share 1) or ``"score"`` (each round's
    points relative to the table's mean).

    ## Episode end
    All agents terminate together when the game is over, or are truncated after ``max_steps``
    decisions. ``infos[agent]["place"]`` is then the place in the final standing, from 1; players
    who are level share it.

    ## Illegal actions
    With ``on_illegal="terminate"`` the game ends, -1 for the offender and 0 for the others, as
    PettingZoo's TerminateIllegalWrapper does it; with ``"raise"`` a ValueError is raised and
    nothing changes. Actions outside the action space and calls in the wrong order give the errors
    of PettingZoo's AssertOutOfBoundsWrapper and OrderEnforcingWrapper: no wrapper is needed.

    Args:
        game: The game's id.
        num_players: Number of players.
        render_mode: None, ``"ansi"`` (``render()`` returns the table in words, as the agent to
            move sees it) or ``"human"`` (it is printed after each step).
        on_illegal: ``"terminate"`` or ``"raise"``.
        **options: ``reward``, ``memory``, ``max_steps`` and the game's own options.

    Raises:
        ValueError, TypeError: A value or the name of an option is wrong; the message says what is
            allowed.
    """

    metadata: dict[str, Any] = {
        "render_modes": ["ansi", "human"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        game: str,
        *,
        num_players: int = 4,
        render_mode: str | None = None,
        on_illegal: str = "terminate",
        **options: Any,
    ) -> None:
        super().__init__()
        self.game: Game = load_game(game)
        self.num_players = self.game.check_num_players(num_players)
        self.options = self.game.check_options(
            options, ("num_players", "render_mode", "on_illegal")
        )
        if render_mode not in (None, "ansi", "human"):
            raise ValueError(f"render_mode must be None, 'ansi' or 'human', got {render_mode!r}")
        if on_illegal not in ("terminate", "raise"):
            raise ValueError(f"on_illegal must be 'terminate' or 'raise', got {on_illegal!r}")
        self.render_mode = render_mode
        self.on_illegal = on_illegal
        self.metadata = {**type(self).metadata, "name": self.game.name}
        self.possible_agents = [f"player_{k}" for k in range(self.num_players)]
        self._player = {agent: k for k, agent in enumerate(self.possible_agents)}
        self._action_space = spaces.Discrete(self.game.num_actions)
        self._num_actions = self.game.num_actions
        self._observation_size = self.game.fields.size
        self.observation_spaces = {a: self._make_observation_space() for a in self.possible_agents}
        self.action_spaces = {
            a: spaces.Discrete(self.game.num_actions) for a in self.possible_agents
        }
        #: Space of :meth:`state`.
        self.state_space = spaces.Box(0.0, 1.0, (self.game.state_fields.size,), np.float32)
        self._action_mask = np.zeros(self._num_actions, np.int8)
        self._next_seed: int | None = None
        self._has_updated = False
        self._bind(self.game.new_states(1))

    def _make_observation_space(self) -> spaces.Dict:
        return spaces.Dict(
            {
                "observation": spaces.Box(0.0, 1.0, (self._observation_size,), np.float32),
                "action_mask": spaces.Box(0, 1, (self._num_actions,), np.int8),
            }
        )

    def _bind(self, states: NDArray[np.void]) -> None:
        """Look up the kernels and keep live views of the record's fields."""
        self._states = states
        self._rewards_view = states["rewards"][0]
        self._step_and_look = compile_for(self.game, step_and_look)
        self._observe = self.game.observe
        # What the player to move sees, as the last step left it, until it has been given away.
        self._view: NDArray[np.float32] | None = None

    # -----------------------------------------------------------------------------------------
    # The AEC interface
    # -----------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Dict:
        """The agent's observation space: always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The agent's action space: always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a new game.

        Args:
            seed: A whole number in [0, 2**64): the game plays out the same for the same seed and
                actions. None goes on from the game before; the first time it is drawn from the
                operating system.
            options: Ignored.
        """
        if seed is None and self._next_seed is not None:
            seed = self._next_seed
        seed = check_seed(seed)
        self._next_seed = int(next_seed(np.uint64(seed)))
        self._deal(self._states, seed)
        self.game.rules.legal_action_mask(self._states, 0, self._action_mask)
        self._start_bookkeeping()
        self._view = None
        self.agent_selection = self.possible_agents[int(self._states["current_player"][0])]
        if self.render_mode == "human":
            self.render()

    def _deal(self, states: NDArray[np.void], seed: int) -> None:
        encoded = self.game.encode_options(self.options)
        self.game.rules.reset(states, 0, np.uint64(seed), self.num_players, *encoded)

    def _start_bookkeeping(self) -> None:
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._has_reset = True
        self._has_updated = True
        self._rewards_are_zero = True
        self._is_over = False

    def step(self, action: int | None) -> None:
        """Take the action of ``agent_selection``; None if the game is over."""
        try:
            agents = self.agents
        except AttributeError:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        if not agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        if self._is_over:
            assert action is None or self._action_space.contains(action), (
                "action is not in action space"
            )
            self._was_dead_step(action)
            return
        if type(action) is not int:
            assert self._action_space.contains(action), "action is not in action space"
            action = int(action)  # type: ignore[arg-type]
        assert 0 <= action < self._num_actions, "action is not in action space"
        agent = self.agent_selection
        if not self._action_mask[action]:
            self._refuse(agent, action)
            return
        self._view = np.empty(self._observation_size, np.float32)
        result = self._step_and_look(self._states, 0, action, self._view, self._action_mask)
        self._cumulative_rewards[agent] = 0.0
        if result < PAID:
            if not self._rewards_are_zero:
                self.rewards = dict.fromkeys(agents, 0.0)
                self._rewards_are_zero = True
            self.agent_selection = self.possible_agents[result]
        else:
            self._pay(result)
        if self.render_mode == "human":
            self.render()

    def _pay(self, result: int) -> None:
        """A step that brought rewards or the end."""
        self.rewards = dict(
            zip(self.agents, self._rewards_view[: self.num_players].tolist(), strict=True)
        )
        self._rewards_are_zero = False
        self._accumulate_rewards()
        self.agent_selection = self.possible_agents[result & (PAID - 1)]
        if result & OVER:
            self._end_game()

    def _end_game(self) -> None:
        self._view = None
        state = self._states[0]
        self.terminations = dict.fromkeys(self.agents, bool(state["terminated"]))
        self.truncations = dict.fromkeys(self.agents, bool(state["truncated"]))
        standing = state["standing"][: self.num_players]
        for player, agent in enumerate(self.agents):
            self.infos[agent] = {"place": 1 + int((standing > standing[player]).sum())}
        self._is_over = True
        self._deads_step_first()

    def _refuse(self, agent: str, action: int) -> None:
        """An action in the space that the rules do not allow."""
        if self.on_illegal == "raise":
            legal = self.legal_actions()
            raise ValueError(
                f"action {action} ({self.action_name(action)}) is not legal for {agent}; "
                f"legal are {legal}"
            )
        EnvLogger.warn_on_illegal_move()
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[agent] = _ILLEGAL_REWARD
        self._rewards_are_zero = False
        self._accumulate_rewards()
        self._action_mask[:] = 0
        self._view = None
        self._is_over = True
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """What the agent can know, and which actions are legal for him.

        Returns:
            ``observation``: float32 (D,) in [0, 1]. ``action_mask``: int8 (A,). Both are the
            caller's own.
        """
        if not self.__dict__.get("_has_reset"):
            EnvLogger.error_observe_before_reset()
        is_selected = agent == self.agent_selection
        if is_selected and self._view is not None:
            observation, self._view = self._view, None
        else:
            observation = np.empty(self._observation_size, np.float32)
            self._observe(self._states, 0, self._player_of(agent), observation)
        if is_selected:
            action_mask = self._action_mask.copy()
        else:
            action_mask = np.zeros(self._num_actions, np.int8)
        return {"observation": observation, "action_mask": action_mask}

    def _player_of(self, agent: str) -> int:
        player = self._player.get(agent)
        if player is None:
            raise KeyError(f"there is no agent {agent!r}; there are {self.possible_agents}")
        return player

    def state(self) -> NDArray[np.float32]:
        """The true full state as float32 (S,) in [0, 1], hidden cards included, player_0 first."""
        if not self.__dict__.get("_has_reset"):
            EnvLogger.error_state_before_reset()
        out = np.empty(self.game.state_fields.size, np.float32)
        self.game.write_state(self._states, 0, 0, out)
        return out

    def render(self) -> str | None:
        """The table in words as the agent to move sees it: returned, or printed (``"human"``)."""
        if not self.__dict__.get("_has_reset"):
            EnvLogger.error_render_before_reset()
        if self.render_mode is None:
            gymnasium.logger.warn(
                "You are calling render method without specifying any render mode."
            )
            return None
        player = self._player[self.agent_selection] if self.agents else 0
        text = self.game.describe(self._states, 0, player)
        if self.render_mode == "ansi":
            return text
        print(text, end="\n\n")
        return None

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        """Yields the agent to move until no agent is left; ``step`` once for each."""
        if not self.__dict__.get("_has_reset"):
            EnvLogger.error_agent_iter_before_reset()
        return _Agents(self, max_iter)

    def close(self) -> None:
        """Nothing is held open."""

    def __getattr__(self, name: str) -> Any:
        if name in _NEEDS_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -----------------------------------------------------------------------------------------
    # Beyond PettingZoo
    # -----------------------------------------------------------------------------------------

    @property
    def states(self) -> NDArray[np.void]:
        """The game's record, in an array of one: what kernels and agents work on."""
        self._view = None  # whoever asks may change it
        return self._states

    def legal_actions(self) -> list[int]:
        """The legal actions of the agent to move, ascending; [] when the game is over."""
        return np.flatnonzero(self._action_mask).tolist()

    def action_name(self, action: int) -> str:
        """An action in words."""
        if not self._action_space.contains(action):
            raise ValueError(f"actions are from 0 to {self._num_actions - 1}, got {action!r}")
        return self.game.action_name(int(action))

    def unflatten(self, observation: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """The named parts of an observation vector, as views."""
        return self.game.fields.unflatten(observation)

    def determinize(self, agent: str, seed: int) -> None:
        """Redraw in place all that the agent cannot know, uniformly among what he holds possible.

        For users' own search: on a ``copy.deepcopy`` of the environment. Neither the agent's
        observation nor, if he is to move, his mask changes.
        """
        if not self.__dict__.get("_has_reset"):
            raise AssertionError("reset() needs to be called before determinize.")
        seed = check_seed(seed)
        self._view = None
        self.game.rules.determinize(self._states, 0, self._player_of(agent), np.uint64(seed))
        if not self._is_over:  # another agent may be to move, with other cards now
            self.game.rules.legal_action_mask(self._states, 0, self._action_mask)

    def save(self) -> bytes:
        """The running game as bytes, for :meth:`load`."""
        if not self.__dict__.get("_has_reset"):
            raise AssertionError("reset() needs to be called before save.")
        header = {
            "game": self.game.name,
            "num_players": self.num_players,
            "options": self.options,
            "agents": self.agents,
            "agent_selection": self.agent_selection,
            "skip_agent_selection": self._skip_agent_selection,
            "rewards": self.rewards,
            "cumulative_rewards": self._cumulative_rewards,
            "terminations": self.terminations,
            "truncations": self.truncations,
            "infos": self.infos,
            "is_over": self._is_over,
            "next_seed": self._next_seed,
        }
        return saves.pack(header, self._states)

    def load(self, data: bytes) -> None:
        """Go on with a game that :meth:`save` gave.

        Raises:
            ValueError: The bytes are damaged or foreign, or of another game, version, number of
                players or option; the environment is as it was.
        """
        header, record = saves.unpack(data, self.game)
        saves.check_same("game", header.get("game"), self.game.name)
        saves.check_same("num_players", header.get("num_players"), self.num_players)
        saves.check_same("options", header.get("options"), self.options)
        states = self.game.as_states(record)
        fresh = self.game.new_states(1)
        self._deal(fresh, 0)
        saves.check_record(states, self.game, fresh)
        saves.check_header(header, self.possible_agents, states)
        self._bind(states)
        self._start_bookkeeping()
        self.agents = header["agents"]
        self.agent_selection = header["agent_selection"]
        self._skip_agent_selection = header["skip_agent_selection"]
        self.rewards = header["rewards"]
        self._cumulative_rewards = header["cumulative_rewards"]
        self.terminations = header["terminations"]
        self.truncations = header["truncations"]
        self.infos = header["infos"]
        self._is_over = header["is_over"]
        self._next_seed = header["next_seed"]
        self._rewards_are_zero = False
        self._action_mask[:] = 0
        if not self._is_over:
            self.game.rules.legal_action_mask(self._states, 0, self._action_mask)

    def __copy__(self) -> CardEnv:
        return copy.deepcopy(self)  # two environments cannot share a running game

    def __getstate__(self) -> dict[str, Any]:
        # Compiled functions and views are looked up anew; the running game travels as its record.
        left_out = {"_states", "_rewards_view", "_step_and_look", "_observe"}
        state = {k: v for k, v in self.__dict__.items() if k not in left_out}
        state["game"] = self.game.id
        state["_states"] = self._states.tobytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        record = state.pop("_states")
        self.__dict__.update(state)
        self.game = load_game(state["game"])
        self._has_updated = True  # a copy made in a loop over agent_iter begins a loop of its own
        # Of a bytearray the array may be written to; copy() would leave the padding undefined.
        self._bind(self.game.as_states(np.frombuffer(bytearray(record), self.game.state_dtype)))


def make_shim(game: str) -> tuple[Callable[..., CardEnv], Callable[..., CardEnv]]:
    """``env`` and ``raw_env`` of a game's module, as PettingZoo's own environments have them."""

    def env(**options: Any) -> CardEnv:
        """The environment for use: an illegal action ends the game."""
        return CardEnv(game, **{"on_illegal": "terminate", **options})

    def raw_env(**options: Any) -> CardEnv:
        """The environment for testing: an illegal action raises an error."""
        return CardEnv(game, **{"on_illegal": "raise", **options})

    return env, raw_env


class _Agents(AECIterable[str, Observation, int]):
    def __iter__(self) -> _AgentIterator:
        return _AgentIterator(self.env, self.max_iter)


class _AgentIterator(AECIterator[str, Observation, int]):
    env: CardEnv

    def __next__(self) -> str:
        agent = super().__next__()
        assert self.env._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
        self.env._has_updated = False
        return agent
