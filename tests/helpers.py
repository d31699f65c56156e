"""What several tests need: the games to test, and ways to get into all kinds of positions."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from card_envs.engine.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.games import GAMES, load_game
from card_envs.games.animalia.state import (
    BRING_IN,
    FULL,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
)

ALL_GAMES = [load_game(game_id) for game_id in GAMES]


def table_sizes(game: Game) -> range:
    """The numbers of players that a game allows."""
    return range(game.min_players, game.max_players + 1)


#: Every game at every table size: for ``parametrize(("game", "num_players"), TABLES)``.
TABLES = [
    pytest.param(game, n, id=f"{game.id}-{n}") for game in ALL_GAMES for n in table_sizes(game)
]
#: Every game once.
EACH_GAME = [pytest.param(game, id=game.id) for game in ALL_GAMES]
MEMORY_MODES = ("perfect", "none")
# A training run that takes a moment, as overrides of any configuration.
TINY_LEARNER = [
    "decisions=192",
    "environment.num_envs=8",
    "ppo.n_steps=8",
    "ppo.batch_size=32",
    "ppo.n_epochs=1",
    "network.hidden=[16]",
    "imitation.copy_weights=false",
]

#: Options with which a game ends within the decisions of a walk, and how many decisions it takes
#: at the median where not the usual number.
SHORT_GAMES: dict[str, dict[str, Any]] = {"franks_zoo": {"target_score": 8}}
USUAL_LENGTH = {"franks_zoo": 450, "animalia": 220}


def module_of(game: Game) -> Any:
    """The game's environment module, as users import it."""
    return importlib.import_module(f"card_envs.{game.name}")


def agents_of(game: Game, num_players: int) -> list[str]:
    return [f"player_{k}" for k in range(num_players)]


def begin(game: Game, num_players: int, seed: int, **options: Any) -> np.ndarray:
    """A record at the beginning of a game."""
    states = game.new_states(1)
    encoded = game.encode_options(options)
    game.rules.reset(states, 0, np.uint64(seed), num_players, *encoded)
    return states


def copy_of(game: Game, states: np.ndarray) -> np.ndarray:
    """The same to the byte, also between the fields, which ``states.copy`` leaves out."""
    copy = game.new_states(len(states))
    copy.view(np.uint8)[:] = states.view(np.uint8)
    return copy


def is_over(states: np.ndarray) -> bool:
    return bool(states["terminated"][0] or states["truncated"][0])


def mask_of(game: Game, states: np.ndarray) -> np.ndarray:
    mask = np.zeros(game.num_actions, np.int8)
    count = game.rules.legal_action_mask(states, 0, mask)
    assert count == mask.sum()
    return mask


def observation_of(game: Game, states: np.ndarray, player: int) -> np.ndarray:
    observation = np.full(game.fields.size, np.nan, np.float32)
    game.observe(states, 0, player, observation)
    return observation


def state_of(game: Game, states: np.ndarray) -> np.ndarray:
    out = np.full(game.state_fields.size, np.nan, np.float32)
    game.write_state(states, 0, 0, out)
    return out


@cache
def kinds_of_actions(game: Game) -> np.ndarray:
    """The kind of each action, a small number: actions are of one kind if they begin with the
    same part (``Game.action_parts``)."""
    return game.action_parts.argmax(axis=1)


#: A seed of ``Habits`` for a player without any: his games come to an end soon.
UNIFORM = 0


class Habits:
    """A player with habits of its own: it likes some actions far better than others.

    It chooses a kind of action first and then an action of that kind: where nearly all legal
    actions are alike, the few others, which may be what ends a round, come up no less often.

    Players who choose uniformly end most games early and visit the same few kinds of positions. Of
    four seeds in a row one does, one asks the game's heuristic now and then, and two shun most
    actions wherever anything else is legal: some of those play very long games. Every second seed
    is eager: it tries some actions out and takes one that changes the standing, so that what ends
    a round only with certain cards does happen.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self._game = game
        self._kinds = kinds_of_actions(game)
        self._rng = np.random.default_rng(seed)
        character = seed % 4
        spread = 2.0 if character == 1 else 0.0
        self._weights = np.exp(spread * self._rng.standard_normal(game.num_actions))
        if character >= 2:
            self._weights[self._rng.random(game.num_actions) < 0.7] = 1e-6
        self._heuristic_share = self._rng.random() if character == 1 else 0.0
        self._tries = 20 if character % 2 else 0
        self._tried = game.new_states(1)

    def choose(self, states: np.ndarray) -> int:
        if self._rng.random() < self._heuristic_share:
            return int(self._game.heuristic(states, 0))
        legal = np.flatnonzero(mask_of(self._game, states))
        kinds = self._kinds[legal]
        weights = self._weights[legal] / np.bincount(kinds)[kinds]
        first, *others = self._rng.choice(legal, 1 + self._tries, p=weights / weights.sum())
        record, standing = states.view(np.uint8), states["standing"].tobytes()
        for action in dict.fromkeys(others):
            self._tried.view(np.uint8)[:] = record  # far faster than field by field
            self._game.rules.step(self._tried, 0, int(action))
            if self._tried["standing"].tobytes() != standing:
                return int(action)
        return int(first)


MASK_64 = 2**64 - 1


class Chooser:
    """A simple rule that needs nothing but whole numbers: a linear congruential generator.

    Given the kinds of the actions it chooses one of those first, so that rounds come to an end.
    """

    def __init__(self, seed: int, kinds: np.ndarray | None = None) -> None:
        self._x = seed
        self._kinds = kinds

    def choose(self, mask: np.ndarray) -> int:
        legal = np.flatnonzero(mask)
        if self._kinds is not None:
            kinds = self._kinds[legal]
            choice = np.unique(kinds)
            legal = legal[kinds == choice[self.below(len(choice))]]
        return int(legal[self.below(len(legal))])

    def below(self, bound: int) -> int:
        """The next number, from 0 to bound - 1."""
        self._x = (self._x * 6364136223846793005 + 1442695040888963407) & MASK_64
        return (self._x >> 33) % bound


def walk(
    game: Game, num_players: int, seed: int, *, decisions: int = 600, **options: Any
) -> Iterator[np.ndarray]:
    """The record of one game before every decision and at the end; always the same array.

    Unless ``options`` say something else, it is a game that does not take too long.
    """
    states = begin(game, num_players, seed, **{**SHORT_GAMES.get(game.id, {}), **options})
    habits = Habits(game, seed)
    for _ in range(decisions):
        yield states
        if is_over(states):
            return
        game.rules.step(states, 0, habits.choose(states))
    yield states


def some_positions(
    game: Game, num_players: int, count: int, *, seed: int = 0, **options: Any
) -> list[np.ndarray]:
    """``count`` reachable positions from as many games as it takes, the ends of games included.

    Of each game they are the closer together the earlier: a few decisions into a round little is
    known, and of a long one there are not many to choose from that are alike.
    """
    positions: list[np.ndarray] = []
    while len(positions) < count:
        due = seed % 7
        for number, states in enumerate(walk(game, num_players, seed, **options)):
            if number >= due or is_over(states):
                positions.append(copy_of(game, states))
                due = number + 2 + number // 2
        seed += 1
    return positions[:count]


def play_on(env: Any, seed: int, decisions: int) -> None:
    """Take up to so many habitual decisions in an AEC environment; stops when the game is over."""
    game = env.unwrapped.game
    habits = Habits(game, seed)
    for _ in range(decisions):
        if not env.unwrapped.legal_actions():
            return
        env.step(habits.choose(env.unwrapped.states))


def finish(env: Any) -> None:
    """The dead steps at the end of a game."""
    while env.agents:
        env.step(None)


def snapshot(env: CardEnv) -> tuple[Any, ...]:
    """All that can be seen of an AEC environment: equal for equal environments."""
    bookkeeping = (
        env.agents,
        env.agent_selection,
        env.rewards,
        env._cumulative_rewards,
        env.terminations,
        env.truncations,
        env.infos,
    )
    views = [env.observe(agent) for agent in env.possible_agents]
    return (
        json.dumps(bookkeeping),
        env.states.tobytes(),
        env.state().tobytes(),
        *(view["observation"].tobytes() for view in views),
        *(view["action_mask"].tobytes() for view in views),
        env.legal_actions(),
    )


def reseal(data: bytes) -> bytes:
    """A saved game with its last 16 bytes replaced by a checksum that is right."""
    return data[:-16] + hashlib.blake2b(data[:-16], digest_size=16).digest()


def option_sets(game: Game, most: int = 12) -> list[dict[str, Any]]:
    """Combinations of options: all values of choices and bools, and small and usual numbers."""
    values = []
    for option in game.options:
        if option.choices:
            values.append(list(option.choices))
        elif isinstance(option.default, bool):
            values.append([option.default, not option.default])
        else:
            values.append([SHORT_GAMES.get(game.id, {}).get(option.name, option.default)])
    combinations = list(itertools.product(*values))
    # A step with no divisor in common with their number does not leave out any option's values.
    step = -(-len(combinations) // most)
    while math.gcd(step, len(combinations)) > 1:
        step += 1
    number = min(most, len(combinations))
    combinations = [combinations[step * k % len(combinations)] for k in range(number)]
    sets = []
    for k, combination in enumerate(combinations):
        options = dict(zip((option.name for option in game.options), combination, strict=True))
        for j, option in enumerate(game.options):
            if option.maximum and (k + j) % 3 == 0:
                small = 25 if option.name == "max_steps" else option.minimum + 1
                options[option.name] = min(small, option.maximum)
        sets.append(options)
    return sets


# ---------------------------------------------------------------------------------------------
# What happens in a game
# ---------------------------------------------------------------------------------------------


def has_ended_a_round(before: np.void, after: np.void) -> bool:
    return bool(after["round"] > before["round"])


def has_ended_by_sudden_death(before: np.void, after: np.void) -> bool:
    return has_ended_a_round(before, after) and bool(after["sudden_death"] >= 0)


def number_of_eliminated(before: np.void, after: np.void) -> int:
    return int(((before["lives"] > 0) & (after["lives"] == 0)).sum())


def has_ended_a_hand(before: np.void, after: np.void) -> bool:
    return bool(after["hand_number"] > before["hand_number"] or after["terminated"])


def has_captured_a_trick(before: np.void, after: np.void) -> bool:
    """Within a hand: the one who leads next has nothing to beat."""
    return not has_ended_a_hand(before, after) and before["owner"] >= 0 > after["owner"]


def has_answered(before: np.void, after: np.void, *, by_helping: bool) -> bool:
    """Within a hand, so that what is played grows only."""
    helped = after["played"].sum() > before["played"].sum()
    answered = before["asker"] >= 0 > after["asker"]
    return not has_ended_a_hand(before, after) and answered and helped == by_helping


def has_ended_a_season(before: np.void, after: np.void) -> bool:
    return bool(after["season"] > before["season"] or after["terminated"])


def reached_elegance(before: np.void, after: np.void) -> bool:
    return before["phase"] < BRING_IN <= after["phase"]


def has_lost_a_card(before: np.void, after: np.void, *, size: int = 0) -> bool:
    """Within phase 1: to a thief, out of a collection of at least so many cards."""
    if before["phase"] != STEAL or before["season"] < after["season"]:
        return False
    pairs = zip(before["collection"], after["collection"], strict=True)
    return any(
        int(held).bit_count() >= size and held & ~now and place != before["taken_into"]
        for place, (held, now) in enumerate(pairs)
    )


def has_spied(before: np.void, after: np.void) -> bool:
    same_season = before["season"] == after["season"]
    return same_season and bool((before["seen"] != after["seen"]).any())


def has_dealt_what_was_spied(before: np.void, after: np.void) -> bool:
    """Somebody gets a bonus card that another one's spy saw."""
    is_dealt = (before["holder"] < 0) & (after["holder"] >= 0)
    others = after["seen"] & ~(1 << np.maximum(after["holder"], 0))
    return reached_elegance(before, after) and bool((is_dealt & (others != 0)).any())


#: For each game: what can happen from one position to the next, and the fewest players for it.
SITUATIONS: dict[str, dict[str, tuple[int, Callable[[np.void, np.void], bool]]]] = {
    "beaver_gang": {
        "knock": (2, lambda before, after: before["knocker"] < 0 <= after["knocker"]),
        "end of a round": (2, has_ended_a_round),
        "end of the game": (2, lambda before, after: after["terminated"]),
        "draw two": (2, lambda before, after: after["draw_twos"] > before["draw_twos"]),
        "draw two within a draw two": (2, lambda before, after: after["draw_twos"] > 1),
        "reshuffle": (2, lambda before, after: after["filling"] > before["filling"]),
    },
    "swim_for_your_life": {
        "first tap": (2, lambda before, after: before["tapper"] < 0 <= after["tapper"]),
        "exchange in a last lap": (
            3,
            lambda before, after: (
                before["tapper"] >= 0 <= after["tapper"]
                and after["last_action"][before["current_player"]] < 1000
            ),
        ),
        "tap in a last lap": (
            3,
            lambda before, after: (
                before["tapper"] >= 0 <= after["tapper"]
                and after["last_action"][before["current_player"]] == 1000
            ),
        ),
        "counted round": (
            2,
            lambda before, after: has_ended_a_round(before, after) and after["sudden_death"] < 0,
        ),
        "sudden death": (2, has_ended_by_sudden_death),
        "one player out": (3, lambda before, after: number_of_eliminated(before, after) == 1),
        "several out at once": (3, lambda before, after: number_of_eliminated(before, after) > 1),
        "two left of more": (
            3,
            lambda before, after: (
                number_of_eliminated(before, after) > 0 and (after["lives"] > 0).sum() == 2
            ),
        ),
        "end of the game": (2, lambda before, after: after["terminated"]),
    },
    "franks_zoo": {
        "captured trick": (3, has_captured_a_trick),
        "trick captured by a player who is out": (
            3,
            lambda before, after: (
                has_captured_a_trick(before, after) and before["place"][before["owner"]] > 0
            ),
        ),
        "joker played": (3, lambda before, after: before["played"][-1] < after["played"][-1]),
        "player out": (
            3,
            lambda before, after: (before["place"] > 0).sum() < (after["place"] > 0).sum(),
        ),
        "end of a hand": (3, has_ended_a_hand),
        "lions counted": (
            3,
            lambda before, after: has_ended_a_hand(before, after) and after["lion_points"].any(),
        ),
        "level totals": (
            3,
            lambda before, after: (
                has_ended_a_hand(before, after)
                and len(np.unique(after["totals"][: after["num_players"]])) < after["num_players"]
            ),
        ),
        "gifts given": (4, lambda before, after: before["given"].sum() < after["given"].sum()),
        "cards laid down by a player alone": (
            7,
            lambda before, after: (
                before["alone"] >= 0
                and before["current_player"] == before["alone"]
                and before["given"].sum() < after["given"].sum()
            ),
        ),
        "request": (4, lambda before, after: before["asker"] < 0 <= after["asker"]),
        "help": (4, lambda before, after: has_answered(before, after, by_helping=True)),
        "refusal": (4, lambda before, after: has_answered(before, after, by_helping=False)),
        "refusal that ends the trick": (
            4,
            lambda before, after: (
                has_answered(before, after, by_helping=False)
                and has_captured_a_trick(before, after)
            ),
        ),
        "end of the game": (3, lambda before, after: after["terminated"]),
    },
    "animalia": {
        "lot of two": (2, lambda before, after: int(after["lot"]).bit_count() == 2),
        "lot of three": (2, lambda before, after: int(after["lot"]).bit_count() == 3),
        "spied cards": (2, has_spied),
        "theft": (2, has_lost_a_card),
        "theft that reopens a collection": (2, partial(has_lost_a_card, size=FULL)),
        "theft not made": (
            2,
            lambda before, after: (
                before["phase"] == STEAL
                and before["season"] == after["season"]
                and not has_lost_a_card(before, after)
            ),
        ),
        "gift": (2, lambda before, after: before["phase"] == RECEIVE),
        "bonus cards": (2, reached_elegance),
        "draw pile that bonus cards use up": (
            6,
            lambda before, after: (
                reached_elegance(before, after) and after["drawn"] == after["deck_size"]
            ),
        ),
        "bonus card that another one spied": (2, has_dealt_what_was_spied),
        "bonus card brought in": (2, lambda before, after: before["phase"] == TAKE_OUT),
        "owl named": (2, lambda before, after: before["phase"] == OWL_FAMILY),
        "owl not named": (
            2,
            lambda before, after: (
                has_ended_a_season(before, after) and before["phase"] != OWL_FAMILY
            ),
        ),
        "end of a season": (2, has_ended_a_season),
        "bonus cards kept": (
            2,
            lambda before, after: before["season"] < after["season"] and after["bonus"].any(),
        ),
        "end of the game": (2, lambda before, after: after["terminated"]),
    },
}


def situations_in(game: Game, positions: Iterable[np.ndarray]) -> Counter[str]:
    """How often what happens in consecutive positions (which may be one array, as of ``walk``)."""
    found: Counter[str] = Counter()
    before = None
    for states in positions:
        after = copy_of(game, states)[0]
        if before is not None:
            found.update(
                name for name, (_, happens) in SITUATIONS[game.id].items() if happens(before, after)
            )
        before = after
    return found
