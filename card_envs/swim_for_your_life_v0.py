"""Swim for Your Life as a PettingZoo environment: ``swim_for_your_life_v0.env(num_players=4)``."""

from card_envs.envs.aec import make_shim

env, raw_env = make_shim("swim_for_your_life")
