"""The rules of Beaver Gang, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states``; nothing is allocated and nothing
is kept outside the record. A card is a small integer, its *kind*: 0 to 9 are the numbers, then
``SWAP``, ``PEEK`` and ``DRAW_TWO``.
"""

from __future__ import annotations

import numpy as np

from card_envs.engine.cards import lay_out, shuffle
from card_envs.engine.jit import jit
from card_envs.engine.outcome import (
    begin,
    begin_step,
    common_fields_are_sound,
    common_state_fields,
    end_step,
    pay_points,
)
from card_envs.engine.rng import draw_below, mix, seed_stream
from card_envs.engine.seats import to_the_left

# BG-1: the cards. A kind below SWAP is a number, its value is the kind itself.
NUM_KINDS = 13
SWAP, PEEK, DRAW_TWO = 10, 11, 12
NO_CARD = -1
DECK = (4, 4, 4, 4, 4, 4, 4, 4, 4, 9, 9, 7, 5)  # how many of each kind
DECK_SIZE = 66
NEW_DECK = np.repeat(np.arange(NUM_KINDS), DECK).astype(np.int8)
KIND_NAMES = (*map(str, range(10)), "swap", "peek", "draw two")

MIN_PLAYERS, MAX_PLAYERS = 2, 6
SLOTS = 4
OUTER_SLOTS = 0b1001  # BG-6, as a set of slots: slot k is bit 1 << k

# What the player to move decides.
TURN, DRAWN, KNOCK, OVER = 0, 1, 2, 3
PHASE_NAMES = ("turn", "drawn", "knock", "over")

# The actions (97). SWAP_CARD + 20 * own slot + 4 * (places to the left - 1) + their slot.
TAKE = 0
DRAW = 4
DISCARD = 5
EXCHANGE = 6
SWAP_CARD = 10
PEEK_AT = 90
CARRY_OUT_DRAW_TWO = 94
KNOCK_NOW = 95
DO_NOT_KNOCK = 96
NUM_ACTIONS = 97

# What a player's last turn in this round did (``last_turn``): one of these, plus the slot of his
# that it was done to. A swap also has the other card's owner and slot.
NO_TURN, TOOK, EXCHANGED, SWAPPED, PEEKED, DISCARDED = 0, 1, 5, 9, 13, 17
NUM_TURN_KINDS = 18

# reward="score" is in parts of the greatest round score, four nines; low scores are good.
SCORE_SCALE = -1.0 / 36.0

STATE = np.dtype(
    [
        *common_state_fields(MAX_PLAYERS),
        ("rounds", np.int32),  # how many rounds the game has (BG-2)
        ("round", np.int32),  # the present one, from 0; s.round is a method of plain records
        ("scores", np.int32, (MAX_PLAYERS,)),  # totals of the rounds played
        ("round_scores", np.int32, (MAX_PLAYERS,)),  # of the last round played
        ("revealed", np.int8, (MAX_PLAYERS, SLOTS)),  # its rows as they were counted
        ("phase", np.int8),
        # The table. The draw pile's top is draw_pile[draw_size - 1].
        ("row", np.int8, (MAX_PLAYERS, SLOTS)),
        ("draw_pile", np.int8, (DECK_SIZE,)),
        ("draw_size", np.int8),
        ("discard_top", np.int8),  # NO_CARD: there is no discard pile
        ("discard_size", np.int8),
        ("discard_counts", np.int8, (NUM_KINDS,)),
        ("drawn", np.int8),  # the card that the player to move holds, or NO_CARD
        ("draw_twos", np.int8),  # draw-two cards under way, not yet on the discard pile
        ("first_of_pair", np.bool_),  # the drawn card may be discarded for a second one
        # The round's course.
        ("turns", np.int32),  # finished in this round
        ("knocker", np.int8),  # -1: nobody has knocked
        ("last_turn", np.int8, (MAX_PLAYERS,)),  # NO_TURN: none in this round yet
        ("swapped_with", np.int8, (MAX_PLAYERS,)),  # where last_turn is a swap
        ("swapped_slot", np.int8, (MAX_PLAYERS,)),
        # What is known of the rows: sets of places, where place 4 * player + slot is bit
        # 1 << place. All of it moves with the card.
        ("known", np.int32, (MAX_PLAYERS,)),  # by each player: the cards that he knows
        ("in_view", np.int32, (MAX_PLAYERS,)),  # those of them that memory="none" still shows
        ("is_number", np.int32),  # by everybody: surely a number, as it was exchanged or taken
        # From which filling of the draw pile a card came: the dealt ones from filling 0, and each
        # reshuffle (BG-17) is the next. Everybody knows what cards a filling consists of.
        ("filling", np.int16),
        ("filling_of", np.int16, (MAX_PLAYERS, SLOTS)),
    ],
    align=True,
)


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(states, i, seed, num_players, reward_mode, memory, max_steps, rounds):
    """Begin a game. ``rounds`` 0 stands for BG-2's number."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, memory, max_steps)
    s.rounds = rounds if rounds > 0 else (4 if num_players == 2 else num_players)
    s["round"] = 0
    for player in range(MAX_PLAYERS):
        s.scores[player] = 0
        s.round_scores[player] = 0
        for slot in range(SLOTS):
            s.row[player, slot] = NO_CARD
            s.revealed[player, slot] = NO_CARD
            s.filling_of[player, slot] = 0
        s.known[player] = 0
        s.in_view[player] = 0
        s.last_turn[player] = NO_TURN
        s.swapped_with[player] = 0
        s.swapped_slot[player] = 0
    for place in range(DECK_SIZE):
        s.draw_pile[place] = 0
    begin_round(s)


@jit
def begin_round(s):
    """BG-5, BG-6: shuffle, deal a row to each player, turn up the first discard.

    Each round has a random stream of its own: the same seed deals the same cards in every round,
    whatever was played before.
    """
    seed_stream(s, s.seed, s["round"])
    for kind in range(NUM_KINDS):
        s.discard_counts[kind] = 0
    s.draw_pile[:] = NEW_DECK
    s.draw_size = DECK_SIZE
    shuffle(s, s.draw_pile, s.draw_size)
    s.filling = 0
    for player in range(s.num_players):
        for slot in range(SLOTS):
            s.row[player, slot] = take_from_draw_pile(s)
            s.filling_of[player, slot] = 0
        s.known[player] = OUTER_SLOTS << SLOTS * player  # BG-6
        s.in_view[player] = s.known[player]
        s.last_turn[player] = NO_TURN
    s.is_number = 0
    s.turns = 0
    s.discard_size = 0
    discard(s, take_from_draw_pile(s))
    s.knocker = -1
    begin_turn(s, s["round"] % s.num_players)  # BG-4


@jit
def begin_turn(s, player):
    s.current_player = player
    s.phase = TURN
    s.drawn = NO_CARD
    s.draw_twos = 0
    s.first_of_pair = False


# ---------------------------------------------------------------------------------------------
# The piles
# ---------------------------------------------------------------------------------------------


@jit
def take_from_draw_pile(s):
    """Take the top card; an empty pile is refilled first (BG-17)."""
    if s.draw_size == 0:
        reshuffle(s)
    s.draw_size -= 1
    return s.draw_pile[s.draw_size]


@jit
def reshuffle(s):
    """BG-17: the whole discard pile becomes the draw pile."""
    s.draw_size = lay_out(s.discard_counts, s.draw_pile)
    for kind in range(NUM_KINDS):
        s.discard_counts[kind] = 0
    s.discard_size = 0
    s.discard_top = NO_CARD
    shuffle(s, s.draw_pile, s.draw_size)
    s.filling += 1


@jit
def discard(s, card):
    """Put a card face up on the discard pile. It has no effect, special or not (BG-11)."""
    s.discard_top = card
    s.discard_size += 1
    s.discard_counts[card] += 1


@jit
def put_into_row(s, player, slot, card):
    """Fill a slot with a number that comes from the table; the old card is discarded.

    Who knows the new one is for the caller to say.
    """
    place = 1 << SLOTS * player + slot
    discard(s, s.row[player, slot])
    s.row[player, slot] = card
    s.filling_of[player, slot] = s.filling
    s.is_number |= place
    for knower in range(s.num_players):
        s.known[knower] &= ~place
        s.in_view[knower] &= ~place


# ---------------------------------------------------------------------------------------------
# A turn
# ---------------------------------------------------------------------------------------------


@jit
def may_take(s):
    """BG-9: there is a discard pile, and its top is a number."""
    return s.discard_top != NO_CARD and s.discard_top < SWAP


@jit
def may_knock(s):
    """BG-18, BG-19: everybody has had a turn and nobody has knocked. Turns go round in order."""
    return s.knocker < 0 and s.turns >= s.num_players


@jit
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    out[:] = 0
    if s.terminated or s.truncated:
        return 0
    if s.phase == TURN:
        out[DRAW] = 1
        if not may_take(s):
            return 1
        for slot in range(SLOTS):
            out[TAKE + slot] = 1
        return 1 + SLOTS
    if s.phase == KNOCK:
        out[KNOCK_NOW] = 1
        out[DO_NOT_KNOCK] = 1
        return 2
    # BG-10, BG-11: any drawn card may be discarded.
    out[DISCARD] = 1
    if s.drawn < SWAP:
        for slot in range(SLOTS):
            out[EXCHANGE + slot] = 1
        return 1 + SLOTS
    if s.drawn == SWAP:
        targets = SLOTS * (int(s.num_players) - 1)
        for slot in range(SLOTS):
            first = SWAP_CARD + 20 * slot
            for target in range(targets):
                out[first + target] = 1
        return 1 + SLOTS * targets
    if s.drawn == PEEK:
        for slot in range(SLOTS):
            out[PEEK_AT + slot] = 1
        return 1 + SLOTS
    out[CARRY_OUT_DRAW_TWO] = 1
    return 2


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move."""
    s = states[i]
    begin_step(s)
    s.in_view[s.current_player] = 0  # without memory a view is gone with the next decision
    if s.phase == TURN:
        if action == DRAW:
            draw(s)
        else:
            take_discard(s, action - TAKE)
    elif s.phase == DRAWN:
        use_drawn_card(s, action)
    elif action == KNOCK_NOW:
        s.knocker = s.current_player
        next_turn(s)
    else:
        next_turn(s)
    end_step(s)


@jit
def take_discard(s, slot):
    """BG-8: everybody knows which card now lies in the slot."""
    player = int(s.current_player)
    card = s.discard_top
    s.discard_size -= 1
    s.discard_counts[card] -= 1
    put_into_row(s, player, slot, card)
    for knower in range(s.num_players):
        s.known[knower] |= 1 << SLOTS * player + slot
    end_turn(s, TOOK + slot)


@jit
def draw(s):
    """BG-10: draw the top card and look at it."""
    s.drawn = take_from_draw_pile(s)
    s.phase = DRAWN


@jit
def use_drawn_card(s, action):
    """BG-10 to BG-15: what may be done with the drawn card."""
    player = int(s.current_player)
    card = s.drawn
    if action == DISCARD:
        discard(s, card)
        s.drawn = NO_CARD
        if s.first_of_pair:  # BG-15: another one is drawn, which must be used
            s.first_of_pair = False
            draw(s)
        else:
            end_turn(s, DISCARDED)
    elif action < SWAP_CARD:
        slot = action - EXCHANGE
        put_into_row(s, player, slot, card)
        s.known[player] |= 1 << SLOTS * player + slot
        end_turn(s, EXCHANGED + slot)
    elif action < PEEK_AT:
        slot = (action - SWAP_CARD) // 20
        other = (player + 1 + (action - SWAP_CARD) % 20 // 4) % s.num_players
        other_slot = (action - SWAP_CARD) % 4
        swap_cards(s, player, slot, other, other_slot)
        discard(s, card)  # BG-12: after the action
        s.swapped_with[player] = other
        s.swapped_slot[player] = other_slot
        end_turn(s, SWAPPED + slot)
    elif action < CARRY_OUT_DRAW_TWO:
        slot = action - PEEK_AT
        s.known[player] |= 1 << SLOTS * player + slot  # BG-14
        s.in_view[player] |= 1 << SLOTS * player + slot
        discard(s, card)
        end_turn(s, PEEKED + slot)
    else:  # BG-15, BG-16: a new pair; the draw two is discarded when the turn is over
        s.draw_twos += 1
        s.first_of_pair = True
        draw(s)


@jit
def swap_cards(s, player, slot, other, other_slot):
    """BG-13: two cards change places unseen; what anybody knows of them goes with them."""
    card = s.row[player, slot]
    s.row[player, slot] = s.row[other, other_slot]
    s.row[other, other_slot] = card
    filling = s.filling_of[player, slot]
    s.filling_of[player, slot] = s.filling_of[other, other_slot]
    s.filling_of[other, other_slot] = filling
    place = SLOTS * player + slot
    other_place = SLOTS * other + other_slot
    s.is_number = with_places_swapped(s.is_number, place, other_place)
    for knower in range(s.num_players):
        s.known[knower] = with_places_swapped(s.known[knower], place, other_place)
        s.in_view[knower] = with_places_swapped(s.in_view[knower], place, other_place)


@jit
def with_places_swapped(places, place, other):
    """The set of places with two of them exchanged."""
    differ = (places >> place ^ places >> other) & 1
    return places ^ (differ << place | differ << other)


@jit
def end_turn(s, what):
    """The action is over: discard the draw-twos under way (BG-12), then knocking or the next."""
    player = s.current_player
    for _ in range(s.draw_twos):
        discard(s, DRAW_TWO)
    s.drawn = NO_CARD
    s.draw_twos = 0
    s.first_of_pair = False
    s.last_turn[player] = what
    s.turns += 1
    if may_knock(s):
        s.phase = KNOCK
    else:
        next_turn(s)


@jit
def next_turn(s):
    """BG-19: on to the left; the round ends when it comes to the player who knocked."""
    player = to_the_left(s, s.current_player)
    if player == s.knocker:
        end_round(s)
    else:
        begin_turn(s, player)


# ---------------------------------------------------------------------------------------------
# The end of a round and of the game
# ---------------------------------------------------------------------------------------------


@jit
def end_round(s):
    """BG-20, BG-21: reveal, replace the specials, count; then the next round or the end."""
    n = int(s.num_players)
    for place in range(n):
        player = (s.knocker + place) % n
        score = 0
        for slot in range(SLOTS):
            while s.row[player, slot] >= SWAP:
                s.row[player, slot] = take_from_draw_pile(s)
            s.revealed[player, slot] = s.row[player, slot]
            score += s.row[player, slot]
        s.round_scores[player] = score
        s.scores[player] += score
        s.standing[player] = -s.scores[player]  # BG-3: the lower the total the better
    pay_points(s, s.round_scores, SCORE_SCALE, (1 << n) - 1)
    s["round"] += 1
    if s["round"] < s.rounds:
        begin_round(s)
    else:
        for player in range(n):
            s.known[player] = (1 << SLOTS * n) - 1
            s.in_view[player] = s.known[player]
        s.phase = OVER
        s.terminated = True


# ---------------------------------------------------------------------------------------------
# Who knows what
# ---------------------------------------------------------------------------------------------

# Where a card that somebody does not know can be: the 24 slots, then the drawn card, then the
# draw pile from its bottom.
DRAWN_PLACE = MAX_PLAYERS * SLOTS
PILE_PLACE = DRAWN_PLACE + 1


@jit
def drawn_card_is_hidden(s, player):
    return s.drawn != NO_CARD and s.current_player != player


@jit
def slot_is_hidden(s, player, owner, slot):
    return s.known[player] >> SLOTS * owner + slot & 1 == 0


@jit
def is_hidden_place(s, player, place, filling):
    """Whether a card of that filling lies there of which the player knows no more than that."""
    if place >= PILE_PLACE:
        return filling == s.filling and place < PILE_PLACE + s.draw_size
    if place == DRAWN_PLACE:
        return filling == s.filling and drawn_card_is_hidden(s, player)
    owner, slot = place // SLOTS, place % SLOTS
    return (
        owner < s.num_players
        and slot_is_hidden(s, player, owner, slot)
        and s.filling_of[owner, slot] == filling
    )


@jit
def is_number_place(s, place):
    """Whether everybody knows that the card there is a number."""
    return place < DRAWN_PLACE and s.is_number >> place & 1 == 1


@jit
def card_at(s, place):
    if place >= PILE_PLACE:
        return s.draw_pile[place - PILE_PLACE]
    if place == DRAWN_PLACE:
        return s.drawn
    return s.row[place // SLOTS, place % SLOTS]


@jit
def put_at(s, place, card):
    if place >= PILE_PLACE:
        s.draw_pile[place - PILE_PLACE] = card
    elif place == DRAWN_PLACE:
        s.drawn = card
    else:
        s.row[place // SLOTS, place % SLOTS] = card


@jit
def redraw_place(s, player, place, filling, numbers_only):
    """Exchange the card with a random one among those places whose turn is still to come.

    First come the places that are known to hold a number, then the others, each in order; so
    every assignment that the player holds possible is equally likely.
    """
    end = PILE_PLACE + s.draw_size
    candidates = 0
    for other in range(end):
        if is_candidate(s, player, place, other, filling, numbers_only):
            candidates += 1
    chosen = draw_below(s, candidates)
    for other in range(end):
        if is_candidate(s, player, place, other, filling, numbers_only):
            if chosen == 0:
                card = card_at(s, place)
                put_at(s, place, card_at(s, other))
                put_at(s, other, card)
                return
            chosen -= 1


@jit
def is_candidate(s, player, place, other, filling, numbers_only):
    if not is_hidden_place(s, player, other, filling):
        return False
    if numbers_only:
        if card_at(s, other) >= SWAP:
            return False
        return other >= place or not is_number_place(s, other)
    return other >= place and not is_number_place(s, other)


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: slots, the drawn card, the draw pile, the stream.

    What he knows of a card that he has not seen: which filling of the draw pile it came from, and
    that a card exchanged from the draw pile is a number (BG-10).
    """
    s = states[i]
    s.seed = mix(seed)
    seed_stream(s, s.seed, 0)
    for filling in range(s.filling + 1):
        for place in range(DRAWN_PLACE):
            if is_hidden_place(s, player, place, filling) and is_number_place(s, place):
                redraw_place(s, player, place, filling, True)
        for place in range(PILE_PLACE):
            if is_hidden_place(s, player, place, filling) and not is_number_place(s, place):
                redraw_place(s, player, place, filling, False)
    shuffle(s, s.draw_pile, s.draw_size)


@jit
def is_sound(states, i):
    """Whether the record can be a state of the game: no index out of range, every card there.

    What comes from outside, such as a saved game, must pass it before a kernel sees it.
    """
    s = states[i]
    n = int(s.num_players)
    if not common_fields_are_sound(s, MIN_PLAYERS, MAX_PLAYERS):
        return False
    if not (0 <= s.phase <= OVER and -1 <= s.knocker < n and 0 <= s.draw_twos <= DECK[DRAW_TWO]):
        return False
    if not (s.rounds > 0 and 0 <= s["round"] <= s.rounds and s.turns >= 0 and s.filling >= 0):
        return False
    if (s.phase == OVER) != s.terminated or (s.phase == DRAWN) != (s.drawn != NO_CARD):
        return False
    places = 1 << SLOTS * n
    if not (0 <= s.is_number < places and 0 <= s.draw_size <= DECK_SIZE):
        return False
    if not (NO_CARD <= s.drawn < NUM_KINDS and NO_CARD <= s.discard_top < NUM_KINDS):
        return False
    for player in range(n):
        if not (0 <= s.known[player] < places and 0 <= s.in_view[player] < places):
            return False
        if not (0 <= s.last_turn[player] < NUM_TURN_KINDS and 0 <= s.swapped_with[player] < n):
            return False
        if not 0 <= s.swapped_slot[player] < SLOTS:
            return False
        for slot in range(SLOTS):
            if not 0 <= s.filling_of[player, slot] <= s.filling:
                return False
    return cards_are_whole(s)


@jit
def cards_are_whole(s):
    """Whether the cards on the table are the deck's (after BG-20 some have been set aside)."""
    total = 0
    for kind in range(NUM_KINDS):
        count = count_cards(s, kind)
        total += count
        if count < 0 or count > DECK[kind] or (count < DECK[kind] and s.phase != OVER):
            return False
        if s.discard_counts[kind] < 0:
            return False
    discarded = 0
    for kind in range(NUM_KINDS):
        discarded += int(s.discard_counts[kind])
    if discarded != s.discard_size or (s.discard_top == NO_CARD) != (discarded == 0):
        return False
    if s.discard_top != NO_CARD and s.discard_counts[s.discard_top] == 0:
        return False
    in_play = SLOTS * int(s.num_players) + int(s.draw_size) + discarded + int(s.draw_twos)
    if s.drawn != NO_CARD:
        in_play += 1
    return total == in_play  # nothing of an unknown kind


@jit
def count_cards(s, kind):
    """How many cards of a kind there are in rows, piles, hand and under way."""
    count = int(s.discard_counts[kind])
    if kind == DRAW_TWO:
        count += int(s.draw_twos)
    if s.drawn == kind:
        count += 1
    for place in range(s.draw_size):
        if s.draw_pile[place] == kind:
            count += 1
    for player in range(s.num_players):
        for slot in range(SLOTS):
            if s.row[player, slot] == kind:
                count += 1
    return count
