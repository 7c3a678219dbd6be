"""Families of the oracle for bounds on means, and what is bounded.

``python -m tools.mean_oracle [TASK ...]`` computes `mean_oracle.json` again.
"""

from pathlib import Path

import numpy as np
from scipy.special import expit, logsumexp, softmax

from tests.reference.task_data import CLASSES

ANSWERS = Path(__file__).with_name("mean_oracle.json")


class Softmax:
    """Several classes; predictors are K − 1 orthonormal contrasts, whose norm is that of all K."""

    def __init__(self, y):
        classes = int(y.max()) + 1
        self.Y = np.eye(classes)[y]
        centering = np.eye(classes) - 1.0 / classes
        self.contrasts = np.linalg.svd(centering)[0][:, : classes - 1]
        self.start = np.log(self.Y.mean(0)) @ self.contrasts

    def means(self, eta):
        return softmax(eta @ self.contrasts.T, axis=1)

    def deviance(self, eta):
        scores = eta @ self.contrasts.T
        return 2.0 * float(logsumexp(scores, axis=1).sum() - (self.Y * scores).sum())

    def slopes(self, means):
        """Return dμ_k/dη_a of every row."""
        C = self.contrasts
        return means[:, :, None] * (C[None] - (means @ C)[:, None])

    def bends(self, means, prices):
        """Return Σ_k price_k d²μ_k/dη_a dη_b of every row."""
        C, level = self.contrasts, (means * prices).sum(1, keepdims=True)
        pull = means * (prices - level)
        cross = np.einsum("na,nb->nab", pull @ C, means @ C)
        return np.einsum("nk,ka,kb->nab", pull, C, C) - cross - cross.transpose(0, 2, 1)


class Single:
    """One predictor with a canonical link: two classes, or counts."""

    contrasts = np.ones((1, 1))

    def __init__(self, y, *, counts):
        self.Y, self.counts, mean = y[:, None].astype(float), counts, y.mean()
        self.start = np.array([np.log(mean if counts else mean / (1.0 - mean))])

    def means(self, eta):
        return np.exp(np.minimum(eta, 500.0)) if self.counts else expit(eta)

    def deviance(self, eta):
        y = self.Y
        if self.counts:
            logs = np.log(np.where(y > 0.0, y, 1.0))
            return 2.0 * float((y * (logs - eta) - y + self.means(eta)).sum())
        return 2.0 * float((np.logaddexp(0.0, eta) - y * eta).sum())

    def slopes(self, means):
        return (means if self.counts else means * (1.0 - means))[:, :, None]

    def bends(self, means, prices):
        second = means if self.counts else means * (1.0 - means) * (1.0 - 2.0 * means)
        return (prices * second)[:, :, None]


def groups(kind, y, definition):
    """Return which means are bounded among which rows: (class, rows)."""
    everywhere, classes = np.arange(len(y)), int(y.max()) + 1
    bounded = range(classes) if kind == "multinomial" else [0]
    if definition == "mean-parity":
        return [(k, everywhere) for k in bounded]
    of_class = [np.flatnonzero(y == c) for c in range(classes)] if kind in CLASSES else []
    if definition == "mean-odds":
        return [(k, at) for at in of_class for k in bounded]
    return [(k, of_class[k]) for k in bounded] if kind == "multinomial" else [(0, of_class[1])]


def share_of_means(kind, S, y, means, definition):
    """Return the share of the means that S explains, as the definition has it."""
    explained = squares = 0.0
    for k, at in groups(kind, y, definition):
        m = means[at, k] - means[at, k].mean()
        explained += float(np.sum((basis_of(S[at]).T @ m) ** 2))
        squares += float(m @ m)
    return explained / squares if squares > 0.0 else 0.0


def basis_of(S):
    """Return an orthonormal basis of the centered columns."""
    Q, sizes, _ = np.linalg.svd(S - S.mean(0), full_matrices=False)
    return Q[:, sizes > 1e-9 * max(sizes[0], 1e-300)]
