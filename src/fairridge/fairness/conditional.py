"""Statistical parity among people who are alike in controls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness.base import Definition, share
from fairridge.models import ConditionalFit, Fit
from fairridge.solvers.shares import explained_by_sensitive, whitening

__all__ = ["GivenControls"]


@dataclass(frozen=True)
class GivenControls(Definition):
    """Share of S in what a model explains beyond the controls C.

    With tildes for residuals on [1, C], η = level + Cζ + S̃α + Ũβ and the share
    is that of S̃ in S̃α + Ũβ: of variance VAR(S̃α)/(VAR(S̃α) + VAR(Ũβ)), the
    partial R² of η on S, or of deviance (D(α, β, ζ) − D(0, β, ζ)) /
    (D(α, β, ζ) − D(0, 0, ζ)).

    Parameters
    ----------
    definition : Definition
        Which share.
    """

    definition: Definition

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return self.definition.name.replace("statistical", "conditional")

    @property
    def needs_only_moments(self) -> bool:
        """Whether a least-squares model needs only the moments of [S, X, y]."""
        return self.definition.needs_only_moments

    def value(self, fit: Fit) -> float:
        """Return the share of S̃."""
        return self.definition.value(_conditional(fit).given)

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the conditional shares, R² of η on S, and the share of C that S explains."""
        found = _conditional(fit)
        whole = share(fit.sensitive_variance, fit.sensitive_variance + fit.predictor_variance)
        explained = fit.basis.explained[list(found.controls)]
        return self.definition.components(found.given) | {
            "r_squared_unconditional": whole,
            "controls_explained_by_sensitive": float(explained.mean()),
        }

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return the partial R² of η on S given C, whatever the measure in training."""
        moments, n_sensitive = engine.moments(), fit.alpha.shape[-1]
        raw = np.atleast_2d(fit.basis.raw_coefficients(fit.alpha, fit.beta))
        columns = np.zeros((len(moments.mean), n_sensitive + len(raw)))
        columns[:n_sensitive, :n_sensitive] = np.eye(n_sensitive)
        columns[: raw.shape[1], n_sensitive:] = raw.T
        C = n_sensitive + np.array(_conditional(fit).controls, dtype=np.intp)
        root = whitening(moments.scatter[np.ix_(C, C)])
        cross = root @ moments.scatter[C] @ columns
        left = columns.T @ moments.scatter @ columns - cross.T @ cross
        n_rows = moments.n_rows - len(root) if adjusted else None
        return explained_by_sensitive(left, n_sensitive, len(raw), n_rows)


def _conditional(fit: Fit) -> ConditionalFit:
    if not isinstance(fit, ConditionalFit):
        raise TypeError("a bound given controls is for models that were fitted with controls.")
    return fit
