"""What a user does with a model: one function for each verb.

Each takes a `Setting`, does the thing as a user would, and checks what it can
against numbers that it computes itself. It raises what the library raises, and
`WrongError` where an answer is wrong.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairridge import (
    Monitor,
    attribution,
    audit,
    choose_bound,
    compare,
    cross_validate,
    export,
    load,
    proxies,
    report,
    save,
)
from fairridge.rules import AdverseImpact, MeanGap
from tools.pairs.data import BOUND, CERTIFIED, SENSITIVE, Part, Setting
from tools.pairs.options import CLASSIFIERS, MATRICES
from tools.pairs.oracle import unfairness_of

BOUNDS = [0.0, 0.05, 0.3]
TOLERANCE = 1e-8


class WrongError(AssertionError):
    """An answer is not what it must be."""


def require(true: Any, words: str) -> None:
    """Raise unless something holds."""
    if not true:
        raise WrongError(words)


def require_close(found: Any, expected: Any, words: str, tolerance: float = TOLERANCE) -> None:
    """Raise unless numbers, or labels, agree."""
    found, expected = np.asarray(found), np.asarray(expected)
    require(found.shape == expected.shape, f"{words}: shapes {found.shape}, {expected.shape}")
    if expected.dtype.kind not in "fiub":
        require((found == expected).all(), f"{words}: labels differ")
        return
    gap = np.abs(found.astype(float) - expected.astype(float))
    most = float(gap.max(initial=0.0)) if np.isfinite(gap).all() else np.inf
    size = 1.0 + float(np.abs(expected.astype(float)).max(initial=0.0))
    require(most <= tolerance * size, f"{words}: differ by {most:.3g}")


# ------------------------------------------------------------------ the model itself


def fit(setting: Setting) -> None:
    """Fit; the bound holds by numbers of our own, and rows of weight 2 are rows twice."""
    model = setting.fitted
    numbers = [np.ravel(model.coef_), np.ravel(model.intercept_)]
    require(np.isfinite(np.concatenate(numbers)).all(), "coefficients that are not numbers")
    held_out = setting.case["confidence"] == "held-out"
    if not held_out:  # which half of the rows the bound is about is the model's own affair
        found, achieved = unfairness_of(setting, model), model.unfairness_
        for name, value in found.items():
            own = achieved[name] if isinstance(achieved, dict) else achieved
            require_close(own, value, f"unfairness_ of {name}", 1e-7)
        if model.converged_:
            bounds = setting.unfairness
            bounds = bounds if isinstance(bounds, dict) else dict.fromkeys(found, bounds)
            for name, value in found.items():
                require(value <= bounds[name] + 1e-7, f"{name}: {value:g} > {bounds[name]:g}")


def twice(setting: Setting) -> None:
    """Fit to rows twice, and to rows of twice the weight."""
    if setting.case["input"] == "parquet":
        return
    part, case = setting.training, setting.case
    if case["predictor_penalty"] == "cv" or case["confidence"] != "none":
        return  # which look at the number of rows
    if case["min_frequency"] != "none" and case["rare"] == "yes":
        return  # twice the weight makes a level of the rare one, which may decide the response
    n = len(part.frame)
    weight = np.ones(n) if part.weight is None else part.weight
    double = replace(part, weight=2.0 * weight)
    again = part.take(np.tile(np.arange(n), 2))
    if case["min_frequency"] != "none":  # a count of rows, or of their weight
        again = replace(again, weight=np.tile(weight, 2))
    rows, more = setting.given(double), setting.given(again)
    one = setting.model().fit(rows.X, rows.y, **rows.fitting)
    two = setting.model().fit(more.X, more.y, **more.fitting)
    require_close(two.coef_, one.coef_, "coefficients of rows twice", 1e-5)


def path(setting: Setting) -> None:
    """Fit for many bounds; a model of the path is the model of its bound."""
    rows = setting.given(setting.training)
    bound = BOUND if setting.case["confidence"] == "none" else CERTIFIED
    found = setting.model().path(rows.X, rows.y, unfairness=[0.0, bound, 1.0], **rows.fitting)
    require(np.isfinite(found.achieved).all(), "a path that is not made of numbers")
    if setting.case["predictor_penalty"] != "cv" and setting.case["bounds"] == "one":
        require_close(found.at(bound).coef_, setting.fitted.coef_, "a model of the path", 1e-5)


def predict(setting: Setting) -> None:
    """Predict new rows; scores, probabilities and a summary."""
    _, found = _predicted(setting)
    for values in found.values():
        if values.dtype.kind == "f":
            require(np.isfinite(values).all(), "predictions that are not numbers")
    rows = setting.given(setting.training, setting.kind)
    score = setting.fitted.score(rows.X, rows.y, **rows.fitting)
    require(np.isfinite(score), "a score that is not a number")
    str(setting.fitted.summary())


def streamed(setting: Setting) -> None:
    """Predict rows of a file; a model fitted to a file is the one fitted to memory."""
    if setting.case["input"] in MATRICES or setting.case["S"] == "sensitive_features":
        return
    model, part = setting.fitted, setting.new
    source = setting.source(part, "new")
    expected = model.predict(part.frame, **_offsets(part))
    values = [
        one.to_pandas() if hasattr(one, "to_pandas") else np.asarray(one)
        for one in model.predict(source)
    ]
    found = np.concatenate([np.asarray(one).ravel() for one in values])
    require_close(found, np.asarray(expected), "predictions of a file")
    if setting.case["input"] == "parquet":
        rows = setting.given(setting.training, "pandas")
        memory = setting.model(sensitive=SENSITIVE).fit(rows.X, rows.y, **rows.fitting)
        require_close(memory.coef_, model.coef_, "coefficients from memory", 1e-5)


def inference(setting: Setting) -> None:
    """Compute standard errors, and unfairness in the population where it has one."""
    rows = setting.given(setting.training)
    found = setting.fitted.inference(rows.X, rows.y, **rows.fitting)
    errors = np.asarray(found.standard_errors)
    # The coefficient of a level that is isolated is not estimated, in any of several classes.
    most = len(setting.fitted.isolated_) * np.size(setting.fitted.intercept_)
    require(np.isnan(errors).sum() <= most, "standard errors that are not numbers")
    require((errors[np.isfinite(errors)] >= 0.0).all(), "negative standard errors")
    str(found)
    found.to_frame()


def population(setting: Setting) -> None:
    """Estimate unfairness in the population."""
    rows = setting.given(setting.training)
    found = setting.fitted.inference(rows.X, rows.y, **rows.fitting)
    share = found.population_unfairness()
    require(share.lower - 1e-9 <= share.estimate <= share.upper + 1e-9, "an interval without it")


def certificate(setting: Setting) -> None:
    """Look at a certificate; none is granted where one of its conditions fails."""
    found, model = setting.fitted.certificate_, setting.fitted
    require((found is None) == (setting.case["confidence"] == "none"), "a certificate, or none")
    if found is None or not found.granted:
        return
    require(model.converged_, "a certificate of a fit that did not converge")
    require(not model.isolated_, "a certificate of a model without some of its rows")
    require(found.upper <= found.bound + 1e-9, "a certificate above its bound")
    require(model.unfairness_ <= found.training_bound + 1e-7, "a bound in training that is broken")


# ------------------------------------------------------------------ files and exports


def _offsets(part: Part) -> dict[str, Any]:
    both = {"offset": part.offset, "exposure": part.exposure}
    return {name: values for name, values in both.items() if values is not None}


def _predicted(setting: Setting, model: Any = None) -> tuple[Any, dict[str, Any]]:
    """Return new rows, and what the model says of them without their offsets."""
    model = setting.fitted if model is None else model
    rows = setting.given(setting.new, setting.kind)
    found = {"prediction": np.asarray(model.predict(rows.X, **rows.S))}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = np.asarray(model.predict_proba(rows.X, **rows.S))
    if hasattr(model, "decision_function"):
        found["scores"] = np.asarray(model.decision_function(rows.X, **rows.S))
    return rows, found


def _table(setting: Setting, part: Part | None = None) -> pd.DataFrame:
    """Return new rows under the names that exports have for them, in their order."""
    part = setting.new if part is None else part
    separate, blind = setting.case["S"] == "sensitive_features", setting.case["blind"] == "yes"
    frame = part.frame
    if setting.case["input"] in MATRICES:
        frame = setting.matrix(part)
        names = {name: f"x{k}" for k, name in enumerate(frame)}
        if separate:
            others = [name for name in frame if name not in SENSITIVE]
            names = {name: f"x{k}" for k, name in enumerate(others)}
            names |= {name: f"s{k}" for k, name in enumerate(SENSITIVE)}
        frame = frame.rename(columns=names)
    first = list(frame.columns[:2])  # S, whose columns come first in any order
    return frame.drop(columns=first) if blind else frame


def saved(setting: Setting) -> None:
    """Save and load, and pickle: the same predictions to the last digit."""
    _, expected = _predicted(setting)
    place = setting.folder / "model.json"
    save(setting.fitted, place)
    for name, model in {
        "loaded": load(place),
        "pickled": pickle.loads(pickle.dumps(setting.fitted)),
    }.items():
        for key, values in _predicted(setting, model)[1].items():
            require_close(values, expected[key], f"{key} of a {name} model", 0.0)


def sql(setting: Setting) -> None:
    """Run the query in DuckDB."""
    import duckdb

    query = export.to_sql(setting.fitted)
    expected = _predicted(setting)[1]["prediction"]
    table, named = _table(setting).reset_index(names="k"), {}
    if setting.new.exposure is not None:
        table, named = table.assign(e=setting.new.exposure), {"exposure": "e"}
        expected = expected * setting.new.exposure
    with duckdb.connect() as connection:
        connection.register("data", _arrow(table))
        kept = export.to_sql(setting.fitted, keep=["k"], **named)
        found = connection.execute(kept).df().sort_values("k")["prediction"]
    require(query, "no query")
    require_close(found.to_numpy(), expected, "predictions of a query")


def _arrow(table: pd.DataFrame) -> Any:
    """Missing values are NULL, in numbers as in text."""
    import pyarrow as pa

    return pa.Table.from_pandas(table, preserve_index=False, safe=True)


def python(setting: Setting) -> None:
    """Run the module of plain Python."""
    module: dict[str, Any] = {}
    exec(compile(export.to_python(setting.fitted), "score", "exec"), module)
    expected = _predicted(setting)[1]["prediction"]
    table = _table(setting)
    table = table.astype(object).where(table.notna(), None)
    found = [module["predict"](row)["prediction"] for row in table.to_dict("records")]
    require_close(found, expected, "predictions of a module")


def onnx(setting: Setting) -> None:
    """Run the graph in onnxruntime."""
    import onnxruntime

    graph = export.to_onnx(setting.fitted)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    table = _table(setting)
    kinds = {"tensor(double)": np.float64, "tensor(string)": object, "tensor(int64)": np.int64}
    feed = {}
    for entry in session.get_inputs():
        if entry.name == "X":
            feed["X"] = table.to_numpy(np.float64)
            continue
        column = table[[entry.name]]
        column = column.fillna("(missing)") if entry.type == "tensor(string)" else column
        feed[entry.name] = column.to_numpy(kinds[entry.type])
    (found,) = session.run(["prediction"], feed)
    require_close(found[:, 0], _predicted(setting)[1]["prediction"], "predictions of a graph")


def sklearn(setting: Setting) -> None:
    """Predict with an estimator of scikit-learn."""
    model = export.to_sklearn(setting.fitted)
    part = setting.new.take(np.arange(13, len(setting.new.frame)))
    expected = _own(setting, part)
    X = _table(setting, part)
    X = X.to_numpy(float) if setting.case["input"] in MATRICES else X
    require_close(np.asarray(model.predict(X)).ravel(), expected, "predictions of scikit-learn")


def _own(setting: Setting, part: Part) -> Any:
    rows = setting.given(part, setting.kind)
    return np.asarray(setting.fitted.predict(rows.X, **rows.S))


def scorecard(setting: Setting) -> None:
    """Add up points, and turn them into probabilities."""
    card = export.scorecard(setting.fitted, rounded=False)
    rows, expected = _predicted(setting)
    score = card.score(rows.X, **rows.S)
    found = card.probability(score)
    column = setting.fitted.classes_.tolist().index(card.favorable)
    require_close(found, expected["probabilities"][:, column], "probabilities of a scorecard", 1e-6)
    card.to_frame()


def reasons(setting: Setting) -> None:
    """Explain scores; the parts add up."""
    rows, _ = _predicted(setting)
    found = export.reasons(setting.fitted, rows.X, **rows.S)
    require(np.isfinite(found.contributions).all(), "reasons that are not numbers")
    found.to_frame()


def explain(setting: Setting) -> None:
    """Say where unfairness comes from, in training and on rows."""
    attribution(setting.fitted)
    rows = setting.given(setting.training, setting.kind)
    found = proxies(setting.fitted, rows.X, n_folds=2, **rows.S)
    str(found)


# ------------------------------------------------------------------ judging


def audited(setting: Setting) -> None:
    """Compare groups; missing attributes are a group of their own."""
    rows, found = _predicted(setting)
    scores = found.get("probabilities", found["prediction"])
    scores = scores[:, 1] if scores.ndim > 1 else scores
    truth = setting.new.y.get("y")
    kind = {}
    if setting.case["family"] in CLASSIFIERS:
        truth = (truth == setting.fitted.classes_[1]).astype(int)
        kind = {"kind": "classification"}
    elif truth is not None:
        kind = {"kind": "regression"}
    S, exposed = setting.new.frame[SENSITIVE], {}
    if setting.new.exposure is not None:
        scores, exposed = scores * setting.new.exposure, {"exposure": setting.new.exposure}
    result = audit(truth, scores, sensitive_features=S, **rows.weighted, **kind, **exposed)
    str(result)
    for attribute in result.attributes:
        sizes = sum(group.count for group in attribute.groups)
        require(sizes == len(scores), f"groups of {attribute.attribute} have {sizes} rows")


def chosen(setting: Setting) -> None:
    """Choose a bound by a rule on held-out rows."""
    rule = MeanGap(5.0)
    if setting.case["family"] in CLASSIFIERS:
        several = setting.case["family"] == "multinomial"
        rule = AdverseImpact(0.2, threshold=0.2, favorable="b" if several else "yes")
    rows = setting.given(setting.training)
    held = setting.given(setting.new)
    S = rows.S | {f"{name}_held": value for name, value in held.S.items()}
    others = held.weighted | held.shifted
    weight = rows.weighted | rows.shifted | {f"{k}_held": value for k, value in others.items()}
    found = choose_bound(
        setting.model(), rows.X, rows.y, held.X, held.y,
        rule=rule, confidence=0.5, unfairness=BOUNDS, **S, **weight,
    )  # fmt: skip
    require(len(found.steps) > 0, "nothing was tested")
    str(found)


def monitored(setting: Setting) -> None:
    """Watch new rows, in two batches, from a file in between."""
    rows = setting.given(setting.new, setting.kind)
    # What is bounded among rows of a class is watched once the class is known.
    known = setting.case["definition"] in ("mean-opportunity", "mean-odds")
    whole = Monitor(setting.fitted, unfairness=BOUND)
    whole.update(rows.X, **rows.fitting, y=rows.y if known else None)
    parts = Monitor(setting.fitted, unfairness=BOUND)
    half = np.arange(80)
    first, second = (setting.given(setting.new.take(k), setting.kind) for k in (half, half + 80))
    parts.update(first.X, **first.fitting, y=first.y if known else None)
    place = setting.folder / "watch.json"
    parts.save(place)
    again = Monitor.load(place, setting.fitted)
    again.update(second.X, **second.fitting, y=second.y if known else None)
    require_close(again.state.wealth, whole.state.wealth, "wealth in two batches", 1e-6)
    require(again.state.n_rows == len(setting.new.frame), "rows that were not counted")


def reported(setting: Setting) -> None:
    """Write the audit report."""
    rows = setting.given(setting.training)
    page = report(setting.fitted, rows.X, rows.y, cv=2, bootstrap=2, **rows.fitting)
    require("<html" in str(page.html).lower(), "no page")


def reported_new(setting: Setting) -> None:
    """Write the report on new rows."""
    rows = setting.given(setting.new)
    page = report(setting.fitted, rows.X, rows.y, new_rows=True, bootstrap=3, **rows.fitting)
    require("<html" in str(page.html).lower(), "no page")


def validated(setting: Setting) -> None:
    """Cross-validate over bounds."""
    rows = setting.given(setting.training)
    found = cross_validate(
        setting.model(), rows.X, rows.y, unfairness=[0.05, 0.5], cv=2, random_state=0,
        **rows.fitting,
    )  # fmt: skip
    losses = [record["loss"] for record in found.records]
    require(np.isfinite(losses).all(), "losses that are not numbers")


def compared(setting: Setting) -> None:
    """Compare the model with others."""
    rows = setting.given(setting.training)
    family = setting.case["family"]
    task = "classification" if family in CLASSIFIERS else "regression"
    options: dict[str, Any] = {}
    if setting.case["S"] == "sensitive" and setting.case["input"] != "parquet":
        named = setting.case["input"] not in MATRICES
        options["sensitive"] = SENSITIVE if named else setting.positions[1]
    if "missing" in setting.parameters:
        options["missing"] = "level"
    beside = ("sample_weight", "offset", "exposure")
    options |= {key: rows.fitting[key] for key in beside if key in rows.fitting}
    found = compare(
        rows.X, rows.y, unfairness=0.3, cv=2, models={"ours": setting.model()},
        task="survival" if family == "cox" else task, **rows.S, **options,
    )  # fmt: skip
    if "ours" in found.skipped:
        raise ValueError(found.skipped["ours"])
    require({record["model"] for record in found.records} >= {"ours"}, "our model is not there")


# ------------------------------------------------------------------ the command line


class CommandError(ValueError):
    """What a command refused, in its one line."""


def run_command(setting: Setting, *arguments: str) -> str:
    """Run a command in the folder; return what it printed."""
    from fairridge.cli import main

    out, error, here = io.StringIO(), io.StringIO(), os.getcwd()
    try:
        os.chdir(setting.folder)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = main(list(arguments))
    except Exception as escaped:  # a traceback, for a user
        raise WrongError(f"{arguments[0]}: {type(escaped).__name__}: {escaped}") from escaped
    finally:
        os.chdir(here)
    text = error.getvalue()
    require("Traceback" not in text, f"a traceback: {text[-300:]}")
    lines = [line for line in text.splitlines() if line and not line.startswith("note:")]
    if code == 2:
        require(len(lines) == 1, f"{len(lines)} lines: {text[:400]}")
        raise CommandError(f"{arguments[0]}: {lines[0]}")
    # A choice that grants nothing has a code of its own.
    allowed = (0, 3) if arguments[0] == "choose" else (0,)
    require(code in allowed, f"{arguments[0]} ended with {code}: {text[-300:]}")
    return out.getvalue()


def has_command(setting: Setting) -> bool:
    """Whether the command line has all options of a case."""
    case = setting.case
    return (
        case["input"] not in MATRICES
        and case["maps"] == "none"
        and case["definition"] not in ("variance", "combined", "function")
    )


def _of_shift(setting: Setting) -> list[str]:
    case = setting.case
    found = ["--offset", "o"] if case["offset"] == "given" else []
    return found + (["--exposure", "e"] if case["exposure"] == "given" else [])


def _of_outcome(setting: Setting) -> list[str]:
    """Name the columns of what is modeled."""
    if setting.case["family"] == "cox":
        return ["--response", "time", "--event", "event"]
    return ["--response", "y"]


def _of_data(setting: Setting) -> list[str]:
    case = setting.case
    found = ["--sensitive", ",".join(SENSITIVE), *_of_outcome(setting)]
    found += ["--weight", "w"] if case["sample_weight"] == "given" else []
    return found + _of_shift(setting)


def _of_model(setting: Setting) -> list[str]:
    case = setting.case
    family = {"probit": "binomial"}.get(case["family"], case["family"])
    found = ["--family", family, "--definition", case["definition"], "--penalty", case["penalty"]]
    found += ["--predictor-penalty", case["predictor_penalty"], "--unknown", case["unknown"]]
    found += ["--link", "probit"] if case["family"] == "probit" else []
    found += ["--blind"] if case["blind"] == "yes" else []
    found += ["--controls", "grade"] if case["controls"] == "given" else []
    found += ["--missing", "level"] if "missing" in setting.parameters else []
    found += ["--min-frequency", "6"] if case["min_frequency"] != "none" else []
    chosen = {"first": [], "named": ["job=b"]}.get(case["base"], [case["base"]])
    found += [part for one in chosen for part in ("--base", one)]
    if case["class_weight"] != "none":
        weights = setting.parameters["class_weight"]
        if weights != "balanced":
            weights = ",".join(f"{label}={weight:g}" for label, weight in weights.items())
        found += ["--class-weight", weights]
    return found


def _of_bound(setting: Setting) -> list[str]:
    bound = setting.unfairness
    if isinstance(bound, dict):
        return ["--unfairness", ",".join(f"{name}={r:g}" for name, r in bound.items())]
    return ["--unfairness", f"{bound:g}"]


def _of_confidence(setting: Setting) -> list[str]:
    chosen = setting.case["confidence"]
    return [] if chosen == "none" else ["--confidence", "0.9", "--certification", chosen]


def _files(setting: Setting) -> tuple[list[str], str]:
    """Write training and new rows; return how they are named."""
    if setting.case["input"] == "parquet":
        setting.training.whole.to_parquet(setting.folder / "one.parquet")
        setting.new.whole.to_parquet(setting.folder / "new.parquet")
        return ["one.parquet", "--stream"], "new.parquet"
    setting.training.whole.to_csv(setting.folder / "one.csv", index=False)
    setting.new.whole.to_csv(setting.folder / "new.csv", index=False)
    return ["one.csv"], "new.csv"


def command_fit(setting: Setting) -> None:
    """Fit, predict and export by command: the numbers are those of Python."""
    if not has_command(setting):
        return
    rows, new = _files(setting)
    run_command(
        setting, "fit", *rows, *_of_data(setting), *_of_model(setting), *_of_bound(setting),
        *_of_confidence(setting), "--out", "model.json",
    )  # fmt: skip
    run_command(setting, "predict", new, "--model", "model.json", "--out", "scores.csv")
    scores = pd.read_csv(setting.folder / "scores.csv")
    name = "prediction"
    require(name in scores, f"no column {name} among {list(scores)}")
    part = setting.new
    frame = part.frame
    X, S = (frame.drop(columns=SENSITIVE), {"sensitive_features": frame[SENSITIVE]}) if (
        setting.case["S"] == "sensitive_features"
    ) else (frame, {})  # fmt: skip
    if setting.case["input"] == "polars":
        import polars as pl

        X, S = pl.from_pandas(X), {k: pl.from_pandas(v) for k, v in S.items()}
    require_close(
        scores[name].to_numpy(), np.asarray(setting.fitted.predict(X, **S)), "scores", 1e-6
    )
    run_command(setting, "export", "--model", "model.json", "--to", "python", "--out", "score.py")
    several = ["--positive", "b"] if setting.case["family"] == "multinomial" else []
    several += _of_shift(setting)
    run_command(setting, "audit", new, "--model", "model.json", *_of_outcome(setting), *several)
    run_command(setting, "reasons", new, "--model", "model.json", "--out", "letters.csv")


def command_path(setting: Setting) -> None:
    """Fit a path by command."""
    if not has_command(setting):
        return
    rows, _ = _files(setting)
    run_command(
        setting, "path", *rows, *_of_data(setting), *_of_model(setting), *_of_confidence(setting),
        "--bounds", "0,0.05,1",
    )  # fmt: skip


def command_monitor(setting: Setting) -> None:
    """Watch new rows by command."""
    if not has_command(setting):
        return
    _, new = _files(setting)
    save(setting.fitted, setting.folder / "own.json")
    known = setting.case["definition"] in ("mean-opportunity", "mean-odds")
    run_command(setting, "monitor", new, "--model", "own.json", "--state", "state.json",
                "--unfairness", "0.05", *_of_shift(setting), *["--response", "y"] * known,
    )  # fmt: skip


def command_choose(setting: Setting) -> None:
    """Choose a bound by command."""
    if not has_command(setting):
        return
    rows, new = _files(setting)
    rule, more = "mean-gap:5", []
    if setting.case["family"] in CLASSIFIERS:
        several = setting.case["family"] == "multinomial"
        rule, more = "adverse-impact:0.2", ["--favorable", "b" if several else "yes"]
        more += ["--threshold", "0.2"]
    run_command(
        setting, "choose", rows[0], "--rule", rule, "--held-out", new,
        *(one for one in _of_data(setting) if one not in ("--event", "event")),
        *_of_model(setting), *more, "--bounds", "0,0.05,0.3", "--confidence", "0.5",
    )  # fmt: skip


def command_report(setting: Setting) -> None:
    """Write both reports by command."""
    if not has_command(setting):
        return
    rows, new = _files(setting)
    run_command(
        setting, "report", rows[0], *_of_data(setting), *_of_model(setting), *_of_bound(setting),
        "--cv", "2", "--bootstrap", "2",
    )  # fmt: skip
    save(setting.fitted, setting.folder / "own.json")
    run_command(
        setting, "report", new, "--model", "own.json", *_of_data(setting)[2:], "--new-rows",
        "--bootstrap", "2", "--out", "later.html",
    )  # fmt: skip


CHEAP: dict[str, Callable[[Setting], None]] = {
    "fit": fit,
    "predict": predict,
    "inference": inference,
    "certificate": certificate,
    "save": saved,
    "to_sql": sql,
    "to_python": python,
    "to_onnx": onnx,
    "to_sklearn": sklearn,
    "scorecard": scorecard,
    "reasons": reasons,
    "path": path,
    "rows twice": twice,
    "rows of a file": streamed,
    "population_unfairness": population,
    "Monitor": monitored,
    "audit": audited,
}
EXPENSIVE: dict[str, Callable[[Setting], None]] = {
    "proxies": explain,
    "choose_bound": chosen,
    "cross_validate": validated,
    "compare": compared,
    "report": reported,
    "report(new_rows=True)": reported_new,
    "fairridge fit": command_fit,
    "fairridge path": command_path,
    "fairridge monitor": command_monitor,
    "fairridge choose": command_choose,
    "fairridge report": command_report,
}
VERBS = CHEAP | EXPENSIVE
