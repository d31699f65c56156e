"""The rules of Animalia, by the rule numbers of RULES.md.

Every function works on one record ``s`` of the array ``states`` (``state.py``); nothing is
allocated and nothing is kept outside the record. The cards are in ``cards.py``, the powers of
thief, spy and prankster in ``powers.py``, what players know in ``knowledge.py``.
"""

from card_envs.contract import (
    begin,
    begin_step,
    end_step,
    jit,
    pay_points,
    seed_stream,
    shuffle,
    to_the_left,
)
from card_envs.games.animalia.actions import ACT
from card_envs.games.animalia.cards import (
    FAMILY_BITS,
    NO_CARDS,
    NUM_FAMILIES,
    OWL,
    OWL_ALONE,
    animals_in,
    cards_in_play,
    count,
    elegance_of,
    first_of,
    medals_of,
)
from card_envs.games.animalia.knowledge import determinize as determinize
from card_envs.games.animalia.knowledge import note_cards
from card_envs.games.animalia.legal import legal_action_mask as legal_action_mask
from card_envs.games.animalia.legal import legal_actions
from card_envs.games.animalia.powers import judge_powers, use_power
from card_envs.games.animalia.state import (
    BRING_IN,
    EXCELLENCE,
    LOT,
    NO_CARD,
    NO_COLLECTION,
    NO_FAMILY,
    NOBODY,
    OWL_FAMILY,
    TAKE_OUT,
    collected_cards,
    collections_each,
    first_collection,
    groups_of,
    is_lot_final,
    next_dealer,
    next_incomplete,
    num_collections,
    num_incomplete,
    owner_of,
    place_of,
    standing_of,
)

# What a point is with reward="score": a season's points then differ from their mean by about 1 at
# most.
SCORE_SCALE = 0.1


# ---------------------------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------------------------


@jit
def reset(states, i, seed, num_players, reward_mode, max_steps, seasons):
    """Begin a game: AN-2, AN-3."""
    s = states[i]
    begin(s, seed, num_players, reward_mode, max_steps)
    s.seasons = seasons
    s.season = 1
    s.owl_family = NO_FAMILY
    s.deck[:] = NO_CARD
    s.holder[:] = NOBODY
    s.dealer = num_players - 1
    begin_season(s)


@jit
def begin_season(s):
    """AN-3: shuffle all cards but the bonus cards that were kept, and begin with phase 1.

    Each season has a random stream of its own: what a seed deals depends on how it was played
    before only through the bonus cards that were kept.
    """
    seed_stream(s, s.seed, s.season)
    move_kept_cards_back(s)
    fill_deck(s)
    shuffle(s, s.deck, int(s.deck_size))
    s.collection[:] = NO_CARDS
    s.replaced = NO_CARDS
    s.drawn = 0
    s.taken_into = NO_COLLECTION
    s.chosen = NO_CARD
    s.dealer = next_dealer(s)
    begin_turn(s)


@jit
def move_kept_cards_back(s):
    """Put the bonus cards that were kept at the deck's end, with who knows them."""
    free = count(cards_in_play(s.num_players))
    for place in range(free - 1, -1, -1):
        if s.holder[place] != NOBODY:
            free -= 1
            s.deck[free] = s.deck[place]
            s.holder[free] = s.holder[place]
            s.since[free] = s.since[place]
            s.seen[free] = s.seen[place]
    s.deck_size = free


@jit
def fill_deck(s):
    """The cards that nobody has kept, in order, before those that were."""
    cards = cards_in_play(s.num_players)
    for player in range(s.num_players):
        cards &= ~s.bonus[player]
    for place in range(s.deck_size):
        s.deck[place] = first_of(cards)
        clear_place(s, place)
        cards &= cards - 1


@jit
def clear_place(s, place):
    """Nobody's bonus card, and nobody has seen it."""
    s.holder[place] = NOBODY
    s.since[place] = 0
    s.seen[place] = 0


# ---------------------------------------------------------------------------------------------
# A decision
# ---------------------------------------------------------------------------------------------


@jit
def step(states, i, action):
    """Carry out a legal action of the player to move; AN-10: then all those that are the only
    legal ones."""
    s = states[i]
    begin_step(s)
    carry_out(s, int(action))
    while not s.terminated:
        legal = legal_actions(s)
        if legal & legal - 1 != 0:
            break
        carry_out(s, first_of(legal))
    end_step(s)


@jit
def carry_out(s, action):
    """One decision of the player to move."""
    player = int(s.current_player)
    if s.phase == LOT:
        if action == ACT.pass_:
            pass_lot(s)
        else:
            take_lot(s, player, first_collection(s, player) + action - ACT.take)
    elif s.phase == BRING_IN:
        bring_in(s, player, action)
    elif s.phase == TAKE_OUT:
        take_out(s, player, action - ACT.card)
    elif s.phase == OWL_FAMILY:
        s.owl_family = action - ACT.owl
        award_medals(s)
    elif not use_power(s, player, action):
        end_turn(s)


# ---------------------------------------------------------------------------------------------
# Phase 1: collections
# ---------------------------------------------------------------------------------------------


@jit
def begin_turn(s):
    """AN-4: the dealer turns up a card; AN-8: a single player left must take it."""
    s.phase = LOT
    s.lot = NO_CARDS
    turn_up(s)
    s.must_take = num_incomplete(s) == 1


@jit
def turn_up(s):
    """AN-4, AN-5: one more card for the lot; the dealer decides first."""
    s.lot |= 1 << int(s.deck[s.drawn])
    s.drawn += 1
    s.current_player = s.dealer


@jit
def pass_lot(s):
    """AN-4: to the left, past complete collections; back at the dealer there is one card more,
    unless they must take the lot: three cards (AN-5), or as many as they have room for (AN-6)."""
    player = next_incomplete(s, int(s.current_player))
    s.current_player = player
    if player == s.dealer:
        if is_lot_final(s):
            s.must_take = True
        else:
            turn_up(s)


@jit
def take_lot(s, player, place):
    """Add the lot to a collection; the powers that it triggers come next."""
    held = s.collection[place]
    s.collection[place] |= s.lot
    s.must_take = False
    another = judge_powers(s, player, place, held)
    s.lot = NO_CARDS
    if not another:
        end_turn(s)


@jit
def end_turn(s):
    """AN-7, AN-8: the next dealer is to the left of the dealer; AN-9: if all are complete, on to
    phase 2."""
    s.taken_into = NO_COLLECTION
    s.may_give = False
    if num_incomplete(s) > 0:
        s.dealer = next_incomplete(s, int(s.dealer))
        begin_turn(s)
    else:
        award_elegance(s)
        s.phase = BRING_IN
        s.current_player = next_dealer(s)


# ---------------------------------------------------------------------------------------------
# Phase 2: elegance
# ---------------------------------------------------------------------------------------------


@jit
def award_elegance(s):
    """AN-16: two bonus cards for the highest, one for the second; one each for several highest,
    and then no second; one each for several second."""
    best = second = -100
    winners = 0
    for place in range(num_collections(s)):
        elegance = elegance_of(s.collection[place])
        if elegance > best:
            best, second = elegance, best
            winners = 1
        elif elegance == best:
            winners += 1
        elif elegance > second:
            second = elegance
    draw_bonus_cards(s, best, 2 if winners == 1 else 1)
    if winners == 1:
        draw_bonus_cards(s, second, 1)


@jit
def draw_bonus_cards(s, elegance, number):
    """AN-16: this number of bonus cards for each collection with this elegance, clockwise from the
    next season's dealer, while the draw pile lasts."""
    player = next_dealer(s)
    for _ in range(s.num_players):
        first = first_collection(s, player)
        for place in range(first, first + collections_each(s)):
            if elegance_of(s.collection[place]) == elegance:
                for _ in range(number):
                    draw_bonus_card(s, player)
        player = to_the_left(s, player)


@jit
def draw_bonus_card(s, player):
    """The card keeps its place in the deck, and so a player who saw it there still knows it."""
    if s.drawn < s.deck_size:
        s.holder[s.drawn] = player
        s.since[s.drawn] = s.season
        s.bonus[player] |= 1 << int(s.deck[s.drawn])
        s.drawn += 1


# ---------------------------------------------------------------------------------------------
# Phase 3: medals
# ---------------------------------------------------------------------------------------------


@jit
def bring_in(s, player, action):
    """AN-17: choose a bonus card to bring in, or be done; when all are done, the owl's family."""
    if action != ACT.pass_:
        s.chosen = action - ACT.card
        s.phase = TAKE_OUT
    else:
        s.current_player = to_the_left(s, player)
        if s.current_player == next_dealer(s):
            name_owl_family(s)


@jit
def take_out(s, player, card):
    """AN-17: the chosen bonus card replaces a card."""
    chosen = int(s.chosen)
    s.collection[place_of(s, card)] += (1 << chosen) - (1 << card)
    s.replaced |= 1 << card
    s.bonus[player] &= ~(1 << chosen)
    for place in range(len(s.deck)):
        if s.deck[place] == chosen:
            clear_place(s, place)
    s.chosen = NO_CARD
    s.phase = BRING_IN


@jit
def name_owl_family(s):
    """AN-17: ask the player in whose collection the owl lies, if there is one."""
    if collected_cards(s) & OWL_ALONE != 0:
        s.phase = OWL_FAMILY
        s.current_player = owner_of(s, place_of(s, OWL))
    else:
        s.owl_family = NO_FAMILY
        award_medals(s)


@jit
def award_medals(s):
    """AN-17: the medals of each collection; then the next season, or the end."""
    for player in range(s.num_players):
        first = first_collection(s, player)
        s.season_points[player] = 0
        for family in range(NUM_FAMILIES):
            medals = 0
            for place in range(first, first + collections_each(s)):
                medals += medals_of(animals_of(s, place), family)
            s.medals[player, family] += medals
            s.season_medals[player, family] = medals
            s.season_points[player] += medals
        if s.season == s.seasons:  # AN-19: excellence counts with the last season
            s.season_points[player] += EXCELLENCE * groups_of(s, player)
        s.standing[player] = standing_of(s, player)
    pay_points(s, s.season_points, SCORE_SCALE, (1 << int(s.num_players)) - 1)
    if s.season == s.seasons:
        s.terminated = True
    else:
        note_cards(s)
        s.season += 1
        begin_season(s)


@jit
def animals_of(s, place):
    """The animals of a collection, packed, with the owl as it was named."""
    cards = s.collection[place]
    animals = animals_in(cards)
    if cards & OWL_ALONE != 0:
        animals += 1 << FAMILY_BITS * int(s.owl_family)
    return animals
