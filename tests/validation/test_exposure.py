"""Rates: a Poisson model with an exposure is judged as that of y/e with the weights w·e.

`tests/contracts/test_same_numbers.py` has the numbers of audits, reports, comparisons and rules.
"""

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, Monitor, rules
from fairridge.validation.scored_model import PassedRows


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


def test_audits_refuse_exposures_of_classes(claims):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match="not for classes"):
        fairridge.audit(y > 0, y > 0, sensitive_features=X["s"], exposure=e, kind="classification")
    with pytest.raises(ValueError, match="exposure must be positive"):
        fairridge.audit(y, y, sensitive_features=X["s"], exposure=0.0 * e)


def test_monitors_watch_rates(claims):
    X, y, e, w = claims
    counts = fair(1.0, definition="mean-parity").fit(X, y, sample_weight=w, exposure=e)
    rates = fair(1.0, definition="mean-parity").fit(X, y / e, sample_weight=w * e)
    found = Monitor(counts, 0.01).update(X, sample_weight=w, exposure=e)
    expected = Monitor(rates, 0.01).update(X, sample_weight=w * e)
    assert found.wealth == pytest.approx(expected.wealth, rel=1e-9)


def test_monitors_need_what_the_model_was_fitted_with(claims):
    X, y, e, _ = claims
    model = fair().fit(X, y, exposure=e)
    monitor = Monitor(model, 0.05)
    with pytest.raises(ValueError, match="fitted with an exposure"):
        monitor.update(X)
    assert monitor.state.n_rows == 0


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


def test_the_loss_of_a_fold_is_one_of_counts(claims):
    X, y, e, w = claims
    bounds, folds = [1.0], [[(np.arange(600), np.arange(600, 900))]]
    counts, rates, logged = (
        fairridge.cross_validate(
            fair(), X, response, unfairness=bounds, folds=folds, **given
        ).records[0]["loss"]
        for response, given in (
            (y, {"sample_weight": w, "exposure": e}),
            (y / e, {"sample_weight": w * e}),
            (y, {"sample_weight": w, "offset": np.log(e)}),
        )
    )
    test = folds[0][0][1]
    assert counts * w[test].sum() == pytest.approx(rates * (w * e)[test].sum(), rel=1e-9)
    assert logged == counts


def test_models_without_rates_are_refused_or_left_out(claims):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match="exposure is for families with the log link"):
        fairridge.cross_validate(FairRidgeRegressor(sensitive="s"), X, y, exposure=e)
    with pytest.raises(TypeError, match="has no linear predictor with the log link"):
        fairridge.cross_validate(
            {"other": fairridge.BarycenterRegressor(sensitive="s")}, X, y, exposure=e
        )
    with pytest.raises(ValueError, match="models with the log link"):
        fairridge.compare(X, y, sensitive="s", exposure=e)
    models = {"counts": fair(), "gaussian": FairRidgeRegressor(sensitive="s")}
    found = fairridge.compare(X, y, sensitive="s", models=models, exposure=e, cv=2)
    assert "log link" in found.skipped["gaussian"]


def test_reports_need_what_the_model_was_fitted_with(claims):
    X, y, e, _ = claims
    model = fair().fit(X, y, exposure=e)
    with pytest.raises(ValueError, match="fitted with an exposure"):
        fairridge.report(model, X, y, new_rows=True)
    held = {"rule": rules.MeanGap(5.0), "exposure": e}
    with pytest.raises(ValueError, match=r"held-out rows have no exposure, .*pass both exposure="):
        fairridge.choose_bound(fair(), X, y, X, y, **held)


def test_reports_say_that_an_offset_is_a_part_of_the_score(claims):
    X, y, e, _ = claims
    model = FairRidgeClassifier(sensitive="s").fit(X, y > 0, offset=np.log(e))
    page = fairridge.report(model, X, y > 0, offset=np.log(e), cv=0, bootstrap=0, new_rows=True)
    assert "given, a part of the score of every row" in page.html


def test_counts_are_decided_by_a_threshold_alone(claims):
    X, y, e, _ = claims
    options = {"unfairness": [0.05], "cv": 2, "random_state": 0, "exposure": e}
    without = fairridge.cross_validate(fair(), X, y, **options).records[0]
    assert "decision_gap" not in without
    decided = fairridge.cross_validate(fair(), X, y, threshold=float(y.mean()), **options)
    assert decided.records[0]["decision_gap"] >= 0.0
