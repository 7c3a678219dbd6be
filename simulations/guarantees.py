"""Promises on populations that they were not made for: how often each is broken, worst first.

A case is a promise, a population, the share of samples in which the promise may be broken, and
how one sample is judged. Answers that are refused, with a reason, are counted apart, and so are
those with a warning that they may not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from zlib import crc32

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairStackingRegressor, Monitor, audit
from fairridge._typing import Floats
from fairridge.inference import pool
from fairridge.metrics.groups import Grouping
from fairridge.rules import JudgedRows, MeanGap
from simulations.monitoring import identity
from simulations.populations import share

TITLE = "Guarantees on populations nobody tried"
BOUND, CONFIDENCE = 0.05, 0.9
REPEATS, QUICK = 1000, 1
# Samples of cases that take seconds each.
FEW = 200
# Rows that stand for a population.
MANY = 300_000
# Monte Carlo errors by which a promise is broken, and not by chance.
BEYOND = 3.0

Rng = np.random.Generator
# Whether a sample breaks the promise; None if it is refused.
Judged = bool | Literal["warned"] | None


@dataclass(frozen=True)
class Case:
    """A promise on a population."""

    promise: str
    population: str
    allowed: float  # share of samples in which the promise may be broken
    judge: Callable[[Rng], Judged]
    samples: int = REPEATS


# ---------------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Certified:
    """A certified model of samples of a population; broken if it exceeds the bound there.

    Attributes
    ----------
    draw : callable
        Returns [S, X] and responses of n rows.
    n, q : int
        Rows of a sample, and columns of S.
    options : dict
        Of the model.
    weigh : callable, optional
        Draws weights that nothing depends on.
    seen : callable, optional
        Chances that rows are in a sample; their inverses are weights.
    variances : tuple of float
        Of the columns of S, where these have too heavy tails to be averaged: independent, and X
        is normal with these coefficients on S.
    """

    draw: Callable[[Rng, int], tuple[Floats, Any]]
    n: int
    q: int
    options: dict[str, Any]
    weigh: Callable[[Rng, int], Floats] | None = None
    seen: Callable[[Floats], Floats] | None = None
    variances: tuple[float, ...] = ()
    on_sensitive: tuple[tuple[float, ...], ...] = ()

    def __call__(self, rng: Rng) -> Judged:
        Z, y, weight = self.rows(rng)
        kind: Any = FairRidgeRegressor
        if np.asarray(y).dtype.kind != "f":
            kind = FairRidgeClassifier
        options = {"sensitive": list(range(self.q)), "confidence": CONFIDENCE} | self.options
        try:
            model = kind(BOUND, **options).fit(Z, y, sample_weight=weight)
        except ValueError as error:
            if "row" not in str(error) and "tail" not in str(error):
                raise
            return None
        if not model.certificate_.granted:
            return None
        return "warned" if model.certificate_.warning else self.reached(model) > BOUND

    def rows(self, rng: Rng) -> tuple[Floats, Any, Floats | None]:
        """Draw [S, X], responses and weights of a sample."""
        if self.seen is None:
            Z, y = self.draw(rng, self.n)
            return Z, y, None if self.weigh is None else self.weigh(rng, self.n)
        Z, y = self.draw(rng, 8 * self.n)
        chances = self.seen(Z)
        kept = np.flatnonzero(rng.random(len(Z)) < chances)[: self.n]
        return Z[kept], y[kept], 1.0 / chances[kept]

    def reached(self, model: Any) -> float:
        """R² on S in the population of what is bounded."""
        if "definition" in self.options:  # of means
            Z = rows_of(self.draw, MANY // 3)
            means = model.predict_proba(Z) if hasattr(model, "classes_") else model.predict(Z)
            return share_of_all(means, Z[:, : self.q])
        own = np.concatenate([np.zeros(self.q if model.blind else 0), np.ravel(model.coef_)])
        C = self._covariance()
        on_s = C[: self.q] @ own
        explained = on_s @ np.linalg.pinv(C[: self.q, : self.q]) @ on_s
        return float(explained / (own @ C @ own))

    def _covariance(self) -> Floats:
        """Of [S, X] in the population."""
        if not self.variances:
            return covariance_of(self.draw, MANY)
        S, B = np.diag(self.variances), np.array(self.on_sensitive)
        return np.block([[S, S @ B], [B.T @ S, B.T @ S @ B + np.eye(B.shape[1])]])


@cache
def rows_of(draw: Any, n: int) -> Floats:
    """Return many rows that stand for a population."""
    Z: Floats = draw(np.random.default_rng(987654321), n)[0]
    return Z


@cache
def covariance_of(draw: Any, n: int) -> Floats:
    """Covariance of many rows."""
    return np.cov(rows_of(draw, n).T, bias=True)


def share_of_all(means: Floats, S: Floats) -> float:
    """What S explains of the variance of all columns of predictions, of classes together."""
    means = np.reshape(means, (len(S), -1))
    variances = means.var(axis=0)
    each = np.array([share(column, S) for column in means.T])
    return float(each @ variances / variances.sum())


def linear(
    sensitive: Callable[[Rng, int], Floats],
    on_x: Any,
    on_y: Any,
    *,
    spread: Callable[[Floats], Floats] | None = None,
    respond: Callable[[Rng, Floats], Any] | None = None,
) -> Callable[[Rng, int], tuple[Floats, Any]]:
    """Return how to draw S, predictors that depend on it, and a response to their sum.

    Parameters
    ----------
    sensitive : callable
        Draws S of n rows.
    on_x : array-like of shape (q, p)
        Coefficients of X on S.
    on_y : array-like of shape (q,)
        Effects of S on the response, beside those of X, which are 1/√p each.
    spread : callable, optional
        Standard deviation of X given S, from S.
    respond : callable, optional
        Draws responses to linear predictors; a normal error by default.
    """
    B, effects = np.array(on_x, dtype=float), np.array(on_y, dtype=float)

    def draw(rng: Rng, n: int) -> tuple[Floats, Any]:
        S = sensitive(rng, n)
        E = rng.normal(size=(n, B.shape[1]))
        X = S @ B + (E if spread is None else E * spread(S)[:, None])
        eta = X.sum(axis=1) / B.shape[1] ** 0.5 + S @ effects
        y = eta + rng.normal(size=n) if respond is None else respond(rng, eta)
        return np.column_stack([S, X]), y

    return draw


def normal(q: int) -> Callable[[Rng, int], Floats]:
    return lambda rng, n: rng.normal(size=(n, q))


def groups(shares: Any) -> Callable[[Rng, int], Floats]:
    """Draw 0/1 columns of the groups after the first."""
    p = np.array(shares, dtype=float) / np.sum(shares)

    def draw(rng: Rng, n: int) -> Floats:
        codes = rng.choice(len(p), n, p=p)
        return (codes[:, None] == np.arange(1, len(p))).astype(float)

    return draw


def wide_groups(k: int) -> Callable[[Rng, int], tuple[Floats, Any]]:
    """Two large groups of narrow scores, and small ones of wide scores."""
    shares = [0.35, 0.35, *[0.3 / (k - 2)] * (k - 2)]
    effects = np.append(4.0, np.full(k - 2, 2.0))  # the first group has −2, the second 2
    return linear(
        groups(shares),
        np.zeros((k - 1, 2)),
        effects,
        spread=lambda S: np.where(S[:, 1:].any(axis=1), 2.0, 0.5),
    )


def in_units(rng: Rng, n: int) -> Floats:
    return rng.normal(size=(n, 3)) * np.array([1.0, 1e3, 1e-3])


def collinear(rng: Rng, n: int) -> Floats:
    first = rng.normal(size=n)
    return np.column_stack([first, first + 0.1 * rng.normal(size=n)])


def with_product(rng: Rng, n: int) -> Floats:
    a, b = (rng.random((2, n)) < [[0.3], [0.2]]).astype(float)
    return np.column_stack([a, b, a * b])


def bent(rng: Rng, n: int) -> tuple[Floats, Any]:
    """The truth is no line: |s| moves X and y, and x² the latter."""
    s = rng.normal(size=n)
    x = rng.normal(size=(n, 2)) + 0.4 * s[:, None] + 0.4 * np.abs(s)[:, None] * [1.0, 0.0]
    return np.column_stack([s, x]), x[:, 0] + 0.5 * x[:, 1] ** 2 + np.abs(s) + rng.normal(size=n)


def counted(rng: Rng, n: int) -> tuple[Floats, Any]:
    """A uniform attribute, and predictors that are counts."""
    s = rng.random(n)
    x = rng.poisson(np.exp(np.column_stack([0.8 * s, -0.5 * s]))).astype(float)
    return np.column_stack([s, x]), x[:, 0] - x[:, 1] + s + rng.normal(size=n)


def clipped(eta: Floats) -> Floats:
    return np.exp(0.5 * np.clip(eta, -4.0, 4.0))


def events(rng: Rng, eta: Floats) -> Any:
    return rng.random(len(eta)) < 1.0 / (1.0 + np.exp(-eta))


def three_classes(rng: Rng, eta: Floats) -> Any:
    utility = np.column_stack([eta, 0.5 * eta, np.zeros_like(eta)])
    return np.array(["a", "b", "c"])[(utility + rng.gumbel(size=utility.shape)).argmax(axis=1)]


def clustered(rng: Rng, n: int) -> tuple[Floats, Any]:
    """Ten rows of each cluster, which have S and most of X in common."""
    s = rng.normal(size=(n // 10, 1)).repeat(10, axis=0)
    common = rng.normal(size=(n // 10, 2)).repeat(10, axis=0)
    x = 0.4 * s + 0.9 * common + 0.4 * rng.normal(size=(n, 2))
    return np.column_stack([s, x]), x.sum(axis=1) + 0.5 * s[:, 0] + rng.normal(size=n)


def with_group(share: float) -> Callable[[Rng, int], Floats]:
    """Draw a group of this share, and a normal attribute."""
    return lambda rng, n: np.column_stack([rng.random(n) < share, rng.normal(size=n)]) * 1.0


def by_chance(level: float, on: tuple[float, ...]) -> Callable[[Floats], Floats]:
    """Return chances that rows are seen, from the first columns."""

    def chances(Z: Floats) -> Floats:
        log_odds = level + Z[:, : len(on)] @ np.array(on)
        return np.clip(1.0 / (1.0 + np.exp(-log_odds)), 0.02, 0.95)

    return chances


PARITY: dict[str, Any] = {"definition": "mean-parity"}
TWO_ON_X, HALF = [[0.4, 0.2, 0.0], [0.1, 0.3, 0.0]], [0.5, 0.5]
TWO = linear(normal(2), TWO_ON_X, HALF)


def blind_population(p: int) -> Any:
    return linear(normal(1), np.where(np.arange(p) < p // 2, 0.5, 0.0)[None, :], [1.0])


def heavy(degrees: float) -> Any:
    tails = linear(lambda rng, n: rng.standard_t(degrees, (n, 1)), [[0.4, 0.0]], [0.5])
    options = {"variances": (degrees / (degrees - 2.0),), "on_sensitive": ((0.4, 0.0),)}
    return tails, options


def lognormal(**options: Any) -> Any:
    draw = linear(lambda rng, n: np.exp(rng.normal(size=(n, 1))), [[0.4, 0.2]], [0.5], **options)
    return draw, {"variances": ((np.e - 1.0) * np.e,), "on_sensitive": ((0.4, 0.2),)}


def certified_cases() -> dict[str, Certified]:
    """The populations of certificates: those of the first table, then others."""
    tails, known = heavy(2.5)
    amounts, known_amounts = lognormal()
    rare = linear(with_group(0.02), [[0.8, 0.2, 0.0], [0.1, 0.3, 0.0]], [3.0, 0.1])
    rare_events = linear(
        with_group(0.02), [[0.8, 0.2, 0.0], [0.1, 0.3, 0.0]], [1.0, 0.1], respond=events
    )
    tenth = linear(with_group(0.1), [[0.8, 0.2, 0.0], [0.1, 0.3, 0.0]], [1.5, 0.3])
    skewed = linear(lambda rng, n: rng.exponential(size=(n, 1)), [[0.4, 0.2, 0.0]], [0.5])
    few_events = linear(normal(2), TWO_ON_X, HALF, respond=lambda g, e: events(g, e - 4.0))
    two_events = linear(normal(2), TWO_ON_X, HALF, respond=events)
    lognormal_weights: Any = lambda rng, n: np.exp(0.7 * rng.normal(size=n))  # noqa: E731
    levels = groups(np.arange(30.0, 60.0))
    return {
        "blind, 500 rows, 50 predictors": Certified(blind_population(50), 500, 1, {"blind": True}),
        "blind, 200 rows, 20 predictors": Certified(blind_population(20), 200, 1, {"blind": True}),
        "10 groups, small ones with wide scores": Certified(wide_groups(10), 1000, 9, {}),
        "6 groups, small ones with wide scores": Certified(wide_groups(6), 1000, 5, {}),
        "S with t(2.5), 800 rows": Certified(tails, 800, 1, {}, **known),
        "S with t(2.5), 4,000 rows": Certified(tails, 4000, 1, {}, **known),
        "30 levels": Certified(
            linear(levels, 0.3 * np.sin(np.arange(58.0)).reshape(29, 2), np.cos(np.arange(29.0))),
            1500, 29, {},
        ),
        "S with t(5), 200 rows": Certified(
            linear(lambda rng, n: rng.standard_t(5.0, (n, 2)), TWO_ON_X, HALF), 200, 2, {}
        ),
        "lognormal S, 200 rows": Certified(amounts, 200, 1, {}, **known_amounts),
        "lognormal S, 1,000 rows": Certified(amounts, 1000, 1, {}, **known_amounts),
        "normal S, 200 rows": Certified(TWO, 200, 2, {}),
        "normal S, 5,000 rows": Certified(TWO, 5000, 2, {}),
        "a group of 2 %, 1,000 rows": Certified(rare, 1000, 2, {}),
        "a group of 2 %, 5,000 rows": Certified(rare, 5000, 2, {}),
        "a group of 10 %, weights of unequal chances": Certified(
            tenth, 2000, 2, {}, seen=by_chance(-1.5, (0.0, 0.5, -1.0))
        ),
        "exponential S, large values rarely seen": Certified(
            skewed, 2000, 1, {}, seen=by_chance(1.0, (-1.5,))
        ),
        "means of events, 400 rows": Certified(two_events, 400, 2, PARITY),
        "means of events, a group of 2 %": Certified(rare_events, 1000, 2, PARITY),
        "means of few events": Certified(few_events, 2000, 2, PARITY),
        "blind, 3 predictors, 200 rows": Certified(
            linear(normal(1), [[0.5, 0.5, 0.0]], [1.0]), 200, 1, {"blind": True}
        ),
        # Populations after these were thought of when the above held.
        "gamma amounts": Certified(
            linear(normal(2), TWO_ON_X, HALF, respond=lambda g, e: g.gamma(2.0, clipped(e) / 2.0)),
            1000, 2, {"family": "gamma", **PARITY},
        ),
        "counts": Certified(
            linear(normal(2), TWO_ON_X, HALF, respond=lambda g, e: g.poisson(clipped(e)) * 1.0),
            1000, 2, {"family": "poisson", **PARITY},
        ),
        "three classes": Certified(
            linear(normal(2), TWO_ON_X, HALF, respond=three_classes), 1000, 2, PARITY
        ),
        "blind, events, 20 predictors": Certified(
            linear(normal(1), np.where(np.arange(20) < 10, 0.5, 0.0)[None, :], [1.0],
                   respond=events),
            600, 1, {"blind": True, **PARITY},
        ),
        "collinear attributes": Certified(linear(collinear, TWO_ON_X, HALF), 400, 2, {}),
        "attributes in units of 1, 10³ and 10⁻³": Certified(
            linear(in_units, [[0.4, 0.0], [2e-4, 2e-4], [0.0, 300.0]], [0.5, 5e-4, 500.0]),
            500, 3, {},
        ),
        "truth that is no line": Certified(bent, 500, 1, {}),
        "truth that is no line, 200 rows": Certified(bent, 200, 1, {}),
        "30 predictors, 200 rows": Certified(
            linear(normal(2), np.resize([0.3, 0.0, -0.2], (2, 30)), HALF), 200, 2, {}
        ),
        "bound near what S explains without one": Certified(
            linear(normal(4), np.full((4, 3), 0.02), np.full(4, 0.1)), 400, 4, {}
        ),
        "lognormal weights": Certified(TWO, 1000, 2, {}, lognormal_weights),
        "errors with t(2.5)": Certified(
            linear(normal(2), TWO_ON_X, HALF, respond=lambda g, e: e + g.standard_t(2.5, len(e))),
            500, 2, {},
        ),
        "a group of 4 % with scores four times as wide": Certified(
            linear(groups([96, 4]), [[0.5, 0.5]], [1.0], spread=lambda S: 1.0 + 3.0 * S[:, 0]),
            800, 1, {},
        ),
        "two groups and their intersection": Certified(
            linear(with_product, [[0.5, 0.0], [0.0, 0.5], [0.5, 0.5]], [0.5, 0.5, 1.0]), 500, 3, {}
        ),
        "a uniform attribute, counts as predictors": Certified(counted, 400, 1, {}),
    }  # fmt: skip


PX, PS = 4, 2


def _of_three(rng: Rng, n: int) -> tuple[Floats, Floats, Floats]:
    g = rng.integers(0, 3, n)
    S, X = (g[:, None] == np.arange(1, 3)).astype(float), rng.normal(size=(n, PX))
    X[:, 0] += 0.7 * g
    X[:, 1] -= 0.4 * (g == PS)
    return X, S, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * g + rng.normal(size=n)


def blind_stack(rng: Rng) -> Judged:
    """A certified blind stack of trees that fit their rows exactly."""
    from sklearn.tree import DecisionTreeRegressor

    X, S, y = _of_three(rng, 600)
    tree = DecisionTreeRegressor()
    model = FairStackingRegressor(
        unfairness=BOUND, confidence=CONFIDENCE, blind=True, estimators=tree, proxy=tree, cv=2,
        random_state=0,
    ).fit(X, y, sensitive_features=S)  # fmt: skip
    if not model.layer_.certificate_.granted:
        return None
    everyone, theirs, _ = _of_three(np.random.default_rng(97), MANY // 6)
    return share(model.predict(everyone), theirs) > BOUND


# ---------------------------------------------------------------------- few rows, parties


def of_level(rows: int, covariance: str, family: str = "gaussian") -> Callable[[Rng], Judged]:
    """Whether the interval of the coefficient of a level of few rows misses the truth."""

    def judge(rng: Rng) -> Judged:
        s, level = (rng.random(400) < 0.4) * 1.0, np.zeros(400)
        x, level[:rows] = rng.normal(size=400) + 0.5 * s, 1.0
        Z, eta = np.column_stack([s, x, level]), x + s
        model: Any = FairRidgeRegressor(BOUND, sensitive=[0], family=family)
        y = eta + rng.normal(size=400)
        if family == "poisson":
            y = rng.poisson(np.exp(0.5 * eta)).astype(float)
            if y[:rows].sum() == 0.0:
                return None
        low, high = model.fit(Z, y).inference(Z, y, covariance=covariance).confidence_interval()[-1]
        return None if np.isnan(low) else not low <= 0.0 <= high

    return judge


def wald(levels: int, n: int, *, classes: bool = False) -> Callable[[Rng], Judged]:
    """Whether a categorical of unequal levels that does nothing is found at 5 %."""
    shares = np.arange(1.0, levels + 1.0)[::-1] ** 1.5

    def judge(rng: Rng) -> Judged:
        g = rng.choice(levels, n, p=shares / shares.sum())
        while np.bincount(g, minlength=levels).min() < 2:
            g = rng.choice(levels, n, p=shares / shares.sum())
        s = (rng.random(n) < 0.4) * 1.0
        x = rng.normal(size=n) + 0.5 * s
        X = pd.DataFrame({"s": s, "x": x, "c": [f"l{code}" for code in g]})
        kind = FairRidgeClassifier if classes else FairRidgeRegressor
        y = events(rng, x + s) if classes else x + s + rng.normal(size=n)
        found = kind(BOUND, sensitive=["s"]).fit(X, y).inference(X, y)
        try:
            return bool(found.wald_test(["c"]).p_value < 0.05)
        except ValueError:  # a level whose rows all have the same outcome
            return None

    return judge


def pooled(sizes: tuple[int, ...], between: float = 0.3) -> Callable[[Rng], Judged]:
    """Whether the interval of a slope that differs between parties misses its mean."""

    def judge(rng: Rng) -> Judged:
        parties = []
        for n in sizes:
            s = rng.normal(size=n)
            x = rng.normal(size=n) + 0.3 * s
            y = (2.0 + between * rng.normal()) * x + 0.5 * s + rng.normal(size=n)
            Z = np.column_stack([s, x])
            parties.append(FairRidgeRegressor(BOUND, sensitive=[0]).fit(Z, y).inference(Z, y))
        low, high = pool(parties, "random").confidence_interval(0.95)[-1]
        return not low <= 2.0 <= high

    return judge


# ---------------------------------------------------------------------- audits, rules, monitors


def brier(rng: Rng) -> Judged:
    """Whether the interval of one of two groups, censored differently, misses the truth."""
    n, times = 2000, np.linspace(0.1, 1.5, 15)
    group = np.repeat(["a", "b"], n // 2)
    death = rng.exponential(size=n)
    lost = rng.exponential(size=n) / np.where(group == "a", 0.1, 1.2)
    alive = np.exp(-times)
    truth = np.trapezoid(alive * (1.0 - alive), times) / (times[-1] - times[0])
    found = audit(
        np.column_stack([np.minimum(death, lost), death <= lost]), np.zeros(n),
        sensitive_features=pd.Series(group, name="g"),
        survival=(times, np.tile(alive, (n, 1))),
    ).to_frame()  # fmt: skip
    row = found[found["group"] == "b"].iloc[0]
    return not row["brier_low"] <= truth <= row["brier_high"]


def learned(share_of_age: float) -> Callable[[Rng], Judged]:
    """Whether the interval of the share of a flexible learner of race and age misses it."""

    def judge(rng: Rng) -> Judged:
        n = 8000
        age = rng.normal(60.0, 15.0, n).round()
        race, z = rng.choice(list("abcd"), n, p=[0.6, 0.2, 0.1, 0.1]), (age - 60.0) / 15.0
        curve = (z**2 - 1.0) / 2.0**0.5
        noise = (1.0 - share_of_age) ** 0.5 * rng.normal(size=n)
        p = 0.3 + 0.05 * (share_of_age**0.5 * curve + noise)
        S = pd.DataFrame({"race": race, "age": age})
        found = audit(rng.random(n) < p, p, sensitive_features=S).learned_share
        return not found.low <= share_of_age <= found.high

    return judge


AMOUNTS: dict[str, tuple[Callable[[Rng, int], Floats], float]] = {
    "lognormal": (lambda rng, n: np.exp(rng.normal(size=n)), np.exp(0.5)),
    "lognormal, σ = 1.5": (lambda rng, n: np.exp(1.5 * rng.normal(size=n)), np.exp(1.125)),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "exponential, 80 % zeros": (
        lambda rng, n: rng.exponential(size=n) * (rng.random(n) < 0.2), 0.2,
    ),
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
}  # fmt: skip


def mean_gap(scores: str, n: int) -> Callable[[Rng], Judged]:
    """Whether a small group that is exactly as far off as the rule has it passes at 10 %."""
    draw, mean = AMOUNTS[scores]

    def judge(rng: Rng) -> Judged:
        group = Grouping("g", ("few", "many"), np.repeat([0, 1], [n, 1000]))
        values = np.append(draw(rng, n) - mean + 1.0, draw(rng, 1000) - mean)
        rows = JudgedRows(values, None, (group,), np.ones(n + 1000))
        found = MeanGap(1.0).compared(rows, 0.1)
        return None if found.skewed else found.p_value <= 0.1

    return judge


def totals(amounts: str, n: int, times: float) -> Callable[[Rng], Judged]:
    """Whether the interval of predicted over observed of a small group misses one.

    Its amounts are `times` as large as those of 1,000 others.
    """
    draw, mean = AMOUNTS[amounts]

    def judge(rng: Rng) -> Judged:
        group = np.repeat(["few", "many"], [n, 1000])
        expected = np.exp(0.5 * rng.normal(size=n + 1000)) * np.where(group == "few", times, 1.0)
        observed = expected * draw(rng, n + 1000) / mean
        found = audit(observed, expected, sensitive_features=group[:, None], kind="amounts")
        few = next(row for row in found.attributes[0].groups if row.group == "few")
        one = few.predicted_over_observed
        return None if np.isnan(one.low) else not one.low <= 1.0 <= one.high

    return judge


def days(rng: Rng) -> Judged:
    """Whether a stream of days that have an effect in common raises a false alarm."""
    monitor, slope = Monitor(identity(), unfairness=BOUND, false_alarm=0.1), 0.4
    for _ in range(40):  # updates of ten days, in their order
        s = (rng.random(500) < 0.5) * 1.0
        day = np.repeat(1.7 * rng.normal(size=10), 50)
        f = 2.0 * slope * s + day + rng.normal(size=500)
        if monitor.update(np.column_stack([s, f])).alarm:
            return True
    return False


def _cases() -> list[Case]:
    certificates = [
        Case("certificate", name, 1.0 - CONFIDENCE, one) for name, one in certified_cases().items()
    ]
    return [
        *certificates,
        Case("no promise: dependent rows", "certificate, clusters of 10 rows", 1.0 - CONFIDENCE,
             Certified(clustered, 1000, 1, {})),
        Case("certificate", "blind stack of deep trees", 1.0 - CONFIDENCE, blind_stack, FEW),
        *(
            Case(f"interval of a level, {kind}", f"{rows} rows", 0.05, of_level(rows, kind))
            for rows in (1, 2, 3, 5)
            for kind in ("HC1", "HC3")
        ),
        Case("interval of a level, HC1", "8 rows, counts", 0.05, of_level(8, "HC1", "poisson")),
        Case("test of a categorical", "8 levels, 300 rows", 0.05, wald(8, 300)),
        Case("test of a categorical", "15 levels, 600 rows", 0.05, wald(15, 600)),
        Case("test of a categorical", "4 levels, events", 0.05, wald(4, 300, classes=True)),
        *(
            Case("random effects", f"{k} parties", 0.05, pooled((200,) * k), samples)
            for k, samples in ((3, REPEATS), (5, REPEATS), (10, 500))
        ),
        Case("random effects", "4 parties of 60 to 1,000", 0.05, pooled((60, 120, 400, 1000))),
        Case("random effects", "4 parties that agree", 0.05, pooled((200,) * 4, 0.0)),
        Case("Brier score of a group", "censored differently", 0.05, brier),
        Case("share of a flexible learner", "race × age, 1 %", 0.05, learned(0.01), FEW),
        Case("share of a flexible learner", "race × age, 5 %", 0.05, learned(0.05), FEW),
        *(
            Case("MeanGap at its boundary", f"{n} {scores}", 0.1, mean_gap(scores, n))
            for scores in AMOUNTS
            for n in (30, 100)
        ),
        *(
            Case(
                "predicted over observed", f"{n} {name}" + ", twice the mean" * (times > 1.0),
                0.05, totals(name, n, times),
            )
            for name in AMOUNTS
            if name != "normal"
            for n, times in ((40, 1.0), (40, 2.0), (100, 1.0))
        ),
        Case("Monitor", "days with a common effect", 0.1, days, FEW),
    ]  # fmt: skip


CASES = {(case.promise, case.population): case for case in _cases()}
SETTINGS: list[dict[str, Any]] = [
    {"promise": promise, "population": population} for promise, population in CASES
]


def repeats(setting: dict[str, Any]) -> int:
    """How many samples a setting has."""
    return CASES[setting["promise"], setting["population"]].samples


def sample(seed: int, *, promise: str, population: str) -> list[dict[str, Any]]:
    """Draw one sample; say whether the promise is broken, or refused, or made with a warning."""
    rng = np.random.default_rng([seed, crc32(f"{promise}: {population}".encode())])
    judged = CASES[promise, population].judge(rng)
    warned = judged == "warned"
    return [{"broken": bool(judged) and not warned, "refused": judged is None, "warned": warned}]


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often each promise is broken, of all samples, the worst first."""
    grouped = frame.groupby(["promise", "population"], sort=False)
    found = grouped.agg(
        broken=("broken", "mean"),
        refused=("refused", "mean"),
        warned=("warned", "mean"),
        samples=("seed", "nunique"),
    ).reset_index()
    keys = zip(found["promise"], found["population"], strict=True)
    allowed = np.array([CASES[key].allowed for key in keys])
    # That of the promised share, which is not zero where the measured one is.
    found["error"] = np.sqrt(allowed * (1.0 - allowed) / found["samples"])
    found["allowed"], found["excess"] = allowed, (found["broken"] - allowed) / found["error"]
    return found.sort_values("excess", ascending=False, ignore_index=True)
