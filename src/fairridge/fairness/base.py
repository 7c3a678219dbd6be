"""What a fairness definition must offer, and the shape most of them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fairridge.solvers import Fit

__all__ = ["CallableDefinition", "Definition", "VarianceShare"]


class Definition(Protocol):
    """A number in [0, 1] that says how unfair a fit is; 0 is fair."""

    @property
    def name(self) -> str:
        """How it is called in tables."""
        ...

    def value(self, fit: Fit) -> float:
        """Return how unfair the fit is."""
        ...

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the quantities the value is made of, by name."""
        ...


class VarianceShare:
    """A definition of the form VAR(Sα) / (VAR(Sα) + rest).

    Where `rest` does not depend on α, as in gaussian models, meeting the bound
    r is the equation VAR(Sα) = r/(1−r) · rest, which has one root.
    """

    @abstractmethod
    def rest(self, fit: Fit) -> float:
        """Return what VAR(Sα) is compared with."""

    def value(self, fit: Fit) -> float:
        """Return VAR(Sα) / (VAR(Sα) + rest); 0 where nothing is explained at all."""
        sensitive = fit.sensitive_variance
        return _share(sensitive, sensitive + self.rest(fit))


@dataclass(frozen=True)
class CallableDefinition:
    """A plain function of the fit as a definition.

    Parameters
    ----------
    function : callable
        ``f(fit) -> float``; see `fairridge.solvers.Fit` for what it may ask.
    """

    function: Callable[[Fit], float]

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def value(self, fit: Fit) -> float:
        """Return the function's value."""
        return float(self.function(fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the value alone."""
        return {self.name: self.value(fit)}


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0
