"""A sparse X gives the model of the same X as a dense array, and is never written out."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
)
from fairridge.engines import memory
from fairridge.exceptions import DataWarning
from fairridge.fairness import Combined, MaximalCorrelation, StatisticalParity
from fairridge.families import NegativeBinomial
from fairridge.search import setup as limits
from fairridge.search.sparse import SparseProblem
from tests.zoo import model_of

N, P = 150, 40


@pytest.fixture(scope="module")
def rows():
    """150 rows and 40 columns: counts, a dense one, one of zeros, one in the span of S."""
    rng = np.random.default_rng(18)
    S = np.column_stack([rng.normal(size=N), rng.integers(0, 2, N)])
    X = np.where(rng.random((N, P)) < 0.1, 1.0 + rng.poisson(1.0, (N, P)), 0.0)
    X[:, 3] += S[:, 0] > 0.5
    X[:, 7] = 100.0 + rng.normal(size=N)
    X[:, 9] = 0.0
    X[:, 11] = 2.0 * S[:, 1]
    eta = 0.5 * X[:, :6] @ rng.normal(size=6) + S @ [1.0, -0.8]
    y = eta - eta.mean() + rng.normal(size=N)
    return SimpleNamespace(
        S=S,
        dense=X,
        X=sparse.csr_array(X),
        gaussian=y,
        poisson=rng.poisson(np.exp(0.4 * y)).astype(float),
        binomial=(y > 0.0).astype(int),
        multinomial=np.digitize(y, [-0.7, 0.7]),
        weight=rng.uniform(0.5, 2.0, N),
    )


@pytest.fixture
def many(monkeypatch):
    """Take more than 10 columns for many, which are solved by iteration."""
    monkeypatch.setattr(memory, "MAX_GRAM_COLUMNS", 10)


def assert_same(model, expected, rtol=1e-8):
    for name in (
        "coef_",
        "intercept_",
        "alpha_",
        "beta_",
        "explained_by_sensitive_",
        "deviance_",
        "loglik_",
        "explained_deviance_",
        "unfairness_",
        "lambda_",
    ):
        found, wanted = np.asarray(getattr(model, name)), np.asarray(getattr(expected, name))
        size = np.abs(wanted).max()
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * size, err_msg=name)
    for name in ("dependence_", "group_differences_", "unfairness_components_"):
        assert getattr(model, name) == pytest.approx(getattr(expected, name), rel=1e-7, abs=1e-9)
    assert model.status_ == expected.status_
    assert model.fingerprint_ == expected.fingerprint_


def both(model, rows, y, **options):
    """Fit to the sparse X, and to the dense one."""
    twin = clone(model)
    model.fit(rows.X, y, sensitive_features=rows.S, **options)
    twin.fit(rows.dense, y, sensitive_features=rows.S, **options)
    return model, twin


# ------------------------------------------------------------------ few columns


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_few_columns_of_any_format(rows, make):
    model, twin = FairRidgeRegressor(0.05), FairRidgeRegressor(0.05)
    with pytest.warns(DataWarning, match="'x9', 'x11'"):
        model.fit(make(rows.dense), rows.gaussian, sensitive_features=rows.S)
    with pytest.warns(DataWarning, match="'x9', 'x11'"):
        twin.fit(rows.dense, rows.gaussian, sensitive_features=rows.S)
    assert_same(model, twin)


def test_sensitive_columns_of_a_sparse_matrix(rows):
    both = sparse.hstack([sparse.csr_array(rows.S), rows.X], format="csc")
    dense = np.hstack([rows.S, rows.dense])
    options = {"sensitive": [0, 1], "predictor_penalty": 1.0}
    model = FairRidgeRegressor(0.05, **options).fit(both, rows.gaussian)
    twin = FairRidgeRegressor(0.05, **options).fit(dense, rows.gaussian)
    assert_same(model, twin)
    np.testing.assert_allclose(model.predict(both), twin.predict(dense), rtol=1e-9)
    deviations = [m.predict(z, return_std=True)[1] for m, z in ((model, both), (twin, dense))]
    np.testing.assert_allclose(*deviations, rtol=1e-9)
    np.testing.assert_allclose(
        model.inference(both, rows.gaussian).standard_errors,
        twin.inference(dense, rows.gaussian).standard_errors,
        rtol=1e-7,
    )


# ----------------------------------------------------------------- many columns


@pytest.mark.parametrize(
    ("family", "penalty", "standardize"),
    [
        ("gaussian", "ridge", True),
        ("gaussian", "lasso", False),
        ("binomial", "lasso", True),
        ("poisson", "ridge", False),
        ("multinomial", "ridge", True),
    ],
)
def test_many_columns_give_the_model_of_the_dense_ones(many, rows, family, penalty, standardize):
    options = {"penalty": penalty, "predictor_penalty": 0.7, "standardize": standardize}
    weight = rows.weight if standardize else None
    y = getattr(rows, family)
    assert_same(*both(model_of(family, **options), rows, y, sample_weight=weight))


def seen(fit):
    """A definition that looks at columns, coefficients and predictors."""
    np.testing.assert_allclose(
        fit.linear_predictor(), fit.intercept + fit.S @ fit.alpha + fit.U @ fit.beta, rtol=1e-8
    )
    ours, theirs = np.var(fit.S @ fit.alpha), np.var(fit.U @ fit.beta)
    return float(ours / (ours + theirs + 1e-3 * fit.beta @ fit.beta))


DEFINITIONS = {
    "individual": "individual",
    "several": Combined([StatisticalParity(), MaximalCorrelation()]),
    "function": seen,
}


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
def test_definitions_see_the_same(many, rows, definition):
    model = model_of("gaussian", definition=definition, predictor_penalty=0.7)
    assert_same(*both(model, rows, rows.gaussian), rtol=1e-7)


def test_what_is_negligible_is_not_dropped(many, rows):
    """A column that S explains but for a millionth is a column all the same."""
    X = rows.dense.copy()
    X[:, 11] = 2.0 * rows.S[:, 1] + 1e-6 * np.random.default_rng(0).poisson(0.2, N)
    near = SimpleNamespace(S=rows.S, dense=X, X=sparse.csr_array(X))
    model, twin = both(model_of("gaussian", predictor_penalty=1.0), near, rows.gaussian)
    assert model.beta_[11] != 0.0
    np.testing.assert_allclose(model.beta_, twin.beta_, rtol=1e-6)


def test_the_way_is_by_iteration(many, rows):
    path = model_of("gaussian", predictor_penalty=1.0).path(
        rows.X, rows.gaussian, sensitive_features=rows.S, unfairness=[0.05, 0.5]
    )
    problem = path._origin[2]
    assert isinstance(problem, SparseProblem)
    assert problem.space.compressed
    assert problem.space.directions.shape == (P, 1)  # β is the same at every bound
    # A few features say nothing of the leverage of rows: λ₂ is chosen in folds.
    assert not problem.has_leave_one_out


@pytest.mark.slow
def test_columns_that_no_matrix_could_hold():
    """Neither X (200 MB) nor a matrix of its columns (as large) is ever formed."""
    rng, n, p = np.random.default_rng(3), 5_000, 5_000
    X = sparse.random_array((n, p), density=5.0 / p, rng=rng, format="csr")
    S = rng.normal(size=n)
    y = X @ rng.normal(size=p) + S
    tracemalloc.start()
    model = FairRidgeClassifier(0.05, predictor_penalty=10.0)
    model.fit(X, y > 0.0, sensitive_features=S)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.unfairness_ == pytest.approx(0.05, abs=1e-9)
    assert peak < 40e6


# ------------------------------------------------------------------------ input


def test_entries_given_twice_add_up_and_the_matrix_stays_as_it_is(rows):
    data, index = np.array([1.0, 2.0, 0.0, 4.0] * N), np.tile([2, 2, 0, 1], N)
    X = sparse.csr_array((data, index, np.arange(0, 4 * N + 1, 4)), shape=(N, 3))
    X.data[:400] += rows.gaussian.repeat(4)[:400]
    before = X.data.copy(), X.indices.copy(), X.toarray()
    model = FairRidgeRegressor(0.05, predictor_penalty=1.0)
    found = model.fit(X, rows.gaussian, sensitive_features=rows.S).coef_.copy()
    wanted = model.fit(before[2], rows.gaussian, sensitive_features=rows.S).coef_
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])


@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "has 8 missing"), (np.inf, "contains infinity")]
)
def test_numbers_that_are_none_are_named(many, rows, value, word):
    X = rows.X.copy()
    X.data[X.indices == 5] = value
    with pytest.raises(ValueError, match=f"'x5' {word}"):
        FairRidgeRegressor(predictor_penalty=1.0).fit(X, rows.gaussian, sensitive_features=rows.S)


REFUSED = {
    "no penalty": ({"predictor_penalty": 0.0}, "set predictor_penalty > 0"),
    "blind": ({"blind": True}, "leave blind=True out"),
    "controls": ({"controls": [3]}, "leave controls out"),
    "confidence": ({"confidence": 0.9}, "leave confidence out"),
    "open family": ({"family": NegativeBinomial()}, "family its dispersion"),
    "means": ({"definition": "mean-parity", "family": "poisson"}, "'mean-parity' needs products"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_needs_a_matrix_of_many_columns_is_refused(many, rows, monkeypatch, options, message):
    monkeypatch.setattr(limits, "MAX_DENSE_COLUMNS", 30)
    model = FairRidgeRegressor(0.05, **({"predictor_penalty": 1.0} | options))
    with pytest.raises(ValueError, match=f"{message}.* 40 columns: more than 30"):
        model.fit(rows.X, rows.poisson, sensitive_features=rows.S)


def test_standard_errors_of_many_columns_are_refused(many, rows):
    model = FairRidgeRegressor(0.05, predictor_penalty=1.0)
    model.fit(rows.X, rows.gaussian, sensitive_features=rows.S)
    with pytest.raises(ValueError, match="500 sparse ones"):
        model.inference(rows.X, rows.gaussian, sensitive_features=rows.S)
    with pytest.raises(ValueError, match="return_std is for models of few sparse columns"):
        model.predict(rows.X, sensitive_features=rows.S, return_std=True)
