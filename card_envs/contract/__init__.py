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
    count_of,
    count_packed,
    deal_packed,
    draw_card,
    draw_packed,
    lay_out,
    shuffle,
)
from card_envs.contract.fields import MAX_SCALE, Field, Fields
from card_envs.contract.game import Game
from card_envs.contract.observing import (
    MEMORY_NONE,
    MEMORY_PERFECT,
    allow,
    clear_fields,
    entry,
    index,
    relative_seat,
    share,
    table_of,
    thermometers,
    write_counts,
    write_row,
)
from card_envs.contract.options import Option, View
from card_envs.contract.outcome import (
    begin,
    begin_step,
    common_dtype,
    end_step,
    is_over,
    pay_points,
)
from card_envs.contract.outlook import promise
from card_envs.contract.scene import (
    Card,
    Grid,
    RankedPlayer,
    Scene,
    Seat,
    Zone,
    cards_of,
    clockwise,
    hand_of,
    label_of,
    request,
    scene_of,
    seat_of,
    to_move,
)
from card_envs.contract.seat_order import to_the_left
from card_envs.contract.style import Face, Style
from card_envs.kernels.bytewise import EACH, bits_of, eight, find_place, sum_of
from card_envs.kernels.jit import inline, jit
from card_envs.kernels.portable_math import exp, log
from card_envs.kernels.rng import draw_below, mix, reseed, seed_stream
from card_envs.kernels.scratch import scratch
from card_envs.utils.words import ORDINALS, capitalized, counted, listed

__all__ = [
    "EACH",
    "MAX_SCALE",
    "MEMORY_NONE",
    "MEMORY_PERFECT",
    "ORDINALS",
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
    "allow",
    "begin",
    "begin_step",
    "bits_of",
    "capitalized",
    "cards_of",
    "clear_fields",
    "clockwise",
    "common_dtype",
    "count_of",
    "count_packed",
    "counted",
    "deal_packed",
    "draw_below",
    "draw_card",
    "draw_packed",
    "eight",
    "end_step",
    "entry",
    "exp",
    "find_place",
    "hand_of",
    "index",
    "inline",
    "is_over",
    "jit",
    "label_of",
    "lay_out",
    "listed",
    "log",
    "mix",
    "pay_points",
    "promise",
    "relative_seat",
    "request",
    "reseed",
    "scene_of",
    "scratch",
    "seat_of",
    "seed_stream",
    "share",
    "shuffle",
    "sum_of",
    "table_of",
    "thermometers",
    "to_move",
    "to_the_left",
    "write_counts",
    "write_row",
]
