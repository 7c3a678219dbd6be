"""The minima of a model that is set up from an engine, with what its family leaves open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.families.sums import RowFunction
from fairridge.models import basis_on
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import ModelSettings

Minima = TypeVar("Minima", bound=PenalizedGLM)


def glm_minima(
    engine: Engine,
    family: Family,
    settings: ModelSettings,
) -> PenalizedGLM:
    """Decompose S and X as for a gaussian model; the response waits for the passes."""
    basis = basis_on(engine, settings.standardize, settings.n_targets)
    return completed_minima(family, lambda one: PenalizedGLM(engine, basis, one, settings))


def completed_minima(family: Family, minima_of: Callable[[Family], Minima]) -> Minima:
    """Estimate what a family leaves open, such as a dispersion, at the model without a bound.

    Parameters
    ----------
    family : Family
        The family as it was asked for.
    minima_of : callable
        Sets the model up for a family.
    """
    warm_start: Floats | None = None

    def free(family: Family) -> Callable[[RowFunction], Floats]:
        nonlocal warm_start
        minima = minima_of(family)
        if warm_start is not None:
            minima.start_from(warm_start)
        raw, center = minima.coordinates.raw(minima.point(0.0).theta), minima.basis.center
        warm_start = np.column_stack([raw[:, 0] - raw[:, 1:] @ center, raw[:, 1:]])
        engine = minima.engine
        return lambda function: engine.sum_over_rows(function, center, raw[:, 0], raw[:, 1:])

    return minima_of(family.completed(free))
