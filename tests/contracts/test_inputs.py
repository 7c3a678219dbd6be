"""Which data are answered: beyond a limit one error with its remedy, before it the right answer."""

import os
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate, sources
from fairridge.sources import ParquetRows
from fairridge.stacking import FairStackingRegressor
from tests.zoo import LateModule, r_squared

statsmodels = LateModule("statsmodels.api")

N, Q, P = 200, 2, 3
REGRESSORS = [name for name in fairridge.__all__ if name.endswith("Regressor")]
CLASSIFIERS = [name for name in fairridge.__all__ if name.endswith("Classifier")]


def make(seed=0, n=N):
    """Return S, X and a linear predictor."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, Q))
    X = rng.normal(size=(n, P)) + S @ rng.normal(size=(Q, P))
    return S, X, S @ [1.0, 0.5] + X @ [0.6, -0.4, 0.3], rng


# ------------------------------------------------------------------------------- refused


def fit(model, S, X, y, **beside):
    return model.fit(X, y, sensitive_features=S, **beside)


def path(model, S, X, y, **beside):
    return model.path(X, y, sensitive_features=S, unfairness=[0.1, 0.5], **beside)


def folds(model, S, X, y, **beside):
    return cross_validate(model, X, y, sensitive_features=S, unfairness=[0.1], cv=3, **beside)


def table_of(S, X, y, **beside):
    """Return all rows as a frame, and which columns are what."""
    names = [*(f"s{k}" for k in range(S.shape[1])), *(f"x{k}" for k in range(X.shape[1]))]
    frame = pd.DataFrame(np.column_stack([S, X]), columns=names).assign(y=y, **beside)
    roles = {{"sample_weight": "weight"}.get(name, name): name for name in beside}
    return frame, {"response": "y", "sensitive": names[: S.shape[1]], **roles}


def parquet(model, *rows, folder, **beside):
    frame, roles = table_of(*rows, **beside)
    frame.to_parquet(folder / "rows.parquet", row_group_size=60)
    return model.fit(sources.parquet(folder / "rows.parquet", **roles, batch_rows=60))


def device(model, *rows, **beside):
    if not os.environ.get("SCIPY_ARRAY_API"):
        pytest.skip("scikit-learn dispatches arrays only with SCIPY_ARRAY_API=1")
    library = pytest.importorskip("array_api_strict")
    S, X, y = (library.asarray(np.asarray(values, dtype=float)) for values in rows)
    beside = {name: library.asarray(values) for name, values in beside.items()}
    with config_context(array_api_dispatch=True):
        return model.fit(X, y, sensitive_features=S, **beside)


WAYS = {"fit": fit, "path": path, "folds": folds, "parquet": parquet, "device": device}
RAW = {"standardize": False}


def refused_units(kind):
    S, X, eta, rng = make()
    y, penalty, message = eta + rng.normal(size=N), 0.0, r"'s1' and 's0' of S differ by .*10¹⁴"
    if kind == "s":
        S[:, 1] *= 1e14
    if kind == "x":
        X[:, 2] *= 1e14
        penalty, message = 1.0, r"'x2' of X and 's0' of S differ by .*10¹⁴"
    if kind == "collinear x":  # of several answers the shortest is taken, in these units
        X[:, 2] = 1e14 * (X[:, 0] - X[:, 1])
        message = r"'x2' of X and 's0' of S differ by .*10¹⁴"
    if kind == "counts":  # another family
        S[:, 1], y = S[:, 1] * 1e-14, rng.poisson(np.exp(eta / 3.0))
        message = r"'s0' and 's1' of S differ by .*10¹⁴"
    model = FairRidgeRegressor(
        family="poisson" if kind == "counts" else "gaussian", predictor_penalty=penalty, **RAW
    )
    return model, (S, X, y), {}, message + " in scale; change a unit, or use standardize=True"


def refused_response(kind):
    S, X, eta, rng = make()
    if kind in ("gaussian", "wide", "gamma"):
        y, options = 7.0 + 7e-13 * eta, {"family": "gamma"} if kind == "gamma" else {}
        X = rng.normal(size=(N, 2 * N)) if kind == "wide" else X
        message = r"the response varies by .*10⁻¹³ of its mean.*subtract a constant"
    if kind == "poisson":
        y, options = rng.poisson(np.exp(eta)) * 1e12, {"family": "poisson"}
        message = r"the response goes up to .*e\+1\d, and a poisson model .*10¹²: use a larger unit"
    return FairRidgeRegressor(**options), (S, X, y), {}, message


def refused_weights(kind):
    S, X, eta, rng = make()
    weight = np.where(np.arange(N) < 4, 3.0, 4e-4 if kind == "light" else 5e-5)
    y, model = eta + rng.normal(size=N), FairRidgeRegressor()
    if kind == "light":
        weight[-1] = 3e-7
    if kind == "binomial":
        y, model = (y > 0.0).astype(int), FairRidgeClassifier()
    message = r"these weights leave 4 rows for 6 coefficients: the other 196 .*predictor_penalty"
    return model, (S, X, y), {"sample_weight": weight}, message


def refused_values():
    S, X, eta, rng = make()
    S[:, 0], weight = np.arange(N) == 0, np.where(np.arange(N) == 0, 1e-8, 1.0)
    message = r"the rows that differ in '\w+' of S have less than 10⁻⁸ of the weight"
    return (
        FairRidgeRegressor(),
        (S, X, eta + rng.normal(size=N)),
        {"sample_weight": weight},
        message,
    )


def refused_offset(kind):
    S, X, eta, rng = make()
    y, reach = rng.poisson(np.exp(eta / 3.0)), np.linspace(-60.0, 60.0, N)
    if kind == "exposure":
        beside, message = {"exposure": np.exp(reach)}, r"exposures differ by a factor of .*10⁵²"
    else:
        beside, message = {"offset": reach}, r"offset goes over 120 units of the linear predictor"
    model = FairRidgeRegressor(family="poisson")
    if kind == "binomial":
        y, model = (y > 0).astype(int), FairRidgeClassifier()
    return model, (S, X, y), beside, message


REFUSED = {
    **{f"units of {k}": partial(refused_units, k) for k in ("s", "x", "collinear x", "counts")},
    **{
        f"response, {k}": partial(refused_response, k)
        for k in ("gaussian", "wide", "gamma", "poisson")
    },
    **{f"weights, {k}": partial(refused_weights, k) for k in ("gaussian", "binomial", "light")},
    "weights of a value of s": refused_values,
    **{f"{k} too far apart": partial(refused_offset, k) for k in ("exposure", "offset")},
    "offset of classes": partial(refused_offset, "binomial"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", REFUSED)
def test_rows_beyond_a_limit_are_refused_wherever_they_are(case, way, tmp_path):
    model, rows, beside, message = REFUSED[case]()
    given = {"folder": tmp_path} if way == "parquet" else {}
    with pytest.raises(ValueError, match=message):
        WAYS[way](model, *rows, **beside, **given)


@pytest.mark.parametrize("blind", [False, True])
def test_controls_that_leave_no_row_to_sensitive_columns_are_refused(blind):
    S, X, eta, _ = make(n=5)
    model = FairRidgeRegressor(0.1, controls=[0, 1, 2], blind=blind)
    with pytest.raises(ValueError, match="3 columns of controls and 2 of S need at least 6 rows"):
        fit(model, S, X, eta)
    S, X, eta, _ = make(n=12)
    assert fit(model.set_params(unfairness=1.0), S, X, eta).status_ == "inactive"


@pytest.mark.parametrize("case", ["units of s", "units of x", "response, gaussian"])
def test_moments_beyond_a_limit_are_refused(case):
    model, rows, _, message = REFUSED[case]()
    frame, roles = table_of(*rows)
    with pytest.raises(ValueError, match=message):
        model.fit(sources.moments(sources.frame(frame, **roles)))


def model_named(name):
    if name.startswith("Reductions"):
        pytest.importorskip("fairlearn")
    model = getattr(fairridge, name)(0.1)
    if "Stacking" in name:
        model.set_params(estimators=Ridge() if name.endswith("Regressor") else LogisticRegression())
    return model


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_refuses_a_response_without_digits(name):
    _, X, eta, _ = make()
    model = model_named(name)
    with pytest.raises(ValueError, match="the response varies by"):
        model.fit(X, 7.0 + 7e-13 * eta, sensitive_features=(eta > 0.0).astype(float))


@pytest.mark.parametrize("name", [*REGRESSORS, *CLASSIFIERS])
def test_every_model_refuses_weights_of_a_few_rows(name):
    _, X, eta, rng = make()
    y = eta + rng.normal(size=N)
    model = model_named(name)
    weight = np.where(np.arange(N) == np.argmax(y), 1.0, 1e-12)
    with pytest.raises(ValueError, match=r"these weights leave 1 row for \d coefficients"):
        model.fit(
            X,
            (y > 0.0).astype(int) if name.endswith("Classifier") else y,
            sensitive_features=(eta > 0.0).astype(float),
            sample_weight=weight,
        )


def test_stacks_refuse_exposures_before_they_fit_learners():
    _, (S, X, y), beside, message = refused_offset("exposure")
    with pytest.raises(ValueError, match=message):
        FairStackingRegressor(estimators=Unfit(), family="poisson").fit(
            X, y, sensitive_features=S, **beside
        )


class Unfit:
    """A learner that must not be reached."""

    def fit(self, X, y):
        raise AssertionError


def test_the_check_reads_no_rows_again(tmp_path, monkeypatch):
    S, X, eta, rng = make()
    calls, read = [], ParquetRows.map_batches
    monkeypatch.setattr(
        ParquetRows, "map_batches", lambda self, *given: calls.append(1) or read(self, *given)
    )
    weight, y = rng.uniform(1.0, 2.0, N), eta + rng.normal(size=N)
    model = FairRidgeRegressor(0.1, **RAW)
    parquet(model, S, X, y, folder=tmp_path, sample_weight=weight, offset=eta)
    assert len(calls) == 1


def test_parts_of_rows_are_not_refused():
    """Half of the rows that have weight are in each fold: fewer than there are coefficients."""
    S, X, eta, rng = make(n=60)
    weight, y = np.where(np.arange(60) % 6 == 0, 1.0, 1e-10), eta + rng.normal(size=60)
    halves = np.arange(30), np.arange(30, 60)
    with pytest.raises(ValueError, match="these weights leave 5 rows for 6 coefficients"):
        fit(FairRidgeRegressor(), *(part[:30] for part in (S, X, y)), sample_weight=weight[:30])
    # A pipeline is fitted to the rows of a fold as any other model.
    last = FairRidgeRegressor(sensitive=[0, 1])
    models = {"linear": last, "pipeline": make_pipeline(StandardScaler(), last)}
    result = cross_validate(
        models,
        np.column_stack([S, X]),
        y,
        unfairness=[0.1],
        folds=[halves, halves[::-1]],
        sample_weight=weight,
    )
    assert len(result.records) == 4


# ------------------------------------------------------------------------------ answered


def closed_form(S, X, y, lambda_, predictor_penalty, *, weight=None, standardize=True):
    """Return α and β of least squares from normal equations, in units of the columns' spread."""
    w = np.ones(len(y)) if weight is None else weight
    S, X, y = (values - np.average(values, axis=0, weights=w) for values in (S, X, y))
    root = np.sqrt(w)[:, None]
    S, X, y = S * root, X * root, y * root[:, 0]
    unit = np.sqrt((S**2).sum(axis=0) / w.sum()), np.sqrt((X**2).sum(axis=0) / w.sum())
    S, X = S / unit[0], X / unit[1]
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    spread = np.sqrt((U**2).sum(axis=0) / w.sum())
    forms = (np.ones(Q), spread**2) if standardize else [1.0 / each**2 for each in unit]
    alpha = np.linalg.solve(S.T @ S + lambda_ * np.diag(forms[0]), S.T @ y)
    beta = np.linalg.solve(U.T @ U + predictor_penalty * np.diag(forms[1]), U.T @ y)
    return alpha / unit[0], beta / unit[1]


def assert_least_squares(model, S, X, y, rtol=1e-7, **options):
    assert model.status_ == "converged"
    predicted = model.predict(X, sensitive_features=S)
    columns = (S - S.mean(axis=0)) / S.std(axis=0)
    assert r_squared(predicted, columns, options.get("weight")) == pytest.approx(0.1, rel=1e-6)
    alpha, beta = closed_form(S, X, y, model.lambda_, model.predictor_penalty, **options)
    np.testing.assert_allclose(model.alpha_, alpha, rtol=rtol)
    np.testing.assert_allclose(model.beta_, beta, rtol=rtol)


@pytest.mark.parametrize("ratio", [1e6, 3e7])
@pytest.mark.parametrize("smallest", ["one", "small"])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_raw_columns_of_very_different_scales(ratio, smallest, penalty):
    S, X, eta, rng = make()
    S, X = S / S.std(axis=0), X / X.std(axis=0)
    unit = 1.0 if smallest == "one" else 1.0 / ratio
    S, X = S * [unit * ratio, unit], X * [unit, unit * ratio, unit * np.sqrt(ratio)]
    y = eta + rng.normal(size=N)
    model = fit(FairRidgeRegressor(0.1, predictor_penalty=penalty, **RAW), S, X, y)
    assert_least_squares(model, S, X, y, standardize=False)


@pytest.mark.parametrize("model", [{"definition": "mean-parity"}, {"blind": True}])
def test_s_has_any_units_where_what_it_explains_is_penalized(model):
    S, X, eta, rng = make()
    y = (eta + rng.logistic(size=N) > 0.0).astype(int)
    one, other = (
        fit(FairRidgeClassifier(0.05, **model, **RAW), S * units, X, y)
        for units in (np.ones(Q), [1e14, 1.0][:Q])
    )
    np.testing.assert_allclose(other.beta_, one.beta_, rtol=1e-6)
    assert other.unfairness_ == pytest.approx(0.05, abs=1e-8)


def titanic():
    """Return the table of 2,201 people: 24 cells have from one to 670 of them, 8 have none."""
    cells = pd.MultiIndex.from_product(
        [[0, 1], ["m", "f"], ["child", "adult"], ["1st", "2nd", "3rd", "crew"]],
        names=["survived", "sex", "age", "class"],
    ).to_frame(index=False)
    lost = [0, 0, 35, 0, 118, 154, 387, 670, 0, 0, 17, 0, 4, 13, 89, 3]
    saved = [5, 11, 13, 0, 57, 14, 75, 192, 1, 13, 14, 0, 140, 80, 76, 20]
    return cells.assign(count=[*lost, *saved])


def test_a_table_of_counts():
    cells = titanic()
    X, y, count = cells[["class", "sex", "age"]], cells["survived"], cells["count"]
    everyone = cells.loc[cells.index.repeat(count)]
    Z = pd.get_dummies(everyone[["sex", "class", "age"]], drop_first=True).to_numpy(float)
    free = FairRidgeClassifier(1.0, sensitive="sex").fit(X, y, sample_weight=count)
    binomial = statsmodels.families.Binomial()
    A = statsmodels.add_constant(Z)
    expected = statsmodels.GLM(everyone["survived"], A, binomial).fit(tol=1e-12)
    assert free.deviance_ == pytest.approx(expected.deviance, rel=1e-9)
    # Under a bound the table and the people are the same rows.
    models = [
        FairRidgeClassifier(0.02, sensitive="sex").fit(X, y, sample_weight=count),
        FairRidgeClassifier(0.02, sensitive="sex").fit(
            everyone[["class", "sex", "age"]], everyone["survived"]
        ),
    ]
    assert models[0].unfairness_ == pytest.approx(0.02, abs=1e-9)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("way", ["fit", "parquet", "device"])
def test_survey_weights_over_four_powers_of_ten(way, tmp_path):
    S, X, eta, rng = make()
    weight, y = 10.0 ** rng.uniform(-2.0, 2.0, N), eta + rng.normal(size=N)
    given = {"folder": tmp_path} if way == "parquet" else {}
    model = WAYS[way](FairRidgeRegressor(0.1), S, X, y, sample_weight=weight, **given)
    alpha, beta = closed_form(S, X, y, model.lambda_, 0.0, weight=weight)
    np.testing.assert_allclose(model.alpha_, alpha, rtol=1e-8)
    np.testing.assert_allclose(model.beta_, beta, rtol=1e-8)
    assert model.unfairness_ == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "binomial"])
def test_four_rows_with_nearly_all_of_the_weight(kind):
    S, X, eta, rng = make()
    weight, y = np.where(np.arange(N) < 4, 3.0, 4e-4), eta + rng.normal(size=N)
    model, family = FairRidgeRegressor(1.0), statsmodels.families.Gaussian()
    if kind == "binomial":
        y, model = (y > 0.0).astype(int), FairRidgeClassifier(1.0)
        y[:4] = 0, 1, 0, 1  # the heavy rows are not separated by some direction alone
        family = statsmodels.families.Binomial()
    A = statsmodels.add_constant(np.column_stack([S, X]))
    expected = statsmodels.GLM(y, A, family, var_weights=weight).fit(tol=1e-14, maxiter=200)
    model = fit(model, S, X, y, sample_weight=weight)
    np.testing.assert_allclose(np.ravel(model.coef_), expected.params[1:], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Predictor column")
def test_columns_that_others_explain_but_for_little():
    S, X, eta, rng = make()
    y, noise = rng.poisson(np.exp(eta / 3.0)), 6e-4 * rng.normal(size=(N, 2))
    S[:, 1], X[:, 2] = 2.0 * S[:, 0] + noise[:, 0], X[:, 0] - S[:, 0] + noise[:, 1]
    model = fit(FairRidgeRegressor(1.0, family="poisson"), S, X, y)
    A = statsmodels.add_constant(np.column_stack([S, X]))
    expected = statsmodels.GLM(y, A, statsmodels.families.Poisson()).fit(tol=1e-14)
    assert model.variance_inflation_.max() > 1e6
    np.testing.assert_allclose(model.coef_, expected.params[1:], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:predictor column")
def test_wide_rows_of_one_weight_are_answered_without_a_penalty():
    rng = np.random.default_rng(0)
    S, X, y = rng.normal(size=(20, Q)), rng.normal(size=(20, 50)), rng.normal(size=20)
    model = fit(FairRidgeRegressor(0.1, predictor_penalty=2.0), S, X, y, sample_weight=np.ones(20))
    S, X, y = S - S.mean(axis=0), X - X.mean(axis=0), y - y.mean()
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    expected = Ridge(2.0, fit_intercept=False).fit(U / U.std(axis=0), y).coef_ / U.std(axis=0)
    np.testing.assert_allclose(model.beta_, expected, rtol=1e-8)
    free = fit(FairRidgeRegressor(1.0), S, X, y, sample_weight=np.ones(20))
    np.testing.assert_allclose(free.predict(X, sensitive_features=S), y, atol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
@pytest.mark.parametrize("way", ["fit", "parquet", "device"])
def test_a_constant_response(family, way, tmp_path):
    S, X, _, _ = make()
    given = {"folder": tmp_path} if way == "parquet" else {}
    model = FairRidgeRegressor(0.1, family=family)
    with pytest.warns(UserWarning, match="the response is constant"):
        WAYS[way](model, S, X, np.full(N, 7.0), **given)
    assert model.status_ == "inactive"
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)
    level = np.log(7.0) if family == "poisson" else 7.0
    assert model.intercept_ == pytest.approx(level, rel=1e-9)


def test_a_response_of_which_few_digits_vary():
    S, X, eta, rng = make()
    z = eta + rng.normal(size=N)
    y = 1.0 + 1e-10 * z
    model = fit(FairRidgeRegressor(0.1), S, X, y)
    alpha, beta = closed_form(S, X, (y - 1.0) * 1e10, model.lambda_, 0.0)
    np.testing.assert_allclose(model.alpha_ * 1e10, alpha, rtol=1e-5)
    np.testing.assert_allclose(model.beta_ * 1e10, beta, rtol=1e-5)


def test_counts_up_to_the_limit():
    S, X, eta, rng = make()
    y = rng.poisson(1e9 * np.exp(eta - eta.max() + 6.0)).astype(float)
    assert 1e11 < y.max() < 1e12
    model = fit(FairRidgeRegressor(1.0, family="poisson"), S, X, y)
    A = statsmodels.add_constant(np.column_stack([S, X]))
    expected = statsmodels.GLM(y, A, statsmodels.families.Poisson()).fit(tol=1e-14)
    np.testing.assert_allclose(model.coef_, expected.params[1:], rtol=1e-8)


@pytest.mark.parametrize("way", ["fit", "parquet", "device"])
def test_exposures_from_a_day_to_a_thousand_years(way, tmp_path):
    S, X, eta, rng = make()
    exposure = np.exp(rng.uniform(np.log(1.0 / 365.0), np.log(1000.0), N))
    y = rng.poisson(exposure * np.exp(0.3 * eta)).astype(float)
    given = {"folder": tmp_path} if way == "parquet" else {}
    model = FairRidgeRegressor(1.0, family="poisson")
    WAYS[way](model, S, X, y, exposure=exposure, **given)
    A = statsmodels.add_constant(np.column_stack([S, X]))
    poisson = statsmodels.families.Poisson()
    expected = statsmodels.GLM(y, A, poisson, exposure=exposure).fit(tol=1e-14)
    np.testing.assert_allclose(model.coef_, expected.params[1:], rtol=1e-7)
