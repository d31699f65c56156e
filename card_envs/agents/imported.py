"""Agents of users' own code: ``package.module:thing`` or ``path/agent.py:thing``.

``thing`` is an ``Agent``, or makes one: a class, or a function whose first parameter is ``game``,
is called with ``(game, seed=…)``. Any other callable plays: ``(observation[N, D],
action_mask[N, A]) -> actions[N]``. Resolving such a name imports the module: it is for names that a
person gave, on the command line or in Python.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from card_envs.agents.function import FunctionAgent
from card_envs.agents.programs import is_program
from card_envs.agents.search.names import is_search
from card_envs.contract.agent import Agent, note_of, notes_of_agents
from card_envs.contract.game import Game
from card_envs.contract.options import check_view
from card_envs.utils.words import did_you_mean

_WORD = r"[^\W\d]\w*"
_NAME = re.compile(rf"(?P<where>.+\.py|{_WORD}(\.{_WORD})*):(?P<thing>{_WORD}(\.{_WORD})*)")
# How a word of a search's name ends that may be such a name. Where a word begins depends on the
# files that there are, whose names may hold commas.
_THING_IN_SEARCH = re.compile(rf":{_WORD}(\.{_WORD})*(,|$)")


def is_imported(name: str) -> bool:
    """Whether a name stands for a thing in a module or in a Python file."""
    return _NAME.fullmatch(name) is not None and not is_program(name) and not is_search(name)


def runs_code(name: str) -> bool:
    """Whether the agent of that name may run code: a program, or what a module or a Python file
    holds, also where the name is that of a search with such a policy.

    What reads names from elsewhere, such as a configuration or a dataset, asks this first.
    """
    if is_search(name):
        return _THING_IN_SEARCH.search(name) is not None
    return is_imported(name) or is_program(name)


def import_named(where: str) -> ModuleType:
    """Import a module by its name, or a file that ends in ``.py``; modules in the current folder,
    or beside the file, are found too.

    Raises:
        ValueError: It cannot be imported; the message says why.
    """
    is_file = where.endswith(".py")
    path = os.path.abspath(where)
    folder = os.path.dirname(path) if is_file else os.getcwd()
    if folder not in sys.path and (is_file or "" not in sys.path):  # as Python itself does
        sys.path.append(folder)
    try:
        return _import_file(path) if is_file else importlib.import_module(where)
    except FileNotFoundError as error:
        if error.filename != path:
            raise _failed(where, error) from error
        raise ValueError(f"there is no file {where}") from None
    except (Exception, SystemExit) as error:  # a script without a guard may exit
        raise _failed(where, error) from error


def _failed(where: str, error: BaseException) -> ValueError:
    return ValueError(f"importing {where} failed: {type(error).__name__}: {error}")


def _import_file(path: str) -> ModuleType:
    # Files of the same name in several folders are different modules, and so is an edited file.
    source = Path(path).read_bytes()
    name = f"{Path(path).stem}_{zlib.crc32(os.fsencode(path) + source):08x}"
    if name in sys.modules:
        return sys.modules[name]
    _check_siblings(Path(path), source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        # The loader would run what Python has cached of a file that was edited a moment ago.
        exec(compile(source, path, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _check_siblings(path: Path, source: bytes) -> None:
    """Raise an ImportError if a module beside the file, which it imports, is not what it would get:
    Python imports a name once, and another file's folder may come first."""
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [str(node.module)]
        else:
            continue
        for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
            ways = (path.with_name(f"{name}.py"), path.with_name(name) / "__init__.py")
            beside = next((way for way in ways if way.is_file()), None)
            if beside is None:
                continue
            spec = importlib.util.find_spec(name)
            found = spec.origin if spec else None
            if found is None or not beside.samefile(found):
                raise ImportError(
                    f"its module {name!r} would be {found}, not {beside}: Python imports a name "
                    "once, so modules beside different agents need different names"
                )


def imported_agent(name: str, game: Game, seed: int) -> Agent:
    """The agent of a name for which :func:`is_imported` is true.

    Raises:
        ValueError: The module cannot be imported, it has no such thing, or that makes no agent.
    """
    where, _, path = name.rpartition(":")
    try:
        thing: Any = import_named(where)
        for part in path.split("."):
            if not hasattr(thing, part):
                raise ValueError(f"{where} has no {path}{did_you_mean(part, dir(thing))}")
            thing = getattr(thing, part)
        agent = agent_of(thing, game, seed, name)
    except (ValueError, TypeError) as error:
        named = ValueError(f"{name!r}: {error}")
        for note in notes_of_agents(error):
            named.add_note(note)
        raise named from error
    if agent is not thing:
        with suppress(AttributeError):  # of a class whose name is fixed
            agent.name = name
    return agent


def own_name(thing: object) -> str:
    """What an object of Python that is no ``Agent`` is called: what its code or class is."""
    if isinstance(thing, partial):
        return own_name(thing.func)
    return str(getattr(thing, "__name__", type(thing).__name__))


def agent_of(thing: object, game: Game, seed: int, name: str) -> Agent:
    """The agent that a Python object is, makes or plays as.

    Args:
        thing: An agent; a class or a function that makes one; or a function that plays.
        game: The game that it plays.
        seed: For what is made here.
        name: What to call it if it does not say.

    Raises:
        ValueError: It is an agent for another game, or making it failed.
        TypeError: It is none of these.
    """
    made: Any = thing
    _check_is_no_model(thing)
    if _makes_agents(thing):
        try:
            made = made(game, seed=seed)
        except (Exception, SystemExit) as error:
            _, *frames = traceback.extract_tb(error.__traceback__)
            place = f" ({place_in(frames)})" if frames else ""
            failed = ValueError(
                f"calling {name.rpartition(':')[2]}(game, seed={seed}) failed: "
                f"{type(error).__name__}: {error}{place}"
            )
            failed.add_note(note_of(name))  # which the command line shows
            raise failed from error
        _check_is_no_model(made)
    if isinstance(made, Agent):
        made.check_game(game)
        try:
            check_view(made.view)
        except TypeError as error:
            raise TypeError(f"view of {name.rpartition(':')[2]}: {error}") from None
        if not hasattr(made, "name"):
            made.name = name
        return made
    if callable(made) and not isinstance(made, type):
        own = getattr(made, "name", None)
        return FunctionAgent(own if isinstance(own, str) else name, made)
    if made is not thing:
        raise TypeError(
            f"{name.rpartition(':')[2]}(game, seed={seed}) made a {type(made).__name__}, which is "
            "neither a card_envs.agents.Agent nor called like a function of observations and masks"
        )
    raise TypeError(
        "an agent is a name, the path of a policy file, a card_envs.agents.Agent, a class or a "
        "function of game that makes one, or a function of observations and masks, got "
        f"{type(made).__name__}"
    )


def _check_is_no_model(thing: object) -> None:
    """Raise a TypeError for a torch module and for what predicts but cannot be called."""
    kind = thing if isinstance(thing, type) else type(thing)
    module = getattr(sys.modules.get("torch.nn"), "Module", ())
    is_model = issubclass(kind, module) or (hasattr(thing, "predict") and not callable(thing))
    if is_model and not issubclass(kind, Agent):
        raise TypeError(
            f"{kind.__name__} is a model: card_envs.export_policy(model, game, 'policy.onnx') "
            "writes it as a policy file, which is an agent; so is "
            "card_envs.integrations.sb3.as_agent(model) of one of Stable-Baselines3, and a "
            "function of observations and masks that asks it"
        )


def place_in(frames: Sequence[traceback.FrameSummary]) -> str:
    """The place that an error has passed last in the file of the first of its frames."""
    last = [frame for frame in frames if frame.filename == frames[0].filename][-1]
    return f"{os.path.relpath(last.filename)}, line {last.lineno}"


def _makes_agents(thing: object) -> bool:
    if isinstance(thing, type):
        return True
    if isinstance(thing, Agent) or not callable(thing):
        return False
    try:
        return next(iter(inspect.signature(thing).parameters), None) == "game"
    except (TypeError, ValueError):  # some of those written in C tell no signature
        return False
