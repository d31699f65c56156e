"""The configuration of a training run: a YAML file, checked key by key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from card_envs.contract.game import Game
from card_envs.games import load_game
from training.runs.keys import Section, check, read_yaml, with_overrides

# Names of files in a run's folder, and of agents that are not policies.
_TAKEN_NAMES = ("random", "heuristic", "agents", "checkpoint", "measured")


def _by_game(default: str) -> dict[str, Any]:
    """For a key whose default depends on the game: the default in words, for the table of keys."""
    return {"default": default}


class EnvironmentSection(Section):
    """The games that are played for training."""

    num_envs: int = Field(1024, ge=1, le=2**20, description="games played in parallel")
    num_players: int | tuple[int, int] = Field(
        description="number of players: one number, or the lowest and the highest",
        json_schema_extra=_by_game("all table sizes of the game"),
    )
    table_weights: tuple[Annotated[float, Field(ge=0, le=1e6)], ...] | None = Field(
        None,
        description="how often each number of players is played, from the lowest on; "
        "null: equally often",
    )
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="the game's options, and `memory` and `features` of the learner's observation",
    )


class OpponentsSection(Section):
    """Which agents hold the other seats; weights are relative to each other."""

    pool: float = Field(
        0.5,
        ge=0,
        le=1e6,
        description="weight of the opponent pool: snapshots of the learner's past",
    )
    agents: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        description="weights of other agents, by name or path of a policy file",
        json_schema_extra=_by_game("heuristic: 0.4, random: 0.1; random: 0.5 without a heuristic"),
    )
    same_agent: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of tables at which one agent holds all other seats, as in evaluations",
    )

    @model_validator(mode="after")
    def _has_weight(self) -> Self:
        if self.pool + sum(self.agents.values()) <= 0:
            raise ValueError("pool or one of agents must be above 0")
        return self


class PoolSection(OpponentsSection):
    """The same, with a pool that grows during training."""

    own: float = Field(
        alias="self",
        ge=0,
        le=1,
        description="share of games in which the learner holds every seat, and learns from all; "
        "in the others it holds one",
        json_schema_extra=_by_game("0 where `pool` or `agents` are given, 1 otherwise"),
    )
    block_size: int = Field(
        32, ge=1, description="games of a block, which have the same players until a snapshot"
    )
    pool_size: int = Field(8, ge=1, description="snapshots in a full pool")
    snapshot_every: int = Field(10, ge=1, description="iterations between two snapshots")


class NetworkSection(Section):
    """The multilayer perceptrons of policy and value."""

    hidden: tuple[Annotated[int, Field(ge=1, le=2**16)], ...] = Field(
        (256, 256),
        max_length=16,
        description="sizes of the hidden layers of the policy network and of the value network",
    )
    activation: Literal["relu", "tanh"] = Field(
        "relu", description="activation of the hidden layers"
    )
    critic: Literal["observation", "state", "both"] = Field(
        "state",
        description="what the value network sees, in training only: the learner's "
        "observation, the true full state, which explains more of the luck, or both",
    )
    critic_playout: bool = Field(
        False,
        description="whether the critic also sees the learner's next reward if all players "
        "followed the heuristic from the true state",
    )
    ablated_fields: tuple[str, ...] = Field(
        (), description="observation fields hidden from the policy, for ablations"
    )
    logits: Literal["features", "actions"] = Field(
        "features",
        description="what the last layer gives a logit for: each action feature "
        "(`Game.action_features`; an action's logit is the sum over its features), or each action",
    )


class ImitationSection(Section):
    """Behavior cloning before PPO: policy and value networks are trained on an agent's play."""

    agent: str = Field(
        description="the imitated agent: a name, or the path of a policy file",
        json_schema_extra=_by_game("heuristic; random without one"),
    )
    copy_weights: bool = Field(
        False,
        description="whether the policy starts with the agent's weights, which must fit into its "
        "layers, and only the value network is trained",
    )
    temperature: float = Field(
        1.0,
        gt=0,
        le=1e3,
        description="divides a policy's logits: above 1 its best actions stay the best, and it "
        "explores more",
    )
    decisions: int = Field(0, ge=0, description="imitated decisions; 0: no imitation")
    learning_rate: float = Field(
        1e-3, gt=0, le=1, description="initial learning rate; it decays to 0"
    )

    @model_validator(mode="after")
    def _teaches_the_value(self) -> ImitationSection:
        if self.copy_weights and not self.decisions:
            raise ValueError("copy_weights: decisions must be at least 1, for the value to learn")
        return self


class PPOSection(Section):
    """The hyperparameters of PPO."""

    n_steps: int = Field(
        32, ge=1, le=2**16, description="learner decisions of each game between two updates"
    )
    batch_size: int = Field(4096, ge=2, description="learner decisions of a minibatch")
    n_epochs: int = Field(3, ge=1, description="passes over a rollout")
    learning_rate: float = Field(5e-4, gt=0, le=1, description="initial learning rate")
    final_learning_rate: float | None = Field(
        None, ge=0, le=1, description="final learning rate, reached linearly; null: constant"
    )
    gamma: float = Field(1.0, gt=0, le=1, description="discount factor")
    gae_lambda: float = Field(
        0.95, ge=0, le=1, description="lambda of generalized advantage estimation"
    )
    clip_range: float = Field(0.2, gt=0, le=1e3, description="clip range of the probability ratio")
    ent_coef: float = Field(
        0.01, ge=0, le=1e3, description="initial weight of the entropy in the loss"
    )
    final_ent_coef: float | None = Field(
        None,
        ge=0,
        le=1e3,
        description="final weight of the entropy, reached linearly; null: constant, or falling "
        "by `ent_power`",
    )
    ent_power: float | None = Field(
        None,
        ge=0,
        le=10,
        description="the entropy's weight is `ent_coef * (t + 1)**-ent_power` after t iterations",
    )
    kl_coef: float = Field(
        0.0,
        ge=0,
        le=1e3,
        description="weight in the loss of the KL divergence from the anchor, a slowly moving "
        "average of the policy",
    )
    kl_decay: float = Field(
        0.99,
        ge=0,
        lt=1,
        description="decay of the anchor, an exponential moving average, per iteration",
    )
    vf_coef: float = Field(0.5, ge=0, le=1e3, description="weight of the value loss")
    max_grad_norm: float = Field(
        0.5, gt=0, le=1e6, description="gradients are clipped to this norm"
    )
    target_kl: float | None = Field(
        None, gt=0, description="KL divergence that ends an update early; null: no limit"
    )

    @model_validator(mode="after")
    def _has_one_schedule(self) -> Self:
        if self.ent_power is not None and self.final_ent_coef is not None:
            raise ValueError("final_ent_coef and ent_power exclude each other")
        return self

    def learning_rate_at(self, done: float) -> float:
        """The learning rate after a share of the training."""
        return _between(self.learning_rate, self.final_learning_rate, done)

    def ent_coef_at(self, done: float, iterations: int) -> float:
        """The entropy's weight after a share of the training, and so many iterations."""
        if self.ent_power is not None:
            return self.ent_coef * float((iterations + 1) ** -self.ent_power)
        return _between(self.ent_coef, self.final_ent_coef, done)


def _between(start: float, final: float | None, done: float) -> float:
    """The last iteration goes beyond the end, where it is the final value as well."""
    return start if final is None else start + (final - start) * min(done, 1.0)


class EvaluationSection(Section):
    """Evaluation: one learner against copies of each of some agents (1 vs n-1)."""

    against: tuple[str, ...] = Field(
        min_length=1,
        description="the agents: names, or paths of policy files",
        json_schema_extra=_by_game("heuristic, random; random without a heuristic"),
    )
    deals: int = Field(100, ge=2, description="deals at each table size, each in all seatings")
    players: Annotated[tuple[int, ...], Field(min_length=1)] = Field(
        description="table sizes", json_schema_extra=_by_game("all table sizes of the game")
    )


class PeriodicEvaluationSection(EvaluationSection):
    """Evaluations repeated during training."""

    every: int = Field(1_000_000, ge=1, description="learner decisions between two evaluations")


class GameConfig(Section):
    """What a training run and a run of expert iteration share."""

    game: str = Field(description="the game's id")
    seed: int = Field(0, ge=0, lt=2**31, description="runs of different seeds play other deals")
    name: str = Field(
        "ppo",
        pattern=r"^[A-Za-z0-9_]+$",
        description="name of the exported policy: its file's, and an agent's once it is shipped",
    )
    draws: bool = Field(
        False,
        description="whether the policy samples its actions, in evaluations and once exported, "
        "rather than taking the most probable ones",
    )
    threads: int | None = Field(
        None,
        ge=1,
        le=512,
        description="torch's CPU threads; null: torch decides, and results may differ "
        "with the machine and with `--jobs`",
    )
    environment: EnvironmentSection
    opponents: OpponentsSection
    evaluation: EvaluationSection

    @model_validator(mode="before")
    @classmethod
    def _fill_in_defaults_of_the_game(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("game"), str):
            raise ValueError("game: a game's id is needed")
        filled = dict(data)
        for name, defaults in _defaults_of(load_game(data["game"])).items():
            section = data.get(name, {})
            if name in cls.model_fields and isinstance(section, dict):
                filled[name] = {**defaults, **section}
        return filled

    @model_validator(mode="after")
    def _can_be_named(self) -> Self:
        if self.name in _TAKEN_NAMES:
            taken = ", ".join(_TAKEN_NAMES)
            raise ValueError(f"name must not be one of {taken}, got {self.name!r}")
        return self

    @model_validator(mode="after")
    def _fits_the_game(self) -> Self:
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

    decisions: int = Field(ge=0, description="learner decisions in all; 0: imitation alone")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="what computes the networks; auto: a GPU where torch can use one",
    )
    rows: Literal["sparse", "dense", "bfloat16", "fastest"] = Field(
        "sparse",
        description="how the networks are given their inputs on a CPU: by what is not zero, or as "
        "dense rows, in float32 or bfloat16 (weights stay float32); fastest: what a measurement at "
        "the start finds, and writes into the run's configuration",
    )
    ema_decay: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="the policy that is evaluated, joins the pool and is exported is an "
        "exponential moving average of the learner's weights, with this decay per iteration; 0: "
        "the learner itself",
    )
    checkpoint_every: int = Field(
        2_000_000, ge=1, description="learner decisions between two checkpoints"
    )
    truncation: Literal["bootstrap", "loss", "draw"] = Field(
        "bootstrap",
        description="what the learner gets when a game is truncated: `bootstrap`: the game's own "
        "reward, and a bootstrapped value if that is `score`; `loss`: -1, which teaches it to "
        "finish games that nothing else ends; `draw`: 0",
    )
    opponents: PoolSection
    network: NetworkSection = NetworkSection()
    imitation: ImitationSection
    ppo: PPOSection = PPOSection()
    evaluation: PeriodicEvaluationSection

    @model_validator(mode="before")
    @classmethod
    def _play_themselves_unless_others_are_given(cls, data: Any) -> Any:
        opponents = data.get("opponents", {}) if isinstance(data, dict) else None
        if not isinstance(opponents, dict):
            return data
        own = 0.0 if {"pool", "agents"} & set(opponents) else 1.0
        return {**data, "opponents": {"self": own, **opponents}}

    @model_validator(mode="after")
    def _learns(self) -> Config:
        if not self.decisions and not self.imitation.decisions:
            raise ValueError("decisions and imitation.decisions must not both be 0")
        return self

    @model_validator(mode="after")
    def _has_a_network_for_the_game(self) -> Config:
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


def _defaults_of(game: Game) -> dict[str, dict[str, Any]]:
    """The sections' defaults that depend on the game."""
    scripted = ["heuristic"] if game.heuristic is not None else []
    return {
        "environment": {"num_players": (game.min_players, game.max_players)},
        "opponents": {"agents": {"heuristic": 0.4, "random": 0.1} if scripted else {"random": 0.5}},
        "imitation": {"agent": game.default_opponent},
        "evaluation": {
            "against": (*scripted, "random"),
            "players": tuple(range(game.min_players, game.max_players + 1)),
        },
    }


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a YAML file and apply overrides.

    Args:
        path: The file.
        overrides: ``KEY=VALUE``; KEY is dotted, such as ``ppo.learning_rate``, VALUE is YAML.

    Raises:
        ValueError: The file cannot be read, or a key or value is wrong; the message names it.
    """
    data = with_overrides(read_yaml(path), overrides)
    imitation = data.get("imitation")
    if imitation and isinstance(imitation, dict) and "decisions" not in imitation:
        given = ", ".join(f"imitation.{key}" for key in imitation)
        raise ValueError(f"{path}: {given}: without imitation.decisions nothing is imitated")
    return check(Config, data, path)
