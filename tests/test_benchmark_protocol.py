"""The command ``benchmark``: its protocol, its scores, and claims that are played again."""

from __future__ import annotations

import json
import re
import shutil
import sys
from contextlib import ExitStack, chdir
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from helpers import ALL_GAMES, network_of
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from benchmarks import leaderboard
from benchmarks.pool import halved, versions
from card_envs.agents import make_agent, policy_path, shipped_policies
from card_envs.agents.identity import hash_of_agent, name_without_folders
from card_envs.agents.network import NetworkAgent, write_policy
from card_envs.agents.search.names import is_search, policies_of
from card_envs.commands.cli import main
from card_envs.evaluation import claims, deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation import protocol as protocols
from card_envs.evaluation.benchmark import (
    MIXED,
    BenchmarkTableResult,
    BenchmarkTables,
    _draws,
    _extreme,
    claim,
    run_benchmark,
)
from card_envs.evaluation.claims import first_difference
from card_envs.evaluation.protocol import Pool, Protocol, hash_of_play
from card_envs.games import load_game

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "docs" / "json_output.schema.json").read_text(encoding="utf-8"))
CE_1 = Protocol.load("ce-1")
#: The smallest game at which tables can be mixed.
GAME = min((g for g in ALL_GAMES if g.max_players > 2), key=lambda game: game.num_actions)
#: Another, of two players.
DUEL = min((g for g in ALL_GAMES if g.max_players == 2), key=lambda game: game.num_actions)
MEMBERS = ("random", "ppo")
TINY_POOLS = {
    GAME.name: Pool(MEMBERS, "0" * 64),
    DUEL.name: Pool(("random", "search:4,policy=random,candidates=2"), "0" * 64),
}
TINY = Protocol("ce-1", "draft", 7, 6, 8, 2, TINY_POOLS)
CODE = """
def first_legal(observation, action_mask):
    return action_mask.argmax(axis=1)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a policy and code; the protocol is a tiny one."""
    declared = tmp_path / "protocols"
    declared.mkdir()
    pools = {GAME.name: {"members": MEMBERS, "play": "0" * 64}}
    numbers = {"seed": 7, "deals": 6, "quick_seed": 8, "quick_deals": 2}
    (declared / "ce-1.json").write_text(json.dumps({"status": "draft", **numbers, "pools": pools}))
    monkeypatch.setattr(protocols, "FOLDER", declared)
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    write_policy("mine/own.safetensors", network_of(GAME, 1), GAME)
    Path("own.py").write_text(CODE)
    return tmp_path


@pytest.fixture
def written(folder, capsys):
    """The claim of the policy, beside it."""
    argv = ["benchmark", GAME.id, "--agent", "mine/own.safetensors", "--json", "mine/claim.json"]
    assert main(argv) == 0
    return Path("mine/claim.json")


# ---------------------------------------------------------------------------------------------
# What is played
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [GAME, DUEL])
def test_scores_are_those_of_the_tables_played_one_by_one(game):
    result = run_benchmark(game, "random", TINY)
    seeds, sizes = deal_seeds(TINY.seed, TINY.deals), game.table_sizes
    for rows, pair in ((result.among, 1), (result.gains, -1)):
        for row in rows:
            if row.name != MIXED:
                one, rest = ("random", row.name)[::pair]
                played = dict(play_one_against(game, one, rest, sizes, seeds, agent_seed=TINY.seed))
                ranks = [played[n].rank[..., 0].mean(axis=1) for n in sizes]
                assert [*row.by_num_players] == [*sizes]
                for n, rank in zip(sizes, ranks, strict=True):
                    assert row.by_num_players[n].ranks == pytest.approx(rank)
                    assert row.by_num_players[n].truncated == played[n].truncated.mean()
                assert row.rank == pytest.approx(estimate_mean(np.mean(ranks, axis=0)))
    members = TINY.pool(game).members
    assert [row.name for row in result.among] == [*members, *[MIXED] * (game is GAME)]
    assert [row.name for row in result.gains] == [*members]
    assert result.rank.mean == pytest.approx(np.mean([row.rank.mean for row in result.among]))
    assert result.among[0].rank.mean == pytest.approx(0.0)  # among copies of itself
    assert np.mean(result.by_deal) == pytest.approx(result.rank.mean)
    assert result.rank == estimate_mean(np.array(result.by_deal))
    # The rows of the agent among itself are not the worst, nor are they what gains most.
    for rows, found, extreme in (
        (result.among, result.worst, min),
        (result.gains, result.most_gained, max),
    ):
        tables = [table for row in rows[1:] for table in row.by_num_players.values()]
        cells = [estimate_mean(table.ranks) for table in tables]
        assert found.name != "random"
        assert found.rank.mean == pytest.approx(extreme(cell.mean for cell in cells))
        (own,) = (row for row in rows if row.name == found.name)
        alone = estimate_mean(own.by_num_players[found.num_players].ranks)
        assert (found.rank.high - found.rank.low > alone.high - alone.low) == (len(cells) > 1)


def test_a_protocol_may_be_named(folder):
    by_name = run_benchmark(GAME, "random", "ce-1", quick=True)
    assert by_name.to_json() == run_benchmark(GAME, "random", quick=True).to_json()
    with pytest.raises(ValueError, match="there is no protocol 'ce-7'"):
        run_benchmark(GAME, "random", "ce-7", quick=True)


def test_a_member_that_the_agent_is_in_another_precision_is_not_the_worst(folder):
    """Nor what gains most, whatever its name."""
    Path("half.safetensors").write_bytes(halved(Path("mine/own.safetensors")))
    write_policy("other.safetensors", network_of(GAME, 2), GAME)
    members = "half.safetensors", "other.safetensors"
    protocol = replace(TINY, pools={GAME.name: Pool(members, "")})
    result = run_benchmark(GAME, "mine/own.safetensors", protocol)
    assert result.worst.name in (members[1], MIXED)
    assert result.most_gained.name == members[1]


def test_all_intervals_of_the_extremes_hold_at_once():
    """At each of k means the chance of an error is a k-th of 5%: so, over many games in which no
    opponent is better than another, the interval of the worst holds 0."""
    rng, cells, held = np.random.default_rng(3), 20, 0
    for _ in range(200):
        ranks = {
            str(k): {2: BenchmarkTableResult(rng.uniform(-1, 1, 50), 0.0)} for k in range(cells)
        }
        low, high = _extreme(ranks, (), -1.0).rank.interval
        held += low <= 0.0 <= high
    assert held >= 184  # 95% less three standard errors


def test_the_deals_of_quick_are_others(folder):
    both = [run_benchmark(GAME, "random", TINY, quick=quick).by_deal for quick in (False, True)]
    assert len(both[1]) == TINY.quick_deals
    assert both[0][: TINY.quick_deals] != both[1]


def test_the_draws_of_mixed_tables_are_pinned():
    """Claims depend on them."""
    assert _draws(deal_seeds(541, 3), 6, 7).tolist() == [
        [4, 1, 3, 0, 2, 5, 4],
        [3, 2, 4, 5, 1, 0, 3],
        [4, 2, 5, 3, 1, 0, 4],
    ]


def test_members_are_drawn_for_mixed_tables_and_sit_in_the_order_drawn(monkeypatch):
    """Without replacement while there are enough: with three players both, in either order."""
    tables = []

    def play(table, seeds, orders):
        for order in orders:
            tables.append([table[k] for k in np.argsort(order)])  # by seat
        return BenchmarkTableResult(np.zeros(len(orders)), 0.0)

    with ExitStack() as stack:
        played = BenchmarkTables(TINY, GAME, "random", stack)
        monkeypatch.setattr(played, "_play", play)
        played.among(MIXED, 3)
    assert len(tables) == TINY.deals
    members = {*map(id, played.members.values())}
    assert all({*map(id, table[1:])} == members for table in tables)
    assert all(id(table[0]) not in members for table in tables)
    assert len({tuple(map(id, table)) for table in tables}) == 2


def test_mixed_tables_count_by_their_deals(monkeypatch):
    """Members meet at some tables more often than at others."""

    def play(table, seeds, orders):
        return BenchmarkTableResult(np.zeros(len(seeds)), 1.0)

    with ExitStack() as stack:
        played = BenchmarkTables(TINY, GAME, "random", stack)
        monkeypatch.setattr(played, "_play", play)
        assert played.among(MIXED, 2).truncated == pytest.approx(1.0)


def test_the_same_agent_gives_the_same_bytes(folder):
    for _ in range(2):
        argv = ["benchmark", GAME.id, "--agent", "random", "--quick", "--json"]
        assert main([*argv, "a.json"]) == main([*argv, "b.json"]) == 0
    text = Path("a.json").read_text()
    assert text == Path("b.json").read_text()
    assert json.loads(text)["games"][0]["deals"] == TINY.quick_deals


def test_all_are_the_games_of_the_protocol(folder):
    assert main(["benchmark", "all", "--agent", "random", "--quick", "--json", "all.json"]) == 0
    games = json.loads(Path("all.json").read_text())["games"]
    assert [entry["game"] for entry in games] == [GAME.name]


# ---------------------------------------------------------------------------------------------
# What is written
# ---------------------------------------------------------------------------------------------


def test_json_follows_its_schema_and_names_no_folder(written, capsys):
    data = json.loads(written.read_text())
    schema = {"$ref": "#/$defs/benchmark", "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data["agent"] == "own.safetensors"
    assert "/" not in written.read_text()
    assert data["games"][0]["sha256"] == hash_of_agent("mine/own.safetensors", GAME)
    argv = ["benchmark", GAME.id, "--agent", "cmd:false", "--quick", "--json", "x.json"]
    assert main([*argv, "--plot", "x.png"]) == 1
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")
    programs = json.loads(Path("x.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(programs)
    (counts,) = programs["games"][0]["programs"]
    assert (counts["illegal_answers"], counts["timeouts"], counts["crashes"]) == (0, 0, 1)
    assert "false never gave a legal answer" in capsys.readouterr().err


def test_the_terminal_shows_the_scores_and_that_it_is_a_draft(folder, capsys):
    assert main(["benchmark", GAME.id, "--agent", "own.py:first_legal"]) == 0
    out = capsys.readouterr().out
    result = claim(TINY, "", False, [run_benchmark(GAME, "own.py:first_legal", TINY)])["games"][0]
    gains = {gain["name"]: gain["rank"] for gain in result["gains"]}
    assert gains
    for row in result["among"]:
        (line,) = (line for line in out.splitlines() if re.match(rf"\W*{row['name']} ", line))
        shown = [float(number) for number in re.findall(r"[-+]\d\.\d{3}", line)]
        assert shown[0] == pytest.approx(row["rank"], abs=1e-3)
        if row["name"] in gains:
            assert shown[-1] == pytest.approx(gains[row["name"]], abs=1e-3)
    assert f"mean {result['rank']:+.3f} (" in out
    assert f"worst {result['worst']['rank']:+.3f} (" in out
    assert "own.py:first_legal" in out
    assert "ce-1 is a draft: its opponents may still change" in out


def test_a_claim_names_the_file_that_was_played(folder, monkeypatch):
    """A run's policy may be replaced during the games."""
    before = hash_of_agent("mine/own.safetensors", GAME)
    among = BenchmarkTables.among

    def replaced(*args):
        write_policy("mine/own.safetensors", network_of(GAME, 2), GAME)
        return among(*args)

    monkeypatch.setattr(BenchmarkTables, "among", replaced)
    played = run_benchmark(GAME, "mine/own.safetensors", TINY, quick=True)
    assert played.about["sha256"] == before != hash_of_agent("mine/own.safetensors", GAME)


def test_agents_are_hashed_by_their_files(folder):
    assert hash_of_agent("random", GAME) is None
    policy, code = (hash_of_agent(name, GAME) for name in ("mine/own.safetensors", "own.py:f"))
    assert code == hash_of_agent("cmd:python3 own.py", GAME)
    both = hash_of_agent("cmd:python3 own.py mine/own.safetensors", GAME)
    assert len({policy, code, both}) == 3
    Path("own.py").write_text(CODE + "\n")
    assert hash_of_agent("own.py:f", GAME) != code
    for name, short in (
        ("mine/own.safetensors", "own.safetensors"),
        ("mine/own.py:f", "own.py:f"),
        (
            "search:4,policy=mine/own.safetensors,worlds=2",
            "search:4,policy=own.safetensors,worlds=2",
        ),
        ("cmd:python3 mine/own.py", "cmd:python3 mine/own.py"),
        ("random", "random"),
    ):
        assert name_without_folders(name, GAME) == short


def test_a_file_in_the_current_folder_is_not_taken_for_an_agent_of_its_name(folder):
    of_policy = hash_of_agent("ppo", GAME)
    for name in ("random", "heuristic", "ppo"):
        Path(name).write_text("a file of the user's")
        assert hash_of_agent(name, GAME) == (of_policy if name == "ppo" else None)
        assert name_without_folders(name, GAME) == name


# ---------------------------------------------------------------------------------------------
# Claims
# ---------------------------------------------------------------------------------------------


def test_a_claim_that_holds_is_found_to_hold(written, monkeypatch, capsys):
    assert main(["benchmark", "--check", str(written)]) == 0
    assert capsys.readouterr().out.endswith(f"\n{written}: the claim holds\n")
    monkeypatch.chdir(written.parent)
    Path("again.safetensors").write_bytes(Path("own.safetensors").read_bytes())
    for same, whose in (
        ("own.safetensors", ""),
        ("again.safetensors", " for again.safetensors, which it calls own.safetensors"),
    ):
        assert main(["benchmark", "--check", written.name, "--agent", same]) == 0
        assert capsys.readouterr().out == f"{written.name}: the claim holds{whose}\n"


def test_the_policy_of_a_search_is_found_beside_its_claim(written, capsys):
    words = ["benchmark", GAME.id, "--agent", "search:2,policy=mine/own.safetensors"]
    assert main([*words, "--json", str(written)]) == 0
    assert main(["benchmark", "--check", str(written)]) == 0
    assert capsys.readouterr().out.endswith(f"{written}: the claim holds\n")


def test_a_claims_policy_is_looked_for_beside_it(written, capsys):
    (written.parent / "own.safetensors").unlink()
    assert main(["benchmark", "--check", str(written)]) == 2
    error = capsys.readouterr().err
    assert f"{written} names 'own.safetensors', which is not beside it: put it there, or" in error


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (("rank",), 0.5, "games[0].rank: claimed 0.5, played "),
        (("gains", 1, "by_num_players", 0, "rank"), 9, "games[0].gains[1].by_num_players[0].rank"),
        (("among", 2, "name"), "x", "games[0].among[2].name: claimed 'x', played 'mixed'"),
        (("sha256",), None, "games[0].sha256: claimed None, played '"),
        (("more",), 1, "games[0].more: claimed 1, played nothing"),
    ],
)
def test_the_first_difference_of_a_claim_is_named(written, place, value, named, capsys):
    data = json.loads(written.read_text())
    *way, last = place
    target = data["games"][0]
    for key in way:
        target = target[key]
    target[last] = value
    written.write_text(json.dumps(data))
    assert main(["benchmark", "--check", str(written)]) == 1
    assert named in capsys.readouterr().out


def test_what_is_wrong_before_the_games_is_found_before_they_are_played(
    written, monkeypatch, capsys
):
    data = json.loads(written.read_text())
    monkeypatch.setattr(claims, "run_benchmark", None)
    for change, named in (
        ({"status": "frozen"}, "status: claimed 'frozen', played 'draft'"),
        ({"games": [{**data["games"][0], "pool": ""}]}, "games[0].pool: claimed '', played '0000"),
        ({"more": None}, "more: claimed None, played nothing"),
    ):
        written.write_text(json.dumps({**data, **change}))
        assert main(["benchmark", "--check", str(written)]) == 1
        assert named in capsys.readouterr().out
    hashed = data["games"][0]
    unhashed = {key: value for key, value in hashed.items() if key != "sha256"}
    written.write_text(json.dumps({**data, "games": [unhashed]}))
    assert main(["benchmark", "--check", str(written)]) == 1
    assert "games[0].sha256: claimed nothing, played '" in capsys.readouterr().out
    for agent, why in (
        ("heuristc", "there is no agent 'heuristc'"),
        ("no.module:here", "No module named 'no'"),
        ("search:4,policy=no.module:here", "No module named 'no'"),
    ):
        assert main(["benchmark", "--check", str(written), "--agent", agent]) == 2
        assert why in capsys.readouterr().err
    written.write_text(json.dumps(data))
    write_policy("mine/own.safetensors", network_of(GAME, 2), GAME)  # under the same name
    assert main(["benchmark", "--check", str(written)]) == 1
    assert "games[0].sha256: claimed '" in capsys.readouterr().out


def test_claims_that_name_code_do_not_run_it(written, capsys):
    data = json.loads(written.read_text())
    searches = (f"search:4,{key}=own.py:first_legal" for key in ("policy", "proposer"))
    for name in ("cmd:touch it", "own.py:first_legal", *searches):
        written.write_text(json.dumps({**data, "agent": name}))
        assert main(["benchmark", "--check", str(written)]) == 2
        assert "runs code: give it with --agent if you trust it" in capsys.readouterr().err
    assert not Path("mine/it").exists()
    argv = ["benchmark", GAME.id, "--agent", "own.py:first_legal", "--json", "code.json"]
    assert main(argv) == 0
    assert main(["benchmark", "--check", "code.json", "--agent", "own.py:first_legal"]) == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "give a GAME, or all, and --agent X; or --check FILE"),
        ([GAME.id], "give a GAME, or all, and --agent X; or --check FILE"),
        (["all", "--agent", "randm"], "(did you mean 'random'?)"),
        ([GAME.id[:-1], "--agent", "random"], f"(did you mean {GAME.id!r}?)"),
        ([GAME.id, "--agnt", "random"], "(did you mean '--agent'?)"),
        ([DUEL.id, "--agent", "random"], f"ce-1 has no opponents for {DUEL.name}; its games are "),
        (["--check", "none.json"], "none.json: No such file"),
        (["--check", "own.py"], "own.py is no JSON"),
        (["--check", "list.json"], "list.json is no claim, which card-envs benchmark --json "),
        (["--check", "old.json"], "there is no protocol 'ce-0' (did you mean 'ce-1'?)"),
        ([GAME.id, "--check", "old.json", "--quick"], "leave out game, quick"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(folder, argv, message, capsys):
    Path("list.json").write_text("[]")
    about = {"protocol": "ce-0", "agent": "random", "quick": True, "games": [{"game": GAME.id}]}
    Path("old.json").write_text(json.dumps(about))
    try:
        status = main(["benchmark", *argv])
    except SystemExit as left:
        status = left.code
    assert status == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]


def test_differences_are_found_in_what_is_missing_and_in_what_is_longer():
    assert first_difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}) == ""
    assert first_difference({"a": [1]}, {"a": [1, 2]}) == "a: claimed [1], played [1, 2]"
    assert first_difference({}, {"a": None}) == "a: claimed nothing, played None"
    assert first_difference({"a": True}, {"a": 1}) == "a: claimed True, played 1"
    assert first_difference(1, 1.0) == ""


# ---------------------------------------------------------------------------------------------
# The pool
# ---------------------------------------------------------------------------------------------

POOLS = [pytest.param(load_game(name), id=name) for name in CE_1.pools]


@pytest.mark.slow
@pytest.mark.parametrize("game", POOLS)
def test_the_pool_plays_as_it_is_pinned(game):
    """If it does not, some of the rules, the heuristic, the search or a policy plays otherwise than
    it did. Results of that protocol's name were claimed: the new play takes a protocol ce-2."""
    assert hash_of_play(CE_1, game) == CE_1.pool(game).play


@pytest.mark.parametrize("game", POOLS)
def test_the_pool_comes_with_the_package(game):
    members = CE_1.pool(game).members
    assert len({*members}) == len(members) >= 5
    assert {"random", "heuristic"} <= {*members}
    for name in members:
        policies = policies_of(name, game) if is_search(name) else (name,)
        assert not {*policies} & {*shipped_policies(game)}  # which may be replaced
        make_agent(name, game)
        path = policy_path(name, game)
        assert path is None or path.is_relative_to(ROOT / "card_envs")
    assert re.fullmatch("[0-9a-f]{64}", CE_1.pool(game).play)


@pytest.mark.parametrize("game", POOLS)
def test_the_policies_of_the_pool_are_versions_in_half_precision(game):
    files = {name: policy_path(name, game) for name in CE_1.pool(game).members}
    policies = {name: path.read_bytes() for name, path in files.items() if path is not None}
    assert len(policies) >= 3
    assert policies == {name: halved(versions(game)[name]) for name in policies}


@pytest.mark.parametrize("game", POOLS)
def test_two_members_at_least_are_held_out(game):
    """No configuration names them; and to the shipped policy, the search is new."""
    members, configs = CE_1.pool(game).members, [*(ROOT / "configs").rglob("*.yaml")]
    named = " ".join(path.read_text(encoding="utf-8") for path in configs)
    held_out = {m for m in members if not re.search(rf"\b{re.escape(m)}\b", named)}
    assert "heuristic" not in held_out
    assert held_out == {"ppo_v1", "ppo_v2", members[-1]}
    card = policy_path("ppo", game).with_suffix(".json").read_text(encoding="utf-8")
    assert "heuristic" in card
    assert members[-1].startswith("search:")
    assert "search:" not in card


def test_another_member_deal_or_action_is_another_hash(tmp_path):
    hashes = {hash_of_play(TINY, GAME)}
    assert hash_of_play(TINY, GAME) in hashes
    pools = [MEMBERS[::-1], MEMBERS[1:]]
    others = [replace(TINY, pools={GAME.name: Pool(names, "")}) for names in pools]
    others += [replace(TINY, **change) for change in ({"seed": 8}, {"deals": 7}, {"name": "ce-2"})]
    hashes |= {hash_of_play(other, GAME) for other in others}
    for seed in (1, 2):  # a policy under the same name
        write_policy(tmp_path / "own.safetensors", network_of(GAME, seed), GAME)
        pool = Pool(("random", str(tmp_path / "own.safetensors")), "")
        hashes.add(hash_of_play(replace(TINY, pools={GAME.name: pool}), GAME))
    assert len(hashes) == 1 + len(others) + 2


def test_a_policy_in_half_precision_is_computed_in_single(tmp_path):
    own, half = tmp_path / "own.safetensors", tmp_path / "half.safetensors"
    write_policy(own, network_of(GAME, 1), GAME)
    tensors = {name: tensor.astype(np.float16) for name, tensor in load_file(own).items()}
    with safe_open(own, framework="numpy") as file:
        save_file(tensors, half, file.metadata())
    layers = NetworkAgent.from_file(half, GAME).network.layers
    for (weight, bias), (exact, _) in zip(layers, network_of(GAME, 1).layers, strict=True):
        assert weight.dtype == bias.dtype == np.float32
        assert np.array_equal(weight, exact.astype(np.float16))


# ---------------------------------------------------------------------------------------------
# The leaderboard
# ---------------------------------------------------------------------------------------------

ENTRIES = [
    pytest.param(path.parent, id=path.parent.name)
    for path in ROOT.glob("benchmarks/entries/*/claim.json")
]


def difference_at_a_table(entry, result):
    """Play a table of a game again: with the fewest players, among the last member of the pool."""
    game = load_game(result["game"])
    with chdir(entry.folder), ExitStack() as stack:
        protocol = Protocol.load(entry.claim["protocol"])
        tables = BenchmarkTables(protocol, game, entry.claim["agent"], stack)
        member = [*tables.members][-1]
        table = tables.among(member, game.min_players)
    (row,) = (row for row in result["among"] if row["name"] == member)
    claimed = row["by_num_players"][0]
    return first_difference(claimed, {"num_players": game.min_players, **table.to_json()})


@pytest.mark.slow  # its pool searches, which is compiled for each game
@pytest.mark.parametrize("path", ENTRIES)
def test_a_table_of_each_entry_is_played_again(path):
    """One of its tables for each game: all of them take minutes, ``python -m
    benchmarks.leaderboard NAME``."""
    entry = leaderboard.Entry.read(path)
    for result in entry.claim["games"]:
        if entry.is_current(result):
            assert difference_at_a_table(entry, result) == ""


@pytest.fixture
def entry(written, monkeypatch):
    """An entry with the claim, among those of the leaderboard."""
    monkeypatch.setattr(leaderboard, "ENTRIES", written.parent.parent.resolve())
    written.with_name("method.txt").write_text("Weights that were drawn.\n")
    return written.parent


def test_entries_are_shown_checked_and_played(entry, capsys):
    assert leaderboard.main([]) == 0
    assert leaderboard.main(["mine"]) == 0
    assert capsys.readouterr().out.endswith(
        "entries that are as they should be: 1\nmine: the claim holds\n"
    )
    assert re.search(
        r"\| `mine` \| [+-]0\.\d{3} \(.*\| Weights that were drawn\. \|", leaderboard.tables()
    )
    (result,) = leaderboard.Entry.read(entry).claim["games"]
    row = result["among"][1]["by_num_players"][0]
    assert difference_at_a_table(leaderboard.Entry.read(entry), result) == ""
    row["rank"] += 0.5
    assert "rank: claimed " in difference_at_a_table(leaderboard.Entry.read(entry), result)
    assert leaderboard.main(["yours"]) == 2
    assert "there is no entry yours; the entries are mine" in capsys.readouterr().err


def test_entries_are_compared_deal_by_deal():
    """The difference of two rank rewards lies between -2 and 2."""
    first, last = ({"by_deal": [rank] * 5} for rank in (1.0, -1.0))
    assert leaderboard._behind(first, first, 2) == "–"
    assert leaderboard._behind(first, last, 2).startswith("+2.000 (")


def test_among_more_entries_the_intervals_behind_the_first_are_wider():
    """Which of them is first the same deals say."""
    rng = np.random.default_rng(0)
    first, last = ({"by_deal": rng.normal(mean, 0.1, 50)} for mean in (0.2, 0))
    differences = first["by_deal"] - last["by_deal"]
    for entries, confidence in ((2, 0.95), (5, 0.995)):
        expected = estimate_mean(differences, (-2, 2), confidence=confidence)
        shown = leaderboard._behind(first, last, entries)
        assert shown == f"{expected.mean:+.3f} ({expected.low:+.3f} … {expected.high:+.3f})"


def claim_of(entry):
    return entry / "claim.json"


def change_result(entry, **keys):
    data = json.loads(claim_of(entry).read_text())
    change(claim_of(entry), games=[{**data["games"][0], **keys}])


def change(file, **keys):
    file.write_text(json.dumps({**json.loads(file.read_text()), **keys}))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda entry: (entry / "method.txt").write_text("one\ntwo"), "must be one line"),
        (lambda entry: (entry / "method.txt").unlink(), "method.txt: No such file"),
        (lambda entry: change(entry / "claim.json", quick=True), "was made with --quick"),
        (lambda entry: change(entry / "claim.json", games=[]), "is no claim"),
        (
            lambda entry: write_policy(entry / "own.safetensors", network_of(GAME, 2), GAME),
            "was played by another own.safetensors: its SHA-256 is ",
        ),
        (
            lambda entry: change(protocols.FOLDER / "ce-1.json", status="frozen"),
            "than those of ce-1, which has been frozen since",
        ),
        (lambda entry: change_result(entry, rank=0.5), "rank is not the mean over by_deal"),
        (lambda entry: change_result(entry, rank=float("nan")), "NaN is no number of JSON"),
        (lambda entry: change_result(entry, rank="much"), "claim.json: games[0].rank: 'much' is"),
        (lambda entry: change_result(entry, deals=5), "must have 6 deals, as many by_deal"),
        (lambda entry: change_result(entry, worst={}), "games[0].worst: 'name' is a required"),
        (lambda entry: change_result(entry, sha256=None), "its SHA-256 is "),
        (lambda entry: change(entry / "claim.json", agent="nobody"), "there is no agent 'nobody'"),
        (
            lambda entry: change(entry / "claim.json", agent="cmd:true"),
            "'cmd:true' names no file beside the claim",
        ),
        (
            lambda entry: change(
                entry / "claim.json", games=2 * json.loads(claim_of(entry).read_text())["games"]
            ),
            "has a game twice",
        ),
        (lambda entry: entry.rename("-h"), "an entry's name has small letters, digits, and _ . -"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(entry, harm, message, capsys):
    harm(entry)
    assert leaderboard.main([]) == 2
    assert message in capsys.readouterr().err


def test_an_entry_that_was_played_against_other_opponents_is_not_shown(entry):
    change(
        protocols.FOLDER / "ce-1.json", pools={GAME.name: {"members": MEMBERS, "play": "1" * 64}}
    )
    assert "No entries yet." in leaderboard.tables()


def test_an_entry_of_an_earlier_protocol_is_not_shown(entry, monkeypatch):
    monkeypatch.setattr(leaderboard, "CURRENT", "ce-2")
    assert "No entries yet." in leaderboard.tables()


def test_a_claim_of_an_entry_that_does_not_hold_is_found(entry, capsys):
    change_result(entry, truncated=0.9)
    assert leaderboard.main(["mine"]) == 1
    assert "mine: games[0].truncated: claimed 0.9, played " in capsys.readouterr().out


def test_an_entry_is_played_on_other_deals_where_it_may_score_less(entry, monkeypatch, capsys):
    assert leaderboard.main(["mine", "--seed", "5"]) == 0
    (result,) = json.loads(claim_of(entry).read_text())["games"]
    other = run_benchmark(GAME, "mine/own.safetensors", replace(TINY, seed=5)).rank
    assert other.mean != pytest.approx(result["rank"])
    out = capsys.readouterr().out
    assert f"mine: {GAME.name}: {result['rank']:+.3f} (" in out
    assert f"as claimed, {other.mean:+.3f} (" in out
    assert "less" not in out
    # As if it had been chosen for the deals of the claim.
    change_result(entry, rank=0.9, by_deal=[0.9] * 6, rank_ci95=[0.85, 0.95])
    monkeypatch.setattr(leaderboard, "difference_from_play", lambda *_, **__: "")
    assert leaderboard.main(["mine", "--seed", "5"]) == 1
    assert "on deals of the seed 5: less" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        leaderboard.main(["--seed", "5"])
    assert "give their names" in capsys.readouterr().err
    monkeypatch.setattr(leaderboard, "difference_from_play", None)  # nothing is played before
    assert leaderboard.main(["mine", "--seed", "-1"]) == 2
    assert "seed must be from 0 to" in capsys.readouterr().err


def test_the_form_of_an_entry_is_checked_without_its_code(entry, monkeypatch, capsys):
    monkeypatch.syspath_prepend(entry)
    (entry / "package").mkdir()
    (entry / "package" / "__init__.py").write_text("print('run')")
    (entry / "package" / "code.py").write_text(CODE)
    sha256 = hash_of_agent("package.code:first_legal", GAME)
    assert sha256 == hash_of_agent("mine/package/code.py:first_legal", GAME)
    assert hash_of_agent(f"{__name__}:f", GAME) == hash_of_agent(f"{__file__}:f", GAME)
    assert "__main__" in sys.modules
    hash_of_agent("__main__:f", GAME)  # it has no specification to be found by
    assert hash_of_agent("package.nothing.here:first_legal", GAME) is None
    change(entry / "claim.json", agent="package.code:first_legal")
    change_result(entry, sha256=sha256)
    assert leaderboard.main([]) == 0
    assert "run" not in capsys.readouterr().out


def test_entries_show_how_far_they_are_behind_and_no_markup(entry):
    shutil.copytree(entry, entry.with_name("yours"))
    claimed = json.loads(claim_of(entry).read_text())["games"][0]
    by_deal = [rank - 0.25 for rank in claimed["by_deal"]]
    change_result(entry, rank=claimed["rank"] - 0.25, by_deal=by_deal)
    (entry / "method.txt").write_text("A | <script>")
    first, second = leaderboard.tables().split("\n")[-2:]
    assert first.startswith("| `yours` | ")
    assert "| – |" in first
    assert "| +0.250 (" in second
    assert second.endswith("| A &#124; &lt;script&gt; |")
