"""Rates: a Poisson model with an exposure is judged as that of y/e with the weights w·e."""

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, Monitor, rules
from fairridge.validation.passed_rows import PassedRows

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(scope="module")
def claims():
    """Return S and X in a frame, counts, exposures and weights; exposure depends on S."""
    rng = np.random.default_rng(8)
    n = 900
    s = rng.integers(0, 3, n)
    e, w = rng.uniform(0.05, 0.4, n) * (1.0 + s), rng.uniform(0.5, 2.0, n)
    x = rng.normal(size=n) + 0.6 * s
    y = rng.poisson(e * np.exp(0.3 + 0.4 * x + 0.3 * (s == 2)))
    return pd.DataFrame({"s": np.array(["a", "b", "c"])[s], "x": x}), y.astype(float), e, w


def fair(r=0.02, **options):
    return FairRidgeRegressor(r, sensitive="s", family="poisson", **options)


def both_ways(claims, **options):
    """Return models of counts with an exposure and of rates with weights, with their rows."""
    X, y, e, w = claims
    counts, rates = {"sample_weight": w, "exposure": e}, {"sample_weight": w * e}
    # Without a bound the two are the same model whatever the definition.
    model = fair(1.0, **options)
    return (model.fit(X, y, **counts), y, counts), (
        fair(1.0, **options).fit(X, y / e, **rates),
        y / e,
        rates,
    )


def assert_same(ours, theirs, path="contents"):
    """Compare nested frozen records; texts may say what is meant."""
    if isinstance(ours, float | np.ndarray):
        np.testing.assert_allclose(ours, theirs, **CLOSE, err_msg=path)
    elif isinstance(ours, tuple):
        assert len(ours) == len(theirs), path
        for k, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_same(*pair, f"{path}[{k}]")
    elif hasattr(ours, "__dataclass_fields__"):
        for name in ours.__dataclass_fields__:
            pair = getattr(ours, name), getattr(theirs, name)
            if name == "predicted_over_observed":  # the interval is one of totals of counts
                pair = tuple(ratio.value for ratio in pair)
            assert_same(*pair, f"{path}.{name}")


def test_audits_compare_rates(claims):
    X, y, e, w = claims
    (model, _, _), _ = both_ways(claims)
    counts = fairridge.audit(
        y, model.predict(X, exposure=e), sensitive_features=X[["s"]], sample_weight=w, exposure=e,
        threshold=1.5, intersections=True,
    )  # fmt: skip
    rates = fairridge.audit(
        y / e, model.predict(X), sensitive_features=X[["s"]], sample_weight=w * e,
        threshold=1.5, intersections=True, kind="amounts",
    )  # fmt: skip
    assert_same(counts, rates)
    of_all = counts.overall.mean_response
    assert of_all.value == pytest.approx((w @ y) / (w @ e), rel=1e-12)
    # Two values only are still counts.
    few = fairridge.audit(np.minimum(y, 1.0), e, sensitive_features=X["s"], exposure=e, small=0)
    assert few.kind == "regression"
    np.testing.assert_allclose(few.overall.mean_prediction.value, 1.0)


def test_audits_refuse_exposures_of_classes(claims):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match="not for classes"):
        fairridge.audit(y > 0, y > 0, sensitive_features=X["s"], exposure=e, kind="classification")
    with pytest.raises(ValueError, match="exposure must be positive"):
        fairridge.audit(y, y, sensitive_features=X["s"], exposure=0.0 * e)


def test_monitors_watch_rates(claims):
    X, *_ = claims
    states = []
    for model, _, given in both_ways(claims, definition="mean-parity"):
        monitor = Monitor(model, 0.01)
        states.append(monitor.update(X, **given))
        states[-1] = (states[-1].wealth, monitor._processes[0].log_wealth)
    np.testing.assert_allclose(*states, rtol=1e-9)
    exposed = Monitor(both_ways(claims, definition="mean-parity")[0][0])
    assert exposed.watches == "share of the variance of the predicted rates due to s"


@pytest.mark.parametrize("name", ["offset", "exposure"])
def test_monitors_need_what_the_model_was_fitted_with(claims, name):
    X, y, e, _ = claims
    given = {name: e if name == "exposure" else np.log(e)}
    model = fair().fit(X, y, **given)
    monitor = Monitor(model, 0.05)
    with pytest.raises(ValueError, match=f"fitted with an {name}"):
        monitor.update(X)
    assert monitor.state.n_rows == 0
    assert monitor.update(X, **given).n_rows == len(y)


def test_an_offset_of_another_link_is_a_part_of_the_score(claims):
    X, y, e, _ = claims
    offset = np.log(e)
    model = FairRidgeClassifier(0.05, sensitive="s", definition="mean-parity")
    monitor = Monitor(model.fit(X, y > 0, offset=offset))
    assert monitor.watches == "share of the variance of the predicted probabilities due to s"
    rows = PassedRows(X, None, sample_weight=e, offset=offset)
    _, seen, weight = monitor._watched.read(rows)
    probability = model.predict_proba(X, offset=offset)[:, 1]
    np.testing.assert_allclose(seen[:, -1], probability, rtol=1e-12)
    np.testing.assert_array_equal(weight, e)
    # What a gaussian model bounds is R² of η, and that has no offset.
    gaussian = FairRidgeRegressor(0.05, sensitive="s").fit(X, y, offset=offset)
    found = [
        Monitor(gaussian)._watched.read(PassedRows(X, None, offset=each))[1]
        for each in (offset, np.zeros(len(X)))
    ]
    np.testing.assert_array_equal(*found)


def test_rules_are_about_rates(claims):
    X, y, e, w = claims
    first, held = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    found = []
    for response, given in (
        (y, {"sample_weight": w, "exposure": e}),
        (y / e, {"sample_weight": w * e}),
    ):
        options = {name: values[first] for name, values in given.items()}
        options |= {f"{name}_held": values[held] for name, values in given.items()}
        found.append(
            fairridge.choose_bound(
                fair(), X[first], response[first], X[held], response[held],
                rule=rules.MeanGap(5.0), unfairness=[1.0], **options,
            )
        )  # fmt: skip
    ours, theirs = found
    assert ours.granted
    for name in ("train_value", "value", "p_value"):
        assert ours.steps[0][name] == pytest.approx(theirs.steps[0][name], rel=1e-9), name
    with pytest.raises(ValueError, match=r"held-out rows have no exposure, .*pass both exposure="):
        fairridge.choose_bound(
            fair(), X[first], y[first], X[held], y[held], rule=rules.MeanGap(5.0),
            exposure=e[first],
        )  # fmt: skip


def test_offsets_of_classes_are_a_part_of_decisions(claims):
    X, y, e, _ = claims
    offset, first = np.log(e), np.arange(len(y)) % 2 == 0
    model = FairRidgeClassifier(sensitive="s")
    found = fairridge.choose_bound(
        model, X[first], y[first] > 0, X[~first], y[~first] > 0, rule=rules.MeanGap(0.9),
        unfairness=[1.0], offset=offset[first], offset_held=offset[~first],
    )  # fmt: skip
    probability = found.model.predict_proba(X[~first], offset=offset[~first])[:, 1]
    means = pd.Series(probability).groupby(X["s"][~first].to_numpy()).mean()
    assert found.steps[0]["value"] == pytest.approx(means.max() - means.min(), rel=1e-10)


def test_cross_validation_measures_rates(claims):
    X, y, e, w = claims
    bounds, folds = [1.0], [[(np.arange(600), np.arange(600, 900))]]
    counts, rates = (
        fairridge.cross_validate(
            fair(), X, response, unfairness=bounds, folds=folds, threshold=1.0, **given
        ).to_frame()
        for response, given in (
            (y, {"sample_weight": w, "exposure": e}),
            (y / e, {"sample_weight": w * e}),
        )
    )
    for name in ("share_of_means", "decision_gap"):
        np.testing.assert_allclose(counts[name], rates[name], **CLOSE)
    test = folds[0][0][1]
    by_hand = counts["loss"] * w[test].sum()
    np.testing.assert_allclose(by_hand, rates["loss"] * (w * e)[test].sum(), rtol=1e-9)
    logged = fairridge.cross_validate(
        fair(), X, y, unfairness=bounds, folds=folds, sample_weight=w, offset=np.log(e)
    ).to_frame()
    np.testing.assert_array_equal(logged["loss"], counts["loss"])


def test_cross_validation_refuses_models_without_rates(claims):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match="exposure is for families with the log link"):
        fairridge.cross_validate(FairRidgeRegressor(sensitive="s"), X, y, exposure=e)
    with pytest.raises(TypeError, match="has no linear predictor with the log link"):
        fairridge.cross_validate(
            {"other": fairridge.BarycenterRegressor(sensitive="s")}, X, y, exposure=e
        )


@pytest.mark.slow
@pytest.mark.parametrize("new_rows", [False, True])
def test_reports_compare_rates(claims, new_rows):
    X, *_ = claims
    contents = []
    for model, y, given in both_ways(claims):
        page = fairridge.report(
            model, X, y, new_rows=new_rows, cv=0, bootstrap=3, **given, response="claims"
        )
        contents.append(page.contents)
        said = "compared as rates, weighted by it" in page.html
        assert said == ("exposure" in given)
    ours, theirs = contents
    if new_rows:
        means = [next(m for m in c.measures if m.key == "share_of_means") for c in contents]
        assert_same(*((m.value, m.low, m.high) for m in means))
        assert_same(*(c.samples for c in contents))
        return
    k = int(np.flatnonzero(ours.unfairness == 1.0)[0])
    j = int(np.flatnonzero(theirs.unfairness == 1.0)[0])
    pick = (ours.samples[0].audits[k], theirs.samples[0].audits[j])
    assert_same(*pick)
    assert ours.yardstick["share_of_means"].training[k] == pytest.approx(
        theirs.yardstick["share_of_means"].training[j], rel=1e-9
    )


@pytest.mark.parametrize("new_rows", [False, True])
def test_reports_need_what_the_model_was_fitted_with(claims, new_rows):
    X, y, e, _ = claims
    model = fair().fit(X, y, exposure=e)
    with pytest.raises(ValueError, match="fitted with an exposure"):
        fairridge.report(model, X, y, new_rows=new_rows, cv=0, bootstrap=0)


def test_reports_say_that_an_offset_is_a_part_of_the_score(claims):
    X, y, e, _ = claims
    model = FairRidgeClassifier(sensitive="s").fit(X, y > 0, offset=np.log(e))
    page = fairridge.report(model, X, y > 0, offset=np.log(e), cv=0, bootstrap=0, new_rows=True)
    assert "given, a part of the score of every row" in page.html


def test_comparisons_measure_rates(claims):
    X, y, e, _ = claims
    parity = fair(definition="mean-parity")
    folds = [(np.arange(600), np.arange(600, 900))]
    found = fairridge.compare(
        X, y, sensitive=parity.sensitive, models={"parity": parity, "gaussian": gaussian(parity)},
        unfairness=0.05, exposure=e, folds=folds,
    )  # fmt: skip
    assert "log link" in found.skipped["gaussian"]
    table = {record["model"]: record for record in found.records}
    validated = fairridge.cross_validate(
        parity, X, y, unfairness=[0.05], folds=[folds], exposure=e
    ).records[0]
    for name in ("rmse", "share_of_means", "share_of_eta"):
        assert table["parity"][name] == pytest.approx(validated[name], rel=1e-9)
    fitted = fair(0.05, definition="mean-parity").fit(X, y, exposure=e)
    assert table["parity"]["train_share_of_means"] == pytest.approx(fitted.unfairness_)
    counts = fitted.predict(X, exposure=e)
    expected = np.sqrt(np.mean((y - counts) ** 2))
    assert table["parity"]["train_rmse"] == pytest.approx(expected, rel=1e-9)
    assert table["unconstrained"]["train_share_of_means"] > 0.05
    assert np.isnan(table["parity"]["decision_gap"])


def gaussian(model):
    return fairridge.FairRidgeRegressor(sensitive=model.sensitive)


def test_comparisons_with_exposures_name_what_they_need(claims):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match="models with the log link"):
        fairridge.compare(X, y, sensitive=fair().sensitive, exposure=e)


def test_counts_are_decided_by_a_threshold_alone(claims):
    X, y, e, _ = claims
    options = {"unfairness": [0.05], "cv": 2, "random_state": 0, "exposure": e}
    without = fairridge.cross_validate(fair(), X, y, **options).records[0]
    assert "decision_gap" not in without
    decided = fairridge.cross_validate(fair(), X, y, threshold=float(y.mean()), **options)
    assert decided.records[0]["decision_gap"] >= 0.0
