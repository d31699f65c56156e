"""The rules of Animalia, by the rule numbers of its RULES.md."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from games.animalia.reference import Reference
from games.animalia.table import (
    ANIMALS,
    BRING_IN,
    CARDS,
    FAMILIES,
    FULL,
    GAME,
    GIVE,
    LOT,
    NO_COLLECTION,
    NO_FAMILY,
    OWL_FAMILY,
    PASS,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    WORDS,
    Table,
    bits,
    card,
    cards_in_play,
    family,
    in_order,
    split,
    take,
    to,
)
from helpers import check_invariants, each_size, module_of
from table import chi_square, played, played_by_hand

NUM_PLAYERS = (2, 3, 4, 5, 6)
MORE_THAN_TWO = (3, 4, 5, 6)
# The upper 0.1% points of chi-square by degrees of freedom; the seeds of these tests are fixed.
CHI_SQUARE = {11: 31.3, 30: 59.7, 47: 82.7}


def empty(num_players):
    """The collections of a season that begins."""
    return [("", "")] * 2 if num_players == 2 else [""] * num_players


def of_players(table, name):
    return table.states[0][name][: table.num_players].tolist()


def rewards(table):
    return of_players(table, "rewards")


# ---------------------------------------------------------------------------------------------
# Cards and actions
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("AN-1")
@pytest.mark.rule("AN-2")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_deck(num_players):
    for seed in range(20):
        table = Table(num_players, seed)
        deck = [table.lot_cards, *table.pile]
        assert len(deck) == len(set(deck)) == (31 if num_players < 5 else 36)
        animals = Counter(name.split()[0] for name in deck)
        members = Counter(name.split()[-1] for name in deck)
        assert animals == {**dict.fromkeys(ANIMALS, 6 if num_players < 5 else 7), "owl": 1}
        assert set(members.values()) == {5, 1}
        assert (members["owl"], members["cute"]) == (1, 0 if num_players < 5 else 5)


def test_the_numbers_of_the_actions():
    assert GAME.num_actions == len(WORDS) == 49
    assert (PASS, take(1), take(2)) == (0, 1, 2)
    members = ("champion", "elegant", "cute", "lousy", "thief", "spy", "prankster")
    assert [card("cat " + member) for member in members] == [3, 4, 5, 6, 7, 8, 9]
    assert [card(animal + " champion") for animal in ANIMALS] == [3, 10, 17, 24, 31]
    assert (card("parrot prankster"), card("owl")) == (37, 38)
    assert [to(number) for number in range(1, 6)] == [39, 40, 41, 42, 43]
    assert [family(name) for name in FAMILIES] == [44, 45, 46, 47, 48]


@pytest.mark.rule("AN-3")
def test_the_cards_are_shuffled_uniformly():
    """The first card and the last one."""
    table = Table(3)
    options = GAME.encode_options({})
    places = []
    for seed in range(3_100):
        GAME.rules.reset(table.states, 0, np.uint64(seed), 3, *options)
        places.append((table.deck[0], table.deck[30]))
    for numbers in np.transpose(places):
        counts = np.bincount(numbers, minlength=len(CARDS))
        counts = [counts[CARDS.index(name)] for name in cards_in_play(3)]
        assert chi_square(counts, [100] * 31) < CHI_SQUARE[30]


# ---------------------------------------------------------------------------------------------
# Seasons
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("AN-3")
@pytest.mark.rule("AN-4")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_beginning(num_players):
    table = Table(num_players, 3)
    assert (table.season, table.seasons, table.phase) == (1, 3, LOT)
    assert (table.dealer, table.current_player) == (0, 0)
    assert table.sizes == [0] * table.num_collections
    assert len(split(table.lot_cards)) == 1
    assert len(table.pile) == len(cards_in_play(num_players)) - 1
    assert table.choices == (
        ["pass", "take 1", "take 2"] if num_players == 2 else ["pass", "take 1"]
    )
    assert table.owl_family == NO_FAMILY
    assert not any(table.bonus_cards)
    for name in ("medals", "season_medals", "season_points", "standing", "rewards", "seen"):
        assert not getattr(table, name).any()


def last_take(num_players, last_dealer, pile="", **more):
    """Phase 1 ends with the next take: then the last dealer is alone and gets one card more."""
    other = (last_dealer + 1) % num_players
    collections = ["..."] * num_players
    collections[other] = "cat champion, cat elegant, horse champion, horse elegant"
    collections[last_dealer] = "dog champion, dog elegant, dog lousy, rabbit champion"
    if num_players == 2:
        collections = [(text, "...") for text in collections]
    if num_players > 4:
        third = (last_dealer + 2) % num_players
        collections[third] = "cat lousy, rabbit lousy, horse lousy, ..."
    pile = ", ".join(filter(None, ["parrot elegant", pile]))
    table = Table.lay_out(*collections, lot="parrot lousy", pile=pile, dealer=other, **more)
    return table.play(take())


def finish_season(table):
    """No bonus card is used, and the owl is of the first family."""
    season = table.season
    while table.season == season and not table.terminated:
        table.play(table.legal()[0])
    return table


@pytest.mark.rule("AN-3")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_next_season_begins_left_of_the_last_dealer(num_players):
    for last_dealer in range(num_players):
        table = finish_season(last_take(num_players, last_dealer))
        assert (table.season, table.phase) == (2, LOT)
        assert table.dealer == table.current_player == (last_dealer + 1) % num_players
        assert table.sizes == [0] * table.num_collections
        assert len(split(table.lot_cards)) == 1
        assert table.replaced_cards == ""


@pytest.mark.rule("AN-3")
@pytest.mark.parametrize("seasons", [1, 2, 3, 10])
def test_a_game_has_as_many_seasons_as_the_option_says(seasons):
    table = Table(3, 5, seasons=seasons)
    rng = np.random.default_rng(0)
    found = [1]
    while not table.terminated:
        assert not table.truncated
        assert table.season <= seasons
        table.play(int(rng.choice(table.legal())))
        if table.season != found[-1]:
            found.append(int(table.season))
    assert found == list(range(1, seasons + 1))
    assert table.legal() == []


@pytest.mark.rule("AN-3")
@pytest.mark.parametrize("seasons", [0, -1, 11, "3", 2.5])
def test_other_numbers_of_seasons_are_refused(seasons):
    with pytest.raises((ValueError, TypeError), match="seasons"):
        Table(3, seasons=seasons)


@pytest.mark.rule("AN-3")
@pytest.mark.rule("AN-17")
def test_kept_bonus_cards_are_not_in_the_next_deck_and_replaced_ones_are():
    table = Table.lay_out(
        *("rabbit lousy, ...", "horse lousy, ...", "dog lousy, ..."),
        kept={1: "cat champion"},
        bonus={0: "dog champion", 2: "parrot champion, parrot lousy"},
        dealer=2,
    )
    table.play(PASS, card("cat champion"), card("horse lousy"))
    assert table.current_player == 2  # player 1 has no more of them
    table.play(card("parrot lousy"), card("dog lousy"))
    assert table.replaced_cards == "horse lousy, dog lousy"
    finish_season(table)
    assert table.season == 3
    assert table.bonus_cards == ["dog champion", "", "parrot champion"]
    deck = [table.lot_cards, *table.pile]
    assert len(deck) == 29
    assert set(deck) == set(cards_in_play(3)) - {"dog champion", "parrot champion"}
    # Another season later they are still there, and play goes on without them.
    rng = np.random.default_rng(3)
    table = Table.lay_out(
        *("rabbit lousy, ...", "horse lousy, ...", "dog lousy, ..."),
        kept={0: "dog champion", 2: "parrot champion"},
        bonus={1: "cat spy"},
        dealer=0,
        options={"seasons": 4},
    )
    finish_season(table)
    assert table.bonus_cards == ["dog champion", "cat spy", "parrot champion"]
    while table.season == 3 and table.phase == LOT:
        drawn = {table.lot_cards, *table.pile, *split(", ".join(table.collections))}
        assert not drawn & {"dog champion", "parrot champion", "cat spy"}
        table.play(int(rng.choice(table.legal())))
    for seat, name in enumerate(("dog champion", "cat spy", "parrot champion")):
        assert name in split(table.bonus_cards[seat])


@pytest.mark.rule("AN-3")
def test_each_season_is_dealt_from_the_seed_whatever_was_played_before():
    """Two games with one seed, played differently; no bonus card is kept."""
    decks = []
    for name in ("cat lousy", "horse lousy"):
        table = Table.lay_out(
            *("cat lousy, horse lousy, ...", "dog lousy, ...", "rabbit lousy, ..."),
            bonus={0: "dog spy"},
            dealer=2,
            seed=8,
        )
        table.play(card("dog spy"), card(name))
        assert (table.season, table.dealer, any(table.bonus_cards)) == (2, 0, False)
        decks.append([table.lot_cards, *table.pile])
    assert decks[0] == decks[1]
    table = Table(3, 8)
    assert decks[0] != [table.lot_cards, *table.pile]


# ---------------------------------------------------------------------------------------------
# The lot
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("AN-4")
@pytest.mark.rule("AN-5")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_lot_goes_round_and_grows_until_the_dealer_must_take_it(num_players):
    pile = ["horse lousy", "dog lousy", "rabbit lousy", "parrot lousy"]
    for dealer in range(num_players):
        table = Table.lay_out(
            *empty(num_players), lot="cat lousy", pile=", ".join(pile), dealer=dealer
        )
        takes = ["take 1", "take 2"][: 2 if num_players == 2 else 1]
        for size in (1, 2, 3):
            lot = ", ".join(["cat lousy", *pile][:size])
            for k in range(num_players):
                assert table.lot_cards == lot
                assert table.current_player == (dealer + k) % num_players
                assert table.dealer == dealer
                assert table.choices == ["pass", *takes]
                assert not table.must_take
                table.play(PASS)
        place = dealer
        if num_players == 2:
            assert (table.current_player, table.choices) == (dealer, takes)
            assert table.must_take
            table.play(take(2))
            place = 2 * dealer + 1
        assert table.collections[place] == "cat lousy, horse lousy, dog lousy"
        assert sum(table.sizes) == 3
        following = (dealer + 1) % num_players
        assert (table.dealer, table.current_player) == (following, following)
        assert table.lot_cards == "rabbit lousy"
        assert table.pile[0] == "parrot lousy"


@pytest.mark.rule("AN-4")
@pytest.mark.rule("AN-5")
@pytest.mark.rule("AN-7")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
@pytest.mark.parametrize(
    "lot", ["cat lousy", "cat lousy, dog elegant", "cat lousy, owl, dog thief"]
)
def test_the_next_dealer_is_left_of_the_dealer_not_of_the_taker(num_players, lot):
    for dealer, passes in product(range(num_players), repeat=2):
        table = Table.lay_out(*empty(num_players), lot=lot, pile="horse spy", dealer=dealer)
        table.play(*[PASS] * passes, take())
        taker = (dealer + passes) % num_players
        place = 2 * taker if num_players == 2 else taker
        assert table.collections[place] == in_order(lot)
        assert sum(table.sizes) == len(split(lot))
        following = (dealer + 1) % num_players
        assert (table.dealer, table.current_player) == (following, following)
        assert (table.phase, table.lot_cards) == (LOT, "horse spy")


@pytest.mark.rule("AN-6")
@pytest.mark.rule("AN-10")
def test_the_example_of_paola():
    """She holds three cards and is offered a lot of three."""
    table = Table.lay_out(
        *("", "cat lousy, dog lousy, cat spy", "", ""), lot="owl, horse elegant, horse lousy"
    ).play(PASS)
    assert table.current_player == 2
    assert table.sizes == [0, 3, 0, 0]


@pytest.mark.rule("AN-6")
def test_the_example_of_marco():
    """Marco holds four cards as the dealer, and the first card comes back."""
    table = Table.lay_out(
        *("", "", "cat lousy, dog lousy, cat spy, owl", ""),
        lot="horse elegant",
        pile="horse lousy",
        dealer=2,
    )
    assert table.choices == ["pass", "take 1"]
    table.play(PASS, PASS, PASS)
    assert (table.current_player, table.sizes) == (1, [0, 0, 4, 0])
    table.play(PASS)
    assert table.collections[2] == in_order("cat lousy, dog lousy, cat spy, owl, horse elegant")
    assert (table.dealer, table.current_player, table.lot_cards) == (3, 3, "horse lousy")


HELD = split("cat lousy, dog thief, horse elegant, rabbit spy, parrot prankster")
OTHERS = split("cat champion, dog champion, horse champion")


@pytest.mark.rule("AN-6")
@pytest.mark.rule("AN-10")
@pytest.mark.parametrize(("held", "size"), [*product(range(6), (1, 2, 3))])
def test_a_lot_that_does_not_fit_is_passed(held, size):
    table = Table.lay_out(*("", ", ".join(HELD[:held]), "", ""), lot=", ".join(OTHERS[:size])).play(
        PASS
    )
    assert table.current_player == (1 if held + size <= 5 else 2)
    assert table.choices == ["pass", "take 1"]


@pytest.mark.rule("AN-5")
@pytest.mark.rule("AN-6")
@pytest.mark.parametrize(("held", "taken"), [(0, 3), (1, 3), (2, 3), (3, 2), (4, 1)])
def test_the_dealer_must_take_what_completes_his_collection(held, taken):
    """Until it is back they may pass it."""
    table = Table.lay_out(
        *("", ", ".join(HELD[:held]), ""), lot=OTHERS[0], pile=", ".join(OTHERS[1:]), dealer=1
    )
    decisions = []
    while table.dealer == 1:
        decisions.append(int(table.current_player))
        assert table.choices[0] == "pass"
        table.play(PASS)
    assert decisions == [1, 2, 0] * taken
    assert table.sizes == [0, held + taken, 0]
    assert table.dealer == 2


@pytest.mark.rule("AN-6")
@pytest.mark.rule("AN-18")
def test_with_two_collections_only_a_lot_that_neither_could_hold_larger_must_be_taken():
    for first, second in product(range(6), repeat=2):
        if first == second == 5:
            continue
        names = split(
            "cat champion, cat elegant, cat thief, cat spy, horse champion, horse elegant, "
            "dog prankster, dog thief, dog spy, rabbit elegant"
        )
        own = ", ".join(names[:first]), ", ".join(names[5 : 5 + second])
        pile = ", ".join(["dog lousy", "rabbit lousy", "parrot lousy"])
        table = Table.lay_out(("", ""), own, lot="cat lousy", pile=pile, dealer=1)
        room = max(5 - first, 5 - second)
        for size in range(1, min(3, room) + 1):
            fits = [f"take {k}" for k, held in ((1, first), (2, second)) if held + size <= 5]
            assert (table.current_player, table.choices) == (1, ["pass", *fits])
            table.play(PASS)
            assert (table.current_player, table.choices) == (0, ["pass", "take 1", "take 2"])
            table.play(PASS)
        # It is back for the last time: they may choose where if both have room for it.
        if len(fits) == 2:
            assert (table.current_player, table.choices) == (1, fits)
            table.play(take(1))
            assert table.sizes == [0, 0, first + size, second]
        else:
            assert sorted(table.sizes) == sorted(
                [0, 0, min(first, second) + size, max(first, second)]
            )
        assert (table.dealer, table.current_player) == (0, 0)


@pytest.mark.rule("AN-18")
def test_a_lot_is_not_split_between_two_collections():
    own = ("cat lousy, dog thief, horse elegant", "owl, rabbit spy, rabbit thief, parrot thief")
    table = Table.lay_out(own, ("", ""), lot="cat champion, dog champion")
    assert table.choices == ["pass", "take 1"]
    table.play(take(1))
    assert table.sizes == [5, 4, 0, 0]
    table = Table.lay_out(own, ("", ""), lot="cat champion")
    assert table.copy().play(take(1)).sizes == [4, 4, 0, 0]
    assert table.copy().play(take(2)).sizes == [3, 5, 0, 0]
    table = Table.lay_out(("", ""), own, lot="cat champion, dog champion, horse champion")
    table.play(PASS)
    # It fits into neither; the dealer must take it.
    assert (table.current_player, table.choices) == (0, ["take 1", "take 2"])


@pytest.mark.rule("AN-7")
@pytest.mark.rule("AN-9")
def test_complete_collections_are_skipped():
    """Players 1 and 3 are not asked, and do not deal."""
    complete = ["", "cat lousy, ...", "", "dog lousy, ...", ""]
    table = Table.lay_out(*complete, lot="horse lousy", pile="rabbit lousy")
    movers = []
    while len(split(table.lot_cards)) == 1:
        movers.append(int(table.current_player))
        table.play(PASS)
    assert movers == [0, 2, 4]
    assert (table.dealer, table.lot_cards) == (0, "horse lousy, rabbit lousy")
    for passes, taker in enumerate((0, 2, 4)):
        after = table.copy().play(*[PASS] * passes, take())
        assert after.sizes[taker] == 2
        assert after.dealer == after.current_player == 2
    for dealer, following in ((0, 2), (2, 4), (4, 0)):
        table = Table.lay_out(*complete, lot="horse lousy", dealer=dealer).play(take())
        assert table.dealer == table.current_player == following


@pytest.mark.rule("AN-7")
def test_who_completes_his_collection_with_this_lot_does_not_deal_next():
    table = Table.lay_out("", "cat lousy, cat spy, dog spy, owl", "", lot="horse lousy")
    table.play(PASS, take())
    assert table.sizes == [0, 5, 0]
    assert table.dealer == table.current_player == 2


@pytest.mark.rule("AN-7")
@pytest.mark.rule("AN-18")
def test_with_one_of_two_collections_complete_a_player_is_not_skipped():
    table = Table.lay_out(("", ""), ("...", ""), lot="cat lousy").play(PASS)
    assert (table.current_player, table.choices) == (1, ["pass", "take 2"])
    table.play(take(2))
    assert (table.dealer, table.sizes) == (1, [0, 0, 5, 1])


# ---------------------------------------------------------------------------------------------
# A single player left
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("AN-8")
@pytest.mark.rule("AN-10")
@pytest.mark.parametrize("held", range(5))
def test_a_single_player_left_takes_card_after_card(held):
    """Player 0 takes the fifth card; player 2 gets the next ones and is the last dealer."""
    pile = split("dog lousy, rabbit elegant, parrot champion, parrot lousy, cat spy, owl")
    own = split("rabbit lousy, cat champion, horse champion, rabbit champion")[:held]
    table = Table.lay_out(
        *("cat elegant, horse elegant, dog elegant, parrot elegant", "...", ", ".join(own), "..."),
        lot="dog champion",
        pile=", ".join(pile),
    ).play(take())
    assert table.collections[2] == in_order(", ".join([*own, *pile[: 5 - held]]))
    assert (table.dealer, table.phase) == (2, BRING_IN)


@pytest.mark.rule("AN-8")
def test_the_single_player_left_need_not_be_next():
    """Player 1 deals and is the last one but player 0."""
    table = Table.lay_out(
        *("", "cat elegant, horse elegant, dog elegant, parrot elegant", "...", "..."),
        lot="dog champion",
        pile="dog lousy, cat lousy, horse lousy, rabbit lousy, parrot lousy",
        dealer=1,
    )
    assert table.choices == ["pass", "take 1"]
    table.play(take())
    assert table.collections[0] == "cat lousy, horse lousy, dog lousy, rabbit lousy, parrot lousy"
    assert table.dealer == 0
    assert table.current_player == 1  # the next season's dealer, and the best one


@pytest.mark.rule("AN-8")
@pytest.mark.rule("AN-18")
def test_a_single_player_left_with_two_collections_chooses_between_them():
    pile = "cat lousy, dog lousy, horse lousy, rabbit lousy"
    table = Table.lay_out(
        ("cat champion, dog champion, owl", "horse champion, horse thief, dog thief"),
        ("...", "rabbit champion, rabbit elegant, parrot champion, parrot elegant"),
        lot="cat elegant",
        pile=pile,
        dealer=1,
    )
    table.play(take(2))
    for name, number, sizes in (
        ("cat lousy", 1, [4, 3, 5, 5]),
        ("dog lousy", 2, [4, 4, 5, 5]),
        ("horse lousy", 1, [5, 5, 5, 5]),  # the last card can go into one of them only
    ):
        assert (table.dealer, table.current_player, table.lot_cards) == (0, 0, name)
        assert table.choices == ["take 1", "take 2"]
        assert table.must_take
        table.play(take(number))
        assert table.sizes == sizes
    assert table.phase == BRING_IN
    assert "rabbit lousy" in split(table.collections[1])


def left_alone(*collections, pile, single, **more):
    """The single player takes the next card as soon as player 0 has taken the fifth."""
    collections = ["cat elegant, horse elegant, dog elegant, parrot elegant", *collections]
    table = Table.lay_out(*collections, lot="dog champion", pile=pile, dealer=single, **more)
    while table.current_player:
        table.play(PASS)
    return table.play(take())


@pytest.mark.rule("AN-8")
@pytest.mark.rule("AN-15")
@pytest.mark.parametrize("victim", [0, 2, 3])
def test_a_theft_of_the_single_player_brings_somebody_back(victim):
    """Both are incomplete: the deal moves on to the victim, who need not take."""
    table = left_alone(
        *("dog thief, dog lousy", "owl, ...", "horse lousy, ..."),
        pile="rabbit thief, cat champion, rabbit elegant, horse champion, parrot champion",
        single=1,
    )
    assert (table.phase, table.current_player, table.dealer) == (STEAL, 1, 1)
    table.play(card(["dog champion", "", "owl", "horse lousy"][victim]))
    assert [len(split(table.collections[player])) for player in (1, victim)] == [4, 4]
    assert (table.phase, table.dealer, table.current_player) == (LOT, victim, victim)
    assert (table.lot_cards, table.choices) == ("cat champion", ["pass", "take 1"])
    assert not table.must_take
    # It goes to the thief, and if they pass back to the victim, who has four cards.
    table.play(PASS)
    assert (table.current_player, table.choices) == (1, ["pass", "take 1"])
    after = table.copy().play(PASS)
    assert "cat champion" in split(after.collections[victim])
    # The thief is alone again, and takes the next one.
    assert "rabbit elegant" in split(after.collections[1])
    assert (after.phase, after.dealer) == (BRING_IN, 1)
    after = table.copy().play(take())
    assert "cat champion" in split(after.collections[1])
    assert "rabbit elegant" in split(after.collections[victim])
    assert (after.phase, after.dealer) == (BRING_IN, victim)


@pytest.mark.rule("AN-8")
@pytest.mark.rule("AN-15")
@pytest.mark.parametrize("victim", [0, 2, 3])
def test_if_the_theft_completes_the_thiefs_collection_the_victim_is_single(victim):
    table = left_alone(
        *("dog thief, dog lousy, cat lousy", "owl, ...", "horse lousy, ..."),
        pile="rabbit thief, cat champion, rabbit elegant, horse champion, parrot champion",
        single=1,
    )
    assert table.phase == STEAL
    table.play(card(["dog champion", "", "owl", "horse lousy"][victim]))
    assert table.sizes == [5, 5, 5, 5]
    assert "cat champion" in split(table.collections[victim])
    assert (table.phase, table.dealer) == (BRING_IN, victim)


@pytest.mark.rule("AN-8")
@pytest.mark.rule("AN-18")
@pytest.mark.parametrize("number", [1, 2])
def test_a_theft_of_a_single_player_with_two_collections(number):
    own = ["dog thief, dog lousy, rabbit lousy", "cat lousy, parrot lousy, cat spy"]
    table = Table.lay_out(
        tuple(own if number == 1 else own[::-1]),
        ("owl, dog champion, ...", "cat champion, cat elegant, horse champion, ..."),
        lot="rabbit thief",
        pile="rabbit champion, rabbit elegant",
    )
    assert table.choices == ["take 1", "take 2"]
    assert table.copy().play(take(3 - number)).choices == ["take 1", "take 2"]
    table.play(take(number))
    assert (table.phase, table.current_player, table.taken_into) == (STEAL, 0, number - 1)
    table.play(card("owl"))
    # The other one is back with the collection that has lost the owl; nobody need take now.
    sizes = [5, 3] if number == 1 else [3, 5]
    assert table.sizes == [*sizes, 4, 5]
    assert (table.dealer, table.current_player) == (1, 1)
    assert (table.lot_cards, table.choices) == ("rabbit champion", ["pass", "take 1"])
    table.play(PASS)
    assert (table.current_player, table.choices) == (0, ["pass", f"take {3 - number}"])


@pytest.mark.rule("AN-8")
def test_a_single_player_who_does_not_steal_stays_single():
    table = left_alone(
        *("dog thief, dog lousy", "owl, ...", "horse lousy, ..."),
        pile="rabbit thief, cat champion, rabbit elegant",
        single=1,
    ).play(PASS)
    assert (
        in_order("dog thief, dog lousy, rabbit thief, cat champion, rabbit elegant")
        == (table.collections[1])
    )
    assert (table.phase, table.dealer) == (BRING_IN, 1)


@pytest.mark.rule("AN-8")
@pytest.mark.rule("AN-14")
@pytest.mark.rule("AN-10")
def test_a_single_player_has_nobody_to_give_to():
    table = left_alone(
        *("dog prankster, dog lousy, cat lousy", "owl, ...", "horse lousy, ..."),
        pile="rabbit prankster, cat champion",
        single=1,
    )
    assert table.sizes == [5, 5, 5, 5]
    assert table.phase == BRING_IN


# ---------------------------------------------------------------------------------------------
# When powers are triggered
# ---------------------------------------------------------------------------------------------

POWERS = ("spy", "thief", "prankster")
# Player 0 takes; the others have something to steal, and room.
RIVALS = ("horse lousy, owl", "rabbit lousy")


def has_acted(table, power):
    """Whether player 0 has just used this power, or is to decide about it."""
    if power == "spy":
        return bool(table.seen_by(0))
    return (table.phase, table.current_player) == (STEAL if power == "thief" else GIVE, 0)


@pytest.mark.rule("AN-11")
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize(
    ("held", "lot", "is_triggered"),
    [
        # P stands for the power, Q for another one.
        ("", "cat P", False),
        ("dog lousy", "cat P", False),
        ("dog Q, horse Q", "cat P", False),
        ("dog P", "cat P", True),
        ("dog lousy, dog P, dog Q", "cat P", True),
        ("dog P, horse P", "cat P", True),
        ("", "cat P, dog P", True),
        ("dog elegant, horse Q", "cat P, dog P", True),
        ("", "cat P, dog P, horse P", True),
        ("", "cat P, cat Q", False),
        ("dog P", "cat lousy, cat P", True),
        ("dog Q", "cat lousy, cat P, cat elegant", False),
        # Two that are there already do not act again.
        ("dog P, horse P", "cat lousy", False),
        ("dog P, horse P", "cat Q, cat elegant", False),
    ],
)
def test_what_triggers_a_power(power, held, lot, is_triggered):
    other = POWERS[POWERS.index(power) - 1]
    held, lot = (text.replace("P", power).replace("Q", other) for text in (held, lot))
    table = Table.lay_out(held, *RIVALS, lot=lot, dealer=0).play(take())
    assert has_acted(table, power) == is_triggered
    assert not has_acted(table, other)
    if not is_triggered:
        assert (table.phase, table.dealer) == (LOT, 1)


@pytest.mark.rule("AN-11")
@pytest.mark.parametrize("power", POWERS)
def test_a_power_is_not_triggered_by_animals_elsewhere(power):
    """One's own other collection, others' collections, the draw pile, bonus cards."""
    table = Table.lay_out(
        ("dog lousy", f"dog {power}, horse {power}"),
        (f"rabbit {power}", "owl"),
        lot=f"cat {power}",
        pile=f"parrot {power}",
    )
    assert not has_acted(table.copy().play(take(1)), power)
    assert has_acted(table.copy().play(take(2)), power)
    table = Table.lay_out(
        *("dog lousy", f"rabbit {power}, horse {power}", "owl"),
        lot=f"cat {power}",
        kept={0: f"dog {power}"},
    )
    assert not has_acted(table.play(take()), power)


@pytest.mark.rule("AN-11")
def test_several_powers_act_in_the_order_spy_thief_prankster():
    """Of a take at most two kinds can act: of each there must be two among five cards."""
    table = Table.lay_out(
        *("dog prankster, dog thief", "horse lousy", "rabbit lousy"),
        lot="cat prankster, cat thief, cat elegant",
    ).play(take())
    # The collection is full: nothing can be stolen, but a card can be given.
    assert (table.phase, table.sizes) == (GIVE, [5, 1, 1])
    table = Table.lay_out(
        *("dog prankster, dog thief", "horse lousy", "rabbit lousy"),
        lot="cat prankster, cat thief",
        pile="cat lousy",
    ).play(take())
    assert (table.phase, table.may_give, table.taken_into) == (STEAL, True, 0)
    table.play(card("horse lousy"))
    assert (table.phase, table.taken_into, table.sizes) == (GIVE, 0, [5, 0, 1])
    table.play(card("dog thief"))
    assert (table.phase, table.taken_into) == (RECEIVE, 0)
    assert table.chosen == CARDS.index("dog thief")
    assert table.choices == ["to 1", "to 2"]
    table.play(to(2))
    assert table.collections == [
        in_order("dog prankster, cat prankster, cat thief, horse lousy"),
        "",
        in_order("rabbit lousy, dog thief"),
    ]
    assert (table.phase, table.dealer, table.lot_cards) == (LOT, 1, "cat lousy")
    assert table.taken_into == NO_COLLECTION
    assert not table.may_give
    # The spy has looked before the thief decides.
    table = Table.lay_out(
        *("dog spy, dog thief", "horse lousy", "rabbit lousy"),
        lot="cat thief, cat spy",
        pile="cat lousy, dog lousy, parrot lousy",
    ).play(take())
    assert table.phase == STEAL
    assert not table.may_give
    assert table.seen_by(0) == ["cat lousy", "dog lousy", "parrot lousy"]
    table = Table.lay_out(
        *("dog spy, dog prankster", "horse lousy", "rabbit lousy"),
        lot="cat prankster, cat spy",
        pile="cat lousy, dog lousy, parrot lousy",
    ).play(take())
    assert table.phase == GIVE
    assert table.seen_by(0) == ["cat lousy", "dog lousy", "parrot lousy"]


@pytest.mark.rule("AN-11")
def test_a_declined_power_is_lost():
    table = Table.lay_out(
        *("dog prankster, dog thief", "horse lousy", "rabbit lousy"),
        lot="cat prankster, cat thief",
        pile="cat lousy, horse elegant",
    ).play(take())
    assert (table.phase, table.choices[0]) == (STEAL, "pass")
    table.play(PASS)
    assert (table.phase, table.choices[0]) == (GIVE, "pass")
    table.play(PASS)
    assert (table.phase, table.dealer, table.current_player) == (LOT, 1, 1)
    assert table.sizes == [4, 1, 1]
    # Another card without a power does not bring it back.
    table.play(PASS, PASS, take())
    assert (table.phase, table.dealer, table.sizes) == (LOT, 2, [5, 1, 1])


@pytest.mark.rule("AN-11")
@pytest.mark.parametrize("power", POWERS)
def test_three_animals_of_a_power_act_once(power):
    table = Table.lay_out(
        *("parrot elegant", "horse lousy, owl", "rabbit lousy"),
        lot=f"cat {power}, dog {power}, horse {power}",
        pile="cat lousy, dog lousy, parrot lousy, rabbit elegant, cat elegant",
    ).play(take())
    if power == "spy":
        assert table.seen_by(0) == ["dog lousy", "parrot lousy"]
    elif power == "thief":
        table.play(card("owl"))
    else:
        table.play(card("parrot elegant"), to(1))
    assert (table.phase, table.dealer) == (LOT, 1)


@pytest.mark.rule("AN-11")
@pytest.mark.parametrize("power", POWERS)
def test_a_stolen_card_triggers_nothing(power):
    """Player 0 holds one of that power and steals another: judged before, not after."""
    held = {
        "thief": "dog thief",
        "spy": "dog thief, dog spy",
        "prankster": "dog thief, dog prankster",
    }
    table = Table.lay_out(
        *(held[power], f"horse {power}", "rabbit lousy"), lot="cat thief", pile="cat lousy"
    ).play(take(), card(f"horse {power}"))
    assert (table.phase, table.dealer, table.sizes[1]) == (LOT, 1, 0)
    assert table.seen_by(0) == []


@pytest.mark.rule("AN-11")
@pytest.mark.parametrize("power", POWERS)
def test_a_given_card_triggers_nothing(power):
    table = Table.lay_out(
        *("dog prankster", f"horse {power}, owl", "rabbit lousy"),
        lot=f"cat prankster, cat {power}" if power != "prankster" else "cat prankster",
    ).play(take(), card(f"cat {power}"), to(1))
    assert f"cat {power}" in split(table.collections[1])
    assert (table.phase, table.dealer) == (LOT, 1)
    assert table.seen_by(1) == []


@pytest.mark.rule("AN-11")
@pytest.mark.rule("AN-17")
@pytest.mark.parametrize("power", POWERS)
def test_a_bonus_card_triggers_nothing(power):
    table = Table.lay_out(
        *(f"dog {power}, cat lousy, dog lousy, owl, cat elegant", "...", "..."),
        bonus={0: f"cat {power}, horse {power}"},
        dealer=2,
    ).play(card(f"cat {power}"), card("cat lousy"))
    assert (table.phase, table.current_player) == (BRING_IN, 0)
    table.play(card(f"horse {power}"), card("dog lousy"))
    assert table.phase == OWL_FAMILY
    assert table.seen_by(0) == []


@pytest.mark.rule("AN-11")
def test_an_animal_that_was_given_away_does_not_count_and_one_that_was_stolen_does():
    """What lies in the collection when the lot is taken."""
    table = Table.lay_out(
        *("dog prankster, dog spy", "horse thief, parrot thief", "rabbit lousy"),
        lot="cat prankster",
        pile="cat spy, cat thief",
    ).play(take(), card("dog spy"), to(2))
    after = table.copy().play(PASS, PASS, take())
    assert after.seen_by(0) == []
    after = table.copy().play(PASS, take())
    assert (after.dealer, after.pile[:1]) == (2, after.seen_by(2)[:1])


# ---------------------------------------------------------------------------------------------
# The powers
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("AN-12")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_a_spy_sees_the_next_three_cards_at_their_places(num_players):
    pile = split("horse lousy, dog lousy, rabbit lousy, parrot lousy, horse elegant, dog elegant")
    collections = empty(num_players)
    collections[1] = ("", "dog spy") if num_players == 2 else "dog spy"
    table = Table.lay_out(*collections, lot="cat spy", pile=", ".join(pile), dealer=0)
    table.play(PASS, take(2 if num_players == 2 else 1))
    # The first of them is turned up in the next turn.
    assert table.lot_cards == pile[0]
    assert table.pile[: len(pile) - 1] == pile[1:]
    assert table.seen_by(1) == pile[1:3]
    assert [table.seen_by(q) for q in range(num_players) if q != 1] == [[]] * (num_players - 1)
    # It comes back to the dealer, and another one is turned up.
    table.play(*[PASS] * num_players)
    assert table.lot_cards == in_order(", ".join(pile[:2]))
    assert table.seen_by(1) == pile[2:3]
    table.play(take())
    assert (table.lot_cards, table.seen_by(1)) == (pile[2], [])


@pytest.mark.rule("AN-12")
def test_spies_of_several_players():
    table = Table.lay_out(
        *("dog spy", "cat spy", "rabbit lousy"),
        lot="horse spy",
        pile="parrot spy, dog lousy, owl, parrot lousy, rabbit elegant",
    ).play(take())
    assert table.seen_by(0) == ["dog lousy", "owl"]
    table.play(take())
    assert (table.lot_cards, table.current_player) == ("dog lousy", 2)
    assert table.seen_by(0) == ["owl"]
    assert table.seen_by(1) == ["owl", "parrot lousy"]
    assert table.seen_by(2) == []


@pytest.mark.rule("AN-12")
def test_near_the_end_of_the_draw_pile_a_spy_sees_fewer_cards():
    """The last player of six takes a third spy when two cards are left, or none."""
    own = "dog spy, horse spy, cat lousy, dog lousy"
    kept = {2: "horse champion, dog prankster", 3: "rabbit champion, horse lousy"}
    table = left_alone(
        *(own, "rabbit elegant, rabbit lousy, cat champion, owl, ...", "...", "...", "..."),
        pile="rabbit spy, parrot lousy, parrot champion",
        kept=kept,
        single=1,
    )
    # Player 0 is the most elegant one and gets both.
    assert table.pile == []
    assert table.bonus_cards[0] == "parrot champion, parrot lousy"
    assert table.seen_by(1) == ["parrot lousy", "parrot champion"]
    assert [table.seen_by(player) for player in (0, 2, 3, 4, 5)] == [[]] * 5
    table = left_alone(
        *(own, "rabbit elegant, rabbit lousy, parrot champion, parrot lousy, ...", *["..."] * 3),
        pile="rabbit spy",
        kept={**kept, 4: "owl, cat champion"},
        single=1,
    )
    assert (table.pile, table.phase) == ([], BRING_IN)
    assert [table.seen_by(player) for player in range(6)] == [[]] * 6


@pytest.mark.rule("AN-12")
@pytest.mark.rule("AN-16")
@pytest.mark.rule("AN-17")
def test_what_a_spy_saw_is_followed_to_the_bonus_cards_and_no_further():
    table = Table.lay_out(
        *("cat lousy, ...", "dog lousy, ...", "horse lousy, ..."),
        bonus={0: "cat champion, dog champion"},
        seen={1: "cat champion, dog champion", 2: "cat champion"},
        dealer=2,
    )
    assert table.seen_by(1) == ["cat champion", "dog champion"]
    after = finish_season(table.copy())
    assert after.bonus_cards[0] == "cat champion, dog champion"
    assert after.seen_by(1) == ["cat champion", "dog champion"]
    assert after.seen_by(2) == ["cat champion"]
    # One that was used is shuffled in with the others.
    finish_season(table.play(card("cat champion"), card("cat lousy")))
    assert table.bonus_cards[0] == "dog champion"
    assert table.seen_by(1) == ["dog champion"]
    assert table.seen_by(2) == []


@pytest.mark.rule("AN-13")
@pytest.mark.parametrize("num_players", MORE_THAN_TWO)
def test_a_thief_takes_any_card_of_any_opponent(num_players):
    others = ["cat lousy, owl", "horse spy, horse elegant", "", "parrot lousy", "cat elegant"]
    others = others[: num_players - 1]
    collections = ["dog thief, rabbit lousy", *others]
    for thief in range(num_players):
        seats = [(thief + k) % num_players for k in range(num_players)]
        seated = [collections[seats.index(seat)] for seat in range(num_players)]
        table = Table.lay_out(*seated, lot="cat thief", dealer=thief).play(take())
        assert (table.phase, table.current_player, table.taken_into) == (STEAL, thief, thief)
        loot = split(in_order(", ".join(filter(None, others))))
        assert table.choices == ["pass", *loot]
        for name in loot:
            after = table.copy().play(card(name))
            for seat in range(num_players):
                cards = split(seated[seat])
                if seat == thief:
                    cards += ["cat thief", name]
                elif name in cards:
                    cards.remove(name)
                assert after.collections[seat] == in_order(", ".join(cards))
            assert after.dealer == after.current_player == seats[1]
        assert table.play(PASS).sizes[thief] == 3


@pytest.mark.rule("AN-13")
@pytest.mark.rule("AN-10")
@pytest.mark.parametrize("held", [1, 2, 3, 4])
def test_a_thief_needs_room_after_the_take(held):
    own = ", ".join(["dog thief", *HELD[2:]][:held])
    table = Table.lay_out(own, "cat elegant", "rabbit elegant", lot="cat thief").play(take())
    assert (table.phase, table.dealer) == ((STEAL, 0) if held < 4 else (LOT, 1))
    assert table.sizes == [held + 1, 1, 1]


@pytest.mark.rule("AN-13")
@pytest.mark.rule("AN-10")
def test_a_thief_among_empty_collections_has_no_decision():
    table = Table.lay_out("dog thief", "", "", lot="cat thief").play(take())
    assert (table.phase, table.dealer) == (LOT, 1)


@pytest.mark.rule("AN-13")
@pytest.mark.rule("AN-18")
def test_of_two_players_a_thief_steals_from_the_opponent_into_the_collection_that_triggered_it():
    for number in (1, 2):
        for thief in (0, 1):
            own = ["dog thief", "rabbit lousy, parrot lousy"]
            own = own if number == 1 else own[::-1]
            rival = ["owl, horse elegant", "cat elegant"]
            pairs = [own, rival] if thief == 0 else [rival, own]
            table = Table.lay_out(*map(tuple, pairs), lot="cat thief", dealer=thief)
            table.play(take(number))
            place = 2 * thief + number - 1
            assert (table.phase, table.current_player, table.taken_into) == (STEAL, thief, place)
            assert table.choices == ["pass", "cat elegant", "horse elegant", "owl"]
            for name in ("cat elegant", "owl"):
                after = table.copy().play(card(name))
                assert after.collections[place] == in_order("dog thief, cat thief, " + name)
                assert sum(after.sizes) == sum(table.sizes) == 7


@pytest.mark.rule("AN-13")
@pytest.mark.rule("AN-15")
def test_a_thief_may_empty_a_collection():
    table = Table.lay_out("dog thief", "owl", "", lot="cat thief").play(take(), card("owl"))
    assert table.collections == [in_order("dog thief, cat thief, owl"), "", ""]
    assert table.lot != 0


@pytest.mark.rule("AN-15")
@pytest.mark.rule("AN-7")
def test_a_complete_collection_that_loses_a_card_is_back_in_the_turn_order():
    """Its owner is the next dealer here, and is offered lots again."""
    table = Table.lay_out(
        *("", "cat lousy, owl, ...", "dog thief", ""), lot="cat thief", pile="horse lousy"
    )
    table.play(PASS)
    assert table.current_player == 2
    table.play(take())
    after = table.copy().play(PASS)
    assert (after.dealer, after.current_player) == (2, 2)
    table.play(card("owl"))
    assert (table.dealer, table.current_player, table.sizes) == (1, 1, [0, 4, 3, 0])
    assert table.choices == ["pass", "take 1"]
    # It holds four cards now: the card that comes back must be taken.
    table.play(*[PASS] * 4)
    assert "horse lousy" in split(table.collections[1])
    assert (table.sizes, table.dealer) == ([0, 5, 3, 0], 2)


@pytest.mark.rule("AN-14")
@pytest.mark.parametrize("num_players", MORE_THAN_TWO)
def test_a_prankster_gives_any_card_of_his_to_anybody_with_room(num_players):
    others = ["cat lousy", "...", "", "parrot lousy, owl", "..."][: num_players - 1]
    collections = ["dog prankster, rabbit lousy", *others]
    for giver in range(num_players):
        seats = [(giver + k) % num_players for k in range(num_players)]
        seated = [collections[seats.index(seat)] for seat in range(num_players)]
        table = Table.lay_out(*seated, lot="cat prankster, parrot elegant", dealer=giver)
        table.play(take())
        assert (table.phase, table.current_player, table.taken_into) == (GIVE, giver, giver)
        own = "cat prankster, dog prankster, rabbit lousy, parrot elegant"
        assert table.choices == ["pass", *split(own)]
        assert table.copy().play(PASS).sizes[giver] == 4
        able = [k for k, text in enumerate(others, 1) if text != "..."]
        for name in split(own):
            after = table.copy().play(card(name))
            if len(able) > 1:
                assert (after.phase, after.current_player) == (RECEIVE, giver)
                assert after.chosen == CARDS.index(name)
                assert after.choices == [f"to {k}" for k in able]
                assert name in split(after.collections[giver])
            for k in able:
                given = after.copy().play(to(k)) if len(able) > 1 else after
                assert name in split(given.collections[seats[k]])
                assert given.sizes[giver] == 3
                assert (given.phase, given.chosen) == (LOT, -1)


@pytest.mark.rule("AN-14")
@pytest.mark.rule("AN-10")
@pytest.mark.parametrize("receiver", [1, 2, 3])
def test_a_single_receiver_is_no_decision(receiver):
    collections = ["dog prankster", "...", "...", "..."]
    collections[receiver] = "parrot lousy"
    table = Table.lay_out(*collections, lot="cat prankster").play(take(), card("dog prankster"))
    assert table.collections[receiver] == "dog prankster, parrot lousy"
    assert (table.phase, table.dealer) == (LOT, receiver)


@pytest.mark.rule("AN-14")
@pytest.mark.rule("AN-18")
def test_of_two_players_a_prankster_chooses_which_collection_of_the_opponent_receives():
    for number, giver in product((1, 2), (0, 1)):
        own = ["dog prankster, dog lousy", "rabbit lousy, parrot lousy"]
        own = own if number == 1 else own[::-1]
        for rival, choices in (
            (["owl, horse elegant", ""], ["to 1", "to 2"]),
            (["owl", "..."], []),
            (["...", "owl"], []),
        ):
            pairs = [own, rival] if giver == 0 else [rival, own]
            table = Table.lay_out(*map(tuple, pairs), lot="cat prankster", dealer=giver)
            table.play(take(number))
            place = 2 * giver + number - 1
            assert (table.phase, table.current_player, table.taken_into) == (GIVE, giver, place)
            assert table.choices == ["pass", "cat prankster", "dog lousy", "dog prankster"]
            table.play(card("dog lousy"))
            to_whom = [2 - 2 * giver + k for k in (0, 1) if rival[k] != "..."]
            if choices:
                assert (table.current_player, table.choices) == (giver, choices)
            for k, place_ in enumerate(to_whom, 1):
                after = table.copy().play(to(k)) if choices else table
                assert "dog lousy" in split(after.collections[place_])
                assert after.collections[place] == "cat prankster, dog prankster"


@pytest.mark.rule("AN-14")
@pytest.mark.rule("AN-10")
@pytest.mark.rule("AN-18")
def test_with_no_room_anywhere_nothing_can_be_given():
    """One's own other collection has room, but is no receiver."""
    table = Table.lay_out(
        ("dog prankster", "rabbit lousy"), ("...", "..."), lot="cat prankster", pile="cat lousy"
    )
    assert table.choices == ["take 1", "take 2"]
    table.play(take(1))
    assert (table.phase, table.current_player, table.sizes) == (LOT, 0, [2, 1, 5, 5])


@pytest.mark.rule("AN-14")
@pytest.mark.rule("AN-7")
@pytest.mark.rule("AN-15")
def test_a_gift_completes_one_collection_and_reopens_another():
    """Player 1, next to deal, is completed by the gift; the giver is not complete after all."""
    table = Table.lay_out(
        *(
            "dog prankster, dog lousy, dog elegant, dog spy",
            "cat lousy, owl, cat spy, cat elegant",
            "",
        ),
        lot="cat prankster",
        pile="rabbit lousy, rabbit elegant",
    ).play(take())
    assert (table.phase, table.sizes) == (GIVE, [5, 4, 0])
    table.play(card("dog lousy"), to(1))
    assert table.sizes == [4, 5, 0]
    assert (table.dealer, table.current_player) == (2, 2)
    table.play(PASS)
    assert (table.current_player, table.choices) == (0, ["pass", "take 1"])


@pytest.mark.rule("AN-13")
@pytest.mark.rule("AN-14")
def test_what_was_just_stolen_may_be_given_and_even_given_back():
    table = Table.lay_out(
        *("dog prankster, dog thief", "...", "owl, ...", "parrot lousy, parrot elegant"),
        lot="cat prankster, cat thief",
    ).play(take())
    assert table.phase == STEAL
    assert (table.copy().play(PASS, card("cat thief")).sizes) == [3, 5, 5, 3]
    table.play(card("owl"))
    assert (table.phase, table.sizes) == (GIVE, [5, 5, 4, 2])
    table.play(card("owl"))
    assert table.choices == ["to 2", "to 3"]
    table.play(to(2))
    assert (table.sizes, table.dealer) == ([4, 5, 5, 2], 3)
    assert "owl" in split(table.collections[2])


@pytest.mark.rule("AN-13")
@pytest.mark.rule("AN-14")
@pytest.mark.rule("AN-15")
def test_a_gift_makes_room_too_late_for_the_thief():
    table = Table.lay_out(
        *("dog prankster, dog thief, horse lousy", "cat elegant, ...", "rabbit lousy"),
        lot="cat prankster, cat thief",
    ).play(take())
    assert table.phase == GIVE
    table.play(card("horse lousy"))
    assert (table.sizes, table.dealer) == ([4, 5, 2], 2)


# ---------------------------------------------------------------------------------------------
# Elegance
# ---------------------------------------------------------------------------------------------

MEMBER = {"C": "champion", "E": "elegant", "L": "lousy"}


def last_turns(*stars, num_players=None, last_dealer=0, **more):
    """Phase 1 ends with these collections, and bonus cards are dealt.

    Args:
        stars: For each collection a letter for each champion, elegant and lousy animal in it; the
            rest have neither stars nor spots.
        num_players: Two, if they are not as many as the collections.
        last_dealer: Who takes the last card; the player to their left takes the last but one.
        more: What else ``Table.lay`` takes.

    Returns:
        The table, and the draw pile before bonus cards were dealt.
    """
    n = num_players or len(stars)
    kept = split(", ".join(more.get("kept", {}).values()))
    rest = [name for name in cards_in_play(n) if name not in kept]
    plain = [name for name in rest if not name.endswith(tuple(MEMBER.values()))]
    rows = []
    for letters in stars:
        row = []
        for letter in letters:
            row.append(next(name for name in rest if name.endswith(MEMBER[letter])))
            rest.remove(row[-1])
        while len(row) < FULL:
            row.append(plain.pop(0))
        rows.append(row)
    last_but_one = (last_dealer + 1) % n
    each = len(rows) // n
    taken = []
    for player in (last_but_one, last_dealer):
        # A card that triggers no power.
        row = rows[player * each + each - 1]
        kinds = Counter(name.split()[-1] for name in row)
        taken.append(next(name for name in row if kinds[name.split()[-1]] == 1))
        row.remove(taken[-1])
    texts = [", ".join(row) for row in rows]
    table = Table.lay_out(
        *(texts if each == 1 else [(texts[2 * k], texts[2 * k + 1]) for k in range(n)]),
        lot=taken[0],
        pile=taken[1],
        dealer=last_but_one,
        **more,
    )
    pile = table.pile[1:]
    table.play(table.legal()[-1])
    return table, pile


def bonus_places(table, pile):
    """The places in that draw pile of the bonus cards of each player."""
    return [
        sorted(pile.index(name) for name in split(own) if name in pile) for own in table.bonus_cards
    ]


@pytest.mark.rule("AN-1")
@pytest.mark.rule("AN-16")
@pytest.mark.parametrize(
    ("stars", "last_dealer", "expected"),
    [
        # A champion counts 3, an elegant animal 2, a lousy one -1.
        (("C", "E", ""), 0, [[0, 1], [2], []]),
        (("L", "E", "C"), 0, [[], [2], [0, 1]]),
        (("", "L", "E"), 0, [[2], [], [0, 1]]),
        (("L", "LL", ""), 2, [[2], [], [0, 1]]),
        (("CL", "E", ""), 2, [[0], [1], []]),
        (("ELL", "", "L"), 2, [[0], [1], []]),
        (("CC", "EEE", "CELL"), 2, [[0], [1], []]),
        (("CCCL", "EEEE", "CLE"), 2, [[0], [1], []]),
        (("CCC", "EEEE", "CCE"), 0, [[0, 1], [2], [3]]),
        # Two are second.
        (("C", "E", "E"), 0, [[0, 1], [2], [3]]),
        (("C", "E", "CL"), 1, [[0, 1], [3], [2]]),
        (("E", "C", "E"), 0, [[3], [0, 1], [2]]),
        (("", "C", ""), 2, [[2], [0, 1], [3]]),
        # Two or three are first, and nobody is second.
        (("C", "C", "E"), 0, [[1], [0], []]),
        (("C", "C", "E"), 2, [[0], [1], []]),
        (("E", "C", "C"), 1, [[], [1], [0]]),
        (("E", "E", "E"), 0, [[2], [0], [1]]),
        (("", "", ""), 1, [[1], [2], [0]]),
        # Several of each among more players.
        (("CC", "", "CCE", "EEE"), 1, [[3], [], [0, 1], [2]]),
        (("C", "E", "C", "E"), 1, [[1], [], [0], []]),
        (("LL", "CL", "E", "CCEE"), 0, [[], [2], [3], [0, 1]]),
        (("C", "L", "C", "C", "E"), 2, [[1], [], [2], [0], []]),
        (("E", "E", "CE", "E", "E"), 3, [[3], [4], [0, 1], [5], [2]]),
        (("CCE", "C", "E", "E", "CL", "CL"), 3, [[0, 1], [2], [], [], [], []]),
        (("EEE", "E", "E", "CL", "CLL", "L"), 5, [[0, 1], [2], [3], [4], [], []]),
    ],
)
def test_elegance(stars, last_dealer, expected):
    """Who gets which cards of the draw pile: the winner first, the others clockwise."""
    table, pile = last_turns(*stars, last_dealer=last_dealer)
    assert bonus_places(table, pile) == expected
    assert table.pile == pile[sum(map(len, expected)) :]


@pytest.mark.rule("AN-16")
@pytest.mark.rule("AN-18")
@pytest.mark.parametrize(
    ("stars", "last_dealer", "expected"),
    [
        # Collections 1 and 2 of player 0, then those of player 1.
        (("CC", "CE", "L", "L"), 0, [[0, 1, 2], []]),
        (("CE", "L", "L", "CC"), 0, [[2], [0, 1]]),
        (("CC", "L", "E", "E"), 0, [[0, 1], [2, 3]]),
        (("E", "C", "E", "E"), 1, [[0, 1, 2], [3, 4]]),
        (("E", "C", "E", "E"), 0, [[0, 1, 4], [2, 3]]),
        (("C", "C", "E", "L"), 0, [[0, 1], []]),
        (("CC", "L", "L", "CC"), 0, [[1], [0]]),
        (("CC", "L", "L", "CC"), 1, [[0], [1]]),
        (("L", "C", "C", "C"), 0, [[2], [0, 1]]),
        (("E", "E", "E", "CL"), 1, [[0, 1], [2, 3]]),
    ],
)
def test_each_collection_of_two_players_competes_in_elegance(stars, last_dealer, expected):
    table, pile = last_turns(*stars, num_players=2, last_dealer=last_dealer)
    assert bonus_places(table, pile) == expected


# Six players whose collections and kept cards leave few cards in the draw pile or none.
MANY_STARS = ("CC", "CE", "CE", "CE", "E", "E")
ALL_LEVEL = ("E", "E", "E", "CL", "CL", "CL")
LOUSY = split("cat lousy, horse lousy, dog lousy, rabbit lousy, parrot lousy")


@pytest.mark.rule("AN-16")
@pytest.mark.parametrize(
    ("stars", "last_dealer", "kept", "expected"),
    [
        # One first and five second; six cards are left.
        (("EEE", *ALL_LEVEL[1:]), 2, [], [[0, 1], [5], [], [2], [3], [4]]),
        (("EEE", *ALL_LEVEL[1:]), 0, [], [[0, 1], [2], [3], [4], [5], []]),
        # The single winner gets both cards before all others.
        (MANY_STARS, 0, ["owl", *LOUSY[:1]], [[0, 1], [2], [3], [], [], []]),
        (MANY_STARS, 2, ["owl", *LOUSY[:1]], [[0, 1], [3], [], [2], [], []]),
        (MANY_STARS, 2, ["owl", *LOUSY[:2]], [[0, 1], [], [], [2], [], []]),
        (MANY_STARS, 0, ["owl", *LOUSY[:3]], [[0, 1], [], [], [], [], []]),
        (MANY_STARS, 0, ["owl", *LOUSY[:4]], [[0], [], [], [], [], []]),
        (MANY_STARS, 0, ["owl", *LOUSY], [[], [], [], [], [], []]),
        # Six are first.
        (ALL_LEVEL, 1, [], [[4], [5], [0], [1], [2], [3]]),
        (ALL_LEVEL, 1, ["parrot " + m for m in MEMBER.values()], [[], [], [0], [1], [2], []]),
    ],
)
def test_bonus_cards_as_far_as_the_draw_pile_lasts(stars, last_dealer, kept, expected):
    kept = {0: ", ".join(kept)} if kept else {}
    table, pile = last_turns(*stars, last_dealer=last_dealer, kept=kept)
    assert bonus_places(table, pile) == expected
    assert table.pile == pile[sum(map(len, expected)) :]
    for player, own in kept.items():
        assert set(split(own)) <= set(split(table.bonus_cards[player]))


@pytest.mark.rule("AN-16")
@pytest.mark.rule("AN-12")
def test_a_spied_card_keeps_its_place_as_a_bonus_card():
    table = left_alone(
        *("cat spy, dog spy, horse lousy, parrot lousy", "..."),
        pile="rabbit spy, rabbit champion, horse champion, parrot champion, cat lousy",
        single=1,
    )
    # Player 0 gets two of the cards that the third spy has seen, and player 2 the last one.
    assert table.bonus_cards[:1] == ["horse champion, rabbit champion"]
    assert table.seen_by(1) == ["rabbit champion", "horse champion", "parrot champion"]
    assert table.bonus_cards[2] == "parrot champion"
    assert table.pile[0] == "cat lousy"
    assert table.seen_by(0) == table.seen_by(2) == []


# ---------------------------------------------------------------------------------------------
# The exchange
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("AN-17")
@pytest.mark.parametrize("season", [1, 2, 3])
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_exchange_goes_clockwise_from_the_next_seasons_dealer(num_players, season):
    """In the last season too."""
    names = ["owl", *LOUSY][:num_players]
    stars = [f"{animal} {member}" for member in ("champion", "elegant") for animal in ANIMALS]
    number = 4 if num_players == 2 else num_players
    collections = [", ".join([*stars[k::number], "..."]) for k in range(number)]
    if num_players == 2:
        collections = [tuple(collections[:2]), tuple(collections[2:])]
    for dealer in range(num_players):
        table = Table.lay_out(
            *collections, bonus=dict(enumerate(names)), dealer=dealer, season=season
        )
        for k in range(1, num_players + 1):
            assert (table.phase, table.current_player) == (BRING_IN, (dealer + k) % num_players)
            assert table.choices == ["pass", names[(dealer + k) % num_players]]
            table.play(PASS)
        assert table.terminated == (season == 3)
        assert table.season == min(season + 1, 3)


@pytest.mark.rule("AN-17")
@pytest.mark.rule("AN-10")
def test_players_without_bonus_cards_are_not_asked():
    table = Table.lay_out(
        *("cat lousy, ...", "dog lousy, ...", "horse lousy, ...", "cat elegant, dog elegant, ..."),
        bonus={0: "cat champion", 2: "dog champion", 3: "horse champion"},
        dealer=1,
    )
    for player in (2, 3, 0):
        assert table.current_player == player
        table.play(PASS)
    assert (table.season, table.phase) == (2, LOT)


@pytest.mark.rule("AN-17")
def test_the_example_of_paolas_cats():
    """Cat, dog, dog, parrot and horse, and two cats in reserve."""
    table = Table.lay_out(
        *("...", "cat lousy, dog lousy, dog elegant, parrot lousy, horse lousy", "..."),
        bonus={1: "cat champion, cat elegant"},
        dealer=0,
    )
    assert table.copy().play(PASS).season_medals[1].tolist() == [0, 0, 2, 0, 0]
    assert (table.current_player, table.choices) == (1, ["pass", "cat champion", "cat elegant"])
    table.play(card("cat elegant"))
    # Which one it replaces must be chosen.
    assert (table.phase, table.current_player) == (TAKE_OUT, 1)
    assert table.chosen == CARDS.index("cat elegant")
    own = "cat lousy, horse lousy, dog elegant, dog lousy, parrot lousy"
    assert table.choices == split(own)
    assert table.collections[1] == own
    assert table.bonus_cards[1] == "cat champion, cat elegant"
    table.play(card("parrot lousy"))
    assert (table.phase, table.current_player, table.chosen) == (BRING_IN, 1, -1)
    assert table.choices == ["pass", "cat champion"]
    assert table.replaced_cards == "parrot lousy"
    table.play(card("cat champion"), card("horse lousy"))
    assert table.season_medals[1].tolist() == [3, 0, 2, 0, 0]
    assert (table.season, table.bonus_cards) == (2, ["", "", ""])


@pytest.mark.rule("AN-17")
def test_a_card_just_brought_in_may_be_replaced_again():
    table = Table.lay_out(
        *("cat lousy, cat spy, cat thief, dog lousy, dog spy", "...", "..."),
        bonus={0: "owl, cat champion, cat elegant"},
        dealer=2,
    ).play(card("owl"), card("dog lousy"))
    assert table.collections[0] == "cat lousy, cat thief, cat spy, dog spy, owl"
    table.play(card("cat champion"))
    assert table.choices == ["cat lousy", "cat thief", "cat spy", "dog spy", "owl"]
    table.play(card("owl"))
    assert table.collections[0] == "cat champion, cat lousy, cat thief, cat spy, dog spy"
    assert table.replaced_cards == "dog lousy, owl"
    assert table.choices == ["pass", "cat elegant"]
    # The owl is out: nobody names a family.
    table.play(PASS)
    assert (table.season, table.phase) == (2, LOT)
    assert table.owl_family == NO_FAMILY
    assert table.season_medals[0].tolist() == [4, 0, 0, 0, 0]
    assert table.bonus_cards[0] == "cat elegant"


@pytest.mark.rule("AN-17")
@pytest.mark.rule("AN-18")
@pytest.mark.parametrize("player", [0, 1])
def test_two_players_bring_bonus_cards_into_either_collection(player):
    own = ("cat lousy, cat spy, dog lousy, dog spy, dog thief", "horse lousy, horse spy, ...")
    rival = ("rabbit lousy, rabbit spy, ...", "parrot lousy, parrot spy, ...")
    pairs = [own, rival] if player == 0 else [rival, own]
    table = Table.lay_out(*pairs, bonus={player: "cat champion, cat elegant"}, dealer=1 - player)
    before = table.collections
    table.play(card("cat champion"))
    mine = before[2 * player : 2 * player + 2]
    assert table.choices == split(in_order(", ".join(mine)))
    table.play(card("horse lousy"))
    assert table.collections[2 * player] == mine[0]
    second = mine[1].replace("horse lousy", "cat champion")
    assert table.collections[2 * player + 1] == in_order(second)
    table.play(card("cat elegant"), card("cat lousy"))
    first = mine[0].replace("cat lousy", "cat elegant")
    others = before[2 - 2 * player : 4 - 2 * player]
    assert table.season == 2
    expected = Counter()
    for text in (first, second):
        expected += medals_by_hand(text)
    assert medals_of(table, player) == expected
    assert medals_of(table, 1 - player) == medals_by_hand(others[0]) + medals_by_hand(others[1])


@pytest.mark.rule("AN-17")
def test_kept_cards_and_new_ones_can_be_used_alike():
    table = Table.lay_out(
        *("cat lousy, dog spy, ...", "...", "..."),
        kept={0: "cat champion"},
        bonus={0: "dog champion"},
        dealer=2,
    )
    assert table.choices == ["pass", "cat champion", "dog champion"]
    table.play(card("cat champion"), card("dog spy"), PASS)
    assert (table.season, table.bonus_cards[0]) == (3, "dog champion")


# ---------------------------------------------------------------------------------------------
# Medals
# ---------------------------------------------------------------------------------------------


def medals_by_hand(text):
    """AN-17 of a collection without the owl."""
    families = Counter(name.split()[0] + "s" for name in split(text))
    if len(families) == 5:
        return families
    return Counter({name: number for name, number in families.items() if number > 1})


def medals_of(table, player):
    """What the player has earned with the last season."""
    row = table.season_medals[player]
    return Counter({name: int(n) for name, n in zip(FAMILIES, row, strict=True) if n})


def award(*collections, owl="", **more):
    """The last player keeps their bonus card, the owl is named, and medals are awarded."""
    n = len(collections)
    table = Table.lay_out(*collections, bonus={n - 1: "parrot champion"}, dealer=n - 2, **more)
    table.play(PASS)
    if owl:
        assert table.phase == OWL_FAMILY
        assert table.choices == ["name " + name for name in FAMILIES]
        table.play(family(owl))
        assert FAMILIES[table.owl_family] == owl
    assert table.terminated or table.season == more.get("season", 1) + 1
    return table


@pytest.mark.rule("AN-17")
@pytest.mark.parametrize(
    ("collection", "owl", "medals"),
    [
        ("cat lousy, cat spy, dog lousy, dog spy, horse spy", "", [2, 0, 2, 0, 0]),
        ("cat lousy, cat spy, cat thief, dog spy, horse spy", "", [3, 0, 0, 0, 0]),
        ("rabbit lousy, rabbit spy, rabbit thief, dog spy, dog thief", "", [0, 0, 2, 3, 0]),
        ("rabbit lousy, rabbit spy, rabbit thief, rabbit elegant, dog thief", "", [0, 0, 0, 4, 0]),
        (
            "parrot lousy, parrot spy, parrot thief, parrot elegant, parrot prankster",
            "",
            [0, 0, 0, 0, 5],
        ),
        # Four families are not five.
        ("cat lousy, cat spy, dog lousy, horse spy, rabbit thief", "", [2, 0, 0, 0, 0]),
        # Giovanni: five different families.
        ("cat lousy, dog lousy, parrot lousy, horse spy, rabbit thief", "", [1, 1, 1, 1, 1]),
        # Carla: three dogs, a rabbit and the owl.
        ("dog lousy, dog spy, dog thief, rabbit lousy, owl", "dogs", [0, 0, 4, 0, 0]),
        ("dog lousy, dog spy, dog thief, rabbit lousy, owl", "rabbits", [0, 0, 3, 2, 0]),
        ("dog lousy, dog spy, dog thief, rabbit lousy, owl", "cats", [0, 0, 3, 0, 0]),
        # Marco: four different animals and the owl.
        ("dog lousy, cat spy, horse thief, rabbit lousy, owl", "parrots", [1, 1, 1, 1, 1]),
        ("dog lousy, cat spy, horse thief, rabbit lousy, owl", "dogs", [0, 0, 2, 0, 0]),
        ("dog lousy, cat spy, horse thief, rabbit lousy, owl", "cats", [2, 0, 0, 0, 0]),
        ("dog lousy, cat spy, horse thief, rabbit lousy, owl", "horses", [0, 2, 0, 0, 0]),
        ("dog lousy, cat spy, horse thief, rabbit lousy, owl", "rabbits", [0, 0, 0, 2, 0]),
        # The owl alone of its family.
        ("dog lousy, dog spy, horse thief, horse lousy, owl", "cats", [0, 2, 2, 0, 0]),
        ("dog lousy, dog spy, horse thief, rabbit lousy, owl", "parrots", [0, 0, 2, 0, 0]),
        ("cat lousy, cat spy, cat thief, cat elegant, owl", "cats", [5, 0, 0, 0, 0]),
    ],
)
def test_the_medals_of_a_collection(collection, owl, medals):
    more = {} if owl else {"owl_family": "dogs"}  # what it was named before does not count
    for player in (0, 1, 2):
        collections = ["...", "...", "..."]
        collections[player] = collection
        table = award(*collections, owl=owl, **more)
        assert table.season_medals[player].tolist() == medals
        assert table.medals[player].tolist() == medals
        assert table.season_points[player] == sum(medals)
        assert table.owl_family == (FAMILIES.index(owl) if owl else NO_FAMILY)


@pytest.mark.rule("AN-17")
def test_the_owl_counts_for_its_owner_only():
    table = award(
        *(
            "dog lousy, dog spy, owl, cat spy, cat lousy",
            "dog thief, rabbit spy, rabbit thief, ...",
        ),
        "horse spy, horse thief, parrot spy, ...",
        owl="dogs",
    )
    assert table.season_medals[0].tolist() == [2, 0, 3, 0, 0]
    collections = ["dog thief, rabbit spy, rabbit thief, cat thief, cat prankster"]
    assert medals_of(table, 1) == medals_by_hand(collections[0])


@pytest.mark.rule("AN-17")
@pytest.mark.parametrize("owner", [0, 1, 2])
def test_the_owl_is_named_when_all_have_exchanged(owner):
    """By the player who has it then; here it was brought in."""
    collections = ["cat lousy, ...", "dog lousy, ...", "horse lousy, ..."]
    names = ["cat elegant", "dog elegant", "horse elegant"]
    names[owner] = "owl"
    table = Table.lay_out(*collections, bonus=dict(enumerate(names)), dealer=2, owl_family="cats")
    lousy = ["cat lousy", "dog lousy", "horse lousy"]
    for player in range(3):
        assert (table.current_player, table.phase) == (player, BRING_IN)
        table.play(card(names[player]), card(lousy[player]))
    assert (table.phase, table.current_player, table.season) == (OWL_FAMILY, owner, 1)
    # What it was named before is known until then.
    assert table.owl_family == 0
    assert table.choices == ["name " + name for name in FAMILIES]
    table.play(family("parrots"))
    assert (table.season, table.phase, table.owl_family) == (2, LOT, 4)


@pytest.mark.rule("AN-17")
@pytest.mark.parametrize("owl_family", ["", "dogs"])
def test_an_owl_that_lies_in_no_collection_is_not_named(owl_family):
    """It is among the bonus cards, or in the draw pile."""
    for bonus in ({1: "owl"}, {1: "parrot champion"}):
        table = Table.lay_out(
            *("cat lousy, dog spy, dog thief, horse spy, rabbit spy", "...", "..."),
            bonus=bonus,
            dealer=0,
            owl_family=owl_family,
        ).play(PASS)
        assert (table.season, table.phase, table.owl_family) == (2, LOT, NO_FAMILY)
        assert table.season_medals[0].tolist() == [0, 0, 2, 0, 0]


@pytest.mark.rule("AN-17")
@pytest.mark.rule("AN-18")
def test_each_collection_of_two_players_earns_medals_on_its_own():
    first = "cat lousy, dog lousy, horse lousy, rabbit lousy, parrot lousy"
    second = "cat spy, cat thief, dog spy, dog thief, horse spy"
    third = "dog prankster, cat prankster, cat elegant, parrot spy, parrot thief"
    fourth = "horse thief, horse prankster, rabbit spy, rabbit thief, owl"
    for owl, medals in (("horses", [2, 3, 0, 2, 2]), ("rabbits", [2, 2, 0, 3, 2])):
        table = award((first, second), (third, fourth), owl=owl)
        assert table.season_medals[0].tolist() == [3, 1, 3, 1, 1]
        assert table.season_medals[1].tolist() == medals
    # The owl of one collection does nothing for the other.
    table = award((third, fourth), (first, second), owl="dogs")
    assert table.season_medals[0].tolist() == [2, 2, 0, 2, 2]


@pytest.mark.rule("AN-17")
@pytest.mark.rule("AN-19")
def test_medals_add_up_over_the_seasons():
    table = award(
        *("cat lousy, cat spy, dog lousy, dog spy, horse spy", "...", "..."),
        medals=([1, 2, 3, 0, 0], [0, 0, 0, 0, 7], [4, 4, 0, 1, 0]),
        season=2,
    )
    assert table.medals[0].tolist() == [3, 2, 5, 0, 0]
    for player, before in ((1, [0, 0, 0, 0, 7]), (2, [4, 4, 0, 1, 0])):
        added = table.medals[player] - np.array(before)
        assert added.tolist() == table.season_medals[player].tolist()
        assert added.sum() > 0
    # Excellence counts at the end of the game.
    assert table.season_points[0] == 4


# ---------------------------------------------------------------------------------------------
# The end of the game, and rewards
# ---------------------------------------------------------------------------------------------

# What one point more than the mean of the table is worth.
POINT = 0.1
# In the order of the seats: two cats, two dogs, two horses.
TWO_EACH = (
    "cat lousy, cat spy, dog lousy, horse spy, rabbit thief",
    "dog spy, dog thief, cat thief, horse thief, rabbit spy",
    "horse lousy, horse prankster, parrot spy, cat prankster, dog prankster",
)
# Five cats, two dogs, two horses.
FIVE_CATS = (
    "cat lousy, cat spy, cat thief, cat elegant, cat prankster",
    "dog spy, dog thief, parrot thief, horse thief, rabbit spy",
    "horse lousy, horse prankster, parrot spy, rabbit thief, dog prankster",
)


def without(row, medals):
    """What of these medals was there before the last season brought some of them."""
    return [total - earned for total, earned in zip(row, medals, strict=True)]


def last_season(*rows, collections=TWO_EACH, season=3, **options):
    """A season of three players with what they have before it; in the last one the game ends."""
    return award(*collections, medals=rows, season=season, options=options)


def total_points(table, player):
    """AN-19: all medals, and the excellence that came with the last season."""
    excellence = table.season_points[player] - table.season_medals[player].sum()
    return table.medals[player].sum() + excellence


@pytest.mark.rule("AN-19")
@pytest.mark.parametrize(
    ("medals", "points"),
    [
        # The rulebook's three.
        ([5, 0, 3, 2, 0], 15),
        ([0, 7, 0, 6, 0], 23),
        ([2, 0, 11, 0, 2], 25),
        ([4, 0, 0, 0, 0], 4),
        ([5, 0, 0, 0, 0], 10),
        ([9, 0, 0, 0, 0], 14),
        ([10, 0, 0, 0, 0], 20),
        ([5, 5, 0, 0, 5], 30),
        ([4, 4, 2, 4, 0], 14),
        ([2, 0, 0, 0, 5], 12),
    ],
)
def test_each_five_medals_of_one_family_are_five_points_more(medals, points):
    """The last season brings two of the family of which there are most."""
    most = int(np.argmax(medals))
    earned = [2 * (k == most) for k in range(5)]
    own = {0: TWO_EACH[0], 1: TWO_EACH[2], 2: TWO_EACH[1]}.get(
        most, "parrot elegant, parrot spy, dog lousy, horse spy, cat thief"
    )
    table = award(own, "...", "...", medals=[without(medals, earned)], season=3)
    assert table.terminated
    assert table.season_medals[0].tolist() == earned
    assert table.medals[0].tolist() == medals
    assert total_points(table, 0) == points


@pytest.mark.rule("AN-18")
@pytest.mark.rule("AN-19")
@pytest.mark.parametrize(
    ("medals", "points"),
    [
        ([6, 0, 2, 0, 0], 8),
        ([7, 0, 2, 0, 0], 14),
        ([13, 0, 6, 0, 0], 24),
        ([14, 0, 4, 0, 4], 32),
        ([6, 2, 6, 6, 2], 22),
        ([7, 7, 7, 0, 0], 36),
    ],
)
def test_two_players_need_seven(medals, points):
    own = (TWO_EACH[0], "dog spy, dog thief, cat thief, horse thief, rabbit spy")
    earned = [2, 0, 2, 0, 0]
    others = (
        "cat champion, cat elegant, dog champion, dog elegant, ...",
        "horse champion, horse elegant, horse lousy, ...",
    )
    table = award(own, others, medals=[without(medals, earned)], season=3)
    assert table.terminated
    assert table.season_medals[0].tolist() == earned
    assert table.medals[0].tolist() == medals
    assert total_points(table, 0) == points


@pytest.mark.rule("AN-19")
@pytest.mark.parametrize(
    ("rows", "rank", "win"),
    [
        # What three players have before the season that brings two cats, two dogs, two horses.
        (([0] * 5, [0] * 5, [0] * 5), [0, 0, 0], [1 / 3] * 3),
        (([1, 0, 0, 0, 0], [0] * 5, [0] * 5), [1, -0.5, -0.5], [1, 0, 0]),
        (([0, 0, 1, 0, 0], [0, 0, 0, 1, 1], [0] * 5), [0, 1, -1], [0, 1, 0]),
        # Six points each: four of one family are more than three; a further tie is shared.
        (([2, 0, 2, 0, 0], [3, 0, 1, 0, 0], [4, 0, 0, 0, 0]), [0.5, -1, 0.5], [0.5, 0, 0.5]),
        (([2, 0, 2, 0, 0], [0, 0, 1, 0, 3], [0, 0, 0, 2, 2]), [1, 0, -1], [1, 0, 0]),
        # Ten points, five of them for excellence, are as many as ten medals, but one family's
        # five are more than four; and they are more than nine medals.
        (([3, 0, 0, 0, 0], [4, 0, 2, 0, 2], [4, 1, 0, 0, 2]), [1, 0, -1], [1, 0, 0]),
        # More medals of one family do not help a lower total.
        (([2, 0, 0, 0, 0], [1, 1, 0, 1, 1], [0] * 5), [0, 1, -1], [0, 1, 0]),
        # Eleven points with six cats, and twelve: the total first.
        (([4, 0, 0, 0, 0], [4, 3, 2, 1, 0], [1, 0, 0, 0, 4]), [0, 1, -1], [0, 1, 0]),
    ],
)
def test_the_highest_total_wins_and_ties_go_to_the_most_of_one_family(rows, rank, win):
    table = last_season(*rows, reward="rank")
    assert table.terminated
    assert table.legal() == []
    assert rewards(table) == pytest.approx(rank)
    assert rewards(last_season(*rows, reward="win")) == pytest.approx(win)


@pytest.mark.rule("AN-19")
@pytest.mark.parametrize("mode", ["rank", "win"])
def test_rank_and_win_pay_at_the_end_only(mode):
    table = last_season([9, 0, 0, 0, 0], [0] * 5, [0] * 5, season=2, reward=mode)
    assert (table.terminated, table.season) == (False, 3)
    assert not table.rewards.any()


@pytest.mark.rule("AN-17")
@pytest.mark.rule("AN-19")
def test_score_pays_the_points_of_each_season():
    """Relative to their mean; excellence of all seasons comes with the last one."""
    rows = ([6, 0, 4, 0, 0], [0, 0, 4, 0, 0], [0] * 5)
    table = last_season(*rows, collections=FIVE_CATS, season=2, reward="score")
    assert of_players(table, "season_points") == [5, 2, 2]
    assert rewards(table) == pytest.approx([2 * POINT, -POINT, -POINT])
    table.play(table.legal()[0])
    assert not table.rewards.any()
    table = last_season(*rows, collections=FIVE_CATS, reward="score")
    # Eleven cats and six dogs.
    assert of_players(table, "season_points") == [5 + 10, 2 + 5, 2]
    assert rewards(table) == pytest.approx([7 * POINT, -POINT, -6 * POINT])
    # A single season: ten points, two and two.
    table = last_season(collections=FIVE_CATS, season=1, reward="score", seasons=1)
    assert table.terminated
    assert rewards(table) == pytest.approx([16 / 3 * POINT, -8 / 3 * POINT, -8 / 3 * POINT])
    # Two players: four and two medals and excellence, against three times two medals.
    pairs = (
        ("cat lousy, cat spy, cat thief, cat elegant, dog lousy", FIVE_CATS[2]),
        (
            "dog spy, dog thief, cat champion, rabbit spy, rabbit lousy",
            "horse spy, dog elegant, dog champion, parrot thief, cat prankster",
        ),
    )
    medals = [[3, 0, 0, 0, 0], [0, 0, 2, 2, 0]]
    table = award(*pairs, medals=medals, season=3, options={"reward": "score"})
    assert of_players(table, "season_points") == [4 + 2 + 5, 2 + 2 + 2]
    assert rewards(table) == pytest.approx([2.5 * POINT, -2.5 * POINT])


@pytest.mark.parametrize(
    ("mode", "before_season_2", "expected"),
    [
        # Nobody is ahead before the first season is over.
        ("rank", None, [0, 0, 0]),
        ("win", None, [1 / 3] * 3),
        ("score", None, [0, 0, 0]),
        # Then the medals so far count, excellence included: ten points, eight, eight.
        ("rank", ([5, 0, 0, 0, 0], [0, 4, 4, 0, 0], [3, 0, 4, 1, 0]), [1, -0.5, -0.5]),
        ("win", ([5, 0, 0, 0, 0], [0, 4, 4, 0, 0], [0, 0, 4, 4, 0]), [1, 0, 0]),
        ("win", ([0, 0, 0, 0, 0], [0, 4, 4, 0, 0], [0, 0, 4, 4, 0]), [0, 0.5, 0.5]),
        ("score", ([5, 0, 0, 0, 0], [0, 4, 4, 0, 0], [0, 0, 4, 4, 0]), [0, 0, 0]),
    ],
)
def test_truncation_pays_the_medals_so_far(mode, before_season_2, expected):
    table = Table.lay_out(
        *("cat lousy", "dog lousy", ""),
        lot="owl",
        medals=before_season_2 or (),
        season=2 if before_season_2 else 1,
        options={"reward": mode, "max_steps": 2},
    ).play(PASS)
    assert not table.truncated
    assert not table.rewards.any()
    table.play(PASS)
    assert (table.truncated, table.terminated, table.legal()) == (True, False, [])
    assert rewards(table) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        # Five cats with excellence, two dogs, two horses.
        ("rank", [1, -0.5, -0.5]),
        ("win", [1, 0, 0]),
        ("score", [2 * POINT, -POINT, -POINT]),
    ],
)
def test_truncation_at_the_end_of_a_season_counts_it(mode, expected):
    table = last_season(collections=FIVE_CATS, season=1, reward=mode, max_steps=1)
    assert (table.truncated, table.terminated, table.season) == (True, False, 2)
    assert rewards(table) == pytest.approx(expected)


def test_standings_after_a_season_count_excellence():
    """Five cats are ten points, more than nine medals."""
    rows = ([0] * 5, [0, 0, 2, 4, 1], [0] * 5)
    table = last_season(*rows, collections=FIVE_CATS, season=2, max_steps=1)
    assert table.truncated
    assert rewards(table) == [1, 0, -1]


def test_a_game_that_ends_with_its_last_step_is_not_truncated():
    table = last_season([1, 0, 0, 0, 0], [0] * 5, [0] * 5, max_steps=1)
    assert (table.terminated, table.truncated) == (True, False)
    assert rewards(table) == [1, -0.5, -0.5]


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_all_is_new_in_the_next_game(num_players):
    """Whatever there was in the record before."""
    expected = Table(num_players, 9)
    options = GAME.encode_options({})
    for garbage in (1, 85):
        states = GAME.new_states(1)
        states.view(np.uint8)[:] = garbage
        GAME.rules.reset(states, 0, np.uint64(9), num_players, *options)
        for name in GAME.state_dtype.names:
            assert states[0][name].tolist() == expected.states[0][name].tolist(), name


# ---------------------------------------------------------------------------------------------
# What can be hidden
# ---------------------------------------------------------------------------------------------


def arrangements(table, player, seeds):
    """What lies at the hidden places in each of a number of determinizations, and which bonus card
    is being brought in."""
    for seed in range(seeds):
        after = table.copy().determinize(player, seed)
        check_invariants(GAME, after.states)
        hidden = [*range(after.drawn, after.deck_size)]
        hidden += [place for place, seat in enumerate(after.holder) if seat not in (-1, player)]
        yield tuple(CARDS[after.deck[place]] for place in hidden), int(after.chosen)


FOUR_COLLECTIONS = (
    ("parrot lousy, cat elegant, cat lousy, ...", "dog champion, dog elegant, dog lousy, ..."),
    ("horse champion, horse elegant, horse lousy, ...", "..."),
)
REPLACED = (
    "rabbit champion, rabbit elegant, rabbit prankster, parrot champion, parrot elegant, "
    "parrot thief, parrot spy"
)
# Besides these there are the champion of the cats (the lowest card), the lousy rabbit, the
# prankster of the parrots and the owl (the highest card).


def test_determinize_deals_the_hidden_cards_uniformly():
    """Two cards are in the draw pile; the other player has two, and is bringing one of them in."""
    table = Table.lay_out(
        *FOUR_COLLECTIONS,
        replaced=REPLACED,
        bonus={1: "cat champion, owl"},
        dealer=0,
        phase=TAKE_OUT,
        chosen="owl",
    )
    hidden = [*table.pile, "cat champion", "owl"]
    assert len(hidden) == 4
    found = Counter(arrangements(table, 0, 4_800))
    expected = {
        (cards, CARDS.index(chosen)): 100 for cards in permutations(hidden) for chosen in cards[2:]
    }
    assert set(found) == set(expected)
    counts = [found[arrangement] for arrangement in expected]
    assert chi_square(counts, [100] * 48) < CHI_SQUARE[47]


def test_determinize_deals_old_bonus_cards_uniformly_among_what_they_can_be():
    """Two of the hidden cards lay open when the other player's first bonus card had been dealt."""
    table = Table.lay_out(
        *FOUR_COLLECTIONS,
        replaced=REPLACED,
        bonus={1: "cat champion"},
        kept={1: "owl"},
        shown="cat champion, rabbit lousy",
        pile="rabbit lousy",
        dealer=0,
    )
    hidden = [*table.pile, "cat champion", "owl"]
    assert len(hidden) == 4
    found = Counter(arrangements(table, 0, 1_200))
    expected = [
        (cards, -1)
        for cards in permutations(hidden)
        if cards[3] not in ("cat champion", "rabbit lousy")
    ]
    assert set(found) == set(expected)
    counts = [found[arrangement] for arrangement in expected]
    assert chi_square(counts, [100] * 12) < CHI_SQUARE[11]


def test_determinize_leaves_what_a_spy_has_seen():
    table = Table.lay_out(
        *FOUR_COLLECTIONS,
        replaced=REPLACED,
        bonus={1: "owl, cat champion"},
        pile="rabbit lousy",
        seen={0: "rabbit lousy, owl", 1: "owl, cat champion"},
        dealer=0,
    )
    found = {cards for cards, _ in arrangements(table, 0, 30)}
    assert found == {
        ("rabbit lousy", first, "owl", second)
        for first, second in permutations(("cat champion", "parrot prankster"))
    }


# ---------------------------------------------------------------------------------------------
# Whole games
# ---------------------------------------------------------------------------------------------


ANIMALS_WITH_POWERS = [bits(f"{animal} {power}" for animal in ANIMALS) for power in POWERS]


def acquisitive(seed):
    """A choice that takes what triggers powers and uses them often, and bonus cards at times."""
    rng = np.random.default_rng(seed)
    steals_often, takes_often, exchanges_often = 0.3 + 0.7 * rng.random(), *rng.random(2)

    def choose(table, number):
        legal = table.legal()
        assert len(legal) > 1  # AN-10
        wish = takes_often
        if table.phase in (STEAL, GIVE):
            wish = steals_often
        elif table.phase == BRING_IN:
            wish = exchanges_often
        elif any(table.lot & with_power for with_power in ANIMALS_WITH_POWERS):
            wish = 0.9
        if legal[0] == PASS and rng.random() >= wish:
            return PASS
        return int(rng.choice([action for action in legal if action != PASS]))

    return choose


WHOLE_GAMES = [
    # (seasons, reward, max_steps)
    (3, "rank", 10_000),
    (3, "win", 10_000),
    (5, "score", 10_000),
    (1, "score", 10_000),
    (2, "rank", 10_000),
    (10, "win", 10_000),
    (3, "rank", 50),
    (3, "score", 60),
]


@pytest.mark.parametrize("num_players", each_size(2, 6))
@pytest.mark.rule("AN-3")
@pytest.mark.rule("AN-7")
@pytest.mark.rule("AN-9")
@pytest.mark.rule("AN-10")
@pytest.mark.rule("AN-11")
@pytest.mark.rule("AN-16")
@pytest.mark.rule("AN-17")
@pytest.mark.rule("AN-18")
@pytest.mark.rule("AN-19")
def test_whole_games_are_played_as_by_hand(num_players):
    """Everything in the record after every decision."""
    found = Counter()
    for seed, (seasons, reward, max_steps) in enumerate(WHOLE_GAMES):
        table = Table(num_players, seed, seasons=seasons, reward=reward, max_steps=max_steps)
        play = played(table, 5_000, acquisitive(seed))
        for _, before, after in played_by_hand(Reference, play):
            found["season"] += after.season > before.season
            stolen = after.collection & ~before.collection
            found["theft"] += before.phase == STEAL and bool(stolen[before.taken_into])
            found["gift"] += before.phase == RECEIVE
            found["exchange"] += before.phase == TAKE_OUT
            found["kept"] += after.season > before.season and after.bonus.any()
            found["owl"] += before.phase == OWL_FAMILY
        found["end" if table.terminated else "cut"] += 1
    assert (found["end"], found["cut"]) == (6, 2)
    assert found["season"] >= 19
    for name in ("theft", "gift", "exchange", "kept", "owl"):
        assert found[name] > 3, name


# ---------------------------------------------------------------------------------------------
# In the environment
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [-1, 0, 1, 7, 3.5, "4", True])
def test_other_numbers_of_players_are_refused(num_players):
    with pytest.raises(ValueError, match="2 to 6"):
        module_of(GAME).env(num_players=num_players)


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_actions_are_the_same_for_any_number_of_players(num_players):
    env = module_of(GAME).env(num_players=num_players)
    assert env.action_space("player_0").n == 49


@pytest.mark.rule("AN-6")
def test_the_environment_refuses_a_lot_that_does_not_fit():
    env = module_of(GAME).raw_env(num_players=3)
    env.reset(seed=3)
    with pytest.raises(ValueError, match="not legal"):
        env.step(take(2))
