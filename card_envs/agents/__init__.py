"""Agents: ``random``, ``heuristic``, shipped policies such as ``ppo``, policy files, searches,
programs, and users' own code."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from card_envs.agents.function import FunctionAgent
from card_envs.agents.imported import agent_of, imported_agent, is_imported, own_name, runs_code
from card_envs.agents.network import NetworkAgent
from card_envs.agents.onnx import onnx_agent
from card_envs.agents.programs import ProgramAgent, is_program
from card_envs.agents.scripted import HeuristicAgent, RandomAgent
from card_envs.agents.search.agents import SearchAgent, TreeSearchAgent
from card_envs.agents.search.names import is_search, make_search_agent
from card_envs.agents.shipped import (
    POLICY_SUFFIXES,
    policy_path,
    policy_versions,
    shipped_policies,
)
from card_envs.contract.agent import (
    FORFEIT,
    Agent,
    Follower,
    FollowingAgent,
    GameForfeitedError,
    Turn,
    choose,
    turn_of,
)
from card_envs.contract.game import Game
from card_envs.engine.seeds import check_given_seed
from card_envs.games import as_game
from card_envs.utils.words import did_you_mean

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
    "make_agent",
    "policy_path",
    "runs_code",
    "shipped_policies",
    "turn_of",
]

#: What can be given wherever an agent is expected: a name, a path, an agent, a class or a function
#: of ``game`` that makes one, or a function of observations and masks (see ``FunctionAgent``).
AgentLike = str | os.PathLike[str] | Agent | Callable[..., Any]

#: What an agent may be called besides those that come with a game, in words.
OTHER_NAMES = (
    "search:N, a policy file (.safetensors, .onnx), a training run's folder, MODULE:THING, "
    "FILE.py:THING, or cmd:PROGRAM"
)

_MAY_HOLD_CODE = (".pt", ".pth", ".zip", ".pkl", ".pickle", ".joblib", ".ckpt")


def agent_names(game: Game | str) -> list[str]:
    """The agents that come with this game, by name. ``make_agent`` also takes the versions
    of policies (``ppo_v1``), paths, searches, programs and code."""
    game = as_game(game)
    return ["random", *game.scripted, *shipped_policies(game)]


def names_with_versions(game: Game) -> list[str]:
    """The names of :func:`agent_names`, then the versions of policies."""
    return [*agent_names(game), *policy_versions(game)]


def make_agent(name: str | os.PathLike[str], game: Game | str, seed: int = 0) -> Agent:
    """The agent of that name for a game.

    Args:
        name: ``random``, ``heuristic``, a shipped policy (``ppo``), the path of a policy file
            (safetensors or ONNX) or of a training run's folder (its newest policy), ``search:N``
            (see ``card_envs.agents.search.names``), ``module:thing`` or ``file.py:thing``, which is
            imported (see ``card_envs.agents.imported``), or ``cmd:PROGRAM ARGS`` (see
            ``ProgramAgent``).
        game: The game that it plays, or its name.
        seed: For agents that choose at random.

    Raises:
        ValueError: There is no such game, or no such agent for it, the name of a search or a
            program cannot be read, there is no such program, the thing cannot be imported or makes
            no agent, or the policy file is damaged or made for another game or observation.
        TypeError: It is neither a name nor a path, the seed is not a whole number, or ``game`` is
            neither a ``Game`` nor a name.
        OSError: A file cannot be read.
        MissingExtraError: An ONNX file needs onnxruntime.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"an agent's name or the path of a policy file is needed, got {name!r}")
    game = as_game(game)
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
    if is_imported(name):
        return imported_agent(name, game, seed)
    if name.endswith(".py"):
        raise ValueError(f"{name!r}: say what plays in this file, as {name}:THING")
    path = policy_path(name, game)
    if name.endswith(_MAY_HOLD_CODE):
        raise ValueError(
            f"{name!r}: such files may execute code when they are loaded, so none is; "
            "card_envs.export_policy(model, game, 'policy.onnx') writes a model as a policy file"
        )
    if path is None:
        raise ValueError(_no_agent(name, game))
    if path.suffix == ".onnx":
        return onnx_agent(path, game, name)
    return NetworkAgent.from_file(path, game, name=name, draw_seed=seed)


def _no_agent(name: str, game: Game) -> str:
    """What was tried for a name that stands for nothing."""
    names = names_with_versions(game)
    if os.path.isdir(name):
        why = ": that folder holds no training run, which has a config.yaml"
    elif os.sep in name or name.endswith(POLICY_SUFFIXES):
        why = ": there is no such file"
    else:
        why = did_you_mean(name, (*names, "search:64"))
    return (
        f"there is no agent {name!r} for {game.id}{why}; the agents are {', '.join(names)}, "
        f"{OTHER_NAMES}"
    )


def as_agent(agent: AgentLike, game: Game | str, seed: int = 0) -> Agent:
    """An agent from a name, a path, an agent, what makes one, or a function that plays.

    Args:
        agent: As for :func:`make_agent`, or what ``module:thing`` may name: an agent, a class or a
            function of ``game`` that makes one, or a function of observations and masks.
        game: The game that it plays, or its name.
        seed: For agents that are made here and choose at random.

    Raises:
        ValueError: As for ``make_agent``, or it is an agent for another game.
        TypeError: It is none of these, or ``game`` is neither a ``Game`` nor a name.
    """
    game = as_game(game)
    if isinstance(agent, (str, os.PathLike)):
        return make_agent(agent, game, seed)
    return agent_of(agent, game, seed, own_name(agent))
