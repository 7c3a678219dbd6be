"""Models whose bound holds in the population."""

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    rows_needed,
)
from fairridge.exceptions import BoundWarning
from fairridge.fairness import StatisticalParity

N = 1200
VARIANCE = StatisticalParity(measure="variance")


def drawn(n=N, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.4
    age = rng.normal(size=n)
    x1 = 0.8 * group + rng.normal(size=n)
    x2 = 0.5 * age + rng.exponential(size=n)
    x3 = rng.normal(size=n)
    eta = 1.0 * group + 0.6 * age + 0.8 * x1 - 0.5 * x2 + 0.5 * x3
    frame = pd.DataFrame({"age": age, "x1": x1, "x2": x2, "x3": x3})
    frame.insert(0, "group", np.where(group, "a", "b"))
    return frame, eta + rng.normal(size=n), (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)


@pytest.fixture(scope="module")
def rows():
    return drawn()


def regressor(**options):
    return FairRidgeRegressor(sensitive=["group", "age"], **{"confidence": 0.95} | options)


def classifier(**options):
    options = {"confidence": 0.95, "definition": "mean-parity"} | options
    return FairRidgeClassifier(sensitive=["group", "age"], **options)


def test_a_certified_fit_is_a_fit_at_a_smaller_bound(rows):
    X, y, _ = rows
    model = regressor(unfairness=0.05).fit(X, y)
    found = model.certificate_
    assert (found.bound, found.confidence, found.method) == (0.05, 0.95, "draws")
    assert found.granted
    assert found.upper <= 0.05
    assert found.n_rows == found.rows_needed == N
    assert 0.0 < found.training_bound < 0.05
    assert model.unfairness_ == pytest.approx(found.training_bound)
    plain = regressor(unfairness=found.training_bound, confidence=None).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-10)
    assert plain.certificate_ is None
    text = str(model.summary(details=True))
    assert text.count("Certificate (0.95)") == 1
    assert f"{found.price:.4f} of D²" in text
    assert f"{found.training_bound:.6g}" in text
    # About as normal theory has it.
    needed = rows_needed(0.05, sensitive_columns=2, training_bound=found.training_bound)
    assert 0.5 * N < needed < 2 * N


@pytest.mark.parametrize(
    "options",
    [
        {"definition": "mean-parity"},
        {"definition": VARIANCE},
        {"definition": "statistical-parity", "blind": True},
        {"definition": VARIANCE, "controls": ["x1"]},
        {"definition": "mean-parity", "controls": ["x1"]},
    ],
)
def test_classifiers_are_certified_for_linear_predictors_and_means(rows, options):
    X, _, y = rows
    model = classifier(unfairness=0.1, **options).fit(X, y)
    found = model.certificate_
    assert found.granted
    assert found.method == "draws"
    assert 0.05 < found.training_bound < 0.1
    assert model.unfairness_ == pytest.approx(found.training_bound)


def test_more_confidence_and_fewer_rows_leave_less(rows):
    X, y, _ = rows
    bounds = [
        regressor(unfairness=0.05, confidence=confidence).fit(X[:n], y[:n]).unfairness_
        for confidence, n in ((0.8, N), (0.95, N), (0.99, N), (0.99, 800))
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert len(set(bounds)) == 4


def test_a_bound_that_is_not_certified_gives_the_fit_at_zero_and_says_so(rows):
    X, y, _ = rows
    few = slice(0, 100)
    with pytest.warns(BoundWarning, match=r"not certified .* rows are needed, and there are 100"):
        model = regressor(unfairness=0.02).fit(X[few], y[few])
    found = model.certificate_
    assert not found.granted
    assert found.upper > 0.02
    assert found.rows_needed > 150
    assert model.unfairness_ == pytest.approx(0.0, abs=1e-12)
    assert "not granted" in str(model.summary(details=True))


def test_an_inactive_bound_is_certified_by_what_the_model_reaches(rows):
    X, _, _ = rows
    rng = np.random.default_rng(1)
    y = X["x1"].to_numpy() - 0.8 * (X["group"] == "a") + rng.normal(size=N)
    model = regressor(unfairness=0.2).fit(X, y)
    assert model.status_ == "inactive"
    assert model.certificate_.granted
    assert model.certificate_.training_bound == 0.2
    assert model.unfairness_ < model.certificate_.upper < 0.2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (classifier(definition="statistical-parity"), "varies too much from sample to sample"),
        (regressor(definition="equality-of-opportunity"), "cannot be certified"),
        (regressor(definition=lambda fit: 0.0), "cannot be certified"),
        (regressor(unfairness={"group": 0.1}), "bounds by attribute have no certificate"),
        (regressor(confidence=1.0), "confidence=1.0 must lie"),
        (regressor(confidence=True), "confidence=True must lie"),
        (regressor(certification="bootstrap"), "certification='bootstrap' is not known"),
    ],
)
def test_what_cannot_be_certified(rows, model, message):
    X, _, y = rows
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.path(X, y, unfairness=[0.1])


def test_wide_data_are_refused(rows):
    X, y, _ = rows
    noise = np.random.default_rng(0).normal(size=(30, 40))
    wide = pd.concat([X[:30], pd.DataFrame(noise).add_prefix("z")], axis=1)
    with pytest.raises(ValueError, match="more predictor columns than rows"):
        regressor(predictor_penalty=1.0).fit(wide, y[:30])


def test_weights_count_by_their_ratios_and_zero_is_absent(rows):
    X, y, _ = rows
    w = np.random.default_rng(2).random(N)
    first = regressor().fit(X, y, sample_weight=w).certificate_
    other = regressor().fit(X, y, sample_weight=10 * w).certificate_
    assert other.training_bound == pytest.approx(first.training_bound, rel=1e-9)
    # Unequal weights tell less than as many equal ones.
    assert first.training_bound < regressor().fit(X, y).certificate_.training_bound
    half = np.arange(N) < 700
    absent = regressor().fit(X, y, sample_weight=half.astype(float)).certificate_
    assert absent == regressor().fit(X[half], y[half]).certificate_


def test_a_path_certifies_each_bound(rows):
    X, y, _ = rows
    model = regressor()
    path = model.path(X, y, unfairness=[0.0, 0.02, 0.05, 0.3, 1.0])
    assert [one.granted for one in path.certificates] == [False, True, True, True, True]
    frame = path.to_frame()
    assert list(frame["granted"]) == [one.granted for one in path.certificates]
    np.testing.assert_allclose(frame["achieved"][:4], frame["training_bound"][:4], atol=1e-9)
    own = model.set_params(unfairness=0.05).fit(X, y)
    assert path.at(0.05).certificate_ == own.certificate_
    assert path.achieved[2] == pytest.approx(own.unfairness_, rel=1e-3)
    with pytest.warns(BoundWarning, match="is not certified .*nor are 1 other bounds"):
        model.path(X[:60], y[:60], unfairness=[0.01, 0.02, 0.9])


def test_held_out_rows_test_models_that_were_not_fitted_to_them(rows):
    X, y, _ = rows
    model = regressor(unfairness=0.1, certification="held-out").fit(X, y)
    found = model.certificate_
    assert found.granted
    assert (found.method, found.n_rows, model.n_rows_) == ("held-out", N, N // 2)
    assert found.training_bound in 0.1 * np.linspace(0, 1, 11)
    assert model.unfairness_ == pytest.approx(found.training_bound)
    assert found.upper < 0.1
    # The next model did not pass.
    fuller = regressor(unfairness=0.1).fit(X, y)
    assert found.training_bound < fuller.certificate_.training_bound
    with pytest.warns(BoundWarning, match="is not certified"):
        none = regressor(unfairness=0.01, certification="held-out").fit(X[:200], y[:200])
    assert not none.certificate_.granted
    assert none.unfairness_ == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("options", [{"certification": "held-out"}, {"blind": True}])
def test_the_price_is_what_the_bound_itself_explains_more(rows, options):
    X, y, classes = rows
    for make, response in ((regressor, y), (classifier, classes)):
        model = make(unfairness=0.1, **options).fit(X, response)
        path = model.path(X, response, unfairness=[0.1, 1.0])
        kept = np.arange(N)
        if options.get("certification"):
            order = np.random.default_rng(0).permutation(N)
            kept = np.sort(order[N // 2 :])
        plain = make(unfairness=0.1, confidence=None, **options).fit(X.iloc[kept], response[kept])
        price = plain.explained_deviance_ - model.explained_deviance_
        assert price > 0.001
        assert model.certificate_.price == pytest.approx(price, rel=1e-4)
        assert path.certificates[0].price == pytest.approx(price, rel=1e-4)
        assert path.certificates[1].price == 0.0
        assert path.to_frame()["price"][0] == path.certificates[0].price


def test_certificates_do_not_hold_for_rows_in_clusters(rows):
    X, y, _ = rows
    clusters = np.arange(N) // 2
    model = regressor().fit(X, y)
    with pytest.warns(BoundWarning, match="takes rows to be independent .*one row of each cluster"):
        model.inference(X, y, clusters=clusters)
    # No certificate, no warning.
    regressor(confidence=None).fit(X, y).inference(X, y, clusters=clusters)


def test_standard_errors_of_a_certified_fit_are_those_at_its_bound(rows):
    X, y, _ = rows
    model = regressor().fit(X, y)
    plain = regressor(confidence=None, unfairness=model.unfairness_).fit(X, y)
    np.testing.assert_allclose(
        model.inference(X, y).standard_errors, plain.inference(X, y).standard_errors, rtol=1e-6
    )
    half = regressor(unfairness=0.2, certification="held-out").fit(X, y).inference(X, y)
    assert half.standard_errors[0] > 1.2 * plain.inference(X, y).standard_errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "binomial"])
def test_certified_bounds_hold_in_the_population(kind):
    """Violations of r = 0.05 at δ = 0.1, on 60,000 other rows."""
    make = regressor if kind == "gaussian" else classifier
    X, _, _ = drawn(60_000, seed=100)
    S = np.column_stack([np.ones(len(X)), X["group"] == "a", X["age"]])
    Q = np.linalg.qr(S)[0]
    repeats, violated, plain = 100, 0, 0
    for seed in range(repeats):
        rows, y, classes = drawn(400, seed)
        response = y if kind == "gaussian" else classes
        for confidence in (0.9, None):
            model = make(confidence=confidence).fit(rows, response)
            scores = model.predict(X) if kind == "gaussian" else model.predict_proba(X)[:, 1]
            left = scores - Q @ (Q.T @ scores)
            exceeds = 1.0 - left.var() / scores.var() > 0.05
            violated += exceeds and confidence is not None and model.certificate_.granted
            plain += exceeds and confidence is None
    assert violated / repeats <= 0.1 + 3 * np.sqrt(0.09 / repeats)
    assert plain / repeats > 0.35
