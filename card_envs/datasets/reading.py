"""What is read of Minari datasets: their games as replays, and a hash of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from card_envs.utils.extras import import_extra

#: The games of a dataset, a line for each episode; beside the arrays, in the folder ``data``.
GAMES_FILE = "games.jsonl"


def games_of_dataset(dataset: str | Path) -> Path:
    """The file with the games of a Minari dataset, for ``Replay.load``; game k is episode k - 1.

    Nothing but its path is looked at: neither Minari nor HDF5 opens anything.

    Args:
        dataset: The dataset's folder, or its name, such as ``"beaver_gang/heuristic-v0"``.

    Raises:
        ValueError: There is no such dataset, or it holds no games.
        MissingExtraError: It is given by name, and minari is not installed.
    """
    folder = Path(dataset)
    if not folder.is_dir():
        paths = import_extra("minari.storage.datasets_root_dir", "datasets")
        folder = paths.get_dataset_path(str(dataset))
    if not (folder / "data").is_dir():
        raise ValueError(f"there is no Minari dataset {dataset}: {folder / 'data'} is no folder")
    path: Path = folder / "data" / GAMES_FILE
    if not path.is_file():
        raise ValueError(
            f"the Minari dataset {dataset} cannot be replayed: it has no data/{GAMES_FILE}, which "
            f"holds all seats' actions. Earlier releases did not write it, and Minari's "
            f"combine_datasets leaves it out; record the games again"
        )
    return path


def hash_dataset(dataset: Any) -> str:
    """A SHA-256 of all arrays of a dataset, as ``card-envs record`` prints it.

    It is the same for the same data, whatever release, library or format of files wrote them.

    Args:
        dataset: A ``minari.MinariDataset``.

    Raises:
        TypeError: It is none.
    """
    if not hasattr(dataset, "iterate_episodes"):
        raise TypeError(
            f"a Minari dataset is needed, which minari.load_dataset(name) gives, got {dataset!r}"
        )
    sha = hashlib.sha256()
    for episode in dataset.iterate_episodes():
        add_episode(sha, episode)
    return sha.hexdigest()


def add_episode(sha: Any, episode: Any) -> None:
    """Add a Minari ``EpisodeData`` or ``EpisodeBuffer`` to a hash."""
    groups = {
        "observations": episode.observations,
        "infos": episode.infos or {},
        "": {
            name: getattr(episode, name)
            for name in ("actions", "rewards", "terminations", "truncations")
        },
    }
    for group, arrays in groups.items():
        for name, values in sorted(arrays.items()):
            array = np.ascontiguousarray(values)
            sha.update(f"\0{group}/{name} {array.dtype.str} {array.shape}\0".encode())
            sha.update(array.data.cast("B"))
