"""Agents: ``random``, ``heuristic``, shipped policies such as ``ppo``, policy files, functions,
searches, programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from card_envs.agents.function import FunctionAgent
from card_envs.agents.network import NetworkAgent
from card_envs.agents.programs import ProgramAgent, is_program
from card_envs.agents.scripted import HeuristicAgent, RandomAgent
from card_envs.agents.search.agents import SearchAgent, TreeSearchAgent
from card_envs.agents.search.names import is_search, make_search_agent
from card_envs.agents.shipped import policy_path, shipped_policies
from card_envs.contract.agent import (
    FORFEIT,
    Agent,
    Follower,
    FollowingAgent,
    GameForfeitedError,
    Turn,
    choose,
)
from card_envs.contract.game import Game, check_is_game
from card_envs.engine.seeds import check_given_seed

__all__ = [
    "FORFEIT",
    "Agent",
    "AgentLike",
    "Follower",
    "FollowingAgent",
    "FunctionAgent",
    "GameForfeitedError",
    "HeuristicAgent",
    "NetworkAgent",
    "ProgramAgent",
    "RandomAgent",
    "SearchAgent",
    "TreeSearchAgent",
    "Turn",
    "agent_names",
    "as_agent",
    "choose",
    "is_program",
    "make_agent",
    "policy_path",
    "shipped_policies",
]

#: What can be given wherever an agent is expected: a name, the path of a policy file, an agent, or
#: a function of observations and masks (see ``FunctionAgent``).
AgentLike = str | os.PathLike[str] | Agent | Callable[..., Any]


def agent_names(game: Game) -> list[str]:
    """The names that ``make_agent`` accepts for this game, besides paths of policy files."""
    check_is_game(game)
    return ["random", *["heuristic"] * (game.heuristic is not None), *shipped_policies(game)]


def make_agent(name: str | os.PathLike[str], game: Game, seed: int = 0) -> Agent:
    """The agent of that name for a game.

    Args:
        name: ``random``, ``heuristic``, a shipped policy (``ppo``), the path of a policy file,
            ``search:N`` (see ``card_envs.agents.search.names``), or ``cmd:PROGRAM ARGS`` (see
            ``ProgramAgent``).
        game: The game that it plays.
        seed: For agents that choose at random.

    Raises:
        ValueError: There is no such agent for this game, the name of a search or a program cannot
            be read, there is no such program, or the policy file is damaged or made for another
            game or observation.
        TypeError: It is neither a name nor a path, the seed is not a whole number, or ``game`` is
            not a ``Game``.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"an agent's name or the path of a policy file is needed, got {name!r}")
    check_is_game(game)
    name = os.fsdecode(name)
    seed = check_given_seed(seed)
    if name == "random":
        return RandomAgent(game, seed)
    if name == "heuristic":
        return HeuristicAgent(game)
    if is_search(name):
        return make_search_agent(name, game, seed, make_agent)
    if is_program(name):
        return ProgramAgent(name, game, seed)
    path = policy_path(name, game)
    if path is not None:
        return NetworkAgent.from_file(path, game, name=name, draw_seed=seed)
    raise ValueError(
        f"there is no agent {name!r} for {game.id}; "
        f"the agents are {', '.join(agent_names(game))}, search:N, "
        "cmd:PROGRAM, or the path of a policy file"
    )


def as_agent(agent: AgentLike, game: Game, seed: int = 0) -> Agent:
    """An agent from a name, a path, an agent, or a function of observations and masks.

    Raises:
        ValueError: As for ``make_agent``, or it is an agent for another game.
        TypeError: It is none of these, or ``game`` is not a ``Game``.
    """
    check_is_game(game)
    if isinstance(agent, (str, os.PathLike)):
        return make_agent(agent, game, seed)
    if isinstance(agent, Agent):
        agent.check_game(game)
        return agent
    if callable(agent) and not isinstance(agent, type):
        return FunctionAgent(getattr(agent, "__name__", "function"), agent)
    raise TypeError(
        "an agent is a name, the path of a policy file, a card_envs.agents.Agent, or a function of "
        f"observations and masks, got {agent!r}"
    )
