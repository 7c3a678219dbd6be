"""One model at one λ, as a fairness definition sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine, MeanSums
from fairridge.families import Family
from fairridge.families.sums import FamilyFunction, PredictedMeans, RowFunction
from fairridge.models.basis import FairBasis


@dataclass(frozen=True)
class Separation:
    """Columns that separate the responses: the deviance has a limit instead of a minimum."""

    columns: tuple[str, ...]  # columns of S and X whose coefficients grow without bound
    # Columns of S whose α is not determined. A predictor takes the α of every attribute it is
    # correlated with along: x = u + sB.
    sensitive: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """A model η = intercept + Sα + Uβ at one penalty λ.

    This is what a callable definition receives. S, U and y are computed on
    first use; everything else costs nothing. Multinomial models have one row
    of coefficients per class.

    Attributes
    ----------
    lambda_ : float
        The penalty on α.
    alpha, beta : ndarray of shape (q,) and (p,), or (K, q) and (K, p)
        Coefficients of S and of U, original scale.
    intercept : float or ndarray of shape (K,)
        With S uncentered and U centered.
    deviance : float
        Residual sum of squares for gaussian models.
    family : Family
        The family of the response.
    basis : FairBasis
        S and U in small matrices.
    engine : Engine
        Where the rows are.
    unconstrained : callable
        Returns the fit at λ = 0.
    separation : Separation or None
        Columns whose coefficients have no limit, if there are any.
    classes : ndarray or None
        Labels of the classes, if they are known.
    features : Fit or None
        The same model in the features that it was solved in, from which all that
        depends on η is computed; None if these are the columns themselves.
    given : Fit or None
        The same model in residuals on controls, if its bound is conditional on these.
    controls : tuple of int
        Which predictors are controls.
    moved : bool
        Whether the rows are others than those of the fit, so that S and U are not
        orthogonal.

    See Also
    --------
    fairridge.fairness.Definition : Looks at it.

    References
    ----------
    .. [1] "The model" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> def half(fit):
    ...     return abs(fit.alpha).max() / abs(fit.unconstrained().alpha).max()
    ...
    >>> model = FairRidgeRegressor(0.5, definition=half).fit(X, y, sensitive_features=S)
    >>> print(f"{model.unfairness_:.4f}")
    0.5000
    """

    lambda_: float
    alpha: Floats
    beta: Floats
    intercept: Any
    deviance: float
    family: Family
    basis: FairBasis
    engine: Engine
    unconstrained: Callable[[], Fit]
    separation: Separation | None = None
    classes: Any = None
    features: Fit | None = None
    given: Fit | None = None
    controls: tuple[int, ...] = ()
    moved: bool = False
    _memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.engine.dense_columns()

    @property
    def S(self) -> Floats:
        """Sensitive attributes, uncentered, of shape (n, q)."""
        return self._columns[0]

    @cached_property
    def U(self) -> Floats:
        """Predictors decorrelated from S, centered, of shape (n, p)."""
        S, X, _, _ = self._columns
        centered = S - self.basis.center_sensitive
        return X - self.basis.center_predictors - centered @ self.basis.B

    @property
    def y(self) -> Floats:
        """The response: numbers, class codes, or times and events of shape (n, 2)."""
        response = self._columns[2]
        return response[:, 0] if response.shape[1] == 1 else response

    @property
    def weights(self) -> Floats:
        """Sample weights, ones if none were given."""
        return self._columns[3]

    def linear_predictor(self) -> Floats:
        """Return η for every row, without any offset."""
        if self.features is not None:
            return self.features.linear_predictor()
        return self.intercept + self.S @ self.alpha.T + self.U @ self.beta.T

    @cached_property
    def sensitive_variance(self) -> float:
        """VAR(Sα), summed over classes."""
        if self.moved:
            return self._variance_of(self.S, self.alpha)
        return float(np.sum(self.basis.sensitive_variance(self.alpha)))

    @cached_property
    def predictor_variance(self) -> float:
        """VAR(Uβ), summed over classes."""
        if self.features is not None:
            return self.features.predictor_variance
        if self.moved:
            return self._variance_of(self.U, self.beta)
        return float(np.sum(self.basis.predictor_variance(self.beta)))

    def remember(self, **properties: float) -> None:
        """Take properties that were computed elsewhere, instead of computing them when read."""
        vars(self).update(properties)

    def _variance_of(self, columns: Floats, coefficients: Floats) -> float:
        centered = columns - np.average(columns, axis=0, weights=self.weights)
        scores = centered @ np.atleast_2d(coefficients).T
        return float(np.average(scores**2, axis=0, weights=self.weights).sum())

    def on(self, engine: Engine) -> Fit:
        """Return the same coefficients, B and centers on other rows, with the deviance there."""
        moved = self._moved_to(engine)
        deviance = moved.sum_over_rows(
            DevianceOfRows(self.family), sensitive=True, predictors=True, center=True
        )
        return replace(moved, deviance=float(deviance[0]))

    def with_rows(self, more: Engine, all_rows: Engine) -> Fit:
        """Return the same on its own rows and more, with a deviance that is of all already.

        What is known of its own rows is not summed again: sums over rows add.

        Parameters
        ----------
        more : Engine
            Rows that the model was fitted without, all independent.
        all_rows : Engine
            All rows.

        Returns
        -------
        Fit
            The model on all rows.
        """
        few, memory = self._moved_to(more), {}
        for key, known in self._memory.items():
            if isinstance(key, tuple):
                predictors, center, log_size = key
                memory[key] = known + few.deviance_without(
                    predictors=predictors, center=center, log_size=log_size
                )
            else:
                memory[key] = known + few.mean_sums(key)
        return replace(self._moved_to(all_rows), _memory=memory)

    def _moved_to(self, engine: Engine) -> Fit:
        return replace(
            self,
            engine=engine,
            unconstrained=lambda: self.unconstrained().on(engine),
            features=None,
            given=None,
            moved=True,
            _memory={},
            _known={},
        )

    def sum_over_rows(
        self, function: RowFunction, *, sensitive: bool, predictors: bool, center: bool
    ) -> Floats:
        """Sum a function of the rows over this model with α, or α and β, set to zero.

        The other coefficients and the intercept stay as they are: the
        intercept of the model on centered S, or, with ``center=False``, that
        of the model on S as it is coded.
        """
        if self.features is not None:
            return self.features.sum_over_rows(
                function, sensitive=sensitive, predictors=predictors, center=center
            )
        alpha = self.alpha if sensitive else np.zeros_like(self.alpha)
        beta = self.beta if predictors else self.basis.without_predictors(self.beta)
        dropped = alpha if not center else self.alpha
        intercept = self.intercept + dropped @ self.basis.center_sensitive
        place = self.linear_predictors_at(intercept, alpha, beta)
        return self.engine.sum_over_rows(function, *place)

    def mean_sums(self, means: PredictedMeans) -> MeanSums:
        """Return sums of the means that the model predicts, with [1, S].

        With [1, S, X], if S and U are residuals on controls.
        """
        if self.features is not None:
            return self.features.mean_sums(means)
        if means not in self._memory:
            sums = self.engine.means(self.family, means, *self.place, beside=self.beside)
            self._memory[means] = sums
        known: MeanSums = self._memory[means]
        return known

    @property
    def beside(self) -> int | None:
        """How many columns means are summed with; None for those of S."""
        return len(self.basis.center) if len(self.basis.given_columns) else None

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what is asked for more than once, computed when it is first asked for."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def lacks(self, means: PredictedMeans, engine: Engine) -> bool:
        """Whether sums of means over the rows of an engine are neither known nor of features."""
        return self.engine is engine and self.features is None and means not in self._memory

    def learn(self, means: PredictedMeans, sums: MeanSums) -> None:
        """Remember sums of means that another pass has made."""
        self._memory[means] = sums

    @property
    def mean_intercept(self) -> Any:
        """The intercept at the column means: that of the model on centered S."""
        return self.intercept + self.alpha @ self.basis.center_sensitive

    @property
    def place(self) -> tuple[Floats, Floats, Floats]:
        """Where engines evaluate the model; see `linear_predictors_at`."""
        return self.linear_predictors_at(self.mean_intercept, self.alpha, self.beta)

    def linear_predictors_at(
        self, intercept: Any, alpha: Floats, beta: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return a center, intercepts there and raw coefficients of the linear predictors."""
        raw = self.basis.raw_coefficients(alpha, beta)
        both = np.column_stack([np.atleast_1d(intercept), np.atleast_2d(raw)])
        both = self.family.to_contrasts(both)
        return self.basis.center, both[:, 0], both[:, 1:]

    def deviance_without(self, *, predictors: bool, center: bool, log_size: float = 0.0) -> float:
        """Return the deviance at α = 0, with β or without it, divided by e^log_size."""
        key = (predictors, center, log_size)
        if key not in self._memory:
            function = DevianceOfRows(self.family, log_size)
            total = self.sum_over_rows(
                function, sensitive=False, predictors=predictors, center=center
            )
            self._memory[key] = float(total[0])
        return float(self._memory[key])

    def with_deviances(self, without_sensitive: float, null: float) -> Fit:
        """Return the fit with its deviances on centered S at α = 0 known, with β and without it."""
        self._memory[True, True, 0.0], self._memory[False, True, 0.0] = without_sensitive, null
        return self

    @property
    def log_size_uncentered(self) -> float:
        """Logarithm of what the deviance at α = β = 0 is a multiple of if S is not centered.

        η is the intercept then, in every row; under a log link, and if S is far
        from zero, the deviance there overflows.
        """
        if np.ndim(self.alpha) > 1:
            return 0.0
        mean = float(self.basis.center_targets[0])
        return max(float(self.family.log_size(float(self.intercept), mean)), 0.0)


@dataclass(frozen=True)
class DevianceOfRows(FamilyFunction):
    """The deviance of some rows, divided by e^log_size."""

    log_size: float = 0.0

    def __call__(self, y: Floats, eta: Floats, weight: Floats) -> Floats:
        """Return it as an array of one number."""
        if self.log_size == 0.0:
            return np.array([float(self.family.deviance_terms(y, eta, weight, 0).deviance)])
        deviance = weight @ self.family.unit_deviance(y[:, 0], eta[:, 0], self.log_size)
        return np.array([float(deviance)])


@dataclass(frozen=True)
class PredictedModels:
    """What definitions need of L models that differ in λ; the names are those of `Fit`."""

    # Each is a combination of a few models, of shape (L, P), whose coefficients have the shapes
    # (P, K, q) and (P, K, p).
    parts: Floats
    of_alpha: Floats
    of_beta: Floats
    deviance: Floats  # of shape (L,)
    # Deviances at α = 0, with β and without it, of shape (L,).
    without_sensitive: Floats
    null: Floats
    family: Family
    basis: FairBasis

    @cached_property
    def alpha(self) -> Floats:
        """Coefficients of S, of shape (L, K, q)."""
        return self._combined(self.of_alpha)

    @cached_property
    def beta(self) -> Floats:
        """Coefficients of U, of shape (L, K, p)."""
        return self._combined(self.of_beta)

    def _combined(self, each: Floats) -> Floats:
        count, *shape = each.shape
        return (self.parts @ each.reshape(count, -1)).reshape(-1, *shape)

    @cached_property
    def sensitive_variance(self) -> Floats:
        """VAR(Sα), summed over classes, of shape (L,)."""
        return np.asarray(self.basis.sensitive_variance(self.alpha)).sum(axis=1)

    @cached_property
    def predictor_variance(self) -> Floats:
        """VAR(Uβ), summed over classes, of shape (L,)."""
        return np.asarray(self.basis.predictor_variance(self.beta)).sum(axis=1)

    def deviance_without(self, *, predictors: bool, center: bool, log_size: float) -> Floats:
        """Return the deviances at α = 0, with β or without it, on centered S."""
        return self.without_sensitive if predictors else self.null
