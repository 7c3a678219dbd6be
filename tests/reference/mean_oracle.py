"""Bounds on means by trust-region Newton steps from the fair side: an oracle for small data.

It minimizes D(θ, b(θ)) + λE(θ, b(θ)) + ε‖θ‖² over the coefficients θ of standardized
columns. b(θ) are the intercepts that make totals of means equal those of the response:
the maximum likelihood of b given θ, which takes no pass over the columns. E is what S
explains of the squares of the means, and λ is found so that E is the share r of them.

The search starts from the model with intercepts only under a large λ, which then falls. On
nearly separated data it finds better minima than a search from the model without a
bound. If minima jump past r as λ falls, the bound holds with what is left of it.

``python -m tests.reference.mean_oracle [TASK ...]`` computes `mean_oracle.json` again.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit, logsumexp, softmax

from tests.reference.task_data import (
    BOUNDS,
    CLASSES,
    ON_MEANS,
    SEPARATION_RIDGE,
    columns_of,
    definitions_of,
    has_no_minimum,
    read_task,
)

ANSWERS = Path(__file__).with_name("mean_oracle.json")
FIRST_LAMBDA, LARGEST_LAMBDA, SMALLEST_LAMBDA, FACTOR = 100.0, 1e7, 1e-6, 5.0
# Decrease of the objective at which a minimum on the way, and at last, is found.
ON_THE_WAY, AT_LAST = 1e-5, 1e-12
MOST_STEPS, MOST_ROOTS = 80, 40


# -------------------------------------------------------------------- families


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


# --------------------------------------------------------------------- problem


@dataclass(frozen=True)
class State:
    """The model at some θ, with balanced intercepts."""

    theta: np.ndarray
    intercepts: np.ndarray
    means: np.ndarray
    deviance: float
    explained: float
    squares: float
    ridge: float

    @property
    def share(self):
        """Share of the squares of the means that S explains."""
        # Means of a constant model vary by rounding.
        return self.explained / self.squares if self.squares > 1e-20 * len(self.means) else 0.0

    def objective(self, lambda_):
        return self.deviance + lambda_ * self.explained + self.ridge


class MeanProblem:
    """D + λE + ε‖θ‖² in directions of the columns, for one definition."""

    def __init__(self, kind, columns, definition, ridge):
        y = columns.y
        self.family = Softmax(y) if kind == "multinomial" else Single(y, counts=kind == "poisson")
        Z = np.hstack([columns.S, columns.U])
        _, sizes, V = np.linalg.svd(Z, full_matrices=False)
        # Directions of collinear columns are none; a rotation leaves the ridge as it is.
        self.Z = Z @ V[sizes > 1e-9 * sizes[0]].T
        self.Z1 = np.hstack([np.ones((len(Z), 1)), self.Z])
        self.ridge, self.passes = ridge * len(y), 0
        self.parts = [(k, at, _basis(columns.S[at])) for k, at in groups(kind, y, definition)]

    def origin(self):
        m = self.family.contrasts.shape[1]
        return self.at(np.zeros((self.Z.shape[1], m)), self.family.start)

    def at(self, theta, intercepts):
        """Return the state with balanced intercepts; they are sought from given ones."""
        fixed = self.Z @ theta
        b, means = self._balanced(fixed, intercepts)
        explained = squares = 0.0
        for k, at, Q in self.parts:
            explained += float(np.sum((Q.T @ means[at, k]) ** 2))
            squares += float(np.sum((means[at, k] - means[at, k].mean()) ** 2))
        deviance, ridge = self.family.deviance(fixed + b), self.ridge * float(np.sum(theta**2))
        return State(theta, b, means, deviance, explained, squares, ridge)

    def _balanced(self, fixed, b):
        """Minimize the deviance over the intercepts, which makes totals right."""
        family, C = self.family, self.family.contrasts
        value = family.deviance(fixed + b)
        for _ in range(100):
            means = family.means(fixed + b)
            gradient = (means - family.Y).sum(0) @ C
            if np.abs(gradient).max() < 1e-11 * family.Y.sum():
                break
            hessian = np.einsum("nka,kb->ab", family.slopes(means), C)
            step, length = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0], 1.0
            while length > 1e-8:
                new = family.deviance(fixed + b - length * step)
                if new <= value + 1e-13 * abs(value):
                    break
                length /= 2.0
            b, value = b - length * step, new
        return b, family.means(fixed + b)

    def derivatives(self, state, lambda_):
        """Return gradient and Hessian in θ of the objective with balanced intercepts."""
        self.passes += 1
        family, Z1, means = self.family, self.Z1, state.means
        C, slopes = family.contrasts, family.slopes(means)
        prices = 2.0 * lambda_ * self._projected(means)
        totals = np.einsum("nka,kc,ni->cia", slopes, C, Z1).reshape(C.shape[1], -1)
        p1, m = Z1.shape[1], C.shape[1]
        b = np.arange(m)  # coefficients of the constant come first
        # A price of totals makes the Lagrangian stationary in the intercepts.
        pull = np.einsum("nka,nk->a", slopes, prices)
        prices = prices - C @ np.linalg.lstsq(totals[:, b], pull, rcond=1e-13)[0]
        residuals = 2.0 * (means - family.Y) @ C + np.einsum("nka,nk->na", slopes, prices)
        curvature = 2.0 * np.einsum("nka,kb->nab", slopes, C) + family.bends(means, prices)
        H = np.empty((p1, m, p1, m))
        for a in range(m):
            for c in range(m):
                H[:, a, :, c] = (Z1 * curvature[:, a, c, None]).T @ Z1
        H = H.reshape(p1 * m, p1 * m) + 2.0 * lambda_ * self._gauss_newton(slopes)
        rest = np.arange(m, p1 * m)
        moves = -np.linalg.lstsq(totals[:, b], totals[:, rest], rcond=1e-13)[0]  # db/dθ
        cross = H[np.ix_(rest, b)] @ moves
        reduced = H[np.ix_(rest, rest)] + cross + cross.T + moves.T @ H[np.ix_(b, b)] @ moves
        gradient = (Z1[:, 1:].T @ residuals + 2.0 * self.ridge * state.theta).ravel()
        return gradient, reduced + 2.0 * self.ridge * np.eye(len(rest))

    def _projected(self, means):
        out = np.zeros_like(means)
        for k, at, Q in self.parts:
            out[at, k] += Q @ (Q.T @ means[at, k])
        return out

    def _gauss_newton(self, slopes):
        size = self.Z1.shape[1] * slopes.shape[2]
        out = np.zeros((size, size))
        for k, at, Q in self.parts:
            J = [(Q * slopes[at, k, a, None]).T @ self.Z1[at] for a in range(slopes.shape[2])]
            J = np.stack(J, axis=-1).reshape(Q.shape[1], size)
            out += J.T @ J
        return out


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
        explained += float(np.sum((_basis(S[at]).T @ m) ** 2))
        squares += float(m @ m)
    return explained / squares if squares > 0.0 else 0.0


def _basis(S):
    """Return an orthonormal basis of the centered columns."""
    Q, sizes, _ = np.linalg.svd(S - S.mean(0), full_matrices=False)
    return Q[:, sizes > 1e-9 * max(sizes[0], 1e-300)]


# ---------------------------------------------------------------------- search


class Search:
    """Minima for one λ after another; each starts where the nearest one ended."""

    def __init__(self, problem):
        self.problem, self.damping, self.known = problem, 1e-3, {}

    def minimum(self, lambda_, start, tolerance):
        """Take damped Newton steps until they gain next to nothing."""
        state = start
        for _ in range(MOST_STEPS):
            gradient, hessian = self.problem.derivatives(state, lambda_)
            new, expected = self._step(state, lambda_, gradient, hessian)
            if new is None:
                break
            state = new
            if expected < tolerance * (1.0 + abs(state.objective(lambda_))):
                break
        self.known[lambda_] = state
        return state

    def _step(self, state, lambda_, gradient, hessian):
        """Return a state with a smaller objective, and what was expected; damping adapts."""
        value = state.objective(lambda_)
        scale = np.abs(np.diag(hessian)) + 1e-8 * len(self.problem.Z)
        for _ in range(40):
            try:
                L = np.linalg.cholesky(hessian + self.damping * np.diag(scale))
            except np.linalg.LinAlgError:
                self.damping = max(10.0 * self.damping, 1e-6)
                continue
            step = -np.linalg.solve(L.T, np.linalg.solve(L, gradient))
            expected = -float(gradient @ step + 0.5 * step @ hessian @ step)
            new = self.problem.at(state.theta + step.reshape(state.theta.shape), state.intercepts)
            gain = value - new.objective(lambda_)
            if gain >= 0.05 * expected - 1e-12 * abs(value):
                if gain > 0.75 * expected:
                    self.damping = self.damping / 10.0 if self.damping > 1e-9 else 0.0
                return new, expected
            self.damping = max(4.0 * self.damping, 1e-6)
        return None, 0.0

    def bounded(self, r):
        """Return the model whose share is r, or less if minima jump past it."""
        lambda_ = FIRST_LAMBDA
        state = self.minimum(lambda_, self.problem.origin(), ON_THE_WAY)
        while state.share > r and lambda_ < LARGEST_LAMBDA:
            lambda_ *= FACTOR
            state = self.minimum(lambda_, state, ON_THE_WAY)
        if r == 0.0:
            return self._at_infinity(lambda_, state)
        if state.share > r:
            return self.problem.origin()  # only the constant is that fair
        while state.share <= r and lambda_ > SMALLEST_LAMBDA:
            lambda_ /= FACTOR
            state = self.minimum(lambda_, state, ON_THE_WAY)
        if state.share <= r:
            return self.minimum(0.0, state, AT_LAST)
        return self._root(r, lambda_)

    def _at_infinity(self, lambda_, state):
        """Return the limit of large λ: the deviance rises to D + 2λE."""
        state = self.minimum(lambda_, state, AT_LAST)
        limit = state.deviance + 2.0 * lambda_ * state.explained
        return State(**{**vars(state), "deviance": limit, "explained": 0.0})

    def _root(self, r, low):
        high = min(x for x, state in self.known.items() if state.share <= r)
        for turn in range(MOST_ROOTS):
            a, c = np.log(low), np.log(high)
            ends = [np.log(max(self.known[x].share, 1e-300) / r) for x in (low, high)]
            x = a + (c - a) * ends[0] / (ends[0] - ends[1])
            margin = 0.05 * (c - a)
            x = (a + c) / 2.0 if turn % 4 == 3 else np.clip(x, a + margin, c - margin)
            near = min(self.known, key=lambda z: abs(np.log(z) - x))
            state = self.minimum(float(np.exp(x)), self.known[near], AT_LAST)
            if abs(state.share - r) < 1e-9 * r or c - a < 1e-9:
                break
            low, high = (float(np.exp(x)), high) if state.share > r else (low, float(np.exp(x)))
        met = [one for one in self.known.values() if one.share <= r * (1.0 + 1e-8)]
        return min(met, key=lambda one: one.deviance + one.ridge)


def answer(task, definition, r, *, ridge):
    """Return deviance, ridge and share of the oracle's model, and its passes."""
    problem = MeanProblem(task.kind, columns_of(task), definition, ridge)
    found = Search(problem).bounded(r)
    return {
        "deviance": found.deviance,
        "ridge": found.ridge,
        "share": found.share,
        "passes": problem.passes,
    }


def main(names):
    """Compute the answers of some tasks, or of all, and keep those of others."""
    from tests.conftest import Reference

    reference = Reference()
    known = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in names or reference.json("tasks.json"):
        task = read_task(reference, name)
        if task.kind not in (*CLASSES, "poisson"):
            continue
        separated = has_no_minimum(task)
        found = {
            "separated": separated,
            "separated by predictors": separated and has_no_minimum(task, bounded=True),
        }
        for definition in definitions_of(task.kind):
            if definition not in ON_MEANS:
                continue
            ridge = SEPARATION_RIDGE if separated else 0.0
            found[definition] = {f"{r:g}": answer(task, definition, r, ridge=ridge) for r in BOUNDS}
            sys.stdout.write(f"{name} {definition} {found[definition]}\n")
        known[name] = found
        ANSWERS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
