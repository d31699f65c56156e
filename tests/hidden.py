"""What the tests of hidden information share: redrawn positions, and which cards differ in them.

The checks are functions of the kernels that they check, so that the same functions can be shown
to catch kernels that leak, and a ``determinize`` that does not redraw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from helpers import copy_of, is_over, mask_of

from card_envs.engine.game import Game
from card_envs.games.animalia.state import TAKE_OUT
from card_envs.games.franks_zoo.cards import LAY_CARDS

Determinize = Callable[[np.ndarray, int, int, np.uint64], None]
Observe = Callable[[np.ndarray, int, int, np.ndarray], None]

SEEDS = 4
MORE_SEEDS = 4000


def redrawn(
    game: Game, states: np.ndarray, player: int, seed: int, determinize: Determinize
) -> np.ndarray:
    copy = copy_of(game, states)
    determinize(copy, 0, player, np.uint64(seed))
    return copy


def variants(
    game: Game, states: np.ndarray, player: int, determinize: Determinize, count: int
) -> Iterator[np.ndarray]:
    for seed in range(count):
        yield redrawn(game, states, player, seed, determinize)


def check_views_unchanged(
    game: Game, states: np.ndarray, player: int, observe: Observe, determinize: Determinize
) -> None:
    """Observation, mask, and the scripted player's choice: the same in all redrawn states."""

    def views(states: np.ndarray) -> tuple[bytes, bytes, int]:
        observation = np.full(game.fields.size, np.nan, np.float32)
        observe(states, 0, player, observation)
        if is_over(states) or states["current_player"][0] != player:
            return observation.tobytes(), b"", -1
        return observation.tobytes(), mask_of(game, states).tobytes(), game.heuristic(states, 0)

    expected = views(states)
    for other in variants(game, states, player, determinize, SEEDS):
        found = views(other)
        assert found[0] == expected[0], "the observation shows what the player cannot know"
        assert found[1] == expected[1], "the mask shows what the player cannot know"
        assert found[2] == expected[2], "the heuristic uses what its seat cannot know"


# ---------------------------------------------------------------------------------------------
# Beaver Gang
# ---------------------------------------------------------------------------------------------


def cells_of_beaver_gang(states: np.ndarray) -> np.ndarray:
    """Every place of a card, hidden or not: the slots, the drawn card, the pile."""
    s = states[0]
    return np.concatenate([s["row"].ravel(), [s["drawn"]], s["draw_pile"]])


def open_cells_of_beaver_gang(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Which places may hold another card for all that the player knows, and which surely do not.

    He knows of a hidden card: from which filling of the draw pile it came, all cards that he has
    not seen of that filling, and of some that they are numbers. So a place is open if its card
    can change places with a different one of its filling.
    """
    s = states[0]
    players, slots = s["row"].shape
    cards = cells_of_beaver_gang(states)
    hidden = np.zeros(len(cards), bool)
    filling = np.full(len(cards), s["filling"], np.int64)
    is_number = np.zeros(len(cards), bool)
    for owner in range(s["num_players"]):
        for slot in range(slots):
            place = owner * slots + slot
            hidden[place] = not s["known"][player] >> place & 1
            filling[place] = s["filling_of"][owner, slot]
            is_number[place] = s["is_number"] >> place & 1
    drawn = players * slots
    hidden[drawn] = s["drawn"] >= 0 and s["current_player"] != player
    hidden[drawn + 1 : drawn + 1 + s["draw_size"]] = True
    fits = ~is_number[:, None] | (cards < 10)[None, :]  # [place, place of the new card]
    exchangeable = (
        (hidden[:, None] & hidden[None, :])
        & (filling[:, None] == filling[None, :])
        & (cards[:, None] != cards[None, :])
        & fits
        & fits.T
    )
    beyond = np.zeros(len(cards), bool)  # the array's unused end
    beyond[drawn + 1 + s["draw_size"] :] = True
    is_open = exchangeable.any(axis=1)
    return is_open, ~is_open & ~beyond


# ---------------------------------------------------------------------------------------------
# Swim for Your Life
# ---------------------------------------------------------------------------------------------


def cells_of_swim_for_your_life(states: np.ndarray) -> np.ndarray:
    """How many cards of each animal there are in each hand, left over, and in each row."""
    s = states[0]
    return np.concatenate([s["hand"].ravel(), s["left_over"], s["row"].ravel()])


@dataclass
class HiddenCards:
    """The cards that a player of Swim for Your Life has not located, by places and animals.

    Attributes:
        places: the players whose hands hold some; the last place is what is left over (-1).
        held: how many cards beyond ``least`` there are (places, animals).
        room: how many more there could be, as far as ``most`` says (places, animals).
    """

    places: list[int]
    held: np.ndarray
    room: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, player: int) -> HiddenCards:
        s = states[0]
        places = [q for q in range(s["num_players"]) if q != player]
        held = [s["hand"][q] - s["least"][q] for q in places] + [s["left_over"]]
        room = np.full((len(held), 10), 99)
        for place, q in enumerate(places):
            room[place, 6:9] = s["most"][q] - s["hand"][q, 6:9]
        return cls([*places, -1], np.array(held, np.int64), room)

    def put(self, place: int, animal: int) -> bool:
        """Exchange cards so that the place gets one more of the animal; False if impossible.

        Each exchange moves a card from one place to another, so together they are a circle: the
        animal's card comes to the place, which gives another one away, and so on, until a place
        gives away a card of the animal.
        """
        return self.room[place, animal] > 0 and self._move(("place", place), ("animal", animal))

    def take(self, place: int, animal: int) -> bool:
        """Exchange cards so that the place gets one less of the animal; False if impossible."""
        return self.held[place, animal] > 0 and self._move(("animal", animal), ("place", place))

    def _move(self, start: tuple[str, int], goal: tuple[str, int]) -> bool:
        """Close the circle that the card between goal and start begins, the shortest that there
        is: from a place to an animal that it gives away, from an animal to a place that gets it."""
        came_from: dict[tuple[str, int], tuple[str, int]] = {}
        reached = [start]
        for node in reached:
            kind, number = node
            if kind == "place":
                following = [("animal", int(a)) for a in np.flatnonzero(self.held[number])]
            else:
                following = [("place", int(p)) for p in np.flatnonzero(self.room[:, number])]
            for other in following:
                # The card itself must not go back where it came from.
                if other not in came_from and other != start and (node, other) != (start, goal):
                    came_from[other] = node
                    reached.append(other)
        if goal not in came_from:
            return False
        node = goal
        self._shift(goal, start)
        while node != start:
            self._shift(came_from[node], node)
            node = came_from[node]
        return True

    def _shift(self, source: tuple[str, int], target: tuple[str, int]) -> None:
        """One card less at the place ``source``, or one more at the place ``target``."""
        is_given = source[0] == "place"
        place, animal = (source[1], target[1]) if is_given else (target[1], source[1])
        self.held[place, animal] += -1 if is_given else 1
        self.room[place, animal] += 1 if is_given else -1


def open_cells_of_swim_for_your_life(
    states: np.ndarray, player: int
) -> tuple[np.ndarray, np.ndarray]:
    """The other hands and what is left over, as far as there is an exchange that changes them.

    It does not matter that each is looked for from where the ones before led to: what can change
    from one possible arrangement can change from any.
    """
    hands = np.zeros((6, 10), bool)  # the last one: what is left over
    rows = np.zeros(40, bool)
    hidden = HiddenCards.of(states, player)
    for place, q in enumerate(hidden.places):
        for animal in range(10):
            hands[q, animal] = hidden.put(place, animal) or hidden.take(place, animal)
    is_open = np.concatenate([hands.ravel(), rows])
    return is_open, ~is_open


# ---------------------------------------------------------------------------------------------
# Frank's Zoo
# ---------------------------------------------------------------------------------------------


def cells_of_franks_zoo(states: np.ndarray) -> np.ndarray:
    """How many cards of each kind each hand holds and each player gave or laid down (FZ-18); and
    the kind of the card that is to be given next."""
    s = states[0]
    return np.concatenate([s["hand"].ravel(), s["given"].ravel(), [s["gift"]]])


def located_in_franks_zoo(states: np.ndarray, player: int) -> np.ndarray:
    """The cards that the player knows to be in each hand (players, kinds).

    His own; those that everybody knows of; and those that he gave to his partner and that have not
    come out of the partner's hand since, as far as he can tell.
    """
    s = states[0]
    located = s["known"].astype(int)
    located[player] = s["hand"][player]
    partner = s["partner"][player]
    if partner >= 0:
        come_out = s["played_by"][partner].astype(int)
        if s["is_senior"][partner]:  # the senior gives after he has received
            come_out += s["given"][partner]
        if s["asker"] == partner:
            come_out += LAY_CARDS[s["request"]]
        located[partner] = np.maximum(located[partner], s["given"][player] - come_out)
    return located


@dataclass
class PlacesOfFranksZoo:
    """The places of cards that a player has not located: the hands of the seven seats, and last
    what the player alone has laid down.

    Attributes:
        located: cards that are known to be there (places, kinds).
        hidden: the others (places, kinds).
    """

    located: np.ndarray
    hidden: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, player: int) -> PlacesOfFranksZoo:
        s = states[0]
        located = located_in_franks_zoo(states, player)
        hidden = s["hand"] - located
        laid_down = s["given"][s["alone"]].astype(int) if s["alone"] >= 0 else np.zeros(13, int)
        is_known = s["alone"] == player
        return cls(
            np.vstack([located, laid_down * is_known]),
            np.vstack([hidden, laid_down * (not is_known)]),
        )

    @property
    def most(self) -> np.ndarray:
        """How many cards of each kind each place could hold (places, kinds)."""
        return self.located + np.minimum(self.hidden.sum(axis=1)[:, None], self.hidden.sum(axis=0))

    @property
    def fewest(self) -> np.ndarray:
        """How many it must hold: what is left when it gets of the other kinds what there is."""
        others = self.hidden.sum() - self.hidden.sum(axis=0)
        return self.located + np.maximum(self.hidden.sum(axis=1)[:, None] - others, 0)


def open_cells_of_franks_zoo(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Hands and what the player alone laid down: what could be more or fewer cards. Gifts between
    two others: all kinds that the one who got them may have had since.

    Nobody has ever had so few cards that a gift of his could only have been of one kind.
    """
    s = states[0]
    places = PlacesOfFranksZoo.of(states, player)
    counts = places.most > places.fewest
    hands = counts[:7]
    given = np.zeros_like(hands)
    may_have_had = (places.most[:7] + s["played_by"]) > 0
    if s["asker"] >= 0:
        may_have_had[s["asker"]] |= LAY_CARDS[s["request"]] > 0
    for giver in range(s["num_players"]):
        taker = s["partner"][giver]
        if s["given"][giver].any():
            if giver == s["alone"]:
                given[giver] = counts[7]
            elif player not in (giver, taker):
                given[giver] = may_have_had[taker]
                if s["is_senior"][taker] and s["given"][taker].any():  # and gave it back
                    given[giver] |= may_have_had[giver]
    is_open = np.concatenate(
        [hands.ravel(), given.ravel(), [s["gift"] >= 0 and s["current_player"] != player]]
    )
    return is_open, ~is_open


# ---------------------------------------------------------------------------------------------
# Animalia
# ---------------------------------------------------------------------------------------------


def cells_of_animalia(states: np.ndarray) -> np.ndarray:
    """The card at each place of the deck, each player's bonus cards, the chosen card, and what
    spies saw that was left over in earlier seasons."""
    s = states[0]
    return np.concatenate([s["deck"], s["bonus"], [s["chosen"]], s["left_over"].ravel()])


def hidden_places_of_animalia(states: np.ndarray, player: int) -> np.ndarray:
    """Which places of the deck hold a card that the player has not located: undrawn, or another's
    bonus card, and not spied by him."""
    s = states[0]
    place = np.arange(len(s["deck"]))
    is_undrawn = (s["drawn"] <= place) & (place < s["deck_size"])
    is_others = (s["holder"] >= 0) & (s["holder"] != player)
    return (is_undrawn | is_others) & (s["seen"] >> player & 1 == 0)


def may_hold_in_animalia(states: np.ndarray, player: int) -> np.ndarray:
    """Whether a place could hold the card of another (place, place of the card), if both are
    hidden: a bonus card that was kept has not been located at the end of a season since."""
    s = states[0]
    hidden = hidden_places_of_animalia(states, player)
    located = np.maximum(s["shown"], s["left_over"][player])[s["deck"]]
    fits = (s["since"] == 0)[:, None] | (located < s["since"][:, None])
    return hidden[:, None] & hidden & fits


def open_cells_of_animalia(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Hidden places can exchange cards in a circle; so can another's bonus cards, if not all of
    the circle is his. Of two or more, any may be the chosen one. What others' spies saw is
    forgotten (it matters to nobody else)."""
    s = states[0]
    reaches = may_hold_in_animalia(states, player)
    for _ in range(6):  # circles of any length
        reaches |= (reaches.astype(int) @ reaches) > 0
    together = reaches & reaches.T & ~np.eye(len(reaches), dtype=bool)
    owners = np.arange(len(s["bonus"]))
    is_his = s["holder"] == owners[:, None]
    bonus = (is_his[:, :, None] & together & ~is_his[:, None, :]).any(axis=(1, 2))
    mover = s["current_player"]
    is_brought_in = s["phase"] == TAKE_OUT and mover != player
    chosen = is_brought_in and (int(s["bonus"][mover]).bit_count() > 1 or bool(bonus[mover]))
    left_over = (s["left_over"] > 0) & (owners != player)[:, None]
    is_open = np.concatenate([together.any(axis=1), bonus, [chosen], left_over.ravel()])
    return is_open, ~is_open


# ---------------------------------------------------------------------------------------------
# What is hidden, by game
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hiding:
    """What of a game's record players cannot know.

    Attributes:
        cells: gives all places of cards.
        open_cells: gives, for a player, which of them may hold something else for all that he
            knows, and which surely do not.
        parts: the record's fields that hold hidden cards; but for its random stream, no other
            changes when they are redrawn.
        usual: a number of open places that is exceeded on average.
        fewest: the fewest players with whom a field of the observation is ever used, for those
            that are empty with fewer.
        long_game: a number of decisions that some games exceed.
    """

    cells: Callable[[np.ndarray], np.ndarray]
    open_cells: Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
    parts: tuple[str, ...]
    usual: int
    fewest: dict[str, int] = field(default_factory=dict)
    long_game: int = 150


HIDING = {
    "beaver_gang": Hiding(
        cells_of_beaver_gang, open_cells_of_beaver_gang, ("row", "drawn", "draw_pile"), 20
    ),
    "swim_for_your_life": Hiding(
        cells_of_swim_for_your_life,
        open_cells_of_swim_for_your_life,
        ("hand", "left_over"),
        10,
    ),
    "franks_zoo": Hiding(
        cells_of_franks_zoo,
        open_cells_of_franks_zoo,
        ("hand", "given", "gift"),
        10,
        fewest={"given": 4, "got": 4},
    ),
    "animalia": Hiding(
        cells_of_animalia,
        open_cells_of_animalia,
        ("deck", "bonus", "chosen", "left_over"),
        10,
        long_game=80,
    ),
}


def check_hidden_parts_vary(
    game: Game, states: np.ndarray, player: int, determinize: Determinize
) -> int:
    """Every open place takes more than one value, every other keeps its cards, and so does the
    rest of the record.

    Returns:
        How many places are open.
    """
    hiding = HIDING[game.id]
    is_open, is_fixed = hiding.open_cells(states, player)
    original = hiding.cells(states)
    rest = [n for n in game.state_dtype.names or () if n not in ("rng", "seed", *hiding.parts)]
    missing = is_open.copy()
    for count, variant in enumerate(variants(game, states, player, determinize, MORE_SEEDS)):
        changed = hiding.cells(variant) != original
        assert not (changed & is_fixed).any(), "a card that the player knows was exchanged"
        same = all(variant[name].tobytes() == states[name].tobytes() for name in rest)
        assert same, "something else than hidden cards was changed"
        missing &= ~changed
        if count >= SEEDS and not missing.any():
            break
    assert not missing.any(), f"hidden but never redrawn: {np.flatnonzero(missing)}"
    return int(is_open.sum())
