"""Fits whose bound holds in the population, with a given confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import is_number
from fairridge.engines import Engine, in_memory
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning
from fairridge.inference import Certificate, certify_each, held_out_test, require_share
from fairridge.search import PenalizedProblem, Solution


def check_certification(model: Any) -> None:
    """Refuse settings that have no certificate."""
    confidence = model.confidence
    if not is_number(confidence) or not 0.0 < confidence < 1.0:
        raise ValueError(
            f"confidence={confidence!r} must lie strictly between 0 and 1, or be None."
        )
    if isinstance(model.unfairness, Mapping):
        raise ValueError(
            "confidence is for one bound; bounds by attribute have no certificate. Give one "
            "number as unfairness, or leave confidence out."
        )


def set_aside(model: Any, training: Training) -> Training:
    """Keep rows from the fit, if the bound is to be tested on them."""
    if model.confidence is None or model.certification != "held-out":
        return training
    reason = ""
    if not in_memory(training.engine):
        reason = "needs the rows in memory"
    elif training.unmapped is not None:
        reason = "has no version for predictor_map and sensitive_map, which are fitted to all rows"
    if reason:
        raise ValueError(f"certification='held-out' {reason}; use certification='auto'.")
    n = training.n_rows
    order = np.random.default_rng(model.random_state).permutation(n)
    held_out, kept = (np.sort(part) for part in np.split(order, [n // 2]))
    if min(len(kept), len(held_out)) < 2:
        raise ValueError(f"certification='held-out' needs at least four rows, not {n}.")
    return replace(
        training,
        engine=training.engine_on(kept),
        n_rows=len(kept),
        held_out=training.engine_on(held_out),
        kept=kept if isinstance(training.kept, slice) else training.kept[kept],
    )


def certified_solutions(
    model: Any, problem: PenalizedProblem, bounds: Floats, held_out: Engine | None
) -> list[Solution]:
    """Find the models whose bounds hold in the population; the fairest if none is certified."""
    confidence = float(model.confidence)
    if model.certification == "held-out":
        if held_out is None:
            raise ValueError(
                "certification='held-out' keeps half of the rows from the fit, which "
                "cross-validation and reports do not; use certification='auto' there."
            )
        require_share(problem)
        each = [held_out_test(problem, float(r), held_out, confidence) for r in bounds]
    else:
        certificates = certify_each(problem, bounds, confidence)
        training_bounds = np.array([certificate.training_bound for certificate in certificates])
        solutions = problem.solve(np.concatenate([training_bounds, bounds]))
        fitted, plain = solutions[: len(bounds)], solutions[len(bounds) :]
        each = list(zip(fitted, plain, certificates, strict=True))
    certified = [_with_certificate(*one, problem.null_deviance) for one in each]
    _warn_of_certificates([solution.certificate for solution in certified])
    return certified


def _with_certificate(
    solution: Solution, plain: Solution, certificate: Certificate, null_deviance: float
) -> Solution:
    """Attach a certificate and its price; it is not granted if the search missed its model."""
    if solution.choice.met and plain.choice.met and null_deviance > 0.0:
        more = (solution.fit.deviance - plain.fit.deviance) / null_deviance
        certificate = replace(certificate, price=max(float(more), 0.0))
    if not solution.choice.met:
        certificate = replace(certificate, granted=False, rows_needed=None)
    return replace(solution, unfairness=certificate.bound, certificate=certificate)


def _warn_of_certificates(certificates: list[Any]) -> None:
    """Warn of bounds that are not certified, with what would help, or that may not hold."""
    missing = [one for one in certificates if not one.granted and one.bound]
    doubtful = [one for one in certificates if one.granted and one.warning is not None]
    if missing:
        first = missing[0]
        several = f" (nor are {len(missing) - 1} other bounds)" if len(missing) > 1 else ""
        warn_user(
            f"unfairness={first.bound:g} is not certified with confidence {first.confidence:g}"
            f"{several}: {_what_helps(first)}.",
            BoundWarning,
        )
    if doubtful:
        warn_user(
            f"the certificate of unfairness={doubtful[0].bound:g} may not hold: "
            f"{doubtful[0].warning}.",
            BoundWarning,
        )


def _what_helps(certificate: Certificate) -> str:
    """Say why a bound is not certified, what would help, and which model was fitted."""
    if certificate.warning is not None:
        return f"{certificate.warning}. The model is the fit at r = 0"
    remedy = (
        "no known sample size suffices; raise the bound"
        if certificate.rows_needed is None
        else f"about {certificate.rows_needed:,} rows are needed, and there are "
        f"{certificate.n_rows:,}; collect more rows, or raise the bound"
    )
    return (
        f"{remedy}. The model is the fit at r = 0, whose unfairness in the population may be up "
        f"to {certificate.upper:.3g}"
    )


def warn_of_dependent_rows(model: Any) -> None:
    """Warn that a certificate does not hold for rows in clusters."""
    certificate = model.certificate_
    if certificate is not None and certificate.granted:
        warn_user(
            f"the certificate of unfairness={certificate.bound:g} takes rows to be independent of "
            "each other, and does not hold for rows in clusters; fit the model to one row of each "
            "cluster, or leave confidence out.",
            BoundWarning,
        )


def certificate_facts(certificate: Certificate | None) -> dict[str, str]:
    """Return labels and values for a certificate in a summary."""
    if certificate is None:
        return {}
    word = "granted" if certificate.granted else "not granted"
    price = "not known" if certificate.price is None else f"{certificate.price:.4f} of D²"
    return {
        f"Certificate ({certificate.confidence:g})": word,
        "Bound in training": f"{certificate.training_bound:.6g}",
        "Price of the certificate": price,
        "In the population up to": f"{certificate.upper:.6g}",
        "Certified by": certificate.method,
    }
