"""Meta-analysis: coefficients of several models, combined by their standard errors.

Parties or strata that share no rows fit a model each. With estimates y_i and
variances v_i of one coefficient,

    fixed effects:   Σ y_i/v_i / Σ 1/v_i,               variance 1/Σ 1/v_i
    random effects:  the same with v_i + τ² for v_i.

Fixed effects take all models for estimates of one number; random effects allow
the numbers to differ with variance τ², and estimate their mean. τ² is the one
at which Cochran's Q is its expectation,

    Q(τ²) = Σ (y_i − ȳ)²/(v_i + τ²) = k − 1,

0 if Q(0) is smaller (Paule and Mandel 1982; DerSimonian and Kacker 2007,
"Random-effects model for meta-analysis of clinical trials: An update").

A τ² of few models is uncertain, so that intervals of random effects take Student's
distribution with k − 1 degrees of freedom (Hartung and Knapp 2001). Their variance,
Q(τ²)/(k − 1) times the one above, is the same at this τ²; where τ² is 0 it would be
smaller than that of fixed effects, and is not used (Röver, Knapp and Friede 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2

from fairridge._typing import Floats
from fairridge.arguments import check_option
from fairridge.inference.estimates import Estimates
from fairridge.inference.result import Inference, coefficient_columns
from fairridge.tables import Column, Table, Tabular

Effects = Literal["fixed", "random"]

MAX_NEWTON_STEPS = 100


@dataclass(frozen=True, repr=False)
class PooledInference(Tabular):
    """Coefficients of several models, combined.

    Attributes
    ----------
    names : tuple of str
        Names: "(intercept)" and `coef_names_`.
    estimate : ndarray of shape (k,)
        Combined coefficients.
    standard_errors : ndarray of shape (k,)
        Their standard errors.
    effects : {"fixed", "random"}
        How they were combined.
    between : ndarray of shape (k,)
        τ², the variance between models; 0 for fixed effects.
    heterogeneity : ndarray of shape (k,)
        Cochran's Q: Σ (y_i − ȳ)²/v_i around the fixed-effects mean.
    n_models : int
        Number of models.
    n_rows : int
        Number of rows of all models together.

    See Also
    --------
    pool : Makes it.

    References
    ----------
    .. [1] Cochran (1954), The combination of estimates from different experiments,
        Biometrics 10, 101–129.
    .. [2] Hartung and Knapp (2001), A refined method for the meta-analysis of controlled
        clinical trials with binary outcome, Statistics in Medicine 20, 3875–3889.
    .. [3] "Models of several parties" in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.inference import pool
    >>> parts = [slice(0, 50), slice(50, 100)]
    >>> inferences = [
    ...     FairRidgeRegressor(0.1)
    ...     .fit(X[part], y[part], sensitive_features=S[part])
    ...     .inference(X[part], y[part], sensitive_features=S[part])
    ...     for part in parts
    ... ]
    >>> found = pool(inferences)
    >>> print(found.n_models, found.n_rows, found.effects)
    2 100 fixed
    """

    names: tuple[str, ...]
    estimate: Floats
    standard_errors: Floats
    effects: Effects
    between: Floats
    heterogeneity: Floats
    n_models: int
    n_rows: int
    backend: Any = None

    @property
    def df(self) -> float | None:
        """Degrees of freedom: k − 1 for random effects, None (normal quantiles) for fixed ones."""
        return self.n_models - 1.0 if self.effects == "random" else None

    @property
    def heterogeneity_p_values(self) -> Floats:
        """P-values of the hypothesis that a coefficient is the same in all models."""
        return np.asarray(chi2.sf(self.heterogeneity, self.n_models - 1))

    @property
    def i_squared(self) -> Floats:
        """Share of the variance of estimates that is between models: max(0, 1 − (k − 1)/Q)."""
        q = np.maximum(self.heterogeneity, np.finfo(np.float64).tiny)
        return np.maximum(0.0, 1.0 - (self.n_models - 1) / q)

    def confidence_interval(self, confidence: float = 0.95) -> Floats:
        """Return lower and upper ends for `estimate`, of shape (k, 2)."""
        return self._estimates.interval(confidence, self.df)

    @property
    def _estimates(self) -> Estimates:
        return Estimates(self.names, self.estimate, np.diag(self.standard_errors**2))

    def to_frame(self, confidence: float = 0.95) -> Any:
        """Return the table as a frame: a row per coefficient, with Q, its p-value, I² and τ²."""
        return self._table(confidence).frame()

    def _tables(self) -> list[Table]:
        return [self._table(0.95)]

    def _table(self, confidence: float) -> Table:
        least = int(np.argmin(self.heterogeneity_p_values))
        facts = [
            ("Effects", self.effects),
            ("Models", f"{self.n_models}"),
            ("Observations", f"{self.n_rows:,}"),
            ("Degrees of freedom", "normal quantiles" if self.df is None else f"{self.df:g}"),
        ]
        note = (
            f"Most different between models: {self.names[least]!r}, I² = "
            f"{self.i_squared[least]:.0%}, p-value of equality "
            f"{self.heterogeneity_p_values[least]:.3g}."
        )
        values = self._estimates.columns(confidence, self.df)
        columns = coefficient_columns(values, confidence, self.df) | {
            "heterogeneity": Column(self.heterogeneity, None),
            "heterogeneity_p_value": Column(self.heterogeneity_p_values, None),
            "i_squared": Column(self.i_squared, None),
            "between": Column(self.between, None),
        }
        return Table("Combined models", columns, facts, [note], self.backend)


def pool(inferences: Sequence[Inference], effects: Effects = "fixed") -> PooledInference:
    """Combine models of several parties or strata by their standard errors.

    Each party fits the same model to its own rows, and gives away coefficients
    and standard errors only. The models must have the same columns, family,
    definition and bound. Each has its own λ(r): what is combined are the fair
    models of the parties, and not the fair model of all their rows together,
    which federated fits give.

    Parameters
    ----------
    inferences : sequence of Inference
        What `model.inference(X, y)` returned for each of them, at least two.
    effects : {"fixed", "random"}, default="fixed"
        Whether all models estimate the same coefficients, or coefficients that
        differ with a variance τ² (Paule and Mandel's estimate).

    Returns
    -------
    PooledInference
        Combined coefficients with standard errors, and how far models differ.

    See Also
    --------
    PooledInference : What it returns.
    fairridge.sources.moments : The model of all rows together, without sharing rows.

    References
    ----------
    .. [1] DerSimonian and Laird (1986), Meta-analysis in clinical trials, Controlled
        Clinical Trials 7, 177–188.
    .. [2] "Models of several parties" in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> from fairridge.inference import pool
    >>> rng = np.random.default_rng(0)
    >>> found = []
    >>> for _ in range(3):
    ...     sex, skill = rng.integers(0, 2, 400), rng.normal(size=400)
    ...     wage = 2 * skill + sex + rng.normal(size=400)
    ...     X = np.column_stack([sex, skill])
    ...     model = FairRidgeRegressor(0.05, sensitive=[0]).fit(X, wage)
    ...     found.append(model.inference(X, wage))
    >>> pool(found).estimate[1:].round(1).tolist()
    [0.9, 2.0]
    """
    check_option("effects", effects, ("fixed", "random"))
    found = list(inferences)
    _require_same_models(found)
    y = np.array([one.estimate for one in found])
    v = np.array([one.standard_errors**2 for one in found])
    fixed = _fixed_at_zero(found, y, v)
    v = np.where(fixed, 1.0, v)
    heterogeneity = _spread(y, v)[1]
    between = _between(y, v) if effects == "random" else np.zeros(y.shape[1])
    estimate = _spread(y, v + between)[0]
    errors = np.where(fixed, 0.0, 1.0 / np.sqrt((1.0 / (v + between)).sum(axis=0)))
    rows = sum(one.facts.n_rows for one in found)
    return PooledInference(
        found[0].names, estimate, errors, effects, between, heterogeneity, len(found), rows,
        found[0].backend,
    )  # fmt: skip


def _spread(y: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return weighted means and Q, by column."""
    mean = (y / v).sum(axis=0) / (1.0 / v).sum(axis=0)
    return mean, ((y - mean) ** 2 / v).sum(axis=0)


def _between(y: Floats, v: Floats) -> Floats:
    """Return τ² by Newton's method, which ascends to the root: Q falls in τ² and is convex."""
    tau2, expected = np.zeros(y.shape[1]), len(y) - 1
    for _ in range(MAX_NEWTON_STEPS):
        mean, q = _spread(y, v + tau2)
        slope = ((y - mean) ** 2 / (v + tau2) ** 2).sum(axis=0)
        step = np.divide(q - expected, slope, out=np.zeros_like(q), where=q > expected)
        tau2 = tau2 + step
        if (step <= 1e-14 * tau2).all():
            break
    return tau2


def _require_same_models(found: list[Inference]) -> None:
    """Refuse what cannot be combined, with its place in the sequence."""
    if len(found) < 2:
        raise ValueError(f"pool needs at least two inferences, but {len(found)} given.")
    for k, one in enumerate(found):
        if not isinstance(one, Inference):
            raise TypeError(
                f"inferences[{k}] is {type(one).__name__}; pass what model.inference(X, y) returns."
            )
    first = found[0]
    for k, one in enumerate(found[1:], 1):
        if one.names != first.names:
            extra = sorted(set(one.names) ^ set(first.names)) or list(one.names)
            raise ValueError(
                f"inferences[{k}] has other coefficients than inferences[0]: "
                f"{', '.join(map(repr, extra))}. Fit all models to the same columns and levels, "
                "in the same order."
            )
        for name in ("family", "definition", "unfairness"):
            here, there = getattr(one.facts, name), getattr(first.facts, name)
            if here != there:
                raise ValueError(
                    f"inferences[{k}] has {name} {here!r}, but inferences[0] has {there!r}. "
                    "Combine models that differ in their rows only."
                )


def _fixed_at_zero(found: list[Inference], y: Floats, v: Floats) -> Any:
    """Return which coefficients are zero in all models; refuse what has no error in some."""
    # Isolated levels have no standard error.
    fixed = ((v == 0.0) & (y == 0.0)).all(axis=0)
    missing = (~(v > 0.0)).any(axis=0) & ~fixed
    if missing.any():
        place = int(np.flatnonzero(missing)[0])
        model = int(np.flatnonzero(~(v[:, place] > 0.0))[0])
        raise ValueError(
            f"inferences[{model}] has no standard error of {found[0].names[place]!r}: its level is "
            "isolated, or the coefficient is fixed. Merge the level with another one in all models."
        )
    return fixed
