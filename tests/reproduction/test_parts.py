"""One run of each experiment, against public estimators, brute force and other libraries."""

import numpy as np
import pytest
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
from reproduction import fairml as fairml_module
from reproduction import logistic
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
