"""Coefficients of an audit report, and where dependence on S comes from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairridge.data import Encoding
from fairridge.engines import one_blas_thread
from fairridge.estimators._training import Training
from fairridge.metrics import Attribution, Proxies, lmg, proxy_terms
from fairridge.models import Fit
from fairridge.reports.html import Predictor, Term

__all__ = ["attributions", "coefficient_terms", "known_of_predictors"]


# Coefficients that readers can still look at; the largest ones are shown.
MOST_TERMS = 120
MOST_ATTRIBUTES = 8


def coefficient_terms(
    fits: Sequence[Fit], training: Training, labels: tuple[str, ...]
) -> tuple[tuple[Term, ...], int]:
    """Return the coefficients over the bounds, and how many were left out.

    Sensitive attributes come first, in their order, and then predictors by size.
    """
    basis, design = fits[0].basis, training.design
    alpha = np.array([np.atleast_2d(fit.alpha) for fit in fits])
    beta = np.array([np.atleast_2d(fit.beta) for fit in fits])
    several = alpha.shape[1] > 1
    terms = []
    for values, spectrum, names, sensitive in (
        (alpha, basis.sensitive, design.sensitive.names, True),
        (beta, basis.predictors, design.predictors.names, False),
    ):
        deviation = np.sqrt(spectrum.squares() / basis.weight)
        terms += [
            Term(
                name,
                labels[k] if several else "",
                sensitive,
                values[:, k, j],
                values[:, k, j] * deviation[j],
            )
            for k in range(values.shape[1])
            for j, name in enumerate(names)
        ]
    size = [0.0 if one.sensitive else float(np.abs(one.standardized).max()) for one in terms]
    order = sorted(range(len(terms)), key=lambda k: (not terms[k].sensitive, -size[k]))
    terms = [terms[k] for k in order]
    return tuple(terms[:MOST_TERMS]), max(0, len(terms) - MOST_TERMS)


def attributions(fits: Sequence[Fit], training: Training) -> tuple[Attribution, ...]:
    """Split R²_S over attributes at every bound; nothing where S is mapped to features."""
    encoding = training.design.sensitive
    if not isinstance(encoding, Encoding) or len(encoding.columns) > MOST_ATTRIBUTES:
        return ()
    players, names = _owners(encoding)
    basis = fits[0].basis
    covariance = basis.sensitive.scatter() / basis.weight
    with one_blas_thread():
        return tuple(
            lmg(
                covariance,
                covariance @ np.atleast_2d(fit.alpha).T,
                fit.sensitive_variance + fit.predictor_variance,
                players,
                names,
            )
            for fit in fits
        )


def known_of_predictors(free: Fit, training: Training) -> tuple[Predictor, ...]:
    """How much S explains of each predictor, most first."""
    found = _proxies(free, training)
    order = np.argsort(-found.explained, kind="stable")
    single = len(found.labels) == 1
    return tuple(
        Predictor(
            found.predictors[k],
            float(found.explained[k]),
            float(found.shares[0, k]) if single else float("nan"),
        )
        for k in order
    )


def _proxies(fit: Fit, training: Training) -> Proxies:
    basis, encoding = fit.basis, training.design.predictors
    covariance = basis.sensitive.scatter() / basis.weight
    if isinstance(encoding, Encoding):
        players, names = _owners(encoding)
    else:
        players, names = list(range(len(encoding.names))), list(encoding.names)
    alpha, beta = np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)
    return proxy_terms(
        covariance,
        basis.B,
        alpha,
        beta,
        basis.deviations[len(covariance) :],
        players,
        names,
        training.design.sensitive.names,
        [""] * len(alpha),
    )


def _owners(encoding: Encoding) -> tuple[list[int], list[str]]:
    """For each encoded column, the column that it comes from; and the names of those."""
    owners = [k for k, column in enumerate(encoding.columns) for _ in column.encoded_names]
    return owners, [column.name for column in encoding.columns]
