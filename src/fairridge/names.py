"""The families, penalties and definitions that parameters name, as strings or as objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairridge import families
from fairridge.fairness import (
    CallableDefinition,
    Combined,
    Definition,
    EqualityOfOpportunity,
    IndividualFairness,
    MeanOdds,
    MeanOpportunity,
    MeanParity,
    StatisticalParity,
)
from fairridge.fairness.base import OtherDefinition
from fairridge.families import Family
from fairridge.families.base import SinglePredictor
from fairridge.penalties import ElasticNet, Lasso, Penalty, Radial, Ridge

_DEFINITIONS = {
    "statistical-parity": StatisticalParity,
    "equality-of-opportunity": EqualityOfOpportunity,
    "individual": IndividualFairness,
    "mean-parity": MeanParity,
    "mean-opportunity": MeanOpportunity,
    "mean-odds": MeanOdds,
}


def resolve_definition(definition: Any) -> Definition:
    """Return the definition meant by a short name, an object or a function."""
    if isinstance(definition, str):
        if definition not in _DEFINITIONS:
            raise ValueError(
                f"definition={definition!r} is not known; use one of "
                f"{', '.join(map(repr, _DEFINITIONS))}, an object from fairridge.fairness or "
                "a callable."
            )
        return _DEFINITIONS[definition]()
    if isinstance(definition, Combined):
        return replace(
            definition, definitions=[resolve_definition(d) for d in definition.definitions]
        )
    if isinstance(definition, Definition):
        return definition
    if hasattr(definition, "value") and not isinstance(definition, type):
        return OtherDefinition(definition)
    if callable(definition) and not isinstance(definition, type):
        return CallableDefinition(definition)
    raise TypeError(
        f"definition={definition!r}: use a short name, an object from fairridge.fairness "
        "or a function of the fit."
    )


_PENALTIES: dict[str, type[Penalty]] = {
    "ridge": Ridge,
    "radial": Radial,
    "lasso": Lasso,
    "elastic-net": ElasticNet,
}


def resolve_penalty(penalty: Any) -> Penalty:
    """Return the penalty meant by a short name or an object."""
    if isinstance(penalty, str) and penalty in _PENALTIES:
        return _PENALTIES[penalty]()
    if hasattr(penalty, "coefficients") and not isinstance(penalty, type):
        return penalty
    raise ValueError(
        f"penalty={penalty!r} is not known; use one of {', '.join(map(repr, _PENALTIES))} "
        "or an object from fairridge.penalties."
    )


# The public families that read numbers, by their short names.
REGRESSION_FAMILIES: dict[str, type[Any]] = {
    family.name: family
    for family in map(vars(families).get, families.__all__)
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
