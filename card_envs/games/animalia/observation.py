"""What a player of Animalia can know, as one flat vector of float32 in [0, 1]."""

from __future__ import annotations

import numpy as np

from card_envs.contract.fields import Field, Fields
from card_envs.contract.observing import (
    MEMORY_PERFECT,
    entry,
    index,
    relative_seat,
    share,
    table_of,
    thermometers,
)
from card_envs.games.animalia.alternatives import (
    best_exchange,
    best_families,
    beyond_groups,
    with_lot,
)
from card_envs.games.animalia.cards import (
    FAMILY_BITS,
    NO_CARDS,
    NUM_CARDS,
    NUM_FAMILIES,
    NUM_MEMBERS,
    PRANKSTERS,
    SPIES,
    THIEVES,
    cards_in_play,
    count,
    elegance_of,
    first_of,
    of_family,
)
from card_envs.games.animalia.knowledge import last_located
from card_envs.games.animalia.powers import CARDS_SPIED, is_triggered
from card_envs.games.animalia.state import (
    BRING_IN,
    FULL,
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
    SEASONS,
    TAKE_OUT,
    TIE_BREAK,
    collected_cards,
    collections_each,
    first_collection,
    group_size,
    num_collections,
)
from card_envs.kernels.bytewise import EACH, bits_of, eight
from card_envs.kernels.jit import inline, jit

# A card as its family (the owl's is the last) and its member (the owl has none).
_CARD_SIZE = NUM_FAMILIES + 1 + NUM_MEMBERS
# Medals that lack to a group: from _FEWEST on; medals beyond full groups: at most 6 (of 7).
_LACKING = 9
_FEWEST = -2
_REST = 6
# Ages of bonus cards that ``bonus_spied`` tells apart: those of a game of the usual length.
_AGES = SEASONS
# Points that an exchange is said to gain.
_MOST_GAIN = 8

# Scales.
_LEAST_ELEGANCE, _MOST_ELEGANCE = -5, 15
_MOST_BONUS = 16  # the most cards that are in no collection at the end of a season
_MOST_POINTS = 100
_MOST_SEASON_MEDALS = 10  # of one family: all animals of two collections
_MOST_MEDALS = _MOST_SEASON_MEDALS * MAX_SEASONS

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
    Field("seasons_left", (1,), "seasons after this one", scale=MAX_SEASONS),
    Field(
        "collections",
        (MAX_COLLECTIONS, NUM_CARDS),
        "1 for each card in a collection; with two players the observer's two, then the other's, "
        "otherwise one for each seat",
    ),
    Field("size", (MAX_COLLECTIONS, FULL), "entry c is 1 if a collection has more than c cards"),
    Field(
        "elegance",
        (MAX_COLLECTIONS,),
        "stars minus black spots of a collection, + 5",
        scale=_MOST_ELEGANCE - _LEAST_ELEGANCE,
    ),
    Field("taken_into", (MAX_COLLECTIONS,), "one-hot collection that triggered a power"),
    Field("gift_follows", (1,), "1 if a prankster acts after the thief, or now"),
    Field(
        "bonus_cards",
        (MAX_PLAYERS, MAX_SEASONS),
        "bonus cards of each seat, by the seasons since they were drawn, from 0: in this one",
        scale=_MOST_BONUS,
    ),
    Field("pile_size", (1,), "cards in the draw pile", scale=NUM_CARDS),
    Field(
        "spied",
        (MAX_PLAYERS,),
        "cards on top of the draw pile that a seat's spies saw",
        scale=CARDS_SPIED,
    ),
    Field("owl_family", (NUM_FAMILIES,), "one-hot family that the owl was named last season"),
    Field(
        "season_medals",
        (MAX_PLAYERS, NUM_FAMILIES),
        "medals of each family that each seat won last season",
        scale=_MOST_SEASON_MEDALS,
    ),
)

FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "medals",
        (MAX_PLAYERS, NUM_FAMILIES),
        "medals of each family; with memory=none those of the others of last season only",
        scale=_MOST_MEDALS,
    ),
    Field(
        "chosen",
        (_CARD_SIZE,),
        "one-hot family, the owl last, and one-hot member of the card chosen to be given, or, by "
        "the observer, to be brought in",
    ),
    Field("bonus", (NUM_CARDS,), "1 for each bonus card of the observer"),
    Field(
        "spied_cards",
        (CARDS_SPIED, _CARD_SIZE),
        "the next cards of the draw pile, if the observer's spies saw them: one-hot family, the "
        "owl last, and one-hot member",
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
        "earlier one",
        scale=MAX_SEASONS,
        remembered=True,
    ),
    Field(
        "known_bonus",
        (NUM_CARDS,),
        "places to the left of the player who has a bonus card that the observer's spies saw",
        scale=MAX_PLAYERS - 1,
        remembered=True,
    ),
    Field(
        "bonus_seen",
        (MAX_PLAYERS,),
        "bonus cards of a seat that others' spies saw",
        scale=_MOST_BONUS,
        remembered=True,
    ),
    Field(
        "bonus_spied",
        (MAX_PLAYERS, MAX_PLAYERS, _AGES),
        "bonus cards of each seat that another seat's spies saw: holder, spy, seasons since they "
        "were drawn, at most 2",
        scale=_MOST_BONUS,
        remembered=True,
    ),
    Field(
        "spied_by",
        (NUM_CARDS,),
        "for each bonus card that the observer has or whose holder they know: how many players "
        "besides these two have spied it",
        scale=MAX_PLAYERS - 1,
        remembered=True,
    ),
    Field(
        "with_lot",
        (2, NUM_FAMILIES, FULL),
        "one-hot number of animals of each family, from 1, in the observer's collections, each "
        "together with the lot if it has room for it",
        derived=True,
    ),
    Field(
        "lacking",
        (2, NUM_FAMILIES, _LACKING),
        "one-hot number of medals, from -2 to 6 or more, that the observer lacks to the next group "
        "(AN-19) of each family if these animals earn medals",
        derived=True,
    ),
    Field(
        "triggers",
        (2, 3),
        "1 if the lot would trigger the power of thief, spy, prankster in each of the observer's "
        "collections",
        derived=True,
    ),
    Field(
        "rest",
        (NUM_FAMILIES, _REST),
        "one-hot number of medals of each family that the observer has beyond full groups, from 1",
    ),
    Field(
        "points",
        (MAX_PLAYERS,),
        "points of each seat so far, at most 100",
        scale=_MOST_POINTS,
        remembered=True,
    ),
    Field(
        "best_cards",
        (NUM_CARDS,),
        "in phase 3, for the seat to move: 1 for each bonus card to bring in, or card to take out, "
        "with which an exchange gains most points at once, with excellence and the owl at its best",
        derived=True,
    ),
    Field(
        "best_gain",
        (_MOST_GAIN,),
        "entry c is 1 if that exchange gains more than c points",
        derived=True,
    ),
    Field(
        "best_families",
        (NUM_FAMILIES,),
        "1 for each family as which the owl gains most",
        derived=True,
    ),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field("medals", (MAX_PLAYERS, NUM_FAMILIES), "medals of each family", scale=_MOST_MEDALS),
    Field(
        "chosen",
        (_CARD_SIZE,),
        "one-hot family, the owl last, and one-hot member of the card chosen to be given or to be "
        "brought in",
    ),
    Field("bonus", (MAX_PLAYERS, NUM_CARDS), "1 for each bonus card of a seat"),
    Field(
        "pile",
        (NUM_CARDS,),
        "place of each card in the draw pile, 1 the top; 0: not in it",
        scale=NUM_CARDS,
    ),
    Field(
        "seen",
        (MAX_PLAYERS, NUM_CARDS),
        "1 for each card of the draw pile and each bonus card that a seat's spies saw",
    ),
    Field(
        "located",
        (MAX_PLAYERS, NUM_CARDS),
        "as each seat observes it with perfect recall",
        scale=MAX_SEASONS,
    ),
)

AT = FIELDS.offsets()
STATE_AT = STATE_FIELDS.offsets()  # the same for the fields of the table
_SIZE = FIELDS.size
_STATE_SIZE = STATE_FIELDS.size

# What is written for a number of cards.
_SIZE_LOOK = thermometers(FULL)
# For a set of four cards: 1 for each.
_FOUR_LOOK = table_of(np.arange(16)[:, None] >> np.arange(4) & 1)
# For a set of players: a byte for each, 0 or 1.
_PLAYER_BYTES = (np.arange(64)[:, None] >> np.arange(8) & 1).astype(np.int8).view(np.int64)[:, 0]
# For a card, from 16 * card on: one-hot family and member.
_cards = np.zeros((NUM_CARDS, 16), np.uint8)
for _card in range(NUM_CARDS):
    _family, _member = divmod(_card, NUM_MEMBERS)
    _cards[_card, _family] = 1
    if _family < NUM_FAMILIES:
        _cards[_card, NUM_FAMILIES + 1 + _member] = 1
_CARD_LOOK = table_of(_cards)


@jit
def observe(states, i, player, memory, features, out):
    """Write the player's observation; seats are relative to them (0), then clockwise."""
    s = states[i]
    me = int(player)
    n = int(s.num_players)
    for k in range(_SIZE):
        out[k] = 0.0
    bonus_places = places_of_bonus_cards(s)
    observe_table(s, me, bonus_places, out)
    remembers = memory == MEMORY_PERFECT
    has_past = s.season > 1 or s.terminated  # before that there is nothing but 0 to be written
    if has_past:
        observe_medals(s, me, remembers, AT.medals, out)
        observe_rest(s, me, out)
    if s.phase != TAKE_OUT or s.current_player == me:
        write_card(int(s.chosen), AT.chosen, out)
    write_cards(s.bonus[index(me)], AT.bonus, out)
    located = s.lot | s.replaced | s.bonus[index(me)] | collected_cards(s)
    for k in range(CARDS_SPIED):
        if seen_in_pile(s, k) >> me & 1:
            card = int(s.deck[index(int(s.drawn) + k)])
            write_card(card, AT.spied_cards + _CARD_SIZE * k, out)
            located |= 1 << card
    if remembers:
        located |= observe_spied_bonus_cards(s, me, bonus_places, out)
        if has_past:
            observe_located(s, me, bonus_places, AT.located, out)
            observe_points(s, me, out)
    write_cards(cards_in_play(n) & ~located, AT.unseen, out)
    if features:
        observe_with_lot(s, me, out)
        if s.phase >= BRING_IN and s.current_player == me and not (s.terminated or s.truncated):
            observe_exchange(s, me, out)


@inline
def places_of_bonus_cards(s):
    """The set of places of the deck where bonus cards are: eight places at a time."""
    places = 0
    for k in range(0, NUM_CARDS, 8):
        first = min(k, NUM_CARDS - 8)
        held = ~eight(s.holder, first) >> 7 & EACH  # NOBODY is the only negative one
        places |= bits_of(held) << first
    return places


@inline
def observe_table(s, player, bonus_places, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    is_over = s.terminated | s.truncated
    out[index(AT.to_move + relative_seat(int(s.current_player), player, n))] = not is_over
    out[index(AT.phase + int(s.phase))] = 1.0
    out[index(AT.dealer + relative_seat(int(s.dealer), player, n))] = 1.0
    out[AT.must_take] = s.must_take
    if s.lot != NO_CARDS:
        out[index(AT.lot_size + count(s.lot) - 1)] = 1.0
        write_cards(s.lot, AT.lot, out)
    out[AT.last_season] = s.season == s.seasons
    out[AT.seasons_left] = share(out, int(s.seasons) - int(s.season), MAX_SEASONS)
    out[AT.pile_size] = share(out, int(s.deck_size) - int(s.drawn), NUM_CARDS)
    spied = 0  # a byte for each player
    for k in range(CARDS_SPIED):
        spied += _PLAYER_BYTES[index(seen_in_pile(s, k))]
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[index(AT.seats + seat)] = 1.0
        out[index(AT.spied + seat)] = share(out, spied >> 8 * q & 255, CARDS_SPIED)
    while bonus_places != 0:
        place = first_of(bonus_places)
        bonus_places &= bonus_places - 1
        seat = relative_seat(int(s.holder[index(place)]), player, n)
        age = int(s.season) - int(s.since[index(place)])
        out[index(AT.bonus_cards + MAX_SEASONS * seat + age)] += share(out, 1, _MOST_BONUS)
    first, collections = first_collection(s, player), num_collections(s)
    for place in range(collections):
        to = relative_seat(place, first, collections)
        cards = s.collection[index(place)]
        write_cards(cards, AT.collections + NUM_CARDS * to, out)
        size = FULL * count(cards)
        for c in range(FULL):
            out[index(AT.size + FULL * to + c)] = entry(out, _SIZE_LOOK, size + c)
        out[index(AT.elegance + to)] = share(
            out, elegance_of(cards) - _LEAST_ELEGANCE, _MOST_ELEGANCE - _LEAST_ELEGANCE
        )
    if s.taken_into != NO_COLLECTION:
        out[index(AT.taken_into + relative_seat(int(s.taken_into), first, collections))] = 1.0
    out[AT.gift_follows] = s.may_give
    if s.owl_family != NO_FAMILY:
        out[index(AT.owl_family + int(s.owl_family))] = 1.0


@inline
def seen_in_pile(s, k):
    """The set of players whose spies saw the card of the draw pile with k before it, if any."""
    place = int(s.drawn) + k
    return int(s.seen[index(place)]) if place < s.deck_size else 0


@inline
def write_cards(cards, first, out):
    """A set of cards, to the field that begins at ``first``: four at a time."""
    for four in range(0, NUM_CARDS, 4):
        row = 4 * (cards >> four & 15)
        for k in range(4):
            out[index(first + four + k)] = entry(out, _FOUR_LOOK, row + k)


@inline
def write_card(card, first, out):
    """A single card's family and member; nothing for NO_CARD."""
    if card != NO_CARD:
        for k in range(_CARD_SIZE):
            out[index(first + k)] = entry(out, _CARD_LOOK, 16 * card + k)


@inline
def observe_medals(s, player, remembers, first, out):
    """The medals of last season, and those of all, if they are remembered."""
    n = int(s.num_players)
    for q in range(n):
        seat = relative_seat(q, player, n)
        knows_all = remembers or q == player
        for family in range(NUM_FAMILIES):
            of_season = int(s.season_medals[index(q), index(family)])
            medals = int(s.medals[index(q), index(family)]) if knows_all else of_season
            to = NUM_FAMILIES * seat + family
            out[index(AT.season_medals + to)] = share(out, of_season, _MOST_SEASON_MEDALS)
            out[index(first + to)] = share(out, medals, _MOST_MEDALS)


@inline
def observe_rest(s, player, out):
    """The player's medals beyond full groups."""
    medals = beyond_groups(s, player)
    for family in range(NUM_FAMILIES):
        rest = medals >> FAMILY_BITS * family & 15
        out[index(AT.rest + _REST * family + max(rest - 1, 0))] = rest > 0


@inline
def observe_points(s, player, out):
    """Everybody's points so far."""
    n = int(s.num_players)
    for q in range(n):
        points = min(int(s.standing[index(q)]) // TIE_BREAK, _MOST_POINTS)
        out[index(AT.points + relative_seat(q, player, n))] = share(out, points, _MOST_POINTS)


@inline
def observe_located(s, player, bonus_places, first, out):
    """Up to which season the player knows each card not to have been another's bonus card.

    One that they hold, or have seen before another, was in the draw pile when its season began.
    """
    for card in range(NUM_CARDS):
        out[index(first + card)] = share(out, last_located(s, player, card), MAX_SEASONS)
    while bonus_places != 0:
        place = first_of(bonus_places)
        bonus_places &= bonus_places - 1
        if s.holder[index(place)] == player or s.seen[index(place)] >> player & 1:
            card = int(s.deck[index(place)])
            out[index(first + card)] = share(out, int(s.since[index(place)]) - 1, MAX_SEASONS)


@inline
def observe_spied_bonus_cards(s, player, bonus_places, out):
    """What spies saw of bonus cards; returns the set of the others' cards that the player saw.

    Whether a holder's own spies saw a card makes no difference. Of bonus cards that one player
    drew in one season each spy saw those drawn first: so who has seen which follows from numbers.
    """
    n = int(s.num_players)
    located = NO_CARDS
    while bonus_places != 0:
        place = first_of(bonus_places)
        bonus_places &= bonus_places - 1
        holder = int(s.holder[index(place)])
        spies = int(s.seen[index(place)]) & ~(1 << holder)
        if spies != 0:
            seat = relative_seat(holder, player, n)
            out[index(AT.bonus_seen + seat)] += share(out, 1, _MOST_BONUS)
            age = min(int(s.season) - int(s.since[index(place)]), _AGES - 1)
            for q in range(n):
                to = MAX_PLAYERS * seat + relative_seat(q, player, n)
                seen = share(out, spies >> q & 1, _MOST_BONUS)
                out[index(AT.bonus_spied + _AGES * to + age)] += seen
            is_known = spies >> player & 1
            if is_known or holder == player:
                card = int(s.deck[index(place)])
                others = count(spies & ~(1 << player))
                out[index(AT.spied_by + card)] = share(out, others, MAX_PLAYERS - 1)
                if is_known:
                    out[index(AT.known_bonus + card)] = share(out, seat, MAX_PLAYERS - 1)
                    located |= 1 << card
    return located


@inline
def observe_with_lot(s, player, out):
    """What the player's collections would be with the lot, where there is room for it."""
    first = first_collection(s, player)
    size = group_size(s)
    medals = beyond_groups(s, player)
    for number in range(collections_each(s)):
        held = s.collection[index(first + number)]
        cards = with_lot(s, held)
        lot = cards & ~held
        to = AT.triggers + 3 * number
        out[index(to)] = is_triggered(THIEVES, held, lot)
        out[index(to + 1)] = is_triggered(SPIES, held, lot)
        out[index(to + 2)] = is_triggered(PRANKSTERS, held, lot)
        for family in range(NUM_FAMILIES):
            animals = of_family(cards, family)
            to = NUM_FAMILIES * number + family
            out[index(AT.with_lot + FULL * to + max(animals - 1, 0))] = animals > 0
            lacking = size - (medals >> FAMILY_BITS * family & 15) - animals
            if lacking >= _FEWEST:
                few = min(lacking - _FEWEST, _LACKING - 1)
                out[index(AT.lacking + _LACKING * to + few)] = 1.0


@inline
def observe_exchange(s, player, out):
    """AN-17: what gains most points at once."""
    if s.phase == OWL_FAMILY:
        families = best_families(s, player)
        for family in range(NUM_FAMILIES):
            out[index(AT.best_families + family)] = families >> family & 1
        return
    cards, gain = best_exchange(s, player)
    write_cards(cards, AT.best_cards, out)
    for c in range(_MOST_GAIN):
        out[index(AT.best_gain + c)] = gain > c


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    me = int(player)
    n = int(s.num_players)
    for k in range(_STATE_SIZE):
        out[k] = 0.0
    bonus_places = places_of_bonus_cards(s)
    observe_table(s, me, bonus_places, out)
    observe_medals(s, me, True, STATE_AT.medals, out)
    write_card(int(s.chosen), STATE_AT.chosen, out)
    for q in range(n):
        seat = relative_seat(q, me, n)
        write_cards(s.bonus[index(q)], STATE_AT.bonus + NUM_CARDS * seat, out)
        observe_located(s, q, bonus_places, STATE_AT.located + NUM_CARDS * seat, out)
    for place in range(NUM_CARDS):
        card = int(s.deck[index(place)])
        is_in_pile = s.drawn <= place < s.deck_size
        if is_in_pile:
            rank = place - int(s.drawn) + 1
            out[index(STATE_AT.pile + card)] = share(out, rank, NUM_CARDS)
        if is_in_pile or s.holder[index(place)] != NOBODY:
            for q in range(n):
                to = NUM_CARDS * relative_seat(q, me, n) + card
                out[index(STATE_AT.seen + to)] = s.seen[index(place)] >> q & 1
