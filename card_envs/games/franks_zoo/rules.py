"""The rules of Frank's Zoo, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states`` (``state.py``); nothing is
allocated and nothing is kept outside the record. What sets there are and what beats what is in
``cards.py``, what is legal in ``legal.py``, points and ranks in ``scoring.py``, what players know
in ``knowledge.py``.
"""

from card_envs.contract import (
    begin,
    begin_step,
    draw_card,
    end_step,
    jit,
    pay_points,
    seed_stream,
    to_the_left,
)
from card_envs.games.franks_zoo.actions import ACT
from card_envs.games.franks_zoo.cards import (
    DECK_COUNTS,
    DECK_OF_THREE_COUNTS,
    JOKER,
    LAY_CARDS,
    LAY_SIZE,
    NO_LAY,
    NUM_KINDS,
    TOGETHER,
)
from card_envs.games.franks_zoo.knowledge import determinize as determinize
from card_envs.games.franks_zoo.legal import legal_action_mask as legal_action_mask
from card_envs.games.franks_zoo.scoring import (
    hedgehog_points,
    is_game_over,
    lion_points,
    team_points,
    update_ranks,
)
from card_envs.games.franks_zoo.state import (
    ANSWER,
    EXCHANGE,
    NO_CARD,
    NOBODY,
    TURN,
    cards_in,
    counts_animals,
    giver,
    has_pairs,
    junior_rank,
    ranked,
)

# reward="score": the points of a hand differ from their mean by about 8 at most.
SCORE_SCALE = 0.125


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(states, i, seed, num_players, reward_mode, max_steps, partners, target_score):
    """Begin a game: FZ-13, FZ-14."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, max_steps)
    s.partners = partners != 0
    s.target_score = target_score
    s.hand_number = 1
    for player in range(num_players):
        s.rank[player] = player
    begin_hand(s)


@jit
def begin_hand(s):
    """Shuffle and deal, find the partners, and begin with the exchange or the first trick."""
    s.hand[:] = 0
    s.captured[:] = 0
    s.given[:] = 0
    s.known[:] = 0
    s.played_by[:] = 0
    s.played[:] = 0
    s.hand_size[:] = 0
    s.place[:] = 0
    deal(s)
    find_partners(s)
    begin_trick(s)
    s.gift = NO_CARD
    s.request = NO_LAY
    s.asker = NOBODY
    if has_pairs(s, s.hand_number):
        s.phase = EXCHANGE
        s.current_player = giver(s, 0)
    else:
        lead_first_trick(s)


@jit
def lead_first_trick(s):
    s.phase = TURN
    s.current_player = first_leader(s)


@jit
def deal(s):
    """FZ-2, FZ-3: all cards one at a time, from the dealer's left.

    Each hand has a random stream of its own: what a seed deals does not depend on how the cards
    were played before, except by who is the dealer.
    """
    seed_stream(s, s.seed, s.hand_number)
    size = 0  # of the pile, which lies where the trick will
    for kind in range(NUM_KINDS):
        s.trick[kind] = DECK_OF_THREE_COUNTS[kind] if s.num_players == 3 else DECK_COUNTS[kind]
        size += int(s.trick[kind])
    player = dealer(s)
    while size > 0:
        player = to_the_left(s, player)
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


# ---------------------------------------------------------------------------------------------
# Partners
# ---------------------------------------------------------------------------------------------


@jit
def find_partners(s):
    """FZ-17: the better half of the ranking with the worse one, in order; the one between alone."""
    s.partner[:] = NOBODY
    s.is_senior[:] = 0
    s.alone = NOBODY
    if has_pairs(s, s.hand_number):
        for rank in range(s.num_players // 2):
            senior = ranked(s, rank)
            junior = ranked(s, junior_rank(s, rank))
            s.partner[senior] = junior
            s.partner[junior] = senior
            s.is_senior[senior] = 1
        if s.num_players % 2 == 1:
            s.alone = ranked(s, s.num_players // 2)


@jit
def give(s, player, kind):
    """FZ-18: choose one of the two cards; after the second both reach the partner."""
    if s.gift == NO_CARD:
        s.gift = kind
    else:
        hand_over(s, player, s.gift)
        hand_over(s, player, kind)
        s.gift = NO_CARD
        advance_exchange(s)


@jit
def hand_over(s, player, kind):
    """Move one card to the partner, or out of the hand of a player who is alone."""
    take_from_hand(s, player, kind, 1)
    s.hand_size[player] -= 1
    s.given[player, kind] += 1
    partner = s.partner[player]
    if partner != NOBODY:
        s.hand[partner, kind] += 1
        s.hand_size[partner] += 1


@jit
def advance_exchange(s):
    """FZ-18: on to the next player who gives; FZ-15: after the last, to the first trick."""
    number = 0
    for player in range(s.num_players):
        number += cards_in(s.given, player) > 0
    if number < s.num_players:
        s.current_player = giver(s, number)
    else:
        lead_first_trick(s)


@jit
def take_from_hand(s, player, kind, count):
    """Take cards of a kind out of a hand, and out of what everybody knows that it holds.

    ``hand_size`` is the caller's to change: once for all kinds.
    """
    s.hand[player, kind] -= count
    s.known[player, kind] = max(0, s.known[player, kind] - count)


# ---------------------------------------------------------------------------------------------
# A turn
# ---------------------------------------------------------------------------------------------


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move."""
    s = states[i]
    begin_step(s)
    player = int(s.current_player)
    if s.phase == EXCHANGE:
        give(s, player, action - ACT.give)
    elif s.phase == ANSWER:
        answer(s, player, action)
    elif action == ACT.pass_:
        pass_turn(s, player)
    elif action >= ACT.ask:
        ask(s, player, action - ACT.ask)
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
    s.hand_size[player] -= LAY_SIZE[lay]


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
    s.has_passed[:] = 0
    leave_if_empty(s, player)


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
    player = to_the_left(s, player)
    while s.hand_size[player] == 0:
        player = to_the_left(s, player)
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
        # FZ-7: they cannot lead, so everybody knows what their only card is.
        s.known[player, JOKER] = 1
    else:
        s.has_passed[player] = 1
        if all_have_passed(s):
            player = int(s.owner)
            capture(s)
            if s.hand_size[player] > 0:  # they lead
                s.current_player = player
                return
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
    s.trick[:] = 0
    s.last_set = NO_LAY
    s.owner = NOBODY
    s.has_passed[:] = 0


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
    if action == ACT.pass_:
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
    if s.alone != NOBODY:  # FZ-18: the cards that they laid down count as captured
        for kind in range(NUM_KINDS):
            s.captured[s.alone, kind] += s.given[s.alone, kind]
            s.played[kind] += s.given[s.alone, kind]
        s.given[s.alone] = 0
    animals_count = counts_animals(s, s.hand_number)
    for player in range(s.num_players):
        s.last_place[player] = s.place[player]
        s.place_points[player] = team_points(s, player)
        s.lion_points[player] = lion_points(s, player) if animals_count else 0
        s.hedgehog_points[player] = hedgehog_points(s, player) if animals_count else 0
        points = s.place_points[player] + s.lion_points[player] + s.hedgehog_points[player]
        s.hand_points[player] = points
        s.totals[player] += points
    update_ranks(s)
    pay_points(s, s.hand_points, SCORE_SCALE, (1 << int(s.num_players)) - 1)
    if is_game_over(s):
        for player in range(s.num_players):  # the cards that are left are shown
            for kind in range(NUM_KINDS):
                s.known[player, kind] = s.hand[player, kind]
        s.terminated = True
    else:
        s.hand_number += 1
        begin_hand(s)
