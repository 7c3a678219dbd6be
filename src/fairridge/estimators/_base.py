"""What every fair model shares: reading data, predicting, reporting.

Methods orchestrate here; numbers happen in `search` and below.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fairridge._warnings import warn_user
from fairridge.data import Design, MappedEncoding, Table, as_table, numeric_vector
from fairridge.engines import linear_predictor
from fairridge.estimators._parameters import check_option
from fairridge.estimators._streaming import refuse_more_data, streamed_training
from fairridge.estimators._training import Inputs, Response, Training, read_inputs, training_of
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.export import TrainingColumns
from fairridge.reports import CoefficientRow, Summary
from fairridge.rows import RowMoments, RowSource
from fairridge.rows.responses import ResponseReader
from fairridge.search import Solution
from fairridge.solvers import FairBasis

__all__ = ["FairModel", "listed"]

Floats = NDArray[np.float64]


class FairModel(BaseEstimator):
    """A linear model on [S, X] whose coefficients a subclass knows how to find."""

    sensitive: Any
    unknown: Any
    sensitive_map: Any = None
    predictor_map: Any = None
    coef_: Floats
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _response(self, y: Any, inputs: Inputs) -> Response:
        """Read the response, and choose the family by it."""

    # Whether the labels of the response must be known before its rows are read.
    _reads_labels = False

    def _streamed_response(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        """Return the family, and how the response of rows that are not in memory is read."""
        raise ValueError(f"{type(self).__name__} needs its rows in memory: a frame or an array.")

    @abstractmethod
    def _facts(self) -> tuple[tuple[str, str], ...]:
        """Label and value of what the summary shows above the table."""

    # ---------------------------------------------------------------- reading

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
    ) -> Training:
        check_option("unknown", self.unknown, ("error", "base"))
        owner = type(self).__name__
        if isinstance(X, RowSource | RowMoments):
            refuse_more_data(
                y=y,
                sensitive_features=sensitive_features,
                sample_weight=sample_weight,
                offset=offset,
            )
            return streamed_training(self, X)
        inputs = read_inputs(X, sensitive_features, sample_weight, offset)
        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
        return training_of(
            inputs,
            self._response(y, inputs),
            sensitive=self.sensitive,
            unknown=self.unknown,
            owner=owner,
            sensitive_map=self.sensitive_map,
            predictor_map=self.predictor_map,
        )

    def _remember(self, training: Training) -> None:
        """Keep what describes the input columns."""
        design = training.design
        self.n_features_in_ = design.n_columns
        if design.names is not None:
            self.feature_names_in_ = np.array(design.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.sensitive_names_ = np.array(design.sensitive.names, dtype=object)
        self.predictor_names_ = np.array(design.predictors.names, dtype=object)
        self.encoded_names_ = np.array(design.encoded_names, dtype=object)
        self.sensitive_dropped_ = getattr(design.sensitive, "dropped", 0.0)
        self.n_rows_ = training.n_rows
        self.n_iter_ = training.engine.passes
        self._design = design
        self._backend = training.backend

    def _remember_solution(self, basis: FairBasis, solution: Solution) -> None:
        """Keep coefficients in the fair basis and in the raw columns, and how fair they are."""
        fit = solution.fit
        self.alpha_, self.beta_, self.intercept_ = fit.alpha, fit.beta, fit.intercept
        self.raw_coef_ = basis.raw_coefficients(fit.alpha, fit.beta)
        level = fit.intercept + fit.alpha @ basis.center_sensitive
        self.raw_intercept_ = level - self.raw_coef_ @ basis.center
        self.lambda_ = fit.lambda_
        self.unfairness_ = solution.achieved
        self.components_ = solution.components
        self.status_ = solution.choice.status
        self.bound_active_ = self.status_ != "inactive" and fit.lambda_ > 0.0
        self.converged_ = self.status_ in ("inactive", "converged")
        self.deviance_ = fit.deviance
        self.explained_by_sensitive_ = basis.explained
        self._training = TrainingColumns.of(basis, fit)
        self._set_input_coefficients()

    def _set_input_coefficients(self) -> None:
        """Offer `coef_` where every input column is a number and X holds S too."""
        design = self._design
        if hasattr(self, "coef_"):
            del self.coef_
        if design.separate or not (design.sensitive.all_numeric and design.predictors.all_numeric):
            return
        order = np.argsort(design.positions_sensitive + design.positions_predictors)
        self.coef_ = self.raw_coef_[..., order]

    # ------------------------------------------------------------- predicting

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return η of shape (n,), or (n, K) for several classes."""
        check_is_fitted(self)
        check_option("unknown", self.unknown, ("error", "base"))
        table = as_table(X)
        attributes = self._attributes(sensitive_features)
        pieces = self._design.encode(table, attributes, self.unknown, owner=type(self).__name__)
        eta = linear_predictor(
            (*pieces[0], *pieces[1]),
            self._design.encoded_names,
            np.atleast_2d(self.raw_coef_).T,
            np.atleast_1d(self.raw_intercept_),
        )
        if offset is not None:
            eta += numeric_vector(offset, table.shape[0], "offset")[:, None]
        return eta[:, 0] if self.raw_coef_.ndim == 1 else eta

    def _attributes(self, sensitive_features: Any) -> Table | None:
        return self._design.attributes(sensitive_features, owner=type(self).__name__)

    def _scored(
        self, X: Any, sensitive_features: Any, sample_weight: Any, offset: Any
    ) -> tuple[Inputs, Floats]:
        """Return the rows of positive weight, and their linear predictors."""
        check_is_fitted(self)
        if isinstance(X, RowSource | RowMoments):
            raise TypeError(
                "score needs rows in memory: pass a frame and its response, or write predictions "
                "of these rows and compare them."
            )
        inputs = read_inputs(X, self._attributes(sensitive_features), sample_weight, offset)
        return inputs, self._linear_predictor(inputs.table, inputs.attributes, inputs.offset)

    # -------------------------------------------------------------- reporting

    def _warn_of_data(self, basis: FairBasis, design: Design, *, penalized: bool) -> None:
        """Say once which columns carry nothing of their own."""
        parts = []
        S, X = design.sensitive, design.predictors
        empty = [*S.single, *(S.names[k] for k in basis.sensitive.dependent if k not in S.empty)]
        # Features of one map, such as splines, are collinear by their nature.
        if empty and not isinstance(S, MappedEncoding):
            parts.append(
                f"sensitive column(s) {listed(empty)} are constant or linear combinations of "
                "the others"
            )
        # With a penalty collinear predictors have one answer, and nobody need look for them.
        dependent = () if penalized or isinstance(X, MappedEncoding) else basis.predictors.dependent
        empty = [X.names[k] for k in dependent if k not in X.empty]
        if empty:
            parts.append(
                f"predictor column(s) {listed(empty)} are constant or linear combinations of "
                "the sensitive attributes and the other predictors"
            )
        if not np.diag(basis.target_scatter).any():
            parts.append("the response is constant")
        if parts:
            message = "; ".join(parts) + ". The minimum-norm coefficients are used."
            warn_user(message, DataWarning)

    def _warn_of_bound(self, solution: Solution) -> None:
        choice, r = solution.choice, solution.unfairness
        if choice.status == "not-converged":
            message = (
                f"the fit for unfairness={r:g} did not converge (achieved "
                f"{solution.achieved:.10g}); raise max_iter, or add a small predictor_penalty."
            )
            warn_user(message, ConvergenceWarning)
            return
        if choice.status == "infeasible":
            message = (
                f"no penalty meets unfairness={r:g}: the definition stays at "
                f"{solution.achieved:.4g} even without the sensitive attributes (alpha = 0)."
            )
        elif choice.crossings > 1:
            message = (
                f"the definition crosses unfairness={r:g} {choice.crossings} times as the "
                "penalty grows; the smallest penalty from which on the bound holds is used."
            )
        else:
            return
        warn_user(message, BoundWarning)

    def summary(self) -> Summary:
        """Return coefficients, fit and fairness as an object that prints itself."""
        check_is_fitted(self)
        labels = getattr(self, "classes_", None) if self.raw_coef_.ndim == 2 else None
        rows = [
            row
            for k in range(1 if labels is None else len(labels))
            for row in self._coefficient_rows(k, "" if labels is None else f" → {labels[k]}")
        ]
        notes = (
            "coef: on S and on the predictors decorrelated from S. raw coef: on the columns as "
            "given.",
            "S explains: share of a predictor's variance that the sensitive attributes explain.",
        )
        return Summary(type(self).__name__, self._facts(), tuple(rows), notes, self._backend)

    def _coefficient_rows(self, k: int, suffix: str) -> list[CoefficientRow]:
        alpha, beta = np.atleast_2d(self.alpha_)[k], np.atleast_2d(self.beta_)[k]
        raw = np.atleast_2d(self.raw_coef_)[k]
        nan = float("nan")
        level, raw_level = (
            float(np.atleast_1d(value)[k]) for value in (self.intercept_, self.raw_intercept_)
        )
        rows = [CoefficientRow(f"(intercept){suffix}", "", level, raw_level, nan)]
        roles = ["sensitive"] * len(alpha) + ["predictor"] * len(beta)
        explained = [nan] * len(alpha) + list(self.explained_by_sensitive_)
        values = zip(self.encoded_names_, roles, [*alpha, *beta], raw, explained, strict=True)
        return rows + [
            CoefficientRow(f"{name}{suffix}", role, float(value), float(raw_value), float(share))
            for name, role, value, raw_value, share in values
        ]


def listed(names: list[str], most: int = 5) -> str:
    """Write the first names of a list, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
