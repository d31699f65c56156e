"""Programs as opponents in ``TextSeatEnv``: games and messages are those of ``SingleSeatEnv``."""

from __future__ import annotations

import json
import sys

import gymnasium
import numpy as np
import pytest
from helpers import ALL_GAMES, EACH_GAME, FEW_GAMES
from programs import none_left, processes, program

from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.text.seat import TextSeatEnv

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
GAME = ALL_GAMES[0]  # where any game will do
N = GAME.min_players


def courses(game, behaviour, tmp_path, *, decisions, resets=6, **options):
    """Games in both environments, broken off after some decisions: what the learner sees and
    is paid in each, its last text, and what the programs are sent."""
    logs = [tmp_path / f"{kind}-{decisions}" for kind in ("seat", "words")]
    seat, words = (
        make(game.name, opponents=program(behaviour, log), reward="score", **options)
        for make, log in zip((SingleSeatEnv, TextSeatEnv), logs, strict=True)
    )
    seen = []
    for k in range(resets):
        _, info = seat.reset(seed=None if k else 1)
        text, told = words.reset(seed=None if k else 1)
        games = [[], []]
        for _ in range(decisions):
            legal = np.flatnonzero(info["action_mask"]).tolist()
            games[0].append([info["seat"], [game.action_name(a) for a in legal]])
            games[1].append([told["seat"], told["legal_actions"]])
            _, *result, info = seat.step(legal[-1])
            text, *result_in_words, told = words.step(f"[{legal[-1]}]")
            games[0].append([pytest.approx(result[0]), *result[1:]])
            games[1].append(result_in_words)
            if result[1] or result[2]:
                break
        assert len(text) <= words.max_chars
        seen.append((*games, text))
    seat.close()
    words.close()
    return seen, [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]


@few_games
def test_a_forfeit_ends_the_game_as_with_a_single_seat(game, tmp_path):
    """The program crashes whenever it is asked for the fourth time."""
    seen, (expected, sent) = courses(game, "log and crash", tmp_path, decisions=200, max_steps=300)
    assert all(words == seat for seat, words, _ in seen)
    assert any(text.endswith(" forfeits: the game is over.") for _, _, text in seen)
    assert sent == expected


def test_the_last_text_of_a_forfeited_game_names_the_player():
    env = TextSeatEnv(GAME.id, num_players=2, seat=0, opponents=program("crash", 2))
    _, info = env.reset(seed=1)
    terminated = False
    while not terminated:
        text, reward, terminated, truncated, info = env.step(f"[{info['legal_actions'][-1]}]")
    assert text.endswith("\n\nPlayer 1 forfeits: the game is over.")
    assert (reward, truncated, info["legal_actions"]) == (0.0, False, [])
    with pytest.raises(gymnasium.error.ResetNeeded, match="the game is over"):
        env.step("[0]")
    text, info = env.reset()
    assert "forfeits" not in text
    assert info["legal_actions"]
    env.close()


@few_games
def test_programs_are_told_of_games_that_are_broken_off(game, tmp_path):
    """By a reset in mid-game, wherever the opponents then sit."""
    messages = []
    for decisions in (0, 4):
        seen, (expected, sent) = courses(game, "log", tmp_path, decisions=decisions)
        assert all(words == seat for seat, words, _ in seen)
        assert sent == expected
        messages += sent
    assert any(message["type"] == "end" and message["result"] is None for message in messages)
    assert len({message["player"] for message in messages if message["type"] == "decide"}) > 1


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
def test_to_close_the_environment_ends_its_programs(mark):
    env = TextSeatEnv(GAME.id, num_players=N, opponents=program("first"), seat=N - 1)
    env.reset(seed=1)
    assert processes(mark)
    env.close()
    assert none_left(mark, 1.0)
    env.reset(seed=1)  # they start again
    env.close()
