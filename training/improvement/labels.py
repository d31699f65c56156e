"""Labels for expert iteration: what rollouts find each likely action to be worth.

The positions are those of a learner's games. In each the policy's likeliest actions are played out
by the policy itself, in the same redrawn worlds for all of them, which agree with what the others
have done if the game can tell (``Game.look_back``).
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import NetworkAgent, SearchAgent
from card_envs.agents.search.follower import PastDecision
from card_envs.contract.agent import Turn
from card_envs.utils.files import open_output
from training.games.host import HostGames
from training.improvement.config import WEIGHED, ImprovementConfig
from training.runs.config import PoolSection
from training.runs.run import Run

# Steps of all games before the first label: positions are then of any stage of a game.
_BURN_IN = 200

# One in this many of a learner's decisions is labeled: neighbours in a game tell much the same.
_STRIDE = 8

# Steps of all games after which there must be a label.
_MOST_STEPS = 1000

# Positions that are searched at a time; on a GPU each has a thread.
_AT_ONCE = {"cpu": 1, "cuda": 2**14}

# What reading a damaged file of arrays may raise.
_FILE_ERRORS = OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError
_READING_ERRORS = *_FILE_ERRORS, ValueError, TypeError, KeyError

# An action is rare if it is legal in a smaller share of the decisions.
_RARE = 0.05


@dataclass(frozen=True)
class Labels:
    """Labeled positions.

    Attributes:
        observation: uint8 (M, D), in units of ``game.fields.scale``.
        action_mask: int8 (M, A).
        actions: int16 (M, K), the actions that were tried, in the order of their numbers; -1: none.
        values: float32 (M, K), the mean reward of each one's rollouts.
    """

    observation: NDArray[np.uint8]
    action_mask: NDArray[np.int8]
    actions: NDArray[np.int16]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.actions)


def join_labels(shards: list[Labels]) -> Labels:
    """The labels of several shards, in their order."""
    arrays = zip(*(vars(shard).values() for shard in shards), strict=True)
    return Labels(*map(np.concatenate, arrays))


def write_labels(path: Path, labels: Labels) -> None:
    """Write a shard atomically."""
    with open_output(path) as file:
        np.savez_compressed(file, **vars(labels))


def read_labels(path: Path) -> Labels:
    """Read a shard; ValueError if the file is damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Labels(**{name: arrays[name] for name in arrays.files})
    except _READING_ERRORS as error:
        raise ValueError(f"{path} is damaged, delete it to make it again: {error}") from None


def label_positions(
    shard: int, run: Run[ImprovementConfig], policy: NetworkAgent, iteration: int
) -> Labels:
    """Label one shard's positions; they follow from the run, the policy and the two numbers.

    The policy, that of this iteration, holds the learner's seat, and those of the opponent pool.
    """
    config, how = run.config, run.config.labels
    rng = np.random.default_rng([config.seed, iteration, shard])
    seed = int(rng.integers(2**31))
    # Each game has a new table when it is reset.
    opponents = PoolSection.model_validate(
        {**config.opponents.model_dump(), "self": 0, "block_size": 1}
    )
    games = HostGames(run.game, config.environment, opponents, run.agents, seed)
    drawing = NetworkAgent(policy.network, policy.name, policy.view, seed)
    likeliest = NetworkAgent(policy.network, policy.name, policy.view)
    searcher = SearchAgent(
        run.game,
        rollouts=how.worlds * how.candidates,
        policy=policy,
        proposer=policy,
        candidates=how.candidates,
        min_probability=how.min_probability,
        worlds=WEIGHED * how.worlds,
        halving=False,
        max_decisions=how.max_decisions,
        unfinished=how.unfinished,
        seed=seed,
        device=how.device,
    )
    follower = games.arena.follower = searcher.follow(None)
    games.begin(policy.network)  # it stands for the pool; there its actions are drawn
    found: list[Labels] = []
    waiting: list[tuple[Turn, list[list[PastDecision]]]] = []
    wanted, step = how.shard, 0
    legal = np.zeros(run.game.num_actions, np.int64)
    while wanted > 0:
        if step < _BURN_IN:
            legal += games.arena.action_mask.sum(axis=0, dtype=np.int64)
        else:
            is_rare = legal < _RARE * _BURN_IN * len(games.all)
            times = np.where((games.arena.action_mask != 0)[:, is_rare].any(axis=1), how.rare, 1.0)
            chosen = np.flatnonzero(rng.random(len(games.all)) < times / _STRIDE)
            turn = games.turn(chosen)
            waiting.append((_own_copy(turn), follower.past(turn)))
            enough = sum(len(turn) for turn, _ in waiting) >= _AT_ONCE[how.device]
            if enough or step == _MOST_STEPS:
                found.append(_label(searcher, waiting, wanted))
                wanted -= len(found[-1])
                waiting.clear()
            if step == _MOST_STEPS and wanted == how.shard:
                raise ValueError(
                    f"labels.min_probability: there was no position in which the policy gives two "
                    f"actions a probability of at least {how.min_probability}"
                )
        is_drawn = rng.random(len(games.all)) < how.drawn
        turn = games.turn(games.all)
        games.step(np.where(is_drawn, drawing.act(turn), likeliest.act(turn)))
        games.redraw()
        step += 1
    return join_labels(found)


def _own_copy(turn: Turn) -> Turn:
    """The turn, with copies of its states alone."""
    states, indices = turn.states[turn.indices], np.arange(len(turn))
    return Turn(turn.game, states, indices, turn.observation, turn.action_mask)


def _label(
    searcher: SearchAgent,
    positions: Sequence[tuple[Turn, Sequence[Sequence[PastDecision]]]],
    wanted: int,
) -> Labels:
    """Labels of positions, as many as are wanted, where several actions were tried."""
    turns, past = zip(*positions, strict=True)
    states, observation, action_mask = (
        np.concatenate([getattr(turn, name) for turn in turns])
        for name in ("states", "observation", "action_mask")
    )
    game = turns[0].game
    turn = Turn(game, game.as_states(states), np.arange(len(states)), observation, action_mask)
    found = searcher.search_after(turn, [one for of_turn in past for one in of_turn])
    chosen = np.flatnonzero((found.visits > 0).sum(axis=1) > 1)[:wanted]
    actions = found.candidates(searcher.candidates)[chosen]
    values = np.take_along_axis(found.values[chosen], actions, axis=1)
    units = np.rint(observation[chosen] * game.fields.scale)
    return Labels(
        units.astype(np.uint8),
        action_mask[chosen],
        actions.astype(np.int16),
        np.where(actions >= 0, values, 0.0).astype(np.float32),
    )
