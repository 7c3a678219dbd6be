"""What an audit report says for the record."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from fairridge._typing import Floats
from fairridge.data import Levels, MappedEncoding, Table, as_table
from fairridge.estimators._model import Fitted, bound_text
from fairridge.estimators._responses import Inputs
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.reports.html.contents import Refits, Subject
from fairridge.validation.report.case import Case
from fairridge.validation.report.groups import DecisionRule
from fairridge.validation.report.rows import ReportRows, ReportSettings
from fairridge.validation.scored_model import PassedRows, ScoredModel


def case_record(
    case: Case, n_folds: int, refits: Refits | None, seed: int
) -> dict[str, str | None]:
    """Say for the record how a model was fitted to the rows, and how the report was made."""
    solution, mapped = case.solutions[case.chosen], case.training.design.sensitive
    return {
        "Bound r": bound_text(case.model.unfairness),
        "Penalty λ(r)": f"{solution.fit.lambda_:.6g}",
        "Search": solution.choice.status,
        "Deviance explained, D²": f"{case.fitted.explained_deviance_:.4g}",
        "Held-out rows": f"{n_folds} folds, seed {seed}" if n_folds else "none",
        "Refits": f"{refits.count}, seed {seed}" if refits else "none",
        "Variance of S dropped by its map": (
            f"{mapped.dropped:.4g}" if isinstance(mapped, MappedEncoding) else None
        ),
        "Remarks": " ".join(case.remarks) or "none",
    }


def subject_of(
    model: ScoredModel,
    shown: ReportRows,
    rule: DecisionRule,
    options: ReportSettings,
    what: str,
    n_rows: dict[str, int],
    more: dict[str, str | None] | None = None,
) -> Subject:
    """Describe a fitted model and its rows."""
    # `rule` says who counts as selected, and `what` which kind of page it is. Of the numbers of
    # rows for the record the first is that of the rows shown; of `more` for it None says nothing.
    assert shown.rows.attributes is not None
    linear, family, measure = model.linear, model.family, model.measure
    facts = None if linear is None else linear._fitted
    name, labels = options.response or "the response", shown.rows.labels
    sensitive = shown.rows.attributes.labels
    record = _record(linear, shown, options, n_rows) | (more or {})
    settings = (model.given if facts is None else facts.settings).get_params(False)
    return Subject(
        title=options.title or f"{what} of a model for {name}",
        model=_title(model.given, model.name) if linear is None else type(linear).__name__,
        family=family.reads if linear is None else family.name,
        reads=family.reads,
        link=family.link,
        definition="" if measure is None else measure.title,
        response=name,
        outcome=labels[rule.outcomes[0]] if len(labels) == 2 else "",
        n_rows=next(iter(n_rows.values())),
        sensitive=sensitive,
        predictors=_predictors(facts, shown.inputs, sensitive),
        needs_sensitive=model.reads_sensitive if facts is None else facts.traits.needs_sensitive,
        rule=rule.words,
        favorable="" if rule.favorable is None else str(rule.favorable),
        record=tuple((label, value) for label, value in record.items() if value is not None),
        settings=tuple((key, written(value)) for key, value in sorted(settings.items())),
        versions=versions(),
    )


def of_stack(model: ScoredModel, given: PassedRows, subject: Subject) -> Subject:
    """Say what a stacked model reads, and what its layer makes of it; other models stay."""
    if model.kind != "stacked":
        return subject
    table = as_table(model.after_steps(given).X)
    names = table.labels
    learners = "every row has the score of learners that were fitted to other rows"
    if model.last.prefit:
        learners = "they were fitted before"
    return replace(
        subject,
        model=model.name,
        predictors=tuple(name for name in names if name not in subject.sensitive),
        features=subject.predictors,
        held_out="Only the layer is refitted without the rows that are held out. Its learners are "
        f"not: {learners}.",
    )


def _title(given: Any, name: str) -> str:
    """Name a model of another library, with its pipeline."""
    if not isinstance(given, Pipeline):
        return name
    return f"Pipeline of {len(given.steps)} steps, with {name}"


def _predictors(
    facts: Fitted | None, inputs: Inputs | None, sensitive: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names of the columns of X that are not sensitive."""
    names = () if inputs is None else inputs.table.labels
    if facts is None:
        return tuple(name for name in names if name not in sensitive)
    known = facts.design.names or names
    return tuple(known[k] for k in facts.design.positions_predictors)


def _record(
    linear: Any, shown: ReportRows, options: ReportSettings, n_rows: dict[str, int]
) -> dict[str, str | None]:
    """Describe the rows, and the file of the model; None says nothing."""
    fingerprint, inputs = "none: the rows are not in memory", shown.inputs
    if inputs is not None:
        vectors = shown.rows.response, inputs.weight, inputs.offset
        fingerprint = _fingerprint((inputs.table, inputs.attributes), vectors)
    return {
        "Source": options.source,
        "Date": options.date,
        **{label: f"{count:,}" for label, count in n_rows.items()},
        "Weights": "given" if shown.weighted else "none",
        **_offset(shown.rows),
        f"Fingerprint of the {next(iter(n_rows)).lower()} (SHA-256)": fingerprint,
        # So that a report finds its model.
        "Fingerprint in the model file": getattr(linear, "fingerprint_", None),
        **_choice(linear),
    }


def _offset(rows: ScoredRows) -> dict[str, str]:
    """Say what an offset is: an exposure, with the log link, or a part of every score."""
    if rows.exposure is not None:
        words = "given: predictions and responses are compared as rates, weighted by it"
        return {"Exposure": words}
    return {} if rows.offset is None else {"Offset": "given, a part of the score of every row"}


def _choice(model: Any) -> dict[str, str]:
    """Say by what rule the bound was chosen, unless the model was fitted again since."""
    facts = dict(getattr(model, "chosen_", {}))
    if not facts or facts.pop("Fingerprint", None) != model.fingerprint_:
        return {}
    return {f"Choice of r: {name[:1].lower()}{name[1:]}": text for name, text in facts.items()}


def versions() -> tuple[tuple[str, str], ...]:
    """Return versions of the software."""
    from fairridge._version import __version__

    return (
        ("fairridge", __version__),
        ("Python", ".".join(map(str, sys.version_info[:3]))),
        *((name, version(name)) for name in ("numpy", "scipy", "scikit-learn")),
    )


def written(value: Any) -> str:
    """Write a parameter the same way every time: without addresses in memory."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


# ----------------------------------------------------------------- fingerprint


def _fingerprint(tables: tuple[Table | None, ...], vectors: tuple[Floats | None, ...]) -> str:
    """Return a SHA-256 over names, levels and values, the same for every frame library."""
    # `tables` are X, and S if it came separately; `vectors` response, weights and offset.
    digest = sha256()
    for table in tables:
        for position in range(0 if table is None else table.shape[1]):
            assert table is not None
            digest.update(_header(table.label(position)))
            digest.update(_column(table.column(position)))
        digest.update(b"|")
    for vector in vectors:
        digest.update(b"" if vector is None else _numbers(vector))
        digest.update(b"|")
    return digest.hexdigest()


def _column(column: NDArray[Any] | Levels) -> bytes:
    if not isinstance(column, Levels):
        return _numbers(column)
    # Only levels that occur: text and categorical columns with the same values are the same data.
    present, codes = np.unique(column.codes, return_inverse=True)
    levels = [str(column.levels[code]) for code in present]
    order = np.argsort(levels, kind="stable")
    rank = np.argsort(order).astype("<i8")
    return _header([levels[k] for k in order]) + rank[codes].tobytes()


def _numbers(values: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def _header(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"
