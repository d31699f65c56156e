"""The configuration of a training run: a YAML file, checked key by key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from card_envs.agents import Agent, NetworkAgent
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.evaluation.deals import MOST_DEALS
from card_envs.games import load_game
from card_envs.utils.run_folder import POLICY_NAME
from training.networks.last_layer import features_of, sums_over_features
from training.runs.keys import Section

_WHO_PLAYS = {"pool", "agents"}  # the keys of `opponents` that say it
# Names of files in a run's folder, and of agents that are not policies.
_TAKEN_NAMES = ("random", "heuristic", "agents", "checkpoint", "measured")

Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Weight = Annotated[float, Field(ge=0, le=1e6)]
Coefficient = Annotated[float, Field(ge=0, le=1e3)]
Positive = Annotated[float, Field(gt=0, le=1e3)]
Count = Annotated[int, Field(ge=1)]
Deals = Annotated[int, Field(ge=2, le=MOST_DEALS)]
Size = Annotated[int, Field(ge=1, le=2**16)]


def _by_game(default: str) -> Any:
    """A key whose default depends on the game: the default in words, for the table of keys."""
    return Field(json_schema_extra={"default": default})


class EnvironmentSection(Section):
    """The games that are played for training."""

    num_envs: Annotated[int, Field(ge=1, le=2**20)] = 1024
    """games played in parallel"""
    num_players: int | tuple[int, int] = _by_game("all table sizes of the game")
    """number of players: one number, or the lowest and the highest"""
    table_weights: tuple[Weight, ...] | None = None
    """shares of the games that are played at a time with each number of players, from the lowest
    on, and so of their decisions: short games are played more often; null: equal ones"""
    options: dict[str, Any] = Field(default_factory=dict)
    """the game's options, and `memory` and `features` of the learner's observation"""


class OpponentsSection(Section):
    """Which agents hold the other seats; weights are relative to each other."""

    pool: Weight = _by_game("0 where `agents` are given, 0.5 otherwise")
    """weight of the opponent pool: snapshots of the learner's past"""
    agents: dict[str, Weight] = _by_game(
        "none where `pool` is given; heuristic: 0.4, random: 0.1; random: 0.5 without a heuristic"
    )
    """weights of other agents, by any name that an agent has"""
    same_agent: Share = 0.0
    """share of tables at which one agent holds all other seats, as in evaluations"""

    @property
    def _are_needed(self) -> bool:
        """Whether anybody else plays."""
        return True

    @model_validator(mode="after")
    def _has_weight(self) -> Self:
        if self._are_needed and self.pool + sum(self.agents.values()) <= 0:
            raise ValueError("pool or one of agents must be above 0")
        return self


class PoolSection(OpponentsSection):
    """The same, with a pool that grows during training."""

    own: Share = Field(
        alias="self",
        json_schema_extra={"default": "0 where `pool` or `agents` are given, 1 otherwise"},
    )
    """share of the games that are played at a time in which the learner holds every seat, and
    learns from all; in the others it holds one"""
    block_size: Count = 32
    """games of a block, which have the same players until a snapshot"""
    pool_size: Count = 8
    """snapshots in a full pool"""
    snapshot_every: Count = 10
    """iterations between two snapshots"""

    @property
    def _are_needed(self) -> bool:
        return self.own < 1


class NetworkSection(Section):
    """The multilayer perceptrons of policy and value."""

    hidden: Annotated[tuple[Size, ...], Field(max_length=16)] = (256, 256)
    """sizes of the hidden layers of the policy network and of the value network"""
    activation: Literal["relu", "tanh"] = "relu"
    """activation of the hidden layers"""
    critic: Literal["observation", "state", "both"] = "state"
    """what the value network sees, in training only: the learner's observation, the true full
    state, hidden cards included, or both"""
    critic_playout: bool = False
    """whether the critic also sees the learner's next reward if all players followed the heuristic
    from the true state"""
    ablated_fields: tuple[str, ...] = ()
    """observation fields hidden from the policy, for ablations"""
    logits: Literal["features", "actions"] = "features"
    """what the last layer gives a logit for: each action feature (`Game.action_features`; an
    action's logit is the sum over its features), or each action"""


class ImitationSection(Section):
    """Behavior cloning before PPO: policy and value networks are trained on an agent's play."""

    agent: str = _by_game("heuristic; random without one")
    """the imitated agent: a name, or the path of a policy file"""
    copy_weights: bool = False
    """whether the policy starts with the agent's weights, which must fit into its layers, and only
    the value network is trained"""
    temperature: Positive = 1.0
    """divides a policy's logits: above 1 its best actions stay the best, and it explores more"""
    decisions: Annotated[int, Field(ge=0)] = 0
    """imitated decisions; 0: no imitation"""
    learning_rate: PositiveShare = 1e-3
    """initial learning rate; it decays to 0"""

    @model_validator(mode="after")
    def _teaches_the_value(self) -> Self:
        if self.copy_weights and not self.decisions:
            raise ValueError("copy_weights: decisions must be at least 1, for the value to learn")
        return self


class PPOSection(Section):
    """The hyperparameters of PPO."""

    n_steps: Size = 32
    """learner decisions of each game between two updates"""
    batch_size: Annotated[int, Field(ge=2)] = 1024
    """learner decisions of a minibatch"""
    n_epochs: Count = 2
    """passes over a rollout"""
    learning_rate: PositiveShare = 5e-4
    """initial learning rate"""
    final_learning_rate: Share | None = None
    """learning rate of the last update, reached linearly; null: constant"""
    gamma: PositiveShare = 1.0
    """discount factor"""
    gae_lambda: Share = 0.95
    """lambda of generalized advantage estimation"""
    clip_range: Positive = 0.2
    """clip range of the probability ratio"""
    ent_coef: Coefficient = 0.01
    """initial weight of the entropy in the loss"""
    final_ent_coef: Coefficient | None = None
    """final weight of the entropy, reached linearly; null: constant, or falling by `ent_power`"""
    ent_power: Annotated[float, Field(ge=0, le=10)] | None = None
    """the entropy's weight is `ent_coef * (t + 1)**-ent_power` after t iterations"""
    kl_coef: Coefficient = 0.0
    """weight in the loss of the KL divergence from the anchor, a slowly moving average of the
    policy"""
    kl_decay: Annotated[float, Field(ge=0, lt=1)] = 0.99
    """decay of the anchor, an exponential moving average, per iteration"""
    vf_coef: Coefficient = 0.5
    """weight of the value loss"""
    max_grad_norm: Annotated[float, Field(gt=0, le=1e6)] = 0.5
    """gradients are clipped to this norm"""
    target_kl: Annotated[float, Field(gt=0)] | None = None
    """an update ends early at a minibatch whose KL divergence is above 1.5 times this; null: no
    limit"""

    @model_validator(mode="after")
    def _has_one_schedule(self) -> Self:
        if self.ent_power is not None and self.final_ent_coef is not None:
            raise ValueError("final_ent_coef and ent_power exclude each other")
        return self

    def learning_rate_at(self, done: float) -> float:
        """The learning rate after a share of the training."""
        return _between(self.learning_rate, self.final_learning_rate, done)

    def ent_coef_at(self, done: float, iterations: int) -> float:
        """The entropy's weight after a share of the training and a number of iterations."""
        if self.ent_power is not None:
            return self.ent_coef * float((iterations + 1) ** -self.ent_power)
        return _between(self.ent_coef, self.final_ent_coef, done)


def _between(start: float, final: float | None, done: float) -> float:
    """The last iteration goes beyond the end, where it is the final value as well."""
    return start if final is None else start + (final - start) * min(done, 1.0)


class EvaluationSection(Section):
    """Evaluation: one learner against copies of each of some agents (1 vs n-1)."""

    against: Annotated[tuple[str, ...], Field(min_length=1)] = _by_game(
        "heuristic, random; random without a heuristic"
    )
    """the agents: names, or paths of policy files"""
    deals: Deals = 100
    """deals at each table size, each in all seatings"""
    players: Annotated[tuple[int, ...], Field(min_length=1)] = _by_game(
        "all table sizes of the game"
    )
    """table sizes"""


class PeriodicEvaluationSection(EvaluationSection):
    """Evaluations repeated during training."""

    every: Count = 1_000_000
    """learner decisions between two evaluations, rounded up to whole iterations"""


class GameConfig(Section):
    """What a training run and a run of expert iteration share.

    Attributes:
        LENGTH: The key that may change when a run is resumed.
        LOGGED: What a line of its progress.jsonl has at least.
    """

    LENGTH: ClassVar[str]
    LOGGED: ClassVar[tuple[str, ...]]

    game: str
    """the game's id"""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """runs of different seeds play other deals"""
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")] = POLICY_NAME
    """name of the exported policy: its file's, and an agent's once it is shipped"""
    draws: bool = False
    """whether the policy samples its actions, in evaluations and once exported, rather than taking
    the most probable ones"""
    threads: Annotated[int, Field(ge=1, le=512)] | None = None
    """torch's CPU threads; null: torch decides, and results may differ with the machine and with
    `--jobs`"""
    environment: EnvironmentSection
    opponents: OpponentsSection
    evaluation: EvaluationSection

    @property
    def agent_names(self) -> set[str]:
        """The agents that take part, by name or path."""
        return {*self.opponents.agents, *self.evaluation.against}

    def check_agents(self, agents: Mapping[str, Agent], view: View) -> None:
        """Check what only the agents tell, given how the learner observes.

        Raises:
            ValueError: An agent cannot do its part.
        """

    @model_validator(mode="before")
    @classmethod
    def _fill_in_defaults_of_the_game(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("game"), str):
            raise ValueError("game: a game's id is needed")
        filled = dict(data)
        for name, defaults in _defaults_of(load_game(data["game"])).items():
            section = data.get(name, {})
            if name in cls.model_fields and isinstance(section, dict):
                if name == "opponents" and _WHO_PLAYS & set(section):
                    defaults = {"pool": 0.0, "agents": {}}  # nobody but those that are named
                filled[name] = {**defaults, **section}
        return filled

    @model_validator(mode="after")
    def _fits_the_game(self) -> Self:
        if self.name in _TAKEN_NAMES:
            taken = ", ".join(_TAKEN_NAMES)
            raise ValueError(f"name must not be one of {taken}, got {self.name!r}")
        game = load_game(self.game)
        low, high = game.check_player_range(self.environment.num_players)
        weights = self.environment.table_weights
        if weights is not None and (len(weights) != high - low + 1 or sum(weights) <= 0):
            raise ValueError(
                f"environment.table_weights: one number of at least 0 for each of {low} to {high} "
                f"players is needed, one of them above 0, got {list(weights)}"
            )
        try:
            game.split_options(self.environment.options)
        except TypeError as error:
            raise ValueError(str(error)) from None
        for players in self.evaluation.players:
            game.check_num_players(players)
        return self


class Config(GameConfig):
    """A training run."""

    LENGTH = "decisions"
    LOGGED = ("decisions",)

    decisions: Annotated[int, Field(ge=0)]
    """learner decisions in all, rounded up to whole iterations; 0: imitation alone"""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """what computes the networks; auto: a GPU where torch can use one"""
    rows: Literal["sparse", "dense", "bfloat16", "fastest"] = "sparse"
    """how the networks are given their inputs: by what is not zero (dense on a GPU), or as dense
    rows, in float32 or bfloat16 (weights stay float32); fastest: what a measurement at the start
    finds, and writes into the run's configuration"""
    rollouts: Literal["auto", "host", "device"] = "auto"
    """where games are played: `host`: on the CPU; `device`: where the networks are, with dense rows
    and without waiting for the CPU, which scripted opponents and networks allow; auto: there, if
    that is a GPU and the opponents do"""
    ema_decay: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """the policy that is evaluated, joins the pool and is exported is an exponential moving average
    of the learner's weights, with this decay per iteration, or t / (t + 9) after t iterations where
    that is less; 0: the learner itself"""
    checkpoint_every: Count = 2_000_000
    """learner decisions between two checkpoints"""
    truncation: Literal["bootstrap", "loss", "draw"] = "bootstrap"
    """what the learner gets when a game is truncated: `bootstrap`: the game's own reward, and if
    that is `score`, each seat's return ends with the value of its last decision, from which
    nothing is learned; `loss`: -1, which teaches it to finish games that nothing else ends; `draw`:
    0. The last two replace a standing; points (`score`) are paid besides"""
    opponents: PoolSection
    network: NetworkSection = NetworkSection()
    imitation: ImitationSection
    ppo: PPOSection = PPOSection()
    evaluation: PeriodicEvaluationSection

    @property
    def agent_names(self) -> set[str]:
        """The agents that take part, by name or path."""
        imitated = {self.imitation.agent} if self.imitation.decisions else set()
        return super().agent_names | imitated

    @model_validator(mode="before")
    @classmethod
    def _read_what_is_given(cls, data: Any) -> Any:
        """Check and fill in what depends on which keys are given, before the game's defaults."""
        if not isinstance(data, dict):
            return data
        imitation, opponents = data.get("imitation"), data.get("opponents", {})
        if imitation and isinstance(imitation, dict) and "decisions" not in imitation:
            given = ", ".join(f"imitation.{key}" for key in imitation)
            raise ValueError(f"{given}: without imitation.decisions nothing is imitated")
        if not isinstance(opponents, dict):
            return data
        own = 0.0 if _WHO_PLAYS & set(opponents) else 1.0
        return {**data, "opponents": {"self": own, **opponents}}

    @model_validator(mode="after")
    def _can_learn(self) -> Self:
        if not self.decisions and not self.imitation.decisions:
            raise ValueError("decisions and imitation.decisions must not both be 0")
        game = load_game(self.game)
        fields = [field.name for field in game.fields]
        for name in self.network.ablated_fields:
            if name not in fields:
                raise ValueError(
                    f"network.ablated_fields: {game.name} has no observation field {name!r}; it "
                    f"has {', '.join(fields)}"
                )
        if self.network.critic_playout and game.heuristic is None:
            raise ValueError(f"network.critic_playout: {game.id} has no heuristic")
        return self

    def check_agents(self, agents: Mapping[str, Agent], view: View) -> None:
        """Check that the weights of an imitated policy can be copied, and that there is memory for
        the networks."""
        self.check_memory(with_rollout=False)
        imitation, hidden = self.imitation, self.network.hidden
        if not imitation.decisions:
            return
        agent = agents[imitation.agent]
        if not isinstance(agent, NetworkAgent):
            for key, default in (("copy_weights", False), ("temperature", 1.0)):
                if getattr(imitation, key) != default:
                    raise ValueError(f"imitation.{key}: {imitation.agent!r} is not a policy")
        elif imitation.copy_weights:
            about, instead = f"{imitation.agent!r}", "false imitates it instead"
            sizes = [len(bias) for _, bias in agent.network.layers[:-1]]
            has_room = len(sizes) == len(hidden) and (np.array(sizes) <= hidden).all()
            if not has_room or agent.network.activation != self.network.activation:
                raise ValueError(
                    f"imitation.copy_weights: network.hidden {list(hidden)} with "
                    f"{self.network.activation} has no room for {about}, which has hidden layers "
                    f"of {sizes} with {agent.network.activation}; {instead}"
                )
            if agent.view != view:
                raise ValueError(
                    f"imitation.copy_weights: {about} observes with {agent.view}, the learner with "
                    f"{view}; {instead}"
                )
            features = features_of(load_game(self.game), self.network.logits)
            sums_over_features(*agent.network.layers[-1], features)

    def check_memory(self, with_rollout: bool) -> None:
        """Raise a ValueError if what the networks take at least, and the rollout where it is not on
        a GPU, does not fit into the machine's memory."""
        if not hasattr(os, "sysconf"):
            return
        game, network = load_game(self.game), self.network
        state = game.state_fields.size if network.critic != "observation" else 0
        inputs = game.fields.size + state
        # Sparse rows take 8 bytes for a value that is not 0, which about an eighth are; the present
        # rows are dense, twice, and so are for a moment those of the decisions that are still open.
        _, seats = game.check_player_range(self.environment.num_players)
        dense = 4 * (3 + self.opponents.own * (seats - 1))
        values = (inputs + game.num_actions) * self.environment.num_envs
        rollout = values * (self.ppo.n_steps + dense) if with_rollout else 0
        sizes = [inputs, *network.hidden, game.num_actions]
        weights = 4 * 4 * 2 * sum(a * b for a, b in pairwise(sizes))  # with gradient and moments
        needed, there = rollout + weights, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > there:
            raise ValueError(
                f"environment.num_envs, ppo.n_steps and network.hidden need {needed / 2**30:,.0f} "
                f"GiB of memory at least, this machine has {there / 2**30:,.0f}"
            )


def _defaults_of(game: Game) -> dict[str, dict[str, Any]]:
    """The sections' defaults that depend on the game."""
    agents = {"heuristic": 0.4, "random": 0.1} if game.scripted else {"random": 0.5}
    return {
        "environment": {"num_players": (game.min_players, game.max_players)},
        "opponents": {"pool": 0.5, "agents": agents},
        "imitation": {"agent": game.default_opponent},
        "evaluation": {
            "against": (*game.scripted, "random"),
            "players": tuple(game.table_sizes),
        },
    }
