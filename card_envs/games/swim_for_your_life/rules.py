"""The rules of Swim for Your Life, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states``; nothing is allocated and nothing
is kept outside the record. Cards of one animal are all alike, so hands, rows and what is left over
are counts of each animal.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from card_envs.engine.cards import draw_card
from card_envs.engine.jit import jit
from card_envs.engine.outcome import (
    begin,
    begin_step,
    common_fields_are_sound,
    common_state_fields,
    end_step,
    pay_points,
)
from card_envs.engine.rng import mix, seed_stream
from card_envs.engine.seats import to_the_left

# SW-1: the animals, how many cards there are of each, and what a majority of them scores.
ANIMAL_NAMES = ("giraffe", "bear", "mole", "goat", "sheep", "dog", "hare", "pig", "cat", "mouse")
NUM_ANIMALS = 10
DECK = (9, 8, 7, 7, 6, 6, 5, 5, 4, 3)
VALUES = (9, 8, 7, 7, 6, 6, 5, 5, 4, 3)
DECK_SIZE = 60
DECK_COUNTS = np.array(DECK, np.int8)

# SW-9, SW-14: the animals of sudden death are HARE, PIG and CAT; for experts not the cat.
HARE, PIG, CAT = 6, 7, 8
NUM_SETS = 3

MIN_PLAYERS, MAX_PLAYERS = 2, 5
HAND_SIZE = 10
NUM_ROWS = 4  # row k, counted from 0, has k + 1 cards
START_LIVES = 5
MAX_LIVES = 10

# The actions (1001): the multisets of one animal for row 0, of two for row 1, ..., then the tap.
_MULTISETS = [
    animals
    for cards in range(1, NUM_ROWS + 1)
    for animals in combinations_with_replacement(range(NUM_ANIMALS), cards)
]
TAP = len(_MULTISETS)
NUM_ACTIONS = TAP + 1
NO_ACTION = -1
FIRST_ACTION = (0, 10, 65, 285, TAP)  # of each row; then the tap

#: int8 (1000, 10): how many cards of each animal an action lays down.
LAID_DOWN = np.array([np.bincount(animals, minlength=NUM_ANIMALS) for animals in _MULTISETS])
LAID_DOWN = LAID_DOWN.astype(np.int8)
#: int8 (1000,): the row that it takes.
ROW_OF = np.array([len(animals) - 1 for animals in _MULTISETS], np.int8)

# Counts of all animals packed into one integer, five bits each. With the highest of the five set
# in the hand, the subtraction ``hand - laid down`` leaves it set exactly where there is enough.
PACKED = (LAID_DOWN.astype(np.int64) << 5 * np.arange(NUM_ANIMALS)).sum(axis=1)
ENOUGH = sum(1 << 5 * animal + 4 for animal in range(NUM_ANIMALS))

# The field ``standing``: who is still in the game is ahead of everybody who is out of it.
IN_GAME = 1_000_000

# reward="score" is in parts of the most that can be lost in a round, two lives.
SCORE_SCALE = 0.5

STATE = np.dtype(
    [
        *common_state_fields(MAX_PLAYERS),
        ("expert", np.bool_),  # the variant SW-14
        ("round", np.int32),  # from 0; s.round is a method of plain records
        ("lives", np.int8, (MAX_PLAYERS,)),  # 0: out of the game
        # The table.
        ("hand", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),
        ("row", np.int8, (NUM_ROWS, NUM_ANIMALS)),
        ("left_over", np.int8, (NUM_ANIMALS,)),
        # The round's course.
        ("starter", np.int8),
        ("tapper", np.int8),  # the first to tap; -1: nobody has
        ("has_exchanged", np.int8, (MAX_PLAYERS,)),  # 0 or 1
        ("turns", np.int32),  # finished in this round
        ("last_action", np.int16, (MAX_PLAYERS,)),  # NO_ACTION: none in this round yet
        ("last_taken", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),  # the row that it took
        # What everybody knows of each hand: it holds at least, and at most, so many.
        ("least", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),
        ("most", np.int8, (MAX_PLAYERS, NUM_SETS)),  # from HARE on
        # How the last round ended.
        ("sudden_death", np.int8),  # the player whose set ended it; -1: it was counted
        ("was_in_round", np.int8, (MAX_PLAYERS,)),  # 0 or 1
        ("revealed", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),  # hands that were shown
        ("totals", np.int32, (MAX_PLAYERS,)),
        ("lives_lost", np.int32, (MAX_PLAYERS,)),  # negative: gained (SW-14)
    ],
    align=True,
)


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(states, i, seed, num_players, reward_mode, memory, max_steps, expert):
    """Begin a game: SW-2, SW-3."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, memory, max_steps)
    s.expert = expert != 0
    s["round"] = 0
    s.sudden_death = -1
    for player in range(MAX_PLAYERS):
        s.lives[player] = START_LIVES if player < num_players else 0
        s.standing[player] = IN_GAME + int(s.lives[player])
        s.was_in_round[player] = 0
        s.totals[player] = 0
        s.lives_lost[player] = 0
        clear(s.revealed, player)
        begin_hand(s, player)
    s.starter = 0
    begin_round(s)


@jit
def begin_round(s):
    """SW-4: shuffle, deal to each player in the game, lay out the rows.

    Each round has a random stream of its own: what a seed deals does not depend on how the cards
    were played before.
    """
    seed_stream(s, s.seed, s["round"])
    for animal in range(NUM_ANIMALS):
        s.left_over[animal] = DECK_COUNTS[animal]
    size = DECK_SIZE
    for player in range(s.num_players):
        begin_hand(s, player)
        if s.lives[player] > 0:
            for _ in range(HAND_SIZE):
                s.hand[player, draw_card(s, s.left_over, size)] += 1
                size -= 1
    for row in range(NUM_ROWS):
        clear(s.row, row)
        for _ in range(row + 1):
            s.row[row, draw_card(s, s.left_over, size)] += 1
            size -= 1
    s.tapper = -1
    s.turns = 0
    s.current_player = s.starter


@jit
def begin_hand(s, player):
    """An empty hand of which nothing is known."""
    clear(s.hand, player)
    clear(s.least, player)
    clear(s.last_taken, player)
    for k in range(NUM_SETS):
        s.most[player, k] = DECK_COUNTS[HARE + k] if s.lives[player] > 0 else 0
    s.has_exchanged[player] = 0
    s.last_action[player] = NO_ACTION


@jit
def clear(counts, place):
    for animal in range(NUM_ANIMALS):
        counts[place, animal] = 0


# ---------------------------------------------------------------------------------------------
# A turn
# ---------------------------------------------------------------------------------------------


@jit
def packed(counts, place):
    """The counts ``counts[place]`` of all animals in one integer, as in ``PACKED``."""
    total = 0
    for animal in range(NUM_ANIMALS):
        total |= int(counts[place, animal]) << 5 * animal
    return total


@jit
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    out[:] = 0
    if s.terminated or s.truncated:
        return 0
    player = s.current_player
    hand = packed(s.hand, player) | ENOUGH
    count = 0
    for row in range(NUM_ROWS):
        present = packed(s.row, row)
        for action in range(FIRST_ACTION[row], FIRST_ACTION[row + 1]):
            # SW-5: from the hand; SW-6: something else than what lies there.
            legal = ((hand - PACKED[action]) & ENOUGH == ENOUGH) & (PACKED[action] != present)
            out[action] = legal
            count += legal
    out[TAP] = s.has_exchanged[player]  # SW-7
    return count + int(s.has_exchanged[player])


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move."""
    s = states[i]
    begin_step(s)
    player = int(s.current_player)
    s.last_action[player] = action
    s.turns += 1
    if action == TAP:
        tap(s, player)
    else:
        exchange(s, player, action)
    if action != TAP and holds_a_set(s, player):
        end_by_sudden_death(s, player)
    else:
        next_turn(s, player)
    end_step(s)


@jit
def exchange(s, player, action):
    """SW-5: lay down cards, take the row, and leave what was laid down as the new row.

    What everybody knows of the hand follows: the cards laid down are gone from it, the row's cards
    are in it, and if the round goes on it holds no set of sudden death.
    """
    row = ROW_OF[action]
    for animal in range(NUM_ANIMALS):
        laid_down = LAID_DOWN[action, animal]
        taken = s.row[row, animal]
        s.hand[player, animal] += taken - laid_down
        s.row[row, animal] = laid_down
        s.least[player, animal] = max(0, s.least[player, animal] - laid_down) + taken
        s.last_taken[player, animal] = taken
    for k in range(NUM_SETS):
        animal = HARE + k
        most = s.most[player, k] - LAID_DOWN[action, animal] + s.last_taken[player, animal]
        s.most[player, k] = min(most, DECK_COUNTS[animal] - is_set(s, animal))
    s.has_exchanged[player] = 1


@jit
def tap(s, player):
    """SW-7: announce the last lap; SW-8: for who taps in the last lap it means to do nothing."""
    if s.tapper < 0:
        s.tapper = player
    clear(s.last_taken, player)


@jit
def next_turn(s, player):
    """SW-8: on to the left, past those who are out; back at who tapped the round is over."""
    player = next_in_game(s, player)
    if player == s.tapper:
        count_round(s)
    else:
        s.current_player = player


@jit
def next_in_game(s, player):
    """The next seat to the left whose player is still in the game."""
    player = to_the_left(s, player)
    while s.lives[player] == 0:
        player = to_the_left(s, player)
    return player


@jit
def is_set(s, animal):
    """SW-9, SW-14: whether all cards of the animal mean sudden death."""
    return animal >= HARE and animal <= (PIG if s.expert else CAT)


@jit
def holds_a_set(s, player):
    """SW-9: looked at after an exchange, and only then (SW-10)."""
    for animal in range(HARE, HARE + NUM_SETS):
        if is_set(s, animal) and s.hand[player, animal] == DECK_COUNTS[animal]:
            return True
    return False


# ---------------------------------------------------------------------------------------------
# The end of a round and of the game
# ---------------------------------------------------------------------------------------------


@jit
def end_by_sudden_death(s, player):
    """SW-9: everybody else loses a life; SW-14: for experts the player gains one."""
    s.sudden_death = player
    for q in range(s.num_players):
        s.totals[q] = 0
        s.lives_lost[q] = 1
        clear(s.revealed, q)
    s.lives_lost[player] = -1 if s.expert else 0
    reveal(s, player)
    end_round(s)


@jit
def count_round(s):
    """SW-11 to SW-13: majorities, totals, and what they cost."""
    s.sudden_death = -1
    best, worst = -1, DECK_SIZE + 1
    for player in range(s.num_players):
        s.totals[player] = total_of(s, player)
        reveal(s, player)
        if s.lives[player] > 0:
            best = max(best, s.totals[player])
            worst = min(worst, s.totals[player])
    for player in range(s.num_players):
        if s.totals[player] == best:  # first, so that nobody loses any if all are level
            s.lives_lost[player] = 0
        elif s.totals[player] == worst:
            s.lives_lost[player] = 2
        else:
            s.lives_lost[player] = 1
    end_round(s)


@jit
def total_of(s, player):
    """SW-11: the values of the animals of which nobody else has as many.

    SW-12: with two players left a majority takes two cards. Who is out has an empty hand.
    """
    total = 0
    least = 2 if players_left(s) == 2 else 1
    for animal in range(NUM_ANIMALS):
        others = least - 1
        for q in range(s.num_players):
            if q != player:
                others = max(others, s.hand[q, animal])
        if s.hand[player, animal] > others:
            total += VALUES[animal]
    return total


@jit
def players_left(s):
    """How many are still in the game."""
    count = 0
    for player in range(s.num_players):
        count += s.lives[player] > 0
    return count


@jit
def reveal(s, player):
    """Show a hand to everybody."""
    for animal in range(NUM_ANIMALS):
        s.revealed[player, animal] = s.hand[player, animal]
        s.least[player, animal] = s.hand[player, animal]
    for k in range(NUM_SETS):
        s.most[player, k] = s.hand[player, HARE + k]


@jit
def end_round(s):
    """SW-2: take the lives lost, not below 0; then the next round (SW-3), or the end."""
    in_round = 0
    left = 0
    for player in range(s.num_players):
        s.was_in_round[player] = s.lives[player] > 0
        if s.was_in_round[player] == 1:
            in_round |= 1 << player
            s.lives_lost[player] = min(s.lives_lost[player], s.lives[player])
            s.lives[player] -= s.lives_lost[player]
            s.standing[player] = IN_GAME + int(s.lives[player])
            if s.lives[player] == 0:
                s.standing[player] = s["round"]  # later is better, the same round is level
            else:
                left += 1
        else:
            s.lives_lost[player] = 0
    pay_points(s, s.lives_lost, -SCORE_SCALE, in_round)
    s["round"] += 1
    if left > 1:
        s.starter = next_in_game(s, s.starter)
        begin_round(s)
    else:
        s.terminated = True


# ---------------------------------------------------------------------------------------------
# Who knows what
# ---------------------------------------------------------------------------------------------


@jit
def unknown_cards(s, player):
    """How many cards of a hand are not known to everybody."""
    count = 0
    for animal in range(NUM_ANIMALS):
        count += s.hand[player, animal] - s.least[player, animal]
    return count


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: the others' hands, what is left over, the stream.

    The cards that he has not located are dealt to the hidden places anew, over and over until
    nobody holds more of an animal than is possible: so every arrangement that agrees with ``least``
    and ``most`` is as likely as the next.
    """
    s = states[i]
    s.seed = mix(seed)
    seed_stream(s, s.seed, 0)
    while True:
        deal_hidden_cards(s, player)
        if hands_are_possible(s, player):
            return


@jit
def deal_hidden_cards(s, player):
    """Put the others' unknown cards to those left over, then deal as many to each again."""
    for q in range(s.num_players):
        if q != player:
            for animal in range(NUM_ANIMALS):
                s.left_over[animal] += s.hand[q, animal] - s.least[q, animal]
    hidden = 0
    for animal in range(NUM_ANIMALS):
        hidden += s.left_over[animal]
    for q in range(s.num_players):
        if q != player:
            unknown = unknown_cards(s, q)
            for animal in range(NUM_ANIMALS):
                s.hand[q, animal] = s.least[q, animal]
            for _ in range(unknown):
                s.hand[q, draw_card(s, s.left_over, hidden)] += 1
                hidden -= 1


@jit
def hands_are_possible(s, player):
    """Whether no other hand has more of an animal of sudden death than it can have."""
    for q in range(s.num_players):
        if q != player:
            for k in range(NUM_SETS):
                if s.hand[q, HARE + k] > s.most[q, k]:
                    return False
    return True


@jit
def is_sound(states, i):
    """Whether the record can be a state of the game: no index out of range, every card there.

    What comes from outside, such as a saved game, must pass it before a kernel sees it.
    """
    s = states[i]
    n = int(s.num_players)
    if not common_fields_are_sound(s, MIN_PLAYERS, MAX_PLAYERS):
        return False
    if not (0 <= s.starter < n and -1 <= s.tapper < n and -1 <= s.sudden_death < n):
        return False
    if not (0 <= s["round"] < IN_GAME and s.turns >= 0):
        return False
    for player in range(MAX_PLAYERS):
        if not 0 <= s.lives[player] <= MAX_LIVES or (player >= n and s.lives[player] > 0):
            return False
        if not NO_ACTION <= s.last_action[player] <= TAP:
            return False
        if not (0 <= s.has_exchanged[player] <= 1 and -1 <= s.lives_lost[player] <= 2):
            return False
    if (players_left(s) == 1) != s.terminated:
        return False
    if not s.terminated and (s.lives[s.current_player] == 0 or s.lives[s.starter] == 0):
        return False
    if not s.terminated and s.tapper >= 0 and s.lives[s.tapper] == 0:
        return False
    return cards_are_whole(s)


@jit
def cards_are_whole(s):
    """Whether the cards are the deck's, each place has its number, and what is known is true."""
    for animal in range(NUM_ANIMALS):
        count = int(s.left_over[animal])
        for row in range(NUM_ROWS):
            if s.row[row, animal] < 0:
                return False
            count += int(s.row[row, animal])
        for player in range(s.num_players):
            if not 0 <= s.least[player, animal] <= s.hand[player, animal]:
                return False
            if not 0 <= s.last_taken[player, animal] <= NUM_ROWS:
                return False
            count += int(s.hand[player, animal])
        if count != DECK[animal] or s.left_over[animal] < 0:
            return False
    for row in range(NUM_ROWS):
        if cards_in(s.row, row) != row + 1:
            return False
    for player in range(s.num_players):
        cards = cards_in(s.hand, player)
        if cards != HAND_SIZE and (cards != 0 or s.lives[player] > 0):
            return False
        if not most_is_sound(s, player):
            return False
    return hands_are_possible(s, -1)


@jit
def most_is_sound(s, player):
    """Whether ``most`` can be: it only falls by cards laid down, which everybody has located since.

    Otherwise ``determinize`` might seek an arrangement that there hardly is.
    """
    for k in range(NUM_SETS):
        located = 0
        for row in range(NUM_ROWS):
            located += int(s.row[row, HARE + k])
        for q in range(s.num_players):
            located += int(s.least[q, HARE + k])
        full = int(DECK_COUNTS[HARE + k])
        if s.most[player, k] > full:
            return False
        if unknown_cards(s, player) > 0 and located + int(s.most[player, k]) < full - 1:
            return False
    return True


@jit
def cards_in(counts, place):
    total = 0
    for animal in range(NUM_ANIMALS):
        total += int(counts[place, animal])
    return total
