"""Batches that are played on the CPU and on a GPU, to be compared byte by byte.

Run as a script, ``python tests/gpu_play.py GAME FILE.npz``, it plays them on the CPU and saves the
actions, and digests of all that came of them; ``replay`` takes the same actions on the GPU, or in
its simulator, which is slow.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import gpu_templates
import numpy as np
from helpers import kit_of, network_of

import card_envs
from card_envs.contract.game import Game
from card_envs.engine.batch import BatchEngine
from card_envs.engine.templates import compile_for
from card_envs.games import load_game
from card_envs.kernels.perceptron import join, pack

# How many games are played to their ends with each of the settings; the last two cut them short.
GAMES = (10, 10, 16, 32, 32)
NUM_ENVS = 5
SAMPLE = 19  # every how many steps hidden cards are redrawn, and the heuristic and a network asked


def settings(game: Game) -> list[dict[str, Any]]:
    """Arguments of batches: mixed tables, all views, both dtypes; games that do not take long."""
    sizes = game.table_sizes
    short = kit_of(game).short_options
    whole = (sizes[0], sizes[-1])
    return [
        {"num_players": whole, **short},
        {"num_players": whole, "memory": "none", "reward": "score", **short},
        {"num_players": sizes[0], "features": False, "reward": "win", **short},
        {"num_players": whole, "observation_dtype": "uint8", **short, "max_steps": 30},
        {"num_players": sizes[-1], "copy": True, "reward": "score", **short, "max_steps": 45},
    ]


class Batch:
    """A batch of either kind, and what comes of it as arrays of the CPU."""

    def __init__(self, game: Game, number: int, device: str) -> None:
        self.game = game
        self.is_on_gpu = device == "cuda"
        arguments = settings(game)[number]
        self.batch: BatchEngine = card_envs.make_vec(
            game.name, NUM_ENVS, device=device, **arguments
        )
        self.seen = [self._host(array) for array in self.batch.reset(seed=1000 * number)]

    def step(self, actions: np.ndarray) -> None:
        self.seen = [self._host(array) for array in self.batch.step(actions)]

    @property
    def over(self) -> int:
        """How many games ended in the last step."""
        return int((self.seen[3] | self.seen[4]).sum())

    @property
    def states(self) -> np.ndarray:
        return self._host(self.batch.states)

    def digest(self) -> str:
        """Of the records, observations, masks, rewards and flags, and the players to move."""
        digest = hashlib.sha256()
        arrays = [self.states[name] for name in self.game.state_dtype.names]
        tables = (self.batch.current_player, self.batch.num_players, self.batch.game_seeds)
        for array in [*arrays, *self.seen, *map(self._host, tables)]:
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def digest_of_kernels(self, seed: int) -> str:
        """Of what is redrawn for each player to move, and of what heuristic and network choose."""
        digest = hashlib.sha256()
        players = self._host(self.batch.current_player).astype(np.int64)
        states = self.states.copy()
        (redrawn, _, _) = self.run(gpu_templates.redraw, states, players, np.uint64(seed))
        for name in self.game.state_dtype.names:
            digest.update(np.ascontiguousarray(redrawn[name]).tobytes())
        if self.game.heuristic is not None:
            digest.update(self.choose_by_heuristic().tobytes())
        network = network_of(self.game, hidden=(8, 8), activation="relu")
        weights, layouts, scratch = join([pack(network.layers, "relu")])
        observation, action_mask = self.seen[:2]
        count = len(observation)
        streams = np.arange(count, dtype=np.uint64)
        rooms = np.repeat(scratch[None], count, axis=0)
        (*_, actions) = self.run(
            gpu_templates.choose_by_networks,
            weights,
            layouts,
            observation,
            action_mask,
            streams,
            rooms,
            np.zeros(count, np.int64),
        )
        digest.update(actions.tobytes())
        return digest.hexdigest()

    def choose_by_heuristic(self) -> np.ndarray:
        states, actions = self.states, np.zeros(NUM_ENVS, np.int64)
        return self.run(gpu_templates.choose_by_heuristic, states, actions)[1]

    def run(self, template: Any, *arguments: Any) -> list[Any]:
        """The arguments after a template's loop was run with them."""
        if not self.is_on_gpu:
            own = [
                self.game.as_states(a) if getattr(a, "dtype", None) == self.game.state_dtype else a
                for a in arguments
            ]
            compile_for(self.game, template)(*own)
            return own
        from card_envs.engine.cuda_jit import compile_for_gpu, cuda

        own = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
        compile_for_gpu(self.game, template)(NUM_ENVS, *own)
        return [self._host(a) for a in own]

    def _host(self, array: Any) -> Any:
        if isinstance(array, np.ndarray) or not hasattr(array, "copy_to_host"):
            return array
        return array.copy_to_host()


def record(game: Game) -> dict[str, np.ndarray]:
    """Play on the CPU: mostly the heuristic's actions, so that games come to an end."""
    recorded = {}
    for number in range(len(GAMES)):
        batch = Batch(game, number, "cpu")
        rng = np.random.default_rng(number)
        actions, digests, over = [], [batch.digest()], 0
        while over < GAMES[number]:
            chosen = (batch.seen[1] * rng.random(batch.seen[1].shape)).argmax(axis=1)
            if game.heuristic is not None:
                follows = rng.random(NUM_ENVS) < 0.9
                chosen = np.where(follows, batch.choose_by_heuristic(), chosen)
            actions.append(chosen)
            batch.step(chosen)
            over += batch.over
            digests.append(batch.digest())
            if len(actions) % SAMPLE == 0:
                digests[-1] += batch.digest_of_kernels(len(actions))
        recorded[f"actions_{number}"] = np.array(actions)
        recorded[f"digests_{number}"] = np.array(digests)
    return recorded


def replay(game: Game, number: int, actions: np.ndarray) -> Iterator[str]:
    """The digests of the same decisions on the GPU."""
    batch = Batch(game, number, "cuda")
    yield batch.digest()
    for count, chosen in enumerate(actions, 1):
        batch.step(chosen)
        digest = batch.digest()
        yield digest + batch.digest_of_kernels(count) if count % SAMPLE == 0 else digest


if __name__ == "__main__":
    np.savez(sys.argv[2], **record(load_game(sys.argv[1])))
