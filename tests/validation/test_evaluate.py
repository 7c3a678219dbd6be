"""The scorer, against scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from sklearn import metrics
from sklearn.dummy import DummyClassifier

from fairridge.families import Binomial, Multinomial
from fairridge.metrics import area_under_curve
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.validation.evaluate import accuracy, mean_and_error
from fairridge.validation.scored_model import PassedRows, read_rows, scored_model


def scored(family, response, eta, weight):
    """Rows with scores, whose S does not matter."""
    nothing = np.empty((len(eta), 0))
    return ScoredRows(
        family=family,
        scores=eta,
        response=response,
        weight=weight,
        sensitive=nothing,
        controls=nothing,
    )


@pytest.mark.slow
@given(st.data())
def test_area_under_curve_is_scikit_learns(data):
    n = data.draw(st.integers(2, 30))
    positive = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    score = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=float)
    weight = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)), dtype=float)
    found = area_under_curve(positive, score, weight)
    if positive.all() or not positive.any():
        assert np.isnan(found)
    else:
        assert found == pytest.approx(metrics.roc_auc_score(positive, score, sample_weight=weight))


@pytest.mark.parametrize("n", [12, 80])  # with few rows some class is not predicted
@pytest.mark.parametrize("k", [2, 3])
def test_scores_of_classes_are_scikit_learns(k, n):
    rng = np.random.default_rng(1)
    codes, weight = rng.integers(0, k, n), rng.random(n) + 0.1
    probability = rng.dirichlet(np.ones(k), n)
    predicted = probability.argmax(axis=1)
    ranks = probability[:, 1:] if k == 2 else probability
    eta = logit(ranks) if k == 2 else np.log(probability)
    family = Binomial() if k == 2 else Multinomial(k)
    found = accuracy(scored(family, codes[:, None].astype(float), eta, weight))
    loss = 2.0 * metrics.log_loss(codes, probability, labels=range(k), sample_weight=weight)
    assert found.pop("loss") == pytest.approx(loss)
    options = {"sample_weight": weight, "zero_division": 0.0}
    options |= {"average": "binary" if k == 2 else "macro"}
    expected = {
        "accuracy": metrics.accuracy_score(codes, predicted, sample_weight=weight),
        "f1": metrics.f1_score(codes, predicted, **options),
        "precision": metrics.precision_score(codes, predicted, **options),
        "recall": metrics.recall_score(codes, predicted, **options),
        "auc": np.nan,
    }
    if len(np.unique(codes)) == k:
        expected["auc"] = metrics.roc_auc_score(
            codes, ranks[:, 0] if k == 2 else ranks, multi_class="ovr", sample_weight=weight
        )
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("y", [["a", "a", "b"], ["a", "a", "b", "c"]])
def test_an_outcome_without_a_chance_has_a_finite_loss(y):
    X, S = np.arange(len(y), dtype=float)[:, None], np.arange(len(y))[:, None]
    certain = DummyClassifier(strategy="most_frequent").fit(X, y)
    _, rows = read_rows(scored_model(certain), PassedRows(X, y, S))
    others = (len(y) - 2) / len(y)
    assert accuracy(rows)["loss"] == pytest.approx(-2.0 * others * np.log(np.finfo(float).eps))


def test_means_leave_out_what_is_missing():
    nan = np.nan
    values = np.array([[1.0, 2.0, nan, 4.0], [3.0, nan, nan, 4.0], [5.0, 4.0, nan, 4.0]])
    values[:, 3] = [nan, 7.0, nan]
    mean, error = mean_and_error(values)
    np.testing.assert_allclose(mean, [3.0, 3.0, nan, 7.0])
    np.testing.assert_allclose(error, [2.0 / np.sqrt(3), 1.0, 0.0, 0.0])
