"""The benchmarks run, and what they write is shown."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import SCRIPTED, SMALL, network_of

import card_envs
from benchmarks import report, tables
from benchmarks.tables.__main__ import main as show_tables
from benchmarks.tables.cells import half_width
from card_envs.agents import NetworkAgent, choose, make_agent, shipped_policies
from card_envs.evaluation import MatchResults
from card_envs.games import GAMES, load_game
from card_envs.kernels.jit import COMPILED

pytest.importorskip("rlcard")
pytest.importorskip("pygame")
pytest.importorskip("sb3_contrib")
pytest.importorskip("websockets")

from benchmarks import (
    decision,
    evaluation,
    games,
    rendering,
    search,
    soak,
    temperatures,
    throughput,
    training,
    training_speedup,
    web,
)
from benchmarks import text as in_words

BENCHMARKS = {
    "decision": decision,
    "games": games,
    "rendering": rendering,
    "search": search,
    "temperatures": temperatures,
    "text": in_words,
    "throughput": throughput,
    "training": training,
    "web": web,
}
slow_as_python = pytest.mark.skipif(not COMPILED, reason="takes too long as plain Python")


def check_shown(measured, path, capsys):
    """``benchmarks.tables`` shows what was written, and nothing was printed before."""
    assert capsys.readouterr().out == ""
    assert show_tables([str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown == tables.TABLES[measured["benchmark"]](measured) + "\n\n"
    assert f"`{measured['command']}` on {measured['date']}: " in shown


def check_origin(measured, benchmark):
    assert measured["benchmark"] == benchmark
    assert measured["game"] in GAMES
    assert measured["command"].startswith(f"python -m benchmarks.{benchmark} --game ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
    machine = measured["machine"]
    assert set(machine) == {"cpu", "cores", "system", "python", "versions"}
    # Results of before the package's own version was noted are still there.
    assert set(machine["versions"]) - {"card_envs"} == set(BENCHMARKS[benchmark].PACKAGES)


def test_what_is_measured_now_names_the_release_and_the_command():
    words = ["--game", SCRIPTED.id, "--agents", "search:8,policy=a b"]
    made = report.document("games", SCRIPTED.id, words, ("numpy", "numba"), {}, {})
    versions = made["machine"]["versions"]
    assert list(versions) == ["card_envs", "numpy", "numba"]
    assert versions["card_envs"] == card_envs.__version__
    assert made["command"] == (
        f"python -m benchmarks.games --game {SCRIPTED.id} --agents 'search:8,policy=a b'"
    )


def check_throughput(measured):
    check_origin(measured, "throughput")
    results = measured["results"]
    assert set(results) == {"sizes", "decisions_per_second", "ratios", "startup_seconds"}
    assert set(results["sizes"]) == {"state_bytes", "observation_values", "actions"}
    assert all(value > 0 for value in results["sizes"].values())
    rows = results["decisions_per_second"]
    for row in rows:
        assert set(row) == {"environment", "interface", "games", "threads", "median", "best"}
        assert 0 < row["median"] <= row["best"]
    cases = [(r["environment"], r["interface"], r["games"], r["threads"]) for r in rows]
    assert len(cases) == len(set(cases))
    for name in ("connect_four_v3", "texas_holdem_no_limit_v6", "leduc_holdem_v4"):
        assert {(name, "raw_env", 1, 1), (name, "env", 1, 1)} <= set(cases)
    assert set(results["ratios"]) == {"raw_env", "env"}
    for ratio in results["ratios"].values():
        assert ratio["compared_to"] in throughput.CARD_GAMES
        assert ratio["ratio"] > 0
    assert set(results["startup_seconds"]) == {"empty_cache", "warm_cache"}
    for seconds in results["startup_seconds"].values():
        assert set(seconds) == {"import", "first_environment", "first_batch"}
    return rows


def check_training(measured):
    check_origin(measured, "training")
    results = measured["results"]
    assert set(results) == {"decisions_per_second", "ratios"}
    assert set(results["decisions_per_second"]) == {"card_envs", "connect_four_v3"}
    for stages in (*results["decisions_per_second"].values(), results["ratios"]):
        assert set(stages) == {"collecting", "whole"}
        assert all(value > 0 for value in stages.values())
    for speed in results["decisions_per_second"].values():
        assert speed["whole"] <= speed["collecting"]


def check_rendering(measured):
    check_origin(measured, "rendering")
    rows = measured["results"]["milliseconds"]
    for row in rows:
        assert 0 < row["median"] <= row["worst_of_20"]
    cases = [(row["environment"], row["num_players"], row["render_mode"]) for row in rows]
    assert len(cases) == len(set(cases))
    assert {mode for game, _, mode in cases if game == measured["game"]} == {
        "ansi",
        "rgb_array",
        "svg",
    }


def check_search(measured):
    check_origin(measured, "search")
    tables = measured["results"]["tables"]
    for row in tables:
        low, high = row["rank_ci95"]
        assert -1.0 <= low <= row["rank"] <= high <= 1.0
        assert row["agent"].startswith("search:")
    speed = measured["results"]["speed"]
    check_origin(speed, "search")
    keys = ("num_players", "agent")
    rows = speed["results"]["tables"]
    assert [[row[key] for key in keys] for row in rows] == [
        [r[key] for key in keys] for r in tables
    ]
    for row in rows:
        assert row["decisions_per_second"] > 0
        assert 0 < row["worlds"] <= row["rollout_decisions"]
        is_weighing = (
            load_game(measured["game"]).look_back is not None and "worlds=0" not in row["agent"]
        )
        weighed = 16 * row["worlds"] if is_weighing else 0  # decisions of others, at most
        assert row["evaluations"] <= row["rollout_decisions"] + weighed
        assert all(share >= 0.0 for share in row["shares"].values())
        assert (row["shares"]["scripted player"] > 0) == ("policy=heuristic" in row["agent"])


def check_games(measured):
    check_origin(measured, "games")
    game = load_game(measured["game"])
    rows = measured["results"]["rows"]
    sizes = {(row["agent"], row["players"]) for row in rows}
    assert len(sizes) == len(rows)
    assert {n for _, n in sizes} == set(range(game.min_players, game.max_players + 1))
    for row in rows:
        low, high = row["decisions_spread"]
        assert 0 < low <= high
        assert row["decisions"] > 0
        assert 0 <= row["forced"] < 1
        assert 2 <= row["legal_actions"] <= row["most_legal_actions"] <= game.num_actions
        assert 2 <= row["median_legal_actions"] <= row["legal_actions_99"]
        assert row["rounds"] >= 1
        assert 0 <= row["seen_again"] <= 1
    for row in measured["results"]["luck"]:
        assert sum(row["by_seat"]) == pytest.approx(0.0, abs=1e-9)
        assert row["explained"] <= 1
        assert row["games_of_deals"] == row["players"] * row["deals"]
    table = measured["results"]["table"]
    assert sum(row["rank"] for row in table) == pytest.approx(0.0, abs=1e-9)
    for row in table:
        assert sum(row["places"]) == pytest.approx(1.0)


def check_temperatures(measured):
    check_origin(measured, "temperatures")
    rows = measured["results"]["temperatures"]
    assert [row["opponents"] for row in rows] == [
        "ppo",
        load_game(measured["game"]).default_opponent,
    ] * (len(rows) // 2)
    if not measured["settings"]["draws"]:  # among itself
        assert rows[0]["rank"] == pytest.approx(0.0, abs=1e-12)
    assert all(row["rank_ci95"][0] <= row["rank"] <= row["rank_ci95"][1] for row in rows)
    for row in measured["results"]["networks"]:
        assert row["decisions_per_second"] > 0
        assert row["weights"] > row["hidden"][0] * row["hidden"][1]


def check_decision(measured):
    check_origin(measured, "decision")
    results = measured["results"]
    kernels = results["kernels"]
    assert len(kernels) == 6
    assert all(value > 0 for name, value in kernels.items() if name != "step")
    # The difference of two times, which in a short run noise can make negative.
    assert kernels["step"] > 0 or " --repetitions 1 " in measured["command"]
    assert results["bytes"]["uint8"] < results["bytes"]["float32"]
    assert results["copied_bytes_per_second"] > 0
    rows = results["steps"]
    for row in rows:
        assert 0 < row["best"] <= row["median"]
    cases = [(row["games"], row["dtype"], row["features"]) for row in rows]
    assert len(cases) == len(set(cases)) == 4 * len({games for games, _, _ in cases})


def check_text(measured):
    check_origin(measured, "text")
    results = measured["results"]
    speed = results["decisions_per_second"]
    assert all(row["per_second"] > 0 for row in speed)
    assert {row["interface"] for row in speed} == {"TextEnv", "TextSeatEnv"}
    for row in results["characters"]:
        assert row["later_mean"] <= row["later_most"] <= row["first_most"] <= row["bound"]
        assert row["game_mean"] <= row["game_most"]


def check_web(measured):
    check_origin(measured, "web")
    *loads, without_pause = measured["results"]["loads"]
    assert [row["games"] for row in loads] == measured["settings"]["games"]
    assert without_pause["think_seconds"] == 0.0
    for row in (*loads, without_pause):
        assert row["errors"] == 0
        assert row["actions_per_second"] > 0
        assert 0 < row["first_ms"][0] <= row["first_ms"][1]
        assert row["first_ms"][0] <= row["turn_ms"][0] <= row["turn_ms"][1]


CHECKS = {
    "decision": check_decision,
    "games": check_games,
    "rendering": check_rendering,
    "search": check_search,
    "temperatures": check_temperatures,
    "text": check_text,
    "throughput": check_throughput,
    "training": check_training,
    "web": check_web,
}


@slow_as_python
@pytest.mark.slow
def test_web_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(web, "_BEGINNING", 1.0)
    path = tmp_path / "web.json"
    load = ["--games", "3", "--think", "0.05", "--seconds", "2"]
    assert web.main(["--game", SCRIPTED.id, *load, "--json", str(path)]) == 0
    measured = json.loads(path.read_text())
    check_web(measured)
    check_shown(measured, path, capsys)


def test_people_who_cannot_play_say_why(monkeypatch):
    begun = []

    def begin(address, game):
        begun.append(game)
        if len(begun) > 1:
            raise OSError("no more tables")

    monkeypatch.setattr(web, "_BEGINNING", 0.0)
    monkeypatch.setattr(web, "server", lambda: nullcontext(("http://nowhere", os.getpid())))
    monkeypatch.setattr(web, "_begin", begin)
    with pytest.raises(ValueError, match="too few turns to measure: OSError: no more tables"):
        web._measure_load(SMALL.id, 1, 0.0, 0.1)


@slow_as_python
@pytest.mark.slow
def test_text_runs(tmp_path, capsys):
    path = tmp_path / "text.json"
    arguments = ["--game", SCRIPTED.id, "--seconds", "0.1", "--json", str(path)]
    assert in_words.main(arguments) == 0
    measured = json.loads(path.read_text())
    check_text(measured)
    check_shown(measured, path, capsys)


@pytest.mark.filterwarnings("ignore:.*precision lowered:UserWarning")
def test_rendering_runs(tmp_path, capsys):
    path = tmp_path / "rendering.json"
    assert rendering.main(["--game", SCRIPTED.id, "--pictures", "3", "--json", str(path)]) == 0
    measured = json.loads(path.read_text())
    check_rendering(measured)
    check_shown(measured, path, capsys)


@slow_as_python
@pytest.mark.slow
def test_decision_runs(tmp_path, capsys):
    path = tmp_path / "decision.json"
    arguments = ["--game", SCRIPTED.id, "--games", "3", "20", "--json", str(path)]
    assert decision.main([*arguments, "--decisions", "100", "--repetitions", "1"]) == 0
    measured = json.loads(path.read_text())
    check_decision(measured)
    check_shown(measured, path, capsys)


@pytest.mark.slow
def test_evaluation_runs(tmp_path, capsys):
    path = tmp_path / "evaluation.json"
    assert evaluation.main(["--game", next(iter(GAMES)), "--deals", "4", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["results"]["agents"]
    assert [row["agent"] for row in rows] == [
        form for form in ("safetensors", "onnx", "function") for _ in range(2)
    ]
    for seats in (1, 2):  # the same network plays the same
        assert len({row["rank"] for row in rows if row["seats"] == seats}) == 1
    check_shown(json.loads(path.read_text()), path, capsys)


def test_temperatures_runs(tmp_path, capsys):
    path = tmp_path / "temperatures.json"
    trained = [game for game in map(load_game, GAMES) if "ppo" in shipped_policies(game)]
    game = min(trained, key=lambda game: game.num_actions)
    assert temperatures.main(["--game", game.id, "--deals", "5", "--json", str(path)]) == 0
    measured = json.loads(path.read_text())
    check_temperatures(measured)
    check_shown(measured, path, capsys)


def test_games_runs(tmp_path, capsys):
    path = tmp_path / "games.json"
    arguments = ["--game", SCRIPTED.id, "--games", "3", "--deals", "20", "--search", "search:2"]
    assert games.main([*arguments, "--json", str(path)]) == 0
    measured = json.loads(path.read_text())
    check_games(measured)
    check_shown(measured, path, capsys)


def test_games_are_those_of_the_environment():
    """Lengths, rounds, choices and what is seen again, once more along the AEC environment."""
    agent = make_agent(SCRIPTED.default_opponent, SCRIPTED)
    players, seeds = SCRIPTED.max_players, np.array([3, 4, 3], np.uint64)
    played = games.play(SCRIPTED, agent, players, seeds)
    legal, lengths, rounds, seen = [], [], [], []
    for seed in seeds:
        env = card_envs.make(SCRIPTED.id, num_players=players)
        env.reset(seed=int(seed))
        before, numbers = len(legal), []
        while actions := env.legal_actions():
            legal.append(len(actions))
            numbers.append(int(SCRIPTED.round_of(env.states, 0)))
            if len(actions) > 1:
                seen.append(env.observe(env.agent_selection)["observation"].tobytes())
            env.step(choose(agent, SCRIPTED, env.states))
        lengths.append(len(legal) - before)
        rounds.append(1 + int(np.count_nonzero(np.diff(numbers))))
    assert played.decisions.tolist() == lengths
    assert played.rounds.tolist() == rounds
    assert sorted(played.legal.tolist()) == sorted(legal)
    assert played.again == np.mean([seen.count(row) > 1 for row in seen]) >= 2 / 3
    assert not played.truncated.any()


def test_luck_is_what_deals_explain(monkeypatch):
    """Where the deal decides alone all is explained, where it decides nothing, nothing is."""

    def results(rank):
        rank = np.stack([rank, -rank], axis=-1)
        return lambda *args: SimpleNamespace(rank=rank)

    seeds = np.arange(2000, dtype=np.uint64)
    rng = np.random.default_rng(1)
    drawn = rng.choice([-1.0, 1.0], (len(seeds), 2))
    monkeypatch.setattr(games, "play_deals", results(drawn))
    row = games.luck(SCRIPTED, "random", "random", 2, seeds)
    assert row["explained"] == pytest.approx(0.0, abs=0.06)
    assert row["games_of_deals"] == pytest.approx(row["games"], rel=0.06)
    monkeypatch.setattr(games, "play_deals", results(drawn * [1, 0] + drawn[:, ::-1] * [0, -1]))
    row = games.luck(SCRIPTED, "random", "random", 2, seeds)
    assert row["explained"] == 1.0
    assert row["deals"] == 0


@pytest.fixture
def deals_end_with(monkeypatch):
    """``play_deals`` of the benchmark gives these standings (deals, seatings, agents)."""

    def end_with(standing):
        standing = np.array(standing, float)
        played = MatchResults(standing, standing, np.zeros(standing.shape[:2], np.bool_))
        monkeypatch.setattr(games, "play_deals", lambda *args, **kwargs: played)
        return np.arange(len(standing), dtype=np.uint64)

    return end_with


def test_deals_are_counted_for_a_power_of_80_percent(deals_end_with):
    """By the quantiles of the normal distribution, from the variances of deals and of games."""
    seeds = deals_end_with([[[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    row = games.luck(SMALL, "random", "random", 2, seeds)
    normal = NormalDist()
    of_variance_1 = ((normal.inv_cdf(0.975) + normal.inv_cdf(0.8)) / games.DIFFERENCE) ** 2
    assert row["deals"] == pytest.approx(2 * of_variance_1, rel=0.01)
    assert row["games_of_deals"] == 2 * row["deals"]
    assert row["games"] == pytest.approx(4 / 3 * of_variance_1, rel=0.01)


def test_what_copies_get_is_listed_from_player_0_on(deals_end_with):
    """Here the first seat is the best; in seating r agent k is in seat k + r."""
    seats = np.add.outer(np.arange(3), np.arange(3)) % 3
    seeds = deals_end_with([-seats, -seats])
    row = games.luck(SMALL, "random", "random", 3, seeds)
    assert row["by_seat"] == [1.0, 0.0, -1.0]


def test_shares_of_places_begin_with_the_first(deals_end_with):
    """Level agents share the better place."""
    seeds = deals_end_with([[[2, 1], [2, 1]], [[2, 1], [1, 1]]])
    rows = games.against_one_another(SMALL, ["strong", "weak"], seeds)
    assert [row["places"] for row in rows] == [[1.0, 0.0], [0.25, 0.75]]
    assert [row["rank"] for row in rows] == [0.75, -0.75]


def test_a_temperature_divides_the_logits():
    policy = NetworkAgent(network_of(SMALL), "mine")
    observations = np.random.default_rng(0).random((5, SMALL.fields.size), np.float32)
    logits = policy.network.logits(observations)
    for temperature, factor in ((0.5, 2.0), (1.0, 1.0), (0.0, 1.0)):
        agent = temperatures.at_temperature(policy, temperature)
        assert agent.network.logits(observations) == pytest.approx(factor * logits, rel=1e-5)
        assert agent.draws == (temperature > 0.0)


@slow_as_python
@pytest.mark.slow
def test_search_runs(tmp_path, capsys):
    path = tmp_path / "search.json"
    arguments = ["--game", SCRIPTED.id, "--deals", "5", "--json", str(path)]
    players = str(SCRIPTED.min_players)
    arguments += ["--table", players, "search:4", "--table", players, "search:4,policy=heuristic"]
    arguments += ["--table", players, "search:4,method=tree"]
    assert search.main(arguments) == 0
    measured = json.loads(path.read_text())
    check_search(measured)
    check_shown(measured, path, capsys)


@slow_as_python
@pytest.mark.slow
def test_the_speed_of_searches_is_measured_again(tmp_path, capsys):
    path = tmp_path / "search.json"
    table = ["--table", str(SCRIPTED.min_players), "search:4"]
    assert search.main(["--game", SCRIPTED.id, "--deals", "5", "--json", str(path), *table]) == 0
    before = json.loads(path.read_text())
    changed = {**before, "results": {"tables": before["results"]["tables"]}}
    path.write_text(json.dumps(changed))
    assert search.main(["--speed", "--json", str(path)]) == 0
    after = json.loads(path.read_text())
    check_search(after)
    assert {**after, "results": None} == {**before, "results": None}
    assert after["results"]["tables"] == before["results"]["tables"]
    check_shown(after, path, capsys)


@slow_as_python
@pytest.mark.slow
def test_throughput_runs(tmp_path, capsys, monkeypatch):
    """For a game of another package too, which fresh processes learn of."""
    folder = Path(sys.modules[SMALL.package].__file__).parent.parent
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    path = tmp_path / "new" / "throughput.json"
    arguments = ["--game", SMALL.id, "--games-from", SMALL.package, "--json", str(path)]
    arguments += ["--seconds", "0.001", "--repetitions", "1", "--games", "3"]
    assert throughput.main(arguments) == 0
    text = path.read_text()
    assert str(tmp_path) not in text
    measured = json.loads(text)
    rows = check_throughput(measured)
    interfaces = [row["interface"] for row in rows if row["environment"] == SMALL.name]
    assert interfaces[:2] == ["raw_env", "env"]
    assert len(set(interfaces)) == 5
    check_shown(measured, path, capsys)


@slow_as_python
@pytest.mark.slow
def test_training_runs(tmp_path, capsys):
    path = tmp_path / "training.json"
    arguments = ["--game", SCRIPTED.id, "--json", str(path)]
    arguments += ["--decisions", "1", "--num-envs", "4", "--n-steps", "8"]
    assert training.main(arguments) == 0
    measured = json.loads(path.read_text())
    check_training(measured)
    assert measured["settings"]["rollouts"] == 1
    check_shown(measured, path, capsys)


@slow_as_python
@pytest.mark.slow
def test_training_of_two_checkouts_takes_turns(tmp_path, capsys, monkeypatch):
    """This one against itself; each in a process of its own."""
    small = ["environment.num_envs=8", "ppo.n_steps=8", "ppo.batch_size=32", "network.hidden=[8]"]
    monkeypatch.setattr(training_speedup, "OVERRIDES", [*training_speedup.OVERRIDES, *small])
    path = tmp_path / "speedup.json"
    root = Path(training_speedup.__file__).parent.parent
    arguments = ["--against", str(root), "--decisions", "65", "--json", str(path)]
    assert training.main(arguments) == 0
    text = path.read_text()
    assert str(root) not in text
    measured = json.loads(text)
    results = measured["results"]
    assert measured["settings"]["rollouts"] == 2
    for stages in (*results["decisions_per_second"].values(), results["ratios"]):
        assert set(stages) == {"collecting", "whole"}
        assert all(value > 0 for value in stages.values())
    assert len(set(measured["settings"]["commits"].values())) == 1
    check_shown(measured, path, capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "nowhere"], "nowhere is not a checkout"),
        (["--against", ".", "--num-envs", "4"], "--against takes neither"),
    ],
)
def test_training_against_what_is_no_checkout(arguments, message, capsys):
    assert training.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_checkout_in_which_training_fails_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "training_worker.py").touch()
    with pytest.raises(ValueError, match=f"training in {tmp_path} has failed"):
        training_speedup.measure(next(iter(GAMES)), 1, tmp_path)


def test_trainings_are_compared_by_their_medians_without_the_first_turns():
    seconds = {"new": [99.0, 1.0, 2.0, 4.0], "old": [1.0, 4.0, 8.0, 8.0]}
    took = {name: iter(found) for name, found in seconds.items()}
    order = []

    def turn(name):
        order.append(name)
        whole = next(took[name])
        return {"decisions": 80, "collecting": whole / 2, "whole": whole}

    turns = {name: partial(turn, name) for name in seconds}
    assert training_speedup.compare(turns, 3) == {
        "decisions_per_second": {
            "new": {"collecting": 80, "whole": 40},
            "old": {"collecting": 20, "whole": 10},
        },
        "ratios": {"collecting": 4.0, "whole": 4.0},
    }
    assert order == ["new", "old", "old", "new"] * 2


def test_both_sides_plays_whole_games():
    env = training.BothSidesEnv(training.connect_four_v3.env())
    observation, _ = env.reset(seed=1)
    for _ in range(42):
        assert observation in env.observation_space
        observation, reward, terminated, truncated, _ = env.step(int(env.action_mask.argmax()))
        if terminated:
            break
    # Both fill column after column, so that the first player completes a row or a diagonal.
    assert (reward, terminated, truncated) == (1, True, False)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_committed_results_have_the_promised_shape(benchmark):
    paths = sorted(report.RESULTS.glob(f"{benchmark}_*.json"))
    assert paths
    for path in paths:
        measured = json.loads(path.read_text())
        assert path.stem == f"{benchmark}_{measured['game']}"
        CHECKS[benchmark](measured)


def test_without_a_file_the_results_are_printed(capsys, monkeypatch):
    monkeypatch.setattr(games, "measure", lambda *args: {"command": "python", "benchmark": "games"})
    argv = ["--game", SMALL.id, "--games-from", SMALL.package]
    assert games.main(argv) == 0
    command = f"python --games-from {SMALL.package}"
    assert json.loads(capsys.readouterr().out) == {"command": command, "benchmark": "games"}


def test_the_command_names_the_modules_of_its_games_once():
    """Also one whose name begins another's."""
    args = SimpleNamespace(json=None, games_from=["kuhn", "kuhn_poker"])
    measured = {"command": "python -m benchmarks.search --games-from kuhn_poker"}
    report.finish(args, lambda: measured)
    assert measured["command"].endswith(".search --games-from kuhn_poker --games-from kuhn")


def test_a_half_width_is_half_of_an_interval():
    rows = [{"rank_ci95": [0.0, 0.2]}, {"rank_ci95": None}, {"rank_ci95": [-0.4, 0.2]}]
    assert half_width(rows[:1]) == "±0.100"
    assert half_width(rows) == "±0.200"
    assert half_width(rows[1:2]) == "– (fewer than 5 deals)"


def check_rows(benchmark, settings, results, *rows):
    """Each row, under its heading, is in the tables of a benchmark's results."""
    measured = report.document(benchmark, SMALL.id, [], ("numpy",), settings, results)
    lines = tables.TABLES[benchmark](measured).splitlines()
    for heading, row in rows:
        assert lines[lines.index(heading) + 2] == row


def test_rows_on_an_evaluation_are_under_their_headings():
    rows = [
        {"agent": form, "seats": seats, "cpu_seconds": seconds, "rank": 0.0}
        for form, seats, seconds in (("onnx", 1, 0.25), ("onnx", 2, 1.5), ("function", 1, 2.0))
    ]
    rows.append({"agent": "function", "seats": 2, "cpu_seconds": 4.0, "rank": 0.0})
    heading = "| the network as | in 1 seat, s | in 2 seats, s |"
    check_rows(
        "evaluation",
        {"deals": 10, "num_players": 4, "hidden": [8, 8]},
        {"agents": rows},
        (heading, "| onnx | 0.2 | 1.5 |"),
    )


def test_rows_on_a_game_are_under_their_headings():
    lengths = {
        "agent": "random",
        "players": 2,
        "decisions": 30.0,
        "decisions_spread": [10.0, 50.0],
        "rounds": 4.0,
        "forced": 0.25,
        "legal_actions": 6.5,
        "median_legal_actions": 6.0,
        "legal_actions_99": 8.0,
        "most_legal_actions": 9,
        "seen_again": 0.125,
        "truncated": 0.01,
    }
    lucky = {
        "agent": "strong",
        "others": "random",
        "players": 2,
        "rank": 0.25,
        "deviation": 0.75,
        "explained": 0.5,
        "deals": 1000,
        "games_of_deals": 2000,
        "games": 3000,
        "by_seat": [0.5, -0.5],
    }
    of_table = {"agent": "strong", "rank": 0.2, "places": [0.6, 0.4], "score": [-1, 2, 3]}
    weak = {"agent": "weak", "rank": -0.2, "places": [0.4, 0.6], "score": [-2, 1, 4]}
    check_rows(
        "games",
        {"games": 5, "deals": 6, "difference": 0.05},
        {"rows": [lengths], "luck": [lucky], "table": [of_table, weak]},
        (
            "| agent | players | rounds | decisions of a game | forced | legal actions | median "
            "| 99% | most | seen again | truncated |",
            "| `random` | 2 | 4.0 | 30 (10 … 50) | 25% | 6.5 | 6 | 8 | 9 | 12.5% | 1.0% |",
        ),
        (
            "| players | rank reward | deviation | explained | deals | games of these "
            "| games of other deals | by seat |",
            "| 2 | +0.25 | 0.75 | 50% | 1,000 | 2,000 | 3,000 | +0.50 -0.50 |",
        ),
        (
            "| agent | rank reward | place 1 | place 2 | points (5%, median, 95%) |",
            "| `strong` | +0.20 | 60% | 40% | -1.00 +2.00 +3.00 |",
        ),
    )


def test_rows_on_searches_are_under_their_headings():
    speed = {
        "decisions_per_second": 1200.0,
        "rollout_decisions": 34.0,
        "shares": {"network": 0.75, "rules": 0.25},
    }
    strength = {"num_players": 2, "agent": "search:4", "rank": 0.1, "rank_ci95": [0.0, 0.2]}
    of_speed = report.document("search", SMALL.id, [], ("numpy",), {}, {"tables": [speed]})
    check_rows(
        "search",
        {"opponent": "random"},
        {"tables": [strength], "speed": of_speed},
        (
            "| players | agent | rank reward among `random` | decisions a second "
            "| decisions in its rollouts | network | rules |",
            "| 2 | `search:4` | +0.100 (+0.000 … +0.200) | 1,200 | 34.0 | 75% | 25% |",
        ),
    )


def test_rows_on_temperatures_are_under_their_headings():
    ends = [0.0, 0.2]
    of_policy = {"temperature": 0.5, "opponents": "ppo", "rank": 0.1, "rank_ci95": ends}
    others = {**of_policy, "opponents": "random", "rank": 0.15}
    network = {"hidden": [128, 64], "weights": 12345, "decisions_per_second": 6780.0}
    check_rows(
        "temperatures",
        {"deals": 5},
        {"temperatures": [of_policy, others], "networks": [network]},
        (
            "| actions | one among `ppo` | one among `random` |",
            "| sampled at 0.5 | +0.100 (+0.000 … +0.200) | +0.150 (+0.000 … +0.200) |",
        ),
        ("| hidden layers | weights | decisions a second |", "| 128 × 64 | 12,345 | 6,780 |"),
    )


def test_rows_on_people_are_under_their_headings():
    load = {"games": 3, "think_seconds": 0.5, "actions_per_second": 20.0}
    load |= {"first_ms": [1.0, 2.0], "turn_ms": [3.0, 4.0], "server_cores": 0.25, "errors": 0}
    check_rows(
        "web",
        {},
        {"loads": [load]},
        (
            "| games at a time | time to think | actions a second | answer, ms "
            "| 1 in 20 takes more than | own turn again, ms | 1 in 20 takes more than "
            "| server's cores | errors |",
            "| 3 | 0.5 s | 20.0 | 1.00 | 2.00 | 3.00 | 4.00 | 0.25 | 0 |",
        ),
    )


def test_rows_on_pictures_are_under_their_headings():
    picture = {"environment": "mine", "num_players": 2, "render_mode": "svg"}
    check_rows(
        "rendering",
        {},
        {"milliseconds": [{**picture, "median": 1.5, "worst_of_20": 2.5}]},
        (
            "| environment | players | render mode | milliseconds | 1 in 20 takes more than |",
            "| mine | 2 | svg | 1.50 | 2.50 |",
        ),
    )


def test_rows_on_words_are_under_their_headings():
    check_rows(
        "text",
        {},
        {"decisions_per_second": [{"interface": "mine", "num_players": 2, "per_second": 1234.0}]},
        ("| interface | players | decisions a second |", "| mine | 2 | 1,234 |"),
    )


def test_rows_on_throughput_are_under_their_headings():
    steps = {"environment": "mine", "interface": "env", "games": 64, "threads": 2}
    seconds = {"import": 0.5, "first_environment": 1.0, "first_batch": 1.5}
    check_rows(
        "throughput",
        {"repetitions": 1, "seconds": 1, "num_players": 2},
        {
            "decisions_per_second": [{**steps, "median": 1000.0, "best": 2000.0}],
            "ratios": {},
            "startup_seconds": {"empty_cache": seconds},
            "sizes": {"state_bytes": 1, "observation_values": 2, "actions": 3},
        },
        (
            "| environment | interface | games | threads | decisions a second | best |",
            "| mine | env | 64 | 2 | 1,000 | 2,000 |",
        ),
        (
            "| seconds in a fresh process | import | first environment | first batch |",
            "| empty cache | 0.50 | 1.00 | 1.50 |",
        ),
    )


def test_rows_on_training_are_under_their_headings():
    speeds = {"collecting": 1000.0, "whole": 500.0}
    yardstick = {"collecting": 100.0, "whole": 25.0}
    config = {"ppo": {"n_epochs": 1, "batch_size": 2}, "network": {"hidden": [8]}}
    check_rows(
        "training",
        {"rollouts": 1, "num_envs": 4, "n_steps": 8, "torch_threads": 1, "config": config},
        {
            "decisions_per_second": {"card_envs": speeds, "other": yardstick},
            "ratios": {"collecting": 10.0, "whole": 20.0},
        },
        (
            "| learner decisions a second | collecting rollouts | whole training |",
            f"| {SMALL.id}, self-play | 1,000 | 500 |",
        ),
    )


def test_rows_on_leaderboards_are_under_their_headings():
    row = {"name": "one", "rating": 12.0, "rating_ci95": None}
    row |= {"rank": 0.1, "rank_ci95": [0.0, 0.2], "win": 0.6, "win_ci95": [0.5, 0.7]}
    small, large = ({**row, "rank": rank, "rank_ci95": None} for rank in (0.2, 0.3))
    measured = {
        "by_num_players": {"2": {"agents": [small]}, "3": {"agents": [large]}},
        "overall": {"agents": [{**row, "name": "none", "rating": 11.0}, row]},
        "command": "",
    }
    lines = tables.TABLES["strength"](measured).splitlines()
    too_few = "(–, fewer than 5 deals)"
    assert lines[0] == "| agent | rating | rank reward | win share | 2 players | 3 players |"
    assert lines[2] == (
        "| `one` | +12 (–) | +0.100 (+0.000 … +0.200) | 0.600 (0.500 … 0.700) "
        f"| +0.200 {too_few} | +0.300 {too_few} |"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "neither a benchmark nor training.study or training.best_response wrote this"),
        ('{"benchmark": "chess"}', "neither a benchmark nor"),
        ('{"benchmark": ["games"]}', "neither a benchmark nor"),
        ('{"benchmark": "strength"}', "is damaged, or of another version"),
        ('{"question": 1}', "is damaged, or of another version"),
    ],
)
def test_what_is_no_result_is_not_shown(text, message, tmp_path, capsys):
    path = tmp_path / "results.json"
    path.write_text(text)
    assert show_tables([str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"benchmarks.tables: error: {path}")
    assert message in error


@pytest.mark.parametrize("text", ["[]", "3", "{}"])
def test_only_what_searches_have_written_is_measured_again(text, tmp_path, capsys):
    path = tmp_path / "search.json"
    path.write_text(text)
    assert search.main(["--speed", "--json", str(path)]) == 2
    assert f"--json: {path} is no result of benchmarks.search" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("benchmark", "arguments"),
    [
        ("throughput", ["--game", "chess"]),
        ("throughput", ["--repetitions", "0"]),
        ("throughput", ["--games", "64", "0"]),
        ("throughput", ["--seconds", "0"]),
        ("throughput", ["--seconds", "nan"]),
        ("rendering", ["--pictures", "1"]),
        ("decision", ["--games", "0"]),
        ("decision", ["--repetitions", "0"]),
        ("games", ["--games", "1"]),
        ("text", ["--seconds", "nan"]),
        ("text", ["--game", SMALL.id, "--games-from", SMALL.package]),
        ("search", ["--deals", "1"]),
        ("search", ["--table", "two", "search:4"]),
        ("search", ["--table", "2", "random"]),
        ("search", ["--table", "99", "search:4"]),
        ("search", ["--speed"]),
        ("search", ["--speed", "--json", "there is no such file", "--deals", "3"]),
        ("search", ["--speed", "--json", "there is no such file"]),
        ("soak", ["--decisions", "0"]),
        ("soak", ["--seed", "-1"]),
        ("temperatures", ["--deals", "1"]),
        ("training", ["--game", "chess"]),
        ("training", ["--decisions", "0"]),
    ],
)
def test_wrong_arguments_give_one_line(benchmark, arguments, capsys):
    assert {**BENCHMARKS, "soak": soak}[benchmark].main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"benchmarks.{benchmark}: error: ")
    assert error.count("\n") == 1
