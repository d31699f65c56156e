"""Agents of users by name: code in modules and files, models of other frameworks, runs."""

from __future__ import annotations

import json
import logging
import pickle
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx_models
import pytest
from helpers import ALL_GAMES, SCRIPTED, begin, kit_of, needs_training, network_of
from onnx_models import counting, onnx_model

import card_envs
from card_envs.agents import (
    Agent,
    FunctionAgent,
    HeuristicAgent,
    RandomAgent,
    agent_names,
    as_agent,
    choose,
    make_agent,
    runs_code,
)
from card_envs.agents.network import METADATA_KEY, NetworkAgent, metadata_of, write_policy
from card_envs.agents.onnx import OnnxAgent, OnnxModel, RecurrentOnnxAgent
from card_envs.commands import cli
from card_envs.contract.options import View
from card_envs.engine.history import Replay
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.evaluation import evaluate, run_tournament
from card_envs.utils.extras import MissingExtraError

#: Where any game will do: the smallest.
GAME = min(ALL_GAMES, key=lambda game: game.num_actions)
N = GAME.min_players
D, A = GAME.fields.size, GAME.num_actions

CODE = """
from card_envs.agents import Agent
from beside import last_legal


class Mine(Agent):
    def __init__(self, game, seed):
        self.seed = seed

    def act(self, turn):
        return last_legal(turn.observation, turn.action_mask)


class Plays:
    def __init__(self, game, seed):
        pass

    def __call__(self, observation, action_mask):
        return last_legal(observation, action_mask)


def makes(game, seed=0):
    return last_legal


class Space:
    one = Mine(None, 0)


one = Mine(None, 7)
three = 3


def fails(game, seed):
    raise KeyError("weights")


def makes_none(game, seed):
    return None


def needs_more(game):
    return last_legal
"""
BESIDE = """
def last_legal(observation, action_mask):
    return action_mask.shape[1] - 1 - action_mask[:, ::-1].argmax(axis=1)
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    """The path of a file with agents, which is a module as well; what is imported is forgotten."""
    path = tmp_path / "own_code.py"
    path.write_text(CODE)
    (tmp_path / "beside.py").write_text(BESIDE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield path
    for name in {*sys.modules} - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def last_legal(observation, action_mask):
    return action_mask.shape[1] - 1 - action_mask[:, ::-1].argmax(axis=1)


def ranks(agent):
    result = evaluate(GAME, [agent, *["random"] * (N - 1)], deals=8, seed=3)
    return [row.rank.mean for row in result.agents]


# ---------------------------------------------------------------------------------------------
# Code
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["own_code", "own_code.py", "{folder}/own_code.py"])
def test_things_of_all_kinds_play(code, where):
    where = where.format(folder=code.parent)
    expected = ranks(last_legal)
    for thing in ("Mine", "Plays", "makes", "last_legal", "one", "Space.one"):
        name = f"{where}:{thing}"
        assert ranks(name) == expected
        agent = make_agent(name, GAME, seed=5)
        assert agent.name == name
        assert mask_of_choice(agent)
        assert isinstance(agent, FunctionAgent) == (thing in ("Plays", "makes", "last_legal"))
    assert make_agent(f"{where}:Mine", GAME, seed=5).seed == 5
    assert make_agent(f"{where}:one", GAME, seed=5).seed == 7
    SingleSeatEnv(GAME.name, opponents=f"{where}:Mine").reset(seed=1)


def mask_of_choice(agent):
    return choose(agent, GAME, begin(GAME, N, 1)) in range(A)


def test_the_same_things_may_be_given_in_python():
    class Mine(Agent):
        name = "mine"

        def __init__(self, game, seed):
            self.seed = seed

        def act(self, turn):
            return last_legal(turn.observation, turn.action_mask)

    def makes(game, seed):
        return Mine(game, seed)

    expected = ranks(last_legal)
    for thing in (Mine, makes, Mine(GAME, 0), partial(last_legal)):
        assert ranks(thing) == expected
    for kind in (RandomAgent, HeuristicAgent):
        assert isinstance(as_agent(kind, SCRIPTED, 4), kind)
    assert as_agent(makes, GAME, 4).seed == as_agent(Mine, GAME, 4).seed == 4


def test_files_of_the_same_name_are_different_modules(code, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "own_code.py").write_text("def plays(observation, action_mask): pass\n")
    make_agent("other/own_code.py:plays", GAME)
    assert make_agent("own_code.py:one", GAME) is make_agent(f"{code}:one", GAME)


def test_an_edited_file_is_another_module(code):
    assert make_agent("own_code.py:one", GAME).seed == 7
    code.write_text(CODE.replace("one = Mine(None, 7)", "one = Mine(None, 8)"))
    assert make_agent("own_code.py:one", GAME).seed == 8


@pytest.mark.parametrize("helper", ["helper_of_{0}.py", "helper_of_{0}/__init__.py"])
@pytest.mark.parametrize("how", ["import helper_of_{0}", "from helper_of_{0} import act"])
def test_modules_beside_a_file_are_its_own(helper, how, code, tmp_path):
    """Another one of the name would play unseen."""
    kind = f"{len(helper)}_{len(how)}"  # what a test has imported stays
    for version in ("v1", "v2"):
        path = tmp_path / version / helper.format(kind)
        path.parent.mkdir(parents=True)
        path.write_text("def act(observation, action_mask): return action_mask.argmax(axis=1)\n")
        (tmp_path / version / "agent.py").write_text(
            f"import random\n{how.format(kind)}\ndef plays(*arrays): return None\n"
        )
        (tmp_path / version / "random.py").write_text("")  # Python's own comes first
    make_agent("v1/agent.py:plays", GAME)
    make_agent("v1/agent.py:plays", GAME)
    message = rf"its module 'helper_of_{kind}' would be .*v1.*, not .*v2"
    with pytest.raises(ValueError, match=message):
        make_agent("v2/agent.py:plays", GAME)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_code.py:Mein", "own_code.py has no Mein (did you mean 'Mine'?)"),
        ("own_code:Space.two", "own_code has no Space.two"),
        ("own_code.py:three", "an agent is a name, "),
        ("own_code.py:three", "got int"),
        ("own_code.py:makes_none", "makes_none(game, seed=0) made a NoneType"),
        ("own_code.py:fails", "calling fails(game, seed=0) failed: KeyError: 'weights'"),
        ("leaves.py:make", "calling make(game, seed=0) failed: SystemExit: 0"),
        ("own_code.py:needs_more", "calling needs_more(game, seed=0) failed: TypeError: "),
        ("own_code.py", "say what plays in this file, as own_code.py:THING"),
        ("none.py:x", "there is no file none.py"),
        ("no_such.module:x", "importing no_such.module failed: ModuleNotFoundError: "),
        ("broken.py:x", "importing broken.py failed: SyntaxError: "),
        ("script.py:x", "importing script.py failed: SystemExit: 3"),
        ("opens.py:x", "importing opens.py failed: FileNotFoundError: "),
    ],
)
def test_errors_say_what_was_tried(code, name, message):
    for file, text in (
        ("broken.py", "1 +"),
        ("script.py", "import sys\nsys.exit(3)"),
        ("opens.py", "open('none')"),
        ("leaves.py", "import sys\n\n\ndef make(game, seed):\n    sys.exit(0)\n"),
    ):
        (code.parent / file).write_text(text)
    for make in (make_agent, as_agent):
        with pytest.raises(ValueError, match="^" + repr(name)) as error:
            make(name, GAME)
        assert message in str(error.value)


def test_an_agent_that_cannot_be_made_ends_a_command_with_status_1(code, capsys, monkeypatch):
    command = ["evaluate", GAME.id, "--agents", "own_code.py:fails", *["random"] * (N - 1)]
    assert cli.main(command) == 1
    line = capsys.readouterr().err
    assert re.search(r"calling fails\(.*KeyError: 'weights' \(own_code.py, line \d+\)", line)
    assert "Traceback" not in line
    monkeypatch.setenv("CARD_ENVS_TRACEBACK", "1")
    assert cli.main(command) == 1
    assert "Traceback" in capsys.readouterr().err


def test_what_makes_no_agent_is_named(tmp_path, monkeypatch, capsys):
    """A class whose objects have ``act`` alone: the class itself is no mistake."""
    monkeypatch.chdir(tmp_path)
    Path("acts.py").write_text(
        "class Acts:\n    def __init__(self, game, seed): pass\n    def act(self, turn): pass\n"
    )
    argv = ["evaluate", GAME.id, "--agents", "acts.py:Acts", "random", "--deals", "2"]
    assert cli.main(argv) == 2
    error = capsys.readouterr().err
    assert "Acts(game, seed=0) made a Acts, which is neither a card_envs.agents.Agent nor" in error


def test_results_go_where_the_command_was_given(tmp_path, monkeypatch):
    """Though an agent changes the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    Path("moves.py").write_text(
        "import os\n\ndef moves(observation, action_mask):\n"
        f"    os.chdir({str(tmp_path / 'elsewhere')!r})\n    return action_mask.argmax(axis=1)\n"
    )
    argv = ["evaluate", GAME.id, "--agents", "moves.py:moves", "random", "--deals", "2"]
    assert cli.main([*argv, "--json", "found.json"]) == 0
    assert [path.name for path in tmp_path.glob("*.json")] == ["found.json"]


def test_a_function_of_other_arguments_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text("def act(observation): ...\n")
    command = ["evaluate", GAME.id, "--agents", "one.py:act", *["random"] * (N - 1)]
    assert cli.main(command) == 1
    error = capsys.readouterr().err
    assert "act() takes 1 positional argument but 2 were given" in error
    assert "the agent 'one.py:act'" in error


def test_opponents_of_a_class_have_seeds_of_their_own(code):
    env = SingleSeatEnv(GAME.name, num_players=N, opponents=[f"{code}:Mine"] * (N - 1))
    assert [agent.seed for agent in env._games.arena.agents[1:]] == list(range(N - 1))


def test_near_misses_are_named(tmp_path):
    for name, hint in (
        ("randm", "did you mean 'random'?"),
        (str(tmp_path), "that folder holds no training run"),
        ("a/b", "there is no such file"),
        ("x.onnx", "there is no such file"),
    ):
        with pytest.raises(ValueError, match="there is no agent") as error:
            make_agent(name, GAME)
        assert hint in str(error.value)


def test_the_name_that_was_given_is_in_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named.py").write_text(
        "from card_envs.agents import Agent\n\n\n"
        "class Mine(Agent):\n    name = 'its own'\n\n"
        "    def __init__(self, game, seed): ...\n\n"
        "    def act(self, turn):\n        return turn.indices * 0 - 7\n\n\n"
        "class Fixed(Mine):\n    name = property(lambda self: 'fixed')\n"
    )
    for name, shown in (("named.py:Mine", "named.py:Mine"), ("named.py:Fixed", "fixed")):
        with pytest.raises(ValueError, match=f"the agent {shown!r} chose the action -7"):
            ranks(name)


class Named:
    name = "its own"

    def __init__(self, game, seed):
        self.name = f"of seed {seed}"

    def __call__(self, observation, action_mask):
        return last_legal(observation, action_mask)


def test_what_is_called_has_its_own_name_or_that_of_its_code():
    assert as_agent(Named, GAME, 3).name == as_agent(Named(GAME, 3), GAME).name == "of seed 3"
    assert as_agent(last_legal, GAME).name == "last_legal"
    assert as_agent(partial(last_legal), GAME).name == "last_legal"
    assert as_agent(partial(partial(Named, GAME), 4)(), GAME).name == "of seed 4"
    assert as_agent(lambda game, seed: last_legal, GAME).name == "<lambda>"
    assert evaluate(GAME, [partial(last_legal)] * N, deals=2).agents[0].name == "last_legal"


class Tuned(RandomAgent):
    """With a setting, which its name says."""

    def __init__(self, game, seed, setting):
        super().__init__(game, seed)
        self.name = f"tuned by {setting}"


def test_results_call_agents_as_they_call_themselves():
    """Also those that a class or a function makes."""
    makers = [partial(Tuned, setting=k) for k in (1, 2)]
    names = ["tuned by 1", "tuned by 2"]
    rows = evaluate(GAME, [*makers, *makers[:1] * (N - 2)], deals=2).agents
    assert [row.name for row in rows[:2]] == names
    rows = run_tournament(GAME, makers, N, 2).summary.agents
    assert [row.name for row in rows] == names
    with pytest.raises(
        ValueError, match=r"got .'tuned by 1', 'tuned by 1'.; .*its attribute `name`"
    ):
        run_tournament(GAME, [makers[0], partial(Tuned, setting=1)], N, 2)


def test_a_wrong_view_is_named():
    class Blind(RandomAgent):
        view = "none"

    with pytest.raises(TypeError, match=r"view of Blind: a View is needed, .* got 'none'"):
        evaluate(GAME, [Blind] * N, deals=2)


def test_games_are_given_by_name():
    game = ALL_GAMES[0]
    assert make_agent("random", game.id).name == as_agent("random", game.name).name == "random"
    assert agent_names(game.id) == agent_names(game)
    assert as_agent(lambda game, seed: partial(last_legal, game), game.id)._function.args == (game,)


@needs_training
def test_models_are_told_how_to_become_agents(tmp_path, monkeypatch):
    from torch import nn

    class Predicts:
        def predict(self, observation): ...

    class Playing(Agent, nn.Module):
        name = "plays"
        act = None

    module, model = nn.Linear(D, A), Predicts()
    for thing in (module, nn.Linear, model, lambda game, seed: module):
        with pytest.raises(TypeError, match=r"is a model: card_envs\.export_policy\(model, game, "):
            as_agent(thing, GAME)
    assert as_agent(Playing(), GAME).name == "plays"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(
        "from torch import nn\nclass Net(nn.Module): ...\nnet = Net()\n"
    )
    for name in ("nets.py:Net", "nets.py:net"):
        with pytest.raises(ValueError, match=f"'{name}': Net is a model: .*export_policy"):
            make_agent(name, GAME)


# ---------------------------------------------------------------------------------------------
# Trust
# ---------------------------------------------------------------------------------------------


def test_names_that_import_are_told_apart():
    for name in (
        "a:b",
        "a.b:c.d",
        "x/y.py:Z",
        "x,.py:Z",
        "C:\\x\\y.py:Z",
        "search:64,policy=a:b",
        "search:8,policy=x,.py:Z",
        "search:8,proposer=x,y,.py:Z,worlds=3",
        "cmd:a",
        "cmd:a:b",
        "cmd,seconds=2:a b",
    ):
        assert runs_code(name), name
    for name in (
        "random",
        "search:64",
        "search:64,policy=ppo",
        "search:8,policy=runs/seed=1,threads=2/ppo.safetensors,worlds=4",
        r"search:8,policy=C:\x\p.safetensors",
        "runs/a,b",
        "x/y.safetensors",
        "cuda:0",
        "x.onnx",
        "a b: c",
    ):
        assert not runs_code(name), name


def test_a_name_with_commas_does_not_hide_what_it_imports(tmp_path, monkeypatch):
    """A file that is called as the name of a thing makes one word of its pieces."""
    monkeypatch.chdir(tmp_path)
    Path("trap,.py").write_text("open('sprung', 'w').close()\n")
    Path("trap,.py:Thing").touch()
    name = "search:8,policy=trap,.py:Thing"
    with pytest.raises(ValueError, match="has no Thing"):
        make_agent(name, GAME)
    assert Path("sprung").exists()
    assert runs_code(name)


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module that says when it is imported."""
    (tmp_path / "trap_module.py").write_text("def plays(observation, action_mask): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "trap_module"
    assert "trap_module" not in sys.modules


def test_a_recording_imports_nothing(trap):
    table = card_envs.Table(GAME.name, ["random"] * N, seed=1)
    while not table.is_over:
        table.step()
    data = json.loads(Replay.of(table).to_json())
    for key in ("agents", "opponents", "game"):
        with pytest.raises(ValueError):  # noqa: PT011
            card_envs.make(GAME.name).load(json.dumps({**data, key: f"{trap}:plays"}).encode())


@needs_training
@pytest.mark.parametrize(
    "section",
    [
        {"opponents": {"agents": {"trap_module:plays": 1}}},
        {"opponents": {"agents": {"search:4,policy=trap_module:plays": 1}}},
        {"evaluation": {"against": ["random", "trap_module.py:plays"]}},
        {"imitation": {"agent": "trap_module:plays", "decisions": 1}},
        {"opponents": {"agents": {"cmd:touch here": 1}}},
    ],
)
def test_a_configuration_imports_and_starts_nothing_unasked(trap, section, tmp_path, monkeypatch):
    import yaml

    from training.runs.config import Config
    from training.runs.keys import load

    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"game": GAME.name, "decisions": 10, **section}))
    with pytest.raises(ValueError, match=r"names code, .*CARD_ENVS_IMPORT_AGENTS=1"):
        load(Config, path, [])
    monkeypatch.setenv("CARD_ENVS_IMPORT_AGENTS", "1")
    load(Config, path, [])
    monkeypatch.delenv("CARD_ENVS_IMPORT_AGENTS")
    path.write_text(yaml.safe_dump({"game": GAME.name, "decisions": 10}))
    config = load(Config, path, [f"opponents.agents.{trap}:plays=1"])
    assert f"{trap}:plays" in config.opponents.agents


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("!!set {trap_module.py:plays: null}", "set"),
        ("[!!binary dHJhcF9tb2R1bGUucHk6cGxheXM=]", "binary"),
        ("!!pairs [trap_module.py:plays: 1]", "pairs"),
        ("!!omap [trap_module.py:plays: 1]", "omap"),
    ],
)
def test_a_configuration_holds_nothing_that_could_hide_code(trap, value, kind, tmp_path):
    from training.runs.config import Config
    from training.runs.keys import load

    path = tmp_path / "config.yaml"
    path.write_text(f"game: {GAME.name}\ndecisions: 10\nevaluation: {{against: {value}}}\n")
    with pytest.raises(ValueError, match=f"a value of the kind '{kind}' is not supported"):
        load(Config, path, [])


@needs_training
@pytest.mark.parametrize(
    "change", ["evaluation.against=[trap_module.py:plays]", "opponents.agents.trap_module:plays=1"]
)
def test_a_study_imports_nothing_unasked(trap, change, tmp_path):
    import yaml

    from training.study import run_study

    path = tmp_path / "study.yaml"
    study = {
        "question": "Which?",
        "seeds": [0],
        "against": ["random"],
        "base": {"game": GAME.name, "decisions": 10},
        "settings": {"other": [change]},
    }
    path.write_text(yaml.safe_dump(study))
    with pytest.raises(ValueError, match=r"names code, .*CARD_ENVS_IMPORT_AGENTS=1"):
        run_study(path, tmp_path / "runs", 1)


# ---------------------------------------------------------------------------------------------
# Policies by path
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["pt", "pth", "zip", "pkl"])
def test_files_that_could_execute_code_are_not_loaded(ending, tmp_path):
    path = tmp_path / f"model.{ending}"
    path.write_bytes(pickle.dumps(print))
    for name in (path, f"none.{ending}"):
        with pytest.raises(ValueError, match=r"none is; card_envs.export_policy\(model, game, "):
            make_agent(name, GAME)


def test_a_runs_folder_is_its_newest_policy(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(ValueError, match="holds no training run"):
        make_agent(folder, GAME)
    for name, config in (("ppo", "decisions: 3\n"), ("own", "game: x\nname: own\nseed: 0\n")):
        (folder / "config.yaml").write_text(config)
        with pytest.raises(ValueError, match=f"has no policy yet: there is no .*{name}.safet"):
            make_agent(folder, GAME)
        for seed in (1, 2):
            write_policy(folder / f"{name}.safetensors", network_of(GAME, seed), GAME)
            agent = make_agent(folder, GAME)
            assert isinstance(agent, NetworkAgent)
            assert agent.name == str(folder)
            expected = network_of(GAME, seed).layers[0][0]
            assert np.array_equal(agent.network.layers[0][0], expected)


@needs_training
def test_the_names_in_the_tables_of_results_can_be_typed():
    own = [game for game in ALL_GAMES if kit_of(game).is_own]
    assert len(own) == 4
    for game in own:
        for name in ("ppo", "ppo_v1", "ppo_v2", "ppo_v3"):
            assert make_agent(name, game).name == name


# ---------------------------------------------------------------------------------------------
# ONNX
# ---------------------------------------------------------------------------------------------


OBSERVATION = ("observation", "FLOAT", ["n", D])
MASK = ("action_mask", "INT8", ["n", A])
LOGITS = ("logits", "FLOAT", ["n", A])
METADATA = metadata_of(GAME, "", View())


def linear(bias, metadata=METADATA, batch="n"):
    """Logits that are this bias, in the game of these tests."""
    return onnx_models.linear(GAME, bias, metadata, batch)


def first_legal_model():
    """The first legal action, as an integer."""
    return onnx_model(
        [
            ("Cast", ["action_mask"], ["mask"], {"to": 1}),
            ("ArgMax", ["mask"], ["action"], {"axis": 1, "keepdims": 0}),
        ],
        [("action", "INT64", ["n"])],
        [OBSERVATION, MASK],
        METADATA,
    )


@pytest.fixture
def model(tmp_path):
    """Writes a model and makes its agent."""

    def write(data, name="model.onnx"):
        (tmp_path / name).write_bytes(data)
        return make_agent(tmp_path / name, GAME)

    return write


@pytest.mark.parametrize("bias", [np.arange(A), np.full(A, -np.inf)])
def test_floats_are_logits(model, bias):
    agent = model(linear(bias))
    assert isinstance(agent, OnnxAgent)
    mask = np.eye(A, dtype=np.int8) + np.eye(A, k=1, dtype=np.int8)
    actions = agent.model.act(np.zeros((A, D), np.float32), mask, {})[0]
    assert mask[np.arange(A), actions].all()
    if bias[-1] == A - 1:
        assert actions.tolist() == [*range(1, A), A - 1]
        assert ranks(agent) == ranks(last_legal)
    copy = pickle.loads(pickle.dumps(agent))
    assert ranks(copy) == ranks(agent)


def test_nan_is_no_logit_of_a_legal_action(model):
    """Of an illegal one it may be: a model may compute anything there."""
    bias = np.zeros(A)
    bias[1] = np.nan
    agent = model(linear(bias))
    observation, mask = np.zeros((2, D), np.float32), np.ones((2, A), np.int8)
    mask[:, 1] = 0
    assert agent.model.act(observation, mask, {})[0].tolist() == [0, 0]
    mask[1, 1] = 1
    with pytest.raises(ValueError, match="the model's output has NaN where a legal action's score"):
        agent.model.act(observation, mask, {})
    with pytest.raises(ValueError, match="has NaN where a legal action's score should be"):
        ranks(model(linear(np.full(A, np.nan))))


def test_integers_are_actions(model):
    agent = model(first_legal_model())
    assert ranks(agent) == ranks(lambda observation, action_mask: action_mask.argmax(axis=1))


@pytest.fixture
def seen(monkeypatch):
    """The counts that the model ``counting`` is given, one array each time."""
    counts, act = [], OnnxModel.act

    def spy(self, observation, action_mask, states):
        counts.append(states["count"][:, 0].copy())
        return act(self, observation, action_mask, states)

    monkeypatch.setattr(OnnxModel, "act", spy)
    return counts


def test_states_are_of_a_game_and_a_seat(model, seen):
    agent = model(counting(GAME))
    assert isinstance(agent, RecurrentOnnxAgent)
    assert agent.model.states == {"count": (1,)}
    table = card_envs.Table(GAME.name, [agent] * N, seed=1)
    for seed in (1, 2):
        taken = [0] * N
        while not table.is_over:
            player = table.player
            table.step()
            assert seen[-1].tolist() == [taken[player]]
            taken[player] += 1
        table.begin(seed)
    seen.clear()
    evaluate(GAME, [agent, "random", *["random"] * (N - 2)], deals=4, seed=1)
    assert len(seen[0]) > 1
    assert all(not counts.any() for counts in seen[:1])
    choose(agent, GAME, begin(GAME, N, 1))
    assert seen[-1].tolist() == [0]


def test_states_follow_a_game_that_is_told(seen):
    """After undo, in a game that goes on, and where somebody asks twice or does something else."""
    game = max(ALL_GAMES, key=lambda game: game.num_actions)
    n = game.default_players
    agent = RecurrentOnnxAgent(OnnxModel(counting(game)), game, "counting")
    table = card_envs.Table(game.name, [agent] * n, seed=1)
    movers = []
    while len(movers) < 9 or movers.count(table.player) < 2:
        movers.append(table.player)
        table.choose()
        table.step(table.legal_actions()[-1] if len(movers) % 2 else None)
    taken = movers.count(table.player)

    def counted(asked):
        asked.choose()
        return seen[-1].tolist()

    assert counted(table) == [taken]
    seed, actions = table.history
    told = card_envs.Table(game.name, [agent] * n, seed=2)
    told.begin(seed, actions=actions)
    assert counted(told) == [taken]
    table.undo(5)
    assert counted(table) == [movers[:5].count(movers[5])]


def test_a_file_says_what_it_is_for(model, caplog):
    with caplog.at_level(logging.WARNING, "card_envs"):
        model(linear(np.zeros(A)))
        assert not caplog.records
        assert model(linear(np.zeros(A), None)).view == View()
    assert f"does not say which game and observation it is for; its shapes fit {GAME.name}" in (
        caplog.text
    )
    assert model(linear(np.zeros(A), metadata_of(GAME, "", View("none", False)))).view == View(
        "none", False
    )
    about = json.loads(METADATA[METADATA_KEY])
    for change, message in (
        ({"game": "chess_v0"}, "is a policy for 'chess_v0'"),
        ({"fields": "0"}, "made for another observation"),
        ({"memory": "all"}, "memory must be"),
        ({"format": "x"}, "is not a policy file of the format"),
    ):
        with pytest.raises(ValueError, match=message):
            model(linear(np.zeros(A), {METADATA_KEY: json.dumps({**about, **change})}))
    with pytest.raises(ValueError, match="is damaged"):
        model(linear(np.zeros(A), {METADATA_KEY: "{"}))


def test_a_model_plays_one_game(model):
    """Also where the shapes of another would fit."""
    agent = model(linear(np.zeros(A)))
    twin = replace(GAME, version=GAME.version + 1)
    with pytest.raises(ValueError, match=f"plays {GAME.name}, not {twin.name}"):
        as_agent(agent, twin)


def fixed(size):
    """A model that makes its output this many rows, whatever the batch."""
    return onnx_model(
        [
            ("Gemm", ["observation", "weight"], ["x"], {}),
            ("Reshape", ["x", "shape"], ["logits"], {}),
        ],
        [LOGITS],
        [OBSERVATION],
        METADATA,
        {"weight": np.zeros((D, A), np.float32), "shape": np.array([size, A])},
    )


def test_models_that_cannot_play_are_refused(model, tmp_path):
    passing = [("Identity", ["observation"], ["logits"], {})]
    custom = onnx_model(
        [("Evil", ["observation"], ["logits"], {})], [LOGITS], [OBSERVATION], domain="mine"
    )
    wide = ("observation", "FLOAT", ["n", D + 1])
    for data, message in (
        (b"", "is not an ONNX model, or it is damaged"),
        (b"no model", "is not an ONNX model, or it is damaged"),
        (linear(np.zeros(A))[:-30], "is not an ONNX model, or it is damaged"),
        (custom, "is not an ONNX model, or it is damaged"),
        (linear(np.zeros(A), batch=1), "N must be free, but the input 'observation' is of"),
        (fixed(2), "N must be free, but N = 1 fails: "),
        (fixed(1), "N must be free, but N = 2 fails: "),
        (fixed(4), f"does not fit {GAME.name}"),
        (onnx_model(passing, [("logits", "FLOAT", ["n", D])], [OBSERVATION]), "must be floats"),
        (onnx_model(passing, [("logits", "FLOAT", ["n", D + 1])], [wide]), f"not fit {GAME.name}"),
        (
            onnx_model(
                [("Identity", ["x"], ["y"], {})],
                [("y", "FLOAT", ["n", A])],
                [("x", "FLOAT", ["n", A])],
            ),
            "no input 'observation' but 'x'",
        ),
        (
            onnx_model(
                [*passing, ("Identity", ["observation"], ["more"], {})],
                [LOGITS, ("more", "FLOAT", ["n", D])],
                [OBSERVATION],
            ),
            "must have one output",
        ),
    ):
        with pytest.raises(ValueError, match=message) as error:
            model(data)
        assert str(tmp_path / "model.onnx") in str(error.value)


def test_weights_in_other_files_are_not_read(model, tmp_path, monkeypatch):
    import onnx
    from onnx.external_data_helper import convert_model_to_external_data

    whole = onnx_model(
        [("MatMul", ["observation", "weight"], ["logits"], {})],
        [("logits", "FLOAT", ["n", A])],
        [("observation", "FLOAT", ["n", D])],
        constants={"weight": np.ones((D, A), np.float32)},
    )
    model(whole, "whole.onnx")
    secret = onnx.load_model_from_string(whole)
    convert_model_to_external_data(secret, location="weights.bin", size_threshold=0)
    onnx.save_model(secret, tmp_path / "model.onnx")
    assert (tmp_path / "weights.bin").exists()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"must be inside, .*onnx\.export\(…, external_data=False"):
        make_agent("model.onnx", GAME)


# ---------------------------------------------------------------------------------------------
# export_policy
# ---------------------------------------------------------------------------------------------


def test_export_policy_says_that_it_needs_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "card_envs.integrations.export", raising=False)
    with pytest.raises(MissingExtraError, match="pip install torch"):
        card_envs.export_policy(None, GAME, "policy.onnx")


def positions(count=40):
    """Observations in whole units, and masks."""
    rng = np.random.default_rng(1)
    units = rng.integers(0, GAME.fields.scale.astype(int) + 1, (count, D))
    mask = (rng.random((count, A)) < 0.5).astype(np.int8)
    mask[:, 0] = 1
    return (units / GAME.fields.scale).astype(np.float32), mask


def played(path):
    observation, mask = positions()
    agent = make_agent(path, GAME)
    if isinstance(agent, NetworkAgent):
        return agent.network.act(observation, mask).tolist()
    return agent.model.act(observation, mask, {})[0].tolist()


@needs_training
def test_perceptrons_become_compiled_kernels(tmp_path):
    import torch
    from torch import nn

    for activation in (nn.ReLU, nn.Tanh):
        module = nn.Sequential(
            nn.Flatten(), nn.Sequential(nn.Linear(D, 8), activation()), nn.Linear(8, A)
        )
        path = tmp_path / "policy.safetensors"
        card_envs.export_policy(module, GAME.name, path, memory="none", features=False)
        observation, mask = positions()
        logits = module(torch.from_numpy(observation)).detach().numpy()
        assert played(path) == np.where(mask, logits, -np.inf).argmax(axis=1).tolist()
        assert make_agent(path, GAME).view == View("none", False)
    for wrong in (
        nn.Sequential(nn.Linear(D, 8), nn.GELU(), nn.Linear(8, A)),
        nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, A)),
        nn.Sequential(nn.Linear(D, 8), nn.Linear(8, A)),
        nn.Linear(D, A, bias=False),
    ):
        with pytest.raises(ValueError, match=r"can be written to a file that ends in \.onnx"):
            card_envs.export_policy(wrong, GAME, tmp_path / "wrong.safetensors")
    with pytest.raises(ValueError, match=f"does not fit {GAME.name}"):
        card_envs.export_policy(nn.Linear(D, A + 1), GAME, tmp_path / "wrong.safetensors")
    with pytest.raises(ValueError, match=r"ends in \.safetensors or \.onnx"):
        card_envs.export_policy(nn.Linear(D, A), GAME, tmp_path / "wrong.pt")
    drawing = tmp_path / "drawing.safetensors"
    card_envs.export_policy(nn.Linear(D, A), GAME, drawing, draws=True)
    assert make_agent(drawing, GAME).draws
    assert not make_agent(path, GAME).draws
    with pytest.raises(ValueError, match="draws: an ONNX file cannot sample its actions"):
        card_envs.export_policy(nn.Linear(D, A), GAME, tmp_path / "wrong.onnx", draws=True)
    with pytest.raises(ValueError, match="draws must be True or False, got 1"):
        card_envs.export_policy(nn.Linear(D, A), GAME, drawing, draws=1)
    drawing.unlink()
    with pytest.raises(TypeError, match="a torch module or a model, got dict"):
        card_envs.export_policy({}, GAME, tmp_path / "wrong.onnx")
    assert [*tmp_path.iterdir()] == [tmp_path / "policy.safetensors"]


@needs_training
def test_any_module_becomes_onnx(tmp_path):
    import torch
    from torch import nn

    class FirstLegal(nn.Module):
        def forward(self, observation, action_mask):
            return action_mask.float().argmax(dim=1)

    path = tmp_path / "first.onnx"
    card_envs.export_policy(FirstLegal(), GAME, path, memory="none")
    assert played(path) == positions()[1].argmax(axis=1).tolist()
    assert make_agent(path, GAME).view == View("none", True)
    assert torch.is_grad_enabled()


@needs_training
def test_nothing_but_a_mask_takes_the_place_of_a_default(tmp_path):
    import torch
    from torch import nn

    class ByKeyword(nn.Linear):
        def forward(self, observation, *, sign=-1.0):
            return super().forward(observation) * sign

    class ByPlace(nn.Linear):
        def forward(self, observation, sign=-1.0, **others):
            return super().forward(observation) * sign

    class Masked(nn.Linear):
        def forward(self, observation, legal_mask=None):
            return super().forward(observation) * -legal_mask

    observation, mask = positions()
    for module in (ByKeyword(D, A), ByPlace(D, A), Masked(D, A)):
        path = tmp_path / "policy.onnx"
        card_envs.export_policy(module, GAME, path)
        logits = -nn.functional.linear(torch.from_numpy(observation), module.weight, module.bias)
        expected = np.where(mask, logits.detach().numpy(), -np.inf).argmax(axis=1)
        assert played(path) == expected.tolist()


@needs_training
def test_weights_of_all_precisions_are_exported(tmp_path):
    import torch
    from torch import nn

    module = nn.Sequential(nn.Linear(D, A)).bfloat16()
    expected = None
    for kind, ending in (
        (torch.bfloat16, "safetensors"),
        (torch.float64, "safetensors"),
        (torch.float64, "onnx"),
    ):
        path = tmp_path / f"policy.{ending}"
        card_envs.export_policy(module.to(kind), GAME, path)
        expected = expected or played(path)
        assert played(path) == expected
        assert module[0].weight.dtype == kind


@needs_training
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_modules_that_do_not_fit_are_refused_before_they_are_written(tmp_path, capfd):
    import torch
    from torch import nn

    class Returns(nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.linear, self.rows = nn.Linear(D, A), rows

        def forward(self, observation):
            return self.linear(observation).reshape(*self.rows)

    class Branches(nn.Module):
        def forward(self, observation, action_mask):
            return action_mask * (1.0 if observation.sum().item() > 0 else 2.0)

    diverged, averaged = nn.Linear(D, A), nn.Sequential(nn.BatchNorm1d(D), nn.Linear(D, A))
    diverged.weight.data[0, 0] = np.nan
    averaged[0].running_mean[0] = np.nan
    wanted = rf"given observation \(1, {D}\) in float32 it must return logits \(1, {A}\) or integ"
    for module, error, message in (
        (nn.Linear(4 * D, A), ValueError, rf"{wanted}.*, but fails: .*cannot be multiplied"),
        (nn.Linear(D, A + 1), ValueError, rf"{wanted}.*, but returns \(1, {A + 1}\)"),
        (Returns((2, A)), ValueError, "the batch size N must be free, but N = 1 fails: given"),
        (Returns((-1,)), ValueError, rf"returns \({A},\)"),
        (diverged, ValueError, "weights are not finite: weight"),
        (averaged, ValueError, r"weights are not finite: 0\.running_mean"),
        (Branches(), ValueError, "torch cannot write this model as ONNX: "),
        (torch.jit.trace(nn.Linear(D, A), torch.zeros(2, D)), TypeError, "takes the eager module"),
        (torch.compile(nn.Linear(D, A)), TypeError, "takes the eager module, .*OptimizedModule"),
    ):
        with pytest.raises(error, match=message):
            card_envs.export_policy(module, GAME, tmp_path / "wrong.onnx")
    with pytest.raises(TypeError, match=r"a tuple is needed for 'hidden', such as \(64,\), got 8"):
        card_envs.export_policy(nn.Linear(D, A), GAME, tmp_path / "x.onnx", states={"hidden": 8})
    for module, message in (
        (nn.Linear(4 * D, A), f"it does not fit {GAME.name} .*: it takes {4 * D} values"),
        (diverged, "layer 0 is not finite"),
        (nn.Linear(D, A + 1), f"it takes {D} values and chooses among {A + 1} actions"),
    ):
        with pytest.raises(ValueError, match=message):
            card_envs.export_policy(module, GAME, tmp_path / "wrong.safetensors")
    path = tmp_path / "x.safetensors"
    with pytest.raises(ValueError, match="the model takes no states, got hidden"):
        card_envs.export_policy(nn.Linear(D, A), GAME, path, states={"hidden": (8,)})
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


@needs_training
@pytest.mark.slow
def test_recurrent_modules_and_those_that_do_not_fit(tmp_path):
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self, actions):
            super().__init__()
            self.cell, self.head = nn.GRUCell(D, 8), nn.Linear(8, actions)

        def forward(self, observation, action_mask, hidden):
            hidden = self.cell(observation, hidden)
            return self.head(hidden), hidden

    path = tmp_path / "recurrent.onnx"
    card_envs.export_policy(Recurrent(A), GAME, path, states={"hidden": (8,)})
    agent = make_agent(path, GAME)
    assert isinstance(agent, RecurrentOnnxAgent)
    assert ranks(agent) == ranks(agent)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"does not fit {GAME.name}"):
        card_envs.export_policy(Recurrent(A + 1), GAME, path, states={"hidden": (8,)})
    with pytest.raises(ValueError, match=r"but fails: TypeError: .*'hidden'"):
        card_envs.export_policy(Recurrent(A), GAME, path)
    assert path.read_bytes() == before


@needs_training
def test_a_model_that_is_more_than_its_layers_is_refused(tmp_path):
    """A safetensors file would silently hold another policy."""
    import gymnasium
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn

    class Negated(nn.Sequential):
        def forward(self, x):
            return -super().forward(x)

    class Flipped(BaseFeaturesExtractor):
        def __init__(self, observation_space):
            super().__init__(observation_space, D)

        def forward(self, x):
            return x.flip(1)

    env = gymnasium.make(GAME.gymnasium_id).unwrapped
    own = MaskablePPO("MlpPolicy", env, policy_kwargs={"features_extractor_class": Flipped})
    for model in (Negated(nn.Linear(D, A)), nn.Sequential(nn.Flatten(0), nn.Linear(D, A)), own):
        with pytest.raises(ValueError, match=r"to a file that ends in \.onnx"):
            card_envs.export_policy(model, GAME, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@needs_training
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["masked", "dict", "units", "normalized", "dqn", "recurrent"])
def test_models_of_stable_baselines(kind, tmp_path):
    import gymnasium
    from sb3_contrib import MaskablePPO, RecurrentPPO
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    from card_envs.integrations.sb3 import make_vec_env
    from card_envs.integrations.sb3_evaluation import as_agent as sb3_agent

    def env(**options):
        return DummyVecEnv([lambda: gymnasium.make(GAME.gymnasium_id, **options).unwrapped])

    observation, mask = positions()
    if kind == "masked":
        model = MaskablePPO("MlpPolicy", env(memory="none"), seed=0)
    elif kind == "dict":
        model = MaskablePPO("MultiInputPolicy", env(mask="observation"), seed=0)
    elif kind == "units":
        model = MaskablePPO(
            "MlpPolicy", make_vec_env(GAME.name, 2, observation_dtype="uint8"), seed=0
        )
    elif kind == "normalized":
        normalize = VecNormalize(env())
        normalize.obs_rms.update(observation)
        model = PPO("MlpPolicy", normalize, seed=0)
    elif kind == "dqn":
        model = DQN("MlpPolicy", env(), buffer_size=10, seed=0)
    else:
        model = RecurrentPPO("MlpLstmPolicy", env(), seed=0)
    path = tmp_path / "model.onnx"
    card_envs.export_policy(model, GAME, path)
    if kind == "recurrent":
        agent = make_agent(path, GAME)
        state, kept = None, {k: np.zeros((40, *s)) for k, s in agent.model.states.items()}
        for step in range(3):
            expected, state = model.predict(
                observation, state, np.full(40, step == 0), deterministic=True
            )
            actions, kept = agent.model.act(observation, np.ones_like(mask), kept)
            assert actions.tolist() == expected.tolist()
        return
    expected = sb3_agent(model)._function(observation, mask).tolist()
    assert played(path) == expected
    assert make_agent(path, GAME).view == View("none" if kind == "masked" else "perfect", True)
    if kind in ("masked", "dqn"):
        card_envs.export_policy(model, GAME, tmp_path / "model.safetensors")
        assert played(tmp_path / "model.safetensors") == expected
    else:
        beside = {"dict": "the mask", "units": "observations in", "normalized": "its VecNormalize"}
        with pytest.raises(ValueError, match=rf"cannot hold {beside[kind]}.*ends in \.onnx"):
            card_envs.export_policy(model, GAME, tmp_path / "model.safetensors")


@needs_training
@pytest.mark.slow
def test_what_a_model_observes_through_a_wrapper_is_refused(tmp_path):
    """But for SB3's own, where that leaves observations as they are."""
    import gymnasium
    from gymnasium.wrappers import RescaleObservation
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    from card_envs.integrations.sb3_evaluation import as_agent as sb3_agent

    env = gymnasium.make(GAME.gymnasium_id)
    rescaled = PPO("MlpPolicy", RescaleObservation(env, np.float32(-1), np.float32(1)))
    for use in (sb3_agent, lambda model: card_envs.export_policy(model, GAME, tmp_path / "m.onnx")):
        with pytest.raises(ValueError, match="through a wrapper that changes values"):
            use(rescaled)
    same = PPO("MlpPolicy", VecNormalize(DummyVecEnv([lambda: env.unwrapped]), norm_obs=False))
    card_envs.export_policy(same, GAME, tmp_path / "m.safetensors")
    observation, mask = positions()
    expected = sb3_agent(same)._function(observation, mask).tolist()
    assert played(tmp_path / "m.safetensors") == expected
