"""What a penalty on α must offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fairridge._typing import Floats
from fairridge.solvers import Spectrum


class Penalty(Protocol):
    """λ·(αᵀKα + 2·l1·‖α‖₁) on the scaled columns of S, for 0 ≤ λ < ∞.

    No method is called with λ = ∞, where α = 0.

    See Also
    --------
    Ridge : The default.
    Spectrum : The columns of S, as methods get them.
    SecularPenalty : Those with a fast search.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.2.
    .. [2] "Penalties on α" in docs/model.md.

    Examples
    --------
    >>> from fairridge.penalties import Lasso, Penalty
    >>> penalty: Penalty = Lasso()
    >>> print(penalty.name, penalty.l1)
    lasso 1.0
    """

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
    """A penalty for which 1/‖Sα(λ)‖ is concave in λ, so that Newton's method is monotone.

    See Also
    --------
    Ridge : One of them.
    Penalty : What any penalty offers.

    References
    ----------
    .. [1] "Least squares" in docs/algorithms.md: the secular equation.

    Examples
    --------
    >>> from fairridge.penalties import Lasso, Radial, SecularPenalty
    >>> print(isinstance(Radial(), SecularPenalty), isinstance(Lasso(), SecularPenalty))
    True False
    """

    def length(
        self, spectrum: Spectrum, projection: Floats, lambda_: Floats
    ) -> tuple[Floats, Floats]:
        """Return ‖Sα(λ)‖ and the derivative of its logarithm in λ."""
