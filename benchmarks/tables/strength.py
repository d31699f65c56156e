"""Tables of strength: leaderboards, best responses, shipped policies, searches."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import names, origin, three_digits
from card_envs.evaluation.display import rating_interval, short_names, with_interval
from card_envs.utils.markdown import markdown_table

# What is shown as truncated, as a share of games: it rounds to 0.1% at least.
_SHOWN = 0.0005


def strength(measured: dict[str, Any]) -> str:
    """The leaderboard that ``benchmarks.strength`` writes."""
    sizes = measured["by_num_players"]
    rows = []
    agents = measured["overall"]["agents"]
    shown = dict(zip(names(agents), agents, strict=True))
    for name, row in sorted(shown.items(), key=lambda item: -item[1]["rating"]):
        own = [r for size in sizes.values() for r in size["agents"] if r["name"] == row["name"]]
        rows.append(
            [
                f"`{name}`",
                f"{row['rating']:+.0f} ({rating_interval(row)})",
                with_interval(row, "rank"),
                with_interval(row, "win", ".3f"),
                *(with_interval(r, "rank") for r in own),
            ]
        )
    header = ["agent", "rating", "rank reward", "win share", *(f"{n} players" for n in sizes)]
    lines = [markdown_table(header, rows, len(header) - 1)]
    if measured["overall"].get("truncated"):
        share = measured["overall"]["truncated"]
        lines.append(f"{share:.1%} of the games were truncated at `max_steps`.")
    faults = [
        [f"`{row['name']}`", fault["fault"], str(fault["count"]), fault["first"]]
        for row in measured["overall"].get("programs", [])
        for fault in row["faults"]
    ]
    if faults:
        lines.append(markdown_table(["program", "fault", "count", "first"], faults))
    return "\n\n".join([*lines, f"`{measured['command']}`"])


def all_agents(measured: dict[str, Any]) -> str:
    """The leaderboard with search that ``benchmarks.all_agents`` writes."""
    agents = sorted(measured["results"]["agents"], key=lambda row: -row["rating"])
    rows = [
        [
            f"`{name}`",
            f"{row['rating']:+.0f} ({rating_interval(row)})",
            with_interval(row, "rank"),
            f"{row['unfinished']:.1%}",
            f"{row['decision_ms']:.3g}",
        ]
        for name, row in zip(names(agents), agents, strict=True)
    ]
    settings = measured["settings"]
    header = ["agent", "rating", "rank reward", "truncated games", "ms a decision"]
    note = (
        f"{settings['num_players']} players, {settings['deals']} deals of each of "
        f"{len(measured['results']['tables'])} tables, at which every two agents meet."
    )
    return "\n\n".join([markdown_table(header, rows, 4), note, origin(measured)])


def best_response(measured: dict[str, Any]) -> str:
    """The gains that ``training.best_response`` writes."""
    searched = measured["search_deals"]
    rows = [
        [
            f"`{short_names([row['against']])[0]}`",
            str(row["num_players"]),
            _cell(row, "gain"),
            f"{row['decisions']:,}",
            *([_cell(row["search"], "gain") if row["search"] else "–"] if searched else []),
        ]
        for row in measured["responses"]
    ]
    header = ["against", "players", "gain of a learner", "its decisions"]
    note = f"Rank rewards with 95% intervals over {measured['deals']} deals in all seatings"
    if searched:
        header.append(f"gain of `{measured['search']}`")
        note += f", of the search over {searched}"
    return f"{markdown_table(header, rows, len(header) - 1)}\n\n{note}: `{measured['command']}`."


def _cell(row: dict[str, Any], key: str) -> str:
    """A mean with its interval, and the share of truncated games if there are some."""
    shown, unfinished = with_interval(row, key), row.get("truncated", 0.0)
    return f"{shown}; {unfinished:.1%} truncated" if unfinished >= _SHOWN else shown


def partners(measured: dict[str, Any]) -> str:
    """The agents with the partners that ``benchmarks.partners`` gives them."""
    settings, results = measured["settings"], measured["results"]
    agents = results["agents"]
    first, last = settings["num_players"][0], settings["num_players"][-1]
    header = ["partner", *(f"`{agent['name']}`" for agent in agents)]
    ranks, shares = [], []
    for k, partner in enumerate(results["partners"]):
        rows = [agent["with"][k] for agent in agents]
        ranks.append([f"`{partner}`", *(with_interval(row, "rank") for row in rows)])
        of_best = [
            "the best" if row["best"] == agent["name"] else with_interval(row, "share", ".2f")
            for row, agent in zip(rows, agents, strict=True)
        ]
        shares.append([f"`{partner}`", *of_best])
    shares.append(["mean", *map(_mean_share, agents)])
    note = (
        f"{first} to {last} players, all others `{settings['opponents']}`, {settings['deals']} "
        "deals in all seatings at each table size; 95% intervals."
    )
    return "\n\n".join(
        [
            "Rank reward of each agent (column) with each partner (row):",
            markdown_table(header, ranks, len(agents)),
            "Share of the best agent with the same partner:",
            markdown_table(header, shares, len(agents)),
            note,
            origin(measured),
        ]
    )


def _mean_share(agent: dict[str, Any]) -> str:
    is_best = all(row["best"] == agent["name"] for row in agent["with"])
    return "the best" if is_best else with_interval(agent, "share", ".2f")


def cross_play(measured: dict[str, Any]) -> str:
    """The agents among copies of one another, of ``benchmarks.cross_play``."""
    settings, agents = measured["settings"], measured["results"]["agents"]
    # A run's policy is known by its folder.
    shown = [f"`{name.removesuffix('/policy')}`" for name in names(agents)]
    rows = []
    for name, agent in zip(shown, agents, strict=True):
        cells = {row["among"]: _cell(row, "rank") for row in agent["among"]}
        rows.append([name, *(cells.get(other["name"], "0") for other in agents)])
    header = ["one (row) among (column)", *shown]
    note = (
        f"{settings['num_players']} players, {settings['deals']} deals in all seatings. "
        f"The mean of all pairs: {with_interval(measured['results'], 'rank')}. Intervals are over "
        "deals, for these agents."
    )
    return "\n\n".join([markdown_table(header, rows, len(agents)), note, origin(measured)])


def policy(card: dict[str, Any]) -> str:
    """The strength on a shipped policy's card, which ``training.ship`` writes."""
    measured = card["strength"]
    rows = measured["results"]
    sizes = sorted({row["num_players"] for row in rows})
    header = ["one …", "against …", *(f"{n} players" for n in sizes), "mean"]
    entries, unfinished = [], []
    for mean in measured["means"]:
        own = [row for row in rows if all(row[key] == mean[key] for key in ("name", "opponents"))]
        names = short_names([mean["name"], mean["opponents"]])
        ranks = [with_interval(row, "rank") for row in (*own, mean)]
        entries.append([*(f"`{name}`" for name in names), *ranks])
        if max(row["truncated"] for row in own) >= _SHOWN:
            shares = ", ".join(f"{row['truncated']:.1%}" for row in own)
            unfinished.append(f"`{names[0]}` against `{names[1]}` {shares}")
    unit = "labels" if "labels" in card else "decisions"
    commands = ", then ".join(f"`{command}`" for command in card["commands"])
    return (
        f"{markdown_table(header, entries, len(sizes) + 1)}\n\n"
        f"Rank reward with its 95% interval over {measured['deals']} deals, each in all seatings: "
        f"`{measured['command']}`, on {measured['machine']}."
        + (f" Truncated games: {'; '.join(unfinished)}." if unfinished else "")
        + "\n\n"
        f"`{card['name']}`'s last run, with the files of commit `{card['commit']}`: {commands}, "
        f"{card[unit]:,} {unit} in {card['hours']} hours, on {card['machine']}." + _curve(card)
    )


def _curve(card: dict[str, Any]) -> str:
    """The evaluations during the run, if the card has them."""
    entries = card.get("curve", [])
    if not entries:
        return ""
    unit, *keys = entries[0]  # decisions, or iterations of improvement
    measured = [key for key in keys if f"{key}_ci95" in keys]
    rows = [
        [f"{entry[unit]:,}", *(with_interval(entry, key) for key in measured)] for entry in entries
    ]
    header = [unit, *(f"among `{key.removeprefix('vs_')}`" for key in measured)]
    deals = card["config"]["evaluation"]["deals"]
    about = f"\n\nDuring that run, on {deals} other deals, on average over table sizes:\n\n"
    return about + markdown_table(header, rows, len(measured))


def temperatures(measured: dict[str, Any]) -> str:
    """Ways to take a policy's actions, and networks' speed, of ``benchmarks.temperatures``."""
    rows: dict[float, list[str]] = {}
    header = ["actions"]
    for row in measured["results"]["temperatures"]:
        t = row["temperature"]
        among = f"one among `{row['opponents']}`"
        header += [] if among in header else [among]
        cells = rows.setdefault(t, [f"sampled at {t:g}" if t else "most probable"])
        cells.append(_cell(row, "rank"))
    networks = [
        [
            " × ".join(map(str, row["hidden"])),
            f"{row['weights']:,}",
            three_digits(row["decisions_per_second"]),
        ]
        for row in measured["results"]["networks"]
    ]
    return "\n\n".join(
        [
            markdown_table(header, [*rows.values()], len(header) - 1),
            markdown_table(["hidden layers", "weights", "decisions a second"], networks, 2),
            f"{measured['settings']['deals']} deals at each table size. {origin(measured)}",
        ]
    )


def search(measured: dict[str, Any]) -> str:
    """The strength and speed of searches that ``benchmarks.search`` writes."""
    rows = []
    speed = measured["results"]["speed"]
    pieces = list(speed["results"]["tables"][0]["shares"])
    for row, fast in zip(measured["results"]["tables"], speed["results"]["tables"], strict=True):
        rows.append(
            [
                str(row["num_players"]),
                f"`{row['agent']}`",
                with_interval(row, "rank"),
                three_digits(fast["decisions_per_second"]),
                three_digits(fast["rollout_decisions"]),
                *(f"{100 * fast['shares'][piece]:.0f}%" for piece in pieces),
            ]
        )
    (opponent,) = short_names([measured["settings"]["opponent"]])
    header = ["players", "agent", f"rank reward among `{opponent}`", "decisions a second"]
    header += ["decisions in its rollouts", *pieces]
    origins = [f"Strength: {origin(measured)}", f"Speed: {origin(speed)}"]
    return "\n\n".join([markdown_table(header, rows, len(header) - 3), *origins])
