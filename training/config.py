"""The configuration of a training run: a YAML file, checked field by field."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from card_envs.agents import Agent, NetworkAgent, make_agent
from card_envs.games import load_game

_Model = TypeVar("_Model", bound=BaseModel)


class Part(BaseModel):
    """Keys and values of which none other is allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Environment(Part):
    """The games that are played for training."""

    num_envs: int = Field(1024, ge=1)  #: games at a time
    num_players: int | tuple[int, int] = (2, 6)  #: one number, or the lowest and the highest
    #: how often each number of players is played, from the lowest on; null: equally often
    table_weights: tuple[float, ...] | None = None
    options: dict[str, Any] = Field(default_factory=dict)  #: the game's options


class Opponents(Part):
    """How often a seat is held by whom; the numbers are relative to each other."""

    snapshots: float = Field(0.5, ge=0)  #: the learner's own past
    #: others, by the name of an agent or the path of a policy file
    agents: dict[str, Annotated[float, Field(ge=0)]] = {"heuristic": 0.4, "random": 0.1}
    #: how often all other seats of a game are held by the same one, as in evaluations
    alike: float = Field(0.0, ge=0, le=1)
    pool_size: int = Field(8, ge=1)  #: snapshots kept
    snapshot_every: int = Field(10, ge=1)  #: iterations between two snapshots

    @model_validator(mode="after")
    def _some_weight(self) -> Opponents:
        if sum(self.agents.values()) <= 0:
            raise ValueError("one of agents must be above 0: the first games have no snapshots")
        return self


class Network(Part):
    """The multilayer perceptrons of policy and value."""

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = (256, 256)
    activation: Literal["relu", "tanh"] = "relu"
    #: what the value is estimated from, in training only: what the learner can know, or the true
    #: full state, which tells more of what is luck
    critic: Literal["observation", "state"] = "state"
    #: whether the value is also estimated from what the learner would be paid next if all played
    #: on by the heuristic, the cards as they lie: much of what is luck
    critic_plays_out: bool = False
    #: observation fields that the policy does without: what are they worth?
    without_fields: tuple[str, ...] = ()
    #: the last layer gives a logit for each part of an action, and an action's logit is the sum
    #: over its parts (``Game.action_parts``); or a logit for each action
    logits: Literal["parts", "actions"] = "parts"


class Imitation(Part):
    """Before PPO begins, policy and value are taught what an agent does."""

    agent: str = "heuristic"  #: its name, or the path of a policy file
    #: the policy begins with the agent's weights, for which its layers have room, and only the
    #: value is taught
    copy_weights: bool = False
    #: a policy's logits are divided by this: above 1 its best actions stay the best, and it tries
    #: others more often
    temperature: float = Field(1.0, gt=0)
    decisions: int = Field(0, ge=0)  #: the agent's, which are imitated; 0: begin from nothing
    learning_rate: float = Field(1e-3, gt=0)  #: at first; falls to 0

    @model_validator(mode="after")
    def _teaches_the_value(self) -> Imitation:
        if self.copy_weights and not self.decisions:
            raise ValueError("copy_weights: decisions must be at least 1, for the value to learn")
        return self


class PPO(Part):
    """MaskablePPO's own parameters."""

    n_steps: int = Field(32, ge=1)  #: learner decisions of each game between two updates
    batch_size: int = Field(4096, ge=2)
    n_epochs: int = Field(3, ge=1)
    learning_rate: float = Field(5e-4, gt=0)
    final_learning_rate: float | None = Field(None, ge=0)  #: falls to this; null: constant
    gamma: float = Field(1.0, gt=0, le=1)
    gae_lambda: float = Field(0.95, ge=0, le=1)
    clip_range: float = Field(0.2, gt=0)
    ent_coef: float = Field(0.01, ge=0)
    vf_coef: float = Field(0.5, ge=0)
    max_grad_norm: float = Field(0.5, gt=0)
    target_kl: float | None = Field(None, gt=0)


class Evaluation(Part):
    """Periodic evaluation: the learner alone among each of some agents."""

    among: tuple[str, ...] = ("heuristic", "random")  #: names, or paths of policy files
    every: int = Field(1_000_000, ge=1)  #: learner decisions
    deals: int = Field(100, ge=2)
    players: Annotated[tuple[int, ...], Field(min_length=1)] = (2, 4, 6)  #: table sizes


class Config(Part):
    """A training run."""

    game: str
    seed: int = Field(0, ge=0, lt=2**31)
    decisions: int = Field(ge=1)  #: learner decisions in all
    #: of the exported policy: a file's name, and an agent's once it is shipped
    name: str = Field("ppo", pattern=r"^[A-Za-z0-9_]+$")
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = Field(None, ge=1)  #: torch's on the CPU; null: as many as it likes
    #: the policy that is evaluated, joins the pool and is exported is a moving average of the
    #: learner's weights, of which this much is kept at each update; 0: it is the learner itself
    ema_decay: float = Field(0.0, ge=0, lt=1)
    checkpoint_every: int = Field(2_000_000, ge=1)  #: learner decisions
    environment: Environment = Environment()
    opponents: Opponents = Opponents()
    network: Network = Network()
    imitation: Imitation = Imitation()
    ppo: PPO = PPO()
    evaluation: Evaluation = Evaluation()

    @model_validator(mode="after")
    def _can_be_named(self) -> Config:
        taken = ("random", "heuristic", "agents")  # agents.json is another file of a run
        if self.name in taken:
            raise ValueError(f"name must not be one of {', '.join(taken)}, got {self.name!r}")
        return self

    @model_validator(mode="after")
    def _has_no_batch_of_one(self) -> Config:
        size = self.environment.num_envs * self.ppo.n_steps
        if size % self.ppo.batch_size == 1:
            raise ValueError(
                f"ppo.batch_size: {size} decisions an iteration (environment.num_envs * "
                f"ppo.n_steps) in batches of {self.ppo.batch_size} leave a batch of one, whose "
                "advantage cannot be normalized"
            )
        return self

    @model_validator(mode="after")
    def _fits_the_game(self) -> Config:
        game = load_game(self.game)
        low, high = game.check_player_range(self.environment.num_players)
        weights = self.environment.table_weights
        if weights is not None and (
            len(weights) != high - low + 1 or min(weights) < 0 or sum(weights) <= 0
        ):
            raise ValueError(
                f"environment.table_weights: one number of at least 0 for each of {low} to {high} "
                f"players is needed, one of them above 0, got {list(weights)}"
            )
        fields = [field.name for field in game.fields]
        for name in self.network.without_fields:
            if name not in fields:
                raise ValueError(
                    f"network.without_fields: {game.name} has no observation field {name!r}; it "
                    f"has {', '.join(fields)}"
                )
        try:
            game.check_options(self.environment.options)
        except TypeError as error:
            raise ValueError(str(error)) from None
        for players in self.evaluation.players:
            game.check_num_players(players)
        self._check_imitated(make_agent(self.imitation.agent, game))
        for name in (*self.opponents.agents, *self.evaluation.among):
            make_agent(name, game)
        return self

    def _check_imitated(self, agent: Agent) -> None:
        imitation = self.imitation
        if not isinstance(agent, NetworkAgent):
            for key, value in (("copy_weights", False), ("temperature", 1.0)):
                if getattr(imitation, key) != value:
                    raise ValueError(f"imitation.{key}: {imitation.agent!r} is not a policy")
            return
        if not imitation.copy_weights:
            return
        sizes = [len(bias) for _, bias in agent.network.layers[:-1]]
        hidden = self.network.hidden
        if (
            len(sizes) != len(hidden)
            or any(size > room for size, room in zip(sizes, hidden, strict=True))
            or agent.network.activation != self.network.activation
        ):
            raise ValueError(
                f"imitation.copy_weights: network.hidden {list(hidden)} with "
                f"{self.network.activation} has no room for {imitation.agent!r}, which has hidden "
                f"layers of {sizes} with {agent.network.activation}; false imitates it instead"
            )


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a YAML file and apply ``KEY=VALUE`` overrides; KEY is dotted, VALUE is YAML.

    Raises:
        ValueError: The file cannot be read, or a key or value is wrong; the message names it.
    """
    return check(Config, with_overrides(read_yaml(path), overrides), path)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The keys and values of a YAML file; ValueError if it has none or cannot be read."""
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"cannot read the configuration {path}: {reason}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold keys and values")
    return data


def with_overrides(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the data with ``KEY=VALUE`` applied; ValueError if one cannot be."""
    data = copy.deepcopy(data)
    for override in overrides:
        _override(data, override)
    return data


def check(model: type[_Model], data: dict[str, Any], path: str | Path) -> _Model:
    """The data as a model; ValueError names the file and what is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_explain(entry, model) for entry in error.errors()]
        raise ValueError(f"{path}: " + "; ".join(lines)) from None


def _override(data: dict[str, Any], text: str) -> None:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ValueError(f"--set takes KEY=VALUE, got {text!r}")
    *parents, last = key.split(".")
    for parent in parents:
        data = data.setdefault(parent, {})
        if not isinstance(data, dict):
            raise ValueError(f"--set {text}: {parent!r} has no keys of its own")
    try:
        data[last] = yaml.safe_load(value)
    except yaml.YAMLError:
        raise ValueError(f"--set {text}: {value!r} is not YAML") from None


def _explain(entry: Any, model: type[BaseModel]) -> str:
    where = ".".join(map(str, entry["loc"])) or "configuration"
    if entry["type"] == "extra_forbidden":
        part: Any = model
        for key in entry["loc"][:-1]:
            part = part.model_fields[key].annotation
        return f"unknown key {where!r}; allowed here are {', '.join(part.model_fields)}"
    message = entry["msg"].removeprefix("Value error, ")  # pydantic's words before a validator's
    return f"{where}: {message}"
