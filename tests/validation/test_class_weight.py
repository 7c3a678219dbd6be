"""Weights of classes are for fits alone; held-out losses count rows by their own weights."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from fairridge import FairRidgeClassifier, cross_validate


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(300, 3))
    Z[:, 0] = Z[:, 0] > 0.0
    y = (Z @ [1.0, 1.0, 0.3] + rng.logistic(size=300) > 2.2).astype(int)
    return Z, y, rng.integers(1, 4, size=300).astype(float)


@pytest.fixture(scope="module")
def folds(rows):
    return list(StratifiedKFold(3, shuffle=True, random_state=0).split(*rows[:2]))


@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 5.0}, "balanced"], ids=str)
def test_losses_are_those_of_a_plain_loop(rows, folds, class_weight):
    Z, y, weight = rows
    model = FairRidgeClassifier(1.0, sensitive=[0], class_weight=class_weight)
    found = cross_validate(model, Z, y, unfairness=[1.0], folds=folds, sample_weight=weight)
    for (train, test), record in zip(folds, found.records, strict=True):
        plain = LogisticRegression(C=np.inf, class_weight=_of(class_weight, y, weight, train))
        plain.set_params(tol=1e-10).fit(Z[train], y[train], sample_weight=weight[train])
        for part, name in ((test, "loss"), (train, "train_loss")):
            expected = 2.0 * log_loss(
                y[part], plain.predict_proba(Z[part]), sample_weight=weight[part]
            )
            assert record[name] == pytest.approx(expected, rel=1e-6)


def _of(class_weight, y, weight, train):
    """scikit-learn counts rows to balance classes, and we count weights."""
    if class_weight != "balanced":
        return class_weight
    sizes = np.bincount(y[train], weight[train])
    return dict(enumerate(sizes.sum() / (2.0 * sizes)))
