"""Statistical parity: predictions that do not depend on the sensitive attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from fairridge._arrays import LARGEST_EXPONENT
from fairridge._typing import Floats
from fairridge.arguments import check_flag
from fairridge.engines import Engine
from fairridge.fairness.base import Certifiable, VarianceShare, Whole, share
from fairridge.fairness.conditional import GivenControls, share_of_predictor
from fairridge.fairness.scatter_shares import explained_by_sensitive
from fairridge.families import Family
from fairridge.families.sums import any_arrays
from fairridge.models import Fit, Isolation, PredictedModels

Measure = Literal["variance", "deviance", "nagelkerke", "tjur"]
MEASURES = ("variance", "deviance", "nagelkerke", "tjur")
# Deviance per row that is nothing but rounding.
NEGLIGIBLE_DEVIANCE = 1e-14
# The largest share of deviance: that of the largest exponential, which stands for all beyond it.
LARGEST = float(np.exp(LARGEST_EXPONENT))


@dataclass(frozen=True)
class StatisticalParity(VarianceShare):
    """Share of what the model explains that the sensitive attributes explain.

    It chooses a point on the path of models α(λ), as all definitions on the
    linear predictor do. Under a nonlinear link, α = 0 leaves predicted means
    that depend on S; `MeanParity` bounds those.

    With D the deviance, and D(0, β), D(0, 0) the deviances after setting
    coefficients to zero while all others, the intercept included, stay:

    - "variance": VAR(Sα) / (VAR(Sα) + VAR(Uβ)), of the linear predictor
      (paper, section 2);
    - "deviance": (D(α, β) − D(0, β)) / (D(α, β) − D(0, 0)) (section 4.4);
    - "nagelkerke": 1 − R²(0, β)/R²(α, β) with Nagelkerke's
      R² ∝ 1 − exp((D − D(0, 0))/n);
    - "tjur": the same with Tjur's R², the difference of mean fitted
      probabilities between the two outcomes (binomial models).

    Shares other than the first can exceed 1, and need not be monotone in λ.
    Those of deviance are at most e⁷⁰⁰: without S a separated model can be any
    number of times worse.

    Parameters
    ----------
    center : bool, default=True
        Whether coefficients are set to zero on centered S. Otherwise the
        value depends on the origin of S, as it does in R's fairml.
    measure : {"variance", "deviance", "nagelkerke", "tjur"}, optional
        By default "variance" for gaussian and Cox models, "deviance" for others.

    See Also
    --------
    MeanParity : For classes, counts and amounts.
    EqualityOfOpportunity : The same path on another scale.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), sections 2 and 3.1; shares of deviance:
        section 4.4.
    .. [2] "Definitions of fairness" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import StatisticalParity
    >>> model = FairRidgeRegressor(0.05, definition=StatisticalParity())
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.0500
    """

    center: bool = True
    measure: Measure | None = None
    sees_columns = False
    not_certifiable_because = (
        ", as it bounds a share of deviance, which varies too much from sample to sample"
    )

    def __post_init__(self) -> None:
        check_flag("center", self.center)
        if self.measure is not None and self.measure not in MEASURES:
            raise ValueError(
                f"measure={self.measure!r} is not known; use one of "
                f"{', '.join(map(repr, MEASURES))}."
            )

    @property
    def name(self) -> str:
        """Its name in tables."""
        return (
            "statistical-parity" if self.measure is None else f"statistical-parity ({self.measure})"
        )

    def whole(self, family: Family) -> Whole:
        """Return the variance of scores, or what a model explains, if deviances are compared."""
        measure = self.measure or family.share
        if measure == "variance":
            return "scores"
        return "model" if self.center and measure == "deviance" else "other"

    @property
    def for_blind(self) -> StatisticalParity | None:
        """R² of η on S, whatever the family; measures other than variance need α."""
        return replace(self, measure="variance") if self.needs_only_moments else None

    @property
    def given_controls(self) -> GivenControls:
        """The share of S in what is explained beyond the controls."""
        return GivenControls(self)

    @property
    def needs_only_moments(self) -> bool:
        """Whether variances are compared, in a least-squares model."""
        return self.measure in (None, "variance")

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return R² of η on S, whatever the measure in training."""
        return explained_by_sensitive(scatter, q, m, engine.n_rows if adjusted else None)

    def on_all_rows(self, fit: Fit, isolation: Isolation) -> float:
        """Return the share of S on more rows; R² of η on S, if variances are compared."""
        if not self.applies_to(fit.family):
            return super().on_all_rows(fit, isolation)
        return share_of_predictor(fit, isolation.all_rows)

    def applies_to(self, family: Family) -> bool:
        """Whether variances are compared."""
        return (self.measure or family.share) == "variance"

    def certifiable(self, family: Family) -> Certifiable | None:
        """Return the linear predictor, if variances are compared."""
        return "linear predictors" if self.applies_to(family) else None

    def needs_only_deviances(self, family: Family) -> bool:
        """Whether variances are compared, or deviances on centered S."""
        measure = self.measure or family.share
        return measure == "variance" or (self.center and measure != "tjur")

    def other_variance(self, fit: Fit | PredictedModels) -> Any:
        """VAR(Uβ)."""
        return fit.predictor_variance

    def value(self, fit: Fit) -> float:
        """Return the share of S."""
        measure = self.measure or fit.family.share
        if measure == "variance":
            return super().value(fit)
        if not fit.alpha.any():
            return 0.0
        if measure == "tjur":
            return self._tjur(fit)
        found = float(fit.once(self, lambda: self._of_deviances(fit)))
        if not np.isfinite(found):
            raise ValueError(
                "StatisticalParity(measure='nagelkerke'): the likelihood without S is beyond "
                "floating point. Use measure='deviance', or, with center=False, code S nearer to 0."
            )
        return found

    def predicted(self, models: PredictedModels) -> Floats:
        """Return the shares of S in several models."""
        if self.applies_to(models.family):
            return super().predicted(models)
        return self._of_deviances(models)

    def _of_deviances(self, fit: Fit | PredictedModels) -> Floats:
        """Return the share of S in the explained deviance, of one model or of several."""
        # All deviances are divided by the size of the largest, which cancels in shares.
        log_size = 0.0 if self.center else cast(Fit, fit).log_size_uncentered
        options: Any = {"center": self.center, "log_size": log_size}
        without = fit.deviance_without(predictors=True, **options)
        null = fit.deviance_without(predictors=False, **options)
        divisor = math.exp(-log_size)
        deviance, weight = np.asarray(fit.deviance) * divisor, fit.basis.weight * divisor
        unit = fit.family.unit(float(fit.basis.center_targets[0]))
        explained = null - deviance
        # Less is rounding: then nothing is explained.
        varies = explained > NEGLIGIBLE_DEVIANCE * (weight * unit + np.abs(null))
        explained = np.where(varies, explained, 1.0)
        if (self.measure or fit.family.share) == "deviance":
            found = np.minimum((without - deviance) / explained, LARGEST)
        else:
            found = self._nagelkerke(np.where(varies, without - null, -1.0), -explained, weight)
        return np.where(varies, found, 0.0)

    def _nagelkerke(self, without: Floats, full: Floats, weight: float) -> Floats:
        """1 − R²(0, β)/R²(α, β), from differences of deviances to D(0, 0)."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(1.0 - np.expm1(without / weight) / np.expm1(full / weight))

    def _tjur(self, fit: Fit) -> float:
        if not fit.family.proportion:
            raise ValueError(f"Tjur's R² needs a binomial model, not a {fit.family.name} one.")

        family = fit.family  # only this is sent to rows on other machines

        @any_arrays
        def sums(y: Floats, eta: Floats, weight: Floats) -> Floats:
            mu, ones = weight * family.mean(eta[:, 0]), y[:, 0]
            pairs = (mu, ones), (mu, 1.0 - ones), (weight, ones), (weight, 1.0 - ones)
            return np.array([float(a @ b) for a, b in pairs])

        def r_squared(sensitive: bool) -> float:
            a, b, ones, zeros = fit.sum_over_rows(
                sums, sensitive=sensitive, predictors=True, center=self.center
            )
            return float(a / ones - b / zeros)

        return 1.0 - share(r_squared(False), r_squared(True))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the shares of S and of U."""
        value = self.value(fit)
        return {"r_squared_sensitive": value, "r_squared_predictors": 1.0 - value}
