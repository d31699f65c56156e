"""The options that the environments share, with their types and what they mean."""

from __future__ import annotations

from typing import TypedDict

#: What ``render_mode`` may be, besides None.
RENDER_MODES = ("ansi", "human", "rgb_array", "svg")


class EnvOptions(TypedDict, total=False):
    """Options of every PettingZoo environment.

    Those of the Gymnasium environments and of the games in words that have the same name mean the
    same, unless their classes say otherwise. What a game's own options mean is in its RULES.md.

    Attributes:
        num_players: Number of players; None: the game's default.
        reward: ``"rank"`` (at the end, the mean over the opponents of +1, 0, -1 for
            finishing ahead, level, behind), ``"win"`` (the winners share 1) or ``"score"``
            (each round's points relative to the table's mean, times ``game.score_scale``).
        max_steps: Decisions of all players together after which a game is truncated.
        memory: What observations hold: ``"perfect"`` (perfect recall) or ``"none"`` (what
            the player can see now).
        features: Whether derived fields are written, or left 0.
        mask: Where the action mask is: ``"observation"`` (with the observation, in a Dict)
            or ``"info"`` (observations are a Box alone).
        on_illegal: ``"terminate"`` (an illegal action ends the game with -1 for the
            offender) or ``"raise"`` (it is a ValueError and nothing changes).
        render_mode: What ``render()`` does: None, ``"ansi"`` (returns the table in words),
            ``"rgb_array"`` (returns a picture, uint8 (720, 960, 3)), ``"svg"`` (returns it
            as the text of an SVG file) or ``"human"`` (a window shows the table after each
            step). Pictures need ``pip install 'card_envs[render]'``.
        render_perspective: Whose view is drawn: None (the agent to move, or the learner), a
            seat from 0 on, or ``"all"`` (an open table: as player 0 sees it, with all
            players' cards face up).
    """

    num_players: int | None
    reward: str
    max_steps: int
    memory: str
    features: bool
    mask: str
    on_illegal: str
    render_mode: str | None
    render_perspective: int | str | None


def check_on_illegal(on_illegal: str) -> str:
    """What an illegal action does; a ValueError unless it is one of those above."""
    if on_illegal not in ("terminate", "raise"):
        raise ValueError(f"on_illegal must be 'terminate' or 'raise', got {on_illegal!r}")
    return on_illegal


def pays_standing(reward: str) -> bool:
    """Whether a game with this option pays its standing when it ends, also where it is truncated,
    which leaves nothing to bootstrap; else each round pays."""
    return reward != "score"
