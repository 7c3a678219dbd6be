"""Posterior standard deviations of predicted means, beside a Gaussian process of n×n matrices."""

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_approximation import Nystroem

from fairridge import FairRidgeClassifier, FairRidgeRegressor, load, save, sources

N, Q, P = 60, 2, 4


def drawn(n=N, seed=0):
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.normal(size=n), rng.random(n) < 0.4]).astype(float)
    X = S @ rng.normal(size=(Q, P)) + rng.normal(size=(n, P))
    return np.hstack([S, X]), S.sum(axis=1) + X[:, 0] - np.sin(X[:, 1]) + rng.normal(size=n)


def kernel_side(model, S, X, y, new_S, new_X, lambda_S, weight):
    """Predict with the n×n covariance of the process, the intercept with a flat prior."""
    W = np.diag(weight)
    mean_S, mean_X = (np.average(part, axis=0, weights=weight) for part in (S, X))
    s, x, s_new, x_new = S - mean_S, X - mean_X, new_S - mean_S, new_X - mean_X
    B = np.linalg.lstsq(np.sqrt(W) @ s, np.sqrt(W) @ x, rcond=None)[0]
    u, u_new = x - s @ B, x_new - s_new @ B
    scale_S, scale_U = (np.sqrt(np.average(part**2, axis=0, weights=weight)) for part in (s, u))
    if not model.standardize:
        scale_S, scale_U = np.ones(Q), np.ones(x.shape[1])
    a, a_new, b, b_new = s / scale_S, s_new / scale_S, u / scale_U, u_new / scale_U
    second = model.predictor_penalty

    def kernel(s1, u1, s2, u2):
        first = 0.0 if np.isinf(lambda_S) else s1 @ s2.T / lambda_S
        return first + u1 @ u2.T / second

    C = kernel(a, b, a, b) + np.diag(1.0 / weight)
    cross, own = kernel(a_new, b_new, a, b), kernel(a_new, b_new, a_new, b_new)
    inverse, one = np.linalg.inv(C), np.ones(len(y))
    level = one @ inverse @ y / (one @ inverse @ one)
    mean = level + cross @ inverse @ (y - level)
    gap = 1.0 - cross @ inverse @ one
    variance = np.diag(own - cross @ inverse @ cross.T) + gap**2 / (one @ inverse @ one)
    fitted = level + kernel(a, b, a, b) @ inverse @ (y - level)
    sigma2 = np.average((y - fitted) ** 2, weights=weight)
    return mean, np.sqrt(sigma2 * variance)


@pytest.mark.parametrize("unfairness", [0.0, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviations_are_those_of_the_gaussian_process(unfairness, weighted):
    Z, y = drawn()
    new = drawn(15, seed=1)[0]
    w = np.random.default_rng(2).random(N) + 0.5 if weighted else np.ones(N)
    model = FairRidgeRegressor(unfairness, sensitive=[0, 1], predictor_penalty=3.0)
    model.fit(Z, y, sample_weight=w)
    mean, deviation = model.predict(new, return_std=True)
    parts = (Z[:, :Q], Z[:, Q:], y, new[:, :Q], new[:, Q:])
    expected = kernel_side(model, *parts, model.lambda_, w)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-8)
    np.testing.assert_allclose(deviation, expected[1], rtol=1e-8)
    np.testing.assert_array_equal(mean, model.predict(new))


def test_kernel_features_have_the_deviations_of_their_process():
    Z, y = drawn(120)
    new = drawn(10, seed=1)[0]
    kernel = Nystroem(n_components=40, gamma=0.2, random_state=0)
    model = FairRidgeRegressor(
        0.05, sensitive=[0, 1], predictor_map=kernel, predictor_penalty=0.5, standardize=False
    ).fit(Z, y)
    features = kernel.fit(Z[:, Q:])
    parts = (Z[:, :Q], features.transform(Z[:, Q:]), y, new[:, :Q], features.transform(new[:, Q:]))
    expected = kernel_side(model, *parts, model.lambda_, np.ones(120))
    mean, deviation = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6)
    np.testing.assert_allclose(deviation, expected[1], rtol=1e-6)


def test_new_directions_keep_their_prior():
    """A predictor that repeats another in training need not do so in new rows."""
    Z, y = drawn()
    twice = np.column_stack([Z, Z[:, -1]])
    model = FairRidgeRegressor(0.05, sensitive=[0, 1], predictor_penalty=3.0).fit(twice, y)
    near, far = np.zeros((2, 1, Q + P + 1))
    far[0, -1], far[0, -2] = 50.0, -50.0
    first, second = (model.predict(row, return_std=True)[1][0] for row in (near, far))
    assert second > 3 * first


def test_deviations_survive_files_and_frames(tmp_path):
    Z, y = drawn()
    frame = pd.DataFrame(Z, columns=list("abcdef")).assign(
        level=np.where(np.arange(N) % 3, "x", "y")
    )
    model = FairRidgeRegressor(0.05, sensitive=["a", "b"], predictor_penalty=2.0).fit(frame, y)
    save(model, tmp_path / "model.json")
    own, again = (
        one.predict(frame[::-1], return_std=True)[1]
        for one in (model, load(tmp_path / "model.json"))
    )
    np.testing.assert_array_equal(own, again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs predictor_penalty > 0"),
        ({"predictor_penalty": 1.0, "family": "quasi-binomial"}, "is for gaussian models"),
        ({"predictor_penalty": 1.0, "blind": True}, "models that use S to predict"),
        ({"predictor_penalty": 1.0, "controls": [2]}, "without controls"),
        ({"predictor_penalty": 1.0, "penalty": "lasso"}, "penalty='ridge' or 'radial'"),
    ],
)
def test_models_without_such_priors_say_so(options, message):
    Z, y = drawn(200)
    y = (y - y.min()) / np.ptp(y)
    model = FairRidgeRegressor(0.2, sensitive=[0, 1], **options).fit(Z, y)
    with pytest.raises(ValueError, match=message):
        model.predict(Z, return_std=True)


def test_wide_data_rows_elsewhere_and_classes_have_none(tmp_path):
    Z, y = drawn()
    wide = np.hstack([Z, np.random.default_rng(0).normal(size=(N, 80))])
    model = FairRidgeRegressor(0.05, sensitive=[0, 1], predictor_penalty=1.0)
    with pytest.raises(ValueError, match="as many rows as predictor columns"):
        model.fit(wide, y).predict(wide, return_std=True)
    frame = pd.DataFrame(Z, columns=list("abcdef")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=["a", "b"])
    with pytest.raises(ValueError, match="rows in memory"):
        model.set_params(sensitive=None).fit(source).predict(source, return_std=True)
    with pytest.raises(TypeError, match="return_std"):
        FairRidgeClassifier(sensitive=[0, 1]).fit(Z, y > 0).predict(Z, return_std=True)
