"""Search agents: what they may know, that their choices are reproducible, and that they pay."""

from __future__ import annotations

import math
import pickle
import threading
import time

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    begin,
    copy_of,
    is_over,
    kit_of,
    mask_of,
    mid_game,
    network_of,
    positions_of,
    stacked,
)
from hidden import redrawn

from card_envs.agents import NetworkAgent, SearchAgent, TreeSearchAgent, make_agent
from card_envs.agents.identity import hash_of_agent, name_without_folders
from card_envs.agents.network import Network, write_policy
from card_envs.agents.search.halving import count_worlds, decide, keep_best, standard_error
from card_envs.agents.search.tree import (
    AVAILABLE,
    CHILD,
    KEY,
    NODE_SIZE,
    VISITS,
    descend,
    outcome,
)
from card_envs.contract.agent import turn_of
from card_envs.contract.options import View
from card_envs.contract.outcome import RANK, SCORE, WIN
from card_envs.contract.outlook import promise
from card_envs.evaluation import evaluate
from card_envs.kernels.jit import COMPILED

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
WITH_OUTLOOK = [param for param in EACH_GAME if param.values[0].outlook is not None]
slow_as_python = pytest.mark.skipif(not COMPILED, reason="takes too long as plain Python")
ROLLOUTS = 16 if COMPILED else 4
A_POLICY = r"a NetworkAgent, as make_agent\('ppo', game\) makes one"


def agents_of(game, **options):
    """Search with each kind of rollouts that the game has."""
    kinds = ["random"]
    if game.heuristic is not None:
        kinds.append("heuristic")
    shared = {key: value for key, value in options.items() if key in ("seed", "threads")}
    for kind in kinds:
        yield SearchAgent(game, kind, rollouts=ROLLOUTS, policy=kind, **options)
        yield TreeSearchAgent(game, f"{kind} tree", rollouts=ROLLOUTS, policy=kind, **shared)
    if kit_of(game).is_own and COMPILED:
        ppo = make_agent("ppo", game)
        yield SearchAgent(game, "ppo", rollouts=ROLLOUTS, policy=ppo, proposer=ppo, **options)


def positions_in(game, count):
    positions = []
    for number in range(count):
        num_players = (game.min_players, game.max_players)[number % 2]
        positions.append(mid_game(game, num_players, decisions=2 + 5 * number).unwrapped.states)
    return positions


def chosen_by(agent, game, states):
    return agent.act(turn_of(game, states, np.arange(len(states)), agent.view)).tolist()


@few_games
def test_it_knows_what_the_player_knows(game):
    """The choice is the same in every arrangement of what the player cannot know."""
    for agent in agents_of(game):
        for states in positions_in(game, 4):
            player = int(states["current_player"][0])
            expected = chosen_by(agent, game, states)
            for seed in range(4):
                other = redrawn(game, states, player, seed, game.rules.determinize)
                assert chosen_by(agent, game, other) == expected


@few_games
def test_choices_are_legal_and_change_nothing(game):
    for agent in agents_of(game, candidates=None):
        for states in positions_in(game, 4):
            before = states.tobytes()
            (action,) = chosen_by(agent, game, states)
            assert mask_of(game, states)[action]
            assert states.tobytes() == before


@few_games
def test_choices_follow_from_the_seed_alone(game):
    """Not from how many games are searched at a time, or on how many threads."""
    positions = stacked(game, positions_in(game, 6))
    for agent in agents_of(game, seed=5):
        together = chosen_by(agent, game, positions)
        assert chosen_by(agent, game, positions) == together
        assert chosen_by(pickle.loads(pickle.dumps(agent)), game, positions) == together
        alone = [chosen_by(agent, game, positions[k : k + 1])[0] for k in range(len(positions))]
        assert alone == together
    turn = turn_of(game, positions, np.arange(len(positions)), View())
    found = [SearchAgent(game, rollouts=4, seed=seed).search(turn)[1] for seed in range(12)]
    assert not all(np.array_equal(values, found[0], equal_nan=True) for values in found)


@pytest.mark.slow
@slow_as_python
@pytest.mark.parametrize("game", [min(ALL_GAMES, key=lambda game: game.num_actions)])
def test_threads_change_nothing(game):
    """In the smallest game: what is compiled for threads is the same code."""
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread only")
    positions = stacked(game, positions_in(game, 6))
    for one, two in zip(agents_of(game), agents_of(game, threads=2), strict=True):
        assert chosen_by(one, game, positions) == chosen_by(two, game, positions)


def test_parallel_searches_of_several_threads_take_turns(monkeypatch):
    """Numba's own pool of threads aborts the process otherwise."""
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread only")
    game = ALL_GAMES[0]
    agent = SearchAgent(game, rollouts=4, threads=2)
    positions = stacked(game, positions_in(game, 2))
    turn = turn_of(game, positions, np.arange(len(positions)), View())
    under_way = threading.Semaphore(1)
    alone = []

    def search(*arguments):
        alone.append(under_way.acquire(blocking=False))
        time.sleep(0.05)
        under_way.release()

    monkeypatch.setattr("card_envs.agents.search.agents.COMPILED", True)
    monkeypatch.setattr("card_envs.agents.search.agents.compile_search", lambda *arguments: search)
    threads = [threading.Thread(target=agent.search, args=(turn,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alone == [True] * 4


@pytest.mark.parametrize("rollouts", [2, 3, 7, 18, 64])
@pytest.mark.parametrize("candidates", [2, 3, 9, None])
@few_games
def test_there_are_no_more_rollouts_than_that(game, candidates, rollouts, monkeypatch):
    agent = SearchAgent(game, rollouts=rollouts, candidates=candidates)
    states = positions_in(game, 1)[0]
    settings = agent._settings(turn_of(game, states, [0], agent.view))
    monkeypatch.setattr(agent, "_settings", lambda turn, past, also: settings)
    for states in positions_in(game, 3):
        settings.values[:] = np.nan
        chosen_by(agent, game, states)
        made = np.isfinite(settings.values).sum()
        assert made <= rollouts
        if mask_of(game, states).sum() > 1:
            assert made >= min(rollouts // 2 * 2, 2)


@few_games
def test_it_plays_for_the_rank_reward_whatever_the_game_pays(game):
    """Evaluations pay scores, and report ranks."""
    for agent in agents_of(game):
        for states in positions_in(game, 2):
            turns = []
            for mode in (RANK, SCORE, WIN):
                paying = copy_of(game, states)
                paying["reward_mode"] = mode
                turns.append(turn_of(game, paying, np.array([0]), agent.view))
            found = [agent.search(turn) for turn in turns]
            for other in found[1:]:
                for expected, actual in zip(found[0], other, strict=True):
                    np.testing.assert_array_equal(expected, actual)


@few_games
def test_what_a_search_finds_out(game):
    """The chosen action is among those tried most, a tree's the best of them; an action has a
    value if it was tried."""
    for agent in agents_of(game):
        for states in positions_in(game, 3):
            worlds = agent.work[0]
            turn = turn_of(game, states, np.array([0]), agent.view)
            (action,), (values,), (visits,), (errors,), (seed,) = agent.search(turn)
            legal = turn.action_mask[0] == 1
            if legal.sum() == 1:
                assert not visits.any()
                assert seed == 0
                assert agent.work[0] == worlds
                continue
            assert not visits[~legal].any()
            np.testing.assert_array_equal(np.isfinite(values), visits > 0)
            assert (np.abs(values[visits > 0]) <= 1.0).all()
            is_tree = isinstance(agent, TreeSearchAgent)
            assert seed
            np.testing.assert_array_equal(np.isfinite(errors), (visits > 1) & (not is_tree))
            assert chosen_by(agent, game, states) == [action]
            assert visits[action] == visits.max()
            if is_tree:
                assert values[action] == values[visits == visits.max()].max()
                assert visits.sum() == ROLLOUTS == (agent.work[0] - worlds) // 2
            else:
                assert 2 <= visits.sum() <= ROLLOUTS
                assert visits.max() == (agent.work[0] - worlds) // 2


@few_games
def test_without_better_ones_the_proposed_action_is_kept(game):
    """With a caution that no lead can satisfy, it is the proposer's likeliest."""
    for agent in agents_of(game, caution=1e9):
        if isinstance(agent, TreeSearchAgent):
            continue
        for states in positions_in(game, 3):
            (action,) = chosen_by(agent, game, states)
            if agent.name == "ppo":
                policy = make_agent("ppo", game)
                turn = turn_of(game, states, np.array([0]), policy.view)
                assert action == policy.probabilities(turn)[0].argmax()
            elif game.heuristic is not None:
                assert action == game.heuristic(states, 0)
            else:
                assert action == mask_of(game, states).argmax()


@slow_as_python
@pytest.mark.parametrize("method", ["halving", "tree"])
@few_games
def test_it_beats_its_own_rollouts(game, method):
    """Rollouts by random play are enough to beat random play."""
    agent = SearchAgent(game, rollouts=32, policy="random", candidates=None, seed=1)
    if method == "tree":
        agent = TreeSearchAgent(game, rollouts=64, policy="random", seed=1)
    num_players = game.min_players
    table = [agent, *["random"] * (num_players - 1)]
    deals = 60 if kit_of(game).is_own else 4000  # a small game is mostly luck, and short
    result = evaluate(game, table, deals=deals, seed=3, options={"max_steps": 300})
    assert result.agents[0].rank.interval[0] > 0.0


@few_games
def test_observers_look_in_their_own_view(game):
    """What the proposer observes is what it was made for."""
    view = View("none", False)
    rng = np.random.default_rng(1)
    sizes = (game.num_actions, game.fields.size)
    weight = rng.standard_normal(sizes).astype(np.float32)
    network = Network([(weight, np.zeros(game.num_actions, np.float32))], "relu")
    blind = NetworkAgent(network, "blind", view)
    agent = SearchAgent(game, rollouts=4, policy="random", proposer=blind, caution=1e9)
    assert agent.view == view
    for states in positions_in(game, 4):
        assert chosen_by(agent, game, states) == chosen_by(blind, game, states)


# ---------------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------------


@few_games
def test_names(game):
    kind = "random" if game.heuristic is None else "heuristic"
    for name in (
        "search:4",
        "search:4,policy=random,candidates=all,horizon=game,caution=0.5,threads=1",
        f"search:8,policy={kind},candidates=2",
        *["search:4,policy=random,proposer=heuristic"] * (kind == "heuristic"),
        f"search:8,method=tree,policy={kind},exploration=1.5,horizon=game",
    ):
        agent = make_agent(name, game, seed=3)
        assert agent.name == name
        states = begin(game, game.min_players, seed=1)
        (action,) = chosen_by(agent, game, states)
        assert mask_of(game, states)[action]


@few_games
def test_who_proposes_can_be_named(game, tmp_path):
    """Apart from who plays the rollouts."""
    paths = [str(tmp_path / name) for name in ("own,1.safetensors", "other.safetensors")]
    for k, path in enumerate(paths):
        write_policy(path, network_of(game, seed=k), game)
    own, other = (NetworkAgent.from_file(path, game) for path in paths)
    shared = {"rollouts": 4, "caution": 1e9}  # what is proposed is done
    for name, agent in (
        (
            f"policy={paths[1]},proposer={paths[0]}",
            SearchAgent(game, policy=other, proposer=own, **shared),
        ),
        (f"policy={paths[1]}", SearchAgent(game, policy=other, proposer=other, **shared)),
        *[("policy=random,proposer=heuristic", SearchAgent(game, policy="random", **shared))]
        * (game.heuristic is not None),
    ):
        named = make_agent(f"search:4,{name},caution=1e9", game)
        for states in positions_in(game, 3):
            assert chosen_by(named, game, states) == chosen_by(agent, game, states)
    hashes = {
        hash_of_agent(f"search:4,policy={paths[1]}{more}", game)
        for more in ("", f",proposer={paths[0]}", f",proposer={paths[1]}")
    }
    assert len(hashes) == 2
    name = f"search:4,policy={paths[1]},worlds=0,proposer={paths[0]}"
    expected = "search:4,policy=other.safetensors,worlds=0,proposer=own,1.safetensors"
    assert name_without_folders(name, game) == expected


def test_wrong_proposers_are_named():
    for game in ALL_GAMES:
        for proposer, message in (
            ("random", "proposer must be a policy of the game, .* or heuristic"),
            ("nobody", "proposer: there is no agent 'nobody'"),
            *[("heuristic", "has no heuristic that could propose")] * (game.heuristic is None),
        ):
            with pytest.raises(ValueError, match=message):
                make_agent(f"search:4,policy=random,proposer={proposer}", game)
        with pytest.raises(ValueError, match="the keys of tree are"):
            make_agent("search:4,method=tree,policy=random,proposer=heuristic", game)


@pytest.mark.parametrize("folder", ["a,b", "threads=2,seed=1", ",policy=random"])
def test_the_path_of_a_policy_may_have_commas(folder, tmp_path, monkeypatch):
    game = ALL_GAMES[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    for k, path in enumerate(("plain.safetensors", f"{folder}/p,1.safetensors")):
        write_policy(path, network_of(game, seed=k), game)
    path = f"{folder}/p,1.safetensors"
    other = hash_of_agent("search:4,policy=plain.safetensors", game)
    of_policy = hash_of_agent(f"search:4,policy={tmp_path / path}", game)
    assert of_policy != other
    for more in ("", ",candidates=2,threads=1", f",proposer={path},worlds=0"):
        make_agent(f"search:4,policy={path}{more}", game)
        assert hash_of_agent(f"search:4,policy={path}{more}", game) == of_policy
    with pytest.raises(ValueError, match="the keys of tree are"):
        make_agent(f"search:4,policy={path},candidates=2,method=tree", game)
    with pytest.raises(ValueError, match="policy: there is no agent 'nowhere'"):
        make_agent("search:4,policy=nowhere,threads=3", game)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("search:", "rollouts must be a whole number, got ''"),
        ("search:1", "rollouts must be a whole number from 2 to 1000000, got 1"),
        ("search:99999999999999999999", "rollouts must be a whole number from 2 to 1000000, got"),
        ("search:many", "rollouts must be a whole number, got 'many'"),
        (
            "search:8,depth=3",
            "the keys of halving are method, policy, proposer, candidates, worlds, horizon, caut",
        ),
        ("search:8,method=tree,caution=1", "the keys of tree are method, policy, horizon, expl"),
        ("search:8,method=beam", "method must be halving or tree, got 'beam'"),
        ("search:8,method=tree,exploration=-1", "exploration must be at least 0, got -1"),
        ("search:8,caution=1,caution=2", "each key once"),
        ("search:8,candidates=1", "candidates must be a whole number of at least 2, got 1"),
        ("search:8,candidates=some", "candidates must be a whole number or 'all', got 'some'"),
        ("search:8,worlds=-1", "worlds must be a whole number from 0 to 1000000, got -1"),
        ("search:8,horizon=year", "horizon must be 'round' or 'game', got 'year'"),
        ("search:8,policy=nobody", "there is no agent 'nobody'"),
        ("search:8,threads=0", "threads must be a whole number from 1 to"),
        ("search:8,caution=none", "caution must be a number, got 'none'"),
        ("search:-3", "rollouts must be a whole number from 2 to 1000000, got -3"),
        ("search:8,caution=nan", "caution must be a finite number, got nan"),
    ],
)
def test_wrong_names(name, message):
    game = ALL_GAMES[0]
    with pytest.raises(ValueError, match=message) as error:
        make_agent(name, game)
    assert str(error.value).startswith(f"{name!r}: ")  # of several agents of a command


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rollouts": 64.0}, "rollouts must be a whole number from 2 to 1000000, got 64.0"),
        ({"rollouts": "64"}, "rollouts must be a whole number from 2 to 1000000, got '64'"),
        ({"worlds": 1.5}, "worlds must be a whole number from 0 to 1000000, got 1.5"),
        ({"candidates": 2.5}, "candidates must be a whole number of at least 2, got 2.5"),
        ({"threads": 1.5}, "threads must be a whole number from 1 to"),
        ({"threads": True}, "threads must be a whole number from 1 to"),
        ({"caution": "1"}, "caution must be a finite number, got '1'"),
        ({"caution": 10**400}, "caution must be a finite number, got 1000"),
        ({"min_probability": 2}, "min_probability must be from 0 to 1, got 2"),
        ({"max_decisions": 0}, "max_decisions must be a whole number of at least 1, got 0"),
        ({"unfinished": None}, "unfinished must be a finite number, got None"),
        ({"unfinished": math.inf}, "unfinished must be a finite number, got inf"),
        ({"halving": "no"}, "halving must be True or False, got 'no'"),
        ({"policy": "ppo"}, f"policy must be {A_POLICY}, 'heuristic' or 'random', got 'ppo'"),
        ({"policy": None}, f"policy must be {A_POLICY}, 'heuristic' or 'random', got None"),
        (
            {"policy": ["random"]},
            rf"policy must be {A_POLICY}, 'heuristic' or 'random', got \['random'\]",
        ),
        ({"proposer": "ppo"}, f"proposer must be {A_POLICY}, or None, got 'ppo'"),
        ({"device": "gpu"}, "device must be 'cpu' or 'cuda', got 'gpu'"),
        ({"device": "cuda", "threads": 2}, "threads is for device='cpu', got 2"),
    ],
)
def test_wrong_arguments(options, message):
    game = ALL_GAMES[0]
    with pytest.raises(ValueError, match=message):
        SearchAgent(game, **options)
    if options.keys() <= {"rollouts", "threads", "policy"}:
        with pytest.raises(ValueError, match=message):
            TreeSearchAgent(game, **options)


@each_game
def test_a_game_that_is_over_is_not_searched(game):
    states = begin(game, game.min_players, seed=1, max_steps=1)
    game.rules.step(states, 0, int(np.flatnonzero(mask_of(game, states))[0]))
    assert is_over(states)
    for agent in agents_of(game):
        with pytest.raises(ValueError, match=f"{agent.name} was asked about a game that is over"):
            agent.act(turn_of(game, states, np.array([0]), agent.view))


def test_what_is_searched_is_of_the_agents_game_and_has_a_past_for_each():
    game, other = ALL_GAMES[:2]
    turn = turn_of(game, begin(game, game.min_players, seed=1), [0], View())
    for agent in agents_of(other):
        with pytest.raises(ValueError, match=f"{agent.name} searches {other.name}"):
            agent.search(turn)
        with pytest.raises(ValueError, match=f"search searches {other.name}"):
            SearchAgent(other).search(turn, [int(turn.action_mask[0].argmax())])
    for past in ([], [[], []]):
        with pytest.raises(ValueError, match=f"past must be that of 1 games, got {len(past)}"):
            SearchAgent(game, rollouts=2).search_after(turn, past)


@each_game
def test_an_action_is_tried_although_it_is_not_among_the_likeliest(game):
    positions = [s for s in positions_of(game, game.min_players) if not is_over(s)]
    states = max(positions, key=lambda s: mask_of(game, s).sum())
    agent = SearchAgent(game, rollouts=8, candidates=2)
    turn = turn_of(game, states, [0], agent.view)
    usual = agent.search(turn)
    legal = np.flatnonzero(turn.action_mask[0])
    for action in legal.tolist():
        for found in (agent.search(turn, [action]), agent.search_after(turn, [[]], [action])):
            tried = np.flatnonzero(found.visits[0]).tolist()
            assert action in tried
            assert np.isfinite(found.values[0, action])
            assert len(tried) == 2
            if usual.visits[0, action]:
                assert found.visits.tolist() == usual.visits.tolist()
                assert found.actions == usual.actions
    proposer = NetworkAgent(network_of(game), "proposer")
    unlikely = SearchAgent(game, rollouts=8, min_probability=1.0, proposer=proposer)
    for action in legal.tolist():  # beside the proposed one, if there is room
        tried = np.flatnonzero(unlikely.search(turn, [action]).visits[0])
        assert action in tried or not tried.size  # the proposed one alone
        assert tried.size in (0, 2)
    wrong = np.flatnonzero(turn.action_mask[0] == 0)[:1].tolist()
    for also in ([-1], [game.num_actions], wrong or [-2]):
        with pytest.raises(ValueError, match="also must be a legal action of each game, got"):
            agent.search(turn, also)
    for also in ([], [1.0], [int(legal[0])] * 2):
        with pytest.raises(ValueError, match="actions must be whole numbers of shape"):
            agent.search(turn, also)


# ---------------------------------------------------------------------------------------------
# The tree
# ---------------------------------------------------------------------------------------------


def test_a_tree_tries_every_action_and_then_follows_the_bounds():
    nodes, totals = np.zeros((9, NODE_SIZE), np.int32), np.zeros(9)
    streams = np.array([1], np.uint64)
    size, tried = 1, []
    for _ in range(3):
        mask = np.array([1, 0, 1, 1], np.int8)
        child, size, is_new = descend(nodes, totals, 0, size, mask, 0.7, streams, 0)
        assert is_new
        nodes[child, VISITS] = 1
        totals[child] = [-1.0, 0.0, 0.0, 1.0][nodes[child, KEY]]
        tried.append(int(nodes[child, KEY]))
    assert sorted(tried) == [0, 2, 3]
    mask = np.array([1, 0, 1, 1], np.int8)
    child, size, is_new = descend(nodes, totals, 0, size, mask, 0.7, streams, 0)
    assert (size, is_new, nodes[child, KEY]) == (4, False, 3)
    # Where the best is not legal the next is taken, and only legal ones were available.
    before = nodes[1:4, AVAILABLE].copy()
    mask = np.array([1, 0, 1, 0], np.int8)
    child, size, is_new = descend(nodes, totals, 0, size, mask, 0.7, streams, 0)
    assert (is_new, nodes[child, KEY]) == (False, 2)
    more = dict(zip(nodes[1:4, KEY].tolist(), nodes[1:4, AVAILABLE] - before, strict=True))
    assert more == {0: 1, 2: 1, 3: 0}


def test_what_the_observer_sees_after_an_action_parts_the_tree():
    """A card drawn, say: what one card has shown is not mixed with what another has."""
    nodes, totals = np.zeros((9, NODE_SIZE), np.int32), np.zeros(9)
    streams = np.array([1], np.uint64)
    action, size, _ = descend(nodes, totals, 0, 1, np.array([1, 0], np.int8), 0.7, streams, 0)
    seen = [np.uint64(2**63 + 5), np.uint64(7)]
    found = []
    for key in (seen[0], seen[1], seen[0], seen[1]):
        node, size = outcome(nodes, action, size, key)
        found.append(node)
    assert found[:2] == found[2:]
    assert len({0, action, *found}) == size == 4
    below, size, is_new = descend(
        nodes, totals, found[0], size, np.array([0, 1], np.int8), 0.7, streams, 0
    )
    assert is_new
    assert nodes[found[0], CHILD] == below
    assert nodes[found[1], CHILD] == 0


# ---------------------------------------------------------------------------------------------
# Outlooks
# ---------------------------------------------------------------------------------------------


def test_promise():
    assert promise(0.0, 5.0) == 0.0
    assert promise(1.0, 0.0) == 1.0
    assert promise(-3.0, 0.0) == -1.0
    for lead in (0.5, 2.0, 9.0):
        value = promise(lead, 4.0)
        assert promise(-lead, 4.0) == -value
        assert value == pytest.approx(math.erf(lead / 2.0 / math.sqrt(2.0)), abs=0.02)


@pytest.mark.parametrize("game", WITH_OUTLOOK)
def test_outlooks_of_all_players_cancel_out_and_end_as_the_rank_reward(game):
    rng = np.random.default_rng(1)
    numbers = set()
    for num_players in (game.min_players, game.max_players):
        states = begin(game, num_players, seed=num_players)
        while not is_over(states):
            outlooks = [game.outlook(states, 0, player) for player in range(num_players)]
            assert sum(outlooks) == pytest.approx(0.0, abs=1e-9)
            assert all(-1.0 <= value <= 1.0 for value in outlooks)
            numbers.add(game.round_of(states, 0))
            action = rng.choice(np.flatnonzero(mask_of(game, states)))
            if game.heuristic is not None:
                action = game.heuristic(states, 0)
            game.rules.step(states, 0, int(action))
        rewards = states["rewards"][0]
        for player in range(num_players):
            standing = states["standing"][0][:num_players]
            if (np.delete(standing, player) != standing[player]).all():
                assert abs(game.outlook(states, 0, player) - rewards[player]) < 0.5
    assert len(numbers) > 1


# ---------------------------------------------------------------------------------------------
# Sequential halving
# ---------------------------------------------------------------------------------------------


def test_the_best_half_and_the_proposed_one_stay():
    candidates = np.array([7, 3, 9, 4, 5])
    means = {7: -1.0, 3: 0.1, 9: 0.9, 4: 0.5, 5: 0.3}
    values = np.array([[means[c]] * 3 + [99.0] for c in candidates], np.float32)
    assert keep_best(candidates, values, np.ones(4), 5, 3) == 3
    assert candidates.tolist() == [7, 9, 4, 5, 3]
    for c, row in zip(candidates, values, strict=True):
        assert row[:3].tolist() == pytest.approx([means[c]] * 3)
    assert keep_best(candidates, values, np.ones(4), 2, 3) == 2


def test_standard_errors_of_values():
    values = np.random.default_rng(0).normal(size=9).astype(np.float32)
    expected = values.astype(float).std(ddof=1) / 3.0
    for weight in (1.0, 2.0):
        assert standard_error(values, np.full(9, weight), 9) == pytest.approx(expected)
    assert standard_error(values, np.array([5.0] + [1.0] * 8), 9) > expected / 2
    assert np.isnan(standard_error(values, np.ones(9), 1))
    assert np.isnan(standard_error(values, np.array([1.0, 0.0]), 2))


def test_worlds_count_as_often_as_they_were_drawn():
    candidates = np.array([7, 3, 9])
    values = np.array([[0.0, 0.0], [1.0, -0.5], [-0.5, 0.75]], np.float32)
    assert keep_best(candidates.copy(), values.copy(), np.array([3.0, 1.0]), 3, 2) == 2
    for counts, best in (([3.0, 1.0], 3), ([1.0, 1.0], 3), ([1.0, 3.0], 9)):
        order, found = candidates.copy(), values.copy()
        keep_best(order, found, np.array(counts), 3, 2)
        assert order[1] == best


@pytest.mark.parametrize(
    ("counts", "caution", "is_kept"),
    [
        ([1.0, 1.0, 1.0, 1.0], 0.9, False),
        ([1.0, 1.0, 1.0, 1.0], 1.0, True),
        ([5.0, 1.0, 1.0, 1.0], 1.2, False),
        ([5.0, 1.0, 1.0, 1.0], 1.5, True),  # they are worth 2.3 worlds; of four, it were not
        ([1.0, 1.0, 1.0, 5.0], 0.0, True),
    ],
)
def test_worlds_that_count_more_make_no_more_sure(counts, caution, is_kept):
    values = np.array([[0.0] * 4, [1.0, 0.75, 0.5, -0.75]], np.float32)
    action = decide(np.array([10, 20]), values, np.array(counts), 4, caution)
    assert action == (10 if is_kept else 20)


def test_two_worlds_that_say_the_same_are_not_sure():
    values = np.array([[0.0] * 20, [0.25] * 20], np.float32)
    candidates, counts = np.array([10, 20]), np.ones(20)
    assert decide(candidates, values, counts, 2, 2.0) == 10
    assert decide(candidates, values, counts, 20, 2.0) == 20


@pytest.mark.parametrize(("rollouts", "candidates"), [(64, 8), (64, 2), (9, 4), (2, 2), (256, 5)])
def test_the_number_of_worlds_is_known_before(rollouts, candidates):
    phases = max(1, int(np.ceil(np.log2(candidates))))
    left, racing, done = rollouts, candidates, 0
    for phase in range(phases):
        for _ in range(max(1, left // ((phases - phase) * racing))):
            if left >= racing:
                left, done = left - racing, done + 1
        racing = max(2, -(-racing // 2))
    assert count_worlds(rollouts, phases, candidates) == done


@pytest.mark.parametrize(
    ("proposed", "other", "caution", "is_kept"),
    [
        ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 1.0, False),
        ([0.0, 0.0, 0.0], [1.0, -1.0, 0.5], 1.0, True),
        ([0.0, 0.0, 0.0], [1.0, -1.0, 0.5], 0.0, False),
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], 0.0, True),
        ([0.5, 0.5], [0.5, 0.5], 0.0, True),
    ],
)
def test_caution(proposed, other, caution, is_kept):
    values = np.array([proposed, other], np.float32)
    counts = np.ones(len(proposed))
    action = decide(np.array([10, 20]), values, counts, len(proposed), caution)
    assert action == (10 if is_kept else 20)
