"""Search agents: rollouts in worlds that the player holds possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from card_envs.agents.network import PolicyAgent
from card_envs.engine.agent import Agent, Turn
from card_envs.engine.game import Game, View
from card_envs.engine.jit import COMPILED
from card_envs.engine.perceptron import join
from card_envs.engine.search import compile_search
from card_envs.engine.seeds import check_seed
from card_envs.engine.templates import HEURISTIC, NETWORK, RANDOM

HORIZONS = ("round", "game")

_KINDS = {"random": RANDOM, "heuristic": HEURISTIC}
_PREFIX = "search:"
_KEYS = ("policy", "candidates", "horizon", "caution", "threads")


def is_search(name: str) -> bool:
    """Whether a name stands for a search agent."""
    return name.startswith(_PREFIX)


class SearchAgent(Agent):
    """Tries the likeliest actions in worlds that the player holds possible, and plays them on.

    The same worlds are used for all candidates, which are halved again and again (sequential
    halving). The proposed action is kept unless another one is ahead of it by more than
    ``caution`` standard errors. The choice follows from what the player observes and from the seed.

    Args:
        game: The game that it is to play.
        name: What to call it.
        rollouts: How many rollouts for a decision, over all candidates.
        policy: Who plays the rollouts: a policy, ``"heuristic"`` or ``"random"``.
        proposer: The policy whose likeliest actions are tried, its first choice being the proposed
            one; None: the heuristic's action, then the legal actions in their order.
        candidates: How many actions are tried at most.
        horizon: Where rollouts end: ``"round"`` (valued by ``Game.outlook``; the default of games
            that have one) or ``"game"``.
        caution: In standard errors.
        seed: Of all random choices.
        threads: How many games are searched at a time, if it is asked for several.

    Raises:
        ValueError: A value is not allowed; the message says what is.
    """

    def __init__(
        self,
        game: Game,
        name: str = "search",
        *,
        rollouts: int = 64,
        policy: PolicyAgent | str = "random",
        proposer: PolicyAgent | None = None,
        candidates: int | None = 8,
        horizon: str | None = None,
        caution: float = 1.0,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        if rollouts < 2:
            raise ValueError(f"rollouts must be at least 2, got {rollouts}")
        if candidates is not None and candidates < 2:
            raise ValueError(f"candidates must be at least 2, or all, got {candidates}")
        if policy == "heuristic" and game.heuristic is None:
            raise ValueError(f"{game.id} has no heuristic for rollouts")
        if horizon is None:
            horizon = "game" if game.outlook is None else "round"
        if horizon not in HORIZONS:
            raise ValueError(f"horizon must be 'round' or 'game', got {horizon!r}")
        if horizon == "round" and game.outlook is None:
            raise ValueError(f"{game.id} has no rounds: horizon must be 'game'")
        if not 0.0 <= caution < np.inf:
            raise ValueError(f"caution must be a number of at least 0, got {caution}")
        available = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        if not 1 <= threads <= available:
            raise ValueError(f"threads must be from 1 to {available}, got {threads}")
        self.name = name
        self._game = game
        self._rollouts = rollouts
        self._kind = NETWORK if isinstance(policy, PolicyAgent) else _KINDS[policy]
        player = policy if isinstance(policy, PolicyAgent) else None
        self._weights, self._layouts, scratch = join(
            [None if agent is None else agent.network.kernel for agent in (proposer, player)]
        )
        self._width = max(scratch.shape[1], game.num_actions)
        views = [View() if agent is None else agent.view for agent in (proposer, player)]
        self.view = views[0]
        self._views = np.array([view.codes for view in views], np.int64)
        self._candidates = min(candidates or game.num_actions, game.num_actions, rollouts)
        self._to_round = horizon == "round"
        self._caution = float(caution)
        self._seed = np.uint64(check_seed(seed))
        self._threads = threads
        self._compile()

    def _compile(self) -> None:
        self._search = compile_search(self._game, COMPILED and self._threads > 1)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_search"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._compile()

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions (M,)."""
        game, count = self._game, len(turn)
        actions = np.empty(count, np.int64)
        if self._threads > 1:
            numba.set_num_threads(self._threads)
        self._search(
            turn.states,
            turn.indices,
            self._kind,
            self._weights,
            self._layouts,
            self._views,
            self._to_round,
            self._rollouts,
            self._caution,
            self._seed,
            game.new_states(count),
            game.new_states(count),
            np.empty((count, game.fields.size), np.float32),
            np.empty((count, game.num_actions), np.int8),
            np.empty((count, 3, self._width), np.float32),
            np.empty(count, np.uint64),
            np.empty((count, self._candidates), np.int64),
            np.empty((count, self._candidates, self._rollouts), np.float32),
            actions,
        )
        return actions


def make_search_agent(
    name: str, game: Game, seed: int, make_agent: Callable[[str, Game], Agent]
) -> SearchAgent:
    """The search agent of a name such as ``"search:64"`` or ``"search:256,policy=heuristic"``.

    Behind the number of rollouts come any of ``policy``, ``candidates`` (a number or ``all``),
    ``horizon``, ``caution`` and ``threads``, which are the arguments of ``SearchAgent``. Where the
    game has a shipped policy ``ppo`` it proposes, and it plays the rollouts unless ``policy`` says
    otherwise; else the heuristic does, or random if there is none.

    Args:
        name: The name.
        game: The game that it is to play.
        seed: Of all random choices.
        make_agent: Makes policies by name.

    Raises:
        ValueError: The name cannot be read; the message says what is allowed.
    """
    rollouts, *words = name.removeprefix(_PREFIX).split(",")
    given = dict(word.partition("=")[::2] for word in words)
    unknown = [key for key in given if key not in _KEYS]
    if unknown or len(given) < len(words):
        raise ValueError(
            f"{name!r}: behind search:N come KEY=VALUE, separated by commas, each key once; "
            f"the keys are {', '.join(_KEYS)}"
        )
    try:
        shipped = make_agent("ppo", game)
    except ValueError:
        shipped = None
    fallback = "random" if game.heuristic is None else "heuristic"
    policy: Agent | str = given.get("policy", "ppo" if shipped else fallback)
    if policy not in _KINDS:
        policy = make_agent(str(policy), game)
        if not isinstance(policy, PolicyAgent):
            raise ValueError(f"{name!r}: policy must be a policy, heuristic or random")
    try:
        candidates = given.get("candidates", "8")
        options: dict[str, Any] = {
            "rollouts": int(rollouts),
            "candidates": None if candidates == "all" else int(candidates),
            "caution": float(given.get("caution", 1.0)),
            "threads": int(given.get("threads", 1)),
        }
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None
    proposer = shipped if isinstance(shipped, PolicyAgent) else None
    if isinstance(policy, PolicyAgent):
        proposer = policy
    return SearchAgent(
        game,
        name,
        policy=policy,
        proposer=proposer,
        horizon=given.get("horizon"),
        seed=seed,
        **options,
    )
