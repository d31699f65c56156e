"""PPO with masked actions in one file, to be read from top to bottom and changed.

    python docs/examples/ppo.py --game beaver_gang --total-timesteps 500000

One learner against given opponents in the native vector environment. The folder
``runs/<game>__ppo__<seed>__<time>`` gets TensorBoard logs and the policy, a file that is an agent
wherever one is expected. The shipped policies are made by ``training.train``: self-play.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.utils.tensorboard import SummaryWriter

import card_envs
from card_envs.agents.network import Network, write_policy
from card_envs.commands import running
from card_envs.evaluation import evaluate
from card_envs.evaluation.display import with_interval
from card_envs.utils.names import gymnasium_id


def argument(default: Any, text: str) -> Any:
    """An argument with its default and what ``--help`` says of it."""
    return field(default=default, metadata={"help": text})


@dataclass
class Args:
    """The command's arguments."""

    game: str = argument("beaver_gang", "the game's id")
    num_players: int = argument(3, "number of players")
    opponents: str = argument("heuristic", "the agent in all other seats, also in the evaluation")
    seed: int = argument(1, "of the deals, the weights and the actions")
    total_timesteps: int = argument(500_000, "learner decisions in all")
    num_envs: int = argument(256, "games played at a time")
    num_steps: int = argument(16, "decisions of each game in a rollout")
    hidden: int = argument(128, "units of each of the two hidden layers")
    learning_rate: float = argument(1e-3, "at the start")
    anneal_lr: bool = argument(True, "let the learning rate fall to 0")
    gamma: float = argument(1.0, "discount; games end, so none is needed")
    gae_lambda: float = argument(0.95, "lambda of generalized advantage estimation")
    num_minibatches: int = argument(8, "minibatches of a rollout")
    update_epochs: int = argument(4, "passes over a rollout")
    clip_coef: float = argument(0.2, "clipping of the probability ratio")
    ent_coef: float = argument(0.01, "weight of the entropy bonus")
    vf_coef: float = argument(0.5, "weight of the value loss")
    max_grad_norm: float = argument(0.5, "greatest norm of the gradient")
    eval_deals: int = argument(500, "duplicate deals of the evaluation at the end")
    threads: int = argument(1, "torch's threads; more are seldom faster for networks of this size")


#: The least and the most of the numbers among them.
LIMITS: dict[str, tuple[float, float]] = {
    "seed": (0, 2**31 - 1),
    "num_envs": (1, 2**20),
    "num_steps": (1, 2**16),
    "hidden": (1, 2**16),
    "learning_rate": (0, 1),
    "gamma": (0, 1),
    "gae_lambda": (0, 1),
    "clip_coef": (0, 100),
    "ent_coef": (0, 100),
    "vf_coef": (0, 100),
    "max_grad_norm": (0, 1e6),
    "update_epochs": (1, 1000),
    "eval_deals": (2, 1_000_000),
    "threads": (1, 512),
}


def parse_args(argv: Sequence[str] | None = None) -> Args:
    """The arguments given on the command line, and the defaults of all others."""
    parser = argparse.ArgumentParser(
        prog="python docs/examples/ppo.py",
        description=(__doc__ or "").split("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    types = get_type_hints(Args)
    for entry in fields(Args):
        kind: dict[str, Any] = {"type": types[entry.name]}
        if kind["type"] is bool:
            kind = {"action": argparse.BooleanOptionalAction}
        name = f"--{entry.name.replace('_', '-')}"
        parser.add_argument(name, default=entry.default, help=entry.metadata["help"], **kind)
    args = Args(**vars(parser.parse_args(argv)))
    for name, (least, most) in LIMITS.items():
        if not least <= getattr(args, name) <= most:
            parser.error(f"--{name.replace('_', '-')} must be from {least} to {most}")
    batch_size = args.num_envs * args.num_steps
    if not 1 <= args.num_minibatches <= batch_size // 2:
        parser.error(f"--num-minibatches must be from 1 to {batch_size // 2}, half a rollout")
    if args.total_timesteps < batch_size:
        parser.error(f"--total-timesteps must be at least {batch_size}, a rollout")
    return args


def linear(inputs: int, outputs: int, std: float = np.sqrt(2)) -> nn.Linear:
    """A layer with orthogonal weights and no bias at first."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


def mlp(inputs: int, hidden: int, outputs: int, std: float) -> nn.Sequential:
    """Two hidden layers; ``std`` scales the weights of the last layer."""
    layers = linear(inputs, hidden), nn.ReLU(), linear(hidden, hidden), nn.ReLU()
    return nn.Sequential(*layers, linear(hidden, outputs, std))


class Agent(nn.Module):
    """Actor and critic, which share no weights."""

    def __init__(self, num_inputs: int, num_actions: int, hidden: int) -> None:
        super().__init__()
        self.actor = mlp(num_inputs, hidden, num_actions, std=0.01)
        self.critic = mlp(num_inputs, hidden, 1, std=1.0)

    def distribution(self, obs: torch.Tensor, mask: torch.Tensor) -> Categorical:
        """The policy (N,) over legal actions, given observations (N, D) and masks (N, A)."""
        logits = self.actor(obs).masked_fill(~mask, -1e9)  # finite: 0 * -inf would be no entropy
        return Categorical(logits=logits, validate_args=False)

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        """The values (N,)."""
        values: torch.Tensor = self.critic(obs).squeeze(-1)
        return values

    def network(self) -> Network:
        """The actor as the network of a policy file."""
        layers = [layer for layer in self.actor if isinstance(layer, nn.Linear)]
        arrays = [(x.weight.detach().numpy(), x.bias.detach().numpy()) for x in layers]
        return Network(arrays, "relu")


def new_folder(name: str) -> Path:
    """Make a folder in ``runs``, with a number behind its name if there is one of that name."""
    folder, number = Path("runs") / name, 0
    while True:
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
            folder = Path("runs") / f"{name}__{number}"


def train(args: Args) -> Path:
    """Train, write the policy, evaluate it, and return the path of its file."""
    game = card_envs.load_game(args.game)
    envs = gymnasium.make_vec(
        gymnasium_id(game.name),
        num_envs=args.num_envs,
        num_players=args.num_players,
        opponents=args.opponents,
        skip_forced=True,  # a forced move teaches nothing
        on_illegal="raise",  # masked actions are always legal
    )
    folder = new_folder(f"{game.id}__ppo__{args.seed}__{int(time.time())}")
    writer = SummaryWriter(str(folder))
    lines = "\n".join(f"|{name}|{value}|" for name, value in asdict(args).items())
    writer.add_text("hyperparameters", f"|argument|value|\n|-|-|\n{lines}")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    shuffle = np.random.default_rng(args.seed)

    num_actions = int(envs.single_action_space.n)  # type: ignore[attr-defined]
    agent = Agent(game.fields.size, num_actions, args.hidden)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    steps = (args.num_steps, args.num_envs)
    obs = torch.zeros((*steps, game.fields.size))
    masks = torch.zeros((*steps, num_actions), dtype=torch.bool)
    actions = torch.zeros(steps, dtype=torch.long)
    logprobs, rewards, dones, values = (torch.zeros(steps) for _ in range(4))

    batch_size = args.num_envs * args.num_steps
    num_iterations = args.total_timesteps // batch_size
    episode_returns = np.zeros(args.num_envs)
    # Game i has the seed behind that of game i - 1: no two runs share one.
    next_obs, infos = envs.reset(seed=args.seed * args.num_envs % 2**64)
    begun = time.perf_counter()
    for iteration in range(1, num_iterations + 1):
        if args.anneal_lr:
            remaining = 1.0 - (iteration - 1) / num_iterations
            optimizer.param_groups[0]["lr"] = remaining * args.learning_rate

        # Rollout
        returns_of_ended: list[float] = []
        for step in range(args.num_steps):
            obs[step] = torch.from_numpy(next_obs)
            masks[step] = torch.from_numpy(infos["action_mask"])
            with torch.no_grad():
                policy = agent.distribution(obs[step], masks[step])
                actions[step] = policy.sample()
                logprobs[step] = policy.log_prob(actions[step])
                values[step] = agent.value(obs[step])
            next_obs, reward, terminated, truncated, infos = envs.step(actions[step].numpy())
            # A truncated game has paid its standing: no value is bootstrapped.
            done = terminated | truncated
            rewards[step] = torch.from_numpy(reward)
            dones[step] = torch.from_numpy(done)
            episode_returns += reward
            returns_of_ended += episode_returns[done].tolist()
            episode_returns[done] = 0.0

        # Generalized advantage estimation
        advantages = torch.zeros_like(rewards)
        with torch.no_grad():
            next_value = agent.value(torch.from_numpy(next_obs))
        advantage = torch.zeros(args.num_envs)
        for step in reversed(range(args.num_steps)):
            goes_on = 1.0 - dones[step]
            delta = rewards[step] + args.gamma * next_value * goes_on - values[step]
            advantage = delta + args.gamma * args.gae_lambda * goes_on * advantage
            advantages[step], next_value = advantage, values[step]
        returns = advantages + values

        # Update
        b_obs, b_masks = obs.flatten(0, 1), masks.flatten(0, 1)
        b_actions, b_logprobs = actions.flatten(), logprobs.flatten()
        b_advantages, b_returns = advantages.flatten(), returns.flatten()
        for _ in range(args.update_epochs):
            for indices in np.array_split(shuffle.permutation(batch_size), args.num_minibatches):
                mb = torch.from_numpy(indices)
                policy = agent.distribution(b_obs[mb], b_masks[mb])
                logratio = policy.log_prob(b_actions[mb]) - b_logprobs[mb]
                ratio = logratio.exp()
                mb_advantages = b_advantages[mb] - b_advantages[mb].mean()
                mb_advantages = mb_advantages / (mb_advantages.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(mb_advantages * ratio, mb_advantages * clipped).mean()
                v_loss = 0.5 * (agent.value(b_obs[mb]) - b_returns[mb]).square().mean()
                entropy = policy.entropy().mean()
                loss = pg_loss - args.ent_coef * entropy + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        # Logging
        decisions = iteration * batch_size
        sps = int(decisions / (time.perf_counter() - begun))
        explained = 1 - (b_returns - values.flatten()).var() / b_returns.var()
        for tag, value in {
            "charts/learning_rate": optimizer.param_groups[0]["lr"],
            "charts/SPS": sps,
            "charts/episodic_return": np.mean(returns_of_ended or [np.nan]),
            "losses/policy_loss": pg_loss.item(),
            "losses/value_loss": v_loss.item(),
            "losses/entropy": entropy.item(),
            "losses/approx_kl": (ratio - 1 - logratio).mean().item(),
            "losses/explained_variance": explained.item(),
        }.items():
            writer.add_scalar(tag, value, decisions)
        print(f"{decisions} decisions, {sps} a second")

    # Evaluation: every deal in all seatings with the same cards.
    path = folder / "policy.safetensors"
    write_policy(path, agent.network(), game)
    for opponent in dict.fromkeys((args.opponents, "random")):
        table = [str(path), *[opponent] * (args.num_players - 1)]
        rank = evaluate(game, table, args.eval_deals, args.seed).agents[0].rank
        writer.add_scalar(f"evaluation/rank_vs_{opponent}", rank.mean, decisions)
        print(f"against {opponent}: rank {with_interval(rank.to_json('rank'), 'rank')}")
    writer.close()
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python docs/examples/ppo.py``; returns the exit status."""
    args = parse_args(argv)
    return running.run("ppo.py", lambda: print(f"The policy is in {train(args)}."))


if __name__ == "__main__":
    raise SystemExit(main())
