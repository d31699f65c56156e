"""Whole games, written out to be read: they must never play out differently within a version.

After a change of the words (a change of the rules needs a new version), write them anew with
``python -m tests.test_playthroughs`` and read the difference before committing it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.agents import HeuristicAgent, RandomAgent
from card_envs.envs.aec import CardEnv
from card_envs.games import GAMES, load_game
from card_envs.games.animalia.state import LOT
from card_envs.games.franks_zoo.state import TURN
from card_envs.render import WIDTH, by_kind, ranges

FOLDER = Path(__file__).parent / "playthroughs"
RULE = "=" * 80


@dataclass(frozen=True)
class Playthrough:
    """One written game: players 0, 2, 4 follow the heuristic, the others choose at random."""

    game_id: str
    num_players: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Beaver Gang: the number of the first decision that may be a knock: the games would be very
    #: short otherwise.
    first_knock: int = 0
    #: Added to the name of a second game at the same table size.
    variant: str = ""

    @property
    def name(self) -> str:
        return f"{self.game_id}_{self.num_players}{self.variant}"

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.txt"


#: Chosen so that together they show what SHOWN asks for, and are short.
PLAYTHROUGHS = [
    Playthrough("beaver_gang", 2, 39, {"rounds": 2}, first_knock=30),
    Playthrough("beaver_gang", 3, 30, {"rounds": 1}, first_knock=160),
    Playthrough("beaver_gang", 4, 82, {"rounds": 1}, first_knock=40),
    Playthrough("beaver_gang", 5, 38, {"rounds": 1}, first_knock=40),
    Playthrough("beaver_gang", 6, 38, {"rounds": 1}, first_knock=40),
    Playthrough("swim_for_your_life", 2, 26),
    Playthrough("swim_for_your_life", 3, 14),
    Playthrough("swim_for_your_life", 3, 79, {"expert": True}, variant="_expert"),
    Playthrough("swim_for_your_life", 4, 9),
    Playthrough("swim_for_your_life", 5, 28),
    Playthrough("franks_zoo", 3, 0, {"target_score": 5, "reward": "score"}),
    Playthrough("franks_zoo", 4, 21, {"target_score": 8}),
    Playthrough("franks_zoo", 4, 1, {"target_score": 5, "partners": False}, variant="_simple"),
    Playthrough("franks_zoo", 5, 28, {"target_score": 9, "memory": "none"}),
    Playthrough("franks_zoo", 6, 34, {"target_score": 10, "reward": "score"}),
    Playthrough("franks_zoo", 7, 7, {"target_score": 12}),
    Playthrough("animalia", 2, 24),
    Playthrough("animalia", 3, 2),
    Playthrough("animalia", 4, 20, {"memory": "none"}),
    Playthrough("animalia", 5, 5, {"seasons": 2, "reward": "score"}),
    Playthrough("animalia", 6, 27, {"seasons": 2}),
]

#: What the games of a kind show together: a pattern, and how often it occurs at least.
SHOWN = {
    "beaver_gang": {
        r"^Action: \d+ \(take the discard": 4,
        r"^Action: 4 \(draw\)": 4,
        r"^Action: 5 \(discard": 4,
        r"^Action: \d+ \(exchange": 4,
        r"^Action: \d+ \(swap": 4,
        r"^Action: \d+ \(peek at": 4,
        r"^Action: 94 \(carry out draw two\)": 4,
        r"^Action: 95 \(knock\)": 4,
        r"^Action: 96 \(do not knock\)": 4,
        r"^Draw-two cards under way: 2\.": 1,
        r"since before the last reshuffle": 1,
    },
    "swim_for_your_life": {
        r"^Action: \d+ \(exchange row 1": 10,
        r"^Action: \d+ \(exchange row 2": 10,
        r"^Action: \d+ \(exchange row 3": 10,
        r"^Action: \d+ \(exchange row 4": 10,
        r"begin the last lap\.\n\n.*\nAction: 1000 \(tap\)": 10,
        r"^Your last turn .*\n\n.*\nAction: 1000 \(tap\)": 4,
        r"^Your last turn .*\n\n.*\nAction: \d+ \(exchange": 4,
        r"^Round \d+ ended by sudden death, .* had all 4 cats:": 1,
        r"^Round \d+ ended by sudden death, .* had all 5 ": 1,
        r"^  (player \d|you) .* 5 .* \+1$": 1,
        r" out in round \d+$": 10,
        r"a majority, of two cards at least\):": 4,
        r", all level:": 1,
    },
    "franks_zoo": {
        r"^Action: \d+ \(play: ": 200,
        r"^Action: \d+ \(play: .*joker": 4,
        r"^Action: \d+ \(play: .*elephants?, 1 mosquito": 1,
        r"^Action: \d+ \(give away: ": 40,
        r"^Action: \d+ \(ask for help with: ": 20,
        r"^Action: 271 \(pass\)": 200,
        r"^Your turn: help .*\n\n.*\nAction: 271 \(pass\)": 8,
        r"^Your turn: help .*\n\n.*\nAction: \d+ \(play: ": 8,
        r"^Your turn: give away the second .*; the first is 1 ": 10,
        r"^Your turn: lay the second .*; the first is 1 ": 2,
        r"^You have laid .* before you; they count as captured\.": 1,
        r"^Everybody knows that you hold ": 4,
        r"^Player \d holds at least ": 20,
        r"^Player \d holds \d": 4,
        r"^Rewards: \{'player_0': -?0\.\d": 4,
        r"^The simple game: ": 4,
        r" out of sight ": 10,
        r"^Hand 2, as it ended:": 5,
    },
    "animalia": {
        r"^Action: 0 \(pass\)": 100,
        r"^Action: 1 \(take the lot ": 50,
        r"^Action: 2 \(take the lot ": 10,
        r" lot: .*, .*, .*\.$": 10,
        r"^If it comes back to you, you must take it\.": 4,
        r"^Your turn: take the lot into your collection \d or \d\.$": 1,
        r"^Your turn: take the lot into your collection 2, or pass\.$": 1,
        r"^The draw pile: .* Your spies saw the next: ": 10,
        r"^Your turn: steal .*\n\n.*\nAction: \d+ \(card: ": 4,
        r"^Your turn: steal .*\n\n.*\nAction: 0 ": 1,
        r"^The power of a thief, then that of a prankster\.": 1,
        r"^Your turn: give away .*\n\n.*\nAction: \d+ \(card: ": 4,
        r"^Your turn: give away .*\n\n.*\nAction: 0 ": 1,
        r"^Your turn: bring in .*\n\n.*\nAction: \d+ \(card: ": 4,
        r"^Your turn: bring in .*\n\n.*\nAction: 0 ": 4,
        r"^Player \d has kept \d bonus cards? since season \d, of these": 2,
        r"^Your spies saw \d bonus card": 1,
        r"^Action: \d+ \(the owl counts as: ": 6,
        r"^The medals of season 2": 5,
        r"^  (you|player \d) .* 5 +\d+$": 2,
        r"^Rewards: \{'player_0': -?0\.\d": 1,
        r", \? not remembered\)": 10,
    },
}


def choose_any(env: CardEnv, chance: RandomAgent) -> int:
    return chance.choose(env.states, 0)


def choose_kind_first(env: CardEnv, chance: RandomAgent) -> int:
    """Choose a kind of action and then one of that kind: each row is a kind, and the tap."""
    kinds = list(by_kind(names_of(env)).values())
    kind = kinds[drawn(chance, len(kinds))]
    return kind[drawn(chance, len(kind))]


def drawn(chance: RandomAgent, count: int) -> int:
    """A random number below ``count``."""
    return int(chance.act(np.zeros((1, 0), np.float32), np.ones((1, count), np.int8))[0])


#: How the players who choose at random do it, and how the file says who does what.
CHOOSERS = {
    "beaver_gang": (
        choose_any,
        "Players 0, 2, 4 follow the heuristic, players 1, 3, 5 choose at random; nobody knocks "
        "before decision {first_knock}.",
    ),
    "swim_for_your_life": (
        choose_kind_first,
        "Players 0, 2, 4 follow the heuristic, players 1, 3 choose a row or the tap at random, "
        "and then the cards.",
    ),
    "franks_zoo": (
        choose_any,
        "Players 0, 2, 4, 6 follow the heuristic, players 1, 3, 5 choose at random.",
    ),
    "animalia": (
        choose_any,
        "Players 0, 2, 4 follow the heuristic, players 1, 3, 5 choose at random.",
    ),
}


def shows_table(env: CardEnv, number: int) -> bool:
    """Whether a decision is written with the table before it.

    Of the many decisions in Frank's Zoo (of which half are forced) those about gifts and help are,
    the first ones of a hand, and some others; in Animalia those about powers and bonus cards, those
    about a lot while somebody's spies know the next card, and some others.
    """
    s = env.states[0]
    if env.game.id == "franks_zoo":
        return bool(s["phase"] != TURN or not s["played"].any() or number % 8 == 0)
    if env.game.id == "animalia":
        return bool(s["phase"] != LOT or s["seen"][s["drawn"]] or number % 6 == 0)
    return True


def in_short(env: CardEnv) -> list[str]:
    """What is written in place of the table: in Animalia the lot, and what is to be decided."""
    return [str(env.render()).rpartition("\n\n")[2]] if env.game.id == "animalia" else []


def names_of(env: CardEnv) -> dict[int, str]:
    return {action: env.action_name(action) for action in env.legal_actions()}


def legal_in_words(env: CardEnv) -> str:
    """The legal actions by their numbers; where that is long, how many there are of each kind."""
    legal = env.legal_actions()
    text = ranges(legal)
    if len(text) <= WIDTH:
        return text
    kinds = by_kind(names_of(env))
    return ", ".join(f"{len(actions)} × {kind}" for kind, actions in kinds.items())


def playthrough(game: Playthrough) -> str:
    """A game in words: every decision, with the table as the player to move sees it."""
    options = {"num_players": game.num_players, **game.options}
    env = card_envs.make(game.game_id, render_mode="ansi", on_illegal="raise", **options)
    env.reset(seed=game.seed)
    choose_at_random, how = CHOOSERS[game.game_id]
    heuristic, chance = HeuristicAgent(env.game), RandomAgent(env.game, game.seed)
    lines = [
        f"{env.game.name}, {', '.join(f'{name}={value}' for name, value in options.items())}, "
        f"seed={game.seed}",
        how.format(first_knock=game.first_knock),
    ]
    number = 0
    while legal := env.legal_actions():
        agent = env.agent_selection
        number += 1
        is_heuristic = int(agent[-1]) % 2 == 0
        action = heuristic.choose(env.states, 0) if is_heuristic else choose_at_random(env, chance)
        if env.action_name(action) == "knock" and number < game.first_knock:
            action = legal[-1]
        table = ["", str(env.render())] if shows_table(env, number) else []
        lines += [
            RULE if table else "",
            f"Decision {number}, {agent}",
            *(table or in_short(env)),
            *table[:1],
            f"Legal: {legal_in_words(env)}",
            f"Action: {action} ({env.action_name(action)})",
        ]
        env.step(action)
        if any(env.rewards.values()):
            lines.append(f"Rewards: {env.rewards}")
    lines += [RULE, "The end, player_0", "", str(env.render()), ""]
    return "\n".join(lines)


@pytest.mark.parametrize("game", PLAYTHROUGHS, ids=lambda game: game.name)
def test_the_game_plays_out_as_written(game):
    assert playthrough(game) == game.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("game_id", GAMES)
def test_the_written_games_show_all_that_there_is(game_id):
    games = [written for written in PLAYTHROUGHS if written.game_id == game_id]
    texts = [written.path.read_text(encoding="utf-8") for written in games]
    assert all("The game is over." in text for text in texts)
    assert all(len(text) < 250_000 for text in texts)
    game = load_game(game_id)
    sizes = {written.num_players for written in games}
    assert sizes == set(range(game.min_players, game.max_players + 1))
    counts = {
        pattern: len(re.findall(pattern, "".join(texts), re.MULTILINE))
        for pattern in SHOWN[game_id]
    }
    missing = {p: count for p, count in counts.items() if count < SHOWN[game_id][p]}
    assert not missing


def test_every_file_is_of_a_written_game():
    assert sorted(FOLDER.iterdir()) == sorted(game.path for game in PLAYTHROUGHS)


if __name__ == "__main__":
    for written in PLAYTHROUGHS:
        written.path.write_text(playthrough(written), encoding="utf-8")
