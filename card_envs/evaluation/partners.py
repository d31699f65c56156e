"""Tables at which one player's partners, hand by hand, all play in a given way.

In games whose pairs change, such as Frank's Zoo, nobody is the partner of anybody for a whole game.
Here seats change hands instead: the first agent's partner of the present hand plays as one agent,
and everybody else as another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, AgentLike, FollowingAgent, ProgramAgent
from card_envs.agents.table import made_agent
from card_envs.contract.agent import Follower, Followers, Turn, checked_actions, turn_of
from card_envs.contract.game import Game
from card_envs.evaluation.deals import MatchResults, play_deals
from card_envs.games import as_game


def sizes_with_partners(game: Game) -> list[int]:
    """The numbers of players with which a game has partners.

    Raises:
        ValueError: It has none.
    """
    if not game.partners_from:
        raise ValueError(f"{game.id} has no partners")
    return [*range(game.partners_from, game.max_players + 1)]


class _Others(FollowingAgent):
    """All players but the first agent's, at a table that ``play_deals`` seats in cyclic order.

    Args:
        game: A game with partners.
        partner: Plays for the first agent's partner.
        opponents: Plays for all others, and for everybody while the first agent has no partner.
        players: The number of players.
    """

    name = "others"

    def __init__(self, game: Game, partner: Agent, opponents: Agent, players: int) -> None:
        if players not in sizes_with_partners(game):
            raise ValueError(f"{game.id} has no partners with {players} players")
        self.agents = opponents, partner
        self.players = players

    def follow(self, options: Mapping[str, Any] | None) -> _OthersFollower:
        """One that tells both agents of the games."""
        return _OthersFollower(self, options)


class _OthersFollower(Follower):
    """Asks the agent whose decision it is; both follow all games."""

    def __init__(self, others: _Others, options: Mapping[str, Any] | None) -> None:
        self._others = others
        self._view = others.view
        self._known = Followers(options)
        self._following = [follower for follower, _ in self._known.seated(others.agents)]

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        """A game begins; each agent may have to decide for any of these players."""
        for follower in self._following:
            follower.begin(states, i, players)

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """A decision is made."""
        for follower in self._following:
            follower.watch(states, i, action)

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        """The game is over."""
        for follower in self._following:
            follower.end(states, i, loser)

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        """The actions of the agents whose decisions they are, or ``FORFEIT`` (M,)."""
        others = self._others
        now = turn.states[turn.indices]
        # In seating r the first agent is in seat r.
        first = turn.indices % others.players
        is_partner = now["partner"][np.arange(len(turn)), now["current_player"]] == first
        actions = np.zeros(len(turn), np.int64)
        for agent, own in zip(others.agents, (~is_partner, is_partner), strict=True):
            if own.any():
                act = self._known.answer_of(agent)
                actions[own] = checked_actions(agent, self._of(agent, turn, own), act)
        return actions

    def _of(self, agent: Agent, turn: Turn, own: NDArray[np.bool_]) -> Turn:
        if agent.view != self._view:
            return turn_of(turn.game, turn.states, turn.indices[own], agent.view)
        seen = turn.observation[own], turn.action_mask[own]
        return Turn(turn.game, turn.states, turn.indices[own], *seen)


def play_with_partner(
    game: Game | str,
    agent: AgentLike,
    partner: AgentLike,
    opponents: AgentLike,
    players: int,
    seeds: NDArray[np.uint64],
    *,
    agent_seed: int = 0,
) -> MatchResults:
    """Play one agent whose partner, in every hand that has pairs, plays as a given agent.

    Args:
        game: A game with partners, or its name.
        agent: The single agent; it is agent 0 of the results.
        partner: Plays for its partner of the present hand.
        opponents: Plays for all others, and for everybody else while it has no partner.
        players: The number of players.
        seeds: The deals' seeds, uint64 (deals,).
        agent_seed: As for :func:`play_deals`.

    Raises:
        ValueError, TypeError: The game has no partners, or as for :func:`play_deals`.
    """
    game = as_game(game)
    with ExitStack() as stack:
        one, other, rest = (
            made_agent(entry, game, agent_seed, stack) for entry in (agent, partner, opponents)
        )
        others = _Others(game, other, rest, players)
        played = play_deals(game, [one, *[others] * (players - 1)], seeds)
        programs = {id(each): each for each in (other, rest) if isinstance(each, ProgramAgent)}
        reports = [each.take_report() for each in programs.values() if each is not one]
        return replace(played, programs=(*played.programs, *reports))
