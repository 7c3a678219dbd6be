"""One run of each experiment, against public estimators, brute force and other libraries."""

import numpy as np
import pandas as pd
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
    ZafarRegressor,
    cross_validate,
)
from fairridge.datasets import load_german_credit
from reproduction import (
    checks,
    examples,
    families,
    floors,
    formulas,
    linear,
    logistic,
    others,
    profiles,
    today,
)
from reproduction import data as sources
from reproduction import fairml as fairml_module
from reproduction.beyond import CASES, beyond_part
from reproduction.bias import bias_part, nclm_coefficients, one_standard_error
from reproduction.claims.extensions import bounds_met
from reproduction.descriptions import datasets_part
from reproduction.examples import logistic_example, sample_example
from reproduction.experiments import EXPERIMENTS
from reproduction.matching import correlated
from reproduction.measures import Coefficients, Fold
from reproduction.results import pick
from reproduction.runner import compute
from reproduction.settings import Settings

GERMAN = sources.Source(loader=load_german_credit, sensitive=("Age", "Gender"))
CORRECTED = sources.Source(
    loader=load_german_credit, sensitive=("Age", "Gender", "Foreign_worker"),
    response="Installment_rate",
)  # fmt: skip
GROUPS = sources.Source(
    loader=load_german_credit, sensitive=("Gender", "Foreign_worker"), response="Installment_rate"
)


@pytest.fixture(autouse=True, scope="module")
def more_sources():
    more = {"German": GERMAN, "German, groups": GROUPS, "GCR, gender corrected": CORRECTED}
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


def test_zafars_bound_is_the_largest_covariance_of_the_others(linear_run, settings):
    by_model = {name: pick(linear_run, model=name) for name in ("FRRM", "NCLM", "ZLM")}
    free = by_model["ZLM"]["active"].to_numpy() == 0.0
    reached = by_model["ZLM"]["covariance"].to_numpy()
    largest = np.maximum(*(by_model[name]["covariance"].to_numpy() for name in ("FRRM", "NCLM")))
    assert (reached <= largest * (1 + 1e-9) + 1e-12).all()
    assert free[-1]
    assert not free[0]
    assert reached[0] == pytest.approx(0.0, abs=1e-10)


def test_zafars_model_of_a_fold_is_the_public_one(settings):
    data = sources.load("GCR, gender corrected", settings)
    train, test = settings.cut(1000, 0)[0]
    measured = linear.measured_fold(Fold.of(data, train, test), np.array(settings.bounds))
    limit = max(measured[name]["covariance"][3] for name in ("FRRM", "NCLM"))
    model = ZafarRegressor(limit, sensitive=data.sensitive, bound="covariance")
    y = data.y
    fitted = model.fit(data.frame.iloc[train], y[train]).predict(data.frame.iloc[test])
    expected = np.sqrt(((y[test] - fitted) ** 2).mean())
    assert measured["ZLM"]["rmse"][3] == pytest.approx(expected)


def test_zafars_model_has_the_largest_correlation_of_the_others(settings):
    data = sources.load("GCR, gender corrected", settings)
    fold, bounds = Fold.of(data, *settings.cut(1000, 0)[0]), np.array(settings.bounds)
    measured = linear.measured_fold(fold, bounds)
    largest = np.maximum(*(measured[name]["correlation"] for name in ("FRRM", "NCLM")))
    ours = measured["ZLM, |COR|"]
    bounded = ours["active"] > 0.0
    np.testing.assert_allclose(ours["correlation"][bounded], largest[bounded], 2e-3, 1e-9)
    assert bounded.tolist() == [True, True, True, False, False, False, False]
    assert (ours["correlation"] <= largest * (1 + 1e-3) + 1e-9).all()
    # Covariances are bounded in the units of S, as fairml does: some limit gives the same model.
    model = ZafarRegressor(ours["covariance"][2], sensitive=data.sensitive, bound="covariance")
    model.fit(data.frame.iloc[fold.train], data.y[fold.train])
    residual = data.y[fold.test] - model.predict(data.frame.iloc[fold.test])
    assert ours["rmse"][2] == pytest.approx(np.sqrt((residual**2).mean()), rel=1e-6)


def test_correlations_are_found_where_they_grow_slowly():
    """Two attributes in units that differ by 1000: the second is bounded last."""
    rng = np.random.default_rng(3)
    S = rng.normal(size=(400, 2)) * [1.0, 1000.0]
    X = S @ np.array([[1.0, 0.2, 0.0], [2e-3, 1e-4, 1e-3]]) + rng.normal(size=(400, 3))
    y = X @ np.array([1.0, -0.5, 2.0]) + rng.normal(size=400)
    frame = pd.DataFrame(np.column_stack([S, X]), columns=list("abcde"))
    fold = Fold.of(sources.Data(frame, pd.Series(y), ["a", "b"]), *2 * (np.arange(400),))
    model = ZafarRegressor(bound="covariance", sensitive=["a", "b"])

    def solve(limits):
        path = model.path(frame, y, unfairness=limits)
        return Coefficients(path.intercept, path.alpha, path.beta, path.lambda_, path.status)

    targets = np.array([0.0, 0.001, 0.05, 0.2, 0.99])
    found = correlated(fold, solve, np.full(5, 0.3), targets)
    reached = fold.correlations(found, fold.training)
    np.testing.assert_allclose(reached[:4], targets[:4], rtol=2e-3, atol=1e-12)
    assert found.status[-1] == "inactive"


def test_matched_models_have_the_share_of_frrm(settings):
    data = sources.load("GCR, gender corrected", settings)
    train, test = settings.cut(1000, 0)[0]
    measured = linear.matched_fold(Fold.of(data, train, test), np.array(settings.bounds))
    ours = measured["FRRM"]["train_dependence"]
    np.testing.assert_allclose(ours[:3], [0.0, 0.01, 0.02], atol=1e-9)
    for name in ("ZLM, covariance", "ZLM, correlation"):
        theirs = measured[name]["train_dependence"]
        np.testing.assert_allclose(theirs[:3], ours[:3], rtol=5e-3, atol=1e-9)
        # Unconstrained, where it cannot be reached.
        assert (theirs[3:] <= ours[3:] * (1 + 5e-3)).all()


def test_an_intercept_only_is_the_mean(linear_run, settings):
    y = sources.load("GCR, gender corrected", settings).y
    each = [np.sqrt(((y[b] - y[a].mean()) ** 2).mean()) for a, b in settings.cut(1000, 0)]
    found = pick(linear_run, model="intercept only")["rmse"]
    np.testing.assert_allclose(found, np.mean(each), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")  # levels decide
@pytest.mark.slow
def test_logistic_runs_are_those_of_the_classifiers():
    settings = Settings(folds=2)
    data = sources.load("German", settings)
    y = np.asarray(data.labels.astype(str))
    table = logistic.logistic_part("German", 0, settings)
    found = over_folds(table)
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
    ours, theirs = (pick(table, model=name) for name in ("FGRRM", "ZLRM, |COR|"))
    bounded = theirs["active"].to_numpy() > 0.0
    assert 0.0 < bounded.mean() < 1.0
    reached = theirs["correlation"].to_numpy()[bounded]
    np.testing.assert_allclose(reached, ours["correlation"].to_numpy()[bounded], rtol=2e-3,
                               atol=1e-9)  # fmt: skip


@pytest.mark.slow
def test_steinberg_and_frrm_have_the_same_share():
    settings = Settings(folds=2)
    found = over_folds(others.steinberg_part("German, groups", 0, settings), "step")
    theirs, ours = (pick(found, model=name) for name in ("Steinberg", "FRRM"))
    np.testing.assert_allclose(theirs["train_dependence"], ours["train_dependence"], atol=1e-9)
    assert (np.diff(theirs["train_dependence"]) < 0).all()
    free = pick(found, step=0)
    assert free["gamma"].tolist() == [0.0, 0.0]
    assert free["rmse"].iloc[0] == pytest.approx(free["rmse"].iloc[1], rel=1e-9)
    assert (theirs["train_rmse"] >= free["train_rmse"].iloc[0] * (1 - 1e-12)).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by fairlearn
def test_a_narrow_bound_costs_fairlearn_errors():
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 1.0], 200)
    Z = np.column_stack([group, rng.normal(size=400) + 2 * group])
    y = (Z[:, 1] + rng.normal(size=400) > 1.0).astype(int)
    both = sources.Data(pd.DataFrame(Z, columns=["group", "x"]), pd.Series(y), ["group"])
    fold = Fold.of(both, np.arange(400), np.arange(400))
    found = {
        (reading, among): others.exponentiated_gradient(fold, reading, among=among)
        for reading in ("eps", "bound")
        for among in (True, False)
    }
    free = f1_score(y, others.LogisticRegression(C=1e4).fit(Z, y).predict(Z))
    # The group itself helps to undo what differs between groups.
    for reading in ("eps", "bound"):
        with_it, without = (found[reading, among][0]["random"] for among in (True, False))
        assert without < with_it < free
    # eps = .1 leaves the bound at .01, which costs more than a bound of .1.
    assert found["eps", False][0]["random"] < found["bound", False][0]["random"]
    assert found["bound", True][1] < 0.0  # within its tolerance of the optimum


# ------------------------------------------------------------------- examples


@pytest.mark.parametrize("r", [0.02, 0.3, 0.95])
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


def test_the_bias_vanishes_without_a_penalty(settings):
    rows = bias_part("example", 0, settings)
    first = pick(rows, penalty=rows["penalty"].min())
    np.testing.assert_allclose(first["printed"], 1.0, atol=1e-6)
    np.testing.assert_allclose(first["correct"], 1.0, atol=1e-6)
    last = pick(rows, penalty=rows["penalty"].max(), r=0.1).iloc[0]
    assert last["correct"] < 0.9 < 1.1 < last["printed"]
    # 1/printed and 1/correct are 1 ∓ the same covariance.
    np.testing.assert_allclose(1 / rows["printed"] + 1 / rows["correct"], 2.0)


def test_one_standard_error_goes_by_what_s_explains():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(500, 2))
    noise = rng.normal(size=(500, 1))
    nothing = one_standard_error(S, noise, np.random.default_rng(1))
    little = one_standard_error(S, S[:, :1] + noise, np.random.default_rng(1))
    everything = one_standard_error(S, S[:, :1], np.random.default_rng(1))
    assert everything[0] < little[0] < nothing[0] == 1e9


def test_definitions_are_those_of_the_library(settings):
    rows = profiles.definitions_part("example", 0, settings)
    sample = sample_example(settings, 0)
    at = pick(rows, r=0.3).set_index("definition")["value"]
    parity = FairRidgeRegressor(0.3, sensitive=[0, 1, 2]).fit(sample.Z, sample.y)
    for name, definition in (
        ("equality of opportunity", "equality-of-opportunity"),
        ("individual fairness", "individual"),
    ):
        model = FairRidgeRegressor(at[name], sensitive=[0, 1, 2], definition=definition)
        model.fit(sample.Z, sample.y)
        np.testing.assert_allclose(model.alpha_, parity.alpha_, rtol=1e-6)


def test_printed_opportunity_of_perfect_predictions_is_zero(settings):
    sample = sample_example(settings, 0)
    S, y = sample.S - sample.S.mean(axis=0), sample.y - sample.y.mean()
    assert profiles.printed_opportunity(S, y, y) == pytest.approx(0.0, abs=1e-20)
    assert profiles.printed_opportunity(S, y, S[:, 0]) == pytest.approx(1.0)


def test_samples_follow_the_papers_model():
    settings = Settings()
    sample = sample_example(settings, 0)
    design = np.column_stack([np.ones(1000), sample.X, sample.S])
    fitted = np.linalg.lstsq(design, sample.y, rcond=None)[0]
    np.testing.assert_allclose(fitted[1:], [2, 3, 4, 5, 6, 7], atol=1.5)
    assert np.std(sample.y - design @ fitted) == pytest.approx(10.0, rel=0.1)
    correlations = np.corrcoef(sample.Z.T)[np.triu_indices(6, 1)]
    np.testing.assert_allclose(correlations, 0.3, atol=0.1)
    strong = sample_example(settings, 0, correlation=0.6)
    np.testing.assert_allclose(np.corrcoef(strong.Z.T)[np.triu_indices(6, 1)], 0.6, atol=0.1)
    assert set(logistic_example(settings, 1).y) == {0.0, 1.0}


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


def test_random_problems_can_be_orthogonal():
    problem = checks.random_problem(np.random.default_rng(0), 100, 3, 2, orthogonal=True)
    np.testing.assert_allclose(problem.S.T @ problem.S, 100 * np.eye(3), atol=1e-9)
    np.testing.assert_allclose(problem.S.T @ problem.U, 0.0, atol=1e-9)


@pytest.mark.parametrize(("c", "count"), [(5.0, 1), (1.6, 1), (1.4, 0), (0.1, 0)])
def test_positive_solutions_go_by_the_product_of_the_roots(c, count):
    size, d = 0.5, 3.0  # ld = 1.5
    assert formulas.positive_solutions(size, c, d) == count
    grid = np.linspace(1e-9, 100, 200_001)
    values = (size + 2 * grid) / (size + grid) ** 2 * c - d
    assert (np.diff(np.sign(values)) != 0).sum() == count


def test_conditional_covariance_is_that_of_residuals(settings):
    sample = sample_example(settings, 0)
    S, y = sample.S - sample.S.mean(axis=0), sample.y - sample.y.mean()
    fitted = S @ [1.0, -2.0, 0.5] + 0.1 * y
    left = S - np.outer(y, y @ S) / (y @ y)
    right = fitted - y * (y @ fitted) / (y @ y)
    found = formulas.conditional_covariance(S, y, fitted)
    np.testing.assert_allclose(found, left.T @ right / len(y), rtol=1e-10)


def test_formulas_find_what_is_known(settings):
    known = part("formulas", "example", settings)

    def values(check, quantity):
        return pick(known, check=check, quantity=quantity)["value"]

    assert values("opportunity", "distance").max() < 1e-9
    assert 0.0 < values("opportunity", "partial R²").item() < 1.0
    assert values("double ridge", "distance").min() > 0.1
    # Of |Δ| of normal outcomes, those below its decile are about a hundredth.
    assert values("pairs", "printed").item() == pytest.approx(0.01, abs=0.003)
    assert values("pairs", "Berk").item() > 0.2
    solutions = part("formulas", "random", settings)
    assert (pick(solutions, quantity="exchanged")["value"] == 1).all()
    assert (pick(solutions, quantity="printed")["value"] == 1).mean() < 0.1
    curves = part("formulas", "example", settings)
    assert pick(curves, quantity="rises")["value"].all()
    sample = sample_example(settings, 0)
    S, y = sample.S - sample.S.mean(axis=0), sample.y - sample.y.mean()
    U = (
        sample.X
        - np.column_stack([np.ones(1000), S])
        @ np.linalg.lstsq(np.column_stack([np.ones(1000), S]), sample.X, rcond=None)[0]
    )
    of_S, of_U = (Z @ np.linalg.lstsq(Z, y, rcond=None)[0] for Z in (S, U))
    expected = np.var(of_U) / (np.var(y) - np.var(of_S) - np.var(of_U))
    np.testing.assert_allclose(pick(curves, quantity="last")["value"], expected, rtol=1e-3)


def test_the_unit_of_s_matters_to_frrm_only():
    settings = Settings()
    table = linear.scale_part("GCR, gender corrected", 0, settings)
    rmse = table.set_index("model")["train_rmse"]
    assert rmse["NCLM"] < rmse["FRRM"] < rmse["FRRM, raw S"]
    data = sources.load("GCR, gender corrected", settings)
    model = FairRidgeRegressor(0.05, sensitive=data.sensitive).fit(data.frame, data.labels)
    residual = data.y - model.predict(data.frame)
    assert rmse["FRRM"] == pytest.approx(np.sqrt(np.mean(residual**2)))  # the default


@pytest.mark.slow
def test_todays_models_are_those_of_cross_validate():
    settings = Settings(folds=3)
    table = over_folds(today.linear_part("GCR, gender corrected", 0, settings))
    data = sources.load("GCR, gender corrected", settings)
    plain = cross_validate(
        FairRidgeRegressor(sensitive=data.sensitive), data.frame, data.y,
        folds=settings.cut(1000, 0), unfairness=[0.05],
    ).to_frame()  # fmt: skip
    found = pick(table, model="FRRM", r=0.05)
    assert found["rmse"].item() == pytest.approx(plain["rmse"].mean(), rel=1e-9)
    sure = pick(table, model="certified").iloc[0]
    assert 0.0 < sure["train_achieved"] < 0.05
    classes = over_folds(today.classes_part("German", 0, settings))
    fair = pick(classes, model="mean parity", r=0.0)
    assert fair["train_achieved"].item() == pytest.approx(0.0, abs=1e-6)


def test_fairmls_answers_are_off_the_optimum():
    table = fairml_module.answers()
    wide = table.pivot_table(index=["case", "r"], columns="model", values="rss")
    assert wide.loc[("vu.test", 0.01), "NCLM"] > wide.loc[("vu.test", 0.01), "FRRM"]
    assert wide.loc[("COMPAS", 0.1), "NCLM"] > wide.loc[("COMPAS", 0.1), "FRRM"]


@pytest.mark.parametrize("r", [0.02, 0.2])
def test_floors_are_solved_exactly(settings, r):
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


# ----------------------------------------------------------------------- data


def test_missing_files_are_named_one_by_one(monkeypatch, tmp_path):
    tried = []

    def fetch(name, **options):
        tried.append(name)
        raise sources.DataUnavailableError(f"{name}.rda: how to get it")

    monkeypatch.setattr(sources, "fetch_fairml", fetch)
    sources._load.cache_clear()
    (tmp_path / "law.school.admissions.rda").write_bytes(b"another file")
    cases = ["C&C", "COMPAS", "LSAC", "NLSY", "BANK", "example"]
    found = sources.missing(cases, Settings(data_home=str(tmp_path)))
    assert found == {
        "C&C": "communities.and.crime.rda is missing",
        "COMPAS": "compas.rda is missing",
        "LSAC": "law.school.admissions.rda: how to get it",
        "NLSY": "national.longitudinal.survey.rda is missing",
    }
    assert tried == ["communities.and.crime", "law.school.admissions"]  # one download for all
    assert "by --data" in sources.advice(found.values())
    assert sources.advice(["no fairlearn"]) == ""


def test_data_sets_are_described():
    row = datasets_part("GCR, gender corrected", 0, Settings()).iloc[0]
    assert (row["rows"], row["predictor_columns"], row["sensitive_columns"]) == (1000, 42, 3)
    assert row["eigenvalue_one_hot"] < 1e-10 < row["eigenvalue_contrasts"]


def test_rows_are_sampled_where_there_are_more():
    full, few = Settings(), Settings(rows=200)
    assert len(sources.load("GCR, gender corrected", full)) == 1000
    sample = sources.load("GCR, gender corrected", few)
    assert len(sample.frame) == len(sample.y) == 200


def test_every_case_is_a_known_data_set():
    examples = {"example", "random", "correlations of 0.6", *CASES, *families.CASES}
    cases = {case for experiment in EXPERIMENTS.values() for case in experiment.cases}
    assert set(sources.SOURCES) >= {"vu.test", "vu.test, classes"}
    assert cases - examples <= set(sources.SOURCES)


@pytest.mark.slow
def test_extensions_do_what_they_say(settings):
    values = {case: beyond_part(case, 0, settings).set_index("quantity")["value"] for case in CASES}
    assert (values["Gaussian process"] < 1e-9).all()
    assert values["principal components"]["condition"] > 1e12
    assert values["principal components"]["of components"] < 10
    assert values["intervals"]["covered"] <= values["intervals"]["coefficients"] == 7
    assert values["tests"]["noise rejected"] <= 2
    assert values["tests"]["predictors rejected"] == values["tests"]["of predictors"] == 3
    assert values["meta-analysis"]["distance"] < 2


@pytest.mark.slow
@pytest.mark.parametrize("case", families.CASES)
def test_all_families_penalties_and_definitions_meet_bounds(case, settings):
    table = families.families_part(case, 0, settings)
    met, total, _ = bounds_met(table)
    models = table.groupby(["penalty", "definition"])
    assert len(models) == (11 if case == "Binomial" else 9)
    assert met == total >= 2 * len(models)
    assert (models["explained"].diff().dropna() > -1e-9).all()  # less fair, better fit
