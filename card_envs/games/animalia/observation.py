"""What a player of Animalia can know, as one flat vector of float32 in [0, 1]."""

from __future__ import annotations

import numpy as np

from card_envs.engine.bytewise import EACH, bits_of, eight
from card_envs.engine.fields import Field, Fields
from card_envs.engine.jit import jit
from card_envs.engine.observing import fractions, part, relative_seat, thermometers
from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.animalia.cards import (
    FAMILY_BITS,
    NO_CARDS,
    NUM_CARDS,
    NUM_FAMILIES,
    NUM_MEMBERS,
    OWL_ALONE,
    PRANKSTERS,
    SPIES,
    THIEVES,
    animals_in,
    cards_in_play,
    count,
    elegance_of,
    first_of,
    medals_of,
    of_family,
)
from card_envs.games.animalia.knowledge import last_located
from card_envs.games.animalia.powers import CARDS_SPIED, is_triggered
from card_envs.games.animalia.state import (
    BRING_IN,
    EXCELLENCE,
    FULL,
    GROUP,
    GROUP_OF_TWO_PLAYERS,
    MAX_COLLECTIONS,
    MAX_LOT,
    MAX_PLAYERS,
    MAX_SEASONS,
    NO_CARD,
    NO_COLLECTION,
    NO_FAMILY,
    NOBODY,
    NUM_PHASES,
    OWL_FAMILY,
    TAKE_OUT,
    TIE_BREAK,
    collected_cards,
    collections_each,
    first_collection,
    group_size,
    num_collections,
)

# A card as its family (the owl's is the last) and its member (the owl has none).
_CARD_SIZE = NUM_FAMILIES + 1 + NUM_MEMBERS
# Medals that lack to a group: from _FEWEST on; medals beyond full groups: at most 6 (of 7).
_LACKING = 9
_FEWEST = -2
_REST = 6
# The bounds of a collection's elegance.
_LEAST_ELEGANCE, _MOST_ELEGANCE = -5, 15
# Bonus cards are of this season, of the last one, or older.
_AGES = 3
# The most bonus cards that one player can ever hold: all that are not in collections (AN-16).
_MOST_BONUS = 16
# More points than a usual game brings.
_MANY_POINTS = 100
# Points that an exchange is said to gain.
_MOST_GAIN = 8
# The most medals of one family in a season.
_MOST_MEDALS = 10

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field(
        "phase",
        (NUM_PHASES,),
        "one-hot decision: the lot, a card to steal, a card to give, who receives it, a bonus card "
        "to bring in, the card that it replaces, the owl's family",
    ),
    Field("dealer", (MAX_PLAYERS,), "one-hot seat of the dealer"),
    Field("must_take", (1,), "1 if the seat to move may not pass"),
    Field("lot_size", (MAX_LOT,), "one-hot number of cards in the lot"),
    Field("lot", (NUM_CARDS,), "1 for each card in the lot"),
    Field("last_season", (1,), "1 in the last season"),
    Field("seasons_left", (1,), "seasons after this one / 10"),
    Field(
        "collections",
        (MAX_COLLECTIONS, NUM_CARDS),
        "1 for each card in a collection; with two players the observer's two, then the other's, "
        "otherwise one for each seat",
    ),
    Field("size", (MAX_COLLECTIONS, FULL), "entry c is 1 if a collection has more than c cards"),
    Field("elegance", (MAX_COLLECTIONS,), "stars minus black spots of a collection, + 5, / 20"),
    Field("taken_into", (MAX_COLLECTIONS,), "one-hot collection that triggered a power"),
    Field("gift_follows", (1,), "1 if a prankster acts after the thief, or now"),
    Field(
        "bonus_cards",
        (MAX_PLAYERS, _AGES),
        "bonus cards of each seat that are of this season, the last one, and older, / 16",
    ),
    Field("pile_size", (1,), "cards in the draw pile / 36"),
    Field("spied", (MAX_PLAYERS,), "cards on top of the draw pile that a seat's spies saw / 3"),
    Field("owl_family", (NUM_FAMILIES,), "one-hot family that the owl was named last season"),
)

FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "medals",
        (MAX_PLAYERS, NUM_FAMILIES),
        "medals of each family / 10 times the number of seasons; with memory=none those of the "
        "others of last season only",
    ),
    Field(
        "chosen", (_CARD_SIZE,), "the card chosen to be given; by the observer: to be brought in"
    ),
    Field("bonus", (NUM_CARDS,), "1 for each bonus card of the observer"),
    Field(
        "spied_cards",
        (CARDS_SPIED, _CARD_SIZE),
        "the next cards of the draw pile, as far as the observer's spies saw them: one-hot family, "
        "the owl last, and one-hot member",
    ),
    Field(
        "unseen",
        (NUM_CARDS,),
        "1 for each card that the observer has not located; one that is nowhere was replaced "
        "(AN-17) or is not in the game (AN-2)",
    ),
    Field(
        "located",
        (NUM_CARDS,),
        "last season of which the observer knows that the card is no bonus card of it, nor of an "
        "earlier one, / 10; perfect memory",
    ),
    Field(
        "known_bonus",
        (NUM_CARDS,),
        "places to the left of the one who has a bonus card that the observer's spies saw, / 5; "
        "perfect memory",
    ),
    Field(
        "bonus_seen",
        (MAX_PLAYERS,),
        "bonus cards of a seat that others' spies saw / 16; perfect memory",
    ),
    Field(
        "with_lot",
        (2, NUM_FAMILIES, FULL),
        "one-hot number of animals of each family, from 1, in the observer's collections, each "
        "together with the lot if it has room for it",
    ),
    Field(
        "lacking",
        (2, NUM_FAMILIES, _LACKING),
        "one-hot number of medals that the observer lacks to the next group (AN-19) of each family "
        "if these animals earn medals, from -2",
    ),
    Field(
        "triggers",
        (2, 3),
        "1 if the lot would trigger the power of thief, spy, prankster in each of the observer's "
        "collections",
    ),
    Field(
        "rest",
        (NUM_FAMILIES, _REST),
        "one-hot number of medals of each family that the observer has beyond full groups, from 1",
    ),
    Field("points", (MAX_PLAYERS,), "points of each seat so far / 100; perfect memory"),
    Field(
        "best_cards",
        (NUM_CARDS,),
        "in phase 3, for the seat to move: 1 for each bonus card to bring in, or card to take out, "
        "with which an exchange gains most points at once, with excellence",
    ),
    Field("best_gain", (_MOST_GAIN,), "entry c is 1 if that exchange gains more than c points"),
    Field("best_families", (NUM_FAMILIES,), "1 for each family as which the owl gains most"),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field("medals", (MAX_PLAYERS, NUM_FAMILIES), "as observed with perfect memory"),
    Field("season_medals", (MAX_PLAYERS, NUM_FAMILIES), "those of last season / 10"),
    Field("chosen", (_CARD_SIZE,), "the card chosen to be given or to be brought in"),
    Field("bonus", (MAX_PLAYERS, NUM_CARDS), "1 for each bonus card of a seat"),
    Field(
        "pile", (NUM_CARDS,), "place of each card in the draw pile, 1 the top, / 36; 0: not in it"
    ),
    Field(
        "seen",
        (MAX_PLAYERS, NUM_CARDS),
        "1 for each card of the draw pile and each bonus card that a seat's spies saw",
    ),
    Field("located", (MAX_PLAYERS, NUM_CARDS), "as observed by each seat with perfect memory"),
)

_SIZE = FIELDS.size
_SEATS = FIELDS.offset("seats")
_TO_MOVE = FIELDS.offset("to_move")
_PHASE = FIELDS.offset("phase")
_DEALER = FIELDS.offset("dealer")
_MUST_TAKE = FIELDS.offset("must_take")
_LOT_SIZE = FIELDS.offset("lot_size")
_LOT = FIELDS.offset("lot")
_LAST_SEASON = FIELDS.offset("last_season")
_SEASONS_LEFT = FIELDS.offset("seasons_left")
_COLLECTIONS = FIELDS.offset("collections")
_SIZES = FIELDS.offset("size")
_ELEGANCE = FIELDS.offset("elegance")
_TAKEN_INTO = FIELDS.offset("taken_into")
_BONUS_CARDS = FIELDS.offset("bonus_cards")
_PILE_SIZE = FIELDS.offset("pile_size")
_SPIED = FIELDS.offset("spied")
_OWL_FAMILY = FIELDS.offset("owl_family")
_MEDALS = FIELDS.offset("medals")
_CHOSEN = FIELDS.offset("chosen")
_BONUS = FIELDS.offset("bonus")
_SPIED_CARDS = FIELDS.offset("spied_cards")
_GIFT_FOLLOWS = FIELDS.offset("gift_follows")
_LOCATED = FIELDS.offset("located")
_UNSEEN = FIELDS.offset("unseen")
_KNOWN_BONUS = FIELDS.offset("known_bonus")
_BONUS_SEEN = FIELDS.offset("bonus_seen")
_WITH_LOT = FIELDS.offset("with_lot")
_LACKS = FIELDS.offset("lacking")
_TRIGGERS = FIELDS.offset("triggers")
_RESTS = FIELDS.offset("rest")
_POINTS = FIELDS.offset("points")
_BEST_CARDS = FIELDS.offset("best_cards")
_BEST_GAIN = FIELDS.offset("best_gain")
_BEST_FAMILIES = FIELDS.offset("best_families")
_STATE_MEDALS = STATE_FIELDS.offset("medals")
_STATE_SEASON_MEDALS = STATE_FIELDS.offset("season_medals")
_STATE_CHOSEN = STATE_FIELDS.offset("chosen")
_STATE_BONUS = STATE_FIELDS.offset("bonus")
_STATE_PILE = STATE_FIELDS.offset("pile")
_STATE_LOCATED = STATE_FIELDS.offset("located")
_STATE_SEEN = STATE_FIELDS.offset("seen")

# What is written for a number of cards, medals, and so on.
_SIZE_LOOK = thermometers(FULL)
_PILE_SIZE_LOOK = (np.arange(64) / NUM_CARDS).astype(np.float32)
_SPIED_LOOK = fractions(1.0 / CARDS_SPIED)
_SEASON = np.float32(1.0 / MAX_SEASONS)
_SEAT_LOOK = fractions(1.0 / (MAX_PLAYERS - 1))
_POINTS_LOOK = (np.arange(_MANY_POINTS + 1) / _MANY_POINTS).astype(np.float32)
# By the number of seasons, 128 for each.
_medals = np.arange(128) / (_MOST_MEDALS * np.arange(1, MAX_SEASONS + 1)[:, None])
_MEDALS_LOOK = np.pad(_medals, ((1, 0), (0, 0))).astype(np.float32).reshape(-1)
# Medals beyond full groups: 128 for more players than two, then for two.
_REST_LOOK = np.concatenate([np.arange(128) % GROUP, np.arange(128) % GROUP_OF_TWO_PLAYERS])
# Their groups.
_GROUPS_LOOK = (
    (np.arange(128) // np.array([[GROUP], [GROUP_OF_TWO_PLAYERS]])).astype(np.int8).reshape(-1)
)
# For a set of four cards: 1 for each.
_FOUR_LOOK = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(np.float32).reshape(-1)
# For a set of players: a byte for each, 0 or 1.
_PLAYER_BYTES = (np.arange(64)[:, None] >> np.arange(8) & 1).astype(np.int8).view(np.int64)[:, 0]
_ELEGANCE_LOOK = np.arange(32, dtype=np.float32) / (_MOST_ELEGANCE - _LEAST_ELEGANCE)
# For a card: what is written of it.
_cards = np.zeros((64, 16), np.float32)
for _card in range(NUM_CARDS):
    _family, _member = divmod(_card, NUM_MEMBERS)
    _cards[_card, _family] = 1.0
    if _family < NUM_FAMILIES:
        _cards[_card, NUM_FAMILIES + 1 + _member] = 1.0
_CARD_LOOK = _cards.reshape(-1)


@jit
def observe(states, i, player, out):
    """Write the player's observation; seats are relative to him (0), then clockwise."""
    s = states[i]
    me = int(player) & 7
    n = int(s.num_players)
    for k in range(_SIZE):
        out[k] = 0.0
    bonus_places = places_of_bonus_cards(s)
    observe_table(s, me, bonus_places, out)
    remembers = s.memory == MEMORY_PERFECT
    observe_medals(s, me, remembers, _MEDALS, out)
    if s.phase != TAKE_OUT or s.current_player == me:
        observe_card(int(s.chosen), _CHOSEN, out)
    write_cards(s.bonus[me], _BONUS, out)
    located = s.lot | s.replaced | s.bonus[me] | collected_cards(s)
    for k in range(CARDS_SPIED):
        if seen_in_pile(s, k) >> me & 1:
            card = int(s.deck[(int(s.drawn) & 63) + k])
            observe_card(card, _SPIED_CARDS + _CARD_SIZE * k, out)
            located |= 1 << card
    if remembers:
        observe_located(s, me, bonus_places, _LOCATED, out)
        located |= observe_seen_bonus_cards(s, me, bonus_places, out)
    write_cards(cards_in_play(n) & ~located, _UNSEEN, out)
    observe_with_lot(s, me, out)
    observe_points(s, me, remembers, out)
    if s.phase >= BRING_IN and s.current_player == me and not (s.terminated or s.truncated):
        observe_exchange(s, me, out)


@part
def places_of_bonus_cards(s):
    """The set of places of the deck where bonus cards are: eight places at a time."""
    places = 0
    for k in range(0, NUM_CARDS, 8):
        first = min(k, NUM_CARDS - 8)
        held = ~eight(s.holder, first) >> 7 & EACH  # NOBODY is the only negative one
        places |= bits_of(held) << first
    return places


@part
def observe_table(s, player, bonus_places, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    is_over = s.terminated | s.truncated
    out[_TO_MOVE + relative_seat(int(s.current_player), player, n)] = not is_over
    out[_PHASE + (int(s.phase) & 7)] = 1.0
    out[_DEALER + relative_seat(int(s.dealer), player, n)] = 1.0
    out[_MUST_TAKE] = s.must_take
    if s.lot != NO_CARDS:
        out[_LOT_SIZE + (count(s.lot) - 1 & 3)] = 1.0
        write_cards(s.lot, _LOT, out)
    out[_LAST_SEASON] = s.season == s.seasons
    out[_SEASONS_LEFT] = np.float32(int(s.seasons) - int(s.season)) * _SEASON
    out[_PILE_SIZE] = _PILE_SIZE_LOOK[int(s.deck_size) - int(s.drawn) & 63]
    spied = 0  # a byte for each player
    for k in range(CARDS_SPIED):
        spied += _PLAYER_BYTES[seen_in_pile(s, k) & 63]
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[_SEATS + seat] = 1.0
        out[_SPIED + seat] = _SPIED_LOOK[spied >> 8 * q & 3]
    while bonus_places != 0:
        place = first_of(bonus_places) & 63
        bonus_places &= bonus_places - 1
        seat = relative_seat(int(s.holder[place]), player, n)
        age = min(int(s.season) - int(s.since[place]), _AGES - 1) & 3
        out[_BONUS_CARDS + _AGES * seat + age] += 1.0 / _MOST_BONUS
    first, collections = first_collection(s, player), num_collections(s)
    for place in range(collections):
        to = relative_seat(place, first, collections)
        cards = s.collection[place]
        write_cards(cards, _COLLECTIONS + NUM_CARDS * to, out)
        size = FULL * (count(cards) & 31)
        for c in range(FULL):
            out[_SIZES + FULL * to + c] = _SIZE_LOOK[size + c]
        out[_ELEGANCE + to] = _ELEGANCE_LOOK[elegance_of(cards) - _LEAST_ELEGANCE & 31]
    if s.taken_into != NO_COLLECTION:
        out[_TAKEN_INTO + relative_seat(int(s.taken_into), first, collections)] = 1.0
    out[_GIFT_FOLLOWS] = s.may_give
    if s.owl_family != NO_FAMILY:
        out[_OWL_FAMILY + (int(s.owl_family) & 7)] = 1.0


@part
def seen_in_pile(s, k):
    """Whose spies saw the card of the draw pile with k before it, if there is one."""
    place = (int(s.drawn) & 63) + k
    return int(s.seen[place]) if place < s.deck_size else 0


@part
def write_cards(cards, first, out):
    """A set of cards, to the field that begins at ``first``: four at a time."""
    for four in range(0, NUM_CARDS, 4):
        row = 4 * (cards >> four & 15)
        for k in range(4):
            out[first + four + k] = _FOUR_LOOK[row + k]


@part
def observe_card(card, first, out):
    """A single card's family and member; nothing for NO_CARD."""
    if card != NO_CARD:
        for k in range(_CARD_SIZE):
            out[first + k] = _CARD_LOOK[16 * (card & 63) + k]


@part
def observe_medals(s, player, remembers, first, out):
    """The medals of all, as far as they are remembered: else the others' of last season."""
    n = int(s.num_players)
    row = 128 * (int(s.seasons) & 15)
    for q in range(n):
        seat = relative_seat(q, player, n)
        for family in range(NUM_FAMILIES):
            medals = s.medals[q, family] if remembers or q == player else s.season_medals[q, family]
            out[first + NUM_FAMILIES * seat + family] = _MEDALS_LOOK[row + (int(medals) & 127)]


@part
def observe_located(s, player, bonus_places, first, out):
    """Up to which season the player knows each card not to have been another's bonus card.

    One that he holds or has seen before another was in the draw pile when its season began.
    """
    for card in range(NUM_CARDS):
        out[first + card] = np.float32(last_located(s, player, card)) * _SEASON
    while bonus_places != 0:
        place = first_of(bonus_places) & 63
        bonus_places &= bonus_places - 1
        if s.holder[place] == player or s.seen[place] >> player & 1:
            card = int(s.deck[place]) & 63
            out[first + card] = np.float32(int(s.since[place]) - 1) * _SEASON


@part
def observe_seen_bonus_cards(s, player, bonus_places, out):
    """What spies saw of bonus cards; returns the set of the others' cards that the player saw."""
    n = int(s.num_players)
    located = NO_CARDS
    while bonus_places != 0:
        place = first_of(bonus_places) & 63
        bonus_places &= bonus_places - 1
        seen = int(s.seen[place])
        if seen != 0:
            holder = int(s.holder[place])
            seat = relative_seat(holder, player, n)
            out[_BONUS_SEEN + seat] += ((seen & ~(1 << holder)) != 0) * (1.0 / _MOST_BONUS)
            if holder != player and seen >> player & 1:
                card = int(s.deck[place]) & 63
                out[_KNOWN_BONUS + card] = _SEAT_LOOK[seat]
                located |= 1 << card
    return located


@part
def observe_with_lot(s, player, out):
    """What the player's collections would be with the lot, where there is room for it."""
    first = first_collection(s, player)
    lot = s.lot
    size = group_size(s)
    for number in range(collections_each(s)):
        held = s.collection[first + number]
        cards = held
        if count(held) + count(lot) <= FULL:
            cards |= lot
            to = _TRIGGERS + 3 * number
            out[to] = is_triggered(THIEVES, held, lot)
            out[to + 1] = is_triggered(SPIES, held, lot)
            out[to + 2] = is_triggered(PRANKSTERS, held, lot)
        for family in range(NUM_FAMILIES):
            animals = of_family(cards, family)
            to = NUM_FAMILIES * number + family
            out[_WITH_LOT + FULL * to + max(animals - 1, 0)] = animals > 0
            lacking = size - beyond_groups(s, player, family) - animals
            if lacking >= _FEWEST:
                out[_LACKS + _LACKING * to + min(lacking - _FEWEST, _LACKING - 1)] = 1.0


@part
def beyond_groups(s, player, family):
    """How many medals of a family the player has beyond full groups."""
    return _REST_LOOK[(int(s.num_players) == 2) * 128 + (int(s.medals[player, family]) & 127)]


@part
def observe_points(s, player, remembers, out):
    """How far the players are: one's own groups of medals, and everybody's points."""
    n = int(s.num_players)
    for family in range(NUM_FAMILIES):
        rest = beyond_groups(s, player, family)
        out[_RESTS + _REST * family + max(rest - 1, 0)] = rest > 0
    if remembers:
        for q in range(n):
            points = min(int(s.standing[q]) // TIE_BREAK, _MANY_POINTS)
            out[_POINTS + relative_seat(q, player, n)] = _POINTS_LOOK[points]


@part
def observe_exchange(s, player, out):
    """AN-17: what gains most points at once."""
    if s.phase == OWL_FAMILY:
        observe_best_families(s, player, out)
        return
    brings = s.phase == BRING_IN
    best = 0
    best_cards = NO_CARDS
    first = first_collection(s, player)
    for place in range(first, first + collections_each(s)):
        cards = s.collection[place]
        others = animals_beside(s, player, place)
        before = points_with(s, player, cards, others)
        offered = s.bonus[player] if brings else 1 << int(s.chosen)
        while offered != 0:
            card = first_of(offered)
            offered &= offered - 1
            rest = cards
            while rest != 0:
                out_card = first_of(rest)
                rest &= rest - 1
                exchanged = cards & ~(1 << out_card) | 1 << card
                gain = points_with(s, player, exchanged, others) - before
                if gain > best:
                    best = gain
                    best_cards = NO_CARDS
                if gain == best:
                    best_cards |= 1 << (card if brings else out_card)
    write_cards(best_cards, _BEST_CARDS, out)
    for c in range(_MOST_GAIN):
        out[_BEST_GAIN + c] = best > c


@part
def observe_best_families(s, player, out):
    """AN-17: with which family the owl earns most."""
    first = first_collection(s, player)
    for place in range(first, first + collections_each(s)):
        cards = s.collection[place]
        if cards & OWL_ALONE != 0:
            others = animals_beside(s, player, place)
            best = points_with(s, player, cards, others)
            for family in range(NUM_FAMILIES):
                animals = animals_in(cards) + (1 << FAMILY_BITS * family)
                out[_BEST_FAMILIES + family] = points_for(s, player, animals, others) == best


@part
def animals_beside(s, player, place):
    """The packed animals of the player's other collection, if he has two."""
    if s.num_players != 2:
        return 0
    return animals_in(s.collection[2 * first_collection(s, player) + 1 - place])


@part
def points_with(s, player, cards, others):
    """The player's points if a collection of his were these cards, with the owl at its best, beside
    his other packed animals."""
    animals = animals_in(cards)
    if cards & OWL_ALONE == 0:
        return points_for(s, player, animals, others)
    best = 0
    for family in range(NUM_FAMILIES):
        best = max(best, points_for(s, player, animals + (1 << FAMILY_BITS * family), others))
    return best


@jit
def points_for(s, player, animals, others):
    """The player's points if his collections earn medals with these packed animals."""
    row = (int(s.num_players) == 2) * 128
    points = 0
    for family in range(NUM_FAMILIES):
        medals = int(s.medals[player, family])
        medals += medals_of(animals, family) + medals_of(others, family)
        points += medals + EXCELLENCE * _GROUPS_LOOK[row + (medals & 127)]
    return points


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    out[:] = 0.0
    bonus_places = places_of_bonus_cards(s)
    observe_table(s, int(player), bonus_places, out)
    observe_medals(s, int(player), True, _STATE_MEDALS, out)
    observe_card(int(s.chosen), _STATE_CHOSEN, out)
    for q in range(n):
        seat = relative_seat(q, int(player), n)
        for family in range(NUM_FAMILIES):
            medals = int(s.season_medals[q, family])
            out[_STATE_SEASON_MEDALS + NUM_FAMILIES * seat + family] = medals * (1.0 / _MOST_MEDALS)
        write_cards(s.bonus[q], _STATE_BONUS + NUM_CARDS * seat, out)
        observe_located(s, q, bonus_places, _STATE_LOCATED + NUM_CARDS * seat, out)
    for place in range(NUM_CARDS):
        card = int(s.deck[place])
        is_in_pile = s.drawn <= place < s.deck_size
        if is_in_pile:
            out[_STATE_PILE + card] = (place - int(s.drawn) + 1) * (1.0 / NUM_CARDS)
        if is_in_pile or s.holder[place] != NOBODY:
            for q in range(n):
                seat = relative_seat(q, int(player), n)
                out[_STATE_SEEN + NUM_CARDS * seat + card] = s.seen[place] >> q & 1
