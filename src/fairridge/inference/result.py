"""The object that `model.inference(X, y)` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import norm

from fairridge._typing import Floats
from fairridge.arguments import check_option
from fairridge.data import joined_offsets, make_frame
from fairridge.inference.estimates import Contrast, Estimates, Interval, WaldTest, quantile
from fairridge.inference.population import Population
from fairridge.inference.predictions import Predictor, predicted_columns
from fairridge.tables import Column, Table, Tabular, numbers

Kind = Literal["raw", "fair"]

TARGET = (
    "Intervals are for this fair model fitted to the whole population, not for effects without "
    "the bound."
)


@dataclass(frozen=True)
class Facts:
    """What a table of standard errors says above and below its rows."""

    title: str  # the model's name
    # Their names.
    family: str
    definition: str
    covariance: str  # "HC0", "HC1", "HC3" or "cluster"
    n_rows: int  # number of rows
    df: float | None  # degrees of freedom of t statistics; None for normal quantiles
    unfairness: float  # the bound r
    binding: bool  # whether the bound binds
    near_kink: bool  # whether the sample does not show if the bound binds in the population
    # Log-likelihood, and effective number of parameters.
    loglik: float
    parameters: float
    # Variance of a gaussian response around its mean; None for other families.
    dispersion: float | None
    weight: float  # sum of the weights
    ratio: str = ""  # what powers of e of coefficients are, such as "odds ratio"; "" if nothing
    notes: tuple[str, ...] = ()  # remarks
    # What the log-likelihood exceeds that of other rows by; None if that is `parameters`.
    optimism: float | None = None


@dataclass(frozen=True, repr=False)
class Inference(Tabular):
    """Standard errors of a fair model, and what follows from them.

    The errors account for the estimation of B (what S explains of X), of the
    column means and of λ(r), and hold for heteroscedastic responses.

    Attributes
    ----------
    raw : Estimates
        Intercept and coefficients of the encoded columns, in the order of `coef_names_`.
    fair : Estimates
        Intercept in the fair basis, α and β, and "(lambda)" if the bound binds.
    quantities : dict of str to tuple of float
        Estimate and standard error of "unconstrained" and "price".
    population : Population or str
        What the sample shows of S and U in the population, or why it shows nothing.
    facts : Facts
        What the table says besides its rows.
    backend : object
        The frame library of the input.
    predictor : Predictor or None
        How the model predicts new rows.
    influences : callable or None
        Computes `influence()`; it holds the rows, so files leave it out.

    See Also
    --------
    fairridge.FairRidgeRegressor : Its `inference(X, y)` returns this.
    fairridge.inference.pool : Models of several parties, combined.

    References
    ----------
    .. [1] MacKinnon and White (1985), Some heteroskedasticity-consistent covariance matrix
        estimators with improved finite sample properties, Journal of Econometrics 29,
        305–325.
    .. [2] "How it is computed" in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> model = FairRidgeRegressor(0.05).fit(X, y, sensitive_features=S)
    >>> found = model.inference(X, y, sensitive_features=S)
    >>> print(found.names, found.standard_errors.round(3))
    ('(intercept)', 's0', 'x0') [0.138 0.1   0.143]
    """

    raw: Estimates
    fair: Estimates
    quantities: dict[str, tuple[float, float]]
    population: Population | str
    facts: Facts
    backend: Any = None
    predictor: Predictor | None = field(default=None, repr=False)
    influences: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"influences": None}

    @property
    def names(self) -> tuple[str, ...]:
        """Names: "(intercept)" and `coef_names_`."""
        return self.raw.names

    @property
    def estimate(self) -> Floats:
        """`intercept_` and `coef_`."""
        return self.raw.estimate

    @property
    def covariance(self) -> Floats:
        """Covariance of `estimate`."""
        return self.raw.covariance

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of `estimate`."""
        return self.raw.standard_errors

    def confidence_interval(self, confidence: float = 0.95) -> Floats:
        """Return lower and upper ends for `estimate`, of shape (k, 2)."""
        return self.raw.interval(confidence, self.facts.df)

    def to_frame(
        self, kind: Kind = "raw", confidence: float = 0.95, *, exponentiate: bool = False
    ) -> Any:
        """Return the table as a frame.

        Parameters
        ----------
        kind : {"raw", "fair"}, default="raw"
            Coefficients of the columns as they came, or α, β and λ(r). The
            interval of λ is symmetric for log λ.
        confidence : float, default=0.95
            Confidence of the intervals.
        exponentiate : bool, default=False
            Whether to show powers of e: odds ratios of logistic models (of several classes,
            relative to their geometric mean), rate ratios of counts, ratios of means of other
            models with a log link, and hazard ratios of Cox models. The column `coefficient` is
            called `odds_ratio`, `rate_ratio`, `mean_ratio` or `hazard_ratio` then. The ends of
            intervals are powers of e, too, and the standard error is that of the delta method;
            statistics and p-values are those of the coefficients.

        Returns
        -------
        frame
            One row per coefficient.
        """
        return self._table(kind, confidence, exponentiate).frame()

    def _powers(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return a table of ratios."""
        self._require_ratios()
        # λ, the last of the fair table, is not a coefficient.
        terms = [k for k, term in enumerate(columns["term"]) if term != "(lambda)"]
        found: dict[str, Any] = {}
        for name, values in columns.items():
            kept = np.asarray(values)[terms]
            with np.errstate(over="ignore"):
                power = np.exp(kept) if name in ("coefficient", "lower", "upper") else kept
            found[self.facts.ratio.replace(" ", "_") if name == "coefficient" else name] = power
        found["standard_error"] *= found[self.facts.ratio.replace(" ", "_")]
        return found

    def _require_ratios(self) -> None:
        if not self.facts.ratio:
            raise ValueError(
                f"powers of e of the coefficients of this {self.facts.family} model are no ratios; "
                "odds, rates and hazards have ratios: logistic models, models with a log link, and "
                "Cox models."
            )

    def _columns(self, kind: Kind, confidence: float) -> dict[str, Any]:
        check_option("kind", kind, ("raw", "fair"))
        chosen: Estimates = getattr(self, kind)
        columns = chosen.columns(confidence, self.facts.df)
        if "(lambda)" in chosen.names:
            interval = self.lambda_interval(confidence)
            columns["lower"][-1], columns["upper"][-1] = interval.lower, interval.upper
            # λ = 0 is the edge of what λ can be.
            columns["statistic"][-1] = columns["p_value"][-1] = np.nan
        return columns

    def lambda_interval(self, confidence: float = 0.95) -> Interval:
        """Return λ(r) with an interval that is symmetric for log λ.

        If the sample does not show whether the bound binds, λ may be 0: the interval begins
        there and has one end, which is that of a normal λ.
        """
        if "(lambda)" not in self.fair.names:
            raise ValueError("λ is not estimated: the bound does not bind, or is zero.")
        value, error = float(self.fair.estimate[-1]), float(self.fair.standard_errors[-1])
        half = quantile(confidence, self.facts.df) * error
        if self.facts.near_kink:
            return Interval(value, 0.0, value + half, confidence)
        ratio = float(np.exp(half / value))
        return Interval(value, value / ratio, value * ratio, confidence)

    # -------------------------------------------------------- derived quantities

    def unconstrained_unfairness(self, confidence: float = 0.95) -> Interval:
        """Return how unfair the model without a bound is, with an interval.

        For statistical parity of a gaussian model this is R²_S of least squares.
        """
        value, error = self._quantity("unconstrained")
        half = quantile(confidence, None) * error
        # Shares of deviance may exceed 1; no other value does.
        upper = min(value + half, max(value, 1.0))
        return Interval(value, max(value - half, 0.0), upper, confidence)

    @property
    def binding_p_value(self) -> float:
        """P-value of the hypothesis that the bound does not bind in the population."""
        value, error = self._quantity("unconstrained")
        if error == 0.0:
            return float(value <= self.facts.unfairness)
        return float(norm.sf((value - self.facts.unfairness) / error))

    def price_of_fairness(self, confidence: float = 0.95) -> Interval:
        """Return what the bound adds to the mean deviance of a row, with an interval.

        For gaussian models that is the increase of the mean squared error.
        """
        if not self.facts.binding:
            return Interval(0.0, 0.0, 0.0, confidence)
        value, error = self._quantity("price")
        half = quantile(confidence, None) * error
        return Interval(value, max(value - half, 0.0), value + half, confidence)

    def _quantity(self, name: str) -> tuple[float, float]:
        if name not in self.quantities:
            raise ValueError(
                f"this model has no estimate of {name!r}: the model without a bound has no limit, "
                "or its definition or family offers none."
            )
        return self.quantities[name]

    def wald_test(self, names: Sequence[str]) -> WaldTest:
        """Test whether several raw coefficients are all zero, as in a model without them.

        Parameters
        ----------
        names : sequence of str
            Some of `names`, or columns of the input: a column with levels stands for the
            coefficients of all of them, and of several classes for those of all classes.

        Returns
        -------
        WaldTest
            Statistic, degrees of freedom and p-value.
        """
        asked = [names] if isinstance(names, str) else names
        return self.raw.wald([term for name in asked for term in self._terms(name)], self.facts.df)

    def contrast(
        self, weights: Mapping[str, float], confidence: float = 0.95, *, exponentiate: bool = False
    ) -> Contrast:
        """Return a combination of raw coefficients, such as the sum of two.

        Parameters
        ----------
        weights : mapping of str to float
            By what to multiply each of some of `names`: ``{"sex[F]": 1, "sex[F] × race[B]": 1}``
            is the sum of both, and ``{"race[B]": 1, "race[C]": -1}`` a difference.
        confidence : float, default=0.95
            Confidence of the interval.
        exponentiate : bool, default=False
            Whether to return the power of e, as in `to_frame`.

        Returns
        -------
        Contrast
            With `estimate`, `standard_error`, `lower`, `upper`, and the `p_value` of the
            hypothesis that the combination is zero. Where few rows tell of a coefficient, the
            interval has the degrees of freedom of the one with the fewest.
        """
        found = self.raw.contrast(weights, confidence, self.facts.df)
        if not exponentiate:
            return found
        self._require_ratios()
        with np.errstate(over="ignore"):
            ratio, lower, upper = np.exp([found.estimate, found.lower, found.upper]).tolist()
        error = ratio * found.standard_error
        return replace(found, estimate=ratio, lower=lower, upper=upper, standard_error=error)

    def influence(self) -> Floats:
        """Return what each row adds to each coefficient, to first order.

        That is the influence function of the whole fit, λ(r) and B included, times the row's
        share of the weights. Without the row the coefficients are smaller by about as much. Each
        column has a sum of zero, and of independent rows its sum of squares is the variance
        "HC0".

        Returns
        -------
        ndarray of shape (n, k)
            One row for each row of X and one column for each of `names`: zero for rows that the
            model was not fitted to, such as those of weight zero, and NaN for coefficients
            without a standard error.
        """
        if self.influences is None:
            raise ValueError(
                "Influences need the rows in memory: ask model.inference(X, y), with a frame or an "
                "array, for them. Inferences from files have none."
            )
        return self.influences()

    def _terms(self, name: str) -> list[str]:
        """Return the coefficients that a name means: itself, or those of a column."""
        if name in self.names:
            return [name]
        labels = () if self.predictor is None else self.predictor.labels
        ends = ("", *(f" → {label}" for label in labels))
        found = [
            term
            for term in self.names
            for end in ends
            if term == f"{name}{end}" or (term.startswith(f"{name}[") and term.endswith(f"]{end}"))
        ]
        return list(dict.fromkeys(found)) or [name]

    def linear_predictor(
        self, columns: Any, confidence: float = 0.95, *, observation: bool = False
    ) -> Floats:
        """Return the linear predictor of new rows with intervals.

        Parameters
        ----------
        columns : array of shape (n, q+p)
            Encoded columns, in the order of `names`.
        confidence : float, default=0.95
            Confidence of each interval.
        observation : bool, default=False
            Whether the interval is for a new response (gaussian models) instead of its mean.

        Returns
        -------
        ndarray of shape (n, 3)
            Estimate, lower and upper end.
        """
        Z = np.asarray(columns, dtype=np.float64)
        has_intercept = self.names[:1] == ("(intercept)",)
        Z = np.column_stack([np.ones(len(Z)), Z]) if has_intercept else Z
        if Z.shape[1] != len(self.names):
            raise ValueError(
                f"columns has {Z.shape[1] - has_intercept} columns, but the model has "
                f"{len(self.names) - has_intercept} for one linear predictor."
            )
        self._require_others(Z)
        if observation and self.facts.dispersion is None:
            raise ValueError("observation=True needs a gaussian model.")
        noise = (self.facts.dispersion or 0.0) if observation else 0.0
        middle, half = self.raw.combined(Z, confidence, self.facts.df, noise)
        return np.column_stack([middle, middle - half, middle + half])

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        offset: Any = None,
        exposure: Any = None,
        confidence: float = 0.95,
    ) -> Any:
        """Return the predicted means of new rows with intervals, as a frame.

        Means are probabilities of the modeled class for two classes, and of
        every class for more.

        Parameters
        ----------
        X, sensitive_features, offset, exposure
            As in the model's `predict`: rates without an exposure.
        confidence : float, default=0.95
            Confidence of each interval.

        Returns
        -------
        frame
            Predicted mean and both ends of its interval for each row.
        """
        if self.predictor is None or not self.predictor.family.has_intercept:
            raise ValueError(
                "a model without an intercept predicts no means; compare linear predictors of two "
                "rows with linear_predictor."
            )
        offset = joined_offsets(self.predictor.family.link, offset, exposure)
        Z, shift = self.predictor.read(X, sensitive_features, offset)
        Z = np.column_stack([np.ones(len(Z)), Z])
        self._require_others(Z)
        columns = predicted_columns(self.predictor, self.raw, Z, shift, confidence, self.facts.df)
        return make_frame(columns, self.backend)

    def _require_others(self, Z: Floats) -> None:
        """Refuse rows of isolated levels."""
        if self.raw.isolated is None:
            return
        each = self.raw.isolated.reshape(-1, Z.shape[1]).any(axis=0)
        if Z[:, each].any():
            names = [self.names[k] for k in np.flatnonzero(each)]
            raise ValueError(
                f"rows of isolated levels ({', '.join(map(repr, names))}) have no intervals; leave "
                "them out."
            )

    @property
    def effective_parameters(self) -> float:
        """Tr(H(H + penalties)⁻¹): λ(r) counts as given; σ² of a gaussian model counts as one."""
        return self.facts.parameters

    @property
    def aic(self) -> float:
        """−2 log-likelihood + 2·effective_parameters; Takeuchi's trace if the bound binds."""
        facts = self.facts
        gained = facts.parameters if facts.optimism is None else facts.optimism
        return -2.0 * facts.loglik + 2.0 * gained

    @property
    def bic(self) -> float:
        """−2 log-likelihood + log(n)·effective_parameters."""
        return -2.0 * self.facts.loglik + float(np.log(self.facts.weight)) * self.facts.parameters

    def population_unfairness(self, confidence: float = 0.95) -> Interval:
        """Return R² of the linear predictor on S in the population, with an interval.

        Given controls this is the partial R².
        See `fairridge.inference.population`.
        """
        if isinstance(self.population, str):
            raise ValueError(self.population)
        return self.population.unfairness(confidence)

    # ------------------------------------------------------------------ printing

    def _facts(self) -> list[tuple[str, str]]:
        facts = self.facts
        df = "normal quantiles" if facts.df is None else f"{facts.df:g}"
        return [
            ("Family", facts.family),
            ("Definition", facts.definition),
            ("Bound", f"{facts.unfairness:g} ({'binds' if facts.binding else 'does not bind'})"),
            ("Observations", f"{facts.n_rows:,}"),
            ("Covariance", facts.covariance),
            ("Degrees of freedom", df),
        ]

    def to_text(self, confidence: float = 0.95, *, exponentiate: bool = False) -> str:
        """Return the table as text, as `print` shows it; the arguments are those of `to_frame`."""
        return self._table("raw", confidence, exponentiate).text()

    def _tables(self) -> list[Table]:
        return [self._table("raw", 0.95, False)]

    def _table(self, kind: Kind, confidence: float, exponentiate: bool) -> Table:
        facts, notes = self.facts, [*self.facts.notes]
        if facts.unfairness < 1.0:
            notes.insert(0, TARGET)
        if "(lambda)" in self.fair.names:
            interval = self.lambda_interval(confidence)
            ends = f"{interval.lower:.5g} to {interval.upper:.5g}"
            notes.append(f"λ(r) = {interval.estimate:.5g}, {100 * confidence:g} % interval {ends}.")
        values = self._columns(kind, confidence)
        values = self._powers(values) if exponentiate else values
        columns = coefficient_columns(
            values, confidence, facts.df, facts.ratio if exponentiate else "coef"
        )
        return Table(facts.title, columns, self._facts(), notes, self.backend)


def coefficient_columns(
    values: dict[str, Any], confidence: float, df: float | None, heading: str = "coef"
) -> dict[str, Column]:
    """Return estimates with their errors, in the layout that statsmodels made familiar."""
    letter, half = "z" if df is None else "t", (1.0 - confidence) / 2.0
    heads = ("", heading, "std err", letter, f"P>|{letter}|")
    ends = (f"[{half:.4g}", f"{1.0 - half:.4g}]")
    styles = ("", "", "", ".3f", ".3f", "", "")
    columns = {
        name: Column(column, head, style)
        for (name, column), head, style in zip(values.items(), heads + ends, styles, strict=True)
    }
    # The one reason to have no standard error.
    errors = [text or "isolated" for text in numbers(values["standard_error"])]
    return columns | {"standard_error": Column(values["standard_error"], "std err", texts=errors)}
