"""The folder of a training run: its files, and what they say of its state.

Training writes it; agents are found in it, and the page of runs shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from card_envs.utils.files import followed, read_regular

CONFIG, PROGRESS = "config.yaml", "progress.jsonl"

#: The name of a run's policy where its configuration gives none.
POLICY_NAME = "ppo"

_MOST_CONFIG_BYTES = 1 << 20
_MOST_CARD_BYTES = 4_000_000


@dataclass(frozen=True)
class RunFolder:
    """The folder of a training run, which need not exist.

    Attributes:
        path: Where it is.
    """

    path: Path

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.path / CONFIG

    @property
    def progress(self) -> Path:
        """The periodic evaluations, one JSON object a line."""
        return self.path / PROGRESS

    def policy(self, name: str) -> Path:
        """The policy so far."""
        return self.path / f"{name}.safetensors"

    def card(self, name: str) -> Path:
        """The policy's card, which is written after it."""
        return self.path / f"{name}.json"

    @property
    def lock(self) -> Path:
        """What the process that trains in the folder locks, beside it."""
        folder = followed(self.path)
        return folder.with_name(f".{folder.name}.lock")

    @property
    def owner(self) -> Path:
        """Where this process notes its number, as long as it runs."""
        return self.lock.with_suffix(".pid")

    def policy_name(self) -> str:
        """The name of the policy, by the configuration.

        Raises:
            ValueError, OSError: The configuration cannot be read.
        """
        # The run has written it itself: a key a line.
        text = read_regular(self.config, _MOST_CONFIG_BYTES).decode(errors="replace")
        named = re.search(r"^name:\s*['\"]?(\w+)", text, re.MULTILINE)
        return named[1] if named else POLICY_NAME

    def finished_config(self, name: str) -> Any:
        """The configuration on the card of a finished run; None: it is not finished.

        Raises:
            ValueError: The card is damaged, or no regular file.
            OSError: It cannot be read.
        """
        path = self.card(name)
        if not (self.policy(name).exists() and path.exists()):
            return None
        text = read_regular(path, _MOST_CARD_BYTES)
        try:
            card = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        return card.get("config") if isinstance(card, dict) and card.get("finished", True) else None

    def is_finished(self, config: Mapping[str, Any]) -> bool:
        """Whether the policy is there, and is that of this whole configuration, its agents in the
        same order: who sits where is drawn by it. Errors are those of :meth:`finished_config`."""
        return json.dumps(self.finished_config(config["name"])) == json.dumps(config)

    def is_locked(self) -> bool:
        """Whether a process is training in it."""
        lock = self.lock
        if not lock.exists():
            return False
        if lock.is_symlink():  # opening it may empty what it leads to
            return self.owner.exists()
        try:
            with FileLock(lock, timeout=0):
                return False
        except Timeout:
            return True
        except OSError:  # another user's: a run removes the note of its process when it ends
            return self.owner.exists()
