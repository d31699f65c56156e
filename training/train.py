"""Train a policy by self-play with MaskablePPO.

    python -m training.train configs/beaver_gang.yaml [--set KEY=VALUE …] [--out DIR]
    python -m training.train --resume DIR [--set decisions=N]

The folder DIR gets config.yaml, TensorBoard logs, progress.jsonl (the periodic evaluations),
learning_curve.png, a checkpoint, and at the end the policy: <name>.safetensors and <name>.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from card_envs.agents import make_agent
from card_envs.agents.network import Network
from card_envs.engine.game import Game
from card_envs.engine.jit import cache_folder
from card_envs.games import load_game
from training import checkpoint, command
from training.config import Config, load_config
from training.curve import plot_learning_curve
from training.evaluate import deal_seeds, mean_and_interval, play_among
from training.export import export_policy, policy_network
from training.imitation import imitate
from training.learner import make_learner
from training.records import command_as_typed, identity, machine, write_json
from training.selfplay import SelfPlayGames, Snapshot, make_env

# Evaluations while training are on deals of their own, the same ones every time.
_EVALUATION_SEED = 1_000_003


class Periodically(BaseCallback):
    """Between two iterations: snapshots for the pool, evaluations, checkpoints."""

    def __init__(self, config: Config, games: SelfPlayGames, out: Path) -> None:
        super().__init__()
        self._config = config
        self._games = games
        self.out = out
        self._progress = out / "progress.jsonl"
        self.iteration = 0
        self.next_evaluation = 0
        self.next_checkpoint = config.checkpoint_every
        self.seconds = 0.0  #: of earlier sessions of the run
        self._begun = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds of imitation and training, earlier sessions of the run included."""
        return self.seconds + time.monotonic() - self._begun

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        # The model is up to date here: the update of the iteration before is done.
        if self.num_timesteps >= self.next_evaluation:
            self.evaluate()
        if self.num_timesteps >= self.next_checkpoint:
            self.next_checkpoint += self._config.checkpoint_every
            self.save()
        if self.iteration and self.iteration % self._config.opponents.snapshot_every == 0:
            self._games.add_snapshot(self._network())
        self.iteration += 1

    def _network(self) -> Network:
        return policy_network(self.model.best_policy, self._config.network.activation)  # type: ignore

    def evaluate(self) -> None:
        """The learner alone among the configured agents, at the configured table sizes."""
        while self.next_evaluation <= self.num_timesteps:
            self.next_evaluation += self._config.evaluation.every
        game = self._games.game
        learner = Snapshot(self._network())
        entry: dict[str, Any] = {
            "decisions": self.num_timesteps,
            "seconds": round(self.elapsed, 1),
        }
        options = {k: v for k, v in self._config.environment.options.items() if k != "reward"}
        seeds = deal_seeds(_EVALUATION_SEED, self._config.evaluation.deals)
        for name in self._config.evaluation.among:
            opponent = make_agent(name, game)
            tables = play_among(
                game, learner, opponent, self._config.evaluation.players, seeds, options
            )
            values = [played.rank[..., 0].mean(axis=1) for _, played in tables]
            mean, interval = mean_and_interval(np.mean(values, axis=0))
            entry[f"vs_{name}"] = mean
            entry[f"vs_{name}_ci95"] = interval
            self.logger.record(f"evaluation/rank_vs_{name}", mean)
        self.logger.dump(self.num_timesteps)
        with self._progress.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def save(self) -> None:
        """Write the checkpoint from which ``--resume`` goes on."""
        checkpoint.save(self.out / "checkpoint", self.model, self._games, self)  # type: ignore


def _trim_progress(path: Path, decisions: int) -> None:
    """Forget evaluations after the checkpoint: the run goes through them again."""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if json.loads(line)["decisions"] <= decisions]
        path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")


def _card(config: Config, game: Game, periodically: Periodically) -> dict[str, Any]:
    progress = (periodically.out / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    packages = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")
    return {
        "name": config.name,
        "game": game.name,
        "agents": list(_agents(config).values()),
        "algorithm": "MaskablePPO, self-play"
        + (f", after imitation of {config.imitation.agent}" if config.imitation.decisions else ""),
        "commands": (periodically.out / "command.txt").read_text(encoding="utf-8").splitlines(),
        "config": config.model_dump(mode="json"),
        "seed": config.seed,
        "decisions": periodically.model.num_timesteps,
        "hours": round(periodically.elapsed / 3600, 2),
        "machine": f"{machine()}; {torch.get_num_threads()} threads, "
        f"{periodically.model.device.type}",
        "versions": {"python": platform.python_version(), **{p: version(p) for p in packages}},
        "last_evaluation": json.loads(progress[-1]),
    }


def train(
    config: Config,
    out: Path,
    *,
    resume: bool = False,
    command_line: str = "",
    quiet: bool = False,
) -> Path:
    """Train, and return the path of the exported policy.

    Args:
        config: The configuration.
        out: The run's folder; it must be new or empty unless ``resume``.
        resume: Go on from the checkpoint in ``out``.
        command_line: The command that began the run, or gave it more decisions, for the policy's
            card.
        quiet: Show no progress bar.

    Raises:
        ValueError: The folder is in use, or its checkpoint is missing, damaged or of another
            configuration.
    """
    game = load_game(config.game)
    if not resume:
        if out.exists() and any(out.iterdir()):
            raise ValueError(f"{out} is not empty; choose another folder, or --resume {out}")
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / "agents.json", _begun_with(config))
        _note(out, config, command_line)
    else:
        _check_agents(config, out)
        before = load_config(out / "config.yaml")
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    env = make_env(config)
    model = make_learner(config, env)
    model.set_logger(configure(str(out / "tensorboard"), ["tensorboard"]))
    periodically = Periodically(config, env.games, out)
    if resume:
        checkpoint.load(out / "checkpoint", model, env.games, periodically)
        periodically.init_callback(model)
        if model.num_timesteps >= config.decisions and _policy(config, out).exists():
            raise ValueError(f"the run in {out} is finished: {model.num_timesteps} decisions")
        _trim_progress(out / "progress.jsonl", model.num_timesteps)
        if config != before:
            _note(out, config, command_line)
    elif config.imitation.decisions:
        imitate(model, env, config.imitation, quiet)
    if model.num_timesteps < config.decisions:
        model.learn(
            config.decisions - model.num_timesteps,
            callback=periodically,
            reset_num_timesteps=not resume,
            progress_bar=not quiet,
        )
        periodically.evaluate()
        periodically.save()
    plot_learning_curve(out / "progress.jsonl", out / "learning_curve.png", game.title)
    return export_policy(
        model.best_policy,
        game,
        config.network.activation,
        out,
        _card(config, game, periodically),
    )


def train_or_resume(config: Config, out: Path, *, command_line: str = "") -> Path:
    """The policy of the run in ``out``: made, or gone on with, unless it is finished.

    Raises:
        ValueError: The folder holds a run of another configuration, or a damaged one.
    """
    resume = checkpoint.exists(out / "checkpoint")
    if (out / "config.yaml").exists():
        if load_config(out / "config.yaml") != config:
            raise ValueError(f"the run in {out} is of another configuration; choose another folder")
        if _noted(out) != _begun_with(config):
            raise ValueError(
                f"the run in {out} was begun with other rules or agents; choose another folder"
            )
        if _policy(config, out).exists():
            return _policy(config, out)
        if not resume:
            shutil.rmtree(out)  # it was ended before its first checkpoint
    return train(config, out, resume=resume, command_line=command_line, quiet=True)


def _policy(config: Config, out: Path) -> Path:
    """The policy file, which comes last of all that a run leaves."""
    return out / f"{config.name}.safetensors"


def _agents(config: Config) -> dict[str, str]:
    """The agents that take part in a run, by name, and what is in their files."""
    game = load_game(config.game)
    imitated = [config.imitation.agent] if config.imitation.decisions else []
    names = {*config.opponents.agents, *imitated, *config.evaluation.among}
    return {name: identity(name, game) for name in sorted(names)}


def _begun_with(config: Config) -> dict[str, Any]:
    """What a run depends on beside its configuration: the sources of the game, and its agents."""
    return {"game": cache_folder(config.game).name, "agents": _agents(config)}


def _noted(out: Path) -> dict[str, Any]:
    """What the run in ``out`` was begun with."""
    path = out / "agents.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _check_agents(config: Config, out: Path) -> None:
    """ValueError if the run was begun with agents that are others now."""
    if _noted(out).get("agents") != _agents(config):
        raise ValueError(f"the run in {out} was begun with other agents under the same names")


def extended(out: Path, overrides: list[str]) -> Config:
    """The configuration of the run in ``out``, which may be given more decisions.

    The learning rate then falls anew over what is left.
    """
    before = load_config(out / "config.yaml")
    config = load_config(out / "config.yaml", overrides)
    is_more = config.decisions >= before.decisions
    if not is_more or config.model_copy(update={"decisions": before.decisions}) != before:
        raise ValueError("a run that goes on can be given more decisions, and nothing else")
    return config


def _note(out: Path, config: Config, command_line: str) -> None:
    """Keep the run's configuration, and the command that brought it, in its folder."""
    (out / "config.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    with (out / "command.txt").open("a", encoding="utf-8") as file:
        file.write(command_line + "\n")


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.train", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("config", nargs="?", help="a YAML file, see configs/")
    command.add_set_argument(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the run's folder; default: runs/<config's name>"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in DIR")
    args = parser.parse_args(argv)
    if args.resume:
        if args.config or args.out:
            raise ValueError("--resume DIR takes its configuration from DIR: give no other")
        out = args.resume
        config = extended(out, args.set)
        command_line = command_as_typed("training.train", "--resume", str(out), "--set", *args.set)
    elif args.config:
        config = load_config(args.config, args.set)
        out = args.out or Path("runs") / Path(args.config).stem
        command_line = command_as_typed(
            "training.train", args.config, *(["--set", *args.set] if args.set else [])
        )
    else:
        raise ValueError("give a configuration, such as configs/beaver_gang.yaml, or --resume DIR")
    path = train(config, out, resume=args.resume is not None, command_line=command_line)
    print(f"The policy is in {path}; its learning curve is {out / 'learning_curve.png'}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.train``; returns the exit status."""
    return command.run("training.train", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
