"""Programs in recorded games: as other agents, and what they forfeit is left out."""

from __future__ import annotations

import json
import sys

import pytest
from helpers import ALL_GAMES, EACH_GAME
from programs import none_left, processes, program

from card_envs.agents import make_agent
from card_envs.commands.cli import main
from card_envs.datasets import Recording
from card_envs.engine.history import Replay

GAME = ALL_GAMES[0]  # where any game will do
N = GAME.min_players
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")


def first_legal(observation, action_mask):
    return action_mask.argmax(axis=1)


@pytest.mark.parametrize("game", EACH_GAME)
def test_games_with_a_program_are_recorded_as_any_other(game):
    lines = []
    for agent in (program("first"), first_legal):
        table = [agent, *["random"] * (game.min_players - 1)]
        (games,) = Recording(game, table, 3, seed=1, options={"max_steps": 60})
        assert games.forfeited == 0
        lines.append([replay.to_json() for replay in games.replays()])
    assert lines[0] == lines[1]


@pytest.mark.parametrize("answers", [0, 40])
def test_forfeited_games_are_left_out(answers, tmp_path, capsys):
    """The program crashes after every few answers, or at once."""
    path = tmp_path / "games.jsonl"
    table = [program("crash", answers), *["random"] * (N - 1)]
    (games,) = Recording(GAME, table, 6, seed=1, options={"max_steps": 30})
    assert games.forfeited > 0
    assert (games.forfeited == 6) == (answers == 0)
    assert len(games) == 6 - games.forfeited
    assert len(list(games.first_agents_decisions())) == len(games)
    words = ["record", GAME.id, "--agents", *table, "--games", "6", "--seed", "1"]
    assert main([*words, "--option", "max_steps=30", "--out", str(path)]) == (answers == 0)
    about = capsys.readouterr().err
    assert f"{games.forfeited} game" in about
    assert "that a program forfeited left out" in about
    if len(games):
        assert len(path.read_text().splitlines()) == len(games)
        assert len(list(Replay.load_all(path))) == len(games)
    else:
        assert not path.exists()


@on_linux
def test_programs_are_closed_after_each_iteration_and_told_of_every_end(mark, tmp_path):
    log = tmp_path / "log"
    recording = Recording(GAME, [program("log", log), *["random"] * (N - 1)], 3, seed=1)
    for _ in range(2):
        list(recording)
        assert none_left(mark, 1.0)
        messages = [json.loads(line) for line in log.read_text().splitlines()]
        log.unlink()
        decided, ended = (
            {message["game"] for message in messages if message["type"] == kind}
            for kind in ("decide", "end")
        )
        assert len(decided) == 3
        assert ended == decided


@on_linux
def test_a_program_that_is_given_as_an_agent_is_left_to_its_owner(mark):
    agent = make_agent(program("first"), GAME)
    list(Recording(GAME, [agent, *["random"] * (N - 1)], 2, options={"max_steps": 30}))
    assert processes(mark)
    agent.close()
