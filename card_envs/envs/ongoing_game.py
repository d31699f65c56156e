"""``OngoingGame``: all that an AEC environment keeps of the game under way."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import FORFEIT_REWARD
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.contract.outcome import places_of
from card_envs.engine.history import Redraw
from card_envs.engine.seeds import next_seed
from card_envs.engine.templates import OVER, PAID, compile_for, step_and_observe
from card_envs.utils.portable import Portable


def of_the_game(name: str) -> Any:
    """An attribute of an environment that belongs to its ``_ongoing`` game."""

    def put(env: Any, value: Any) -> None:
        setattr(env._ongoing, name, value)

    return property(attrgetter(f"_ongoing.{name}"), put)


def copied_from_the_game(name: str) -> Any:
    """The same of what stays as it is: a copy, which may be changed without changing the game."""
    return property(lambda env: copied(getattr(env._ongoing, name)))


class OngoingGame(Portable):
    """A game at its table, with what PettingZoo says of it: copied, loaded and pickled as a whole.

    What is only declared here exists from :meth:`begin` on.

    Args:
        game: The game.
        num_players: Number of players.
        options: The game's options, checked.
        view: What observations hold.
        mask_in_info: Whether infos hold the action masks.
    """

    agents: list[str]
    agent_selection: str
    mover: str  #: the agent to move by the rules; ``agent_selection`` may be another, who is dead
    rewards: dict[str, float]
    cumulative_rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]
    skip_agent_selection: str | None

    def __init__(
        self,
        game: Game,
        num_players: int,
        options: dict[str, Any],
        view: View,
        mask_in_info: bool,
    ) -> None:
        self.game = game
        self.num_players = num_players
        self.options = options
        self._encoded = game.encode_options(options)
        self._memory, self._features = view.codes
        self._mask_in_info = mask_in_info
        self.possible_agents = [f"player_{k}" for k in range(num_players)]
        self.player_of = {agent: k for k, agent in enumerate(self.possible_agents)}
        #: Of the player to move.
        self.action_mask = np.zeros(game.num_actions, np.int8)
        #: None: a world, which begins in the middle of a game.
        self.seed: int | None = 0
        self.next_seed: int | None = None
        self.actions: list[int | Redraw] = []
        self.has_begun = False
        self.has_updated = False
        self.is_over = False
        self._bind(game.new_states(1))

    def _bind(self, states: NDArray[np.void]) -> None:
        """Take these records as the game's; look up, once, what every step needs."""
        self.states = states
        self._rewards_view = states["rewards"][0]
        self._step_and_observe = compile_for(self.game, step_and_observe)
        self._observation_size = self.game.fields.size
        # What the player to move observes, as the last step left it, until it is handed out.
        self._given: NDArray[np.float32] | None = None
        # The record that it was made from; None: nobody else holds the record, to change it.
        self._given_from: bytes | None = None

    @property
    def history(self) -> tuple[int, tuple[int | Redraw, ...]]:
        """The seed, and what was done since."""
        if self.seed is None:
            raise ValueError("a world has no history: it begins in the middle of a game")
        return self.seed, tuple(self.actions)

    def lend(self) -> NDArray[np.void]:
        """The record, for somebody who may change it."""
        if self._given_from is None:
            self._given_from = self.states.tobytes()
        return self.states

    def take_given(self) -> NDArray[np.float32] | None:
        """What the player to move observes, once, where a step has left it."""
        given, self._given = self._given, None
        return given

    def follow_record(self) -> None:
        """Take note of what somebody has changed in the record: kernels would take any action."""
        if self._given_from is None or self._given_from == self.states.tobytes():
            return
        self._given, self._given_from = None, self.states.tobytes()
        if not self.is_over:
            self.game.rules.legal_action_mask(self.states, 0, self.action_mask)
            self.select_mover()
            if self._mask_in_info:
                self._put_masks_into_infos()

    def observe(self, player: int) -> NDArray[np.float32]:
        """What a player observes."""
        observation = np.empty(self._observation_size, np.float32)
        self.game.observe(self.states, 0, player, self._memory, self._features, observation)
        return observation

    def begin(self, seed: int) -> None:
        """Deal."""
        self.seed = seed
        self.actions = []
        self.next_seed = int(next_seed(np.uint64(seed)))
        self.game.rules.reset(self.states, 0, np.uint64(seed), self.num_players, *self._encoded)
        self.game.rules.legal_action_mask(self.states, 0, self.action_mask)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.skip_agent_selection = None
        self.has_begun = True
        self.has_updated = True
        self.is_over = False
        self._given = None
        self.select_mover()
        if self._mask_in_info:
            self._put_masks_into_infos()

    def select_mover(self) -> None:
        """It is the turn of the player to move in the record."""
        player = int(self.states["current_player"][0])
        self.agent_selection = self.mover = self.possible_agents[player]

    def step(self, action: int) -> bool:
        """Take an action in the space; False, and nothing has changed: it is not legal."""
        self.follow_record()
        if not self.action_mask[action]:
            return False
        self._given = None  # while it is written
        given = np.empty(self._observation_size, np.float32)
        result = self._step_and_observe(
            self.states, 0, action, self._memory, self._features, given, self.action_mask
        )
        self._given = given
        if self._given_from is not None:
            self._given_from = self.states.tobytes()
        self.actions.append(action)
        self.cumulative_rewards[self.agent_selection] = 0.0
        if result < PAID:
            if any(self.rewards.values()):  # the last step's, or what a wrapper has put there
                self.rewards = dict.fromkeys(self.agents, 0.0)
            self.agent_selection = self.mover = self.possible_agents[result]
        else:
            paid = self._rewards_view[: self.num_players].tolist()
            self._pay(dict(zip(self.agents, paid, strict=True)))
            self.agent_selection = self.mover = self.possible_agents[result & (PAID - 1)]
            if result & OVER:
                self._end_by_the_rules()
        if self._mask_in_info:
            self._put_masks_into_infos()
        return True

    def _pay(self, rewards: dict[str, float]) -> None:
        self.rewards = rewards
        for agent, reward in rewards.items():
            self.cumulative_rewards[agent] += reward

    def _end_by_the_rules(self) -> None:
        state = self.states[0]
        self.terminations = dict.fromkeys(self.agents, bool(state["terminated"]))
        self.truncations = dict.fromkeys(self.agents, bool(state["truncated"]))
        for agent, place in zip(self.agents, places_of(state), strict=True):
            self.infos[agent] = {"place": place}
        self._end()

    def lose(self) -> None:
        """The agent to move ends it by an illegal action."""
        agent = self.agent_selection
        self.cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self._pay({**dict.fromkeys(self.agents, 0.0), agent: FORFEIT_REWARD})
        self.action_mask[:] = 0
        self._end()
        if self._mask_in_info:
            self._put_masks_into_infos()

    def _end(self) -> None:
        self._given = None  # no longer what ``agent_selection`` observes
        self.is_over = True
        # All agents are dead: each takes a step of None, the first one first.
        self.skip_agent_selection = self.agent_selection
        self.agent_selection = self.agents[0]

    def redraw(self, player: int, seed: int) -> None:
        """Redraw all that the player cannot know."""
        self._given = None
        self.game.rules.determinize(self.states, 0, player, np.uint64(seed))
        self.actions.append(Redraw(player, seed))
        if not self.is_over:  # another player may be to move, with other cards now
            self.game.rules.legal_action_mask(self.states, 0, self.action_mask)
            if self._mask_in_info:
                self._put_masks_into_infos()

    def _put_masks_into_infos(self) -> None:
        """Give each agent an info of their own, and the mask in it."""
        for agent in self.agents:
            action_mask = np.zeros_like(self.action_mask)
            self.infos[agent] = {**self.infos[agent], "action_mask": action_mask}
        if not self.is_over:
            self.infos[self.mover]["action_mask"][:] = self.action_mask

    def copy(self) -> OngoingGame:
        """One that shares nothing with it that changes."""
        twin = object.__new__(type(self))
        state = self.__getstate__()
        record = state.pop("states")
        twin.__dict__.update({name: copied(value) for name, value in state.items()})
        twin._begin_as_copy(record)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        # The record travels as bytes, those between its entries included.
        state["states"] = self.states.tobytes()
        for name in ("_rewards_view", "_step_and_observe", "_given", "_given_from"):
            del state[name]  # ``_bind`` makes them
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        record = state.pop("states")
        super().__setstate__(state)
        self._begin_as_copy(record)

    def _begin_as_copy(self, record: bytes) -> None:
        self.has_updated = True  # a copy made in a loop over agent_iter begins a loop of its own
        own = bytearray(record)  # an array over it can be written to
        self._bind(self.game.as_states(np.frombuffer(own, self.game.state_dtype)))


def copied(value: Any) -> Any:
    """The same, with nothing in common that changes."""
    if isinstance(value, dict):
        return {key: copied(entry) for key, entry in value.items()}
    return value.copy() if isinstance(value, (list, np.ndarray)) else value
