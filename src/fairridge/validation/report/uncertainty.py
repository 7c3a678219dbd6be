"""Standard errors of the chosen model of an audit report, in one more pass."""

from __future__ import annotations

from typing import Any, cast

from fairridge.engines import threads_for_passes
from fairridge.estimators._inferring import inference_on
from fairridge.inference import Estimates, Inference
from fairridge.reports.html import CoefficientError, Uncertainty
from fairridge.search import PenalizedProblem
from fairridge.validation.report.case import Case

__all__ = ["uncertainty_of"]

LEVEL = 0.95


def uncertainty_of(case: Case) -> Uncertainty:
    """Return standard errors and the interval of unfairness, or why there are none."""
    model, certificate = case.fitted, case.solutions[case.chosen].certificate
    if not hasattr(type(model), "inference"):
        reason = f"{type(model).__name__} has no standard errors."
        return Uncertainty(reason, certificate=certificate)
    try:
        with threads_for_passes(case.training.engine, case.training.response.family):
            found = inference_on(model, case.training, cast(PenalizedProblem, case.problem))
    except ValueError as error:
        return Uncertainty(_line(error), certificate=certificate)
    population, reason = _population(found, model.confidence or LEVEL)
    return Uncertainty(
        "",
        LEVEL,
        found.facts.covariance,
        _errors(found.fair, found.facts.df),
        _errors(found.raw, found.facts.df),
        population,
        reason,
        certificate,
    )


def _population(found: Inference, confidence: float) -> tuple[Any, str]:
    try:
        return found.population_unfairness(confidence), ""
    except ValueError as error:
        return None, _line(error)


def _errors(estimates: Estimates, df: float | None) -> dict[str, CoefficientError]:
    ends, errors = estimates.interval(LEVEL, df), estimates.standard_errors
    return {
        name: CoefficientError(float(error), float(low), float(high))
        for name, error, (low, high) in zip(estimates.names, errors, ends, strict=True)
    }


def _line(error: ValueError) -> str:
    """Write a reason as one sentence of a paragraph."""
    text = " ".join(str(error).split())
    return text if text.endswith(".") else f"{text}."
