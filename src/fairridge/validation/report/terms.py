"""Coefficients of an audit report: sizes, origins of dependence on S, errors, and one score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Encoding, MappedEncoding
from fairridge.data.columns import CategoricalColumn
from fairridge.data.design import ColumnProfile
from fairridge.engines import one_blas_thread, threads_for_passes
from fairridge.estimators._inferring import inference_on
from fairridge.estimators._model import Fitted
from fairridge.estimators._training import Training
from fairridge.metrics.attribution import Attribution, Proxies, lmg, proxy_terms
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.measure import attribute_owners
from fairridge.metrics.scored_rows import predicted_means
from fairridge.models import Fit
from fairridge.reports.html.contents import ScoreTerm, Scoring, Term
from fairridge.search import PenalizedProblem
from fairridge.validation.report.case import Case

# Coefficients that readers can still look at; the largest ones are shown.
MAX_TERMS = 120
MAX_REPORT_ATTRIBUTES = 8
NO_POPULATION = (
    "there is an interval for shares of the variance of scores, which this definition does not "
    "bound."
)


def coefficients_of(case: Case, labels: tuple[str, ...]) -> dict[str, Any]:
    """Return what the coefficients say, as fields of `ReportContents`."""
    fits, training = [solution.fit for solution in case.solutions], case.training
    facts = case.fitted._fitted
    blind = not facts.traits.needs_sensitive
    terms, left_out = coefficient_terms(fits, training, labels, blind=blind)
    return {
        "terms": terms,
        "left_out": left_out,
        "attribution": attributions(fits, training),
        "proxies": proxies_of(fits[-1], training),
        "scoring": scoring_of(case.fitted, facts),
    }


def coefficient_terms(
    fits: Sequence[Fit], training: Training, labels: tuple[str, ...], *, blind: bool = False
) -> tuple[tuple[Term, ...], int]:
    """Return the coefficients over the bounds, and how many were left out."""
    # Sensitive attributes come first, in their order, and then predictors by size; a model that
    # does not use S has predictors as they are, and nothing else.
    basis, design = fits[0].basis, training.design
    of_S, of_U = (
        np.sqrt(part.squares() / basis.weight) for part in (basis.sensitive, basis.predictors)
    )
    of_X = basis.predictor_deviations if blind else of_U
    outcomes = labels if len(np.atleast_2d(fits[0].beta)) > 1 else ("",)
    betas = np.array([np.atleast_2d(fit.beta) for fit in fits])
    terms = _terms(betas, of_X, design.predictors.names, outcomes, sensitive=False)
    terms.sort(key=lambda term: -float(np.abs(term.standardized).max()))
    if not blind:
        alphas = np.array([np.atleast_2d(fit.alpha) for fit in fits])
        terms = _terms(alphas, of_S, design.sensitive.names, outcomes, sensitive=True) + terms
    return tuple(terms[:MAX_TERMS]), max(0, len(terms) - MAX_TERMS)


def _terms(
    values: Floats,
    deviation: Floats,
    names: Sequence[str],
    outcomes: Sequence[str],
    *,
    sensitive: bool,
) -> list[Term]:
    """Return coefficients, of shape (bounds, outcomes, columns), one outcome after the other."""
    return [
        Term(name, outcome, sensitive, path, path * size)
        for outcome, paths in zip(outcomes, np.moveaxis(values, 0, -1), strict=True)
        for name, path, size in zip(names, paths, deviation, strict=True)
    ]


def attributions(fits: Sequence[Fit], training: Training) -> tuple[Attribution, ...]:
    """Split what S explains over attributes at every bound; nothing if S is mapped to features."""
    encoding = training.design.sensitive
    if not isinstance(encoding, Encoding) or len(encoding.columns) > MAX_REPORT_ATTRIBUTES:
        return ()
    owners, found = attribute_owners(encoding), []
    with one_blas_thread():
        for fit in (fit.given or fit for fit in fits):
            covariance = fit.basis.sensitive.scatter() / fit.basis.weight
            cross = covariance @ np.atleast_2d(fit.alpha).T
            variance = fit.sensitive_variance + fit.predictor_variance
            found.append(lmg(covariance, cross, variance, *owners))
    return tuple(found)


def proxies_of(free: Fit, training: Training) -> Proxies:
    """Return how S enters the unconstrained model through predictors other than controls."""
    design, fit = training.design, free.given or free
    basis, (owners, names) = fit.basis, _owners(training.design.predictors)
    beta, deviation = np.atleast_2d(fit.beta), basis.predictor_deviations
    if free.given is not None:
        others = free.given.basis.others.tolist()  # type: ignore[attr-defined]
        beta, owners = beta[:, others], [owners[j] for j in others]
    kept = list(dict.fromkeys(owners))
    return proxy_terms(
        basis.sensitive.scatter() / basis.weight,
        basis.B,
        np.atleast_2d(fit.alpha),
        beta,
        deviation,
        [kept.index(j) for j in owners],
        [names[j] for j in kept],
        design.sensitive.names,
        [""] * len(beta),
    )


def _owners(encoding: Encoding | MappedEncoding) -> tuple[list[int], list[str]]:
    """For each encoded column, the column that it comes from; and the names of those."""
    if isinstance(encoding, MappedEncoding):
        return list(range(len(encoding.names))), list(encoding.names)
    owners = [k for k, column in enumerate(encoding.columns) for _ in column.encoded_names]
    return owners, [column.name for column in encoding.columns]


def scoring_of(model: Any, facts: Fitted) -> Scoring | None:
    """Score a synthetic row; None if columns are mapped to features, or not known well enough."""
    # The row has medians, and the commonest level of every categorical column.
    design = facts.reads
    profiles = {profile.name: profile for profile in facts.profiles}
    columns = design.columns
    if design.is_mapped or any(column.name not in profiles for column in columns):
        return None
    if design.sensitive.inner.products:  # terms of a row are then not those of single columns
        return None
    order = design.input_order
    values = np.array([x for column in columns for x in _encoded(column, profiles)])[order]
    coefficients = np.atleast_2d(model.coef_)
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    eta = intercept + coefficients @ values
    names = [design.encoded_names[k] for k in order]
    return Scoring(
        ("",) if len(coefficients) == 1 else tuple(map(str, model.classes_)),
        intercept,
        tuple(map(ScoreTerm, names, coefficients.T, values.tolist())),
        tuple(
            (column.name, str(column.levels[column.base]))
            for column in columns
            if isinstance(column, CategoricalColumn)
        ),
        tuple((column.name, profiles[column.name].typical) for column in columns),
        eta,
        predicted_means(model.family_, eta[None, :])[0],
    )


def _encoded(column: Any, profiles: dict[str, ColumnProfile]) -> list[float]:
    """Encode what is typical of a column."""
    typical = profiles[column.name].typical
    if isinstance(column, CategoricalColumn):
        others = (level for k, level in enumerate(column.levels) if k != column.base)
        return [float(str(level) == typical) for level in others]
    # A number that may be missing has a second column, which is 1 where it is.
    return [float(typical), *(0.0 for _ in column.encoded_names[1:])]


def inference_of(case: Case) -> dict[str, Any]:
    """Return standard errors and the interval of unfairness, or why there are none."""
    # They are fields of `ReportContents`.
    model = case.fitted
    known: dict[str, Any] = {"certificate": case.solutions[case.chosen].certificate}
    if not hasattr(type(model), "inference"):
        return known | {"no_inference": f"{type(model).__name__} has no standard errors."}
    response = case.training.response
    if response.each:
        return known | {"no_inference": "there are standard errors of models with one bound only."}
    if response.family.reads == "numbers" and np.ptp(response.values[:, 0]) == 0.0:
        return known | {"no_inference": "the response is constant, and nothing explains it."}
    try:
        with threads_for_passes(case.training.engine, case.training.response.family):
            inference = inference_on(model, case.training, cast(PenalizedProblem, case.problem))
    except ValueError as error:
        return known | {"no_inference": f"{' '.join(str(error).split()).rstrip('.')}."}
    known["inference"] = inference
    try:
        population = inference.population_unfairness(model.confidence or CONFIDENCE)
    except ValueError:  # its message is for programmers
        return known | {"no_population": NO_POPULATION}
    return known | {"population": population}
