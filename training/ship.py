"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--quick | --deals N] [--seed S] [--replace]
    python -m training.ship --readme        # only rewrites README.md's table of results

One policy plays against copies of the heuristic, of random, and of each other policy of the game,
at every table size. The results go into ``card_envs/policies/<game>/<name>.json`` beside the
weights, those of ``ppo`` at a glance into ``README.md``.
The policies of a game of another package go into the folder ``policies`` of that package.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from card_envs.agents import shipped_policies
from card_envs.agents.shipped import policies_folder
from card_envs.commands import arguments, running
from card_envs.commands.arguments import output_file
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.evaluation.display import short_names, with_interval
from card_envs.games import GAMES, is_of_this_package, load_game
from card_envs.utils.files import write_json, write_output, write_text
from card_envs.utils.markdown import markdown_table, with_section
from card_envs.utils.progress import track
from training.improvement.config import ImprovementConfig
from training.runs.config import Config
from training.runs.evaluation import against
from training.runs.keys import read_yaml
from training.runs.records import machine, predecessors, read_json
from training.runs.run import Run

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"

#: What README.md shows of a card, and the search whose strength among ``ppo`` it shows beside that.
_COLUMNS = ("heuristic", "ppo_v2")
_SEARCH = "search:64"

#: Deals at each table size: for a card, and to see how it goes.
DEALS, QUICK_DEALS = 2000, 100


def strength(game: Game, policy: str, deals: int, seed: int) -> dict[str, Any]:
    """A policy, a name or a file, against the game's other agents, and its heuristic against
    random, on this many deals at each table size.

    Returns:
        ``results``: rank reward, share of victories and share of truncated games at every table
        size; ``means``: the rank reward on average over table sizes; each with 95% intervals.
    """
    sizes, seeds = range(game.min_players, game.max_players + 1), deal_seeds(seed, deals)
    pairs = _pairs(game, policy)
    results, means = [], []
    for one, rest in track(pairs, "opponents", len(pairs)):
        about = {"name": Path(one).stem, "opponents": rest}
        rows, mean = against(game, one, rest, sizes, seeds)
        results += [{**about, **row} for row in rows]
        means.append({**about, **mean.to_json("rank")})
    return {"results": results, "means": means}


def _pairs(game: Game, policy: str) -> list[tuple[str, str]]:
    """Who plays against copies of whom."""
    scripted = ["heuristic"] if game.heuristic is not None else []
    policies = [*shipped_policies(game), *predecessors(game)]
    others = [name for name in policies if Path(name).stem != Path(policy).stem]
    pairs = [(policy, other) for other in (*scripted, *others, "random")]
    return pairs + [(name, "random") for name in scripted]


def summary_table(cards: Mapping[str, dict[str, Any]]) -> str:
    """The shipped policies' mean strength over table sizes, and how much a search with their own
    rollouts gains among them, as a Markdown table, given the policies' cards by the game's id."""
    rows = []
    for game_id, card in cards.items():
        means = {
            short_names([mean["opponents"]])[0]: with_interval(mean, "rank")
            for mean in card["strength"]["means"]
            if mean["name"] == card["name"]
        }
        shown = (means.get(name, "–") for name in _COLUMNS)
        rows.append([load_game(game_id).title, *shown, _search_among(game_id)])
    header = ["", *(f"one `ppo` among `{name}`" for name in _COLUMNS)]
    return markdown_table([*header, f"one `{_SEARCH}` among `ppo`"], rows, len(header))


def _search_among(game_id: str) -> str:
    """What ``benchmarks.search`` has measured, at each table size."""
    path = ROOT / "benchmarks" / "results" / f"search_{game_id}.json"
    if not path.exists():
        return "–"
    tables = read_json(path)["results"]["tables"]
    return "; ".join(
        f"{table['num_players']} players {with_interval(table, 'rank')}"
        for table in tables
        if table["agent"] == _SEARCH
    )


def shipped_cards() -> dict[str, dict[str, Any]]:
    """The cards of the shipped policies ``ppo`` of this package's games, by the game's id."""
    games = [game for game in map(load_game, GAMES) if is_of_this_package(game)]
    return {
        game.id: read_json(policies_folder(game) / "ppo.json")
        for game in games
        if "ppo" in shipped_policies(game)
    }


def updated_readme(cards: Mapping[str, dict[str, Any]]) -> str:
    """README.md with its table of results renewed, given the policies' cards by the game's id;
    ValueError if it has no place for it."""
    return with_section(README.read_text(encoding="utf-8"), "results", summary_table(cards))


def open_run(folder: Path) -> Run[Any]:
    """The run in a folder, of training or of expert iteration."""
    is_improvement = "iterations" in read_yaml(folder / "config.yaml")
    return Run.reopen(folder, (), ImprovementConfig if is_improvement else Config)


def _shippable(folder: Path, replace: bool) -> tuple[Run[Any], Path, bool]:
    """The run in a folder, where its policy goes, and whether README.md shows it; whatever can be
    refused is, with a ValueError, before anything is measured."""
    run = open_run(folder)
    if not run.is_finished:
        raise ValueError(
            f"the run in {folder} is not finished: --resume finishes it, and with --set "
            f"{run.config.LENGTH}=N as short as you like"
        )
    shipped = policies_folder(run.game) / run.policy_path.name
    if shipped.exists() and not replace:
        raise ValueError(
            f"{run.game.id} already has a shipped policy {run.config.name!r}: --replace replaces "
            "it; `name` in a configuration names another one"
        )
    try:
        output_file(str(shipped))
    except argparse.ArgumentTypeError as error:
        raise ValueError(str(error)) from None
    is_shown = run.config.name == "ppo" and is_of_this_package(run.game)
    if is_shown:
        updated_readme({})
    return run, shipped, is_shown


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.ship", description=(__doc__ or "").split("\n")[0]
    )
    add = parser.add_argument
    add("run", type=Path, nargs="?", help="the folder of a finished training run")
    add("--readme", action="store_true", help="only rewrite README.md's table")
    about = f"deals at each table size, each in all seatings (default: {DEALS})"
    add("--deals", type=int, default=DEALS, metavar="N", help=about)
    about = f"measure with {QUICK_DEALS} deals, in less than a minute"
    add("--quick", action="store_const", dest="deals", const=QUICK_DEALS, help=about)
    add("--seed", type=int, default=0, metavar="S", help="the deals' seed (default: 0)")
    add("--replace", action="store_true", help="replace the shipped policy of the same name")
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    if args.readme:
        write_text(README, updated_readme(shipped_cards()))
        return
    if args.run is None:
        raise ValueError("give the folder of a finished training run, or --readme")
    deal_seeds(args.seed, args.deals)
    run, shipped, is_shown = _shippable(args.run, args.replace)
    game, policy = run.game, str(run.policy_path)
    others = ", ".join(short_names([rest for one, rest in _pairs(game, policy) if one == policy]))
    print(
        f"Measuring one {run.config.name} against {others} at {game.min_players} to "
        f"{game.max_players} players, {args.deals} deals each in all seatings; then {shipped} is "
        "written."
    )
    card = read_json(run.card_path)
    card.pop("finished", None)
    card["strength"] = {
        "command": f"python -m training.ship RUN --deals {args.deals} --seed {args.seed}",
        "machine": machine(),
        "deals": args.deals,
        "seed": args.seed,
        **strength(game, policy, args.deals, args.seed),
    }
    readme = updated_readme({**shipped_cards(), game.id: card}) if is_shown else None
    shipped.parent.mkdir(parents=True, exist_ok=True)
    write_output(shipped, run.policy_path.read_bytes())
    write_json(shipped.with_suffix(".json"), card)
    if readme is not None:
        write_text(README, readme)
    print(f"{run.config.name} is now a shipped policy of {game.id}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.ship``; returns the exit status."""
    return running.run("training.ship", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
