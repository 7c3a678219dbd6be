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

Of b = 0 nothing but e is left. Its size relative to T has the error of T in it already, so that
neither g nor ν widens it again: leverages, which make it larger on average, are enough.

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

from fairridge._typing import Floats
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
        nothing, errors = 0.0 * self.coefficients, self.covariance.copy()
        errors[-2:], errors[:, -2:] = 0.0, 0.0
        return replace(self, coefficients=nothing, covariance=errors, degrees=np.inf, followed=0.0)

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
    other: Floats  # T, of shape (models,)
    n_controls: int  # the rank of C

    @property
    def b(self) -> Floats:
        """What h is of s, of shape (models, K, rank)."""
        return self.slope[:, :, self.n_controls :]

    def sums(self, s: Floats, scores: Floats, weight: Floats) -> Floats:
        """Return Σ w²φφᵀ of some rows, for every model, and Σa, Σa² of e∥ and d."""
        beside = (s - self.shift) @ self.root.T
        leverage = weight / self.weight * (1.0 + (beside * beside).sum(axis=1))
        factors = weight / np.maximum(1.0 - leverage, MIN_RESIDUAL_LEVERAGE)
        s, out = beside[:, self.n_controls :], []
        for model, b in enumerate(self.b):
            t = scores[:, model] - self.intercept[model] - beside @ self.slope[model].T
            h = s @ b.T
            explained = _relative((h * h).sum(axis=1), float((b * b).sum()))
            left = _relative((t * t).sum(axis=1), self.other[model])
            each = [t[:, k, None] * s * factors[:, None] for k in range(t.shape[1])]
            rows = np.column_stack([*each, explained * factors, left * weight])
            squares = (weight * np.stack([(h * t).sum(axis=1), explained])) ** 2
            parts = np.dot(rows.T, rows), squares.sum(axis=1), (squares * squares).sum(axis=1)
            out.append(np.concatenate([part.ravel() for part in parts]))
        return np.array(out)

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


def _whitening(scatter: Floats) -> Floats:
    """Whiten, with signs that rounding does not decide: draws are then the same for all sources."""
    root = whitening(scatter)
    sizes = np.abs(root * np.sqrt(np.diag(scatter)))
    first = (sizes > 0.5 * sizes.max(axis=1, keepdims=True, initial=0.0)).argmax(axis=1)
    signs = np.sign(root[np.arange(len(root)), first])
    return np.asarray(root * signs[:, None])


def explained_scores(
    fits: Sequence[Fit], engine: Engine, means: Any = None
) -> list[ExplainedScores]:
    """Evaluate the scores of several models on any rows, in two passes."""
    # With controls, these are the scores less what the controls explain.
    basis, q = fits[0].basis, len(fits[0].basis.center_sensitive)
    places = [fit.place for fit in fits]
    width, c = places[0][2].shape[1], len(fits[0].controls)
    read = np.zeros((c + q, width))
    read[range(c + q), [*(q + np.array(fits[0].controls, dtype=np.intp)), *range(q)]] = 1.0
    # Those of linear predictors matter to none of their variances, and may be large.
    constants = [place[1] if means is not None else 0.0 * place[1] for place in places]
    intercept = np.concatenate([np.zeros(c + q), *constants, [0.0]])
    raw = np.vstack([read, *(place[2] for place in places), np.zeros((1, width))])
    sizes = c + q, len(places[0][1])

    def summed(function: Any) -> Floats:
        """Sum a function of s, scores and weights over rows."""

        def of_rows(y: Floats, eta: Floats, weight: Floats) -> Floats:
            return np.asarray(function(*_read(y, eta, weight, sizes, means)))

        return engine.sum_over_rows(of_rows, basis.center, intercept, raw)

    regressions = _regressions(summed(_products), c, q, len(fits))
    return regressions.scores(summed(regressions.sums))


def _read(
    y: Floats, eta: Floats, weight: Floats, sizes: tuple[int, int], means: Any
) -> tuple[Floats, Floats, Floats]:
    """Return C and S of shape (n, c+q), scores of shape (n, models, K), and weights of rows."""
    # `eta` has C and S, then linear predictors of all models, then the offset alone; sizes are
    # those of the first two. Scores are the `means` of rows, or else linear predictors.
    width, m = sizes
    offset = eta[:, -1:]
    s, parts = eta[:, :width] - offset, eta[:, width:-1]
    if means is None:
        return s, (parts - offset).reshape(len(eta), -1, m), weight
    starts = range(0, parts.shape[1], m)
    each = [means(y, parts[:, k : k + m], 0, offset[:, 0]) for k in starts]
    if each[0].counted is not None:  # rates count by their exposure
        weight = weight * each[0].counted[:, 0]
    return s, np.stack([one.values for one in each], axis=1), weight


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
    scatter = means[1:, 1:k] - np.outer(shift, shift)
    of_controls, left = maps_given(scatter, c)
    root = np.vstack([of_controls, _whitening(left @ scatter @ left.T) @ left])
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
        other,
        len(of_controls),
    )


def maps_given(covariance: Floats, c: int) -> tuple[Floats, Floats]:
    """Return maps of columns to the first c, whitened, and to what these leave of the others."""
    maps = np.eye(len(covariance))
    if not c:
        return maps[:0], maps
    of_controls = whitening(covariance[:c, :c]) @ maps[:c]
    maps = maps[c:] - (maps[c:] @ covariance @ of_controls.T) @ of_controls
    left = ((maps @ covariance) * maps).sum(axis=1)
    # What is left of a combination of controls is rounding.
    maps[left <= RESIDUAL_TOLERANCE * np.diag(covariance)[c:]] = 0.0
    return of_controls, maps
