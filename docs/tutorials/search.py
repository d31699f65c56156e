# %% [markdown]
"""
# Your own search

A search in 40 lines: try the policy's likeliest actions in worlds that agree with what the player
knows, let the policy play each world out, take the action that does best. `clone()` copies a game,
`determinize` redraws in the copy what the player cannot know, and a policy plays. The package's own
[`search:N`](../search.md) is the same idea in compiled code; this one is yours to change.
"""

# %%
import numpy as np

import card_envs
from card_envs.agents import choose, make_agent, turn_of
from card_envs.evaluation import deal_seeds, estimate_mean

# %% tags=["parameters"]
GAME = "franks_zoo"
PLAYERS = 3
POLICY = "ppo_v3"  # which does not change, as `ppo` may
OPTIONS = {"target_score": 1}  # one round: rollouts to the end are short
CANDIDATES = 4
WORLDS = 8
CAUTION = 1.0
DEALS = 40

# %% [markdown]
"""
## The search

All candidates are tried in the same worlds. Lucky cards then help all of them, and the differences
between them vary less than their values (common random numbers). Another action replaces the
policy's choice only if it is ahead by more than `CAUTION` standard errors of the difference: of
several noisy means the greatest is often only the luckiest.
"""

# %%
game = card_envs.load_game(GAME)
policy = make_agent(POLICY, game)


def value(env, action, seed):
    """The reward after an action in a redrawn world, all players following the policy."""
    world, agent = env.clone(), env.agent_selection
    world.determinize(agent, seed)
    world.step(action)
    while world.legal_actions():
        world.step(choose(policy, game, world.states))
    return world.rewards[agent]


def search(env, seed):
    """The action that does best over the worlds of a seed."""
    turn = turn_of(game, env.states, np.array([0]), policy.view)
    order = np.argsort(-policy.probabilities(turn)[0], kind="stable")
    candidates = [int(action) for action in order[:CANDIDATES] if turn.action_mask[0, action]]
    if len(candidates) == 1:
        return candidates[0]
    worlds = range(seed, seed + WORLDS)
    values = np.array([[value(env, action, world) for world in worlds] for action in candidates])
    gains = values - values[0]  # over the policy's choice, world by world
    errors = gains.std(axis=1, ddof=1) / WORLDS**0.5
    is_better = gains.mean(axis=1) > CAUTION * errors
    return candidates[int(np.argmax(np.where(is_better, gains.mean(axis=1), 0.0)))]


# %% [markdown]
"""
The result of `determinize` follows from what the player knows and from the seed alone, so the true
hidden cards do not enter: the search decides alike in all positions that look alike to the player.

## Measured

The search plays alone among copies of the policy it starts from, every deal once in each seat with
the same cards (duplicate deals). If it changed nothing, the mean over the seats of a deal would be
exactly 0. The interval is over deals, since games of one deal are not independent.
"""


# %%
def play(deal, seat):
    """The rank reward of a search in one seat of a deal."""
    env = card_envs.make(GAME, num_players=PLAYERS, **OPTIONS)
    env.reset(seed=deal)
    decision = 0
    while env.legal_actions():
        decision += WORLDS
        is_own = env.agent_selection == env.possible_agents[seat]
        env.step(search(env, decision) if is_own else choose(policy, game, env.states))
    return env.rewards[env.possible_agents[seat]]


ranks = [[play(int(deal), seat) for seat in range(PLAYERS)] for deal in deal_seeds(1, DEALS)]
rank = estimate_mean(np.mean(ranks, axis=1))
print(f"The search among {PLAYERS - 1} {POLICY}, {DEALS} deals: rank reward {rank.mean:+.3f}")
print(f"95% interval: {rank.low:+.3f} … {rank.high:+.3f}")

# %% [markdown]
"""
`search:N` goes further: it drops the worse half of the candidates again and again (sequential
halving), draws worlds in proportion to how likely the policy was to do what the others have done,
and ends rollouts with the round in games of many rounds. To take a search of your own to
tournaments and into the browser, make it an [agent](../api/agents.md).
"""
