# %% [markdown]
"""
# A language model at the table

A language model reads texts and answers with texts. Here it plays one seat of a Gymnasium
environment with `Text` spaces, among agents of the package. How well it plays and how often its
answers are illegal are two results, and are counted apart. A stub stands for the model.
"""

# %%
import random
import re

import gymnasium
import numpy as np

from card_envs.evaluation import deal_seeds, estimate_mean

# %% tags=["parameters"]
GAME = "card_envs/BeaverGangText-v0"
PLAYERS = 3
OPPONENTS = "heuristic"
OPTIONS = {"rounds": 1}
DEALS = 100

# %% [markdown]
"""
## The model

Put your own here: messages in, text out. The first message of a game has the rules and says how to
answer; each text holds all that the player has been able to learn, so a long conversation can be
shortened to its first and its latest message.

The stub takes an action from the list at the end of the text, which has the form `    4  draw`.
Now and then it answers something that is no action, or an action that is not legal.
"""

# %%
rng = random.Random(1)


def complete(messages):
    """A model's answer to a conversation."""
    actions = re.findall(r"^ {2,}(\d+) {2}\S", messages[-1]["content"].rpartition("\n\n")[2], re.M)
    kind = rng.random()
    if kind < 0.05:
        return "That is a difficult position."
    if kind < 0.10:
        return "I take [9999]."
    return f"I think that this is best: [{rng.choice(actions)}]"


# %% [markdown]
"""
## A game

The model has three tries for a decision (`max_tries`). A wrong answer is answered with a message
that says what was wrong, at the head of the next text; what happens after the third is a choice of
the experiment. With `on_illegal="random"` a random legal action is taken and the game goes on; with
`"terminate"`, the default, the game is lost. `info["message"]` says that an answer was wrong, and
`info["action"]` is −1 as long as no action was taken.
"""


# %%
def play(deal, seat, on_illegal):
    """One game: the reward, and counts of decisions, wrong answers and actions replaced."""
    env = gymnasium.make(
        GAME,
        num_players=PLAYERS,
        opponents=OPPONENTS,
        seat=seat,
        on_illegal=on_illegal,
        **OPTIONS,
    )
    text, info = env.reset(seed=deal)
    messages, total = [], 0.0
    counts = {"decisions": 0, "wrong answers": 0, "replaced": 0, "lost": 0}
    is_over = False
    while not is_over:
        messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": complete(messages)})
        text, reward, terminated, truncated, info = env.step(messages[-1]["content"])
        is_over, is_wrong, is_taken = (
            terminated or truncated,
            info["message"] != "",
            info["action"] >= 0,
        )
        total += reward
        counts["wrong answers"] += is_wrong
        counts["replaced"] += is_wrong and is_taken
        counts["lost"] += is_over and not is_taken
        counts["decisions"] += is_taken or is_over
    env.close()
    return total, counts


# %% [markdown]
"""
The end of what the model reads first, behind the rules and how to answer:
"""

# %%
env = gymnasium.make(GAME, num_players=PLAYERS, opponents=OPPONENTS, seat=0, **OPTIONS)
text, info = env.reset(seed=1)
print("\n\n".join(text.split("\n\n")[-6:]))
print("\nIt answers:", complete([{"role": "user", "content": text}]))
env.close()

# %% [markdown]
"""
## Measured

Every deal is played in each seat with the same cards, as in all evaluations of the package.
A model may play well and answer badly, or the other way round, and the mean reward alone does not
tell which.
"""

# %%
for on_illegal in ("random", "terminate"):
    ranks, total = [], {}
    for deal in deal_seeds(1, DEALS):
        games = [play(int(deal), seat, on_illegal) for seat in range(PLAYERS)]
        ranks.append(np.mean([reward for reward, _ in games]))
        for _, counts in games:
            total = {name: total.get(name, 0) + count for name, count in counts.items()}
    rank = estimate_mean(np.array(ranks))
    print(f'on_illegal="{on_illegal}": {DEALS * PLAYERS} games, {total["decisions"]} decisions')
    print(f"  rank reward {rank.mean:+.3f} ({rank.low:+.3f} … {rank.high:+.3f})")
    per_cent = 100 * total["wrong answers"] / total["decisions"]
    print(f"  wrong answers for 100 decisions: {per_cent:.1f}")
    print(f"  random actions instead: {total['replaced']}, games lost for answers: {total['lost']}")

# %% [markdown]
"""
For all seats at once, conversations between models, and TextArena's calls see
[games in words](../text.md).
"""
