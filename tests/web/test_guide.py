"""What the page's coach says: the paragraphs of a game's guide, by their comments."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import ALL_GAMES, kit_of

import card_envs
from card_envs.contract import MEMORY_PERFECT
from card_envs.games import guide_file

OWN = [game for game in ALL_GAMES if kit_of(game).is_own]


@pytest.mark.parametrize("game", OWN, ids=lambda game: game.id)
def test_the_guide_has_a_rule_for_every_decision_and_counter(game):
    """As ``guide.js`` finds them."""
    text = guide_file(game).read_text(encoding="utf-8")
    phrases = {p for found in re.findall("<!-- for: (.*?) -->", text) for p in found.split("; ")}

    def has_rule(*words):
        clauses = [re.sub("^or ", "", c.strip()) for w in words for c in re.split("[:;,.]", w)]
        return any(f"{c.lower()} ".startswith(f"{p} ") for c in clauses for p in phrases)

    for num_players in (game.min_players, game.default_players):
        env = card_envs.make(game.id, num_players=num_players)
        env.reset(seed=1)
        states, rng = env.unwrapped.states, np.random.default_rng(num_players)
        for player, agent in enumerate(env.possible_agents):
            scene = game.scene(states, 0, player, MEMORY_PERFECT)
            missing = [n for n, _ in scene.seats[0].counters if n != "partner" and not has_rule(n)]
            assert not missing, agent
        for agent in env.agent_iter(400):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            legal = np.flatnonzero(observation["action_mask"])
            player = env.possible_agents.index(agent)
            prompt = game.scene(states, 0, player, MEMORY_PERFECT).prompt
            groups = {game.actions.group(int(action)) for action in legal}
            assert has_rule(prompt, *groups), (prompt, groups)
            env.step(int(rng.choice(legal)))
