"""How one score of a model is computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Design
from fairridge.data.columns import CategoricalColumn
from fairridge.data.profiles import ColumnProfile
from fairridge.reports.html import ScoreTerm, Scoring
from fairridge.validation import evaluate

__all__ = ["scoring_of"]


def scoring_of(model: Any) -> Scoring | None:
    """Score a typical row; None if columns are mapped to features, or not known well enough.

    The row is not anybody's: it has medians, and the commonest level of every column.
    """
    design: Design = model._reads
    profiles = {one.name: one for one in model._profiles}
    columns = design.columns
    if design.is_mapped or any(column.name not in profiles for column in columns):
        return None
    values = _encoded(design, profiles)
    coefficients = np.atleast_2d(model.coef_)
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    eta = intercept + coefficients @ values[design.input_order]
    order = [design.encoded_names[k] for k in design.input_order]
    labels = () if len(coefficients) == 1 else tuple(map(str, model.classes_))
    return Scoring(
        labels or ("",),
        intercept,
        tuple(
            ScoreTerm(name, coefficients[:, k], float(values[design.input_order[k]]))
            for k, name in enumerate(order)
        ),
        tuple(
            (column.name, str(column.levels[column.base]))
            for column in columns
            if isinstance(column, CategoricalColumn)
        ),
        tuple((column.name, profiles[column.name].typical) for column in columns),
        eta,
        evaluate.outcomes(model.family_, eta[None, :])[0],
    )


def _encoded(design: Design, profiles: dict[str, ColumnProfile]) -> Floats:
    """Encode the typical row, in the order S, then X."""
    found: list[float] = []
    for column in design.columns:
        typical = profiles[column.name].typical
        if isinstance(column, CategoricalColumn):
            others = (level for k, level in enumerate(column.levels) if k != column.base)
            found += [float(str(level) == typical) for level in others]
        else:
            # Beside a number that may be missing stands a column that says so.
            found += [float(typical), *(0.0 for _ in column.encoded_names[1:])]
    return np.array(found)
