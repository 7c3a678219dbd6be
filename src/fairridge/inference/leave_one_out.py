"""Leave-one-out errors of gaussian models in closed form.

α comes from a ridge of y on [1, S], and β, since U is what [1, S] leaves of X,
from one of y on [1, S, X] that penalizes X alone. Leaving row i out changes
the coefficients of a ridge along its own row (Allen 1974), so that, with

    hᵢ = wᵢ(1/W + sᵢᵀ(SᵀS + λK)⁻¹sᵢ),  h⁰ᵢ the same at λ = 0,  gᵢ = wᵢuᵢᵀ(UᵀU + λ₂I)⁻¹uᵢ,

the first misses yᵢ by eᵢ/(1 − hᵢ), e its residuals, and the second gives
uᵢᵀβ₋ᵢ = uᵢᵀβ − gᵢe⁰ᵢ/(1 − h⁰ᵢ − gᵢ), e⁰ its residuals. Decorrelated by the
other rows, row i has uᵢ/(1 − h⁰ᵢ) in place of uᵢ. So the model of all other rows
misses yᵢ by

    eᵢ/(1 − hᵢ) − [uᵢᵀβ − gᵢe⁰ᵢ/(1 − h⁰ᵢ − gᵢ)]/(1 − h⁰ᵢ),

exactly, with centers, B and all coefficients of the other rows. What stays fixed are
the two penalties: λ(r), λ₂, and the scales that they see columns on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.models import Fit
from fairridge.penalties import Penalty
from fairridge.search.gaussian import GaussianProblem
from fairridge.solvers import Spectrum
from fairridge.solvers.spectrum import RANK_TOLERANCE


def leave_one_out(fits: Sequence[tuple[GaussianProblem, Fit]]) -> Floats:
    """Return the sums of weighted squared errors of several models in one pass over their rows."""
    # A row that any of them fits perfectly, such as the only one of a level of S, counts in none.
    problem = fits[0][0]
    basis = problem.space.basis
    shrunk = [
        _shrinkage(basis.sensitive, model.settings.penalty, fit.lambda_) for model, fit in fits
    ]
    eigenvalues = basis.predictors.eigenvalues[:, None]
    sums = _LeftOut(
        weight=basis.weight,
        mean=float(basis.center_targets[0]),
        B=basis.B,
        rotations=(basis.sensitive.to_orthonormal, basis.predictors.to_orthonormal),
        of_sensitive=np.array(shrunk),
        of_predictors=eigenvalues
        / (eigenvalues + [model.settings.predictor_penalty for model, _ in fits]),
        on_sensitive=basis.on_sensitive[:, 0],
        on_predictors=basis.on_predictors[:, 0],
    )
    errors: Floats = problem.engine.sum_over_columns(sums, basis.center)
    return errors


def _shrinkage(spectrum: Spectrum, penalty: Penalty, lambda_: float) -> Floats:
    """Return F with PᵀSα(λ) = F·Pᵀy, one column per direction of S."""
    if np.isinf(lambda_):
        return np.zeros((spectrum.rank, spectrum.rank))
    columns = [
        spectrum.rotate(
            spectrum.original(penalty.coefficients(spectrum, direction, np.array([lambda_])))
        )
        for direction in np.eye(spectrum.rank)
    ]
    return np.array(columns).reshape(spectrum.rank, spectrum.rank).T


@dataclass(frozen=True)
class _LeftOut:
    """Sums over a block of rows, one per model; P and Q are the rows of S and U as orthonormal."""

    weight: float
    mean: float
    B: Floats
    rotations: tuple[Floats, Floats]
    of_sensitive: Floats
    of_predictors: Floats
    on_sensitive: Floats
    on_predictors: Floats

    def __call__(self, y: Floats, Z: Floats, weight: Floats, offset: Floats | None) -> Floats:
        q, w = len(self.B), weight[:, None]
        P, Q = Z[:, :q] @ self.rotations[0], (Z[:, q:] - Z[:, :q] @ self.B) @ self.rotations[1]
        centered, by_predictors = (
            y[:, :1] - self.mean,
            Q @ (self.of_predictors * self.on_predictors[:, None]),
        )
        error = centered - P @ (self.of_sensitive @ self.on_sensitive).T
        free = centered - P @ self.on_sensitive[:, None] - by_predictors
        others = 1.0 - w / self.weight
        left = others - w * np.einsum("ij,mjk,ik->im", P, self.of_sensitive, P)
        left_free = others - w * (P * P).sum(axis=1, keepdims=True)
        of_u = w * ((Q * Q) @ self.of_predictors)
        # The last is the smallest of the three.
        # A row that leaves the others nothing has a level or a direction of its own: the model
        # without it cannot predict it.
        counted = (left_free - of_u).min(axis=1) > RANK_TOLERANCE
        with np.errstate(divide="ignore", invalid="ignore"):
            missed = error / left - (by_predictors - of_u * free / (left_free - of_u)) / left_free
        return np.asarray(weight[counted] @ missed[counted] ** 2)
