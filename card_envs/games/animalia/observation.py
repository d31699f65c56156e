"""What a player of Animalia can know, as one flat vector of float32 in [0, 1]."""

import numpy as np

from card_envs.contract import (
    EACH,
    MEMORY_PERFECT,
    bits_of,
    clear_fields,
    eight,
    index,
    inline,
    jit,
    relative_seat,
    share,
    table_of,
    thermometers,
    write_row,
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
from card_envs.games.animalia.fields import (
    AGES,
    CARD_SIZE,
    FEWEST,
    FIELDS,
    LACKING,
    LEAST_ELEGANCE,
    MOST_BONUS,
    MOST_ELEGANCE,
    MOST_GAIN,
    MOST_MEDALS,
    MOST_POINTS,
    MOST_SEASON_MEDALS,
    REST,
    STATE_FIELDS,
)
from card_envs.games.animalia.knowledge import last_located
from card_envs.games.animalia.powers import CARDS_SPIED, is_triggered
from card_envs.games.animalia.state import (
    BRING_IN,
    FULL,
    MAX_PLAYERS,
    MAX_SEASONS,
    NO_CARD,
    NO_COLLECTION,
    NO_FAMILY,
    NOBODY,
    OWL_FAMILY,
    TAKE_OUT,
    TIE_BREAK,
    collected_cards,
    collections_each,
    first_collection,
    group_size,
    num_collections,
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
# For a card: one-hot family and member.
_cards = np.zeros((NUM_CARDS, CARD_SIZE), np.uint8)
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
    clear_fields(out, 0, _SIZE)
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
            write_card(card, AT.spied_cards + CARD_SIZE * k, out)
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
        out[index(AT.bonus_cards + MAX_SEASONS * seat + age)] += share(out, 1, MOST_BONUS)
    first, collections = first_collection(s, player), num_collections(s)
    for place in range(collections):
        to = relative_seat(place, first, collections)
        cards = s.collection[index(place)]
        write_cards(cards, AT.collections + NUM_CARDS * to, out)
        write_row(out, AT.size + FULL * to, _SIZE_LOOK, count(cards), FULL)
        out[index(AT.elegance + to)] = share(
            out, elegance_of(cards) - LEAST_ELEGANCE, MOST_ELEGANCE - LEAST_ELEGANCE
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
        write_row(out, first + four, _FOUR_LOOK, cards >> four & 15, 4)


@inline
def write_card(card, first, out):
    """A single card's family and member; nothing for NO_CARD."""
    if card != NO_CARD:
        write_row(out, first, _CARD_LOOK, card, CARD_SIZE)


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
            out[index(AT.season_medals + to)] = share(out, of_season, MOST_SEASON_MEDALS)
            out[index(first + to)] = share(out, medals, MOST_MEDALS)


@inline
def observe_rest(s, player, out):
    """The player's medals beyond full groups."""
    medals = beyond_groups(s, player)
    for family in range(NUM_FAMILIES):
        rest = medals >> FAMILY_BITS * family & 15
        out[index(AT.rest + REST * family + max(rest - 1, 0))] = rest > 0


@inline
def observe_points(s, player, out):
    """Everybody's points so far."""
    n = int(s.num_players)
    for q in range(n):
        points = min(int(s.standing[index(q)]) // TIE_BREAK, MOST_POINTS)
        out[index(AT.points + relative_seat(q, player, n))] = share(out, points, MOST_POINTS)


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
            out[index(AT.bonus_seen + seat)] += share(out, 1, MOST_BONUS)
            age = min(int(s.season) - int(s.since[index(place)]), AGES - 1)
            for q in range(n):
                to = MAX_PLAYERS * seat + relative_seat(q, player, n)
                seen = share(out, spies >> q & 1, MOST_BONUS)
                out[index(AT.bonus_spied + AGES * to + age)] += seen
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
            if lacking >= FEWEST:
                few = min(lacking - FEWEST, LACKING - 1)
                out[index(AT.lacking + LACKING * to + few)] = 1.0


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
    for c in range(MOST_GAIN):
        out[index(AT.best_gain + c)] = gain > c


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    me = int(player)
    n = int(s.num_players)
    clear_fields(out, 0, _STATE_SIZE)
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
