"""Datasets: games between agents as replays, and one agent's decisions for offline learning."""

from __future__ import annotations

from card_envs.datasets.recording import RecordedGames, Recording, SeatDecisions

__all__ = ["RecordedGames", "Recording", "SeatDecisions"]
