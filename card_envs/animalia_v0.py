"""Animalia as a PettingZoo environment: ``animalia_v0.env(num_players=4)``."""

from card_envs.envs.aec import make_shim

env, raw_env = make_shim("animalia")
