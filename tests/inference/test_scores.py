"""What S explains of scores, and how exactly rows tell it, beside plain sums over rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fairridge.fairness import MeanParity, StatisticalParity
from fairridge.families import Binomial, Multinomial
from fairridge.inference.scores import (
    ExplainedScores,
    explained_scores,
)
from fairridge.penalties import Ridge

from .problems import draw, problem_of

SETTINGS = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}


def by_hand(S, scores, w):
    """Return ω, the covariance of errors along b, of d and of g, and ν, row by row."""
    S = S - np.average(S, axis=0, weights=w)
    f = scores - np.average(scores, axis=0, weights=w)
    gamma = np.linalg.solve(S.T @ (w[:, None] * S), S.T @ (w[:, None] * f))
    h = S @ gamma
    t = f - h
    N, T = (np.average((part**2).sum(axis=1), weights=w) for part in (h, t))
    Z = np.column_stack([np.ones(len(S)), S])
    leverage = w * (Z * np.linalg.solve(Z.T @ (w[:, None] * Z), Z.T).T).sum(axis=1)
    e, d = (h * t).sum(axis=1) / np.sqrt(N), (h * h).sum(axis=1) / N - 1
    rows = np.column_stack([e, d, (t * t).sum(axis=1) / T - 1]) * (w / w.sum())[:, None]
    degrees = min((a**2).sum() ** 2 / (a**4).sum() for a in rows[:, :2].T)
    rows[:, :2] /= (1 - leverage)[:, None]
    return N / T, rows.T @ rows, degrees


def along(one):
    """Return the covariance of errors along b, of d and of g."""
    onto = np.zeros((3, len(one.covariance)))
    onto[0, :-2], onto[1, -2], onto[2, -1] = one.direction, 1.0, 1.0
    return onto @ one.covariance @ onto.T


@pytest.mark.parametrize("family", [Binomial(), Multinomial(3)], ids=repr)
def test_odds_and_their_errors_are_those_of_plain_sums(family):
    data = draw(family, n=150)
    w = np.random.default_rng(1).random(150) + 0.2
    offset = np.linspace(-1, 1, 150) if family.name == "binomial" else None
    variances = StatisticalParity(measure="variance")
    problem = problem_of(family, data, w, offset, definition=variances, **SETTINGS)
    fits = [one.fit for one in problem.solve(np.array([0.03, 1.0]))]
    linear = explained_scores(fits, problem.engine)
    means = MeanParity().means(fits[0])
    on_means = explained_scores(fits, problem.engine, means)
    for k, fit in enumerate(fits):
        eta = fit.linear_predictor().reshape(150, -1)
        shifted = eta if offset is None else eta + offset[:, None]
        mu = family.mean(shifted) if family.n_predictors == 1 else family.probabilities(shifted)
        values = {"linear": eta, "means": mu.reshape(150, -1)}
        for kind, one in (("linear", linear[k]), ("means", on_means[k])):
            odds, covariance, degrees = by_hand(data[0], values[kind], w)
            assert one.odds == pytest.approx(odds, rel=1e-8)
            assert one.degrees == pytest.approx(degrees, rel=1e-8)
            np.testing.assert_allclose(along(one), covariance, rtol=1e-7, atol=1e-12)


def scores(b, spread, *, other=1.0, **options):
    """Scores whose coefficients have independent errors, and nothing else has."""
    b = np.asarray(b, dtype=float)
    size = np.sqrt(b @ b)
    direction = b / size if size else np.eye(len(b))[0]
    covariance = np.diag([*([spread] * len(b)), 0.0, 0.0])
    return ExplainedScores(b, direction, other, covariance, **{"degrees": np.inf} | options)


def test_a_fair_model_has_the_quantile_of_chi_squared():
    one = scores(np.zeros(3), 0.7 / 500, other=0.7, followed=0.0)
    assert 500 * one.quantile(0.9) == pytest.approx(stats.chi2.ppf(0.9, 3), rel=0.03)
    few = replace(one, degrees=9.0)
    assert 500 * few.quantile(0.9) == pytest.approx(3 * stats.f.ppf(0.9, 3, 9), rel=0.04)
    near = scores([0.01, 0.0, 0.0], 0.7 / 500, other=0.7, degrees=9.0)
    near.covariance[[-2, -1], [-2, -1]] = 0.2
    assert near.fair().quantile(0.9) == pytest.approx(one.quantile(0.9))


def test_errors_across_b_count_by_how_far_the_model_follows_its_rows():
    b, spread = [0.3, 0.0, 0.0, 0.0, 0.0], 0.01**2
    limits = [scores(b, spread, followed=m).quantile(0.9) for m in (0.0, 0.5, 1.0)]
    along_b = (0.3 + 0.01 * stats.norm.ppf(0.9)) ** 2
    expected = [along_b + (1 - 2 * m) * 4 * spread for m in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(limits, expected, rtol=3e-3)
