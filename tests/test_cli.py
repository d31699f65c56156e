"""The program ``card-envs``."""

from __future__ import annotations

import ctypes
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from math import ceil
from pathlib import Path

import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    UNIFORM,
    kit_of,
    mean_length,
    mid_game,
    module_of,
    needs_training,
    play_on,
    replayed,
)
from person import PlayingPerson, story_of

import card_envs
from card_envs.agents import RandomAgent, agent_names, choose
from card_envs.agents.shipped import policy_versions
from card_envs.agents.table import seat_agents
from card_envs.commands.cli import main
from card_envs.commands.play import _by_seat, _explain
from card_envs.commands.running import run as run_command
from card_envs.contract.options import VIEW_OPTIONS
from card_envs.engine.history import Replay
from card_envs.games import GAMES, about
from card_envs.render.text import describe
from card_envs.text.answers import meant
from card_envs.utils.words import WIDTH

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
FOREIGN = [param for param in EACH_GAME if not kit_of(param.values[0]).is_own]

ROOT = Path(__file__).parent.parent
GAME = ALL_GAMES[0]  # where any game will do
A_SCREENFUL = 20  # of actions


def some_players(game):
    """Three, or the nearest number that the game allows."""
    return min(max(3, game.min_players), game.max_players)


@pytest.fixture
def person(monkeypatch):
    """Lets a person type these lines; then their input is at its end."""

    def types(*lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    types()
    return types


def error_of(capsys, *argv):
    """The message for arguments that are wrong."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("card-envs: error: ")
    assert err.count("\n") == 1
    return err


def beginning(game, num_players, seed):
    """The game as ``play`` begins it."""
    env = card_envs.make(game.name, num_players=num_players)
    env.reset(seed=seed)
    return env


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
    for game, line in zip(ALL_GAMES, lines, strict=True):
        players = f"{game.min_players}-{game.max_players}"
        numbers = [players, str(game.num_actions), str(game.fields.size)]
        assert re.split("  +", line)[:5] == [game.id, game.title, *numbers]


@pytest.mark.parametrize("named_by", ["id", "name"])
@each_game
def test_info_tells_options_actions_observation_and_agents(game, named_by, capsys):
    assert main(["info", getattr(game, named_by)]) == 0
    out = capsys.readouterr().out
    assert f"{game.title} ({game.name})" in out
    assert about(game) in " ".join(out.split())
    players = f"{game.min_players} to {game.max_players}, by default {game.default_players}"
    assert re.search(f"^players +{players}$", out, re.MULTILINE)
    assert re.search(f"^actions +{game.num_actions}$", out, re.MULTILINE)
    agents = [*agent_names(game), *policy_versions(game)]
    assert re.search(f"^agents +{', '.join(agents)}$", out, re.MULTILINE)
    for group, actions in game.actions.groups(range(game.num_actions)).items():
        index = f"{actions[0]}-{actions[-1]}" if len(actions) > 1 else f"{actions[0]}"
        assert re.search(rf"^{index} +{re.escape(group)}$", out, re.MULTILINE)
    for option in (*game.options, *VIEW_OPTIONS):
        assert re.search(
            rf"^{option.name} +{re.escape(repr(option.default))} +{re.escape(option.allowed)} ",
            out,
            re.MULTILINE,
        )
    for index, name, shape, scale, _ in game.fields.rows():
        pattern = rf"^{re.escape(index)} +{name} +{shape} +{re.escape(scale)} +\S"
        assert re.search(pattern, out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= WIDTH


def test_info_names_the_games_if_there_is_no_such_game(capsys):
    error = error_of(capsys, "info", "chess")
    assert f"no game 'chess'; the games are {', '.join(GAMES)}" in error
    assert "--games-from MODULE" in error


# ---------------------------------------------------------------------------------------------
# Games of other packages
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("game", FOREIGN)
def test_games_from_another_package(game, tmp_path):
    top = sys.modules[game.package.partition(".")[0]]
    folders = [str(Path(next(iter(top.__path__))).parent), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "card_envs.commands.cli", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )

    for arguments in (
        ("--games-from", game.package, "list"),
        ("list", "--games-from", game.package),
    ):
        listed = run(*arguments)
        assert listed.returncode == 0, listed.stderr
        assert listed.stdout.splitlines()[-1].startswith(f"{game.id} ")
    described = run("info", game.id, "--games-from", game.package)
    assert f"{game.title} ({game.name})" in described.stdout
    (tmp_path / "broken_module.py").write_text("1 +")
    for wrong in ("no.such.module", "json", "broken_module"):
        refused = run("--games-from", wrong, "list")
        assert refused.returncode == 2
        assert re.fullmatch(rf"card-envs: error: .*{wrong}.*\n", refused.stderr)


# ---------------------------------------------------------------------------------------------
# play
# ---------------------------------------------------------------------------------------------


@each_game
def test_a_whole_game_is_played_and_saved(game, capsys, monkeypatch, tmp_path):
    n = some_players(game)
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = [
        "play",
        game.id,
        "--players",
        str(n),
        "--seed",
        "7",
        "--option",
        "memory=none",
        "reward=win",
    ]
    assert main([*argv, "--save", str(path)]) == 0
    out = capsys.readouterr().out
    assert "The game is over." in out
    place = int(re.search(rf"Your place: (\d) of {n}", out)[1])

    replay = Replay.load(path)
    assert (replay.game, replay.seed) == (game.name, 7)
    assert replay.options["num_players"] == n
    assert replay.options["reward"] == "win"
    opponents = seat_agents(_by_seat(game, [], n, seat=0), game, 7)  # as Table seeds them
    asked = 0
    for env, action in replayed(replay):
        if env.agent_selection == "player_0":
            # They saw their table and which actions there are, asked for all of them in words,
            # and took the last.
            seen, listed = keyboard.seen[asked], keyboard.listed[asked]
            names = {legal: env.action_name(legal) for legal in env.legal_actions()}
            lines = [f"{number:>5}  {name}" for number, name in names.items()]
            *_, shown = seen.partition(describe(game, env.states, 0, 0, 1) + "\n\n")
            *shown, prompt = shown.splitlines()
            assert listed.splitlines() == [*lines, prompt]
            if len(lines) > A_SCREENFUL:
                assert shown == [
                    f"{actions[0]:>5}  {names[actions[0]]}"
                    if len(actions) == 1
                    else f"       {group} ({len(actions)} actions)"
                    for group, actions in game.actions.groups(names).items()
                ]
            else:
                assert shown == lines
            assert action == max(names)
            asked += 1
        else:
            player = env.possible_agents.index(env.agent_selection)
            assert action == choose(opponents[player], game, env.states)
    assert asked == len(keyboard.seen) >= min(4, ceil(mean_length(game, n) / n / 2))
    assert env.states["terminated"][0]
    places = [env.infos[agent]["place"] for agent in env.possible_agents]
    assert places[0] == place
    assert (f"of {n} (shared)" in out) is (places.count(place) > 1)


@each_game
def test_the_others_actions_are_told_and_nothing_hidden(game, capsys, monkeypatch, tmp_path):
    n = some_players(game)
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = ["play", game.id, "--players", str(n), "--seed", "7", "--seat", "1"]
    assert main([*argv, "--save", str(path)]) == 0
    told = []
    stories = iter([*keyboard.seen, capsys.readouterr().out])
    others = 0
    for env, action in replayed(Replay.load(path)):
        if env.agent_selection == "player_1":
            assert story_of(next(stories)) == told
            told = []
        else:
            name = game.public_action_name(env.states, 0, action)
            told.append((env.possible_agents.index(env.agent_selection), name))
            others += 1
    assert story_of(next(stories)) == told
    assert others >= min(11, mean_length(game, n) / n / 2)


@few_games
def test_wrong_answers_are_asked_again(game, capsys, person):
    n = some_players(game)
    env = beginning(game, n, 1)
    legal = env.legal_actions()
    seat = env.possible_agents.index(env.agent_selection)
    illegal = [str(a) for a in range(game.num_actions) if a not in legal][:1]
    wrong = ["", "xyzzy", *illegal, str(game.num_actions), "-1", f"{legal[0]}.0", f"0000{legal[0]}"]
    person(*wrong, str(legal[0]), "q")
    argv = ["play", game.id, "--players", str(n), "--seed", "1", "--seat", str(seat)]
    assert main(argv) == 0
    out = capsys.readouterr().out
    refused = re.findall(r"('.*?') is not possible here; you can enter (.*), or q to quit", out)
    assert [answer for answer, _ in refused] == [repr(answer) for answer in wrong]
    possible = {allowed for _, allowed in refused}
    assert len(possible) == 1
    assert (possible == {"what ? shows"}) == (len(legal) > A_SCREENFUL)
    assert f"You: {env.action_name(legal[0])}." in out
    assert re.search(r"You left the game\.|The game is over\.", out)


@few_games
def test_an_answer_that_fits_several_actions_is_asked_again(game, capsys, person):
    """The first word of several actions' names."""
    for seed in range(20):
        env = beginning(game, game.default_players, seed)
        names = {action: env.action_name(action) for action in env.legal_actions()}
        words = [name.split()[0].strip(":") for name in names.values()]
        answer = max(words, key=words.count)
        found = meant(answer, names)
        if len(found) > 1:
            break
    else:
        pytest.skip("no two actions begin with the same word")
    seat = env.possible_agents.index(env.agent_selection)
    person(answer, "q")
    assert main(["play", game.id, "--seed", str(seed), "--seat", str(seat)]) == 0
    *_, listed, left = capsys.readouterr().out.split("Your action (")
    *_, listed = listed.partition("q to quit): ")
    told = re.findall(r"^ *(\d+)  (.*)$", listed, re.MULTILINE)
    assert [(int(action), name) for action, name in told] == [(a, names[a]) for a in found]
    assert f"{answer!r} could mean any of these." in listed
    assert "You left the game." in left


@pytest.mark.parametrize("answers", [["q"], ["Q"], []])
def test_quitting_is_clean_and_saves_the_beginning(capsys, person, tmp_path, answers):
    path = tmp_path / "game.json"
    n = some_players(GAME)
    env = beginning(GAME, n, 7)
    seat = env.possible_agents.index(env.agent_selection)
    first = env.legal_actions()[-1]
    person(str(first), *answers)
    argv = ["play", GAME.id, "--players", str(n), "--seed", "7", "--seat", str(seat)]
    assert main([*argv, "--save", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "You left the game." in out
    assert "Your place" not in out
    assert err == ""
    actions = Replay.load(path).actions
    assert actions[0] == first
    movers = [
        env.possible_agents.index(env.agent_selection) for env, _ in replayed(Replay.load(path))
    ]
    assert movers[0] == seat
    assert seat not in movers[1:]


def test_an_interruption_while_an_opponent_thinks_saves_the_beginning(
    capsys, person, tmp_path, monkeypatch
):
    path = tmp_path / "game.json"
    n = some_players(GAME)
    env = beginning(GAME, n, 7)
    seat = env.possible_agents.index(env.agent_selection)
    first = env.legal_actions()[-1]
    person(str(first))

    def think(self, turn):
        raise KeyboardInterrupt

    monkeypatch.setattr(RandomAgent, "act", think)
    argv = ["play", GAME.id, "--players", str(n), "--seed", "7", "--seat", str(seat)]
    assert main([*argv, "--opponents", "random", "--save", str(path)]) == 0
    assert "You left the game." in capsys.readouterr().out
    assert Replay.load(path).actions == (first,)


NAMES = [
    "draw",
    "carry out draw two",
    "knock",
    "do not knock",
    "take the discard into slot 2",
    "take the discard into slot 10",
    "peek at slot 2",
    "swap slot 1 with slot 3 of the second player to the left",
    "swap slot 1 with slot 2 of the third player to the left",
    "exchange row 1: lay down 1 dog",
    "exchange row 3: lay down 2 bears, 1 mouse",
    "exchange row 2: lay down 1 bear, 1 pig",
    "exchange row 2: lay down 2 pigs",
    "exchange row 2: lay down 1 pig, 1 cat",
    "play: 2 seals",
    "play: 2 seals, 1 joker",
    "ask for help with: 2 seals",
    "ask for help with: 1 hedgehog",
    "give away: 1 polar bear",
    "pass",
]


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("0", ["draw"]),
        ("draw", ["draw"]),  # and not what has a word that begins like it
        ("out dr", ["carry out draw two"]),
        ("dra t", ["carry out draw two"]),
        ("Knock", ["knock"]),
        ("kno", ["knock", "do not knock"]),
        ("not", ["do not knock"]),
        ("take slot 2", ["take the discard into slot 2"]),
        ("take slot 1", []),  # not the beginning of 10
        ("peek 2", []),  # the number stands behind "slot"
        ("slot peek", []),
        ("swap slot 1 slot 3 second", ["swap slot 1 with slot 3 of the second player to the left"]),
        ("swap 1 3 second", []),
        ("0 1", []),  # no letters: no words
        ("", []),
        ("?!", []),
        ("row 3: 2 bears, mouse", ["exchange row 3: lay down 2 bears, 1 mouse"]),
        ("Row 1 dog", ["exchange row 1: lay down 1 dog"]),
        ("row 3 mouse mouse", []),
        (
            "row 2 pig",
            [
                "exchange row 2: lay down 1 bear, 1 pig",
                "exchange row 2: lay down 2 pigs",
                "exchange row 2: lay down 1 pig, 1 cat",
            ],
        ),
        ("row 10", []),
        ("play 2 seals", ["play: 2 seals"]),
        ("Play 2 seals, 1 joker", ["play: 2 seals, 1 joker"]),
        ("2 seals", ["play: 2 seals", "play: 2 seals, 1 joker", "ask for help with: 2 seals"]),
        ("ask 1 hedgehog", ["ask for help with: 1 hedgehog"]),
        ("give bear", ["give away: 1 polar bear"]),
        ("give 1 polar", ["give away: 1 polar bear"]),
        ("pass", ["pass"]),
    ],
)
def test_answers_may_be_words(answer, names):
    assert [NAMES[action] for action in meant(answer, dict(enumerate(NAMES)))] == names


def test_a_number_in_an_answer_is_no_beginning_of_another():
    names = {3: "take slot 1", 4: "take slot 10", 5: "take slot 1 twice"}
    assert meant("slot 1", names) == [3, 5]
    assert meant("take slot 1", names) == [3]
    assert meant("slot 10", names) == [4]


def test_an_answer_is_explained():
    names = dict(enumerate(NAMES))
    bears = f"{10:>5}  {NAMES[10]}\n{11:>5}  {NAMES[11]}\n{18:>5}  {NAMES[18]}"
    assert _explain("bear", [10, 11, 18], names) == f"{bears}\n'bear' could mean any of these."
    near = _explain("bears row 3", [], names)
    assert near == (
        f"{10:>5}  {NAMES[10]}\n'bears row 3' has the words of these, but in another order."
    )
    assert _explain("?", [], names) == "\n".join(f"{k:>5}  {name}" for k, name in names.items())
    for number, possible in ((5, "0-4"), (len(NAMES), "0-19"), (A_SCREENFUL + 1, "what ? shows")):
        some = {k: f"action {'x' * k}" for k in range(number)}
        assert _explain("foo", [], some) == (
            f"'foo' is not possible here; you can enter {possible}, or q to quit."
        )


@each_game
def test_every_action_can_be_chosen_by_its_name_and_by_its_number(game):
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    for action, name in names.items():
        assert meant(name, names) == meant(str(action), names) == [action]


@few_games
def test_opponents_may_differ(game, capsys, person):
    n = game.max_players
    seat = n - 1
    names = ["random", game.default_opponent, *["random"] * n][: n - 1]
    argv = ["play", game.id, "--players", str(n), "--seed", "7", "--seat", str(seat)]
    assert main([*argv, "--opponents", *names]) == 0
    out = capsys.readouterr().out
    assert f"You are player {seat}." in out
    for player, name in enumerate(names):  # from the person's left on
        assert f"Player {player} is {name}." in out


@few_games
def test_opponents_are_the_games_default_unless_named(game, capsys, person):
    assert main(["play", game.id]) == 0
    out = capsys.readouterr().out
    others = re.findall(r"^Player \d is (.*)\.$", out, re.MULTILINE)
    assert others == [game.default_opponent] * (game.default_players - 1)


@few_games
def test_random_opponents_choose_differently(game):
    n = some_players(game)
    if n < 3:
        pytest.skip("there is one opponent only")
    opponents = seat_agents(_by_seat(game, ["random"], n, seat=1), game, 2**64 - 1)
    assert [agent is None for agent in opponents] == [player == 1 for player in range(n)]
    env = beginning(game, n, 7)
    while len(env.legal_actions()) < 2:
        env.step(env.legal_actions()[0])
    others = [agent for agent in opponents if agent is not None]
    choices = [[choose(agent, game, env.states) for _ in range(50)] for agent in others]
    assert choices[0] != choices[1]


def test_without_a_seed_one_is_drawn_and_told(capsys, person):
    seeds = set()
    for _ in range(2):
        assert main(["play", GAME.id]) == 0
        seeds.add(re.search(r"seed (\d+)\.", capsys.readouterr().out)[1])
    assert len(seeds) == 2


@few_games
def test_wrong_arguments_of_play_are_named(game, capsys):
    low, high, n = game.min_players, game.max_players, game.default_players
    wrong = [
        (["--players", str(high + 1)], f"{low} to {high} players"),
        (["--players", str(low - 1)], f"{low} to {high} players"),
        (["--seat", str(n)], f"--seat must be from 0 to {n - 1}, got {n}"),
        (["--seat", "-1"], f"--seat must be from 0 to {n - 1}"),
        (["--opponents", "nobody"], "no agent 'nobody'"),
        (["--opponents", *["random"] * n], f"each of the {n - 1} other seats, got {n}"),
        (["--seed", "-1"], "seed must be"),
        (["--option", "reward"], "KEY=VALUE, got 'reward'"),
        (["--option", "max_steps=many"], "max_steps must be a whole number"),
        (["--option", "max_steps=9", "max_steps=8"], "the option max_steps is given twice"),
        (["--option", "max_steps=0"], "max_steps must be"),
        (["--option", "memory=some"], "memory must be 'perfect' or 'none'"),
        (["--option", "colour=red"], "no option 'colour'; its options are reward, max_steps"),
    ]
    for option in game.own_options:
        wrong.append((["--option", f"{option.name}=wrong"], f"{option.name} must be"))
    for arguments, message in wrong:
        assert message in error_of(capsys, "play", game.id, *arguments)


def test_a_replay_that_cannot_be_written_is_found_before_the_game(capsys):
    with pytest.raises(SystemExit) as raised:
        main(["play", GAME.id, "--save", f"{__file__}/file"])
    assert raised.value.code == 2
    assert "test_cli.py is not a folder" in capsys.readouterr().err


def test_a_game_that_is_left_replaces_no_file(tmp_path, monkeypatch):
    path = tmp_path / "game.json"
    path.write_text("before")
    seen = []

    def leave(prompt):
        seen.append(path.read_text())
        return "q"

    monkeypatch.setattr("builtins.input", leave)
    assert main(["play", GAME.id, "--save", str(path)]) == 0
    assert seen == [path.read_text()] == ["before"]
    assert Replay.load(tmp_path / "game-1.json").game == GAME.name


def test_a_game_is_saved_though_an_opponent_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("fails.py").write_text("def fails(observation, action_mask):\n    raise OSError('gone')\n")
    monkeypatch.setattr(sys, "stdin", PlayingPerson(capsys))
    argv = ["play", GAME.id, "--opponents", "fails.py:fails", "--seed", "3", "--save", "game.json"]
    assert main(argv) == 1
    assert "OSError: gone" in capsys.readouterr().err
    assert Replay.load("game.json").seed == 3
    for number in (1, 2):  # what is there is replaced by finished games alone
        argv[argv.index("--seed") + 1] = str(3 + number)
        assert main(argv) == 1
        assert f"game-{number}.json." in capsys.readouterr().out
    assert [Replay.load(f"game{k}.json").seed for k in ("", "-1", "-2")] == [3, 4, 5]


@pytest.mark.parametrize("argv", [[], ["play"], ["dance"], ["play", GAME.id, "--seed", "x"]])
def test_arguments_that_cannot_be_read_give_code_2(capsys, argv):
    with pytest.raises(SystemExit) as raised:
        main(argv)
    assert raised.value.code == 2
    assert "error:" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# replay
# ---------------------------------------------------------------------------------------------


def write_replay(game, path):
    """A whole game; one that takes long is truncated."""
    env = module_of(game).env(num_players=game.min_players, max_steps=150)
    env.reset(seed=3)
    play_on(env, UNIFORM, 10_000)
    Replay.of(env).save(path)
    return path


@pytest.fixture
def replay_file(tmp_path):
    return write_replay(GAME, tmp_path / "replay.json")


@each_game
def test_replay_shows_every_table_and_action(game, capsys, tmp_path):
    replay_file = write_replay(game, tmp_path / "replay.json")
    assert main(["replay", str(replay_file)]) == 0
    out = capsys.readouterr().out
    position = 0
    for number, (env, action) in enumerate(replayed(Replay.load(replay_file)), 1):
        player = env.possible_agents.index(env.agent_selection)
        name = env.game.action_name_at(env.states, 0, action)
        for text in (
            describe(env.game, env.states, 0, player),
            f"Decision {number}, player_{player}: {name}.",
        ):
            assert text in out[position:]
            position = out.index(text, position) + len(text)
    assert number == env.states["steps"][0] > 0
    assert re.search("The game (is over|was truncated)", out[position:])


def test_a_replay_without_actions_shows_the_beginning(capsys, tmp_path):
    path = tmp_path / "replay.json"
    Replay.of(beginning(GAME, some_players(GAME), 3)).save(path)
    assert main(["replay", str(path)]) == 0
    out = capsys.readouterr().out
    assert "0 decisions" in out
    assert out.count("Your turn") == 1
    assert "Decision" not in out


@few_games
def test_a_replay_with_redraws_is_shown(game, capsys, tmp_path):
    path = tmp_path / "replay.json"
    env = mid_game(game, game.min_players)
    env.determinize("player_1", 5)
    env.step(env.legal_actions()[0])
    Replay.of(env).save(path)
    assert main(["replay", str(path)]) == 0
    out = capsys.readouterr().out
    decisions = int(env.states["steps"][0])
    assert out.count("\nDecision ") == decisions
    assert describe(game, env.states, 0, env.possible_agents.index(env.agent_selection)) in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "not: "),
        (f'{{"game": "{GAME.name}"}}', "or it is an earlier one, without a format"),
        ("", "it has 0 games, so no game 1"),
    ],
)
def test_a_wrong_replay_file_is_an_error(capsys, tmp_path, text, message):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    error = error_of(capsys, "replay", str(path))
    assert "wrong.json" in error
    assert message in error


def test_a_damaged_replay_file_is_an_error(capsys, replay_file):
    data = json.loads(replay_file.read_text(encoding="utf-8"))
    data["seed"] += 1
    replay_file.write_text(json.dumps(data), encoding="utf-8")
    assert "replay.json: this saved game is damaged" in error_of(capsys, "replay", str(replay_file))


def test_a_replay_file_without_an_end_is_not_read_to_it(capsys, replay_file, monkeypatch):
    monkeypatch.setattr("card_envs.engine.history._MOST_BYTES", 100)
    error = error_of(capsys, "replay", str(replay_file))
    assert "replay.json, line 1: a game has at most 100 bytes" in error


def test_what_a_file_holds_does_not_control_the_terminal(capsys):
    def fail():
        raise ValueError("a key \x1b]0;title\x07 of a file\nand more")

    assert run_command("here", fail) == 2
    assert capsys.readouterr().err == "here: error: a key �]0;title� of a file\nand more\n"


def test_a_missing_replay_file_is_an_error(capsys, tmp_path):
    assert "none.json" in error_of(capsys, "replay", str(tmp_path / "none.json"))


# ---------------------------------------------------------------------------------------------
# The process
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["card_envs", "card_envs.commands.cli"])
def test_the_package_and_the_module_are_the_program(module):
    command = [sys.executable, "-m", module, "info", "chess"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("card-envs: error: ")


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"card-envs {card_envs.__version__}\n"


def test_the_program_needs_no_libraries_of_training_and_datasets(replay_file):
    code = (
        "import sys, card_envs.datasets; from card_envs.commands.cli import main; "
        "assert main(['list']) == 0; "
        f"assert main(['replay', {str(replay_file)!r}]) == 0; "
        "heavy = {'torch', 'stable_baselines3', 'sb3_contrib', 'matplotlib', 'minari'}; "
        "loaded = heavy & set(sys.modules); "
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_who_leaves_early_sees_no_traceback(replay_file):
    command = f"main(['replay', {str(replay_file)!r}])"
    code = f"import sys; from card_envs.commands.cli import main; sys.exit({command})"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        error = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in error


def test_what_stops_a_process_interrupts_its_command(capsys):
    """So that nothing half written is left."""
    went_on = []
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        number = getattr(signal, name, signal.SIGTERM)
        before = signal.getsignal(number)

        def stopped(number=number):
            signal.raise_signal(number)
            went_on.append(number)

        assert run_command("the program", stopped) == 130
        assert capsys.readouterr().err == "the program: interrupted\n"
        assert signal.getsignal(number) is before
    assert not went_on


@pytest.mark.parametrize("fails", [True, False])
def test_an_interrupt_that_a_compiler_loses_is_one(fails, capsys):
    """LLVM's calls a Python function, whose exceptions get lost; it may then lack what that gives,
    or go on."""
    hook = sys.unraisablehook

    def compile_interrupted():
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGTERM))()
        if fails:
            raise RuntimeError("no compiled object yet")
        for _ in range(6000):
            time.sleep(0.01)

    assert run_command("the program", compile_interrupted) == 130
    assert capsys.readouterr().err == "the program: interrupted\n"
    assert sys.unraisablehook is hook
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no terminals' sessions")
def test_what_the_process_ignores_stays_ignored(monkeypatch):
    """As with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_command("the program", lambda: signal.raise_signal(signal.SIGHUP)) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "encoding", ["ascii", "latin-1", "cp1252", "ascii:surrogateescape", "utf-8"]
)
def test_output_degrades_with_the_terminals_encoding(encoding, monkeypatch):
    """What the encoding lacks is printed as something else; nothing else changes."""
    name, _, errors = encoding.partition(":")
    output = io.TextIOWrapper(io.BytesIO(), name, errors or "strict")
    error = io.TextIOWrapper(io.BytesIO(), name)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "stderr", error)

    def show():
        print("one … and \udcff two → three")
        print("four \U0001f600", file=sys.stderr)

    assert run_command("the program", show) == 0
    error.flush()
    printed = output.buffer.getvalue().decode(name)
    assert re.fullmatch("one . and . two . three\n", printed)
    assert error.buffer.getvalue().decode(name).startswith("four ")
    assert (output.errors, error.errors) == (errors or "strict", "strict")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_results_are_shown_in_any_encoding(encoding, monkeypatch):
    game = ALL_GAMES[0]

    def shown(encoding, *words):
        output = io.TextIOWrapper(io.BytesIO(), encoding, "strict")
        monkeypatch.setattr(sys, "stdout", output)
        assert main(list(words)) == 0
        return output.buffer.getvalue().decode(encoding)

    agents = ["--agents", *["random"] * game.min_players, "--deals", "2"]
    assert "random" in shown(encoding, "evaluate", game.id, *agents)
    players = ["--players", str(game.min_players), "--agents", "random", game.default_opponent]
    if game.default_opponent != "random":
        assert "random" in shown(encoding, "tournament", game.id, *players, "--deals", "2")
    assert len(shown(encoding, "info", game.id)) == len(shown("utf-8", "info", game.id))
    about = [json.loads(shown(e, "info", game.id, "--json")) for e in (encoding, "utf-8")]
    assert about[0] == about[1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_an_output_that_is_full_is_an_error_in_one_line():
    code = "import sys; from card_envs.commands.cli import main; sys.exit(main(['list']))"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ([sys.executable, "-m", "card_envs", "list"], "numba"),
        ([sys.executable, "-m", "benchmarks.soak"], "argparse"),
        pytest.param([sys.executable, "-m", "training.train"], "torch", marks=needs_training),
    ],
)
def test_interrupted_while_it_is_still_importing(command, module, tmp_path):
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode != 0
    assert run.stderr == "interrupted\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="XDG_CACHE_HOME names no folder there")
def test_compiling_ahead_fills_the_cache(tmp_path):
    """A second start then compiles nothing."""
    game = min(ALL_GAMES, key=lambda game: game.num_actions)
    arguments = ["compile", game.id]
    if not kit_of(game).is_own:
        arguments += ["--games-from", game.package]
    program = f"import sys; from card_envs.commands.cli import main; sys.exit(main({arguments}))"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    environment.pop("NUMBA_DISABLE_JIT", None)

    def compile_it():
        command = [sys.executable, "-c", program]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}

    entries = compile_it()
    assert entries
    assert compile_it() == entries
