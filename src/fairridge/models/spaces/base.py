"""The columns that a model is solved in, and how it is reported in those that users gave.

Every model is solved by the same searches, in some space: S and the predictors as
they are, their residuals on controls, the directions of X alone, or fewer features
of many columns. A space states which coordinates a model has there, what λ penalizes
of them, and how a model found there is reported in the original columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.models.basis import FairBasis, basis_on
from fairridge.models.coordinates import Coordinates
from fairridge.models.fit import Fit


@dataclass(frozen=True)
class Space:
    """S and U as they are; other spaces override what differs."""

    engine: Engine  # the rows, with the columns that models are solved in
    basis: FairBasis  # these columns in small matrices

    # Whether models are solved in features of the predictors.
    compressed: ClassVar[bool] = False

    @property
    def uses_sensitive(self) -> bool:
        """Whether models use S to predict."""
        return True

    @property
    def within(self) -> Any:
        """The space of what controls leave; the same space without any."""
        return self

    @property
    def all_columns(self) -> Engine:
        """The rows, with the columns that models are reported in."""
        return self.engine

    @property
    def reported(self) -> FairBasis:
        """S and U of the columns that models are reported in."""
        return self.basis

    @property
    def controls(self) -> tuple[int, ...]:
        """Positions in X of the controls that a bound is conditional on."""
        return ()

    @property
    def rank(self) -> int:
        """Directions in which a linear predictor can vary."""
        return self.reported.sensitive.rank + self.reported.predictors.rank

    @property
    def target_scatter(self) -> Floats:
        """Σ w (y − ȳ)(y − ȳ)ᵀ."""
        return self.basis.target_scatter

    @property
    def dependent(self) -> tuple[list[int], list[int]]:
        """Columns of S, and of X, that have no coefficients of their own."""
        basis = self.reported
        return list(basis.sensitive.dependent), list(basis.predictors.dependent)

    # ------------------------------------------------------------- coordinates

    def coordinates(self, family: Family, penalty: Any) -> Coordinates:
        """Return the coordinates θ of a model."""
        m, absolute = family.n_predictors, penalty.l1 > 0.0
        contrasts = family.to_class_coefficients(np.eye(m)) if absolute and m > 1 else None
        return Coordinates(self.basis, m, absolute, contrasts)

    def penalized(self, penalty: Any) -> Floats:
        """Return the quadratic form that λ multiplies."""
        form: Floats = penalty.quadratic(self.basis.sensitive)
        return form

    def spread(self, coordinates: Any) -> Floats:
        """Return standard deviations of what coordinates of one linear predictor multiply.

        1 for the intercept and for constants.
        """
        of_sensitive = self.basis.sensitive_variance(coordinates.sensitive.T)
        of_predictors = self.basis.predictor_variance(coordinates.predictors.T)
        variances = np.concatenate([[1.0], of_sensitive, of_predictors])
        return np.sqrt(np.where(variances > 0.0, variances, 1.0))

    def ridge(self, coordinates: Any) -> Floats:
        """Return ‖α‖² + ‖β‖² of standardized columns, as a form in θ."""
        form: Floats = coordinates.ridge()
        return form

    def floor(self, gradient: Floats) -> float:
        """Return the unfairness that no finite λ goes below.

        Parameters
        ----------
        gradient : ndarray
            Slope of the deviance at the null model, along the coordinates that λ penalizes.
        """
        return 0.0

    def least_squares_beta(self, beta: Floats) -> Floats:
        """Complete β of a gaussian model, which does not depend on λ."""
        return beta

    # ----------------------------------------------------------------- reports

    def in_columns(self, fits: Sequence[Fit], unconstrained: Callable[[], Fit]) -> list[Fit]:
        """Return models of this space as models of the original columns.

        Parameters
        ----------
        fits : sequence of Fit
            Models in this space.
        unconstrained : callable
            Returns the model at λ = 0, in columns.
        """
        return list(fits)

    def raw_in_columns(self, raw: Floats) -> Floats:
        """Bring raw coefficients of the columns here (last axis) to the original columns."""
        return raw


def plain_space(
    engine: Engine, *, standardize: bool, n_targets: int, penalized: bool = False
) -> Space:
    """Read the rows once, or twice if they are ill-conditioned, and decorrelate."""
    return Space(engine, basis_on(engine, standardize, n_targets, penalized=penalized))
