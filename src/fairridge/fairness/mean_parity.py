"""Mean parity: predicted means that do not depend on the sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness._means import MeanShare
from fairridge.fairness.base import VarianceShare
from fairridge.fairness.conditional import GivenControls
from fairridge.models import Fit
from fairridge.solvers.shares import explained_by_sensitive


@dataclass(frozen=True)
class MeanParity(MeanShare, VarianceShare):
    """R² of the predicted means μ on S.

    With s = S − E(S) and Σ = VAR(S),

        R² = aᵀΣ⁻¹a / VAR(μ),   a = COV(S, μ),

    which anybody can measure who regresses the predictions on S. With several
    classes μ_k is the probability of class k, and numerators and denominators
    are added over k. Offsets are part of μ, except in gaussian models, which
    are models of y − offset.

    The model minimizes D + λW·aᵀΣ⁻¹a, with W the weight of all rows and the
    smallest λ for which R² ≤ r: not a ridge on α but on what S explains of the
    means. λ = ∞ makes a = 0 exactly. In gaussian models this is the radial
    penalty.
    """

    name = "mean-parity"
    needs_only_moments = True
    per_attribute = True

    @property
    def for_blind(self) -> MeanParity:
        """The same: means are what anybody sees of a model."""
        return self

    @property
    def given_controls(self) -> GivenControls:
        """Partial R² of the means on S."""
        return GivenControls(self)

    def require(self, family: Any) -> None:
        """Refuse families that predict no means."""
        family.means(None, 0.0)

    def codes(self, family: Any, classes: Any) -> tuple[int, ...] | None:
        """Return None: all rows are looked at."""
        return None

    def applies_to(self, family: Any) -> bool:
        """Whether μ is η, so that shares of its variance are known in closed form."""
        return bool(family.least_squares)

    def other_variance(self, fit: Fit) -> float:
        """VAR(Uβ)."""
        return fit.predictor_variance

    def value(self, fit: Fit) -> float:
        """Return R² of the means on S; 0 if they do not vary."""
        shares: Any = VarianceShare if self.applies_to(fit.family) else MeanShare
        return float(shares.value(self, fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return R² of the means on S, and their variance."""
        if not self.applies_to(fit.family):
            return super().components(fit)
        variance = fit.sensitive_variance + fit.predictor_variance
        return {"r_squared_sensitive": self.value(fit), "mean_variance": variance}

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return R² of the means on S in other rows."""
        if self.applies_to(fit.family):
            return explained_by_sensitive(scatter, q, m, engine.n_rows if adjusted else None)
        return super().held_out(fit, engine, scatter, q, m, adjusted=adjusted)
