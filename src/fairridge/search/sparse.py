"""A problem with many sparse predictors, solved in features that grow until they suffice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.models import Fit
from fairridge.models.spaces import Space, SparseFeatures
from fairridge.models.spaces.sparse import SparseModel, relative_length
from fairridge.search.problem import PenalizedProblem, Solution
from fairridge.solvers.spectrum import COLLINEARITY_TOLERANCE

# Length of a Newton step, relative to γ, that is left alone.
STEP_TOLERANCE = 1e-11
# Far from a minimum a Newton step is not worth more digits than this part of its length.
FORCING = 0.1
# Products of conjugate gradients per direction, and steps per round of growth.
MAX_PRODUCTS, MAX_STEPS = 2_000, 8


class SparseProblem(PenalizedProblem):
    """A model on rows with many sparse columns, for every λ."""

    # It is solved in features, and every search adds to these what its models lack.
    # In features λ₂ > 0, and passes are over these.

    space: SparseFeatures

    def __init__(
        self, features: SparseFeatures, problem_in: Callable[[Space], PenalizedProblem]
    ) -> None:
        self._problem_in = problem_in
        self.space, self.inner = features, problem_in(features)
        self.family, self.definition = self.inner.family, self.inner.definition
        self.settings = self.inner.settings
        self._grow(self.inner.solved_at(np.array([np.inf])))  # what the null model lacks

    def solve(self, bounds: Floats) -> list[Solution]:
        """Find the model for every bound: in features, until these suffice for all."""
        lengths: list[float] = []
        for _ in range(self.settings.max_iter):
            solutions = self.inner.solve(bounds)
            fits: list[Any] = [solution.fit.features for solution in solutions]
            lengths.append(self._grow(fits + self.inner.references))
            stopped_shrinking = lengths[-1] > 0.5 * min(lengths[:-1], default=np.inf)
            # Steps that rounding decides stop shrinking.
            if lengths[-1] <= (COLLINEARITY_TOLERANCE if stopped_shrinking else STEP_TOLERANCE):
                return solutions
        return [
            replace(solution, choice=replace(solution.choice, status="not-converged"))
            for solution in solutions
        ]

    # All else is that of the model in the present features.

    choose = delegated("inner.choose")
    converged = delegated("inner.converged")
    dispersion = delegated("inner.dispersion")
    loglik = delegated("inner.loglik")
    null_deviance = delegated("inner.null_deviance")
    solved_at = delegated("inner.solved_at")

    def _grow(self, fits: list[Fit]) -> float:
        """Add to the features what some models lack; return the length of that, relative to γ."""
        # Nothing is added if it is negligible. Models at similar λ lack the same, so the directions
        # of those that lack most serve the others as well.
        if self.family.least_squares:
            fits = fits[:1]  # β is the same at every λ
        different = sorted({fit.lambda_: fit for fit in fits}.values(), key=lambda fit: fit.lambda_)
        if len(different) > MAX_STEPS:
            different = self._worst(different)
        parts = [self._step(self._model_of(fit)) for fit in different]
        longest = max(length for _, length in parts)
        if longest > STEP_TOLERANCE:
            # Models found so far keep the features that they have.
            self.space = self.space.grown(np.hstack([step for step, _ in parts]))
            self.inner = self._problem_in(self.space)
        return longest

    def _worst(self, fits: list[Fit]) -> list[Fit]:
        """Return the fit that lacks most of every neighborhood: the worst of all are neighbors."""
        lacking = np.array([self._model_of(fit).lacks for fit in fits])
        self.space.engine.passes += len(lacking)
        groups = np.array_split(np.arange(len(lacking)), MAX_STEPS)
        return [fits[group[np.argmax(lacking[group])]] for group in groups]

    def _step(self, model: SparseModel) -> tuple[Floats, float]:
        """Return a Newton step, and its length relative to γ."""
        about = model.lacks
        # Errors of a step shrink with its square, but for least squares it is the last.
        best = 0.0 if self.family.least_squares else FORCING * about
        tol = min(max(best, FORCING * STEP_TOLERANCE / about), FORCING) if about > 0.0 else FORCING
        step, count = model.newton_step(tol=tol, most=MAX_PRODUCTS)
        self.space.engine.passes += count
        return step, relative_length(step, model.gamma)

    def _model_of(self, fit: Fit) -> SparseModel:
        """Return a model in features as one of all columns."""
        basis, rows = fit.basis, self.space.engine.rows
        center, intercepts, raw = fit.place
        eta = self.space.engine.scores(raw) + (intercepts - raw @ center)
        if rows.offset is not None:
            eta += rows.offset[:, None]
        gamma = self.space.directions @ raw[:, len(basis.center_sensitive) :].T
        columns = self.space.columns
        terms = self.family.deviance_terms(rows.response, eta, columns.weights, 2)
        assert terms.gradient is not None
        assert terms.curvature is not None
        return SparseModel(
            columns,
            gamma,
            terms.gradient,
            terms.curvature,
            self.settings.predictor_penalty,
            self._curvature_of_penalty(fit.lambda_),
        )

    def _curvature_of_penalty(self, lambda_: float) -> Floats:
        """Return second derivatives of the penalty in intercept and α, along the span of [1, S]."""
        # For the intercept alone, if α does not move, or if absolute values may hold it at zero.
        if np.isinf(lambda_) or self.settings.penalty.l1 > 0.0:
            return np.zeros((1, 1))
        S = self.basis.sensitive
        A = S.vectors / np.sqrt(S.eigenvalues)
        curvature = np.zeros((1 + S.rank, 1 + S.rank))
        curvature[1:, 1:] = 2.0 * lambda_ * A.T @ self.settings.penalty.quadratic(S) @ A
        return curvature
