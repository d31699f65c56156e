"""The environments: AEC (aec.py), parallel (parallel.py), one Gymnasium seat (single_seat.py) and a
vector of those (single_seat_vector.py), with their options (options.py); and worlds for agents that
search."""

from card_envs.envs.redrawn_worlds import world, worlds

__all__ = ["world", "worlds"]
