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
    KFold,
    LeaveOneOut,
)
from threadpoolctl import threadpool_limits

from fairridge import (
    FairRidgeRegressor,
    compare,
    cross_validate,
)
from fairridge.data import Rows
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


def at(y, rows):
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


def scores_of(family, fitted, X, y):
    """Other scores of classes are in `test_evaluate.py`."""
    if family == "cox":
        return {"concordance": fitted.score(X, y)}
    if family in ("binomial", "multinomial"):
        return {"accuracy": np.mean(fitted.predict(X) == y)}
    squares = np.mean((y - fitted.predict(X)) ** 2)
    return {"rmse": np.sqrt(squares), "r_squared": 1.0 - squares / np.var(y)}


def correlation(fit):
    """A definition of our own: squared correlation of predictions and the first attribute."""
    eta = fit.linear_predictor()
    eta = eta if eta.ndim == 1 else eta[:, 0]
    return np.corrcoef(eta, fit.S[:, 0])[0, 1] ** 2 if np.ptp(eta) > 0 else 0.0


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
        return clone(model).set_params(unfairness=r).fit(X.iloc[rows], at(y, rows))


def naive(model, X, y, fold, r, name="parity", family="gaussian", sensitive=SENSITIVE):
    train, test = fold
    fitted = naive_fit(model, X, y, train, r)
    free = naive_fit(model, X, y, train, 1.0) if name in ("individual", "largest") else None
    X_train, X_test, y_train, y_test = X.iloc[train], X.iloc[test], at(y, train), at(y, test)
    S, _ = split_columns(X_test, sensitive)
    found = {
        "n": len(test),
        "train_loss": loss_of(family, fitted, X_train, y_train),
        "loss": loss_of(family, fitted, X_test, y_test),
        "train_achieved": fitted.unfairness_,
        "achieved": unfairness_of(name, family, fitted, free, X_test, y_test, sensitive),
        "share_of_eta": adjusted(eta_of(family, fitted, X_test), S),
        "variance_share": variance_share(fitted, X_train, X_test, sensitive),
    }
    if family != "cox":
        found["share_of_means"] = adjusted(zoo.means(fitted, X_test), S)
    return found | scores_of(family, fitted, X_test, y_test)


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


# ---------------------------------------------------------- gaussian: moments


def test_a_gaussian_fold_reads_its_validation_rows_only(frame, responses, folds, monkeypatch):
    taken, take = [], Rows.take
    monkeypatch.setattr(
        Rows, "take", lambda self, rows: taken.append(len(rows)) or take(self, rows)
    )
    cross_validate(model_of("gaussian"), frame, responses["gaussian"], folds=folds)
    assert taken == [len(test) for _, test in folds]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("parity", {"penalty": "elastic-net", "predictor_penalty": 1.0, "standardize": False}),
        ("parity", {"definition": StatisticalParity(measure="nagelkerke")}),
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


def almost_collinear(X, y, test):
    X["luck"] = X["skill"] + 1e-5 * X["luck"]


def rare_value(X, y, test):
    """What is left of its scatter after subtraction is nothing but rounding."""
    X["luck"] = 0.1
    X.iloc[test[:3], X.columns.get_loc("luck")] = 1.0 / 3.0


def outlier(X, y, test):
    X.iloc[test[0], X.columns.get_loc("age")] = 1e8


def perfect_fit(X, y, test):
    y[:] = X.to_numpy() @ [1.0, 0.1, 2.0, -1.0, 0.5]


@pytest.mark.parametrize(
    "spoil",
    [almost_collinear, rare_value, outlier, perfect_fit],
    ids=lambda spoil: spoil.__name__,
)
def test_differences_of_moments_lose_no_digits(numeric, folds, spoil):
    X, y = numeric
    spoil(X, y, folds[1][1])
    assert_survives(X, y, folds)


def test_more_columns_than_rows(responses):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(45, 40)), columns=[f"x{k}" for k in range(38)] + SENSITIVE)
    folds = list(KFold(3).split(X))
    assert_survives(X, responses["gaussian"][:45], folds[:2])


# ----------------------------------------------------------------- other folds


@pytest.mark.parametrize("kind", ["bootstrap", "overlap", "half"])
def test_folds_that_do_not_divide_the_rows(frame, responses, folds, kind):
    n, rng = len(frame), np.random.default_rng(6)
    test = np.arange(40)
    # The first two have as many positions as there are rows, all the same.
    train = {
        "bootstrap": rng.integers(0, n, n - 40),
        "overlap": np.arange(20, n - 20),
        "half": np.arange(60, 130),
    }[kind]
    model, y = model_of("gaussian"), responses["gaussian"]
    result = cross_validate(model, frame, y, unfairness=BOUNDS, folds=[(train, test)])
    assert_equal_to_naive(result, model, frame, y, [(train, test)], BOUNDS)


def test_flat_and_nested_folds(frame, responses):
    """Also of two parts of the same length, of which an array could be made."""
    first, second = np.array_split(np.random.default_rng(7).permutation(150), 2)
    folds = [(first, second), (second, first)]
    y, model = responses["gaussian"], model_of("gaussian")
    flat = cross_validate(model, frame, y, unfairness=BOUNDS, folds=folds).to_frame()
    other = [(train[::-1], test[::-1]) for train, test in folds]
    both = [[(a.tolist(), b.tolist()) for a, b in folds], other]
    nested = cross_validate(model, frame, y, unfairness=BOUNDS, folds=both).to_frame()
    assert nested["repeat"].tolist() == [0] * len(flat) + [1] * len(flat)
    for repeat in (0, 1):
        part = nested[nested["repeat"] == repeat].reset_index(drop=True)
        part["repeat"] = 0
        pd.testing.assert_frame_equal(part, flat, rtol=1e-12)


def test_masks_and_generators_are_folds_and_may_come_as_cv(frame, responses):
    y, model, first = responses["gaussian"], model_of("gaussian"), np.arange(len(frame)) % 3 == 0
    masks = [(~first, first)]
    wanted = cross_validate(model, frame, y, unfairness=[0.1], folds=masks).to_frame()
    for cv in (masks, iter([(np.flatnonzero(~first), np.flatnonzero(first))])):
        found = cross_validate(model, frame, y, unfairness=[0.1], cv=cv).to_frame()
        pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(ValueError, match="fold 0 is 3: pass pairs"):
        cross_validate(model, frame, y, unfairness=[0.1], cv=[3])
    with pytest.raises(ValueError, match=r"^cv='5' must be .* or a list of pairs .*\.$"):
        cross_validate(model, frame, y, unfairness=[0.1], cv="5")
    assert model.unfairness == FairRidgeRegressor().unfairness
    assert not hasattr(model, "alpha_")


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


def test_a_seed_makes_it_reproducible(frame, responses):
    def run(seed):
        return cross_validate(
            model_of("gaussian"), frame, responses["gaussian"],
            unfairness=[0.05], cv=2, repeats=2, random_state=seed,
        ).to_frame()  # fmt: skip

    before = np.random.get_state()[1].copy()  # noqa: NPY002
    pd.testing.assert_frame_equal(run(np.random.RandomState(0)), run(0))
    assert not run(1)["loss"].equals(run(0)["loss"])
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_folds_of_classifiers_are_stratified(frame, responses):
    y = np.where(np.arange(len(frame)) % 10 == 0, "rare", "common")
    result = cross_validate(
        model_of("binomial", predictor_penalty=1.0), frame, y,
        unfairness=[0.05], cv=8, random_state=0,
    )  # fmt: skip
    assert result.to_frame()["auc"].notna().all()


# ------------------------------------------------------------------ many models


def test_all_models_see_the_same_folds(frame, responses):
    y = (responses["binomial"] == "yes").astype(float)
    models = {
        "linear": model_of("gaussian"),
        "again": model_of("gaussian", unfairness=0.9),
        "logistic": model_of("binomial"),
    }
    options = {"unfairness": [0.05, 1.0], "cv": 3, "random_state": 3}
    table = cross_validate(models, frame, y, **options).to_frame()
    assert table["model"].unique().tolist() == list(models)
    parts = {name: part.reset_index(drop=True) for name, part in table.groupby("model")}
    # A model's own bound is not used, and what it does not have is missing.
    linear, again = (parts[name].drop(columns="model") for name in ("linear", "again"))
    pd.testing.assert_frame_equal(linear, again)
    assert linear["f1"].isna().all()
    assert parts["logistic"]["r_squared"].isna().all()
    alone = cross_validate(models["linear"], frame, y, **options).to_frame()
    assert alone["model"].unique().tolist() == ["FairRidgeRegressor"]
    pd.testing.assert_frame_equal(alone.drop(columns="model"), linear[alone.columns[1:]])


def test_sensitive_features_may_come_separately(frame, responses, folds):
    y = responses["gaussian"]
    together = cross_validate(model_of("gaussian"), frame, y, folds=folds).to_frame()
    apart = cross_validate(
        FairRidgeRegressor(tol=1e-12), pl.from_pandas(frame.drop(columns=SENSITIVE)), y,
        sensitive_features=frame[SENSITIVE].reset_index(drop=True), folds=folds,
    ).to_frame()  # fmt: skip
    assert isinstance(apart, pl.DataFrame)
    assert apart.columns == list(together)
    np.testing.assert_allclose(apart["loss"], together["loss"], rtol=1e-12)
    assert together["unfairness"].unique().tolist() == [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]


@pytest.mark.slow
def test_two_processes_give_the_same_numbers(frame, responses, folds):
    model = {"cox": model_of("cox"), "function": model_of("cox", definition=correlation)}
    options = {"unfairness": [0.1], "folds": folds[:2]}
    one, two = (
        cross_validate(model, frame, responses["cox"], n_jobs=n_jobs, **options).to_frame()
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(two, one, rtol=1e-10)


# -------------------------------------------------------------------- small folds


@pytest.mark.slow
def test_one_row_at_a_time(frame, responses):
    X, y = frame[["sex", "age", "skill"]][:20], responses["gaussian"][:20]
    model = model_of("gaussian", definition="individual")
    table = cross_validate(model, X, y, unfairness=[0.2], cv=LeaveOneOut()).to_frame()
    for row, (train, test) in enumerate(LeaveOneOut().split(X)):
        fitted = naive_fit(model, X, y, train, 0.2)
        expected = abs(y[test] - fitted.predict(X.iloc[test]))[0]
        assert table["loss"][row] == pytest.approx(expected, rel=1e-10)
    assert table["r_squared"].isna().all()


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
        ({"fair": FairRidgeRegressor(sensitive="age"), "not": Ridge()}, TypeError, "model 'not'"),
        ("FairRidgeRegressor", TypeError, "model 'str' is a str, and no estimator"),
        (FairRidgeRegressor, TypeError, r"class FairRidgeRegressor; pass .*Regressor\(…\)"),
    ],
)
def test_models_that_are_none(frame, responses, models, error, message):
    X = frame[["age", "skill"]]
    with pytest.raises(error, match=message):
        cross_validate(models, X, responses["gaussian"], cv=3)


ROWS = np.arange(151)
BAD_FOLDS = {
    "none": ([], "fold"),
    "beyond the last row": ([(ROWS[:99], [99, 151])], "validation rows of fold 0 .* 151,"),
    "negative": ([(ROWS[:99], ROWS[99:]), ([-1, 3], ROWS[:9])], "training rows of fold 1 .* -1,"),
    "words": ([(["a", "b"], ROWS)], r"training rows of fold 0 are \['a', 'b'\]"),
    "a short mask": ([(ROWS[:99] > 5, ROWS[:99] < 6)], "a mask of length 99, but X has 151 rows"),
    "an empty mask": ([(ROWS >= 0, ROWS < 0)], "validation rows of fold 0 are none at all"),
    "three parts": ([(ROWS[:50], ROWS[50:99], ROWS[99:])], "Boolean masks"),
    "one list": (ROWS.tolist(), "folds=.* pass pairs"),
    "a number": (5, "folds=5: pass pairs"),
}  # fmt: skip


@pytest.mark.parametrize(("folds", "message"), BAD_FOLDS.values(), ids=BAD_FOLDS)
def test_folds_that_are_not_positions(frame, responses, folds, message):
    assert len(frame) == len(ROWS)
    y = responses["gaussian"]
    with pytest.raises(ValueError, match=message):
        cross_validate(model_of("gaussian"), frame, y, folds=folds)
    with pytest.raises(ValueError, match=message):
        compare(frame, y, sensitive=SENSITIVE, models={}, folds=folds)


@pytest.mark.parametrize(
    "options",
    [{"cv": 1}, {"cv": 2.5}, {"cv": None}, {"cv": 152}, {"repeats": 0}],
    ids=str,
)
def test_numbers_of_folds_that_are_none(frame, responses, options):
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
    with pytest.raises(ValueError, match=r"unfairness=1\.5 is not a bound"):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"], unfairness=[0.1, 1.5])
    with pytest.raises(ValueError, match="at least one"):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"], unfairness=[])
    with pytest.raises(ValueError, match="numbers of samples"):
        cross_validate(model_of("gaussian"), frame, responses["gaussian"][:99], cv=3)
