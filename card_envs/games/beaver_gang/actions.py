"""What a player of Beaver Gang can do: BG-8 to BG-18."""

from card_envs.contract import ORDINALS, Action, Actions, Parameter, Target
from card_envs.games.beaver_gang.state import MAX_PLAYERS, SLOTS

SEATS = Parameter(
    range(1, MAX_PLAYERS), [f"the {nth} player to the left" for nth in ORDINALS[: MAX_PLAYERS - 1]]
)

_DRAW_PILE, _DISCARD_PILE = Target("draw pile"), Target("discard pile")
_DRAWN_CARD = Target("drawn card", seat=0)
_OWN_SLOT = Target("slot", seat=0, slot="slot")
_OTHER_SLOT = Target("slot", seat="seat", slot="other_slot")

ACTIONS = Actions(
    Action(
        "take",
        "take the discard into slot {slot}",
        slot=SLOTS,
        points=(_DISCARD_PILE, _OWN_SLOT),
    ),
    Action("draw", "draw", points=(_DRAW_PILE,)),
    Action("discard", "discard the drawn card", points=(_DRAWN_CARD, _DISCARD_PILE)),
    Action(
        "exchange",
        "exchange the drawn card for slot {slot}",
        slot=SLOTS,
        points=(_DRAWN_CARD, _OWN_SLOT),
    ),
    Action(
        "swap",
        "swap slot {slot} with slot {other_slot} of {seat}",
        slot=SLOTS,
        seat=SEATS,
        other_slot=SLOTS,
        features=("slot", ("seat", "other_slot")),
        points=(_OWN_SLOT, _OTHER_SLOT),
    ),
    Action("peek", "peek at slot {slot}", slot=SLOTS, points=(_OWN_SLOT,)),
    Action("draw_two", "carry out draw two", points=(_DRAW_PILE,)),
    Action("knock", "knock"),
    Action("do_not_knock", "do not knock"),
)
ACT = ACTIONS.offsets()

# How many cards of others a swap can be with; each is SLOTS * (seat - 1) + their slot.
TARGETS = ACTIONS["swap"].stride("slot")
