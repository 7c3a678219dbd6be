"""Rows in arrays of other libraries give the models of NumPy arrays, and stay where they are."""

import os

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    compare,
    cross_validate,
)
from fairridge.engines import DeviceEngine, DeviceRows, device
from fairridge.fairness import StatisticalParity
from fairridge.families import NegativeBinomial
from fairridge.search import sample, setup
from tests.zoo import first_of

if not os.environ.get("SCIPY_ARRAY_API"):
    pytest.skip(
        "scikit-learn dispatches arrays only with SCIPY_ARRAY_API=1", allow_module_level=True
    )


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    """A library of arrays other than NumPy; torch is large, and not part of the dev extra."""
    found = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    with config_context(array_api_dispatch=True):
        yield found


@pytest.fixture
def blocks(monkeypatch):
    """Cut 600 rows into three blocks."""
    monkeypatch.setattr(device, "DEVICE_BLOCK_BYTES", 90_000)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 600
    S = rng.normal(size=(n, 2))
    X = np.column_stack([S @ [[1.0], [0.5]] + rng.normal(size=(n, 1)), rng.normal(size=(n, 3))])
    # S in the middle, one column far from zero.
    Z = np.column_stack([X[:, 0], S, X[:, 1:] + [0.0, 2000.0, 0.0]])
    eta = 0.5 * X[:, 0] - 0.4 * X[:, 1] + 0.5 * S[:, 0]
    return Z, eta


def responses(eta, rng):
    n = len(eta)
    logistic = eta + rng.logistic(size=n)
    counts = rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, size=n)).astype(float)
    amounts = rng.gamma(2.0, np.exp(eta) / 2.0)
    yield FairRidgeRegressor(), eta + rng.normal(size=n)
    yield FairRidgeRegressor(penalty="radial"), eta + rng.normal(size=n)
    yield FairRidgeRegressor(definition="equality-of-opportunity"), eta + rng.normal(size=n)
    yield FairRidgeClassifier(positive=3), np.where(logistic > 0, 7, 3)
    yield FairRidgeClassifier(link="probit"), logistic > 0
    yield FairRidgeClassifier(link="cloglog"), logistic > 0
    yield FairRidgeClassifier(), np.digitize(logistic, [-1.0, 1.0])
    yield FairRidgeClassifier(definition=StatisticalParity(measure="tjur")), logistic > 0
    yield FairRidgeClassifier(definition="mean-opportunity"), logistic > 0
    yield FairRidgeClassifier(definition="mean-parity"), np.digitize(logistic, [-1.0, 1.0])
    yield FairRidgeClassifier(controls=[3], definition="mean-parity"), logistic > 0
    yield FairRidgeRegressor(blind=True), eta + rng.normal(size=n)
    yield FairRidgeRegressor(family="poisson"), counts
    yield FairRidgeRegressor(family=NegativeBinomial()), counts
    yield FairRidgeRegressor(family="gamma"), amounts
    tweedie = FairRidgeRegressor(family="tweedie", definition="mean-parity")
    yield tweedie, np.where(counts > 0, amounts, 0.0)
    yield FairRidgeRegressor(family="quasi-binomial"), 1.0 / (1.0 + np.exp(-logistic))


def compared(model, library, Z, y, **more):
    """Fit to NumPy arrays and to others; the models agree."""
    moved = {name: library.asarray(values) for name, values in more.items()}
    here = clone(model).set_params(sensitive=[1, 2]).fit(Z, y, **more)
    there = clone(here).fit(library.asarray(Z), library.asarray(y), **moved)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(there.lambda_, here.lambda_, rtol=1e-7)
    assert there.unfairness_ == pytest.approx(here.unfairness_, abs=1e-9)
    assert there.loglik_ == pytest.approx(here.loglik_, rel=1e-10)
    assert there.dispersion_ == pytest.approx(here.dispersion_, rel=1e-9)
    return here, there


@pytest.mark.parametrize("k", range(17))
def test_every_model_is_that_of_numpy_arrays(library, rows, k):
    Z, eta = rows
    found = list(responses(eta, np.random.default_rng(k)))
    assert len(found) == 17
    model, y = found[k]
    here, there = compared(model, library, Z, y)
    predicted = there.predict(library.asarray(Z))
    assert type(predicted) is type(library.asarray(Z))
    np.testing.assert_allclose(np.asarray(predicted), here.predict(Z), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("blocks")
def test_weights_offsets_and_rows_of_weight_zero(library, rows):
    (Z, eta), rng = rows, np.random.default_rng(1)
    weight, offset = rng.integers(0, 3, size=len(eta)).astype(float), rng.normal(size=len(eta))
    for model, y in (
        (FairRidgeRegressor(), eta + rng.normal(size=len(eta))),
        (FairRidgeRegressor(family="poisson"), rng.poisson(np.exp(eta + offset)).astype(float)),
        (FairRidgeClassifier(), eta + offset + rng.logistic(size=len(eta)) > 0),
        (FairRidgeClassifier(definition="mean-parity"), eta + rng.logistic(size=len(eta)) > 0),
    ):
        here, there = compared(model, library, Z, y, sample_weight=weight, offset=offset)
        assert there.n_rows_ == here.n_rows_ == np.count_nonzero(weight)
        found = [
            one.score(put(Z), put(y), sample_weight=put(weight), offset=put(offset))
            for one, put in ((here, np.asarray), (there, library.asarray))
        ]
        assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("weighted", [False, True])
def test_a_search_starts_from_a_sample_there(library, rows, monkeypatch, weighted):
    taken = []
    few = DeviceEngine.sample
    monkeypatch.setattr(DeviceEngine, "sample", lambda *a: taken.append(few(*a)) or taken[-1])
    monkeypatch.setattr(setup, "SMALL_DATA", 0)
    monkeypatch.setattr(sample, "ROWS_EACH", 3.0)
    monkeypatch.setattr(sample, "EVENTS_EACH", 1.0)
    (Z, eta), rng = rows, np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(eta)).astype(float) if weighted else np.ones(len(eta))
    y = eta + rng.logistic(size=len(eta)) > 0
    model = FairRidgeClassifier(0.02)
    more = {"sample_weight": weight} if weighted else {}
    compared(model, library, Z, y, **more)
    assert len(taken) == 1
    assert 20 <= taken[0].rows.length <= 40
    assert taken[0].moments().weight == pytest.approx(weight.sum())


def test_sensitive_features_may_come_separately(library, rows):
    (Z, eta), rng = rows, np.random.default_rng(1)
    S, X, y = Z[:, 1:3], Z[:, [0, 3, 4, 5]], eta + rng.normal(size=len(eta))
    here = FairRidgeRegressor().fit(X, y, sensitive_features=S)
    X, S, y = (library.asarray(values) for values in (X, S, y))
    there = FairRidgeRegressor().fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)
    assert there.predict(X, sensitive_features=S).shape == y.shape
    # What is in main memory is copied to the device of X.
    again = FairRidgeRegressor().fit(X, np.asarray(y), sensitive_features=np.asarray(S))
    np.testing.assert_array_equal(again.coef_, there.coef_)


@pytest.mark.usefixtures("blocks")
def test_a_path_and_standard_errors(library, rows):
    (Z, eta), rng = rows, np.random.default_rng(1)
    for model, y in (
        (FairRidgeRegressor(sensitive=[1, 2]), eta + rng.normal(size=len(eta))),
        (FairRidgeClassifier(sensitive=[1, 2]), eta + rng.logistic(size=len(eta)) > 0),
    ):
        moved = library.asarray(Z), library.asarray(y)
        bounds = [0.0, 0.05, 1.0]
        paths = [model.path(*data, unfairness=bounds) for data in ((Z, y), moved)]
        for r in bounds:
            here, there = (path.at(r) for path in paths)
            np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9, atol=1e-10)
        found = [clone(model).fit(*data).inference(*data) for data in ((Z, y), moved)]
        np.testing.assert_allclose(
            found[1].standard_errors, found[0].standard_errors, rtol=1e-9, atol=1e-12
        )


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("k", first_of([0, 9, 3, 6, 10, 11, 15], 2))
def test_inference_and_certificates_leave_rows_where_they_are(library, rows, k, monkeypatch):
    Z, eta = rows
    model, y = list(responses(eta, np.random.default_rng(k)))[k]
    model = clone(model).set_params(unfairness=0.05, sensitive=[1, 2])
    moved = library.asarray(Z), library.asarray(y)
    here, there = (clone(model).fit(*data) for data in ((Z, y), moved))
    monkeypatch.setattr(DeviceEngine, "sum_of", None)  # brings rows to main memory
    found = [one.inference(*data) for one, data in ((here, (Z, y)), (there, moved))]
    np.testing.assert_allclose(
        found[1].standard_errors, found[0].standard_errors, rtol=1e-8, atol=1e-12
    )
    prices = [one.price_of_fairness().upper for one in found]
    assert prices[1] == pytest.approx(prices[0], rel=1e-6)
    if k in (0, 3, 10, 11):
        if k == 3:
            model.set_params(definition=StatisticalParity(measure="variance"))
        model.set_params(confidence=0.9, unfairness=0.2)
        here, there = (clone(model).fit(*data).certificate_ for data in ((Z, y), moved))
        assert there.training_bound == pytest.approx(here.training_bound, rel=1e-7)


def test_single_precision_is_summed_in_double(library, rows):
    """The answer is that of the same numbers in float64, to all of its digits."""
    (Z, eta), rng = rows, np.random.default_rng(1)
    Z, y = Z.astype(np.float32), (eta + rng.logistic(size=len(eta)) > 0).astype(np.int64)
    model = FairRidgeClassifier(sensitive=[1, 2])
    here = clone(model).fit(Z.astype(np.float64), y)
    there = clone(model).fit(library.asarray(Z), library.asarray(y))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10, atol=1e-12)
    proba = np.asarray(there.predict_proba(library.asarray(Z)))
    np.testing.assert_allclose(proba, here.predict_proba(Z.astype(np.float64)), rtol=1e-9)


def test_collinear_columns_go_back_to_the_rows(library, rows):
    """Moments of nearly collinear columns are not to be trusted; a QR decomposition is."""
    (Z, eta), rng = rows, np.random.default_rng(1)
    Z = np.column_stack([Z, Z[:, 0] + 1e-6 * rng.normal(size=len(Z))])
    compared(FairRidgeRegressor(predictor_penalty=1e-9), library, Z, eta)


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_no_rows_come_to_main_memory_for_a_fit(library, rows, monkeypatch, definition):
    def refuse(*_):
        raise AssertionError("rows were brought to main memory")

    monkeypatch.setattr(DeviceRows, "on_host", refuse)
    Z, eta = rows
    noise = np.random.default_rng(2).logistic(size=len(eta))
    y = library.asarray((eta + noise > 0.0).astype(float))
    model = FairRidgeClassifier(0.02, sensitive=[1, 2], definition=definition)
    model.fit(library.asarray(Z), y)
    assert set(model.dependence_) == {"share_of_eta", "share_of_means"}


def test_torch_records_nothing_of_a_fit(rows):
    """Else all blocks of all passes would be kept for a gradient that nobody asks for."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    Z, eta = rows
    with config_context(array_api_dispatch=True):
        X = torch.asarray(Z).requires_grad_()
        model = FairRidgeRegressor(sensitive=[1, 2]).fit(X, torch.asarray(eta).requires_grad_())
        assert not model.predict(X).requires_grad


def refusals(Z, y):
    sensitive = {"sensitive": [1, 2]}
    nan, infinite = Z.copy(), Z.copy()
    nan[3, 4], infinite[3, 0] = np.nan, np.inf
    regressor = FairRidgeRegressor(**sensitive)
    yield FairRidgeSurvival(**sensitive), Z, y, {}, "FairRidgeSurvival needs rows in main memory"
    yield KomiyamaRegressor(**sensitive), Z, y, {}, "KomiyamaRegressor needs rows in main memory"
    yield clone(regressor).set_params(definition="individual"), Z, y, {}, "compares pairs of rows"
    yield regressor, nan, y, {}, "Column 'x4' has 1 missing value"
    yield regressor, infinite, y, {}, "Column 'x0' contains infinity"
    yield regressor, Z, np.where(y > 1, np.nan, y), {}, "y contains NaN"
    yield regressor, Z, y[:-1], {}, "X has 600 rows but y has 599"
    yield regressor, Z, y, {"sample_weight": -np.ones(len(y))}, "negative value -1"
    yield regressor, Z, y, {"offset": np.full(len(y), np.nan)}, "offset contains NaN"
    poisson = FairRidgeRegressor(family="poisson", **sensitive)
    yield poisson, Z, y, {}, "must be zero or positive; y has -"
    yield FairRidgeClassifier(**sensitive), Z, 0 * y, {}, "one class only"
    yield FairRidgeClassifier(**sensitive), Z, y, {}, "Unknown label type: continuous"


def test_refusals_say_what_to_do(library, rows):
    Z, eta = rows
    for model, X, y, more, message in refusals(Z, eta):
        moved = {name: library.asarray(values) for name, values in more.items()}
        with pytest.raises(ValueError, match=message):
            model.fit(library.asarray(X), library.asarray(y), **moved)
    X, y = library.asarray(Z), library.asarray(eta)
    with pytest.raises(TypeError, match="cross-validation needs the rows in memory"):
        cross_validate(FairRidgeRegressor(sensitive=[1, 2]), X, y)
    with pytest.raises(ValueError, match="rows are needed in main memory"):
        compare(X, eta, sensitive=[1, 2])
    fitted = FairRidgeRegressor(sensitive=[1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="has 5 features"):
        fitted.predict(library.asarray(Z[:, :5]))
    with pytest.raises(ValueError, match="Columns have missing values"):
        fitted.predict(library.asarray(np.full((2, 6), np.nan)))


def test_levels_that_decide_the_response_are_isolated(library, rows):
    (Z, eta), rng = rows, np.random.default_rng(1)
    y = (eta + rng.logistic(size=len(eta)) > 0).astype(float)
    level = np.zeros(len(y))
    level[np.flatnonzero(y)[:4]] = 1.0
    here, there = compared(FairRidgeClassifier(), library, np.column_stack([Z, level]), y)
    assert there.isolated_ == here.isolated_ == {"x6[1]": 4}
