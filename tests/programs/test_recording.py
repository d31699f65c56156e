"""Programs in recorded games: as other agents, and what they forfeit is left out."""

from __future__ import annotations

import pytest
from helpers import ALL_GAMES, EACH_GAME
from programs import program

from card_envs.cli import main
from card_envs.datasets import Recording
from card_envs.replay import Replay

GAME = ALL_GAMES[0]  # where any game will do
N = GAME.min_players


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
    assert main([*words, "--option", "max_steps=30", "--out", str(path)]) == 0
    about = capsys.readouterr().err
    assert f"{games.forfeited} game" in about
    assert "that a program forfeited left out" in about
    assert len(path.read_text().splitlines()) == len(games)
    if len(games):
        assert len(list(Replay.load_all(path))) == len(games)
