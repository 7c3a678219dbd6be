"""The unfairness of a model, computed from its predictions and from nothing else.

η is the linear predictor of the fitted model on the training rows, S the columns
that the bound is about, written out here. With P the projection on [1, S], weights
w, and C the controls, every definition is a short formula.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax, xlogy
from scipy.stats import norm

from tools.pairs.data import CONTROL, EACH, Setting
from tools.pairs.options import CLASSIFIERS

Columns = np.ndarray[Any, Any]


class Rows:
    """Training rows of a fitted model that its bound is about."""

    def __init__(self, setting: Setting, model: Any) -> None:
        part, self.family = setting.training, setting.case["family"]
        n = len(part.frame)
        kept = np.ones(n, dtype=bool)
        if model.isolated_:
            kept[part.frame["job"].to_numpy() == "z"] = False
        self.kept, self.blind = kept, setting.case["blind"] == "yes"
        self.weight = (np.ones(n) if part.weight is None else part.weight)[kept]
        self.offset = part.shift[kept]
        rows = setting.given(part, setting.kind)
        self.eta = _columns(_linear_predictor(setting, model, rows))[kept]
        self.S = {k: v[kept] for k, v in sensitive_columns(setting).items()}
        self.C = part.frame[[CONTROL]].to_numpy()[kept]
        self.y = part.y[kept]
        self.classes = getattr(model, "classes_", None)
        self.of_classes = _class_weights(setting, self)

    def variance(self, values: Columns) -> float:
        """Weighted variance, summed over columns."""
        gaps = values - np.average(values, axis=0, weights=self.weight)
        return float(np.average(gaps**2, axis=0, weights=self.weight).sum())

    def explained(self, values: Columns, *by: Columns) -> Columns:
        """Project values on columns and a constant."""
        A = np.column_stack([np.ones(len(values)), *by])
        root = np.sqrt(self.weight)[:, None]
        return A @ np.linalg.lstsq(A * root, values * root, rcond=None)[0]

    def share(self, values: Columns, S: Columns, controls: bool) -> float:
        """R² of values on S; the partial R², given controls."""
        if controls:
            values = values - self.explained(values, self.C)
            S = S - self.explained(S, self.C)
        total = self.variance(values)
        return self.variance(self.explained(values, S)) / total if total > 0.0 else 0.0

    def of_rates(self) -> Rows:
        """Return the same with means per exposure, weighted by it: under a log link."""
        if self.family != "poisson":
            return self
        rates = copy(self)
        rates.weight = self.weight * np.exp(self.offset)
        rates.offset = np.zeros_like(self.offset)
        return rates

    @property
    def means(self) -> Columns:
        """Predicted means; probabilities of all classes, of several."""
        # Of a gaussian model the offset is taken off the response.
        eta = self.eta + (0.0 if self.family == "gaussian" else self.offset[:, None])
        if self.family == "multinomial":
            return softmax(eta, axis=1)
        mean: dict[str, Callable[[Columns], Columns]] = {
            "gaussian": lambda x: x,
            "binomial": lambda x: 1.0 / (1.0 + np.exp(-x)),
            "probit": norm.cdf,
            "poisson": np.exp,
        }
        return mean[self.family](eta)

    def deviance(self, eta: Columns) -> float:
        """Deviance at linear predictors, with their offsets."""
        eta = eta + self.offset[:, None]
        if self.family == "multinomial":
            codes = np.searchsorted(self.classes, self.y["y"].to_numpy())
            terms = logsumexp(eta, axis=1) - eta[np.arange(len(eta)), codes]
            return float(2.0 * (self.weight * self.of_classes) @ terms)
        y, eta = self.numbers, eta[:, 0]
        if self.family == "poisson":
            terms = xlogy(y, y) - y * eta - y + np.exp(eta)
        elif self.family == "probit":
            terms = -y * norm.logcdf(eta) - (1 - y) * norm.logcdf(-eta)
        else:
            terms = np.logaddexp(0.0, eta) - y * eta
        return float(2.0 * (self.weight * self.of_classes) @ terms)

    @property
    def numbers(self) -> Columns:
        """The response as a number; times as their logarithms, with the sign of risk."""
        if self.family == "cox":
            return -np.log(self.y["time"].to_numpy(float))
        if self.family in CLASSIFIERS:
            return (self.y["y"].to_numpy() == self.classes[1]).astype(float)
        return self.y["y"].to_numpy(float)

    @property
    def targets(self) -> Columns:
        """What the sequential sums of squares take for the response."""
        if self.family == "multinomial":
            return (self.y["y"].to_numpy()[:, None] == self.classes) * 1.0
        return (self.numbers - (self.offset if self.family == "gaussian" else 0.0))[:, None]


def _class_weights(setting: Setting, rows: Rows) -> Any:
    """Weights of the classes of rows in the deviance; of all rows, isolated ones included."""
    if setting.case["class_weight"] == "none":
        return 1.0
    y, own = setting.training.y["y"], rows.y["y"]
    if setting.case["class_weight"] == "dict":
        return own.map(setting.parameters["class_weight"]).fillna(1.0).to_numpy(float)
    weight = setting.training.weight
    weight = np.ones(len(y)) if weight is None else weight
    sizes = {label: weight[y == label].sum() for label in set(y)}
    return own.map({k: weight.sum() / (len(sizes) * w) for k, w in sizes.items()}).to_numpy(float)


def _columns(eta: Any) -> Columns:
    eta = np.asarray(eta, dtype=float)
    return eta[:, None] if eta.ndim == 1 else eta


def _linear_predictor(setting: Setting, model: Any, rows: Any) -> Any:
    family = setting.case["family"]
    if family in CLASSIFIERS:
        return model.decision_function(rows.X, **rows.S)
    found = np.asarray(model.predict(rows.X, **rows.S))
    return np.log(found) if family == "poisson" else found


def sensitive_columns(setting: Setting) -> dict[str, Columns]:
    """Write the sensitive attributes out, as the page about missing values says."""
    frame = setting.training.frame
    sex, age = frame["sex"], frame["age"].to_numpy(float)
    found = {
        "sex": [(sex == "m").to_numpy(float)],
        "age": [np.where(np.isnan(age), _mean(setting, age), age)],
    }
    if setting.case["missing_S"] == "category":
        found["sex"].append(sex.isna().to_numpy(float))
    if setting.case["missing_S"] == "number":
        found["age"].append(np.isnan(age).astype(float))
    columns = {name: np.column_stack(values) for name, values in found.items()}
    if setting.case["maps"] == "sensitive_map":
        columns = {name: np.cbrt(values) for name, values in columns.items()}
    return columns


def _mean(setting: Setting, values: Columns) -> float:
    weight = setting.training.weight
    there = ~np.isnan(values)
    return float(np.average(values[there], weights=None if weight is None else weight[there]))


def unfairness_of(setting: Setting, model: Any) -> dict[str, float]:
    """Return what the model bounds, by what bounds are called; one has the name "all"."""
    rows, case = Rows(setting, model), setting.case
    if case["bounds"] == "each":
        rows, controls = rows.of_rates(), case["controls"] == "given"
        return {
            name: rows.share(rows.means, rows.S[attribute], controls)
            for name, attribute in zip(setting.unfairness, EACH, strict=True)
        }
    return {"all": _share(rows, setting, model, case["definition"])}


def _share(rows: Rows, setting: Setting, model: Any, definition: str) -> float:
    S, controls = np.column_stack(list(rows.S.values())), setting.case["controls"] == "given"
    if definition == "combined":
        parts = ("statistical-parity", "equality-of-opportunity")
        return max(_share(rows, setting, model, part) for part in parts)
    if definition == "mean-parity":
        rates = rows.of_rates()
        return rates.share(rates.means, S, controls)
    if definition in ("mean-opportunity", "mean-odds"):
        return _among_classes(rows, S, own=definition == "mean-opportunity")
    if definition == "equality-of-opportunity":
        sensitive = rows.variance(rows.explained(rows.eta, S))
        both = rows.variance(rows.explained(rows.eta, S, rows.targets))
        return sensitive / both
    if definition == "individual":
        # At the same λ₂, whoever has chosen it.
        changes = {"unfairness": 1.0, "definition": "statistical-parity"}
        free = setting.model(**changes, predictor_penalty=model.predictor_penalty_)
        given = setting.given(setting.training)
        other = Rows(setting, free.fit(given.X, given.y, **given.fitting))
        return _treatment(rows, S) / _treatment(other, S)
    by_variance = rows.family in ("gaussian", "cox") or rows.blind
    if definition in ("variance", "function") or by_variance:
        return rows.share(rows.eta, S, controls)
    return _deviance_share(rows, S, controls)


def _deviance_share(rows: Rows, S: Columns, controls: bool) -> float:
    given = (rows.C,) if controls else ()
    null = rows.explained(rows.eta, *given)
    beyond = S - rows.explained(S, *given)
    of_S = rows.explained(rows.eta - null, beyond)
    full, without = rows.deviance(rows.eta), rows.deviance(rows.eta - of_S)
    return (full - without) / (full - rows.deviance(null))


def _among_classes(rows: Rows, S: Columns, *, own: bool) -> float:
    """R² among the rows of each class, stacked; of its own mean only, or of all of them."""
    y, means = rows.y["y"].to_numpy(), rows.means
    several = rows.family == "multinomial"
    explained = total = 0.0
    for k, label in enumerate(rows.classes):
        if own and not several and k == 0:
            continue  # of two classes, the second is the positive one
        part, some = y == label, Rows.__new__(Rows)
        some.weight = rows.weight[part]
        values = means[part][:, [k]] if own and several else means[part]
        size = some.weight.sum()
        explained += size * some.variance(some.explained(values, S[part]))
        total += size * some.variance(values)
    return explained / total


def _treatment(rows: Rows, S: Columns) -> float:
    """Σ d(yᵢ, yⱼ)(sᵢα − sⱼα)² over pairs; Sα is what S explains of η."""
    scores = rows.explained(rows.eta, S)
    if rows.family == "cox":
        time, event = rows.y["time"].to_numpy(float), rows.y["event"].to_numpy(float)
        d = np.abs(np.subtract.outer(time, time) * np.subtract.outer(event, event))
    elif rows.family in CLASSIFIERS:
        y = rows.y["y"].to_numpy()
        d = (y[:, None] != y) * 1.0
    else:
        d = np.abs(np.subtract.outer(rows.targets[:, 0], rows.targets[:, 0]))
    pairs = d * np.multiply.outer(rows.weight, rows.weight)
    return float(sum((pairs * np.subtract.outer(c, c) ** 2).sum() for c in scores.T))
