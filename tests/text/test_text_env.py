"""``make_text``: the calls of TextArena, what texts hold and hide, wrong answers, lengths."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re

import numpy as np
import pytest
from helpers import EACH_GAME, FEW_GAMES, FEW_TABLES, MEMORY_MODES, TABLES, Habits, kit_of

import card_envs
from card_envs.render.text import describe
from card_envs.text import prompt as text_prompt
from card_envs.text.env import TextEnv
from card_envs.text.game import CHARACTERS
from card_envs.text.rules import rules_in_words

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
memory_modes = pytest.mark.parametrize("memory", MEMORY_MODES)

STEPS = 60


def text_env(game, seed=None, **options):
    """An environment; with a seed within a game that does not take too long."""
    env = card_envs.make_text(game.name, **{**kit_of(game).short_options, **options})
    if seed is not None:
        env.reset(seed=seed)
    return env


def play(env, seed, decisions=STEPS):
    """Habitual decisions; yields the player and the text before each."""
    habits = Habits(env.game, seed)
    for _ in range(decisions):
        player, text = env.get_observation()
        yield player, text
        done, _ = env.step(f"[{habits.choose(env.aec.states)}]")
        if done:
            return


# ---------------------------------------------------------------------------------------------
# The calls
# ---------------------------------------------------------------------------------------------


@few_tables
def test_a_game_is_played_with_the_calls_of_textarena(game, num_players):
    env = text_env(game)
    env.reset(num_players=num_players, seed=5)
    done, decisions = False, [0] * num_players
    while not done:
        player_id, observation = env.get_observation()
        assert env.get_observation() == (player_id, observation)  # until the next step
        name = env.legal_actions[len(observation) % len(env.legal_actions)]
        done, info = env.step(action=f"I take [{name}].")
        decisions[player_id] += 1
        assert info == {
            "player": player_id,
            "action": info["action"],
            "action_name": name,
            "message": "",
        }
        if sum(decisions) == 2_000:
            break
    rewards = env.close()
    assert list(rewards) == list(range(num_players))
    info = env.game_info
    assert [info[k]["turn_count"] for k in rewards] == decisions
    assert not any(info[k]["invalid_move"] or info[k]["wrong_answers"] for k in rewards)
    if done:
        final = [env.aec.infos[agent]["place"] for agent in env.aec.possible_agents]
        assert [info[k]["place"] for k in rewards] == final
        assert sum(rewards.values()) == pytest.approx(0.0)
        assert env.legal_actions == []
        for call in (env.get_observation, lambda: env.step("[0]")):
            with pytest.raises(RuntimeError, match=r"the game is over.*close.*reset"):
                call()


@pytest.mark.parametrize("reward", ["rank", "win", "score"])
@few_games
def test_rewards_are_those_of_the_game(game, reward):
    env = text_env(game, 3, reward=reward)
    total = np.zeros(env.num_players)
    for _ in play(env, 3, 400):
        pass
    twin = card_envs.make(
        game.name, num_players=env.num_players, reward=reward, **kit_of(game).short_options
    )
    seed, actions = env.aec.history
    twin.reset(seed=seed)
    for action in actions:
        twin.step(action)
        total += [twin.rewards[agent] for agent in twin.possible_agents]
    assert list(env.close().values()) == pytest.approx(total.tolist())


@few_games
def test_games_follow_from_the_seed(game):
    env, other = text_env(game), text_env(game)
    for seed in (7, None, None):
        env.reset(seed=seed)
        other.reset(seed=seed)
        assert list(play(env, 1, 10)) == list(play(other, 1, 10))
    env.reset(seed=7)
    other.reset(seed=8)
    assert env.aec.states.tobytes() != other.aec.states.tobytes()
    sizes = {game.min_players, game.max_players}
    for size in sizes:
        env.reset(num_players=size)
        assert env.num_players == env.aec.num_players == size == len(env.close())
    env.reset()
    assert env.num_players == size


@few_games
def test_games_are_copied_and_pickled(game):
    env = text_env(game, 2)
    list(play(env, 2, 1))
    env.step("nonsense")
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert list(play(twin, 3, 10)) == list(play(copy.deepcopy(env), 3, 10))


@few_games
def test_calls_in_the_wrong_order_and_wrong_arguments(game):
    env = text_env(game)
    for call in (env.get_observation, lambda: env.step("[0]")):
        with pytest.raises(RuntimeError, match=r"reset\(\) needs to be called before"):
            call()
    for name in ("legal_actions", "aec", "rewards", "game_info"):
        assert not hasattr(env, name)
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)
    assert env.close() == {}
    low, high = game.min_players, game.max_players
    for wrong in (low - 1, high + 1, "4", 2.5, True):
        with pytest.raises(ValueError, match=f"{low} to {high} players"):
            env.reset(num_players=wrong)
        with pytest.raises(ValueError, match=f"{low} to {high} players"):
            text_env(game, num_players=wrong)
    for wrong in ({"max_tries": 0}, {"max_tries": 1.5}, {"max_tries": True}):
        with pytest.raises(ValueError, match="max_tries must be a whole number of at least 1"):
            text_env(game, **wrong)
    with pytest.raises(ValueError, match="on_illegal must be 'terminate' or 'random', got 'raise'"):
        text_env(game, on_illegal="raise")
    with pytest.raises(ValueError, match="memory must be 'perfect' or 'none'"):
        text_env(game, memory="some")
    with pytest.raises(TypeError, match=r"unexpected keyword.*max_tries, on_illegal"):
        text_env(game, mask="info")
    env.reset(seed=1)
    with pytest.raises(TypeError, match="an answer is a str, got 4"):
        env.step(4)
    with pytest.raises(TypeError, match="seed must be"):
        env.reset(seed="1")
    with pytest.raises(ValueError, match="seed must be"):
        env.reset(seed=-1)


# ---------------------------------------------------------------------------------------------
# What texts hold
# ---------------------------------------------------------------------------------------------


@memory_modes
@few_games
def test_first_texts_hold_rules_options_and_how_to_answer_and_none_the_seed(game, memory):
    seed = 9_876_543_210_123
    env = text_env(game, seed, num_players=game.max_players, memory=memory)
    options = env.aec.options
    seen = set()
    for player, text in play(env, 4, 200):
        assert str(seed) not in text
        is_first = player not in seen
        seen.add(player)
        assert (rules_in_words(game) in text) == is_first
        assert ("square brackets" in text) == is_first
        if is_first:
            assert text.startswith(f"You play {game.title} with ")
            assert f"You are player {player}." in text
            assert f"- players: {env.num_players}," in text
            for option in game.options:
                assert f"- {option.name} = {options[option.name]}: " in text
            for kind in game.actions:
                assert f'\n- {{"kind": "{kind.kind}"' in text
    assert len(seen) > 1


@each_game
def test_a_decision_can_be_answered_in_structured_form(game):
    env = text_env(game, 3)
    for _ in range(10):
        action = env.aec.legal_actions()[-1]
        done, info = env.step(f"I think: {json.dumps(game.actions.to_dict(action))}")
        assert info["action"] == action
        if done:
            break
    env = text_env(game, 3)
    legal = env.aec.legal_actions()
    wrong = next((a for a in range(game.num_actions) if a not in legal), None)
    if wrong is not None:
        _, info = env.step(json.dumps(game.actions.to_dict(wrong)))
        assert f"is not legal now ({game.action_name(wrong)})." in info["message"]


@memory_modes
@tables
def test_a_text_holds_the_table_and_the_legal_actions(game, num_players, memory):
    env = text_env(game, 6, num_players=num_players, memory=memory)
    for player, text in play(env, 6):
        table = describe(game, env.aec.states, 0, player, MEMORY_MODES.index(memory))
        assert table in text
        assert memory == "perfect" or "What has been done" not in text
        legal = {action: game.action_name(action) for action in env.aec.legal_actions()}
        *_, listed = text.rpartition("\n\n")
        lines = re.findall(r"^ *(\d+)  (.*?)(?: \(\d+ actions? of this kind\))?$", listed, re.M)
        shown = {int(action): name for action, name in lines}
        assert shown.items() <= legal.items()
        if len(legal) <= text_prompt.MOST_LISTED:
            assert shown == legal
        assert list(legal.values()) == env.legal_actions


@each_game
def test_what_the_others_have_done_since_is_told(game):
    env = text_env(game, 9, num_players=game.max_players)
    habits = Habits(game, 9)
    news = {player: [] for player in range(env.num_players)}
    told = 0
    for _ in range(200):
        player, text = env.get_observation()
        paragraph = text.partition("What has been done since:")[2].partition("\n\n")[0]
        lines = re.findall(r"^Player (\d): (.*)\.$", paragraph, re.M)
        flat = [(int(q), name) for q, line in lines for name in line.split("; ")]
        assert flat == news[player]
        told += len(flat)
        action = habits.choose(env.aec.states)
        name = game.public_action_name(env.aec.states, 0, action)
        for other, entries in news.items():
            entries.append((player, name)) if other != player else entries.clear()
        if env.step(str(action))[0]:
            break
    assert told


@memory_modes
@tables
def test_a_text_says_nothing_that_the_player_cannot_know(game, num_players, memory):
    """All that they cannot know is redrawn, the game's seed and stream too."""
    changed = 0
    for seed in (1, 2):
        env = text_env(game, seed, num_players=num_players, memory=memory)
        for number, (player, text) in enumerate(play(env, seed, 40)):
            reader = (player + number) % num_players
            twin = copy.deepcopy(env)
            twin.aec.determinize(f"player_{reader}", number)
            changed += twin.aec.states.tobytes() != env.aec.states.tobytes()
            assert twin._table.text(reader) == env._table.text(reader)
            if reader == player:
                assert twin.get_observation() == (player, text)
    assert changed


# ---------------------------------------------------------------------------------------------
# Wrong answers
# ---------------------------------------------------------------------------------------------


@few_games
def test_a_wrong_answer_gets_a_message_and_another_try(game):
    env = text_env(game, 1)
    player, first = env.get_observation()
    before = env.aec.states.tobytes()
    done, info = env.step("I choose [to fly to the moon]")
    assert not done
    assert (info["player"], info["action"], info["action_name"]) == (player, -1, "")
    assert info["message"].startswith('"to fly to the moon" is none of your legal actions. ')
    assert "You have 2 more tries" in info["message"]
    again, text = env.get_observation()
    assert again == player
    assert text.startswith(info["message"])
    assert text.endswith(first.rpartition("\n\n")[2])
    assert env.aec.states.tobytes() == before
    assert env.close() == dict.fromkeys(range(env.num_players), 0.0)
    assert env.game_info[player]["wrong_answers"] == 1
    done, info = env.step("")
    assert info["message"].startswith("Your answer names no action. You have 1 more try;")
    done, info = env.step(f"[{env.legal_actions[0]}]")
    assert info["message"] == ""
    assert info["action_name"] == game.action_name(info["action"])
    assert env.game_info[player]["wrong_answers"] == 2
    for _, text in play(env, 1, 20):  # with the action all tries are there again
        assert not text.startswith('"')


@each_game
def test_an_action_that_is_not_legal_is_named(game):
    env = text_env(game, 1)
    for _ in play(env, 1):
        legal = set(env.aec.legal_actions())
        wrong = next((a for a in range(game.num_actions) if a not in legal), None)
        if wrong is not None:
            name = game.action_name(wrong)
            _, info = env.step(f"[{wrong}]")
            assert info["message"].startswith(f'"{wrong}" is not legal now ({name}). ')
            return
    assert game.num_actions == 2, "all actions were legal at each decision"


@each_game
def test_the_name_of_an_action_that_is_not_legal_takes_no_other(game):
    env = text_env(game, 1, max_tries=10**6)
    rng = random.Random(1)
    for _ in play(env, 1):
        illegal = sorted({*range(game.num_actions)} - {*env.aec.legal_actions()})
        for action in rng.sample(illegal, min(len(illegal), 5)):
            name = game.action_name(action)
            for text in (f"[{name}]", f"So I {name}."):
                _, info = env.step(text)
                assert info["action"] == -1
                assert info["message"].startswith(f'"{name}" is not legal now. ')


def test_an_answer_that_fits_several_actions_lists_them():
    legal = {k: f"take slot {k}" for k in range(12)}
    text = text_prompt.complaint("take", list(legal), legal, [], "Again.")
    shown = "; ".join(legal[k] for k in range(8))
    assert text == f'"take" could mean: {shown}; and 4 more. Again.'


@few_games
def test_who_answered_again_has_not_lost_the_game(game):
    """It is lost by the one whose last try was wrong, and by nobody who was wrong before."""
    env = text_env(game, 1, max_tries=2)
    first, _ = env.get_observation()
    env.step("?")
    while env.get_observation()[0] == first:
        env.step(f"[{env.legal_actions[0]}]")
    loser, _ = env.get_observation()
    env.step("?")
    assert env.step("?")[0]
    env.close()
    assert env.game_info[first]["wrong_answers"] == 1
    assert [env.game_info[k]["invalid_move"] for k in range(env.num_players)] == [
        k == loser for k in range(env.num_players)
    ]


@few_games
def test_wrong_answers_lose_the_game(game):
    env = text_env(game, 1, max_tries=2)
    loser, _ = env.get_observation()
    assert not env.step("?")[0]
    done, info = env.step("?")
    assert done
    assert info["action"] == -1
    assert info["message"].endswith(
        "That was your last try: the game is over and you have lost it."
    )
    assert env.close() == {k: -1.0 if k == loser else 0.0 for k in range(env.num_players)}
    assert [env.game_info[k]["invalid_move"] for k in range(env.num_players)] == [
        k == loser for k in range(env.num_players)
    ]
    assert env.game_info[loser]["place"] is None
    with pytest.raises(RuntimeError, match="the game is over"):
        env.get_observation()
    env.reset(seed=1)
    assert env.get_observation()[0] == loser


@few_games
def test_wrong_answers_give_a_random_action(game):
    def played(seed):
        env = text_env(game, seed, max_tries=1, on_illegal="random")
        actions = []
        for _ in range(30):
            player, _ = env.get_observation()
            legal = env.legal_actions
            done, info = env.step("no idea")
            assert info["action_name"] in legal
            assert info["message"].endswith(
                f"a random legal action is taken for you: {info['action_name']}."
            )
            actions.append(info["action"])
            if done:
                break
            if env.get_observation()[0] == player:
                assert env.get_observation()[1].startswith(info["message"])
        return actions

    assert played(1) == played(1)
    assert len({tuple(played(seed)) for seed in range(8)}) > 1


# ---------------------------------------------------------------------------------------------
# Lengths and characters
# ---------------------------------------------------------------------------------------------


@memory_modes
@few_tables
def test_texts_keep_to_their_bounds(game, num_players, memory):
    env = text_env(game, 1, num_players=num_players, memory=memory)
    total = 0
    for number, (player, text) in enumerate(play(env, 1, 80)):
        reader = (player + number) % num_players
        for each in (text, env._table.text(reader)):
            assert set(each) <= set(CHARACTERS)
            assert len(each) <= env.max_chars
        assert len(describe(game, env.aec.states, 0, reader, 0)) <= text_prompt.MOST_TABLE
        total += len(text)
    assert total <= env.max_chars_per_game


@each_game
def test_every_piece_has_its_bound(game):
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    listed = dict(sorted(names.items(), key=lambda item: -len(item[1]))[: text_prompt.MOST_LISTED])
    assert len(text_prompt.legal_actions(game, listed)) <= text_prompt.longest_actions(game)
    assert len(text_prompt.legal_actions(game, names)) <= text_prompt.longest_actions(game)
    longest = max(names.values(), key=len)
    follows = (
        "That was your last try: a random legal action is taken for you: "
        f"{longest}. You have 1000000 more tries."
    )
    message = text_prompt.complaint("x" * 10_000, list(names), names, [], follows)
    assert len(message) <= text_prompt.longest_complaint(game)
    env = text_env(game, 1)
    for answer in ("[" + "ß" * 100_000, f"[{'1' * 5000}]"):
        _, info = env.step(answer)
        assert '..." is none of your legal actions. You have ' in info["message"]
        assert len(env.get_observation()[1]) <= env.max_chars
    assert env.max_chars >= len(rules_in_words(game)) + text_prompt.MOST_TABLE


def test_what_is_left_out_of_long_news_is_counted():
    few = [(1, ["draw", "discard"]), (2, ["knock"])]
    head = "What has been done since:"
    assert text_prompt.news(few, 0) == f"{head}\nPlayer 1: draw; discard.\nPlayer 2: knock."
    assert text_prompt.news([], 0) == ""
    many = [(k % 3, [f"action {k}", "another"]) for k in range(10_000)]
    text = text_prompt.news(many, 3)
    assert text_prompt.MOST_NEWS - 200 < len(text) <= text_prompt.MOST_NEWS
    lines = text.splitlines()
    (left_out,) = re.fullmatch(r"\(left out: (\d+) earlier decisions\)", lines[1]).groups()
    assert int(left_out) + 2 * (len(lines) - 2) == 20_000
    longest = 0
    for length in range(3900, text_prompt.MOST_NEWS):  # wherever the room ends
        text = text_prompt.news([(1, ["draw"] * 100_000), (1, ["x" * length])], 0)
        longest = max(longest, len(text))
    assert longest == text_prompt.MOST_NEWS
    assert lines[-1] == "Player 0: action 9999; another."
    assert text_prompt.news([(1, ["x" * 10_000])], 0).endswith("(left out: 1 earlier decision)")


@few_games
def test_a_table_that_is_too_long_is_an_error_and_not_cut(game):
    assert text_prompt.table("short", game) == "short"
    with pytest.raises(ValueError, match=f"the table of {game.id} takes 10001 characters"):
        text_prompt.table("x" * (text_prompt.MOST_TABLE + 1), game)


def test_text_env_is_what_make_text_gives():
    game = EACH_GAME[0].values[0]
    assert isinstance(card_envs.make_text(game.id), TextEnv)
    assert card_envs.make_text(game.id).game is card_envs.make_text(game.name).game is game
