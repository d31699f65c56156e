"""Scenes (a table as plain data) and their renderers, which know no game."""
