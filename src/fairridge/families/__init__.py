"""Families of responses, one per file."""

from __future__ import annotations

from typing import Any

from fairridge.families.base import Family, SinglePredictor
from fairridge.families.binomial import Binomial, QuasiBinomial
from fairridge.families.cox import Cox
from fairridge.families.gaussian import Gaussian
from fairridge.families.loglinear import Gamma, Poisson, Tweedie
from fairridge.families.multinomial import Multinomial
from fairridge.families.negative_binomial import NegativeBinomial
from fairridge.families.quasi_poisson import QuasiPoisson
from fairridge.families.sums import RowSums

__all__ = [
    "Binomial",
    "Cox",
    "Family",
    "Gamma",
    "Gaussian",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "QuasiBinomial",
    "QuasiPoisson",
    "RowSums",
    "Tweedie",
    "resolve_regression_family",
]

# The public families that read numbers, by their short names.
REGRESSION_FAMILIES: dict[str, type[Any]] = {
    family.name: family
    for family in map(globals().get, __all__)
    if isinstance(family, type)
    and issubclass(family, SinglePredictor)
    and family.reads == "numbers"
}


def resolve_regression_family(family: Any) -> Family:
    """Return the family of a numeric response meant by a short name or an object."""
    if isinstance(family, str) and family in REGRESSION_FAMILIES:
        resolved: Family = REGRESSION_FAMILIES[family]()
        return resolved
    if isinstance(family, tuple(REGRESSION_FAMILIES.values())):
        return family  # type: ignore[return-value]
    hint = {
        "binomial": "; for classes use FairRidgeClassifier, for proportions 'quasi-binomial'",
        "multinomial": "; use FairRidgeClassifier",
        "cox": "; use FairRidgeSurvival",
    }.get(str(family), "")
    known = ", ".join(map(repr, REGRESSION_FAMILIES))
    raise ValueError(
        f"family={family!r} is not known here; use one of {known} or such an object from "
        f"fairridge.families{hint}."
    )
