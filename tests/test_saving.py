"""Saved games: they go on as if nothing had happened, and damaged ones are refused."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from animalia_table import (
    BRING_IN,
    CARDS,
    GIVE,
    LOT,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    Table,
    bits,
    points_of,
)
from helpers import (
    EACH_GAME,
    TABLES,
    UNIFORM,
    Chooser,
    Habits,
    begin,
    finish,
    kinds_of_actions,
    mask_of,
    module_of,
    option_sets,
    play_on,
    reseal,
    snapshot,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import card_envs
from card_envs.engine.game import DEFAULT_MAX_STEPS
from card_envs.envs.aec import CardEnv
from card_envs.envs.saves import pack
from card_envs.games.franks_zoo.cards import LAY_CARDS, MAY_ASK

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)

MAGIC = b"card_envs save 1\n"
DECISIONS_AHEAD = 40  # how far a saved game is compared with the one that was not


def header_of(data: bytes) -> dict[str, Any]:
    start = len(MAGIC) + 4
    return json.loads(data[start : start + int.from_bytes(data[len(MAGIC) : start], "little")])


def record_of(data: bytes) -> bytes:
    start = len(MAGIC) + 4
    return data[start + int.from_bytes(data[len(MAGIC) : start], "little") : -16]


def sealed(header: Any, record: bytes) -> bytes:
    """A saved game of these parts, with a checksum that is right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return reseal(MAGIC + len(text).to_bytes(4, "little") + text + record + bytes(16))


def mid_game(game: Any, num_players: int, decisions: int = 9, **options: Any) -> CardEnv:
    env = module_of(game).env(num_players=num_players, **options)
    for seed in range(50):
        env.reset(seed=seed)
        play_on(env, seed, decisions)
        if env.legal_actions():
            return env
    raise AssertionError("no game is so long")


def future_of(env: CardEnv, seed: int) -> Iterator[tuple[Any, ...]]:
    """All that can be seen of the rest of a game, through the dead steps, and of the next one;
    only of the next decisions if it is long."""
    habits = Habits(env.game, seed)
    for _ in range(2):
        for _ in range(DECISIONS_AHEAD):
            yield snapshot(env)
            if not env.legal_actions():
                break
            env.step(habits.choose(env.states))
        while not env.legal_actions() and env.agents:
            yield snapshot(env)
            env.step(None)
        env.reset()


def copies_of(env: CardEnv, **options: Any) -> dict[str, CardEnv]:
    """The same game once more, in all ways that there are."""
    fresh = module_of(env.game).env(num_players=env.num_players, **options)
    used = module_of(env.game).env(num_players=env.num_players, **options)
    used.reset(seed=99)
    play_on(used, UNIFORM, 10_000)
    for other in (fresh, used):
        other.load(env.save())
    return {
        "into a fresh environment": fresh,
        "into one whose game is over": used,
        "deepcopy": copy.deepcopy(env),
        "pickle": pickle.loads(pickle.dumps(env)),
    }


@tables
def test_a_game_goes_on_from_everywhere(game, num_players):
    """In mid game, when it is over, between the dead steps, after them, after an illegal action."""
    for number, options in enumerate(option_sets(game, most=6)):
        env = module_of(game).env(num_players=num_players, **options)
        for where in ("begun", "mid", "over", "dead steps", "empty", "illegal"):
            env.reset(seed=number)
            play_on(env, UNIFORM, {"begun": 0, "mid": 6, "illegal": 3}.get(where, 10_000))
            if where == "dead steps":
                env.step(None)
            elif where == "empty":
                finish(env)
            elif where == "illegal":
                mask = env.last()[0]["action_mask"]
                if mask.any():
                    env.step(int(np.argmin(mask)))
            before = snapshot(env)
            assert env.save() == env.save()
            copies = copies_of(env, **options)
            future = list(future_of(copy.deepcopy(env), number))
            for way, twin in copies.items():
                assert snapshot(twin) == before, (where, way)
                assert twin.save() == env.save(), (where, way)
                assert list(future_of(twin, number)) == future, (where, way)
            assert snapshot(env) == before


@each_game
def test_an_environment_without_a_game(game):
    env = module_of(game).env()
    with pytest.raises(AssertionError, match="reset"):
        env.save()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        with pytest.raises(AssertionError, match="reset"):
            twin.observe("player_0")
        twin.reset(seed=1)
        assert twin.legal_actions()
    fresh = module_of(game).env()
    fresh.load(mid_game(game, 4).save())
    assert fresh.legal_actions()


@tables
def test_every_damaged_byte_and_every_cut_is_noticed(game, num_players):
    env = mid_game(game, num_players)
    data = env.save()
    target = mid_game(game, num_players, 3)
    before = snapshot(target)
    rng = np.random.default_rng(num_players)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= int(rng.integers(1, 256))
        with pytest.raises(ValueError, match="saved game"):
            target.load(bytes(damaged))
    for length in range(len(data)):
        with pytest.raises(ValueError, match="saved game"):
            target.load(data[:length])
    for foreign in (data + b"\0", data[1:], b"\0" + data, b"", MAGIC, data + data):
        with pytest.raises(ValueError, match="saved game"):
            target.load(foreign)
    assert snapshot(target) == before
    for wrong in ("text", None, 5, [1, 2], {"game": game.name}):
        with pytest.raises(ValueError, match="a saved game is bytes"):
            target.load(wrong)
    assert snapshot(target) == before
    target.load(bytearray(data))
    assert snapshot(target) == snapshot(env)


@tables
def test_a_game_of_other_settings_is_refused(game, num_players):
    env = mid_game(game, num_players)
    before = snapshot(env)
    others = []
    for number in range(game.min_players, game.max_players + 1):
        if number != num_players:
            others.append((module_of(game).env(num_players=number), "num_players"))
    for options in option_sets(game):
        if game.check_options(options) != env.options:
            others.append((module_of(game).env(num_players=num_players, **options), "options"))
    assert len(others) > 4
    for other, what in others:
        other.reset(seed=1)
        with pytest.raises(ValueError, match=f"saved with {what}"):
            env.load(other.save())
        with pytest.raises(ValueError, match=f"saved with {what}"):
            other.load(env.save())
    data = env.save()
    for name in (f"{game.id}_v{game.version + 1}", "chess_v6", None, 3):
        with pytest.raises(ValueError, match=f"saved with game .*{game.name}"):
            env.load(sealed({**header_of(data), "game": name}, record_of(data)))
    assert snapshot(env) == before


@each_game
def test_crafted_headers_are_refused(game):
    env = mid_game(game, 3)
    before = snapshot(env)
    data = env.save()
    header, record = header_of(data), record_of(data)
    assert sealed(header, record) == data
    agents = header["agents"]
    a, b, c = agents
    other = next(agent for agent in agents if agent != header["agent_selection"])
    wrong: dict[str, list[Any]] = {
        "num_players": [None, 2, 7, "3", [3]],
        "options": [None, {}, {**header["options"], "more": 1}, [1]],
        "agents": [None, [], "abc", [a, b], [b, a, c], [a, a, b, c], [a, b, "x"], [a, b, [c]], 3],
        "agent_selection": [None, "x", 0, [a], other, f"{a} "],
        "skip_agent_selection": ["x", 1, [], ["player_0"]],
        "rewards": [None, [], {}, {a: 0.0}, {a: "0", b: 0, c: 0}, {a: None, b: 0, c: 0}],
        "cumulative_rewards": [None, {a: 10**400, b: 0, c: 0}, {b: 0, a: 0, c: 0}],
        "terminations": [None, {a: 0, b: 0, c: 0}, {a: True, b: False, c: False}],
        "truncations": [None, {}, dict.fromkeys(agents, True)],
        "infos": [None, {}, dict.fromkeys(agents, 0)],
        "is_over": [None, 0, 1, "no", True],
        "next_seed": [None, -1, 2**64, 1.5, True, "1"],
    }
    assert set(wrong) | {"game"} == set(header)
    for key, values in wrong.items():
        without = {name: value for name, value in header.items() if name != key}
        for crafted in ({**header, key: value} for value in values):
            with pytest.raises(ValueError, match="saved"):
                env.load(sealed(crafted, record))
        if key != "skip_agent_selection":
            with pytest.raises(ValueError, match="saved"):
                env.load(sealed(without, record))
    nan = json.dumps({**header, "rewards": dict.fromkeys(agents, float("nan"))})
    for text in (b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 200_000, b'"x"', nan.encode()):
        with pytest.raises(ValueError, match="damaged"):
            env.load(sealed(text, record))
    length = (2**32 - 1).to_bytes(4, "little")
    for crafted in (MAGIC + length + data[len(MAGIC) + 4 :], MAGIC + b"\0" * 20):
        with pytest.raises(ValueError, match="damaged"):
            env.load(reseal(crafted))
    for cut in (record[:-1], record + b"\0", b"", record * 2):
        with pytest.raises(ValueError, match="record has the wrong size"):
            env.load(sealed(header, cut))
    assert snapshot(env) == before


@each_game
def test_a_header_must_fit_the_state(game):
    """A game that is over cannot be claimed to go on, nor the other way round."""
    env = mid_game(game, 3)
    running = env.save()
    play_on(env, UNIFORM, 10_000)
    over = env.save()
    before = snapshot(env)
    with pytest.raises(ValueError, match="does not fit"):
        env.load(sealed(header_of(running), record_of(over)))
    halfway = header_of(over)
    halfway["terminations"]["player_1"] = halfway["truncations"]["player_1"] = False
    with pytest.raises(ValueError, match="does not fit"):
        env.load(sealed(halfway, record_of(over)))
    selected = {**header_of(over), "agent_selection": "player_2"}
    with pytest.raises(ValueError, match="does not fit"):
        env.load(sealed(selected, record_of(over)))
    assert snapshot(env) == before


@tables
def test_crafted_records_are_refused(game, num_players):
    env = mid_game(game, num_players)
    before = snapshot(env)
    data = env.save()
    header = header_of(data)
    true = np.frombuffer(bytearray(record_of(data)), game.state_dtype)
    impossible: dict[str, list[Any]] = {
        "num_players": [0, 1, num_players + 1, num_players - 1, 127, -1],
        "current_player": [
            -1,
            num_players,
            127,
            (int(true["current_player"][0]) + 1) % num_players,
        ],
        "reward_mode": [3, -1, 1],
        "memory": [2, -1, 1],
        "max_steps": [0, -1, 5],
        "steps": [-1, DEFAULT_MAX_STEPS, 2**31 - 1],
        "terminated": [True],
        "truncated": [True],
    }
    for name, values in impossible.items():
        for value in values:
            crafted = true.copy()
            crafted[name] = value
            with pytest.raises(ValueError, match="damaged"):
                env.load(sealed(header, crafted.tobytes()))
    for name in ("terminated", "truncated"):
        crafted = bytearray(true.tobytes())
        crafted[game.state_dtype.fields[name][1]] = 2  # neither False nor True
        with pytest.raises(ValueError, match="damaged"):
            env.load(sealed(header, bytes(crafted)))
    for junk in (b"\0" * true.itemsize, b"\xff" * true.itemsize, b"\x7f" * true.itemsize):
        with pytest.raises(ValueError, match="damaged"):
            env.load(sealed(header, junk))
    assert snapshot(env) == before


@each_game
def test_a_game_that_goes_on_has_decisions_left(game):
    states = begin(game, 3, 1, max_steps=5)
    for steps in range(-1, 8):
        states["steps"] = steps
        assert game.rules.is_sound(states, 0) == (0 <= steps < 5)
    states["truncated"] = True
    for max_steps in (0, 5):
        states["max_steps"] = max_steps
        assert game.rules.is_sound(states, 0) == (max_steps > 0)


def load_damaged(env: CardEnv, header: Any, record: bytes, decisions: int = 15) -> str:
    """Load a record under a right checksum into the environment, and play on if it is let in.

    Whatever is let in must do no harm: every kernel takes it, and what they give is of the kind
    that it must be.

    Returns:
        The error message, or "" if it was let in.
    """
    try:
        env.load(sealed(header, record))
    except ValueError as error:
        return str(error)
    for number in range(decisions):
        legal = env.legal_actions()
        if not legal:
            break
        assert set(np.unique(env.last()[0]["action_mask"])) == {0, 1}
        # Words and the full state are slow to make: from one seat at a time.
        assert env.game.describe(env.states, 0, number % env.num_players)
        for agent in env.agents:
            assert np.isfinite(env.observe(agent)["observation"]).all()
            env.determinize(agent, 1)
        assert np.isfinite(env.state()).all()
        assert env.game.rules.is_sound(env.states, 0)
        assert env.game.heuristic(env.states, 0) in env.legal_actions()
        env.step(env.legal_actions()[-1])
        assert env.game.rules.is_sound(env.states, 0)
    return ""


@tables
def test_whatever_is_let_in_can_be_played(game, num_players):
    """Random damage under a right checksum is refused, or it is a game that does no harm."""
    env = mid_game(game, num_players)
    data = env.save()
    header, record = header_of(data), record_of(data)
    size = game.state_dtype.itemsize

    @settings(max_examples=150)
    @given(
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, 255)), min_size=1, max_size=3)
    )
    def check(changes):
        damaged = bytearray(record)
        for place, value in changes:
            damaged[place] = value
        messages.append(load_damaged(env, header, bytes(damaged)))

    messages: list[str] = []
    check()
    refused = [message for message in messages if message]
    assert len(refused) > 20
    assert len(messages) - len(refused) > 5
    assert all("damaged" in message for message in refused)


@tables
def test_every_byte_of_a_record_may_be_anything(game, num_players):
    """Each byte in turn, in the middle of a game and when it is over."""
    env = mid_game(game, num_players, 25)
    running = env.save()
    play_on(env, UNIFORM, 10_000)
    over = env.save()
    values = (0, 1, 2, 4, 10, 0x7F, 0x80, 0xFF)
    messages = []
    for data in (running, over):
        header, record = header_of(data), record_of(data)
        for place in range(len(record)):
            # Other values in other places, with other numbers of players, and when it is over.
            which = place + num_players + 4 * (data is over)
            damaged = bytearray(record)
            damaged[place] = values[which % len(values)]
            messages.append(load_damaged(env, header, bytes(damaged), 8))
    refused = [message for message in messages if message]
    assert len(refused) > 100
    assert len(messages) - len(refused) > 100
    assert all("damaged" in message for message in refused)


@each_game
def test_a_saved_game_holds_nothing_that_could_be_executed(game):
    """JSON and plain numbers; a pickle is no saved game."""
    env = mid_game(game, 3)
    with pytest.raises(ValueError, match="not a saved game"):
        env.load(pickle.dumps(env))
    assert pack(header_of(env.save()), env.states) == env.save()
    assert record_of(env.save()) == env.states.tobytes()


@each_game
def test_a_copy_is_one_of_every_byte(game):
    """Also of the bytes between the fields: states are compared as bytes."""
    env = mid_game(game, 3)
    between = np.ones(game.state_dtype.itemsize, bool)
    for field_dtype, offset, *_ in game.state_dtype.fields.values():
        between[offset : offset + field_dtype.itemsize] = False
    env.states.view(np.uint8)[between] = 0xAB
    data = env.states.tobytes()
    for way, twin in copies_of(env).items():
        assert twin.states.tobytes() == data, way
        assert twin.save() == env.save(), way


# ---------------------------------------------------------------------------------------------
# What is impossible in one game
# ---------------------------------------------------------------------------------------------


def assert_refused(env: CardEnv, *changes: Callable[[Any], None]) -> None:
    """The environment's own saved game is refused after each of these changes of its record."""
    header, record = header_of(env.save()), record_of(env.save())
    true = np.frombuffer(bytearray(record), env.game.state_dtype)
    before = snapshot(env)
    for change in changes:
        crafted = true.copy()
        change(crafted[0])
        assert crafted.tobytes() != true.tobytes(), change.__name__
        with pytest.raises(ValueError, match="possible state"):
            env.load(sealed(header, crafted.tobytes()))
    assert snapshot(env) == before
    env.load(sealed(header, true.tobytes()))
    assert snapshot(env) == before


def number(name: str, place: Any, value: Any) -> Callable[[Any], None]:
    """A change of one number of a record."""

    def change(s):
        if place is None:
            s[name] = value
        else:
            s[name][place] = value

    return change


def both(*changes: Callable[[Any], None]) -> Callable[[Any], None]:
    def change(s):
        for part in changes:
            part(s)

    return change


def test_beaver_gang_refuses_impossible_records():
    env = card_envs.make("beaver_gang", num_players=3)
    env.reset(seed=1)
    env.step(4)  # a drawn card

    def exchange_kind(s):
        s["row"][0, 0] = (s["row"][0, 0] + 1) % 13

    def unknown_kind(s):
        s["row"][2, 3] = 13

    def negative_kind(s):
        s["draw_pile"][5] = -7

    def empty_hand(s):
        s["drawn"] = -1

    def another_phase(s):
        s["phase"] = 0

    def no_such_phase(s):
        s["phase"] = 4

    def larger_pile(s):
        s["draw_size"] += 1

    def huge_pile(s):
        s["draw_size"] = 127

    def more_discards(s):
        s["discard_size"] += 1

    def another_top(s):
        s["discard_top"] = (s["discard_top"] + 1) % 13

    def no_such_knocker(s):
        s["knocker"] = 3

    def known_place_of_nobody(s):
        s["known"][0] |= 1 << 12

    def no_such_slot(s):
        s["swapped_slot"][1] = 4

    def no_such_turn(s):
        s["last_turn"][1] = 18

    def no_such_neighbour(s):
        s["swapped_with"][0] = 3

    def more_draw_twos(s):
        s["draw_twos"] = 6

    def no_rounds(s):
        s["rounds"] = 0

    assert_refused(
        env,
        exchange_kind,
        unknown_kind,
        negative_kind,
        empty_hand,
        another_phase,
        no_such_phase,
        larger_pile,
        huge_pile,
        more_discards,
        another_top,
        no_such_knocker,
        known_place_of_nobody,
        no_such_slot,
        no_such_turn,
        no_such_neighbour,
        more_draw_twos,
        no_rounds,
    )


@pytest.mark.parametrize("num_players", [4, 5])
def test_swim_for_your_life_refuses_impossible_records(num_players):
    env = card_envs.make("swim_for_your_life", num_players=num_players)
    env.reset(seed=1)
    for _ in range(num_players):
        env.step(env.legal_actions()[-2])  # the last exchange in their order, of the fourth row
    env.step(1000)
    s = env.states[0]
    assert s["tapper"] == 0
    assert s["current_player"] == 1

    def cards(animal, source, target, count=1):
        """Cards go from one place to another."""

        def change(s):
            for (name, *place), step in ((source, -count), (target, count)):
                (s[name][place[0]] if place else s[name])[animal] += step

        return change

    def out(player, role):
        """A player who is out in a role that he cannot have."""
        return both(number("lives", player, 0), number(role, None, player))

    def all_but_one_out(s):
        s["lives"][:] = 0
        s["lives"][1] = 5
        s["starter"] = s["tapper"] = 1

    def hardly_any_arrangement(s):
        """Of all arrangements of cards that nobody knows only the true one would be possible."""
        s["least"][:] = 0
        s["most"][:] = s["hand"][:, 6:9]

    def less_than_is_held(s):
        """All other hares, pigs or cats are known to be elsewhere, and the last ones nowhere."""
        player, k = np.argwhere(s["hand"][:, 6:9] > s["least"][:, 6:9])[0]
        least = s["least"][player, 6 + k]
        s["least"][:, 6 + k] = s["hand"][:, 6 + k]
        s["least"][player, 6 + k] = least
        s["most"][player, k] = s["hand"][player, 6 + k] - 1

    # An animal that player 3 has and nobody knows of, one that the fourth row has, others that the
    # row does not have or of which few are left over.
    hand, row, rest = ("hand", 3), ("row", 3), ("left_over",)
    in_hand = int(np.argmax(s["hand"][3] - s["least"][3]))
    assert s["hand"][3, in_hand] > s["least"][3, in_hand]
    others = [animal for animal in range(10) if animal != in_hand]
    in_row = max(others, key=lambda animal: s["row"][3, animal])
    not_in_row = min(others, key=lambda animal: s["row"][3, animal])
    few = min(others, key=lambda animal: s["left_over"][animal])
    in_first_row = int(np.argmax(s["row"][0]))
    changes = [
        *(number("tapper", None, value) for value in (-2, num_players, 127)),
        *(number("starter", None, value) for value in (-1, num_players)),
        *(number("sudden_death", None, value) for value in (-2, num_players)),
        *(number("round", None, value) for value in (-1, 1_000_000)),
        number("turns", None, -1),
        *(number("lives", 2, value) for value in (-1, 11)),
        *(out(3, role) for role in ("starter", "tapper", "current_player")),
        all_but_one_out,
        *(number("has_exchanged", 2, value) for value in (-1, 2)),
        *(number("last_action", 2, value) for value in (-2, 1001)),
        number("least", (3, in_hand), -1),
        number("least", (3, in_hand), s["hand"][3, in_hand] + 1),
        number("most", (3, 0), -1),
        hardly_any_arrangement,
        less_than_is_held,
        number("hand", (3, in_hand), 9),
        number("row", (3, in_row), 9),
        number("left_over", in_hand, 9),
        cards(in_hand, hand, ("hand", 2)),
        cards(in_hand, hand, row),
        cards(in_first_row, ("row", 0), ("row", 1)),
        # As many cards everywhere as there must be, but less than none of one animal.
        both(cards(in_row, row, hand, 9), cards(in_hand, hand, row, 9)),
        both(cards(not_in_row, row, hand), cards(in_hand, hand, row)),
    ]
    if num_players == 4:
        more = int(s["left_over"][few]) + 1
        changes += [
            number("lives", 4, 5),
            cards(in_hand, hand, rest),
            both(cards(few, rest, hand, more), cards(in_hand, hand, rest, more)),
        ]
    assert_refused(env, *changes)


def env_at(
    game_id: str, num_players: int, wanted: Callable[[Any], bool], **options: Any
) -> CardEnv:
    """A game in the first position that is wanted."""
    env = card_envs.make(game_id, num_players=num_players, **options)
    for seed in itertools.count(num_players):
        chooser = Chooser(seed, kinds_of_actions(env.game))
        env.reset(seed=seed)
        while env.legal_actions() and not wanted(env.states[0]):
            env.step(chooser.choose(mask_of(env.game, env.states)))
        if wanted(env.states[0]):
            return env
    raise AssertionError("unreachable")


def cards_between(kind: int, source: str, giver: int, target: str, taker: int) -> Any:
    """A card goes from one hand, or from what somebody has captured, to another; what is counted
    beside it is put right."""

    def change(s):
        for name, player, step in ((source, giver, -1), (target, taker, 1)):
            s[name][player, kind] += step
            if name == "hand":
                s["hand_size"][player] += step
            else:
                s["played"][kind] += step
                s["played_by"][player, kind] += step

    return change


@pytest.mark.parametrize("num_players", [4, 5, 7])
def test_franks_zoo_refuses_impossible_records_within_a_request(num_players):
    n = num_players
    env = env_at(
        "franks_zoo",
        n,
        lambda s: s["phase"] == 2 and s["has_passed"].any() and s["trick"].sum() > 5,
    )
    s = env.states[0]
    junior, senior, owner = int(s["asker"]), int(s["current_player"]), int(s["owner"])
    other = next(p for p in range(n) if p not in (junior, senior))
    kind = int(np.argmax(s["hand"][senior]))
    absent = int(np.argmin(s["trick"][:12]))
    assert s["trick"][absent] == 0
    no_part = next(
        lay
        for lay in range(128)
        if (LAY_CARDS[lay] <= s["trick"]).all() and not MAY_ASK[lay, s["request"]]
    )
    changes = [
        *(number("hand_number", None, value) for value in (0, 1, -1, 1_000_000)),
        *(number("phase", None, value) for value in (-1, 0, 1, 3)),
        *(number("gift", None, value) for value in (-2, kind, 13)),
        *(number("current_player", None, value) for value in (junior, other)),
        *(number("asker", None, value) for value in (-2, -1, senior, other, n)),
        *(number("request", None, value) for value in (-1, (s["request"] + 2) % 128, 129, 130)),
        *(number("last_set", None, value) for value in (-1, 10 * absent, 128, 129, 130, no_part)),
        *(number("owner", None, value) for value in (-2, -1, n)),
        *(number("has_passed", (other,), value) for value in (-1, 2)),
        *(number("rank", (other,), value) for value in (-1, n, s["rank"][junior])),
        *(number("partner", (junior,), value) for value in (-2, -1, other, n)),
        both(number("partner", (junior,), -1), number("partner", (senior,), -1)),
        number("is_senior", (senior,), 0),
        number("is_senior", (junior,), 1),
        both(number("is_senior", (senior,), 0), number("is_senior", (junior,), 1)),
        *(number("alone", None, value) for value in (-2, junior, n)),
        *(number("totals", (other,), value) for value in (-20_000_001, 20_000_001)),
        *(number("last_place", (other,), value) for value in (-1, 8)),
        *(number("place_points", (other,), value) for value in (-1, 21)),
        *(number("lion_points", (other,), value) for value in (-6, 6)),
        *(number("hedgehog_points", (other,), value) for value in (-2, 1)),
        *(number("place", (senior,), value) for value in (-1, 1, n, n + 1)),
        number("place", (junior,), 1),
        *(number("hand", (senior, kind), value) for value in (-1, s["hand"][senior, kind] - 1)),
        *(number("hand_size", (senior,), value) for value in (-1, 0, s["hand_size"][senior] + 1)),
        *(number("captured", (other, kind), value) for value in (-1, 6)),
        *(number("trick", (kind,), value) for value in (-1, s["trick"][kind] + 1)),
        number("played", (kind,), s["played"][kind] + 1),
        number("played_by", (other, kind), s["played_by"][other, kind] + 1),
        both(number("played_by", (0, kind), -1), number("played_by", (1, kind), 6)),
        *(number("known", (senior, kind), value) for value in (-1, s["hand"][senior, kind] + 1)),
        number("known", (6, 12), 1 + s["hand"][6, 12]),
        number("given", (other, kind), 3),
        number("given", (junior, kind), -1),
        # Two cards, but the partner has never had so many of them.
        both(number("given", (junior,), 0), number("given", (junior, 12), 2)),
        number("given", (junior,), 0),
        # As many cards everywhere as there must be, but less than none of one kind.
        both(
            number("hand", (senior, 12), s["hand"][senior, 12] - 2),
            number("hand", (other, 12), s["hand"][other, 12] + 2),
            number("hand_size", (senior,), s["hand_size"][senior] - 2),
            number("hand_size", (other,), s["hand_size"][other] + 2),
        ),
    ]
    if n < 7:
        changes += [
            number("partner", (n,), 0),
            number("place", (n,), 1),
            number("played_by", (n, kind), 1),
            number("given", (n, kind), 2),
            cards_between(kind, "hand", senior, "hand", n),
            cards_between(kind, "hand", senior, "captured", n),
        ]
    if n % 2:
        changes += [
            number("alone", None, -1),
            number("given", (s["alone"],), 0),
        ]
    assert owner != senior or n == 4
    assert_refused(env, *changes)


@pytest.mark.parametrize("num_players", [4, 5, 7])
def test_franks_zoo_refuses_impossible_records_within_an_exchange(num_players):
    def is_wanted(s):
        """A junior has chosen the first of his cards, and others have given theirs."""
        return s["gift"] >= 0 and s["given"].any() and s["rank"][s["current_player"]] > 2

    env = env_at("franks_zoo", num_players, is_wanted)
    s = env.states[0]
    giver = int(s["current_player"])
    first, last = (
        int(np.flatnonzero(s["rank"][:num_players] == rank)[0])
        for rank in (0, num_players // 2 - 1)
    )
    absent = int(np.argmin(s["hand"][giver]))
    held = int(np.argmax(s["hand"][giver]))
    other = (giver + 1) % num_players
    others_card = int(np.argmax(s["hand"][other]))
    assert s["hand"][giver, absent] == 0

    def hardly_any_cards(s):
        """A hand of the one card that is chosen to be given."""
        for kind, count in enumerate(s["hand"][giver].tolist()):
            for _ in range(count - (kind == s["gift"])):
                cards_between(kind, "hand", giver, "captured", other)(s)

    def the_joker_played(s):
        holder = int(np.argmax(s["hand"][:, 12]))
        cards_between(12, "hand", holder, "captured", holder)(s)

    assert_refused(
        env,
        *(number("gift", None, value) for value in (-2, absent, 13)),
        *(number("phase", None, value) for value in (1, 2)),
        *(number("current_player", None, value) for value in (other, last)),
        both(number("given", (last,), 0), number("given", (last, others_card), 2)),
        number("given", (first,), 0),
        both(number("last_set", None, 0), number("owner", None, 0)),
        number("hand_number", None, 1),
        hardly_any_cards,
        the_joker_played,
        cards_between(held, "hand", giver, "hand", other),
        cards_between(others_card, "hand", other, "hand", giver),
    )


@pytest.mark.parametrize("num_players", [3, 5, 7])
def test_franks_zoo_refuses_impossible_records_at_the_end(num_players):
    env = env_at("franks_zoo", num_players, lambda s: s["terminated"], target_score=8)
    s = env.states[0]
    n = num_players
    last = int(np.argmax(s["place"]))
    second = int(np.flatnonzero(s["place"] == n - 1)[0])
    assert s["hand_size"][last] > 0
    changes = [
        *(number("phase", None, value) for value in (0, 2)),
        number("place", (second,), 0),
        number("place", (last,), 1),
        both(number("place", (last,), n - 1), number("place", (second,), n)),
        number("has_passed", (0,), 1),
        number("gift", None, 3),
        both(number("last_set", None, 0), number("owner", None, 0)),
        number("played_by", (0, 0), 6),
    ]
    if n > 3:
        alone = int(s["alone"])
        changes += [
            number("given", (alone, 0), 2),
            number("given", (s["partner"][last] if last != alone else s["partner"][0],), 0),
        ]
    assert_refused(env, *changes)


def test_franks_zoo_refuses_partners_where_there_are_none():
    for num_players, options in ((3, {}), (5, {"partners": False})):
        env = env_at("franks_zoo", num_players, lambda s: s["hand_number"] == 2, **options)
        first, last = (int(np.flatnonzero(env.states[0]["rank"] == rank)[0]) for rank in (0, 2))
        assert_refused(
            env,
            number("phase", None, 0),
            number("alone", None, 1),
            both(
                number("partner", (first,), last),
                number("partner", (last,), first),
                number("is_senior", (first,), 1),
            ),
            number("given", (first, 0), 2),
        )


def env_of(table: Table) -> CardEnv:
    """An environment in the position of a table of Animalia."""
    env = card_envs.make("animalia", num_players=int(table.num_players))
    env.reset(seed=0)
    header = header_of(env.save()) | {"agent_selection": f"player_{table.current_player}"}
    env.load(sealed(header, table.states.tobytes()))
    return env


def moved(card: str, source: tuple[str, Any], target: tuple[str, Any]) -> Callable[[Any], None]:
    """A card of Animalia goes from one set (a field, and a place in it) to another."""

    def change(s):
        for (name, place), sign in ((source, -1), (target, 1)):
            cards = s[name] if place is None else s[name][place]
            number(name, place, cards + sign * bits(card))(s)

    return change


def medals(player: int, *counts: int) -> Callable[[Any], None]:
    """Medals of each family, with the standing that they bring."""

    def change(s):
        s["medals"][player] = counts
        s["standing"][player] = 1000 * points_of(counts, s["num_players"]) + max(counts)

    return change


def test_animalia_refuses_impossible_records_within_phase_1():
    table = Table.lay_out(
        "cat thief, dog lousy",
        "horse thief, parrot lousy, cat spy, dog prankster, horse prankster",
        "dog spy, cat prankster, parrot spy",
        lot="owl, cat lousy",
        pile="dog champion, cat champion, horse spy, horse lousy",
        kept={1: "parrot champion"},
        seen={0: "dog champion, cat champion", 2: "dog champion"},
        shown="dog thief",
        left_over={0: "horse elegant"},
        dealer=2,
        player=0,
        medals=[[2, 0, 3, 0, 0], [0, 0, 0, 4, 0], [0] * 5],
        season_medals=[[2, 0, 3, 0, 0]],
        season_points=[5],
    )
    n, size, kept = 3, 31, 30
    owl, dog_champion, parrot_champion, cute = map(
        CARDS.index, ("owl", "dog champion", "parrot champion", "cat cute")
    )
    drawn, end = int(table.drawn), int(table.deck_size)
    place_of = table.deck.tolist().index
    dog_lousy = place_of(CARDS.index("dog lousy"))
    assert (drawn, end, table.season) == (12, 30, 2)

    def larger_than_the_dealers_room(s):
        for card, player in (("cat thief", 0), ("dog lousy", 0)):
            moved(card, ("collection", player), ("collection", 2))(s)
        moved("dog spy", ("collection", 2), ("collection", 0))(s)

    def six_cards_in_a_collection(s):
        moved("dog lousy", ("collection", 0), ("collection", 1))(s)

    def a_bonus_card_before_phase_2(s):
        moved("dog lousy", ("collection", 0), ("bonus", 0))(s)
        s["holder"][dog_lousy], s["since"][dog_lousy] = 0, 2

    def a_kept_card_that_is_used(s):
        moved("parrot champion", ("bonus", 1), ("collection", 0))(s)
        s["holder"][kept], s["since"][kept] = -1, 0

    def hardly_any_deck(s):
        """All cards but ten are kept."""
        s["collection"][:] = 0
        s["drawn"], s["deck_size"] = 2, 10
        s["lot"] = sum(1 << int(card) for card in s["deck"][:2])
        s["seen"][:] = 0
        s["holder"][10:size], s["since"][10:size] = 1, 1
        s["bonus"][1] = sum(1 << int(card) for card in s["deck"][10:size])
        s["shown"][:] = s["left_over"][:] = 0

    assert_refused(
        env_of(table),
        *(number("season", None, value) for value in (-1, 0, 4)),
        *(number("seasons", None, value) for value in (0, 1, 11)),
        *(number("phase", None, value) for value in (-1, 1, 4, 6, 7)),
        *(number("dealer", None, value) for value in (-1, n)),
        *(number("owl_family", None, value) for value in (-2, 5)),
        *(number("taken_into", None, value) for value in (-2, 0, n)),
        *(number("chosen", None, value) for value in (-2, owl, 36)),
        number("must_take", None, True),
        number("may_give", None, True),
        number("current_player", None, 1),
        # Medals.
        both(number("season_medals", (0, 1), -1), number("season_points", (0,), 4)),
        both(number("season_medals", (0, 1), 1), number("season_points", (0,), 6)),
        medals(0, 8, 0, 3, 0, 0),
        both(
            medals(0, 5, 0, 6, 0, 0),
            number("season_medals", (0,), (5, 0, 6, 0, 0)),
            number("season_points", (0,), 11),
        ),
        number("medals", (n, 0), 1),
        *(number("season_points", (0,), value) for value in (4, 6)),
        *(number("standing", (0,), value) for value in (-5000, 5004)),
        number("standing", (n,), 1),
        # What was noted of earlier seasons.
        *(number("shown", (owl,), value) for value in (-1, 2)),
        *(number("left_over", (5, owl), value) for value in (-1, 2)),
        number("shown", (parrot_champion,), 1),
        *(number("left_over", (player, parrot_champion), 1) for player in (0, 2)),
        # The deck.
        *(number("drawn", None, value) for value in (-1, drawn - 1, drawn + 1, 127)),
        *(number("deck_size", None, value) for value in (-1, end - 1, size, 127)),
        *(number("deck", (drawn,), value) for value in (-1, cute, owl, 36)),
        *(number("deck", (0,), value) for value in (-1, table.deck[1])),
        *(number("holder", (kept,), value) for value in (-2, -1, 0, n)),
        *(number("holder", (place,), 1) for place in (0, drawn, size)),
        both(number("holder", (kept,), n), moved("parrot champion", ("bonus", 1), ("bonus", n))),
        *(number("seen", (kept,), value) for value in (-1, 1 << n)),
        number("seen", (drawn + 1,), 0b101 | 0b010),
        *(number("seen", (place,), 1) for place in (drawn + 3, size)),
        both(*(number("seen", (drawn + k,), 1) for k in range(4))),
        *(number("since", (kept,), value) for value in (-1, 0, 2)),
        *(number("since", (place,), 1) for place in (0, drawn, size)),
        number("bonus", (1,), 0),
        number("bonus", (0,), bits("parrot champion")),
        number("bonus", (5,), 1 << dog_champion),
        # The cards.
        moved("dog lousy", ("collection", 0), ("replaced", None)),
        moved("dog lousy", ("collection", 0), ("collection", n)),
        number("collection", (0,), table.collection[0] - bits("dog lousy")),
        number("collection", (0,), table.collection[0] | bits("owl")),
        number("collection", (0,), table.collection[0] | 1 << 60),
        both(number("lot", None, 0), number("replaced", None, table.lot)),
        both(number("lot", None, 0), number("collection", (2,), table.collection[2] | table.lot)),
        larger_than_the_dealers_room,
        six_cards_in_a_collection,
        a_bonus_card_before_phase_2,
        a_kept_card_that_is_used,
        hardly_any_deck,
    )


def test_animalia_refuses_impossible_lots():
    """AN-5, AN-6, AN-8: that a player must take and need not, or the other way round; too large."""
    rest = "cat lousy, dog lousy, horse lousy, rabbit lousy"
    others = ("horse champion, cat champion, dog champion", "...")
    table = Table.lay_out((rest, "..."), others, lot="owl", dealer=1, player=0)
    assert_refused(env_of(table), number("must_take", None, True))  # it is not the dealer's
    table = Table.lay_out((rest, ""), others, lot="owl", dealer=0)
    assert_refused(env_of(table), number("must_take", None, True))  # there may be two more
    table = Table.lay_out((rest, "cat thief"), ("...", "..."), lot="owl", dealer=0)
    assert_refused(env_of(table), number("must_take", None, False))  # he is the last one
    table = Table.lay_out("", "...", "dog spy", lot="owl, cat lousy, dog lousy", dealer=2, player=0)
    assert_refused(env_of(table), moved("dog spy", ("collection", 2), ("lot", None)))  # of four


def test_animalia_refuses_impossible_records_within_a_gift():
    table = Table.lay_out(
        "cat thief, dog prankster, cat prankster",
        "horse thief, parrot lousy",
        "dog spy",
        phase=RECEIVE,
        taken_into=0,
        chosen="cat thief",
    )
    assert_refused(
        env_of(table),
        *(number("phase", None, phase) for phase in (LOT, STEAL, GIVE, BRING_IN, TAKE_OUT)),
        *(number("chosen", None, CARDS.index(name)) for name in ("dog spy", "owl")),
        number("chosen", None, -1),
        *(number("taken_into", None, place) for place in (-2, -1, 1, 3)),
        both(number("taken_into", None, 1), number("chosen", None, CARDS.index("horse thief"))),
        number("current_player", None, 1),
        number("may_give", None, False),
        number("must_take", None, True),
        moved("dog spy", ("collection", 2), ("lot", None)),
    )
    table.states["phase"], table.states["chosen"] = GIVE, -1
    assert_refused(env_of(table), number("may_give", None, False))


def test_animalia_refuses_impossible_records_within_phase_3():
    collections = (
        "cat thief, cat elegant, cat lousy, ...",
        "cat spy, horse elegant, ...",
        "owl, ...",
    )
    bonus = {0: "dog spy, dog thief", 1: "cat champion"}
    table = Table.lay_out(
        *collections, bonus=bonus, phase=TAKE_OUT, dealer=2, player=0, chosen="dog spy"
    )
    won = table.deck.tolist().index(CARDS.index("dog spy"))
    assert_refused(
        env_of(table),
        *(number("phase", None, phase) for phase in (LOT, GIVE, RECEIVE, BRING_IN, OWL_FAMILY)),
        *(number("chosen", None, CARDS.index(name)) for name in ("cat thief", "cat champion")),
        number("chosen", None, -1),
        number("current_player", None, 1),
        *(number("since", (won,), value) for value in (0, 2)),
        number("must_take", None, True),
        number("may_give", None, True),
        number("taken_into", None, 0),
        moved("cat spy", ("collection", 1), ("replaced", None)),
        moved("cat spy", ("collection", 1), ("lot", None)),
    )
    table = Table.lay_out(*collections, bonus=bonus, phase=BRING_IN, dealer=2, player=0, season=3)
    assert_refused(
        env_of(table),
        both(
            medals(0, 11, 0, 0, 0, 0),
            number("season_medals", (0, 0), 11),
            number("season_points", (0,), 11),
        ),
        both(number("holder", (0,), -2), number("since", (0,), 3)),
        number("deck", (31,), CARDS.index("cat cute")),
        number("current_player", None, 2),  # who has no bonus cards
        number("phase", None, OWL_FAMILY),  # who has no owl
        number("phase", None, TAKE_OUT),
    )


def test_animalia_refuses_impossible_records_at_the_end():
    def as_on(table: Table) -> Callable[[Any], None]:
        """The cards of a table where the game is not over."""

        def change(s):
            for name in ("phase", "season", "current_player", "dealer", "lot", "chosen", "drawn"):
                s[name] = table.states[0][name]
            for name in ("deck_size", "deck", "holder", "since", "seen", "collection", "bonus"):
                s[name] = table.states[0][name]
            for name in ("shown", "left_over", "replaced"):
                s[name] = 0

        return change

    env = env_at("animalia", 3, lambda s: s["terminated"])
    best = int(np.argmax(env.states[0]["standing"]))
    dealer = (int(env.states[0]["current_player"]) - 1) % 3
    collections = ("...", "cat elegant, dog elegant, ...", "owl, ...")
    at_the_end = {"dealer": dealer, "bonus": {(dealer + 1) % 3: "dog champion"}}
    one, another = (Table.lay_out(*collections, season=k, **at_the_end) for k in (2, 3))
    again = Table.lay_out("", "", collections[2], lot="cat champion", season=3)
    exchange = Table.lay_out(
        *collections, season=3, phase=TAKE_OUT, chosen="dog champion", **at_the_end
    )
    assert_refused(
        env,
        as_on(one),
        as_on(again),
        as_on(exchange),
        number("seasons", None, 4),
        medals(best, *[31] * 5),
        number("season_points", (best,), -1),
        number("standing", (best,), 0),
    )
    possible = env.states.copy()
    as_on(another)(possible[0])
    assert env.game.rules.is_sound(env.game.as_states(possible), 0)
