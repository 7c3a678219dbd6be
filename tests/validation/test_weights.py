"""Weights and offsets in cross-validation, against fits by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    cross_validate,
)
from tests import zoo

BOUNDS = [0.0, 0.1]
# Adjusting for chance, and leaving small groups out, count rows whatever their weights.
COUNT_ROWS = ["n", "achieved", "share_of_eta", "share_of_means", "decision_gap"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(50)
    n = 160
    sex = rng.choice(["f", "m"], n)
    age = rng.normal(size=n)
    skill = rng.normal(size=n) + 0.6 * (sex == "m") + 0.3 * age
    return pd.DataFrame({"sex": sex, "age": age, "skill": skill, "luck": rng.normal(size=n)})


@pytest.fixture(scope="module")
def eta(frame):
    return 0.7 * frame["skill"] + 0.4 * (frame["sex"] == "m") - 0.3


@pytest.fixture(scope="module")
def responses(eta):
    found = zoo.responses(eta, 51, slope=1.0)
    return found | {"individual": found["gaussian"]}


@pytest.fixture(scope="module")
def weight(frame):
    return np.random.default_rng(52).integers(0, 4, len(frame)).astype(float)


@pytest.fixture(scope="module")
def folds(frame):
    return list(KFold(3, shuffle=True, random_state=0).split(frame))


MODELS = {
    "gaussian": FairRidgeRegressor(sensitive=["sex", "age"]),
    "individual": FairRidgeRegressor(sensitive=["sex", "age"], definition="individual"),
    "poisson": FairRidgeRegressor(sensitive=["sex", "age"], family="poisson"),
    "binomial": FairRidgeClassifier(sensitive=["sex", "age"]),
    "cox": FairRidgeSurvival(sensitive=["sex", "age"]),
}


def share_on(S, score, weight):
    return LinearRegression().fit(S, score, weight).score(S, score, weight)


def repeated(folds, weight):
    """Folds of rows that are written out as often as their weights say."""
    ends = np.cumsum(weight).astype(int)
    starts = ends - weight.astype(int)
    return [
        tuple(np.concatenate([np.arange(starts[k], ends[k]) for k in part]) for part in fold)
        for fold in folds
    ]


@pytest.mark.parametrize("name", MODELS)
def test_integer_weights_are_repeated_rows(frame, responses, folds, weight, name):
    y, model = responses[name], MODELS[name]
    options = {"unfairness": BOUNDS}
    found = cross_validate(model, frame, y, folds=folds, sample_weight=weight, **options).to_frame()
    which = np.repeat(np.arange(len(frame)), weight.astype(int))
    expected = cross_validate(
        model, frame.iloc[which], y[which], folds=repeated(folds, weight), **options
    ).to_frame()
    kept = [int((weight[test] > 0).sum()) for _, test in folds]
    assert found["n"].tolist() == np.repeat(kept, 2).tolist()
    drop = [name for name in COUNT_ROWS if name in expected]
    pd.testing.assert_frame_equal(
        found.drop(columns=drop, errors="ignore"), expected.drop(columns=drop), rtol=1e-6, atol=1e-8
    )
    if name != "individual":
        q = 2
        plain = [
            1.0 - (1.0 - table["achieved"]) * (table["n"] - q - 1) / (table["n"] - 1)
            for table in (found, expected)
        ]
        np.testing.assert_allclose(plain[0], plain[1], rtol=1e-6, atol=1e-8)


# --------------------------------------------------------------------- offsets


@pytest.mark.parametrize("name", ["gaussian", "individual"])
def test_a_gaussian_offset_is_taken_off_the_response(frame, responses, folds, name):
    y, offset = responses[name], np.linspace(-3.0, 3.0, len(frame))
    options = {"unfairness": BOUNDS, "folds": folds}
    found = cross_validate(MODELS[name], frame, y + offset, offset=offset, **options).to_frame()
    expected = cross_validate(MODELS[name], frame, y, **options).to_frame()
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9, atol=1e-12)


def test_an_offset_counts_in_the_loss_and_not_in_what_is_bounded(frame, responses, folds):
    # The offset is a column of S: with it, the share of η would be large.
    y, model, offset = responses["poisson"], MODELS["poisson"], frame["age"].to_numpy()
    found = cross_validate(model, frame, y, unfairness=[0.05], folds=folds, offset=offset)
    S = np.column_stack([frame["sex"] == "m", frame["age"]])
    for record, (train, test) in zip(found.records, folds, strict=True):
        fitted = clone(model).set_params(unfairness=0.05)
        fitted.fit(frame.iloc[train], y[train], offset=offset[train])
        mean = fitted.predict(frame.iloc[test], offset=offset[test])
        terms = y[test] * np.log(np.where(y[test] > 0, y[test], 1.0) / mean) - (y[test] - mean)
        assert record["loss"] == pytest.approx(2.0 * terms.mean(), rel=1e-8)
        n, rate = len(test), fitted.predict(frame.iloc[test])
        share = share_on(S[test], np.log(rate), np.ones(n))
        for column in ("achieved", "share_of_eta"):
            assert record[column] == pytest.approx(1.0 - (1.0 - share) * (n - 1) / (n - 3))


# ------------------------------------------------- models known by predictions


class Chances(ClassifierMixin, BaseEstimator):
    """Weighted shares by sex, moved toward each other by the bound, are chances of two classes."""

    def __init__(self, unfairness=1.0, sensitive="sex"):
        self.unfairness = unfairness
        self.sensitive = sensitive

    def fit(self, X, y, sample_weight=None):
        self.classes_, man = np.unique(y), X["sex"] == "m"
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.shares_ = [np.average((y == "yes")[k], weights=weight[k]) for k in (~man, man)]
        return self

    def predict_proba(self, X):
        low, high = self.shares_
        p = low + self.unfairness * (high - low) * (X["sex"] == "m")
        p = np.clip(p + 0.1 * np.tanh(X["luck"]), 0.0, 1.0)
        return np.column_stack([1.0 - p, p])


class Unweighted(Chances):
    """The same, without weights."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_a_class_that_the_training_rows_lack(frame, responses):
    y = responses["binomial"]
    fold = (np.flatnonzero(y == "no"), np.flatnonzero(y == "yes"))
    with pytest.raises(ValueError, match="no row of class 'yes'"):
        cross_validate(Chances(), frame, y, unfairness=[0.1], folds=[fold])


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (Unweighted(), {"sample_weight": np.ones(160)}, TypeError, "'own' is a Unweighted, whose"),
        (Chances(), {"offset": np.ones(160)}, TypeError, "'own' is a Chances, which has no linear"),
        (MODELS["gaussian"], {"sample_weight": np.ones(9)}, ValueError, "sample_weight has 9"),
        (MODELS["gaussian"], {"sample_weight": -np.ones(160)}, ValueError, "negative"),
        (MODELS["gaussian"], {"offset": np.ones(9)}, ValueError, "offset has 9"),
    ],
)
def test_weights_and_offsets_that_do_not_fit(frame, responses, model, options, error, message):
    y = responses["binomial" if isinstance(model, ClassifierMixin) else "gaussian"]
    with warnings.catch_warnings(), pytest.raises(error, match=message):
        cross_validate({"own": model}, frame, y, **options)


def test_a_fold_without_weight_is_named(frame, responses, folds, weight):
    weight = weight.copy()
    weight[folds[1][1]] = 0.0
    with pytest.raises(ValueError, match="fold 1 has no training or no validation rows"):
        cross_validate(
            MODELS["gaussian"], frame, responses["gaussian"], folds=folds, sample_weight=weight
        )
