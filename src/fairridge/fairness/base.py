"""What a fairness definition must offer, and the shape most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from fairridge.solvers import Fit

__all__ = ["CallableDefinition", "Definition", "VarianceShare", "is_variance_share", "share"]


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


class VarianceShare(ABC):
    """A definition of the form VAR(Sα) / (VAR(Sα) + rest).

    Where `rest` does not depend on α, as in gaussian models, meeting the bound
    r is the equation VAR(Sα) = r/(1−r) · rest, which has one root.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """How it is called in tables."""

    @abstractmethod
    def components(self, fit: Fit) -> dict[str, float]:
        """Return the quantities the value is made of, by name."""

    def applies_to(self, family: Any) -> bool:
        """Whether the definition has this form for a family."""
        return True

    @abstractmethod
    def rest(self, fit: Fit) -> float:
        """Return what VAR(Sα) is compared with."""

    def value(self, fit: Fit) -> float:
        """Return VAR(Sα) / (VAR(Sα) + rest); 0 where nothing is explained at all."""
        sensitive = fit.sensitive_variance
        return share(sensitive, sensitive + self.rest(fit))


def is_variance_share(definition: Definition, family: Any) -> TypeGuard[VarianceShare]:
    """Whether a definition is VAR(Sα) / (VAR(Sα) + rest) for a family."""
    return isinstance(definition, VarianceShare) and definition.applies_to(family)


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


def share(part: float, whole: float) -> float:
    """Return part/whole; 0 where there is nothing to share."""
    return part / whole if whole != 0.0 else 0.0
