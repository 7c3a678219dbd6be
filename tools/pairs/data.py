"""Rows, and a model for them, as the options of a case ask for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.fairness import Combined, StatisticalParity
from tools.pairs.options import CLASSIFIERS, MATRICES, Case

TRAINING, NEW = 240, 160
SENSITIVE, CONTROL = ["sex", "age"], "grade"
# Few enough rows to be isolated: at most 1 % of the weight.
ISOLATED = 2
BOUND, CERTIFIED = 0.05, 0.3
EACH = {"sex": 0.02, "age": 0.1}
WEIGHTS = {"yes": 2.0, "no": 1.0, "b": 2.0}


def share_of_variance(fit: Any) -> float:
    """R² of the linear predictor on S, as a user may write it."""
    scores, eta = fit.S @ fit.alpha.T, fit.linear_predictor()
    gaps = [x - np.average(x, axis=0, weights=fit.weights) for x in (scores, eta)]
    ours, both = (np.average(x**2, axis=0, weights=fit.weights).sum() for x in gaps)
    return float(ours / both) if both > 0.0 else 0.0


DEFINITIONS: dict[str, Any] = {
    "variance": StatisticalParity(measure="variance"),
    "combined": Combined(["statistical-parity", "equality-of-opportunity"]),
    "function": share_of_variance,
}
# Features that are not columns of the input, and are not collinear either.
MAPS: dict[str, Any] = {
    "predictor_map": ColumnTransformer([("all", PCA(3), slice(0, None))]),
    "sensitive_map": FunctionTransformer(np.cbrt, feature_names_out="one-to-one"),
}


@dataclass(frozen=True)
class Part:
    """Rows of one kind: those to fit, or new ones.

    Attributes
    ----------
    frame : DataFrame
        The columns S and X, as a user has them.
    y : DataFrame
        One column "y", or "time" and "event".
    weight, offset, exposure : ndarray or None
        Of every row.
    """

    frame: pd.DataFrame
    y: pd.DataFrame
    weight: np.ndarray | None
    offset: np.ndarray | None
    exposure: np.ndarray | None = None

    def take(self, rows: Any) -> Part:
        """Return some of the rows, in any order and number."""
        return Part(
            self.frame.iloc[rows].reset_index(drop=True),
            self.y.iloc[rows].reset_index(drop=True),
            None if self.weight is None else self.weight[rows],
            None if self.offset is None else self.offset[rows],
            None if self.exposure is None else self.exposure[rows],
        )

    @property
    def shift(self) -> np.ndarray:
        """What is added to linear predictors."""
        shift = np.zeros(len(self.frame)) if self.offset is None else self.offset
        return shift if self.exposure is None else shift + np.log(self.exposure)

    @property
    def whole(self) -> pd.DataFrame:
        """All columns in one table, as in files."""
        extra = {"w": self.weight, "o": self.offset, "e": self.exposure}
        return pd.concat([self.frame, self.y], axis=1).assign(
            **{name: values for name, values in extra.items() if values is not None}
        )


def make_part(case: Case, n: int, seed: int, *, new: bool = False) -> Part:
    """Draw rows; new ones have levels that were not there, where these are allowed."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.normal(40.0, 9.0, n).round(1)
    man = (sex == "m") * 1.0
    grade = rng.normal(size=n) + 0.5 * man
    skill = rng.normal(size=n) + 0.6 * man + 0.02 * age + 0.3 * grade
    job = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]).astype(object)
    if case["rare"] == "yes":
        job[5:8] = "rare"
    if case["isolated"] == "yes" and not new:
        job[:ISOLATED] = "z"
    eta = 0.5 * skill + 0.4 * man + 0.02 * (age - 40.0) + 0.3 * grade + 0.4 * (job == "b") - 0.9
    offset = 0.3 * rng.normal(size=n) if case["offset"] == "given" else None
    exposure = rng.uniform(0.3, 1.5, n) if case["exposure"] == "given" else None
    frame = pd.DataFrame(index=range(n))
    eta = eta + Part(frame, frame, None, offset, exposure).shift
    y = _response(rng, case["family"], eta, job == "z")
    frame = pd.DataFrame({"sex": sex, "age": age, "skill": skill, "grade": grade, "job": job})
    frame = frame.astype({"sex": object, "job": object})
    # Half of the rows must have ten people in this group, or nothing can be certified.
    lost = rng.random((n, 4)) < 0.16
    lost[:8] = False
    if case["missing_S"] == "category":
        frame.loc[lost[:, 0], "sex"] = None
    elif case["missing_S"] == "number":
        frame.loc[lost[:, 1], "age"] = np.nan
    if case["missing_X"] == "some":
        frame.loc[lost[:, 2], "skill"] = np.nan
        frame.loc[lost[:, 3], "job"] = None
    if new and case["unknown"] != "error":
        frame.loc[[10, 11], "job"], frame.loc[[12], "sex"] = "stranger", "x"
    weight = rng.uniform(0.5, 1.5, n) if case["sample_weight"] == "given" else None
    return Part(frame, y, weight, offset, exposure)


def _response(rng: np.random.Generator, family: str, eta: Any, decided: Any) -> pd.DataFrame:
    """Draw responses; rows that are decided all have the same."""
    n = len(eta)
    if family == "cox":
        time = np.ceil(20.0 * rng.exponential(np.exp(-eta))) / 4.0
        return pd.DataFrame({"time": time, "event": (rng.random(n) < 0.8) & ~decided})
    if family == "gaussian":
        y = eta + rng.normal(size=n)
    elif family == "poisson":
        y = np.where(decided, 0, rng.poisson(np.exp(eta + 0.5)))
    elif family == "multinomial":
        scores = np.column_stack([0.0 * eta, eta, -0.5 * eta])
        drawn = (rng.random((n, 1)) > np.cumsum(softmax(scores, axis=1), axis=1)).sum(axis=1)
        y = np.array(["a", "b", "c"], dtype=object)[np.where(decided, 0, drawn)]
    else:
        y = np.where((rng.random(n) < expit(eta + 0.3)) & ~decided, "yes", "no").astype(object)
    return pd.DataFrame({"y": y})


@dataclass(frozen=True)
class Given:
    """Rows as they are passed to the methods of a model."""

    X: Any
    y: Any
    sensitive_features: Any
    weight: Any
    offset: Any
    exposure: Any = None

    @property
    def S(self) -> dict[str, Any]:
        """S as an argument, if it is not part of X."""
        return (
            {}
            if self.sensitive_features is None
            else {"sensitive_features": self.sensitive_features}
        )

    @property
    def fitting(self) -> dict[str, Any]:
        """What else `fit` takes."""
        return self.S | self.weighted | self.shifted

    @property
    def weighted(self) -> dict[str, Any]:
        """Weights as an argument."""
        return {} if self.weight is None else {"sample_weight": self.weight}

    @property
    def shifted(self) -> dict[str, Any]:
        """Offsets and exposures as arguments."""
        both = {"offset": self.offset, "exposure": self.exposure}
        return {name: values for name, values in both.items() if values is not None}


class Setting:
    """The rows and the model of a case.

    Parameters
    ----------
    case : Case
        The options.
    folder : Path
        Where files may be written.
    """

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.training = make_part(case, TRAINING, 1)
        self.new = make_part(case, NEW, 2, new=True)

    @cached_property
    def positions(self) -> tuple[list[str], list[int]]:
        """Names of the columns of a matrix, and which are sensitive."""
        names = list(self.matrix(self.training).columns)
        return names, [names.index(name) for name in SENSITIVE]

    def matrix(self, part: Part) -> pd.DataFrame:
        """Write levels of a frame as 0/1 columns; those of training."""
        frame = part.frame.assign(
            sex=part.frame["sex"].map({"f": 0.0, "m": 1.0}).astype(float),
        )
        levels = sorted(set(self.training.frame["job"].dropna()) - {"a"})
        dummies = {f"job_{one}": (frame["job"] == one).astype(float) for one in levels}
        return frame.drop(columns="job").assign(**dummies)

    def given(self, part: Part, kind: str | None = None) -> Given:
        """Return rows as the kind of input has them."""
        kind = self.case["input"] if kind is None else kind
        frame = self.matrix(part) if kind in MATRICES else part.frame
        separate = self.case["S"] == "sensitive_features"
        S = frame[SENSITIVE] if separate else None
        X = frame.drop(columns=SENSITIVE) if separate else frame
        y: Any = part.y.get("y", part.y)
        weight, offset = part.weight, part.offset
        if kind in MATRICES:
            X, S = X.to_numpy(float), None if S is None else S.to_numpy(float)
            X = sparse.csr_array(X) if kind == "sparse" else X
            y = y.to_numpy() if "y" in part.y else y.to_numpy(float)
        elif kind == "polars":
            import polars as pl

            X, S = (None if one is None else pl.from_pandas(one) for one in (X, S))
            y = pl.from_pandas(y)
        elif kind == "parquet":
            return Given(self.source(part), None, None, None, None)
        return Given(X, y, S, weight, offset, part.exposure)

    def source(self, part: Part, name: str = "rows") -> Any:
        """Write rows to a Parquet file, and return them as a source."""
        from fairridge import sources

        path = self.folder / f"{name}-{len(part.frame)}.parquet"
        if "time" in part.y and name == "rows":  # as a source of times must have them
            part = part.take(np.argsort(-part.y["time"].to_numpy(), kind="stable"))
        part.whole.to_parquet(path)
        response = "y" if "y" in part.y else ["time", "event"]
        return sources.parquet(
            path,
            response=response,
            sensitive=SENSITIVE,
            weight=None if part.weight is None else "w",
            offset=None if part.offset is None else "o",
            exposure=None if part.exposure is None else "e",
        )

    # ------------------------------------------------------------------ model

    @property
    def kind(self) -> str:
        """The kind of input that methods other than `fit` and `path` get."""
        return "pandas" if self.case["input"] == "parquet" else self.case["input"]

    def model(self, **changes: Any) -> Any:
        """Return a model that is not fitted."""
        options = self.parameters | changes
        family = self.case["family"]
        if family in CLASSIFIERS:
            return FairRidgeClassifier(**options)
        return (FairRidgeSurvival if family == "cox" else FairRidgeRegressor)(**options)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that a case asks for, without those that keep their defaults."""
        case = self.case
        named = case["input"] not in MATRICES
        found: dict[str, Any] = {"unfairness": self.unfairness}
        if case["input"] != "parquet" and case["S"] == "sensitive":
            found["sensitive"] = SENSITIVE if named else self.positions[1]
        if case["family"] in ("gaussian", "poisson"):
            found["family"] = case["family"]
        if case["family"] == "probit":
            found["link"] = "probit"
        if case["definition"] != "statistical-parity":
            found["definition"] = DEFINITIONS.get(case["definition"], case["definition"])
        if case["penalty"] != "ridge":
            found["penalty"] = case["penalty"]
        if case["blind"] == "yes":
            found["blind"] = True
        if case["controls"] == "given":
            found["controls"] = [CONTROL] if named else [self._place_of_control]
        if case["confidence"] != "none":
            found |= {"confidence": 0.9, "certification": case["confidence"]}
        if (case["missing_S"], case["missing_X"]) != ("none", "none"):
            found["missing"] = "level"
        if case["min_frequency"] != "none":
            found["min_frequency"] = int(case["min_frequency"])
        if case["base"] != "first":
            found["base"] = {"job": "b"} if case["base"] == "named" else "most-frequent"
        if case["unknown"] != "error":
            found["unknown"] = case["unknown"]
        return found | self._weights_and_maps

    @property
    def _weights_and_maps(self) -> dict[str, Any]:
        case, found = self.case, {}
        if case["class_weight"] != "none":
            labels = set(self.training.y["y"])
            weights = {k: v for k, v in WEIGHTS.items() if k in labels}
            found["class_weight"] = "balanced" if case["class_weight"] == "balanced" else weights
        if case["maps"] != "none":
            found[case["maps"]] = MAPS[case["maps"]]
        if case["predictor_penalty"] != "0":
            value = case["predictor_penalty"]
            found["predictor_penalty"] = value if value == "cv" else float(value)
        return found

    @property
    def _place_of_control(self) -> int:
        names = [name for name in self.positions[0] if self.case["S"] == "sensitive"
                 or name not in SENSITIVE]  # fmt: skip
        return names.index(CONTROL)

    @property
    def unfairness(self) -> Any:
        """The bound, or one for each attribute."""
        if self.case["bounds"] == "each":
            if self.case["input"] not in MATRICES:
                return dict(EACH)
            places = [0, 1] if self.case["S"] == "sensitive_features" else self.positions[1]
            prefix = "s" if self.case["S"] == "sensitive_features" else "x"
            return {f"{prefix}{k}": r for k, r in zip(places, EACH.values(), strict=True)}
        return BOUND if self.case["confidence"] == "none" else CERTIFIED

    @cached_property
    def fitted(self) -> Any:
        """The model, fitted to the training rows."""
        rows = self.given(self.training)
        return self.model().fit(rows.X, rows.y, **rows.fitting)
