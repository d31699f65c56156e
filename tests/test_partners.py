"""Agents with given partners, and what ``benchmarks.partners`` makes of it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import ALL_GAMES, network_of

from benchmarks import partners
from benchmarks.tables import TABLES
from benchmarks.tables.__main__ import main as show_tables
from card_envs.agents import make_agent
from card_envs.agents.network import write_policy
from card_envs.contract.agent import FORFEIT, Agent, Follower, FollowingAgent
from card_envs.contract.options import View
from card_envs.evaluation import deal_seeds, estimate_mean, play_deals, play_with_partner
from card_envs.evaluation.protocol import Pool, Protocol

GAMES = [pytest.param(game, id=game.id) for game in ALL_GAMES if game.partners_from]
WITHOUT = next(game for game in ALL_GAMES if not game.partners_from)
SEEDS = deal_seeds(5, 2)


class Noting(Agent):
    """Plays as the scripted player, and notes for whom."""

    def __init__(self, game, players, view):
        self.name, self.view = "noting", View(memory=view)
        self._inner, self._players = make_agent("heuristic", game), players
        self.cases, self.seen = set(), set()

    def act(self, turn):
        for i, observation in zip(turn.indices, turn.observation, strict=True):
            s = turn.states[i]
            player, first = int(s["current_player"]), int(i) % self._players
            partner = int(s["partner"][player])
            self.cases.add((player == first, partner == first))
            own = np.zeros_like(observation)
            turn.game.observe(turn.states, i, player, *self.view.codes, own)
            self.seen.add(np.array_equal(observation, own))
        return self._inner.act(turn)


@pytest.mark.parametrize("game", GAMES)
def test_whoever_is_the_partner_plays_as_given_and_nobody_else(game):
    """Each is asked in its own view for the seats that are its own."""
    players = game.partners_from
    agents = [Noting(game, players, view) for view in ("perfect", "perfect", "none")]
    one, partner, opponents = agents
    played = play_with_partner(game, *agents, players, SEEDS)
    assert one.cases == {(True, False)}
    assert partner.cases == {(False, True)}
    assert opponents.cases == {(False, False)}
    assert all(agent.seen == {True} for agent in agents)
    # All of them play alike, so it is the table of copies.
    copies = play_deals(game, ["heuristic"] * players, SEEDS)
    assert np.array_equal(played.standing, copies.standing)


@pytest.mark.parametrize("game", GAMES)
def test_agents_that_choose_at_random_have_the_seed(game, monkeypatch):
    from card_envs.evaluation import partners

    seeds, make = [], partners.made_agent
    monkeypatch.setattr(partners, "made_agent", lambda *a: (seeds.append(a[2]), make(*a))[1])
    play_with_partner(game, *["random"] * 3, game.partners_from, SEEDS, agent_seed=7)
    assert seeds == [7, 7, 7]


class Following(FollowingAgent, Follower):
    """Plays the first legal action, or gives up, and notes of how many decisions it was told."""

    def __init__(self, gives_up=False):
        self.name, self.gives_up = "following", gives_up
        self.begun = self.watched = self.ended = 0

    def follow(self, options):
        return self

    def begin(self, states, i, players):
        self.begun += 1

    def watch(self, states, i, action):
        self.watched += 1

    def decide(self, turn):
        return np.full(len(turn), FORFEIT) if self.gives_up else turn.action_mask.argmax(axis=1)

    def end(self, states, i, loser=None):
        self.ended += 1


@pytest.mark.parametrize("game", GAMES)
def test_partners_and_opponents_that_follow_their_games_are_told_of_them(game):
    players = game.partners_from
    partner, opponents = Following(), Following()
    play_with_partner(game, "heuristic", partner, opponents, players, SEEDS)
    assert partner.begun == partner.ended == opponents.begun == players * len(SEEDS)
    assert partner.watched == opponents.watched > 100
    same = Following()
    played = play_with_partner(game, same, same, same, players, SEEDS)
    expected = play_deals(game, [Following()] * players, SEEDS)
    assert np.array_equal(played.standing, expected.standing)


@pytest.mark.parametrize("game", GAMES)
def test_a_partner_may_give_up(game):
    """Whose seat it holds then loses, as at other tables; programs are reported."""
    players = game.partners_from
    played = play_with_partner(game, "heuristic", Following(True), "random", players, SEEDS)
    lost = played.standing == -1.0
    assert lost.sum(axis=-1).max() == 1
    assert not lost[..., 0].any()
    played = play_with_partner(game, "heuristic", "cmd:false", "heuristic", players, SEEDS)
    assert [report.name for report in played.programs] == ["cmd:false"]


@pytest.mark.parametrize("game", GAMES)
def test_games_and_tables_without_partners_are_refused(game):
    three = ("heuristic",) * 3
    for other, players in ((WITHOUT, WITHOUT.default_players), (game, game.partners_from - 1)):
        with pytest.raises(ValueError, match=f"{other.id} has no partners"):
            play_with_partner(other, *three, players, SEEDS)


def test_the_share_of_the_best_is_the_ratio_of_those_left_behind():
    own, best = np.array([-0.5, 0.0, 0.5, 0.0, -1.0]), np.array([0.5, 0.0, 0.5, 1.0, 0.0])
    share, values, bounds = partners.share_of_best(own, best)
    assert share.mean == pytest.approx((1 + own.mean()) / (1 + best.mean()))
    assert share == estimate_mean(values, bounds)
    assert share.low < share.mean < share.high
    same, values, _ = partners.share_of_best(best, best)
    assert same.mean == pytest.approx(1.0)
    assert values == pytest.approx(np.ones(5))


def test_where_even_the_best_is_always_last_all_reach_what_can_be_reached():
    last = np.full(5, -1.0)
    share, values, _ = partners.share_of_best(last, last)
    assert share.mean == 1.0
    assert (values == 1.0).all()


@pytest.mark.parametrize("game", GAMES)
def test_every_agent_is_beside_the_best_with_the_same_partner(game, tmp_path, monkeypatch, capsys):
    pool = Pool(("random", "heuristic"), "")
    protocol = Protocol("ce-1", "draft", 7, 5, 8, 2, {game.name: pool})
    monkeypatch.setattr(Protocol, "load", lambda: protocol)
    monkeypatch.setattr(partners, "OPPONENTS", "heuristic")
    monkeypatch.setattr(partners, "sizes_with_partners", lambda game: [game.partners_from])
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        words = ["--game", game.id, "--deals", "5", "--json", str(path)]
        assert partners.main(words) == 0
    first, again = (json.loads(path.read_text()) for path in files)
    assert first["results"] == again["results"]
    weak, strong = first["results"]["agents"]
    assert [row["best"] for row in (*weak["with"], *strong["with"])] == ["heuristic"] * 4
    assert [row["share"] for row in strong["with"]] == pytest.approx([1.0, 1.0])
    assert weak["share"] == pytest.approx(np.mean([row["share"] for row in weak["with"]]))
    # The scripted player with itself, among itself.
    assert strong["with"][1]["rank"] == pytest.approx(0.0)
    assert strong["with"][0]["rank"] < 0.0
    capsys.readouterr()
    assert show_tables([str(files[0])]) == 0
    shown = capsys.readouterr().out
    assert "| `random` | " in shown
    assert shown.count("| the best |") == 3  # with both, and so in the mean
    assert [row["share_ci95"] for row in (*strong["with"], strong)] == [None] * 3
    assert None not in [row["share_ci95"] for row in (*weak["with"], weak)]
    assert partners.main(["--game", WITHOUT.id]) == 2
    assert "has no opponents for" in capsys.readouterr().err
    monkeypatch.setattr(partners, "play_with_partner", None)  # nothing is played before
    assert partners.main(["--game", game.id, "--agents", "random", "nobody"]) == 2
    assert "there is no agent 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize("game", GAMES)
def test_the_best_is_named_as_its_column_is(game, tmp_path, monkeypatch):
    """A policy file without its folder; where it is not the best it has an interval."""
    best = str(tmp_path / "own.safetensors")
    write_policy(best, network_of(game), game)

    def play(game, agent, partner, opponents, players, seeds, **how):
        is_ahead = (agent == best) == (partner == "random")
        rank = np.full((len(seeds), players, players), 0.5 * is_ahead)
        rank[::2] -= 0.25
        return SimpleNamespace(rank_by_deal=rank.mean(axis=1), truncated_share=0.0)

    pools = {game.name: Pool(("random", "heuristic"), "")}
    monkeypatch.setattr(Protocol, "load", lambda: Protocol("ce-1", "draft", 7, 5, 8, 2, pools))
    monkeypatch.setattr(partners, "sizes_with_partners", lambda game: [4])
    monkeypatch.setattr(partners, "play_with_partner", play)
    measured = partners.measure(game.id, [best, "heuristic"], 6)
    own, other = measured["results"]["agents"]
    assert [row["best"] for row in own["with"]] == ["own.safetensors", "heuristic"]
    for agent, k in ((own, 0), (other, 1)):
        assert (agent["with"][k]["share"], agent["with"][k]["share_ci95"]) == (1.0, None)
        low, high = agent["share_ci95"]
        assert low < agent["share"] < high
    assert "/" not in TABLES["partners"](measured).split("python")[0]


@pytest.mark.parametrize("game", GAMES)
def test_the_best_is_so_on_average_over_table_sizes(game, monkeypatch):
    """And so is its share; here the one is ahead at the first size, the other at the second."""
    ranks = {("random", 4): 0.5, ("random", 5): -1.0, ("heuristic", 4): 0.0, ("heuristic", 5): 0.5}

    def play(game, agent, partner, opponents, players, seeds, **how):
        rank = np.full((len(seeds), players, players), ranks[agent, players])
        return SimpleNamespace(rank_by_deal=rank.mean(axis=1), truncated_share=0.0)

    pools = {game.name: Pool(("random", "heuristic"), "")}
    monkeypatch.setattr(Protocol, "load", lambda: Protocol("ce-1", "draft", 7, 5, 8, 2, pools))
    monkeypatch.setattr(partners, "sizes_with_partners", lambda game: [4, 5])
    monkeypatch.setattr(partners, "play_with_partner", play)
    measured = partners.measure(game.id, [], 5)
    for agent, rank, share in zip(
        measured["results"]["agents"], (-0.25, 0.25), (0.75 / 1.25, 1.0), strict=True
    ):
        row = agent["with"][0]
        assert row["best"] == "heuristic"
        assert row["rank"] == pytest.approx(rank)
        assert row["share"] == agent["share"] == pytest.approx(share)
        of_sizes = [(of["num_players"], of["rank"]) for of in row["by_num_players"]]
        assert of_sizes == [(n, ranks[agent["name"], n]) for n in (4, 5)]
