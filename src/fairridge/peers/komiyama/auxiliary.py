"""What goes wrong when predictors are decorrelated from S by a ridge regression.

Komiyama et al. (2018) write of least squares, U = X − SB, and used a ridge in
their experiments: Ũ = X − SB̃ with B̃ = (SᵀS + λI)⁻¹SᵀX. Then Ũ = U + SΔ with
Δ = λ(SᵀS + λI)⁻¹B, so that S and Ũ are correlated, and a model that treats
them as orthogonal bounds something else than the share of S (Scutari, Panero
and Proissl 2022, section 2.2). This module only demonstrates that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import make_frame
from fairridge.models import FairBasis
from fairridge.peers.komiyama.problem import Block, place_of
from fairridge.solvers import Spectrum

# Directions with less variance than this, relative to the largest, have none.
NOISE = 1e-12


@dataclass(frozen=True)
class AuxiliaryBias:
    """Variances of the biased model, one row per penalty and one column per bound."""

    penalties: Floats  # λ of the auxiliary regression, of shape (k,)
    unfairness: Floats  # the bounds r, of shape (m,)
    # VAR(Sα) and VAR(Ũβ), of shape (k, m).
    sensitive: Floats
    predictors: Floats
    covariance: Floats  # COV(Sα, Ũβ), which the model takes for zero, of shape (k, m)
    leakage: Floats  # COV(S, Ũ): zero at λ = 0, COV(S, X) as λ → ∞, of shape (k, q, p)

    @property
    def nominal(self) -> Floats:
        """VAR(Sα) / (VAR(Sα) + VAR(Ũβ)), which the model bounds by r."""
        return self.sensitive / (self.sensitive + self.predictors)

    @property
    def actual(self) -> Floats:
        """VAR(Sα) / VAR(Sα + Ũβ), whose denominator has +2COV(Sα, Ũβ)."""
        return self.sensitive / (self.sensitive + self.predictors + 2.0 * self.covariance)

    @property
    def printed(self) -> Floats:
        """The same with −2COV(Sα, Ũβ), as the paper prints it."""
        return self.sensitive / (self.sensitive + self.predictors - 2.0 * self.covariance)

    def to_frame(self, backend: Any = None) -> Any:
        """Return one row per penalty and bound: the shares, and their ratios to the nominal one."""
        penalties, bounds = np.meshgrid(self.penalties, self.unfairness, indexing="ij")
        columns = {
            "penalty": penalties,
            "unfairness": bounds,
            "nominal": self.nominal,
            "actual": self.actual,
            "printed": self.printed,
            "ratio": self.actual / self.nominal,
            "ratio_printed": self.printed / self.nominal,
        }
        return make_frame({name: values.ravel() for name, values in columns.items()}, backend)


def auxiliary_bias(
    basis: FairBasis, penalties: Sequence[float] | Floats, unfairness: Sequence[float] | Floats
) -> AuxiliaryBias:
    """Fit the biased model for every λ of the auxiliary regression and bound r > 0."""
    penalties, bounds = np.asarray(penalties, np.float64), np.asarray(unfairness, np.float64)
    SS, Sy = basis.sensitive.scatter(), basis.sensitive.products(basis.on_sensitive[:, 0])
    UU, Uy = basis.predictors.scatter(), basis.predictors.products(basis.on_predictors[:, 0])
    n, rows, leakage = basis.weight, [], []
    for penalty in penalties.tolist():
        delta = penalty * np.linalg.solve(SS + penalty * np.eye(len(SS)), basis.B)
        leakage.append(SS @ delta / n)
        S, U = _block(SS, Sy), _block(UU + delta.T @ SS @ delta, Uy + delta.T @ Sy)
        a = float(np.linalg.norm(S.projection))
        for r in bounds.tolist():
            place = place_of(a, U, 0.0, r, 0.0)
            alpha = place.shrinkage * S.coefficients(S.projection)
            beta = U.coefficients(place.fitted)
            rows.append(
                (alpha @ SS @ alpha, place.fitted @ place.fitted, alpha @ SS @ delta @ beta)
            )
    parts = np.array(rows).reshape(len(penalties), len(bounds), 3) / n
    return AuxiliaryBias(
        penalties, bounds, parts[..., 0], parts[..., 1], parts[..., 2], np.array(leakage)
    )


def _block(scatter: Floats, products: Floats) -> Block:
    """Return columns with a given ZᵀZ and Zᵀy."""
    scale = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    kept = values > NOISE * values.max(initial=0.0)
    spectrum = Spectrum(values[kept], vectors[:, kept], scale, ())
    projection = vectors[:, kept].T @ (products / scale) / np.sqrt(values[kept])
    return Block(spectrum, projection)
