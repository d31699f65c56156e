"""The games as OpenSpiel games: ``load_game("beaver_gang", num_players=3)`` is a pyspiel.Game."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.engine.seeds import check_given_seed, check_seed, next_seed
from card_envs.envs.options import pays_standing
from card_envs.games import load_game as load_card_game
from card_envs.integrations.openspiel_state import CardObserver, CardState
from card_envs.utils.extras import import_extra

pyspiel: Any = import_extra("pyspiel", "openspiel")

# Least, greatest and total utility by the option reward. What points pay has no bound.
_UTILITIES = {"rank": (-1.0, 1.0, 0.0), "win": (0.0, 1.0, 1.0), "score": (-np.inf, np.inf, 0.0)}


def load_game(
    game: str,
    *,
    num_players: int | None = None,
    deals: Iterable[int] | None = None,
    seed: int | None = None,
    **options: Any,
) -> CardGame:
    """A game of ``card_envs`` as a ``pyspiel.Game``.

    Its only chance node is the root, the deal; what is drawn later follows from the deal's seed.
    Observations are those with ``memory="none"``, information states those with perfect recall.

    Args:
        game: The game's id or versioned name.
        num_players: Number of players; None: the game's default.
        deals: Seeds of equally likely deals, one for each outcome of the chance node (explicit
            stochastic). None: it has one outcome, which deals at random (sampled stochastic).
        seed: The seed of the first random deal; the others follow from it. None: drawn from the
            operating system.
        **options: The game's options.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    card_game = load_card_game(game)
    num_players = card_game.check_num_players(num_players)
    checked = card_game.check_options(options, ("num_players", "deals", "seed"))
    seeds = None
    if deals is not None:
        if not isinstance(deals, Iterable):
            raise TypeError(f"deals must be None or the seeds of deals, got {deals!r}")
        seeds = [check_given_seed(deal) for deal in deals]
        if not seeds:
            raise ValueError("deals must be None or the seeds of one deal or more, got none")
        if seed is not None:
            raise ValueError("seed is for random deals: give deals or seed, not both")
    return CardGame(card_game, num_players, checked, seeds, check_seed(seed))


class CardGame(pyspiel.Game):  # type: ignore[misc]
    """A game at one table size, with checked options; :func:`load_game` makes it.

    With ``registered_as``, a name in OpenSpiel's registry, the seed is the game's parameter there.
    """

    def __init__(
        self,
        card_game: Game,
        num_players: int,
        options: dict[str, Any],
        deals: list[int] | None,
        seed: int,
        registered_as: str | None = None,
    ) -> None:
        parameters = {"seed": seed} if registered_as else {}
        utilities = _UTILITIES[options["reward"]]
        kinds = pyspiel.GameType
        chance, utility, model = kinds.ChanceMode, kinds.Utility, kinds.RewardModel
        game_type = kinds(
            short_name=registered_as or card_game.name,
            long_name=card_game.title,
            dynamics=kinds.Dynamics.SEQUENTIAL,
            chance_mode=chance.EXPLICIT_STOCHASTIC if deals else chance.SAMPLED_STOCHASTIC,
            information=kinds.Information.IMPERFECT_INFORMATION,
            utility=utility.CONSTANT_SUM if utilities[-1] else utility.ZERO_SUM,
            reward_model=model.TERMINAL if pays_standing(options["reward"]) else model.REWARDS,
            max_num_players=card_game.max_players,
            min_num_players=card_game.min_players,
            provides_information_state_string=True,
            provides_information_state_tensor=True,
            provides_observation_string=True,
            provides_observation_tensor=True,
            parameter_specification=parameters,
        )
        game_info = pyspiel.GameInfo(
            card_game.num_actions,
            len(deals) if deals else 1,
            num_players,
            *utilities,
            options["max_steps"],
        )
        super().__init__(game_type, game_info, parameters)
        #: The game itself.
        self.card_game = card_game
        #: The game's options, checked.
        self.options = options
        self._num_players = num_players
        self._deals = deals
        self._next_seed = seed
        self._reset_arguments = (num_players, *card_game.encode_options(options))

    def new_initial_state(self) -> CardState:
        """The root, before the deal."""
        return CardState(self)

    @property
    def table(self) -> str:
        """The game, the number of players and the options, in one line."""
        about = {"num_players": self._num_players, **self.options}
        return f"{self.card_game.name} with {json.dumps(about)}"

    def deserialize_state(self, data: str) -> CardState:
        """The state whose ``serialize()`` gave this; OpenSpiel unpickles it: load what you trust.

        Raises:
            ValueError: It is no state, or one of another game, table size or other options.
        """
        table, _, state = data.partition("\n")
        if table != self.table:
            found = repr(table[:200]) if state else "no serialized state"
            raise ValueError(f"a state of {self.table} is needed, got {found}")
        loaded: CardState = super().deserialize_state(state)
        return loaded

    def __reduce__(self) -> tuple[Any, ...]:
        # OpenSpiel's own pickles know games by their names in its registry.
        arguments = (self.card_game, self._num_players, self.options, self._deals)
        return CardGame, (*arguments, self._next_seed)

    def max_chance_nodes_in_history(self) -> int:
        """The deal is the only one."""
        return 1

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> CardObserver:
        """The observer of information states (with perfect recall) or of observations.

        Raises:
            ValueError: It is to see more or less than its player can, or has params.
        """
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        sees_own = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        if params or not (kind.public_info and sees_own):
            raise ValueError(
                "an observer sees public_info and the private_info of a SINGLE_PLAYER and takes "
                f"no params, got {kind} and {params}"
            )
        return CardObserver(self.card_game, View("perfect" if kind.perfect_recall else "none"))

    def deal(self, outcome: int) -> NDArray[np.void]:
        """A new record: of ``deals[outcome]``, or of the next random deal."""
        seed = self._next_seed
        if self._deals:
            seed = self._deals[outcome]
        else:
            self._next_seed = int(next_seed(np.uint64(seed)))
        states = self.card_game.new_states(1)
        self.card_game.rules.reset(states, 0, np.uint64(seed), *self._reset_arguments)
        return states
