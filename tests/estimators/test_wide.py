"""More predictors than rows: the model in features is the model in columns."""

import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.engines import columns as column_module
from fairridge.exceptions import DataWarning
from fairridge.fairness import Combined, MaximalCorrelation, StatisticalParity
from tests.zoo import model_of

N, P = 24, 40


@pytest.fixture
def wide():
    """24 rows, 2 sensitive columns, 40 predictors, and a response for every family."""
    rng = np.random.default_rng(70)
    S = rng.normal([1.0, 5.0], 1.0, size=(N, 2))
    X = rng.normal(size=(N, P)) * np.exp(rng.normal(size=P)) + 3.0 * rng.normal(size=P)
    X[:, ::3] += 0.7 * S[:, :1]
    eta = 0.3 * X[:, :6] @ rng.normal(size=6) + S @ [1.0, -0.5]
    y = eta - eta.mean() + rng.normal(size=N)
    return SimpleNamespace(
        S=S,
        X=X,
        gaussian=y,
        poisson=rng.poisson(np.exp(0.4 * y)).astype(float),
        binomial=(y > 0.0).astype(int),
        multinomial=np.digitize(y, [-0.7, 0.7]),
        cox=np.column_stack([np.exp(-0.3 * y), rng.random(N) < 0.8]),
        weight=rng.uniform(0.5, 2.0, N),
    )


def assert_solved_in_columns(model, X, y, S, weight=None, rtol=1e-8):
    """Every row twice at half its weight is the same problem, with more rows than columns."""
    weight = np.ones(N) if weight is None else weight
    columns = clone(model).fit(
        np.repeat(X, 2, axis=0),
        np.repeat(y, 2, axis=0),
        sensitive_features=np.repeat(S, 2, axis=0),
        sample_weight=np.repeat(weight, 2) / 2.0,
    )
    for name in (
        "alpha_", "beta_", "coef_", "explained_by_sensitive_", "deviance_", "dispersion_", "loglik_"
    ):  # fmt: skip
        found, expected = getattr(model, name), getattr(columns, name)
        atol = rtol * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=name)
    np.testing.assert_allclose(model.lambda_, columns.lambda_, rtol=1e-6)
    assert model.unfairness_ == pytest.approx(columns.unfairness_, abs=1e-9)
    assert model.unfairness_components_ == pytest.approx(
        columns.unfairness_components_, rel=1e-7, abs=1e-9
    )
    assert model.status_ == columns.status_


@pytest.mark.parametrize(
    ("family", "penalty", "standardize", "weighted"),
    [
        ("gaussian", "ridge", True, True),
        ("gaussian", "lasso", False, False),
        ("binomial", "lasso", True, False),
        ("poisson", "ridge", False, True),
        ("multinomial", "ridge", True, False),
        ("cox", "ridge", True, True),
    ],
)
def test_features_give_the_model_of_the_columns(wide, family, penalty, standardize, weighted):
    options = {"penalty": penalty, "predictor_penalty": 0.7, "standardize": standardize}
    y, weight = getattr(wide, family), wide.weight if weighted else None
    model = model_of(family, **options)
    model.fit(wide.X, y, sensitive_features=wide.S, sample_weight=weight)
    assert_solved_in_columns(model, wide.X, y, wide.S, weight)


def seen(fit):
    """A definition that looks at columns and coefficients."""
    assert fit.U.shape[1] == P
    assert fit.beta.shape == (P,)
    np.testing.assert_allclose(fit.U @ fit.beta, (fit.U - fit.U.mean(axis=0)) @ fit.beta, atol=1e-9)
    ours, theirs = np.var(fit.S @ fit.alpha), np.var(fit.U @ fit.beta)
    assert fit.predictor_variance == pytest.approx(theirs, rel=1e-9)
    return float(ours / (ours + theirs + 1e-3 * fit.beta @ fit.beta))


DEFINITIONS = {
    "individual": "individual",
    "several": Combined([StatisticalParity(), MaximalCorrelation()]),
    "function": seen,
}


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_definitions_see_the_same(wide, family, definition):
    y = getattr(wide, family)
    model = model_of(family, definition=definition, predictor_penalty=0.7)
    model.fit(wide.X, y, sensitive_features=wide.S)
    assert_solved_in_columns(model, wide.X, y, wide.S, rtol=1e-7)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_without_a_penalty_the_shortest_coefficients_are_used(wide, family):
    y = getattr(wide, family)
    model = model_of(family, 0.3)
    with pytest.warns(DataWarning, match=r"'x21', 'x22', .* and 14 more .* minimum-norm"):
        model.fit(wide.X, y, sensitive_features=wide.S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert_solved_in_columns(model, wide.X, y, wide.S, rtol=1e-6)
    if family == "gaussian":  # the rows are met where S is free to help
        free = FairRidgeRegressor(1.0)
        with pytest.warns(DataWarning):
            free.fit(wide.X, y, sensitive_features=wide.S)
        np.testing.assert_allclose(free.predict(wide.X, sensitive_features=wide.S), y, atol=1e-8)


def test_no_second_matrix_is_made(monkeypatch):
    monkeypatch.setattr(column_module, "BATCH_BYTES", 1 << 18)
    rng = np.random.default_rng(73)
    X, S = rng.normal(size=(250, 6_000)), rng.integers(0, 2, 250)
    y = X[:, 0] + S
    model = FairRidgeRegressor(predictor_penalty=1.0)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, sensitive_features=S)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.4 * X.nbytes


def test_separated_columns_are_named_as_columns(wide):
    X = wide.X.copy()
    X[:, 5] = 20.0 * (wide.binomial - 0.5) + 0.1 * X[:, 5]
    X[:, 6:] *= 1e-3
    model = FairRidgeClassifier(1.0, standardize=False)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X, wide.binomial, sensitive_features=wide.S)
    (message,) = [str(w.message) for w in record if "separate the responses" in str(w.message)]
    assert "'x5'" in message
    assert "'x7'" not in message
    assert "'f" not in message
