"""What an audit report says for the record."""

from __future__ import annotations

import json
import re
import sys
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.data import Levels, MappedEncoding, Table
from fairridge.estimators._model import bounded_measure
from fairridge.reports.html import Subject
from fairridge.validation.report.case import Case, Findings
from fairridge.validation.report.groups import DecisionRule, ReportRows


def case_subject(
    case: Case, name: str, audience: ReportRows, rule: DecisionRule, findings: Findings
) -> Subject:
    """Describe a model that was fitted to the rows, and how the report was made."""
    solution, mapped = case.solutions[case.chosen], case.training.design.sensitive
    seed = f"seed {audience.options.random_state}"
    more = {
        "Bound r": f"{solution.unfairness:g}",
        "Penalty λ(r)": f"{solution.fit.lambda_:.6g}",
        "Search": solution.choice.status,
        "Deviance explained, D²": f"{case.fitted.explained_deviance_:.4g}",
        "Held-out rows": f"{findings.folds} folds, {seed}" if findings.folds else "none",
        "Refits": f"{findings.refits.count}, {seed}" if findings.refits else "none",
        "Variance of S dropped by its map": (
            f"{mapped.dropped:.4g}" if isinstance(mapped, MappedEncoding) else None
        ),
        "Remarks": " ".join(case.remarks) or "none",
    }
    return subject_of(
        case.fitted,
        audience,
        rule,
        title=f"Fairness audit of a model for {name}",
        name=name,
        needs_sensitive=_needs_sensitive(case),
        rows={"Rows": case.training.n_rows},
        more=more,
    )


def subject_of(
    model: Any,
    audience: ReportRows,
    rule: DecisionRule,
    *,
    title: str,
    name: str,
    needs_sensitive: bool,
    rows: dict[str, int],
    more: dict[str, str | None] | None = None,
) -> Subject:
    """Describe a fitted model and its rows.

    Parameters
    ----------
    model : estimator
        The fitted model.
    audience, rule
        The rows, and who counts as selected.
    title, name : str
        Title unless the options have one, and name of the response.
    needs_sensitive : bool
        Whether predictions need S.
    rows : dict of str to int
        Numbers of rows for the record; the first is that of the rows shown.
    more : dict of str to str or None, optional
        What else is for the record; None says nothing.
    """
    design, table = model._fitted.design, audience.inputs.table
    family, labels, attributes = audience.family, audience.labels, audience.attributes
    names = design.names or tuple(map(table.label, range(design.n_columns)))
    record, facts = record_of(model, audience, rows) | (more or {}), model._fitted
    return Subject(
        title=audience.options.title or title,
        model=type(model).__name__,
        family=family.name,
        reads=family.reads,
        link=family.link,
        definition=bounded_measure(model).title,
        response=name,
        outcome=labels[rule.outcomes[0]] if len(labels) == 2 else "",
        n_rows=table.shape[0],
        sensitive=tuple(map(attributes.label, range(attributes.shape[1]))),
        predictors=tuple(names[k] for k in design.positions_predictors),
        needs_sensitive=needs_sensitive,
        rule=rule.words,
        favorable="" if rule.favorable is None else str(rule.favorable),
        record=tuple((label, value) for label, value in record.items() if value is not None),
        settings=tuple(
            (k, shown(value)) for k, value in sorted(facts.settings.get_params(False).items())
        ),
        versions=versions(),
    )


def record_of(model: Any, audience: ReportRows, rows: dict[str, int]) -> dict[str, str | None]:
    """Describe the rows, and the file of the model; None says nothing."""
    inputs, options = audience.given, audience.options
    vectors = audience.response.values, inputs.weight, inputs.offset
    return {
        "Source": options.source,
        "Date": options.date,
        **{label: f"{count:,}" for label, count in rows.items()},
        "Weights": "given" if inputs.weight is not None else "none",
        **_offset(audience),
        f"Fingerprint of the {next(iter(rows)).lower()} (SHA-256)": _fingerprint(
            (inputs.table, inputs.attributes), vectors
        ),
        # So that a report finds its model.
        "Fingerprint in the model file": getattr(model, "fingerprint_", None),
        **_choice(model),
    }


def _offset(audience: ReportRows) -> dict[str, str]:
    """Say what an offset is: an exposure, with the log link, or a part of every score."""
    if audience.given.offset is None:
        return {}
    if audience.exposure is None:
        return {"Offset": "given, a part of the score of every row"}
    return {"Exposure": "given: predictions and responses are compared as rates, weighted by it"}


def _choice(model: Any) -> dict[str, str]:
    """Say by what rule the bound was chosen, unless the model was fitted again since."""
    facts = dict(getattr(model, "chosen_", {}))
    if not facts or facts.pop("Fingerprint", None) != model.fingerprint_:
        return {}
    return {f"Choice of r: {name[:1].lower()}{name[1:]}": text for name, text in facts.items()}


def _needs_sensitive(case: Case) -> bool:
    """Whether any model but the fairest has a coefficient on S as it is given."""
    fits = [solution.fit for solution in case.solutions]
    raw = [case.problem.basis.raw_coefficients(fit.alpha, fit.beta) for fit in fits]
    q = len(case.training.design.sensitive.names)
    largest = max(float(np.abs(coef).max(initial=0.0)) for coef in raw)
    return any(float(np.abs(coef[..., :q]).max(initial=0.0)) > 1e-9 * largest for coef in raw)


def versions() -> tuple[tuple[str, str], ...]:
    """Return versions of the software."""
    from fairridge._version import __version__

    return (
        ("fairridge", __version__),
        ("Python", ".".join(map(str, sys.version_info[:3]))),
        *((name, version(name)) for name in ("numpy", "scipy", "scikit-learn")),
    )


def shown(value: Any) -> str:
    """Write a parameter the same way every time: without addresses in memory."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


# ----------------------------------------------------------------- fingerprint


def _fingerprint(tables: tuple[Table | None, ...], vectors: tuple[Floats | None, ...]) -> str:
    """Return a SHA-256 over names, levels and values, the same for every frame library.

    `tables` are X, and S if it came separately; `vectors` response, weights and offset.
    """
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
