"""What models of groups share: discrete sensitive attributes, and predictions without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairridge._warnings import warn_user
from fairridge.data import Encoding, Piece, Rows, Table, as_table, numeric_vector
from fairridge.data.groups import Groups, attribute_values, learn_groups, require_discrete
from fairridge.engines import Engine, MemoryEngine, linear_predictor
from fairridge.estimators._base import FairModel
from fairridge.estimators._parameters import check_option
from fairridge.estimators._training import Training
from fairridge.exceptions import DataWarning
from fairridge.search import Solution
from fairridge.solvers import FairBasis

__all__ = ["Blind", "Grouped", "rows_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def rows_of(engine: Engine, owner: str) -> Rows:
    """Return the rows themselves, which models of groups cannot do without."""
    if not isinstance(engine, MemoryEngine):
        raise TypeError(f"{owner} needs the rows in memory.")
    return engine.rows


class Grouped(FairModel):
    """A model whose sensitive attributes divide the rows into groups."""

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
    ) -> Training:
        if self.sensitive_map is not None:
            raise ValueError(
                f"{type(self).__name__} divides people into groups, and sensitive_map makes "
                "numbers of them: leave it out, and merge or cut the attributes beforehand."
            )
        return super()._read(X, y, sensitive_features, sample_weight, offset)

    def _values_on(self, engine: Engine) -> Floats:
        """Return the values of the attributes, one column each; there must be few."""
        rows = rows_of(engine, type(self).__name__)
        values = attribute_values(rows.sensitive)
        require_discrete(values, rows.sensitive, rows.names)
        return values

    def _grouped(self, training: Training) -> tuple[Groups, Integers]:
        """Return the groups of training rows, and which row is in which."""
        values, encoding = self._values_on(training.engine), training.design.sensitive
        assert isinstance(encoding, Encoding)
        groups = learn_groups(values, encoding)
        if len(groups.labels) == 1:
            warn_user(
                f"all rows are in one group ({groups.labels[0]}): there is nothing to make fair.",
                DataWarning,
            )
        return groups, groups.codes(values)


class Blind(FairModel):
    """A model that predicts from X alone.

    At predict and score S may be left out, as `sensitive_features` or as
    columns of a frame; where it is there it is not looked at.
    """

    def _require_predictors(self, training: Training) -> None:
        if not training.design.positions_predictors:
            raise ValueError(
                f"{type(self).__name__} predicts from X without S, but X has "
                f"{training.design.n_columns} feature(s) and all of them are sensitive."
            )

    def _remember_solution(self, basis: FairBasis, solution: Solution) -> None:
        super()._remember_solution(basis, solution)
        level = self.raw_intercept_ + self.raw_coef_ @ basis.center
        self.raw_coef_[..., : len(basis.center_sensitive)] = 0.0  # they are, but for rounding
        self.raw_intercept_ = level - self.raw_coef_ @ basis.center
        self._set_input_coefficients()

    def _attributes(self, sensitive_features: Any) -> Table | None:
        return None

    def _predictor_pieces(self, table: Table) -> tuple[Piece, ...]:
        """Encode the predictors of new rows."""
        check_is_fitted(self)
        check_option("unknown", self.unknown, ("error", "base"))
        design = replace(
            self._design, sensitive=Encoding(()), positions_sensitive=(), separate=False
        )
        if design.names is not None and table.names is not None:
            predictors = [design.names[k] for k in design.positions_predictors]
            kept = tuple(n for n in design.names if n in predictors or n in table.names)
            design = replace(
                design,
                names=kept,
                n_columns=len(kept),
                positions_predictors=tuple(kept.index(name) for name in predictors),
            )
        return design.encode(table, None, self.unknown, owner=type(self).__name__)[1]

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        check_is_fitted(self)
        table = as_table(X)
        raw = np.atleast_2d(self.raw_coef_)[:, len(self.sensitive_names_) :]
        eta = linear_predictor(
            self._predictor_pieces(table),
            self._design.predictors.names,
            raw.T,
            np.atleast_1d(self.raw_intercept_),
        )
        if offset is not None:
            eta += numeric_vector(offset, table.shape[0], "offset")[:, None]
        return eta[:, 0] if self.raw_coef_.ndim == 1 else eta
