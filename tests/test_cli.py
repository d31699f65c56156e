"""The program ``card-envs``."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest

import card_envs
from card_envs.agents import make_agent
from card_envs.cli import _seat_opponents, main
from card_envs.games import GAMES, load_game
from card_envs.render import WIDTH
from card_envs.replay import Replay

GAME = load_game("beaver_gang")


@pytest.fixture
def person(monkeypatch):
    """Lets a person type these lines; then his input is at its end."""

    def types(*lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    types()
    return types


class PlayingPerson(io.TextIOBase):
    """Types an action that the program has just offered: the last of its list.

    ``seen`` holds what was on the screen at each question.
    """

    def __init__(self, capsys, *, first=()):
        self.capsys = capsys
        self.first = list(first)
        self.seen = []

    def readline(self, size=-1):
        self.seen.append(self.capsys.readouterr().out)
        if self.first:
            return self.first.pop(0) + "\n"
        return re.findall(r"^ +(\d+)  [a-z]", self.seen[-1], re.MULTILINE)[-1] + "\n"


def error_of(capsys, *argv):
    """The message for arguments that are wrong."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("card-envs: error: ")
    assert err.count("\n") == 1
    return err


# ---------------------------------------------------------------------------------------------
# list, info
# ---------------------------------------------------------------------------------------------


def test_list_has_a_line_for_every_game(capsys):
    assert main(["list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert re.split("  +", head) == [
        "game", "title", "players", "actions", "observation", "policies",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines] == list(GAMES)
    row = re.split("  +", lines[list(GAMES).index("beaver_gang")])
    assert row[:5] == ["beaver_gang", "Beaver Gang", "2-6", "97", str(GAME.fields.size)]


def test_info_tells_options_observation_and_agents(capsys):
    assert main(["info", "beaver_gang"]) == 0
    out = capsys.readouterr().out
    assert "Beaver Gang (beaver_gang_v0)" in out
    assert re.search("^players +2 to 6$", out, re.MULTILINE)
    assert re.search("^actions +97$", out, re.MULTILINE)
    assert re.search("^agents +random, heuristic", out, re.MULTILINE)
    for option in GAME.options:
        assert re.search(
            rf"^{option.name} +{re.escape(repr(option.default))} +{re.escape(option.allowed)} ",
            out,
            re.MULTILINE,
        )
    offset = 0
    for field in GAME.fields:
        index = f"{offset}-{offset + field.size - 1}" if field.size > 1 else f"{offset}"
        shape = "x".join(map(str, field.shape))
        assert re.search(rf"^{index} +{field.name} +{shape} +\S", out, re.MULTILINE)
        offset += field.size
    assert max(map(len, out.splitlines())) <= WIDTH


def test_info_names_the_games_if_there_is_no_such_game(capsys):
    assert "no game 'chess'; the games are beaver_gang" in error_of(capsys, "info", "chess")


# ---------------------------------------------------------------------------------------------
# play
# ---------------------------------------------------------------------------------------------

PLAY = ("play", "beaver_gang", "--players", "3", "--seed", "7")


def test_a_whole_game_is_played_and_saved(capsys, monkeypatch, tmp_path):
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = [*PLAY, "--option", "rounds=1", "--option", "memory=none", "--save", str(path)]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "The game is over." in out
    place = int(re.search(r"Your place: (\d) of 3", out)[1])

    replay = Replay.load(path)
    assert (replay.game, replay.seed) == ("beaver_gang_v0", 7)
    assert replay.options["num_players"] == 3
    assert replay.options["rounds"] == 1
    assert replay.options["memory"] == "none"
    heuristic = make_agent("heuristic", GAME)
    asked = 0
    for env, action in replay.steps():
        if env.agent_selection == "player_0":
            # The person saw his table, all legal actions in words, and took the last of them.
            seen = keyboard.seen[asked]
            assert GAME.describe(env.states, 0, 0) in seen
            for legal in env.legal_actions():
                assert re.search(rf"^ +{legal}  {env.action_name(legal)}$", seen, re.MULTILINE)
            assert action == env.legal_actions()[-1]
            asked += 1
        else:
            assert action == heuristic.choose(env.states, 0)
    assert asked == len(keyboard.seen) > 3
    assert env.states["terminated"][0]
    assert env.infos["player_0"]["place"] == place


def test_the_others_actions_are_told_and_nothing_hidden(capsys, monkeypatch, tmp_path):
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    assert main([*PLAY, "--seat", "1", "--save", str(path)]) == 0
    told = []
    stories = iter([*keyboard.seen, capsys.readouterr().out])
    others = 0
    for env, action in Replay.load(path).steps():
        if env.agent_selection == "player_1":
            assert story_of(next(stories)) == told
            told = []
        else:
            told.append((int(env.agent_selection[-1]), env.action_name(action)))
            others += 1
    assert story_of(next(stories)) == told
    assert others > 10


def story_of(text):
    return [
        (int(player), name)
        for player, names in re.findall(r"^Player (\d): (.*)\.$", text, re.MULTILINE)
        for name in names.split("; ")
    ]


def test_wrong_answers_are_asked_again(capsys, person):
    person("", "five", "5", "-1", "4.0", "00004", "4", "q")
    # With this seed a number lies on the discard pile.
    assert main(["play", "beaver_gang", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    wrong = re.findall(r"('.*?') is not possible here; possible are (.*), and q to quit", out)
    assert [answer for answer, _ in wrong] == ["''", "'five'", "'5'", "'-1'", "'4.0'", "'00004'"]
    assert {allowed for _, allowed in wrong} == {"0-4"}
    assert "You have drawn" in out
    assert "You left the game." in out


@pytest.mark.parametrize("answers", [["q"], ["Q"], []])
def test_quitting_is_clean_and_saves_the_beginning(capsys, person, tmp_path, answers):
    path = tmp_path / "game.json"
    person("4", *answers)
    assert main([*PLAY, "--save", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "You left the game." in out
    assert "Your place" not in out
    assert err == ""
    assert Replay.load(path).actions == (4,)


def test_a_long_list_of_actions_comes_before_the_table(capsys, monkeypatch):
    for seed in range(100):
        env = card_envs.make("beaver_gang")
        env.reset(seed=seed)
        env.step(4)
        if len(env.legal_actions()) > 40:
            break
    keyboard = PlayingPerson(capsys, first=["4", "q"])
    monkeypatch.setattr(sys, "stdin", keyboard)
    assert main(["play", "beaver_gang", "--seed", str(seed)]) == 0
    seen = keyboard.seen[1]
    assert seen.index("swap slot 3 with slot 3") < seen.index("You have drawn a swap")


def test_opponents_may_differ(capsys, person):
    argv = [*PLAY, "--seat", "2", "--opponents", "random", "heuristic"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "You are player 2." in out
    # From the person's left on.
    assert "Player 0 is random." in out
    assert "Player 1 is heuristic." in out


def test_random_opponents_choose_differently():
    opponents = _seat_opponents(GAME, ["random"], 3, seat=1, seed=2**64 - 1)
    assert sorted(opponents) == [0, 2]
    env = card_envs.make("beaver_gang", num_players=3)
    env.reset(seed=7)
    assert len(env.legal_actions()) == 5
    choices = [[agent.choose(env.states, 0) for _ in range(50)] for agent in opponents.values()]
    assert choices[0] != choices[1]


def test_without_a_seed_one_is_drawn_and_told(capsys, person):
    seeds = set()
    for _ in range(2):
        assert main(["play", "beaver_gang"]) == 0
        seeds.add(re.search(r"seed (\d+)\.", capsys.readouterr().out)[1])
    assert len(seeds) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--players", "7"], "2 to 6 players"),
        (["--players", "1"], "2 to 6 players"),
        (["--seat", "4"], "--seat must be from 0 to 3, got 4"),
        (["--seat", "-1"], "--seat must be from 0 to 3"),
        (["--opponents", "nobody"], "no agent 'nobody'"),
        (["--opponents", "random", "random"], "each of the 3 other seats, got 2"),
        (["--seed", "-1"], "seed must be"),
        (["--option", "rounds"], "KEY=VALUE, got 'rounds'"),
        (["--option", "rounds=many"], "rounds must be None or a whole number"),
        (["--option", "rounds=0"], "rounds must be"),
        (["--option", "memory=some"], "memory must be 'perfect' or 'none'"),
        (["--option", "colour=red"], "no option 'colour'; its options are reward, memory"),
        (["--save", "no/such/folder/file"], "no/such/folder/file"),
    ],
)
def test_wrong_arguments_of_play_are_named(capsys, arguments, message):
    assert message in error_of(capsys, "play", "beaver_gang", *arguments)


@pytest.mark.parametrize("argv", [[], ["play"], ["dance"], ["play", "beaver_gang", "--seed", "x"]])
def test_arguments_that_cannot_be_read_give_code_2(capsys, argv):
    with pytest.raises(SystemExit) as raised:
        main(argv)
    assert raised.value.code == 2
    assert "error:" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# replay
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def replay_file(tmp_path):
    env = card_envs.make("beaver_gang", num_players=2, rounds=1)
    env.reset(seed=3)
    actions = []
    heuristic = make_agent("heuristic", GAME)
    while env.legal_actions():
        actions.append(heuristic.choose(env.unwrapped.states, 0))
        env.step(actions[-1])
    path = tmp_path / "replay.json"
    Replay.of(env, 3, actions).save(path)
    return path


def test_replay_shows_every_table_and_action(capsys, replay_file):
    assert main(["replay", str(replay_file)]) == 0
    out = capsys.readouterr().out
    position = 0
    for number, (env, action) in enumerate(Replay.load(replay_file).steps(), 1):
        player = int(env.agent_selection[-1])
        for text in (
            GAME.describe(env.states, 0, player),
            f"Decision {number}, player_{player}: {env.action_name(action)}.",
        ):
            assert text in out[position:]
            position = out.index(text, position) + len(text)
    assert number > 5
    assert "The game is over." in out[position:]


def test_a_replay_without_actions_shows_the_beginning(capsys, replay_file):
    data = json.loads(replay_file.read_text())
    replay_file.write_text(json.dumps({**data, "actions": []}))
    assert main(["replay", str(replay_file)]) == 0
    out = capsys.readouterr().out
    assert "0 decisions" in out
    assert out.count("Your turn") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("hello", "not JSON"), ('{"game": "beaver_gang_v0"}', "'seed' is missing"), ("", "not JSON")],
)
def test_a_wrong_replay_file_is_an_error(capsys, tmp_path, text, message):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    error = error_of(capsys, "replay", str(path))
    assert "wrong.json" in error
    assert message in error


def test_a_missing_replay_file_is_an_error(capsys, tmp_path):
    assert "none.json" in error_of(capsys, "replay", str(tmp_path / "none.json"))


# ---------------------------------------------------------------------------------------------
# The process
# ---------------------------------------------------------------------------------------------


def test_the_program_needs_no_training_libraries(replay_file):
    code = (
        "import sys; from card_envs.cli import main; "
        "assert main(['list']) == 0; "
        f"assert main(['replay', {str(replay_file)!r}]) == 0; "
        "loaded = {'torch', 'stable_baselines3', 'sb3_contrib', 'matplotlib'} & set(sys.modules); "
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_who_leaves_early_sees_no_traceback(replay_file):
    command = f"main(['replay', {str(replay_file)!r}])"
    code = f"import sys; from card_envs.cli import main; sys.exit({command})"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        error = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in error
