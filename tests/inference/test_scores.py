"""What S explains of scores, and how exactly rows tell it, beside plain sums over rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fairridge.fairness import MeanParity, StatisticalParity
from fairridge.families import Binomial, Gaussian, Multinomial
from fairridge.inference import certify
from fairridge.inference.certify import _limit
from fairridge.inference.scores import ExplainedScores, explained_linear, explained_scores
from fairridge.penalties import Ridge

from .problems import draw, problem_of

SETTINGS = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}


def by_hand(S, scores, w):
    """Return ω, the variance of its estimate and ν, row by row."""
    S = S - np.average(S, axis=0, weights=w)
    f = scores - np.average(scores, axis=0, weights=w)
    gamma = np.linalg.solve(S.T @ (w[:, None] * S), S.T @ (w[:, None] * f))
    h = S @ gamma
    t = f - h
    N, T = (np.average((part**2).sum(axis=1), weights=w) for part in (h, t))
    Z = np.column_stack([np.ones(len(S)), S])
    leverage = w * (Z * np.linalg.solve(Z.T @ (w[:, None] * Z), Z.T).T).sum(axis=1)
    both = 2 * h * t / np.sqrt(1 - leverage)[:, None]
    move = (both + h * h).sum(axis=1) - N - N / T * ((t * t).sum(axis=1) - T)
    a = w**2 * (h * h).sum(axis=1)
    return N / T, (w**2 @ move**2) / w.sum() ** 2 / T**2, a.sum() ** 2 / (a @ a) - 1


@pytest.mark.parametrize("family", [Gaussian(), Binomial(), Multinomial(3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_odds_and_their_variance_are_those_of_plain_sums(family, weighted):
    data = draw(family, n=150)
    w = np.random.default_rng(1).random(150) + 0.2 if weighted else np.ones(150)
    offset = np.linspace(-1, 1, 150) if family.name == "binomial" else None
    variances = StatisticalParity(measure="variance")
    problem = problem_of(family, data, w, offset, definition=variances, **SETTINGS)
    fits = [one.fit for one in problem.solve(np.array([0.03, 1.0]))]
    linear, general = explained_linear(fits), explained_scores(fits, problem.engine)
    means = MeanParity().means(fits[0])
    on_means = explained_scores(fits, problem.engine, means)
    for k, fit in enumerate(fits):
        eta = fit.linear_predictor().reshape(150, -1)
        shifted = eta if offset is None else eta + offset[:, None]
        mu = family.mean(shifted) if family.n_predictors == 1 else family.probabilities(shifted)
        odds, variance, degrees = by_hand(data[0], eta, w)
        for one in (linear[k], general[k]):
            assert one.odds == pytest.approx(odds, rel=1e-8)
            assert one.degrees == pytest.approx(degrees, rel=1e-8)
            assert one.spread == pytest.approx(variance / (4 * odds), rel=1e-8)
        odds, variance, degrees = by_hand(data[0], mu.reshape(150, -1), w)
        assert on_means[k].degrees == pytest.approx(degrees, rel=1e-8)
        assert on_means[k].odds == pytest.approx(odds, rel=1e-8)
        assert on_means[k].spread == pytest.approx(variance / (4 * odds), rel=1e-8)


def test_draws_of_a_fair_model_are_chi_squared():
    q, n = 3, 500
    covariance = np.diag([*([0.7 / n] * q), 0.0, 0.0])
    one = ExplainedScores(np.zeros(q), 0.7, covariance)
    assert one.spread == pytest.approx(1 / n)
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((4000, q + 2)), rng.random(4000)
    assert stats.kstest(n * one.draws(*numbers), "chi2", args=(q,)).pvalue > 0.01
    few = replace(one, degrees=9.0).draws(*numbers)
    assert stats.kstest(n * few / q, "f", args=(q, 9.0)).pvalue > 0.01


def test_the_limit_from_other_rows_inverts_the_noncentral_chi_squared():
    q, n = 2, 400
    b = np.array([0.1, 0.2])
    one = ExplainedScores(b, 1.0, np.diag([1 / n, 1 / n, 0.0, 0.0]))
    limit = _limit(one, 0.9)
    odds = limit / (1 - limit)
    assert stats.ncx2.cdf(one.odds * n, q, odds * n) == pytest.approx(0.1, abs=1e-8)
    assert one.share < _limit(one, 0.9, factor=100.0) < limit


def test_draws_and_the_closed_form_agree_for_normal_rows():
    rng = np.random.default_rng(3)
    n = 4000
    S = rng.normal(size=(n, 2))
    X = S @ rng.normal(size=(2, 3)) + rng.normal(size=(n, 3))
    y = (S @ [1.0, 0.5] + X @ [0.5, -0.4, 0.3] + rng.normal(size=n))[:, None]
    problem = problem_of(Gaussian(), (S, X, y, y), **SETTINGS)
    closed, drawn = (certify(problem, 0.05, 0.95, method) for method in ("closed-form", "draws"))
    assert drawn.training_bound == pytest.approx(closed.training_bound, rel=0.02)


def test_mean_parity_is_certified_for_the_means():
    data = draw(Binomial(), n=1500)
    problem = problem_of(Binomial(), data, definition=MeanParity(), **SETTINGS)
    found = certify(problem, 0.05)
    assert found.granted
    assert found.method == "draws"
    assert 0.02 < found.training_bound < 0.05
    assert found.upper == pytest.approx(0.05)
