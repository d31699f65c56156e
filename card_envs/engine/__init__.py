"""Batches, arenas and histories of any game."""
