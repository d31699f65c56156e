"""What goes wrong with a program costs it the game or the decision, and nobody else anything."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from helpers import ALL_GAMES, begin, mask_of
from programs import none_left, processes, program

from card_envs.agents import GameForfeitedError, choose, make_agent
from card_envs.agents.programs.faults import ProgramFault
from card_envs.agents.programs.process import MAX_LINE, Process
from card_envs.commands.cli import main
from card_envs.engine.arena import Arena
from card_envs.engine.templates import NOBODY
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.evaluation import deal_seeds, evaluate, play_deals, run_tournament
from card_envs.text.seat import TextSeatEnv

GAME = ALL_GAMES[0]  # where any game will do
N = GAME.min_players
OTHERS = ["random"] * (N - 1)
QUICK = {"seconds": 0.5, "start_seconds": 5}

FAULTS = [
    ("crash at start", "did not start", "it ended with exit status 3"),
    ("other version", "did not start", "version of the protocol must be 1, got 2"),
    ("other observation", "did not start", "'values' or 'text', got 'pictures'"),
    ("crash", "ended", "it ended with exit status 5"),
    ("killed", "ended", "it was ended by SIGKILL"),
    ("ends", "ended", "it ended"),
    ("closes output", "ended", "it closed its standard input or output"),
    ("hang", "no answer in time", "it did not answer within 0.5 seconds"),
    ("ignore SIGTERM", "no answer in time", "it did not answer within 0.5 seconds"),
    ("flood", "too much output", "standard output is for answers alone"),
    ("huge line", "too much output", f"it wrote {MAX_LINE} bytes without the end of a line"),
    ("two lines", "too much output", "it wrote "),
    ("floods its errors", "too much output", "it wrote 16 MiB to its standard error"),
    ("nonsense", "not an answer", "an answer is a JSON object, got I take the bear"),
    ("deep", "not an answer", "an answer is a JSON object"),
    ("bytes", "not an answer", "an answer is a JSON object"),
    ("list", "not an answer", "an answer is a JSON object, got [1]"),
    ("no action", "not an answer", "action must be a number, words or an object, got None"),
    ("true", "not an answer", "action must be a number, words or an object, got True"),
    ("half", "not an answer", "action must be a number, words or an object, got "),
    ("other game", "not an answer", "it was asked about game 0, and answers 1"),
    ("illegal number", "illegal action", "is not legal there"),
    ("far number", "illegal action", f"{10**30} is not legal there"),
    ("unknown words", "illegal action", "'castle' is not legal there"),
]


@pytest.mark.parametrize(("behaviour", "kind", "message"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_fault_costs_the_game_and_is_reported(behaviour, kind, message):
    states = begin(GAME, N, 1)
    agent = make_agent(program(behaviour, **QUICK), GAME)
    with pytest.raises(GameForfeitedError) as error:  # noqa: PT012
        choose(agent, GAME, states)
        assert behaviour == "two lines"  # the second may come a little later
        time.sleep(0.3)
        choose(agent, GAME, states)
    assert message in str(error.value)
    assert str(error.value).startswith(agent.name)
    report = agent.take_report()
    (fault,) = report.faults
    assert (fault.fault, fault.count) == (kind, 1)
    assert message in fault.first
    assert report.decisions == 0 or behaviour == "two lines"
    agent.close()


def test_a_program_that_reads_nothing_is_not_waited_for():
    agent = make_agent(program("not reading", **QUICK), GAME)
    begun = time.monotonic()
    with pytest.raises(GameForfeitedError, match=r"did not answer|answered before"):
        choose(agent, GAME, begin(GAME, N, 1))
    assert time.monotonic() - begun < 8
    agent.close()


def test_what_it_writes_without_being_asked_is_a_fault():
    agent = make_agent(program("unasked"), GAME)
    states = begin(GAME, N, 1)
    choose(agent, GAME, states)
    time.sleep(0.5)
    with pytest.raises(GameForfeitedError, match="wrote without being asked: 'and this'"):
        choose(agent, GAME, states)
    agent.close()


def test_last_words_are_kept_and_harmless(caplog):
    agent = make_agent(program("crash at start"), GAME)
    with caplog.at_level(logging.WARNING), pytest.raises(GameForfeitedError):
        choose(agent, GAME, begin(GAME, N, 1))
    assert agent.name in caplog.text
    (fault,) = agent.take_report().faults
    assert fault.last_words == ("no such model �[31m",)
    agent = make_agent(program("noisy"), GAME)
    for _ in range(3):
        choose(agent, GAME, begin(GAME, N, 1))
    agent.close()


def test_a_lost_game_ends_there_the_loser_last_and_the_others_level():
    """As with ``on_illegal="terminate"``: -1, and nothing for the others."""
    n = GAME.max_players
    played = play_deals(GAME, [program("unknown words"), *["random"] * (n - 1)], deal_seeds(1, 3))
    assert (played.standing == [-1.0] + [0.0] * (n - 1)).all()
    assert played.rank[..., 0] == pytest.approx(-1.0)
    assert played.rank[..., 1:] == pytest.approx(1.0 / (n - 1))
    assert played.win[..., 1:] == pytest.approx(1.0 / (n - 1))
    assert not played.truncated.any()
    (report,) = played.programs
    assert report.faults[0].count == 3 * n
    arena = Arena(GAME, 1, [make_agent(program("unknown words"), GAME), make_agent("random", GAME)])
    one = np.zeros(1, np.int64)
    seating = np.ones((1, GAME.max_players), np.int64)
    seating[0, 1] = 0
    arena.start(one, one.astype(np.uint64), np.array([n]), seating)
    assert arena.waiting[0] == NOBODY
    assert arena.forfeited[0] == 1
    assert arena.returns[0].tolist() == [-1.0 if player == 1 else 0.0 for player in range(n)]
    assert not arena.states["terminated"][0]
    arena.agents[0].close()


def test_only_the_game_of_the_fault_is_lost():
    """Of games played at the same time: a new process is told what has happened in the others."""
    played = play_deals(GAME, [program("crash", 25), *OTHERS], deal_seeds(1, 10))
    (report,) = played.programs
    lost = (played.standing[..., 0] == -1.0) & (played.standing[..., 1:] == 0.0).all(axis=-1)
    assert {fault.fault for fault in report.faults} == {"ended"}
    assert sum(fault.count for fault in report.faults) == lost.sum()
    assert 0 < lost.sum() < lost.size
    assert report.decisions >= 25 * lost.sum()
    assert report.faults[0].last_words == ("line one", "line two")


def test_a_random_action_replaces_the_decision():
    named = program("unknown words", on_fault="random")
    results = [play_deals(GAME, [named, *OTHERS], deal_seeds(1, 3)) for _ in range(2)]
    assert results[0].standing.tobytes() == results[1].standing.tobytes()
    (report,) = results[0].programs
    assert report.on_fault == "random"
    assert report.faults[0].count > 3 * N  # one for each decision
    arena = Arena(GAME, 1, [make_agent(named, GAME)])
    one = np.zeros(1, np.int64)
    arena.start(one, one.astype(np.uint64), np.array([N]), np.zeros((1, GAME.max_players), int))
    assert arena.forfeited[0] == NOBODY
    assert arena.states["terminated"][0] or arena.states["truncated"][0]
    arena.agents[0].close()


def test_a_program_that_fails_again_and_again_is_not_started_any_more():
    begun = time.monotonic()
    played = play_deals(GAME, [program("hang", **QUICK), *OTHERS], deal_seeds(1, 20))
    assert time.monotonic() - begun < 15
    (report,) = played.programs
    assert {fault.fault: fault.count for fault in report.faults} == {
        "no answer in time": 3,
        "given up": 20 * N - 3,
    }
    played = play_deals(GAME, [program("crash at start"), *OTHERS], deal_seeds(1, 5))
    counts = {fault.fault: fault.count for fault in played.programs[0].faults}
    assert counts == {"did not start": 1, "given up": 5 * N - 1}


def test_the_time_of_a_game_is_limited():
    agent = make_agent(program("slow", game_seconds=0.3), GAME)
    played = play_deals(GAME, [agent] * N, deal_seeds(1, 2))
    (report,) = played.programs
    assert {fault.fault: fault.count for fault in report.faults} == {
        "out of time for the game": 2 * N
    }
    assert "used up the 0.3 seconds" in report.faults[0].first
    assert 2 < report.decisions < 2 * N * 7 * N
    assert 0.05 < report.seconds / report.decisions < 0.3
    agent.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a limit that Linux has")
def test_memory_is_limited():
    states = begin(GAME, N, 1)
    small = make_agent(program("memory", memory_mb=128), GAME)
    with pytest.raises(GameForfeitedError, match="ended with exit status 1"):
        choose(small, GAME, states)
    assert small.take_report().faults[0].last_words == ("out of memory",)
    for memory in (1024, 0):
        agent = make_agent(program("memory", memory_mb=memory), GAME)
        assert mask_of(GAME, states)[choose(agent, GAME, states)]
        agent.close()


# ---------------------------------------------------------------------------------------------
# Reports
# ---------------------------------------------------------------------------------------------


def test_a_tournament_goes_on_and_ends_with_a_table_of_faults(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    names = [program("crash", 3), program("last"), "random"]
    file = tmp_path / "result.json"
    argv = ["tournament", GAME.id, "--agents", *names, "--players", str(N), "--deals", "2"]
    assert main([*argv, "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "faults of programs" in out
    assert "it ended with exit status 5" in out
    assert "games lost" in out
    assert "line two" in out
    programs = json.loads(file.read_text())["programs"]
    assert [row["name"] for row in programs] == names[:2]
    assert programs[0]["faults"][0]["fault"] == "ended"
    assert programs[0]["faults"][0]["last_words"] == ["line one", "line two"]
    assert programs[1]["faults"] == []
    assert programs[1]["seconds_per_decision"] > 0


def test_an_evaluation_shows_the_time_per_decision(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "result.json"
    argv = ["evaluate", GAME.id, "--deals", "2", "--json", str(file), "--agents"]
    assert main([*argv, program("last"), *OTHERS]) == 0
    out = capsys.readouterr().out
    assert "time per decision" in out
    assert " ms" in out
    assert "faults of programs" not in out
    (row,) = json.loads(file.read_text())["programs"]
    assert row["decisions"] > 0
    assert 0 < row["seconds_per_decision"] < 1
    assert main([*argv, "random", *OTHERS]) == 0
    assert "programs" not in capsys.readouterr().out
    assert "programs" not in json.loads(file.read_text())


def test_records_of_several_tables_are_added_up():
    names = [program("unknown words"), program("last"), "random"]
    result = run_tournament(GAME, names, N, deals=2)
    bad, good = result.summary.programs
    assert bad.name == names[0]
    tables = [table.agents for table in result.summary.tables]
    assert bad.faults[0].count == 2 * N * sum(names[0] in table for table in tables)
    assert good.decisions > 0


# ---------------------------------------------------------------------------------------------
# Opponents in Gymnasium
# ---------------------------------------------------------------------------------------------


def test_an_opponent_that_loses_ends_the_learners_game_without_reward():
    env = SingleSeatEnv(GAME.id, num_players=N, opponents=program("crash", 2), seat=0)
    _, info = env.reset(seed=1)
    for _ in range(200):
        action = int(info["action_mask"].argmax())
        _, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    assert terminated
    assert not truncated
    assert reward == 0.0
    assert not env._games.arena.states["terminated"][0]
    env.reset()
    env.close()


@pytest.mark.parametrize("make", [SingleSeatEnv, TextSeatEnv])
def test_an_opponent_that_never_starts_is_an_error(make):
    env = make(GAME.id, num_players=N, opponents=program("crash at start"), seat=N - 1)
    with pytest.raises(ValueError, match="an opponent forfeits them"):
        env.reset(seed=1)
    env.close()


# ---------------------------------------------------------------------------------------------
# Processes
# ---------------------------------------------------------------------------------------------

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux alone")


@on_linux
def test_children_end_with_their_program(mark):
    agent = make_agent(program("children"), GAME)
    choose(agent, GAME, begin(GAME, N, 1))
    assert len(processes(mark)) >= 6
    agent.close()
    assert none_left(mark, 1.0)


@on_linux
def test_a_program_that_stays_is_killed(mark):
    agent = make_agent(program("stays"), GAME)
    choose(agent, GAME, begin(GAME, N, 1))
    begun = time.monotonic()
    agent.close()
    assert 1.0 < time.monotonic() - begun < 6.0
    assert none_left(mark, 1.0)
    choose(agent, GAME, begin(GAME, N, 1))  # it starts again
    assert processes(mark)
    del agent
    assert none_left(mark, 5.0)


def test_an_evaluation_of_names_leaves_nothing(mark):
    evaluate(GAME, [program("last"), *OTHERS], deals=2)
    with pytest.raises(ValueError, match="no agent"):
        run_tournament(GAME, [program("last"), "nobody"], N, deals=2)
    assert none_left(mark, 1.0)


def ask(code, data=b"hello\n"):
    """What a Python program with this code answers to a line."""
    process = Process([sys.executable, "-c", code], 0)
    try:
        return process.ask(data, 10)
    finally:
        process.close(at_once=True)


def test_a_line_has_a_greatest_length():
    """Also where it comes with its end."""
    code = "import sys; sys.stdin.readline(); print('x' * {}, flush=True); sys.stdin.readline()"
    assert ask(code.format(MAX_LINE - 1)) == b"x" * (MAX_LINE - 1)
    for length in (MAX_LINE, 2 * MAX_LINE - 2):
        with pytest.raises(ProgramFault, match=f"it wrote .*{MAX_LINE} bytes"):
            ask(code.format(length))


def test_programs_start_where_many_files_are_open():
    resource = pytest.importorskip("resource")  # of POSIX, as programs are
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < 1300:
        pytest.skip("not enough files can be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit, 1300), most))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert ask("print(input(), flush=True); input()") == b"hello"
    finally:
        for end in held:
            os.close(end)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def test_that_no_more_files_can_be_open_is_not_the_programs_fault():
    resource = pytest.importorskip("resource")  # of POSIX, as programs are
    agent = make_agent(program("first"), GAME)
    states = begin(GAME, N, 1)
    choose(agent, GAME, states)  # all that is compiled or imported at first
    agent.close()
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 256), most))
    held = []
    try:
        for free in range(30):  # as many as are needed, and fewer
            with suppress(OSError):
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            for end in held[len(held) - free :]:
                os.close(end)
            del held[len(held) - free :]
            try:
                choose(agent, GAME, states)
            except OSError as error:
                assert "cannot be started: Too many open files" in str(error)  # noqa: PT017
            else:
                break
        assert 0 < free < 29
    finally:
        for end in held:
            os.close(end)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    choose(agent, GAME, states)
    assert agent.take_report().faults == ()
    agent.close()


def test_long_last_words_are_cut():
    agent = make_agent(program("long last words", **QUICK), GAME)
    with pytest.raises(GameForfeitedError):
        choose(agent, GAME, begin(GAME, N, 1))
    (fault,) = agent.take_report().faults
    assert [len(line) for line in fault.last_words] == [501]
    agent.close()


def test_a_game_begins_and_ends_while_the_program_thinks():
    """Neither waits for the answer that another game waits for."""
    agent = make_agent(program("hang", seconds=5), GAME)
    states = begin(GAME, N, 1)

    def think():
        with pytest.raises(GameForfeitedError):
            choose(agent, GAME, states)

    thinking = Thread(target=think)
    thinking.start()
    while not agent._decisions and agent._process is None:
        time.sleep(0.01)
    time.sleep(0.3)
    begun = time.monotonic()
    follower = agent.follow(None)
    follower.begin(states, 0, range(N))
    follower.end(states, 0)
    assert time.monotonic() - begun < 2
    assert thinking.is_alive()
    agent._process._guard.kill()
    thinking.join()
    agent.close()


def guards():
    """The ids of the outer and of the inner guard of the one program that runs."""
    (outer,) = [pid for pid in map(int, children_of(os.getpid())) if "guard.py" in command_of(pid)]
    (inner,) = [pid for pid in map(int, children_of(outer)) if "guard.py" in command_of(pid)]
    return outer, inner


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


@on_linux
@pytest.mark.parametrize("which", [0, 1], ids=["outer", "inner"])
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_nothing_is_left_when_a_guard_is_stopped_or_killed(mark, which, number):
    agent = make_agent(program("children"), GAME)
    choose(agent, GAME, begin(GAME, N, 1))
    os.kill(guards()[which], number)
    if number == signal.SIGKILL:
        assert none_left(mark, 3.0)  # at once, not when it is closed
    begun = time.monotonic()
    agent.close()
    assert time.monotonic() - begun < 8
    assert none_left(mark, 1.0)


@on_linux
@pytest.mark.parametrize(
    "which", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["outer", "inner"]
)
def test_nothing_is_left_when_a_guard_is_stopped_and_the_run_is_killed(mark, which):
    code = f"""
import os, signal, sys, time
from card_envs.agents import choose, make_agent
from helpers import ALL_GAMES, begin
from test_faults import GAME, N, guards
agent = make_agent({program("children")!r}, GAME)
choose(agent, GAME, begin(GAME, N, 1))
os.kill(guards()[{which}], signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), *sys.path]))
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert run.returncode == -signal.SIGKILL
    assert none_left(mark, 5.0)
