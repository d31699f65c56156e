"""Tables of what games are like, and of what was checked along them."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import origin
from card_envs.games import GAMES, load_game
from card_envs.utils.markdown import markdown_table


def title_of(game: str) -> str:
    """A game's title; that of another package may not be there when its table is made."""
    return load_game(game).title if game in GAMES else game.replace("_", " ").title()


def games(measured: dict[str, Any]) -> str:
    """What a game is like, which ``benchmarks.games`` writes."""
    results, settings = measured["results"], measured["settings"]
    header = ["agent", "players", "rounds", "decisions of a game", "forced"]
    header += ["legal actions", "median", "99%", "most", "seen again", "truncated"]
    rows = [
        [
            f"`{row['agent']}`",
            str(row["players"]),
            f"{row['rounds']:.1f}",
            f"{row['decisions']:.0f} ({' … '.join(f'{n:.0f}' for n in row['decisions_spread'])})",
            f"{row['forced']:.0%}",
            f"{row['legal_actions']:.1f}",
            f"{row['median_legal_actions']:.0f}",
            f"{row['legal_actions_99']:.0f}",
            str(row["most_legal_actions"]),
            f"{row['seen_again']:.1%}",
            f"{row['truncated']:.1%}",
        ]
        for row in results["rows"]
    ]
    first = results["luck"][0]
    lucky_header = ["players", "rank reward", "deviation", "explained"]
    lucky_header += ["deals", "games of these", "games of other deals", "by seat"]
    lucky = [
        [
            str(row["players"]),
            f"{row['rank']:+z.2f}",
            f"{row['deviation']:.2f}",
            "" if row["explained"] is None else f"{row['explained']:.0%}",
            f"{row['deals']:,}",
            f"{row['games_of_deals']:,}",
            f"{row['games']:,}",
            " ".join(f"{rank:+z.2f}" for rank in row["by_seat"]),
        ]
        for row in results["luck"]
    ]
    places = [f"place {k + 1}" for k in range(len(results["table"]))]
    table_header = ["agent", "rank reward", *places, "points (5%, median, 95%)"]
    table = [
        [
            f"`{row['agent']}`",
            f"{row['rank']:+z.2f}",
            *(f"{share:.0%}" for share in row["places"]),
            " ".join(f"{points:+z.2f}" for points in row["score"]),
        ]
        for row in results["table"]
    ]
    return "\n\n".join(
        [
            markdown_table(header, rows, len(header) - 1),
            f"{settings['games']:,} games a row: the mean number of rounds and of decisions of all "
            "players (5th and 95th percentile), the share of decisions with a single legal "
            "action, the number of legal actions at the others (mean, median, 99th percentile, "
            "maximum), the share of these at which the same was observed at another one, and the "
            "share of games that `max_steps` truncated.",
            markdown_table(lucky_header, lucky, len(lucky_header)),
            f"How much is luck, for one `{first['agent']}` among `{first['others']}`, "
            f"{settings['deals']:,} deals in all seatings: the rank reward, the standard deviation "
            "of a single game's, and the share of its variance that replaying every deal in all "
            "seatings removes, beyond what as many games of different deals do (below 0: games of "
            "one deal are more alike than those of different ones). An agent whose rank "
            f"reward among the others is {settings['difference']} is told apart from them (95% "
            "interval, 80% of the time) by the first number of deals and its games; without "
            "replaying, by the last. "
            f"By seat: what copies of `{first['others']}` get, player 0 first.",
            markdown_table(table_header, table, len(table_header) - 1),
            f"The agents against one another at one table, {settings['deals']:,} deals in all "
            "seatings: how often each comes in which place (shared places count as the better "
            'one), and its points with `reward="score"`.',
            origin(measured),
        ]
    )


def soak(measured: dict[str, Any]) -> str:
    """The violations that ``benchmarks.soak`` has found."""
    rows = []
    for game, row in measured["results"].items():
        numbers = [f"{row[key]:,}" for key in ("decisions", "games", "samples")]
        found = ", ".join(f"{check}: {count}" for check, count in row["found"].items() if count)
        rows.append([title_of(game), *numbers, found or "none"])
    header = ["game", "decisions", "games", "positions sampled", "violations"]
    return f"{markdown_table(header, rows, 4)}\n\n{origin(measured)}"
