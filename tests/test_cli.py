"""The program ``card-envs``."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest
from helpers import ALL_GAMES, EACH_GAME, UNIFORM, Habits

import card_envs
from card_envs.agents import make_agent
from card_envs.cli import _meant, _seat_opponents, main
from card_envs.games import GAMES, load_game
from card_envs.render import WIDTH, by_kind
from card_envs.replay import Replay

each_game = pytest.mark.parametrize("game", EACH_GAME)


@pytest.fixture
def person(monkeypatch):
    """Lets a person type these lines; then his input is at its end."""

    def types(*lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    types()
    return types


class PlayingPerson(io.TextIOBase):
    """Asks for all actions, then types the last one of the list.

    ``seen`` holds what was on the screen at each first question, ``listed`` the lists.
    """

    def __init__(self, capsys):
        self.capsys = capsys
        self.seen = []
        self.listed = []

    def readline(self, size=-1):
        out = self.capsys.readouterr().out
        if len(self.seen) == len(self.listed):
            self.seen.append(out)
            return "?\n"
        self.listed.append(out)
        return re.findall(r"^ +(\d+)  [a-z]", out, re.MULTILINE)[-1] + "\n"


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
    for game, line in zip(ALL_GAMES, lines, strict=True):
        players = f"{game.min_players}-{game.max_players}"
        numbers = [players, str(game.num_actions), str(game.fields.size)]
        assert re.split("  +", line)[:5] == [game.id, game.title, *numbers]


@each_game
def test_info_tells_options_actions_observation_and_agents(game, capsys):
    assert main(["info", game.id]) == 0
    out = capsys.readouterr().out
    assert f"{game.title} ({game.name})" in out
    players = f"{game.min_players} to {game.max_players}"
    assert re.search(f"^players +{players}$", out, re.MULTILINE)
    assert re.search(f"^actions +{game.num_actions}$", out, re.MULTILINE)
    assert re.search("^agents +random, heuristic", out, re.MULTILINE)
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    for kind, actions in by_kind(names).items():
        index = f"{actions[0]}-{actions[-1]}" if len(actions) > 1 else f"{actions[0]}"
        assert re.search(rf"^{index} +{re.escape(kind)}$", out, re.MULTILINE)
    for option in game.options:
        assert re.search(
            rf"^{option.name} +{re.escape(repr(option.default))} +{re.escape(option.allowed)} ",
            out,
            re.MULTILINE,
        )
    offset = 0
    for field in game.fields:
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
A_SCREENFUL = 20  # of actions


@each_game
def test_a_whole_game_is_played_and_saved(game, capsys, monkeypatch, tmp_path):
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = ["play", game.id, "--players", "3", "--seed", "7", "--option", "memory=none"]
    assert main([*argv, "--save", str(path)]) == 0
    out = capsys.readouterr().out
    assert "The game is over." in out
    place = int(re.search(r"Your place: (\d) of 3", out)[1])

    replay = Replay.load(path)
    assert (replay.game, replay.seed) == (game.name, 7)
    assert replay.options["num_players"] == 3
    assert replay.options["memory"] == "none"
    heuristic = make_agent("heuristic", game)
    asked = 0
    for env, action in replay.steps():
        if env.agent_selection == "player_0":
            # The person saw his table and which actions there are, asked for all of them in words,
            # and took the last.
            seen, listed = keyboard.seen[asked], keyboard.listed[asked]
            names = {legal: env.action_name(legal) for legal in env.legal_actions()}
            lines = [f"{number:>5}  {name}" for number, name in names.items()]
            *_, shown = seen.partition(game.describe(env.states, 0, 0) + "\n\n")
            *shown, prompt = shown.splitlines()
            assert listed.splitlines() == [*lines, prompt]
            if len(lines) > A_SCREENFUL:
                assert shown == [
                    f"{actions[0]:>5}  {names[actions[0]]}"
                    if len(actions) == 1
                    else f"       {kind} ({len(actions)} actions)"
                    for kind, actions in by_kind(names).items()
                ]
            else:
                assert shown == lines
            assert action == max(names)
            asked += 1
        else:
            assert action == heuristic.choose(env.states, 0)
    assert asked == len(keyboard.seen) > 3
    assert env.states["terminated"][0]
    assert env.infos["player_0"]["place"] == place


@each_game
def test_the_others_actions_are_told_and_nothing_hidden(game, capsys, monkeypatch, tmp_path):
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = ["play", game.id, "--players", "3", "--seed", "7", "--seat", "1"]
    assert main([*argv, "--save", str(path)]) == 0
    told = []
    stories = iter([*keyboard.seen, capsys.readouterr().out])
    others = 0
    for env, action in Replay.load(path).steps():
        if env.agent_selection == "player_1":
            assert story_of(next(stories)) == told
            told = []
        else:
            name = game.public_action_name(env.states, 0, action)
            told.append((int(env.agent_selection[-1]), name))
            others += 1
    assert story_of(next(stories)) == told
    assert others > 10


def test_the_others_do_not_tell_which_cards_they_give(capsys, monkeypatch, tmp_path):
    """FZ-18: a whole game with an exchange of cards."""
    path = tmp_path / "game.json"
    keyboard = PlayingPerson(capsys)
    monkeypatch.setattr(sys, "stdin", keyboard)
    argv = ["play", "franks_zoo", "--players", "5", "--seat", "2", "--seed", "7"]
    argv += ["--opponents", "random", "--option", "target_score=8", "--save", str(path)]
    assert main(argv) == 0
    screen = "".join([*keyboard.seen, *keyboard.listed, capsys.readouterr().out])
    gifts = {True: 0, False: 0}
    for env, action in Replay.load(path).steps():
        is_own = env.agent_selection == "player_2"
        gifts[is_own] += env.action_name(action).startswith("give away: ")
    assert gifts[False] == 4 * gifts[True] >= 8
    told = [name for _, name in story_of(screen) if "give" in name]
    assert told == ["give away a card"] * gifts[False]
    # Which card it is stands only where the person himself chooses, or has chosen.
    lines = [line for line in screen.splitlines() if "give away: " in line]
    own = re.compile(r"(Your action \(.*\): )?( +\d+  |You: )give away: 1 ")
    assert all(map(own.match, lines))
    assert sum("You: " in line for line in lines) == gifts[True]


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


@pytest.mark.parametrize(
    ("game_id", "answer", "names"),
    [
        ("beaver_gang", "4", ["draw"]),
        ("beaver_gang", "draw", ["draw"]),  # and not what has a word that begins like it
        ("beaver_gang", "out dr", ["carry out draw two"]),
        ("beaver_gang", "dra t", ["carry out draw two"]),
        ("beaver_gang", "Knock", ["knock"]),
        ("beaver_gang", "kno", ["knock", "do not knock"]),
        ("beaver_gang", "not", ["do not knock"]),
        ("beaver_gang", "take slot 2", ["take the discard into slot 2"]),
        ("beaver_gang", "peek 2", []),  # the number stands behind "slot"
        ("beaver_gang", "slot peek", []),
        (
            "beaver_gang",
            "swap slot 1 slot 3 player 2",
            ["swap slot 1 with slot 3 of the player 2 to the left"],
        ),
        ("beaver_gang", "0 1", []),  # no letters: no words
        ("beaver_gang", "", []),
        ("beaver_gang", "?!", []),
        ("swim_for_your_life", "1000", ["tap"]),
        ("swim_for_your_life", "t", ["tap"]),
        (
            "swim_for_your_life",
            "row 3: 2 bears, mouse",
            ["exchange row 3: lay down 2 bears, 1 mouse"],
        ),
        ("swim_for_your_life", "Row 1 dog", ["exchange row 1: lay down 1 dog"]),
        ("swim_for_your_life", "4 gir giraffe bear bear", []),
        (
            "swim_for_your_life",
            "row 2 pig",
            [
                f"exchange row 2: lay down {cards}"
                for cards in (
                    *(f"1 {animal}, 1 pig" for animal in ("giraffe", "bear", "mole", "goat")),
                    *(f"1 {animal}, 1 pig" for animal in ("sheep", "dog", "hare")),
                    "2 pigs",
                    *(f"1 pig, 1 {animal}" for animal in ("cat", "mouse")),
                )
            ],
        ),
        ("swim_for_your_life", "row 10", []),
        ("franks_zoo", "play 2 seals", ["play: 2 seals"]),
        ("franks_zoo", "Play 2 seals, 1 joker", ["play: 2 seals, 1 joker"]),
        (
            "franks_zoo",
            "2 seals",
            [
                "play: 2 seals",
                "play: 2 seals, 1 joker",
                "ask for help with: 2 seals",
                "ask for help with: 2 seals, 1 joker",
            ],
        ),
        (
            "franks_zoo",
            "ask 1 hedgehog",
            [
                "ask for help with: 1 hedgehog",
                "ask for help with: 1 hedgehog, 1 joker",
            ],
        ),
        ("franks_zoo", "give bear", ["give away: 1 polar bear"]),
        ("franks_zoo", "give 1 lion", ["give away: 1 lion"]),
        ("franks_zoo", "play 1 joker", ["play: 1 joker"]),
        ("franks_zoo", "pass", ["pass"]),
    ],
)
def test_answers_may_be_words(game_id, answer, names):
    game = load_game(game_id)
    all_names = {action: game.action_name(action) for action in range(game.num_actions)}
    assert {all_names[action] for action in _meant(answer, all_names)} == set(names)


def test_a_number_in_an_answer_is_no_beginning_of_another():
    names = {3: "take slot 1", 4: "take slot 10", 5: "take slot 1 twice"}
    assert _meant("slot 1", names) == [3, 5]
    assert _meant("take slot 1", names) == [3]
    assert _meant("slot 10", names) == [4]


@each_game
def test_every_action_can_be_chosen_by_its_name_and_by_its_number(game):
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    for action, name in names.items():
        assert _meant(name, names) == _meant(str(action), names) == [action]


def test_an_answer_that_fits_several_actions_is_asked_again(capsys, person):
    person("exchange row 2 bear", "bear row 4", "row 1", "foo", "row 1 bear", "q")
    # With this seed player 0 has bears and the first row has none.
    seed = next(seed for seed in range(100) if bear_is_legal_for_row_1(seed))
    argv = ["play", "swim_for_your_life", "--players", "2", "--seed", str(seed)]
    assert main([*argv, "--opponents", "random"]) == 0
    first, *answers = capsys.readouterr().out.split("Your action (")
    assert "exchange row 2: ..." in first
    listed = [re.findall(r"^ +(\d+)  exchange (.*)$", text, re.MULTILINE) for text in answers]
    assert all(re.match("row 2: .*bear", name) for _, name in listed[0])
    assert len(listed[0]) > 2
    assert "'exchange row 2 bear' may mean each of these." in answers[0]
    assert all(re.match("row [2-4]: .*bear", name) or "row 4" in name for _, name in listed[1])
    assert "'bear row 4' has the words of these, but in no such order." in answers[1]
    assert len(listed[2]) > 1
    assert "'row 1' may mean each of these." in answers[2]
    assert "'foo' is not possible here; possible are what ? shows, and q to quit." in answers[3]
    assert "You: exchange row 1: lay down 1 bear.\n" in answers[4]
    assert "You left the game." in answers[5]


def bear_is_legal_for_row_1(seed):
    env = card_envs.make("swim_for_your_life", num_players=2)
    env.reset(seed=seed)
    names = [env.action_name(action) for action in env.legal_actions()]
    return "exchange row 1: lay down 1 bear" in names


def test_opponents_may_differ(capsys, person):
    argv = [*PLAY, "--seat", "2", "--opponents", "random", "heuristic"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "You are player 2." in out
    # From the person's left on.
    assert "Player 0 is random." in out
    assert "Player 1 is heuristic." in out


@each_game
def test_random_opponents_choose_differently(game):
    opponents = _seat_opponents(game, ["random"], 3, seat=1, seed=2**64 - 1)
    assert sorted(opponents) == [0, 2]
    env = card_envs.make(game.id, num_players=3)
    env.reset(seed=7)
    assert len(env.legal_actions()) >= 2
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


def write_replay(game, path):
    """A whole game."""
    env = card_envs.make(game.id, num_players=game.min_players)
    env.reset(seed=3)
    actions = []
    habits = Habits(game, UNIFORM)
    while env.legal_actions():
        actions.append(habits.choose(env.unwrapped.states))
        env.step(actions[-1])
    Replay.of(env, 3, actions).save(path)
    return path


@pytest.fixture
def replay_file(tmp_path):
    return write_replay(ALL_GAMES[0], tmp_path / "replay.json")


@each_game
def test_replay_shows_every_table_and_action(game, capsys, tmp_path):
    replay_file = write_replay(game, tmp_path / "replay.json")
    assert main(["replay", str(replay_file)]) == 0
    out = capsys.readouterr().out
    position = 0
    for number, (env, action) in enumerate(Replay.load(replay_file).steps(), 1):
        player = int(env.agent_selection[-1])
        for text in (
            env.game.describe(env.states, 0, player),
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
    assert "Decision" not in out


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


def test_the_module_is_the_program():
    command = [sys.executable, "-m", "card_envs.cli", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("game ")
    done = subprocess.run([*command[:3], "info", "chess"], capture_output=True, check=False)
    assert done.returncode == 2


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
