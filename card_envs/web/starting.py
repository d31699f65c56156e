"""How a table is begun: a new game, or another one like it."""

from __future__ import annotations

from card_envs.agents.table import seat_agents
from card_envs.contract.options import DEFAULT_MAX_STEPS
from card_envs.engine.seeds import check_seed
from card_envs.engine.table import BaseTable
from card_envs.games import load_game
from card_envs.web.agents import AgentMenu
from card_envs.web.messages import NewTable
from card_envs.web.table import ViewedTable


def begin_table(wanted: NewTable, menu: AgentMenu, decisions: int, *, is_open: bool) -> ViewedTable:
    """A new game with a random seed.

    Args:
        wanted: What the page asks for.
        menu: The agents.
        decisions: The greatest ``max_steps``.
        is_open: Whether it is an open table.

    Raises:
        ValueError, TypeError: A value is not allowed; the message says what is.
    """
    game = load_game(wanted.game)
    num_players = game.check_num_players(wanted.num_players)
    most = min(DEFAULT_MAX_STEPS, decisions)
    options = game.check_options({"max_steps": most, **wanted.options})
    if options["max_steps"] > decisions:
        raise ValueError(f"max_steps must be at most {decisions} here, got {options['max_steps']}")
    person = wanted.seat
    for name, seat in (("seat", person), ("eyes", wanted.eyes)):
        if seat is not None and seat >= num_players:
            raise ValueError(f"{name} must be from 0 to {num_players - 1}, got {seat}")
    if len(wanted.agents) != num_players:
        raise ValueError(
            f"agents must be one label for each of the {num_players} seats, "
            f"got {len(wanted.agents)}"
        )
    for seat, label in enumerate(wanted.agents):
        if (label is None) != (seat == person):
            raise ValueError(f"agents[{seat}] must be a label, or None for the person's seat alone")
    seed = check_seed(None)
    agents = seat_agents(wanted.agents, game, seed, menu.make)
    return ViewedTable(
        BaseTable(game, agents, seed=seed, **options),
        "watch" if person is None else "play",
        wanted.eyes if person is None else person,
        tuple(wanted.agents),
        is_open=is_open or wanted.open_cards,
        practice=wanted.practice and person is not None,
    )


def begin_again(table: ViewedTable, menu: AgentMenu, *, same_deal: bool) -> ViewedTable:
    """Another game with the same settings.

    Args:
        table: The table.
        menu: The agents.
        same_deal: Whether the cards are those of the table's game.

    Raises:
        PermissionError: The same deal is asked for while the cards are secret.
        ValueError: The table shows a replay, whose agents are unknown.
    """
    if table.kind == "replay":
        raise ValueError("nobody plays at this table; begin a new game")
    seed = table.replay().seed if same_deal else check_seed(None)
    agents = seat_agents(table.labels, table.game, seed, menu.make)
    played = BaseTable(table.game, agents, seed=seed, **table.table.options)
    return ViewedTable(
        played,
        table.kind,
        table.seat,
        table.labels,
        is_open=table.is_open,
        practice=table.practice,
    )
