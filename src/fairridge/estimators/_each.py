"""Bounds for attributes one by one: which are allowed, and for which models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairridge.arguments import is_number
from fairridge.data import Design, MappedEncoding
from fairridge.fairness import Definition
from fairridge.metrics.measure import Measure


def check_each(bounds: Mapping[Any, Any], definition: Definition) -> None:
    """Raise unless a mapping has bounds for attributes, and a definition is of attributes."""
    if not definition.per_attribute:
        raise ValueError(
            f"definition={definition.name!r} bounds what all of S explains: give one number as "
            "unfairness, or use definition='mean-parity', which takes a bound per attribute."
        )
    if not bounds:
        raise ValueError(
            "unfairness={} bounds no attribute; name some, or use unfairness=1.0 for no bound."
        )
    for name, r in bounds.items():
        if not is_number(r) or not 0.0 <= r <= 1.0:
            raise ValueError(
                f"unfairness of {name!r} is {r!r}, which is not a bound: use numbers from 0 (no "
                "linear dependence on the attribute) to 1 (unconstrained)."
            )


def require_one_bound(model: Any, use: str) -> None:
    """Raise if a model has a bound per attribute."""
    if isinstance(getattr(model, "unfairness", None), Mapping):
        raise ValueError(
            f"{use} needs one bound for all of S, and this model has one per attribute, "
            f"unfairness={dict(model.unfairness)!r}; give one number: unfairness=…."
        )


def columns_of_each(bounds: Mapping[Any, Any], design: Design) -> dict[str, tuple[int, ...]]:
    """Return the encoded columns of each attribute with a bound."""
    if isinstance(design.sensitive, MappedEncoding):
        raise ValueError(
            "sensitive_map mixes the attributes, and none can have a bound of its own. Leave it "
            "out, or give one number as unfairness."
        )
    places = design.sensitive.places
    for name in bounds:
        if name not in places:
            raise ValueError(
                f"unfairness names {name!r}, which is not a sensitive attribute; these are "
                f"{', '.join(map(repr, places))}."
            )
    return {name: places[name] for name in bounds}


def measures_with_bounds(
    measure: Measure, unfairness: Any, design: Design
) -> tuple[tuple[Measure, float], ...]:
    """Return what is bounded, with the bound: of all of S, or of each attribute that has one."""
    if not isinstance(unfairness, Mapping):
        return ((measure, float(unfairness)),)
    places = columns_of_each(unfairness, design)
    return tuple(
        (replace(measure, attributes=(name,), columns=places[name]), float(r))
        for name, r in unfairness.items()
    )
