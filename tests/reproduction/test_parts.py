"""One run of each experiment, against public estimators, brute force and other libraries."""

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import minimize
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    ZafarClassifier,
    cross_validate,
)
from fairridge.datasets import load_german_credit
from reproduction import data as sources
from reproduction import (
    examples,
    floors,
    logistic,
)
from reproduction import fairml as fairml_module
from reproduction.bias import nclm_coefficients
from reproduction.examples import sample_example
from reproduction.results import pick
from reproduction.runner import compute
from reproduction.settings import Settings

GERMAN = sources.Source(loader=load_german_credit, sensitive=("Age", "Gender"))
CORRECTED = sources.Source(
    loader=load_german_credit, sensitive=("Age", "Gender", "Foreign_worker"),
    response="Installment_rate",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def more_sources():
    more = {"German": GERMAN, "GCR, gender corrected": CORRECTED}
    sources.SOURCES |= more
    yield
    for name in more:
        del sources.SOURCES[name]


def part(experiment, case, settings, run=0):
    return compute((experiment, case, run), settings.identity, settings)[0]


def over_folds(table, by="r"):
    """Return the means over folds."""
    return table.groupby(["model", by], sort=False).mean(numeric_only=True).reset_index()


@pytest.fixture(autouse=True)
def one_thread():
    """As in the runner: many small matrices."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def linear_run(settings):
    return over_folds(part("corrected", "GCR, gender corrected", settings))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["FRRM", "NCLM"])
def test_linear_runs_are_those_of_cross_validate(linear_run, settings, model):
    data = sources.load("GCR, gender corrected", settings)
    estimator = {"FRRM": FairRidgeRegressor, "NCLM": KomiyamaRegressor}[model]
    folds = settings.cut(1000, 0)
    expected = cross_validate(
        estimator(sensitive=data.sensitive), data.frame, data.labels, folds=folds,
        unfairness=settings.bounds,
    ).to_frame()  # fmt: skip
    ours = pick(linear_run, model=model).set_index("r")
    for r, rows in expected.groupby("unfairness"):
        found = ours.loc[r]
        assert found["rmse"] == pytest.approx(rows.loss.mean(), rel=1e-8)
        assert found["train_rmse"] == pytest.approx(rows.train_loss.mean(), rel=1e-8)
        assert found["dependence"] == pytest.approx(rows.share_of_eta.mean(), abs=1e-8)
        assert found["share"] == pytest.approx(rows.variance_share.mean(), abs=1e-8)
        assert found["train_dependence"] == pytest.approx(rows.train_achieved.mean(), abs=1e-8)
        assert found["active"] == pytest.approx((rows.status != "inactive").mean())


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")  # levels decide
@pytest.mark.slow
def test_logistic_runs_are_those_of_the_classifiers():
    settings = Settings(folds=2)
    data = sources.load("German", settings)
    y = np.asarray(data.labels.astype(str))
    found = over_folds(logistic.logistic_part("German", 0, settings))
    scores = {"FGRRM": [], "ZLRM": []}
    for train, test in settings.cut(1000, 0):
        fair = FairRidgeClassifier(0.05, sensitive=data.sensitive)
        fair.fit(data.frame.iloc[train], y[train])
        eta = fair.decision_function(data.frame.iloc[train])
        S = np.column_stack(
            [data.frame["Age"].iloc[train], data.frame["Gender"].iloc[train] == "Male"]
        ).astype(float)
        limit = np.abs(np.cov(np.column_stack([S, eta]).T)[:-1, -1]).max()
        zafar = ZafarClassifier(limit, sensitive=data.sensitive, bound="covariance")
        zafar.fit(data.frame.iloc[train], y[train])
        for name, model in (("FGRRM", fair), ("ZLRM", zafar)):
            labels = model.predict(data.frame.iloc[test])
            scores[name].append(f1_score(y[test], labels, pos_label=fair.classes_[1]))
    for name, each in scores.items():
        found_f1 = pick(found, model=name, r=0.05)["f1"].item()
        assert found_f1 == pytest.approx(np.mean(each), abs=2e-3)


# ------------------------------------------------------------------- examples


@pytest.mark.parametrize("r", [0.02, 0.3])
def test_nclm_is_the_constrained_optimum(settings, r):
    sample = sample_example(settings, 0)
    S, X, y = (values - values.mean(axis=0) for values in (sample.S, sample.X, sample.y))
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    alpha, beta = nclm_coefficients(S, U, y, r)

    def error(b):
        return ((y - S @ b[:3] - U @ b[3:]) ** 2).mean()

    def slack(b):
        return r * np.var(U @ b[3:]) - (1 - r) * np.var(S @ b[:3])

    best = minimize(
        error, np.ones(6), constraints={"type": "ineq", "fun": slack}, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    np.testing.assert_allclose(np.concatenate([alpha, beta]), best.x, rtol=1e-4)


@pytest.mark.slow
def test_checks_find_what_is_known(settings):
    rows = part("checks", "random", settings)

    def values(check, quantity):
        return pick(rows, check=check, quantity=quantity)["value"]

    assert not values("root", "increases").any()
    assert (values("bracket", "corrected") == 1).all()
    assert values("independent", "α corrected").max() < 1e-10
    assert values("independent", "α printed").min() > 0.1
    assert values("quartic", "λ").max() < 1e-8
    assert values("features", "decorrelated after").max() < 1e-20
    assert values("bounds", "lasso").max() < 1e-8
    assert values("collinear", "S, λ₁ = 0").min() > 1e12
    assert values("sign", "positive").mean() > 0.5
    for p in (3, 30, 100):
        assert values("nclm gradient", f"p = {p}").max() < 1e-8
        assert values("nclm relaxation", f"p = {p}").max() < 1e-6
        assert values("nclm error", f"p = {p}").max() <= 1 + 1e-9


def test_fairmls_answers_are_off_the_optimum():
    table = fairml_module.answers()
    wide = table.pivot_table(index=["case", "r"], columns="model", values="rss")
    assert wide.loc[("vu.test", 0.01), "NCLM"] > wide.loc[("vu.test", 0.01), "FRRM"]
    assert wide.loc[("COMPAS", 0.1), "NCLM"] > wide.loc[("COMPAS", 0.1), "FRRM"]


def test_floors_are_solved_exactly(settings):
    r = 0.02
    sample = sample_example(settings, 0)
    S, X, y = sample.centered()
    U = examples.decorrelated(X, S)
    S, U = S / S.std(axis=0, ddof=1), U / U.std(axis=0, ddof=1)
    a = -np.concatenate([[1.0], 2.0 * S.T @ y / len(y), 2.0 * U.T @ y / len(y)])
    zero, low = np.zeros((3, 3)), 1e-4
    of_S, of_U = np.cov(S.T), np.cov(U.T)
    first = linalg.block_diag(low, of_S, of_U)
    second = linalg.block_diag(low, of_S, zero + low * np.eye(3)) / r
    constraints = [
        {"type": "ineq", "fun": lambda t, Q=Q: -(t @ Q @ t + a @ t),
         "jac": lambda t, Q=Q: -(2.0 * Q @ t + a)}
        for Q in (first, second)
    ]  # fmt: skip
    start = np.zeros(7)
    found = minimize(lambda t: t[0], start, jac=lambda t: np.eye(7)[0], constraints=constraints,
                     method="SLSQP", options={"ftol": 1e-14, "maxiter": 500})  # fmt: skip
    assert found.status in (0, 8)  # 8: a step that is nothing but rounding
    rss, share = floors.with_floors(sample.S, sample.X, sample.y, r)
    fitted = S @ found.x[1:4], U @ found.x[4:]
    assert rss == pytest.approx(((y - sum(fitted)) ** 2).sum(), rel=1e-5)
    of_S, of_U = (one @ one for one in fitted)
    assert share == pytest.approx(of_S / (of_S + of_U), rel=1e-4)
    assert share < r  # which the bound is, without floors
