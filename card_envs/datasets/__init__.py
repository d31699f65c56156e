"""Datasets: games between agents as replays, and one agent's decisions for offline learning."""

from __future__ import annotations

from card_envs.datasets.reading import games_of_dataset, hash_dataset
from card_envs.datasets.recording import RecordedGames, Recording, SeatDecisions
from card_envs.datasets.searching import SearchedDecisions, search_decisions

__all__ = [
    "RecordedGames",
    "Recording",
    "SearchedDecisions",
    "SeatDecisions",
    "games_of_dataset",
    "hash_dataset",
    "search_decisions",
]
