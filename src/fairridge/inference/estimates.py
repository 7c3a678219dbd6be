"""Estimates with a covariance, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, f, norm, t

from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import check_finite, meant

# Share of the largest variance of combinations of coefficients, below which one is rounding.
MIN_VARIANCE_SHARE = 1e-10


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval."""

    # The estimate and the ends of the interval.
    estimate: float
    lower: float
    upper: float
    confidence: float


@dataclass(frozen=True)
class Contrast(Interval):
    """A combination of coefficients with an interval, and a test that it is zero."""

    standard_error: float
    p_value: float


@dataclass(frozen=True)
class WaldTest:
    """A test that several coefficients are zero."""

    statistic: float  # F, or χ² if `df_residual` is None
    df: int  # number of independent restrictions
    df_residual: float | None  # degrees of freedom of the denominator
    p_value: float  # probability of a statistic at least as large if they are


@dataclass(frozen=True)
class Estimates:
    """Numbers with names and a covariance matrix."""

    names: tuple[str, ...]  # names
    estimate: Floats  # estimates, of shape (k,)
    covariance: Floats  # their covariance, of shape (k, k)
    # Which of them are coefficients of isolated levels, without a standard error, of shape
    # (k,).
    isolated: Booleans | None = None
    # Degrees of freedom of each, where few rows tell of some, of shape (k,); else those of all.
    df: Floats | None = None

    def take(self, places: Integers) -> Estimates:
        """Return some of them, in a given order."""
        names = tuple(self.names[k] for k in places)
        isolated = None if self.isolated is None else self.isolated[places]
        covariance = self.covariance[np.ix_(places, places)]
        df = None if self.df is None else self.df[places]
        return Estimates(names, self.estimate[places], covariance, isolated, df)

    @property
    def standard_errors(self) -> Floats:
        """Roots of the variances; NaN for isolated levels."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return errors if self.isolated is None else np.where(self.isolated, np.nan, errors)

    def interval(self, confidence: float, df: float | None) -> Floats:
        """Return lower and upper ends, of shape (k, 2)."""
        half = quantile(confidence, df if self.df is None else self.df) * self.standard_errors
        return np.column_stack([self.estimate - half, self.estimate + half])

    def columns(self, confidence: float, df: float | None) -> dict[str, Any]:
        """Return the columns of a table of the estimates."""
        ends, errors = self.interval(confidence, df), self.standard_errors
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN for what is fixed at zero
            statistics = np.where(errors > 0.0, self.estimate / errors, np.nan)
        return {
            "term": list(self.names),
            "coefficient": self.estimate,
            "standard_error": errors,
            "statistic": statistics,
            "p_value": p_value(statistics, df if self.df is None else self.df),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
        }

    def combined(
        self, Z: Floats, confidence: float, df: float | None, noise: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Return linear combinations (rows of Z), and half the width of their intervals."""
        # `noise` is a variance to add.
        variance = ((Z @ self.covariance) * Z).sum(axis=1) + noise
        half = quantile(confidence, df) * np.sqrt(np.maximum(variance, 0.0))
        return Z @ self.estimate, half

    def wald(self, names: Sequence[str], df: float | None) -> WaldTest:
        """Test whether all named estimates are zero in the population."""
        places = self._places("wald_test", list(dict.fromkeys(names)))
        errors = self.standard_errors[places]
        places = [k for k, error in zip(places, errors, strict=True) if error > 0.0]
        if not places:
            raise ValueError("these coefficients are fixed at zero: there is nothing to test.")
        errors = self.standard_errors[places]
        # Correlations: directions without variance, as in coefficients that sum to zero, go.
        sizes, vectors = np.linalg.eigh(
            self.covariance[np.ix_(places, places)] / np.outer(errors, errors)
        )
        kept = sizes > MIN_VARIANCE_SHARE * sizes[-1]
        parts = (self.estimate[places] / errors) @ vectors[:, kept] / np.sqrt(sizes[kept])
        total, count = float(parts @ parts), int(kept.sum())
        if self.df is not None:
            # One coefficient of few degrees of freedom alone makes tails heavy.
            df = 1.0 / float(np.sqrt(np.mean(1.0 / self.df[places] ** 2)))
        if df is None:
            return WaldTest(total, count, None, float(chi2.sf(total, count)))
        return WaldTest(total / count, count, df, float(f.sf(total / count, count, df)))

    def contrast(
        self, weights: Mapping[str, float], confidence: float, df: float | None
    ) -> Contrast:
        """Return a combination of estimates, each times its weight."""
        if not isinstance(weights, Mapping):
            raise TypeError(
                f"contrast: {weights!r} is not a mapping of names to weights, "
                f"such as {{{self.names[-1]!r}: 1}}."
            )
        places = self._places("contrast", list(weights))
        factors = np.array([check_finite(f"weights[{name!r}]", weights[name]) for name in weights])
        variance = float(factors @ self.covariance[np.ix_(places, places)] @ factors)
        each = factors**2 * self.covariance[places, places]
        if variance <= MIN_VARIANCE_SHARE * each.sum():
            raise ValueError("contrast: this combination is fixed, so there is nothing to test.")
        if self.df is not None:
            df = float(self.df[places][each > 0.0].min())
        value, error = float(factors @ self.estimate[places]), variance**0.5
        half = quantile(confidence, df) * error
        tested = float(p_value(np.array(value / error), df))
        return Contrast(value, value - half, value + half, confidence, error, tested)

    def _places(self, use: str, names: list[str]) -> list[int]:
        """Return where named estimates stand; refuse what has no standard error."""
        if not names:
            raise ValueError(f"{use}: name at least one coefficient, such as {self.names[-1]!r}.")
        for name in names:
            if name not in self.names:
                raise ValueError(
                    f"{use}: there is no coefficient {name!r}. {meant(name, self.names)}"
                )
        places = [self.names.index(name) for name in names]
        without = np.isnan(self.standard_errors[places])
        if without.any():
            name = names[int(without.argmax())]
            raise ValueError(
                f"{use}: {name!r} cannot be tested: its level is isolated, so it has no error. "
                "Merge it with others (min_frequency=…), or name the other levels."
            )
        return places


def quantile(confidence: float, df: Any) -> Any:
    """Return two-sided quantiles of Student's distributions, or that of the normal one."""
    check_probability("confidence", confidence)
    probability = 0.5 + confidence / 2.0
    found = norm.ppf(probability) if df is None else t.ppf(probability, df)
    return found if np.ndim(found) else float(found)


def check_probability(name: str, value: float) -> None:
    """Refuse what is not a probability, or is that of what is certain or impossible."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name}={value!r} must lie strictly between 0 and 1.")


def p_value(statistics: Floats, df: Any) -> Floats:
    """Return two-sided p-values."""
    size = np.abs(statistics)
    return np.asarray(2.0 * (norm.sf(size) if df is None else t.sf(size, df)))
