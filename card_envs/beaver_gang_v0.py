"""Beaver Gang as a PettingZoo environment: ``beaver_gang_v0.env(num_players=4)``."""

from card_envs.envs.aec import make_shim

env, raw_env = make_shim("beaver_gang")
