"""Ratings: maximum likelihood for whole rankings, ties included."""

import choix
import numpy as np
import pytest

from training.ratings import ELO, Rankings


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


def test_level_places_are_no_places_behind_each_other():
    """Of three, 0 and 1 are always level and ahead of 2 as often as behind: all are equal."""
    results = [(1, 1, 2), (2, 2, 1)] * 30
    ratings, _, _ = ratings_of(3, [((0, 1, 2), in_order(results))])
    assert ratings[0] == pytest.approx(ratings[1], abs=0.1)
    mixed = [(1, 2, 3), (2, 1, 3), (1, 1, 2)] * 30
    ratings, _, _ = ratings_of(3, [((0, 1, 2), in_order(mixed))])
    assert ratings[0] == pytest.approx(ratings[1], abs=0.1)
    assert ratings[2] < ratings[0] - 200


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


def test_tables_of_several_sizes_are_rated_together():
    rng = np.random.default_rng(3)
    strengths = np.array([0.0, 0.6, 1.1])
    tables = [
        (table, drawn_rankings(strengths[list(table)], 3000, rng))
        for table in ((0, 1), (1, 2), (0, 1, 2, 2), (0, 0, 1, 1, 2))
    ]
    ratings, _, _ = ratings_of(3, tables)
    assert ratings / ELO == pytest.approx(strengths - strengths.mean(), abs=0.06)


def test_one_who_always_wins_has_a_finite_rating():
    ratings, low, high = ratings_of(2, [((0, 1), in_order([(1, 2)] * 50))])
    assert np.isfinite([ratings, low, high]).all()
    assert ratings[0] > ratings[1] + 400


def test_intervals_are_narrower_with_more_deals():
    rng = np.random.default_rng(4)
    widths = []
    for deals in (100, 1600):
        _, low, high = ratings_of(2, [((0, 1), drawn_rankings([0.0, 0.5], deals, rng))])
        widths.append((high - low).mean())
    assert 2.5 < widths[0] / widths[1] < 6.5
