"""The rules of Beaver Gang, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states`` (``state.py``); nothing is
allocated and nothing is kept outside the record. The cards are in ``cards.py``, what players know
of them in ``knowledge.py``.
"""

from card_envs.contract import (
    allow,
    begin,
    begin_step,
    end_step,
    jit,
    lay_out,
    pay_points,
    seed_stream,
    shuffle,
    to_the_left,
)
from card_envs.games.beaver_gang.actions import ACT, TARGETS
from card_envs.games.beaver_gang.cards import DECK, DRAW_TWO, NO_CARD, PEEK, SWAP
from card_envs.games.beaver_gang.knowledge import determinize as determinize
from card_envs.games.beaver_gang.state import (
    DISCARDED,
    DRAWN,
    EXCHANGED,
    KNOCK,
    NO_TURN,
    OUTER_SLOTS,
    OVER,
    PEEKED,
    SLOTS,
    SWAPPED,
    TOOK,
    TURN,
    may_knock,
    may_take,
    owner_of,
    with_places_swapped,
)

# reward="score" is in units of the highest possible round score, four nines; low scores are good.
SCORE_SCALE = -1.0 / 36.0


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(states, i, seed, num_players, reward_mode, max_steps, rounds):
    """Begin a game. ``rounds`` 0 stands for BG-2's number."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, max_steps)
    s.rounds = rounds if rounds > 0 else (4 if num_players == 2 else num_players)
    s.row[:] = NO_CARD
    s.revealed[:] = NO_CARD
    s.drawn = NO_CARD
    begin_round(s)


@jit
def begin_round(s):
    """BG-5, BG-6: shuffle, deal a row to each player, turn up the first discard.

    Each round has a random stream of its own: the same seed deals the same cards in every round,
    whatever was played before.
    """
    seed_stream(s, s.seed, s["round"])
    s.discard_counts[:] = 0
    s.draw_size = lay_out(DECK, s.draw_pile)
    shuffle(s, s.draw_pile, s.draw_size)
    s.filling = 0
    s.filling_of[:] = 0
    s.last_turn[:] = NO_TURN
    for player in range(s.num_players):
        for slot in range(SLOTS):
            s.row[player, slot] = take_from_draw_pile(s)
        s.known[player] = OUTER_SLOTS << SLOTS * player  # BG-6
        s.in_view[player] = s.known[player]
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
    s.discard_counts[:] = 0
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

    The caller sets who knows the new one.
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
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    out[:] = 0
    if s.terminated or s.truncated:
        return 0
    if s.phase == TURN:
        out[ACT.draw] = 1
        return 1 + (allow(out, ACT.take, SLOTS) if may_take(s) else 0)
    if s.phase == KNOCK:
        return allow(out, ACT.knock, 1) + allow(out, ACT.do_not_knock, 1)
    # BG-10, BG-11: any drawn card may be discarded.
    out[ACT.discard] = 1
    if s.drawn < SWAP:
        return 1 + allow(out, ACT.exchange, SLOTS)
    if s.drawn == SWAP:
        targets = SLOTS * (int(s.num_players) - 1)
        for slot in range(SLOTS):
            allow(out, ACT.swap + TARGETS * slot, targets)
        return 1 + SLOTS * targets
    if s.drawn == PEEK:
        return 1 + allow(out, ACT.peek, SLOTS)
    return 1 + allow(out, ACT.draw_two, 1)


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move."""
    s = states[i]
    begin_step(s)
    s.in_view[s.current_player] = 0  # without memory a view is gone with the next decision
    if s.phase == TURN:
        if action == ACT.draw:
            draw(s)
        else:
            take_discard(s, action - ACT.take)
    elif s.phase == DRAWN:
        use_drawn_card(s, action)
    else:
        if action == ACT.knock:
            s.knocker = s.current_player
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
    if action == ACT.discard:
        discard(s, card)
        s.drawn = NO_CARD
        if s.first_of_pair:  # BG-15: the second card, to be used or discarded as in B
            s.first_of_pair = False
            draw(s)
        else:
            end_turn(s, DISCARDED)
    elif action < ACT.swap:
        slot = action - ACT.exchange
        put_into_row(s, player, slot, card)
        s.known[player] |= 1 << SLOTS * player + slot
        end_turn(s, EXCHANGED + slot)
    elif action < ACT.peek:
        slot = (action - ACT.swap) // TARGETS
        target = (action - ACT.swap) % TARGETS
        other = owner_of(s, player, target)
        other_slot = target % SLOTS
        swap_cards(s, player, slot, other, other_slot)
        discard(s, card)  # BG-12: after the action
        s.swapped_with[player] = other
        s.swapped_slot[player] = other_slot
        end_turn(s, SWAPPED + slot)
    elif action < ACT.draw_two:
        slot = action - ACT.peek
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
    swap_entries(s.row, (player, slot), (other, other_slot))
    swap_entries(s.filling_of, (player, slot), (other, other_slot))
    place = SLOTS * player + slot
    other_place = SLOTS * other + other_slot
    s.is_number = with_places_swapped(s.is_number, place, other_place)
    for knower in range(s.num_players):
        s.known[knower] = with_places_swapped(s.known[knower], place, other_place)
        s.in_view[knower] = with_places_swapped(s.in_view[knower], place, other_place)


@jit
def swap_entries(entries, a, b):
    entries[a], entries[b] = entries[b], entries[a]


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
