"""Models of many rows start from a sample of them.

What is found on a sample is a start and nothing else. A sample that misleads costs
passes over the rows, never the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.models.spaces import Space
from fairridge.search.penalized_glm import PenalizedGLM, Start, Values
from fairridge.search.problem import ModelSettings
from fairridge.solvers import Point
from fairridge.solvers.spectrum import is_definite

# Rows of a sample for each column at least, and events among them; a share of all rows in any
# case, until there are so many for each column that more of them tell little; and a share that
# costs little, with which a sample of many rows is large enough to spare a Hessian of all.
ROWS_EACH, EVENTS_EACH, ROWS_SHARE, ENOUGH_ROWS_EACH = 50.0, 10.0, 0.05, 1e3
SMALL_SHARE = 0.005


class LargeGLM(PenalizedGLM):
    """A model that starts from a sample of its rows, and takes Hessians from there."""

    def __init__(self, space: Space, family: Family, settings: ModelSettings) -> None:
        super().__init__(space, family, settings)
        self._seen: _SeenHessian | None = None

    @cached_property
    def sample(self) -> PenalizedGLM | None:  # type: ignore[override]
        """The same model on a sample of the rows, in the same coordinates; None for small data."""
        few = self.engine.sample(self._rows_for_a_start)
        if few is None:
            return None
        sample = SampledGLM(self, few)
        self._seen = _SeenHessian(self.start.theta, self.start.hessian, sample)
        return sample

    def in_samples(self, search: Callable[[PenalizedGLM], Start | None]) -> Start | None:
        """Search in the sample; if that leads nowhere, never again."""
        if self.sample is None:
            return None
        found = None
        with suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
            found = search(self.sample)  # it may lead anywhere
        if found is None:
            self.sample, self._seen = None, None
        return found

    @property
    def _rows_for_a_start(self) -> int:
        """Rows of which a model is near that of all: enough of them, and of their events."""
        events, targets = 1.0, self.basis.center_targets
        if self.family.reads == "classes":
            events = float(min(targets.min(), 1.0 - targets.max()))
        elif self.family.link == "log" and self.family.reads == "numbers":
            events = float(targets.min())
        columns, n_rows = 1 + len(self.engine.names), self.engine.n_rows
        each = max(ROWS_EACH, EVENTS_EACH / max(events, 1.0 / n_rows))
        enough = max(ENOUGH_ROWS_EACH * columns, SMALL_SHARE * n_rows)
        return int(max(each * columns, min(ROWS_SHARE * n_rows, enough)))

    def saw(self, theta: Floats, hessian: Floats | None) -> None:
        """Remember the Hessian of all rows at a point, if it was computed."""
        if hessian is not None and "sample" in self.__dict__ and self.sample is not None:
            self._seen = _SeenHessian(theta, hessian, self.sample)

    def nearby_hessian(self, theta: Floats) -> Floats | None:
        """Return about the Hessian of all rows at θ, from a sample; None if it is not definite."""
        # That is the Hessian at the last θ₀ where all rows were read for it, and what the sample
        # says of the difference: H(θ₀) + Hs(θ) − Hs(θ₀). The sample errs by a part of the
        # difference only, which vanishes as θ gets near.
        seen = self._seen
        if seen is None:
            return None
        _, _, there = seen.sample.evaluated(theta, 2)[0]
        hessian = seen.hessian + there - seen.sampled
        return hessian if is_definite(hessian) else None


class SampledGLM(PenalizedGLM):
    """A model on a sample of the rows, with which a search on all of them starts."""

    # Its coordinates are those of all rows, and its weights sum up to theirs: so do deviances and
    # their derivatives, but for chance. At the null model they are known of all rows, so that the
    # sample need not tell them: what it tells is how the deviance goes on from there,
    #
    #     D(θ₀) + gᵀ(θ − θ₀) + ½(θ − θ₀)ᵀH(θ − θ₀) + what Dₛ(θ) has beyond its own such terms.
    #
    # A level that is absent from the sample is then as in one Newton step of all rows. A ridge that
    # a few rows outweigh keeps it from going further.

    def __init__(self, whole: PenalizedGLM, engine: Engine) -> None:
        space, ridge = replace(whole.space, engine=engine), whole.unit / engine.n_rows
        super().__init__(space, whole.family, whole.settings, ridge)
        self._whole = whole

    @property
    def start(self) -> Point:
        """The null model of all rows."""
        return self._whole.start

    def evaluated(self, theta: Floats, order: int, others: Sequence[Floats] = ()) -> list[Values]:
        """Return deviances and derivatives, with what all rows have beyond the sample at θ₀."""
        found = super().evaluated(theta, order, others)
        level, slope, bend = self._beyond
        corrected: list[Values] = []
        for at, (deviance, gradient, hessian) in zip((theta, *others), found, strict=True):
            move = at - self.start.theta
            along = bend @ move
            more = level + float((slope + 0.5 * along) @ move)
            hessian = None if hessian is None else hessian + bend
            corrected.append((deviance + more, gradient + slope + along, hessian))
        return corrected

    @cached_property
    def _beyond(self) -> tuple[float, Floats, Floats]:
        """What deviance, gradient and Hessian of all rows have beyond the sample's at θ₀."""
        start = self.start
        ((deviance, gradient, hessian),) = super().evaluated(start.theta, 2)
        return start.deviance - deviance, start.gradient - gradient, start.hessian - hessian


@dataclass
class _SeenHessian:
    """A Hessian of all rows."""

    theta: Floats  # where
    hessian: Floats
    sample: PenalizedGLM

    @cached_property
    def sampled(self) -> Floats:
        """The Hessian of the sample there."""
        return np.asarray(self.sample.evaluated(self.theta, 2)[0][2])
