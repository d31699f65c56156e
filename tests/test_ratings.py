"""Ratings: maximum likelihood for whole rankings, ties included."""

import choix
import numpy as np
import pytest
import scipy.stats

from card_envs.evaluation.ratings import ELO, Rankings, _widening


def drawn_rankings(strengths, deals, rng):
    """Standings (deals, 1, n) of the Plackett-Luce model."""
    return np.asarray(strengths) + rng.gumbel(size=(deals, 1, len(strengths)))


def in_order(results):
    """Standings (deals, 1, n) from tuples of places, 1 the best."""
    return -np.array(results, float)[:, None, :]


def ratings_of(num_agents, tables, seed=0):
    return Rankings(num_agents, tables).ratings(20, np.random.default_rng(seed))


def test_without_ties_they_are_plackett_luces():
    rng = np.random.default_rng(1)
    strengths = np.array([0.0, 0.5, 1.2, -0.3])
    standing = drawn_rankings(strengths, 300, rng)
    ratings, low, high = ratings_of(4, [(range(4), standing)])
    expected = choix.opt_rankings(4, [tuple(np.argsort(-s)) for s in standing[:, 0]])
    assert ratings / ELO == pytest.approx(expected - expected.mean(), abs=1e-3)
    assert (low < ratings).all()
    assert (ratings < high).all()


def test_two_agents_with_ties_are_rated_by_their_wins():
    """Davidson's model has as many parameters as results: strengths are in proportion to wins."""
    results = [(1, 2)] * 60 + [(2, 1)] * 20 + [(1, 1)] * 40
    ratings, _, _ = ratings_of(2, [((0, 1), in_order(results))])
    assert ratings[0] - ratings[1] == pytest.approx(ELO * np.log(3), abs=0.1)


def test_likelihood_is_davidsons():
    """The fit is where the likelihood, written out for three players, is highest."""
    often = {(1, 2, 3): 20, (2, 1, 3): 10, (1, 1, 2): 8, (1, 2, 2): 6, (3, 2, 1): 5}
    results = [places for places, times in often.items() for _ in range(times)]
    rankings = Rankings(3, [((0, 1, 2), in_order(results))])
    found = rankings.fit(rankings.counts.sum(axis=0), np.zeros(4))

    def odds(group, x):
        strength, tie = np.exp(x[:3]), np.exp(x[3])
        if len(group) == 1:
            return strength[group[0]]
        return tie * np.sqrt(strength[group[0]] * strength[group[1]])

    def log_likelihood(x):
        total = 0.0
        for places, times in often.items():
            there = [0, 1, 2]
            while len(there) > 1:
                best = min(places[k] for k in there)
                first = tuple(k for k in there if places[k] == best)
                groups = [(a,) for a in there] + [(a, b) for a in there for b in there if a < b]
                total += times * np.log(odds(first, x) / sum(odds(g, x) for g in groups))
                there = [k for k in there if k not in first]
        return total

    highest = log_likelihood(found)
    rng = np.random.default_rng(0)
    for size in (0.02, 0.1, 0.5):
        for _ in range(50):
            assert log_likelihood(found + size * rng.normal(size=4)) < highest + 1e-3


def test_an_agent_may_sit_at_a_table_more_than_once():
    """Strengths are found again from tables of three, two of them the same agent's."""
    rng = np.random.default_rng(2)
    strengths = np.array([0.0, 1.0])
    tables = [
        (table, drawn_rankings(strengths[list(table)], 4000, rng))
        for table in ((0, 0, 1), (0, 1, 1))
    ]
    ratings, low, high = ratings_of(2, tables)
    assert (ratings[1] - ratings[0]) / ELO == pytest.approx(1.0, abs=0.06)
    assert (high - low < 30).all()


@pytest.mark.parametrize("table", [(0, 2), (-1, 1)])
def test_agents_out_of_range_are_refused(table):
    with pytest.raises(ValueError, match=r"agents must be from 0 to 1, got (2|-1)"):
        Rankings(2, [(table, np.zeros((5, 1, 2)))])


def test_tables_of_several_sizes_are_rated_together():
    rng = np.random.default_rng(3)
    strengths = np.array([0.0, 0.6, 1.1])
    tables = [
        (table, drawn_rankings(strengths[list(table)], 3000, rng))
        for table in ((0, 1), (1, 2), (0, 1, 2, 2), (0, 0, 1, 1, 2))
    ]
    ratings, _, _ = ratings_of(3, tables)
    assert ratings / ELO == pytest.approx(strengths - strengths.mean(), abs=0.06)


@pytest.mark.parametrize("count", [2, 3])
def test_one_who_always_wins_has_a_finite_rating_and_an_open_interval(count):
    places = tuple(range(1, count + 1))
    ratings, low, high = ratings_of(count, [(range(count), in_order([places] * 50))])
    assert np.isfinite(ratings).all()
    assert (ratings[:-1] > ratings[1:] + 400).all()
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


@pytest.mark.parametrize("weak", [2, 0])
def test_intervals_are_of_those_who_can_be_compared(weak):
    """One or two are behind two others without exception; the others all win."""
    results = np.array([(1, 2, 3), (2, 1, 3), (1, 1, 2)] * 10 + [(2, 1, 3)] * 5)
    results = np.roll(results, 1 + weak, axis=1)
    ratings, low, high = ratings_of(3, [(range(3), in_order(results))])
    open_ones = [k == weak for k in range(3)]
    assert (low == -np.inf).tolist() == (high == np.inf).tolist() == open_ones
    others = [k for k in range(3) if k != weak]
    assert ratings[others].mean() == pytest.approx(0, abs=1e-9)
    assert ratings[weak] < min(ratings[others]) - 400
    # That one says nothing about the others.
    pair = in_order(results[:, others])
    alone, _, _ = ratings_of(2, [((0, 1), pair)])
    assert ratings[others] == pytest.approx(alone, abs=1.0)
    # Once does not bound it from below, and says nothing about the others; often does.
    once = np.vstack([results, np.roll([(2, 3, 1)], 1 + weak, axis=1)])
    _, once_low, once_high = ratings_of(3, [(range(3), in_order(once))])
    assert (once_low == -np.inf).tolist() == open_ones
    assert np.isfinite(once_high).all()
    _, alone_low, alone_high = ratings_of(2, [((0, 1), in_order(once[:, others]))])
    assert once_low[others] == pytest.approx(alone_low, abs=15.0)
    assert once_high[others] == pytest.approx(alone_high, abs=15.0)
    often = np.vstack([once] * 20)
    _, low, high = ratings_of(3, [(range(3), in_order(often))])
    assert np.isfinite([low, high]).all()


def test_the_prior_bounds_no_interval(monkeypatch):
    """An agent that is ahead in a few deals, and one that is in none, leave the others theirs."""
    rng = np.random.default_rng(5)
    others = np.broadcast_to([-9.0, -10.0], (60, 1, 2))
    standing = np.concatenate([drawn_rankings([0.3, 0.0], 60, rng), others], axis=2)
    standing[:2, 0, 2] = 9.0
    found = []
    for ridge in (1e-2, 1e-3, 1e-5):
        monkeypatch.setattr("card_envs.evaluation.ratings._RIDGE", ridge)
        rankings = Rankings(4, [(range(4), standing)])
        found.append(rankings.ratings(200, np.random.default_rng(0)))
    for ratings in found:
        assert ratings.low[2:].tolist() == [-np.inf, -np.inf]
        assert ratings.high[3] == np.inf
        for ends in ("low", "high"):
            assert getattr(ratings, ends)[:2] == pytest.approx(getattr(found[1], ends)[:2], abs=2.0)


def test_deals_that_are_all_alike_bound_no_rating():
    """Each is ahead once in every deal: the bootstrap draws the same again and again."""
    standing = np.tile([[1.0, 0.0], [0.0, 1.0]], (30, 1, 1))
    ratings, low, high = ratings_of(2, [((0, 1), standing)])
    assert ratings == pytest.approx([0.0, 0.0])
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


def test_intervals_are_narrower_with_more_deals():
    rng = np.random.default_rng(4)
    widths = []
    for deals in (100, 1600):
        _, low, high = ratings_of(2, [((0, 1), drawn_rankings([0.0, 0.5], deals, rng))])
        widths.append((high - low).mean())
    assert 2.5 < widths[0] / widths[1] < 6.5


@pytest.mark.parametrize("deals", [2, 5, 1000])
def test_intervals_of_few_deals_are_widened_to_students(deals):
    """A bootstrap's variance lacks a factor, and its quantiles are those of a normal."""
    quantiles = scipy.stats.t.ppf(0.975, deals - 1) / scipy.stats.norm.ppf(0.975)
    expected = quantiles * np.sqrt(deals / (deals - 1))
    assert _widening(deals) == pytest.approx(expected)


def test_the_intervals_are_those_of_the_bootstrap_widened(monkeypatch):
    rng = np.random.default_rng(1)
    tables = [((0, 1), drawn_rankings([0.0, 0.5], 12, rng))]
    rating, low, high = ratings_of(2, tables)
    monkeypatch.setattr("card_envs.evaluation.ratings._widening", lambda deals: 1.0)
    same, bare_low, bare_high = ratings_of(2, tables)
    assert (rating == same).all()
    factor = _widening(12)
    assert factor > 1.1
    assert np.isfinite([low, high]).all()
    assert rating - low == pytest.approx(factor * (rating - bare_low))
    assert high - rating == pytest.approx(factor * (bare_high - rating))
