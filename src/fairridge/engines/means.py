"""Sums that say how the predicted means μ depend on S."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairridge._arrays import joined, namespace, to_host
from fairridge._typing import Floats
from fairridge.engines.blocks import WrittenBlock
from fairridge.families import Family
from fairridge.families.means import MeansOfRows
from fairridge.families.sums import GLMSums


@dataclass(frozen=True)
class MeanSlopes:
    """Derivatives in the intercept and the k coefficients of each linear predictor."""

    # Those of the deviance; its Hessian has the second derivatives of the means in it, times
    # the multipliers.
    glm: GLMSums
    jacobian: Floats  # of Σ w μ[1, s], of shape (K, 1+q, m, 1+k)
    squares: Floats  # of ½Σ w μ², of shape (K, m, 1+k)

    def __add__(self, other: MeanSlopes) -> MeanSlopes:
        return MeanSlopes(
            self.glm + other.glm, self.jacobian + other.jacobian, self.squares + other.squares
        )

    def recentered(self, gap: Floats) -> MeanSlopes:
        """Return the sums for columns [1, z + gap] instead of [1, z]."""
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
    squares: Floats  # Σ w μ², of shape (K,)
    counts: Floats  # number of rows, of shape (K,)
    # Σ w [1, s][1, s]ᵀ; not with derivatives, because no coefficient changes it, of shape
    # (K, 1+q, 1+q).
    gram: Floats | None = None
    slopes: MeanSlopes | None = None  # derivatives

    def __add__(self, other: MeanSums) -> MeanSums:
        return MeanSums(
            self.deviance + other.deviance,
            self.products + other.products,
            self.squares + other.squares,
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
        return MeanSums(
            self.deviance,
            self.products + self.products[:, :1] * move,
            self.squares,
            self.counts,
            gram,
            None if self.slopes is None else self.slopes.recentered(gap),
        )


def block_means(
    Z: WrittenBlock,
    y: Floats,
    eta: Floats,
    weight: Floats,
    family: Family,
    means: MeansOfRows,
    sizes: tuple[int, int],
    multipliers: Floats | None,
) -> MeanSums:
    """Sum over one block of rows.

    Parameters
    ----------
    Z : WrittenBlock
        Rows of [1, z], S first.
    y, eta, weight : ndarray
        Response, linear predictors and weights of these rows.
    family, means
        The family, and what the means are.
    sizes : (int, int)
        1+q and 1+k.
    multipliers : ndarray of shape (K, 1+q) or None
        Coefficients of Σ w μ[1, s] whose second derivatives go into the
        Hessian; None if no derivatives are asked for.
    """
    head, k = sizes
    mu = means(y, eta, 0 if multipliers is None else 2)
    xp, (n, K) = namespace(eta), mu.values.shape
    counted = xp.ones_like(mu.values) if mu.counted is None else mu.counted
    each = weight[:, None] * counted
    weighted = each * mu.values
    squares = to_host(xp.sum(weighted * mu.values, axis=0))
    counts = to_host(xp.sum(counted, axis=0))
    if multipliers is None:
        gram = np.stack([Z.corner(each[:, j], head) for j in range(K)])
        deviance = float(family.deviance_terms(y, eta, weight, 0).deviance)
        return MeanSums(deviance, Z.products(weighted)[:, :head], squares, counts, gram)
    assert mu.first is not None
    assert mu.bend is not None
    m = mu.first.shape[2]
    rows = family.deviance_terms(y, eta, weight, 2)
    deviance = float(rows.deviance)
    curvature = rows.curvature
    assert rows.gradient is not None
    assert curvature is not None
    if multipliers.any():
        curvature = curvature + mu.bend(each * Z.times(multipliers.T))
    jacobian = np.empty((K, head, m, k))
    for j in range(K):
        for c in range(m):
            jacobian[j, :, c] = Z.leading(each[:, j] * mu.first[:, j, c], head)[:, :k]
    bent = xp.reshape(weighted[:, :, None] * mu.first, (n, K * m))
    # One product with the rows for all vectors.
    vectors = Z.products(joined([weighted, rows.gradient, bent], axis=1))[:, :k]
    products, gradient, of_squares = np.split(vectors, [K, K + m])
    glm = GLMSums(deviance, gradient, hessian_of(Z, k, curvature))
    slopes = MeanSlopes(glm, jacobian, of_squares.reshape(K, m, k))
    return MeanSums(deviance, products[:, :head], squares, counts, None, slopes)


def hessian_of(Z: WrittenBlock, k: int, curvature: Floats) -> Floats:
    """Σ over rows of z curvature zᵀ, for curvatures of any sign."""
    m = curvature.shape[1]
    hessian = np.empty((m, k, m, k))
    for a in range(m):
        for b in range(a, m):
            weight = curvature[:, a, b]
            hessian[a, :, b, :] = Z.cross(weight)[:k, :k]
            hessian[b, :, a, :] = hessian[a, :, b, :].T
    return hessian


def deviance_hessian(
    Z: WrittenBlock, k: int, curvature: Floats, coupling: Callable[[Floats], Floats] | None
) -> Floats:
    """Σ over rows of z curvature zᵀ in the first k columns, for all pairs of linear predictors."""
    m = curvature.shape[1]
    hessian = np.empty((m, k, m, k))
    for a in range(m):
        hessian[a, :, a, :] = Z.gram(curvature[:, a, a])[:k, :k]
        for b in range(a + 1, m):
            hessian[a, :, b, :] = Z.cross(curvature[:, a, b])[:k, :k]
            hessian[b, :, a, :] = hessian[a, :, b, :].T
    if coupling is not None:
        hessian[0, :, 0, :] -= coupling(Z.dense()[:, :k])
    return hessian
