"""Gaussian models on rows that are not in memory, in folds: from moments alone.

Moments of all folds come from one pass, and those of a training set are the sum of the other
folds'. Everything on the validation rows is a quadratic form in the fold's own moments. If digits
would be lost, a second pass leaves triangular roots of all folds, which carry them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fairridge._typing import Floats
from fairridge.arguments import check_count
from fairridge.data import Design
from fairridge.engines import Engine, Moments, PrecomputedMoments
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._training import refuse_more_data, unread_response
from fairridge.fairness import Definition
from fairridge.fairness.scatter_shares import explained_by_sensitive
from fairridge.search import Solution
from fairridge.solvers.spectrum import CONDITION_LIMIT
from fairridge.sources import RowMoments, RowSource
from fairridge.sources.encoder import BatchEncoder
from fairridge.sources.folds import StreamedFolds
from fairridge.sources.responses import Numbers
from fairridge.validation import evaluate
from fairridge.validation.one_fold import RowsNeededError, Scores, fold_scores, no_rows, share_of
from fairridge.validation.scored_model import PassedRows, scored_model

# A quadratic form this much smaller than its terms has lost digits to cancellation.
CANCELLATION_RATIO = 1e4


def require_independent(part: Moments, q: int) -> None:
    """Raise if S is collinear in the fold."""
    varies = np.flatnonzero(np.diag(part.scatter)[:q] > 0.0)
    S = part.scatter[np.ix_(varies, varies)]
    S = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    if S.size and np.linalg.eigvalsh(S)[0] * CONDITION_LIMIT < 1.0:
        raise RowsNeededError


def _moment_scores(
    model: LinearModel, training: Engine, bounds: Floats, part: Moments, root: Floats | None = None
) -> list[Scores]:
    """Fit to training rows, and measure on other rows, of which only moments are known."""
    # The scatter of the latter is RᵀR with the `root` R, if it is given, which carries more digits.
    problem: Any = model._problem_on(training, unread_response(model))
    definition: Definition = model._traits.definition
    solutions = model._solve(problem, bounds)
    return [_of_solution(definition, problem, solution, part, root) for solution in solutions]


def _of_solution(
    definition: Definition, problem: Any, solution: Solution, part: Moments, root: Floats | None
) -> Scores:
    fit, basis, k = solution.fit, problem.basis, len(part.mean) - 1
    raw, intercept = basis.raw_coefficients(fit.alpha, fit.beta), fit.mean_intercept
    bias = float(part.mean[k] - intercept - (part.mean[:k] - basis.center) @ raw)
    squares = _form(np.append(-raw, 1.0), part.scatter, root) + part.weight * bias**2
    span = np.eye(len(fit.alpha)) if root is None else _orthonormal(root[:, : len(fit.alpha)])
    q = span.shape[1]
    columns = np.zeros((k + 1, q + 2))  # [S, η, y] as combinations of [S, X, y]
    columns[: len(span), :q] = span
    columns[:k, q] = raw
    columns[k, q + 1] = 1.0
    rotated = None if root is None else root @ columns
    joint = columns.T @ part.scatter @ columns if rotated is None else rotated.T @ rotated

    def variance(raw: Floats) -> float:
        return _form(np.append(raw, 0.0), part.scatter, root)

    joint[q, q] = variance(raw)
    rows = PrecomputedMoments(part, problem.engine.names, problem.engine.n_sensitive, no_rows)
    rmse = float(np.sqrt(squares / part.weight))
    r_squared = evaluate.r_squared(squares, float(part.scatter[k, k]), part.n_rows)
    share = explained_by_sensitive(joint, q, 1, part.n_rows)
    of_sensitive = variance(basis.raw_coefficients(fit.alpha, np.zeros_like(fit.beta)))
    of_others = variance(basis.raw_coefficients(np.zeros_like(fit.alpha), fit.beta))
    measured = {
        "achieved": definition.held_out(fit, rows, joint, q, 1),
        "share_of_eta": share,
        "share_of_means": share,
        "variance_share": share_of(of_sensitive, of_others),
    }
    accuracy = {"loss": rmse, "rmse": rmse, "r_squared": r_squared}
    return fold_scores(problem, solution, part.n_rows, measured, accuracy)


def _form(vector: Floats, scatter: Floats, root: Floats | None = None) -> float:
    """Return vᵀMv = ‖Rv‖²; without the root R only if the terms of the first do not cancel."""
    if root is not None:
        return float(((root @ vector) ** 2).sum())
    value, absolute = float(vector @ scatter @ vector), np.abs(vector)
    if float(absolute @ np.abs(scatter) @ absolute) > CANCELLATION_RATIO * value:
        raise RowsNeededError
    return value


def _orthonormal(root: Floats) -> Floats:
    """Return combinations of the columns of R that are orthonormal, as many as its rank."""
    scale = np.linalg.norm(root, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    _, values, rotation = np.linalg.svd(root / scale, full_matrices=False)
    used = values > root.shape[1] * 1e-12 * max(values.max(initial=0.0), 1.0)
    return rotation[used].T / values[used] / scale[:, None]


@dataclass(frozen=True)
class StreamedData:
    """Rows that are not in memory, divided into folds."""

    places: list[tuple[int, int]]  # numbers of the folds
    _design: Design
    _folds: StreamedFolds
    backend = None

    @classmethod
    def of(
        cls,
        rows: PassedRows,
        models: Mapping[str, Any],
        *,
        cv: Any,
        repeats: Any,
        random_state: Any,
        folds: Any,
    ) -> StreamedData:
        """Divide rows at random, for gaussian models that need no more than moments."""
        # Rows elsewhere have no positions, so `folds` must be None, and all that `rows` have beside
        # them comes as columns.
        source, others = rows.X, vars(rows).copy()
        del others["X"]
        refuse_more_data(**others)
        if isinstance(source, RowMoments):
            raise ValueError("moments cannot be divided into folds; pass the rows themselves.")
        if folds is not None:
            raise ValueError("folds are positions of rows in memory; for other rows use cv=k.")
        repeats = check_count("repeats", repeats)
        if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
            raise ValueError(
                f"cv={cv!r}: rows that are not in memory are divided at random, cv=k with k of at "
                "least 2."
            )
        for name, model in models.items():
            _require_moments(name, model, source)
        design = source.count_levels().design
        encode = BatchEncoder(source.roles, design, Numbers(less_offset=True))
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=repeats)
        divided = StreamedFolds(source, encode, seeds.tolist(), int(cv))
        return cls(list(np.ndindex(repeats, int(cv))), design, divided)

    def scores(
        self, name: str, model: LinearModel, bounds: Floats, n_jobs: int | None
    ) -> tuple[Iterator[list[Scores]], str]:
        """Return the scores of a model in every fold, one dict per bound, and what the loss is."""
        return (self._of_fold(model, place, bounds) for place in self.places), "RMSE"

    def _of_fold(self, model: LinearModel, at: tuple[int, int], bounds: Floats) -> list[Scores]:
        """Fit to all folds but one, and measure on that one."""
        part, rest = self._folds.moments[at[0]][at[1]], self._folds.rest(*at)
        names, q = self._design.encoded_names, len(self._design.sensitive.names)
        try:
            require_independent(part, q)
            known = PrecomputedMoments(rest, names, q, no_rows)
            return _moment_scores(model, known, bounds, part)
        except RowsNeededError:
            known = PrecomputedMoments(rest, names, q, no_rows, self._folds.rest_root(*at))
            root = self._folds.root(*at)
            return _moment_scores(model, known, bounds, part, root)


def _require_moments(name: str, model: Any, source: RowSource) -> None:
    judged = scored_model(model)
    if judged.kind != "linear" or not judged.bare:
        raise TypeError(f"model {name!r} is a {type(model).__name__}, which needs rows in memory.")
    if not unread_response(model, source.roles).family.least_squares:
        raise ValueError(
            f"model {name!r}: only gaussian models are cross-validated on rows that are not in "
            "memory."
        )
    if getattr(model, "confidence", None) is not None:
        raise ValueError(
            f"model {name!r}: confidence looks at every row, and models on rows that are not in "
            "memory are cross-validated by their moments; leave confidence out."
        )
    if not model._traits.moments_suffice:
        raise ValueError(
            f"model {name!r}: definition={model._traits.definition.name!r} looks at every row, "
            "and models on rows that are not in memory are cross-validated by their moments."
        )
