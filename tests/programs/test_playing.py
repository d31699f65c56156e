"""Programs play wherever an agent is named, as any other agent with the same choices does."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from helpers import ALL_GAMES, FEW_GAMES, begin, kit_of, mask_of
from programs import PROGRAMS, none_left, processes, program

from card_envs.agents import ProgramAgent, agent_names, as_agent, choose, make_agent
from card_envs.agents.programs.reports import ProgramReport, merged
from card_envs.commands.cli import main
from card_envs.envs.aec import CardEnv
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.evaluation import deal_seeds, evaluate, play_deals, play_one_against, run_tournament

few_games = pytest.mark.parametrize("game", FEW_GAMES)
GAME = ALL_GAMES[0]  # where any game will do
N = GAME.min_players
ROOT = Path(__file__).parent.parent.parent
FIRST = program("first")


def first_legal(observation, action_mask):
    return action_mask.argmax(axis=1)


def last_legal(observation, action_mask):
    return action_mask.shape[1] - 1 - action_mask[:, ::-1].argmax(axis=1)


# ---------------------------------------------------------------------------------------------
# The same games as without a program
# ---------------------------------------------------------------------------------------------


@few_games
def test_a_program_plays_the_same_games_as_a_function_with_its_choices(game):
    """Beside every other agent; whether games are followed makes no difference to anybody."""
    options = {"max_steps": 150}
    for other in agent_names(game):
        others = [other] * (game.default_players - 1)
        results = [
            play_deals(game, [agent, *others], deal_seeds(2, 2), options, agent_seed=3)
            for agent in (FIRST, first_legal)
        ]
        assert results[0].standing.tobytes() == results[1].standing.tobytes()
        assert results[0].score.tobytes() == results[1].score.tobytes()
        assert results[0].truncated.tobytes() == results[1].truncated.tobytes()
        (record,) = results[0].programs
        assert record.faults == ()
        assert results[1].programs == ()


def test_words_mean_the_same_actions():
    results = [
        play_deals(GAME, [agent, "random"], deal_seeds(2, 3), {"max_steps": 100})
        for agent in (program("last"), last_legal)
    ]
    assert results[0].standing.tobytes() == results[1].standing.tobytes()


def test_the_same_seed_gives_the_same_bytes_but_for_the_time(tmp_path):
    logs = []
    results = []
    for k in range(2):
        log = tmp_path / f"{k}.jsonl"
        agents = [program("log", log), "random"]
        result = evaluate(GAME, agents, deals=3, seed=5, options={"max_steps": 80}).to_json()
        (record,) = result.pop("programs")
        del record["seconds_per_decision"]
        result["agents"][0]["name"] = record["name"] = "it"
        results.append(json.dumps([result, record]))
        logs.append(log.read_bytes())
    assert results[0] == results[1]
    assert logs[0] == logs[1]
    assert json.loads(logs[0].splitlines()[-1])["type"] == "end"


def test_a_new_process_is_told_what_has_happened(tmp_path):
    log = tmp_path / "log"
    agent = make_agent(program("log and crash", log), GAME)
    played = play_deals(GAME, [agent, *["random"] * (N - 1)], deal_seeds(1, 2))
    agent.close()
    assert sum(fault.count for fault in played.programs[0].faults) > 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    starts = [k for k, message in enumerate(lines) if message["type"] == "hello"]
    assert len(starts) > 1
    for number in {m["game"] for m in lines if m["type"] == "decide"}:
        told = []
        for begun, until in zip(starts, [*starts[1:], None], strict=True):
            events = [
                event
                for m in lines[begun:until]
                if m["type"] == "decide" and m["game"] == number
                for event in m["events"]
            ]
            if any(m.get("game") == number for m in lines[begun:until]):
                assert events[: len(told)] == told  # all again, and then what is new
                told = events


def test_a_program_plays_tournaments_and_against_many():
    seeds = deal_seeds(1, 2)
    [(_, one)] = play_one_against(GAME, FIRST, "random", [N], seeds, {"max_steps": 60})
    [(_, same)] = play_one_against(GAME, first_legal, "random", [N], seeds, {"max_steps": 60})
    assert one.standing.tobytes() == same.standing.tobytes()
    options = {"max_steps": 60}
    result = run_tournament(GAME, [FIRST, "random"], N, deals=2, options=options).summary
    expected = run_tournament(GAME, [first_legal, "random"], N, deals=2, options=options).summary
    assert [agent.rating for agent in result.agents] == [a.rating for a in expected.agents]


def test_reports_on_one_program_are_added_up():
    reports = [ProgramReport(name, 2, 0.5, "random", ()) for name in ("a", "b", "a")]
    first, second = merged(reports)
    assert (first.name, first.decisions, first.seconds) == ("a", 4, 1.0)
    assert second == reports[1]


# ---------------------------------------------------------------------------------------------
# Environments
# ---------------------------------------------------------------------------------------------


def course(env, steps=40):
    """What a learner who takes first legal actions sees."""
    observation, info = env.reset(seed=3)
    seen = [observation.tobytes()]
    for _ in range(steps):
        mask = info["action_mask"]
        action = mask.argmax(axis=-1)
        observation, reward, terminated, truncated, info = env.step(action)
        seen += [observation.tobytes(), np.asarray(reward).tobytes()]
        if mask.ndim == 1 and (terminated or truncated):
            observation, info = env.reset()
    env.close()
    return seen


@pytest.mark.parametrize("skip_forced", [False, True])
@few_games
def test_opponents_in_gymnasium(game, skip_forced):
    for make in (
        lambda opponents: SingleSeatEnv(game.name, opponents=opponents, skip_forced=skip_forced),
        lambda opponents: SingleSeatVectorEnv(
            game.name, 3, opponents=opponents, skip_forced=skip_forced
        ),
    ):
        assert course(make(FIRST)) == course(make(first_legal))
    n = game.max_players
    for entry in (FIRST, first_legal):
        env = gymnasium.make(
            game.gymnasium_id, num_players=n, opponents=[entry, *["random"] * (n - 2)]
        )
        env.reset(seed=1)
        env.close()


def test_an_environment_with_a_program_can_be_copied_in_mid_game():
    env = SingleSeatEnv(GAME.name, opponents=FIRST)
    _, info = env.reset(seed=3)
    for _ in range(5):
        *_, info = env.step(int(info["action_mask"].argmax()))
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = []
    for k, twin in enumerate([env, *copies]):
        mask = info["action_mask"]
        seen = []
        for _ in range(5):
            observation, *_, own = twin.step(int(mask.argmax()))
            mask = own["action_mask"]
            seen.append(observation.tobytes())
        expected = expected if k else seen
        assert seen == expected
        twin.close()


def test_an_agent_is_asked_in_aec_environments():
    env = CardEnv(GAME.name, num_players=N)
    env.reset(seed=1)
    agent = as_agent(FIRST, GAME)
    for _ in range(10):
        action = choose(agent, GAME, env.states)
        assert action == env.legal_actions()[0]
        env.step(action)
    agent.close()


def test_sb3_ends_the_programs_of_its_opponents(mark):
    pytest.importorskip("stable_baselines3")
    from card_envs.integrations.sb3 import make_vec_env

    env = make_vec_env(GAME.name, 2, opponents=FIRST)
    env.seed(1)  # there are deals in which a program is not asked before the learner's second step
    env.reset()
    masks = np.stack(env.env_method("action_masks"))
    env.step(masks.argmax(axis=1))
    assert processes(mark)
    env.close()
    assert none_left(mark, 1.0)


# ---------------------------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------------------------


class Typed:
    """A person who always types the same."""

    def __init__(self, line):
        self.line = line

    def readline(self, *_):
        return self.line


@few_games
def test_a_person_plays_against_programs(game, monkeypatch, capsys, tmp_path):
    env = CardEnv(game.name, **kit_of(game).short_options)
    env.reset(seed=4)
    seat = env.num_players - 1
    first = make_agent(FIRST, game)
    while env.legal_actions() and env.agent_selection != f"player_{seat}":
        env.step(env.legal_actions()[0])
    asked = bool(env.legal_actions())
    monkeypatch.setattr(sys, "stdin", Typed("q\n"))
    options = [f"{k}={v}" for k, v in kit_of(game).short_options.items()]
    argv = ["play", game.name, "--opponents", FIRST, "--seed", "4", "--seat", str(seat)]
    for option in options:
        argv += ["--option", option]
    file = tmp_path / "game.json"
    assert main([*argv, "--save", str(file)]) == 0
    out = capsys.readouterr().out
    assert f"Player 0 is {FIRST}." in out
    assert ("You left the game." in out) == asked
    assert json.loads(file.read_text())["actions"] == list(env.history[1])
    first.close()


def test_a_program_that_fails_loses_the_game_with_a_person(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Typed("1\n"))
    argv = ["play", GAME.id, "--players", str(N), "--seat", str(N - 1), "--seed", "4"]
    name = program("unknown words")
    assert main([*argv, "--opponents", name]) == 1
    out = capsys.readouterr().out
    assert "The game is over. Player 0, " in out
    assert "loses the game: 'castle' is not legal there." in out


wrong_names = pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cmd:", "names no program: write cmd:PROGRAM ARGS"),
        ("cmd:   ", "names no program"),
        ("cmd:''", "names no program"),
        ("cmd,seconds=3", "a program is named as cmd[,KEY=VALUE…]:PROGRAM ARGS"),
        ("cmd:no-such-program here", "there is no program no-such-program"),
        ("cmd:'unclosed", "No closing quotation"),
        ("cmd:./plain.txt", "./plain.txt may not be executed"),
        ("cmd:plain.txt", "for the file here, write ./plain.txt"),
        ("cmd:.", ". is a folder, not a program"),
        ("cmd,speed=3:true", "the keys are seconds, game_seconds, start_seconds, memory_mb"),
        ("cmd,seconds=3,seconds=4:true", "each key once"),
        ("cmd,seconds=soon:true", "seconds must be a number, got 'soon'"),
        ("cmd,seconds=0:true", "seconds must be a number greater than 0, got 0.0"),
        ("cmd,game_seconds=nan:true", "game_seconds must be a number greater than 0, got nan"),
        ("cmd,start_seconds=inf:true", "start_seconds must be a number greater than 0"),
        ("cmd,memory_mb=1e3:true", "memory_mb must be a whole number, got '1e3'"),
        ("cmd,memory_mb=-1:true", "memory_mb must be from 0 to 1073741824, got -1"),
        ("cmd,memory_mb=99999999999999:true", "memory_mb must be from 0 to 1073741824"),
        ("cmd,on_fault=win:true", "on_fault must be lose or random, got 'win'"),
    ],
)


@wrong_names
def test_a_wrong_name_is_one_line_without_a_traceback(name, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plain.txt").write_text("no program")
    with pytest.raises(ValueError, match=r".") as error:
        make_agent(name, GAME)
    assert message in str(error.value)
    table = [name, *["random"] * (N - 1)]
    for argv in (
        ["evaluate", GAME.id, "--agents", *table],
        ["tournament", GAME.id, "--agents", *table[:2], "--players", str(N)],
        ["play", GAME.id, "--players", str(N), "--opponents", name],
    ):
        is_one_line(argv, message, capsys)


@wrong_names
def test_a_wrong_name_is_not_served(name, message, capsys, tmp_path, monkeypatch):
    pytest.importorskip("uvicorn")
    monkeypatch.chdir(tmp_path)
    Path("plain.txt").write_text("no program")
    is_one_line(["serve", "--port", "0", "--agent", name], message, capsys)


def is_one_line(argv, message, capsys):
    """The command's error, which holds the message."""
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1


def test_what_the_system_cannot_execute_is_reported(tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x00\x01\x02")
    broken.chmod(0o755)
    played = play_deals(GAME, [f"cmd:{broken}", *["random"] * (N - 1)], deal_seeds(1, 2))
    first = played.programs[0].faults[0]
    assert first.fault == "did not start"
    assert first.last_words[0].startswith(f"{broken}: ")


def test_no_shell_runs(tmp_path):
    """Quotes group words; nothing is expanded, nothing is joined."""
    name = (
        f"cmd:{sys.executable} -c 'import sys; sys.exit(str(sys.argv[1:]))' $HOME *.py 'a b' ; ls"
    )
    agent = ProgramAgent(name, GAME)
    with pytest.raises(ValueError, match="loses the game"):
        choose(agent, GAME, begin(GAME, N, 1))
    expected = str(["$HOME", "*.py", "a b", ";", "ls"])
    assert agent.take_report().faults[0].last_words == (expected,)


# ---------------------------------------------------------------------------------------------
# No process outlives the run
# ---------------------------------------------------------------------------------------------

RUN = """
import os, sys, threading
from card_envs.agents import choose, make_agent
from card_envs.games import load_game
game = load_game(sys.argv[1])
states = game.new_states(1)
game.rules.reset(states, 0, 1, game.min_players, *game.encode_options({}))
agent = make_agent(sys.argv[2], game)
thread = threading.Thread(target=lambda: choose(agent, game, states))
thread.start()
thread.join()  # the program outlives the thread that has started it
choose(agent, game, states)
print("ready", flush=True)
exec(sys.argv[3])
"""


def heed_signals():
    """A run of the tests in a shell's background ignores these, and so would its processes."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def run(behaviour, then):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    name = program(behaviour)
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, GAME.id, name, then],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        preexec_fn=heed_signals,
    )
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        ),
    ],
)
def test_a_run_that_is_killed_takes_its_programs_along(number, mark):
    process = run("children", "import time; time.sleep(100)")
    assert len(processes(mark)) > 6
    process.send_signal(number)
    process.communicate(timeout=30)
    assert none_left(mark, 3.0)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.parametrize(
    "end",
    [
        "os._exit(1)",
        *(
            pytest.param(end, marks=pytest.mark.slow)
            for end in ("pass", "raise ValueError", "sys.exit()")
        ),
    ],
)
def test_a_run_that_ends_takes_its_programs_along(end, mark):
    process = run("stays", end)
    process.communicate()
    assert none_left(mark, 3.0)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.slow
def test_a_fork_leaves_its_parents_program_alone(mark):
    """It begins one of its own."""
    then = """
pid = os.fork()
if pid == 0:
    choose(agent, game, states)
    agent.close()
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
before = agent._process
choose(agent, game, states)
assert agent._process is before
print("played", flush=True)
"""
    process = run("first", then)
    out, _ = process.communicate(timeout=60)
    assert out == b"played\n"
    assert none_left(mark, 3.0)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.slow
def test_ctrl_c_ends_an_evaluation_and_its_programs(mark):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    argv = ["evaluate", GAME.id, "--agents", program("hang", seconds=100)]
    process = subprocess.Popen(
        [sys.executable, "-m", "card_envs.commands.cli", *argv, *["random"] * (N - 1)],
        stderr=subprocess.PIPE,
        env=env,
        preexec_fn=heed_signals,
    )
    until = time.monotonic() + 60
    while len(processes(mark)) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert none_left(mark, 3.0)


# ---------------------------------------------------------------------------------------------
# The examples
# ---------------------------------------------------------------------------------------------

_INTERPRETERS = {".py": sys.executable, ".js": "node"}


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.name)
@few_games
def test_the_examples_play(game, file):
    interpreter = _INTERPRETERS[file.suffix]
    if shutil.which(interpreter) is None:
        pytest.skip(f"{interpreter} is not installed")
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 40
    name = f"cmd:{shlex.join([interpreter, str(file)])}"
    others = ["random"] * (game.default_players - 1)
    played = play_deals(game, [name, *others], deal_seeds(1, 2), {"max_steps": 200})
    (record,) = played.programs
    assert record.decisions > 0
    assert record.faults == ()


def test_there_are_two_examples():
    assert {file.suffix for file in PROGRAMS} == {".py", ".js"}


def test_the_position_is_not_changed_by_asking():
    agent = make_agent(FIRST, GAME)
    states = begin(GAME, N, 1)
    before = states.tobytes()
    assert mask_of(GAME, states)[choose(agent, GAME, states)]
    assert states.tobytes() == before
    agent.close()
