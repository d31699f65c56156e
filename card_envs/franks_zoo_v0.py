"""Frank's Zoo is a climbing game: the leader plays cards of one animal, the others beat them or
pass, and everybody wants to be the first to run out of cards. From the second hand on players
have partners, who change from hand to hand with the ranking; once two players have 19 points,
the player with the most points wins.

    from card_envs import franks_zoo_v0

    env = franks_zoo_v0.env(num_players=4)

Agents are ``player_0``, ``player_1``, ... (3 to 7) in the order of the seats, clockwise. The rules,
the actions, the fields of the observation and the options are in
``card_envs/games/franks_zoo/RULES.md``; spaces, rewards and the end of an episode,
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

    partners: bool
    target_score: int


def env(**options: Unpack[Options]) -> CardEnv:
    """The environment for use: an illegal action ends the game."""
    return CardEnv("franks_zoo_v0", **options)


def raw_env(**options: Unpack[Options]) -> CardEnv:
    """The environment for testing: an illegal action raises an error."""
    options.setdefault("on_illegal", "raise")
    return CardEnv("franks_zoo_v0", **options)


def parallel_env(**options: Unpack[Options]) -> ParallelCardEnv:
    """The environment in PettingZoo's parallel API."""
    return ParallelCardEnv("franks_zoo_v0", **options)
