"""R² on S in the population, of a given model."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.fairness import StatisticalParity
from fairridge.families import Binomial, Cox, Gaussian, Multinomial
from fairridge.inference.passes import Pass, row_terms
from fairridge.inference.population import Population
from fairridge.penalties import Ridge

from .problems import STEP, analyzed, draw, inferred

VARIANCE = StatisticalParity(measure="variance")
SETTINGS = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}
ON_S = np.array([0.4, 0.2])  # X = S·ON_S + noise, in the population of the last tests


def odds(S, scores, w):
    """Odds of R² of some scores on S, with weights."""
    Z = np.column_stack([np.ones(len(S)), S])
    ZW = (w[:, None] * Z).T
    left = scores - Z @ np.linalg.lstsq(ZW @ Z, ZW @ scores, rcond=None)[0]
    center = scores - np.average(scores, axis=0, weights=w)
    rest = (w @ left**2).sum()
    return ((w @ center**2).sum() - rest) / rest


@pytest.mark.parametrize(
    ("family", "r", "options"),
    [
        (Gaussian(), 0.05, {}),
        (Gaussian(), 1.0, {"kind": "blind"}),
        (Binomial(), 0.02, {"kind": "blind"}),
        (Multinomial(3), 1.0, {}),
        (Cox(), 0.05, {}),
    ],
)
def test_rows_move_the_odds_of_a_given_model_as_their_weights_do(family, r, options):
    data = draw(family)
    S, X = data[:2]
    settings = SETTINGS | options
    w = np.random.default_rng(2).random(60) + 0.3
    analysis = analyzed(family, data, VARIANCE, r, w, **settings)
    named = analysis.of_population()
    terms = row_terms(analysis.fit.engine, family, Pass(analysis.branch, tuple(named.values())))
    scores = (
        family.to_contrasts(
            np.atleast_2d(analysis.basis.raw_coefficients(analysis.fit.alpha, analysis.fit.beta))
        )
        @ np.hstack([S, X]).T
    )
    for row in (0, 7, 31):
        change = -w.copy()
        change[row] += w.sum()
        up, down = (np.sqrt(odds(S, scores.T, w + k * STEP * change)) for k in (0.5, -0.5))
        assert terms[row, -2] == pytest.approx((up - down) / STEP, rel=1e-5, abs=1e-7)
    assert np.average(terms[:, -2], weights=w) == pytest.approx(0.0, abs=1e-9)
    h = S - np.average(S, axis=0, weights=w)
    explained = ((h @ analysis.state.alpha.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(terms[:, -1], w * explained, rtol=1e-9)


def test_intervals_of_unbounded_models_hold_the_odds_behind_those_of_the_sample():
    free = Population(0.5, 0.003, 2.0, np.inf, binds=False)
    binds = Population(0.5, 0.003, 2.0, np.inf, binds=True)
    share = 0.5 / 1.5
    one, other = free.unfairness(0.95), binds.unfairness(0.95)
    assert one.lower < one.estimate < share < one.upper
    assert other.lower < share < other.estimate < other.upper
    assert one.lower < other.lower
    assert one.upper < other.upper
    few = Population(0.5, 0.003, 2.0, 8.0, binds=False).unfairness(0.95)
    assert few.lower < one.lower < one.upper < few.upper
    wider = free.unfairness(0.99)
    assert wider.lower < one.lower < one.upper < wider.upper


def test_odds_that_cannot_be_told_from_zero_have_an_interval_from_zero():
    for odds_ in (1e-12, 1e-4, 2e-3):
        found = Population(odds_, 0.003, 2.0, np.inf, binds=False).unfairness(0.95)
        assert found.lower == 0.0
        assert found.estimate >= 0.0
        assert found.upper > 0.02  # not [0, 0], however small the odds of the sample are
    nothing = Population(0.0, 0.003, 2.0, np.inf, binds=False).unfairness(0.9)
    assert (nothing.lower, nothing.estimate) == (0.0, 0.0)
    assert nothing.upper > 0.0
    alone = Population(np.inf, 0.0, 1.0, np.inf, binds=False).unfairness(0.9)
    assert (alone.lower, alone.upper) == (1.0, 1.0)


def test_repeated_rows_and_frequency_weights_agree():
    data = draw(Gaussian(), n=80)
    counts = np.random.default_rng(4).integers(1, 4, 80)
    twice = tuple(np.repeat(part, counts, axis=0) for part in data)
    for r in (0.0, 0.05, 1.0):
        own = inferred(Gaussian(), twice, VARIANCE, r).population_unfairness()
        weighted = inferred(
            Gaussian(), data, VARIANCE, r, counts.astype(float), frequency=True
        ).population_unfairness()
        for name in ("estimate", "lower", "upper"):
            assert getattr(weighted, name) == pytest.approx(getattr(own, name), rel=1e-8)


def test_at_zero_the_odds_are_a_sum_of_squares_with_the_variances_of_rows():
    data = draw(Gaussian(), n=400)
    S = data[0] - data[0].mean(axis=0)
    found = inferred(Gaussian(), data, VARIANCE, 0.0, covariance="HC0").population_unfairness(0.9)
    fit = analyzed(Gaussian(), data, VARIANCE, 0.0, **SETTINGS).fit
    t = fit.U @ fit.beta
    root = np.linalg.cholesky(np.linalg.inv(S.T @ S / 400))
    moved = (S @ root) * t[:, None] / 400
    variances = np.linalg.eigvalsh(moved.T @ moved) / t.var()
    drawn = (np.random.default_rng(0).normal(size=(200_000, 2)) ** 2) @ variances
    expected = np.quantile(drawn, [0.05, 0.95])
    ends = np.array([found.lower, found.upper])
    np.testing.assert_allclose(ends / (1 - ends), expected, rtol=0.03)
    middle = found.estimate / (1 - found.estimate)
    assert middle == pytest.approx(variances.sum(), rel=1e-6)


def share_of(coefficients):
    own = coefficients[0] + ON_S @ coefficients[1:]
    return own**2 / (own**2 + coefficients[1:] @ coefficients[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "blind"), [(0.1, False), (None, True)])
def test_intervals_of_unbounded_models_hold_the_value_of_the_population(noise, blind):
    """S and X differ from sample to sample as y does; without noise in y, they alone do."""
    hits, n = 0, 500
    for seed in range(200):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=n)
        X = np.outer(s, ON_S) + rng.normal(size=(n, 2))
        eta = X.sum(axis=1) + 0.5 * s
        if noise is None:
            y, Model = rng.random(n) < 1 / (1 + np.exp(-eta)), FairRidgeClassifier
        else:
            y, Model = eta + noise * rng.normal(size=n), FairRidgeRegressor
        Z = np.column_stack([s, X])
        model = Model(1.0, sensitive=[0], blind=blind).fit(Z, y)
        found = model.inference(Z, y).population_unfairness(0.95)
        coefficients = np.ravel(model.coef_)
        true = share_of(np.append(0.0, coefficients) if blind else coefficients)
        hits += found.lower <= true <= found.upper
    assert 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200) < hits / 200
    assert hits < 200


# s, c, x₁ and x₂ in terms of independent normal numbers, and what c leaves of their covariance.
MIX = np.array([[1.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.6, 0.6, 1.0, 0.0], [0.2, 0.1, 0, 1]])
LEFT = MIX @ MIX.T - np.outer(MIX @ MIX[1], MIX @ MIX[1])


def controlled(seed, blind, r, n=500):
    """Fit given c, and return the model with its interval and the partial R² in the population."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4)) @ MIX.T
    y = Z @ [0.5, 0.4, 1.0, 0.5] + rng.normal(size=n)
    model = FairRidgeRegressor(r, sensitive=[0], controls=[1], blind=blind).fit(Z, y)
    own = np.append(0.0, model.coef_) if blind else model.coef_
    true = (own @ LEFT[0]) ** 2 / LEFT[0, 0] / (own @ LEFT @ own)
    return model, model.inference(Z, y).population_unfairness(0.95), true


@pytest.mark.parametrize("blind", [False, True])
def test_intervals_given_controls_are_about_the_partial_share(blind):
    model, found, _ = controlled(0, blind, 0.05)
    assert found.lower < model.unfairness_ < found.upper
    _, free, _ = controlled(0, blind, 1.0)
    assert free.estimate == pytest.approx(controlled(0, blind, 1.0)[0].unfairness_, rel=0.05)
    _, fair, true = controlled(0, blind, 0.0)
    assert 0.0 < fair.estimate < fair.upper < 0.05
    assert true < fair.upper


@pytest.mark.slow
@pytest.mark.parametrize(("blind", "r"), [(False, 0.05), (True, 0.0)])
def test_intervals_given_controls_hold_the_value_of_the_population(blind, r):
    found = [controlled(seed, blind, r)[1:] for seed in range(200)]
    hits = sum(interval.lower <= true <= interval.upper for interval, true in found)
    assert 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200) < hits / 200
    assert hits < 200
