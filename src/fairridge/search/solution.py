"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fairridge.models import Fit

__all__ = ["Choice", "Solution", "Status"]

Status = Literal["inactive", "converged", "infeasible", "not-converged", "separated"]


@dataclass(frozen=True)
class Choice:
    """The penalty chosen for one bound.

    Attributes
    ----------
    lambda_ : float
        λ(r).
    status : str
        "inactive": the unconstrained model meets the bound. "converged": the
        bound is met with equality. "infeasible": no penalty meets it.
        "not-converged": the search stopped early. "separated": the bound is
        met as defined, and levels that decide the response void it.
    crossings : int
        How often the definition crosses the bound as λ grows; more than one
        means that it is not monotone.
    """

    lambda_: float
    status: Status
    crossings: int = 1


@dataclass(frozen=True)
class Solution:
    """The model that meets one bound.

    Attributes
    ----------
    unfairness : float
        The bound r.
    fit : Fit
        The model at λ(r).
    achieved : float
        The definition's value.
    components : dict of str to float
        What the value is made of.
    choice : Choice
        How λ(r) was found.
    separating : dict of str to float
        Columns that separate the responses, with their coefficients.
    """

    unfairness: float
    fit: Fit
    achieved: float
    components: dict[str, float]
    choice: Choice
    separating: dict[str, float] = field(default_factory=dict)
