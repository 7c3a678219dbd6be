"""Parity, opportunity and odds of predicted means: what S explains of them, from sums over rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine, MeanSums
from fairridge.fairness.base import (
    ROUNDING_OF_VARIANCE,
    Certifiable,
    Definition,
    VarianceShare,
    Whole,
)
from fairridge.fairness.conditional import GivenControls
from fairridge.fairness.scatter_shares import explained_by_sensitive
from fairridge.families.sums import PredictedMeans
from fairridge.models import Fit, PredictedModels
from fairridge.solvers.spectrum import LENGTH_TOLERANCE, block_diagonal, whitening

# Variance of means, relative to the square of their size, that is nothing but rounding.
NOTHING = 1e-20
# The same of probabilities of separated classes, which differ from one by as much as the deviance
# from zero; and the deviance per weight at which classes are.
NOTHING_OF_SEPARATED, SEPARATED = 1e-16, 1e-9
# Share of mean squares, or of a variance, left by means and controls, that counts as zero.
RESIDUAL_TOLERANCE = 1e-12


# Pairs of a mean and the class among whose rows it counts.
Among = tuple[tuple[int, int], ...]


class MeanShare(Definition):
    """R² on S of the means that a model predicts.

    It has its own ridge, on what S explains of the means. A ridge on α
    would not suffice: under a nonlinear link, α = 0 leaves μ correlated with S.
    The model is held balanced, Σ w μ = Σ w y for each class: smaller means
    have smaller differences, too, and the ridge would buy these with a total that
    is too low.
    """

    penalizes_means = True
    sees_columns = False

    def whole(self, family: Any) -> Whole:
        """Return the variance of predicted means."""
        return "means"

    @property
    def for_blind(self) -> MeanShare:
        """The same: means do not depend on how a model uses S."""
        return self

    @abstractmethod
    def among(self, family: Any, classes: Any) -> Among | None:
        """Return the means that count, each with the class of its rows; None for all in all."""

    def counted_classes(self, family: Any, classes: Any) -> tuple[int, ...]:
        """Return the codes of the classes among whose rows means count; empty for all rows."""
        return tuple(sorted({code for _, code in self.among(family, classes) or ()}))

    def means(self, fit: Fit, *, totals: bool = False) -> PredictedMeans:
        """Return which means are bounded and, if asked for, those that have totals to meet."""
        family = fit.family
        self.require(family)
        reference = tuple(fit.basis.center_targets.tolist())
        among = self.among(family, fit.classes)
        means: PredictedMeans = family.means(among, reference, totals=totals)
        return means

    def _form(self, fit: Fit) -> tuple[MeanForm, float, float]:
        means = self.means(fit, totals=True)  # of which searches have sums already

        def measured() -> tuple[MeanForm, float, float]:
            sums = fit.mean_sums(means)
            form = form_of(fit, means, lambda: mean_form(sums, fit.basis, means.n_bounded))
            return form, form.share(sums), form.variance(sums)

        found: tuple[MeanForm, float, float] = fit.once(means, measured)
        return found

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


@dataclass(frozen=True)
class MeanParity(MeanShare, VarianceShare):
    """R² of the predicted means μ on S.

    With s = S − E(S) and Σ = VAR(S),

        R² = aᵀΣ⁻¹a / VAR(μ),   a = COV(S, μ),

    which a regression of the predictions on S measures. With several
    classes μ_k is the probability of class k, and numerators and denominators
    are added over k. Under a log link with an offset log e the means are rates
    μ/e, and rows have the weights we: those of a model of y/e. Under other links
    offsets are part of μ, except in gaussian models, which are models of y − offset.

    The model minimizes D + λW·aᵀΣ⁻¹a subject to Σ w μ = Σ w y (for each
    class, if there are several), with W the weight of all rows and the smallest λ
    for which R² ≤ r: not a ridge on α but on what S explains of the means. λ = ∞
    makes a = 0 exactly. In gaussian models this is the radial penalty.

    See Also
    --------
    MeanOpportunity : Among the rows of the positive class.
    MeanOdds : Among the rows of every class.
    StatisticalParity : The default, on the linear predictor.

    References
    ----------
    .. [1] "Bounds on predicted means" in docs/model.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge.fairness import MeanParity
    >>> model = FairRidgeClassifier(0.01, sensitive="Gender", definition=MeanParity()).fit(X, y)
    >>> print(f"{model.unfairness_:.4f}")
    0.0100
    """

    name = "mean-parity"
    needs_only_moments = True
    per_attribute = True

    @property
    def given_controls(self) -> GivenControls:
        """Partial R² of the means on S."""
        return GivenControls(self)

    def require(self, family: Any) -> None:
        """Refuse families that predict no means."""
        family.means(None)

    def among(self, family: Any, classes: Any) -> Among | None:
        """Return None: all rows count."""
        return None

    def certifiable(self, family: Any) -> Certifiable:
        """Return the means, which are the linear predictor in gaussian models."""
        return "linear predictors" if self.applies_to(family) else "means"

    def applies_to(self, family: Any) -> bool:
        """Whether μ is η, so that shares of its variance are known in closed form."""
        return bool(family.least_squares)

    def other_variance(self, fit: Fit | PredictedModels) -> Any:
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


class _AmongClasses(MeanShare):
    """R² on S of means, each among the rows of one class."""

    reads = "classes"

    def require(self, family: Any) -> None:
        """Refuse responses that are not classes."""
        if family.reads != "classes":
            raise ValueError(
                f"definition={self.name!r} is about rows of one class, and the response of a "
                f"{family.name} model has none: use FairRidgeClassifier, or "
                "definition='mean-parity'."
            )


@dataclass(frozen=True)
class MeanOpportunity(_AmongClasses):
    """R² on S of the predicted probability of a class, among the rows of that class.

    For two classes that is R² of P(y = 1) on S among rows with y = 1, the class
    that is modeled. With several classes μ_k counts among rows with
    y = k, and numerators and variances are added over k with weights P(y = k):

        Σ_k P(y = k) a_kᵀΣ_k⁻¹a_k / Σ_k P(y = k) VAR(μ_k | y = k),

    a_k and Σ_k the covariance of S with μ_k and the variance of S among rows
    with y = k. The model has the ridge of `MeanParity` on this numerator, and is
    balanced in the same way, over all rows.

    Parameters
    ----------
    positive : label, optional
        The class whose rows count. By default the modeled one of two classes, and all of
        more.

    See Also
    --------
    MeanOdds : Among the rows of every class.
    fairridge.rules.OpportunityGap : A rule on decisions.

    References
    ----------
    .. [1] Hardt, Price and Srebro (2016), Equality of opportunity in supervised learning.
    .. [2] "Bounds on predicted means" in docs/model.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge.fairness import MeanOpportunity
    >>> model = FairRidgeClassifier(0.01, sensitive="Gender", definition=MeanOpportunity("GOOD"))
    >>> print(f"{model.fit(X, y).unfairness_:.4f}")
    0.0100
    """

    positive: Any = None
    name = "mean-opportunity"

    def among(self, family: Any, classes: Any) -> Among | None:
        """Return the classes whose rows count, each with its own probability."""
        count = family.n_predictors + 1
        if self.positive is None:
            codes = [1] if count == 2 else range(count)
            return _own(codes, count)
        labels = np.arange(count) if classes is None else np.asarray(classes)
        places = np.flatnonzero(labels == self.positive)
        if len(places) != 1:
            known = ", ".join(repr(label) for label in labels.tolist())
            raise ValueError(f"positive={self.positive!r} is not a class of y: these are {known}.")
        return _own([int(places[0])], count)


def _own(codes: Iterable[int], count: int) -> Among:
    """Pair classes with their probabilities; of two classes there is one, P(y = 1)."""
    return tuple((0 if count == 2 else code, code) for code in codes)


@dataclass(frozen=True)
class MeanOdds(_AmongClasses):
    """R² on S of the predicted probabilities among the rows of each observed class.

    The counterpart of equalized odds for probabilities, and for any S:

        Σ_c P(y = c) Σ_k a_kcᵀΣ_c⁻¹a_kc / Σ_c P(y = c) Σ_k VAR(μ_k | y = c),

    a_kc and Σ_c the covariance of S with μ_k and the variance of S among rows with
    y = c. Of two classes only P(y = 1) counts. `MeanOpportunity` has the terms
    k = c alone. Ridge and totals are the same.

    See Also
    --------
    MeanOpportunity : Among the rows of one class.
    fairridge.rules.OddsGap : A rule on decisions.

    References
    ----------
    .. [1] Hardt, Price and Srebro (2016), Equality of opportunity in supervised learning.
    .. [2] "Bounds on predicted means" in docs/model.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge.fairness import MeanOdds
    >>> model = FairRidgeClassifier(0.01, sensitive="Gender", definition=MeanOdds()).fit(X, y)
    >>> print(f"{model.unfairness_:.4f}")
    0.0100
    """

    name = "mean-odds"

    def among(self, family: Any, classes: Any) -> Among | None:
        """Return every probability among the rows of every class."""
        count = family.n_predictors + 1
        means = range(1 if count == 2 else count)
        return tuple((k, code) for code in range(count) for k in means)


# ------------------------------------------------------------- forms in sums of means


@dataclass(frozen=True)
class MeanForm:
    """What S explains of K means, and their variance, as forms in their sums."""

    # With p_k the weights of the means, m_k and Σ_k mean and variance of S in the rows in which
    # mean k counts,
    #
    #     a_k = √p_k Σ_k^(−1/2) COV(S, μ_k),   R² = Σ_k‖a_k‖² / Σ_k p_k VAR(μ_k).
    #
    # Given controls C, S stands for its residuals on [1, C], and VAR(μ_k) for what C leaves of it,
    # VAR(μ_k) − ‖b_k‖²/p_k, with b_k the same as a_k for C: R² is partial.

    weights: Floats  # weights of the rows in which each mean counts, of shape (K,)
    # p, the weights of those rows relative to all; any factor cancels in R², of shape (K,).
    shares: Floats
    map: Floats  # maps Σ w μ[1, s] of all means to a, of shape (K·rank, K·(1+q))
    counts: Floats  # number of rows of each mean that S is to explain
    # Maps the same sums to b; without rows if there are no controls, of shape
    # (K·rank, K·(1+q)).
    of_controls: Floats
    rounding: float = 0.0  # variance of means of the size of the response that is rounding

    def explained(self, products: Floats) -> Floats:
        """Return a, for Σ w μ[1, s] of shape (K, 1+q)."""
        return self.map @ products.ravel()

    def variance(self, sums: MeanSums) -> float:
        """Return Σ p VAR(μ), or what controls do not explain of it; 0 if that is rounding."""
        # NaN if μ² overflows.
        size = float(self.shares @ (sums.squares / self.weights))
        if not np.isfinite(size):
            return float("nan")
        total = float(self.shares @ (sums.scatter / self.weights))
        b = self.of_controls @ sums.products.ravel()
        value, least = total - float(b @ b), RESIDUAL_TOLERANCE * total if len(b) else 0.0
        separated = sums.deviance <= SEPARATED * float(self.weights.sum())
        least = max(least, (NOTHING_OF_SEPARATED if separated else NOTHING) * size, self.rounding)
        return value if value > least else 0.0

    def variance_slope(self, sums: MeanSums, squares: Floats, jacobian: Floats) -> Floats:
        """Return the derivative of `variance`."""
        # `squares` (K, N) are derivatives of ½Σ w μ², and `jacobian` (K·(1+q), N) those of Σ w μ[1,
        # s].
        mean_slopes = jacobian.reshape(len(sums.weights), -1, jacobian.shape[1])[:, 0]
        weights = (2.0 * self.shares / self.weights)[:, None]
        mean = sums.mean[:, None]
        b = self.of_controls @ sums.products.ravel()
        slope: Floats = (weights * (squares - mean * mean_slopes)).sum(axis=0)
        return slope - 2.0 * b @ (self.of_controls @ jacobian)

    def share(self, sums: MeanSums) -> float:
        """Return R²; 0 for means that do not vary, NaN for means whose squares overflow."""
        a, total = self.explained(sums.products), self.variance(sums)
        if not np.isfinite(total):
            return float("nan")
        if float(a @ a) <= ROUNDING_OF_VARIANCE * float(
            self.shares @ (sums.squares / self.weights)
        ):
            return 0.0
        share = float(a @ a) / total if total != 0.0 else 0.0
        return 0.0 if share <= LENGTH_TOLERANCE**2 else share

    def adjusted(self, share: float) -> float:
        """Adjust R² for chance; NaN if the rows are too few."""
        total = float(np.sum(self.counts - 1.0)) - len(self.of_controls)
        residual = total - len(self.map)
        return 1.0 - (1.0 - share) * total / residual if residual > 0 else np.nan


def form_of(fit: Fit, means: PredictedMeans, found: Callable[[], MeanForm]) -> MeanForm:
    """Return the form of a model's means; the first that is found, as no coefficient changes it."""
    form: MeanForm = fit.once((MeanForm, means), found)
    return form


def mean_form(
    sums: MeanSums, basis: Any, n_bounded: int, columns: Integers | None = None
) -> MeanForm:
    """Set the forms up."""
    # S is to explain the first `n_bounded` means; those that follow have totals only. Given
    # controls, sums have [1, S, X][1, S, X]ᵀ.
    gram, q = sums.gram, len(basis.center_sensitive)
    columns = np.arange(q) if columns is None else columns
    weights = gram[:, 0, 0]
    asked = np.arange(len(gram)) < n_bounded
    shares = np.where(asked, weights, 0.0) / basis.weight
    maps = [
        _maps(G, columns, q + basis.given_columns, np.sqrt(p) / w if w > 0.0 else 0.0)
        for G, w, p in zip(gram, weights, shares, strict=True)
    ]
    safe = np.where(weights > 0.0, weights, 1.0)
    of_S, controls = map(block_diagonal, zip(*maps, strict=True))
    rounding = NOTHING * float(np.abs(basis.center_targets).max()) ** 2
    return MeanForm(safe, shares, of_S, sums.counts[:n_bounded], controls, rounding)


def _maps(
    gram: Floats, columns: Integers, controls: Integers, size: float
) -> tuple[Floats, Floats]:
    """Return the maps from Σ w μ[1, z] of one mean to a and to b, z the columns of the sums."""
    width, w = len(gram), gram[0, 0]
    if size == 0.0:  # no rows, or nothing to explain
        return np.zeros((0, width)), np.zeros((0, width))
    mean = gram[0, 1:] / w
    scatter = gram[1:, 1:] / w - np.outer(mean, mean)
    of_controls = np.zeros((0, width - 1))
    residuals = np.eye(width - 1)[columns]
    if controls.size:
        of_controls = _whitened(scatter, np.eye(width - 1)[controls])
        residuals = residuals - (residuals @ scatter @ of_controls.T) @ of_controls
    of_S = _whitened(scatter, residuals, np.diag(gram)[1 + columns] / w)
    a, b = (size * np.column_stack([-rows @ mean, rows]) for rows in (of_S, of_controls))
    return a, b


def _whitened(scatter: Floats, columns: Floats, squares: Floats | None = None) -> Floats:
    """Return combinations of columns whose scatter is one."""
    # `squares` are mean squares before means and controls were projected out. What is left of one
    # may be nothing but rounding: S does not vary within a class of one row.
    if not len(columns):
        return columns
    variance = columns @ scatter @ columns.T
    if squares is not None:
        gone = np.diag(variance) <= RESIDUAL_TOLERANCE * squares
        variance[gone], variance[:, gone] = 0.0, 0.0
    return whitening(variance) @ columns
