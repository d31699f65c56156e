"""What all commands share: errors in one line, exit statuses, JSON by its schema, completion."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from helpers import ALL_GAMES, EACH_GAME, needs_training

import card_envs
from card_envs.agents.network import METADATA_KEY
from card_envs.commands import running
from card_envs.commands.cli import main
from card_envs.games import GAMES

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "docs" / "json_output.schema.json").read_text(encoding="utf-8"))
#: Where any game will do: the smallest.
GAME = min(ALL_GAMES, key=lambda game: game.num_actions)
N = GAME.min_players
FALSE = "cmd:false"

CODE = """
def fails(observation, action_mask):
    return weights(observation)

def weights(observation):
    return {}["weights"]

def illegal(observation, action_mask):
    return -1 - action_mask.argmax(axis=1)

def leaves(observation, action_mask):
    raise SystemExit(0)

def broken(game, seed):
    return {}["weights"]

def first_legal(observation, action_mask):
    return action_mask.argmax(axis=1)

def piped(observation, action_mask):
    raise BrokenPipeError(32, "Broken pipe")

def ragged(observation, action_mask):
    return [[1], [1, 2]]

three = 3
"""

#: Agents that are told what happens, and fail.
FOLLOWS = """
from card_envs.contract.agent import Follower, FollowingAgent

class Player(Follower):
    def __init__(self, fails):
        self.fails = fails
    def begin(self, states, i, players):
        if self.fails == "begin":
            raise KeyError("begin")
    def watch(self, states, i, action):
        if self.fails == "watch":
            raise KeyError("watch")
    def decide(self, turn):
        return turn.action_mask.argmax(axis=1)
    def end(self, states, i, loser=None):
        if self.fails == "end":
            raise KeyError("end")

def agent(fails):
    class Fails(FollowingAgent):
        name = fails
        def __init__(self, game, seed):
            pass
        def follow(self, options):
            if fails == "follow":
                raise KeyError(fails)
            return None if fails == "nobody" else Player(fails)
    return Fails

Begins, Watches, Ends, Fails, Nobody = map(agent, ["begin", "watch", "end", "follow", "nobody"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with files of all kinds in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("own.py").write_text(CODE)
    Path("follow.py").write_text(FOLLOWS)
    Path("syntax.py").write_text("1 +")
    Path("empty").write_text("")
    Path("model.pt").write_bytes(b"PK\x03\x04")
    Path("bad.onnx").write_bytes(b"no model")
    Path("bad.safetensors").write_bytes(bytes(100))
    Path("replay.json").write_text('{"game": "chess_v0"}\n')
    Path("run").mkdir()
    Path("run/config.yaml").write_text("name: mine\n")
    Path("void").mkdir()
    return tmp_path


def table(*agents):
    return ["--agents", *agents, *["random"] * (N - len(agents))]


def status_of(command, argv):
    """The exit status; argparse leaves by itself."""
    try:
        return command(argv)
    except SystemExit as left:
        return left.code


def bad_calls():
    """Some 200 calls, all of them wrong."""
    agents = [
        "", "ppoo", "Random", "heuristc", "search:", "search:x", "search:4,worlds", "search:-1",
        "search:4,polcy=ppo", "search:4,method=tre", "search:4,policy=own.py:first_legal", "cmd:",
        "cmd:nowhere", "cmd:./empty", "cmd:run", "cmd,second=1:true", "cmd,seconds=x:true",
        "cmd:'", "own.py:", "own.py:none", "own.py:three", "own.py:broken", "own:thre", "none.py:x",
        "no.module:x", "syntax.py:x", "json:decoder.x", "model.pt", "none.zip", "bad.onnx",
        "bad.safetensors", "none.safetensors", "run", "void", "empty", "a/b", "x" * 300,
        f"{METADATA_KEY}:x", "own.py:first_legal:x", ":x", "\x1b[31m",
    ]  # fmt: skip
    commands = {
        "evaluate": (["evaluate", GAME.id], ["--deals", "2"]),
        "tournament": (["tournament", GAME.id], ["--players", str(N), "--deals", "2"]),
        "record": (["record", GAME.id], ["--games", "1", "--out", "new"]),
    }
    for before, after in commands.values():
        for agent in agents:
            yield [*before, *table(agent), *after]
    for agent in agents:
        yield ["play", GAME.id, "--opponents", agent]
        break
    for command in ("info", "play", "compile", "evaluate", "tournament", "record"):
        for game in ("chess", GAME.id[:-1], ""):
            rest = {
                "evaluate": table("random"),
                "tournament": [*table("random", "random"), "--players", str(N)],
                "record": [*table("random"), "--games", "1", "--out", "new"],
            }
            yield [command, game, *rest.get(command, [])]
    for before, after in commands.values():
        whole = [*before, *table("random"), *after]
        for wrong in (
            ["--option", "colour=red"], ["--option", "max_step=3"], ["--option", "max_steps=x"],
            ["--option", "max_steps"], ["--seed", "-1"], ["--seed", "x"], ["--sed", "1"],
            ["--games-from", "nowhere"], ["--games-from", "json"], ["--games-from", "syntax"],
        ):  # fmt: skip
            yield [*whole, *wrong]
        yield before
        yield [*before, "--agents"]
        yield [*before, *table(*["random"] * (GAME.max_players + 1)), *after]
    evaluate = ["evaluate", GAME.id, *table("random")]
    for wrong in (
        ["--deals", "1"], ["--deals", "0"], ["--deals", "x"], ["--deals", str(10**9)],
        ["--json", "run"], ["--json", "empty/x"], ["--plot", "x.txt"],
        ["--plot", "x"], ["--plot", "run"], ["--polt", "x.png"],
    ):  # fmt: skip
        yield [*evaluate, *wrong]
    tournament = ["tournament", GAME.id, "--agents", "random"]
    yield [*tournament, "random", "--players", str(N)]
    yield [*tournament, "--players", str(N)]
    yield [*tournament, "own.py:first_legal", "--players", "99"]
    record = ["record", GAME.id, *table("random")]
    for wrong in (
        [], ["--games", "0", "--out", "new"], ["--games", "1"],
        ["--games", "1", "--out", "replay.json"], ["--games", "1", "--out", "empty/x"],
        ["--games", "1", "--out", "new", "--option", "memory=none"],
    ):  # fmt: skip
        yield [*record, *wrong]
    play = ["play", GAME.id]
    for wrong in (
        ["--players", "99"], ["--players", "x"], ["--seat", "9"], ["--seat", "-1"],
        ["--opponents", *["random"] * 9], ["--save", "run"], ["--save", "empty/x"],
        ["--option", "reward=points"], ["--option", "memory=all"], ["--seed", "1.5"],
    ):  # fmt: skip
        yield [*play, *wrong]
    for wrong in (
        [], ["none"], ["run"], ["empty"], ["replay.json"], ["bad.onnx"], ["none", "--game", "x"],
        ["replay.json", "--video", "x.txt"], ["replay.json", "--perspective", "9"],
    ):  # fmt: skip
        yield ["replay", *wrong]
    for wrong in (
        ["--port", "x"], ["--port", "70000"], ["--runs", "none"], ["--policies", "none"],
        ["--agent", "nobody"], ["--agent", "own.py:three"], ["--prt", "1"],
    ):  # fmt: skip
        yield ["serve", *wrong]
    yield from ([], ["evalute"], ["paly", GAME.id], ["lst"], ["list", "more"], ["--jsn"])
    yield ["info", GAME.id, "--jsno"]


def test_bad_calls_get_one_line_and_lose_nothing(folder, capsys):
    before = sorted(path.name for path in folder.iterdir())
    calls = [*bad_calls()]
    assert len(calls) >= 200
    for argv in calls:
        status = status_of(main, argv)
        out, err = capsys.readouterr()
        is_failing = "own.py:broken" in argv  # an agent that raises an error
        assert status == (1 if is_failing else 2), (argv, out, err)
        assert out == "", argv
        last = err.splitlines()[-1]
        assert re.match(r"card-envs.*: error: .", last), (argv, err)
        assert not re.search(r"Traceback|\[Errno|object at 0x|<card_envs|<class|\x1b", err), err
    names = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    assert names == before


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["evalute"], "evaluate"),
        (["info", GAME.id[:-1]], GAME.id),
        (["evaluate", GAME.id, *table("randm")], "random"),
        (["evaluate", GAME.id, *table("random"), "--dels", "5"], "--deals"),
        (["evaluate", GAME.id, *table("random"), "--option", "max_step=5"], "max_steps"),
        (["play", GAME.id, "--option", "memry=none"], "memory"),
        (["evaluate", GAME.id, *table("own.py:first_lgal")], "first_legal"),
    ],
)
def test_near_misses_are_named(folder, argv, meant, capsys):
    assert status_of(main, argv) == 2
    assert f"(did you mean {meant!r}?)" in capsys.readouterr().err


@needs_training
def test_near_misses_of_keys_are_named(folder, capsys):
    from training import train

    Path("config.yaml").write_text(f"game: {GAME.id}\ndecisions: 5\nppo: {{lerning_rate: 1}}\n")
    for argv, meant in (
        (["config.yaml"], "learning_rate"),
        (["config.yaml", "--set", "ppo={}", "nme=x"], "name"),
        (["config.yaml", "--rsume", "x"], "--resume"),
    ):
        assert status_of(train.main, argv) == 2
        assert f"(did you mean {meant!r}?)" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# Agents that fail
# ---------------------------------------------------------------------------------------------


def test_an_error_with_another_librarys_note_is_not_an_agents(capsys):
    def fails(error):
        def main(argv):
            error.add_note("when reading line 3")
            raise error

        return running.command("it")(main)

    assert fails(ValueError("wrong"))([]) == 2
    assert capsys.readouterr().err == "it: error: wrong\n"
    with pytest.raises(KeyError):  # a fault of the program's own
        fails(KeyError("wrong"))([])


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (FALSE, "false never gave a legal answer"),
        ("cmd,on_fault=random:false", "never gave a legal answer"),
        (
            "own.py:fails",
            "KeyError: 'weights' (own.py, line 6; raised by the agent 'own.py:fails')",
        ),
        ("own.py:illegal", "the agent 'own.py:illegal' chose the action -"),
        ("own.py:leaves", "the agent 'own.py:leaves' called sys.exit(0)"),
        ("own.py:piped", "BrokenPipeError: Broken pipe (own.py, line "),
        ("own.py:ragged", "must return whole numbers of shape"),
        ("follow.py:Begins", "KeyError: 'begin' (follow.py, line "),
        ("follow.py:Watches", "KeyError: 'watch' (follow.py, line "),
        ("follow.py:Ends", "KeyError: 'end' (follow.py, line "),
        ("follow.py:Fails", "KeyError: 'follow' (follow.py, line "),
        ("follow.py:Nobody", "the agent 'follow.py:Nobody' must follow by a Follower, got None"),
    ],
)
def test_agents_that_fail_end_the_command_with_1(folder, agent, message, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: SIM115
    calls = [
        ["evaluate", GAME.id, *table(agent), "--deals", "2", "--json", "result.json"],
        ["tournament", GAME.id, *table(agent), "--players", str(N), "--deals", "2"],
        ["record", GAME.id, *table(agent), "--games", "2", "--out", "new"],
        ["play", GAME.id, "--seat", str(N - 1), "--opponents", agent, "--seed", "1"],
    ]
    if agent == "follow.py:Ends":
        del calls[-1]  # nobody plays, so that game does not end
    for argv in calls:
        assert main(argv) == 1, argv
        assert message in capsys.readouterr().err.splitlines()[-1]
    if agent == FALSE:
        (report,) = json.loads(Path("result.json").read_text())["programs"]
        counted = report["illegal_answers"], report["timeouts"], report["crashes"]
        assert counted == (0, 0, 1)


# ---------------------------------------------------------------------------------------------
# JSON, pictures, completion
# ---------------------------------------------------------------------------------------------


def check(data, command):
    jsonschema.Draft202012Validator(
        {"$ref": f"#/$defs/{command}", "$defs": SCHEMA["$defs"]}
    ).validate(data)


def test_json_follows_its_schema(folder, capsys):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for deals, agent in itertools.product(("2", "6"), ("own.py:first_legal", FALSE)):
        argv = [*table(agent), "--deals", deals, "--json", "result.json"]
        main(["evaluate", GAME.id, *argv])
        check(json.loads(Path("result.json").read_text()), "evaluate")
        main(["tournament", GAME.id, *argv, "--players", str(N)])
        result = json.loads(Path("result.json").read_text())
        check(result, "tournament")
    with pytest.raises(jsonschema.ValidationError):
        check(result, "evaluate")


@pytest.mark.parametrize("game", EACH_GAME)
def test_info_follows_its_schema(game, capsys):
    assert main(["info", game.id, "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    check(info, "info")
    made = eval(info["pettingzoo"], {"card_envs": card_envs})
    assert (made.game.name, made.metadata["name"]) == (info["name"], info["name"])


def test_an_evaluation_is_drawn(folder, capsys):
    for deals, agent, status in (
        ("2", "random", 0),
        ("6", "random", 0),
        ("2", f"{FALSE} ${{_x $", 1),
    ):
        argv = ["evaluate", GAME.id, *table(agent), "--deals", deals, "--plot", "x.png"]
        assert main(argv) == status
        picture = Path("x.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        Path("x.png").unlink()


def test_names_are_printed_as_they_can_be_typed(folder, capsys):
    Path("own.py").rename("run/own.py")
    assert main(["evaluate", GAME.id, *table("run/own.py:first_legal"), "--deals", "2"]) == 0
    assert "run/own.py:first_legal" in capsys.readouterr().out


def test_the_shell_completes_commands_and_games():
    def completed(line):
        environment = {
            **os.environ,
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_STDOUT_FILENAME": os.devnull,
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "IFS": "\n",
            "_ARGCOMPLETE_IFS": "\n",
        }
        del environment["_ARGCOMPLETE_STDOUT_FILENAME"]
        code = (
            "import os, sys; os.dup2(1, 8); sys.argv = ['card-envs'];"
            "from card_envs.commands.cli import main; main()"
        )
        found = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return [word.strip() for word in found.stdout.split("\n") if word.strip()]

    assert completed("card-envs eva") == ["evaluate"]
    first = next(iter(GAMES))
    assert completed(f"card-envs info {first[:-2]}") == [first]


def test_two_results_do_not_go_into_one_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    results = ["--json", "x.png", "--plot", "./x.png"]
    for command in (
        ["evaluate", GAME.id, "--agents", *["random"] * N],
        ["tournament", GAME.id, "--agents", "random", "random", "--players", str(N)],
    ):
        assert main([*command, *results]) == 2
        assert "--json and --plot are the same file, " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_pictures_that_need_latex_are_no_format(capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", GAME.id, "--agents", *["random"] * N, "--plot", "x.pgf"])
    assert "x.pgf: the extension must be one of" in capsys.readouterr().err


def test_more_games_than_can_be_counted_are_refused(tmp_path, capsys):
    games = str(10**23)
    argv = ["record", GAME.id, "--agents", *["random"] * N, "--games", games]
    assert main([*argv, "--out", str(tmp_path / "a.jsonl")]) == 2
    assert "games must be a whole number from 1 to" in capsys.readouterr().err
