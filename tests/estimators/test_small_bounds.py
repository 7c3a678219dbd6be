"""Every bound in [0, 1] gives a finite model with λ ≥ 0, however small or near to 1 it is."""

import numpy as np
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
)
from fairridge.fairness import Combined
from fairridge.peers.komiyama.problem import Block, place_of
from fairridge.solvers import Spectrum

N = 120
RNG = np.random.default_rng(3)
S = RNG.normal(size=(N, 2))
GROUP = (S[:, 0] > 0.0).astype(float)
X = RNG.normal(size=(N, 3)) + S @ [[1.0, 0.0, 0.2], [0.0, 1.0, 0.2]]
Y = X.sum(axis=1) + S.sum(axis=1) + 2.0 * RNG.normal(size=N)
CLASSES = (Y > 0.0).astype(int)
TIMES = np.column_stack([np.exp(-Y / 2.0), RNG.random(N) < 0.7])
MODELS = {
    "ridge": (FairRidgeRegressor, {}, Y),
    "raw ridge": (FairRidgeRegressor, {"standardize": False}, Y),
    "radial": (FairRidgeRegressor, {"penalty": "radial"}, Y),
    "lasso": (FairRidgeRegressor, {"penalty": "lasso"}, Y),
    "elastic net": (FairRidgeRegressor, {"penalty": "elastic-net"}, Y),
    "opportunity": (FairRidgeRegressor, {"definition": "equality-of-opportunity"}, Y),
    "individual": (FairRidgeRegressor, {"definition": "individual"}, Y),
    "strictest": (
        FairRidgeRegressor,
        {"definition": Combined(["statistical-parity", "individual"], how="max")},
        Y,
    ),
    "logistic": (FairRidgeClassifier, {}, CLASSES),
    "logistic lasso": (FairRidgeClassifier, {"penalty": "lasso"}, CLASSES),
    "logistic individual": (FairRidgeClassifier, {"definition": "individual"}, CLASSES),
    "survival": (FairRidgeSurvival, {}, TIMES),
    "komiyama": (KomiyamaRegressor, {}, Y),
    "komiyama, penalized": (KomiyamaRegressor, {"predictor_penalty": 3.0}, Y),
    "zafar": (ZafarRegressor, {}, Y),
    "zafar, covariance": (ZafarRegressor, {"bound": "covariance"}, Y),
    "zafar of classes": (ZafarClassifier, {}, CLASSES),
    "steinberg": (SteinbergRegressor, {}, Y),
    "convex": (ConvexFairRegressor, {}, Y),
    "convex of classes": (ConvexFairClassifier, {}, CLASSES),
}
SMALL = [5e-324, 1e-310, 1e-300, 1e-160, 1e-30]


def attributes(name):
    return GROUP if name.startswith(("steinberg", "convex")) else S


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_any_bound_gives_a_finite_model(name):
    kind, options, y = MODELS[name]
    given = {"sensitive_features": attributes(name)}
    path = kind(**options).path(X, y, unfairness=[0.0, *SMALL, np.nextafter(1.0, 0.0)], **given)
    for values in (path.alpha, path.beta, path.deviance, path.achieved):
        assert np.isfinite(values).all()
    assert (path.lambda_ >= 0.0).all()
    assert (path.achieved <= path.unfairness + 1e-10).all()
    assert set(path.status) <= {"converged", "inactive"}


@pytest.mark.parametrize("name", ["ridge", "radial", "komiyama", "logistic", "zafar of classes"])
def test_one_tiny_bound_alone(name):
    kind, options, y = MODELS[name]
    model = kind(1e-310, **options).fit(X, y, sensitive_features=attributes(name))
    assert model.unfairness_ <= 1e-13
    assert model.converged_
    assert np.isfinite(model.deviance_)


@pytest.mark.parametrize("name", ["ridge", "radial"])
def test_coefficients_shrink_with_the_root_of_the_bound(name):
    """Far below the data Sα is a multiple of √r, and λ of 1/√r, down to where numbers end."""
    kind, options, y = MODELS[name]
    path = kind(**options).path(X, y, sensitive_features=S, unfairness=[1e-300, 1e-100, 1e-30])
    np.testing.assert_allclose(path.alpha[0], path.alpha[2] * 1e-135, rtol=1e-9)
    np.testing.assert_allclose(
        path.lambda_[:2], path.lambda_[2] * np.array([1e135, 1e35]), rtol=1e-9
    )


def test_cross_validation_takes_tiny_bounds():
    found = cross_validate(
        FairRidgeRegressor(), X, Y, sensitive_features=S, unfairness=[1e-310, 1e-300, 0.0], cv=3
    ).to_frame()
    for _, fold in found.groupby("fold"):
        np.testing.assert_allclose(fold["loss"], fold["loss"].iloc[0], rtol=1e-12)


def test_no_multiplier_of_a_closed_form_is_negative():
    rng = np.random.default_rng(0)
    one = Spectrum(np.ones(1), np.ones((1, 1)), np.ones(1), ())
    for _ in range(1000):
        a, b = rng.uniform(0.1, 3.0, 2)
        r = a**2 / (a**2 + b**2) * (1.0 + rng.integers(-8, 9) * 2.0**-53)
        for penalty in (0.0, 1e-9):
            place = place_of(a, Block(one, np.array([b])), penalty, r, 1e-12)
            assert place.multiplier >= 0.0
