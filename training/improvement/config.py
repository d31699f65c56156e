"""The configuration of a run of expert iteration, checked key by key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, model_validator

from card_envs.agents.search.agents import MAX_DECISIONS
from training.runs.config import GameConfig
from training.runs.keys import Section, check, read_yaml, with_overrides


class LabelsSection(Section):
    """Which positions are labeled, and how."""

    count: int = Field(
        100_000, ge=2, description="labeled positions of an iteration, in whole shards"
    )
    shard: int = Field(
        5_000, ge=1, description="positions of a shard, which one worker labels and one file holds"
    )
    worlds: int = Field(
        8,
        ge=1,
        description="redrawn worlds of a position, in each of which all candidates are tried",
    )
    candidates: int = Field(
        8, ge=2, description="how many of the policy's most probable actions are tried"
    )
    min_probability: float = Field(
        0.01,
        ge=0,
        lt=0.5,
        description="actions that the policy gives a smaller probability are not tried; a position "
        "is labeled where two are",
    )
    drawn: float = Field(
        0.5,
        ge=0,
        le=1,
        description="share of the learner's actions in its games that are sampled from the policy; "
        "the others are its most probable",
    )
    rare: float = Field(
        1.0,
        ge=1,
        le=8,
        description="how much more often decisions with a rare legal action (legal in fewer than "
        "1 in 20 decisions) are labeled",
    )
    max_decisions: int = Field(
        MAX_DECISIONS, ge=1, description="decisions after which a rollout is truncated"
    )
    unfinished: float = Field(
        0.0,
        ge=-10,
        le=0,
        description="added to every player's value of a truncated rollout, which is predicted from "
        "the standing; below 0 if good play must finish the game",
    )


class FitSection(Section):
    """How the policy is fitted to the labels."""

    window: int = Field(
        3,
        ge=1,
        description="number of iterations whose labels the policy is fitted to: the current one "
        "and those before it",
    )
    epochs: int = Field(10, ge=1, description="passes over the labels at most")
    batch_size: int = Field(1024, ge=2, description="labels of a minibatch")
    learning_rate: float = Field(
        3e-4, gt=0, le=1, description="initial learning rate; it decays to 0"
    )
    kl_coef: float = Field(
        0.005,
        ge=0,
        le=1e3,
        description="weight of the KL divergence from the previous policy",
    )
    held_out: float = Field(
        0.1,
        gt=0,
        le=0.5,
        description="share of the shards that the fit is judged by: the epoch with the greatest "
        "gain there is kept",
    )


class ImprovementConfig(GameConfig):
    """A run of expert iteration."""

    agent: str = Field(description="the initial policy: a name, or the path of a policy file")
    temperature: float = Field(
        1.0,
        gt=0,
        le=1e3,
        description="divides the initial policy's logits: above 1 its best actions stay the best, "
        "and more of the others are tried",
    )
    iterations: int = Field(
        4,
        ge=1,
        description="maximum number of iterations; the run ends early after fit.window iterations "
        "in a row without a gain on the held-out labels",
    )
    labels: LabelsSection = LabelsSection()
    fit: FitSection = FitSection()

    @model_validator(mode="after")
    def _learns_from_ranks(self) -> ImprovementConfig:
        if self.environment.options.get("reward", "rank") != "rank":
            raise ValueError(
                "environment.options: reward must be rank: the labels are made from it"
            )
        return self

    @model_validator(mode="after")
    def _has_shards_to_hold_out(self) -> ImprovementConfig:
        if self.labels.count % self.labels.shard or self.num_shards < 2:
            raise ValueError(
                f"labels.count: {self.labels.count} must be a multiple of labels.shard, "
                f"{self.labels.shard}, and at least twice as many: one shard is held out"
            )
        return self

    @property
    def num_shards(self) -> int:
        """Shards of an iteration."""
        return self.labels.count // self.labels.shard


def load_improvement_config(path: str | Path, overrides: Sequence[str] = ()) -> ImprovementConfig:
    """Read a YAML file and apply overrides.

    Args:
        path: The file.
        overrides: ``KEY=VALUE``; KEY is dotted, such as ``labels.count``, VALUE is YAML.

    Raises:
        ValueError: The file cannot be read, or a key or value is wrong; the message names it.
    """
    return check(ImprovementConfig, with_overrides(read_yaml(path), overrides), path)
