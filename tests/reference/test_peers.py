"""R fairml's answers for NCLM, ZLM and ZLRM, and how far its solvers are from the optimum."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from fairridge import KomiyamaRegressor, ZafarClassifier, ZafarRegressor
from fairridge.exceptions import BoundWarning

SENSITIVE = ["age", "sex"]


def of_model(answers, name):
    found = [answer for answer in answers if answer["model"] == name]
    assert found
    return found


def zafar(answer, **options):
    model = ZafarRegressor if answer["model"].startswith("zlm") else ZafarClassifier
    bound = "covariance" if answer["model"].endswith(".orig") else "correlation"
    return model(answer["unfairness"], bound=bound, **options)


def coefficients(answer):
    values = [np.ravel(value)[0] for value in answer["coefficients"].values()]
    return np.array(values, dtype=float)


def found(model):
    return np.append(model.intercept_, model.beta_)


def encoded(frame, columns):
    parts = [
        pd.get_dummies(frame[column], dtype=float).iloc[:, 1:]
        if not pd.api.types.is_numeric_dtype(frame[column])
        else frame[[column]]
        for column in columns
    ]
    return pd.concat(parts, axis=1).to_numpy(float)


def largest_covariance(S, eta):
    return np.abs((S - S.mean(0)).T @ (eta - eta.mean())).max() / (len(S) - 1)


def residual_of_optimality(model, X, y, S):
    """Violation of the conditions of optimality, per row and in standardized columns."""
    Z, b = (X - X.mean(0)) / X.std(0), model.beta_
    eta = model.intercept_ + X @ b
    binary = isinstance(model, ZafarClassifier)
    slope = (expit(eta) if binary else eta) - y
    C = (S - S.mean(0)).T @ Z
    at = (S - S.mean(0)).T @ (eta - eta.mean()) / (S.std(0) if model.bound == "correlation" else 1)
    C = C / S.std(0)[:, None] if model.bound == "correlation" else C
    active = np.abs(at) >= (1 - 1e-7) * np.abs(at).max()
    gradient = Z.T @ slope
    if not model.bound_active_:
        return np.abs(gradient).max() / len(y)
    nu = np.linalg.lstsq(C[active].T, gradient, rcond=None)[0]
    return np.abs(gradient - C[active].T @ nu).max() / len(y)


# ----------------------------------------------------------------------- people


@pytest.fixture(scope="module")
def columns(people):
    return people[[*SENSITIVE, "income", "score", "region"]]


@pytest.mark.parametrize("name", ["zlm.orig", "zlrm.orig"])
def test_covariance_bounds_on_our_own_data(people, columns, people_answers, name):
    y = people["gaussian"] if name == "zlm.orig" else (people["binomial"] == "yes") * 1
    S, X = encoded(columns, SENSITIVE), encoded(columns, ["income", "score", "region"])
    for answer in of_model(people_answers, name):
        model = zafar(answer, sensitive=SENSITIVE).fit(columns, y)
        np.testing.assert_allclose(found(model), coefficients(answer), atol=1e-4)
        assert model.deviance_ == pytest.approx(answer["deviance"], rel=1e-5)
        assert model.loglik_ == pytest.approx(answer["loglik"], rel=1e-5)
        assert model.unfairness_ <= answer["unfairness"]
        assert model.unfairness_ == pytest.approx(answer["unfairness"], rel=1e-8)
        assert residual_of_optimality(model, X, y.to_numpy(), S) < 1e-8


@pytest.mark.parametrize("name", ["zlm", "zlrm"])
def test_fairml_exceeds_correlation_bounds_that_we_meet(people, columns, people_answers, name):
    y = people["gaussian"] if name == "zlm" else (people["binomial"] == "yes") * 1
    S, X = encoded(columns, SENSITIVE), encoded(columns, ["income", "score", "region"])
    exceeded = 0
    for answer in of_model(people_answers, name):
        r = answer["unfairness"]
        model = zafar(answer, sensitive=SENSITIVE).fit(columns, y)
        assert r - 1e-8 <= model.unfairness_ <= r
        assert residual_of_optimality(model, X, y.to_numpy(), S) < 1e-8
        eta = X @ coefficients(answer)[1:]
        theirs = max(abs(np.corrcoef(s, eta)[0, 1]) for s in S.T)
        exceeded += theirs > r + 1e-3
        # Where they meet it, they find the same model.
        if theirs <= r + 1e-6:
            np.testing.assert_allclose(found(model), coefficients(answer), atol=1e-4)
    assert exceeded == 2  # both answers for r = .05 and r = .1 are one and the same model


def test_nclm_on_our_own_data_is_never_worse_than_fairml(people, columns, people_answers):
    y, n = people["gaussian"], len(people)
    S, X = encoded(columns, SENSITIVE), encoded(columns, ["income", "score", "region"])
    centered = S - S.mean(0)
    U = X - X.mean(0) - centered @ np.linalg.lstsq(centered, X, rcond=None)[0]
    for answer in of_model(people_answers, "nclm"):
        r, ridge = answer["unfairness"], answer["lambda"]
        model = KomiyamaRegressor(float(r), sensitive=SENSITIVE, ridge=float(ridge))
        model.fit(columns, y)
        theirs = coefficients(answer)
        alpha, beta = theirs[1:3], theirs[3:]
        t = y - y.mean()

        def objective(a, b, ridge=ridge, t=t):
            penalty = np.sum((centered.std(0) * a) ** 2) + np.sum((U.std(0) * b) ** 2)
            return np.sum((t - centered @ a - U @ b) ** 2) + ridge * penalty

        # Their covariances divide by n − 1 and their products by n: all is (n − 1)/n too small.
        if r == 0:
            np.testing.assert_allclose(model.beta_ * (n - 1) / n, beta, rtol=1e-4)
        assert objective(model.alpha_, model.beta_) <= objective(alpha, beta) * (1 + 1e-10)


# --------------------------------------------------------------- data of others


def prepared(reference, name):
    task, frame = reference.task(name)
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].cat.remove_unused_categories()
    y = frame[task["response"]]
    y = y.cat.codes.to_numpy() if isinstance(y.dtype, pd.CategoricalDtype) else y.to_numpy()
    S, X = (encoded(frame, task[key]) for key in ("sensitive", "predictors"))
    return task["sensitive"], frame[task["sensitive"] + task["predictors"]], y, S, X


@pytest.mark.filterwarnings("ignore:only the intercept")
@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("vu.gaussian", "vu_zlm.orig"),
        ("vu.binomial", "vu_zlrm.orig"),
        ("compas.bin", "paper_zlrm.orig_compas.bin"),
        ("adult", "paper_zlrm.orig_adult"),
    ],
)
def test_covariance_bounds_on_data_of_others(reference, name, answers):
    sensitive, frame, y, S, X = prepared(reference, name)
    for answer in reference.json(f"golden/{answers}.json"):
        options = {"at_zero": "drop"} if answer["unfairness"] == 0 else {}
        model = zafar(answer, sensitive=sensitive, **options).fit(frame, y)
        expected = coefficients(answer)
        np.testing.assert_allclose(found(model), expected, atol=1e-4 * np.abs(expected).max())
        assert model.deviance_ == pytest.approx(answer["deviance"], rel=1e-5)
        assert model.unfairness_ <= answer["unfairness"]
        if answer["unfairness"] > 0:
            assert residual_of_optimality(model, X, y, S) < 1e-8


def test_fairml_misses_the_optimum_on_compas(reference):
    sensitive, frame, y, S, X = prepared(reference, "compas")
    for answer in reference.json("golden/paper_zlm.orig_compas.json"):
        model = zafar(answer, sensitive=sensitive).fit(frame, y)
        assert residual_of_optimality(model, X, y, S) < 1e-8
        assert model.unfairness_ <= answer["unfairness"]
        theirs = coefficients(answer)
        residual = y - theirs[0] - X @ theirs[1:]
        assert residual @ residual == pytest.approx(answer["deviance"], rel=1e-6)
        # Its answers exceed the bound, or have a larger sum of squares.
        exceeds = largest_covariance(S, X @ theirs[1:]) > answer["unfairness"] * (1 + 1e-4)
        assert exceeds or answer["deviance"] >= model.deviance_ * (1 - 1e-9)


@pytest.mark.parametrize(
    "name", ["vu.gaussian", "compas", pytest.param("communities", marks=pytest.mark.slow)]
)
def test_correlation_bounds_on_data_of_others(reference, name):
    file = "vu_zlm" if name == "vu.gaussian" else f"paper_zlm_{name}"
    sensitive, frame, y, S, X = prepared(reference, name)
    for answer in reference.json(f"golden/{file}.json"):
        r = answer["unfairness"]
        if r == 0:
            with pytest.warns(BoundWarning, match="only the intercept"):
                model = zafar(answer, sensitive=sensitive, at_zero="drop").fit(frame, y)
            assert model.deviance_ == pytest.approx(answer["deviance"], rel=1e-9)
            continue
        model = zafar(answer, sensitive=sensitive).fit(frame, y)
        assert model.unfairness_ <= r
        assert model.unfairness_ >= r - 1e-8 or not model.bound_active_
        assert residual_of_optimality(model, X, y, S) < 1e-8


@pytest.mark.parametrize(
    "name", ["vu.gaussian", "compas", pytest.param("communities", marks=pytest.mark.slow)]
)
def test_nclm_on_data_of_others_is_never_worse_than_fairml(reference, name):
    file = "vu_nclm" if name == "vu.gaussian" else f"paper_nclm_{name}"
    sensitive, frame, y, _, _ = prepared(reference, name)
    answers = [a for a in reference.json(f"golden/{file}.json") if a["lambda"] == 0]
    assert answers
    for answer in answers:
        r = float(answer["unfairness"])
        model = KomiyamaRegressor(r, sensitive=sensitive).fit(frame, y)
        assert model.deviance_ <= answer["deviance"] * (1 + 1e-9)
        assert model.unfairness_ <= r + 1e-10
        assert r == 0.0 or answer["fairness_value"] <= r
        if name == "vu.gaussian" and r == 0.05:
            # What mathematics has at 337.1, their solver has at 342.6.
            assert model.deviance_ / len(y) == pytest.approx(337.12, abs=0.01)
            assert answer["deviance"] / len(y) == pytest.approx(342.59, abs=0.01)
