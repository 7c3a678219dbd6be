"""Models that use S at fit and not at predict."""

import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairridge
from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    export,
    load,
    save,
    sources,
)
from fairridge.exceptions import BoundWarning, DataWarning
from tests import zoo
from tests.zoo import r_squared

N, Q, P = 240, 2, 5


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    S = np.column_stack([rng.normal(size=N), rng.random(N) < 0.4]).astype(float)
    X = S @ rng.normal(size=(Q, P)) + rng.normal(size=(N, P))
    eta = 0.6 * X @ rng.normal(size=P) + S @ [0.5, 1.0]
    return S, X, eta


def responses(eta):
    return zoo.responses(eta, 8)


FAMILIES = ("gaussian", "poisson", "gamma", "binomial", "multinomial", "cox")


def blind(family, r, **options):
    return zoo.model_of(family, r, blind=True, **options)


def scores(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    predicted = model.predict(X)
    return np.log(predicted) if model.family_.name in ("poisson", "gamma") else predicted


# ------------------------------------------------------------------- the bound


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("r", [0.0, 0.02])
def test_the_bound_is_the_r_squared_of_the_linear_predictor(rows, family, r):
    S, X, eta = rows
    y = responses(eta)[family]
    free = blind(family, 1.0).fit(X, y, sensitive_features=S)
    assert free.unfairness_ > 0.03
    assert free.unfairness_ == pytest.approx(r_squared(scores(free, X), S), abs=1e-9)
    model = blind(family, r).fit(X, y, sensitive_features=S)
    assert model.status_ == "converged"
    assert model.unfairness_ == pytest.approx(r, abs=1e-10)
    assert r_squared(scores(model, X), S) == pytest.approx(r, abs=1e-9)
    assert free.deviance_ < model.deviance_
    assert np.isinf(model.lambda_) == (r == 0.0)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "multinomial"])
@pytest.mark.parametrize("r", [0.0, 0.02])
def test_mean_parity_is_the_r_squared_of_predicted_means(rows, family, r):
    S, X, eta = rows
    y = responses(eta)[family]
    model = blind(family, r, definition="mean-parity").fit(X, y, sensitive_features=S)
    means = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    assert model.status_ == "converged"
    assert r_squared(means, S) == pytest.approx(r, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("penalty", [0.0, 4.0])
def test_it_solves_its_equations(rows, family, penalty):
    """½∂D/∂b + λGb + λ₂ VAR(x)b = 0, with G = (P_S X)ᵀ(P_S X) of centered columns."""
    S, X, eta = rows
    y = responses(eta)[family]
    model = blind(family, 0.02, predictor_penalty=penalty).fit(X, y, sensitive_features=S)
    b, x = np.ravel(model.coef_), X - X.mean(axis=0)
    score = model.intercept_ + X @ b
    mean = {"gaussian": score, "binomial": 1.0 / (1.0 + np.exp(-score)), "poisson": np.exp(score)}
    target = y == "yes" if family == "binomial" else y
    of_s = LinearRegression().fit(S, x).predict(S)
    gradient = X.T @ (mean[family] - target) + model.lambda_ * of_s.T @ (of_s @ b)
    gradient += penalty * x.var(axis=0) * b
    scale = np.abs(X.T @ np.abs(mean[family] - target))
    assert model.lambda_ > 0.0
    assert (np.abs(gradient) < 1e-7 * scale.max()).all()


def test_gaussian_mean_parity_is_statistical_parity(rows):
    S, X, eta = rows
    y = responses(eta)["gaussian"]
    both = [
        blind("gaussian", 0.02, definition=name).fit(X, y, sensitive_features=S).coef_
        for name in ("statistical-parity", "mean-parity")
    ]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_bound_s_is_left_out(rows, family):
    S, X, eta = rows
    y = responses(eta)[family]
    model = blind(family, 1.0).fit(X, y, sensitive_features=S)
    noise = np.random.default_rng(1).normal(size=(N, 1))
    other = blind(family, 1.0).fit(X, y, sensitive_features=noise)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-8)
    if family == "gaussian":
        np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-10)


@pytest.mark.parametrize("standardize", [True, False])
def test_the_penalty_on_predictors_is_that_of_ridge(rows, standardize):
    S, X, eta = rows
    y = responses(eta)["gaussian"]
    Z = X / X.std(axis=0) if standardize else X
    model = blind("gaussian", 1.0, predictor_penalty=30.0, standardize=standardize)
    expected = Ridge(30.0).fit(Z, y)
    np.testing.assert_allclose(
        model.fit(X, y, sensitive_features=S).predict(X), expected.predict(Z), rtol=1e-9
    )


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_the_penalty_on_predictors_goes_with_a_bound(rows, family):
    S, X, eta = rows
    y = responses(eta)[family]
    model = blind(family, 0.02, predictor_penalty=30.0).fit(X, y, sensitive_features=S)
    assert r_squared(scores(model, X), S) == pytest.approx(0.02, abs=1e-9)
    assert (
        np.abs(model.coef_).sum()
        < np.abs(blind(family, 0.02).fit(X, y, sensitive_features=S).coef_).sum()
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_repeated_rows(rows, family):
    S, X, eta = rows
    y, weight = responses(eta)[family], np.random.default_rng(3).integers(0, 3, N)
    weighted = blind(family, 0.02).fit(X, y, sensitive_features=S, sample_weight=weight)
    rep = np.repeat(np.arange(N), weight)
    repeated = blind(family, 0.02).fit(X[rep], y[rep], sensitive_features=S[rep])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)
    assert r_squared(scores(weighted, X), S, weight) == pytest.approx(0.02, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_a_path_has_the_models_of_single_fits(rows, family, definition):
    S, X, eta = rows
    y = responses(eta)[family]
    bounds = [0.0, 0.005, 0.02, 0.9, 1.0]
    model = blind(family, 0.02, definition=definition)
    path = model.path(X, y, sensitive_features=S, unfairness=bounds)
    assert path.status == ("converged",) * 3 + ("inactive",) * 2
    assert (np.diff(path.deviance) <= 1e-9 * path.deviance[0]).all()
    single = model.fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(path.beta[2], np.ravel(single.coef_), rtol=1e-6)
    np.testing.assert_allclose(path.at(0.02).coef_, single.coef_, rtol=1e-6)


def test_units_and_coding_of_s_do_not_matter(rows):
    S, X, eta = rows
    y, mixed = responses(eta)["gaussian"], S @ [[2.0, 1.0], [-1.0, 3.0]] + 5.0
    one = blind("gaussian", 0.02).fit(X, y, sensitive_features=S)
    other = blind("gaussian", 0.02).fit(1e3 * X, y, sensitive_features=mixed)
    np.testing.assert_allclose(other.coef_ * 1e3, one.coef_, rtol=1e-9)


# ------------------------------------------------------------------- the floor


DEFINITIONS = ("statistical-parity", "mean-parity", "mean-opportunity", "mean-odds")


@pytest.mark.parametrize(
    ("family", "definition"),
    [
        *(("gaussian", d) for d in DEFINITIONS[:2]),
        *((f, d) for f in ("binomial", "multinomial") for d in DEFINITIONS),
    ],
)
@pytest.mark.parametrize("r", [0.0, 0.01])
def test_below_the_floor_only_the_constant_is_left(rows, family, definition, r):
    S, X, eta = rows
    y, one = responses(eta)[family], X[:, :1]
    assert r_squared(one, S) > 0.1
    model = blind(family, r, definition=definition)
    with pytest.warns(BoundWarning, match="Only the same prediction for everyone meets"):
        model.fit(one, y, sensitive_features=S)
    assert model.status_ == "infeasible"
    assert not model.converged_
    assert model.unfairness_ == 0.0
    assert not model.coef_.any()
    assert len(np.unique(model.predict(one))) == 1


@pytest.mark.parametrize("penalty", [0.0, 20.0])
def test_the_floor_is_where_the_shares_of_large_penalties_end(rows, penalty):
    S, X, eta = rows
    y, two = responses(eta)["gaussian"], X[:, :2]
    x, s = two - two.mean(0), S - S.mean(0)
    G, C = x.T @ x, s.T @ x
    explained = C.T @ np.linalg.solve(s.T @ s, C)
    limit = np.linalg.solve(explained, x.T @ (y - y.mean()))
    floor = (limit @ explained @ limit) / (limit @ G @ limit)
    model = blind("gaussian", floor * 1.001, predictor_penalty=penalty)
    model.fit(two, y, sensitive_features=S)
    assert model.status_ == "converged"
    assert model.unfairness_ == pytest.approx(floor * 1.001, abs=1e-9)
    with pytest.warns(BoundWarning, match="Only the same prediction"):
        model.set_params(unfairness=floor * 0.999).fit(two, y, sensitive_features=S)
    assert not model.coef_.any()


def test_predictors_that_have_nothing_to_do_with_s_are_free():
    rng = np.random.default_rng(0)
    S = np.repeat([0.0, 1.0], 50)[:, None]
    X = np.tile(rng.normal(size=(50, 2)), (2, 1))
    y = X @ [1.0, 2.0] + rng.normal(size=100)
    for model, target in ((FairRidgeRegressor, y), (FairRidgeClassifier, y > 0)):
        fitted = model(0.0, blind=True).fit(X, target, sensitive_features=S)
        assert fitted.status_ == "inactive"
        assert fitted.unfairness_ < 1e-20
        assert fitted.coef_.all()


def test_collinear_predictors_are_named(rows):
    S, X, eta = rows
    y, Z = responses(eta)["gaussian"], np.column_stack([X, X[:, 0] - X[:, 1], S[:, 0]])
    with pytest.warns(DataWarning, match=r"predictor column\(s\) 'x5' are constant or linear"):
        model = blind("gaussian", 0.02).fit(Z, y, sensitive_features=S)
    assert r_squared(model.predict(Z), S) == pytest.approx(0.02, abs=1e-9)


def test_more_predictors_than_rows():
    rng = np.random.default_rng(4)
    S, X = rng.normal(size=(20, 1)), rng.normal(size=(20, 30))
    y = X[:, 0] + S[:, 0] + rng.normal(size=20)
    model = blind("gaussian", 0.02, predictor_penalty=5.0).fit(X, y, sensitive_features=S)
    assert r_squared(model.predict(X), S) == pytest.approx(0.02, abs=1e-9)


# -------------------------------------------------------------------- refusals


AMONG_CLASSES = ("mean-opportunity", "mean-odds")


def among_classes(y, codes, means, S):
    """R² of means on S among the rows of classes, with their numerators and variances added."""
    explained = total = 0.0
    for code, mean in zip(codes, means, strict=True):
        rows = y == code
        total += rows.mean() * mean[rows].var()
        explained += rows.mean() * mean[rows].var() * r_squared(mean[rows], S[rows])
    return explained / total


@pytest.mark.parametrize(
    ("family", "definition", "r"),
    [
        *((family, d, 0.01) for family in ("binomial", "multinomial") for d in AMONG_CLASSES),
        # Odds of three classes have more equations than there are coefficients.
        *(("binomial", d, 0.0) for d in AMONG_CLASSES),
    ],
)
def test_means_among_the_rows_of_classes_meet_their_bound_without_s(rows, family, definition, r):
    S, X, eta = rows
    y = responses(eta)[family]
    labels, codes = np.unique(y, return_inverse=True)
    model = blind(family, r, definition=definition).fit(X, y, sensitive_features=S)
    means, K = model.predict_proba(X), len(labels)
    if definition == "mean-odds":
        pairs = [(c, k) for c in range(K) for k in range(K)]
    else:
        pairs = [(1, 1)] if K == 2 else [(k, k) for k in range(K)]
    found = among_classes(codes, [c for c, _ in pairs], [means[:, k] for _, k in pairs], S)
    assert found == pytest.approx(model.unfairness_, abs=1e-8)
    assert found == pytest.approx(r, abs=1e-6)
    free = blind(family, 1.0, definition=definition).fit(X, y, sensitive_features=S)
    assert free.unfairness_ > r
    assert free.deviance_ < model.deviance_


def test_the_floor_of_opportunity_is_not_that_of_parity():
    """S explains all that x varies among all rows, and nothing among those with y = 1."""
    rng = np.random.default_rng(0)
    S = np.repeat([0.0, 1.0], 200)
    y = np.tile(np.repeat([0, 1], 100), 2)
    noise = rng.normal(size=400)
    x = np.where(y == 1, noise, 3.0 * S + noise)
    model = FairRidgeClassifier(0.05, definition="mean-opportunity", blind=True)
    model.fit(x[:, None], y, sensitive_features=S)
    assert model.coef_.any()
    assert model.unfairness_ <= 0.05
    assert r_squared(x, S[:, None]) > 0.05


def test_a_path_of_blind_opportunity_has_the_models_of_fits(rows):
    S, X, eta = rows
    model = FairRidgeClassifier(definition="mean-opportunity", blind=True)
    path = model.path(X, eta > 0, sensitive_features=S, unfairness=[0.0, 0.005, 0.02, 1.0])
    for r in (0.0, 0.005, 0.02, 1.0):
        fit = FairRidgeClassifier(r, definition="mean-opportunity", blind=True)
        fit.fit(X, eta > 0, sensitive_features=S)
        np.testing.assert_allclose(path.at(r).coef_, fit.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "definition",
    [
        "equality-of-opportunity",
        "individual",
        fairridge.fairness.StatisticalParity(measure="deviance"),
        lambda fit: 0.0,
    ],
)
def test_other_definitions_are_refused(rows, definition):
    S, X, eta = rows
    model = FairRidgeClassifier(blind=True, definition=definition)
    with pytest.raises(ValueError, match="needs S to predict: blind=True takes"):
        model.fit(X, eta > 0, sensitive_features=S)


@pytest.mark.parametrize("penalty", ["radial", "lasso", "elastic-net"])
def test_other_penalties_are_refused(rows, penalty):
    S, X, eta = rows
    with pytest.raises(ValueError, match="works with penalty='ridge' only"):
        blind("gaussian", 0.05, penalty=penalty).fit(X, eta, sensitive_features=S)


def test_means_of_cox_models_are_refused(rows):
    S, X, eta = rows
    with pytest.raises(ValueError, match="mean"):
        blind("cox", 0.05, definition="mean-parity").fit(
            X, responses(eta)["cox"], sensitive_features=S
        )


def test_blind_is_true_or_false(rows):
    S, X, eta = rows
    with pytest.raises((TypeError, ValueError), match="blind"):
        FairRidgeRegressor(blind="yes").fit(X, eta, sensitive_features=S)


# ------------------------------------------------- S is not needed after fit


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(9)
    sex, skill = rng.choice(["f", "m"], N), rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "hours": rng.normal(38.0, 4.0, N) + 3.0 * (sex == "m"),
            "sex": sex,
            "skill": skill,
            "age": rng.integers(20, 60, N),
            "region": rng.choice(["east", "north", "west"], N),
        }
    )
    eta = 0.2 * (frame["hours"] - 38.0) + skill + (sex == "m") + 0.02 * (frame["age"] - 40)
    labels = np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    return frame, eta.to_numpy() + rng.normal(size=N), labels


@pytest.fixture(scope="module", params=["regressor", "classifier"])
def model(request, people):
    frame, numbers, labels = people
    kind, y = {
        "regressor": (FairRidgeRegressor, numbers),
        "classifier": (FairRidgeClassifier, labels),
    }[request.param]
    return kind(0.005, sensitive=["sex", "age"], blind=True).fit(frame, y)


def means(model, frame):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(frame)[:, 1]
    return model.predict(frame)


def test_coef_has_the_predictors_alone(model, people):
    frame, _, _ = people
    names = ["hours", "skill", "region[north]", "region[west]"]
    assert model.coef_names_.tolist() == names
    assert model.coef_.shape == ((1, 4) if hasattr(model, "classes_") else (4,))
    encoded = pd.get_dummies(frame).rename(columns=lambda c: re.sub(r"_(.*)", r"[\1]", c))
    eta = encoded[names].to_numpy(float) @ np.ravel(model.coef_) + model.intercept_
    np.testing.assert_allclose(scores(model, frame), eta, rtol=1e-10)
    assert set(model.sensitive_names_) == {"sex[m]", "age"}
    assert model.alpha_.shape == (2,)


def test_frames_may_lack_s_or_hold_anything_there(model, people):
    frame, _, _ = people
    expected = means(model, frame)
    np.testing.assert_array_equal(means(model, frame.drop(columns=["sex", "age"])), expected)
    np.testing.assert_array_equal(means(model, frame.assign(sex="?", age=np.nan)), expected)


def test_sql_has_no_column_of_s(model, people):
    frame, _, _ = people
    query = export.to_sql(model, table="people")
    assert not re.search(r"\b(sex|age)\b", query)
    with closing(sqlite3.connect(":memory:")) as connection:
        frame.drop(columns=["sex", "age"]).to_sql("people", connection, index=False)
        found = pd.read_sql_query(query, connection)
    classes = getattr(model, "classes_", None)
    name = "prediction" if classes is None else f"probability_{classes[1]}"
    found = found[name].to_numpy()
    np.testing.assert_allclose(found, means(model, frame), rtol=1e-9)


def test_onnx_has_no_input_of_s(model):
    pytest.importorskip("onnx", reason="onnx is not installed")
    graph = export.to_onnx(model)
    inputs = {item.name for item in graph.graph.input}
    assert "hours" in inputs
    assert not {"sex", "age"} & inputs


def test_a_scorecard_has_no_points_for_s(people):
    frame, _, labels = people
    model = FairRidgeClassifier(0.005, sensitive=["sex", "age"], blind=True).fit(frame, labels)
    lines = export.scorecard(model).lines
    assert {line.attribute for line in lines} == {"hours", "skill", "region"}


def test_a_file_holds_the_whole_model(model, people, tmp_path):
    frame, _, _ = people
    save(model, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.blind is True
    lacking = frame.drop(columns=["sex", "age"])
    np.testing.assert_array_equal(again.predict(lacking), model.predict(lacking))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert str(again.summary()) == str(model.summary())


def test_rows_in_files(model, people, tmp_path):
    frame, numbers, labels = people
    y = labels if hasattr(model, "classes_") else numbers
    frame.assign(y=y).to_parquet(tmp_path / "all.parquet")
    rows = sources.parquet(tmp_path / "all.parquet", response="y", sensitive=["sex", "age"])
    there = type(model)(0.005, blind=True).fit(rows)
    np.testing.assert_allclose(there.coef_, model.coef_, rtol=1e-6, atol=1e-9)
    frame.drop(columns=["sex", "age"]).to_parquet(tmp_path / "new.parquet")
    new = sources.parquet(tmp_path / "new.parquet")
    there.predict(new).write(tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")["prediction"].to_numpy()
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(found, model.predict(frame))
    else:
        np.testing.assert_allclose(found, model.predict(frame), rtol=1e-9)


def test_in_a_pipeline(rows):
    S, X, eta = rows
    Z, y = np.column_stack([S, X]), responses(eta)["gaussian"]
    steps = make_pipeline(StandardScaler(), FairRidgeRegressor(0.02, sensitive=[0, 1], blind=True))
    predicted = steps.fit(Z, y).predict(Z)
    assert r_squared(predicted, S) == pytest.approx(0.02, abs=1e-9)
    changed = Z.copy()
    changed[:, :2] = 7.0
    np.testing.assert_array_equal(steps.predict(changed), predicted)


def test_a_summary_has_no_coefficients_of_s(model):
    table = model.summary().to_frame()
    assert (table["role"] != "sensitive").all()
    assert set(table["term"]) == {"(intercept)", *model.coef_names_}


def in_small_units():
    """Rows with a predictor in units of 1e-8: unscaled, λ₂ is 1e15 times as stiff in it."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(300, 2))
    X = rng.normal(size=(300, 4)) + S @ [[0.5], [-0.3]]
    X[:, 3] = 1e-8 * (X[:, 3] + X[:, 0])
    return S, X, X[:, 0] - X[:, 1] + 1e8 * X[:, 3] + rng.logistic(size=300)


OF_COLUMNS = {"blind": True, "standardize": False, "predictor_penalty": 0.1}


def test_a_penalty_on_columns_in_small_units_leaves_the_others_their_digits():
    S, X, y = in_small_units()
    model = FairRidgeRegressor(1.0, **OF_COLUMNS).fit(X, y, sensitive_features=S)
    expected = Ridge(0.1, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(model.coef_[:3], expected.coef_[:3], rtol=1e-12)
    labels = y > 0.0
    classifier = FairRidgeClassifier(1.0, **OF_COLUMNS).fit(X, labels, sensitive_features=S)
    expected = LogisticRegression(C=10.0, tol=1e-12, solver="newton-cholesky").fit(X, labels)
    np.testing.assert_allclose(classifier.coef_, expected.coef_, rtol=1e-10)


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
@pytest.mark.parametrize("controls", [None, [0]])
def test_so_it_does_under_a_bound_whatever_the_order_of_rows(definition, controls):
    S, X, y = in_small_units()
    one, other = (
        FairRidgeClassifier(0.01, definition=definition, controls=controls, **OF_COLUMNS).fit(
            X[order], y[order] > 0.0, sensitive_features=S[order]
        )
        for order in (np.arange(300), np.random.default_rng(1).permutation(300))
    )
    assert one.unfairness_ == pytest.approx(0.01, abs=1e-9)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    assert one.n_iter_ < 100
