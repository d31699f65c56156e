"""One seat in words: Gymnasium's contract, and the same games as ``SingleSeatEnv``."""

from __future__ import annotations

import copy
import pickle
import re

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from helpers import FEW_GAMES, FEW_TABLES, TABLES, kit_of
from travellers import plain

from card_envs.agents import FollowingAgent, make_agent
from card_envs.contract.agent import Follower
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.text.seat import TextSeatEnv

few_games = pytest.mark.parametrize("game", FEW_GAMES)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)


@pytest.mark.filterwarnings("ignore:.*is out of date.*:DeprecationWarning")
@few_games
def test_gymnasiums_checker(game):
    env = gymnasium.make(game.gymnasium_text_id)
    assert isinstance(env.unwrapped, TextSeatEnv)
    check_env(env.unwrapped, skip_render_check=True)
    text, _ = env.reset(seed=1)
    assert text in env.observation_space
    assert env.action_space.sample() in env.action_space
    assert env.observation_space.max_length == env.unwrapped.max_chars


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize(
    "opponents", [None, pytest.param("random", marks=pytest.mark.slow), "mixed"]
)
@few_tables
def test_the_games_are_those_of_the_single_seat(game, num_players, opponents, skip_forced):
    if opponents == "mixed":
        opponents = [["random", game.default_opponent][k % 2] for k in range(num_players - 1)]
    options = {
        "num_players": num_players,
        "opponents": opponents,
        "skip_forced": skip_forced,
        "reward": "score",
        **kit_of(game).short_options,
    }
    seat, words = SingleSeatEnv(game.name, **options), TextSeatEnv(game.name, **options)
    rng = np.random.default_rng(1)
    for seed in (5, None, None):
        _, info = seat.reset(seed=seed)
        text, told = words.reset(seed=seed)
        for _ in range(25):
            legal = np.flatnonzero(info["action_mask"])
            assert told["legal_actions"] == [game.action_name(a) for a in legal.tolist()]
            assert told["seat"] == words.seat == seat.seat == info["seat"]
            assert words.num_players == num_players
            action = int(rng.choice(legal))
            _, reward, terminated, truncated, info = seat.step(action)
            text, *rest, told = words.step(f"[{action}]")
            assert rest == [pytest.approx(reward), terminated, truncated]
            assert told["action"] == action
            if terminated or truncated:
                assert "The final standing" in text or "truncated after" in text
                assert told["legal_actions"] == []
                assert told["place"] == info["place"]
                with pytest.raises(gymnasium.error.ResetNeeded, match="the game is over"):
                    words.step("[0]")
                break


def told_in(text):
    """Who did what, by a text's news; the first text's rules come before these."""
    news = text.partition("What has been done since:\n")[2].partition("\n\n")[0]
    lines = re.findall(r"^(You|Player \d): (.*)\.$", news, re.M)
    return [(who, name) for who, names in lines for name in names.split("; ")]


class Listener(FollowingAgent, Follower):
    """Plays the first legal action, and writes down what it is told."""

    def __init__(self):
        self.name = "listener"
        self.told = []

    def follow(self, options):
        self.told.append(sorted(options))
        return self

    def begin(self, states, i, players):
        self.told.append(("begin", int(states["seed"][i]), list(players)))

    def watch(self, states, i, action):
        self.told.append((int(states["steps"][i]), action))

    def decide(self, turn):
        return turn.action_mask.argmax(axis=1)

    def end(self, states, i, loser=None):
        self.told.append(("end", int(states["steps"][i]), loser))


def forced_moves(game, num_players, seed):
    """How many there are in a game of which the learner reads all that was done since their last
    answer, and the rules first of all, though these moves are skipped."""
    options = {"num_players": num_players, "seat": num_players - 1, "max_steps": 150}
    skipping = TextSeatEnv(game.name, opponents=Listener(), skip_forced=True, **options)
    words = TextSeatEnv(game.name, opponents=Listener(), **options)
    text, info = words.reset(seed=seed)
    shorter, fewer = skipping.reset(seed=seed)
    is_over, is_first, since, forced = False, True, [], 0
    while not is_over:
        since += told_in(text)
        if len(legal := info["legal_actions"]) > 1:
            assert legal == fewer["legal_actions"]
            assert told_in(shorter) == since
            assert ("## How to answer" in shorter) == is_first
            is_first, since = False, []
            shorter, *_, fewer = skipping.step(f"[{legal[-1]}]")
        else:
            forced += 1
            since.append(("You", legal[0]))
        text, _, terminated, truncated, info = words.step(f"[{legal[-1]}]")
        is_over = terminated or truncated
    assert not fewer["legal_actions"]
    return forced


def test_of_skipped_moves_nothing_is_left_out():
    tables = [table.values for table in TABLES]
    assert sum(forced_moves(game, num_players, seed=0) for game, num_players in tables) > 20


@few_games
def test_opponents_are_told_what_those_of_the_single_seat_are(game):
    """Agents that follow their games, such as searches and programs."""
    options = {"seat": 0, "max_steps": 60}
    agents = Listener(), Listener()
    seat = SingleSeatEnv(game.name, opponents=agents[0], **options)
    words = TextSeatEnv(game.name, opponents=agents[1], **options)
    for seed in (3, 4):
        _, info = seat.reset(seed=seed)
        words.reset(seed=seed)
        is_over = False
        while not is_over:
            action = int(np.flatnonzero(info["action_mask"])[-1])
            _, _, terminated, truncated, info = seat.step(action)
            words.step(f"[{action}]")
            is_over = terminated or truncated
    expected, told = ([one for one in agent.told if isinstance(one, tuple)] for agent in agents)
    assert told == expected
    assert sum(one[0] == "end" for one in told) == 2


@few_games
def test_opponents_are_told_who_lost_by_wrong_answers(game):
    listener = Listener()
    words = TextSeatEnv(game.name, opponents=listener, seat=0, max_tries=1)
    words.reset(seed=1)
    words.step("nonsense")
    assert listener.told[-1][0] == "end"
    assert listener.told[-1][2] == 0


@few_games
def test_tables_of_several_sizes_and_given_seats(game):
    low, high = game.min_players, game.max_players
    seat = SingleSeatEnv(game.name, num_players=(low, high), seat=low - 1)
    words = TextSeatEnv(game.name, num_players=(low, high), seat=low - 1)
    sizes = set()
    for seed in range(12):
        seat.reset(seed=seed)
        text, info = words.reset(seed=seed)
        assert words.num_players == seat.num_players
        assert info["seat"] == words.seat == low - 1
        assert len(text) <= words.max_chars
        sizes.add(words.num_players)
    assert sizes <= set(range(low, high + 1))
    assert len(sizes) >= min(high - low + 1, 4)


@few_games
def test_wrong_answers(game):
    env = TextSeatEnv(game.name, max_tries=2)
    env.reset(seed=3)
    text, reward, terminated, truncated, info = env.step("nothing")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert text.startswith(info["message"])
    assert info["action"] == -1
    text, reward, terminated, truncated, info = env.step("nothing")
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert text.startswith(info["message"])
    assert "you have lost it" in info["message"]
    env = TextSeatEnv(game.name, max_tries=1, on_illegal="random")
    legal = env.reset(seed=3)[1]["legal_actions"]
    text, *_, info = env.step("nothing")
    assert game.action_name(info["action"]) in legal
    assert text.startswith(info["message"])


@few_games
def test_calls_in_the_wrong_order_and_wrong_arguments(game):
    env = TextSeatEnv(game.name)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("[0]")
    for attribute in ("seat", "num_players"):
        with pytest.raises(AttributeError, match="before reset"):
            getattr(env, attribute)
    for name in ("mask", "features", "observation_dtype"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            TextSeatEnv(game.name, **{name: "info"})
    with pytest.raises(ValueError, match="on_illegal must be 'terminate' or 'random'"):
        TextSeatEnv(game.name, on_illegal="raise")
    with pytest.raises(ValueError, match="seat must be"):
        TextSeatEnv(game.name, seat=99)
    with pytest.raises(ValueError, match="there is no agent"):
        TextSeatEnv(game.name, opponents="nobody")
    env.reset(seed=1)
    with pytest.raises(TypeError, match="an answer is a str"):
        env.step(0)


@few_games
def test_games_that_are_too_short_are_an_error(game):
    env = TextSeatEnv(game.name, max_steps=1, seat=game.min_players - 1, opponents="random")
    with pytest.raises(ValueError, match="max_steps=1 is too small"):
        env.reset(seed=1)


@few_games
def test_it_is_copied_pickled_and_rendered(game):
    env = TextSeatEnv(game.name, opponents=make_agent("random", game), render_mode="ansi")
    env = pickle.loads(pickle.dumps(env))
    assert env.render() is None
    text, info = env.reset(seed=6)
    assert env.render() in text
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        answer = f"[{info['legal_actions'][-1]}]"
        assert twin.step(answer) == copy.deepcopy(env).step(answer)
    env.close()


def kinds_in(infos):
    """The type of each key, in arrays of Python's objects that of each entry."""
    kinds = {}
    for key, value in infos.items():
        if isinstance(value, dict):
            kinds |= {f"{key}.{inner}": kind for inner, kind in kinds_in(value).items()}
        elif value.dtype == object:
            told = infos[f"_{key}"] if f"_{key}" in infos else np.ones(len(value), np.bool_)
            kinds[key] = {type(entry) for entry in value[told]}
        else:
            kinds[key] = {value.dtype.str}
    return kinds


@pytest.mark.parametrize("autoreset_mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@few_games
def test_vectors_of_them(game, autoreset_mode):
    """Wrong answers, lost games, ends and new games, in several games at a time."""
    courses = []
    for mode in ("sync", "async"):
        vector = gymnasium.make_vec(
            game.gymnasium_text_id,
            num_envs=3,
            vectorization_mode=mode,
            vector_kwargs={"autoreset_mode": autoreset_mode},
            max_tries=2,
            max_steps=30,
        )
        texts, infos = vector.reset(seed=1)
        course, kinds = [(texts, infos)], kinds_in(infos)
        happened = set()
        for k in range(30):
            answers = [legal[-1] if legal else "" for legal in infos["legal_actions"]]
            answers[k % 3] = "nothing"
            if k > 20:
                answers[0] = "nothing"
            texts, rewards, terminated, truncated, infos = vector.step(tuple(answers))
            course.append((texts, rewards, terminated, truncated, infos))
            for key, found in kinds_in(infos).items():
                assert len(found) == 1, key
                assert kinds.setdefault(key, found) == found, key
            happened |= {("over", i) for i in (terminated | truncated).nonzero()[0]}
            happened |= {("wrong", i) for i, message in enumerate(infos["message"]) if message}
            happened |= {("no action", i) for i in (infos["action"] == -1).nonzero()[0]}
        assert len({name for name, i in happened if i > 0}) == 3
        assert {("over", 0), ("wrong", 0), ("no action", 0)} <= happened
        vector.close()
        courses.append(course)
    assert plain(courses[0]) == plain(courses[1])
