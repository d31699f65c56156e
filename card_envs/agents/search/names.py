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

# The keys that name policies.
_POLICIES = ("policy", "proposer")
_KEYS = (
    "method",
    *_POLICIES,
    "candidates",
    "worlds",
    "horizon",
    "caution",
    "exploration",
    "threads",
)
_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "horizon": ("a name", str),
    "candidates": ("a whole number or 'all'", lambda text: None if text == "all" else int(text)),
    "caution": ("a number", float),
    "exploration": ("a number", float),
}
_HALVING_ONLY, _TREE_ONLY = ("proposer", "candidates", "worlds", "caution"), ("exploration",)


def is_search(name: str) -> bool:
    """Whether a name stands for a search agent."""
    return name.startswith(_PREFIX)


def make_search_agent(
    name: str, game: Game, seed: int, make_agent: Callable[[str, Game], Agent]
) -> Agent:
    """The search agent of a name such as ``"search:64"`` or ``"search:256,policy=heuristic"``.

    The number of rollouts may be followed by ``method`` (``halving``: ``SearchAgent``, or ``tree``:
    ``TreeSearchAgent``) and their arguments ``policy``, ``proposer``, ``candidates`` (a number or
    ``all``), ``worlds``, ``horizon``, ``caution``, ``exploration`` and ``threads``. The path of a
    policy file may have commas.

    A policy proposes and plays the rollouts: the one that ``policy`` names, or the game's shipped
    ``ppo``. With ``policy=heuristic`` and ``policy=random`` these play the rollouts, and ``ppo``
    proposes if there is one. Where no policy is named or shipped the heuristic plays them, or
    random if there is none. ``proposer`` names another policy that proposes; with
    ``proposer=heuristic`` its action is proposed, and then the legal ones in their order.

    Args:
        name: The name.
        game: The game that it plays.
        seed: The seed of all random choices.
        make_agent: Makes policies by name.

    Raises:
        ValueError: The name cannot be read; the message says what is allowed.
    """
    method, rollouts, given = _read(name)
    first, played = policies_of(name, game)
    policy = played if played in KINDS else _network(name, "policy", played, game, make_agent)
    if first == "heuristic" and game.heuristic is None:
        raise ValueError(f"{name!r}: {game.id} has no heuristic that could propose")
    proposer = None
    if first == played and isinstance(policy, NetworkAgent):
        proposer = policy
    elif first is not None and first != "heuristic":
        proposer = _network(name, "proposer", first, game, make_agent)
    options: dict[str, Any] = {}
    for key, text in {"rollouts": rollouts, **given}.items():
        if key in _POLICIES:
            continue
        kind, read = _READERS.get(key, ("a whole number", int))
        try:
            options[key] = read(text)
        except ValueError:
            raise ValueError(f"{name!r}: {key} must be {kind}, got {text!r}") from None
    try:
        if method == "tree":
            return TreeSearchAgent(game, name, policy=policy, seed=seed, **options)
        return SearchAgent(game, name, policy=policy, proposer=proposer, seed=seed, **options)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None


def policies_of(name: str, game: Game) -> tuple[str | None, str]:
    """The names of who proposes and of who plays the rollouts of a search.

    Who proposes is None where all legal actions are tried in their order, and for a tree.

    Raises:
        ValueError: The name cannot be read; the message says what is allowed.
    """
    method, _, given = _read(name)
    shipped = "ppo" if "ppo" in shipped_policies(game) else None
    scripted = None if game.heuristic is None else "heuristic"
    policy = given.get("policy", shipped or scripted or "random")
    proposer = given.get("proposer", (shipped or scripted) if policy in KINDS else policy)
    return None if method == "tree" else proposer, policy


def _read(name: str) -> tuple[str, str, dict[str, str]]:
    """The method, the number of rollouts and the other words of a name."""
    first, *words = words_of(name)
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
    return method, first.removeprefix(_PREFIX), given


def policy_in(word: str) -> str:
    """The policy that a word of a name such as ``policy=heuristic`` names; "" if it names none."""
    key, _, policy = word.partition("=")
    return policy if key in _POLICIES else ""


def words_of(name: str) -> list[str]:
    """The words of a name between commas, except for commas in the paths of policy files.

    The longest path that names a file counts: a folder may be called ``seed=1,threads=2``.
    """
    rest, words = name.split(","), []
    while rest:
        key, _, start = rest[0].partition("=")
        ends = range(len(rest), 1, -1) if key in _POLICIES else ()
        paths = ((end, ",".join([start, *rest[1:end]])) for end in ends)
        end = next((end for end, path in paths if os.path.isfile(path)), 1)
        words.append(",".join(rest[:end]))
        rest = rest[end:]
    return words


def _network(
    name: str, key: str, policy: str, game: Game, make_agent: Callable[[str, Game], Agent]
) -> NetworkAgent:
    """The policy that a key of the name names."""
    try:
        agent = make_agent(policy, game)
    except ValueError as error:
        raise ValueError(f"{name!r}: {key}: {error}") from None
    if not isinstance(agent, NetworkAgent):
        others = ", heuristic or random" if key == "policy" else " or heuristic"
        raise ValueError(
            f"{name!r}: {key} must be a policy of the game, a policy file (.safetensors){others}"
        )
    return agent
