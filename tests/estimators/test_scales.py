"""Units of columns, weights and responses change the scale of results, and nothing else."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    ConvexFairClassifier,
    ConvexFairRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    SteinbergRegressor,
    ZafarClassifier,
    ZafarRegressor,
    cross_validate,
    sources,
)
from tests.zoo import crossed

N = 120
RNG = np.random.default_rng(6)
SEX = RNG.integers(0, 2, N).astype(float)
S = np.column_stack([SEX, RNG.normal(size=N)])
X = RNG.normal(size=(N, 3)) + S @ [[1.0, 0.0, 0.2], [0.5, 0.5, 0.0]]
ETA = S @ [0.8, 0.5] + X @ [0.5, -0.4, 0.2]
WEIGHT = RNG.integers(1, 4, N).astype(float)
RESPONSES = {
    "gaussian": ETA + RNG.normal(size=N),
    "poisson": RNG.poisson(np.exp(ETA)).astype(float),
    "gamma": RNG.gamma(2.0, np.exp(ETA) / 2.0),
    "tweedie": np.where(RNG.random(N) < 0.3, 0.0, RNG.gamma(2.0, np.exp(ETA) / 2.0)),
    "binomial": (RNG.random(N) < 1.0 / (1.0 + np.exp(-ETA))).astype(int),
    "multinomial": np.argmax(np.outer(ETA, [0, 1, -1]) + RNG.gumbel(size=(N, 3)), axis=1),
    "cox": np.column_stack([RNG.exponential(np.exp(-ETA)), RNG.random(N) < 0.7]),
}
# Family, estimator and options.
MODELS = {
    **{f: (f, FairRidgeRegressor, {"family": f}) for f in ("poisson", "gamma", "tweedie")},
    "ridge": ("gaussian", FairRidgeRegressor, {}),
    "raw ridge": ("gaussian", FairRidgeRegressor, {"standardize": False}),
    "radial": ("gaussian", FairRidgeRegressor, {"penalty": "radial"}),
    "lasso": ("gaussian", FairRidgeRegressor, {"penalty": "lasso"}),
    "opportunity": ("gaussian", FairRidgeRegressor, {"definition": "equality-of-opportunity"}),
    "individual": ("gaussian", FairRidgeRegressor, {"definition": "individual"}),
    "binomial": ("binomial", FairRidgeClassifier, {}),
    "lasso of classes": ("binomial", FairRidgeClassifier, {"penalty": "lasso"}),
    "multinomial": ("multinomial", FairRidgeClassifier, {}),
    "cox": ("cox", FairRidgeSurvival, {}),
    "komiyama": ("gaussian", KomiyamaRegressor, {}),
    "zafar": ("gaussian", ZafarRegressor, {}),
    "zafar of classes": ("binomial", ZafarClassifier, {}),
    "steinberg": ("gaussian", SteinbergRegressor, {}),
    "convex": ("gaussian", ConvexFairRegressor, {}),
    "convex of classes": ("binomial", ConvexFairClassifier, {}),
}
# Models whose λ does not grow with the weights, because what it multiplies does,
RELATIVE = {"radial", "komiyama", "convex", "convex of classes"}
# and those whose λ grows with the response.
LINEAR = {"lasso", "zafar"}
OF_GROUPS = {"steinberg", "convex", "convex of classes"}


@cache
def fitted(name, *, weights=1.0, response=1.0):
    family, kind, options = MODELS[name]
    y = RESPONSES[family]
    if response != 1.0:
        y = y * [response, 1.0] if family == "cox" else y * response
    sensitive = SEX if name in OF_GROUPS else S
    return kind(0.05, **options).fit(
        X, y, sensitive_features=sensitive, sample_weight=weights * WEIGHT
    )


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
@pytest.mark.parametrize("scale", [1e-240, 1e240])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "individual"])
def test_weights_may_have_any_scale(name, scale):
    model, expected = fitted(name, weights=scale), fitted(name)
    penalty = 1.0 if name in RELATIVE else scale
    # Cox's partial likelihood has the logarithm of the weights at risk.
    deviance = model.deviance_ / expected.deviance_ if name == "cox" else scale
    assert_same(model, expected, deviance=deviance, penalty=penalty)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"),
    [
        (name, scale)
        for name, (family, _, _) in MODELS.items()
        if family in ("gaussian", "gamma", "tweedie", "cox")
        for scale in (1e-140, 1e140 if family in ("gaussian", "cox") else 1e9)
    ],
)
def test_responses_may_have_any_scale(name, scale):
    family = MODELS[name][0]
    gaussian, power = family == "gaussian", {"gaussian": 2.0, "tweedie": 0.5}.get(family, 0.0)
    penalty = scale if name in LINEAR else scale**0.5 if family == "tweedie" else 1.0
    assert_same(
        fitted(name, response=scale),
        fitted(name),
        coefficients=scale if gaussian else 1.0,
        deviance=scale**power,
        penalty=penalty,
    )


def test_the_explained_deviance_of_tiny_amounts():
    y, scale = RESPONSES["tweedie"], 1e-30
    model = FairRidgeRegressor(0.05, family="tweedie").fit(X, y, sensitive_features=S)
    tiny = FairRidgeRegressor(0.05, family="tweedie").fit(X, y * scale, sensitive_features=S)
    expected = model.score(X, y, sensitive_features=S)
    assert tiny.score(X, y * scale, sensitive_features=S) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-90, 1e90])
@pytest.mark.parametrize("name", ["ridge", "individual", "binomial", "tweedie"])
def test_weights_of_streamed_rows_may_have_any_scale(name, scale):
    family, kind, options = MODELS[name]
    frame = pd.DataFrame(np.column_stack([S, X]), columns=list("abcde"))
    frame = frame.assign(y=RESPONSES[family], w=WEIGHT * scale)
    source = sources.frame(frame, response="y", sensitive=["a", "b"], weight="w", batch_rows=50)
    model = kind(0.05, **options).fit(source)
    assert_same(model, fitted(name), deviance=scale, penalty=scale)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_cross_validated_losses_do_not_depend_on_the_scale_of_weights(scale):
    frame = pd.DataFrame(np.column_stack([S, X, RESPONSES["gaussian"]]), columns=list("abcdey"))
    frames = [frame.assign(w=WEIGHT), frame.assign(w=WEIGHT * scale)]
    results = [
        cross_validate(
            FairRidgeRegressor(),
            sources.frame(f, response="y", sensitive=["a", "b"], weight="w"),
            None,
            unfairness=[0.0, 0.05, 1.0],
            cv=3,
            random_state=0,
        ).to_frame()
        for f in frames
    ]
    columns = ["loss", "train_loss"]
    np.testing.assert_allclose(results[1][columns], results[0][columns], rtol=1e-9)


@pytest.mark.parametrize(("scale", "size"), [(1e-260, "small"), (1e260, "large")])
@pytest.mark.parametrize("what", ["weight", "y", "s0", "x1"])
def test_numbers_that_cannot_be_squared_are_refused(what, scale, size):
    values = {"weight": np.ones(N), "y": RESPONSES["gaussian"], "s": S, "x": X}
    column = int(what[1]) if what[1:].isdigit() else slice(None)
    values = {name: array.copy() for name, array in values.items()}
    part = values[what if what in values else what[0]]
    part[..., column] *= scale
    message = (
        f"sample_weight is too {size} to compute with"
        if what == "weight"
        else f"Column '{what}' holds numbers too {size} to square"
    )
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor().fit(
            values["x"], values["y"], sensitive_features=values["s"], sample_weight=values["weight"]
        )


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pairs_of_weights_that_cannot_be_multiplied_are_refused(scale):
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        fitted("individual", weights=scale)
    model = fitted("individual", weights=np.sqrt(scale))
    assert_same(model, fitted("individual"), deviance=np.sqrt(scale), penalty=np.sqrt(scale))


def test_streamed_weights_that_cannot_be_squared_are_refused():
    frame = pd.DataFrame(np.column_stack([S, X]), columns=list("abcde"))
    frame = frame.assign(y=RESPONSES["gaussian"], w=1e-260)
    source = sources.frame(frame, response="y", sensitive=["a", "b"], weight="w")
    with pytest.raises(ValueError, match="weight column 'w' is too small"):
        FairRidgeRegressor().fit(source)


# ------------------------------------------------------------------- rank decisions


@crossed(
    scaled_column=[
        *(("sensitive", unit) for unit in (1e-7, 1e4, 1e7)),
        *(("predictors", unit) for unit in (1e-20, 1e4, 1e8, 1e20)),
    ],
    family=["gaussian", "binomial"],
    shifted=["nothing", "y", "s", "x"],
)
def test_no_unit_and_no_origin_makes_a_column_collinear(scaled_column, family, shifted):
    """One column in other units, and one far from zero: the same model without standardizing."""
    side, unit = scaled_column
    kind = FairRidgeRegressor if family == "gaussian" else FairRidgeClassifier
    plain = S, X, RESPONSES[family]
    sensitive, predictors, y = (array.astype(float) for array in plain)
    scaled = sensitive if side == "sensitive" else predictors
    if shifted == "y" and family == "gaussian":
        y = y + 1e8
    if shifted in ("s", "x"):
        (sensitive if shifted == "s" else predictors)[:, 0] += 1e8
    scaled[:, 1] *= unit
    models = [
        kind(1.0, standardize=standardize).fit(A, b, sensitive_features=C)
        for standardize, (C, A, b) in (
            (False, (sensitive, predictors, y)),
            (True, plain),
        )
    ]
    assert models[0].deviance_ == pytest.approx(models[1].deviance_, rel=1e-6)
    scale = np.array([1.0, unit, 1.0])[: scaled.shape[1]]
    expected = models[1].alpha_ if side == "sensitive" else models[1].beta_
    found = models[0].alpha_ if side == "sensitive" else models[0].beta_
    np.testing.assert_allclose(found * scale, expected, rtol=1e-5)
    assert models[0].status_ == "inactive"


@pytest.mark.parametrize("unit", [1.0, 1e7])
def test_collinear_columns_of_different_units_are_found_without_standardizing(unit):
    """Of a, b, a + b and a constant two directions are left, and the bound holds for them."""
    a, b = S.T
    collinear = np.column_stack([a, b * unit, a + b, np.full(N, 3.0)])
    with pytest.warns(UserWarning, match="linear combinations"):
        model = FairRidgeRegressor(0.05, standardize=False).fit(
            X, RESPONSES["gaussian"], sensitive_features=collinear
        )
    predicted = model.predict(X, sensitive_features=collinear)
    centered = S - S.mean(0)
    onto = centered @ np.linalg.lstsq(centered, predicted, rcond=None)[0]
    assert onto.var() / predicted.var() == pytest.approx(0.05, rel=1e-7)
