"""What a penalty on α must offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fairridge._typing import Floats
from fairridge.solvers import Spectrum


class Penalty(Protocol):
    """λ·(αᵀKα + 2·l1·‖α‖₁) on the scaled columns of S, for λ ≥ 0."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def l1(self) -> float:
        """Weight of the absolute values; 0 for a smooth penalty."""

    def quadratic(self, spectrum: Spectrum) -> Floats:
        """Return K, of shape (q, q)."""

    def coefficients(self, spectrum: Spectrum, projection: Floats, lambda_: Floats) -> Floats:
        """Return the minimizer of ‖y − Sα‖² + penalty on the scaled columns, one row per λ."""

    def ceiling(self, spectrum: Spectrum, projection: Floats) -> float:
        """Return the smallest λ with α = 0 in that problem."""


@runtime_checkable
class SecularPenalty(Penalty, Protocol):
    """A penalty for which 1/‖Sα(λ)‖ is concave in λ, so that Newton's method is monotone."""

    def length(
        self, spectrum: Spectrum, projection: Floats, lambda_: Floats
    ) -> tuple[Floats, Floats]:
        """Return ‖Sα(λ)‖ and the derivative of its logarithm in λ."""
