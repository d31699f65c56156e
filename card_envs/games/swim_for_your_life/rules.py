"""The rules of Swim for Your Life, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states`` (``state.py``); nothing is
allocated and nothing is kept outside the record. What players know of each other's hands is in
``knowledge.py``.
"""

import numpy as np

from card_envs.contract import (
    begin,
    begin_step,
    end_step,
    inline,
    jit,
    pay_points,
    seed_stream,
    to_the_left,
)
from card_envs.games.swim_for_your_life.actions import ACT
from card_envs.games.swim_for_your_life.cards import (
    COUNT_BITS,
    DECK_COUNTS,
    DECK_SIZE,
    FIRST_EXCHANGE,
    FOURS,
    HARE,
    LAID_BITS,
    LAID_DOWN,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    ROW_OF,
    SET_BITS,
    VALUES,
)
from card_envs.games.swim_for_your_life.knowledge import (
    determinize as determinize,
)
from card_envs.games.swim_for_your_life.knowledge import (
    know_exchange,
    know_hand,
    know_no_set,
    know_nothing,
)
from card_envs.games.swim_for_your_life.state import (
    HAND_SIZE,
    IN_GAME,
    MAX_PLAYERS,
    NO_ACTION,
    NOBODY,
    START_LIVES,
    deal,
    least_majority,
    means_sudden_death,
    players_left,
)

# reward="score": what a life is worth; the most that can be lost in a round is two.
SCORE_SCALE = 0.5

# How many actions are counted in a byte.
_BYTE_SUM = ACT.tap // 5


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(states, i, seed, num_players, reward_mode, max_steps, expert):
    """Begin a game: SW-2, SW-3."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, max_steps)
    s.expert = expert != 0
    s.sudden_death = NOBODY
    for player in range(MAX_PLAYERS):
        s.lives[player] = START_LIVES if player < num_players else 0
        s.standing[player] = IN_GAME + int(s.lives[player])
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
    s.hand[:] = 0
    s.row[:] = 0
    s.last_taken[:] = 0
    s.has_exchanged[:] = 0
    s.last_action[:] = NO_ACTION
    size = DECK_SIZE
    for player in range(s.num_players):
        know_nothing(s, player)
        if s.lives[player] > 0:
            deal(s, s.hand, player, HAND_SIZE, size)
            size -= HAND_SIZE
    for row in range(NUM_ROWS):
        deal(s, s.row, row, row + 1, size)
        size -= row + 1
    s.tapper = NOBODY
    s.turns = 0
    s.current_player = s.starter


# ---------------------------------------------------------------------------------------------
# A turn
# ---------------------------------------------------------------------------------------------


@jit
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    if s.terminated or s.truncated:
        out[:] = 0
        return 0
    player = s.current_player
    lacking = ~set_bits(s.hand, player)
    for row in range(NUM_ROWS):
        present = set_bits(s.row, row)
        for action in range(FIRST_EXCHANGE[row], FIRST_EXCHANGE[row + 1]):
            laid_down = LAID_BITS[action]
            # SW-5: from the hand; SW-6: something other than what lies there.
            out[action] = (laid_down & lacking == 0) & (laid_down != present)
    for animal in range(NUM_ANIMALS):
        if s.hand[player, animal] == 3:  # too few for four
            out[FOURS[animal]] = 0
    out[ACT.tap] = s.has_exchanged[player]  # SW-7
    return count_legal(out)


@inline
def count_legal(mask):
    """The number of legal actions: in bytes, in which many are added up at a time."""
    count = int(mask[ACT.tap])
    for first in range(0, ACT.tap, _BYTE_SUM):
        number = np.uint8(0)
        for action in range(first, first + _BYTE_SUM):
            number = np.uint8(number + mask[action])
        count += int(number)
    return count


@jit
def set_bits(counts, place):
    """The counts ``counts[place]`` of all animals as in ``LAID_BITS``."""
    bits = 0
    for animal in range(NUM_ANIMALS):
        bits |= int(SET_BITS[counts[place, animal]]) << COUNT_BITS * animal
    return np.int32(bits)


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move."""
    s = states[i]
    begin_step(s)
    player = int(s.current_player)
    s.last_action[player] = action
    s.turns += 1
    if action == ACT.tap:
        tap(s, player)
    else:
        exchange(s, player, action)
    if action != ACT.tap and holds_a_set(s, player):
        end_by_sudden_death(s, player)
    else:
        next_turn(s, player)
    end_step(s)


@inline
def exchange(s, player, action):
    """SW-5: lay down cards, take the row, and leave what was laid down as the new row.

    It is inlined because ``step`` nearly always calls it: a call of a separate kernel is an
    indirect one, which on unlucky addresses costs more than the exchange itself.
    """
    row = ROW_OF[action]
    for animal in range(NUM_ANIMALS):
        laid_down = LAID_DOWN[action, animal]
        taken = s.row[row, animal]
        s.hand[player, animal] += taken - laid_down
        s.row[row, animal] = laid_down
        s.last_taken[player, animal] = taken
        know_exchange(s, player, animal, laid_down, taken)
    know_no_set(s, player)
    s.has_exchanged[player] = 1


@jit
def tap(s, player):
    """SW-7: announce the last lap; SW-8: in the last lap a tap changes nothing."""
    if s.tapper < 0:
        s.tapper = player
    s.last_taken[player] = 0


@jit
def next_turn(s, player):
    """SW-8: the next player to the left; back at the one who tapped, the round is over."""
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
def holds_a_set(s, player):
    """SW-9: checked after an exchange, and only then (SW-10)."""
    for animal in range(HARE, HARE + NUM_SETS):
        if means_sudden_death(s, animal) and s.hand[player, animal] == DECK_COUNTS[animal]:
            return True
    return False


# ---------------------------------------------------------------------------------------------
# The end of a round and of the game
# ---------------------------------------------------------------------------------------------


@jit
def end_by_sudden_death(s, player):
    """SW-9: everybody else loses a life; SW-14: for experts the player gains one."""
    s.sudden_death = player
    s.totals[:] = 0
    s.revealed[:] = 0
    for q in range(s.num_players):
        s.lives_lost[q] = 1
    s.lives_lost[player] = -1 if s.expert else 0
    reveal(s, player)
    end_round(s)


@jit
def count_round(s):
    """SW-11 to SW-13: majorities, totals, and what they cost."""
    s.sudden_death = NOBODY
    best, worst = -1, DECK_SIZE + 1
    for player in range(s.num_players):
        s.totals[player] = total_of(s, player)
        reveal(s, player)
        if s.lives[player] > 0:
            best = max(best, s.totals[player])
            worst = min(worst, s.totals[player])
    for player in range(s.num_players):
        s.lives_lost[player] = 2 if s.totals[player] == worst else 1
        if s.totals[player] == best:  # last, so that nobody loses any if all are level
            s.lives_lost[player] = 0
    end_round(s)


@jit
def total_of(s, player):
    """SW-11: the values of the animals that nobody else has as many cards of.

    SW-12: with two players left a majority takes two cards. Players who are out hold none.
    """
    total = 0
    least = least_majority(players_left(s))
    for animal in range(NUM_ANIMALS):
        others = least - 1
        for q in range(s.num_players):
            if q != player:
                others = max(others, s.hand[q, animal])
        if s.hand[player, animal] > others:
            total += VALUES[animal]
    return total


@jit
def reveal(s, player):
    """Show a hand to everybody."""
    for animal in range(NUM_ANIMALS):
        s.revealed[player, animal] = s.hand[player, animal]
    know_hand(s, player)


@jit
def end_round(s):
    """SW-2: take the lives lost, not below 0; then the next round (SW-3), or the end."""
    in_round = 0
    for player in range(s.num_players):
        s.was_in_round[player] = s.lives[player] > 0
        s.lives_lost[player] = min(s.lives_lost[player], s.lives[player])
        if s.was_in_round[player] == 1:
            in_round |= 1 << player
            s.lives[player] -= s.lives_lost[player]
            # Of those who are out the last is ahead; of one round they are level.
            is_out = s.lives[player] == 0
            s.standing[player] = s["round"] if is_out else IN_GAME + int(s.lives[player])
        else:
            s.lives_lost[player] = 0
    pay_points(s, s.lives_lost, -SCORE_SCALE, in_round)
    s["round"] += 1
    if players_left(s) > 1:
        s.starter = next_in_game(s, s.starter)
        begin_round(s)
    else:
        s.terminated = True
