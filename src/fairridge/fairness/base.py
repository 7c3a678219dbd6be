"""What a fairness definition must offer, and the shape most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.models import Fit, Isolation, PredictedModels

# Variance of what S explains, relative to the square of what it is part of, that is rounding.
ROUNDING_OF_VARIANCE = 1e-28

# What a share is of: the variance of scores (linear predictors) or of predicted means, what a
# model explains of its response, what S and the response explain of scores, or something else.
Whole = Literal["scores", "means", "model", "both", "other"]
# The predictions whose R² on S a certificate can be about.
Certifiable = Literal["linear predictors", "means"]


class Definition(ABC):
    """A number in [0, 1] that measures how far a fit depends on S; 0 for no linear dependence.

    Attributes
    ----------
    penalizes_means : bool
        Whether the definition has its own penalty, in place of one on α.
    per_attribute : bool
        Whether attributes may have bounds of their own.
    reads : str or None
        What the response must hold, in the words of `Family.reads`; None for anything.
    not_certifiable_because : str
        Why the definition has no certificate, if the reason is known.

    See Also
    --------
    Combined : Several definitions at once.
    fairridge.models.Fit : What a definition looks at.

    References
    ----------
    .. [1] "Definitions of fairness" in docs/model.md.

    Examples
    --------
    >>> from fairridge.fairness import Definition, MeanParity
    >>> print(isinstance(MeanParity(), Definition), MeanParity().name)
    True mean-parity
    """

    penalizes_means = False
    per_attribute = False
    reads: str | None = None
    not_certifiable_because = ""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in tables."""

    @abstractmethod
    def value(self, fit: Fit) -> float:
        """Return how unfair the fit is."""

    @abstractmethod
    def components(self, fit: Fit) -> dict[str, float]:
        """Return the quantities the value is made of, by name."""

    def whole(self, family: Family) -> Whole:
        """Return what it is a share of."""
        return "other"

    @property
    def needs_only_moments(self) -> bool:
        """Whether a least-squares model needs only the moments of [S, X, y], not the rows."""
        return False

    def needs_only_deviances(self, family: Family) -> bool:
        """Whether coefficients, moments and deviances with some of them at zero suffice.

        A search can then predict the value without a pass over the rows.
        """
        return False

    def predicted(self, models: PredictedModels) -> Floats:
        """Return the values of models that one pass foretells, if deviances suffice."""
        raise TypeError(f"{self.name} is not foretold by deviances.")

    @property
    def arbitrary(self) -> bool:
        """Whether it is unknown how the value changes with λ."""
        return False

    @property
    def sees_columns(self) -> bool:
        """Whether the value depends on X and β other than through Uβ."""
        return True

    @property
    def for_blind(self) -> Definition | None:
        """What is bounded in a model that does not use S to predict; None if it is not defined."""
        return None

    @property
    def given_controls(self) -> Definition | None:
        """The same among rows with equal controls; None if it is not defined."""
        return None

    def means(self, fit: Fit, *, totals: bool = False) -> Any:
        """Return which predicted means are bounded, for a definition of these."""
        raise TypeError(f"{self.name} does not bound predicted means.")

    def counted_classes(self, family: Any, classes: Any) -> tuple[int, ...]:
        """Return the codes of the classes among whose rows means count; empty for all rows."""
        return ()

    def require(self, family: Family) -> None:  # noqa: B027
        """Raise for a family for which the definition has no meaning."""

    @property
    def within_space(self) -> Definition:
        """The same of a model in the columns that it is solved in."""
        return self

    def certifiable(self, family: Family) -> Certifiable | None:
        """Return the predictions whose R² on S is bounded; None if it is not such an R²."""
        return None

    @property
    def maximum_of(self) -> Sequence[Definition]:
        """Definitions whose maximum this is; empty if it is not a maximum."""
        return ()

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return how unfair a fit is on other rows, with the training centers.

        Parameters
        ----------
        fit : Fit
            The model.
        engine : Engine
            Where the other rows are.
        scatter : ndarray of shape (q+m+t, q+m+t)
            Centered scatter of [S, η, y] there: q, m and t columns.
        q, m : int
            Columns of S and of η.
        adjusted : bool, default=True
            Whether R² on S is adjusted for chance, as it must be on rows that
            the model was not fitted to.

        Returns
        -------
        float
            Its value there.
        """
        return self.value(fit.on(engine))

    def on_all_rows(self, fit: Fit, isolation: Isolation) -> float:
        """Return how unfair a fit is on its rows and those that it was fitted without."""
        return self.value(isolation.on_all_rows(fit))


class VarianceShare(Definition):
    """A definition of the form VAR(Sα) / (VAR(Sα) + other).

    If `other_variance` does not depend on α, as in gaussian models, meeting the bound
    r is the equation VAR(Sα) = r/(1−r) · other, which has one root.

    See Also
    --------
    StatisticalParity : One of them.
    EqualityOfOpportunity : Another one.

    References
    ----------
    .. [1] "Least squares" in docs/algorithms.md: the secular equation.

    Examples
    --------
    >>> from fairridge.fairness import EqualityOfOpportunity, VarianceShare
    >>> print(issubclass(EqualityOfOpportunity, VarianceShare))
    True
    """

    def applies_to(self, family: Family) -> bool:
        """Whether the definition has this form for a family."""
        return True

    def needs_only_deviances(self, family: Family) -> bool:
        """Whether variances are compared."""
        return self.applies_to(family)

    @abstractmethod
    def other_variance(self, fit: Fit | PredictedModels) -> Any:
        """Return what VAR(Sα) is compared with, of one model or of several."""

    def value(self, fit: Fit) -> float:
        """Return VAR(Sα) / (VAR(Sα) + other); 0 if nothing is explained at all."""
        sensitive = fit.sensitive_variance
        return share(sensitive, sensitive + self.other_variance(fit))

    def predicted(self, models: PredictedModels) -> Floats:
        """Return the same of several models."""
        sensitive = models.sensitive_variance
        return shares(sensitive, sensitive + self.other_variance(models))


def is_variance_share(definition: Definition, family: Family) -> TypeGuard[VarianceShare]:
    """Whether a definition is VAR(Sα) / (VAR(Sα) + other) for a family."""
    return isinstance(definition, VarianceShare) and definition.applies_to(family)


@dataclass(frozen=True)
class CallableDefinition(Definition):
    """A function of the fit, or an object with one called `value`, as a definition."""

    # ``f(fit) -> float``; see `fairridge.models.Fit` for what it may read. An object may also have
    # `name` and `components(fit)`.
    function: Any
    arbitrary = True

    @property
    def name(self) -> str:
        """Its own name, or that of its class."""
        known = getattr(self.function, "name", type(self.function).__name__)
        return str(getattr(self.function, "__name__", known))

    def value(self, fit: Fit) -> float:
        """Return its value."""
        return float(getattr(self.function, "value", self.function)(fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return its components, or the value alone."""
        if hasattr(self.function, "components"):
            return dict(self.function.components(fit))
        return {self.name: self.value(fit)}


def share(part: float, whole: float) -> float:
    """Return part/whole; 0 if there is nothing to share."""
    return part / whole if whole != 0.0 else 0.0


def shares(parts: Floats, wholes: Floats) -> Floats:
    """Return the same of several models."""
    return np.asarray(np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes != 0.0))
