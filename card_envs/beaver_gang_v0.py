"""Beaver Gang is a card game about remembering: everybody has four cards face down, has seen only
some of them, and exchanges high cards for low ones until somebody calls the last lap. The player
with the lowest total over all rounds wins.

    from card_envs import beaver_gang_v0

    env = beaver_gang_v0.env(num_players=4)

Agents are ``player_0``, ``player_1``, ... (2 to 6) in the order of the seats, clockwise. The rules,
the actions, the fields of the observation and the options are in
``card_envs/games/beaver_gang/RULES.md``; spaces, rewards and the end of an episode,
which are the same for every game, in ``card_envs.envs.aec.CardEnv``.

Version history:
    v0: the present rules and dealing.
"""

from __future__ import annotations

from typing import Unpack

from card_envs.envs.aec import CardEnv
from card_envs.envs.options import EnvOptions
from card_envs.envs.parallel import ParallelCardEnv


class Options(EnvOptions, total=False):
    """The options of every environment and those of this game."""

    rounds: int | None


def env(**options: Unpack[Options]) -> CardEnv:
    """The environment for use: an illegal action ends the game."""
    return CardEnv("beaver_gang_v0", **options)


def raw_env(**options: Unpack[Options]) -> CardEnv:
    """The environment for testing: an illegal action raises an error."""
    options.setdefault("on_illegal", "raise")
    return CardEnv("beaver_gang_v0", **options)


def parallel_env(**options: Unpack[Options]) -> ParallelCardEnv:
    """The environment in PettingZoo's parallel API."""
    return ParallelCardEnv("beaver_gang_v0", **options)
