"""Families of responses, one per file."""

from __future__ import annotations

from typing import Any

from fairridge.families.base import Family, RowSums
from fairridge.families.binomial import Binomial, QuasiBinomial
from fairridge.families.cox import Cox
from fairridge.families.gaussian import Gaussian
from fairridge.families.loglinear import Gamma, Poisson, Tweedie
from fairridge.families.multinomial import Multinomial

__all__ = [
    "Binomial",
    "Cox",
    "Family",
    "Gamma",
    "Gaussian",
    "Multinomial",
    "Poisson",
    "QuasiBinomial",
    "RowSums",
    "Tweedie",
    "resolve_regression_family",
]

_REGRESSION: dict[str, type[Any]] = {
    "gaussian": Gaussian,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "quasi-binomial": QuasiBinomial,
}


def resolve_regression_family(family: Any) -> Family:
    """Return the family of a numeric response meant by a short name or an object."""
    if isinstance(family, str) and family in _REGRESSION:
        resolved: Family = _REGRESSION[family]()
        return resolved
    if isinstance(family, tuple(_REGRESSION.values())):
        return family  # type: ignore[return-value]
    hint = {
        "binomial": "; for classes use FairRidgeClassifier, for proportions 'quasi-binomial'",
        "multinomial": "; use FairRidgeClassifier",
        "cox": "; use FairRidgeSurvival",
    }.get(str(family), "")
    raise ValueError(
        f"family={family!r} is not known here; use one of {', '.join(map(repr, _REGRESSION))} "
        f"or such an object from fairridge.families{hint}."
    )
