"""The configuration of a run of expert iteration, checked key by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from card_envs.agents import Agent, NetworkAgent
from card_envs.agents.search.agents import MAX_DECISIONS, MOST_ROLLOUTS
from card_envs.contract.options import View
from training.runs.config import Coefficient, Count, GameConfig, Positive, PositiveShare, Share
from training.runs.keys import Section

#: Worlds that are weighed for each one that is played in.
WEIGHED = 4


class LabelsSection(Section):
    """Which positions are labeled, and how."""

    count: Annotated[int, Field(ge=2)] = 100_000
    """labeled positions of an iteration, in whole shards"""
    shard: Count = 5_000
    """positions of a shard, which one worker labels and one file holds"""
    worlds: Annotated[int, Field(ge=1, le=MOST_ROLLOUTS // WEIGHED)] = 8
    """redrawn worlds of a position, in each of which all candidates are tried"""
    candidates: Annotated[int, Field(ge=2)] = 8
    """how many of the policy's most probable actions are tried"""
    min_probability: Annotated[float, Field(ge=0, lt=0.5)] = 0.01
    """actions that the policy gives a smaller probability are not tried; a position is labeled
    where two are"""
    drawn: Share = 0.5
    """share of the learner's actions in its games that are sampled from the policy; the others are
    its most probable"""
    rare: Annotated[float, Field(ge=1, le=8)] = 1.0
    """how much more often decisions with a rare legal action (legal in fewer than 1 in 20
    decisions) are labeled"""
    max_decisions: Annotated[int, Field(ge=1, lt=2**31)] = MAX_DECISIONS
    """decisions after which a rollout is truncated"""
    unfinished: Annotated[float, Field(ge=-10, le=0)] = 0.0
    """added to every player's value of a truncated rollout, which is predicted from the standing;
    below 0 if good play must finish the game"""
    device: Literal["cpu", "cuda"] = "cpu"
    """where rollouts are played: `cuda`: on a GPU, with the extra `cuda`; the labels are the same,
    unless the network uses `tanh`"""


class FitSection(Section):
    """How the policy is fitted to the labels."""

    window: Count = 3
    """number of iterations whose labels the policy is fitted to: the current one and those before
    it"""
    epochs: Count = 10
    """passes over the labels at most"""
    batch_size: Annotated[int, Field(ge=2)] = 1024
    """labels of a minibatch"""
    learning_rate: PositiveShare = 3e-4
    """initial learning rate; it decays to 0"""
    kl_coef: Coefficient = 0.005
    """weight of the KL divergence from the previous policy"""
    held_out: Annotated[float, Field(gt=0, le=0.5)] = 0.1
    """share of the iteration's shards that the fit is judged by: the epoch with the greatest gain
    there is kept, if that is above two standard errors"""


class ImprovementConfig(GameConfig):
    """A run of expert iteration."""

    LENGTH = "iterations"
    LOGGED = ("iteration", "seconds")

    agent: str
    """the initial policy: a name, or the path of a policy file"""
    temperature: Positive = 1.0
    """divides the initial policy's logits: above 1 its best actions stay the best, and more of the
    others are tried"""
    iterations: Count = 4
    """maximum number of iterations; the run ends early after fit.window iterations in a row without
    a gain on the held-out labels"""
    labels: LabelsSection = LabelsSection()
    fit: FitSection = FitSection()

    @property
    def agent_names(self) -> set[str]:
        """The agents that take part, by name or path."""
        return {self.agent, *super().agent_names}

    @property
    def num_shards(self) -> int:
        """Shards of an iteration."""
        return self.labels.count // self.labels.shard

    @model_validator(mode="after")
    def _can_be_searched(self) -> Self:
        if (rollouts := self.labels.worlds * self.labels.candidates) > MOST_ROLLOUTS:
            raise ValueError(
                f"labels.worlds times labels.candidates must be at most {MOST_ROLLOUTS}, got "
                f"{rollouts}"
            )
        return self

    @model_validator(mode="after")
    def _can_be_labeled(self) -> Self:
        if self.environment.options.get("reward", "rank") != "rank":
            raise ValueError(
                "environment.options: reward must be rank: the labels are made from it"
            )
        if self.labels.count % self.labels.shard or self.num_shards < 2:
            raise ValueError(
                f"labels.count: {self.labels.count} must be a multiple of labels.shard, "
                f"{self.labels.shard}, and at least twice as many: one shard is held out"
            )
        return self

    def check_agents(self, agents: Mapping[str, Agent], view: View) -> None:
        """Check that the initial agent is a policy of this view."""
        policy = agents[self.agent]
        if not isinstance(policy, NetworkAgent):
            raise ValueError(f"agent: {self.agent!r} is not a policy")
        if len(policy.network.layers) < 2:
            raise ValueError(f"agent: {self.agent!r} has no hidden layer, it needs at least one")
        if policy.view != view:
            raise ValueError(
                f"agent: {self.agent!r} observes with {policy.view}, environment.options say {view}"
            )
