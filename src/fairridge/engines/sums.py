"""Sums for generalized linear models: of the null model, and of predicted means with S.

Rows that share one linear predictor, as in the null model, differ in their responses
only, so a response with few values (0 and 1, classes, counts) needs one row per value.
Sums of the predicted means μ with [1, S] say how they depend on S.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._arrays import as_float64, joined, namespace, to_host
from fairridge._typing import Floats
from fairridge.engines.blocked_matrix import MatrixBlock
from fairridge.engines.blocks import BLOCK_BYTES, Moments
from fairridge.families import Family
from fairridge.families.sums import GLMSums, Place, PredictedMeans, RowFunction, RowMeans

# Linear predictors from which sums of products of columns are made at once.
MIN_PAIRED_PREDICTORS = 4
# Distinct responses up to which they are counted.
MAX_DISTINCT_RESPONSES = 256


@dataclass(frozen=True)
class DistinctResponses:
    """The values of a response, and the weight of the rows that have each."""

    values: Floats  # in ascending order, of shape (d, 1)
    weights: Floats  # sums of sample weights, of shape (d,)

    @classmethod
    def of(cls, response: Floats, weights: Floats) -> DistinctResponses | None:
        """Count; None if the values are too many to gain by it."""
        if response.shape[1] > 1:
            return None
        # A continuous response shows in its first rows, before all are sorted.
        numbers, seen = response[:, 0], 2 * MAX_DISTINCT_RESPONSES
        values = np.unique(numbers[:seen])
        if len(values) <= MAX_DISTINCT_RESPONSES and len(numbers) > seen:
            values = np.unique(numbers)
        if len(values) > MAX_DISTINCT_RESPONSES:
            return None
        places = np.searchsorted(values, numbers)
        return cls(values[:, None], np.bincount(places, weights).astype(np.float64))

    def sum_over_rows(self, function: RowFunction, intercept: Floats) -> Floats:
        """Return Σ function over all rows at η = intercept."""
        return function(self.values, self._eta(intercept), self.weights)

    def sums(self, family: Family, intercept: Floats, n_columns: int) -> GLMSums:
        """Return the deviance at η = intercept, with its derivatives in the intercept alone."""
        terms = family.deviance_terms(self.values, self._eta(intercept), self.weights, 1)
        assert terms.gradient is not None  # at order 1
        gradient = np.zeros((len(intercept), 1 + n_columns))
        gradient[:, 0] = terms.gradient.sum(axis=0)
        return GLMSums(float(terms.deviance), gradient, None)

    def derivatives(self, family: Family, intercept: Floats) -> tuple[Floats, Floats | None]:
        """Return the slopes (d, m) of a row of weight 1 with each response, and its curvature."""
        # The curvature, of shape (m, m), is None if responses differ in it.
        ones = np.ones(len(self.values))
        each = family.deviance_terms(self.values, self._eta(intercept), ones, 2)
        slopes, curvature = each.gradient, each.curvature
        assert slopes is not None  # at order 2
        assert curvature is not None
        return slopes, np.asarray(curvature[0]) if (curvature == curvature[0]).all() else None

    def hessian(self, family: Family, intercept: Floats, gram: Floats) -> Floats | None:
        """Return the curvature times a Gram matrix of the rows; None if rows differ in it."""
        _, curvature = self.derivatives(family, intercept)
        return None if curvature is None else _in_pairs(curvature, gram)

    def _eta(self, intercept: Floats) -> Floats:
        return np.repeat(intercept[None], len(self.values), axis=0)


def class_responses(family: Family, moments: Moments, n_columns: int) -> DistinctResponses | None:
    """Return the weights of the classes, which moments of their indicators give; else None."""
    shares = moments.mean[n_columns:]
    if family.reads != "classes" or not moments.binary[n_columns:].all():
        return None
    shares = np.append(1.0 - shares, shares) if len(shares) == 1 else shares
    return DistinctResponses(np.arange(float(len(shares)))[:, None], moments.weight * shares)


def null_sums(
    family: Family, moments: Moments, center: Floats, intercept: Floats
) -> GLMSums | None:
    """Return deviance, gradient and Hessian of classes at one η for all rows, from moments."""
    # Rows of a class have the same derivatives, so sums of the columns over each class are all they
    # need. None if rows differ in their curvature, or if the response does not consist of classes.
    # y is an indicator of the second class, or of each class.
    k = len(center)
    responses = class_responses(family, moments, k)
    if responses is None:
        return None
    gram = _gram_about(moments, center)
    by_target = gram[:, :1] * moments.mean[k:]
    by_target[1:] += moments.scatter[:k, k:]
    if by_target.shape[1] == 1:
        by_target = np.concatenate([gram[:, :1] - by_target, by_target], axis=1)
    slopes, curvature = responses.derivatives(family, intercept)
    if curvature is None:
        return None
    deviance = responses.sums(family, intercept, k).deviance
    return GLMSums(deviance, slopes.T @ by_target.T, _in_pairs(curvature, gram))


def _gram_about(moments: Moments, center: Floats) -> Floats:
    """Return Σ w [1, z][1, z]ᵀ for z = [S, X] − center."""
    k = len(center)
    gap = np.append(1.0, moments.mean[:k] - center)
    gram: Floats = moments.weight * gap[:, None] * gap
    gram[1:, 1:] += moments.scatter[:k, :k]
    return gram


class NullModel:
    """Sums over rows of classes that share one η, from moments."""

    # The last ones are kept, since searches begin with them more than once.

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._known: tuple[Family, Floats, Floats, GLMSums | None] | None = None

    def sums(self, family: Family, center: Floats, intercept: Floats) -> GLMSums | None:
        """Return deviance, gradient and Hessian; see `null_sums`."""
        if self._known is not None:
            before, at_center, at_intercept, sums = self._known
            same = np.array_equal(at_center, center) and np.array_equal(at_intercept, intercept)
            if before is family and same:
                return sums
        sums = null_sums(family, self._moments, center, intercept)
        self._known = family, center, intercept, sums
        return sums

    def means(
        self,
        family: Family,
        means: PredictedMeans,
        center: Floats,
        intercept: Floats,
        multipliers: Floats | None,
        beside: int,
    ) -> MeanSums | None:
        """Return sums of means; see `Engine.means`."""
        # None if there are no `sums`, or if means count in some of the rows.
        sums, moments = self.sums(family, center, intercept), self._moments
        if sums is None or (multipliers is not None and multipliers.any()):
            return None
        mu = means(np.zeros((1, 1)), intercept[None], 0 if multipliers is None else 2, None)
        if mu.counted is not None:
            return None
        gram, values = _gram_about(moments, center), mu.values[0]
        head, each = 1 + beside, np.ones(len(values))
        products, weights = values[:, None] * gram[0, :head], moments.weight * each
        found = MeanSums(sums.deviance, products, weights, 0.0 * each, moments.n_rows * each)
        if multipliers is None:
            return replace(found, gram=np.repeat(gram[None, :head, :head], len(values), axis=0))
        first = mu.first[0]
        jacobian = first[:, None, :, None] * gram[:head, None, :]
        squares = (values[:, None] * first)[:, :, None] * gram[0]
        return replace(found, slopes=MeanSlopes(sums, jacobian, squares))


def _in_pairs(curvature: Floats, gram: Floats) -> Floats:
    """Return the Hessian of rows that share a curvature (m, m)."""
    return curvature[:, None, :, None] * gram[:, None, :]


def loglik_of_sums(
    family: Family,
    deviance: float,
    dispersion: float,
    weight: float,
    constants: Callable[[], float],
) -> float:
    """Return a log-likelihood of rows known by sums: of the deviance, and constants of rows."""
    # `weight` is that of all rows, and `constants` takes one more pass over the responses.
    single = np.ones((1, 1))
    if family.least_squares:  # which has a variance to estimate, from the deviance and n
        return family.loglik(deviance, single[:0], np.array([weight]), dispersion)
    value = family.loglik(deviance, single[:0], single[:0, 0], dispersion)
    if family.loglik(0.0, single, single[0], dispersion) == 0.0:
        return value
    return value + constants()


def intercepts_of_sums(
    family: Family, moments: Moments, n_columns: int, offset: float | None, log_sums: Floats
) -> Floats:
    """Return the intercepts from which a family starts, of rows known by their sums."""
    # Families with the log link say what they need by `log_sums`. Others look at weighted means of
    # the response (or weights of its classes) and of the offset: rows that have the same means
    # stand for all.
    if log_sums.size:
        return np.array([log_sums[0] - log_sums[1]])
    targets = moments.mean[n_columns:]
    if len(targets) > 1:
        y, weight = np.arange(len(targets), dtype=np.float64), moments.weight * targets
    else:
        y, weight = targets, np.array([moments.weight])
    each = None if offset is None else np.full(len(y), offset / moments.weight)
    return family.initial_intercepts(y[:, None], weight, each)


@dataclass(frozen=True)
class MeanSlopes:
    """Derivatives in the intercept and the k coefficients of each linear predictor."""

    # Those of the deviance; its Hessian has the second derivatives of the means in it, times
    # the multipliers.
    glm: GLMSums
    # Those of Σ w μ[1, s], of shape (K, 1+q, m, 1+k), and of ½Σ w μ², of shape (K, m, 1+k). At
    # order 1 the first, times the multipliers, are in the gradient instead.
    jacobian: Any = None
    squares: Any = None

    def __add__(self, other: MeanSlopes) -> MeanSlopes:
        glm = self.glm + other.glm
        if self.jacobian is None or self.squares is None:
            return MeanSlopes(glm)
        return MeanSlopes(glm, self.jacobian + other.jacobian, self.squares + other.squares)

    def recentered(self, gap: Floats) -> MeanSlopes:
        """Return the sums for columns [1, z + gap] instead of [1, z]."""
        if self.jacobian is None or self.squares is None:
            return MeanSlopes(self.glm.recentered(gap))
        move = np.append(0.0, gap)
        jacobian = self.jacobian + self.jacobian[..., :1] * move
        q = jacobian.shape[1] - 1
        jacobian = jacobian + move[: 1 + q, None, None] * jacobian[:, :1]
        return MeanSlopes(
            self.glm.recentered(gap), jacobian, self.squares + self.squares[..., :1] * move
        )


@dataclass(frozen=True)
class MeanSums:
    """Sums over the rows that each of K means is asked of."""

    deviance: float  # of all rows
    products: Floats  # Σ w μ[1, s], of shape (K, 1+q)
    weights: Floats  # Σ w, of shape (K,)
    # Σ w (μ − E(μ))², of shape (K,). Not from Σ w μ², which leaves no digit of means that vary by
    # less than 1e-8 of their size.
    scatter: Floats
    counts: Floats  # number of rows, of shape (K,)
    # Σ w [1, s][1, s]ᵀ; not with derivatives, because no coefficient changes it, of shape
    # (K, 1+q, 1+q).
    gram: Any = None
    slopes: Any = None  # derivatives (MeanSlopes or None)

    @cached_property
    def mean(self) -> Floats:
        """E(μ), of shape (K,); zero without rows."""
        mean: Floats = self.products[:, 0] / np.where(self.weights > 0.0, self.weights, 1.0)
        return mean

    @cached_property
    def squares(self) -> Floats:
        """Σ w μ², of shape (K,)."""
        with np.errstate(over="ignore"):
            return self.scatter + self.weights * self.mean**2

    def __add__(self, other: MeanSums) -> MeanSums:
        weights = self.weights + other.weights
        part = self.weights / np.where(weights > 0.0, weights, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):  # means may leave the range of numbers
            between = part * other.weights * (self.mean - other.mean) ** 2
        return MeanSums(
            self.deviance + other.deviance,
            self.products + other.products,
            weights,
            self.scatter + other.scatter + between,
            self.counts + other.counts,
            None if self.gram is None or other.gram is None else self.gram + other.gram,
            None if self.slopes is None or other.slopes is None else self.slopes + other.slopes,
        )

    def recentered(self, gap: Floats) -> MeanSums:
        """Return the sums for columns [1, z + gap] instead of [1, z]."""
        move = np.append(0.0, gap)[: self.products.shape[1]]
        gram = self.gram
        if gram is not None:
            gram = gram + gram[:, :, :1] * move
            gram = gram + move[:, None] * gram[:, :1]
        return replace(
            self,
            products=self.products + self.products[:, :1] * move,
            gram=gram,
            slopes=None if self.slopes is None else self.slopes.recentered(gap),
        )


def block_means(
    Z: MatrixBlock,
    y: Floats,
    eta: Floats,
    weight: Floats,
    offset: Floats | None,
    family: Family,
    means: PredictedMeans,
    sizes: tuple[int, int],
    multipliers: Floats | None,
    known: Floats | None = None,
    order: int = 2,
) -> MeanSums:
    """Sum over one block of rows."""
    # Z has rows of [1, z], S first, and sizes are 1+q and 1+k. `multipliers` (K, 1+q) are
    # coefficients of Σ w μ[1, s] whose second derivatives go into the Hessian; None asks for no
    # derivatives. If `known`, Σ w [1, z][1, z]ᵀ of all rows, is there, means of all rows leave
    # their own to the caller. Of order 1 there are gradients alone.
    head = sizes[0]
    mu = means(y, eta, 0 if multipliers is None else 2, offset)
    xp, K = namespace(eta), mu.values.shape[1]
    if mu.counted is None:  # all means of all rows
        each = weight[:, None] * xp.ones_like(mu.values)
        counts = np.full(K, float(mu.values.shape[0]))
    else:
        each = weight[:, None] * mu.counted
        counts = to_host(xp.sum(as_float64(mu.counted > 0.0), axis=0))
    weighted, total = each * mu.values, xp.sum(each, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # means may leave the range of numbers
        mean = xp.sum(weighted, axis=0) / xp.where(total > 0.0, total, 1.0)
        left = mu.values - mean
        squares = left * left if mu.counted is None else mu.counted * left * left
        spread = to_host(total), to_host(weight @ squares)
    if multipliers is None:
        gram = None
        if mu.counted is not None or known is None:
            alike = 1 if mu.counted is None else K  # means of all rows share one
            gram = np.repeat(Z.leading(each[:, :alike], head, head), K // alike, axis=0)
        deviance = float(family.deviance_terms(y, eta, weight, 0).deviance)
        return MeanSums(deviance, Z.products(weighted, head), *spread, counts, gram)
    weights = each, weighted
    deviance, products, slopes = _slopes_of(
        Z, y, eta, weight, family, mu, weights, sizes, multipliers, order
    )
    return MeanSums(deviance, products, *spread, counts, None, slopes)


def _slopes_of(
    Z: MatrixBlock,
    y: Floats,
    eta: Floats,
    weight: Floats,
    family: Family,
    mu: RowMeans,
    weights: tuple[Floats, Floats],
    sizes: tuple[int, int],
    multipliers: Floats,
    order: int,
) -> tuple[float, Floats, MeanSlopes]:
    """Return the deviance, Σ w μ[1, s] and derivatives, from w and wμ of the rows of a block."""
    (each, weighted), (head, k), (n, K, m) = weights, sizes, mu.first.shape
    xp, rows = namespace(eta), family.deviance_terms(y, eta, weight, order)
    assert rows.gradient is not None
    priced = each * Z.times(multipliers.T) if multipliers.any() else None
    if order == 1:
        of_rows = rows.gradient
        if priced is not None:
            of_rows = of_rows + xp.sum(priced[:, :, None] * mu.first, axis=1)
        products, gradient = np.split(Z.products(joined([weighted, of_rows], axis=1)), [K])
        slopes = MeanSlopes(GLMSums(float(rows.deviance), gradient[:, :k], None))
        return float(rows.deviance), products[:, :head], slopes
    assert rows.curvature is not None
    curvature = rows.curvature if priced is None else rows.curvature + mu.bend(priced)
    pairs = _pairs(Z, k, eta, m)
    jacobian = np.empty((K, head, m, k))
    if pairs is not None:
        slopes_of_rows = (each[:, :, None] * mu.first).reshape(n, K * m)
        whole = (pairs.T @ slopes_of_rows).reshape(k, k, K, m)
        jacobian[:] = whole[:head].transpose(2, 0, 3, 1)
    else:
        for j in range(K):
            leading = Z.leading(each[:, j, None] * mu.first[:, j, :], head)
            jacobian[j] = leading[:, :, :k].transpose(1, 0, 2)
    bent = xp.reshape(weighted[:, :, None] * mu.first, (n, K * m))
    # One product with the rows for all vectors.
    vectors = Z.products(joined([weighted, rows.gradient, bent], axis=1))[:, :k]
    products, gradient, of_squares = np.split(vectors, [K, K + m])
    glm = GLMSums(float(rows.deviance), gradient, hessian_of(Z, k, curvature, pairs))
    slopes = MeanSlopes(glm, jacobian, of_squares.reshape(K, m, k))
    return float(rows.deviance), products[:, :head], slopes


def _pairs(Z: MatrixBlock, k: int, eta: Floats, m: int) -> Floats | None:
    """Return zzᵀ of each row if they fit into two blocks and many sums are asked for, or None."""
    # All sums are then one product of matrices: with 10 classes and 200 rows, calls take most of
    # the time.
    n = eta.shape[0]
    if namespace(eta) is not np or m < MIN_PAIRED_PREDICTORS or 8 * n * k * k > 2 * BLOCK_BYTES:
        return None
    z = Z.dense()[:, :k]
    return np.asarray((z[:, :, None] * z[:, None, :]).reshape(n, k * k))


def hessian_of(Z: MatrixBlock, k: int, curvature: Floats, pairs: Floats | None = None) -> Floats:
    """Σ over rows of z curvature zᵀ in the first k columns, for curvatures of any sign."""
    n, m = curvature.shape[:2]
    if pairs is not None:
        whole = (pairs.T @ curvature.reshape(n, m * m)).reshape(k, k, m, m)
        return np.asarray(whole.transpose(2, 0, 3, 1))
    hessian = np.empty((m, k, m, k))
    for a in range(m):
        for b in range(a, m):
            weight = curvature[:, a, b]
            hessian[a, :, b, :] = Z.gram(weight)[:k, :k]
            hessian[b, :, a, :] = hessian[a, :, b, :].T
    return hessian


class BlockEngine(ABC):
    """Sums over blocks of [1, z − about], moved to the center that the caller has."""

    # Where all rows share one η, moments and counts of the responses may make a pass unnecessary.

    n_sensitive: int
    _counts_responses = True  # whether it pays to count the values of the response
    _gram: Floats | None  # Σ w [1, z − about][1, z − about]ᵀ, if moments were asked for
    _has_null_model: bool  # whether moments are known, and rows do not differ in their offset

    @property
    @abstractmethod
    def _about(self) -> Floats:
        """What is subtracted from [S, X, y] in every pass."""

    @property
    @abstractmethod
    def _responses(self) -> DistinctResponses | None:
        """All that rows at one linear predictor differ in, if that is little."""

    @abstractmethod
    def _sum_at(
        self,
        center: Floats,
        places: Sequence[Place],
        function: Callable[..., Any],
        *,
        weighted: bool,
    ) -> Any:
        """Add up a function of blocks, responses, η at some places, weights and offsets."""
        # It says whether blocks are `weighted`, which takes memory.

    @abstractmethod
    def _derivatives(
        self, family: Family, center: Floats, places: Sequence[Place], order: int
    ) -> GLMSums:
        """Return derivatives for columns as blocks have them, at the first place and at others."""

    @abstractmethod
    def moments(self) -> Moments:
        """Return the weighted moments of [S, X, y]."""

    @cached_property
    def _null_model(self) -> NullModel:
        return NullModel(self.moments())

    def derivatives(
        self,
        family: Family,
        center: Floats,
        intercept: Floats,
        raw: Floats,
        order: int,
        others: Sequence[Place] = (),
    ) -> GLMSums:
        """See `Engine.derivatives`."""
        if self._has_null_model and not (raw.any() or others):
            null = self._null_model.sums(family, center, intercept)
            if null is not None:
                return null
        known = None
        if order > 1 and not raw.any() and self._gram is not None and self._responses is not None:
            # If all rows have the same curvature, the Hessian is a multiple of the moments.
            k = 1 + len(center)
            known = self._responses.hessian(family, intercept, self._gram[:k, :k])
        constant = [self._constant(family, *place) for place in others]
        summed = [place for place, sums in zip(others, constant, strict=True) if sums is None]
        places = [(intercept, raw), *summed]
        sums = self._derivatives(family, center, places, order if known is None else 1)
        sums = sums if known is None else replace(sums, hessian=known)
        sums = sums.recentered(self._about[: len(center)] - center)
        found = iter(sums.others)
        return replace(sums, others=tuple([null or next(found) for null in constant]))

    def _constant(self, family: Family, intercept: Floats, raw: Floats) -> GLMSums | None:
        """Return sums at one η for all rows, if counts of the responses suffice."""
        responses = None if raw.any() or not self._counts_responses else self._responses
        return None if responses is None else responses.sums(family, intercept, raw.shape[1])

    def means(
        self,
        family: Family,
        means: PredictedMeans,
        center: Floats,
        intercept: Floats,
        raw: Floats,
        multipliers: Floats | None = None,
        beside: int | None = None,
        order: int = 2,
    ) -> MeanSums:
        """See `Engine.means`."""
        beside = self.n_sensitive if beside is None else beside
        if self._has_null_model and not raw.any():
            null = self._null_model.means(family, means, center, intercept, multipliers, beside)
            if null is not None:
                return null
        gap = self._about[: len(center)] - center
        if multipliers is not None:  # they, too, come for columns about the caller's center
            multipliers = multipliers.copy()
            multipliers[:, 0] += multipliers[:, 1:] @ gap[:beside]
        asked = family, means, (1 + beside, 1 + len(center)), multipliers, self._gram, order

        def of_block(Z: Any, y: Any, etas: list[Any], weight: Any, offset: Any) -> MeanSums:
            return block_means(Z, y, etas[0], weight, offset, *asked)

        weighted = multipliers is not None
        sums = self._sum_at(center, [(intercept, raw)], of_block, weighted=weighted)
        if self._gram is not None and sums.gram is None and sums.slopes is None:
            K, head = sums.products.shape
            gram = np.repeat(self._gram[None, :head, :head], K, axis=0)
            sums = replace(sums, gram=gram)
        return sums.recentered(gap)
