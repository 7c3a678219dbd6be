"""Cross-validation, against fits to the training rows and plain NumPy on the validation rows."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from threadpoolctl import threadpool_limits

from fairridge import (
    FairRidgeRegressor,
    FairRidgeSurvival,
    compare,
    cross_validate,
)
from fairridge.data import Rows
from fairridge.estimators._training import read_training
from fairridge.fairness import Combined, EqualityOfOpportunity, StatisticalParity
from tests import zoo

SENSITIVE = ["sex", "age"]
BOUNDS = [0.0, 0.05, 0.5]
CONTRACT = [
    "model", "unfairness", "repeat", "fold", "n", "train_loss", "loss", "train_achieved",
    "achieved",
]  # fmt: skip


# ------------------------------------------------------------------------ data


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Matrices are small here: threads of a busy machine would only wait for each other."""
    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture(scope="module")
def frame():
    """Two sensitive attributes, four predictors of several types; rows are not in index order."""
    rng = np.random.default_rng(30)
    n = 151
    male = rng.random(n) < 0.5
    age = rng.normal(40.0, 9.0, n)
    return pd.DataFrame(
        {
            "sex": pd.Categorical(np.where(male, "m", "f"), ["f", "m"]),
            "skill": rng.normal(size=n) + 0.7 * male,
            "age": age,
            "region": pd.Categorical(rng.choice(list("abc"), n), list("abc")),
            "hours": rng.normal(size=n) + 0.05 * age,
            "luck": rng.normal(size=n),
        },
        index=rng.permutation(n) + 1000,
    )


@pytest.fixture(scope="module")
def responses(frame):
    """A response for every family."""
    rng = np.random.default_rng(31)
    n = len(frame)
    eta = 0.6 * frame["skill"] + 0.4 * frame["hours"] + 0.5 * (frame["sex"] == "m") - 0.8
    eta = eta.to_numpy() + 0.03 * (frame["age"].to_numpy() - 40.0)
    noisy = eta + rng.logistic(size=n)
    time = np.ceil(20 * rng.exponential(size=n) * np.exp(-eta)) + 1  # with ties
    return {
        "gaussian": 3.0 * eta + rng.normal(size=n),
        "poisson": rng.poisson(np.exp(0.4 * eta)),
        "gamma": rng.gamma(2.0, np.exp(0.4 * eta)),
        "tweedie": rng.gamma(2.0, np.exp(0.4 * eta)) * (rng.random(n) < 0.8),
        "quasi-binomial": 1.0 / (1.0 + np.exp(-noisy)),
        "binomial": np.where(noisy > 0.0, "yes", "no"),
        "multinomial": np.digitize(noisy, [-1.0, 1.0]),
        "cox": pd.DataFrame({"time": time, "event": (rng.random(n) < 0.7) * 1}, frame.index),
    }


@pytest.fixture(scope="module")
def folds(frame):
    return [tuple(fold) for fold in KFold(3, shuffle=True, random_state=1).split(frame)]


def model_of(family, **options):
    return zoo.model_of(family, **{"sensitive": SENSITIVE, "tol": 1e-12} | options)


# -------------------------------------------------------- the naive way, by hand


def take(y, rows):
    return y.iloc[rows] if hasattr(y, "iloc") else y[rows]


def encoded(X):
    """Write levels but the first as 0/1 columns, in place."""
    if all(dtype.kind == "f" for dtype in X.dtypes):
        return X
    parts = [pd.get_dummies(X[[name]], drop_first=True, dtype=float) for name in X.columns]
    return pd.concat(parts, axis=1)


def split_columns(X, sensitive):
    S = encoded(X[sensitive]).to_numpy(float)
    return S, encoded(X.drop(columns=sensitive)).to_numpy(float)


def encoded_S(X, sensitive):
    return split_columns(X, sensitive)[0]


def centered(Z):
    Z = np.asarray(Z, dtype=float).reshape(len(Z), -1)
    return Z - Z.mean(axis=0)


def projected(target, columns):
    """Least squares of every column of the target, with columns scaled to unit length."""
    Z = centered(columns)
    size = np.linalg.norm(Z, axis=0)
    Z = Z / np.where(size > 0, size, 1.0)
    return Z @ np.linalg.lstsq(Z, centered(target), rcond=None)[0]


def r_squared_on(eta, S):
    total = np.sum(centered(eta) ** 2)
    return np.sum(projected(eta, S) ** 2) / total if total > 0 else 0.0


def adjusted(eta, S):
    """R² on S, adjusted; the rank is that of scaled columns."""
    n, S = len(S), np.asarray(S, dtype=float)
    Z = centered(S)[:, np.ptp(S, axis=0) > 0]
    q = np.linalg.matrix_rank(Z / np.linalg.norm(Z, axis=0)) if Z.size else 0
    return 1.0 - (1.0 - r_squared_on(eta, S)) * (n - 1) / (n - q - 1)


def sequential(eta, S, targets):
    first = np.sum(projected(eta, S) ** 2)
    both = np.sum(projected(eta, np.column_stack([S, targets])) ** 2)
    return first / both


def pairwise(alpha, S, distances):
    scores = (S @ np.atleast_2d(alpha).T).T
    return sum(np.sum(distances * (s[:, None] - s) ** 2) for s in scores)


def targets_of(family, y):
    if family == "cox":
        return -np.log(y["time"].to_numpy(float))
    if family == "binomial":
        return (y == "yes").astype(float)
    if family == "multinomial":
        return (y[:, None] == np.arange(3)).astype(float)
    return y


def distances_of(family, y):
    if family == "cox":
        values = y.to_numpy(float)
        return np.prod(np.abs(values[:, None] - values), axis=2)
    if family in ("binomial", "multinomial"):
        return (y[:, None] != y).astype(float)
    return np.abs(y[:, None] - y)


def partial_deviance(time, event, eta):
    """Breslow's, per event."""
    risk = [np.log(np.exp(eta[time >= t]).sum()) for t in time]
    return 2.0 * np.sum(event * (risk - eta)) / event.sum()


def loss_of(family, fitted, X, y):
    if family == "gaussian":
        return np.sqrt(np.mean((y - fitted.predict(X)) ** 2))
    if family == "cox":
        return partial_deviance(y["time"].to_numpy(), y["event"].to_numpy(), fitted.predict(X))
    if family in ("binomial", "multinomial"):
        chances = fitted.predict_proba(X)
        return -2.0 * np.mean(np.log(chances[y[:, None] == fitted.classes_]))
    mean = fitted.predict(X)
    if family == "quasi-binomial":
        return 2.0 * np.mean(y * np.log(y / mean) + (1 - y) * np.log((1 - y) / (1 - mean)))
    powers = {"poisson": 1, "gamma": 2, "tweedie": 1.5}
    return metrics.mean_tweedie_deviance(y, mean, power=powers[family])


def eta_of(family, fitted, X):
    if family in ("binomial", "multinomial"):
        return fitted.decision_function(X)
    scores = fitted.predict(X)
    if family == "quasi-binomial":
        return np.log(scores / (1.0 - scores))
    return scores if family in ("gaussian", "cox") else np.log(scores)


def outcome_of(family, fitted, X):
    if family == "multinomial":
        return fitted.predict_proba(X)
    return fitted.predict_proba(X)[:, 1] if family == "binomial" else fitted.predict(X)


def scores_of(family, fitted, X, y):
    if family == "cox":
        return {"concordance": concordance(y, fitted.predict(X))}
    if family in ("binomial", "multinomial"):
        return classification(fitted, X, y)
    mean = fitted.predict(X)
    squares = np.mean((y - mean) ** 2)
    return {"rmse": np.sqrt(squares), "r_squared": 1.0 - squares / np.var(y)}


def concordance(y, risk):
    time, event = y["time"].to_numpy(), y["event"].to_numpy()
    later = (time[:, None] < time) | ((time[:, None] == time) & (event == 0))
    comparable = later & (event[:, None] == 1) & ~np.eye(len(y), dtype=bool)
    points = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    return np.sum(points * comparable) / comparable.sum()


def classification(fitted, X, y):
    """Scores of the second class, or means of the scores of all classes."""
    predicted, chances = fitted.predict(X), fitted.predict_proba(X)
    wanted = fitted.classes_[1:] if len(fitted.classes_) == 2 else fitted.classes_
    scores = {name: [] for name in ("f1", "precision", "recall", "auc")}
    for label in wanted:
        hits = np.sum((predicted == label) & (y == label))
        said, true = np.sum(predicted == label), np.sum(y == label)
        scores["precision"].append(hits / said if said else 0.0)
        scores["recall"].append(hits / true)
        scores["f1"].append(2 * hits / (said + true))
        chance = chances[:, np.flatnonzero(fitted.classes_ == label)[0]]
        pairs = chance[y == label][:, None] - chance[y != label]
        scores["auc"].append(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    means = {name: np.mean(values) for name, values in scores.items()}
    return means | {"accuracy": np.mean(predicted == y)}


def correlation(fit):
    """A definition of our own: squared correlation of predictions and the first attribute."""
    eta = fit.linear_predictor()
    eta = eta if eta.ndim == 1 else eta[:, 0]
    return np.corrcoef(eta, fit.S[:, 0])[0, 1] ** 2 if np.ptp(eta) > 0 else 0.0


def gap_of_residuals(fit):
    """Another, that needs U and y: what S and U leave of the means of y by sex."""
    by_sex = [np.mean(fit.y[fit.S[:, 0] == s] - fit.intercept) for s in (0, 1)]
    spread = np.std(fit.U @ fit.beta) + np.std(fit.S @ fit.alpha)
    return (np.std(fit.S @ fit.alpha) / spread) ** 2 * min(1.0, abs(by_sex[1] - by_sex[0]))


DEFINITIONS = {
    "parity": "statistical-parity",
    "opportunity": "equality-of-opportunity",
    "individual": "individual",
    "largest": Combined(["statistical-parity", "individual"]),
    "mean": Combined(["statistical-parity", "equality-of-opportunity"], weights=[1.0, 3.0]),
    "callable": correlation,
}


def unfairness_of(name, family, fitted, free, X, y, sensitive):
    S, _ = split_columns(X, sensitive)
    eta = eta_of(family, fitted, X)
    distances = distances_of(family, y)
    values = {
        "parity": lambda: adjusted(eta, S),
        "opportunity": lambda: sequential(eta, S, targets_of(family, y)),
        "individual": lambda: (
            pairwise(fitted.alpha_, S, distances) / pairwise(free.alpha_, S, distances)
        ),
        "callable": lambda: correlation(SimpleNamespace(S=S, linear_predictor=lambda: eta)),
    }
    values["largest"] = lambda: max(values["parity"](), values["individual"]())
    values["mean"] = lambda: (values["parity"]() + 3.0 * values["opportunity"]()) / 4.0
    return values[name]()


def variance_share(fitted, X_train, X_test, sensitive):
    """VAR(Sα)/(VAR(Sα) + VAR(Uβ)) on the validation rows, with B of the training rows."""
    S, X = split_columns(X_train, sensitive)
    B = np.linalg.lstsq(centered(S), centered(X), rcond=None)[0]
    S, X = split_columns(X_test, sensitive)
    parts = [S @ fitted.alpha_.T, (X - S @ B) @ fitted.beta_.T]
    variances = [np.sum(centered(part) ** 2) for part in parts]
    return variances[0] / sum(variances)


def naive_fit(model, X, y, rows, r):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a training set may lack a level
        return clone(model).set_params(unfairness=r).fit(X.iloc[rows], take(y, rows))


def naive(model, X, y, fold, r, name="parity", family="gaussian", sensitive=SENSITIVE):
    train, test = fold
    fitted = naive_fit(model, X, y, train, r)
    free = naive_fit(model, X, y, train, 1.0) if name in ("individual", "largest") else None
    X_train, X_test, y_train, y_test = X.iloc[train], X.iloc[test], take(y, train), take(y, test)
    return (
        {
            "n": len(test),
            "train_loss": loss_of(family, fitted, X_train, y_train),
            "loss": loss_of(family, fitted, X_test, y_test),
            "train_achieved": fitted.unfairness_,
            "achieved": unfairness_of(name, family, fitted, free, X_test, y_test, sensitive),
            "share_of_eta": adjusted(eta_of(family, fitted, X_test), encoded_S(X_test, sensitive)),
            "variance_share": variance_share(fitted, X_train, X_test, sensitive),
        }
        | scores_of(family, fitted, X_test, y_test)
        | means_of(family, fitted, X_test, sensitive)
    )


def means_of(family, fitted, X, sensitive):
    if family == "cox":
        return {}
    return {"share_of_means": adjusted(outcome_of(family, fitted, X), encoded_S(X, sensitive))}


def assert_equal_to_naive(result, model, X, y, folds, bounds, tolerance=1e-10, **options):
    records = iter(result.to_frame().to_dict("records"))
    for number, fold in enumerate(folds):
        for r in bounds:
            record = next(records)
            assert (record["fold"], record["unfairness"]) == (number, r)
            expected = naive(model, X, y, fold, r, **options)
            found = {key: record[key] for key in expected}
            assert found == pytest.approx(expected, rel=tolerance, abs=tolerance), (number, r)
    assert next(records, None) is None


RELATIVES = ("poisson", "gamma", "tweedie", "quasi-binomial", "multinomial", "cox")
FAMILIES = ["gaussian", "binomial"]
FAMILIES += [pytest.param(family, marks=pytest.mark.slow) for family in RELATIVES]


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_it_equals_the_naive_way(frame, responses, folds, family, name):
    model, y = model_of(family, definition=DEFINITIONS[name]), responses[family]
    folds = folds[:2] if name == "parity" else folds[:1]
    result = cross_validate(model, frame, y, unfairness=BOUNDS, folds=folds)
    assert_equal_to_naive(result, model, frame, y, folds, BOUNDS, name=name, family=family)
    assert set(result.to_frame()["status"]) <= {"converged", "inactive"}


def test_a_function_sees_the_validation_rows(frame, responses, folds):
    model = model_of("gaussian", definition=gap_of_residuals)
    y, (train, test) = responses["gaussian"], folds[0]
    found = cross_validate(model, frame, y, unfairness=[0.1], folds=folds[:1]).records[0]
    fitted = naive_fit(model, frame, y, train, 0.1)
    S, X = split_columns(frame.iloc[train], SENSITIVE)
    B = np.linalg.lstsq(centered(S), centered(X), rcond=None)[0]
    S_test, X_test = split_columns(frame.iloc[test], SENSITIVE)
    U = X_test - X.mean(axis=0) - (S_test - S.mean(axis=0)) @ B
    expected = gap_of_residuals(
        SimpleNamespace(
            S=S_test, U=U, y=y[test], alpha=fitted.alpha_, beta=fitted.beta_,
            intercept=fitted.fair_intercept_,
        )
    )  # fmt: skip
    assert found["achieved"] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("measure", ["deviance", "nagelkerke"])
def test_a_function_of_deviances_uses_those_of_the_validation_rows(
    frame, responses, folds, measure
):
    def share(fit):
        return StatisticalParity(measure=measure).value(fit)

    model, y = model_of("poisson", definition=share), responses["poisson"]
    found = cross_validate(model, frame, y, unfairness=[0.1], folds=folds[:1]).records[0]
    assert found["train_achieved"] == pytest.approx(0.1, abs=1e-10)
    assert found["achieved"] != pytest.approx(0.1, abs=1e-3)


# ---------------------------------------------------------- gaussian: moments


@pytest.fixture
def reads(monkeypatch):
    """How many rows were taken out of all, every time."""
    taken, original = [], Rows.take

    def spy(self, positions):
        taken.append(len(positions))
        return original(self, positions)

    monkeypatch.setattr(Rows, "take", spy)
    return taken


@pytest.mark.parametrize("definition", ["statistical-parity", "equality-of-opportunity"])
def test_a_gaussian_fold_reads_its_validation_rows_only(frame, responses, folds, reads, definition):
    model = model_of("gaussian", definition=definition)
    cross_validate(model, frame, responses["gaussian"], folds=folds)
    assert reads == [len(test) for _, test in folds]


def test_individual_fairness_takes_the_general_way(frame, responses, folds, reads):
    model = model_of("gaussian", definition="individual")
    cross_validate(model, frame, responses["gaussian"], unfairness=[0.1], folds=folds)
    assert sum(reads) == len(folds) * len(frame)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("parity", {"predictor_penalty": 7.0}),
        ("parity", {"standardize": False}),
        ("parity", {"penalty": "radial"}),
        ("parity", {"penalty": "lasso"}),
        ("parity", {"penalty": "elastic-net", "predictor_penalty": 1.0}),
        ("parity", {"definition": StatisticalParity(measure="deviance")}),
        ("parity", {"definition": StatisticalParity(measure="nagelkerke")}),
        ("opportunity", {"definition": EqualityOfOpportunity(), "predictor_penalty": 7.0}),
        ("opportunity", {"definition": EqualityOfOpportunity(), "penalty": "radial"}),
    ],
)
def test_gaussian_options_go_through_the_moments(frame, responses, folds, name, options):
    model, y = model_of("gaussian", **options), responses["gaussian"]
    result = cross_validate(model, frame, y, unfairness=BOUNDS, folds=folds[:2])
    assert_equal_to_naive(result, model, frame, y, folds[:2], BOUNDS, name=name)


@pytest.fixture
def numeric(frame, responses):
    """Numbers only, to be spoiled, with their response."""
    X = encoded(frame[["sex", "age", "skill", "hours", "luck"]])
    X.columns = ["sex", "age", "skill", "hours", "luck"]
    return X, np.array(responses["gaussian"])


def assert_survives(X, y, folds, tolerance=1e-10):
    model = model_of("gaussian")
    result = cross_validate(model, X, y, unfairness=[0.0, 0.05, 1.0], folds=folds)
    assert_equal_to_naive(result, model, X, y, folds, [0.0, 0.05, 1.0], tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gap", "tolerance"), [(1e-1, 1e-10), (1e-2, 1e-10), (1e-3, 1e-10), (1e-5, 1e-10), (1e-7, 1e-7)]
)
@pytest.mark.parametrize("column", ["skill", "age"])
def test_almost_collinear_columns(numeric, folds, column, gap, tolerance):
    # The last gap leaves the naive way itself no more than eight digits.
    X, y = numeric
    twin = "sex" if column == "age" else "luck"
    X[twin] = X[column] + gap * np.random.default_rng(3).normal(size=len(X)) * X[column].std()
    assert_survives(X, y, folds, tolerance)


def test_ill_conditioned_folds_read_the_rows(numeric, folds, reads):
    X, y = numeric
    X["luck"] = X["skill"] + 1e-4 * np.random.default_rng(3).normal(size=len(X))
    cross_validate(model_of("gaussian"), X, y, folds=folds)
    assert {len(train) for train, _ in folds} <= set(reads)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["luck", "sex"])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.1, 1.0 / 3.0), (-7.0, 1e5)])
@pytest.mark.parametrize("where", range(3))
def test_a_column_that_varies_in_one_fold_only(numeric, folds, column, values, where):
    # What is left of its scatter after subtraction is nothing but rounding.
    X, y = numeric
    X[column] = values[0]
    X.iloc[folds[where][1][:3], X.columns.get_loc(column)] = values[1]
    assert_survives(X, y, folds)


@pytest.mark.slow
def test_a_level_that_one_fold_has_alone(frame, responses, folds):
    X, rare = frame.copy(), folds[1][1][:2]
    region = X["region"].cat.add_categories(["d", "never"])
    region.iloc[rare] = "d"
    X["region"] = region
    assert_survives(X, responses["gaussian"], folds)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["luck", "age", "y"])
@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
def test_an_outlier_does_not_cover_the_other_rows(numeric, folds, column, size):
    X, y = numeric
    row = folds[0][1][0]
    if column == "y":
        y[row] = size
    else:
        X.iloc[row, X.columns.get_loc(column)] = size
    assert_survives(X, y, folds)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5])
def test_an_almost_perfect_fit(numeric, folds, noise):
    X, _ = numeric
    y = X.to_numpy() @ [1.0, 0.1, 2.0, -1.0, 0.5]
    y = y + noise * np.random.default_rng(4).normal(size=len(y))
    assert_survives(X, y, folds)


@pytest.mark.parametrize("units", [(1e-6, 1e6), (1e5, 1e-5), (1.0, 1e9)])
def test_units_do_not_matter(numeric, folds, units):
    X, y = numeric
    plain = cross_validate(model_of("gaussian"), X, y, unfairness=BOUNDS, folds=folds).to_frame()
    X["age"], X["sex"], X["luck"] = X["age"] * units[0], X["sex"] * units[1], X["luck"] * units[0]
    scaled = cross_validate(model_of("gaussian"), X, y, unfairness=BOUNDS, folds=folds).to_frame()
    numbers = plain.select_dtypes("number").columns
    np.testing.assert_allclose(scaled[numbers], plain[numbers], rtol=1e-9, atol=1e-10)


def test_collinear_sensitive_attributes(numeric, folds):
    X, y = numeric
    X["sex"] = 3.0 - 2.0 * X["age"]
    found = cross_validate(model_of("gaussian"), X, y, unfairness=[0.05], folds=folds[:1])
    fitted = naive_fit(model_of("gaussian"), X, y, folds[0][0], 0.05)
    test = X.iloc[folds[0][1]]
    expected = adjusted(fitted.predict(test), test[["age"]])
    assert found.records[0]["achieved"] == pytest.approx(expected, rel=1e-10)


def test_more_columns_than_rows(responses):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(45, 40)), columns=[f"x{k}" for k in range(38)] + SENSITIVE)
    folds = list(KFold(3).split(X))
    assert_survives(X, responses["gaussian"][:45], folds[:2])


# ----------------------------------------------------------------- other folds


@pytest.mark.slow
def test_hold_out(frame, responses):
    splitter = ShuffleSplit(3, test_size=0.2, train_size=0.6, random_state=2)
    model, y = model_of("gaussian"), responses["gaussian"]
    result = cross_validate(model, frame, y, unfairness=BOUNDS, cv=splitter)
    expected = list(splitter.split(frame))
    assert len(np.union1d(*expected[0])) < len(frame)
    assert_equal_to_naive(result, model, frame, y, expected, BOUNDS)


@pytest.mark.parametrize("kind", ["bootstrap", "overlap", "half", "all", "swap"])
def test_folds_that_do_not_divide_the_rows(frame, responses, folds, kind):
    n, rng = len(frame), np.random.default_rng(6)
    test = np.arange(40)
    # The first two have as many positions as there are rows, all the same.
    train = {
        "bootstrap": rng.integers(0, n, n - 40),
        "overlap": np.arange(20, n - 20),
        "half": np.arange(60, 130),
        "all": np.arange(n),
        "swap": np.append(np.arange(41, n), 5),
    }[kind]
    model, y = model_of("gaussian"), responses["gaussian"]
    result = cross_validate(model, frame, y, unfairness=BOUNDS, folds=[(train, test)])
    assert_equal_to_naive(result, model, frame, y, [(train, test)], BOUNDS)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_flat_and_nested_folds(frame, responses, folds, k):
    y, model = responses["gaussian"], model_of("gaussian")
    flat = cross_validate(model, frame, y, unfairness=BOUNDS, folds=folds[:k]).to_frame()
    other = [(train[::-1], test[::-1]) for train, test in folds[:k]]
    both = [[(a.tolist(), b.tolist()) for a, b in folds[:k]], other]
    nested = cross_validate(model, frame, y, unfairness=BOUNDS, folds=both).to_frame()
    assert nested["repeat"].tolist() == [0] * len(flat) + [1] * len(flat)
    for repeat in (0, 1):
        part = nested[nested["repeat"] == repeat].reset_index(drop=True)
        part["repeat"] = 0
        pd.testing.assert_frame_equal(part, flat, rtol=1e-12)


def test_pairs_of_positions_may_come_as_cv(frame, responses):
    halves = np.array_split(np.arange(len(frame)), 2)
    pairs = [halves, halves[::-1]]
    model, y = model_of("gaussian"), responses["gaussian"]
    wanted = cross_validate(model, frame, y, unfairness=[0.1], folds=pairs).to_frame()
    for cv in (pairs, iter(pairs), KFold(2).split(frame)):
        found = cross_validate(model, frame, y, unfairness=[0.1], cv=cv).to_frame()
        np.testing.assert_allclose(np.sort(found["loss"]), np.sort(wanted["loss"]), rtol=1e-12)
    with pytest.raises(ValueError, match="fold 0 is 3: pass pairs"):
        cross_validate(model, frame, y, unfairness=[0.1], cv=[3])
    with pytest.raises(ValueError, match=r"^cv='5' must be .* or a list of pairs .*\.$"):
        cross_validate(model, frame, y, unfairness=[0.1], cv="5")


@pytest.mark.parametrize("lengths", [(75, 76), (76, 75), (50, 50), (100, 51)])
def test_two_folds_per_repeat_of_any_length(frame, responses, lengths):
    order = np.random.default_rng(7).permutation(len(frame))
    first, second = order[: lengths[0]], order[-lengths[1] :]
    repeat = [(first, second), (second, first)]
    result = cross_validate(
        model_of("gaussian"), frame, responses["gaussian"], unfairness=[0.1], folds=[repeat] * 2
    )
    assert result.to_frame()["n"].tolist() == [lengths[1], lengths[0]] * 2


def test_repeated_folds_cover_all_rows_and_differ(frame, responses):
    result = cross_validate(
        model_of("gaussian"), frame, responses["gaussian"],
        unfairness=[0.05, 0.5], cv=4, repeats=3, random_state=0,
    )  # fmt: skip
    table = result.to_frame()
    assert list(table.columns)[: len(CONTRACT)] == CONTRACT
    assert len(table) == 2 * 4 * 3
    assert (table.groupby(["unfairness", "repeat"])["n"].sum() == len(frame)).all()
    assert table.groupby("repeat")["loss"].first().nunique() == 3


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_seed_makes_it_reproducible(frame, responses, family):
    def run(seed):
        return cross_validate(
            model_of(family), frame, responses[family],
            unfairness=[0.05], cv=2, repeats=2, random_state=seed,
        ).to_frame()  # fmt: skip

    pd.testing.assert_frame_equal(run(0), run(0))
    pd.testing.assert_frame_equal(run(np.random.RandomState(0)), run(0))
    assert not run(1)["loss"].equals(run(0)["loss"])


def test_the_global_state_of_random_numbers_is_left_alone(frame, responses):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    cross_validate(model_of("gaussian"), frame, responses["gaussian"], random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_folds_of_classifiers_are_stratified(frame, responses):
    y = np.where(np.arange(len(frame)) % 10 == 0, "rare", "common")
    result = cross_validate(
        model_of("binomial", predictor_penalty=1.0), frame, y,
        unfairness=[0.05], cv=8, random_state=0,
    )  # fmt: skip
    assert result.to_frame()["auc"].notna().all()


# ------------------------------------------------------------------ many models


@pytest.mark.slow
def test_all_models_see_the_same_folds(frame, responses):
    y = (responses["binomial"] == "yes").astype(float)
    models = {
        "linear": model_of("gaussian"),
        "again": model_of("gaussian", unfairness=0.9),
        "individual": model_of("gaussian", definition="individual"),
        "logistic": model_of("binomial"),
    }
    options = {"unfairness": [0.05, 1.0], "cv": 4, "repeats": 2}
    table = cross_validate(models, frame, y, random_state=3, **options).to_frame()
    assert table["model"].unique().tolist() == list(models)
    parts = {name: part.reset_index(drop=True) for name, part in table.groupby("model")}
    # A model's own bound is not used, and what it does not have is missing.
    drop = ["model"]
    pd.testing.assert_frame_equal(
        parts["linear"].drop(columns=drop), parts["again"].drop(columns=drop)
    )
    assert parts["linear"]["f1"].isna().all()
    assert parts["logistic"]["r_squared"].isna().all()
    free = parts["linear"]["unfairness"] == 1.0
    np.testing.assert_allclose(
        parts["individual"].loc[free, "loss"], parts["linear"].loc[free, "loss"], rtol=1e-10
    )
    assert parts["logistic"]["n"].tolist() == parts["linear"]["n"].tolist()
    alone = cross_validate(models["linear"], frame, y, random_state=3, **options)
    pd.testing.assert_frame_equal(
        alone.to_frame().drop(columns=drop), parts["linear"][alone.to_frame().columns[1:]]
    )
    assert alone.to_frame()["model"].unique().tolist() == ["FairRidgeRegressor"]


def test_models_are_left_as_they_were(frame, responses):
    model = model_of("gaussian", unfairness=0.3)
    cross_validate(model, frame, responses["gaussian"], unfairness=[0.1], cv=3)
    assert model.unfairness == 0.3
    assert not hasattr(model, "alpha_")


def test_sensitive_features_may_come_separately(frame, responses, folds):
    y = responses["gaussian"]
    together = cross_validate(model_of("gaussian"), frame, y, folds=folds).to_frame()
    apart = cross_validate(
        FairRidgeRegressor(tol=1e-12), frame.drop(columns=SENSITIVE), y,
        sensitive_features=frame[SENSITIVE], folds=folds,
    ).to_frame()  # fmt: skip
    pd.testing.assert_frame_equal(apart, together)
    assert apart["unfairness"].unique().tolist() == [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["poisson", "multinomial", "cox"])
def test_two_processes_give_the_same_numbers(frame, responses, folds, family):
    model = {family: model_of(family), "function": model_of(family, definition=correlation)}
    options = {"unfairness": [0.1], "folds": folds[:2]}
    one = cross_validate(model, frame, responses[family], n_jobs=1, **options).to_frame()
    two = cross_validate(model, frame, responses[family], n_jobs=2, **options).to_frame()
    pd.testing.assert_frame_equal(two, one, rtol=1e-10)


def test_polars_in_polars_out(frame, responses, folds):
    y = responses["binomial"]
    expected = cross_validate(
        model_of("binomial"), frame, y, unfairness=[0.1], cv=3, random_state=0
    ).to_frame()
    found = cross_validate(
        model_of("binomial"), pl.from_pandas(frame.reset_index(drop=True)), pl.Series(y.tolist()),
        unfairness=[0.1], cv=3, random_state=0,
    ).to_frame()  # fmt: skip
    assert isinstance(found, pl.DataFrame)
    assert found.columns == list(expected.columns)
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-12)


def test_arrays_and_structured_survival_responses(frame, responses, folds):
    y = responses["cox"]
    records = np.array(
        [(bool(e), t) for t, e in y.to_numpy()], dtype=[("event", bool), ("time", float)]
    )
    Z = encoded(frame[["age", "skill", "hours"]]).to_numpy()
    model = FairRidgeSurvival(sensitive=[0])
    first = cross_validate(model, Z, records, unfairness=[0.1], folds=folds[:1])
    second = cross_validate(model, Z, y.to_numpy(float), unfairness=[0.1], folds=folds[:1])
    assert first.records == second.records
    assert first.loss_name == {"FairRidgeSurvival": "mean deviance"}


# --------------------------------------------------------- small folds, warm starts


def test_generalized_linear_models_start_from_the_fit_to_all_rows():
    # Strong effects: from the null model it is a long way.
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 4))
    y = rng.poisson(np.exp(Z @ [0.5, 1.0, -1.0, 0.8]))
    model = FairRidgeRegressor(family="poisson", sensitive=[0])
    training = read_training(model, Z, y, None, None, None)
    warm_start = model._set_up(training).warm_start()

    def passes(planted):
        train, _ = training.fold(np.arange(300), np.arange(300, 400))
        problem = model._problem_on(train, training.response)
        before = train.passes
        if planted:
            problem.start_from(warm_start)
        problem.warm_start()
        return train.passes - before

    assert passes(planted=True) < passes(planted=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parity", "individual"])
def test_one_row_at_a_time(frame, responses, name):
    X, y = frame[["sex", "age", "skill"]][:20], responses["gaussian"][:20]
    model = model_of("gaussian", definition=DEFINITIONS[name])
    table = cross_validate(model, X, y, unfairness=[0.2], cv=LeaveOneOut()).to_frame()
    for row, (train, test) in enumerate(LeaveOneOut().split(X)):
        fitted = naive_fit(model, X, y, train, 0.2)
        expected = abs(y[test] - fitted.predict(X.iloc[test]))[0]
        assert table["loss"][row] == pytest.approx(expected, rel=1e-10)
    assert table["r_squared"].isna().all()


def test_a_fold_of_one_class_has_no_auc(frame, responses):
    y = responses["binomial"]
    test = np.flatnonzero(y == "yes")[:15]
    train = np.setdiff1d(np.arange(len(y)), test)
    model = model_of("binomial")
    table = cross_validate(
        model, frame, y, unfairness=[0.1], folds=[(train, test), (train[:99], train[99:])]
    ).to_frame()
    assert table["auc"].isna().tolist() == [True, False]
    assert table["recall"].notna().all()


def test_a_fold_without_events_has_no_deviance_per_event(frame, responses):
    y = responses["cox"]
    test = np.flatnonzero(y["event"] == 0)[:12]
    train = np.setdiff1d(np.arange(len(y)), test)
    record = cross_validate(
        model_of("cox"), frame, y, unfairness=[0.1], folds=[(train, test)]
    ).to_frame()
    assert np.isnan(record["loss"][0])
    assert np.isfinite(record["achieved"][0])


# ---------------------------------------------------------------- fairml's folds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["communities", "compas"])
def test_the_error_is_that_of_fairml(reference, name):
    task, data = reference.task(name)
    X, y = data[task["sensitive"] + task["predictors"]], data[task["response"]].to_numpy()
    answers = reference.json(f"cv/cv_frrm_{name}.json")
    rows = np.arange(len(y))
    runs = [
        [(np.setdiff1d(rows, np.array(test) - 1), np.array(test) - 1) for test in run]
        for run in reference.json(f"cv/{name}_folds.json")["runs"]
    ]
    bounds = [answer["unfairness"] for answer in answers]
    model = FairRidgeRegressor(sensitive=task["sensitive"])
    table = cross_validate(model, X, y, unfairness=bounds, folds=runs).to_frame()
    table = table.set_index(["unfairness", "repeat", "fold"]).sort_index()
    for answer in answers:
        for repeat, run in enumerate(answer["runs"]):
            # What fairml calls RMSE here is its square.
            theirs = np.sqrt([fold["RMSE"][0] for fold in run["fold_loss"]])
            ours = table.loc[(answer["unfairness"], repeat), "loss"]
            np.testing.assert_allclose(ours, theirs, atol=1e-3)
    for number, (train, test) in enumerate(runs[0][:4]):
        for r in bounds:
            fitted = naive_fit(model, X, y, train, r)
            row = table.loc[(r, 0, number)]
            error = np.sqrt(np.mean((y[test] - fitted.predict(X.iloc[test])) ** 2))
            S = encoded(X[task["sensitive"]]).iloc[test]
            assert row["loss"] == pytest.approx(error, abs=1e-10)
            share = adjusted(fitted.predict(X.iloc[test]), S)
            assert row["achieved"] == pytest.approx(share, abs=1e-10)


# ------------------------------------------------------- scikit-learn's own tools


def test_cross_val_score_agrees(frame, responses, folds):
    y, model = responses["gaussian"], model_of("gaussian", unfairness=0.05)
    ours = cross_validate(model, frame, y, unfairness=[0.05], folds=folds).to_frame()
    scorer = metrics.make_scorer(metrics.root_mean_squared_error, greater_is_better=False)
    for scoring, expected in (
        (None, ours["r_squared"]),
        (scorer, -ours["loss"]),
        ("neg_root_mean_squared_error", -ours["loss"]),
    ):
        found = cross_val_score(model, frame, y, cv=folds, scoring=scoring)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.slow
def test_grid_search_agrees(frame, responses):
    y, splitter = responses["binomial"], StratifiedKFold(3)
    grid = {"unfairness": [0.0, 0.1], "predictor_penalty": [0.0, 5.0]}
    search = GridSearchCV(model_of("binomial"), grid, cv=splitter).fit(frame, y)
    models = {p: model_of("binomial", predictor_penalty=p) for p in grid["predictor_penalty"]}
    table = cross_validate(models, frame, y, unfairness=grid["unfairness"], cv=splitter).to_frame()
    means = table.groupby(["model", "unfairness"])["accuracy"].mean()
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        ours = means[parameters["predictor_penalty"], parameters["unfairness"]]
        assert score == pytest.approx(ours, rel=1e-12)
    assert search.best_estimator_.unfairness_ <= search.best_params_["unfairness"] + 1e-9


# ---------------------------------------------------------------- progress, errors


def test_a_progress_bar_counts_folds_of_all_models(frame, responses, capfd):
    models = {"one": model_of("poisson"), "two": model_of("gaussian")}
    options = {"unfairness": [0.1], "cv": 3, "repeats": 2}
    cross_validate(models, frame, responses["poisson"], progress=True, **options)
    out, err = capfd.readouterr()
    assert out == ""
    assert "12/12" in err
    assert "100%" in err
    cross_validate(models, frame, responses["poisson"], **options)
    assert capfd.readouterr() == ("", "")


def test_a_missing_tqdm_is_named(frame, responses, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # Python's way to say: not installed
    with pytest.raises(ImportError, match="pip install tqdm"):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"], progress=True)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({}, ValueError, "models is empty"),
        (Ridge(), TypeError, "model 'Ridge' is a Ridge"),
        ({"fair": FairRidgeRegressor(sensitive="age"), "not": Ridge()}, TypeError, "model 'not'"),
        ("FairRidgeRegressor", TypeError, "model 'str' is a str, and no estimator"),
        (None, TypeError, "model 'NoneType'"),
        (FairRidgeRegressor, TypeError, r"class FairRidgeRegressor; pass .*Regressor\(…\)"),
        ({"a": 3}, TypeError, "model 'a' is a int"),
    ],
)
def test_models_that_are_none(frame, responses, models, error, message):
    X = frame[["age", "skill"]]
    with pytest.raises(error, match=message):
        cross_validate(models, X, responses["gaussian"], cv=3)
    if isinstance(models, dict) and models and "not" not in models:
        with pytest.raises(error, match=message):
            compare(X, responses["gaussian"], sensitive="age", models=models)


ROWS = np.arange(151)
BAD_FOLDS = {
    "beyond the last row": ([(ROWS[:99], [99, 151])], "validation rows of fold 0 .* 151,"),
    "negative": ([(ROWS[:99], ROWS[99:]), ([-1, 3], ROWS[:9])], "training rows of fold 1 .* -1,"),
    "numbers": ([(ROWS[:99] + 0.0, ROWS[99:])], "training rows of fold 0 are array"),
    "words": ([(["a", "b"], ROWS)], r"training rows of fold 0 are \['a', 'b'\]"),
    "a short mask": ([(ROWS[:99] > 5, ROWS[:99] < 6)], "a mask of length 99, but X has 151 rows"),
    "an empty mask": ([(ROWS >= 0, ROWS < 0)], "validation rows of fold 0 are none at all"),
    "a matrix": ([(ROWS[:99, None], ROWS[99:])], "Boolean masks"),
    "three parts": ([(ROWS[:50], ROWS[50:99], ROWS[99:])], "Boolean masks"),
    "one list": (ROWS.tolist(), "folds=.* pass pairs"),
    "numbers of folds": (ROWS % 3, "folds=.* pass pairs"),
    "a number": (5, "folds=5: pass pairs"),
    "a word": ("five", "pass pairs"),
}  # fmt: skip


@pytest.mark.parametrize(("folds", "message"), BAD_FOLDS.values(), ids=BAD_FOLDS)
def test_folds_that_are_not_positions(frame, responses, folds, message):
    assert len(frame) == len(ROWS)
    y = responses["gaussian"]
    with pytest.raises(ValueError, match=message):
        cross_validate(model_of("gaussian"), frame, y, folds=folds)
    with pytest.raises(ValueError, match=message):
        compare(frame, y, sensitive=SENSITIVE, models={}, folds=folds)


def test_masks_and_generators_are_folds(frame, responses):
    y, model = responses["gaussian"], model_of("gaussian")
    first = ROWS % 3 == 0
    by_mask = cross_validate(model, frame, y, folds=[(~first, first)]).to_frame()
    pairs = iter([(np.flatnonzero(~first), np.flatnonzero(first))])
    pd.testing.assert_frame_equal(cross_validate(model, frame, y, folds=pairs).to_frame(), by_mask)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([0.1, 1.5], "unfairness=1.5 is not a bound"),
        ([-0.1], "is not a bound"),
        ([np.nan], "is not a bound"),
        ([], "at least one"),
        ([[0.1], [0.2]], "list of at least one"),
        (["0.1"], "is not a bound"),
    ],
)
def test_bounds_that_are_none(frame, responses, bounds, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"], unfairness=bounds)


@pytest.mark.parametrize(
    "options",
    [
        {"folds": []},
        {"folds": [(np.arange(100), np.array([], dtype=int))]},
        {"folds": [(np.array([], dtype=int), np.arange(100))]},
        {"cv": 1},
        {"cv": "five"},
        {"cv": 2.5},
        {"cv": True},
        {"cv": None},
        {"cv": 152},
        {"repeats": 0},
        {"repeats": 1.5},
    ],
    ids=[
        "no folds",
        "no test",
        "no training",
        "one fold",
        "a word",
        "a fraction",
        "a Boolean",
        "nothing",
        "too many",
        "no repeat",
        "a fraction of repeats",
    ],
)
def test_folds_that_are_none(frame, responses, options):
    with pytest.raises(ValueError, match=r"fold|must be a whole number"):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"], **options)


@pytest.mark.parametrize("family", ["binomial", "multinomial", "cox", "poisson"])
def test_training_rows_that_no_model_fits_are_refused(frame, responses, family):
    y = responses[family]
    lost = {
        "binomial": lambda: y == "yes",
        "multinomial": lambda: y == 2,
        "cox": lambda: y["event"].to_numpy() == 1,
        "poisson": lambda: y > 0,
    }[family]()
    folds = [(np.flatnonzero(~lost), np.flatnonzero(lost))]
    with pytest.raises(ValueError, match=r"class|outcomes|events|other than 0"):
        cross_validate(model_of(family), frame, y, unfairness=[0.1], folds=folds)


def test_errors_of_fit_are_errors_here(frame, responses):
    with pytest.raises(ValueError, match="sensitive"):
        cross_validate(FairRidgeRegressor(), frame, responses["gaussian"], cv=3)
    with pytest.raises(ValueError, match="numbers of samples"):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"][:99], cv=3)
