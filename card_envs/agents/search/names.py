"""Searches by name: ``search:N`` and what may follow it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from card_envs.agents.network import NetworkAgent
from card_envs.agents.search.agents import KINDS, SearchAgent, TreeSearchAgent
from card_envs.agents.shipped import shipped_policies
from card_envs.contract.agent import Agent
from card_envs.contract.game import Game

METHODS = ("halving", "tree")

_PREFIX = "search:"

_KEYS = ("method", "policy", "candidates", "worlds", "horizon", "caution", "exploration", "threads")
_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "horizon": ("a name", str),
    "candidates": ("a whole number or 'all'", lambda text: None if text == "all" else int(text)),
    "caution": ("a number", float),
    "exploration": ("a number", float),
}
_HALVING_ONLY, _TREE_ONLY = ("candidates", "worlds", "caution"), ("exploration",)


def is_search(name: str) -> bool:
    """Whether a name stands for a search agent."""
    return name.startswith(_PREFIX)


def make_search_agent(
    name: str, game: Game, seed: int, make_agent: Callable[[str, Game], Agent]
) -> Agent:
    """The search agent of a name such as ``"search:64"`` or ``"search:256,policy=heuristic"``.

    The number of rollouts may be followed by ``method`` (``halving``: ``SearchAgent``, or ``tree``:
    ``TreeSearchAgent``) and their arguments ``policy``, ``candidates`` (a number or ``all``),
    ``worlds``, ``horizon``, ``caution``, ``exploration`` and ``threads``. The path of a policy file
    may have commas.

    A policy proposes and plays the rollouts: the one that ``policy`` names, or the game's shipped
    ``ppo``. With ``policy=heuristic`` and ``policy=random`` these play the rollouts, and ``ppo``
    proposes if there is one. Where no policy is named or shipped the heuristic plays them, or
    random if there is none.

    Args:
        name: The name.
        game: The game that it plays.
        seed: The seed of all random choices.
        make_agent: Makes policies by name.

    Raises:
        ValueError: The name cannot be read; the message says what is allowed.
    """
    rollouts, *words = _words(name.removeprefix(_PREFIX))
    given = dict(word.partition("=")[::2] for word in words)
    method = given.pop("method", METHODS[0])
    if method not in METHODS:
        raise ValueError(f"{name!r}: method must be {' or '.join(METHODS)}, got {method!r}")
    unused = _HALVING_ONLY if method == "tree" else _TREE_ONLY
    keys = [key for key in _KEYS if key not in unused]
    if not given.keys() <= set(keys) or len({word.partition("=")[0] for word in words}) < len(
        words
    ):
        raise ValueError(
            f"{name!r}: search:N may be followed by KEY=VALUE, separated by commas, each key once; "
            f"the keys of {method} are {', '.join(keys)}"
        )
    proposer, policy = _policies(name, game, given.pop("policy", None), make_agent)
    options: dict[str, Any] = {}
    for key, text in {"rollouts": rollouts, **given}.items():
        kind, read = _READERS.get(key, ("a whole number", int))
        try:
            options[key] = read(text)
        except ValueError:
            raise ValueError(f"{name!r}: {key} must be {kind}, got {text!r}") from None
    if method == "tree":
        return TreeSearchAgent(game, name, policy=policy, seed=seed, **options)
    return SearchAgent(game, name, policy=policy, proposer=proposer, seed=seed, **options)


def _words(text: str) -> list[str]:
    """The words between commas, except for commas in the path of a policy file.

    The longest path that names a file counts: a folder may be called ``seed=1,threads=2``.
    """
    words = text.split(",")
    for start, word in enumerate(words):
        if word.startswith("policy="):
            for end in range(len(words), start + 1, -1):
                joined = ",".join(words[start:end])
                if os.path.isfile(joined.removeprefix("policy=")):
                    return [*words[:start], joined, *words[end:]]
    return words


def _policies(
    name: str, game: Game, policy: str | None, make_agent: Callable[[str, Game], Agent]
) -> tuple[NetworkAgent | None, NetworkAgent | str]:
    """The proposer, and the policy of the rollouts."""
    shipped = make_agent("ppo", game) if "ppo" in shipped_policies(game) else None
    proposer = shipped if isinstance(shipped, NetworkAgent) else None
    if policy is None:
        fallback = "random" if game.heuristic is None else "heuristic"
        return proposer, proposer or fallback
    if policy in KINDS:
        return proposer, policy
    try:
        player = make_agent(policy, game)
    except ValueError as error:
        raise ValueError(f"{name!r}: policy: {error}") from None
    if not isinstance(player, NetworkAgent):
        raise ValueError(f"{name!r}: policy must be a policy, heuristic or random")
    return player, player
