"""TorchRL: all agents of a game as one group, or one seat of a game or of a batch of games.

Needs ``pip install 'card_envs[torchrl]'``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from card_envs.envs.aec import CardEnv
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.utils.extras import import_extra

if TYPE_CHECKING:
    import torch
    from torchrl.envs import (
        ActionMask,
        Compose,
        DTypeCastTransform,
        GymWrapper,
        PettingZooWrapper,
        TransformedEnv,
    )
else:
    import_extra("torchrl", "torchrl")
    import torch
    from torchrl.envs import (
        ActionMask,
        Compose,
        DTypeCastTransform,
        GymWrapper,
        PettingZooWrapper,
        TransformedEnv,
    )

__all__ = ["make_env", "make_single_seat_env"]


def make_env(game: str, **options: Any) -> PettingZooWrapper:
    """The AEC environment as a TorchRL environment whose agents are one group, ``"players"``.

    Each step takes the action of the agent to move; those of the other agents are ignored. With
    P players, D observation values and A actions, the group holds

    - ``("observation", "observation")``: float32 (P, D) in [0, 1], each agent's own view;
    - ``"mask"``: bool (P,), True for the agent to move;
    - ``"action_mask"``: bool (P, A), the legal actions of the agent to move; all True for the
      others, so that a masked distribution is defined for them too;
    - ``"action"``: int64 (P,);
    - ``"reward"``: float32 (P, 1), and ``"done"``, ``"terminated"``, ``"truncated"``: bool (P, 1).

    Random actions (``rand_action``, a rollout without a policy) are legal, but not those of
    ``SerialEnv`` and ``ParallelEnv``, which sample without the masks. When a game is over,
    the agent selected has no legal actions: the last ``("next", "players", "action_mask")`` of a
    game must not reach a distribution.

    Args:
        game: An id of ``card_envs.GAMES``, or a versioned name.
        **options: As for ``card_envs.make``.

    Returns:
        A ``PettingZooWrapper`` of batch size ``()``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    _refuse(options, "mask")
    env = CardEnv(game, **options)
    with warnings.catch_warnings():
        # TorchRL warns of every version of PettingZoo but 1.24.3.
        warnings.filterwarnings("ignore", "PettingZoo in TorchRL is tested", UserWarning)
        return PettingZooWrapper(env, use_mask=True, group_map={"players": env.possible_agents})


def make_single_seat_env(game: str, num_envs: int | None = None, **options: Any) -> TransformedEnv:
    """One seat against opponents, of a game or of ``num_envs`` games that are stepped together.

    The keys, with the batch size B = ``(num_envs,)``, or ``()`` for one game, with D observation
    values and A actions, are

    - ``"observation"``: float32 (*B, D) in [0, 1];
    - ``"action_mask"``: bool (*B, A), the legal actions; all False when a game is over;
    - ``"action"``: int64 B;
    - ``"reward"``: float32 (*B, 1), and ``"done"``, ``"terminated"``, ``"truncated"``: bool
      (*B, 1).

    Random actions are legal, but for ``SerialEnv`` and ``ParallelEnv``, see :func:`make_env`: give
    ``num_envs`` instead. Games are reset one by one, when they end, by TorchRL.

    Args:
        game: An id of ``card_envs.GAMES``, or a versioned name.
        num_envs: Number of games; None: one, without a batch dimension.
        **options: As for ``card_envs.envs.single_seat.SingleSeatEnv``, such as ``num_players`` and
            ``opponents``.

    Returns:
        A ``GymWrapper`` with the transforms that make the masks bool and apply them to random
        actions.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    _refuse(options, "mask", "autoreset_mode")
    env: SingleSeatEnv | SingleSeatVectorEnv
    if num_envs is None:
        env = SingleSeatEnv(game, mask="observation", **options)
    else:
        # TorchRL resets games itself, and keeps their last observations as "next".
        env = SingleSeatVectorEnv(
            game, num_envs, mask="observation", autoreset_mode="DISABLED", **options
        )
    return TransformedEnv(
        GymWrapper(env, categorical_action_encoding=True),
        Compose(
            DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]),
            ActionMask(),
        ),
    )


def _refuse(options: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in options:
            raise ValueError(f"{name} is not taken here: TorchRL needs one of its values")
