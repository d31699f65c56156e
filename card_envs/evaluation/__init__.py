"""How strong agents are: duplicate deals, confidence intervals, tournaments, ratings.

``evaluate`` plays one table, ``run_tournament`` every table that the agents can form, and
``run_benchmark`` the tables of a fixed protocol; all are built on ``play_deals``. Statistics
need scipy, tables and pictures rich and matplotlib: ``pip install 'card_envs[evaluation]'``.
"""

from card_envs.evaluation.benchmark import (
    BenchmarkCell,
    BenchmarkResult,
    BenchmarkRow,
    run_benchmark,
)
from card_envs.evaluation.deals import (
    MatchResults,
    deal_seeds,
    play_deals,
    play_one_against,
    random_orders,
)
from card_envs.evaluation.deviation import deviation_ratings
from card_envs.evaluation.matches import AgentResult, EvaluationResult, evaluate
from card_envs.evaluation.partners import play_with_partner
from card_envs.evaluation.ratings import Rankings, RatingEstimates
from card_envs.evaluation.statistics import (
    DIFFERENCE_BOUNDS,
    RANK_BOUNDS,
    WIN_BOUNDS,
    MeanEstimate,
    estimate_mean,
)
from card_envs.evaluation.tournament import (
    RatedAgentResult,
    TableResult,
    TournamentResult,
    TournamentSummary,
    run_tournament,
    summarize,
    tables_of,
)

__all__ = [
    "DIFFERENCE_BOUNDS",
    "RANK_BOUNDS",
    "WIN_BOUNDS",
    "AgentResult",
    "BenchmarkCell",
    "BenchmarkResult",
    "BenchmarkRow",
    "EvaluationResult",
    "MatchResults",
    "MeanEstimate",
    "Rankings",
    "RatedAgentResult",
    "RatingEstimates",
    "TableResult",
    "TournamentResult",
    "TournamentSummary",
    "deal_seeds",
    "deviation_ratings",
    "estimate_mean",
    "evaluate",
    "play_deals",
    "play_one_against",
    "play_with_partner",
    "random_orders",
    "run_benchmark",
    "run_tournament",
    "summarize",
    "tables_of",
]
