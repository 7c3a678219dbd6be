"""Weights and offsets in cross-validation, against fits by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from fairridge import (
    BarycenterRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    ReductionsClassifier,
    cross_validate,
    sources,
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
    "multinomial": FairRidgeClassifier(sensitive=["sex", "age"]),
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


@pytest.mark.parametrize("name", ["gaussian", "poisson", "binomial"])
def test_rows_of_weight_zero_are_absent(frame, responses, weight, name):
    y, model, kept = responses[name], MODELS[name], np.flatnonzero(weight)
    options = {"unfairness": BOUNDS, "cv": 4, "repeats": 2, "random_state": 0}
    found = cross_validate(model, frame, y, sample_weight=weight, **options).to_frame()
    expected = cross_validate(
        model, frame.iloc[kept], y[kept], sample_weight=weight[kept], **options
    ).to_frame()
    pd.testing.assert_frame_equal(found, expected)


def test_weights_are_those_of_fits_and_scores(frame, responses, folds, weight):
    y, model, weight = responses["gaussian"], MODELS["gaussian"], weight + 0.5
    found = cross_validate(model, frame, y, unfairness=[0.1], folds=folds, sample_weight=weight)
    S = np.column_stack([frame["sex"] == "m", frame["age"]])
    for record, (train, test) in zip(found.records, folds, strict=True):
        fitted = clone(model).set_params(unfairness=0.1)
        fitted.fit(frame.iloc[train], y[train], sample_weight=weight[train])
        predicted = fitted.predict(frame.iloc[test])
        squares = np.average((y[test] - predicted) ** 2, weights=weight[test])
        n = len(test)
        share = share_on(S[test], predicted, weight[test])
        assert record["loss"] == pytest.approx(np.sqrt(squares))
        assert record["train_achieved"] == pytest.approx(fitted.unfairness_)
        for column in ("achieved", "share_of_means"):
            assert record[column] == pytest.approx(1.0 - (1.0 - share) * (n - 1) / (n - 3))


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


class Mean(RegressorMixin, BaseEstimator):
    """Predict weighted means by sex, moved toward each other by the bound."""

    def __init__(self, unfairness=1.0, sensitive="sex"):
        self.unfairness = unfairness
        self.sensitive = sensitive

    def fit(self, X, y, sample_weight=None):
        man = X["sex"] == "m"
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.means_ = [np.average(y[man == k], weights=weight[man == k]) for k in (0, 1)]
        return self

    def predict(self, X):
        low, high = self.means_
        return low + self.unfairness * (high - low) * (X["sex"] == "m") + X["luck"]


class Unweighted(Mean):
    """The same, without weights."""

    def fit(self, X, y):
        return super().fit(X, y)


class Chances(ClassifierMixin, Mean):
    """Probabilities of two classes."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return super().fit(X, (y == "yes") * 1.0, sample_weight)

    def predict_proba(self, X):
        p = np.clip(super().predict(X) - X["luck"] + 0.1 * np.tanh(X["luck"]), 0.0, 1.0)
        return np.column_stack([1.0 - p, p])


def test_a_model_of_others_is_fitted_and_scored_with_weights(frame, responses, folds, weight):
    y = responses["gaussian"]
    found = cross_validate(Mean(), frame, y, unfairness=[0.5], folds=folds, sample_weight=weight)
    s = (frame["sex"] == "m").to_numpy()[:, None]
    for record, fold in zip(found.records, folds, strict=True):
        train, test = (part[weight[part] > 0] for part in fold)
        fitted = Mean(0.5).fit(frame.iloc[train], y[train], weight[train])
        predicted = fitted.predict(frame.iloc[test])
        squares = np.average((y[test] - predicted) ** 2, weights=weight[test])
        n, share = len(test), share_on(s[test], predicted, weight[test])
        assert record["n"] == n
        assert record["loss"] == pytest.approx(np.sqrt(squares))
        assert record["share_of_means"] == pytest.approx(1.0 - (1.0 - share) * (n - 1) / (n - 2))
        assert record["achieved"] == record["share_of_means"]
        inside = share_on(s[train], fitted.predict(frame.iloc[train]), weight[train])
        assert record["train_achieved"] == pytest.approx(inside)


def test_integer_weights_are_repeated_rows_for_a_classifier_of_others(
    frame, responses, folds, weight
):
    y, options = responses["binomial"], {"unfairness": BOUNDS}
    found = cross_validate(
        Chances(), frame, y, folds=folds, sample_weight=weight, **options
    ).to_frame()
    which = np.repeat(np.arange(len(frame)), weight.astype(int))
    expected = cross_validate(
        Chances(), frame.iloc[which], y[which], folds=repeated(folds, weight), **options
    ).to_frame()
    drop = [name for name in COUNT_ROWS if name in expected]
    pd.testing.assert_frame_equal(
        found.drop(columns=drop, errors="ignore"), expected.drop(columns=drop)
    )


@pytest.mark.slow
@pytest.mark.parametrize("model", [BarycenterRegressor, ReductionsClassifier])
def test_our_own_models_of_predictions_take_weights(frame, responses, model, weight):
    y = responses["binomial" if model is ReductionsClassifier else "gaussian"]
    options = {"unfairness": [0.2], "cv": 2, "random_state": 0}
    plain, weighted = (
        cross_validate(model(sensitive="sex"), frame, y, sample_weight=own, **options).records[0]
        for own in (None, weight + 1.0)
    )
    assert plain["n"] == weighted["n"]
    assert plain["loss"] != weighted["loss"]


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
        (Mean(), {"offset": np.ones(160)}, TypeError, "'own' is a Mean, which has no linear"),
        (Mean(), {"sample_weight": np.ones(9)}, ValueError, "sample_weight has 9"),
        (MODELS["gaussian"], {"sample_weight": np.ones(9)}, ValueError, "sample_weight has 9"),
        (MODELS["gaussian"], {"sample_weight": -np.ones(160)}, ValueError, "negative"),
        (MODELS["gaussian"], {"sample_weight": np.zeros(160)}, ValueError, "zero"),
        (MODELS["gaussian"], {"offset": np.ones(9)}, ValueError, "offset has 9"),
    ],
)
def test_weights_and_offsets_that_do_not_fit(frame, responses, model, options, error, message):
    with warnings.catch_warnings(), pytest.raises(error, match=message):
        cross_validate({"own": model}, frame, responses["gaussian"], **options)


def test_a_fold_without_weight_is_named(frame, responses, folds, weight):
    weight = weight.copy()
    weight[folds[1][1]] = 0.0
    with pytest.raises(ValueError, match="fold 1 has no training or no validation rows"):
        cross_validate(
            MODELS["gaussian"], frame, responses["gaussian"], folds=folds, sample_weight=weight
        )


@pytest.mark.parametrize("argument", ["sample_weight", "offset"])
def test_rows_elsewhere_bring_their_own(frame, responses, tmp_path, argument):
    frame.assign(y=responses["gaussian"]).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path, response="y", sensitive=["sex"])
    with pytest.raises(ValueError, match=argument):
        cross_validate(FairRidgeRegressor(), source, cv=2, **{argument: np.ones(160)})
