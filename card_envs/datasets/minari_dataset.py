"""Minari datasets: one agent's decisions with action masks, for offline learning."""

from __future__ import annotations

import copy
import hashlib
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import Any

import gymnasium

from card_envs.agents import SearchAgent
from card_envs.contract.options import View
from card_envs.datasets.reading import GAMES_FILE, add_episode
from card_envs.datasets.recording import RecordedGames, Recording, SeatDecisions
from card_envs.datasets.searching import SearchedDecisions, search_decisions
from card_envs.envs.observation_space import observation_space
from card_envs.utils.extras import import_extra
from card_envs.utils.files import left_beside, path_beside
from card_envs.utils.version import VERSION

_EXTRA = "datasets"
_ROOT = "MINARI_DATASETS_PATH"
# What HDF5 and JSON take beside the arrays, at most: for a dataset, and for each of its episodes.
_BYTES, _BYTES_OF_AN_EPISODE = 2**20, 2**15


class MinariWriter:
    """Writes the decisions of a recording's first agent as a Minari dataset, batch by batch.

    An episode is a game: what the environment that ``recover_environment`` gives would return for
    the same seed and actions (if the agent itself is ``random``, only cards and seats are the
    same). Beside the arrays are the games as replays, a line for each episode. It is a context, at
    whose end there is a dataset: until then it is built in a hidden folder. If what is in the
    context fails or is interrupted, or there was no decision, nothing is left.

    Args:
        name: The dataset's id, such as ``"beaver_gang/heuristic-v0"``; it must not exist yet.
        recording: The games that will be given to :meth:`add`.
        agents: The agents' names, in the recording's order.
        view: How the first agent's seat observes.
        searcher: Searches each decision too; what it finds are the episodes' infos.

    Raises:
        ValueError: The name is not one of Minari's, or there is such a dataset.
        MissingExtraError: minari is not installed.
    """

    def __init__(
        self,
        name: str,
        recording: Recording,
        agents: Sequence[str],
        view: View,
        searcher: SearchAgent | None = None,
    ) -> None:
        self._minari = import_extra("minari", _EXTRA)
        import_extra("h5py", _EXTRA)
        import_extra("PIL", _EXTRA)  # Minari's storage imports it
        datasets = import_extra("minari.dataset.minari_dataset", _EXTRA)
        parts = datasets.DATASET_ID_RE.fullmatch(name)
        if parts is None or parts["version"] is None:
            raise ValueError(
                f"a Minari dataset is called NAME-v0 or GROUP/NAME-v0, with letters, digits, _ "
                f"and -, a group with two characters at least, got {name!r}"
            )
        paths = import_extra("minari.storage.datasets_root_dir", _EXTRA)
        self.path: Path = paths.get_dataset_path(name)
        place = paths.get_dataset_path() / name.replace("/", "-")
        #: What other recordings of this name have left, or are building.
        self.left_by_others = left_beside(place)
        self._building = path_beside(place)
        self._name = name
        self._group = parts["namespace"]
        self._check_free()
        self._recording = recording
        self._agents = list(agents)
        self._view = view
        self._searcher = searcher
        self._hash = hashlib.sha256()
        self._forfeited = 0
        #: How many episodes and decisions have been written.
        self.episodes = self.decisions = 0
        self._dataset: Any = None

    def _check_free(self) -> None:
        if self.path.exists():
            raise ValueError(f"the Minari dataset {self._name} exists already: {self.path}")

    def __enter__(self) -> MinariWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            shutil.rmtree(self._building, ignore_errors=True)

    def _finish(self) -> None:
        if self._dataset is None:
            why = (
                "a program forfeited all games"
                if self._forfeited == self._recording.games
                else f"all games ended before the first decision of {self._agents[0]}: "
                f"max_steps={self._recording.options['max_steps']} is too small"
            )
            raise ValueError(f"no Minari dataset was written: {why}")
        storage = self._dataset.storage
        about = {**storage.metadata["card_envs"], "sha256": self.sha256}
        storage.update_metadata({"card_envs": about})
        self._check_free()
        groups = self._minari.namespace
        if self._group is not None and self._group not in groups.list_local_namespaces():
            groups.create_namespace(self._group)
        (self._building / self._name).rename(self.path)

    def add(self, games: RecordedGames) -> None:
        """Write the first agent's decisions in these games."""
        self._forfeited += games.forfeited
        searched = search_decisions(games, self._searcher) if self._searcher else repeat(None)
        own = games.first_agents_decisions(self._view)
        episodes = [self._episode(*pair) for pair in zip(own, searched, strict=False)]
        if not episodes:
            return
        if self._dataset is None:
            self._dataset = self._create()
        storage = self._dataset.storage
        size = _BYTES_OF_AN_EPISODE * len(episodes)
        for episode in episodes:
            arrays = (*episode.observations.values(), *(episode.infos or {}).values())
            size += sum(array.nbytes for array in (*arrays, episode.actions, episode.rewards))
            add_episode(self._hash, episode)
        _reserve(storage.data_path / "main_data.hdf5", size)
        storage.update_episodes(episodes)
        lines = {replay.seed: f"{replay.to_json()}\n" for replay in games.replays()}
        with (storage.data_path / GAMES_FILE).open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(lines[episode.seed] for episode in episodes)
        self.episodes = int(storage.total_episodes)
        self.decisions = int(storage.total_steps)

    @property
    def sha256(self) -> str:
        """The hash of what has been written, which is that of ``hash_dataset``."""
        return self._hash.hexdigest()

    def _episode(self, decisions: SeatDecisions, searched: SearchedDecisions | None) -> Any:
        last = [*[False] * (len(decisions.actions) - 1), True]
        return self._minari.data_collector.EpisodeBuffer(
            seed=decisions.seed,
            observations={
                "observation": decisions.observation,
                "action_mask": decisions.action_mask,
            },
            actions=decisions.actions,
            rewards=decisions.rewards,
            terminations=[end and decisions.terminated for end in last],
            truncations=[end and decisions.truncated for end in last],
            infos=None if searched is None else vars(searched),
        )

    def _create(self) -> Any:
        """An empty dataset in the hidden folder."""
        recording = self._recording
        game = recording.game
        view = {"memory": self._view.memory, "features": self._view.features}
        spec = copy.deepcopy(gymnasium.spec(game.gymnasium_id))
        spec.kwargs = {
            **spec.kwargs,
            "num_players": recording.num_players,
            "opponents": self._agents[1:],
            **recording.options,
            **view,
            "mask": "observation",
        }
        self._building.mkdir(parents=True)
        room = self._building / "room"
        _reserve(room, _BYTES)
        room.unlink()
        with warnings.catch_warnings(), _datasets_in(self._building):
            # About an author, an address and the like, which are the user's to add.
            warnings.simplefilter("ignore", UserWarning)
            dataset = self._minari.create_dataset_from_buffers(
                self._name,
                [],
                env=spec,
                observation_space=observation_space(game, mask_in_info=False),
                action_space=gymnasium.spaces.Discrete(game.num_actions),
                algorithm_name=self._agents[0],
                description=(
                    f"{game.name}, {recording.num_players} players: the decisions of "
                    f"{self._agents[0]} against {', '.join(self._agents[1:])}"
                ),
                requirements=[f"card_envs=={VERSION}"],
                data_format="hdf5",
            )
        dataset.storage.update_metadata(
            {
                "card_envs": {
                    "game": game.name,
                    "version": VERSION,
                    "fingerprint": game.fields.fingerprint,
                    "options": {"num_players": recording.num_players, **recording.options},
                    "view": view,
                    "agents": self._agents,
                    "seed": recording.seed,
                    "games": recording.games,
                    "values": None if self._searcher is None else self._searcher.name,
                }
            }
        )
        return dataset


@contextmanager
def _datasets_in(folder: Path) -> Iterator[None]:
    """A context in which Minari creates datasets in a folder."""
    before = os.environ.get(_ROOT)
    os.environ[_ROOT] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ROOT]
        else:
            os.environ[_ROOT] = before


def _reserve(path: Path, size: int) -> None:
    """Make a file longer, as HDF5 crashes the process where it finds the disk full.

    HDF5 shortens it when it closes it.

    Raises:
        OSError: There is no room.
    """
    with path.open("ab") as file:
        for _ in range(-(-size // _BYTES)):
            file.write(bytes(_BYTES))
