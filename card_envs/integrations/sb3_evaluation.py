"""Models of Stable-Baselines3 as agents, and their evaluation on duplicate deals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.agents import AgentLike, FunctionAgent
from card_envs.agents.function import best_legal
from card_envs.agents.table import check_are_listed
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.evaluation import deal_seeds, evaluate
from card_envs.evaluation.deals import check_agent, check_evaluation_options
from card_envs.evaluation.display import with_interval
from card_envs.games import load_game
from card_envs.integrations.export import Sb3Input, check_sb3_input, given_view, view_of
from card_envs.utils.checks import check_whole_number
from card_envs.utils.extras import import_extra

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback, EventCallback
else:
    EventCallback = import_extra("stable_baselines3.common.callbacks", "sb3").EventCallback


def as_agent(
    model: BaseAlgorithm,
    name: str = "model",
    memory: str | None = None,
    features: bool | None = None,
) -> FunctionAgent:
    """A model as an agent that takes the best legal action.

    MaskablePPO is given the masks; of PPO, A2C and DQN it is the legal action of the highest logit
    or value. If the model has a VecNormalize, observations are normalized by it. The agent holds
    the model itself: it changes as the model learns.

    Args:
        model: The model.
        name: What to call it in results.
        memory: What the model was trained to observe: ``"perfect"`` recall, or ``"none"``; None:
            what its environment shows, and perfect recall, with a warning, if it has none.
        features: Whether derived fields were written in training, or left 0; None: as in its
            environment, and written, with a warning, if it has none.

    Raises:
        ValueError: ``memory`` or ``features`` is not allowed, or not what its environment shows.
        TypeError: It is no model; or it cannot choose among discrete actions, or remembers its
            games.
    """
    if not hasattr(model, "policy"):
        raise TypeError(
            f"a model is needed, such as MaskablePPO.load(path) or PPO.load(path), got {model!r}"
        )
    policy: Any = model.policy
    if hasattr(policy, "lstm_actor"):
        raise TypeError(
            f"a model that remembers its games, such as {type(model).__name__}, is an agent as a "
            "file that export_policy writes, which ends in .onnx"
        )
    can_choose = _takes_masks(model) or any(
        hasattr(policy, name) for name in ("q_net", "get_distribution")
    )
    if not isinstance(model.action_space, spaces.Discrete) or not can_choose:
        raise TypeError(
            "a model must have discrete actions, and take action_masks or have an actor-critic "
            f"policy or a q_net, got {type(model).__name__} with {model.action_space}"
        )
    if not isinstance(model.observation_space, (spaces.Box, spaces.Dict)):
        raise TypeError(
            f"a model must observe a Box, or a Dict with the mask, got {model.observation_space}"
        )
    view = view_of(model, memory, features)
    return _ModelAgent(name, _BestLegal(model), view.memory, view.features)


def _takes_masks(model: BaseAlgorithm) -> bool:
    return "action_masks" in signature(model.predict).parameters


class _ModelAgent(FunctionAgent):
    """A model's agent, which knows for which games it is."""

    def __init__(self, name: str, best: _BestLegal, memory: str, features: bool) -> None:
        super().__init__(name, best, memory, features)
        self._sizes = best.sizes

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if the model's observations or actions are not the game's."""
        shape, num_actions = self._sizes
        if (shape, num_actions) != ((game.fields.size,), game.num_actions):
            raise ValueError(
                f"the model does not fit {game.id}, whose observations are ({game.fields.size},), "
                f"not stacked, with {game.num_actions} actions: its are {shape}, with {num_actions}"
            )


class _BestLegal:
    """The function of a model's agent; it can be pickled if the model can."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._model = model
        check_sb3_input(model)

    @property
    def sizes(self) -> tuple[tuple[int, ...], int]:
        """The shape of an observation, and the number of actions."""
        seen: Any = self._model.observation_space
        chosen: Any = self._model.action_space
        seen = seen["observation"] if isinstance(seen, spaces.Dict) else seen
        return tuple(seen.shape), int(chosen.n)

    def __call__(self, observation: Any, action_mask: NDArray[np.int8]) -> Any:
        model: Any = self._model
        units, has_mask, normalize = Sb3Input.of(model)
        if units is not None:
            observation = np.rint(observation * units).astype(np.uint8)
        if has_mask:
            observation = {"observation": observation, "action_mask": action_mask}
        if normalize is not None:
            observation = normalize.normalize_obs(observation)
        if _takes_masks(model):
            return model.predict(observation, deterministic=True, action_masks=action_mask)[0]
        policy = model.policy
        policy.set_training_mode(False)
        inputs, _ = policy.obs_to_tensor(observation)
        if hasattr(policy, "q_net"):
            scores = policy.q_net(inputs)
        else:
            scores = policy.get_distribution(inputs).distribution.logits
        return best_legal(scores.detach().cpu().numpy(), action_mask)


class DealsEvalCallback(EventCallback):
    """Evaluates the model on duplicate deals: the same ones each time, each in all seatings.

    Logs ``eval/rank`` (the mean rank reward, from -1 to +1), ``eval/rank_low``, ``eval/rank_high``
    (its 95% interval, from 5 deals on) and ``eval/win``. ``last_mean_reward`` and
    ``best_mean_reward`` are rank rewards: StopTrainingOnRewardThreshold and its like can be the
    callbacks.

    Args:
        game: The game's id or versioned name.
        opponents: The other agents of the table: their number is the number of players less one.
        eval_freq: Calls of the callback, steps of the vector environment, between evaluations.
        deals: How many deals, at least 2; each is played in as many seatings as there are players.
        seed: The deals' seed; the default is not that of ``evaluate``, whose deals must not choose
            the best model.
        options: The game's options except ``reward``; None: those of the training environment.
        memory: As for :func:`as_agent`.
        features: As for :func:`as_agent`.
        best_model_save_path: Folder for ``best_model.zip``, the model of the best mean so far, and
            ``vec_normalize.pkl``, the statistics of its VecNormalize, if it has one.
        callback_on_new_best: Called when a mean is a new best.
        callback_after_eval: Called after every evaluation.
        verbose: 1 also prints the rank reward at every evaluation; 0 does not.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    def __init__(
        self,
        game: str,
        opponents: Sequence[AgentLike],
        *,
        eval_freq: int = 1000,
        deals: int = 200,
        seed: int = 1_000_003,
        options: Mapping[str, Any] | None = None,
        memory: str | None = None,
        features: bool | None = None,
        best_model_save_path: str | os.PathLike[str] | None = None,
        callback_on_new_best: BaseCallback | None = None,
        callback_after_eval: BaseCallback | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(callback_after_eval, verbose)
        # A mistake must not come up after the first steps of training.
        import_extra("scipy.stats", "evaluation")
        card_game = load_game(game)
        check_are_listed(opponents, "opponents must be a list, with an agent for each other seat")
        card_game.check_num_players(1 + len(opponents))
        for opponent in opponents:
            check_agent(opponent, [card_game], 0)
        check_evaluation_options(card_game, options or {})
        deal_seeds(seed, deals)
        self.eval_freq = check_whole_number("eval_freq", eval_freq, 1)
        self.best_model_save_path = best_model_save_path
        self.last_mean_reward = self.best_mean_reward = -np.inf
        self._game = card_game
        self._table = (game, opponents, deals, seed)
        self._options = options
        self._view = given_view(memory, features)
        View(**self._view)  # checked now, not at the first evaluation
        self.callback_on_new_best = callback_on_new_best
        if callback_on_new_best is not None:
            callback_on_new_best.parent = self

    def _init_callback(self) -> None:
        as_agent(self.model, "model", **self._view).check_game(self._game)
        if self._options is None:
            self._options = self._options_in_training()
        if self.best_model_save_path is not None:
            os.makedirs(self.best_model_save_path, exist_ok=True)
        if self.callback_on_new_best is not None:
            self.callback_on_new_best.init_callback(self.model)

    def _options_in_training(self) -> dict[str, Any]:
        """The options of the training environment, where it tells them; {}: the game's defaults."""
        try:
            options = dict(self.training_env.get_attr("options")[0])
        except AttributeError:
            return {}
        return {name: value for name, value in options.items() if name != "reward"}

    def _on_step(self) -> bool:
        if self.n_calls % self.eval_freq:
            return True
        game, opponents, deals, seed = self._table
        table = [as_agent(self.model, "model", **self._view), *opponents]
        result = evaluate(game, table, deals, seed, self._options).agents[0]
        self.last_mean_reward = result.rank.mean
        for key, value in zip(("rank", "rank_low", "rank_high"), result.rank, strict=True):
            if value is not None:
                self.logger.record(f"eval/{key}", value)
        self.logger.record("eval/win", result.win.mean)
        if self.verbose:
            shown = with_interval(result.to_json(), "rank")
            print(f"{self.num_timesteps:,} timesteps: rank reward {shown}")
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)
        go_on = True
        if result.rank.mean > self.best_mean_reward:
            self.best_mean_reward = result.rank.mean
            if self.best_model_save_path is not None:
                self.model.save(os.path.join(self.best_model_save_path, "best_model"))
                normalize = self.model.get_vec_normalize_env()
                if normalize is not None:
                    normalize.save(os.path.join(self.best_model_save_path, "vec_normalize.pkl"))
            if self.callback_on_new_best is not None:
                go_on = self.callback_on_new_best.on_step()
        return self._on_event() and go_on
