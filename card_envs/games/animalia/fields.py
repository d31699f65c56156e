"""The layout of Animalia's observation and of its full state; ``observation.py`` writes them."""

from card_envs.contract import Field, Fields
from card_envs.games.animalia.cards import NUM_CARDS, NUM_FAMILIES, NUM_MEMBERS
from card_envs.games.animalia.powers import CARDS_SPIED
from card_envs.games.animalia.state import (
    FULL,
    MAX_COLLECTIONS,
    MAX_LOT,
    MAX_PLAYERS,
    MAX_SEASONS,
    NUM_PHASES,
    SEASONS,
)

# A card as its family (the owl's is the last) and its member (the owl has none).
CARD_SIZE = NUM_FAMILIES + 1 + NUM_MEMBERS
# Medals that lack to a group: from FEWEST on; medals beyond full groups: at most 6 (of 7).
LACKING = 9
FEWEST = -2
REST = 6
# Ages of bonus cards that ``bonus_spied`` tells apart: those of a game of the usual length.
AGES = SEASONS
# Points that an exchange is said to gain.
MOST_GAIN = 8

# Scales.
LEAST_ELEGANCE, MOST_ELEGANCE = -5, 15
MOST_BONUS = 16  # the most cards that are in no collection at the end of a season
MOST_POINTS = 100
MOST_SEASON_MEDALS = 10  # of one family: all animals of two collections
MOST_MEDALS = MOST_SEASON_MEDALS * MAX_SEASONS

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field(
        "phase",
        (NUM_PHASES,),
        "one-hot decision: the lot, a card to steal, a card to give, who receives it, a bonus card "
        "to bring in, the card that it replaces, the owl's family",
    ),
    Field("dealer", (MAX_PLAYERS,), "one-hot seat of the dealer"),
    Field("must_take", (1,), "1 if the lot may not be passed"),
    Field("lot_size", (MAX_LOT,), "one-hot number of cards in the lot"),
    Field("lot", (NUM_CARDS,), "1 for each card in the lot"),
    Field("last_season", (1,), "1 in the last season"),
    Field("seasons_left", (1,), "seasons after this one", scale=MAX_SEASONS),
    Field(
        "collections",
        (MAX_COLLECTIONS, NUM_CARDS),
        "1 for each card in a collection; with two players the observer's two, then the other's, "
        "otherwise one for each seat",
    ),
    Field("size", (MAX_COLLECTIONS, FULL), "entry c is 1 if a collection has more than c cards"),
    Field(
        "elegance",
        (MAX_COLLECTIONS,),
        "stars minus black spots of a collection, + 5",
        scale=MOST_ELEGANCE - LEAST_ELEGANCE,
    ),
    Field("taken_into", (MAX_COLLECTIONS,), "one-hot collection that triggered a power"),
    Field("gift_follows", (1,), "1 if a prankster acts after the thief, or now"),
    Field(
        "bonus_cards",
        (MAX_PLAYERS, MAX_SEASONS),
        "bonus cards of each seat, by the seasons since they were drawn, from 0: in this one",
        scale=MOST_BONUS,
    ),
    Field("pile_size", (1,), "cards in the draw pile", scale=NUM_CARDS),
    Field(
        "spied",
        (MAX_PLAYERS,),
        "cards on top of the draw pile that a seat's spies saw",
        scale=CARDS_SPIED,
    ),
    Field("owl_family", (NUM_FAMILIES,), "one-hot family that the owl was named last season"),
    Field(
        "season_medals",
        (MAX_PLAYERS, NUM_FAMILIES),
        "medals of each family that each seat won last season",
        scale=MOST_SEASON_MEDALS,
    ),
)

FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "medals",
        (MAX_PLAYERS, NUM_FAMILIES),
        "medals of each family; with memory=none those of the others of last season only",
        scale=MOST_MEDALS,
    ),
    Field(
        "chosen",
        (CARD_SIZE,),
        "one-hot family, the owl last, and one-hot member of the card chosen to be given, or, by "
        "the observer, to be brought in",
    ),
    Field("bonus", (NUM_CARDS,), "1 for each bonus card of the observer"),
    Field(
        "spied_cards",
        (CARDS_SPIED, CARD_SIZE),
        "the next cards of the draw pile, if the observer's spies saw them: one-hot family, the "
        "owl last, and one-hot member",
    ),
    Field(
        "unseen",
        (NUM_CARDS,),
        "1 for each card that the observer has not located; one that is nowhere was replaced "
        "(AN-17) or is not in the game (AN-2)",
    ),
    Field(
        "located",
        (NUM_CARDS,),
        "last season at whose end the observer saw the card elsewhere: open on the table, or in "
        "what was left of the draw pile; of a bonus card that they know, the season before it was "
        "drawn",
        scale=MAX_SEASONS,
        remembered=True,
    ),
    Field(
        "known_bonus",
        (NUM_CARDS,),
        "places to the left of the player who has a bonus card that the observer's spies saw",
        scale=MAX_PLAYERS - 1,
        remembered=True,
    ),
    Field(
        "bonus_seen",
        (MAX_PLAYERS,),
        "bonus cards of a seat that others' spies saw",
        scale=MOST_BONUS,
        remembered=True,
    ),
    Field(
        "bonus_spied",
        (MAX_PLAYERS, MAX_PLAYERS, AGES),
        "bonus cards of each seat that another seat's spies saw: holder, spy, seasons since they "
        "were drawn, at most 2",
        scale=MOST_BONUS,
        remembered=True,
    ),
    Field(
        "spied_by",
        (NUM_CARDS,),
        "for each bonus card that the observer has or whose holder they know: how many players "
        "besides these two have spied it",
        scale=MAX_PLAYERS - 1,
        remembered=True,
    ),
    Field(
        "with_lot",
        (2, NUM_FAMILIES, FULL),
        "one-hot number of animals of each family, from 1, in the observer's collections, each "
        "together with the lot if it has room for it",
        derived=True,
    ),
    Field(
        "lacking",
        (2, NUM_FAMILIES, LACKING),
        "one-hot number of medals, from -2 to 6 or more, that the observer lacks to the next group "
        "(AN-19) of each family if these animals earn medals",
        derived=True,
    ),
    Field(
        "triggers",
        (2, 3),
        "1 if the lot would trigger the power of thief, spy, prankster in each of the observer's "
        "collections",
        derived=True,
    ),
    Field(
        "rest",
        (NUM_FAMILIES, REST),
        "one-hot number of medals of each family that the observer has beyond full groups, from 1",
    ),
    Field(
        "points",
        (MAX_PLAYERS,),
        "points of each seat so far, at most 100",
        scale=MOST_POINTS,
        remembered=True,
    ),
    Field(
        "best_cards",
        (NUM_CARDS,),
        "in phase 3, for the seat to move: 1 for each bonus card to bring in, or card to take out, "
        "with which an exchange gains most points at once, with excellence and the owl at its best",
        derived=True,
    ),
    Field(
        "best_gain",
        (MOST_GAIN,),
        "entry c is 1 if that exchange gains more than c points",
        derived=True,
    ),
    Field(
        "best_families",
        (NUM_FAMILIES,),
        "1 for each family as which the owl gains most",
        derived=True,
    ),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field("medals", (MAX_PLAYERS, NUM_FAMILIES), "medals of each family", scale=MOST_MEDALS),
    Field(
        "chosen",
        (CARD_SIZE,),
        "one-hot family, the owl last, and one-hot member of the card chosen to be given or to be "
        "brought in",
    ),
    Field("bonus", (MAX_PLAYERS, NUM_CARDS), "1 for each bonus card of a seat"),
    Field(
        "pile",
        (NUM_CARDS,),
        "place of each card in the draw pile, 1 the top; 0: not in it",
        scale=NUM_CARDS,
    ),
    Field(
        "seen",
        (MAX_PLAYERS, NUM_CARDS),
        "1 for each card of the draw pile and each bonus card that a seat's spies saw",
    ),
    Field(
        "located",
        (MAX_PLAYERS, NUM_CARDS),
        "as each seat observes it with perfect recall",
        scale=MAX_SEASONS,
    ),
)
