"""Rows are paired by position; a warning says if row labels suggest another order."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairridge import (
    BarycenterRegressor,
    FairRidgeRegressor,
    FairStackingRegressor,
    Monitor,
    audit,
    choose_bound,
    compare,
    cross_validate,
    report,
)
from fairridge.exceptions import DataWarning
from fairridge.export import relativities
from fairridge.rules import MeanGap

N = 240


def make():
    """Return X with S in it, y, weights and exposures, all with the same labels."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, N)
    X = pd.DataFrame({"g": np.where(group, "a", "b"), "x": rng.normal(size=N) + group})
    y = pd.Series(np.exp(0.3 * X["x"] + 0.5 * group + 0.5 * rng.normal(size=N)), name="y")
    weight = pd.Series(rng.uniform(0.5, 2.0, N))
    labels = rng.permutation(N)
    return [data.set_axis(labels) for data in (X, y, weight)]


X, Y, W = make()
SHUFFLED = np.random.default_rng(1).permutation(N)
MODEL = FairRidgeRegressor(0.05, sensitive="g").fit(X, Y)
RATES = FairRidgeRegressor(0.05, sensitive="g", family="gamma", definition="mean-parity")
STACK = FairStackingRegressor(unfairness=0.05, sensitive="g", cv=2, random_state=0)
OWN = {"unfairness": [0.1], "cv": 2}
HALF, REST = slice(None, N // 2), slice(N // 2, None)

CALLS = {
    "fit": lambda X, y, w: FairRidgeRegressor(0.05, sensitive="g").fit(X, y),
    "fit, weights": lambda X, y, w: FairRidgeRegressor(0.05, sensitive="g").fit(
        X, np.asarray(y), sample_weight=w
    ),
    "fit, exposure": lambda X, y, w: RATES.fit(X, np.asarray(y), exposure=w),
    "score": lambda X, y, w: MODEL.score(X, y),
    "path": lambda X, y, w: FairRidgeRegressor(sensitive="g").path(X, y, unfairness=[0.1]),
    "inference": lambda X, y, w: MODEL.inference(X, np.asarray(Y), sample_weight=0.0 * w + 1.0),
    "stack": lambda X, y, w: STACK.fit(X, y),
    "barycenter": lambda X, y, w: BarycenterRegressor(sensitive="g").fit(X, y),
    "audit": lambda X, y, w: audit(y, MODEL.predict(X), sensitive_features=X["g"]),
    "audit, weights": lambda X, y, w: audit(
        None, MODEL.predict(X), sensitive_features=X["g"], sample_weight=w
    ),
    "report": lambda X, y, w: report(MODEL, X, y, new_rows=True),
    "monitor": lambda X, y, w: Monitor(MODEL).update(X, sample_weight=w),
    "cross_validate": lambda X, y, w: cross_validate(MODEL, X, y, **OWN),
    "compare": lambda X, y, w: compare(X, y, sensitive="g", models=["FRRM"], cv=2),
    "relativities": lambda X, y, w: relativities(
        RATES.fit(np_like(X), np.asarray(y)), X, np.asarray(y), sample_weight=w
    ),
    "choose_bound": lambda X, y, w: choose_bound(
        FairRidgeRegressor(sensitive="g"), X[HALF], y[HALF], X[REST], np.asarray(y)[REST],
        rule=MeanGap(3.0), unfairness=[0.5],
    ),
}  # fmt: skip


def np_like(X):
    """Return the same columns with labels that nothing else has."""
    return X.set_axis([f"row {k}" for k in range(len(X))])


def warned(call, *data):
    """Return the warnings of row labels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*data)
    return [str(w.message) for w in caught if "in another order" in str(w.message)]


@pytest.mark.parametrize("name", CALLS)
def test_the_same_labels_in_another_order_are_warned_of(name):
    call = CALLS[name]
    assert warned(call, X, Y, W) == []
    half = SHUFFLED[SHUFFLED < N // 2], SHUFFLED[SHUFFLED >= N // 2]
    order = np.concatenate(half)  # within halves, for calls that have two parts
    found = warned(call, X, Y.iloc[order], W.iloc[order])
    assert found
    assert "Rows are paired by position" in found[0]


def test_arrays_and_polars_have_no_labels():
    call = CALLS["fit"]
    assert warned(call, X, Y.iloc[SHUFFLED].to_numpy(), None) == []
    assert warned(call, pl.from_pandas(X.reset_index(drop=True)), Y.iloc[SHUFFLED], None) == []


def test_the_warning_says_how_to_align():
    y = Y.iloc[SHUFFLED]
    (text,) = warned(CALLS["fit"], X, y, None)
    assert text.startswith("y has the index labels of X in another order")
    assert "y.loc[X.index]" in text
    assert "y.reset_index(drop=True)" in text
    assert warned(CALLS["fit"], X, y.loc[X.index], None) == []
    assert warned(CALLS["fit"], np_like(X), y.reset_index(drop=True), None) == []
    with pytest.warns(DataWarning, match="y and sample_weight have the index labels of X"):
        FairRidgeRegressor(0.05, sensitive="g").fit(X, y, sample_weight=W.iloc[SHUFFLED])


def test_predictions_compare_x_with_sensitive_features():
    S, rest = X["g"], X[["x"]]
    model = FairRidgeRegressor(0.05).fit(rest, Y, sensitive_features=S)
    predict = model.predict
    assert warned(lambda: predict(rest, sensitive_features=S)) == []
    assert len(warned(lambda: predict(rest, sensitive_features=S.iloc[SHUFFLED]))) == 1


def test_predictions_compare_x_with_offsets_and_exposures():
    exposed = RATES.fit(np_like(X), np.asarray(Y), exposure=np.asarray(W))
    assert warned(lambda: exposed.predict(X, exposure=W)) == []
    (text,) = warned(lambda: exposed.predict(X, exposure=W.iloc[SHUFFLED]))
    assert text.startswith("exposure has the index labels of X in another order")


def test_comparisons_of_shuffled_frames_say_nothing():
    S = X[["x"]].assign(g=X["g"])  # a number, which is cut for models that need groups
    Z = pd.DataFrame({"z": np.arange(N) % 7}, index=X.index)
    found = []

    def use():
        found.append(compare(Z, Y, sensitive_features=S, models=["FRRM", "barycenter"], cv=2))

    assert warned(use) == []
    assert not any(
        "another order" in text for texts in found[0].warnings.values() for text in texts
    )
