"""Units of columns, weights and responses change the scale of results, and nothing else."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    cross_validate,
    sources,
)

N = 120
RNG = np.random.default_rng(6)
SEX = RNG.integers(0, 2, N).astype(float)
S = np.column_stack([SEX, RNG.normal(size=N)])
X = RNG.normal(size=(N, 3)) + S @ [[1.0, 0.0, 0.2], [0.5, 0.5, 0.0]]
ETA = S @ [0.8, 0.5] + X @ [0.5, -0.4, 0.2]
WEIGHT = RNG.integers(1, 4, N).astype(float)
RESPONSES = {
    "gaussian": ETA + RNG.normal(size=N),
    "tweedie": np.where(RNG.random(N) < 0.3, 0.0, RNG.gamma(2.0, np.exp(ETA) / 2.0)),
    "binomial": (RNG.random(N) < 1.0 / (1.0 + np.exp(-ETA))).astype(int),
    "cox": np.column_stack([RNG.exponential(np.exp(-ETA)), RNG.random(N) < 0.7]),
}
# Family, estimator and options.
MODELS = {
    "tweedie": ("tweedie", FairRidgeRegressor, {"family": "tweedie"}),
    "ridge": ("gaussian", FairRidgeRegressor, {}),
    "lasso": ("gaussian", FairRidgeRegressor, {"penalty": "lasso"}),
    "individual": ("gaussian", FairRidgeRegressor, {"definition": "individual"}),
    "cox": ("cox", FairRidgeSurvival, {}),
    "komiyama": ("gaussian", KomiyamaRegressor, {}),
}
# The λ of lasso grows with the response, and that of Komiyama's model not with the weights.


@cache
def fitted(name, *, weights=1.0, response=1.0):
    family, kind, options = MODELS[name]
    y = RESPONSES[family]
    if response != 1.0:
        y = y * [response, 1.0] if family == "cox" else y * response
    return kind(0.05, **options).fit(X, y, sensitive_features=S, sample_weight=weights * WEIGHT)


def assert_same(model, expected, *, coefficients=1.0, deviance=1.0, penalty=1.0):
    assert model.status_ == expected.status_ == "converged"
    for name, scale in (
        ("alpha_", coefficients),
        ("beta_", coefficients),
        ("lambda_", penalty),
        ("deviance_", deviance),
        ("unfairness_", 1.0),
    ):
        found, wanted = getattr(model, name) / scale, getattr(expected, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-12, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name != "individual"])
def test_weights_may_have_any_scale(name):
    scale = 1e-240
    model, expected = fitted(name, weights=scale), fitted(name)
    penalty = 1.0 if name == "komiyama" else scale
    # Cox's partial likelihood has the logarithm of the weights at risk.
    deviance = model.deviance_ / expected.deviance_ if name == "cox" else scale
    assert_same(model, expected, deviance=deviance, penalty=penalty)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, 1e-140 if name in ("ridge", "cox", "komiyama") else 1e9) for name in MODELS],
)
def test_responses_may_have_any_scale(name, scale):
    family = MODELS[name][0]
    gaussian, power = family == "gaussian", {"gaussian": 2.0, "tweedie": 0.5}.get(family, 0.0)
    penalty = scale if name == "lasso" else scale**0.5 if family == "tweedie" else 1.0
    assert_same(
        fitted(name, response=scale),
        fitted(name),
        coefficients=scale if gaussian else 1.0,
        deviance=scale**power,
        penalty=penalty,
    )


def streamed(weight):
    frame = pd.DataFrame(np.column_stack([S, X, RESPONSES["gaussian"]]), columns=list("abcdey"))
    return sources.frame(
        frame.assign(w=weight), response="y", sensitive=["a", "b"], weight="w", batch_rows=50
    )


def test_weights_of_streamed_rows_may_have_any_scale():
    scale = 1e-90
    model = FairRidgeRegressor(0.05).fit(streamed(WEIGHT * scale))
    assert_same(model, fitted("ridge"), deviance=scale, penalty=scale)
    options = {"unfairness": [0.0, 0.05, 1.0], "cv": 3, "random_state": 0}
    results = [
        cross_validate(FairRidgeRegressor(), streamed(WEIGHT * unit), None, **options).to_frame()
        for unit in (1.0, 1e30)
    ]
    columns = ["loss", "train_loss"]
    np.testing.assert_allclose(results[1][columns], results[0][columns], rtol=1e-9)
    with pytest.raises(ValueError, match="weight column 'w' is too small"):
        FairRidgeRegressor().fit(streamed(1e-260))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pairs_of_weights_that_cannot_be_multiplied_are_refused(scale):
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        fitted("individual", weights=scale)
    model = fitted("individual", weights=np.sqrt(scale))
    assert_same(model, fitted("individual"), deviance=np.sqrt(scale), penalty=np.sqrt(scale))


# ------------------------------------------------------------------- rank decisions


@pytest.mark.parametrize(
    ("side", "unit", "family", "shifted"),
    [
        ("sensitive", 1e-7, "gaussian", "x"),
        ("sensitive", 1e7, "binomial", "s"),
        ("predictors", 1e-20, "binomial", "x"),
        ("predictors", 1e8, "gaussian", "s"),
        ("predictors", 1e20, "gaussian", "y"),
    ],
)
def test_no_unit_and_no_origin_makes_a_column_collinear(side, unit, family, shifted):
    """One column in other units, and one far from zero: the same model without standardizing."""
    kind = FairRidgeRegressor if family == "gaussian" else FairRidgeClassifier
    plain = S, X, RESPONSES[family]
    sensitive, predictors, y = (array.astype(float) for array in plain)
    scaled = sensitive if side == "sensitive" else predictors
    if shifted == "y":
        y = y + 1e8
    else:
        (sensitive if shifted == "s" else predictors)[:, 0] += 1e8
    scaled[:, 1] *= unit
    models = [
        kind(1.0, standardize=standardize).fit(A, b, sensitive_features=C)
        for standardize, (C, A, b) in ((False, (sensitive, predictors, y)), (True, plain))
    ]
    assert models[0].deviance_ == pytest.approx(models[1].deviance_, rel=1e-6)
    scale = np.array([1.0, unit, 1.0])[: scaled.shape[1]]
    found, expected = (m.alpha_ if side == "sensitive" else m.beta_ for m in models)
    np.testing.assert_allclose(found * scale, expected, rtol=1e-5)
    assert models[0].status_ == "inactive"


# --------------------------------------------------------------------- small bounds


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_any_bound_gives_a_finite_model(name):
    """With λ ≥ 0, however small or near to 1 the bound is."""
    family, kind, options = MODELS[name]
    bounds = [0.0, 5e-324, 1e-310, 1e-160, 1e-30, np.nextafter(1.0, 0.0)]
    given = {"sensitive_features": S, "unfairness": bounds}
    path = kind(**options).path(X, RESPONSES[family], **given)
    for values in (path.alpha, path.beta, path.deviance, path.achieved):
        assert np.isfinite(values).all()
    assert (path.lambda_ >= 0.0).all()
    assert (path.achieved <= path.unfairness + 1e-10).all()
    assert set(path.status) <= {"converged", "inactive"}


@pytest.mark.parametrize(
    ("what", "scale", "message"),
    [
        ("weight", 1e-260, "sample_weight is too small to compute with"),
        ("y", 1e260, "Column 'y' holds numbers too large to square"),
    ],
)
def test_numbers_that_cannot_be_squared_are_refused(what, scale, message):
    unit = {what: scale}
    y, weight = RESPONSES["gaussian"] * unit.get("y", 1.0), np.full(N, unit.get("weight", 1.0))
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor().fit(X, y, sensitive_features=S, sample_weight=weight)
