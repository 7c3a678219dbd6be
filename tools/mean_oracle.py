"""Bounds on means by trust-region Newton steps from the fair side: an oracle for small data.

It minimizes D(θ, b(θ)) + λE(θ, b(θ)) + ε‖θ‖² over the coefficients θ of standardized
columns. b(θ) are the intercepts that make totals of means equal those of the response:
the maximum likelihood of b given θ, which takes no pass over the columns. E is what S
explains of the squares of the means, and λ is found so that E is the share r of them.

The search starts from the model with intercepts only under a large λ, which then falls. On
nearly separated data it finds better minima than a search from the model without a
bound. If minima jump past r as λ falls, the bound holds with what is left of it.

``python -m tools.mean_oracle [TASK ...]`` computes `mean_oracle.json` again.
"""

import json
import sys
from dataclasses import dataclass

import numpy as np

from tests.reference.mean_oracle import ANSWERS, Single, Softmax, basis_of, groups
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

FIRST_LAMBDA, LARGEST_LAMBDA, SMALLEST_LAMBDA, FACTOR = 100.0, 1e7, 1e-6, 5.0
# Decrease of the objective at which a minimum on the way, and at last, is found.
ON_THE_WAY, AT_LAST = 1e-5, 1e-12
MOST_STEPS, MOST_ROOTS = 80, 40


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
        """Return what is minimized."""
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
        self.parts = [(k, at, basis_of(columns.S[at])) for k, at in groups(kind, y, definition)]

    def origin(self):
        """Return the model with intercepts only."""
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
