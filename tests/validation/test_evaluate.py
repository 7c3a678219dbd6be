"""The scorer, against scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression

from fairridge.families import Binomial, Cox, Gaussian, Multinomial, Poisson
from fairridge.metrics import area_under_curve
from fairridge.metrics.dependence_shares import share_explained
from fairridge.metrics.scored_rows import ScoredRows, predicted_means
from fairridge.validation.evaluate import accuracy, mean_and_error
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.scored_model import scored_model


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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 3, 5])
def test_scores_of_classes_are_scikit_learns(k, seed):
    rng = np.random.default_rng(seed)
    n = 12 if seed % 2 else 80  # with few rows some class is neither true nor predicted
    codes, weight = rng.integers(0, k, n), rng.random(n) + 0.1
    probability = rng.dirichlet(np.ones(k), n)
    predicted = probability.argmax(axis=1)
    ranks = probability[:, 1:] if k == 2 else probability
    eta = logit(ranks) if k == 2 else np.log(probability)
    family = Binomial() if k == 2 else Multinomial(k)
    found = accuracy(scored(family, codes[:, None].astype(float), eta, weight))
    del found["loss"]
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
    loss = 2.0 * metrics.log_loss(codes, probability, labels=range(k), sample_weight=weight)
    family = Multinomial(k) if k > 2 else Binomial()
    eta = np.log(probability) if k > 2 else logit(ranks)
    rows = scored(family, codes[:, None].astype(float), eta, weight)
    assert accuracy(rows)["loss"] == pytest.approx(loss)


@pytest.mark.parametrize("y", [["a", "a", "b"], ["a", "a", "b", "c"]])
def test_an_outcome_without_a_chance_has_a_finite_loss(y):
    X, S = np.arange(len(y), dtype=float)[:, None], np.arange(len(y))[:, None]
    certain = DummyClassifier(strategy="most_frequent").fit(X, y)
    _, rows = read_rows(scored_model(certain), PassedRows(X, y, S))
    others = (len(y) - 2) / len(y)
    assert accuracy(rows)["loss"] == pytest.approx(-2.0 * others * np.log(np.finfo(float).eps))


@pytest.mark.parametrize(
    ("family", "response"),
    [
        (Gaussian(), lambda eta, rng: eta + rng.normal(size=len(eta))),
        (Poisson(), lambda eta, rng: rng.poisson(np.exp(eta))),
        (Binomial(), lambda eta, rng: rng.random(len(eta)) < 0.5),
        (Multinomial(3), lambda eta, rng: rng.integers(0, 3, len(eta))),
        (Cox(), lambda eta, rng: np.column_stack([rng.exponential(size=len(eta)), eta > 0])),
    ],
    ids=["gaussian", "poisson", "binomial", "multinomial", "cox"],
)
def test_integer_weights_are_repeated_rows(family, response):
    rng = np.random.default_rng(1)
    eta = rng.normal(size=(40, 3 if isinstance(family, Multinomial) else 1))
    y = np.asarray(response(eta[:, 0], rng), dtype=float).reshape(40, -1)
    weight = rng.integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weight)
    found = accuracy(scored(family, y, eta, weight.astype(float)))
    repeated = scored(family, y[rows], eta[rows], np.ones(len(rows)))
    assert found == pytest.approx(accuracy(repeated))


def test_shares_are_adjusted_r_squared_whatever_the_weights():
    rng = np.random.default_rng(2)
    S, weight = rng.normal(size=(30, 3)) + 7.0, rng.random(30) + 0.1
    predicted = S @ [1.0, 0.0, -1.0] + rng.normal(size=30)
    share = LinearRegression().fit(S, predicted, weight).score(S, predicted, weight)
    twice = np.column_stack([S, S[:, 0] - S[:, 1], np.full(30, 0.1)])  # of rank 3
    for columns in (S, twice):
        found = share_explained(predicted[:, None], columns, weight)
        assert found == pytest.approx(1.0 - (1.0 - share) * 29 / 26)
        plain = share_explained(predicted[:, None], columns, weight, adjusted=False)
        assert plain == pytest.approx(share)
    assert np.isnan(share_explained(predicted[:4, None], S[:4], weight[:4]))


def test_outcomes_are_what_models_predict():
    eta = np.array([[0.0], [np.log(3.0)]])
    np.testing.assert_allclose(predicted_means(Poisson(), eta), [[1.0], [3.0]])
    np.testing.assert_allclose(predicted_means(Binomial(), eta), [[0.5], [0.75]])
    np.testing.assert_allclose(predicted_means(Cox(), eta), eta)
    chances = predicted_means(Multinomial(3), np.log([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(chances, [[0.125, 0.25, 0.625]])


def test_means_leave_out_what_is_missing():
    nan = np.nan
    values = np.array([[1.0, 2.0, nan, 4.0], [3.0, nan, nan, 4.0], [5.0, 4.0, nan, 4.0]])
    values[:, 3] = [nan, 7.0, nan]
    mean, error = mean_and_error(values)
    np.testing.assert_allclose(mean, [3.0, 3.0, nan, 7.0])
    np.testing.assert_allclose(error, [2.0 / np.sqrt(3), 1.0, 0.0, 0.0])
