"""Every two options of stacked models together, and what is done with such a model.

As the contract of linear models (`tools.pairs.options` and `verbs`), with the options that
only stacked models have, and learners that are quick to fit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fairridge import (
    FairStackingClassifier,
    FairStackingRegressor,
    Monitor,
    load,
    save,
)
from fairridge.export import to_onnx
from fairridge.stacking.learners import Categories
from tools.pairs.options import matches
from tools.pairs.verbs import require, require_close

BOUND, CERTIFIED = 0.05, 0.3
TRAINING, NEW = 400, 100
OPTIONS: dict[str, tuple[str, ...]] = {
    "response": ("two classes", "three classes", "numbers", "counts"),
    "learners": ("one", "two", "prefit"),
    "definition": ("mean-parity", "statistical-parity", "mean-opportunity"),
    "blind": ("no", "yes"),
    "interactions": ("no", "yes"),
    "passthrough": ("no", "yes"),
    "deploy": ("refit", "average"),
    "sensitive_map": ("none", "transformer", "learned"),
    "confidence": ("none", "auto", "out-of-fold"),
    "S": ("sensitive", "sensitive_features", "intersection"),
    "input": ("pandas", "polars", "arrays"),
    "sample_weight": ("none", "given"),
    "exposure": ("none", "given"),
    "cv": ("3", "shuffled"),
}
NUMBERS = ("numbers", "counts")
CERTIFYING = ("auto", "out-of-fold")
# Combinations that `fit` refuses, with words of its message.
REFUSED: tuple[tuple[dict[str, Sequence[str]], str], ...] = (
    ({"exposure": ("given",), "response": ("two classes", "three classes", "numbers")}, "log link"),
    ({"definition": ("mean-opportunity",), "response": NUMBERS}, "is about rows of one class"),
    ({"definition": ("mean-opportunity",), "confidence": CERTIFYING}, "cannot be certified"),
    (
        {
            "definition": ("statistical-parity",),
            "confidence": CERTIFYING,
            "response": ("two classes", "three classes", "counts"),
            "blind": ("no",),
        },
        "cannot be certified",
    ),
    ({"sensitive_map": ("transformer",), "S": ("intersection",)}, "intersections"),
    (
        {"confidence": ("out-of-fold",), "deploy": ("average",), "learners": ("one", "two")},
        "has no out-of-fold certificate",
    ),
    (
        {"confidence": ("out-of-fold",), "deploy": ("average",), "blind": ("yes",)},
        "has no out-of-fold certificate",
    ),
)
# What predictions need and ONNX does not have.
NOT_IN_ONNX: tuple[dict[str, Sequence[str]], ...] = (
    {"sensitive_map": ("transformer", "learned"), "blind": ("no",)},
    {"S": ("intersection",), "blind": ("no",)},
)


def refusal(case: Mapping[str, str]) -> str | None:
    """Return words of the message that refuses a case; None if it is fitted."""
    return next((words for options, words in REFUSED if matches(case, options)), None)


def cases() -> list[dict[str, str]]:
    """Return cases that have every two values together that are not refused."""
    from allpairspy import AllPairs

    names = list(OPTIONS)
    rows = AllPairs(
        [list(OPTIONS[name]) for name in names],
        filter_func=lambda row: refusal(dict(zip(names, row, strict=False))) is None,
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def refused_cases() -> Iterator[tuple[dict[str, str], str]]:
    """Yield one case for every refusal, with the words that are expected."""
    for options, words in REFUSED:
        case = {name: known[0] for name, known in OPTIONS.items()}
        yield case | {name: values[0] for name, values in options.items()}, words


@dataclass(frozen=True)
class Stack:
    """Rows, and a model for them, as a case asks for."""

    case: Mapping[str, str]

    @cached_property
    def drawn(self) -> dict[str, Any]:
        """Columns and responses of training rows and new ones."""
        rng, n = np.random.default_rng(7), TRAINING + NEW
        sex, age = rng.choice(["f", "m"], n), rng.normal(40.0, 9.0, n).round(1)
        man = (sex == "m") * 1.0
        skill, job = rng.normal(size=n) + 0.6 * man, rng.choice(["a", "b", "c"], n)
        eta = skill + 0.5 * man + 0.02 * (age - 40.0) + 0.4 * (job == "b") - 0.6
        exposure = rng.uniform(0.3, 1.5, n) if self.case["exposure"] == "given" else None
        chance = 1.0 / (1.0 + np.exp(-eta))
        y = {
            "two classes": lambda: np.where(rng.random(n) < chance, "yes", "no"),
            "three classes": lambda: np.array(["a", "b", "c"])[
                np.digitize(eta + rng.normal(size=n), [-0.5, 0.7])
            ],
            "numbers": lambda: eta + rng.normal(size=n),
            "counts": lambda: rng.poisson(np.exp(eta / 2) * (1 if exposure is None else exposure)),
        }[self.case["response"]]()
        weight = None
        if self.case["sample_weight"] == "given":
            weight = rng.uniform(0.5, 2.0, n) * (np.arange(n) % 11 > 0)
        frame = pd.DataFrame({"sex": sex, "age": age, "skill": skill, "job": job})
        return {"frame": frame, "y": y, "exposure": exposure, "weight": weight}

    def rows(self, part: slice) -> tuple[Any, dict[str, Any]]:
        """Return X, and S if it comes separately, of some rows."""
        frame = self.drawn["frame"][part].reset_index(drop=True)
        if self.case["input"] == "arrays":
            frame = frame.assign(sex=(frame["sex"] == "m") * 1.0, job=(frame["job"] == "b") * 1.0)
        S, X = frame[["sex", "age"]], frame
        separate = self.case["S"] == "sensitive_features"
        X = frame[["skill", "job"]] if separate else frame
        return self._native(X), {"sensitive_features": self._native(S)} if separate else {}

    def _native(self, frame: pd.DataFrame) -> Any:
        if self.case["input"] == "arrays":
            return frame.to_numpy(dtype=float)
        if self.case["input"] == "polars":
            import polars

            return polars.DataFrame(frame.to_dict("list"))
        return frame

    def fitting(self) -> dict[str, Any]:
        """Return the arguments of `fit`."""
        part, drawn = slice(0, TRAINING), self.drawn
        X, given = self.rows(part)
        given |= {"X": X, "y": drawn["y"][part]}
        if drawn["weight"] is not None:
            given["sample_weight"] = drawn["weight"][part]
        if drawn["exposure"] is not None:
            given["exposure"] = drawn["exposure"][part]
        return given

    @property
    def bound(self) -> float:
        """The bound; certificates need a wider one on so few rows."""
        return BOUND if self.case["confidence"] == "none" else CERTIFIED

    def model(self) -> Any:
        """Return the unfitted model."""
        case, numbers = self.case, self.case["response"] in NUMBERS
        trees: Any = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        options: dict[str, Any] = {"loss": "poisson"} if case["response"] == "counts" else {}
        small = {"max_iter": 4, "min_samples_leaf": 8, "early_stopping": False}
        learner = make_pipeline(Categories(), trees(**small, **options))
        shallow = make_pipeline(Categories(), trees(max_depth=1, **small, **options))
        learners = [learner, shallow] if case["learners"] == "two" else learner
        if case["learners"] == "prefit":
            learners = self._prefit(learner)
        kind: Any = FairStackingRegressor if numbers else FairStackingClassifier
        maps = {"none": None, "learned": "learned", "transformer": FunctionTransformer(np.cbrt)}
        proxy = make_pipeline(Categories(), HistGradientBoostingRegressor(**small))
        columns = [0, 1] if case["input"] == "arrays" else ["sex", "age"]
        sensitive = {
            "sensitive": columns, "sensitive_features": None,
            "intersection": [*columns, tuple(columns)],
        }[case["S"]]  # fmt: skip
        confidence = None if case["confidence"] == "none" else 0.9
        extra = {"family": "poisson"} if case["response"] == "counts" else {}
        return kind(
            learners, self.bound, sensitive=sensitive, definition=case["definition"],
            blind=case["blind"] == "yes", proxy=proxy, prefit=case["learners"] == "prefit",
            interactions=case["interactions"] == "yes", passthrough=case["passthrough"] == "yes",
            deploy=case["deploy"], sensitive_map=maps[case["sensitive_map"]],
            confidence=confidence, random_state=0,
            certification="auto" if confidence is None else case["confidence"],
            cv=3 if case["cv"] == "3" else ShuffleSplit(1, test_size=0.5, random_state=0),
            **extra,
        )  # fmt: skip

    def _prefit(self, learner: Any) -> Any:
        """Fit a learner to what learners of the model see."""
        X, given = self.rows(slice(TRAINING, None))
        y = self.drawn["y"][TRAINING:]
        blind = clone(self.model_of_one(learner)).fit(X, y, **given)
        return blind.learners_[0][0]

    def model_of_one(self, learner: Any) -> Any:
        """Return a model of other rows, whose learner sees the same columns."""
        case = dict(self.case) | {"learners": "one", "confidence": "none", "deploy": "refit"}
        case |= {"exposure": "none", "sensitive_map": "none", "definition": "mean-parity"}
        return Stack(case).model().set_params(estimators=learner)


def tried(case: Mapping[str, str]) -> None:
    """Fit, and do everything; raise where an answer is wrong."""
    stack = Stack(case)
    given = stack.fitting()
    model = stack.model().fit(**given)
    _bound_holds(stack, model, given)
    X, S = stack.rows(slice(TRAINING, None))
    expected = _predictions(model, X, S)
    require(np.isfinite(expected).all(), "predictions that are not numbers")
    path = stack.model().path(**given, unfairness=[0.0, stack.bound])
    require_close(_predictions(path.at(stack.bound), X, S), expected, "a model of the path", 1e-5)
    errors = model.inference(**given).standard_errors
    require(np.isfinite(errors).all(), "standard errors that are no numbers")
    str(model.summary())
    if case["sensitive_map"] != "transformer":  # of others, which no file takes
        with tempfile.TemporaryDirectory() as folder:
            save(model, Path(folder) / "model.json")
            loaded = load(Path(folder) / "model.json")
        require_close(_predictions(loaded, X, S), expected, "predictions of a saved model", 0.0)
    exposure = stack.drawn["exposure"]
    _onnx(stack, model, X, S, expected)
    if case["response"] != "three classes" and case["definition"] != "mean-opportunity":
        later = {} if exposure is None else {"exposure": exposure[TRAINING:]}
        if case["sensitive_map"] != "transformer":
            state = Monitor(model, stack.bound).update(X, **S, **later)
            require(state.n_rows == NEW, "rows that the monitor has not seen")


def _predictions(model: Any, X: Any, S: dict[str, Any]) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X, **S))
    return np.asarray(model.predict(X, **S))


def _bound_holds(stack: Stack, model: Any, given: dict[str, Any]) -> None:
    """Compare unfairness with R² of our own, where the bound is on means."""
    case = stack.case
    if case["confidence"] == "none" and model.converged_:
        require(model.unfairness_ <= stack.bound + 1e-7, f"{model.unfairness_:g} is too much")
    if case["definition"] != "mean-parity" or case["confidence"] == "auto":
        return
    rows = {name: given.get(name) for name in ("X", "sensitive_features", "exposure")}
    inputs = model.layer_inputs(**rows, out_of_fold=True)
    kept, layer, exposure = model.layer_rows_, model.layer_, inputs.pop("exposure", None)
    means = _predictions(layer, inputs["X"], {"sensitive_features": inputs["sensitive_features"]})
    weight = np.ones(len(kept)) if "sample_weight" not in given else given["sample_weight"][kept]
    weight = weight if exposure is None else weight * exposure
    attributes = pd.DataFrame(
        {name: np.asarray(inputs["sensitive_features"][name]) for name in _names(inputs)}
    )
    S = pd.get_dummies(attributes, drop_first=True).to_numpy(dtype=float)
    if case["sensitive_map"] == "transformer":
        S = np.cbrt(S)
    root = np.sqrt(weight)[:, None]
    Z, M = np.column_stack([np.ones(len(S)), S]), means.reshape(len(S), -1)
    left = root * (M - Z @ np.linalg.lstsq(root * Z, root * M, rcond=None)[0])
    spread = root * (M - np.average(M, axis=0, weights=weight))
    share = 1.0 - np.sum(left**2) / np.sum(spread**2)
    require_close(model.unfairness_, share, "unfairness_", 1e-6)


def _names(inputs: dict[str, Any]) -> list[str]:
    return list(inputs["sensitive_features"].columns)


def _onnx(stack: Stack, model: Any, X: Any, S: dict[str, Any], expected: np.ndarray) -> None:
    """Run the graph, unless it is refused."""
    if any(matches(stack.case, options) for options in NOT_IN_ONNX):
        try:
            to_onnx(model, X)
        except ValueError:
            return
        require(False, "works, though it is refused")
    import onnxruntime

    session = onnxruntime.InferenceSession(to_onnx(model, X).SerializeToString())
    frame = stack.drawn["frame"][TRAINING:].assign(s0=0.0, s1=0.0)
    frame["s0"], frame["s1"] = (frame["sex"] == "m") * 1.0, frame["age"]
    fed = {
        one.name: X
        if one.name == "X"
        else frame[one.name].to_numpy(object if "string" in one.type else float)[:, None]
        for one in session.get_inputs()
    }
    wanted = "probabilities" if stack.case["response"] not in NUMBERS else "prediction"
    (found,) = session.run([wanted], fed)
    require_close(found.reshape(expected.shape), expected, "predictions of the graph", 1e-9)
