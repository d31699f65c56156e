"""What a program is sent: all that its seat knows, and nothing that it cannot know."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    TABLES,
    Habits,
    begin,
    copy_of,
    is_over,
    kit_of,
    mask_of,
    observation_of,
    positions_of,
)
from hidden import redrawn
from programs import program

from card_envs.agents import ProgramAgent, agent_names, choose, make_agent
from card_envs.agents.programs import messages
from card_envs.agents.programs.faults import ILLEGAL, ProgramFault
from card_envs.contract.agent import turn_of
from card_envs.engine.arena import Arena
from card_envs.engine.table import BaseTable
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.evaluation import deal_seeds, play_deals
from card_envs.games import load_game
from card_envs.render.text import describe

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
GAME = ALL_GAMES[0]  # where any game will do


class Listener:
    """In place of a process: it hears everything and takes first legal actions."""

    is_own = True
    last_words = ()

    def __init__(self, wants):
        self.wants = wants
        self.heard = []

    def ask(self, data, seconds):
        self.heard += data.splitlines()
        message = json.loads(self.heard[-1])
        if message["type"] == "hello":
            return json.dumps({"version": 1, "observation": self.wants}).encode()
        action = message["legal"][0]["action"]
        return json.dumps({"game": message["game"], "action": action}).encode()

    def close(self, data=b"", *, at_once=False):
        self.heard += data.splitlines()

    def messages(self, kind):
        found = [json.loads(line) for line in self.heard]
        return [message for message in found if message["type"] == kind]


@pytest.fixture
def listen(monkeypatch):
    """Makes an agent whose program listens; and the listener."""

    def listen(game, wants="values", seed=0):
        listener = Listener(wants)
        monkeypatch.setattr("card_envs.agents.programs.agent.Process", lambda *_: listener)
        agent = ProgramAgent(program("last"), game, seed)
        agent._running()
        return agent, listener

    return listen


# ---------------------------------------------------------------------------------------------
# Hiding
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wants", messages.OBSERVATIONS)
@tables
def test_a_decision_is_told_the_same_in_every_world_that_the_seat_holds_possible(
    game, num_players, wants, listen
):
    has_secrets = False
    for states in positions_of(game, num_players)[::24]:
        if is_over(states):
            continue
        player = int(states["current_player"][0])
        heard = []
        for seed in range(3):
            other = redrawn(game, states, player, seed, game.rules.determinize)
            agent, listener = listen(game, wants)
            for world in (states, other):
                has_secrets |= world.tobytes() != states.tobytes()
                choose(agent, game, world)
            first, _, second = listener.heard[1:4]
            assert second.replace(b'"game":1', b'"game":0') == first
            heard.append(first)
        assert len(set(heard)) == 1
    assert has_secrets


@tables
def test_what_happens_is_told_the_same_in_every_world_that_the_seat_holds_possible(
    game, num_players, listen
):
    """Of an action of another player that is possible in both worlds, and after which the seat
    observes the same: otherwise it is the action that shows something."""
    agent, _ = listen(game)
    told = parted = 0
    for seed in range(4):
        seat = seed % num_players
        states = begin(game, num_players, seed, **kit_of(game).short_options)
        habits = Habits(game, seed)
        for step in range(80):
            if is_over(states):
                break
            action = habits.choose(states)
            other = redrawn(game, states, seat, step, game.rules.determinize)
            same_mover = other["current_player"][0] == states["current_player"][0]
            if states["current_player"][0] != seat and same_mover and mask_of(game, other)[action]:
                events, seen = [], set()
                differ = other.tobytes() != states.tobytes()
                for world in (copy_of(game, states), other):
                    follower = agent.follow({})
                    follower.begin(world, 0, [seat])
                    follower.watch(world, 0, action)
                    events += follower._seats[0][seat].events
                    game.rules.step(world, 0, action)
                    seen.add(observation_of(game, world, seat).tobytes())
                if len(seen) == 1:
                    assert events[0] == events[1], "an event shows what the seat cannot know"
                    told += 1
                    parted += differ
            game.rules.step(states, 0, action)
    assert told >= parted > 1


@each_game
def test_the_words_of_others_are_those_that_everybody_learns(game, listen):
    """And the number and structured form of an action, which may say more, are the seat's alone."""
    num_players = game.default_players
    agent, listener = listen(game)
    agents = [None, agent, *[None] * (num_players - 2)]
    table = BaseTable(game, agents, seed=3, **kit_of(game).short_options)
    habits = Habits(game, 3)
    expected = []
    heard = []
    for _ in range(60):
        if table.is_over:
            break
        states, player = table.states, table.player
        if player == 1:
            table.choose()
            heard += listener.messages("decide")[-1]["events"]
        action = habits.choose(states)
        words = game.public_action_name(states, 0, action)
        expected.append({"player": player, "words": words})
        if player == 1:
            own = {"action": action, "structured": game.actions.to_dict(action)}
            expected[-1] = {"player": 1, "words": game.action_name(action), **own}
        table.step(action)
    assert heard == expected[: len(heard)]
    assert any(event["player"] != 1 for event in heard)


@each_game
def test_no_seed_is_ever_sent(game, listen):
    seed = 2**62 + 12345
    hellos = set()
    for own_seed in (1, seed):
        agent, listener = listen(game, seed=own_seed)
        hellos.add(listener.heard[0])
        seeds = deal_seeds(seed, 2)
        others = [game.default_opponent] * (game.min_players - 1)
        play_deals(game, [agent, *others], seeds, {"max_steps": 60}, agent_seed=seed)
        agent.close()
        said = b"\n".join(listener.heard).decode()
        assert '"seed"' not in said
        assert not any(str(number) in said for number in (seed, *seeds.tolist()))
    assert len(hellos) == 1


# ---------------------------------------------------------------------------------------------
# What it is told
# ---------------------------------------------------------------------------------------------


@each_game
def test_the_hello_describes_the_game(game, listen):
    agent, listener = listen(game)
    hello = json.loads(listener.heard[0])
    assert hello["type"] == "hello"
    assert (hello["protocol"], hello["version"]) == ("card_envs program", 1)
    about = hello["game"]
    assert load_game(about["name"]) is game
    assert about["actions"] == [game.action_name(a) for a in range(game.num_actions)]
    forms = about["structured_actions"]
    assert [game.actions.from_dict(form) for form in forms] == list(range(game.num_actions))
    assert about["players"]["min"] == game.min_players
    assert {option["name"] for option in about["options"]} >= {o.name for o in game.options}
    observation = about["observation"]
    assert observation["scale"] == game.fields.scale.tolist()
    assert sum(np.prod(f["shape"]) for f in observation["fields"]) == len(observation["scale"])
    limits = hello["limits"]
    assert limits["seconds"] == agent.limits.seconds
    assert limits["line_bytes"] == 65536


@tables
def test_a_decision_holds_all_that_the_seat_observes(game, num_players, listen):
    agent, listener = listen(game)
    wordy, reader = listen(game, "text")
    for states in positions_of(game, num_players)[::40]:
        if is_over(states):
            continue
        player = int(states["current_player"][0])
        mask = mask_of(game, states)
        choose(agent, game, states)
        message = listener.messages("decide")[-1]
        units = np.array(message["observation"], np.float32)
        assert (units / game.fields.scale == observation_of(game, states, player)).all()
        assert message["mask"] == mask.tolist()
        assert message["legal"] == [
            {"action": a, "words": game.action_name(a), "structured": game.actions.to_dict(a)}
            for a in np.flatnonzero(mask).tolist()
        ]
        assert (message["player"], message["num_players"]) == (player, num_players)
        assert message["events"] == []
        assert message["options"] is None
        choose(wordy, game, states)
        read = reader.messages("decide")[-1]
        assert read["text"] == describe(game, states, 0, player)
        assert "observation" not in read
        assert "mask" not in read


@few_games
def test_each_seat_hears_of_everything_once_and_of_the_end(game, listen):
    num_players = game.default_players
    agent, listener = listen(game)
    options = game.check_options({**kit_of(game).short_options, "max_steps": 40 * num_players})
    del options["reward"]
    played = play_deals(game, [agent] * num_players, deal_seeds(1, 2), options)
    agent.close()
    decisions, ends = listener.messages("decide"), listener.messages("end")
    assert {m["game"] for m in ends} == {m["game"] for m in decisions}
    assert all(m["options"] == options for m in decisions)
    for end in ends:
        own = [m for m in decisions if m["game"] == end["game"]]
        events = [event for m in (*own, end) for event in m["events"]]
        player = own[0]["player"]
        assert {m["player"] for m in own} == {player}
        assert sum(event["player"] == player for event in events) == len(own)
        assert [e["action"] for e in events if e["player"] == player] == [
            m["legal"][0]["action"] for m in own
        ]
        result = end["result"]
        assert len(result["places"]) == len(result["rewards"]) == num_players
        assert min(result["places"]) == 1
        assert sum(result["rewards"]) == pytest.approx(0)
        assert result["forfeited_by"] is None
    rewards = [end["result"]["rewards"] for end in ends]
    by_seat = np.concatenate([np.roll(played.rank[:, r], r, axis=1) for r in range(num_players)])
    assert {tuple(np.round(row, 9)) for row in rewards} == {
        tuple(row) for row in np.round(by_seat, 9).tolist()
    }


def test_a_forfeited_game_ends_for_the_others_too(listen):
    agent, listener = listen(GAME)
    n = GAME.min_players
    table = BaseTable(GAME, [agent] * n, seed=1)
    table.choose()
    table.step(table.legal_actions()[0])
    player = table.player
    table.forfeit(player)
    agent.close()
    assert (table.is_over, table.legal_actions(), table.places) == (True, [], [])
    assert table.returns.tolist() == [-1.0 if p == player else 0.0 for p in range(n)]
    for call in (table.step, table.choose, lambda: table.forfeit(player)):
        with pytest.raises(ValueError, match="the game is over"):
            call()
    (end,) = listener.messages("end")  # the other seats have not been asked about it
    assert end["result"]["forfeited_by"] == player
    assert end["result"]["places"] == [n if p == player else 1 for p in range(n)]
    assert end["result"]["rewards"][player] == -1.0
    assert len(end["events"]) == 1


def test_a_game_that_the_learner_loses_by_an_illegal_action_ends_for_its_opponents(listen):
    agent, listener = listen(GAME)
    n = GAME.min_players
    env = SingleSeatEnv(GAME.id, num_players=n, opponents=agent, seat=0)
    _, info = env.reset(seed=1)
    while not listener.messages("decide"):
        _, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    with pytest.warns(UserWarning, match="not legal"):
        step = env.step(int(info["action_mask"].argmin()))
    assert step[1:4] == (-1.0, True, False)
    agent.close()
    results = [end["result"] for end in listener.messages("end")]
    assert [result["forfeited_by"] for result in results] == [0]
    assert results[0]["rewards"][0] == -1.0


@pytest.mark.parametrize("way", ["another game begins", "others are seated", "it is broken off"])
def test_a_game_that_is_broken_off_has_no_result(listen, way):
    agent, listener = listen(GAME)
    n = GAME.min_players
    player = BaseTable(GAME, [None] * n, seed=1).player
    agents = [agent if p == player else None for p in range(n)]
    table = BaseTable(GAME, agents, seed=1)
    table.choose()
    if way == "another game begins":
        table.begin(1)
    elif way == "others are seated":
        table.begin(1, [None] * n)
        table = BaseTable(GAME, agents, seed=1)
    else:
        table.break_off()
    table.choose()
    agent.close()
    (end,) = listener.messages("end")
    assert (end["game"], end["result"]) == (0, None)
    assert [m["game"] for m in listener.messages("decide")] == [0, 1]


def test_seats_at_one_table_are_games_of_their_own(listen):
    agent, listener = listen(GAME)
    n = GAME.min_players
    play_deals(GAME, [agent] * n, deal_seeds(1, 2), {"max_steps": 60})
    games = {}
    for message in listener.messages("decide"):
        games.setdefault(message["game"], set()).add(message["player"])
    assert len(games) == 2 * n * n
    assert all(len(players) == 1 for players in games.values())


# ---------------------------------------------------------------------------------------------
# Answers
# ---------------------------------------------------------------------------------------------


@few_games
def test_every_action_can_be_given_by_number_by_words_and_in_structured_form(game):
    legal = range(game.num_actions)
    for action, words in enumerate(game.actions.names):
        form = game.actions.to_dict(action)
        for answer in (action, words, f"  {words.upper()} ", words.replace(" ", "   "), form):
            line = json.dumps({"game": 7, "action": answer, "why": "a note"}).encode()
            assert messages.read_action(line, 7, legal, game.actions) == action


@few_games
def test_a_structured_form_that_means_no_legal_action_is_a_fault(game):
    form = game.actions.to_dict(0)
    for answer, message in (
        (form, "is not legal there"),
        ({**form, "kind": "castle"}, "kind must be one of .*, got 'castle'"),
        ({**form, "rook": 1}, "takes .*, got .*rook"),
        ({}, "an action in structured form is"),
    ):
        line = json.dumps({"game": 7, "action": answer}).encode()
        with pytest.raises(ProgramFault, match=message) as fault:
            messages.read_action(line, 7, [1], game.actions)
        assert fault.value.kind == ILLEGAL
        assert not fault.value.is_fatal


def test_a_turn_of_many_games_is_answered_game_by_game(listen):
    agent, listener = listen(GAME)
    positions = [s for s in positions_of(GAME, GAME.min_players)[:20] if not is_over(s)]
    states = GAME.new_states(len(positions))
    for i, position in enumerate(positions):
        states[i] = copy_of(GAME, position)[0]
    turn = turn_of(GAME, states, np.arange(len(positions)), agent.view)
    assert agent.act(turn).tolist() == turn.action_mask.argmax(axis=1).tolist()
    assert len(listener.messages("decide")) == len(positions)


def test_a_program_by_name_is_made_of_its_name():
    agent = make_agent(program("last", seconds=2, on_fault="random"), GAME)
    assert isinstance(agent, ProgramAgent)
    assert agent.name == program("last", seconds=2, on_fault="random")
    assert agent.limits.seconds == 2.0


@few_games
def test_what_agents_in_the_compiled_loop_do_is_told_too(game, listen):
    """Every decision of a game, of all its players."""
    n = game.default_players
    for other in agent_names(game):
        agent, listener = listen(game)
        arena = Arena(game, 2, [agent, make_agent(other, game)], max_steps=30 * n)
        seating = np.ones((2, game.max_players), np.int64)
        seating[:, n - 1] = 0
        arena.start(np.arange(2), np.array([5, 6], np.uint64), np.full(2, n), seating)
        agent.close()
        told = {}
        for message in (*listener.messages("decide"), *listener.messages("end")):
            told.setdefault(message["game"], []).extend(message["events"])
        for number, events in told.items():
            assert len(events) == arena.states["steps"][number]
            assert {event["player"] for event in events} <= set(range(n))
            assert any(event["player"] != n - 1 for event in events)
        assert told
