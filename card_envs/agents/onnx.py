"""Policies of any framework: ONNX files, computed by onnxruntime on one thread.

Inputs are ``observation`` (N, D) and, unless the model does without, ``action_mask`` (N, A). The
output is (N, A) of floats, logits, the highest legal one of which is played; or (N,) of integers,
the actions. A recurrent model has a further input ``NAME`` (N, …) for each state and an output
``next_NAME`` of the same shape; states are zero when a game begins. The metadata are those of a
policy file (``card_envs.agents.network``). Nothing in a file is executed but ONNX's own operators.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.function import best_legal
from card_envs.agents.network import METADATA_KEY, view_in
from card_envs.contract.agent import Agent, Follower, FollowingAgent, Turn, turn_of
from card_envs.contract.game import Game, check_same_game
from card_envs.contract.options import View
from card_envs.utils.extras import import_extra

logger = logging.getLogger("card_envs")

#: How many games models are tried on.
TRIED = (1, 2, 3)

#: What the output that holds a state's next value begins with.
NEXT = "next_"

FREE = "the batch size N must be free"

_States = dict[str, NDArray[Any]]
_DTYPES = {"float": "float32", "double": "float64"}  # ONNX's names that are not NumPy's


class OnnxModel:
    """A model of an ONNX file.

    Args:
        data: The file's bytes; weights in other files are not read.

    Raises:
        ValueError: It is not a model that this onnxruntime can run.
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, data: bytes) -> None:
        runtime = import_extra("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised
        # Weights in other files are looked for where none are: they would be no part of its hash.
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", os.devnull
        )
        try:
            self._session = runtime.InferenceSession(data, options, ["CPUExecutionProvider"])
        except Exception as error:  # of many classes
            if os.path.join(os.devnull, "") in str(error):
                raise ValueError(
                    "its weights are in another file; they must be inside, as torch.onnx.export(…, "
                    "external_data=False) writes them"
                ) from None
            raise ValueError(_brief(error)) from None
        self._data = data
        self._dtypes = {
            put.name: np.dtype(_DTYPES.get(kind := put.type[len("tensor(") : -1], kind))
            for put in self._session.get_inputs()
        }
        #: The shape of each state, without the batch.
        self.states: dict[str, tuple[int, ...]] = {
            put.name: tuple(put.shape[1:])
            for put in self._session.get_inputs()
            if put.name not in ("observation", "action_mask")
        }
        self._outputs = [put.name for put in self._session.get_outputs()]

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxModel, (self._data,)

    @property
    def metadata(self) -> Any:
        """What the file says of the game and the view that it is for; None: nothing."""
        text = self._session.get_modelmeta().custom_metadata_map.get(METADATA_KEY)
        return None if text is None else json.loads(text)

    def check(self, game: Game) -> None:
        """Raise a ValueError unless it plays the game, in any number of games at once."""
        about = f"{game.fields.size} observation values and {game.num_actions} actions"
        try:
            if "observation" not in self._dtypes:
                raise ValueError(
                    f"it has no input 'observation' but {', '.join(map(repr, self._dtypes))}"
                )
            if not all(isinstance(size, int) for shape in self.states.values() for size in shape):
                raise ValueError(f"a state has no fixed shape: {self.states}")
            if len({*self._outputs} - {NEXT + name for name in self.states}) != 1:
                raise ValueError(
                    f"it must have one output beside {NEXT}NAME for each further input NAME; its "
                    f"inputs are {', '.join(self._dtypes)}, its outputs {', '.join(self._outputs)}"
                )
            for put in self._session.get_inputs():
                if put.shape and isinstance(put.shape[0], int):
                    raise ValueError(f"{FREE}, but the input '{put.name}' is of {put.shape}")
            failed = {n: error for n in TRIED if (error := self._failure_of(game, n)) is not None}
            if len(failed) == len(TRIED):
                raise failed[1]
            if failed:
                n, error = next(iter(failed.items()))
                raise ValueError(f"{FREE}, but N = {n} fails: {error}")
        except Exception as error:  # onnxruntime's are of many classes
            raise ValueError(f"it does not fit {game.name} ({about}): {_brief(error)}") from None

    def _failure_of(self, game: Game, n: int) -> Exception | None:
        """The error of ``n`` games at once; None: there is none."""
        states = {name: np.zeros((n, *shape), np.float32) for name, shape in self.states.items()}
        try:
            _, following = self._run(
                np.zeros((n, game.fields.size), np.float32),
                np.ones((n, game.num_actions), np.int8),
                states,
            )
            for name, before in states.items():
                if following[name].shape != before.shape:
                    raise ValueError(
                        f"the output {NEXT}{name} must be {before.shape}, got "
                        f"{following[name].shape}"
                    )
        except Exception as error:  # onnxruntime's are of many classes
            return error
        return None

    def _run(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], states: _States
    ) -> tuple[NDArray[Any], _States]:
        """The output, logits (M, A) or actions (M,), and the next states (M, …)."""
        given: _States = {"observation": observation, "action_mask": action_mask, **states}
        found = self._session.run(
            self._outputs,
            {name: given[name].astype(d, copy=False) for name, d in self._dtypes.items()},
        )
        results: _States = dict(zip(self._outputs, found, strict=True))
        following = {name: results.pop(NEXT + name) for name in states}
        (output,) = results.values()
        is_actions = output.dtype.kind in "iu" and output.shape == action_mask.shape[:1]
        if not is_actions and (output.dtype.kind != "f" or output.shape != action_mask.shape):
            raise ValueError(
                f"the output must be floats {action_mask.shape} or integers "
                f"{action_mask.shape[:1]}, got {output.dtype} {output.shape}"
            )
        return output, following

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], states: _States
    ) -> tuple[NDArray[np.int64], _States]:
        """Actions (M,) for observations (M, D) and masks (M, A), and the next states (M, …).

        Raises:
            ValueError: The model's output has another shape, or NaN where an action is legal.
        """
        output, following = self._run(observation, action_mask, states)
        if output.ndim == 1:
            return output.astype(np.int64), following
        return best_legal(output, action_mask), following


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


class _OnnxPolicy:
    """What feed-forward and recurrent models share as agents.

    Args:
        model: The model.
        game: The game that it plays.
        name: What to call it.
        view: How it observes.
    """

    def __init__(self, model: OnnxModel, game: Game, name: str, view: View = View()) -> None:
        self.model = model
        self.game = game
        self.name = name
        self.view = view

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if it plays another game."""
        check_same_game(f"{self.name} plays", self.game, game)


class OnnxAgent(_OnnxPolicy, Agent):
    """A feed-forward model as an agent."""

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """The model's actions (M,); where only one is legal it is not asked."""
        mask = turn.action_mask
        actions: NDArray[np.int64] = mask.argmax(axis=1)
        choices = np.flatnonzero(np.count_nonzero(mask, axis=1) > 1)
        if len(choices):
            actions[choices] = self.model.act(turn.observation[choices], mask[choices], {})[0]
        return actions


class RecurrentOnnxAgent(_OnnxPolicy, FollowingAgent):
    """A recurrent model as an agent: its state is kept for each seat, from the game's beginning.

    Decisions of the seat that it is only told, such as those of a game that was restored, move the
    state on as its own do.
    """

    def follow(self, options: Mapping[str, Any] | None) -> Follower:
        """What keeps the states in the games of one batch."""
        return _StateKeeper(self)


class _StateKeeper(Follower):
    def __init__(self, agent: RecurrentOnnxAgent) -> None:
        self._agent = agent
        self._seats: dict[int, Sequence[int]] = {}  # of the running games
        self._kept: _States = {}  # by name: (games, players, …), before a seat's decision
        # Of games that were asked for: what the player to move is to keep, in the same order.
        self._next: dict[int, tuple[NDArray[np.float32], ...]] = {}

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        """Forget the game before."""
        self._seats[i] = players
        self._next.pop(i, None)
        for kept in self._kept.values():
            kept[i, players] = 0

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """A seat's decision is taken: its state moves on."""
        player = int(states["current_player"][i])
        if player not in self._seats.get(i, ()):
            return
        if i not in self._next:
            self.decide(turn_of(self._agent.game, states, np.array([i]), self._agent.view))
        for kept, following in zip(self._kept.values(), self._next.pop(i), strict=True):
            kept[i, player] = following

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        """The model's actions (M,)."""
        model = self._agent.model
        if not self._kept:
            room = len(turn.states), turn.game.max_players
            self._kept = {
                name: np.zeros((*room, *shape), np.float32) for name, shape in model.states.items()
            }
        seats = turn.indices, turn.states["current_player"][turn.indices]
        before = {name: kept[seats] for name, kept in self._kept.items()}
        actions, after = model.act(turn.observation, turn.action_mask, before)
        of_games = zip(*(after[name] for name in self._kept), strict=True)
        self._next.update(zip(turn.indices.tolist(), of_games, strict=True))
        return actions

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        """Nothing of the game is needed any more."""
        self._seats.pop(i, None)


def onnx_agent(path: Path, game: Game, name: str) -> Agent:
    """The agent of an ONNX file, in the view that it was made for.

    A file that does not say which game it is for is taken if it fits, with a warning.

    Raises:
        ValueError: The file is damaged, or it does not fit the game.
        OSError: It cannot be read.
        MissingExtraError: onnxruntime is not installed.
    """
    try:
        model = OnnxModel(path.read_bytes())
        metadata = model.metadata
    except (ValueError, TypeError, RecursionError) as error:  # TypeError: an input of texts
        raise ValueError(f"{path} is not an ONNX model, or it is damaged: {error}") from None
    view = View() if metadata is None else view_in(metadata, path, game)
    try:
        model.check(game)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if metadata is None:
        logger.warning(
            "%s does not say which game and observation it is for; its shapes fit %s",
            path,
            game.name,
        )
    kind = RecurrentOnnxAgent if model.states else OnnxAgent
    return kind(model, game, name, view)
