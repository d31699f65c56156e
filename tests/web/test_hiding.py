"""What a page is told of a running game at a closed table follows from what its seat knows.

Every message is compared with that of another world, in which all that the seat cannot know has
been redrawn, and seed, history and random stream are others.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from helpers import EACH_GAME, FEW_GAMES, SEARCHED, Habits, kit_of
from visitor import begin, talk, wanted

from card_envs.agents import RandomAgent, agent_names, make_agent
from card_envs.engine.history import Redraw
from card_envs.engine.table import BaseTable
from card_envs.web.table import ViewedTable, _Words

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
SEEDS = 2
STEPS = 40


def table_at(game, seat, seed, decisions, **settings):
    """A table in mid-game, after habitual decisions of all players."""
    n = game.default_players
    agents = [None if q == seat else RandomAgent(game, q) for q in range(n)]
    played = BaseTable(game, agents, seed=seed, **kit_of(game).short_options)
    table = ViewedTable(played, "play", seat, (None,) * n, **settings)
    habits = Habits(game, seed)
    for _ in range(decisions):
        if table.is_over:
            break
        table._step(habits.choose(played.states))
    return table


def redrawn(table, *seeds):
    """The game at a table with all that the seat cannot know redrawn, under another seed."""
    played = copy.deepcopy(table.table)
    for seed in seeds:
        table.game.rules.determinize(played.states, 0, table.seat, np.uint64(seed))
    played._seed ^= 0x5EED
    return played


def other_world(table, seed):
    """The same table for the seat; everything that they cannot know is different."""
    return replace(table, table=redrawn(table, seed), _moves=list(table._moves))


def tables_of(game, **settings):
    for seed in range(SEEDS):
        for decisions in (0, 1, 2, 3, 5, 9, 16, 27, STEPS):
            seat = (seed + decisions) % game.default_players
            table = table_at(game, seat, seed, decisions, **settings)
            if not table.is_over:
                yield table


def said_by(table):
    """All that a page can be told without doing anything."""
    texts = [table.welcome(["ppo"]).model_dump_json(), table.state().model_dump_json()]
    for eyes in (table.seat, (table.seat + 1) % table.table.num_players, "all", "mover"):
        texts.append(table.look(table.steps, eyes).model_dump_json())
    return texts


@each_game
def test_messages_are_the_same_in_every_world_that_the_seat_holds_possible(game):
    has_secrets = False
    for table in tables_of(game, practice=True):
        for seed in range(2):
            other = other_world(table, seed)
            assert said_by(other) == said_by(table)
            has_secrets |= other.table.states.tobytes() != table.table.states.tobytes()
    assert has_secrets


@few_games
def test_hints_are_the_same_in_every_world_that_the_seat_holds_possible(game):
    names = [name for name in agent_names(game) if name != "random"]
    names += ["search:8"] * (game in SEARCHED)
    asked = 0
    for table in tables_of(game, practice=True):
        if not table.is_persons_turn or asked > 4:
            continue
        asked += 1
        for name in names:
            agent = make_agent(name, game)
            expected = table.hint(agent, name).model_dump_json()
            assert other_world(table, 1).hint(agent, name).model_dump_json() == expected
    assert asked


@each_game
@pytest.mark.parametrize("kind", ["play", "watch"])
def test_what_another_player_does_is_told_as_the_seat_learns_it(game, kind):
    """In another world in which the same action is possible, it has the same words, and points at
    the same."""
    told = 0
    for table in tables_of(game):
        table.kind = kind
        if table.table.player == table.seat:
            continue
        other = other_world(table, 7)
        for action in {*table.table.legal_actions()} & {*other.table.legal_actions()}:
            for world in (table, other):
                world._note(world.table.states, action)
                world._note_touched(world.steps - 1, world.table.states, action)
            assert table._moves[-1].touched == other._moves[-1].touched
            eyes = (table.seat, "all", "mover")
            words = [table.visible_words(table.steps - 1, e).words for e in eyes]
            assert words == [other.visible_words(other.steps - 1, e).words for e in eyes]
            # As long as something is secret, there is one pair of eyes.
            assert set(words) == {table._moves[-1].public}
            told += 1
            del table._moves[-1], other._moves[-1]
    assert told


def test_a_hidden_decision_points_at_nothing():
    """Else the page would outline the card that was given away."""
    hidden = 0
    for param in EACH_GAME:
        for table in tables_of(param.values[0]):
            for action in table.table.legal_actions():
                table._note(table.table.states, action)
                table._note_touched(table.steps - 1, table.table.states, action)
                move = table._moves.pop()
                if not move.hides_nothing:
                    hidden += 1
                    assert move.touched == ()
    assert hidden


@few_games
def test_ones_own_decision_is_told_twice_only_where_the_others_learn_less(game):
    """Words for all that could mean nothing else stand alone."""
    for table in tables_of(game):
        if table.table.player != table.seat:
            continue
        states, legal = table.table.states, table.table.legal_actions()
        names = [game.public_action_name(states, 0, action) for action in legal]
        own, public = game.action_name_at(states, 0, legal[0]), names[0]
        is_all = own == public or (len(legal) > 1 and names.count(public) == 1)
        table._note(states, legal[0])
        words = table.visible_words(table.steps - 1, table.seat).words
        assert words == (public if is_all else f"{public} ({own})")


@pytest.mark.parametrize("kind", ["play", "watch"])
def test_the_private_words_of_a_decision_are_for_its_player_and_for_the_end(kind):
    """A player who gives a card away knows which one."""
    table = table_at(EACH_GAME[0].values[0], 0, 0, 0)
    table.kind = kind
    table._moves += [
        _Words(0, "give a bear", "give a card"),
        _Words(1, "give a fox", "give a card"),
    ]
    own, public = "give a card (give a bear)", "give a card"
    assert [table.visible_words(step, "all").words for step in (0, 1)] == [own, public]
    assert [move.words for move in table.welcome([]).moves] == [own, public]
    assert table.state().frame.move.words == public
    revealed = replace(table, is_open=True)
    fox = "give a card (give a fox)"
    assert [move.words for move in revealed.welcome([]).moves] == [own, fox]
    assert revealed.state().frame.move.words == fox
    assert revealed.visible_words(1, 0).words == "give a card"


@few_games
def test_looking_back_is_through_the_same_eyes(game):
    for table in list(tables_of(game))[3:9]:
        for step in {0, table.steps // 2}:
            frames = [table.look(step, eyes) for eyes in (table.seat, "all", "mover", 0)]
            assert all(frame == frames[0] for frame in frames)
            assert frames[0].scene.observer == table.seat
            assert frames[0].decision is None


@few_games
def test_seed_and_history_stay_on_the_server_until_the_end(client, game):
    table = begin(client, wanted(game, practice=True, options=kit_of(game).short_options))
    with talk(client, table) as page:
        welcome = page.hear("welcome")
        state = page.turn(welcome["state"])
        heard = [welcome["state"]["frame"]["scene"]["observer"]]
        turns = 0
        while not state["is_over"]:
            if turns < 3:
                assert client.get(f"/api/tables/{table}/replay").status_code == 403
                again = client.post(f"/api/tables/{table}/again", json={"same_deal": True})
                assert again.status_code == 403
                asked = {"agent": "random"}
                questions = {"analyse": {**asked, "step": 0}, "find_disputes": asked}
                for kind, content in {**questions, "find_rounds": {}}.items():
                    answer = page.ask(kind, "problem", **content)
                    assert "until the game is over" in answer["message"]
            turns += 1
            action = state["legal"][turns % len(state["legal"])]["action"]
            state = page.turn(page.ask("act", "state", step=state["steps"], action=action))
            heard.append(state["frame"]["scene"]["observer"])
        assert state["is_revealed"]
        assert set(heard) == {0}
        replay = client.get(f"/api/tables/{table}/replay").json()
        before_the_end = page.heard[:-1]
        starts = page.ask("find_rounds", "rounds")["starts"]
        steps = [start["step"] for start in starts]
        assert steps == sorted(set(steps))
        assert all(0 < step < state["steps"] for step in steps)
    assert before_the_end
    assert not any(str(replay["seed"]) in text for text in before_the_end)
    assert not any('"seed"' in text or '"actions"' in text for text in before_the_end)


@each_game
def test_a_watched_game_is_seen_through_one_seats_eyes_until_the_end(client, game):
    seat = game.default_players - 1
    table = begin(client, wanted(game, None, eyes=seat, options=kit_of(game).short_options))
    with talk(client, table) as page:
        state = page.hear("welcome")["state"]
        assert not state["legal"]
        for step in range(4):
            if state["is_over"]:
                break
            frame = page.ask("look", "frame", step=step, eyes="all")
            assert frame["scene"]["observer"] == seat
            assert frame["decision"] is None
            state = page.ask("advance", "state", step=step)
            assert state["frame"]["scene"]["observer"] == seat


# ---------------------------------------------------------------------------------------------
# Undo
# ---------------------------------------------------------------------------------------------


@few_games
def test_undo_shows_what_was_seen_and_redraws_the_rest(game):
    undone = 0
    for table in tables_of(game, practice=True):
        if not table.is_persons_turn:
            continue
        before = table.state()
        hidden = set()
        length = len(table.table.history[1]) + 1  # with the latest redraw alone
        for _ in range(6):
            table.act(table.table.legal_actions()[-1])
            while table.waits_for_agent:
                table.let_agent_act()
            state = table.undo(table.steps)
            assert state.was_undone
            assert state.model_copy(update={"was_undone": False}) == before
            entries = table.table.history[1]
            assert isinstance(entries[-1], Redraw)
            assert entries[-1].player == table.seat
            assert len(entries) == length
            hidden.add(table.table.states.tobytes())
        undone += len(hidden) > 1
    assert undone


@each_game
def test_what_is_redrawn_does_not_follow_from_what_lay_there(game, monkeypatch):
    """With the same random number the redrawn world is the same, whichever the true one was."""
    monkeypatch.setattr("card_envs.web.table.secrets.randbits", lambda bits: 1)
    for table in list(tables_of(game, practice=True))[:6]:
        if not table.is_persons_turn:
            continue
        played = redrawn(table, 99, 1)
        table.act(table.table.legal_actions()[0])
        table.undo(table.steps)
        expected = table.frame(played.states, table.steps, table.seat)
        assert table.state().frame.scene == expected.scene


def test_undo_is_for_practice_alone_and_needs_a_decision():
    game = EACH_GAME[0].values[0]
    table = table_at(game, 0, 0, 0, practice=True)
    with pytest.raises(ValueError, match="nothing to undo"):
        table.undo(table.steps)
    table = table_at(game, 0, 0, 30)
    with pytest.raises(ValueError, match="not a practice table"):
        table.undo(table.steps)


@each_game
def test_undo_goes_back_from_what_the_person_has_seen(game):
    """Others may have decided since, and nobody has seen what is to come."""
    for table in tables_of(game, practice=True):
        if not table.is_persons_turn:
            continue
        before = table.steps
        table.act(table.table.legal_actions()[-1])
        seen = table.steps
        while table.waits_for_agent:
            table.let_agent_act()
        if table.steps == seen:
            continue
        with pytest.raises(ValueError, match=f"is at decision {table.steps}, not 99999"):
            table.undo(99999)
        assert table.undo(seen).steps == before
        return
    raise AssertionError("nobody else has decided")


@few_games
def test_a_game_with_undone_decisions_can_be_replayed(game):
    table = table_at(game, 0, 1, 6, practice=True)
    while not table.is_over:
        if table.is_persons_turn:
            table.act(table.table.legal_actions()[0])
            if table.steps < 20 and table.steps % 2:
                table.undo(table.steps)
                table.act(table.table.legal_actions()[0])
        else:
            table.let_agent_act()
    copy = ViewedTable.of_replay(table.replay())
    assert copy.table.states.tobytes() == table.table.states.tobytes()
    assert copy.steps == table.steps
    assert copy.visible_words(0, "all") == table.visible_words(0, "all")
