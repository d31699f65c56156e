"""Algorithms compared: exact exploitability, and the benchmark from the list to the table."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from helpers import ALL_GAMES, kit_of
from kuhn_poker import GAME as KUHN
from tiny_runs import SCRIPTED, random_network, tiny_run

from benchmarks import algorithm_runs, algorithms, tables
from benchmarks.exploitability import exploitability
from card_envs.agents import NetworkAgent, make_agent
from card_envs.agents.network import Network
from training import train
from training.improvement.config import ImprovementConfig
from training.runs.config import Config
from training.runs.keys import load
from training.runs.records import read_json

ROOT = Path(__file__).parents[1]
#: Seeds of the six deals of Kuhn poker, each once.
DEALS = (0, 2, 4, 6, 8, 30)

# ---------------------------------------------------------------------------------------------
# Exploitability
# ---------------------------------------------------------------------------------------------


class TablePolicy(NetworkAgent):
    """Bets as often as a table says: by card (jack, queen, king), in each of the situations."""

    def __init__(self, bets):
        super().__init__(random_network(KUHN), "table", draw_seed=0)
        self._bets = bets

    def probabilities(self, turn):
        seen = [KUHN.fields.unflatten(row) for row in turn.observation]
        bets = []
        for at in seen:
            card = int(np.argmax(at["card"]))
            first = at["decisions"][0] == 0
            faces_bet = at["chips"][1] > at["chips"][0]
            situation = "first" if first else "called" if faces_bet else "passed"
            if faces_bet and at["decisions"][0] > 0.5:
                situation = "raised"
            bets.append(self._bets[situation][card])
        return np.array([[1 - bet, bet] for bet in bets])


def equilibrium(alpha):
    """The equilibria of Kuhn poker: the first player bluffs with a share of 0 to 1/3."""
    return {
        "first": (alpha, 0.0, 3 * alpha),
        "passed": (1 / 3, 0.0, 1.0),  # the second player, after a pass
        "called": (0.0, 1 / 3, 1.0),  # the second player, after a bet
        "raised": (0.0, alpha + 1 / 3, 1.0),  # the first player, after pass and bet
    }


def test_the_seeds_are_all_deals():
    states = KUHN.new_states(len(DEALS))
    for i, seed in enumerate(DEALS):
        KUHN.rules.reset(states, i, seed, 2, *KUHN.encode_options({}))
    assert len({tuple(deck) for deck in states["deck"].tolist()}) == 6


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_an_equilibrium_is_not_exploitable(alpha):
    assert exploitability(KUHN, DEALS, TablePolicy(equilibrium(alpha))) == pytest.approx(
        0, abs=1e-6
    )


@pytest.mark.parametrize(
    ("situation", "card"), list(product(("first", "passed", "called", "raised"), range(3)))
)
def test_leaving_an_equilibrium_is_punished(situation, card):
    """By the opponent's best answer; only the first player's own equilibria are many."""
    bets = equilibrium(0.2)
    changed = list(bets[situation])
    changed[card] = 1.0 - changed[card] if changed[card] in (0.0, 1.0) else 1.0
    assert exploitability(KUHN, DEALS, TablePolicy({**bets, situation: tuple(changed)})) > 0.01


def test_exploitability_of_policies_that_are_known():
    """Drawing uniformly: 11/24; always passing: the opponent bets and takes the ante."""
    zeros = [(np.zeros((2, KUHN.fields.size), np.float32), np.zeros(2, np.float32))]
    network = Network(zeros, "relu")
    uniform = NetworkAgent(network, "uniform", draw_seed=0)
    assert exploitability(KUHN, DEALS, uniform) == pytest.approx(11 / 24)
    assert exploitability(KUHN, DEALS, NetworkAgent(network, "passes")) == pytest.approx(1.0)


def test_games_that_are_too_large_are_refused(monkeypatch):
    policy = NetworkAgent(random_network(SCRIPTED), "any")
    with pytest.raises(ValueError, match=rf"{SCRIPTED.id} is for .* players, not 2"):
        exploitability(SCRIPTED, [0], policy)
    monkeypatch.setattr("benchmarks.exploitability.MAX_NODES", 10)
    with pytest.raises(ValueError, match="the tree of kuhn_poker has more than 10 decisions"):
        exploitability(KUHN, DEALS, NetworkAgent(random_network(KUHN), "any"))


@pytest.mark.slow
def test_self_play_with_a_kl_term_comes_near_to_an_equilibrium(tmp_path):
    run = tiny_run(
        KUHN,
        tmp_path / "run",
        "decisions=80_000",
        "draws=true",
        "checkpoint_every=1_000_000",
        "environment.num_envs=64",
        "opponents={pool: 1, agents: {random: 0.001}, pool_size: 1, snapshot_every: 1}",
        "network.hidden=[32]",
        "ppo={n_steps: 8, batch_size: 512, n_epochs: 4, learning_rate: 2.0e-3, "
        "final_learning_rate: 1.0e-5, kl_coef: 0.2, kl_decay: 0.97}",
        "evaluation.every=1_000_000",
    )
    policy = make_agent(str(train.train(run, quiet=True)), KUHN)
    assert exploitability(KUHN, DEALS, policy) < 0.25  # 11/24 before


# ---------------------------------------------------------------------------------------------
# The benchmark
# ---------------------------------------------------------------------------------------------

WRITES_A_POLICY = """
import sys
from pathlib import Path
import numpy as np
from card_envs.agents.network import Network, write_policy
from kuhn_poker import GAME
game, players, seed, decisions, out = sys.argv[1:]
assert (game, players, decisions) == (GAME.id, "2", "7")
Path(out).mkdir(parents=True)
weight = np.random.default_rng(int(seed)).normal(size=(2, GAME.fields.size)).astype(np.float32)
network = Network([(weight, np.zeros(2, np.float32))], "relu")
write_policy(Path(out, "policy.safetensors"), network, GAME)
"""


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """A list of two algorithms, whose commands leave random policies."""
    script = tmp_path / "script.py"
    script.write_text(WRITES_A_POLICY)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'tests'}:{ROOT / 'tests' / 'fixtures'}:{ROOT}")
    entry = {
        "about": "random weights",
        "decisions": 7,
        "commands": [f"{{python}} {script} {{game}} {{players}} {{seed}} {{decisions}} {{out}}"],
    }
    path = tmp_path / "list.yaml"
    path.write_text(json.dumps({"algorithms": {"one": entry, "two": entry}}))
    return path


def arguments(path, tmp_path, *words):
    return [
        *("--game", KUHN.id, "--games-from", "kuhn_poker", "--algorithms", str(path)),
        *("--seeds", "1", "2", "--deals", "5", "--search", "search:4", "--search-deals", "2"),
        *("--exact", *map(str, DEALS), "--out", str(tmp_path / "runs"), "--jobs", "1"),
        *("--json", str(tmp_path / "results.json"), *words),
    ]


@pytest.mark.slow
def test_a_list_of_ones_own_is_run_and_measured(listed, tmp_path, capsys, monkeypatch):
    assert algorithms.main(arguments(listed, tmp_path)) == 0
    measured = read_json(tmp_path / "results.json")
    results = measured["results"]
    assert list(results["algorithms"]) == ["one", "two"]
    runs = results["algorithms"]["one"]["runs"]
    assert [run["seed"] for run in runs] == [1, 2]
    assert runs[0]["identity"] != runs[1]["identity"]
    for run in runs:
        low, high = run["against"]["random"]["rank_ci95"]
        assert low <= run["against"]["random"]["rank"] <= high
        assert -1 <= run["search"]["rank"] <= 1
        assert 0 < run["exploitability"] < 2
    first, second = results["cross_play"]
    assert first["one"]["two"] == 0.0  # the same weights, in duplicate deals
    assert set(first) == set(second) == {"one", "two"}
    shown = tables.TABLES["algorithms"](measured)
    assert "| `one`: random weights | 7 |" in shown
    picture = tmp_path / "picture.png"
    tables.PICTURES["algorithms"].draw(measured, picture, "Any game")
    assert picture.read_bytes().startswith(b"\x89PNG")
    # Without the search there is no column of it.
    assert "gain of `search:4`" in shown
    assert algorithms.main([*arguments(listed, tmp_path), "--search-deals", "0"]) == 0
    shown = tables.TABLES["algorithms"](read_json(tmp_path / "results.json"))
    assert "gain of" not in shown
    # What is finished is not run again; what was asked for otherwise is.
    policy = tmp_path / "runs" / KUHN.id / "one" / "1" / "run" / "policy.safetensors"
    before = policy.stat().st_mtime_ns
    assert algorithms.main(arguments(listed, tmp_path)) == 0
    assert policy.stat().st_mtime_ns == before
    again = read_json(tmp_path / "results.json")  # with the search again
    assert again["results"]["algorithms"]["one"]["runs"] == runs
    monkeypatch.setattr(algorithm_runs.card_envs, "__file__", str(tmp_path / "none.py"))
    assert algorithms.main(arguments(listed, tmp_path)) == 0
    assert policy.stat().st_mtime_ns != before  # the agents' code is another one
    before = policy.stat().st_mtime_ns
    listed.write_text(listed.read_text().replace("{seed}", "3"))
    assert algorithms.main(arguments(listed, tmp_path)) == 0
    assert policy.stat().st_mtime_ns != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{seed}", "{speed}", "nothing is known for {speed} in "),
        ("{python}", "no-such-program", "one: cannot run no-such-program"),
        ("{seed}", "none", "failed, see "),
        ('"one"', '"one two"', "a name is made of letters, digits and _, not 'one two'"),
        ('"about"', '"what"', "unknown key"),
        ('"algorithms"', '"agents"', "unknown key 'agents'"),
    ],
)
def test_wrong_lists_name_the_mistake(old, new, message, listed, tmp_path, capsys):
    listed.write_text(listed.read_text().replace(old, new))
    assert algorithms.main(arguments(listed, tmp_path)) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "1", "1"], "--seeds must be different numbers"),
        (["--search-deals", "1"], "--search-deals must be 0 or at least 2"),
        (["--deals", "1"], "deals"),
        (["--players", "3"], "is for 2 to 2 players"),
        (["--search", "random"], "'random' is not a search agent, such as search:64"),
        (["--search", "search:4,policy=random"], "names a policy; here it is that which is meas"),
        (["--game", SCRIPTED.id], f"{SCRIPTED.id} is for "),
    ],
)
def test_wrong_arguments_name_the_mistake(words, message, listed, tmp_path, capsys):
    assert algorithms.main([*arguments(listed, tmp_path), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_command_that_leaves_no_policy_is_named(listed, tmp_path, capsys):
    data = json.loads(listed.read_text())
    data["algorithms"]["one"]["commands"] = [f"{sys.executable} -c pass"]
    listed.write_text(json.dumps(data))
    assert algorithms.main(arguments(listed, tmp_path)) == 2
    assert "one: its commands left no policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path",
    [
        *sorted((ROOT / "configs" / "algorithms").glob("*.yaml")),
        *sorted((ROOT / "tests" / "fixtures" / KUHN.id).glob("algorithms*.yaml")),
    ],
    ids=lambda path: path.stem,
)
def test_the_lists_and_their_configurations_are_valid(path, tmp_path):
    if path.stem == "ppo":
        load(Config, path)
        return
    if path.stem == "expert_iteration":
        load(ImprovementConfig, path)
        return
    listed = algorithm_runs.load_algorithms(path)
    is_of_kuhn = path.parent.name == KUHN.id
    games = [KUHN] if is_of_kuhn else [game for game in ALL_GAMES if kit_of(game).is_own]
    for game in games:
        for name in listed.algorithms:
            run = algorithm_runs.run_of(listed, name, game, 4, 1, tmp_path)
            assert all("{" not in word for words in run.commands() for word in words)
            assert str(run.policy).startswith(str(run.folder))
