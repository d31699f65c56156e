"""Datasets: recorded games are the games that the environments play, with any agents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import flatdim
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    TABLES,
    kit_of,
    module_of,
    needs_training,
    network_of,
    replayed,
)

from card_envs.agents import Agent, agent_names, choose, make_agent
from card_envs.agents.network import write_policy
from card_envs.commands.cli import main
from card_envs.contract.agent import turn_of
from card_envs.contract.options import View
from card_envs.contract.outcome import RANK
from card_envs.datasets import (
    Recording,
    games_of_dataset,
    hash_dataset,
    recording,
    search_decisions,
)
from card_envs.engine.history import Replay
from card_envs.engine.seeds import learner_seat_of
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.evaluation import deal_seeds
from card_envs.utils.words import counted

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
needs_minari = pytest.mark.skipif(
    find_spec("minari") is None, reason="the extra datasets is not installed"
)

ROOT = Path(__file__).parent.parent
GAME = ALL_GAMES[0]  # where any game will do


def last_legal(observation, action_mask):
    return action_mask.shape[1] - 1 - action_mask[:, ::-1].argmax(axis=1)


def table_of(game, num_players):
    """Different kinds of agents: kernels, and one that is asked."""
    known = [last_legal, game.default_opponent, *agent_names(game)]
    return [known[k % len(known)] for k in range(num_players)]


def record(game, agents, games=5, seed=3, **options):
    return list(Recording(game, agents, games, seed, {**kit_of(game).short_options, **options}))


def lines_of(batches):
    return [replay.to_json() for batch in batches for replay in batch.replays()]


def command(*more, game=GAME, agents=None):
    agents = agents or ["random"] * game.min_players
    return ["record", game.id, "--agents", *agents, "--games", "3", *map(str, more)]


# ---------------------------------------------------------------------------------------------
# Games
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "num_players"), TABLES)
def test_a_line_is_what_the_environment_saves(game, num_players):
    [batch] = record(game, table_of(game, num_players), reward="score")
    lines = lines_of([batch])
    assert len(lines) == len(batch) == 5
    for line, seed in zip(lines, batch.seeds.tolist(), strict=True):
        replay = Replay.from_json(line)
        env = module_of(game).raw_env(
            num_players=num_players, **{**kit_of(game).short_options, "reward": "score"}
        )
        env.reset(seed=seed)
        for action in replay.actions:
            env.step(action)
        assert not env.legal_actions()
        assert env.save().decode() == line


@few_games
def test_everybody_sits_where_the_seed_says_and_plays_their_own_actions(game):
    n = game.max_players
    agents = [last_legal, *[game.default_opponent] * (n - 1)]
    [batch] = record(game, agents, 20)
    assert batch.seats.tolist() == [learner_seat_of(seed, n) for seed in batch.seeds]
    assert len(set(batch.seats.tolist())) > 1
    heuristic = make_agent("heuristic", game) if game.heuristic else None
    for replay, seat in zip(batch.replays(), batch.seats, strict=True):
        for env, action in replayed(replay):
            if env.agent_selection == f"player_{seat}":
                assert action == env.legal_actions()[-1]
            elif heuristic is not None:
                assert action == choose(heuristic, game, env.states)


@each_game
def test_the_same_seed_gives_the_same_games_however_they_are_batched(game, monkeypatch):
    agents = table_of(game, game.max_players)
    lines = lines_of(record(game, agents, 7))
    monkeypatch.setattr(recording, "_GAMES_AT_ONCE", 3)
    monkeypatch.setattr("card_envs.engine.arena._ROOM", 1)  # it grows as games go on
    batches = record(game, agents, 7)
    assert [len(batch) for batch in batches] == [3, 3, 1]
    assert lines_of(batches) == lines
    assert lines_of(record(game, agents, 4)) == lines[:4]


def test_other_seeds_give_other_games_and_none_is_a_deal_of_an_evaluation():
    seeds = [
        seed
        for start in (0, 1, 2)
        for batch in Recording(GAME, ["random"] * GAME.min_players, 300, start)
        for seed in batch.seeds.tolist()
    ]
    assert len(set(seeds)) == len(seeds) == 900
    assert not set(seeds) & {
        seed for start in (0, 1, 2) for seed in deal_seeds(start, 300).tolist()
    }


@pytest.mark.parametrize("games", [0, -1, 2.0, True, "3", None])
def test_a_wrong_number_of_games(games):
    with pytest.raises(ValueError, match=f"from 1 to 10000000, got {games!r}"):
        Recording(GAME, ["random"] * GAME.min_players, games)


# ---------------------------------------------------------------------------------------------
# Decisions
# ---------------------------------------------------------------------------------------------


def check_decisions(env, decisions):
    """The environment returns the same for the same seed and actions."""
    observation, _ = env.reset(seed=decisions.seed)
    rows = [observation]
    for action, reward in zip(decisions.actions, decisions.rewards, strict=True):
        observation, paid, terminated, truncated, _ = env.step(action)
        rows.append(observation)
        assert paid == reward
        last = len(rows) == len(decisions.observation)
        assert (terminated, truncated) == (
            last and decisions.terminated,
            last and decisions.truncated,
        )
    for key, written in (
        ("observation", decisions.observation),
        ("action_mask", decisions.action_mask),
    ):
        assert np.array_equal(np.stack([row[key] for row in rows]), written)
        assert rows[0][key].dtype == written.dtype


def has_decision(batch):
    """In which of the games the first agent is to move at least once."""
    return [
        any(
            env.agent_selection == env.possible_agents[batch.seats[k]]
            for env, _ in replayed(replay)
        )
        for k, replay in enumerate(batch.replays())
    ]


@pytest.mark.parametrize("view", [View(), View("none", False)])
@few_games
def test_decisions_are_those_of_a_single_seat(game, view):
    n = game.max_players
    opponents = [game.default_opponent, *[last_legal] * (n - 2)]
    agents = [last_legal if game.heuristic is None else "heuristic", *opponents]
    options = {**kit_of(game).short_options, "reward": "score"}
    if game.heuristic is None:
        agents[1] = opponents[0] = last_legal  # a random one draws in another order
    [batch] = record(game, agents, 10, **options)
    env = SingleSeatEnv(
        game.name,
        num_players=n,
        opponents=opponents,
        memory=view.memory,
        features=view.features,
        mask="observation",
        **options,
    )
    episodes = list(batch.first_agents_decisions(view))
    assert [decisions.seed for decisions in episodes] == batch.seeds[has_decision(batch)].tolist()
    for decisions in episodes:
        check_decisions(env, decisions)


def test_opponents_that_draw_play_as_those_of_a_single_seat(tmp_path):
    """Whatever the recording's seed is."""
    path = tmp_path / "draws.safetensors"
    write_policy(path, network_of(GAME), GAME, draws=True)
    n = GAME.min_players
    [batch] = record(GAME, [last_legal, *[str(path)] * (n - 1)], 10, seed=4)
    options = kit_of(GAME).short_options
    env = SingleSeatEnv(
        GAME.name, num_players=n, opponents=str(path), mask="observation", **options
    )
    episodes = list(batch.first_agents_decisions())
    assert len(episodes) > 5
    for decisions in episodes:
        check_decisions(env, decisions)


@few_games
def test_a_game_without_a_decision_is_left_out(game):
    n = game.max_players
    [batch] = record(game, ["random"] * n, 40, max_steps=1)
    starts = has_decision(batch)
    assert 0 < sum(starts) < 40
    episodes = list(batch.first_agents_decisions())
    assert [d.seed for d in episodes] == batch.seeds[starts].tolist()
    for decisions in episodes:
        assert len(decisions.actions) == 1
        assert decisions.truncated or decisions.terminated


# ---------------------------------------------------------------------------------------------
# Minari
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def minari(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return pytest.importorskip("minari")


@few_games
def test_a_minari_dataset_brings_its_environment(game, minari, capsys, monkeypatch):
    monkeypatch.setattr(recording, "_GAMES_AT_ONCE", 2)  # it is written batch by batch
    n = game.min_players
    agent = "random" if game.heuristic is None else "heuristic"
    options = {**kit_of(game).short_options, "reward": "score", "memory": "none"}
    arguments = command(
        "--minari", "some/test-v0", "--option", *(f"{k}={v}" for k, v in options.items()),
        game=game, agents=[agent] * n,
    )  # fmt: skip
    arguments += ["--games-from", game.package] * (not kit_of(game).is_own)
    assert main(arguments) == 0
    assert f"3 episodes of {agent}" in capsys.readouterr().err.replace("\n", "")
    dataset = minari.load_dataset("some/test-v0")
    del options["memory"]
    batches = record(game, [agent] * n, 3, 0, **options)
    expected = [d for batch in batches for d in batch.first_agents_decisions(View("none"))]
    with pytest.raises(TypeError, match="a View is needed, such as"):
        next(batches[0].first_agents_decisions("none"))
    episodes = list(dataset.iterate_episodes())
    assert len(episodes) == len(expected) == dataset.total_episodes == 3
    seeds = [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(3))]
    assert seeds == [decisions.seed for decisions in expected]
    for episode, decisions in zip(episodes, expected, strict=True):
        assert np.array_equal(episode.observations["observation"], decisions.observation)
        assert np.array_equal(episode.observations["action_mask"], decisions.action_mask)
        assert np.array_equal(episode.actions, decisions.actions)
        assert np.array_equal(episode.rewards, decisions.rewards)
        assert episode.terminations.tolist()[:-1] == [False] * (len(decisions.actions) - 1)
        assert (episode.terminations[-1], episode.truncations[-1]) == (
            decisions.terminated,
            decisions.truncated,
        )
    env = dataset.recover_environment()
    assert isinstance(env, gymnasium.Env)
    assert env.observation_space == dataset.observation_space
    assert env.action_space == dataset.action_space
    if agent != "random":  # which draws in another order when the learner does not
        for decisions in expected:
            check_decisions(env, decisions)
    table = dataset.storage.metadata["card_envs"]
    assert table["game"] == game.name
    assert table["agents"] == [agent] * n
    assert table["fingerprint"] == game.fields.fingerprint


class Seeded(Agent):
    """Plays by its seed and the number of decisions so far."""

    def __init__(self, game, seed):
        self.seed = seed

    def act(self, turn):
        steps = turn.states["steps"][turn.indices]
        legal = [np.flatnonzero(mask) for mask in turn.action_mask]
        return np.array(
            [a[(7 * self.seed + step) % len(a)] for a, step in zip(legal, steps, strict=True)]
        )


@each_game
def test_opponents_that_draw_play_a_recorded_game_again(game):
    n = min(3, game.max_players)
    names = [game.default_opponent, *["search:4,policy=random"] * (n - 2), Seeded]
    options = {**kit_of(game).short_options, "max_steps": 40}
    recorded = [
        decisions
        for batch in Recording(game, names, 2, 5, options)
        for decisions in batch.first_agents_decisions()
    ]
    assert recorded
    env = SingleSeatEnv(
        game.name, num_players=n, opponents=names[1:], mask="observation", **options
    )
    for decisions in recorded:
        check_decisions(env, decisions)


def test_an_existing_minari_dataset_is_refused(minari, capsys):
    assert main(command("--minari", "test-v0")) == 0
    before = minari.load_dataset("test-v0").total_steps
    error = error_of(command("--minari", "test-v0", "--seed", 1), capsys)
    assert "the Minari dataset test-v0 exists already: " in error
    assert minari.load_dataset("test-v0").total_steps == before


@pytest.mark.parametrize(
    "name", ["test", "", "a-vb", "../test-v0", "a b-v0", "/test-v0", "test-v0/"]
)
def test_a_wrong_name_of_a_minari_dataset(minari, name, capsys, tmp_path):
    error = error_of(command("--minari", name), capsys)
    assert "a Minari dataset is called NAME-v0 or GROUP/NAME-v0" in error
    assert repr(name) in error


def test_no_minari_dataset_is_left_by_what_failed(minari, capsys, monkeypatch, tmp_path):
    from card_envs.datasets.minari_dataset import MinariWriter

    def add(self, games):
        original(self, games)
        raise OSError(28, "No space left on device")

    original = MinariWriter.add
    monkeypatch.setattr(MinariWriter, "add", add)
    out = tmp_path / "games.jsonl"
    assert "No space left" in error_of(command("--minari", "test-v0", "--out", out), capsys)
    assert not minari.list_local_datasets()
    assert not out.exists()


def hidden_in(folder):
    return list(folder.glob(".*")) if folder.exists() else []


def test_a_recording_is_built_beside_and_moved_at_the_end(minari, monkeypatch, tmp_path):
    from card_envs.datasets.minari_dataset import MinariWriter

    add = MinariWriter.add
    out = tmp_path / "games.jsonl"
    seen = []

    def look(self, games):
        add(self, games)
        assert self.episodes
        seen.append(minari.list_local_datasets())
        assert not self.path.exists()
        assert not out.exists()
        assert len(hidden_in(tmp_path)) == len(hidden_in(tmp_path / "minari")) == 1

    monkeypatch.setattr(MinariWriter, "add", look)
    assert main(command("--minari", "some/test-v0", "--out", out)) == 0
    assert seen == [{}]
    assert list(minari.list_local_datasets()) == ["some/test-v0"]
    assert minari.namespace.list_local_namespaces() == ["some"]
    assert not hidden_in(tmp_path)
    assert not hidden_in(tmp_path / "minari")


# Records, and ends itself while the first batch is there and the second one is not.
_ENDING = """
import os, signal, sys
from card_envs.commands.cli import main
from card_envs.datasets import minari_dataset, recording
recording._GAMES_AT_ONCE = 2
add = minari_dataset.MinariWriter.add
def add_and_end(self, games):
    add(self, games)
    os.kill(os.getpid(), signal.{signal})
minari_dataset.MinariWriter.add = add_and_end
sys.exit(main({arguments}))
"""


@needs_minari
@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize(
    "name", [pytest.param("SIGHUP", marks=pytest.mark.slow), "SIGTERM", "SIGKILL"]
)
def test_a_killed_recording_leaves_no_dataset(name, tmp_path, minari, capsys):
    """But for hidden files after SIGKILL, which the next recording tells of."""
    game = next(game for game in ALL_GAMES if kit_of(game).is_own)
    out = tmp_path / "games.jsonl"
    arguments = command("--minari", "test-v0", "--out", out, game=game)
    killed = subprocess.run(
        [sys.executable, "-c", _ENDING.format(signal=name, arguments=arguments)],
        env={**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "minari")},
        capture_output=True,
        text=True,
    )
    assert killed.returncode == (-9 if name == "SIGKILL" else 130), killed.stderr
    assert not out.exists()
    assert not minari.list_local_datasets()
    left = [*hidden_in(tmp_path), *hidden_in(tmp_path / "minari")]
    assert len(left) == (2 if name == "SIGKILL" else 0)
    assert main(arguments) == 0
    told = capsys.readouterr().err
    for path in left:
        assert f"{path}: left by a recording that was killed" in told
    assert out.exists()
    assert list(minari.list_local_datasets()) == ["test-v0"]
    assert [*hidden_in(tmp_path), *hidden_in(tmp_path / "minari")] == left


@needs_minari
@pytest.mark.skipif(find_spec("resource") is None, reason="files cannot be limited on this system")
def test_a_full_disk_ends_a_recording_in_one_line(tmp_path, minari):
    """Inside HDF5 it would end in a segmentation fault. It is full sooner and later."""
    game = next(game for game in ALL_GAMES if kit_of(game).is_own)
    arguments = command("--minari", "test-v0", game=game)
    code = f"""
import resource, sys
from card_envs.commands.cli import main
from card_envs.datasets import minari_dataset, recording
recording._GAMES_AT_ONCE = 1
init = minari_dataset.MinariWriter.__init__
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
def limit(self, *args):
    init(self, *args)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
minari_dataset.MinariWriter.__init__ = limit
for size in (0, 20_000, 1_100_000):
    print(main({arguments}), flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "minari")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == 3 * "2\n"
    assert len(re.findall("^card-envs: error: File too large", done.stderr, re.MULTILINE)) == 3
    assert not list((tmp_path / "minari").iterdir())


def test_a_minari_dataset_that_another_program_has_made_meanwhile_stays(minari):
    from card_envs.datasets.minari_dataset import MinariWriter

    agents = ["random"] * GAME.min_players
    recording = Recording(GAME, agents, 2, 0, {})
    view = View("none")
    late = MinariWriter("test-v0", recording, agents, view)
    assert main(command("--minari", "test-v0")) == 0
    before = minari.load_dataset("test-v0").total_steps

    def write():
        with late:
            late.add(next(iter(recording)))

    with pytest.raises(ValueError, match="exists already"):
        write()
    assert minari.load_dataset("test-v0").total_steps == before


def test_without_any_decision_there_is_no_minari_dataset(minari, capsys):
    n = GAME.max_players
    seed = next(
        seed
        for seed in range(100)
        if not any(
            list(batch.first_agents_decisions())
            for batch in Recording(GAME, ["random"] * n, 1, seed, {"max_steps": 1})
        )
    )
    arguments = ["record", GAME.id, "--agents", *["random"] * n, "--games", "1"]
    arguments += ["--minari", "test-v0", "--seed", str(seed), "--option", "max_steps=1"]
    assert "max_steps=1 is too small" in error_of(arguments, capsys)
    assert not minari.list_local_datasets()


def test_of_forfeited_games_there_is_no_minari_dataset(minari, capsys):
    n = GAME.min_players
    arguments = ["record", GAME.id, "--agents", "cmd:false", *["random"] * (n - 1)]
    error = error_of([*arguments, "--games", "2", "--minari", "test-v0"], capsys)
    assert "a program forfeited all games" in error
    assert not minari.list_local_datasets()


def test_without_minari_the_extra_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    assert "card_envs[datasets]" in error_of(command("--minari", "test-v0"), capsys)


# ---------------------------------------------------------------------------------------------
# Datasets as replays
# ---------------------------------------------------------------------------------------------


def test_a_dataset_is_replayed_like_a_file(minari, capsys, monkeypatch, tmp_path):
    """Games are counted from 1 as in a file, and are those of the episodes."""
    monkeypatch.setattr(recording, "_GAMES_AT_ONCE", 2)
    out = tmp_path / "games.jsonl"
    assert main(command("--minari", "some/test-v0", "--out", out)) == 0
    dataset = minari.load_dataset("some/test-v0")
    path = games_of_dataset("some/test-v0")
    assert path.read_bytes() == out.read_bytes()
    seeds = [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(3))]
    assert [replay.seed for replay in Replay.load_all(path)] == seeds
    folder = tmp_path / "minari" / "some" / "test-v0"
    for number, seed in enumerate(seeds, 1):
        for name in ("some/test-v0", str(folder)):
            capsys.readouterr()
            assert main(["replay", name, "--game", str(number)]) == 0
            assert f"seed {seed}, " in capsys.readouterr().out
    assert "has 3 games, so no game 4" in error_of(["replay", str(folder), "--game", "4"], capsys)


def test_games_without_an_episode_are_no_replays_of_a_dataset(minari):
    n = GAME.max_players
    arguments = ["record", GAME.id, "--agents", *["random"] * n, "--games", "20"]
    assert main([*arguments, "--minari", "test-v0", "--option", "max_steps=1"]) == 0
    episodes = minari.load_dataset("test-v0").total_episodes
    assert episodes < 20
    assert len(list(Replay.load_all(games_of_dataset("test-v0")))) == episodes


def test_truncated_games_of_a_recording_are_counted(tmp_path, capsys):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    arguments = ["record", GAME.id, "--agents", *["random"] * GAME.min_players, "--games", "20"]
    assert main([*arguments, "--out", str(whole)]) == 0
    lengths = sorted(len(replay.actions) for replay in Replay.load_all(whole))
    most = lengths[10]
    assert main([*arguments, "--out", str(cut), "--option", f"max_steps={most}"]) == 0
    count = sum(length > most for length in lengths)
    assert 0 < count < 20
    assert f", {counted(count, 'game')} truncated at max_steps" in capsys.readouterr().err


def test_a_dataset_that_cannot_be_replayed(minari, capsys, tmp_path):
    assert main(command("--minari", "test-v0")) == 0
    path = games_of_dataset("test-v0")
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-60], lines[2]]), "utf-8")
    error = error_of(["replay", "test-v0", "--game", "2"], capsys)
    assert "games.jsonl, line 2: " in error
    path.write_text("\n".join([lines[0].replace('"seed": ', '"seed": 1'), *lines[1:]]), "utf-8")
    assert "games.jsonl: this saved game is damaged" in error_of(["replay", "test-v0"], capsys)
    path.unlink()
    error = error_of(["replay", "test-v0"], capsys)
    assert "test-v0 cannot be replayed: it has no data/games.jsonl" in error
    assert "there is no Minari dataset none-v0: " in error_of(["replay", "none-v0"], capsys)
    assert "there is no Minari dataset " in error_of(["replay", str(tmp_path)], capsys)
    assert "there is no file none; a Minari dataset is given by" in error_of(
        ["replay", "none"], capsys
    )
    with pytest.raises(TypeError, match=r"minari.load_dataset\(name\) gives, got 'test-v0'"):
        hash_dataset("test-v0")


def test_a_datasets_hash_is_that_of_what_is_read(minari, capsys):
    hashes = []
    for name, seed in (("one-v0", 0), ("two-v0", 0), ("three-v0", 1)):
        assert main(command("--minari", name, "--seed", seed)) == 0
        dataset = minari.load_dataset(name)
        hashes.append(hash_dataset(dataset))
        assert dataset.storage.metadata["card_envs"]["sha256"] == hashes[-1]
        assert f"SHA-256 of its arrays: {hashes[-1]}" in capsys.readouterr().err
    assert hashes[0] == hashes[1] != hashes[2]


# ---------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------


SEARCH = "search:8,policy=random"


def test_values_are_what_the_search_finds_and_its_worlds_can_be_drawn_again(minari, capsys):
    n, options = GAME.min_players, {**kit_of(GAME).short_options, "reward": "score"}
    given = ["--option", *(f"{name}={value}" for name, value in options.items())]
    arguments = command("--minari", "test-v0", "--values", SEARCH, *given, agents=[SEARCH] * n)
    assert main(arguments) == 0
    dataset = minari.load_dataset("test-v0")
    assert dataset.storage.metadata["card_envs"]["values"] == SEARCH
    assert dataset.storage.metadata["card_envs"]["sha256"] == hash_dataset(dataset)
    agent = make_agent(SEARCH, GAME)
    replays = Replay.load_all(games_of_dataset("test-v0"))
    for episode, replay in zip(dataset.iterate_episodes(), replays, strict=True):
        infos, seat, row = episode.infos, learner_seat_of(np.uint64(replay.seed), n), 0
        assert {len(array) for array in infos.values()} == {len(episode.actions) + 1}
        assert np.array_equal(infos["choice"][:-1], episode.actions)  # what the search itself plays
        assert infos["choice"][-1] == -1
        assert not infos["visits"][-1].any()
        follower = agent.follow(None)
        for states, action in replay.steps():
            if states["current_player"][0] == seat:
                turn = turn_of(GAME, states, np.array([0]), agent.view)
                found = follower.search(turn)
                tried = infos["candidates"][row][infos["candidates"][row] >= 0]
                assert tried.tolist() == np.flatnonzero(found.visits[0]).tolist()
                for name in ("values", "errors", "visits"):
                    written = infos[name][row][: len(tried)]
                    expected = getattr(found, name)[0, tried].astype(written.dtype)
                    np.testing.assert_array_equal(written, expected)
                assert infos["worlds_seed"][row] == found.seeds[0]
                assert turn.action_mask[0, tried].all()
                row += 1
            follower.watch(states, 0, action)
        end = replay_by_rank(replay)
        assert np.unique(infos["outcome"]).tolist() == [end["rewards"][0, seat]]


def replay_by_rank(replay):
    """The last record of the game, had it paid rank rewards."""
    states = replay.begin()
    states["reward_mode"] = RANK
    for _ in replay.steps(states):
        pass
    return states


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--values", SEARCH], "replays hold no values; it is for --minari"),
        (["--minari", "test-v0", "--values", "random"], "must be search:N, such as search:64"),
        (["--minari", "test-v0", "--values", "search:8,method=tree"], "with method=halving"),
        (["--minari", "test-v0", "--values", "search:x"], "rollouts must be a whole number"),
    ],
)
def test_wrong_values(more, message, minari, capsys, tmp_path):
    out = [] if "--minari" in more else ["--out", tmp_path / "games.jsonl"]
    assert message in error_of(command(*more, *out), capsys)


def test_the_search_must_be_of_the_game():
    game = next(game for game in ALL_GAMES if game is not GAME)
    [batch] = Recording(GAME, ["random"] * GAME.min_players, 1)
    with pytest.raises(ValueError, match=f"searches {game.name}, not {GAME.name}"):
        next(search_decisions(batch, make_agent("search:8,policy=random", game)))
    for wrong in ("search:8", make_agent("search:8,method=tree,policy=random", GAME)):
        with pytest.raises(TypeError, match="a SearchAgent is needed, as make_agent"):
            next(search_decisions(batch, wrong))


SAMPLES = sorted((ROOT / "docs" / "samples").glob("*.zip"))
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[path.stem for path in SAMPLES])


def unpacked(sample, folder):
    """The sample's dataset, by name, in Minari's folder."""
    zipfile.ZipFile(sample).extractall(folder)
    return f"{sample.stem}/values-v0"


@each_sample
def test_a_sample_is_of_its_checksum_and_can_be_replayed(sample, minari, tmp_path):
    name = unpacked(sample, tmp_path / "minari")
    dataset = minari.load_dataset(name)
    about = dataset.storage.metadata["card_envs"]
    assert dataset.total_steps >= 1000
    assert hash_dataset(dataset) == about["sha256"]
    page = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert about["sha256"] in page
    entries = dataset.total_steps * flatdim(dataset.observation_space)
    assert sample.stat().st_size < entries / 5  # bytes
    replay = Replay.load(games_of_dataset(name), dataset.total_episodes)
    assert replay.game == f"{sample.stem}_v0" == about["game"]


@pytest.mark.slow
@each_sample
def test_a_sample_is_recorded_again(sample, minari, tmp_path):
    before = minari.load_dataset(unpacked(sample, tmp_path / "minari")).storage.metadata
    about = before["card_envs"]
    arguments = ["record", sample.stem, "--agents", *about["agents"], "--minari", "again-v0"]
    for key in ("games", "seed", "values"):
        arguments += [f"--{key}", str(about[key])]
    assert main(arguments) == 0
    again = minari.load_dataset("again-v0").storage.metadata["card_envs"]
    assert again["sha256"] == about["sha256"]


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


def error_of(arguments, capsys):
    """The last line on stderr, after the usage or the progress bar."""
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("agents", "more", "message"),
    [
        (["nobody"] * GAME.min_players, [], "there is no agent 'nobody'"),
        (["random"] * (GAME.max_players + 1), [], "players, with an agent for each, got"),
        (None, ["--games", 0], "from 1 to 10000000, got 0"),
        (None, ["--seed", -1], "seed must be from 0"),
        (None, ["--option", "colour=red"], "no option 'colour'"),
        (None, ["--option", "memory=none"], "it is for --minari"),
    ],
)  # fmt: skip
def test_wrong_arguments(agents, more, message, capsys, tmp_path):
    out = tmp_path / "games.jsonl"
    assert message in error_of(command(*more, "--out", out, agents=agents), capsys)
    assert not list(tmp_path.iterdir())


def test_it_needs_something_to_write(capsys):
    assert "needs --out FILE, --minari NAME-v0, or both" in error_of(command(), capsys)


def test_no_file_is_overwritten(capsys, tmp_path):
    out = tmp_path / "games.jsonl"
    out.write_text("kept")
    link = tmp_path / "link.jsonl"
    link.symlink_to(out)
    for path in (out, link):
        assert "exists already" in error_of(command("--out", path), capsys)
    assert "is a folder" in error_of(command("--out", tmp_path), capsys)
    assert out.read_text() == "kept"


def test_an_interrupted_recording_leaves_nothing(capsys, tmp_path, monkeypatch):
    def interrupt(self):
        yield from original(self)
        raise KeyboardInterrupt

    original = Recording.__iter__
    monkeypatch.setattr(Recording, "__iter__", interrupt)
    assert main(command("--out", tmp_path / "games.jsonl")) == 130
    assert not list(tmp_path.iterdir())


def test_the_same_command_writes_the_same_bytes(capsys, tmp_path):
    for name in ("one.jsonl", "two.jsonl"):
        assert main(command("--out", tmp_path / "new" / name)) == 0
    one, two = sorted((tmp_path / "new").iterdir())
    assert one.read_bytes() == two.read_bytes()
    assert one.read_text(encoding="utf-8").splitlines() == lines_of(
        Recording(GAME, ["random"] * GAME.min_players, 3)
    )


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no /dev/stdout")
def test_the_standard_output_gets_lines_only():
    done = subprocess.run(
        [sys.executable, "-m", "card_envs.commands.cli", *command("--out", "/dev/stdout")],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert [Replay.from_json(line).to_json() for line in lines] == lines


def test_without_rich_there_is_no_progress_bar(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(command("--out", tmp_path / "games.jsonl")) == 0
    assert capsys.readouterr().err.startswith("3 games of ")


# ---------------------------------------------------------------------------------------------
# Files of several games
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "games.jsonl"
    assert main(command("--out", path)) == 0
    return path


def test_a_game_of_a_file_is_chosen_by_its_number(file, capsys):
    replays = list(Replay.load_all(file))
    assert [replay.to_json() for replay in replays] == file.read_text("utf-8").splitlines()
    assert Replay.load(file) == replays[0]
    for number, replay in enumerate(replays, 1):
        assert Replay.load(file, number) == replay
        capsys.readouterr()
        assert main(["replay", str(file), "--game", str(number)]) == 0
        assert f"seed {replay.seed}, " in capsys.readouterr().out
    for number, message in ((4, "has 3 games, so no game 4"), (0, "of at least 1, got 0")):
        assert message in error_of(["replay", str(file), "--game", str(number)], capsys)


def test_recorded_games_need_a_seed():
    with pytest.raises(TypeError, match="seed must be a whole number, got None"):
        Recording(GAME, ["random"] * GAME.min_players, 1, seed=None)


def test_blank_lines_are_no_games(file):
    replays = list(Replay.load_all(file))
    first, *others = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([first, "", *others, " ", "", ""]), "utf-8")
    assert list(Replay.load_all(file)) == replays
    assert Replay.load(file, 3) == replays[2]
    with pytest.raises(ValueError, match="has 3 games, so no game 4"):
        Replay.load(file, 4)
    file.write_text(first, "utf-8")
    with pytest.raises(ValueError, match="has 1 game, so no game 2"):
        Replay.load(file, 2)
    with pytest.raises(ValueError, match="game must be a whole number of at least 1, got '1'"):
        Replay.load(file, "1")


def test_a_damaged_line_is_named(file, capsys):
    lines = file.read_text("utf-8").splitlines()
    lines[1] = lines[1].replace('"seed": ', '"seed": 1')
    file.write_text("\n".join(lines), "utf-8")
    assert Replay.load(file, 3) == Replay.from_json(lines[2])
    for read in (lambda: list(Replay.load_all(file)), lambda: Replay.load(file, 2)):
        with pytest.raises(ValueError, match=r"games\.jsonl, line 2: .*damaged"):
            read()


# ---------------------------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------------------------


def test_the_script_that_the_page_shows_is_short():
    script = (ROOT / "docs" / "behavior_cloning.py").read_text(encoding="utf-8")
    assert len(script.splitlines()) - script.count("\n\n") <= 46


def clone(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script on the dataset clone-v0, in a folder."""
    return subprocess.run(
        [sys.executable, str(ROOT / "docs" / "behavior_cloning.py"), "clone-v0", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.slow
@needs_training
@needs_minari
@pytest.mark.parametrize("options", [[], ["--option", "memory=none", "max_steps=300"]])
def test_behavior_cloning(minari, capsys, tmp_path, options):
    agents = ["heuristic"] * GAME.min_players
    assert main(command("--minari", "clone-v0", *options, agents=agents)) == 0
    done = clone(tmp_path, "2", "2")
    assert done.returncode == 0
    losses = [float(loss) for loss in re.findall(r"cross-entropy ([\d.]+)", done.stdout)]
    assert len(losses) == 2
    assert losses[1] < losses[0]
    assert re.search(r"^clone.safetensors: rank reward MeanEstimate", done.stdout, re.MULTILINE)
    view = make_agent(tmp_path / "clone.safetensors", GAME).view
    assert view.memory == ("none" if options else "perfect")


@pytest.mark.slow
@needs_training
@needs_minari
@pytest.mark.parametrize("name", ["cmd:touch {started}", "trap.py:thing"])
def test_behavior_cloning_runs_no_code_that_a_dataset_names(minari, tmp_path, name):
    started = tmp_path / "started"
    (tmp_path / "trap.py").write_text(f"open({str(started)!r}, 'w').close()\n")
    assert main(command("--minari", "clone-v0", agents=["heuristic"] * GAME.min_players)) == 0
    metadata = minari.load_dataset("clone-v0").storage.metadata["card_envs"]
    metadata["agents"][-1] = name.format(started=started)
    minari.load_dataset("clone-v0").storage.update_metadata({"card_envs": metadata})
    done = clone(tmp_path, "1", "2")
    assert done.returncode == 1
    assert "clone-v0 names agents that run code" in done.stderr
    assert not done.stdout  # before it trains
    assert not started.exists()
