"""States and observers of the OpenSpiel games that ``openspiel.load_game`` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.render.text import describe
from card_envs.utils.extras import import_extra

pyspiel: Any = import_extra("pyspiel", "openspiel")

_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class CardState(pyspiel.State):  # type: ignore[misc]
    """A state: before the deal, which is the only chance node, or a record of the game.

    OpenSpiel's ``clone()`` makes deep copies of the attributes; the game is shared.
    """

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        #: The game's record in an array of one, as in ``CardEnv.states``; None before the deal.
        self.states: NDArray[np.void] | None = None
        self._player = _CHANCE
        self._rewards = self._returns = np.zeros(game.num_players())

    def current_player(self) -> int:
        """The player to move, or OpenSpiel's number for chance or the end of the game."""
        return self._player

    def is_terminal(self) -> bool:
        """Whether the game is over, truncated games included."""
        return self._player == _TERMINAL

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The deals, all equally likely."""
        count = self.get_game().max_chance_outcomes()
        return [(outcome, 1 / count) for outcome in range(count)]

    def _legal_actions(self, player: int) -> Any:
        return self.get_game().card_game.legal_actions(self.states, 0)

    def _apply_action(self, action: int) -> None:
        legal = self.legal_actions()
        if action not in legal:  # the kernels do not check
            raise ValueError(f"action {action} is not legal; legal actions: {legal}")
        game = self.get_game()
        if self.states is None:
            self.states = game.deal(action)
        else:
            game.card_game.rules.step(self.states, 0, action)
        record = self.states[0]
        self._rewards = record["rewards"][: len(self._returns)].copy()
        self._returns = self._returns + self._rewards
        is_over = record["terminated"] or record["truncated"]
        self._player = _TERMINAL if is_over else int(record["current_player"])

    def rewards(self) -> Any:
        """What the last action paid each player."""
        return self._rewards.tolist()

    def returns(self) -> Any:
        """What each player has been paid in all."""
        return self._returns.tolist()

    def serialize(self) -> Any:
        """A text for ``game.deserialize_state``, which begins with a line that names the table."""
        return f"{self.get_game().table}\n{super().serialize()}"

    def __reduce__(self) -> tuple[Any, ...]:
        # OpenSpiel's own pickles know games by their names in its registry.
        return _deserialize, (self.get_game(), self.serialize())

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.clone()

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> Any:
        """A copy in which all that the player cannot know is redrawn.

        It is drawn uniformly over what agrees with the player's knowledge, by ``determinize``.

        Args:
            player: Whose knowledge stays.
            sampler: Gives numbers in [0, 1); it is called once.

        Raises:
            ValueError: There is no such player, or the cards are not dealt.
        """
        self.check_player(player)
        if self.states is None:
            raise ValueError("there is nothing to resample before the deal")
        state, seed = self.clone(), np.uint64(sampler() * 2**53)
        self.get_game().card_game.rules.determinize(state.states, 0, int(player), seed)
        return state

    def check_player(self, player: int) -> None:
        """ValueError if there is no such player."""
        if not 0 <= player < self.num_players():
            raise ValueError(f"players are from 0 to {self.num_players() - 1}, got {player}")

    def _action_to_string(self, player: int, action: int) -> Any:
        if player == _CHANCE:
            return "deal" if len(self.chance_outcomes()) == 1 else f"deal {action}"
        return self.get_game().card_game.action_name(action)

    def __str__(self) -> Any:
        if self.states is None:
            return "before the deal"
        return describe(self.get_game().card_game, self.states, 0, max(self._player, 0))


def _deserialize(game: Any, data: str) -> Any:
    return game.deserialize_state(data)


class CardObserver:
    """An observer by OpenSpiel's PyObserver interface: the observation vector in one view.

    Args:
        game: The game.
        view: With perfect recall or without memory.
    """

    def __init__(self, game: Game, view: View) -> None:
        self._game = game
        self._view = view
        #: float32 (D,) in [0, 1]; all 0 before the deal.
        self.tensor = np.zeros(game.fields.size, np.float32)
        #: The fields of the observation by name: views of the tensor.
        self.dict = game.fields.unflatten(self.tensor)

    def __reduce__(self) -> tuple[Any, ...]:
        return CardObserver, (self._game, self._view), self.tensor  # whose views are made again

    def __setstate__(self, tensor: NDArray[np.float32]) -> None:
        self.tensor[:] = tensor

    def set_from(self, state: CardState, player: int) -> None:
        """Write what the player observes into ``tensor``."""
        self._observe(state, player, self.tensor)

    def string_from(self, state: CardState, player: int) -> str:
        """The player and their observation's units in hexadecimal: equal if and only if these are.

        It is a key for tables; ``str(state)`` is for people.
        """
        observation = np.empty_like(self.tensor)
        self._observe(state, player, observation)
        units = np.rint(observation * self._game.fields.scale).astype(np.uint8)
        return f"player {player}: {units.tobytes().hex()}"

    def _observe(self, state: CardState, player: int, out: NDArray[np.float32]) -> None:
        state.check_player(player)
        if state.states is None:
            out[:] = 0.0
        else:
            self._game.observe(state.states, 0, int(player), *self._view.codes, out)
