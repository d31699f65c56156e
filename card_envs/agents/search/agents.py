"""Search agents: rollouts in worlds consistent with what the player knows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.agents.network import NetworkAgent
from card_envs.agents.search.compilation import compile_search
from card_envs.agents.search.follower import PastDecision, SearchFollower
from card_envs.agents.search.halving import HalvingSettings, search_by_halving
from card_envs.agents.search.rollouts import NUM_COUNTS, Findings, Found, RolloutPolicy, Room
from card_envs.agents.search.tree import MAX_DEPTH, NODE_SIZE, TreeSettings, search_by_tree
from card_envs.contract.agent import Agent, FollowingAgent, Turn, are_legal
from card_envs.contract.game import Game, check_is_game, check_same_game
from card_envs.contract.options import View
from card_envs.engine.seeds import check_given_seed
from card_envs.engine.templates import HEURISTIC, NETWORK, RANDOM
from card_envs.kernels.jit import COMPILED, in_threads
from card_envs.kernels.perceptron import SCRATCH_ROWS, drawing, join
from card_envs.utils.checks import (
    check_actions,
    check_device,
    check_flag,
    check_name,
    check_number,
    check_whole_number,
)

HORIZONS = ("round", "game")
MAX_DECISIONS = 400

# A decision's rollouts need memory: 32 MB for this many, with 8 candidates.
MOST_ROLLOUTS = 1_000_000

#: Who may play rollouts besides policies.
KINDS = {"random": RANDOM, "heuristic": HEURISTIC}

_A_POLICY = "a NetworkAgent, as make_agent('ppo', game) makes one"

# Found by trying: with 1, search:64 is weaker than ppo in Beaver Gang with four players. Where
# worlds are weighed, errors are larger.
_CAUTION = 2.0
_CAUTION_OF_WEIGHED = 1.25


class Searcher(Agent):
    """The base of both searches: rollouts, their horizon, worlds, seeds and threads.

    They maximize the rank reward, whatever the option ``reward``.
    """

    _search_one: Callable[..., Any]

    def __init__(
        self,
        game: Game,
        name: str,
        *,
        rollouts: int,
        policy: NetworkAgent | str,
        horizon: str | None,
        seed: int,
        threads: int,
        proposer: NetworkAgent | None = None,
        max_decisions: int = MAX_DECISIONS,
        unfinished: float = 0.0,
        device: str = "cpu",
    ) -> None:
        check_is_game(game)
        # A tuple, for what is wrong may have no hash.
        if not isinstance(policy, NetworkAgent) and policy not in tuple(KINDS):
            raise ValueError(f"policy must be {_A_POLICY}, 'heuristic' or 'random', got {policy!r}")
        if policy == "heuristic" and game.heuristic is None:
            raise ValueError(f"{game.id} has no heuristic for rollouts")
        if horizon is None:
            horizon = "game" if game.outlook is None else "round"
        if horizon not in HORIZONS:
            raise ValueError(f"horizon must be 'round' or 'game', got {horizon!r}")
        if horizon == "round" and game.outlook is None:
            raise ValueError(f"{game.id} has no rounds: horizon must be 'game'")
        if not (proposer is None or isinstance(proposer, NetworkAgent)):
            raise ValueError(f"proposer must be {_A_POLICY}, or None, got {proposer!r}")
        for agent in (policy, proposer):
            if isinstance(agent, NetworkAgent):
                agent.check_game(game)
        self.name = check_name(name)
        self._game = game
        self._rollouts = check_whole_number("rollouts", rollouts, 2, MOST_ROLLOUTS)
        kind = NETWORK if isinstance(policy, NetworkAgent) else KINDS[policy]
        player = policy if isinstance(policy, NetworkAgent) else None
        networks = [None if a is None else a.network.kernel for a in (proposer, player)]
        weights, layouts, scratch = join(networks)
        self._width = max(scratch.shape[1], game.num_actions)
        if player is not None and player.draws:
            layouts[1] = drawing(layouts[1])
        views = [View() if agent is None else agent.view for agent in (proposer, player)]
        self.view = views[0]
        codes = np.array([view.codes for view in views], np.int64)
        self._policy = RolloutPolicy(
            kind,
            weights,
            layouts,
            codes,
            horizon == "round",
            check_whole_number("max_decisions", max_decisions, 1),
            check_number("unfinished", unfinished),
        )
        self._seed = np.uint64(check_given_seed(seed))
        available = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        self._threads = check_whole_number("threads", threads, 1, available)
        check_device(device, threads=self._threads)
        if device == "cuda":
            from card_envs.engine.cuda_jit import check_gpu  # needs the extra cuda

            check_gpu()
        self._device = device
        #: int64 (3,): worlds drawn, decisions taken in them, and network evaluations, so far.
        self.work = np.zeros(NUM_COUNTS, np.int64)

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if it searches another game."""
        check_same_game(f"{self.name} searches", self._game, game)

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions (M,)."""
        return self.search(turn).actions

    def search(self, turn: Turn) -> Found:
        """The chosen actions, those of ``act``, and what the search has found about all others.

        Raises:
            ValueError: A game is over, or another one than this agent's.
        """
        return self._search_with(turn, self._settings(turn))

    def _search_with(self, turn: Turn, settings: tuple[Any, ...]) -> Found:
        self.check_game(turn.game)
        if not turn.action_mask.any(axis=1).all():
            raise ValueError(f"{self.name} was asked about a game that is over")
        actions = np.empty(len(turn), np.int64)
        shape = turn.action_mask.shape
        found = Findings(
            np.full(shape, np.nan, np.float64),
            np.zeros(shape, np.int64),
            np.full(shape, np.nan, np.float64),
            np.zeros((len(turn), 1), np.uint64),
            np.zeros((len(turn), NUM_COUNTS), np.int64),
        )
        self._run(
            turn.states,
            turn.indices,
            self._policy,
            self._rollouts,
            self._seed,
            self._game.new_states(len(turn)),
            self._room(len(turn)),
            np.zeros((len(turn), self._game.max_players), np.float64),
            actions,
            found,
            settings,
        )
        self.work += found.work.sum(axis=0)
        return Found(actions, found.means, found.visits, found.errors, found.seeds[:, 0])

    def _run(self, *arguments: Any) -> None:
        """Call ``search_games``."""
        if self._device == "cuda":
            from card_envs.agents.search.gpu import search_on_gpu  # needs the extra cuda

            search_on_gpu(self._game, self._search_one, *arguments)
            return
        is_parallel = COMPILED and self._threads > 1
        search = compile_search(self._game, self._search_one, is_parallel)
        with in_threads(self._threads):
            search(*arguments)

    @abstractmethod
    def _settings(self, turn: Turn) -> tuple[Any, ...]:
        """The ``settings`` of the method for the games of a turn."""

    def _room(self, count: int) -> Room:
        game = self._game
        return Room(
            np.empty((count, game.fields.size), np.uint8),
            np.empty((count, game.num_actions), np.int8),
            np.zeros((count, SCRATCH_ROWS, self._width), np.float32),
            np.empty(count, np.uint64),
        )


class SearchAgent(Searcher, FollowingAgent):
    """Tries the most probable actions by rollouts in worlds consistent with the player's knowledge.

    All candidates are tried in the same worlds, and half of them are repeatedly dropped (sequential
    halving). The proposed action is chosen unless another one is better by more than ``caution``
    standard errors. The choice depends only on the player's observations and the seed.

    In games that it follows it remembers what others have done in the round and, if the rollout
    policy is a network and the game has ``look_back``, prefers worlds in which that policy would
    have done the same. For a single position all worlds have equal weight.

    Args:
        game: The game that it plays.
        name: What to call it.
        rollouts: How many rollouts for a decision, over all candidates. Fewer than 4 search a
            single world, which is not enough to depart from the proposed action.
        policy: Who plays the rollouts: a policy, ``"heuristic"`` or ``"random"``. The name
            ``search:N`` stands for ``ppo`` here and as proposer, where there is one.
        proposer: The policy whose likeliest actions are tried, its first choice being the proposed
            one; None: the heuristic's action, then the legal actions in their order.
        candidates: How many actions are tried at most, None: all; with halving at most half as
            many as there are rollouts.
        min_probability: Actions that the proposer, a policy, gives a smaller probability are not
            tried.
        worlds: How many worlds are drawn and weighted; the searched ones are drawn from these.
            None: the number of rollouts; 0: worlds are not weighted.
        horizon: Where rollouts end: ``"round"`` (valued by ``Game.outlook``; the default of games
            that have one) or ``"game"``.
        caution: In standard errors. None: 0 with neither a proposer nor a heuristic, 1.25 if the
            agent follows a game whose worlds can be weighted, otherwise 2.
        halving: False: all candidates are tried in all worlds, of which there are ``rollouts //
            candidates``, so that all values that ``search`` finds are equally precise.
        max_decisions: A rollout is truncated after this many decisions, since endless play may be
            legal.
        unfinished: Added to each player's value of a truncated rollout, which is predicted from
            their standing.
        seed: The seed of all random choices.
        threads: How many games are searched at a time on a CPU.
        device: ``"cpu"``, or ``"cuda"``: an NVIDIA GPU searches all games of a turn at once. The
            choices equal the CPU's, except with networks that use ``tanh``.

    Raises:
        ValueError, TypeError: A value is not allowed; the message says what is; or there is no
            GPU.
        MissingExtraError: A GPU needs the extra ``cuda``.
    """

    _search_one = staticmethod(search_by_halving)

    def __init__(
        self,
        game: Game,
        name: str = "search",
        *,
        rollouts: int = 64,
        policy: NetworkAgent | str = "random",
        proposer: NetworkAgent | None = None,
        candidates: int | None = 8,
        min_probability: float = 0.0,
        worlds: int | None = None,
        horizon: str | None = None,
        caution: float | None = None,
        halving: bool = True,
        max_decisions: int = MAX_DECISIONS,
        unfinished: float = 0.0,
        seed: int = 0,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            game,
            name,
            rollouts=rollouts,
            policy=policy,
            horizon=horizon,
            seed=seed,
            threads=threads,
            proposer=proposer,
            max_decisions=max_decisions,
            unfinished=unfinished,
            device=device,
        )
        if candidates is not None:
            candidates = check_whole_number("candidates", candidates, 2)
        worlds = self._rollouts if worlds is None else worlds
        worlds = check_whole_number("worlds", worlds, 0, MOST_ROLLOUTS)
        if game.look_back is None or not isinstance(policy, NetworkAgent):
            worlds = 0  # only a network says how likely what others did was
        if caution is not None:
            alone = after = check_number("caution", caution, 0.0)
        elif proposer is None and game.heuristic is None:
            alone = after = 0.0
        else:
            alone, after = _CAUTION, _CAUTION_OF_WEIGHED if worlds else _CAUTION
        # Where a position alone is asked about, and where its past is known.
        self._cautions = (alone, after)
        self._halving = check_flag("halving", halving)
        self._min_probability = check_number("min_probability", min_probability, 0.0, 1.0)
        most = max(2, self._rollouts // 2) if self._halving else self._rollouts
        #: How many actions it tries at most.
        self.candidates = min(candidates or game.num_actions, game.num_actions, most)
        self._worlds = worlds

    def follow(self, options: Mapping[str, Any] | None) -> SearchFollower:
        """A follower that remembers what others do in its games."""
        return SearchFollower(self.search_after, self._game if self._worlds else None)

    def search(self, turn: Turn, also: ArrayLike | None = None) -> Found:
        """The chosen actions, those of ``act``, and what the search has found about all others.

        Args:
            turn: M games.
            also: For each of them a legal action (M,) that is tried in any case, if necessary in
                place of the least probable candidate: what was played, say.

        Raises:
            ValueError: A game is over, or another one than this agent's, or an action of ``also``
                is not legal.
        """
        return self._search_with(turn, self._settings(turn, None, also))

    def search_after(
        self,
        turn: Turn,
        past: Sequence[Sequence[PastDecision]],
        also: ArrayLike | None = None,
    ) -> Found:
        """Like ``search``, in worlds weighted by what others have done.

        Args:
            turn: M games.
            past: For each of them earlier decisions of others in the same round of that game, in
                any order.
            also: As for ``search``.

        Raises:
            ValueError: As for ``search``, or ``past`` is not that of M games.
        """
        if len(past) != len(turn):
            raise ValueError(f"past must be that of {len(turn)} games, got {len(past)}")
        return self._search_with(turn, self._settings(turn, past, also))

    def _settings(
        self,
        turn: Turn,
        past: Sequence[Sequence[PastDecision]] | None = None,
        also: ArrayLike | None = None,
    ) -> HalvingSettings:
        count = len(turn)
        tried = np.full(count, -1, np.int64)
        if also is not None:
            self.check_game(turn.game)
            check_actions(np.asarray(also), count)
            tried[:] = also
            if not are_legal(tried, turn.action_mask).all():
                raise ValueError(f"also must be a legal action of each game, got {tried.tolist()}")
        decisions = [decision for one in past or () for decision in one]
        bounds = np.zeros(count + 1, np.int64)
        if past is not None:
            bounds[1:] = np.cumsum([len(one) for one in past])
        return HalvingSettings(
            caution=self._cautions[past is not None],
            is_halving=self._halving,
            min_probability=self._min_probability,
            also=tried,
            origins=self._game.new_states(count),
            candidates=np.empty((count, self.candidates), np.int64),
            values=np.empty((count, self.candidates, self._rollouts), np.float32),
            past=_join_states(self._game, [one.states for one in decisions]),
            past_actions=np.array([one.action for one in decisions], np.int64),
            bounds=bounds,
            recalled=self._game.new_states(count),
            log_weights=np.empty((count, self._worlds), np.float64),
            slots=np.empty((count, self._worlds), np.int64),
            counts=np.empty((count, self._rollouts), np.float64),
        )


class TreeSearchAgent(Searcher):
    """Information-set Monte Carlo tree search (Cowling, Powley and Whitehouse, 2012).

    Single observer: one tree over all players' decisions and what the observer sees after each (a
    card drawn, say), in another world at each iteration; UCB1 with availability counts; every
    player for themselves (max^n). It chooses the most visited action, which depends only on
    the player's observation and the seed.

    Args:
        game: The game that it plays.
        name: What to call it.
        rollouts: Iterations for a decision, each with one rollout.
        policy: Who plays the rollouts: a policy, ``"heuristic"`` or ``"random"``. The name
            ``search:N,method=tree`` stands for ``ppo``, where there is one.
        horizon: As for ``SearchAgent``; the tree ends there too.
        exploration: The weight of UCB1's second term.
        seed: The seed of all random choices.
        threads: How many games are searched at a time.

    Raises:
        ValueError, TypeError: A value is not allowed; the message says what is.
    """

    _search_one = staticmethod(search_by_tree)

    def __init__(
        self,
        game: Game,
        name: str = "tree search",
        *,
        rollouts: int = 1000,
        policy: NetworkAgent | str = "random",
        horizon: str | None = None,
        exploration: float = 0.7,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self._exploration = check_number("exploration", exploration, 0.0)
        super().__init__(
            game,
            name,
            rollouts=rollouts,
            policy=policy,
            horizon=horizon,
            seed=seed,
            threads=threads,
        )

    def _settings(self, turn: Turn) -> TreeSettings:
        count, nodes = len(turn), 2 * self._rollouts + 1
        return TreeSettings(
            exploration=self._exploration,
            nodes=np.empty((count, nodes, NODE_SIZE), np.int32),
            totals=np.empty((count, nodes), np.float64),
            paths=np.empty((count, MAX_DEPTH, 2), np.int64),
        )


def _join_states(game: Game, records: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Records (1,) as one array, which can be written to: kernels are compiled for these."""
    joined = bytearray().join(record.tobytes() for record in records)
    return np.frombuffer(joined, game.state_dtype)
