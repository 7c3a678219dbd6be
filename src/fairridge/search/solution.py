"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from fairridge.models import Fit

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
class AttributeShare:
    """What one attribute alone explains of a model, under a bound of its own.

    Attributes
    ----------
    bound : float
        The bound r.
    lambda_ : float
        The penalty on what the attribute explains; 0 if its bound does not bind.
    achieved : float
        What it explains.
    status : str
        As in `Choice`.
    """

    bound: float
    lambda_: float
    achieved: float
    status: Status


@dataclass(frozen=True)
class Solution:
    """The model that meets one bound, or a bound for each of several attributes.

    Attributes
    ----------
    unfairness : float
        The bound r; 1, which bounds nothing, if attributes have bounds of their own.
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
    each : dict of str to AttributeShare
        Attributes with bounds of their own.
    certificate : Certificate or None
        What the bound promises for the population, if that was asked for; the
        bound is then that of the population.
    """

    unfairness: float
    fit: Fit
    achieved: float
    components: dict[str, float]
    choice: Choice
    separating: dict[str, float] = field(default_factory=dict)
    each: dict[str, AttributeShare] = field(default_factory=dict)
    certificate: Any = None
