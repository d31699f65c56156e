"""Agents among copies of one another: ``benchmarks.cross_play``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import SCRIPTED

from benchmarks import cross_play, tables
from benchmarks.tables.__main__ import main as show_tables
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against


def measured(path, *words):
    words = ["--game", SCRIPTED.id, "--json", str(path), *words]
    assert cross_play.main(words) == 0
    return json.loads(path.read_text())


def test_everyone_is_once_among_copies_of_everyone_else(tmp_path, capsys):
    path = tmp_path / "measured.json"
    agents = ["heuristic", "random", "ppo_v1"]
    found = measured(path, "--agents", *agents, "--players", "3", "--deals", "5")
    assert found["settings"] == {"num_players": 3, "deals": 5}
    rows = {row["name"]: row for row in found["results"]["agents"]}
    assert list(rows) == agents
    assert [rows[name]["sha256"] is None for name in agents] == [True, True, False]
    ranks = []
    for one in agents:
        assert [row["among"] for row in rows[one]["among"]] == [o for o in agents if o != one]
        for row in rows[one]["among"]:
            play = play_one_against(SCRIPTED, one, row["among"], [3], deal_seeds(0, 5))
            [(_, played)] = play
            ranks.append(played.rank[..., 0].mean(axis=1))
            assert row["rank"] == pytest.approx(ranks[-1].mean())
            assert row["truncated"] == played.truncated_share
    mean = estimate_mean(np.mean(ranks, axis=0)).to_json("rank")
    assert found["results"]["rank"] == pytest.approx(mean["rank"])
    assert found["results"]["rank_ci95"] == pytest.approx(mean["rank_ci95"])
    assert capsys.readouterr().out == ""
    assert show_tables([str(path)]) == 0
    header, _, first, *_ = (shown := capsys.readouterr().out).splitlines()
    assert header == "| one (row) among (column) | `heuristic` | `random` | `ppo_v1` |"
    assert first.startswith("| `heuristic` | 0 | +")
    assert f"The mean of all pairs: {mean['rank']:+.3f} (" in shown


def test_with_two_players_what_one_gains_the_other_loses(tmp_path):
    found = measured(
        tmp_path / "measured.json",
        *("--agents", "heuristic", "ppo_v1", "--players", "2", "--deals", "5"),
    )
    [ahead], [behind] = (row["among"] for row in found["results"]["agents"])
    assert ahead["rank"] == pytest.approx(-behind["rank"])
    assert found["results"]["rank"] == pytest.approx(0.0)


def test_policies_of_runs_are_known_by_their_folders():
    row = {"among": "runs/b/policy.safetensors", "rank": 0.25, "rank_ci95": [0.0, 0.5]}
    shown = tables.TABLES["cross_play"](
        {
            "settings": {"num_players": 2, "deals": 5},
            "results": {
                "agents": [
                    {"name": "runs/a/policy.safetensors", "among": [row]},
                    {"name": "runs/b/policy.safetensors", "among": []},
                ],
                "rank": 0.25,
                "rank_ci95": None,
            },
            "machine": {"versions": {}, "cpu": "", "cores": 2, "system": "", "python": ""},
            "command": "",
            "date": "",
        }
    )
    assert "| `a` | 0 | +0.250 (+0.000 … +0.500) |" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agents", "random"], "--agents must be at least two different ones, got ['random']"),
        (["--agents", "random", "random"], "must be at least two different ones"),
        (["--agents", "random", "nobody"], "there is no agent 'nobody'"),
        (["--agents", "random", "heuristic", "--players", "1"], "got num_players=1"),
        (["--agents", "random", "heuristic", "--deals", "1"], "deals"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_played(words, message, monkeypatch, capsys):
    monkeypatch.setattr(cross_play, "play_one_against", None)
    assert cross_play.main(["--game", SCRIPTED.id, *words]) == 2
    assert message in capsys.readouterr().err
