"""The rules of Frank's Zoo, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states``; nothing is allocated and nothing
is kept outside the record. Cards of one kind are all alike, so hands, tricks and what players have
captured are counts of each kind. What sets there are and what beats what is in ``cards.py``.
"""

from __future__ import annotations

import numpy as np

from card_envs.engine.cards import draw_card
from card_envs.engine.jit import jit
from card_envs.engine.outcome import (
    begin,
    begin_step,
    common_state_fields,
    end_step,
    pay_points,
)
from card_envs.engine.rng import draw_below, mix, seed_stream
from card_envs.games.franks_zoo.cards import (
    DECK_COUNTS,
    DECK_OF_THREE_COUNTS,
    ENOUGH,
    HEDGEHOG,
    JOKER,
    KIND_BITS,
    LAY_CARDS,
    LAY_SIZE,
    LION,
    MAY_ASK,
    MAY_PLAY,
    NO_LAY,
    NUM_KINDS,
    NUM_LAYS,
    NUM_SETS,
    PACKED,
    TOGETHER,
)

MIN_PLAYERS, MAX_PLAYERS = 3, 7
# What one player can hold at most: the largest hand and two cards of the partner.
MAX_HAND = 17

# The actions (272): play a lay (or add it, for a senior who was asked), lay it and ask for help,
# give a card of a kind, pass (or refuse).
ASK = NUM_LAYS
GIVE = 2 * NUM_LAYS
PASS = GIVE + NUM_KINDS
NUM_ACTIONS = PASS + 1

# Values of the field ``phase``: what the player to move decides.
EXCHANGE, TURN, ANSWER = 0, 1, 2

NOBODY = -1
NO_CARD = -1

ALONE_BONUS = 4  # FZ-21
TARGET_SCORE = 19  # FZ-16
MAX_TARGET_SCORE = 1000
# Bounds of what a saved game may hold: no game comes near them.
MAX_HANDS, MAX_TOTAL = 1_000_000, 20_000_000

# reward="score" is in parts of about the most that the points of a hand differ from their mean.
SCORE_SCALE = 0.125

STATE = np.dtype(
    [
        *common_state_fields(MAX_PLAYERS),
        ("target_score", np.int32),
        ("partners", np.bool_),  # the option; see ``partner`` for who has one
        # The course of the game.
        ("hand_number", np.int32),  # from 1
        ("totals", np.int32, (MAX_PLAYERS,)),
        ("rank", np.int8, (MAX_PLAYERS,)),  # from 0, the best
        ("partner", np.int8, (MAX_PLAYERS,)),  # in this hand; NOBODY: none
        ("is_senior", np.int8, (MAX_PLAYERS,)),  # 0 or 1
        ("alone", np.int8),  # FZ-17: the one without a partner; NOBODY: all have or none has
        # The hand.
        ("phase", np.int8),
        ("hand", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        ("hand_size", np.int8, (MAX_PLAYERS,)),
        ("captured", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        ("place", np.int8, (MAX_PLAYERS,)),  # from 1; 0: holds cards
        ("played_by", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        ("played", np.int8, (NUM_KINDS,)),  # by all: in the trick or captured
        # FZ-18: the first of two cards that the player to move gives, still in his hand (NO_CARD:
        # not chosen yet); and what everybody has given, or laid before him (the one alone).
        ("gift", np.int8),
        ("given", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        # The trick.
        ("trick", np.int8, (NUM_KINDS,)),
        ("last_set", np.int16),  # NO_LAY: the player to move leads
        ("owner", np.int8),  # of the last set; NOBODY
        ("has_passed", np.int8, (MAX_PLAYERS,)),  # since the last set; 0 or 1
        ("request", np.int16),  # FZ-19: what a junior has laid; NO_LAY: nothing
        ("asker", np.int8),  # NOBODY
        # What everybody knows that a hand holds, at least.
        ("known", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        # How the last hand ended.
        ("last_place", np.int8, (MAX_PLAYERS,)),  # 0: there was none
        ("place_points", np.int8, (MAX_PLAYERS,)),
        ("lion_points", np.int8, (MAX_PLAYERS,)),
        ("hedgehog_points", np.int8, (MAX_PLAYERS,)),
        ("hand_points", np.int8, (MAX_PLAYERS,)),  # their sum
    ],
    align=True,
)


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(
    states, i, seed, num_players, reward_mode, memory, max_steps, partners, target_score
):
    """Begin a game: FZ-13, FZ-14."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, memory, max_steps)
    s.partners = partners != 0
    s.target_score = target_score
    s.hand_number = 1
    for player in range(MAX_PLAYERS):
        s.totals[player] = 0
        s.rank[player] = player if player < num_players else 0
        s.last_place[player] = 0
        s.place_points[player] = 0
        s.lion_points[player] = 0
        s.hedgehog_points[player] = 0
        s.hand_points[player] = 0
    begin_hand(s)


@jit
def begin_hand(s):
    """Shuffle and deal, find the partners, and begin with the exchange or the first trick."""
    for player in range(MAX_PLAYERS):
        clear(s.hand, player)
        clear(s.captured, player)
        clear(s.given, player)
        clear(s.known, player)
        clear(s.played_by, player)
        s.hand_size[player] = 0
        s.place[player] = 0
    for kind in range(NUM_KINDS):
        s.played[kind] = 0
    deal(s)
    find_partners(s)
    begin_trick(s)
    s.gift = NO_CARD
    s.request = NO_LAY
    s.asker = NOBODY
    if has_pairs(s):
        s.phase = EXCHANGE
        s.current_player = giver(s, 0)
    else:
        s.phase = TURN
        s.current_player = first_leader(s)


@jit
def clear(counts, place):
    for kind in range(NUM_KINDS):
        counts[place, kind] = 0


@jit
def cards_in(counts, place):
    total = 0
    for kind in range(NUM_KINDS):
        total += int(counts[place, kind])
    return total


@jit
def deal(s):
    """FZ-2, FZ-3: all cards one at a time, from the dealer's left.

    Each hand has a random stream of its own: what a seed deals does not depend on how the cards
    were played before, but for who is the dealer.
    """
    seed_stream(s, s.seed, s.hand_number)
    size = 0
    for kind in range(NUM_KINDS):
        s.trick[kind] = DECK_OF_THREE_COUNTS[kind] if s.num_players == 3 else DECK_COUNTS[kind]
        size += int(s.trick[kind])
    player = dealer(s)
    while size > 0:
        player = (player + 1) % s.num_players
        s.hand[player, draw_card(s, s.trick, size)] += 1
        s.hand_size[player] += 1
        size -= 1


@jit
def dealer(s):
    """FZ-3, FZ-15: the last seat in hand 1, later the first-ranked player."""
    return int(s.num_players) - 1 if s.hand_number == 1 else ranked(s, 0)


@jit
def first_leader(s):
    """FZ-13, FZ-15: ``player_0`` leads hand 1, the last-ranked player all others (FZ-24 too)."""
    return 0 if s.hand_number == 1 else ranked(s, int(s.num_players) - 1)


@jit
def ranked(s, rank):
    """The player of that rank."""
    player = 0
    while s.rank[player] != rank:
        player += 1
    return player


@jit
def has_pairs(s):
    """FZ-13, FZ-24: whether this hand is played with partners."""
    return s.partners and s.num_players > 3 and s.hand_number > 1


@jit
def counts_animals(s):
    """FZ-13, FZ-24: whether lions and hedgehogs count in this hand."""
    return has_pairs(s) or s.num_players == 3


# ---------------------------------------------------------------------------------------------
# Partners
# ---------------------------------------------------------------------------------------------


@jit
def find_partners(s):
    """FZ-17: the better half of the ranking with the worse one, in order; who is between, alone."""
    for player in range(MAX_PLAYERS):
        s.partner[player] = NOBODY
        s.is_senior[player] = 0
    s.alone = NOBODY
    if has_pairs(s):
        for rank in range(s.num_players // 2):
            senior = ranked(s, rank)
            junior = ranked(s, junior_rank(s, rank))
            s.partner[senior] = junior
            s.partner[junior] = senior
            s.is_senior[senior] = 1
        if s.num_players % 2 == 1:
            s.alone = ranked(s, s.num_players // 2)


@jit
def junior_rank(s, rank):
    """FZ-17: the rank of the junior of the senior of that rank."""
    return rank + (int(s.num_players) + 1) // 2


@jit
def is_junior(s, player):
    return s.partner[player] != NOBODY and s.is_senior[player] == 0


@jit
def give(s, player, kind):
    """FZ-18: choose one of the two cards; after the second both reach the partner."""
    if s.gift == NO_CARD:
        s.gift = kind
        return
    hand_over(s, player, s.gift)
    hand_over(s, player, kind)
    s.gift = NO_CARD
    go_on_with_exchange(s)


@jit
def hand_over(s, player, kind):
    """Move one card to the partner, or out of the hand of a player who is alone."""
    take_from_hand(s, player, kind, 1)
    s.given[player, kind] += 1
    partner = s.partner[player]
    if partner != NOBODY:
        s.hand[partner, kind] += 1
        s.hand_size[partner] += 1


@jit
def giver(s, number):
    """FZ-18: who gives after ``number`` others: junior and senior of each pair, by the senior's
    rank; then the one alone."""
    rank = number // 2
    if number % 2 == 0 and rank < s.num_players // 2:
        rank = junior_rank(s, rank)
    return ranked(s, rank)


@jit
def go_on_with_exchange(s):
    """FZ-18: on to the next one who gives; FZ-15: after the last, to the first trick."""
    number = 0
    for player in range(s.num_players):
        number += cards_in(s.given, player) > 0
    if number < s.num_players:
        s.current_player = giver(s, number)
    else:
        s.phase = TURN
        s.current_player = first_leader(s)


@jit
def take_from_hand(s, player, kind, count):
    """Take cards of a kind out of a hand, and out of what everybody knows that it holds."""
    s.hand[player, kind] -= count
    s.hand_size[player] -= count
    s.known[player, kind] = max(0, s.known[player, kind] - count)


# ---------------------------------------------------------------------------------------------
# A turn
# ---------------------------------------------------------------------------------------------


@jit
def packed(counts, place):
    """The counts ``counts[place]`` of all kinds in one integer, as in ``PACKED``."""
    total = 0
    for kind in range(NUM_KINDS):
        total |= int(counts[place, kind]) << KIND_BITS * kind
    return total


@jit
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    out[:] = 0
    if s.terminated or s.truncated:
        return 0
    player = int(s.current_player)
    count = 0
    if s.phase == EXCHANGE:  # FZ-18
        for kind in range(NUM_KINDS):
            legal = s.hand[player, kind] > (s.gift == kind)
            out[GIVE + kind] = legal
            count += legal
        return count
    hand = packed(s.hand, player) | ENOUGH
    last_set = int(s.last_set)
    if s.phase == ANSWER:  # FZ-19
        for lay in range(NUM_LAYS):
            whole = TOGETHER[s.request, lay]
            if whole != NO_LAY and MAY_PLAY[last_set, whole]:
                legal = (hand - PACKED[lay]) & ENOUGH == ENOUGH
                out[lay] = legal
                count += legal
        out[PASS] = 1
        return count + 1
    for lay in range(NUM_LAYS):  # FZ-7, FZ-8
        legal = ((hand - PACKED[lay]) & ENOUGH == ENOUGH) & MAY_PLAY[last_set, lay]
        out[lay] = legal
        count += legal
    if may_ask(s, player):
        for lay in range(NUM_LAYS):
            legal = ((hand - PACKED[lay]) & ENOUGH == ENOUGH) & MAY_ASK[last_set, lay]
            out[ASK + lay] = legal
            count += legal
    # FZ-7: who leads must play, unless he holds only the joker.
    may_pass = last_set != NO_LAY or count == 0
    out[PASS] = may_pass
    return count + may_pass


@jit
def may_ask(s, player):
    """FZ-19: whether there is a senior to be asked."""
    return is_junior(s, player) and s.hand_size[s.partner[player]] > 0


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move."""
    s = states[i]
    begin_step(s)
    player = int(s.current_player)
    if s.phase == EXCHANGE:
        give(s, player, action - GIVE)
    elif s.phase == ANSWER:
        answer(s, player, action)
    elif action == PASS:
        pass_turn(s, player)
    elif action >= ASK:
        ask(s, player, action - ASK)
    else:
        lay_down(s, player, action)
        note_played(s, player, action)
        put_on_trick(s, player, action)
        next_turn(s, player)
    end_step(s)


@jit
def lay_down(s, player, lay):
    """Take the cards of a lay out of a hand."""
    for kind in range(NUM_KINDS):
        take_from_hand(s, player, kind, LAY_CARDS[lay, kind])


@jit
def note_played(s, player, lay):
    """Count cards as played by a player."""
    for kind in range(NUM_KINDS):
        s.played_by[player, kind] += LAY_CARDS[lay, kind]
        s.played[kind] += LAY_CARDS[lay, kind]


@jit
def put_on_trick(s, player, lay):
    """A set that was laid down is the last one now."""
    for kind in range(NUM_KINDS):
        s.trick[kind] += LAY_CARDS[lay, kind]
    s.last_set = lay
    s.owner = player
    forget_passes(s)
    leave_if_empty(s, player)


@jit
def forget_passes(s):
    for player in range(MAX_PLAYERS):
        s.has_passed[player] = 0


@jit
def leave_if_empty(s, player):
    """FZ-11: who has played the last card takes the next free place."""
    if s.hand_size[player] == 0:
        place = 1
        for q in range(s.num_players):
            place += s.place[q] > 0
        s.place[player] = place


@jit
def players_with_cards(s):
    count = 0
    for player in range(s.num_players):
        count += s.hand_size[player] > 0
    return count


@jit
def next_with_cards(s, player):
    """The next player to the left who holds cards."""
    player = (player + 1) % s.num_players
    while s.hand_size[player] == 0:
        player = (player + 1) % s.num_players
    return player


@jit
def next_turn(s, player):
    """On to the left; FZ-11: the hand is over when at most one player holds cards."""
    if players_with_cards(s) <= 1:
        end_hand(s)
    else:
        s.current_player = next_with_cards(s, player)


@jit
def pass_turn(s, player):
    """FZ-9, FZ-10: pass; the last one who had to ends the trick."""
    if s.last_set == NO_LAY:
        # FZ-7: he cannot lead, so everybody knows what his only card is.
        s.known[player, JOKER] = 1
        s.current_player = next_with_cards(s, player)
        return
    s.has_passed[player] = 1
    if all_have_passed(s):
        leader = int(s.owner)
        capture(s)
        s.current_player = leader if s.hand_size[leader] > 0 else next_with_cards(s, leader)
    else:
        s.current_player = next_with_cards(s, player)


@jit
def all_have_passed(s):
    """FZ-10: all who hold cards, but for the owner of the last set, since it was played."""
    for player in range(s.num_players):
        if s.hand_size[player] > 0 and s.has_passed[player] == 0 and player != s.owner:
            return False
    return True


@jit
def capture(s):
    """FZ-10: the owner of the last set gets the cards of the trick."""
    for kind in range(NUM_KINDS):
        s.captured[s.owner, kind] += s.trick[kind]
    begin_trick(s)


@jit
def begin_trick(s):
    for kind in range(NUM_KINDS):
        s.trick[kind] = 0
    s.last_set = NO_LAY
    s.owner = NOBODY
    forget_passes(s)


# ---------------------------------------------------------------------------------------------
# Help
# ---------------------------------------------------------------------------------------------


@jit
def ask(s, player, lay):
    """FZ-19: lay cards and ask the senior."""
    lay_down(s, player, lay)
    s.request = lay
    s.asker = player
    s.phase = ANSWER
    s.current_player = s.partner[player]


@jit
def answer(s, senior, action):
    """FZ-19: refuse, or complete what the junior has laid to a set; it is the junior's."""
    junior = int(s.asker)
    request = int(s.request)
    s.request = NO_LAY
    s.asker = NOBODY
    s.phase = TURN
    if action == PASS:
        take_back(s, junior, request)
        pass_turn(s, junior)
    else:
        lay_down(s, senior, action)
        note_played(s, senior, action)
        note_played(s, junior, request)
        put_on_trick(s, junior, TOGETHER[request, action])
        leave_if_empty(s, senior)  # FZ-20: after the junior
        next_turn(s, junior)


@jit
def take_back(s, player, lay):
    """Take laid cards back into the hand; everybody has seen them."""
    for kind in range(NUM_KINDS):
        count = LAY_CARDS[lay, kind]
        s.hand[player, kind] += count
        s.known[player, kind] += count
    s.hand_size[player] += LAY_SIZE[lay]


# ---------------------------------------------------------------------------------------------
# The end of a hand and of the game
# ---------------------------------------------------------------------------------------------


@jit
def end_hand(s):
    """FZ-11: the last place, the unfinished trick; then the points and the ranking."""
    capture(s)
    for player in range(s.num_players):
        if s.place[player] == 0:
            s.place[player] = s.num_players
    if s.alone != NOBODY:  # FZ-18: the cards laid down before him count as captured
        for kind in range(NUM_KINDS):
            s.captured[s.alone, kind] += s.given[s.alone, kind]
            s.played[kind] += s.given[s.alone, kind]
        clear(s.given, s.alone)
    for player in range(s.num_players):
        s.last_place[player] = s.place[player]
        s.place_points[player] = team_points(s, player)
        s.lion_points[player] = lion_points(s, player) if counts_animals(s) else 0
        s.hedgehog_points[player] = hedgehog_points(s, player) if counts_animals(s) else 0
        points = s.place_points[player] + s.lion_points[player] + s.hedgehog_points[player]
        s.hand_points[player] = points
        s.totals[player] += points
    update_ranks(s)
    pay_points(s, s.hand_points, SCORE_SCALE, (1 << int(s.num_players)) - 1)
    if is_game_over(s):
        reveal_hands(s)
        s.terminated = True
    else:
        s.hand_number += 1
        begin_hand(s)


@jit
def points_for_place(s, place):
    """FZ-12: as many as there are players for the first, one less for each place; 0 for the last.

    FZ-24: the same with three players: 3, 2 and 0.
    """
    return s.num_players - place + 1 if place < s.num_players else 0


@jit
def team_points(s, player):
    """FZ-21: the places of both partners; the one alone has his own and a bonus."""
    points = points_for_place(s, s.place[player])
    if s.partner[player] != NOBODY:
        points += points_for_place(s, s.place[s.partner[player]])
    if s.alone == player:
        points += ALONE_BONUS
    return points


@jit
def lion_points(s, player):
    """FZ-22: two or more captured lions score one each; each one left in the hand costs one."""
    lions = s.captured[player, LION]
    return (lions if lions >= 2 else 0) - s.hand[player, LION]


@jit
def hedgehog_points(s, player):
    """FZ-23: who has captured no hedgehog loses a point."""
    return 0 if s.captured[player, HEDGEHOG] > 0 else -1


@jit
def update_ranks(s):
    """FZ-14: by total; of those who are level, whoever was ranked worse is ranked better now."""
    for player in range(s.num_players):
        ahead = 0
        for q in range(s.num_players):
            if s.totals[q] > s.totals[player]:
                ahead += 1
            elif s.totals[q] == s.totals[player] and s.rank[q] > s.rank[player]:
                ahead += 1
        s.standing[player] = s.num_players - ahead
    for player in range(s.num_players):
        s.rank[player] = s.num_players - s.standing[player]


@jit
def is_game_over(s):
    """FZ-16: two have reached the target; FZ-24: with three players one has."""
    count = 0
    for player in range(s.num_players):
        count += s.totals[player] >= s.target_score
    return count >= (1 if s.num_players == 3 else 2)


@jit
def reveal_hands(s):
    """When the game is over the cards that are left are shown."""
    for player in range(s.num_players):
        for kind in range(NUM_KINDS):
            s.known[player, kind] = s.hand[player, kind]


# ---------------------------------------------------------------------------------------------
# Who knows what
# ---------------------------------------------------------------------------------------------


@jit
def known_of(s, player, q, kind):
    """How many cards of a kind the player knows to be in the hand of another one, q.

    Of his partner's hand he also knows what he has given him and what has become of it. It is as
    if the partner's cards of a kind went out of his hand in the order: the known ones first.
    """
    known = int(s.known[q, kind])
    if s.partner[q] == player:
        gone = int(s.played_by[q, kind])
        if s.is_senior[q] == 1:  # he gave two cards after he had received two
            gone += int(s.given[q, kind])
        if s.asker == q:
            gone += int(LAY_CARDS[s.request, kind])
        known = max(known, int(s.given[player, kind]) - gone)
    return known


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: other hands, what others have given to each other
    or laid before them (FZ-18), the card that another one has chosen to give, the stream.

    The cards that he has not located are dealt anew to the hidden places, each as likely as the
    next.
    """
    s = states[i]
    s.seed = mix(seed)
    seed_stream(s, s.seed, 0)
    deal_hidden_cards(s, player)
    for senior in range(s.num_players):
        if s.is_senior[senior] == 1 and player != senior and player != s.partner[senior]:
            redraw_gifts(s, senior)
    if s.gift != NO_CARD and s.current_player != player:
        giver = int(s.current_player)
        s.gift = draw_packed(s, packed(s.hand, giver), int(s.hand_size[giver]))


@jit
def deal_hidden_cards(s, player):
    """Deal the cards that the player has not located to the others, and to what one of them has
    laid before him."""
    hides_given = s.alone != NOBODY and s.alone != player
    pool = 0  # packed
    size = 0
    for kind in range(NUM_KINDS):
        count = int(s.given[s.alone, kind]) if hides_given else 0
        for q in range(s.num_players):
            if q != player:
                count += int(s.hand[q, kind]) - known_of(s, player, q, kind)
        pool |= count << KIND_BITS * kind
        size += count
    for q in range(s.num_players):
        if q != player:
            unknown = int(s.hand_size[q])
            for kind in range(NUM_KINDS):
                s.hand[q, kind] = known_of(s, player, q, kind)
                unknown -= int(s.hand[q, kind])
            for _ in range(unknown):
                kind = draw_packed(s, pool, size)
                s.hand[q, kind] += 1
                pool -= 1 << KIND_BITS * kind
                size -= 1
    if hides_given and size > 0:
        draw_gifts(s, s.alone, pool)


@jit
def redraw_gifts(s, senior):
    """What two partners have given each other: any of the cards that the other has had since."""
    junior = int(s.partner[senior])
    if cards_in(s.given, senior) > 0:
        draw_gifts(s, senior, had_since(s, junior))
    if cards_in(s.given, junior) > 0:
        draw_gifts(s, junior, had_since(s, senior) + packed(s.given, senior))


@jit
def had_since(s, player):
    """All that a player has had in hand since the exchange, packed."""
    cards = packed(s.hand, player) + packed(s.played_by, player)
    if s.asker == player:
        cards += PACKED[s.request]
    return cards


@jit
def draw_gifts(s, player, pool):
    """Two random cards of a packed pool are what the player has given, or laid before him."""
    size = 0
    for kind in range(NUM_KINDS):
        size += pool >> KIND_BITS * kind & 15
    clear(s.given, player)
    for drawn in range(2):
        kind = draw_packed(s, pool, size - drawn)
        s.given[player, kind] += 1
        pool -= 1 << KIND_BITS * kind


@jit
def draw_packed(s, pool, size):
    """The kind of a random one of ``size`` cards that are packed into one integer."""
    kind = 0
    place = draw_below(s, size)
    while place >= pool >> KIND_BITS * kind & 15:
        place -= pool >> KIND_BITS * kind & 15
        kind += 1
    return kind


@jit
def is_sound(states, i):
    """Whether the record can be a state of the game: no index out of range, every card there.

    What comes from outside, such as a saved game, must pass it before a kernel sees it.
    """
    s = states[i]
    n = int(s.num_players)
    if not (MIN_PLAYERS <= n <= MAX_PLAYERS and 0 <= s.current_player < n and s.steps >= 0):
        return False
    if not (0 <= s.reward_mode < 3 and 0 <= s.memory < 2 and s.max_steps > 0):
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
        if given != 0 and (given != 2 or not gives) or (gives and given == 0 and s.phase != EXCHANGE):
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
    return s.gift == NO_CARD or s.hand[s.current_player, s.gift] > 0


@jit
def had_what_was_given(s):
    """Whether everybody has had the cards that the partner gave."""
    for player in range(s.num_players):
        partner = int(s.partner[player])
        if partner != NOBODY:
            for kind in range(NUM_KINDS):
                had = int(s.hand[partner, kind]) + int(s.played_by[partner, kind])
                if s.is_senior[partner] == 1:
                    had += int(s.given[partner, kind])
                if s.asker == partner:
                    had += int(LAY_CARDS[s.request, kind])
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
