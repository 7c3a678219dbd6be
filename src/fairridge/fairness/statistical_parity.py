"""Statistical parity: predictions that do not depend on the sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass

from fairridge.fairness.base import VarianceShare
from fairridge.solvers import Fit

__all__ = ["StatisticalParity"]


@dataclass(frozen=True)
class StatisticalParity(VarianceShare):
    """Share of the explained variance that the sensitive attributes explain.

    R²_S = VAR(Sα) / (VAR(Sα) + VAR(Uβ)), the paper's bound (section 2).
    """

    name = "statistical-parity"

    def rest(self, fit: Fit) -> float:
        """VAR(Uβ)."""
        return fit.predictor_variance

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the shares of S and of U."""
        share = self.value(fit)
        return {"r_squared_sensitive": share, "r_squared_predictors": 1.0 - share}
