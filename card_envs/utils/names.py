"""How games are named."""

from __future__ import annotations


def id_of(name: str) -> str:
    """The id in a versioned name."""
    return name.rpartition("_v")[0]


def version_of(name: str) -> int:
    """The version in a versioned name."""
    return int(name.rpartition("_v")[2])


def gymnasium_id(name: str) -> str:
    """The id in the registries, e.g. ``"card_envs/BeaverGang-v0"`` for ``"beaver_gang_v0"``."""
    camel = "".join(word.capitalize() for word in id_of(name).split("_"))
    return f"card_envs/{camel}-v{version_of(name)}"


def gymnasium_text_id(name: str) -> str:
    """The id of the same game in words, e.g. ``"card_envs/BeaverGangText-v0"``."""
    game, _, version = gymnasium_id(name).rpartition("-")
    return f"{game}Text-{version}"
