"""Whether a record can be a state of the game: for what comes from outside."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.outcome import common_fields_are_sound
from card_envs.games.franks_zoo.cards import (
    DECK_COUNTS,
    DECK_OF_THREE_COUNTS,
    DECK_SIZE,
    LAY_CARDS,
    MAY_ASK,
    NO_LAY,
    NUM_KINDS,
    NUM_LAYS,
    NUM_SETS,
)
from card_envs.games.franks_zoo.knowledge import gone_since
from card_envs.games.franks_zoo.state import (
    ANSWER,
    EXCHANGE,
    MAX_HAND,
    MAX_PLAYERS,
    MAX_TARGET_SCORE,
    MIN_PLAYERS,
    NO_CARD,
    NOBODY,
    cards_in,
    giver,
    has_pairs,
    is_junior,
    junior_rank,
    ranked,
)

# Bounds of what a saved game may hold: no game comes near them.
MAX_HANDS, MAX_TOTAL = 1_000_000, 20_000_000


@jit
def is_sound(states, i):
    """Whether the record can be a state of the game: no index out of range, every card there.

    What comes from outside, such as a saved game, must pass it before a kernel sees it.
    """
    s = states[i]
    if not common_fields_are_sound(s, MIN_PLAYERS, MAX_PLAYERS):
        return False
    if not (0 < s.target_score <= MAX_TARGET_SCORE and 0 < s.hand_number < MAX_HANDS):
        return False
    if not (EXCHANGE <= s.phase <= ANSWER and NO_CARD <= s.gift < NUM_KINDS):
        return False
    return (
        standings_are_sound(s)
        and partners_are_sound(s)
        and places_are_sound(s)
        and cards_are_whole(s)
        and gifts_are_sound(s)
        and had_what_was_given(s)
        and knowledge_is_sound(s)
        and trick_is_sound(s)
        and phase_is_sound(s)
    )


@jit
def standings_are_sound(s):
    """Whether the totals are bounded, each rank is there once, and the last points can be."""
    ranks = 0
    for player in range(MAX_PLAYERS):
        if player < s.num_players:
            if not 0 <= s.rank[player] < s.num_players:
                return False
            ranks |= 1 << int(s.rank[player])
        if not -MAX_TOTAL <= s.totals[player] <= MAX_TOTAL:
            return False
        if not (0 <= s.last_place[player] <= MAX_PLAYERS and 0 <= s.place_points[player] <= 20):
            return False
        if not (-5 <= s.lion_points[player] <= 5 and -1 <= s.hedgehog_points[player] <= 0):
            return False
    return ranks == (1 << int(s.num_players)) - 1


@jit
def partners_are_sound(s):
    """Whether the pairs are those of the ranking (until the last hand changes it)."""
    paired = 0
    for player in range(MAX_PLAYERS):
        partner = int(s.partner[player])
        if not 0 <= s.is_senior[player] <= (0 if partner == NOBODY else 1):
            return False
        if partner == NOBODY:
            continue
        if not (0 <= partner < s.num_players and partner != player):
            return False
        if player >= s.num_players or s.partner[partner] != player:
            return False
        apart = abs(int(s.rank[player]) - int(s.rank[partner]))
        if not s.terminated and apart != junior_rank(s, 0):
            return False
        if s.is_senior[player] + s.is_senior[partner] != 1:
            return False
        if not s.terminated and (s.is_senior[player] == 1) != (s.rank[player] < s.rank[partner]):
            return False
        paired += 1
    if not has_pairs(s):
        return paired == 0 and s.alone == NOBODY
    if s.num_players % 2 == 0:
        return paired == s.num_players and s.alone == NOBODY
    if paired != s.num_players - 1 or not 0 <= s.alone < s.num_players:
        return False
    return s.partner[s.alone] == NOBODY


@jit
def places_are_sound(s):
    """Whether the places taken are the first ones, by those who hold no cards."""
    places = 0
    taken = 0
    for player in range(MAX_PLAYERS):
        place = int(s.place[player])
        if not 0 <= place <= s.num_players or (player >= s.num_players and place > 0):
            return False
        if place > 0:
            places |= 1 << place - 1
            taken += 1
        if s.terminated:
            if (s.hand_size[player] > 0) and place != s.num_players:
                return False
        elif player < s.num_players:
            holds_cards = s.hand_size[player] > 0 or player == s.asker
            if holds_cards != (place == 0):
                return False
    if places != (1 << taken) - 1:
        return False
    return taken == s.num_players if s.terminated else taken <= s.num_players - 2


@jit
def cards_are_whole(s):
    """Whether the cards are the deck's, and as many in each place as there should be."""
    for kind in range(NUM_KINDS):
        count = int(s.trick[kind])
        if count < 0 or not played_is_sound(s, kind):
            return False
        if s.request != NO_LAY:
            if not 0 <= s.request < NUM_LAYS:
                return False
            count += int(LAY_CARDS[s.request, kind])
        for player in range(MAX_PLAYERS):
            if s.hand[player, kind] < 0 or s.captured[player, kind] < 0:
                return False
            if s.given[player, kind] < 0:
                return False
            count += int(s.hand[player, kind]) + int(s.captured[player, kind])
            if player == s.alone:
                count += int(s.given[player, kind])
        if count != (DECK_OF_THREE_COUNTS[kind] if s.num_players == 3 else DECK_COUNTS[kind]):
            return False
    for player in range(MAX_PLAYERS):
        if cards_in(s.hand, player) != s.hand_size[player] or s.hand_size[player] > MAX_HAND:
            return False
        if player >= s.num_players and (s.hand_size[player] > 0 or cards_in(s.captured, player)):
            return False
    return True


@jit
def played_is_sound(s, kind):
    """Whether the played cards of a kind are those in the trick and captured, and each by somebody
    (or, when the hand is over, laid before one player)."""
    captured = int(s.trick[kind])
    played = 0
    for player in range(MAX_PLAYERS):
        if s.played_by[player, kind] < 0 or (player >= s.num_players and s.played_by[player, kind]):
            return False
        captured += int(s.captured[player, kind])
        played += int(s.played_by[player, kind])
    if s.played[kind] != captured:
        return False
    return played <= captured if s.terminated else played == captured


@jit
def gifts_are_sound(s):
    """Whether those have given two cards (FZ-18) whose turn it was."""
    for player in range(MAX_PLAYERS):
        given = cards_in(s.given, player)
        gives = s.partner[player] != NOBODY or (player == s.alone and not s.terminated)
        if given != 2 and (given != 0 or (gives and s.phase != EXCHANGE)):
            return False
        if given == 2 and not gives:
            return False
    if s.phase != EXCHANGE:
        return s.gift == NO_CARD
    if not has_pairs(s) or s.terminated:
        return False
    has_given = True
    for number in range(s.num_players):
        player = giver(s, number)
        has_given = has_given and player != s.current_player
        if has_given != (cards_in(s.given, player) > 0):
            return False
        if s.hand_size[player] != size_in_exchange(s, player):
            return False
    return s.gift == NO_CARD or s.hand[s.current_player, s.gift] > 0


@jit
def size_in_exchange(s, player):
    """How many cards a player has before the first trick: FZ-3, then FZ-18."""
    places = (player - ranked(s, 0) - 1) % s.num_players  # to the left of the dealer's left
    dealt = DECK_SIZE // s.num_players + (places < DECK_SIZE % s.num_players)
    size = dealt - cards_in(s.given, player)
    if s.partner[player] != NOBODY:
        size += cards_in(s.given, s.partner[player])
    return size


@jit
def had_what_was_given(s):
    """Whether everybody has had the cards that the partner gave."""
    for player in range(s.num_players):
        partner = int(s.partner[player])
        if partner != NOBODY:
            for kind in range(NUM_KINDS):
                had = int(s.hand[partner, kind]) + gone_since(s, partner, kind)
                if s.given[player, kind] > had:
                    return False
    return True


@jit
def knowledge_is_sound(s):
    """Whether what is known of the hands is true."""
    for player in range(MAX_PLAYERS):
        for kind in range(NUM_KINDS):
            if not 0 <= s.known[player, kind] <= s.hand[player, kind]:
                return False
    return True


@jit
def trick_is_sound(s):
    """Whether the last set is in the trick, and a request can have been made."""
    leads = s.last_set == NO_LAY
    if not (leads or 0 <= s.last_set < NUM_SETS):
        return False
    if leads != (s.owner == NOBODY) or not NOBODY <= s.owner < s.num_players:
        return False
    for kind in range(NUM_KINDS):
        if s.trick[kind] < LAY_CARDS[s.last_set, kind] or (leads and s.trick[kind] > 0):
            return False
    for player in range(MAX_PLAYERS):
        if not 0 <= s.has_passed[player] <= (0 if leads else 1):
            return False
    if not NOBODY <= s.asker < s.num_players:
        return False
    return (s.request == NO_LAY) == (s.asker == NOBODY)


@jit
def phase_is_sound(s):
    """Whether the player to move can be the one who decides what the phase says."""
    if (s.phase == ANSWER) != (s.request != NO_LAY):
        return False
    if s.phase == EXCHANGE or s.terminated:
        return s.last_set == NO_LAY and s.phase != ANSWER
    player = int(s.current_player)
    if s.hand_size[player] == 0:
        return False
    if s.phase == ANSWER:
        junior = int(s.asker)
        if s.partner[junior] != player or not is_junior(s, junior):
            return False
        return MAY_ASK[s.last_set, s.request]
    return True
