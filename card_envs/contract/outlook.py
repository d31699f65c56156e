"""How likely a lead is to last: the value of an intermediate standing to a search."""

from __future__ import annotations

import math

from card_envs.kernels.jit import jit
from card_envs.kernels.portable_math import exp

# A logistic curve that is near the normal distribution's.
_STEEPNESS = 1.702


@jit
def promise(lead, variance):
    """The expected rank reward against one opponent, from -1 to 1.

    Args:
        lead: How far the player is ahead; negative: behind.
        variance: The variance of the change in the lead that is still to come; 0: none.
    """
    if lead == 0.0:
        return 0.0
    if variance <= 0.0:
        return 1.0 if lead > 0.0 else -1.0
    behind = exp(-_STEEPNESS * abs(lead) / math.sqrt(variance))
    value = (1.0 - behind) / (1.0 + behind)
    return value if lead > 0.0 else -value
