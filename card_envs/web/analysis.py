"""What agents think of decisions: probabilities, values, and where a searcher disagrees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, NetworkAgent, SearchAgent, Turn
from card_envs.agents.search.follower import SearchFollower
from card_envs.agents.search.rollouts import Found
from card_envs.contract.agent import Follower, FollowingAgent, checked_choice, turn_of
from card_envs.contract.game import Game
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.contract.scene import Scene
from card_envs.engine.history import Replay
from card_envs.games import load_game
from card_envs.web.messages import Advice, Dispute, Disputes, Opinion
from card_envs.web.pointing import needs

#: Actions that are shown beside a decision.
_SHOWN = 8


@runtime_checkable
class _Searcher(Protocol):
    """An agent, or its follower, that tells what it found out about each action."""

    def search(self, turn: Turn) -> Found:
        """The choices, and what it found out."""


def advise(
    agent: Agent,
    label: str,
    game: Game,
    states: NDArray[np.void],
    step: int,
    played: int | None = None,
    follower: Follower | None = None,
) -> Advice:
    """What an agent thinks of the present decision of ``states[0]``.

    It is asked as the player to move: what it thinks follows from what that player knows.

    Args:
        agent: The agent.
        label: Its label.
        game: The game.
        states: The record, in an array of one.
        step: The decision's number.
        played: The action that was played; None: not to be told.
        follower: The agent's, if it has been told of the game.
    """
    turn = turn_of(game, states, np.array([0]), agent.view)
    found: Found | None = None
    asked = agent if follower is None else follower

    def act(turn: Turn) -> NDArray[np.int64]:
        nonlocal found
        if not isinstance(asked, _Searcher):
            return agent.act(turn)
        if played is not None and isinstance(asked, (SearchAgent, SearchFollower)):
            # A mistake is often an action that is hardly ever played: it would not be tried.
            found = asked.search(turn, [played])
        else:
            found = asked.search(turn)
        return found.actions

    legal = np.flatnonzero(turn.action_mask[0]).tolist()
    opinions: dict[int, dict[str, Any]] = {action: {"action": action} for action in legal}
    if isinstance(agent, NetworkAgent):
        probabilities = agent.probabilities(turn)[0]
        choice = int(probabilities.argmax())  # what it draws may be what it hardly ever plays
        for action, opinion in opinions.items():
            opinion["probability"] = float(probabilities[action])
    else:
        choice = checked_choice(agent, turn, act)
    if found is not None:
        for action in np.flatnonzero(found.visits[0]).tolist():
            opinions[action]["value"] = float(found.values[0, action])
            opinions[action]["count"] = int(found.visits[0, action])
    best = sorted(opinions.values(), key=lambda opinion: _rank(opinion, choice))
    shown = best[:_SHOWN] + [o for o in best[_SHOWN:] if o["action"] == played]
    if not any("value" in o or "probability" in o for o in shown):
        shown = [o for o in shown if o["action"] in (choice, played)]
    scene = game.scene(states, 0, int(states["current_player"][0]), MEMORY_PERFECT, False)
    return Advice(
        step=step,
        agent=label,
        choice=choice,
        opinions=[_opinion(game, states, scene, opinion) for opinion in shown],
        others=len(legal) - len(shown),
    )


def follower_told(agent: Agent, replay: Replay, decisions: int) -> Follower | None:
    """The agent's follower, told of the first decisions of a game; None: it needs none."""
    follower = _searching_follower(agent)
    if follower is not None:
        for states, action in islice(replay.steps(), decisions):
            follower.watch(states, 0, action)
    return follower


def _searching_follower(agent: Agent) -> Follower | None:
    """One that searches with what it is told; None: the agent is asked for positions alone."""
    follower = agent.follow(None) if isinstance(agent, FollowingAgent) else None
    return follower if isinstance(follower, _Searcher) else None


def _opinion(
    game: Game, states: NDArray[np.void], scene: Scene, opinion: dict[str, Any]
) -> Opinion:
    action = opinion["action"]
    words, needed = game.action_name_at(states, 0, action), needs(scene, game.actions, action)
    return Opinion(words=words, needs=needed, **opinion)


def _rank(opinion: dict[str, Any], choice: int) -> tuple[bool, float, float, int]:
    """The choice first, then by value, then by probability."""
    return (
        opinion["action"] != choice,
        -opinion.get("value", -np.inf),
        -opinion.get("probability", 0.0),
        opinion["action"],
    )


def find_disputes(agent: Agent, label: str, replay: Replay) -> Iterator[Disputes]:
    """Go through a game and look for the decisions at which a searcher disagrees.

    Forced moves are skipped.

    Args:
        agent: The searcher, or any other agent.
        label: Its label.
        replay: The game.

    Yields:
        How far it has come, after each decision; at last the disputes, the greatest loss first,
        then those whose loss is unknown.
    """
    follower = _searching_follower(agent)
    total = replay.num_decisions
    found: list[Dispute] = []
    game = load_game(replay.game)
    for step, (states, played) in enumerate(replay.steps()):
        yield Disputes(agent=label, done=step, total=total)
        if len(game.legal_actions(states, 0)) > 1:
            advice = advise(agent, label, game, states, step, played, follower)
            if advice.choice != played:
                player = int(states["current_player"][0])
                found.append(_dispute(advice, player, played))
        if follower is not None:
            follower.watch(states, 0, played)
    # A searcher may keep an action that it values a little lower: no loss then.
    found.sort(key=lambda dispute: (dispute.loss is None, -(dispute.loss or 0.0), dispute.step))
    yield Disputes(agent=label, done=total, total=total, disputes=found)


def _dispute(advice: Advice, player: int, played: int) -> Dispute:
    by_action = {opinion.action: opinion for opinion in advice.opinions}
    choice, actual = by_action[advice.choice], by_action[played]
    loss = None
    if choice.value is not None and actual.value is not None:
        loss = choice.value - actual.value
    return Dispute(
        step=advice.step,
        player=player,
        played=actual.words,
        preferred=choice.words,
        loss=loss,
    )
