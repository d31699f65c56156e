"""How strong the agents of one table are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from card_envs.agents import AgentLike
from card_envs.agents.programs import ProgramReport
from card_envs.agents.table import agents_at_table, check_table
from card_envs.contract.game import Game
from card_envs.evaluation.deals import (
    agent_name,
    check_evaluation_options,
    deal_seeds,
    play_deals,
)
from card_envs.evaluation.statistics import WIN_BOUNDS, MeanEstimate, estimate_mean
from card_envs.games import as_game
from card_envs.utils.extras import import_extra


@dataclass(frozen=True)
class AgentResult:
    """The mean results of one agent of a table over deals.

    Attributes:
        name: The agent's name.
        rank: The rank reward, from -1 (behind everybody) to +1 (ahead of everybody).
        win: The share of victories; tied winners share one.
        score: The total reward with ``reward="score"``.
    """

    name: str
    rank: MeanEstimate
    win: MeanEstimate
    score: float

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "name": self.name,
            **self.rank.to_json("rank"),
            **self.win.to_json("win"),
            "score": self.score,
        }


@dataclass(frozen=True)
class EvaluationResult:
    """The results of the agents of a table.

    Attributes:
        game: The game's versioned name.
        num_players: The number of players, and of agents.
        deals: The number of deals; each was played in ``num_players`` seatings.
        seed: The deals' seed.
        options: The game's options except ``reward``.
        agents: The agents' results, in the order in which they were given.
        truncated: The share of games that ended at ``max_steps``.
        programs: The reports on the programs among the agents.
    """

    game: str
    num_players: int
    deals: int
    seed: int
    options: Mapping[str, Any]
    agents: tuple[AgentResult, ...]
    truncated: float
    programs: tuple[ProgramReport, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data; the same seed gives the same bytes.

        Where programs play there is also ``programs``, with measured times.
        """
        return {
            "game": self.game,
            "num_players": self.num_players,
            "deals": self.deals,
            "seed": self.seed,
            "options": dict(self.options),
            "agents": [agent.to_json() for agent in self.agents],
            "truncated": self.truncated,
            **programs_as_json(self.programs),
        }


def programs_as_json(programs: Sequence[ProgramReport]) -> dict[str, Any]:
    """``{"programs": [...]}``, or ``{}`` if no program plays."""
    return {"programs": [program.to_json() for program in programs]} if programs else {}


def evaluate(
    game: Game | str,
    agents: Sequence[AgentLike],
    deals: int = 1000,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    *,
    progress: bool = False,
) -> EvaluationResult:
    """Play one table: every deal in all cyclic seatings with the same cards.

    Args:
        game: The game, or its name.
        agents: The table (names, agents, or functions of observations and masks); their number is
            the number of players.
        deals: The number of deals, at least 2.
        seed: The deals' seed, and that of agents that choose at random.
        options: The game's options except ``reward``.
        progress: Whether to show a progress bar on stderr.

    Returns:
        The agents' mean results with 95% confidence intervals over deals, None below 5 deals.

    Raises:
        ValueError: An agent, a number or an option is wrong, or an agent's action is illegal.
        TypeError: There is no such option, something given as an agent is not one, or the number of
            deals or the seed is not a whole number.
        MissingExtraError: scipy, or rich for a progress bar, is not installed.
    """
    import_extra("scipy.stats", "evaluation")  # missed before the games, not after them
    game = as_game(game)
    checked = check_evaluation_options(game, options or {})
    seeds = deal_seeds(seed, deals)
    check_table(agents, game)
    with agents_at_table(game, agents, seed) as (distinct, index_of):
        made = [distinct[k] for k in index_of]
        played = play_deals(game, made, seeds, checked, progress=progress)
    ranks, wins = played.rank_by_deal, played.win.mean(axis=1)
    results = [
        AgentResult(
            agent_name(agent, made[k]),
            estimate_mean(ranks[:, k]),
            estimate_mean(wins[:, k], WIN_BOUNDS),
            float(played.score[..., k].mean()),
        )
        for k, agent in enumerate(agents)
    ]
    return EvaluationResult(
        game.name,
        len(agents),
        int(deals),
        int(seed),
        checked,
        tuple(results),
        played.truncated_share,
        played.programs,
    )
