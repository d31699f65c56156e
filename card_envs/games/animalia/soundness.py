"""Whether a record can be a state of the game: for what comes from outside."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.outcome import common_fields_are_sound
from card_envs.games.animalia.cards import (
    NO_CARDS,
    NUM_CARDS,
    NUM_FAMILIES,
    OWL_ALONE,
    cards_in_play,
    count,
)
from card_envs.games.animalia.knowledge import can_be_at, is_hidden
from card_envs.games.animalia.legal import legal_actions
from card_envs.games.animalia.powers import CARDS_SPIED
from card_envs.games.animalia.state import (
    BRING_IN,
    FULL,
    GIVE,
    LOT,
    MAX_COLLECTIONS,
    MAX_LOT,
    MAX_PLAYERS,
    MAX_SEASONS,
    MIN_PLAYERS,
    NO_CARD,
    NO_COLLECTION,
    NO_FAMILY,
    NOBODY,
    NUM_PHASES,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    num_collections,
    num_incomplete,
    own_cards,
    owner_of,
    room_of,
    standing_of,
)

# The most medals that a player can earn in a season: all animals of two collections.
MOST_MEDALS = 2 * FULL


@jit
def is_sound(states, i):
    """Whether the record can be a state of the game: no index out of range, every card there.

    What comes from outside, such as a saved game, must pass it before a kernel sees it.
    """
    s = states[i]
    if not common_fields_are_sound(s, MIN_PLAYERS, MAX_PLAYERS):
        return False
    if not (0 < s.season <= s.seasons <= MAX_SEASONS and 0 <= s.phase < NUM_PHASES):
        return False
    if not (0 <= s.dealer < s.num_players and NO_FAMILY <= s.owl_family < NUM_FAMILIES):
        return False
    if not NO_COLLECTION <= s.taken_into < num_collections(s):
        return False
    if not NO_CARD <= s.chosen < NUM_CARDS:
        return False
    return (
        medals_are_sound(s)
        and past_is_sound(s)
        and deck_is_sound(s)
        and bonus_cards_are_sound(s)
        and cards_are_whole(s)
        and phase_is_sound(s)
        and (s.terminated or has_choice(s))
    )


@jit
def medals_are_sound(s):
    """Whether nobody has more medals than can be earned."""
    for player in range(MAX_PLAYERS):
        medals = 0
        season_medals = 0
        for family in range(NUM_FAMILIES):
            earned = int(s.season_medals[player, family])
            if not 0 <= earned <= s.medals[player, family]:
                return False
            medals += int(s.medals[player, family])
            season_medals += earned
            if player >= s.num_players and s.medals[player, family] > 0:
                return False
        seasons = s.season if s.terminated else s.season - 1
        if medals > MOST_MEDALS * seasons or season_medals > MOST_MEDALS:
            return False
        if s.season_points[player] < season_medals:
            return False
        if s.standing[player] != (standing_of(s, player) if player < s.num_players else 0):
            return False
        if s.season_points[player] > season_medals and not s.terminated:
            return False
    return True


@jit
def deck_is_sound(s):
    """Whether each card in play has one place, and each place a holder and onlookers that exist."""
    cards = cards_in_play(s.num_players)
    size = count(cards)
    if not 0 <= s.drawn <= s.deck_size <= size:
        return False
    for place in range(NUM_CARDS):
        card = int(s.deck[place])
        if place >= size:
            if card != NO_CARD or s.holder[place] != NOBODY or s.seen[place] != 0:
                return False
            if s.since[place] != 0:
                return False
            continue
        if not 0 <= card < NUM_CARDS or cards >> card & 1 == 0:
            return False
        cards &= ~(1 << card)
        if not NOBODY <= s.holder[place] < s.num_players:
            return False
        if not 0 <= s.seen[place] < 1 << int(s.num_players):
            return False
        if s.drawn <= place < s.deck_size and not undrawn_is_sound(s, place):
            return False
        if not since_is_sound(s, place):
            return False
    return True


@jit
def undrawn_is_sound(s, place):
    """Whether a card of the draw pile is nobody's, and seen only by those who saw all above it."""
    if s.holder[place] != NOBODY:
        return False
    if place == s.drawn:
        return True
    return s.seen[place] & ~s.seen[place - 1] == 0 and (
        s.seen[place] == 0 or place < s.drawn + CARDS_SPIED
    )


@jit
def since_is_sound(s, place):
    """Whether a bonus card has been kept since a season that can be: before this one if it is not
    of its deck, and after all seasons at whose end others knew it elsewhere."""
    since = int(s.since[place])
    if s.holder[place] == NOBODY:
        return since == 0
    if place < s.deck_size:
        if since != s.season:
            return False
    elif not 0 < since < s.season:
        return False
    for player in range(s.num_players):
        if is_hidden(s, player, place) and not can_be_at(s, player, s.deck[place], since):
            return False
    return True


@jit
def past_is_sound(s):
    """Whether cards were noted at the end of earlier seasons only."""
    for card in range(NUM_CARDS):
        if not 0 <= s.shown[card] < s.season:
            return False
        for player in range(MAX_PLAYERS):
            if not 0 <= s.left_over[player, card] < s.season:
                return False
    return True


@jit
def bonus_cards_are_sound(s):
    """Whether the players' bonus cards are those that the deck's places say."""
    for player in range(MAX_PLAYERS):
        cards = NO_CARDS
        for place in range(NUM_CARDS):
            if s.holder[place] == player:
                cards |= 1 << int(s.deck[place])
        if s.bonus[player] != cards:
            return False
    return True


@jit
def cards_are_whole(s):
    """Whether each card in play is in one collection, the lot, replaced, a bonus card or undrawn,
    and no collection has too many."""
    cards = s.lot | s.replaced
    total = count(s.lot) + count(s.replaced)
    for place in range(MAX_COLLECTIONS):
        size = count(s.collection[place])
        if size > (FULL if place < num_collections(s) else 0):
            return False
        cards |= s.collection[place]
        total += size
    for player in range(MAX_PLAYERS):
        cards |= s.bonus[player]
        total += count(s.bonus[player])
    for place in range(s.drawn, s.deck_size):
        cards |= 1 << int(s.deck[place])
        total += 1
    return cards == cards_in_play(s.num_players) and total == count(cards)


@jit
def phase_is_sound(s):
    """Whether the other fields are as the phase has them."""
    player = int(s.current_player)
    if s.must_take and s.phase != LOT:
        return False
    if (s.phase == LOT) != (s.lot != NO_CARDS) or count(s.lot) > MAX_LOT:
        return False
    if (s.phase == RECEIVE or s.phase == TAKE_OUT) != (s.chosen != NO_CARD):
        return False
    if s.chosen != NO_CARD:
        source = s.bonus[player] if s.phase == TAKE_OUT else s.collection[max(s.taken_into, 0)]
        if source >> int(s.chosen) & 1 == 0:
            return False
    is_power = STEAL <= s.phase <= RECEIVE
    if is_power != (s.taken_into != NO_COLLECTION):
        return False
    if is_power and owner_of(s, s.taken_into) != player:
        return False
    if s.may_give and not is_power:
        return False
    if (s.phase == GIVE or s.phase == RECEIVE) and not s.may_give:
        return False
    if s.phase == OWL_FAMILY and own_cards(s, player) & OWL_ALONE == 0:
        return False
    if s.terminated and (s.season < s.seasons or s.phase < BRING_IN or s.chosen != NO_CARD):
        return False
    if s.phase >= BRING_IN:
        return num_incomplete(s) == 0
    return is_phase_1(s)


@jit
def is_phase_1(s):
    """Whether nothing has been drawn or replaced that is not before phase 2, so that the draw pile
    lasts; and whether the lot can be where it is."""
    if s.replaced != NO_CARDS:
        return False
    for place in range(NUM_CARDS):
        is_kept = place >= s.deck_size and s.deck[place] != NO_CARD
        if is_kept != (s.holder[place] != NOBODY):
            return False
    if s.deck_size < FULL * num_collections(s):
        return False
    if s.phase != LOT:
        return True
    size = count(s.lot)
    room = room_of(s, s.dealer)
    if size > room or room_of(s, s.current_player) == 0:
        return False
    must_take = num_incomplete(s) == 1
    if s.current_player == s.dealer and size in (MAX_LOT, room):
        must_take |= s.must_take  # it came back to him
    return s.must_take == must_take


@jit
def has_choice(s):
    """Whether there are two legal actions or more (AN-10)."""
    legal = legal_actions(s)
    return legal & legal - 1 != 0
