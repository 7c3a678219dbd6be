"""A bound on means that the search from the null model has not reached.

Another start is the minimum under a given λ. If that fails, too, minima are followed from the
fair side as λ falls. They may jump over a bound: then no minimum has the share r, and the
bound is met with what is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairridge.search.driver import Found
from fairridge.search.mean_search import MeanSearch
from fairridge.search.penalized_glm import ROUGH_PASSES, ROUGH_TOLERANCE
from fairridge.solvers import Point

# λ, in typical ones, whose minimum is another start.
RESTART = 1.0
# The first λ of a way, the factor to the next, and the largest; the least is its inverse.
FIRST, FACTOR, LARGEST = 15.0, 5.0, 1e6
# How often the λ between a share that is too large and one that is not is halved, in logarithms.
BISECTIONS = 8


class Side(NamedTuple):
    """A minimum on the way."""

    lambda_: float
    point: Point

    @property
    def share(self) -> float:
        """What S explains of its means."""
        at = self.point.beside
        return float(at.explained @ at.explained) / at.variance if at.variance > 0.0 else 0.0


@dataclass(frozen=True)
class FairSide:
    """The search for one bound."""

    search: MeanSearch
    r: float

    def restarted(self) -> Found | None:
        """Return what another start than the null model leads to."""
        side = self._at(RESTART * self.search.typical, self.search.null)
        if side.point.separated:
            return Found(side.lambda_, side.point)
        return self.search.to_bound(self.r, side.point) if side.point.converged else None

    def found(self) -> Found | None:
        """Return the model at the bound, or the last one before minima jump over it.

        None if no λ meets the bound. A model that has lost its curvature is returned as it is.
        """
        largest = LARGEST * self.search.typical
        fair = free = self._at(FIRST * self.search.typical, self.search.null)
        while fair.share > self.r and fair.lambda_ < largest:
            free, fair = fair, self._at(FACTOR * fair.lambda_, fair.point)
        if fair.share > self.r:  # means that shrink to constants may have a share with a limit
            return None
        while free.share <= self.r and free.lambda_ > self.search.typical / LARGEST:
            fair, free = free, self._at(free.lambda_ / FACTOR, free.point)
        for side in (fair, free):
            if side.point.separated:
                return Found(side.lambda_, side.point)
        if free.share <= self.r:  # a minimum of its own, which no λ leads away from
            return Found(free.lambda_, self.search.at_penalty(free.lambda_, free.point))
        return self._between(fair, free)

    def _between(self, fair: Side, free: Side) -> Found:
        """Search between a model that meets the bound and one that does not."""
        for attempt in range(BISECTIONS):
            for side in (fair, free) if attempt == 0 else (fair,):
                found = self.search.to_bound(self.r, side.point)
                # The same branch of minima, and not one far away.
                if found is not None and fair.lambda_ >= found.lambda_ >= free.lambda_:
                    return found
            middle = self._at(float(np.sqrt(fair.lambda_ * free.lambda_)), fair.point)
            fair, free = (middle, free) if middle.share <= self.r else (fair, middle)
        return Found(fair.lambda_, self.search.at_penalty(fair.lambda_, fair.point))

    def _at(self, lambda_: float, start: Point) -> Side:
        point = self.search.at_penalty(lambda_, start, ROUGH_TOLERANCE, ROUGH_PASSES)
        # Shares of small means are no guess: a short pass measures those after the last step.
        return Side(lambda_, self.search.evaluated(point, point.theta, 1, None))
