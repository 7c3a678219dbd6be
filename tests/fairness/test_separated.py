"""Individual fairness where columns separate the responses: relative to a model that is held."""

import warnings

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.exceptions import DataWarning


def problem(family, n=200):
    """S, x, a rare level of six rows without events (or all of one class), and y."""
    rng = np.random.default_rng(3)
    s, level = rng.integers(0, 2, n).astype(float), (np.arange(n) < 6).astype(float)
    x = rng.normal(size=n) + 0.5 * s
    eta = x + s - 0.5
    if family == "poisson":
        y = np.where(level, 0, rng.poisson(np.exp(0.5 * eta)))
    elif family == "cox":
        event = (rng.random(n) < 0.7) & (level == 0)
        y = np.column_stack([rng.exponential(np.exp(-eta)), event])
    else:
        cuts = [0.0] if family == "binomial" else [-1.0, 1.0]
        y = np.where(level, 0, np.digitize(eta + rng.logistic(size=n), cuts))
    return s, x, level, y


def fitted(family, r, S, X, y, **options):
    kind, fixed = {
        "poisson": (FairRidgeRegressor, {"family": "poisson"}),
        "cox": (FairRidgeSurvival, {}),
    }.get(family, (FairRidgeClassifier, {}))
    model = kind(r, **{"definition": "individual", **fixed, **options})
    return model.fit(np.column_stack(X), y, sensitive_features=np.column_stack(S))


def ratio(model, free, S, y):
    """D_IF from coefficients of two models, over all pairs."""

    def treatment(alpha):
        scores = np.column_stack(S) @ np.atleast_2d(alpha).T
        return ((scores[:, None] - scores[None]) ** 2).sum(axis=2)

    gaps = np.abs(np.subtract.outer(*2 * [y if y.ndim == 1 else y[:, 0]]).astype(float))
    if y.ndim > 1:
        gaps *= np.abs(np.subtract.outer(y[:, 1], y[:, 1]))
    elif isinstance(model, FairRidgeClassifier):
        gaps = (gaps > 0).astype(float)
    return (gaps * treatment(model.alpha_)).sum() / (gaps * treatment(free.alpha_)).sum()


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize(
    ("family", "predictor_penalty"),
    [("binomial", 0.0), ("multinomial", 1.0), ("poisson", 0.0), ("cox", 1.0)],
)
def test_an_attribute_that_separates_is_compared_as_the_ridge_holds_it(family, predictor_penalty):
    s, x, level, y = problem(family)
    options = {"predictor_penalty": predictor_penalty}
    order = np.random.default_rng(0).permutation(len(s))
    found = []
    for rows, unit in ((slice(None), 1.0), (order, 1.0), (slice(None), -1000.0)):
        S, X = [s[rows], unit * level[rows]], [x[rows]]
        model, free = (fitted(family, r, S, X, y[rows], **options) for r in (0.2, 1.0))
        assert (model.status_, free.status_) == ("converged", "inactive")
        assert model.unfairness_ == pytest.approx(0.2, abs=1e-8)
        assert ratio(model, free, S, y[rows]) == pytest.approx(0.2, abs=1e-7)
        found.append(np.append(model.alpha_[..., :1], unit * model.alpha_[..., 1:]))
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=1e-5)


@pytest.mark.parametrize("family", ["multinomial", "cox"])
def test_bounds_of_nothing_and_of_everything(family):
    s, x, level, y = problem(family)
    with pytest.warns(DataWarning, match=r"Column\(s\) 's1' separate") as record:
        free = fitted(family, 1.0, [s, level], [x], y)
    assert len(record) == 1
    assert (free.status_, free.unfairness_) == ("inactive", 1.0)
    fair = fitted(family, 0.0, [s, level], [x], y)
    assert fair.unfairness_ == 0.0
    assert not fair.alpha_.any()
    assert set(free.unfairness_components_) == set(fair.unfairness_components_)


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize(
    ("family", "predictor_penalty"),
    [("binomial", 1.0), ("multinomial", 0.0), ("poisson", 1.0), ("cox", 0.0)],
)
def test_a_predictor_that_takes_the_attribute_along_meets_the_bound(family, predictor_penalty):
    s, x, level, y = problem(family)
    options = {"predictor_penalty": predictor_penalty}
    model, free = (fitted(family, r, [s], [x, level], y, **options) for r in (0.2, 1.0))
    if predictor_penalty:
        assert model.status_ == "converged"
        assert ratio(model, free, [s], y) == pytest.approx(0.2, abs=1e-8)
    else:
        assert model.status_ in ("converged", "separated")
        assert ratio(model, free, [s], y) <= 0.2 + 1e-8


def test_nearly_collinear_attributes_separate_nothing():
    s, x, _, y = problem("binomial")
    other = s + 1e-5 * np.random.default_rng(1).normal(size=len(s))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted("binomial", 0.2, [s, other], [x], y)
    assert model.unfairness_ == pytest.approx(0.2, abs=1e-8)


def test_an_attribute_that_only_uncompared_rows_tell_from_a_predictor():
    """A partial likelihood sees x = s but in one row, which leaves before the first event."""
    rng = np.random.default_rng(2)
    s = rng.normal(size=40)
    x, time = s.copy(), rng.exponential(np.exp(-0.5 * s)) + 1.0
    x[0] += 1.0
    time[0] = 0.5
    y = np.column_stack([time, np.arange(40) > 0])
    S, X = s[:, None], x[:, None]
    for ridge in (0.0, 1.0):
        model = FairRidgeSurvival(0.2, definition="individual", predictor_penalty=ridge)
        assert model.fit(X, y, sensitive_features=S).unfairness_ == pytest.approx(0.2, abs=1e-8)
