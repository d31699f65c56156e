"""The games in words."""
