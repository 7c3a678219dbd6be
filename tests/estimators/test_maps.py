"""Feature maps: nonlinear predictors, nonlinear sensitive attributes, kernels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from fairridge import (
    BarycenterRegressor,
    ConvexFairClassifier,
    FairRidgeRegressor,
    ReductionsClassifier,
    SteinbergRegressor,
    ZafarRegressor,
)

MAPS = {
    "nystroem": Nystroem(n_components=10, random_state=0),
    "pca": PCA(2),
    "sparse": SplineTransformer(n_knots=4, sparse_output=True),
    "pipeline": make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)),
}


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    n = 300
    S = rng.normal(size=(n, 2))
    X = rng.normal(size=(n, 3)) + 0.5 * S[:, :1]
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + S @ [1.0, -0.5] + rng.normal(size=n)
    return S, X, y


@pytest.mark.parametrize("name", MAPS)
def test_a_map_of_predictors_equals_mapping_them_beforehand(data, name):
    S, X, y = data
    features = MAPS[name].fit(X).transform(X)
    features = features.toarray() if hasattr(features, "toarray") else features
    mapped = FairRidgeRegressor(0.05, predictor_map=MAPS[name], predictor_penalty=1.0)
    mapped.fit(X, y, sensitive_features=S)
    before = FairRidgeRegressor(0.05, predictor_penalty=1.0).fit(features, y, sensitive_features=S)
    np.testing.assert_allclose(mapped.beta_, before.beta_, rtol=1e-9)
    np.testing.assert_allclose(mapped.alpha_, before.alpha_, rtol=1e-9)
    np.testing.assert_allclose(
        mapped.predict(X[:9], sensitive_features=S[:9]),
        before.predict(features[:9], sensitive_features=S[:9]),
        rtol=1e-9,
    )
    assert mapped.unfairness_ == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_of_sensitive_attributes_makes_u_orthogonal_to_its_features(data, name):
    S, X, y = data
    model = FairRidgeRegressor(0.0, sensitive_map=MAPS[name]).fit(X, y, sensitive_features=S)
    features = MAPS[name].fit(S).transform(S)
    features = features.toarray() if hasattr(features, "toarray") else features
    eta = model.predict(X, sensitive_features=S)
    centered = features - features.mean(axis=0)
    covariance = centered.T @ (eta - eta.mean())
    limit = 1e-8 * np.linalg.norm(centered, axis=0).max() * np.linalg.norm(eta - eta.mean())
    assert np.abs(covariance).max() < limit


def test_names_are_those_of_the_features(data):
    S, X, y = data
    frame = pd.DataFrame(np.hstack([S, X]), columns=["age", "sex", "a", "b", "c"])
    model = FairRidgeRegressor(
        sensitive=["age", "sex"],
        predictor_map=PolynomialFeatures(2, include_bias=False, interaction_only=True),
        sensitive_map=Nystroem(n_components=4, random_state=0),
    ).fit(frame, y)
    assert list(model.predictor_names_) == ["a", "b", "c", "a b", "a c", "b c"]
    assert list(model.sensitive_names_) == [f"nystroem{k}" for k in range(4)]
    assert "a b" in str(model.summary(details=True))
    assert list(model.coef_names_) == [*model.sensitive_names_, *model.predictor_names_]


def test_categories_become_numbers_before_the_map_sees_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "group": pd.Categorical(rng.choice(["x", "y", "z"], 200)),
            "job": pd.Categorical(rng.choice(["p", "q"], 200)),
            "skill": rng.normal(size=200),
        }
    )
    y = frame["skill"] ** 2 + (frame["group"] == "x") + rng.normal(size=200)
    model = FairRidgeRegressor(
        0.01,
        sensitive="group",
        predictor_map=ColumnTransformer(
            [("job", "passthrough", [0]), ("skill", SplineTransformer(), [1])]
        ),
    ).fit(frame, y)
    assert len(model.beta_) == 1 + 7
    assert model.score(frame, y) > 0.4
    linear = FairRidgeRegressor(0.01, sensitive="group").fit(frame, y)
    assert linear.score(frame, y) < 0.1


def test_kernel_ridge_identity():
    """At r = 1: S α_OLS plus kernel ridge with the kernel decorrelated from [1, S]."""
    rng = np.random.default_rng(3)
    n, penalty = 60, 0.7
    S, X = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    y = np.sin(X[:, 0]) + S[:, 0] + rng.normal(size=n)
    model = FairRidgeRegressor(
        1.0,
        predictor_map=KernelPCA(kernel="rbf", gamma=0.4),
        predictor_penalty=penalty,
        standardize=False,
    ).fit(X, y, sensitive_features=S)
    ones = np.column_stack([np.ones(n), S])
    M = np.eye(n) - ones @ np.linalg.pinv(ones)
    K = M @ rbf_kernel(X, gamma=0.4) @ M
    expected = ones @ np.linalg.lstsq(ones, y, rcond=None)[0] + K @ np.linalg.solve(
        K + penalty * np.eye(n), M @ y
    )
    np.testing.assert_allclose(model.predict(X, sensitive_features=S), expected, atol=1e-8)


def test_a_nonlinear_dependence_on_s_is_removed_by_a_map_of_s():
    """X = S² + noise: invisible to the linear model, removed by splines of S."""
    rng = np.random.default_rng(5)
    s = rng.normal(size=2000)
    X = (s**2 + 0.3 * rng.normal(size=2000))[:, None]
    y = X[:, 0] + rng.normal(size=2000)
    S = s[:, None]

    def dependence(model):
        prediction = model.fit(X, y, sensitive_features=S).predict(X, sensitive_features=S)
        return np.corrcoef(prediction, s**2)[0, 1] ** 2

    assert dependence(FairRidgeRegressor(0.0)) > 0.9
    assert dependence(FairRidgeRegressor(0.0, sensitive_map=SplineTransformer(n_knots=8))) < 1e-3


def test_principal_components_of_collinear_attributes_report_what_they_dropped():
    rng = np.random.default_rng(6)
    S = rng.normal(size=(400, 3)) @ np.diag([3.0, 1.0, 0.2])
    S = np.column_stack([S, S[:, 0] + 1e-3 * rng.normal(size=400)])
    X = rng.normal(size=(400, 2)) + S[:, :1]
    y = X.sum(axis=1) + S[:, 0] + rng.normal(size=400)
    pca = PCA(2)
    model = FairRidgeRegressor(0.05, sensitive_map=pca).fit(X, y, sensitive_features=S)
    expected = 1.0 - pca.fit(S).explained_variance_ratio_.sum()
    assert model.sensitive_dropped_ == pytest.approx(expected, rel=1e-8)
    assert expected > 1e-3
    assert "dropped" in str(model.summary(details=True))
    assert FairRidgeRegressor().fit(X, y, sensitive_features=S).sensitive_dropped_ == 0.0


OF_GROUPS = (BarycenterRegressor, ConvexFairClassifier, ReductionsClassifier, SteinbergRegressor)


@pytest.mark.parametrize("peer", OF_GROUPS)
def test_models_of_groups_refuse_a_map_of_s(data, peer):
    S, X, y = data
    response = y if "Regressor" in peer.__name__ else y > 1.0
    with pytest.raises(ValueError, match="divides people into groups"):
        peer(sensitive_map=PCA(1)).fit(X, response, sensitive_features=np.where(S > 0, "a", "b"))


@pytest.mark.parametrize("peer", [*OF_GROUPS, ZafarRegressor])
def test_peers_refuse_as_many_features_as_rows(peer):
    rng = np.random.default_rng(12)
    X, sex = rng.normal(size=(60, 3)), rng.choice(["f", "m"], 60)
    y = rng.normal(size=60)
    y = y if "Regressor" in peer.__name__ else (y > 0).astype(int)
    model = peer(0.5, predictor_map=KernelPCA(kernel="rbf", gamma=3.0))
    with pytest.raises(ValueError, match="fit any response") as error:
        model.fit(X, y, sensitive_features=sex)
    assert "predictor_penalty" not in str(error.value)  # they have none


REFUSED = {
    "a name": ("spline", "predictor_map=.* is not a transformer"),
    "a class": (SplineTransformer, "predictor_map=.* is not a transformer"),
    "no numbers": (
        FunctionTransformer(lambda x: np.where(x > 0, x, np.nan)),
        "predictor_map=.* returns NaN",
    ),
    "fewer rows": (
        FunctionTransformer(lambda x: x[:-1]),
        "returns 299 rows for 300; a map must keep the rows",
    ),
    "as many features as rows": (KernelPCA(kernel="rbf", gamma=5.0), "Set predictor_penalty"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_maps_that_cannot_be_used_are_refused(data, kind):
    S, X, y = data
    wrong, message = REFUSED[kind]
    with pytest.raises((TypeError, ValueError), match=message):
        FairRidgeRegressor(predictor_map=wrong).fit(X, y, sensitive_features=S)
    if kind == "as many features as rows":
        with pytest.raises(ValueError, match="far fewer features than rows"):
            FairRidgeRegressor(sensitive_map=wrong).fit(X, y, sensitive_features=S)
