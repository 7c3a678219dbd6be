"""The fair classifier: labels of any type, probabilities, other programs' answers, defects."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

from fairridge import FairRidgeClassifier
from tests.zoo import LateModule

estimator_checks = LateModule("sklearn.utils.estimator_checks")
sm = LateModule("statsmodels.api")

WORDS = np.array(["low", "middle", "high"])


@pytest.fixture(scope="module")
def two():
    """Two classes, moderately far apart."""
    rng = np.random.default_rng(80)
    Z = rng.normal(size=(200, 5)) @ (0.4 * rng.normal(size=(5, 5)) + np.eye(5)) + 1.0
    return Z, (rng.random(200) < expit(Z @ [0.8, -0.5, 0.6, 0.0, -0.4] - 0.3)) * 1


@pytest.fixture(scope="module")
def three(two):
    """Three classes of unequal size on the same columns."""
    Z, _ = two
    scores = softmax(Z @ np.random.default_rng(81).normal(size=(5, 3)) * 0.4, axis=1)
    draws = np.random.default_rng(82).random((200, 1))
    return Z, (draws > np.cumsum(scores, axis=1)).sum(axis=1)


@pytest.fixture(params=["two", "three"])
def data(request):
    return request.getfixturevalue(request.param)


def fair(r=0.05, **options):
    return FairRidgeClassifier(r, **{"sensitive": [0, 1], **options})


# ------------------------------------------------------ other programs' answers


class TestUnconstrained:
    """At r = 1 this is plain logistic regression."""

    @pytest.mark.parametrize("given", [False, True])
    def test_two_classes_are_the_glm_of_statsmodels(self, two, given):
        Z, y = two
        rng = np.random.default_rng(83)
        weight = rng.uniform(0.2, 2.0, 200) if given else None
        offset = rng.normal(size=200) if given else None
        ours = fair(1.0).fit(Z, y, sample_weight=weight, offset=offset)
        theirs = sm.GLM(
            y, sm.add_constant(Z), sm.families.Binomial(), offset=offset, freq_weights=weight
        ).fit(tol=1e-14)
        found = np.append(ours.intercept_, ours.coef_)
        np.testing.assert_allclose(found, theirs.params, atol=1e-6)
        assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-9)
        assert ours.loglik_ == pytest.approx(theirs.llf, rel=1e-9)
        assert ours.explained_deviance_ == pytest.approx(
            1 - theirs.deviance / theirs.null_deviance, rel=1e-8
        )

    def test_three_classes_are_the_logit_of_statsmodels(self, three):
        Z, y = three
        ours = fair(1.0).fit(Z, y)
        theirs = sm.MNLogit(y, sm.add_constant(Z)).fit(disp=0, tol=1e-14)
        found = np.column_stack([ours.intercept_, ours.coef_])
        np.testing.assert_allclose((found[1:] - found[0]).T, theirs.params, atol=1e-6)
        assert ours.loglik_ == pytest.approx(theirs.llf, rel=1e-9)

    def test_a_ridge_on_decorrelated_predictors_is_that_of_scikit_learn(self, data):
        Z, y = data
        ours = fair(0.0, predictor_penalty=6.0).fit(Z, y)
        S, X = Z[:, :2] - Z[:, :2].mean(0), Z[:, 2:] - Z[:, 2:].mean(0)
        U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
        # −2ℓ + 6‖b‖² is twice −ℓ + ½·6‖b‖², that is C = 1/6.
        theirs = LogisticRegression(C=1 / 6.0, tol=1e-10, max_iter=10_000).fit(U / U.std(0), y)
        found = np.atleast_2d(ours.beta_ * U.std(0))
        np.testing.assert_allclose(found, theirs.coef_, atol=1e-6)


# -------------------------------------------------------------------- labels

LABELS = {
    "text": lambda k: WORDS[k],
    "dates": lambda k: np.datetime64("2024-01-01") + k,
    "integers": lambda k: k * 10 - 7,
    "whole floats": lambda k: k * 1.0,
    "list of text": lambda k: WORDS[k].tolist(),
    "objects": lambda k: WORDS.astype(object)[k],
    "truth values": lambda k: k == 1,
    "pandas integers": lambda k: pd.Series(k, dtype="Int64", index=np.arange(len(k))[::-1]),
    "pandas truth values": lambda k: pd.Series(k == 1, dtype="boolean"),
    "categorical with an empty level": lambda k: pd.Categorical(WORDS[k], [*WORDS, "none"]),
    "polars enum": lambda k: pl.Series(WORDS[k], dtype=pl.Enum(WORDS.tolist())),
    "arrow dictionary": lambda k: pa.chunked_array([pa.array(WORDS[k]).dictionary_encode()]),
}


@pytest.fixture(scope="module")
def model_of_two(two):
    return fair(0.3).fit(*two)


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_have_any_type(two, model_of_two, kind):
    (Z, codes), expected = two, model_of_two
    y = LABELS[kind](codes)
    names = np.asarray(y if not hasattr(y, "to_numpy") else y.to_numpy()).tolist()
    model = fair(0.3).fit(Z, y)
    assert model.classes_.tolist() == sorted(set(names))
    predicted = model.predict(Z)
    assert set(predicted.tolist()) <= set(names)
    assert predicted.dtype == model.classes_.dtype
    order = [int(codes[names.index(label)]) for label in model.classes_.tolist()]
    found, wanted = model.predict_proba(Z), expected.predict_proba(Z)
    np.testing.assert_allclose(found, wanted[:, order], atol=1e-8)
    assert model.score(Z, y) == pytest.approx(expected.score(Z, codes))


def objects(label, y):
    """Return words as objects, the first of which is something else."""
    labels = WORDS.astype(object)[y]
    labels[0] = label
    return labels


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y: np.where(np.arange(200) == 3, np.nan, y), r"y contains (NaN|missing)"),
        (lambda y: objects(None, y), r"y contains (NaN|missing)"),
        (lambda y: pd.array([None, *(y[1:] == 1)], dtype="boolean"), r"y contains (NaN|missing)"),
        (lambda y: pl.Series([None, *WORDS[y[1:]].tolist()]), r"y contains (NaN|missing)"),
        (lambda y: objects(7, y), r"y mixes .*'low' \(text\) and 7 \(a number\)"),
        (lambda y: pd.Categorical(objects(7, y)), r"y mixes labels such as .*7 \(a number\)"),
        (lambda y: pd.Series([(int(k),) for k in y]), "use text, numbers or truth values"),
        (lambda y: WORDS.astype("S")[y], r"y holds bytes; .*astype\(str\)"),
    ],
)
def test_labels_that_are_no_names_are_refused(two, make, message):
    Z, y = two
    with pytest.raises(ValueError, match=message):
        fair().fit(Z, make(y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(200), "one class only"),
        (np.full(200, "yes"), "one class only"),
        (np.linspace(0.0, 1.0, 200), "continuous"),
    ],
)
def test_responses_that_are_no_classes_are_refused(two, y, message):
    with pytest.raises(ValueError, match=message):
        fair().fit(two[0], y)


def test_a_class_without_weight_is_absent(three):
    Z, y = three
    model = fair().fit(Z, y, sample_weight=(y < 2) * 1.0)
    assert model.classes_.tolist() == [0, 1]
    assert model.alpha_.shape == (2,)


# ------------------------------------------------------------------ predictions


def test_probabilities_sum_to_one_and_follow_the_scores(data):
    Z, y = data
    model = fair(0.1).fit(Z, y)
    P, scores = model.predict_proba(Z), model.decision_function(Z)
    assert P.shape == (200, len(model.classes_))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert (P > 0).all()
    expected = softmax(scores, axis=1) if scores.ndim == 2 else expit(scores)
    np.testing.assert_allclose(P if scores.ndim == 2 else P[:, 1], expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(Z), model.classes_[P.argmax(axis=1)])


def test_coefficients_of_classes_sum_to_zero(three):
    model = fair(0.1).fit(*three)
    assert model.alpha_.shape == (3, 2)
    assert model.beta_.shape == (3, 3)
    for part in (model.alpha_, model.beta_, model.fair_intercept_, model.coef_):
        np.testing.assert_allclose(part.sum(axis=0), 0.0, atol=1e-10)


def test_the_score_is_the_accuracy_with_weights(data):
    Z, y = data
    weight = np.random.default_rng(84).integers(0, 3, 200)
    model = fair(0.1).fit(Z, y)
    assert model.score(Z, y) == accuracy_score(y, model.predict(Z))
    expected = accuracy_score(y, model.predict(Z), sample_weight=weight)
    assert model.score(Z, y, sample_weight=weight) == pytest.approx(expected)


def test_the_deviance_is_the_log_loss(data):
    Z, y = data
    model = fair(0.1).fit(Z, y)
    assert model.deviance_ == pytest.approx(400 * log_loss(y, model.predict_proba(Z)), rel=1e-10)
    assert model.loglik_ == pytest.approx(-model.deviance_ / 2)
    frequencies = np.bincount(y) / 200
    null = 400 * log_loss(y, np.tile(frequencies, (200, 1)))
    assert model.explained_deviance_ == pytest.approx(1 - model.deviance_ / null, rel=1e-8)


def test_a_path_plots_and_tabulates_every_class(three):
    Z, y = three
    path = fair().path(Z, WORDS[y], unfairness=[0.0, 0.1, 1.0])
    assert path.alpha.shape == (3, 3, 2)
    assert path.class_names == ("high", "low", "middle")
    columns = list(path.to_frame())
    assert sum("→ high" in str(name) for name in columns) == 6
    assert (path.at(0.1).classes_ == ["high", "low", "middle"]).all()
    assert len(path.at(0.1).summary().to_frame()) == 18


# ----------------------------------------------------------------- scikit-learn


def failures(model):
    results = estimator_checks.check_estimator(model, on_skip=None, on_fail=None)
    assert len(results) > 45
    allowed = {"passed"} if os.environ.get("SCIPY_ARRAY_API") else {"passed", "skipped"}
    return {check["check_name"] for check in results if check["status"] not in allowed}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_check_of_scikit_learn_passes():
    assert failures(FairRidgeClassifier(sensitive=[0])) == set()


def test_a_poor_score_is_announced_only_where_a_bound_may_cost_accuracy():
    def announced(r):
        return FairRidgeClassifier(r, sensitive=[0]).__sklearn_tags__().classifier_tags.poor_score

    assert announced(0.05)
    assert not announced(1.0)


# --------------------------------------------------------------------- defects


@pytest.mark.parametrize("max_iter", [1, 3])
def test_too_few_steps_are_said(two, max_iter):
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = fair(0.05, max_iter=max_iter).fit(*two)
    assert (model.status_, model.converged_) == ("not-converged", False)
    assert np.isfinite(model.coef_).all()
