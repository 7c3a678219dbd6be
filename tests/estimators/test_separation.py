"""Columns that separate the responses: a small ridge holds them, and a warning names them."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairridge.exceptions import BoundWarning, DataWarning
from tests import zoo
from tests.estimators.held import RIDGE, held_cox, held_glm, standardized
from tests.zoo import LateModule, means, pairwise, quietly, statsmodels_family

sm = LateModule("statsmodels.api")

N = 300
GLMS = ["binomial", "probit", "cloglog", "poisson", "tweedie", "quasi-binomial"]
BOUNDS = [0.0, 0.01, 0.05, 0.2, 0.4, 0.7, 1.0]
HELD = (
    r"^Column\(s\) 'x1' separate the responses: their coefficients \(-?[\d.]+\) have no finite val"
)


def columns(seed=5):
    """Return S, X and which rows are in the level that X[:, 1] stands for."""
    rng = np.random.default_rng(seed)
    s, level = rng.normal(size=N), rng.random(N) < 0.15
    x = rng.normal(size=N) + 0.5 * s
    return s[:, None], np.column_stack([x, level]), level


def respond(family, S, X, level, seed=3):
    """Draw responses; those of the level are all zero, the first class, or no events."""
    eta = 0.8 * X[:, 0] + 0.7 * S[:, 0]
    name = "binomial" if family in ("probit", "cloglog") else family
    y = zoo.responses(eta, seed, labels=(0, 1))[name].astype(float)
    if family == "cox":
        y[level, 1] = 0.0
        return y
    return np.where(level, 0.0, y).astype(int if family == "multinomial" else float)


def model_of(family, r=1.0, **options):
    return zoo.model_of(family, r, **{"separation": "warn", **options})


def quiet_fit(model, S, X, y, **options):
    return quietly(model.fit, X, y, sensitive_features=S, **options)


# -------------------------------------------------------------- without a bound


@pytest.mark.parametrize(
    ("family", "weighted", "blind"), pairwise(GLMS, [False, True], [False, True])
)
def test_the_model_without_a_bound_is_a_ridge_regression(family, weighted, blind):
    S, X, level = columns()
    y = respond(family, S, X, level)
    weight = np.random.default_rng(1).integers(1, 4, N).astype(float) if weighted else None
    with pytest.warns(DataWarning, match=HELD) as record:
        model = model_of(family, blind=blind).fit(X, y, sensitive_features=S, sample_weight=weight)
    assert len(record) == 1
    assert (model.status_, model.converged_) == ("inactive", True)
    Z = standardized(X, weight=weight) if blind else standardized(S, X, weight=weight)
    expected, deviance = held_glm(family, Z, y, weight=weight)
    given = {} if blind else {"sensitive_features": S}
    np.testing.assert_allclose(means(model, X, **given)[:, 0], expected, rtol=1e-6, atol=1e-10)
    assert model.deviance_ == pytest.approx(deviance, rel=1e-9)


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("family", ["binomial", "multinomial"])
def test_classes_have_the_ridge_of_scikit_learn(family, blind):
    S, X, level = columns()
    y = respond(family, S, X, level).astype(int)
    model = quiet_fit(model_of(family, blind=blind), S, X, y)
    Z = standardized(X) if blind else standardized(S, X)
    theirs = LogisticRegression(C=1.0 / (RIDGE * N), solver="newton-cg", tol=1e-10, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last line search finds nothing left to gain
        expected = theirs.fit(Z, y).predict_proba(Z)
    given = {} if blind else {"sensitive_features": S}
    np.testing.assert_allclose(model.predict_proba(X, **given), expected, atol=1e-7)
    deviance = -2.0 * np.log(expected[np.arange(N), y]).sum()
    assert model.deviance_ == pytest.approx(deviance, rel=1e-9)


def test_a_cox_model_has_the_same_ridge():
    S, X, level = columns()
    y = respond("cox", S, X, level)
    with pytest.warns(DataWarning, match=HELD):
        model = model_of("cox").fit(X, y, sensitive_features=S)
    Z = standardized(S, X)
    theta, deviance = held_cox(Z, y)
    assert model.deviance_ == pytest.approx(deviance, rel=1e-10)
    ours = model.predict(X, sensitive_features=S)
    np.testing.assert_allclose(ours - ours.mean(), Z @ theta, atol=1e-6)


@pytest.mark.parametrize("family", ["multinomial", "cox"])
def test_an_attribute_that_separates_is_held_too(family):
    S, X, level = columns()
    y = respond(family, S, X, level)
    with pytest.warns(DataWarning, match=r"^Column\(s\) 's1' separate") as record:
        model = model_of(family).fit(X[:, :1], y, sensitive_features=np.column_stack([S, level]))
    assert len(record) == 1
    assert "without violating the bound" not in str(record[0].message)
    assert model.converged_
    assert 5.0 < np.abs(model.alpha_).max() < 50.0


# ------------------------------------------------------------------------ bounds


@pytest.mark.parametrize(
    ("family", "definition", "seed"),
    [
        ("binomial", "mean-parity", 5),
        ("poisson", "individual", 12),
        ("cox", "statistical-parity", 5),
    ],
)
def test_a_path_equals_its_models(family, definition, seed):
    S, X, level = columns(seed)
    y, bounds = respond(family, S, X, level, seed), BOUNDS[::2]
    path = quietly(
        model_of(family, definition=definition).path, X, y, sensitive_features=S, unfairness=bounds
    )
    for k, r in enumerate(bounds):
        model = quiet_fit(model_of(family, r, definition=definition), S, X, y)
        assert path.status[k] == model.status_
        assert path.achieved[k] == pytest.approx(model.unfairness_, abs=1e-7)
        assert path.deviance[k] == pytest.approx(model.deviance_, rel=1e-8)
        np.testing.assert_allclose(path.beta[k], model.beta_, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "definition", "options"),
    [
        (5, "statistical-parity", {"penalty": "lasso"}),
        (12, "equality-of-opportunity", {}),
        (3, "equality-of-opportunity", {"standardize": False}),
    ],
)
def test_every_bound_is_met(definition, seed, options):
    S, X, level = columns(seed)
    for family in ("binomial", "multinomial"):
        y = respond(family, S, X, level, seed)
        for r in BOUNDS[1::2]:
            model = model_of(family, r, definition=definition, **options)
            with warnings.catch_warnings(record=True) as record:
                warnings.simplefilter("always")
                model.fit(X, y, sensitive_features=S)
            # Under absolute values minima may jump over a bound, and this is said.
            jumped = [w for w in record if "room to spare" in str(w.message)]
            assert bool(jumped) == (model.status_ == "jumped")
            assert {w.category for w in record} <= {DataWarning, BoundWarning}
            assert model.status_ in ("inactive", "converged", "jumped", "separated")
            assert model.unfairness_ <= r + 1e-9
            assert np.isfinite(model.coef_).all()


def test_a_bound_that_predictions_of_other_rows_escape_is_said():
    rng = np.random.default_rng(0)
    S, x, rare = rng.normal(size=(N, 1)), rng.normal(size=N), np.arange(N) < 6
    y = (rng.random(N) < expit(x + 1.5 * S[:, 0])) & ~rare
    X = np.column_stack([x, rare])
    with pytest.warns(
        DataWarning, match=r"'x1' separate .*without violating the bound.*mean-parity'"
    ) as r:
        model = model_of("binomial", 0.02).fit(X, y, sensitive_features=S)
    assert len(r) == 1
    assert (model.status_, model.converged_) == ("separated", False)
    seen = quiet_fit(model_of("binomial", 0.02, definition="mean-parity"), S, X, y)
    assert (seen.status_, seen.converged_) == ("converged", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = model_of("binomial", 0.02, predictor_penalty=5.0).fit(X, y, sensitive_features=S)
    assert held.status_ == "converged"
    nearly = model_of("binomial", 0.02, predictor_penalty=1e-4)
    with pytest.warns(DataWarning, match="'x1' separate .* are extreme.*a larger predictor_pen"):
        nearly.fit(X, y, sensitive_features=S)


# ------------------------------------------------------------- not quite separated


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_one_event_in_a_level_is_enough(family):
    rng = np.random.default_rng(8)
    S, level = rng.normal(size=(3000, 1)), np.arange(3000) < 300
    X = np.column_stack([rng.normal(size=3000) + S[:, 0], level])
    y = zoo.responses(0.5 * X[:, 0] + S[:, 0], 4, labels=(0, 1))[family].astype(float)
    y[level] = np.arange(300) == 17
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_of(family).fit(X, y, sensitive_features=S)
    D = np.column_stack([np.ones(3000), S, X])
    theirs = sm.GLM(y, D, statsmodels_family(family)).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(np.ravel(model.coef_), theirs.params[1:], rtol=1e-8)
    assert model.deviance_ == pytest.approx(theirs.deviance, rel=1e-12)
    bounds = [0.02, 0.1, 1.0]
    path = quietly(model_of(family).path, X, y, sensitive_features=S, unfairness=bounds)
    np.testing.assert_allclose(path.achieved[:2], bounds[:2], atol=1e-9)
    assert path.deviance[-1] == pytest.approx(theirs.deviance, rel=1e-12)
