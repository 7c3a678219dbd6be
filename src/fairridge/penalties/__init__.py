"""Penalties on the coefficients of the sensitive attributes, one per file."""

from __future__ import annotations

from typing import Any

from fairridge.penalties.base import Penalty, SecularPenalty
from fairridge.penalties.elastic_net import ElasticNet, Lasso
from fairridge.penalties.radial import Radial
from fairridge.penalties.ridge import Ridge

__all__ = [
    "ElasticNet",
    "Lasso",
    "Penalty",
    "Radial",
    "Ridge",
    "SecularPenalty",
    "resolve_penalty",
]

_NAMED: dict[str, type[Penalty]] = {
    "ridge": Ridge,
    "radial": Radial,
    "lasso": Lasso,
    "elastic-net": ElasticNet,
}


def resolve_penalty(penalty: Any) -> Penalty:
    """Return the penalty meant by a short name or an object."""
    if isinstance(penalty, str) and penalty in _NAMED:
        return _NAMED[penalty]()
    if hasattr(penalty, "coefficients") and not isinstance(penalty, type):
        return penalty
    raise ValueError(
        f"penalty={penalty!r} is not known; use one of {', '.join(map(repr, _NAMED))} "
        "or an object from fairridge.penalties."
    )
