"""Helpers that many tests share: late imports, responses, models and plain statistics."""

import copy
import importlib
import warnings
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.exceptions import DataWarning
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping


class LateModule:
    """A module that is imported when a test first uses it: collecting all tests needs few."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):  # pytest looks for its own marks on everything it collects
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


# Functions from columns by name to a frame of each library.
LIBRARIES = {
    "pandas": lambda columns: LateModule("pandas").DataFrame(columns),
    "polars": lambda columns: LateModule("polars").DataFrame(columns),
    "pyarrow": lambda columns: LateModule("pyarrow").table(columns),
}


def quietly(function, *arguments, **options):
    """Call with warnings about data recorded; no other warning may come."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        result = function(*arguments, **options)
    assert {w.category for w in record} <= {DataWarning}, [str(w.message) for w in record]
    return result


REMOVED = object()


def with_changed_field(document, place, value):
    """Return a copy of nested dicts and lists in which one field is another, or is `REMOVED`."""
    changed = copy.deepcopy(document)
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    if value is REMOVED:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return changed


def pairwise(*choices, allowed=lambda *row: True):
    """Return rows of the product of all choices in which every two values meet that may meet.

    A greedy covering array: the pairs that the fewest rows have come first, and of the rows with
    such a pair the one is taken that has most of those still missing.
    """
    rows_of = {}
    for row in product(*choices):
        if allowed(*row):
            for pair in _pairs(row):
                rows_of.setdefault(pair, []).append(row)
    missing, chosen = set(rows_of), []
    for pair in sorted(rows_of, key=lambda pair: len(rows_of[pair])):
        if pair in missing:
            chosen.append(max(rows_of[pair], key=lambda row: len(missing & set(_pairs(row)))))
            missing -= set(_pairs(chosen[-1]))
    return chosen


def _pairs(row):
    return combinations(enumerate(row), 2)


def crossed(*, allowed=lambda *row: True, **choices):
    """Parametrize a test by all combinations; the quick tests have those of `pairwise`."""
    rows = [row for row in product(*choices.values()) if allowed(*row)]
    quick = set(pairwise(*choices.values(), allowed=allowed))
    marks = [() if row in quick else pytest.mark.slow for row in rows]
    params = [pytest.param(*row, marks=mark) for row, mark in zip(rows, marks, strict=True)]
    return pytest.mark.parametrize(tuple(choices), params)


def first_of(values, count=1):
    """Parametrize by values, of which the quick tests have the first."""
    return [
        pytest.param(value, marks=() if k < count else pytest.mark.slow)
        for k, value in enumerate(values)
    ]


def statsmodels_family(name, power=1.5, dispersion=1.0):
    """Return what statsmodels calls a family, or the binomial one with a link of that name."""
    families = importlib.import_module("statsmodels.api").families
    links = families.links
    return {
        "binomial": lambda: families.Binomial(),
        "cloglog": lambda: families.Binomial(links.CLogLog()),
        "gamma": lambda: families.Gamma(links.Log()),
        "gaussian": lambda: families.Gaussian(),
        "negative-binomial": lambda: families.NegativeBinomial(links.Log(), dispersion),
        "poisson": lambda: families.Poisson(),
        "probit": lambda: families.Binomial(links.Probit()),
        "quasi-binomial": lambda: families.Binomial(),
        "tweedie": lambda: families.Tweedie(links.Log(), var_power=power),
    }[name]()


def responses(eta, seed, slope=0.4, labels=("no", "yes")):
    """Draw a response of every family, with linear predictor η (slope·η for logarithms)."""
    rng, eta = np.random.default_rng(seed), np.asarray(eta, dtype=float)
    n, mean = len(eta), np.exp(slope * eta)
    noisy = eta + rng.logistic(size=n)
    counts, amounts = rng.poisson(mean).astype(float), rng.gamma(2.0, mean / 2.0)
    return {
        "binomial": np.where(noisy > 0.0, labels[1], labels[0]),
        "cox": np.column_stack([rng.exponential(1.0 / mean), rng.random(n) < 0.7]),
        "gamma": amounts,
        "gaussian": eta + rng.normal(size=n),
        "multinomial": np.digitize(noisy, [-1.0, 1.0]),
        "negative-binomial": rng.negative_binomial(3, 3.0 / (3.0 + mean)).astype(float),
        "poisson": counts,
        "quasi-binomial": rng.binomial(6, expit(eta)) / 6.0,
        "quasi-poisson": 2.0 * counts,
        "tweedie": np.where(rng.random(n) < 0.3, 0.0, amounts),
    }


def model_of(family, unfairness=0.05, **options):
    """Return the model of a family, or of two classes and a link, by its name."""
    if family in ("cox", "efron"):
        ties = "efron" if family == "efron" else "breslow"
        return FairRidgeSurvival(unfairness, ties=ties, **options)
    if family in ("probit", "cloglog"):
        return FairRidgeClassifier(unfairness, link=family, **options)
    if family in ("binomial", "multinomial"):
        return FairRidgeClassifier(unfairness, **options)
    return FairRidgeRegressor(unfairness, family=family, **options)


def means(model, X, **given):
    """Return the predicted means as columns: of classes all probabilities, of two classes one."""
    if not hasattr(model, "predict_proba"):
        return model.predict(X, **given)[:, None]
    found = model.predict_proba(X, **given)
    return found[:, 1:] if found.shape[1] == 2 else found


def least_deviance(family, A, y, Q, here, r):
    """Return the deviance of coefficients, and the least that SLSQP finds from several starts.

    Models have means with the total of y, and Q explains no more of these than it does here.
    """
    mean = {
        "gaussian": np.asarray,
        "binomial": expit,
        "poisson": lambda t: np.exp(np.minimum(t, 30.0)),  # SLSQP may try anything
    }[family]

    def deviance(theta):
        t = A @ theta
        if family == "gaussian":
            return np.sum((y - t) ** 2)
        b = mean(t) if family == "poisson" else np.logaddexp(0.0, t)
        return 2.0 * np.sum(b - y * t)

    def explained(theta):
        return Q.T @ mean(A @ theta)

    limit = np.sum(explained(here) ** 2)
    bound = {"type": "ineq", "fun": lambda t: limit - np.sum(explained(t) ** 2)}
    if r == 0.0:
        bound = {"type": "eq", "fun": explained}
    found = [
        minimize(
            deviance,
            start,
            jac=lambda t: 2.0 * A.T @ (mean(A @ t) - y),
            method="SLSQP",
            constraints=[bound, {"type": "eq", "fun": lambda t: np.sum(mean(A @ t) - y)}],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        for start in (here, *0.1 * np.random.default_rng(0).normal(size=(3, A.shape[1])))
    ]
    feasible = [f.fun for f in found if np.sum(explained(f.x) ** 2) <= limit + 1e-8]
    return deviance(here), min(feasible)


def rate_interval(hits, weight, confidence):
    """Return a weighted share with Wilson's interval, of Kish's effective number of rows."""
    return GroupTable.of([Grouping.everyone(len(hits))], weight, hits).estimates(0, confidence)[0]


def mean_interval(values, weight, confidence):
    """Return a weighted mean with Student's interval, of Kish's effective number of rows."""
    table = GroupTable.of([Grouping.everyone(len(values))], weight, values)
    return table.estimates(0, confidence)[0]


def r_squared(values, columns, weight=None, given=None):
    """Return the share of columns of values that least squares explain, beyond what is given."""
    values = np.asarray(values, dtype=float).reshape(len(values), -1)
    root = np.sqrt(np.ones(len(values)) if weight is None else weight)[:, None]
    given = [np.ones(len(values))] if given is None else [np.ones(len(values)), given]

    def left(*sides):
        A = root * np.column_stack(sides)
        return np.sum((root * values - A @ np.linalg.lstsq(A, root * values, rcond=None)[0]) ** 2)

    return 1.0 - left(*given, columns) / left(*given)
