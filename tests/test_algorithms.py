"""Methods compared: the statistics, what selection sees, and cells from the file to the table."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("sb3_contrib")

from helpers import SCRIPTED, SMALL, network_of
from kuhn_poker import GAME as KUHN

from benchmarks import algorithm_cells, algorithms, report, tables
from benchmarks.algorithm_cells import Cell, Comparison
from benchmarks.learners import dmc
from benchmarks.learners import ppo as our_ppo
from benchmarks.learners.arguments import HIDDEN, MAX_STEPS, CpuBudget
from card_envs.agents import make_agent
from card_envs.agents.network import write_policy
from card_envs.evaluation import deal_seeds, evaluate
from card_envs.games import load_games
from training.ppo import PPO
from training.runs.config import Config
from training.runs.keys import check, load
from training.runs.records import read_json
from training.runs.tasks import do_tasks

ROOT = Path(__file__).parents[1]
OURS = sorted((ROOT / "configs" / "algorithms").glob("comparison*.yaml"))
OUR_PPO = ROOT / "configs" / "algorithms" / "ppo.yaml"

#: Two methods that learn nothing, with two configurations each.
AGENTS = {
    "games": {KUHN.id: 2},
    "cpu_minutes": 1,
    "against": ["random"],
    "tuning": {"seeds": [10], "deals": 5, "deals_seed": 1},
    "reported": {"seeds": [1, 2], "deals": 6, "deals_seed": 2},
    "methods": {
        "one": {"about": "agents", "configs": {"a": "search:4", "b": "random"}},
        "two": {"about": "agents", "configs": {"c": "random", "d": "search:8"}},
    },
}


def comparison_of(data):
    return check(Comparison, data, "mine.yaml")


def made_up(cell, rank):
    """A cell's file that says this."""
    row = {"rank": rank, "rank_ci95": [rank - 0.1, rank + 0.1], "truncated": 0.0}
    learned = {"decisions": 100, "cpu_minutes": 1.0, "minutes": 2.0}
    of_cell = {"game": cell.game.id, "method": cell.method, "config": cell.config}
    cell.path.parent.mkdir(parents=True, exist_ok=True)
    result = {**of_cell, "seed": cell.seed, "asked": cell.asked, **learned, "machine": "this one"}
    result["commit"] = "0123abc"
    against = dict.fromkeys(cell.comparison.against, row)
    cell.path.write_text(json.dumps({**result, "against": against}))


# ---------------------------------------------------------------------------------------------
# Statistics
# ---------------------------------------------------------------------------------------------


def test_the_interquartile_mean_leaves_out_the_outer_quarters_of_all_runs():
    one, other = np.array([0.0, 0.1, 0.2, 9.0]), np.array([-9.0, 0.3, 0.4, 0.5])
    assert algorithms.iqm(one, other) == pytest.approx((0.1 + 0.2 + 0.3 + 0.4) / 4)
    assert algorithms.difference(one + 1, other + 1, one, other) == pytest.approx(1)


def test_the_bootstrap_resamples_runs_within_their_games():
    """Games that differ by far and runs that do not leave nothing uncertain."""
    alike = [np.full(5, 0.9), np.full(5, -0.9)]
    assert algorithms.estimate(algorithms.iqm, alike) == pytest.approx((0, 0, 0), abs=1e-12)
    rng = np.random.default_rng(1)
    games = [rng.normal(size=5), rng.normal(size=5)]
    value, low, high = algorithms.estimate(algorithms.iqm, games)
    again = [rng.choice(game, (20_000, 5)) for game in games]
    rows = np.sort(np.concatenate(again, axis=1), axis=1)[:, 2:8].mean(axis=1)
    assert value == pytest.approx(np.sort(np.concatenate(games))[2:8].mean())
    assert (low, high) == pytest.approx(np.quantile(rows, [0.025, 0.975]), abs=0.03)


@pytest.fixture
def summary(tmp_path):
    """By hand: in tuning `one` is best with b, `two` with c; reported are only these."""
    comparison = comparison_of(AGENTS)
    ranks = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.1}
    for cell in comparison.cells(tmp_path, comparison.tuning):
        made_up(cell, ranks[cell.config])
    for cell in comparison.cells(tmp_path, comparison.reported):
        if cell.config in "bc":
            made_up(cell, {1: 0.2, 2: 0.6}[cell.seed] - 0.5 * (cell.config == "c"))
    return algorithms.summarize(comparison, tmp_path)


def test_cells_are_summarized(summary):
    one, two = summary["one"], summary["two"]
    assert one["games"][KUHN.id]["tuned"] == {"b": 0.2, "a": 0.1}
    assert [*one["games"][KUHN.id]["tuned"]] == ["b", "a"]  # the selected one first
    assert one["iqm"] == pytest.approx((0.4, 0.2, 0.6))
    assert two["games"][KUHN.id]["iqm"] == pytest.approx((-0.1, -0.3, 0.1))
    assert one["difference"] is None
    assert two["difference"][0] == pytest.approx(-0.5)


def test_summaries_are_shown_under_their_headings(summary):
    settings = comparison_of(AGENTS).model_dump(mode="json")
    measured = report.document("algorithms", "all", [], (), settings, {"methods": summary})
    lines = tables.TABLES["algorithms"](measured).splitlines()
    for heading, row in (
        (
            f"| method | {KUHN.title} | minus `one` |",
            "| `two`: agents | -0.100 (-0.300 … +0.100) | -0.500 (-0.900 … -0.100) |",
        ),
        (
            "| method | game | configurations in tuning | decisions | CPU minutes | minutes "
            "| among `random` | truncated games |",
            f"| `one` | {KUHN.title} | `b` +0.200, `a` +0.100 | 100 | 1.0 | 2.0 "
            "| +0.400 (+0.200 … +0.600) | 0.0% |",
        ),
    ):
        assert heading in lines
        assert row in lines


def test_what_is_reported_does_not_decide_what_is_selected(tmp_path, summary):
    """Were the others best by far with the reported seeds, nothing would change."""
    comparison = comparison_of(AGENTS)
    for cell in comparison.cells(tmp_path, comparison.reported):
        if cell.config in "ad":
            made_up(cell, 1.0)
    assert algorithms.summarize(comparison, tmp_path) == summary


def test_policies_are_tuned_and_reported_on_different_deals(tmp_path, monkeypatch):
    played = {10: set(), 1: set(), 2: set()}

    def watched(game, agent, others, num_players, deals, seed, options, agent_seed):
        assert agent_seed == cell.seed  # else runs of what learns nothing would be one run
        played[cell.seed] |= {*deal_seeds(seed, deals).tolist()}
        return {"rank": 0.0, "rank_ci95": None, "truncated": 0.0}

    monkeypatch.setattr(algorithm_cells, "one_against", watched)
    comparison = comparison_of(AGENTS)
    for stage in (comparison.tuning, comparison.reported):
        for cell in comparison.cells(tmp_path, stage):
            algorithm_cells.make(cell, (), tmp_path)
    assert played[1] == played[2]
    assert len(played[10]) == 5
    assert len(played[1]) == 6
    assert not played[10] & played[1]


# ---------------------------------------------------------------------------------------------
# Files and cells
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tuning.seeds": [1]}, "the seeds of tuning and reported must be different"),
        ({"tuning.deals_seed": 2}, "the deals_seed of tuning and reported must be different"),
        ({"reported.seeds": [1]}, "reported.seeds must be at least two"),
        ({"methods.one.configs": {"a": "random"}}, "equally many configs.* one has 1, two has 2"),
        ({"methods.one.configs": {"A a": "random", "b": "random"}}, "A a"),
        ({"methods.one.what": "x"}, "unknown key 'methods.one.what'"),
        ({"games": {KUHN.id: 3}}, "is for 2 to 2 players"),
        ({"games": {"chess": 2}}, "chess"),
        ({"cpu_minutes": 0}, "cpu_minutes"),
    ],
    ids=str,
)
def test_wrong_comparisons_name_the_mistake(changes, message):
    data = json.loads(json.dumps(AGENTS))
    for key, value in changes.items():
        *parents, last = key.split(".")
        section = data
        for parent in parents:
            section = section[parent]
        section[last] = value
    with pytest.raises(ValueError, match=message):
        comparison_of(data)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_the_comparison_of_the_repository(path):
    """Two games, two configurations a method, five seeds, ten minutes; and its agents are there."""
    comparison = load(Comparison, path)
    algorithm_cells.check_agents(comparison)
    assert len(comparison.games) == 2
    assert {len(method.configs) for method in comparison.methods.values()} == {2}
    assert len(comparison.reported.seeds) == 5
    assert comparison.cpu_minutes == 10
    for cell in comparison.cells(Path("cells"), comparison.tuning):
        if comparison.methods[cell.method].command:
            words = cell.command(())
            assert words[1] == "-m"
            assert (ROOT / f"{words[2].replace('.', '/')}.py").exists()


def test_our_ppo_is_as_all_learners_are():
    """Layers and truncation are a constant for the others, and keys of its file."""
    config = load(Config, OUR_PPO)
    assert tuple(config.network.hidden) == HIDDEN
    assert config.environment.options["max_steps"] == MAX_STEPS


@pytest.mark.parametrize(
    ("command", "words"), [("python {own}", "1"), ("python -m learns", "{own}")]
)
def test_what_a_command_reads_belongs_to_the_cell(command, words, tmp_path, monkeypatch):
    """A cell that was learned with another file is not taken for this."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "mine.yaml"
    own.write_text("a")
    command, words = (text.format(own=own) for text in (command, words))
    methods = {"own": {"about": "x", "command": command, "configs": {"a": words}}}
    cell = Cell(comparison_of({**AGENTS, "methods": methods}), KUHN, "own", "a", 1, tmp_path)
    made_up(cell, 0.1)
    assert cell.result() is not None
    own.write_text("b")
    with pytest.raises(ValueError, match="is of another files"):
        cell.result()


def test_a_cell_of_another_agent_file_is_not_taken_for_this(tmp_path):
    agent = tmp_path / "mine.safetensors"
    methods = {"own": {"about": "x", "configs": {"a": str(agent), "b": f"search:4,policy={agent}"}}}
    write_policy(agent, network_of(KUHN, 1), KUHN)
    comparison = comparison_of({**AGENTS, "methods": methods})
    for config in "ab":
        write_policy(agent, network_of(KUHN, 1), KUHN)
        cell = Cell(comparison, KUHN, "own", config, 1, tmp_path)
        made_up(cell, 0.1)
        assert cell.result() is not None
        write_policy(agent, network_of(KUHN, 2), KUHN)
        with pytest.raises(ValueError, match="is of another config"):
            cell.result()


@pytest.mark.parametrize("text", ['{"asked": []}', '{"asked": {}}', "[]", "1"])
def test_a_damaged_cell_is_named(text, tmp_path):
    cell = Cell(comparison_of(AGENTS), KUHN, "one", "a", 1, tmp_path)
    made_up(cell, 0.1)
    cell.path.write_text(text)
    with pytest.raises(ValueError, match=f"{cell.path} is damaged"):
        cell.result()


def test_a_cells_commit_is_that_before_it_learned(mine, monkeypatch):
    asked = []
    learn = algorithm_cells._learn
    monkeypatch.setattr(algorithm_cells, "checked_out", lambda: asked.append("commit") or "0123abc")
    monkeypatch.setattr(algorithm_cells, "_learn", lambda *a: asked.append("learn") or learn(*a))
    words = ["--game", KUHN.id, "--method", "own", "--config", "b", "--seed"]
    for seed in ("10", "1"):
        assert algorithms.main([*mine[1], *words, seed]) == 0
    assert asked == ["commit", "learn"] * 2


def test_what_is_finished_comes_before_what_is_not(tmp_path):
    """So it is written before a slow one fails, which here waits for the last."""
    last = tmp_path / "last"
    slow = f"while [ ! -e {last} ]; do sleep 0.1; done; sleep 1; false"
    tasks = [["sh", "-c", text] for text in (slow, "true", "true", f"touch {last}")]
    made = do_tasks(subprocess.check_call, tasks, (), [], jobs=2, backend="loky")
    assert sorted(next(made)[0] for _ in range(3)) == [1, 2, 3]
    with pytest.raises(subprocess.CalledProcessError):
        next(made)


def test_methods_take_turns(tmp_path):
    comparison = comparison_of(AGENTS)
    made = [(cell.seed, cell.method) for cell in comparison.cells(tmp_path, comparison.reported)]
    assert made == sorted(made)


WRITES_A_POLICY = """
import json, os, sys
from pathlib import Path
import numpy as np
from card_envs.agents.network import Network, write_policy
from kuhn_poker import GAME
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert words["--players"] == "2" and words["--games-from"] == "kuhn_poker"
assert os.environ["OMP_NUM_THREADS"] == "1"  # as all have one core
out = Path(words["--out"])
out.mkdir()
weight = np.random.default_rng(int(words["--seed"])).normal(size=(2, GAME.fields.size))
network = Network([(weight.astype(np.float32), np.zeros(2, np.float32))], "relu")
write_policy(out / "policy.safetensors", network, GAME)
(out / "learned.json").write_text(json.dumps({"decisions": int(sys.argv[1])}))
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A comparison with an algorithm of one's own, and the words of the command."""
    script = tmp_path / "mine.py"
    script.write_text(WRITES_A_POLICY)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'tests'}:{ROOT / 'tests' / 'fixtures'}:{ROOT}")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    own = {"about": "mine", "command": f"python {script}", "configs": {"b": "8"}}
    methods = {"own": own, "agents": {"about": "x", "configs": {"b": "random"}}}
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps({**AGENTS, "methods": methods}))
    words = ["--comparison", str(path), "--cells", str(tmp_path / "cells"), "--jobs", "1"]
    return path, [*words, "--games-from", "kuhn_poker"]


def test_a_method_of_ones_own_from_the_file_to_the_table(mine, tmp_path, capsys):
    path, words = mine
    one = ["--game", KUHN.id, "--method", "own", "--config", "b", "--seed", "10"]
    assert algorithms.main([*words, *one]) == 0
    cell = tmp_path / "cells" / KUHN.id / "own" / "b" / "10.json"
    assert [*(tmp_path / "cells").glob("*/*/*/*.json")] == [cell]
    found = read_json(cell)
    assert found["decisions"] == 8
    assert 0 < found["cpu_minutes"] < 1
    low, high = found["against"]["random"]["rank_ci95"]
    assert low <= found["against"]["random"]["rank"] <= high
    # The rest is made, and what is there is not made again.
    before = cell.stat().st_mtime_ns
    results, picture = tmp_path / "results.json", tmp_path / "picture.png"
    assert algorithms.main([*words, "--json", str(results), "--plot", str(picture)]) == 0
    assert cell.stat().st_mtime_ns == before
    assert picture.read_bytes().startswith(b"\x89PNG")
    measured = read_json(results)
    assert tables.kind_of(measured) == "algorithms"
    own = measured["results"]["methods"]["own"]["games"][KUHN.id]
    assert [(run["config"], run["seed"]) for run in own["runs"]] == [("b", 1), ("b", 2)]
    assert own["runs"][0]["sha256"] != own["runs"][1]["sha256"]
    shown = tables.TABLES["algorithms"](measured)
    assert "| `own`: mine | " in shown
    assert "| – | – | – |" in shown  # of what learns nothing
    assert "all games" not in shown  # there is one
    # A part of it, from the same cells.
    part = ["--game", KUHN.id, "--method", "own"]
    assert algorithms.main([*words, *part, "--json", str(results)]) == 0
    assert cell.stat().st_mtime_ns == before
    measured = read_json(results)
    assert [*measured["results"]["methods"]] == [*measured["settings"]["methods"]] == ["own"]
    assert measured["results"]["methods"]["own"]["games"][KUHN.id] == own
    assert measured["command"].endswith(f"{' '.join(part)} --games-from kuhn_poker")
    # A file of something else is not taken for this.
    path.write_text(path.read_text().replace('"deals": 6', '"deals": 7'))
    assert algorithms.main(words) == 2
    assert "is of another deals: remove it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--game", "chess"], f"--game: there is no 'chess', but {KUHN.id}"),
        (["--method", "own", "onw"], "--method: there is no 'onw' (did you mean 'own'?)"),
        (["--config", "c", "--seed", "1"], "--config: there is no 'c', but b"),
        (["--config", "b", "--seed", "3"], "--seed: there is no '3', but 10, 1, 2"),
        (["--config", "b"], "one cell is named by one --game, one --method, --config and --seed"),
        (["--method", "own", "agents", "--seed", "1", "--config", "b"], "one cell is named by"),
        (["--config", "b", "--seed", "1", "--json", "x.json"], "one cell makes no table"),
        (["--backend", "ray"], "--backend ray needs Ray"),
    ],
)
def test_wrong_arguments_name_the_mistake(words, message, mine, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert algorithms.main([*mine[1], "--method", "own", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program", "cannot run no-such-program"),
        ("python nothing.py", "failed, see "),
        ("python -c pass", "left no policy.safetensors in "),
    ],
)
def test_commands_that_leave_no_policy_are_named(command, message, tmp_path):
    methods = {"own": {"about": "x", "command": command, "configs": {"a": "7"}}}
    comparison = comparison_of({**AGENTS, "methods": methods})
    cell = Cell(comparison, KUHN, "own", "a", 1, tmp_path)
    with pytest.raises(ValueError, match=f"^{KUHN.id}/own/a/1: .*{message}"):
        algorithm_cells.make(cell, (), tmp_path)


# ---------------------------------------------------------------------------------------------
# Learners
# ---------------------------------------------------------------------------------------------


def test_the_budget_is_of_the_processors_time(monkeypatch):
    now = iter([100.0, 100.0, 145.0, 160.0, 500.0])
    monkeypatch.setattr("time.process_time", lambda: next(now))
    budget = CpuBudget(1)
    assert [budget.left for _ in range(4)] == [1, 0.25, 0, 0]


def test_returns_are_what_a_seat_is_paid_until_the_games_end():
    """Against a reference that adds up what comes after each decision, game by game."""
    rng = np.random.default_rng(0)
    episodes, games, seats = dmc.Episodes(3, 2), np.arange(3), 2
    history = [[] for _ in games]  # of the running games: decisions, and what is paid
    expected, found = [], []
    for step in range(60):
        deciding = np.flatnonzero(rng.random(3) < 0.7)  # the others' decisions are forced
        movers = rng.integers(seats, size=len(deciding)).astype(np.int8)
        observations = np.full((len(deciding), 1), step, np.uint8)
        actions = rng.integers(9, size=len(deciding))
        episodes.decide(deciding, movers, observations, actions)
        for game, seat, action in zip(deciding, movers, actions, strict=True):
            history[game].append(("decision", seat, step, action))
        rewards, is_over = rng.normal(size=(3, seats)), rng.random(3) < 0.2
        finished = episodes.pay(rewards, is_over)
        found += [(seen[0], action, value) for seen, action, value in finished]
        for game in games:
            history[game].append(("paid", rewards[game]))
        for game in np.flatnonzero(is_over):
            for k, (kind, *entry) in enumerate(history[game]):
                if kind == "decision":
                    later = [e[1] for e in history[game][k:] if e[0] == "paid"]
                    expected.append((entry[1], entry[2], sum(paid[entry[0]] for paid in later)))
            history[game] = []
    assert len(expected) > 60
    assert np.array(found, float) == pytest.approx(np.array(expected, float))


def test_exploration_takes_legal_actions_only():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4000, 5)).astype(np.float32)
    mask = (rng.random((4000, 5)) < 0.5).astype(np.int8)
    mask[:, 2] = 1
    best = np.where(mask == 1, values, -np.inf).argmax(axis=1)
    assert (dmc.explore(values, mask, 0.0, rng) == best).all()
    taken = dmc.explore(values, mask, 0.2, rng)
    assert mask[np.arange(4000), taken].all()
    others = mask.sum(axis=1) > 1
    assert 0.05 < (taken != best)[others].mean() < 0.15


def learned(module, game, out, minutes, *words):
    own = ["--game", game.id, "--players", str(game.default_players), "--seed", "1"]
    status = module.main([*own, "--cpu-minutes", str(minutes), "--out", str(out), *words])
    assert status == 0
    assert read_json(out / "learned.json")["decisions"] > 0
    return str(out / "policy.safetensors")


@pytest.mark.parametrize("name", ["dmc", "ppo", "sb3_ppo"])
def test_a_learner_leaves_a_policy(name, tmp_path):
    """Within a moment, and with the hidden layers that all have."""
    module = importlib.import_module(f"benchmarks.learners.{name}")
    small = [str(OUR_PPO), "--set", "environment.num_envs=8", "ppo.n_steps=4"]
    words = small if name == "ppo" else []
    torch.set_num_threads(2)  # as compiling may leave it
    agent = make_agent(learned(module, SCRIPTED, tmp_path / "out", 0.001, *words), SCRIPTED)
    assert [weight.shape[0] for weight, _ in agent.network.layers] == [
        *(128, 128),
        SCRIPTED.num_actions,
    ]
    assert torch.get_num_threads() == 1


def test_our_ppo_ends_with_its_time_and_its_learning_rate_falls_with_it(tmp_path, monkeypatch):
    class Budget(CpuBudget):
        updates = 0
        left = property(lambda self: max(0.0, 1 - Budget.updates / 4))

    def update(learner):
        found = learn(learner)
        rates.append(found["train/learning_rate"])
        Budget.updates += len(rates) > 1  # the first one compiles, before the time begins
        return found

    learn, rates = PPO.update, []
    monkeypatch.setattr(PPO, "update", update)
    monkeypatch.setattr(our_ppo, "CpuBudget", Budget)
    schedule = "ppo={n_steps: 4, learning_rate: 1.0e-3, final_learning_rate: 2.0e-4}"
    words = [str(OUR_PPO), "--set", "environment.num_envs=8", schedule]
    learned(our_ppo, SCRIPTED, tmp_path / "out", 1, *words)
    assert rates[1:] == pytest.approx([1e-3, 8e-4, 6e-4, 4e-4])


@pytest.mark.slow
def test_deep_monte_carlo_learns(tmp_path):
    game = load_games()[0]
    policy = learned(dmc, game, tmp_path / "out", 0.25)
    table = [policy, *["random"] * (game.default_players - 1)]
    assert evaluate(game, table, 200, 1).agents[0].rank.interval[0] > 0.1


def test_wrong_learners_arguments_name_the_mistake(tmp_path, capsys):
    words = ["--game", SMALL.id, "--seed", "1", "--out", str(tmp_path)]
    assert dmc.main([*words, "--players", "99", "--cpu-minutes", "1"]) == 2
    assert "players" in capsys.readouterr().err
    players = ["--players", str(SMALL.min_players)]
    assert dmc.main([*words, *players, "--cpu-minutes", "0"]) == 2
    assert "--cpu-minutes above 0" in capsys.readouterr().err
