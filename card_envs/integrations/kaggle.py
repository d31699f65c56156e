"""Kaggle's environments: a table of language models, as in its Game Arena, through OpenSpiel.

Needs ``pip install 'card_envs[kaggle]'``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from card_envs.contract.game import Game
from card_envs.engine.seeds import check_given_seed, check_seed
from card_envs.games import load_game as load_card_game
from card_envs.integrations.openspiel import CardGame
from card_envs.integrations.openspiel_state import CardState
from card_envs.render.text import describe
from card_envs.text import prompt as text_prompt
from card_envs.text.answers import read_answer
from card_envs.utils.extras import import_extra

if not TYPE_CHECKING:
    import_extra("kaggle_environments", "kaggle")
from kaggle_environments.core import Environment, environments
from kaggle_environments.core_harness import ParseResult

__all__ = ["CardHarness", "make_env"]

pyspiel: Any = import_extra("pyspiel", "kaggle")

# Any game of OpenSpiel there: what all of them share is taken from it.
_MODEL = "open_spiel_tic_tac_toe"
_OF_A_GAME = ("stateHistory", "actionHistory", "moveDurations")  # in ``Environment.info``
_MOST_SEED = 2**31 - 1  # whole numbers among OpenSpiel's parameters are of 32 bits


class _FreshEnvironment(Environment):  # type: ignore[misc]
    """One of which each run is a new game: Kaggle's interpreter keeps OpenSpiel's state and its
    history, and would play on, or deal the same cards again."""

    info: dict[str, Any]

    def reset(self, num_agents: int | None = None) -> Any:
        for name in ("os_game", "os_state", "chance_rng"):
            self.__dict__.pop(name, None)
        # A new one: without any, all environments share one.
        self.info = {name: value for name, value in self.info.items() if name not in _OF_A_GAME}
        return super().reset(num_agents)


class _State(CardState):
    """A state that players read in words."""

    def observation_string(self, player: int) -> str:
        """The table; for the player to move also the rules and their legal actions."""
        if self.states is None:
            return str(self)
        game, options = self.get_game().card_game, self.get_game().options
        table = text_prompt.table(describe(game, self.states, 0, player), game)
        if player != self.current_player():
            return table
        rules = text_prompt.instructions(game, self.num_players(), player, options, "perfect")
        legal = {action: game.action_name(action) for action in self.legal_actions()}
        return "\n\n".join([rules, table, text_prompt.legal_actions(game, legal)])

    def hides_state_from_agents(self) -> bool:
        """Kaggle would else give every agent the serialized state, hidden cards included."""
        return True


def make_env(
    game: str,
    *,
    num_players: int | None = None,
    configuration: Mapping[str, Any] | None = None,
    **options: Any,
) -> Environment:
    """A table as an environment of Kaggle: ``make_env("beaver_gang").run(agents)``.

    Observations hold ``observationString``, in words, ``legalActions`` and ``legalActionStrings``.

    Args:
        game: The game's id or versioned name.
        num_players: Number of players; None: the game's default.
        configuration: Kaggle's, such as ``{"seed": 42}``: the deal's seed, from 0 to 2**31 - 1.
        **options: The game's options.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    card_game = load_card_game(game)
    checked = card_game.check_options(options, ("num_players", "configuration"))
    seed = (configuration or {}).get("seed")
    if seed is not None and not 0 <= check_given_seed(seed) <= _MOST_SEED:
        raise ValueError(f"seed must be from 0 to {_MOST_SEED} here, got {seed}")
    first = _registered(card_game, card_game.check_num_players(num_players), tuple(checked.items()))
    name = first.get_type().short_name
    specification = copy.deepcopy(environments[_MODEL]["specification"])
    specification["name"] = f"open_spiel_{name}"
    specification["title"] = card_game.title
    specification["agents"] = [first.num_players()]
    defaults = specification["configuration"]
    defaults["episodeSteps"] = first.max_game_length() + first.num_players()
    defaults["openSpielGameString"]["default"] = str(first)
    defaults["openSpielGameName"]["default"] = name
    defaults["openSpielGameParameters"]["default"] = first.get_parameters()
    defaults["includeLegalActions"]["default"] = True
    return _FreshEnvironment(
        **{**environments[_MODEL], "specification": specification},
        configuration=dict(configuration or {}),
    )


@cache
def _registered(game: Game, num_players: int, options: tuple[tuple[str, Any], ...]) -> CardGame:
    """A table as a game in OpenSpiel's registry; its only parameter is the seed of the deal."""
    usual = game.check_options({})
    changed = "".join(f"_{name}_{value}" for name, value in options if value != usual[name])
    registered_as = f"{game.name}_{num_players}_players{changed}"

    class RegisteredGame(CardGame):  # OpenSpiel never lets go of it
        """What OpenSpiel makes from the name."""

        def __init__(self, parameters: Mapping[str, int]) -> None:
            self._seed = check_seed(parameters.get("seed", 0))
            of_deal = [self._seed], self._seed, registered_as
            super().__init__(game, num_players, dict(options), *of_deal)

        def new_initial_state(self) -> _State:
            return _State(self)

        def __reduce__(self) -> tuple[Any, ...]:
            return _restored, (game, num_players, options, self._seed)

    first = RegisteredGame({})
    pyspiel.register_game(first.get_type(), RegisteredGame)
    return first


def _restored(
    game: Game, num_players: int, options: tuple[tuple[str, Any], ...], seed: int
) -> CardGame:
    """A copy of a registered game."""
    made: Any = type(_registered(game, num_players, options))
    restored: CardGame = made({"seed": seed})
    return restored


class CardHarness:
    """What Kaggle's ``create_agent_fn`` needs to let a language model play.

    Args:
        game: The game's id or versioned name.
    """

    def __init__(self, game: str) -> None:
        self._actions = load_card_game(game).actions

    def get_legal_moves(self, observation: Mapping[str, Any]) -> dict[int, str]:
        """The legal actions in words; {} before the deal."""
        legal = observation.get("legalActions", ()), observation.get("legalActionStrings", ())
        return dict(zip(*legal, strict=True))

    def make_prompt(
        self,
        observation: Mapping[str, Any],
        move_history: list[str],
        previous_response: str | None = None,
        previous_action: str | None = None,
    ) -> str:
        """The text of the player to move, after what a wrong answer lacked."""
        text: str = observation["observationString"]
        if previous_response is None:
            return text
        legal = self.get_legal_moves(observation)
        found, actions = read_answer(previous_response, legal, self._actions)
        return f"{text_prompt.complaint(found, actions, legal, [], 'Answer again.')}\n\n{text}"

    def parse_response(
        self,
        response: str,
        legal_action_strings: Sequence[str] | None,
        *,
        observation: Mapping[str, Any],
    ) -> ParseResult:
        """The action that an answer names, as the games in words read it."""
        legal = self.get_legal_moves(observation)
        found, actions = read_answer(response, legal, self._actions)
        action = legal[actions[0]] if len(actions) == 1 else None
        return ParseResult(legal_action=action, raw_action=found)
