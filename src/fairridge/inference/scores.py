"""What S explains of the scores of fitted models, and how precisely the rows show it.

A score f of a row (the linear predictor, or the predicted mean) is h + t, with
h = sᵀb its regression on s and t the rest. In units in which s has mean 0 and
variance I, the odds of R² on S are

    ω = ρ/(1 − ρ) = N/T,   N = Σ‖b‖² = E[h²],   T = E[t²].

The model is fixed, so other rows of the same population change ω through E
alone. In the population

    ω* = (‖b∥ + e∥‖²exp(d) + ‖μ⊥ + e⊥‖² − 2m‖e⊥‖²) exp(−g)/T,

with ∥ and ⊥ for parts along b and across it. e, d and g are the errors of b, of E[h²] at
that b and of T, to which a row adds s t, h²/N − 1 and t²/T − 1; the first two are
divided by 1 − ℓ, with ℓ = w(1 + sᵀs)/W the leverage of the row on (1, s), as those of
a fit without the row are. They are drawn from the normal distribution with the sums of
products of these rows, times the root of ν/χ²_ν, as these sums are estimated: ν is the
smaller of Kish's numbers (Σa)²/Σa² of the rows of e∥ and of d. For a group of a few
people in which S explains most, it is about the number of these.

- m is the share of b in that of the model without a bound, whose error has −e in it, as
  both are estimated from the same rows. Across b a model that goes along with it has
  the error e + b, whose square is on average by (1 − 2m)E‖e⊥‖² larger than ‖b‖².
  Of a model that was fitted to other rows the same is true with m = 1, and m = 0 for one
  that does not use S.
- μ is what errors add on average (see `optimism`).

Given controls, s and f stand for what their regressions on (1, c) leave. These are
orthogonal to (1, c), so that its coefficients move neither b nor E[h²] nor T to first
order, and all of the above holds with the leverage on (1, c, s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammaincinv, ndtr, ndtri

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine
from fairridge.fairness.means import RESIDUAL_TOLERANCE
from fairridge.models import Fit
from fairridge.solvers.spectrum import whitening

# A row that is a group by itself has leverage 1, and no information on its residual.
MIN_RESIDUAL_LEVERAGE = 1e-6
N_DRAWS = 4000
# Between which quantiles of χ² are interpolated, to seven digits.
CHI_SQUARE_POINTS = 65
# Of exp(d) and exp(g), which must not overflow.
LARGEST_EXPONENT = 100.0


@dataclass(frozen=True)
class ExplainedScores:
    """The scores of one model on some rows."""

    coefficients: Floats  # b of every score, of shape (K·q,)
    direction: Floats  # of b, with length 1
    other: float  # T, summed over scores
    covariance: Floats  # of e, d and g, of shape (K·q+2, K·q+2)
    degrees: float  # ν
    followed: float = 1.0  # m
    optimism: Floats | float = 0.0  # μ, of shape (K·q,)

    @property
    def odds(self) -> float:
        """ω."""
        explained = float(self.coefficients @ self.coefficients)
        return explained / self.other if self.other > 0.0 else np.inf if explained else 0.0

    @property
    def share(self) -> float:
        """ρ, R² on S."""
        return share_of(self.odds)

    def fair(self) -> ExplainedScores:
        """Return the same with b = 0, the limit of models with ever smaller bounds."""
        return replace(self, coefficients=0.0 * self.coefficients, followed=0.0)

    def quantile(self, probability: float) -> float:
        """Return the quantile of ω* in populations that the rows may have come from."""
        if self.other <= 0.0:
            return self.odds
        normal, position = _random_numbers(len(self.covariance))
        sizes, vectors = np.linalg.eigh(self.covariance)
        # The symmetric root, which does not depend on the signs of eigenvectors.
        errors = normal @ (vectors * np.sqrt(np.maximum(sizes, 0.0)) @ vectors.T)
        if np.isfinite(self.degrees):
            errors *= np.sqrt(self.degrees / _chi_squares(position, self.degrees))[:, None]
        e, d, g = errors[:, :-2], errors[:, -2], errors[:, -1]
        center = self.coefficients + self.optimism
        along = (center + e) @ self.direction
        explained = along**2 * np.exp(np.clip(d, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        noise = e - np.outer(e @ self.direction, self.direction)
        drift = center - center @ self.direction * self.direction
        explained += ((drift + noise) ** 2 - 2.0 * self.followed * noise**2).sum(axis=1)
        other = self.other * np.exp(np.clip(g, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        return float(np.quantile(np.maximum(explained, 0.0) / other, probability))


def share_of(odds: float) -> float:
    """Return ω/(1 + ω)."""
    return odds / (1.0 + odds) if np.isfinite(odds) else 1.0


@cache
def _random_numbers(width: int) -> tuple[Floats, Floats]:
    """Return normal numbers, the same for all models: their limits are then smooth."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((N_DRAWS, width)), ndtri(rng.random(N_DRAWS))


def _chi_squares(positions: Floats, degrees: float) -> Floats:
    """Return the quantiles of χ² where those of the normal distribution are known."""
    at = np.linspace(positions.min(), positions.max(), CHI_SQUARE_POINTS)
    logarithms = np.log(2.0 * gammaincinv(degrees / 2.0, ndtr(at)))
    return np.asarray(np.exp(CubicSpline(at, logarithms)(positions)))


@dataclass(frozen=True)
class _Reading:
    """Columns to read off rows: C and S, then scores of all models, then the offset alone."""

    center: Floats  # subtracted from the columns [S, X], of shape (q+p,)
    intercept: Floats  # constants of the columns to read
    raw: Floats  # their coefficients
    # Columns of C and S, and linear predictors of each model.
    q: int
    m: int
    # The means of rows, if scores are these; scores otherwise are linear predictors.
    means: Any = None

    def __call__(self, y: Floats, eta: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Return s of shape (n, q), scores of shape (n, models, K), and weights of rows."""
        offset = eta[:, -1:]
        s, parts = eta[:, : self.q] - offset, eta[:, self.q : -1]
        if self.means is None:
            return s, (parts - offset).reshape(len(eta), -1, self.m), weight
        each = [
            self.means(y, parts[:, k : k + self.m], 0, offset[:, 0])
            for k in range(0, parts.shape[1], self.m)
        ]
        if each[0].counted is not None:  # rates count by their exposure
            weight = weight * each[0].counted[:, 0]
        return s, np.stack([one.values for one in each], axis=1), weight

    def sum(self, engine: Engine, function: Any) -> Floats:
        """Sum a function of s, scores and weights over rows."""

        def of_rows(y: Floats, eta: Floats, weight: Floats) -> Floats:
            return np.asarray(function(*self(y, eta, weight)))

        return engine.sum_over_rows(of_rows, self.center, self.intercept, self.raw)


@dataclass(frozen=True)
class _Regressions:
    """Regressions of scores on S, with which their influences are summed."""

    weight: float  # W
    # [c, s] is root·([C, S] − shift), c in units of its spread, of shape (c+q,) and
    # (ranks, c+q).
    shift: Floats
    root: Floats
    # t is the score less intercept + slope·[c, s], of shape (models, K) and (models, K, ranks).
    intercept: Floats
    slope: Floats
    b: Floats  # h is b·s, of shape (models, K, rank)
    other: Floats  # T, of shape (models,)
    place: Integers  # which of the scores that are read belong to each model, of shape (models,)
    n_controls: int = 0  # the rank of C

    def sums(self, s: Floats, scores: Floats, weight: Floats) -> Floats:
        """Return Σ w²φφᵀ of some rows, for every model, and Σa, Σa² of e∥ and d."""
        beside = (s - self.shift) @ self.root.T
        factors = weight / _not_leverage(beside, weight / self.weight)
        s = beside[:, self.n_controls :]
        size = self.b[0].size
        out = np.empty((len(self.b), size + 2, size + 2))
        along = np.empty((len(self.b), 4))
        for place in np.unique(self.place):
            models = np.flatnonzero(self.place == place)
            first = models[0]
            t = scores[:, place] - self.intercept[first] - beside @ self.slope[first].T
            shared = np.empty((len(s), size + 1))
            for k in range(t.shape[1]):
                np.multiply(t[:, k, None], s, out=shared[:, k * len(s.T) : (k + 1) * len(s.T)])
            shared[:, :size] *= factors[:, None]
            shared[:, size] = _relative((t * t).sum(axis=1), self.other[first]) * weight
            # Models of the same t differ in the column of h² alone.
            order = [*range(size), size + 1]
            out[np.ix_(models, order, order)] = np.dot(shared.T, shared)
            for model in models:
                b = self.b[model]
                h = s @ b.T
                explained = _relative((h * h).sum(axis=1), float((b * b).sum()))
                squares = (weight * np.stack([(h * t).sum(axis=1), explained])) ** 2
                along[model] = [*squares.sum(axis=1), *(squares * squares).sum(axis=1)]
                explained *= factors
                out[model, order, size] = out[model, size, order] = explained @ shared
                out[model, size, size] = explained @ explained
        return np.hstack([out.reshape(len(out), -1), along])

    def scores(self, sums: Floats) -> list[ExplainedScores]:
        """Return the scores of every model."""
        size = self.b[0].size + 2
        covariances = sums[:, :-4].reshape(-1, size, size) / self.weight**2
        return [
            ExplainedScores(b, _direction(b), float(other), covariance, _least_kish(*along))
            for b, other, covariance, along in zip(
                self.b.reshape(len(self.b), -1),
                self.other,
                covariances,
                sums[:, -4:].reshape(-1, 2, 2),
                strict=True,
            )
        ]


def _relative(squares: Floats, mean: float) -> Floats:
    """Return squares divided by their mean, less 1; zeros if that is zero."""
    return squares / mean - 1.0 if mean > 0.0 else 0.0 * squares


def _direction(b: Floats) -> Floats:
    """Return b with length 1; of b = 0 any direction."""
    size = float(np.sqrt(b @ b))
    return b / size if size > 0.0 else np.eye(len(b))[0]


def _least_kish(totals: Floats, squares: Floats) -> float:
    """Return the smallest of (Σa)²/Σa²; infinite if all are zero."""
    used = squares > 0.0
    return float((totals[used] ** 2 / squares[used]).min(initial=np.inf))


def _not_leverage(s: Floats, share: Floats) -> Floats:
    """Return 1 − ℓ of rows with these shares of the weight; never zero."""
    return np.asarray(np.maximum(1.0 - share * (1.0 + (s * s).sum(axis=1)), MIN_RESIDUAL_LEVERAGE))


def explained_linear(fits: Sequence[Fit]) -> list[ExplainedScores]:
    """Evaluate the linear predictors of several models of the same rows, in one pass.

    With controls, these are the linear predictors less what the controls explain.

    Parameters
    ----------
    fits : sequence of Fit
        The models, on their training rows.
    """
    family, basis = fits[0].family, fits[0].basis
    scatter = basis.sensitive.scatter() / basis.weight
    root = _whitening(scatter)
    b, t = [], []
    for fit in fits:
        alpha, beta = np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)
        of_predictors = beta - basis.without_predictors(beta)
        t.append(family.to_contrasts(basis.raw_coefficients(0.0 * alpha, of_predictors)))
        b.append(family.to_contrasts(alpha) @ scatter @ root.T)
    different, place = _distinct(t)
    m, nothing = len(t[0]), np.zeros((1, t[0].shape[1]))
    columns = basis.raw_coefficients(root, np.zeros((len(root), fits[0].beta.shape[-1])))
    raw = np.vstack([columns, *different, nothing])
    reading = _Reading(basis.center, np.zeros(len(raw)), raw, len(root), m)
    zero = np.zeros((len(fits), m))
    regressions = _Regressions(
        basis.weight,
        np.zeros(len(root)),
        np.eye(len(root)),
        zero,
        np.zeros((len(fits), m, len(root))),
        np.array(b),
        np.array([fit.predictor_variance for fit in fits]),
        place,
    )
    return regressions.scores(reading.sum(fits[0].engine, regressions.sums))


def _whitening(scatter: Floats) -> Floats:
    """Whiten, with signs that rounding does not decide: draws are then the same for all sources."""
    root = whitening(scatter)
    sizes = np.abs(root * np.sqrt(np.diag(scatter)))
    first = (sizes > 0.5 * sizes.max(axis=1, keepdims=True, initial=0.0)).argmax(axis=1)
    signs = np.sign(root[np.arange(len(root)), first])
    return np.asarray(root * signs[:, None])


def _distinct(matrices: list[Floats]) -> tuple[list[Floats], Integers]:
    """Return matrices that differ, and which of them each one is: gaussian models share β."""
    different: list[Floats] = []
    place = []
    for matrix in matrices:
        same = [k for k, other in enumerate(different) if np.array_equal(matrix, other)]
        place.append(same[0] if same else len(different))
        if not same:
            different.append(matrix)
    return different, np.array(place, dtype=np.intp)


def explained_scores(
    fits: Sequence[Fit], engine: Engine, means: Any = None
) -> list[ExplainedScores]:
    """Evaluate the scores of several models on any rows, in two passes.

    With controls, these are the scores less what the controls explain.

    Parameters
    ----------
    fits : sequence of Fit
        The models, in columns.
    engine : Engine
        Where the rows are.
    means : callable, optional
        The means of rows, if scores are these; linear predictors by default.
    """
    basis, q = fits[0].basis, len(fits[0].basis.center_sensitive)
    places = [fit.place for fit in fits]
    width, c = places[0][2].shape[1], len(fits[0].controls)
    read = np.eye(width)[[*(q + np.array(fits[0].controls, dtype=np.intp)), *range(q)]]
    intercept = np.concatenate([np.zeros(c + q), *(place[1] for place in places), [0.0]])
    raw = np.vstack([read, *(place[2] for place in places), np.zeros((1, width))])
    reading = _Reading(basis.center, intercept, raw, c + q, len(places[0][1]), means)
    regressions = _regressions(reading.sum(engine, _products), c, q, len(fits))
    return regressions.scores(reading.sum(engine, regressions.sums))


def _products(s: Floats, scores: Floats, weight: Floats) -> Floats:
    """Return Σ w zᵀ[z, f, f²] of z = [1, s], the squares in the first row alone."""
    f = scores.reshape(len(s), -1)
    z = np.column_stack([np.ones(len(s)), s])
    out = np.hstack(
        [np.dot(z.T, weight[:, None] * np.hstack([z, f])), np.zeros((z.shape[1], f.shape[1]))]
    )
    out[0, z.shape[1] + f.shape[1] :] = weight @ (f * f)
    return out


def _regressions(sums: Floats, c: int, q: int, count: int) -> _Regressions:
    """Regress scores on C and S, from their sums of products."""
    k = 1 + c + q
    width = (sums.shape[1] - k) // 2
    weight = float(sums[0, 0])
    means = sums / weight
    shift, intercept = means[0, 1:k], means[0, k : k + width]
    of_controls, of_sensitive = _roots(means[1:, 1:k] - np.outer(shift, shift), c)
    root = np.vstack([of_controls, of_sensitive])
    slope = (root @ (means[1:, k : k + width] - np.outer(shift, intercept))).T
    variance = means[0, k + width :] - intercept**2
    other = np.maximum(variance - (slope * slope).sum(axis=1), 0.0).reshape(count, -1).sum(axis=1)
    slope = slope.reshape(count, -1, len(root))
    return _Regressions(
        weight,
        shift,
        root,
        intercept.reshape(count, -1),
        slope,
        slope[:, :, len(of_controls) :],
        other,
        np.arange(count, dtype=np.intp),
        len(of_controls),
    )


def _roots(scatter: Floats, c: int) -> tuple[Floats, Floats]:
    """Return maps of [C, S] to C, and to what C leaves of S, both with the variance I."""
    width = len(scatter)
    if not c:
        return np.zeros((0, width)), _whitening(scatter)
    of_controls = _whitening(scatter[:c, :c]) @ np.eye(c, width)
    residuals = np.eye(width)[c:]
    residuals = residuals - (residuals @ scatter @ of_controls.T) @ of_controls
    left = residuals @ scatter @ residuals.T
    gone = np.diag(left) <= RESIDUAL_TOLERANCE * np.diag(scatter)[c:]
    left[gone], left[:, gone] = 0.0, 0.0
    return of_controls, _whitening(left) @ residuals
