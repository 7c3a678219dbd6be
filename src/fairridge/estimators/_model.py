"""What every model is made of: its parameters, what it says of itself, how it predicts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fairridge._arrays import to_device
from fairridge._notebook import facts_html
from fairridge._typing import Floats
from fairridge.arguments import check_option
from fairridge.data import MAX_LEVELS, Design, Table, as_table, numeric_vector
from fairridge.engines import linear_predictor
from fairridge.estimators._responses import ResponseKind
from fairridge.metrics import WORDS

# What to do about features that fit any response.
FEWER_FEATURES = "Use a map with fewer features."
PENALTY_OR_FEWER = "Set predictor_penalty, or use a map with fewer features."


@dataclass(frozen=True)
class Traits:
    """Facts about a model with given parameters, for code that handles all models alike.

    Attributes
    ----------
    definition : Definition or None
        What is bounded; None if that is not a function of linear predictors.
    largest_bound : float
        Largest bound that means something.
    needs_sensitive : bool
        Whether predictions need S.
    needs_groups : bool
        Whether S must divide the rows into groups.
    moments_suffice : bool
        Whether a gaussian model needs nothing of the rows but their moments.
    compresses : bool
        Whether data with more columns than rows are solved in fewer features.
    regularized : bool
        Whether collinear predictors have one answer.
    advice : str or None
        What to do about features that fit any response; None if a penalty
        keeps them from it.
    multiplier : str
        What `lambda_` is called in a summary.
    given_penalty : str or None
        The parameter that fixes the penalty, as ``name=value``; a bound then
        chooses nothing.
    """

    definition: Any = None
    largest_bound: float = 1.0
    needs_sensitive: bool = True
    needs_groups: bool = False
    moments_suffice: bool = False
    compresses: bool = False
    regularized: bool = False
    advice: str | None = FEWER_FEATURES
    multiplier: str = "λ(r)"
    given_penalty: str | None = None


def bound_text(unfairness: Any) -> str:
    """Write a bound, or the bounds of attributes."""
    return str(dict(unfairness)) if isinstance(unfairness, Mapping) else f"{float(unfairness):g}"


def attribute_facts(model: Any, digits: int) -> list[tuple[str, str]]:
    """Say what became of the bound of each attribute; parameters may have been set since."""
    bounds = model.unfairness if isinstance(model.unfairness, Mapping) else {}
    return [
        (
            f"{name} ≤ {bounds[name]:g}" if name in bounds else name,
            f"{value:.{digits}g}, {model.status_[name]}",
        )
        for name, value in model.unfairness_.items()
    ]


class FairModel(BaseEstimator):
    """A model of a response on sensitive attributes S and predictors X.

    Models are linear unless they override `_linear_predictor`.
    """

    unfairness: Any
    sensitive: Any
    unknown: Any
    sensitive_map: Any = None
    predictor_map: Any = None
    max_levels: Any = MAX_LEVELS
    controls: Any = None
    missing: Any = "error"
    # What a level may do at predict that was not there at fit.
    _unknown_rules: tuple[str, ...] = ("error", "base", "mean")
    # Whether rows may be in arrays on another device.
    _sums_on_devices = False
    # Whether X may be a sparse matrix.
    _takes_sparse = False
    coef_: Floats
    intercept_: Any
    family_: Any
    _design: Design

    def _repr_html_inner(self) -> str:
        """Show a fitted model in a notebook: fairness first, then scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        if not hasattr(self, "unfairness_"):
            return diagram
        shares = getattr(self, "dependence_", {})
        bounds = (
            [
                ("Bound", bound_text(self.unfairness)),
                ("Unfairness reached in training", f"{self.unfairness_:.4g}"),
                ("Status", str(self.status_)),
            ]
            if not isinstance(self.unfairness_, Mapping)
            else attribute_facts(self, 4)
        )
        facts = [
            *bounds,
            *((WORDS[name], f"{value:.4g}") for name, value in shares.items()),
            ("Rows", f"{self.n_rows_:,}"),
        ]
        return facts_html(facts, f"Fitted {type(self).__name__}") + diagram

    @property
    @abstractmethod
    def _traits(self) -> Traits:
        """What kind of model this is."""

    @property
    @abstractmethod
    def _response_kind(self) -> ResponseKind:
        """How the response is read."""

    @property
    def _reads(self) -> Design:
        """The columns that predictions read."""
        return self._design if self._traits.needs_sensitive else self._design.without_sensitive()

    @property
    def _raw_coefficients(self) -> Floats:
        """Coefficients of the encoded columns of S, then X, one row per linear predictor.

        Those of S are zero in models that do not use it to predict.
        """
        known = self._reads.to_encoded(np.atleast_2d(self.coef_))
        return np.pad(known, ((0, 0), (len(self._design.encoded_names) - known.shape[1], 0)))

    def _table(self, X: Any) -> Table:
        """Read new rows."""
        return as_table(X, devices=True, sparse=self._takes_sparse)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return η of shape (n,), or (n, K) for several classes."""
        check_is_fitted(self)
        check_option("unknown", self.unknown, self._unknown_rules)
        table, name, design = self._table(X), type(self).__name__, self._reads
        coefficients, attributes = design.to_encoded(np.atleast_2d(self.coef_)), None
        if self._traits.needs_sensitive:
            attributes = design.attributes(sensitive_features, estimator_name=name)
        sensitive, predictors = design.encode(table, attributes, self.unknown, estimator_name=name)
        level, pieces = np.atleast_1d(self.intercept_), (*sensitive, *predictors)
        if pieces:
            eta = linear_predictor(pieces, design.encoded_names, coefficients.T, level)
        else:
            eta = np.tile(level, (table.shape[0], 1))
            eta = to_device(eta, table.source) if table.on_device else eta
        if offset is not None:
            eta += to_device(numeric_vector(offset, table.shape[0], "offset")[:, None], eta)
        return eta[:, 0] if eta.shape[1] == 1 else eta
