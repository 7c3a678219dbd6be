"""Models of every kind with their rows, and what least squares say of their predictions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    FairStackingClassifier,
    FairStackingRegressor,
)

N, R = 600, 0.05
LINEAR = ("gaussian", "counts", "gamma", "two", "four", "times")
STACKS = ("stacked numbers", "stacked counts", "stacked two", "stacked four")
KINDS = (*LINEAR, *STACKS)
DEFINITIONS = (
    "statistical-parity",
    "mean-parity",
    "mean-opportunity",
    "mean-odds",
    "equality-of-opportunity",
    "individual",
)
OPTIONS = {
    "plain": {},
    "blind": {"blind": True},
    "controls": {"controls": "level"},
    "blind, controls": {"blind": True, "controls": "level"},
    "crossed": {"sensitive": ["sex", "age", ("sex", "age")]},
    "missing": {"missing": "level"},
    "fairest": {"unfairness": 0.0},
    "each": {"unfairness": {"sex": 0.02, "age": 0.03}},
}
WEIGHTS = ("equal", "weighted")
ATTRIBUTES = ["sex", "age"]


def exists(kind, definition, option, *_):
    """Whether there is such a model."""
    stacked = kind in STACKS
    if definition in ("mean-opportunity", "mean-odds") and not kind.endswith(("two", "four")):
        return False
    if option == "each" and definition != "mean-parity":
        return False
    if "controls" in option and not definition.endswith("-parity"):
        return False
    if "blind" in option and definition in ("equality-of-opportunity", "individual"):
        return False
    if kind == "times" and definition == "mean-parity":
        return False
    return not (stacked and "controls" in option)


@cache
def people():
    rng = np.random.default_rng(0)
    level = rng.integers(1, 6, N)
    sex = np.where(rng.random(N) < 0.3 + 0.08 * level, "m", "f")
    X = pd.DataFrame(
        {
            "level": level,
            "sex": sex,
            "age": rng.integers(20, 65, N).astype(float),
            "hours": rng.normal(size=N) + 0.5 * (sex == "m"),
            "x": rng.normal(size=N),
        }
    )
    eta = 0.3 * level + 0.4 * (sex == "m") + 0.01 * X["age"] + 0.4 * X["hours"] + 0.5 * X["x"] - 2.0
    exposure = rng.uniform(0.2, 2.0, N)
    mean = np.exp(0.4 * eta)
    y = {
        "gaussian": eta + 0.5 * rng.normal(size=N),
        "counts": rng.poisson(exposure * mean),
        "gamma": mean * rng.gamma(3.0, 1.0 / 3.0, N),
        "two": np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no"),
        "four": np.array(list("abcd"))[np.digitize(eta + rng.normal(size=N), [-1.0, 0.0, 1.0])],
        "times": pd.DataFrame(
            {"time": rng.exponential(np.exp(-0.4 * eta)) + 0.01, "event": rng.random(N) < 0.7}
        ),
    }
    y |= {"stacked numbers": y["gaussian"]} | {
        f"stacked {k}": y[k] for k in ("counts", "two", "four")
    }
    return X, y, rng.uniform(0.5, 2.0, N), exposure


def unfitted(kind, options):
    options = {"sensitive": ATTRIBUTES} | options
    bound = options.pop("unfairness", R)
    if kind in STACKS:
        kept = make_column_transformer(("passthrough", ["level", "hours", "x"]))
        classes = kind.endswith(("two", "four"))
        tree = DecisionTreeClassifier if classes else DecisionTreeRegressor
        learner = make_pipeline(kept, tree(max_depth=3, random_state=0))
        options |= {"cv": 3, "random_state": 0}
        if options.get("blind"):
            options["proxy"] = Ridge()
        if kind == "stacked counts":
            options["family"] = "poisson"
        stack = FairStackingClassifier if classes else FairStackingRegressor
        return stack(learner, bound, **options)
    if kind in ("two", "four"):
        return FairRidgeClassifier(bound, **options)
    if kind == "times":
        return FairRidgeSurvival(bound, **options)
    families = {"gaussian": "gaussian", "counts": "poisson", "gamma": "gamma"}
    return FairRidgeRegressor(bound, family=families[kind], **options)


@dataclass(frozen=True)
class Seen:
    """A fitted model and rows, and what an independent computation says of them."""

    kind: str
    definition: str
    option: str
    model: object  # a linear model, or the layer of a stack
    rows: dict  # X, y, sample_weight, exposure, sensitive_features as it takes them
    X: pd.DataFrame  # the people
    whole: object  # the model, or the stack

    @property
    def y(self):
        return self.rows["y"]

    @cached_property
    def given(self):
        """What surfaces take beside X and y."""
        names = ("sample_weight", "exposure", "sensitive_features")
        return {k: self.rows[k] for k in names if self.rows.get(k) is not None}

    @cached_property
    def weight(self):
        weight = self.rows.get("sample_weight")
        return np.ones(N) if weight is None else np.asarray(weight)

    @cached_property
    def exposure(self):
        exposure = self.rows.get("exposure")
        return np.ones(N) if exposure is None else np.asarray(exposure)

    @cached_property
    def S(self):
        levels = pd.get_dummies(self.X["sex"], dummy_na=True).astype(float)
        levels = levels.loc[:, (levels.columns != "f") & (levels.sum().to_numpy() > 0.0)]
        S = np.column_stack([levels, self.X["age"]])
        return np.column_stack([S, S[:, 0] * S[:, 1]]) if self.option.endswith("crossed") else S

    @cached_property
    def C(self):
        return self.X[["level"]].to_numpy(float) if "controls" in self.option else np.zeros((N, 0))

    @cached_property
    def eta(self):
        S = self.rows.get("sensitive_features")
        return np.asarray(self.model._linear_predictor(self.rows["X"], S, None)).reshape(N, -1)

    @cached_property
    def means(self):
        """Return predictions that are compared: rates under exposure, one of two classes."""
        eta = self.eta
        if self.kind.endswith("two"):
            return 1.0 / (1.0 + np.exp(-eta))
        if self.kind.endswith("four"):
            shares = np.exp(eta - eta.max(axis=1, keepdims=True))
            return shares / shares.sum(axis=1, keepdims=True)
        return eta if self.kind in ("gaussian", "stacked numbers") else np.exp(eta)

    @property
    def mean_weight(self):
        return self.weight * self.exposure

    @cached_property
    def codes(self):
        """Return classes by number, in the order of the columns of means."""
        if self.kind.endswith("two"):
            return (np.asarray(self.y) == "yes").astype(int)
        return np.searchsorted(list("abcd"), np.asarray(self.y))

    def shares(self):
        found = {"share_of_eta": share(self.eta, self.S, self.weight)}
        if self.kind != "times":
            found["share_of_means"] = share(self.means, self.S, self.mean_weight)
        return found

    def bounded(self):
        """Return what the model bounds."""
        return getattr(self, self.definition.replace("-", "_"))()

    def statistical_parity(self):
        linear = self.kind in ("gaussian", "stacked numbers", "times")
        if linear or "blind" in self.option:
            return share(self.eta, self.S, self.weight, self.C)
        level = fitted(self.eta, [self.C], self.weight)
        of_S = fitted(self.eta, [self.C, self.S], self.weight) - level
        deviances = [self.deviance(eta) for eta in (self.eta, self.eta - of_S, level)]
        return (deviances[1] - deviances[0]) / (deviances[2] - deviances[0])

    def deviance(self, eta):
        """Return minus twice the log-likelihood, up to what does not depend on η."""
        if self.kind.endswith("two"):
            sign = 2.0 * self.codes - 1.0
            return float(2.0 * self.weight @ np.log1p(np.exp(-sign * eta[:, 0])))
        if self.kind.endswith("four"):
            own = eta[np.arange(N), self.codes]
            return float(2.0 * self.weight @ (np.log(np.exp(eta).sum(axis=1)) - own))
        y, mean = np.asarray(self.y, dtype=float), self.exposure * np.exp(eta[:, 0])
        each = mean - y * np.log(mean) if self.kind.endswith("counts") else y / mean + np.log(mean)
        return float(2.0 * self.weight @ each)

    def mean_parity(self):
        return share(self.means, self.S, self.mean_weight, self.C)

    def mean_opportunity(self):
        if self.kind.endswith("two"):
            return pooled([(self.means, self.S, self.weight * (self.codes == 1))])
        parts = [(self.means[:, [k]], self.S, self.weight * (self.codes == k)) for k in range(4)]
        return pooled(parts)

    def mean_odds(self):
        classes = range(int(self.codes.max()) + 1)
        return pooled([(self.means, self.S, self.weight * (self.codes == k)) for k in classes])

    def equality_of_opportunity(self):
        y = self.targets
        of_S, whole = (variance(fitted(self.eta, Z, self.weight), self.weight)
                       for Z in ([self.S], [self.S, y]))  # fmt: skip
        return of_S / whole if whole > 0.0 else 0.0

    @cached_property
    def targets(self):
        if self.kind.endswith("four"):
            return (self.codes[:, None] == np.arange(4)).astype(float)
        if self.kind == "times":
            return -np.log(self.y[["time"]].to_numpy())
        y = self.codes if self.kind.endswith("two") else np.asarray(self.y)
        return y.reshape(N, -1).astype(float)

    def individual(self):
        free = seen(self.kind, self.definition, "free " + self.option, self.weighted)
        return self.pairs(self.eta) / free.pairs(free.eta)

    @property
    def weighted(self):
        return "weighted" if self.rows.get("sample_weight") is not None else "equal"

    def pairs(self, eta):
        """Return Σ d(yᵢ, yⱼ)(sᵢα − sⱼα)² over pairs of rows."""
        y = np.asarray(self.y)
        if self.kind.endswith(("two", "four")):
            apart = (y[:, None] != y).astype(float)
        else:
            columns = y.reshape(N, -1).astype(float)
            apart = np.prod([np.abs(c[:, None] - c) for c in columns.T], axis=0)
        apart = apart * np.outer(self.weight, self.weight)
        between = fitted(eta, [self.S], self.weight)
        return sum(float((apart * (b[:, None] - b) ** 2).sum()) for b in between.T)


@cache
def seen(kind, definition, option, weighted):
    """Fit a model; the layer of a stack is looked at in the rows that it was fitted to."""
    X, y, weight, exposure = people()
    options = {"definition": definition} | OPTIONS[option.removeprefix("free ")]
    if option.startswith("free "):
        options["unfairness"] = 1.0
    X = X.copy()
    if option.endswith("missing"):
        X.loc[::7, "sex"] = None
    rows = {"X": X, "y": y[kind], "sample_weight": weight if weighted == "weighted" else None}
    if kind.endswith("counts"):
        rows["exposure"] = exposure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = unfitted(kind, options).fit(**{k: v for k, v in rows.items() if v is not None})
    if kind not in STACKS:
        return Seen(kind, definition, option, model, rows, X, model)
    layer = model.training_of_layer(X, y[kind], None, rows["sample_weight"], rows.get("exposure"))
    return Seen(kind, definition, option, model.layer_, layer, X, model)


# ------------------------------------------------------------------ least squares


def fitted(values, sides, weight):
    """Return the fitted values of least squares on a constant and some columns."""
    Z = np.column_stack([np.ones(len(values)), *sides])
    root = np.sqrt(weight)[:, None]
    scale = np.maximum(np.abs(Z).max(axis=0), 1e-300)
    slopes = np.linalg.lstsq(root * Z / scale, root * values, rcond=1e-12)[0]
    return (Z / scale) @ slopes


def variance(values, weight):
    centered = values - np.average(values, axis=0, weights=weight)
    return float((weight @ centered**2).sum())


def share(values, S, weight, C=None):
    """R² of some columns together on S, partial given C."""
    return pooled([(values, S, weight)], C)


def pooled(parts, C=None):
    """R² of columns on S, sums of squares added over parts of the rows."""
    none = np.zeros((N, 0))
    given = none if C is None else C
    whole = sum(squares(v - fitted(v, [given], w), w) for v, _, w in parts)
    left = sum(squares(v - fitted(v, [given, S], w), w) for v, S, w in parts)
    size = sum(squares(v, w) for v, _, w in parts)
    return 1.0 - left / whole if whole > 1e-20 * size else 0.0


def squares(values, weight):
    return float((weight @ values**2).sum())


def parts_of_share(values, S, weight, C=None):
    """Return what S explains of columns given C, what it leaves, and the variance of that."""
    C = np.zeros((N, 0)) if C is None else C
    of_S, left = (part - fitted(part, [C], weight) for part in (S, values))
    h = fitted(left, [of_S], weight)
    e = left - h
    return h, e, squares(e, weight / weight.sum())


def interval_of_share(values, S, weight, C=None, confidence=0.95):
    """Return the ends of an interval of R² on S, given C, from the influence of every row.

    Odds of the share, over their variance by 4ω, are noncentral χ².
    """
    w, q, m = weight / weight.sum(), S.shape[1], values.shape[1]
    h, e, rest = parts_of_share(values, S, weight, C)
    odds = squares(h, w) / rest
    influence = (h**2 + 2.0 * h * e - odds * e**2).sum(axis=1) / rest
    free = N - 1 - q - (0 if C is None else C.shape[1])
    variance = float(((w * influence) ** 2).sum()) * N / free
    unit, tail = variance / (4.0 * odds), 0.5 - confidence / 2.0
    seen = odds / unit

    def end(probability):
        if chi2.cdf(seen, q * m) <= probability:
            return 0.0
        at = brentq(lambda nc: ncx2.cdf(seen, q * m, nc) - probability, 1e-12, 10.0 * seen + 100.0)
        return at * unit / (1.0 + at * unit)

    return end(1.0 - tail), end(tail)
