"""What definitions of fairness of the predicted means share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness.base import Definition
from fairridge.families.means import MeansOfRows
from fairridge.models import Fit
from fairridge.models.mean_shares import MeanForm, mean_form


class MeanShare(Definition):
    """R² on S of the means that a model predicts.

    It brings its own ridge, on what S explains of the means. A ridge on α
    would not do: under a link that bends, α = 0 leaves μ correlated with S.
    """

    own_ridge = True
    sees_columns = False

    @abstractmethod
    def require(self, family: Any) -> None:
        """Raise for a family for which the definition means nothing."""

    @abstractmethod
    def codes(self, family: Any, classes: Any) -> tuple[int, ...] | None:
        """Return the classes whose rows are looked at; None for all rows."""

    def means(self, fit: Fit) -> MeansOfRows:
        """Return which means are looked at."""
        family = fit.family
        self.require(family)
        # Probabilities are near enough to zero as they are.
        reference = float(fit.basis.center_targets[0]) if family.n_predictors == 1 else 0.0
        found: MeansOfRows = family.means(self.codes(family, fit.classes), reference)
        return found

    def _form(self, fit: Fit) -> tuple[MeanForm, float, float]:
        sums = fit.mean_sums(self.means(fit))
        form = mean_form(sums, fit.basis)
        return form, form.share(sums), form.variance(sums)

    def value(self, fit: Fit) -> float:
        """Return R² of the means on S; 0 if they do not vary."""
        return self._form(fit)[1]

    def components(self, fit: Fit) -> dict[str, float]:
        """Return R² of the means on S, and their variance."""
        _, share, variance = self._form(fit)
        return {"r_squared_sensitive": share, "mean_variance": variance}

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return R² of the means on S in other rows."""
        form, share, _ = self._form(fit.on(engine))
        return form.adjusted(share) if adjusted else share
