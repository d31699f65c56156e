# %% [markdown]
"""
# A game of your own

An evening with Nomination Whist, the second example among the tests' fixtures: a trick-taking game
for three or four players with bids, in less than 400 lines. [Adding a game](../adding_a_game.md)
says what every file must hold. Here the finished files are at work, in the order in which you would
write your own, with something to run after each of them. To begin with yours, copy the folder
`tests/fixtures/nomination_whist` and replace it piece by piece.
"""

# %%
import inspect
import sys
from pathlib import Path

import numpy as np

import card_envs
from card_envs.evaluation import evaluate
from training.train import main as train

# %% tags=["parameters"]
FIXTURES = Path("tests/fixtures")
CHANGES = []
DEALS = 500
OUT = Path("runs/own_game")

# %%
sys.path.append(str(FIXTURES))
from nomination_whist import GAME, rules  # noqa: E402

card_envs.register(GAME)

# %% [markdown]
"""
## First hour: the rules on paper, and the actions

Write the rules down by number, one fact each, before any code: every function and every test will
name the numbers that it is about. Then list what a player can do. Each kind of action has words
and parameters, from which its numbers follow.
"""

# %%
print((FIXTURES / "nomination_whist" / "RULES.md").read_text().partition("**NW-4**")[0])
for action in (0, 3, 4, GAME.num_actions - 1):
    print(f"action {action}: {GAME.action_name(action)}, {GAME.actions.to_dict(action)}")

# %% [markdown]
"""
## Second hour: the state and its rules

A game's whole state is one record of numbers; for cards, it says where each of them is. `step` and
the functions that it calls change the record. They are plain Python that Numba compiles, so begin
with `NUMBA_DISABLE_JIT=1`: debuggers and `print` work, and nothing waits for the compiler.
"""

# %%
print(rules.STATE.names[-7:])
print(inspect.getsource(getattr(rules.end_trick, "py_func", rules.end_trick)))

# %% [markdown]
"""
That is enough to play at random, though nobody sees anything yet. If the totals look like the
game's, the rules are nearly right.
"""

# %%
states = GAME.new_states(1)
mask = np.zeros(GAME.num_actions, np.int8)
rng = np.random.default_rng(1)
rules.reset(states, 0, np.uint64(7), 3, *GAME.encode_options({}))
while rules.legal_action_mask(states, 0, mask):
    rules.step(states, 0, int(rng.choice(np.flatnonzero(mask))))
print("points:", states["standing"][0, :3], "after", states["steps"][0], "decisions")

# %% [markdown]
"""
## Third hour: what a player sees

The observation is declared as fields: whatever is public or the player's own, and nothing else.
There is a PettingZoo environment now, in which the observation can be read by name.
"""

# %%
env = card_envs.make("nomination_whist", num_players=3)
env.reset(seed=7)
for _ in range(10):
    env.step(env.legal_actions()[-1])
agent = env.agent_selection
seen = env.observe(agent)
for name, values in env.unflatten(seen["observation"]).items():
    if name in ("deal", "bid", "taken", "hand"):
        print(f"{name:6} {np.round(values, 2)}")

# %% [markdown]
"""
## Fourth hour: who knows what

`determinize` redraws what a player cannot know. It is the part that is easiest to get wrong, and it
proves that the observation hides what it must: whatever is redrawn, the player sees the same, while
the others' cards differ. The shared tests do this over many games, and check that redraws are
uniform.
"""

# %%
player = env.possible_agents.index(agent)
for seed in range(4):
    world = env.clone()
    world.determinize(agent, seed)
    assert (world.observe(agent)["observation"] == seen["observation"]).all()
    place = world.states["place"][0]
    hands = [np.flatnonzero(place == other).tolist() for other in range(3) if other != player]
    print(f"redraw {seed}: the others hold {hands}")

# %% [markdown]
"""
## Fifth hour: the table in words

The scene describes the table as data, and text, pictures and the browser's page are drawn from it.
From here on people can play: `card-envs play nomination_whist --games-from nomination_whist`, in
the folder that holds the package.
"""

# %%
env = card_envs.make("nomination_whist", num_players=3, render_mode="ansi")
env.reset(seed=7)
for _ in range(10):
    env.step(env.legal_actions()[-1])
print(env.render())

# %% [markdown]
"""
## The rest of the evening: a policy

Nothing is left to write: batches, training, search and evaluation work with every game. The
configuration has three lines, and half a million decisions take less than a minute.
"""

# %%
config = FIXTURES / "nomination_whist" / "ppo.yaml"
print(config.read_text())
train([str(config), "--games-from", "nomination_whist", "--out", str(OUT), *CHANGES])
table = [OUT / "ppo.safetensors", "random", "random"]
rank = evaluate("nomination_whist", table, DEALS, seed=1).agents[0].rank
print(f"1 among 2 random: {rank.mean:+.3f} ({rank.low:+.3f} … {rank.high:+.3f})")

# %% [markdown]
"""
What turns this into a game for others, such as the kit for the shared tests, an entry point, and
shipping the policy, is in [adding a game](../adding_a_game.md#step-by-step).
"""
