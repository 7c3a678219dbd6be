"""The search for models whose means S may explain to a given share only."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.estimators._training import read_training
from fairridge.fairness import MeanParity
from fairridge.penalties import Ridge
from fairridge.search import ModelSettings, set_up
from fairridge.search.means import MeanParityProblem
from tests.zoo import r_squared

COLUMNS = {"group": [0, 1], "age": [2]}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(21)
    n = 500
    groups = rng.integers(0, 3, n)
    age = rng.normal(size=n) + 0.5 * (groups == 1)
    S = np.column_stack([groups == 1, groups == 2, age]).astype(float)
    X = S @ rng.normal(size=(3, 3)) * 0.4 + rng.normal(size=(n, 3))
    eta = S @ [0.8, -0.4, 0.5] + X @ [0.6, -0.5, 0.3]
    y = (rng.random(n) < expit(eta)).astype(int)
    return np.column_stack([S, X]), y, eta + rng.normal(size=n)


def problem_of(Z, y, model, **options):
    training = read_training(model, Z, y, None, None, None)
    n_targets = training.response.targets.shape[1]
    settings = ModelSettings(Ridge(), n_targets=n_targets, **options)
    return set_up(training.engine, training.response.family, MeanParity(), settings)


@pytest.fixture(scope="module")
def problem(rows):
    Z, y, _ = rows
    each = COLUMNS | {"all": [0, 1, 2]}
    return problem_of(Z, y, FairRidgeClassifier(sensitive=[0, 1, 2]), each=each)


def means(fit, Z):
    S, X = Z[:, :3], Z[:, 3:]
    U = X - X.mean(axis=0) - (S - S.mean(axis=0)) @ fit.basis.B
    return fit.family.mean(fit.intercept + S @ fit.alpha + U @ fit.beta)


def test_a_bound_that_holds_already_costs_nothing(problem):
    both = problem.solve_each({"group": 0.9, "age": 0.01})
    alone = problem.solve_each({"age": 0.01})
    assert {k: one.status for k, one in both.each.items()} == {
        "group": "inactive",
        "age": "converged",
    }
    assert both.each["group"].lambda_ == 0.0
    assert both.fit.deviance == pytest.approx(alone.fit.deviance, rel=1e-12)


def test_the_general_search_finds_the_closed_form(rows):
    """On a gaussian model the search for means gives the radial penalty's answer."""
    Z, _, y = rows
    model = FairRidgeRegressor(sensitive=[0, 1, 2])
    search, closed = (problem_of(Z, y, model, each=each) for each in (COLUMNS, {}))
    bounds = np.array([0.2, 0.01, 1e-6, 0.0])
    ours, theirs = (p.choose(MeanParity(), bounds) for p in (search, closed))
    np.testing.assert_allclose([c.lambda_ for c in ours], [c.lambda_ for c in theirs], rtol=1e-8)
    for a, b in zip(
        search.fits(np.array([c.lambda_ for c in ours])),
        closed.fits(np.array([c.lambda_ for c in theirs])),
        strict=True,
    ):
        np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-9)
        np.testing.assert_allclose(a.beta, b.beta, rtol=1e-8)


def test_the_slow_way_ends_at_the_same_model(rows, monkeypatch):
    (Z, y, _), r = rows, 0.003
    fast, slow = (problem_of(Z, y, FairRidgeClassifier(sensitive=[0, 1, 2])) for _ in range(2))
    monkeypatch.setattr(slow._searches[0], "find", lambda *arguments: None)
    ours, theirs = (p.choose(MeanParity(), np.array([r]))[0] for p in (fast, slow))
    assert ours.lambda_ == pytest.approx(theirs.lambda_, rel=1e-6)
    a, b = fast.fit(ours.lambda_), slow.fit(theirs.lambda_)
    assert a.deviance == pytest.approx(b.deviance, rel=1e-9)
    np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-6)


def test_a_bound_costs_few_passes(rows):
    Z, y, _ = rows
    fresh = problem_of(Z, y, FairRidgeClassifier(sensitive=[0, 1, 2]))
    fresh.fit(0.0)
    before = fresh.engine.passes
    fresh.choose(MeanParity(), np.array([0.02]))
    assert fresh.engine.passes - before <= 12
    assert isinstance(fresh, MeanParityProblem)


def test_neighboring_bounds_lead_to_each_other(rows):
    """A polynomial through the minima behind leaves about one Newton step to take."""
    Z, y, _ = rows
    fresh = problem_of(Z, y, FairRidgeClassifier(sensitive=[0, 1, 2]))
    bounds = np.linspace(0.001, fresh.definition.value(fresh.fit(0.0)), 41)
    before = fresh.engine.passes
    chosen = fresh.choose(MeanParity(), bounds)
    assert fresh.engine.passes - before <= 2.4 * len(bounds)
    for k in (3, 17, 32):
        alone = problem_of(Z, y, FairRidgeClassifier(sensitive=[0, 1, 2]))
        choice = alone.choose(MeanParity(), bounds[[k]])[0]
        assert chosen[k].lambda_ == pytest.approx(choice.lambda_, rel=1e-8)
        found, expected = fresh.fit(chosen[k].lambda_), alone.fit(choice.lambda_)
        np.testing.assert_allclose(found.alpha, expected.alpha, rtol=1e-8)


def test_separated_classes_do_not_hold_a_search_up(rows):
    """Coefficients that grow without end are noticed before `max_iter` passes."""
    Z, y, _ = rows
    level = np.arange(len(y)) % 25 == 0
    data, outcome = np.column_stack([Z, level]), np.where(level, 0, y)
    model = FairRidgeClassifier(0.02, sensitive=[0, 1, 2], definition="mean-parity")
    with pytest.warns(UserWarning, match="separate the responses"):
        model.fit(data, outcome)
    assert model.unfairness_ == pytest.approx(0.02, abs=1e-10)
    assert model.n_iter_ < 80


@pytest.mark.parametrize("decided", [False, True])
@pytest.mark.parametrize("r", [0.02, 0.0])
def test_without_predictors_alpha_makes_up_for_offsets_that_vary_with_s(r, decided):
    rng = np.random.default_rng(3)
    s = rng.integers(0, 2, size=200).astype(float)
    offset = 0.5 * s + rng.normal(size=200)
    y = rng.random(200) < expit(offset - 2.5 * s)
    y[decided & (s == 1.0)] = False  # without a bound α = −∞ then

    def means(alpha):
        def excess(level):
            return (expit(level + alpha * s + offset) - y).sum()

        return expit(brentq(excess, -50.0, 50.0, xtol=1e-15) + alpha * s + offset)

    model = FairRidgeClassifier(r, sensitive=[0], definition="mean-parity")
    model.fit(s[:, None], y, offset=offset)
    # S explains nothing of balanced means at one α, and more of them the farther it is off.
    expected = brentq(lambda a: np.cov(means(a), s)[0, 1], -10.0, 10.0, xtol=1e-14)
    if r > 0.0:
        share = (lambda a: r_squared(means(a), s[:, None]) - r), expected - 5.0, expected
        expected = brentq(*share, xtol=1e-14)
    assert model.alpha_[0] == pytest.approx(expected, abs=1e-8)
    assert (model.unfairness_, model.status_) == (pytest.approx(r, abs=1e-9), "converged")
