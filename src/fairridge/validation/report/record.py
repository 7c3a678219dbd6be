"""What an audit report says for the record."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from typing import Any

import numpy as np

from fairridge.data import MappedEncoding, name_of
from fairridge.estimators._training import Training
from fairridge.reports.html import Subject
from fairridge.validation.report.case import Case, Found, ReportOptions, class_labels
from fairridge.validation.report.fingerprint import fingerprint
from fairridge.validation.report.groups import Rule

__all__ = ["settings_of", "subject_of", "versions"]


def subject_of(case: Case, y: Any, options: ReportOptions, rule: Rule, found: Found) -> Subject:
    """Describe the model, its data and how the report was made."""
    design, response = case.training.design, case.training.response
    source = case.inputs.table if case.inputs.attributes is None else case.inputs.attributes
    name = options.response or name_of(y) or "the response"
    labels = class_labels(case)
    return Subject(
        title=options.title or f"Fairness audit of a model for {name}",
        model=type(case.model).__name__,
        family=response.family.name,
        reads=response.family.reads,
        link=response.family.link,
        definition=str(case.model._traits.definition.name),
        response=name,
        outcome=labels[rule.outcomes[0]] if len(labels) == 2 else "",
        n_rows=case.training.n_rows,
        sensitive=tuple(source.label(k) for k in design.positions_sensitive),
        predictors=tuple(case.inputs.table.label(k) for k in design.positions_predictors),
        needs_sensitive=_needs_sensitive(case),
        rule=rule.words,
        favorable="" if rule.favorable is None else str(rule.favorable),
        record=_record(case, options, found),
        settings=settings_of(case.model),
        versions=versions(),
    )


def _needs_sensitive(case: Case) -> bool:
    """Whether any model but the fairest has a coefficient on S as it is given."""
    fits = [solution.fit for solution in case.solutions]
    raw = [case.problem.basis.raw_coefficients(fit.alpha, fit.beta) for fit in fits]
    q = len(case.training.design.sensitive.names)
    largest = max(float(np.abs(one).max(initial=0.0)) for one in raw)
    return any(float(np.abs(one[..., :q]).max(initial=0.0)) > 1e-9 * largest for one in raw)


def _record(case: Case, options: ReportOptions, found: Found) -> tuple[tuple[str, str], ...]:
    inputs, solution = case.inputs, case.solutions[case.chosen]
    digest = fingerprint(
        (inputs.table, inputs.attributes),
        (case.training.response.values, inputs.weight, inputs.offset),
    )
    seed = f"seed {options.random_state}"
    record = {
        "Source": options.source,
        "Date": options.date,
        "Rows": f"{case.training.n_rows:,}",
        "Weights": "given" if inputs.weight is not None else "none",
        "Offset": "given" if inputs.offset is not None else None,
        "Fingerprint of the rows (SHA-256)": digest,
        # So that a report finds its model.
        "Fingerprint in the model file": str(case.fitted.fingerprint_),
        "Bound r": f"{solution.unfairness:g}",
        "Penalty λ(r)": f"{solution.fit.lambda_:.6g}",
        "Search": solution.choice.status,
        "Deviance explained, D²": f"{case.fitted.explained_deviance_:.4g}",
        "Held-out rows": f"{found.folds} folds, {seed}" if found.folds else "none",
        "Refits": f"{found.refits.count}, {seed}" if found.refits else "none",
        "Variance of S dropped by its map": _dropped(case.training),
        "Remarks": " ".join(case.remarks) or "none",
    }
    return tuple((label, value) for label, value in record.items() if value is not None)


def _dropped(training: Training) -> str | None:
    mapped = training.design.sensitive
    return f"{mapped.dropped:.4g}" if isinstance(mapped, MappedEncoding) else None


def settings_of(model: Any) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a model as text."""
    return tuple((key, _shown(value)) for key, value in sorted(model.get_params(False).items()))


def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the software."""
    from fairridge._version import __version__

    others = ("numpy", "scipy", "scikit-learn")
    return (
        ("fairridge", __version__),
        ("Python", ".".join(map(str, sys.version_info[:3]))),
        *((name, version(name)) for name in others),
    )


def _shown(value: Any) -> str:
    """Write a parameter the same way every time: without addresses in memory."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
