"""Agents at a table: how those given are made and seeded, and ``Table``, a game with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import AgentLike, as_agent
from card_envs.contract.agent import Agent
from card_envs.contract.game import Game
from card_envs.engine.history import Redraw
from card_envs.engine.seeds import check_seed
from card_envs.engine.table import BaseTable
from card_envs.games import load_game
from card_envs.utils.words import counted

#: The seed of agents that are named as opponents of environments, and of those that are recorded,
#: so that a recorded game can be played again among its opponents.
OPPONENT_SEED = 0


class Table(BaseTable):
    """A game with its agents: played decision by decision, with undo.

    Args:
        game: An id of ``card_envs.GAMES`` (its newest version), or a versioned name.
        agents: An agent for each seat: a name, the path of a policy file, an ``Agent``, or a
            function of observations and masks. None: somebody else, who gives :meth:`step` their
            actions.
        seed: A whole number in [0, 2**64), from which the cards and the random choices of agents
            that are named here follow; None: drawn from the operating system.
        **options: The game's options.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    def __init__(
        self,
        game: str,
        agents: Sequence[AgentLike | None],
        *,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        loaded, seed = load_game(game), check_seed(seed)
        super().__init__(loaded, seat_agents(agents, loaded, seed), seed=seed, **options)

    def begin(
        self,
        seed: int | None = None,
        agents: Sequence[AgentLike | None] | None = None,
        actions: Iterable[int | Redraw] = (),
    ) -> None:
        """Deal another game; one that is not over is broken off.

        Args:
            seed: As above.
            agents: As above; None: as before, whose random choices go on where they were. Those who
                leave the table are closed.
            actions: What has been done in the game already, such as those of a ``Replay``.

        Raises:
            ValueError, TypeError: As above, or an action is not legal.
        """
        seed = check_seed(seed)
        seated = None if agents is None else seat_agents(agents, self.game, seed)
        before = getattr(self, "agents", ())  # none yet at a new table
        super().begin(seed, seated, actions)
        for agent in before:
            if agent is not None and not any(agent is other for other in self.agents):
                agent.close()

    def close(self) -> None:
        """Release what the agents hold, such as processes."""
        for agent in self.agents:
            if agent is not None:
                agent.close()


def check_table(agents: Sequence[Any], game: Game) -> int:
    """The number of players of a table, whose agents these are.

    Raises:
        ValueError: The game is for fewer players, or for more.
        TypeError: They are not listed.
    """
    check_are_listed(agents, "agents must be a list, with an agent for each seat")
    if not game.min_players <= len(agents) <= game.max_players:
        raise ValueError(
            f"{game.id} is for {game.min_players} to {game.max_players} players, with an agent for "
            f"each, got {counted(len(agents), 'agent')}"
        )
    return len(agents)


def check_are_listed(agents: Any, must: str) -> None:
    """Raise a TypeError for what is no list, such as one agent: a name is a sequence, too."""
    is_one = isinstance(agents, (str, os.PathLike))
    if is_one or isinstance(agents, Mapping) or not hasattr(agents, "__getitem__"):
        raise TypeError(f"{must}, got {agents!r}")


def seat_agents(
    agents: Sequence[AgentLike | None],
    game: Game,
    seed: int,
    make: Callable[[Any, Game, int], Agent] = as_agent,
) -> list[Agent | None]:
    """The agents of one game by seat, None for somebody else's; that of seat k is made with the
    seed ``seed + k + 1``, so that those of one name make other random choices."""
    check_table(agents, game)
    return [
        None if agent is None else make(agent, game, (seed + k) % 2**64)
        for k, agent in enumerate(agents, 1)
    ]


def made_agent(agent: AgentLike, game: Game, seed: int, stack: ExitStack) -> Agent:
    """The agent, as ``as_agent`` makes it; the stack closes it if it is created here."""
    made = as_agent(agent, game, seed)
    if made is not agent:
        stack.callback(made.close)
    return made


@contextmanager
def agents_at_table(
    game: Game, agents: Sequence[AgentLike], seed: int
) -> Iterator[tuple[list[Agent], NDArray[np.int64]]]:
    """The distinct agents and each seat's index among them, as :func:`distinct_agents` makes them;
    those that are created here are closed at the end."""
    with ExitStack() as stack:
        distinct, indices, own = distinct_agents(game, agents, seed)
        for agent in own:
            stack.callback(agent.close)
        yield distinct, indices


def distinct_agents(
    game: Game, agents: Sequence[AgentLike], seed: int
) -> tuple[list[Agent], NDArray[np.int64], list[Agent]]:
    """The agents of many games at one table, each made once, with the same seed, for all its seats.

    Args:
        game: The game.
        agents: Agents by seat; those of one name are one agent.
        seed: For those that choose at random.

    Returns:
        The distinct agents; the index of each seat's agent among them; and those that were created
        here, which the caller closes.
    """
    made: dict[object, int] = {}
    distinct: list[Agent] = []
    indices = []
    with ExitStack() as stack:  # for an error on the way
        for agent in agents:
            key = os.fspath(agent) if isinstance(agent, (str, os.PathLike)) else id(agent)
            if key not in made:
                made[key] = len(distinct)
                distinct.append(made_agent(agent, game, seed, stack))
            indices.append(made[key])
        stack.pop_all()
    given = {id(agent) for agent in agents}
    return distinct, np.array(indices), [agent for agent in distinct if id(agent) not in given]
