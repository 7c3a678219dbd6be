"""What every fair model shares: reading data, predicting, reporting.

Methods orchestrate here; numbers happen in `search` and below.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fairridge.data import as_table, numeric_vector
from fairridge.engines import linear_predictor
from fairridge.estimators._parameters import check_option
from fairridge.estimators._training import Training, read_training
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.report import CoefficientRow, Summary
from fairridge.search import Solution
from fairridge.solvers import FairBasis

__all__ = ["FairModel"]

Floats = NDArray[np.float64]


class FairModel(BaseEstimator):
    """A linear model on [S, X] whose coefficients a subclass knows how to find."""

    sensitive: Any
    unknown: Any
    coef_: Floats
    feature_names_in_: NDArray[Any]

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
    ) -> Training:
        check_option("unknown", self.unknown, ("error", "base"))
        return read_training(
            X,
            y,
            sensitive=self.sensitive,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            offset=offset,
            absorb_offset=True,
            unknown=self.unknown,
            owner=type(self).__name__,
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
        self.n_rows_ = training.n_rows
        self.n_iter_ = training.engine.passes
        self._design = design
        self._backend = training.backend

    def _accept(self, training: Training, basis: FairBasis, solution: Solution) -> Self:
        """Take over a solution: coefficients in the fair basis and in the raw columns."""
        self._remember(training)
        fit = solution.fit
        self.alpha_, self.beta_, self.intercept_ = fit.alpha, fit.beta, fit.intercept
        self.raw_coef_ = basis.raw_coefficients(fit.alpha, fit.beta)
        centers = np.concatenate([basis.center_sensitive, basis.center_predictors])
        self.raw_intercept_ = float(
            fit.intercept + basis.center_sensitive @ fit.alpha - centers @ self.raw_coef_
        )
        self.lambda_ = fit.lambda_
        self.unfairness_ = solution.achieved
        self.components_ = solution.components
        self.status_ = solution.choice.status
        self.bound_active_ = self.status_ != "inactive"
        self.converged_ = self.status_ in ("inactive", "converged")
        self.deviance_ = fit.deviance
        self.explained_by_sensitive_ = basis.explained
        self._set_input_coefficients()
        return self

    def _set_input_coefficients(self) -> None:
        """Offer `coef_` where every input column is a number and X holds S too."""
        design = self._design
        if hasattr(self, "coef_"):
            del self.coef_
        if design.separate or not (design.sensitive.all_numeric and design.predictors.all_numeric):
            return
        self.coef_ = np.empty(design.n_columns)
        self.coef_[list(design.positions_sensitive + design.positions_predictors)] = self.raw_coef_

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        check_is_fitted(self)
        table = as_table(X)
        attributes = self._attributes(sensitive_features)
        pieces = self._design.encode(table, attributes, self.unknown, owner=type(self).__name__)
        eta = linear_predictor(
            (*pieces[0], *pieces[1]),
            self._design.encoded_names,
            self.raw_coef_[:, None],
            np.array([self.raw_intercept_]),
        )[:, 0]
        return eta if offset is None else eta + numeric_vector(offset, table.shape[0], "offset")

    def _attributes(self, sensitive_features: Any) -> Any:
        if sensitive_features is None:
            return None
        if not self._design.separate:
            raise ValueError(
                f"this {type(self).__name__} takes S from columns of X (sensitive=…): "
                "leave sensitive_features out."
            )
        return as_table(sensitive_features, argument="sensitive_features")

    def _warn_of_data(self, basis: FairBasis, names: tuple[str, ...], *, penalized: bool) -> None:
        """Say once which columns carry nothing of their own."""
        q = len(basis.center_sensitive)
        parts = []
        if basis.sensitive.dependent:
            listed = _listed([names[k] for k in basis.sensitive.dependent])
            parts.append(
                f"sensitive column(s) {listed} are constant or linear combinations of the others"
            )
        if basis.predictors.dependent and not penalized:
            listed = _listed([names[q + k] for k in basis.predictors.dependent])
            parts.append(
                f"predictor column(s) {listed} are constant or linear combinations of the "
                "sensitive attributes and the other predictors"
            )
        if basis.total_sum_of_squares == 0.0:
            parts.append("the response is constant")
        if parts:
            warnings.warn(
                "; ".join(parts) + ". The minimum-norm coefficients are used.",
                DataWarning,
                stacklevel=4,
            )

    def _warn_of_bound(self, solution: Solution) -> None:
        status, r = solution.choice.status, solution.unfairness
        if status == "infeasible":
            message = (
                f"no penalty meets unfairness={r:g}: the definition stays at "
                f"{solution.achieved:.4g} even without the sensitive attributes (alpha = 0)."
            )
        elif status == "not-converged":
            message = (
                f"the search for unfairness={r:g} stopped at {solution.achieved:.10g}; "
                "raise max_iter."
            )
        elif solution.choice.crossings > 1:
            message = (
                f"the definition crosses unfairness={r:g} {solution.choice.crossings} times as "
                "the penalty grows; the smallest penalty from which on the bound holds is used."
            )
        else:
            return
        warnings.warn(message, BoundWarning, stacklevel=4)

    def summary(self) -> Summary:
        """Return coefficients, fit and fairness as an object that prints itself."""
        check_is_fitted(self)
        q, nan = len(self.alpha_), float("nan")
        rows = [CoefficientRow("(intercept)", "", self.intercept_, self.raw_intercept_, nan)]
        rows += [
            CoefficientRow(name, "sensitive", coefficient, raw, nan)
            for name, coefficient, raw in zip(
                self.sensitive_names_, self.alpha_, self.raw_coef_[:q], strict=True
            )
        ]
        rows += [
            CoefficientRow(name, "predictor", coefficient, raw, share)
            for name, coefficient, raw, share in zip(
                self.predictor_names_,
                self.beta_,
                self.raw_coef_[q:],
                self.explained_by_sensitive_,
                strict=True,
            )
        ]
        notes = (
            "coef: on S and on the predictors decorrelated from S. raw coef: on the columns as "
            "given.",
            "S explains: share of a predictor's variance that the sensitive attributes explain.",
        )
        return Summary(type(self).__name__, self._facts(), tuple(rows), notes, self._backend)

    def _facts(self) -> tuple[tuple[str, str], ...]:
        raise NotImplementedError


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
