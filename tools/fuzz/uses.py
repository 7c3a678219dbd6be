"""Random models in use: other tables, repeated rows, and exports that are run.

Each problem fits one model to a frame of text and numbers, and then

- fits it again to the same values in other tables (NumPy, pandas, polars, pyarrow; text,
  categories, dictionaries, numbers of other types), which must give the same coefficients;
- fits it with whole weights, some of them zero, and again with rows repeated as often,
  which must give the same model to rounding;
- runs what it exports (SQL in DuckDB and SQLite, ONNX, Python) against what it predicts.
"""

from __future__ import annotations

import math
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.export import to_onnx, to_python, to_sql
from fairridge.fairness import MaximalCorrelation
from tools.fuzz.contract import has_no_response
from tools.fuzz.limits import limited
from tools.fuzz.verdict import SLOW, STOP, Verdict

# Seeds from here on draw models in use.
USES = 2 * 10**9
FAMILIES = (
    "gaussian", "binomial", "quasi-binomial", "poisson", "quasi-poisson", "negative-binomial",
    "gamma", "tweedie", "multinomial", "cox",
)  # fmt: skip
LINKS = ("logit", "probit", "cloglog")
# What is bounded, and the parameters that say so; "each" has a bound per attribute.
KINDS: dict[str, dict[str, Any]] = {
    "statistical-parity": {},
    "equality-of-opportunity": {"definition": "equality-of-opportunity"},
    "individual": {"definition": "individual"},
    "maximal": {"definition": MaximalCorrelation()},
    "mean-parity": {"definition": "mean-parity"},
    "mean-opportunity": {"definition": "mean-opportunity"},
    "blind": {"blind": True},
    "blind means": {"blind": True, "definition": "mean-parity"},
    "blind controls": {"blind": True, "controls": ["x0"]},
    "controls": {"controls": ["x0"]},
    "controls means": {"controls": ["x0"], "definition": "mean-parity"},
    "each": {"definition": "mean-parity"},
    "blind each": {"blind": True, "definition": "mean-parity"},
    "controls each": {"controls": ["x0"], "definition": "mean-parity"},
}
BOUNDS = (0.0, 0.001, 0.01, 0.05, 0.2, 1.0)
# Relative differences of coefficients in other tables, of exported predictions, and between
# weights and repeated rows: the last two are two searches, which end by a tolerance.
SAME, EXPORTED, AGREE = 1e-9, 1e-9, 1e-6


@dataclass(frozen=True)
class Use:
    """A model and its rows.

    Attributes
    ----------
    seed : int
        Makes it again.
    family, link, kind : str
        As users name them; the kind is one of `KINDS`.
    unfairness, predictor_penalty : float
        r, of every attribute if each has its own, and λ₂.
    standardize : bool
        Whether penalties see standardized columns.
    S, X : pandas DataFrame
        Numbers and text.
    y : ndarray
        Numbers, labels, or (time, event).
    weight : ndarray
        Whole numbers, some of them zero.
    """

    seed: int
    family: str
    link: str
    kind: str
    unfairness: float
    predictor_penalty: float
    standardize: bool
    S: pd.DataFrame = field(repr=False)
    X: pd.DataFrame = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)
    # What tables of verdicts count by.
    model: str = "ridge"
    penalty: str = "ridge"
    source: str = "tables"
    twin: str = "repeated, exported"

    @property
    def definition(self) -> str:
        """What is bounded."""
        return self.kind

    @property
    def label(self) -> str:
        """One line that says what it is."""
        return (
            f"use {self.family}/{self.link}/{self.kind} r={self.unfairness:g} "
            f"λ₂={self.predictor_penalty:g} n={len(self.X)} "
            f"{'' if self.standardize else 'raw scale'}"
        )


# -------------------------------------------------------------------- drawing


def draw_use(seed: int) -> Use:
    """Return the model and the rows of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 60, 120]))
    family = str(rng.choice(FAMILIES))
    link = str(rng.choice(LINKS)) if family == "binomial" else "own"
    sex = rng.choice(["f", "m", "x"][: rng.integers(2, 4)], n)
    S = pd.DataFrame({"sex": sex, "age": np.round(rng.normal(40.0, 9.0, n) + 6.0 * (sex == "m"))})
    shift = (sex == "m") + 0.05 * (S["age"] - 40.0)
    X = pd.DataFrame(
        {
            "x0": rng.normal(size=n) + rng.choice([0.0, 0.5, 2.0]) * shift,
            "region": rng.choice(["east", "north", "west"], n),
            "x1": rng.integers(0, 9, n),
            "x2": rng.normal(size=n) * 10.0 ** rng.choice([0, 0, -3, 3]),
        }
    )
    eta = 0.4 * X["x0"] + 0.3 * (X["region"] == "west") + 0.1 * X["x1"] - 0.8 + 0.4 * shift
    return Use(
        seed,
        family,
        link,
        _suitable(str(rng.choice(list(KINDS))), family),
        float(rng.choice(BOUNDS)),
        float(rng.choice([0.0, 0.0, 1.0])),
        bool(rng.random() < 0.8),
        S,
        X,
        _response(rng, family, eta.to_numpy() / rng.choice([1.0, 2.0])),
        rng.integers(0, 4, n).astype(float),
    )


def _suitable(kind: str, family: str) -> str:
    """Return a kind that the family has: hazards have no means, and numbers no positive class."""
    if family == "cox" and KINDS[kind].get("definition", "") in ("mean-parity", "mean-opportunity"):
        return kind.split()[0] if " " in kind else "statistical-parity"
    if kind == "mean-opportunity" and family not in ("binomial", "multinomial"):
        return "mean-parity"
    return kind


def _response(rng: np.random.Generator, family: str, eta: NDArray[Any]) -> NDArray[Any]:
    n, mean = len(eta), np.exp(eta)
    if family == "cox":
        time = np.ceil(5.0 * rng.exponential(1.0 / mean))
        return np.column_stack([time, rng.random(n) < 0.7]).astype(float)
    if family == "multinomial":
        scores = np.outer(eta, [0.0, 1.0, -1.0]) + rng.gumbel(size=(n, 3))
        return np.array(["a", "b", "c"])[scores.argmax(axis=1)]
    draws: dict[str, Callable[[], NDArray[Any]]] = {
        "gaussian": lambda: eta + rng.normal(size=n),
        "binomial": lambda: np.where(eta + rng.logistic(size=n) > 0.0, "yes", "no"),
        "quasi-binomial": lambda: rng.binomial(4, 1.0 / (1.0 + np.exp(-eta))) / 4.0,
        "gamma": lambda: rng.gamma(2.0, mean / 2.0) + 1e-9,
        "tweedie": lambda: np.where(rng.random(n) < 0.4, 0.0, rng.gamma(2.0, mean / 2.0)),
    }
    return draws.get(family, lambda: rng.poisson(mean).astype(float))()


# -------------------------------------------------------------------- fitting


def estimator(use: Use) -> Any:
    """Return the estimator."""
    each = use.kind.endswith("each")
    bound: Any = dict.fromkeys(use.S, use.unfairness) if each else use.unfairness
    options = {
        **KINDS[use.kind],
        "predictor_penalty": use.predictor_penalty,
        "standardize": use.standardize,
        "separation": "warn",
    }
    if use.family == "cox":
        return FairRidgeSurvival(bound, **options)
    if use.family in ("binomial", "multinomial"):
        more = {"link": use.link} if use.family == "binomial" else {}
        return FairRidgeClassifier(bound, **options, **more)
    return FairRidgeRegressor(bound, family=use.family, **options)


def examine_use(use: Use) -> Verdict:
    """Fit, compare and export; report what is wrong, and how long the first fit took."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        try:
            with limited(STOP):
                model = estimator(use).fit(use.X, use.y, sensitive_features=use.S)
        except (ValueError, TypeError) as error:
            # These data are ordinary, as far as there is a response.
            known = has_no_response(use.family, use.y)
            found += [] if known else [f"refused inside the contract: {error}"]
            return Verdict(use, "refused", tuple(found), note=str(error))
        except TimeoutError:
            return Verdict(use, "failed", (f"hangs: more than {STOP:g} s",), STOP)
        except Exception as error:
            return Verdict(use, "failed", (f"{type(error).__name__}: {error}",))
        seconds = time.process_time() - start
        found += [f"slow: {seconds:.1f} s"] if seconds > SLOW else []
        for check in (_other_tables, _repeated_rows, _exported):
            try:
                with limited(STOP):
                    found += check(use, model)
            except Exception as error:
                found.append(f"{check.__name__[1:]}: {type(error).__name__}: {error}")
    leaks = {str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)}
    found += [f"warns RuntimeWarning: {text}" for text in sorted(leaks)]
    return Verdict(use, _status(model), tuple(found), seconds, _separated(caught))


def _status(model: Any) -> str:
    status = model.status_
    return status if isinstance(status, str) else "/".join(sorted(set(status.values())))


def _separated(caught: list[warnings.WarningMessage]) -> bool:
    return any("separate the responses" in str(one.message) for one in caught)


# --------------------------------------------------------------- other tables

Table = Callable[[pd.DataFrame], Any]


def _as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number"), "category"))


def _as_dictionaries(frame: pd.DataFrame) -> pa.Table:
    # Chunks have dictionaries of their own.
    half = len(frame) // 2
    parts = [pa.Table.from_pandas(p, preserve_index=False) for p in (frame[:half], frame[half:])]
    table = pa.concat_tables(parts)
    for k, name in enumerate(table.column_names):
        if pa.types.is_string(table.column(k).type) or pa.types.is_large_string(
            table.column(k).type
        ):
            levels = pa.array(sorted(frame[name].unique()))
            codes = pa.compute.index_in(table.column(k).combine_chunks(), levels)
            column = pa.DictionaryArray.from_arrays(codes, levels)
            table = table.set_column(k, name, column)
    return table


TABLES: dict[str, Table] = {
    "numpy objects": lambda frame: frame.to_numpy(dtype=object),
    "lists": lambda frame: frame.to_numpy(dtype=object).tolist(),
    "pandas, other index": lambda frame: frame.set_index(np.arange(len(frame))[::-1] * 7),
    "pandas, nullable": lambda frame: frame.convert_dtypes(),
    "pandas, pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, categories": _as_categories,
    "polars": pl.from_pandas,
    "polars, categories": lambda frame: pl.from_pandas(frame).cast({pl.String: pl.Categorical}),
    "polars, small numbers": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col(pl.Int64).cast(pl.Int8)
    ),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pyarrow, dictionaries": _as_dictionaries,
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}
VECTORS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "list": lambda y: y.tolist(),
    "pandas": lambda y: pd.Series(y, index=np.arange(len(y)) + 5),
    "pandas, categories": lambda y: pd.Series(y, dtype="category"),
    "polars": pl.Series,
    "pyarrow": lambda y: pa.chunked_array([y.tolist()]),
    "pyarrow, dictionary": lambda y: pa.chunked_array([y.tolist()]).dictionary_encode(),
    "one column": lambda y: pd.DataFrame({"y": y}),
}


def _other_tables(use: Use, model: Any) -> Iterator[str]:
    rng = np.random.default_rng([use.seed, 1])
    for _ in range(2):
        of_X, of_S = (str(rng.choice(list(TABLES))) for _ in range(2))
        if "controls" in use.kind or use.kind.endswith("each"):  # these need names
            of_X, of_S = ("polars" if name in ("numpy objects", "lists") else name
                          for name in (of_X, of_S))  # fmt: skip
        of_y = str(rng.choice(list(VECTORS))) if use.y.ndim == 1 else "array"
        y = use.y if of_y == "array" else VECTORS[of_y](use.y)
        where = f"X: {of_X}, S: {of_S}, y: {of_y}"
        X, S = TABLES[of_X](use.X), TABLES[of_S](use.S)
        other = estimator(use).fit(X, y, sensitive_features=S)
        gap = _gap(np.asarray(model.coef_), np.asarray(other.coef_))
        if not gap <= SAME:
            yield f"{where}: coefficients differ by {gap:.2g}"
        if not np.array_equal(_called(use, model), _called(use, other, X, S)) and gap == 0.0:
            yield f"{where}: the same coefficients predict something else"


def _gap(one: NDArray[Any], other: NDArray[Any]) -> float:
    if one.shape != other.shape:
        return math.inf
    return float(np.abs(one - other).max() / max(np.abs(one).max(), 1e-300))


def _called(use: Use, model: Any, X: Any = None, S: Any = None) -> NDArray[np.float64]:
    """Return linear predictors, or means of models that have no such method."""
    call = getattr(model, "decision_function", model.predict)
    given = {} if model.blind else {"sensitive_features": use.S if S is None else S}
    return np.asarray(call(use.X if X is None else X, **given), dtype=np.float64)


# -------------------------------------------------------------- repeated rows


def repeated(use: Use) -> Use:
    """Return the rows as often as their weights say."""
    rows = np.repeat(np.arange(len(use.X)), use.weight.astype(int))
    S, X = (frame.iloc[rows].reset_index(drop=True) for frame in (use.S, use.X))
    return replace(use, S=S, X=X, y=use.y[rows], weight=np.ones(len(rows)))


def _repeated_rows(use: Use, model: Any) -> Iterator[str]:
    again = repeated(use)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            weighted = estimator(use).fit(
                use.X, use.y, sensitive_features=use.S, sample_weight=use.weight
            )
        except (ValueError, TypeError):  # with fewer rows, such as those of one class
            return
        rows = estimator(use).fit(again.X, again.y, sensitive_features=again.S)
    if not (_all_converged(weighted) and _all_converged(rows)):
        return
    one, other = weighted.deviance_, rows.deviance_
    null = one / max(1.0 - weighted.explained_deviance_, 1e-12)
    if abs(one - other) > AGREE * (abs(one) + 1e-3 * abs(null)):
        yield f"repeated rows: deviance {other:.8g} instead of {one:.8g} of weights"
    values = (np.ravel(list(v.values()) if isinstance(v, dict) else v)
              for v in (weighted.unfairness_, rows.unfairness_))  # fmt: skip
    first, second = values
    if np.abs(first - second).max() > AGREE:
        yield f"repeated rows: unfairness {second} instead of {first} of weights"


def _all_converged(model: Any) -> bool:
    return bool(model.converged_)


# -------------------------------------------------------------------- exports


def _exported(use: Use, model: Any) -> Iterator[str]:
    expected, mean = _expected(use, model)
    rows = use.X if model.blind else use.X.join(use.S)
    scale = np.abs(expected).max() + 1.0
    for name, run in EXPORTS.items():
        if name in ("DuckDB", "SQLite") and use.link == "probit":
            continue  # SQL has no function for it
        eta, predicted = run(model, rows)
        if not np.abs(eta - expected).max() <= EXPORTED * scale:
            yield f"{name}: η differs by {np.abs(eta - expected).max():.2g}"
        # Runtimes of ONNX have erf in 32 bits.
        slack = 1e-6 if use.link == "probit" else EXPORTED
        if mean.dtype.kind == "f":
            if not (np.abs(predicted.astype(float) - mean) <= slack * (1.0 + np.abs(mean))).all():
                yield f"{name}: predictions differ"
        elif not (predicted.astype(str) == mean.astype(str)).all():
            yield f"{name}: other classes are predicted"


def _expected(use: Use, model: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return η of shape (n, m) and predictions."""
    S = None if model.blind else use.S
    eta = np.asarray(model._linear_predictor(use.X, S, None)).reshape(len(use.X), -1)
    given = {} if model.blind else {"sensitive_features": use.S}
    predicted = np.asarray(model.predict(use.X, **given))
    return eta, predicted


def _run_sql(query: Callable[[], pd.DataFrame]) -> tuple[Any, Any]:
    found = query()
    etas = [name for name in found if name.startswith("linear_predictor")]
    return found[etas].to_numpy(dtype=float), found["prediction"].to_numpy()


def _duckdb(model: Any, rows: pd.DataFrame) -> tuple[Any, Any]:
    with duckdb.connect() as connection:
        connection.register("data", rows)
        return _run_sql(lambda: connection.execute(to_sql(model)).df())


def _sqlite(model: Any, rows: pd.DataFrame) -> tuple[Any, Any]:
    """Run the query for DuckDB in SQLite, whose functions may lack these two."""
    connection = sqlite3.connect(":memory:")
    try:
        exp = lambda value: None if value is None else math.exp(value)  # noqa: E731
        connection.create_function("EXP", 1, exp)
        connection.create_function("GREATEST", -1, max)
        rows.to_sql("data", connection, index=False)
        return _run_sql(lambda: pd.read_sql_query(to_sql(model), connection))
    finally:
        connection.close()


def _python(model: Any, rows: pd.DataFrame) -> tuple[Any, Any]:
    module = ModuleType("exported")
    exec(to_python(model), module.__dict__)
    found = [module.predict(row) for row in rows.to_dict("records")]
    etas = [name for name in found[0] if name.startswith("linear_predictor")]
    eta = np.array([[row[name] for name in etas] for row in found])
    return eta, np.array([row["prediction"] for row in found])


def _onnx(model: Any, rows: pd.DataFrame) -> tuple[Any, Any]:
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    wanted = [one.name for one in session.get_inputs()]
    given = {
        name: rows[[name]].to_numpy(dtype=object if rows[name].dtype.kind not in "biuf" else float)
        for name in wanted
    }
    eta, predicted = session.run(["linear_predictor", "prediction"], given)
    return eta, predicted[:, 0]


EXPORTS: dict[str, Callable[[Any, pd.DataFrame], tuple[Any, Any]]] = {
    "DuckDB": _duckdb,
    "SQLite": _sqlite,
    "Python": _python,
    "ONNX": _onnx,
}
