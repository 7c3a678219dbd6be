"""Fairness on other rows, against least squares and pairs written out."""

import numpy as np
import pytest

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.fairness import (
    CallableDefinition,
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    StatisticalParity,
)
from fairridge.fairness.scatter_shares import explained_by_sensitive, sequential_share
from fairridge.families import Gaussian
from fairridge.penalties import Ridge
from fairridge.search import ModelSettings, set_up

PARITY, OPPORTUNITY, INDIVIDUAL = StatisticalParity(), EqualityOfOpportunity(), IndividualFairness()


def scatter_of(*columns):
    Z = np.column_stack(columns)
    Z = Z - Z.mean(axis=0)
    return Z.T @ Z


def explained(target, columns):
    """Sum of squares that least squares on the columns and an intercept explains."""
    Z = np.column_stack([np.ones(len(target)), columns])
    size = np.linalg.norm(Z, axis=0)
    Z = Z / np.where(size > 0.0, size, 1.0)
    fitted = Z @ np.linalg.lstsq(Z, target, rcond=None)[0]
    return np.sum((fitted - fitted.mean(axis=0)) ** 2)


def data_of(m, t, seed=0):
    """S of three columns, m linear predictors and t targets that depend on each other."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)) + 5.0
    eta = S @ rng.normal(size=(3, m)) + 2.0 * rng.normal(size=(80, m))
    y = eta @ rng.normal(size=(m, t)) + S @ rng.normal(size=(3, t)) + rng.normal(size=(80, t))
    return S, eta, y


@pytest.mark.parametrize(("m", "t"), [(1, 1), (3, 3), (4, 1)])
def test_shares_equal_least_squares(m, t):
    S, eta, y = data_of(m, t)
    scatter = scatter_of(S, eta, y)
    total = np.sum((eta - eta.mean(axis=0)) ** 2)
    first, both = explained(eta, S), explained(eta, np.column_stack([S, y]))
    assert explained_by_sensitive(scatter, 3, m) == pytest.approx(first / total, rel=1e-10)
    assert sequential_share(scatter, 3, m) == pytest.approx(first / both, rel=1e-10)


@pytest.mark.parametrize("share", [explained_by_sensitive, sequential_share])
def test_ends_of_the_range(share):
    S, _, y = data_of(1, 1)
    alone = S @ [1.0, 2.0, 3.0]
    other = np.random.default_rng(1).normal(size=80)
    Z = np.column_stack([np.ones(80), S])
    other = other - Z @ np.linalg.lstsq(Z, other, rcond=None)[0]
    assert share(scatter_of(S, alone, y), 3, 1) == pytest.approx(1.0, rel=1e-12)
    assert share(scatter_of(S, other, y), 3, 1) == pytest.approx(0.0, abs=1e-12)
    assert share(scatter_of(S, np.zeros(80), y), 3, 1) == 0.0
    assert share(scatter_of(np.zeros((80, 3)), other, y), 3, 1) == pytest.approx(0.0, abs=1e-12)


def test_the_adjustment_counts_the_rank_of_s():
    S, eta, _ = data_of(2, 1)
    share = explained(eta, S) / np.sum((eta - eta.mean(axis=0)) ** 2)
    expected = 1.0 - (1.0 - share) * 79 / 76
    for more in (S[:, :0], S[:, :1], np.full((80, 1), 0.5), S @ [[1.0], [2.0], [-1.0]]):
        wide = np.column_stack([S, more])
        q = wide.shape[1]
        found = explained_by_sensitive(scatter_of(wide, eta), q, 2, n_rows=80)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "defined"), [(1, False), (4, False), (5, True)])
def test_few_rows_leave_nothing_to_adjust(n, defined):
    S, eta, _ = data_of(1, 1)
    found = explained_by_sensitive(scatter_of(S[:n], eta[:n]), 3, 1, n_rows=n)
    assert np.isnan(found) != defined


@pytest.mark.parametrize("seed", range(2))
def test_a_response_that_s_explains_adds_nothing(seed):
    # What S leaves of it is rounding, of either sign.
    S, eta, _ = data_of(1, 1, seed)
    found = sequential_share(scatter_of(S, eta, S @ [1.0, -2.0, 0.3]), 3, 1)
    assert 0.5 < found <= 1.0 + 1e-12


# ------------------------------------------------------------ a fit on other rows


def engine_of(seed, n):
    rng = np.random.default_rng(seed)
    S = rng.normal([1.0, -2.0], size=(n, 2))
    X = rng.normal(size=(n, 3)) + S @ [[1.0, 0.5, 0.0], [0.0, 0.5, -1.0]]
    y = (X @ [1.0, 2.0, -1.0] + S @ [1.0, 3.0] + rng.normal(size=n))[:, None]
    return MemoryEngine(Rows((Slab(S),), (Slab(X),), tuple("stabc"), y, y))


@pytest.fixture(scope="module")
def fit():
    settings = ModelSettings(Ridge())
    problem = set_up(engine_of(2, 200), Gaussian(), StatisticalParity(), settings)
    return problem.solve(np.array([0.1]))[0].fit


@pytest.fixture(scope="module")
def other():
    return engine_of(3, 60)


@pytest.fixture(scope="module")
def rows(fit, other):
    """S, U, η and y of the other rows, by the training means and B."""
    S, X, y, _ = other.dense_columns()
    basis = fit.basis
    U = X - basis.center_predictors - (S - basis.center_sensitive) @ basis.B
    return S, U, fit.intercept + S @ fit.alpha + U @ fit.beta, y[:, 0]


@pytest.fixture(scope="module")
def measured(fit, other, rows):
    """Return a function from definitions to values on the other rows."""
    S, _, eta, y = rows
    scatter = scatter_of(S, eta, y)
    return lambda definition, **options: definition.held_out(fit, other, scatter, 2, 1, **options)


def in_pairs(alpha, S, y):
    scores = S @ alpha
    return np.sum(np.abs(y[:, None] - y) * (scores[:, None] - scores) ** 2)


@pytest.mark.parametrize(
    "definition",
    [PARITY, StatisticalParity(measure="deviance"), StatisticalParity(center=False)],
    ids=["variance", "deviance", "uncentered"],
)
def test_statistical_parity_is_r_squared_whatever_its_measure(measured, rows, definition):
    S, _, eta, _ = rows
    share = explained(eta, S) / np.sum((eta - eta.mean()) ** 2)
    assert measured(definition, adjusted=False) == pytest.approx(share, rel=1e-10)
    # 60 rows, two columns.
    expected = 1.0 - (1.0 - share) * 59 / 57
    assert measured(definition) == pytest.approx(expected, rel=1e-10)
    combined = Combined([definition, OPPORTUNITY], weights=[1.0, 0.0])
    assert measured(combined) == pytest.approx(expected, rel=1e-10)
    assert measured(combined, adjusted=False) == pytest.approx(share, rel=1e-10)


def test_equality_of_opportunity(measured, rows):
    S, _, eta, y = rows
    expected = explained(eta, S) / explained(eta, np.column_stack([S, y]))
    assert measured(OPPORTUNITY) == pytest.approx(expected, rel=1e-10)


def test_individual_fairness_goes_over_pairs_of_the_other_rows(measured, fit, rows):
    S, _, _, y = rows
    expected = in_pairs(fit.alpha, S, y) / in_pairs(fit.unconstrained().alpha, S, y)
    assert measured(INDIVIDUAL) == pytest.approx(expected, rel=1e-10)


def test_combinations_combine_values_on_the_other_rows(measured):
    parts = [PARITY, OPPORTUNITY, INDIVIDUAL]
    values = [measured(part) for part in parts]
    assert len(set(values)) == 3
    assert measured(Combined(parts)) == max(values)
    assert measured(Combined(parts, how="mean")) == pytest.approx(np.mean(values), rel=1e-12)
    weighted = Combined([INDIVIDUAL, Combined([PARITY, OPPORTUNITY])], weights=[3.0, 1.0])
    expected = (3.0 * values[2] + max(values[:2])) / 4.0
    assert measured(weighted) == pytest.approx(expected, rel=1e-12)


def test_a_function_sees_the_other_rows(measured, fit, rows):
    S, U, eta, y = rows
    seen = {}

    def look(moved):
        seen.update(S=moved.S, U=moved.U, eta=moved.linear_predictor(), y=moved.y)
        seen.update(free=moved.unconstrained().S, alpha=moved.alpha, weights=moved.weights)
        return 0.25

    assert measured(CallableDefinition(look)) == 0.25
    expected = {"S": S, "U": U, "eta": eta, "y": y, "free": S, "alpha": fit.alpha}
    for name, value in expected.items():
        np.testing.assert_allclose(seen[name], value, rtol=1e-12, err_msg=name)
    np.testing.assert_array_equal(seen["weights"], np.ones(60))


def test_the_fit_itself_is_left_alone(measured, fit):
    before = fit.engine, fit.deviance, fit.sensitive_variance
    measured(CallableDefinition(lambda moved: moved.deviance))
    measured(INDIVIDUAL)
    assert (fit.engine, fit.deviance, fit.sensitive_variance) == before
