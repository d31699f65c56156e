"""Protocols of ``card-envs benchmark``: a pool of opponents for each game, and fixed deals.

A protocol is declared in the JSON file of its name beside this module. Once its status is
``frozen`` nothing in it changes; what its pool plays is pinned by a hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from card_envs.agents.table import made_agent
from card_envs.contract.game import Game
from card_envs.engine.arena import Arena
from card_envs.evaluation.deals import deal_seeds
from card_envs.utils.words import did_you_mean

FOLDER = Path(__file__).parent
#: The protocol of the command.
CURRENT = "ce-1"

_ROUNDS = 10  # games of each table whose play is hashed


@dataclass(frozen=True)
class Pool:
    """The opponents of one game.

    Attributes:
        members: Their names.
        play: The SHA-256 of their play that is pinned, see :func:`hash_of_play`.
    """

    members: tuple[str, ...]
    play: str


@dataclass(frozen=True)
class Protocol:
    """What a benchmark plays.

    Attributes:
        name: Its name, which has its version.
        status: ``draft`` or ``frozen``.
        seed: The deals' seed.
        deals: The number of deals at each table; each is played in all cyclic seatings.
        quick_seed: That of the deals of ``--quick``: who tries agents out does not see the others.
        quick_deals: Their number.
        pools: The pools by the games' versioned names.
    """

    name: str
    status: str
    seed: int
    deals: int
    quick_seed: int
    quick_deals: int
    pools: Mapping[str, Pool]

    @classmethod
    def load(cls, name: str = CURRENT) -> Protocol:
        """The protocol of that name.

        Raises:
            ValueError: There is none.
        """
        known = sorted(path.stem for path in FOLDER.glob("*.json"))
        if name not in known:
            raise ValueError(
                f"there is no protocol {name!r}{did_you_mean(name, known)}; the protocols are "
                f"{', '.join(known)}"
            )
        declared = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        pools = {
            game: Pool(tuple(pool["members"]), pool["play"])
            for game, pool in declared.pop("pools").items()
        }
        return cls(name, pools=pools, **declared)

    def pool(self, game: Game) -> Pool:
        """The game's opponents.

        Raises:
            ValueError: It has none.
        """
        if game.name not in self.pools:
            raise ValueError(
                f"{self.name} has no opponents for {game.name}; its games are "
                f"{', '.join(self.pools)}"
            )
        return self.pools[game.name]


def hash_of_play(protocol: Protocol, game: Game) -> str:
    """A SHA-256 of what the protocol says of a game, of the game's default options, with which it
    is played, and of games between the pool's members.

    At each table size every member is in every seat of some games. A change of a policy, the
    heuristic, the search or the rules changes the actions of some of them, and so the hash.

    Args:
        protocol: The protocol.
        game: One of its games.
    """
    members = protocol.pool(game).members
    numbers = protocol.seed, protocol.deals, protocol.quick_seed, protocol.quick_deals
    declared = [protocol.name, *numbers, *members, game.check_options({})]
    sha = hashlib.sha256(json.dumps(declared).encode())
    count = len(members) * _ROUNDS
    indices = np.arange(count)
    seating = (indices[:, None] + np.arange(game.max_players)) % len(members)
    with ExitStack() as stack:
        agents = [made_agent(name, game, protocol.seed, stack) for name in members]
        for players in game.table_sizes:
            arena = Arena(game, count, agents, keep_histories=True, reward="score")
            seeds = deal_seeds(protocol.seed + players, count)
            arena.start(indices, seeds, np.full(count, players), seating)
            for i, steps in enumerate(arena.states["steps"].tolist()):
                sha.update(arena.histories[i, :steps].astype("<i8").tobytes())
                sha.update(arena.states["standing"][i, :players].astype("<i8").tobytes())
    return sha.hexdigest()
