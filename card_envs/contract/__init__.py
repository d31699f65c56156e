"""What a game must give, and what its author needs for that: all of it is imported from here.

``Game`` and its ``Option``; ``Actions``, and the ``Fields`` of observations; the ``Scene`` of a
table and the ``Style`` of its pictures; the contract of agents; and the helpers that kernels are
written with.
"""

from __future__ import annotations

from card_envs.contract.actions import Action, Actions, Parameter, Target
from card_envs.contract.agent import Agent, Follower, FollowingAgent, Turn
from card_envs.contract.cards import (
    PACKED_BITS,
    count_packed,
    draw_card,
    draw_packed,
    lay_out,
    shuffle,
)
from card_envs.contract.fields import MAX_SCALE, Field, Fields
from card_envs.contract.game import Game, Option, View
from card_envs.contract.observing import (
    MEMORY_NONE,
    MEMORY_PERFECT,
    entry,
    index,
    relative_seat,
    share,
    table_of,
    thermometers,
)
from card_envs.contract.outcome import begin, begin_step, common_dtype, end_step, pay_points
from card_envs.contract.outlook import promise
from card_envs.contract.scene import (
    Card,
    Grid,
    RankedPlayer,
    Scene,
    Seat,
    Zone,
    clockwise,
    is_over,
    label_of,
    mover,
    place_of,
    standing,
    to_move,
)
from card_envs.contract.seat_order import to_the_left
from card_envs.contract.style import Face, Style
from card_envs.kernels.bytewise import EACH, bits_of, eight, find_place, sum_of
from card_envs.kernels.jit import inline, jit
from card_envs.kernels.portable_math import exp, log
from card_envs.kernels.rng import draw_below, mix, seed_stream
from card_envs.kernels.scratch import scratch
from card_envs.utils.words import capitalized, counted, listed

__all__ = [
    "EACH",
    "MAX_SCALE",
    "MEMORY_NONE",
    "MEMORY_PERFECT",
    "PACKED_BITS",
    "Action",
    "Actions",
    "Agent",
    "Card",
    "Face",
    "Field",
    "Fields",
    "Follower",
    "FollowingAgent",
    "Game",
    "Grid",
    "Option",
    "Parameter",
    "RankedPlayer",
    "Scene",
    "Seat",
    "Style",
    "Target",
    "Turn",
    "View",
    "Zone",
    "begin",
    "begin_step",
    "bits_of",
    "capitalized",
    "clockwise",
    "common_dtype",
    "count_packed",
    "counted",
    "draw_below",
    "draw_card",
    "draw_packed",
    "eight",
    "end_step",
    "entry",
    "exp",
    "find_place",
    "index",
    "inline",
    "is_over",
    "jit",
    "label_of",
    "lay_out",
    "listed",
    "log",
    "mix",
    "mover",
    "pay_points",
    "place_of",
    "promise",
    "relative_seat",
    "scratch",
    "seed_stream",
    "share",
    "shuffle",
    "standing",
    "sum_of",
    "table_of",
    "thermometers",
    "to_move",
    "to_the_left",
]
