"""Parity among people with equal controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness.base import Definition, is_variance_share, share
from fairridge.fairness.scatter_shares import explained_by_sensitive
from fairridge.models import Fit, Isolation
from fairridge.solvers.spectrum import whitening


@dataclass(frozen=True)
class GivenControls(Definition):
    """Share of S in what a model explains beyond the controls C."""

    # With tildes for residuals on [1, C], η = intercept + Cζ + S̃α + Ũβ and the share is that of S̃
    # in S̃α + Ũβ: of variance VAR(S̃α)/(VAR(S̃α) + VAR(Ũβ)), the partial R² of η on S, or of
    # deviance (D(α, β, ζ) − D(0, β, ζ)) / (D(α, β, ζ) − D(0, 0, ζ)). Under mean parity it is the
    # partial R² of the predicted means: ãᵀΣ̃⁻¹ã / VAR(μ̃), with ã = COV(S̃, μ) and Σ̃ = VAR(S̃).

    definition: Definition  # which share

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"{self.definition.name} given controls"

    # What is bounded is the same, of a model in residuals on the controls.
    certifiable = delegated("definition.certifiable")
    means = delegated("definition.means")
    needs_only_moments = delegated("definition.needs_only_moments")
    not_certifiable_because = delegated("definition.not_certifiable_because")
    penalizes_means = delegated("definition.penalizes_means")
    per_attribute = delegated("definition.per_attribute")
    require = delegated("definition.require")
    within_space = delegated("definition")

    def value(self, fit: Fit) -> float:
        """Return the share of S̃."""
        return self.definition.value(_given(fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the conditional shares, R² without controls, and the share of C explained by S."""
        # R² is of the predicted means on S, if these are bounded, else of η.
        if self.penalizes_means:
            whole = self.definition.value(fit)
        else:
            whole = share(fit.sensitive_variance, fit.sensitive_variance + fit.predictor_variance)
        explained = fit.basis.explained[list(fit.controls)]
        return self.definition.components(_given(fit)) | {
            "r_squared_unconditional": whole,
            "controls_explained_by_sensitive": float(explained.mean()),
        }

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return the partial R² of the means, or of η, on S given C."""
        if self.penalizes_means and not fit.family.least_squares:  # means are not η
            return self.definition.held_out(_given(fit), engine, scatter, q, m, adjusted=adjusted)
        return share_of_predictor(fit, engine, fit.controls, adjusted=adjusted)

    def on_all_rows(self, fit: Fit, isolation: Isolation) -> float:
        """Return the share of S̃ on more rows; a partial R² of η, if variances are compared."""
        if is_variance_share(self.definition, fit.family):
            return share_of_predictor(fit, isolation.all_rows, fit.controls)
        return self.definition.value(_given(fit).on(isolation.all_rows))


def share_of_predictor(
    fit: Fit, engine: Engine, controls: Sequence[int] = (), *, adjusted: bool = False
) -> float:
    """Return R² of η on S in other rows, from their moments; the partial R², given controls."""
    moments, q = engine.moments(), fit.alpha.shape[-1]
    raw = np.atleast_2d(fit.basis.raw_coefficients(fit.alpha, fit.beta))
    columns = np.zeros((len(moments.mean), q + len(raw)))
    columns[:q, :q] = np.eye(q)
    columns[: raw.shape[1], q:] = raw.T
    C = q + np.array(controls, dtype=np.intp)
    root = whitening(moments.scatter[np.ix_(C, C)]) if C.size else np.zeros((0, 0))
    cross = root @ moments.scatter[C] @ columns
    residual = columns.T @ moments.scatter @ columns - cross.T @ cross
    n_rows = moments.n_rows - len(root) if adjusted else None
    return explained_by_sensitive(residual, q, len(raw), n_rows)


def _given(fit: Fit) -> Fit:
    """Return a model in residuals on its controls."""
    if fit.given is None:
        raise TypeError("a bound given controls is for models that were fitted with controls.")
    return fit.given
