"""What an action points at on the table: keys of places in the page, and how many cards there.

A key is ``-/ZONE`` for a zone of nobody's, ``PLAYER/ZONE`` for a player's, ``ZONE_KEY/SLOT`` for a
numbered slot, and ``ZONE_KEY/CARD`` for the cards of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from card_envs.contract.actions import Actions, Target, Value
from card_envs.contract.scene import Scene, Zone


def needs(scene: Scene, actions: Actions, action: int) -> dict[str, int]:
    """The keys of all that a legal action points at, each with a number.

    Args:
        scene: The table as the player to move sees it.
        actions: All actions of the game.
        action: The action.
    """
    kind, values = actions.decode(action)
    found: dict[str, int] = {}
    for target in actions[kind].points:
        cards = {}
        if target.cards:
            cards = actions[kind].parameters[target.cards].cards(values[target.cards])
        key = next(_zones(scene, target, values, set(cards)), None)
        if key is None:
            continue
        if cards:
            found |= {f"{key}/{name}": count for name, count in cards.items()}
        else:
            found[f"{key}/{values[target.slot]}" if target.slot else key] = 1
    return found


def _zones(
    scene: Scene, target: Target, values: Mapping[str, Value], cards: set[str]
) -> Iterator[str]:
    """The keys of the zones that a target may mean."""
    seat = values[target.seat] if isinstance(target.seat, str) else target.seat
    name = target.zone.format(**values)
    places: list[tuple[int | None, str, tuple[Zone, ...]]] = [(None, "-", scene.zones)]
    places += [(k, f"{other.player}", other.zones) for k, other in enumerate(scene.seats)]
    for k, owner, zones in places:
        for zone in zones:
            if target.value_of:
                is_it = zone.stands_for == (target.value_of, values[target.value_of])
                is_it = is_it and seat in (None, k)
            elif name:
                is_it = zone.name == name and seat == k
            else:
                is_it = zone.layout != "slots" and cards <= {card.name for card in zone.cards}
            if is_it:
                yield f"{owner}/{zone.name}"
