"""PPO with masked actions and a feed-forward or a recurrent network, for ``benchmarks.memory``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.distributions import Categorical

from card_envs.contract.game import Game

#: The network's core: ``"feedforward"``, or ``"recurrent"`` over the learner's own decisions.
CORES = ("feedforward", "recurrent")


@dataclass(frozen=True)
class Hyperparameters:
    """Those of all learners that are compared."""

    num_envs: int = 256
    num_steps: int = 16
    hidden: int = 128
    learning_rate: float = 1e-3
    gae_lambda: float = 0.95
    minibatches: int = 4
    epochs: int = 3
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    max_grad_norm: float = 0.5


class ActorCritic(nn.Module):
    """An encoder, a core of the same size, and two heads.

    Args:
        inputs: Size of the observation.
        actions: Number of actions.
        hidden: Units of encoder and core.
        core: One of ``CORES``: a layer with ReLU, or a GRU.
    """

    def __init__(self, inputs: int, actions: int, hidden: int, core: str) -> None:
        super().__init__()
        self.hidden = hidden
        self.is_recurrent = core == "recurrent"
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU())
        self.core: nn.Module = (
            nn.GRUCell(hidden, hidden)
            if self.is_recurrent
            else nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU())
        )
        self.actor = nn.Linear(hidden, actions)
        self.critic = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)
        nn.init.zeros_(self.actor.bias)

    def forward(
        self,
        observations: torch.Tensor,
        masks: torch.Tensor,
        starts: torch.Tensor,
        state: torch.Tensor,
    ) -> tuple[Categorical, torch.Tensor, torch.Tensor]:
        """The policy and the values of T successive decisions in N games.

        Args:
            observations: (T, N, D).
            masks: bool (T, N, A).
            starts: (T, N), 1 where a game begins.
            state: (N, hidden), what the core remembers.

        Returns:
            The policy over legal actions, the values (T, N), and the state afterwards.
        """
        x = self.encoder(observations)
        if self.is_recurrent:
            latents = []
            for t in range(len(x)):
                state = self.core(x[t], state * (1.0 - starts[t])[:, None])
                latents.append(state)
            x = torch.stack(latents)
        else:
            x = self.core(x)
        logits = self.actor(x).masked_fill(~masks, -1e9)
        return Categorical(logits=logits, validate_args=False), self.critic(x).squeeze(-1), state


def make_games(game: Game, num_envs: int, num_players: int, memory: str, reward: str) -> Any:
    """Games in which a learner holds one seat among the game's default opponents."""
    return gymnasium.make_vec(
        game.gymnasium_id,
        num_envs=num_envs,
        num_players=num_players,
        opponents=game.default_opponent,
        memory=memory,
        reward=reward,
        skip_forced=False,  # what is seen at forced decisions is to be remembered too
        on_illegal="raise",
        max_steps=1000,
    )


def train(
    game: Game,
    num_players: int,
    memory: str,
    core: str,
    decisions: int,
    seed: int,
    settings: Hyperparameters = Hyperparameters(),
) -> ActorCritic:
    """Train a learner in one seat.

    Args:
        game: The game.
        num_players: The number of players.
        memory: What the learner observes: ``"perfect"`` recall, or ``"none"``.
        core: One of ``CORES``.
        decisions: Learner decisions with more than one legal action.
        seed: Of deals, weights and actions.
        settings: Hyperparameters.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    count, steps = settings.num_envs, settings.num_steps
    envs = make_games(game, count, num_players, memory, "score")
    network = ActorCritic(game.fields.size, game.num_actions, settings.hidden, core)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=1e-5)
    shape = (steps, count)
    observations = torch.zeros((*shape, game.fields.size))
    masks = torch.zeros((*shape, game.num_actions), dtype=torch.bool)
    actions = torch.zeros(shape, dtype=torch.long)
    starts, rewards, values, log_probs = (torch.zeros(shape) for _ in range(4))
    observation, infos = envs.reset(seed=seed * count)
    start, state = torch.ones(count), torch.zeros(count, settings.hidden)
    taken = 0
    while taken < decisions:
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * (1.0 - taken / decisions)
        first_state = state
        for t in range(steps):
            observations[t] = torch.from_numpy(observation)
            masks[t] = torch.from_numpy(infos["action_mask"] == 1)
            starts[t] = start
            with torch.no_grad():
                policy, value, state = network(
                    observations[t : t + 1], masks[t : t + 1], starts[t : t + 1], state
                )
                actions[t] = policy.sample()[0]
                log_probs[t], values[t] = policy.log_prob(actions[t])[0], value[0]
            observation, reward, terminated, truncated, infos = envs.step(actions[t].numpy())
            # A truncated game has paid for all its rounds: no value is bootstrapped.
            start = torch.from_numpy((terminated | truncated).astype(np.float32))
            rewards[t] = torch.from_numpy(reward)
        with torch.no_grad():
            last = torch.from_numpy(observation)[None], torch.from_numpy(infos["action_mask"] == 1)
            _, next_value, _ = network(last[0], last[1][None], start[None], state)
        advantages = _advantages(rewards, values, starts, start, next_value[0], settings.gae_lambda)
        returns = advantages + values
        has_choice = masks.sum(dim=2) > 1
        taken += int(has_choice.sum())
        for _ in range(settings.epochs):
            for games in np.array_split(rng.permutation(count), settings.minibatches):
                chosen = torch.from_numpy(games)
                policy, value, _ = network(
                    observations[:, chosen],
                    masks[:, chosen],
                    starts[:, chosen],
                    first_state[chosen],
                )
                ratio = (policy.log_prob(actions[:, chosen]) - log_probs[:, chosen]).exp()
                free = has_choice[:, chosen]
                gain, ratio = advantages[:, chosen][free], ratio[free]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                clipped = ratio.clamp(1 - settings.clip_coef, 1 + settings.clip_coef)
                loss = (
                    -torch.min(gain * ratio, gain * clipped).mean()
                    - settings.ent_coef * policy.entropy()[free].mean()
                    + 0.25 * (value - returns[:, chosen]).square().mean()
                )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), settings.max_grad_norm)
                optimizer.step()
    envs.close()
    return network


def _advantages(
    rewards: torch.Tensor,
    values: torch.Tensor,
    starts: torch.Tensor,
    start: torch.Tensor,
    next_value: torch.Tensor,
    gae_lambda: float,
) -> torch.Tensor:
    """Generalized advantage estimates (T, N), undiscounted; ``start`` is that of decision T."""
    found = torch.zeros_like(rewards)
    advantage = torch.zeros_like(next_value)
    for t in reversed(range(len(rewards))):
        goes_on = 1.0 - start
        delta = rewards[t] + next_value * goes_on - values[t]
        advantage = delta + gae_lambda * goes_on * advantage
        found[t], next_value, start = advantage, values[t], starts[t]
    return found


def play(
    network: ActorCritic, game: Game, num_players: int, memory: str, games: int, seed: int
) -> NDArray[np.float64]:
    """The rank rewards (games,) of a learner that takes its most probable actions.

    Args:
        network: The learner.
        game: The game.
        num_players: The number of players.
        memory: What it observes.
        games: How many games, all at a time.
        seed: Of the first game; the deals are the same for all learners.
    """
    envs = make_games(game, games, num_players, memory, "rank")
    observation, infos = envs.reset(seed=seed)
    state, start = torch.zeros(games, network.hidden), torch.ones(games)
    found = np.full(games, np.nan)
    paid = np.zeros(games)
    while np.isnan(found).any():
        mask = torch.from_numpy(infos["action_mask"] == 1)
        with torch.no_grad():
            seen = torch.from_numpy(observation)[None], mask[None], start[None], state
            policy, _, state = network(*seen)
        observation, reward, terminated, truncated, infos = envs.step(
            policy.logits[0].argmax(dim=1).numpy()
        )
        paid += reward
        ended = terminated | truncated
        is_first = ended & np.isnan(found)
        found[is_first] = paid[is_first]
        paid[ended] = 0.0
        start = torch.from_numpy(ended.astype(np.float32))
    envs.close()
    return found
