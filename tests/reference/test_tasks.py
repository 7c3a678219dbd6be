"""Every reference task under every definition and six bounds: met, in few passes, and no worse.

Time is measured by ``python -m benchmarks.tasks``.
"""

import json
import warnings
from functools import cache

import numpy as np
import pytest

from tests.reference.mean_oracle import ANSWERS, Single, Softmax, share_of_means
from tests.reference.task_data import (
    BOUNDS,
    CLASSES,
    LARGE,
    ON_MEANS,
    SEPARATION_RIDGE,
    columns_of,
    definitions_of,
    read_task,
)

MET = ("inactive", "converged", "jumped")
MOST_PASSES = 150
# No minimum without unfairness is found from the null model: a search for the model without a bound
# and one from there follow.
MORE_PASSES = {("obesity", "mean-odds", 0.0): 250}
# Obesity has several minima: of these bounds the search ends in one that the prototype passes by.
OTHER_MINIMUM = {
    ("obesity", "mean-parity", 0.001): 3476.343,
    ("obesity", "mean-opportunity", 0.0): 292.774,
    ("obesity", "mean-odds", 0.001): 290.553,
}
# How far a bound may be exceeded, and deviances may rise or exceed the oracle's: rows of separated
# levels, which it leaves out, move the totals of the others by half an event.
BOUND, RISE, WORSE = 1e-8, 1e-8, 1e-5
KINDS = {
    "vu.gaussian": "gaussian", "vu.binomial": "binomial", "vu.poisson": "poisson",
    "vu.multinomial": "multinomial", "vu.cox": "cox", "communities": "gaussian",
    "compas": "gaussian", "compas.bin": "binomial", "nlsy": "gaussian", "lsac": "gaussian",
    "german": "gaussian", "german.rate": "gaussian", "german.bin": "binomial",
    "adult": "binomial", "adult.sexage": "binomial", "bank": "binomial",
    "drug.meth": "multinomial", "drug.heroin3": "multinomial", "obesity": "multinomial",
    "flchain": "cox",
}  # fmt: skip

QUICK = ("vu.gaussian", "vu.binomial", "vu.multinomial", "vu.cox", "german.bin")

CASES = [
    pytest.param(name, definition, marks=() if name in QUICK else pytest.mark.slow)
    for name, kind in KINDS.items()
    for definition in definitions_of(kind)
]


@cache
def answers():
    return json.loads(ANSWERS.read_text())


class Judged:
    """A fitted model on the rows it was fitted to, recomputed from its coefficients."""

    def __init__(self, task, columns, model, separated):
        self.task, self.columns, self.model = task, columns, model
        alpha, beta = np.atleast_2d(model.alpha_).T, np.atleast_2d(model.beta_).T
        sd_S, sd_U = columns.deviations
        self.alpha, self.beta = alpha * sd_S[:, None], beta * sd_U[:, None]
        self.on_S, self.on_U = columns.S @ self.alpha, columns.U @ self.beta
        self.level = np.average(self.eta_of_model - self.on_S - self.on_U, axis=0)
        size = len(columns.y) * (np.sum(self.alpha**2) + np.sum(self.beta**2))
        self.ridge = SEPARATION_RIDGE * float(size) if separated else 0.0

    @property
    def eta_of_model(self):
        """What the model itself predicts, as a linear predictor."""
        frame = self.task.frame[self.columns.kept]
        if self.task.kind in CLASSES:
            eta = self.model.decision_function(frame)
        else:
            eta = self.model.predict(frame)
            eta = np.log(eta) if self.task.kind == "poisson" else eta
        return np.asarray(eta).reshape(len(frame), -1)

    def deviance(self, *, sensitive=True, predictors=True):
        """D of the model, or of one without a part of it."""
        eta = self.level + sensitive * self.on_S + predictors * self.on_U
        kind, y = self.task.kind, self.columns.y
        if kind == "gaussian":
            return float(np.sum((y - eta[:, 0]) ** 2))
        if kind == "cox":
            return _cox(y, eta[:, 0])
        if kind == "multinomial":
            family = Softmax(y)
            return family.deviance(eta @ family.contrasts)
        return Single(y, counts=kind == "poisson").deviance(eta)

    def unfairness(self, definition):
        """What is bounded."""
        kind, ours = self.task.kind, self.on_S.var(0).sum()
        if definition in ON_MEANS:
            means = self.model.predict_proba if kind in CLASSES else self.model.predict
            means = np.asarray(means(self.task.frame[self.columns.kept]))
            means = means[:, 1:] if kind == "binomial" else means.reshape(len(means), -1)
            return share_of_means(kind, self.columns.S, self.columns.y, means, definition)
        if definition == "equality-of-opportunity":
            target = _residual(self.columns.S, _target(kind, self.columns.y))
            others = (self.on_U - _residual(target, self.on_U)).var(0).sum()
            return ours / (ours + others)
        if kind in ("gaussian", "cox"):
            return ours / (ours + self.on_U.var(0).sum())
        full, without, null = (
            self.deviance(**parts)
            for parts in ({}, {"sensitive": False}, {"sensitive": False, "predictors": False})
        )
        return (full - without) / (full - null)


def _cox(y, eta):
    """−2 log partial likelihood with Breslow's ties."""
    order = np.argsort(-y[:, 0], kind="stable")
    time, event = y[order, 0], y[order, 1] > 0
    at_risk = np.logaddexp.accumulate(eta[order])
    last = np.searchsorted(-time, -time, side="right") - 1  # of those with the same time
    return -2.0 * float((eta[order] - at_risk[last])[event].sum())


def _target(kind, y):
    if kind == "multinomial":
        return np.eye(y.max() + 1)[y]
    return (-np.log(y[:, 0]) if kind == "cox" else y.astype(float))[:, None]


def _residual(Z, values):
    Z, values = Z - Z.mean(0), values - values.mean(0)
    return values - Z @ np.linalg.lstsq(Z, values, rcond=1e-10)[0]


def _gaussian_oracle(columns, r):
    """The least sum of squares with the share r: Sα shrinks toward zero as a whole."""
    y = columns.y - columns.y.mean()
    left = _residual(np.hstack([columns.S, columns.U]), y)
    a = np.linalg.norm(y - _residual(columns.S, y))
    b = np.linalg.norm(y - _residual(columns.U, y))
    kept = min(1.0, np.sqrt(r / (1.0 - r)) * b / a)
    return float(left @ left) + ((1.0 - kept) * a) ** 2


def must_warn(known, definition, lambda_):
    """Whether the deviance with its penalty has no minimum: one on α leaves directions of U."""
    if lambda_ == 0.0:
        return known.get("separated", False)
    return definition not in ON_MEANS and known.get("separated by predictors", False)


def faults(task, columns, definition, r, known):
    """Fit one bound; return the model, whether it warns of separation, and what is wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = task.estimator(r, definition).fit(task.frame, task.y)
    one, found = Judged(task, columns, model, known.get("separated", False)), []
    case = task.name, definition, r
    value = one.unfairness(definition)
    statuses = (*MET, "separated") if known.get("separated", False) else MET
    if model.status_ not in statuses:
        found.append(f"status {model.status_}")
    if not value <= r + BOUND:
        found.append(f"unfairness {value:.9g}")
    if model.n_iter_ > MORE_PASSES.get(case, MOST_PASSES):
        found.append(f"{model.n_iter_} passes")
    texts = [str(warning.message) for warning in caught]
    said = any("separat" in text for text in texts)
    if must_warn(known, definition, model.lambda_) and not said:
        found.append("separated without a warning")
    if any(issubclass(warning.category, RuntimeWarning) for warning in caught):
        found.append(f"NumPy warns: {texts}")
    return one, said, found


def oracle(task, columns, definition, r):
    """D + ridge of another program's model for the same bound on means, if it has one."""
    if definition not in ON_MEANS:
        return None
    if task.kind == "gaussian":
        return _gaussian_oracle(columns, r)
    known = answers()[task.name][definition][f"{r:g}"]
    best = known["deviance"] + known["ridge"]
    return OTHER_MINIMUM.get((task.name, definition, r), best)


@pytest.mark.parametrize(("name", "definition"), CASES)
def test_bounds_are_met_in_few_passes_at_no_higher_deviance(reference, name, definition):
    task = read_task(reference, name)
    columns, known = columns_of(task), answers().get(name, {})
    wrong, before = [], np.inf
    large = name in LARGE and definition not in ON_MEANS  # without an oracle
    for r in BOUNDS[::2] if large else BOUNDS:
        one, said, found = faults(task, columns, definition, r, known)
        deviance = one.deviance()
        # A looser bound may have a ridge that a stricter one does not need.
        if deviance > before + RISE * abs(before):
            found.append(f"deviance rises from {before:.8g} to {deviance:.8g}")
        value, best = deviance + said * one.ridge, oracle(task, columns, definition, r)
        if best is not None and value > best + WORSE * abs(best):
            found.append(f"deviance {value:.8g}, oracle {best:.8g}")
        wrong += [f"r = {r:g}: {fault}" for fault in found]
        before = deviance + one.ridge
    assert wrong == [], "\n".join(["", *wrong])


def test_the_list_of_tasks_is_complete(reference):
    assert {name: task["kind"] for name, task in reference.json("tasks.json").items()} == KINDS


def test_the_recomputed_model_is_the_one_that_predicts(reference):
    for name in ("vu.multinomial", "german.bin", "vu.poisson", "flchain"):
        task = read_task(reference, name)
        columns = columns_of(task)
        model = task.estimator(0.05, "statistical-parity").fit(task.frame, task.y)
        one = Judged(task, columns, model, False)
        eta = one.level + one.on_S + one.on_U
        np.testing.assert_allclose(one.eta_of_model, eta, atol=1e-9 * np.abs(eta).max())
        assert one.deviance() == pytest.approx(model.deviance_, rel=1e-9)
        assert one.unfairness("statistical-parity") == pytest.approx(model.unfairness_, abs=1e-9)
