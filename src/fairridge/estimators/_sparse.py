"""Models of many sparse columns: which of them can be solved without matrices of these."""

from __future__ import annotations

from typing import Any

from fairridge.engines import MemoryEngine, has_many_sparse
from fairridge.families import Family

# Columns, or rows, up to which a model that needs matrices of their number is fitted.
MOST_FORMED = 4_000


def iterates(engine: MemoryEngine, model: Any, family: Family) -> bool:
    """Whether a model of many sparse columns is solved by products with them alone.

    Raises if it is not, and they are too many for matrices of them.
    """
    reason = _needs_matrices(model, family)
    if reason and has_many_sparse(engine, MOST_FORMED):
        raise ValueError(
            f"{reason} of the columns of X with each other, and the sparse X has "
            f"{engine.rows.n_predictors:,} columns: more than {MOST_FORMED:,}."
        )
    return not reason


def _needs_matrices(model: Any, family: Family) -> str:
    """Say what needs them, and what to do instead; empty if nothing does."""
    definition = model._bounded
    if model.predictor_penalty == 0.0:
        return "set predictor_penalty > 0: without it a fit needs products"
    if model.blind or model.controls is not None:
        name = "blind=True" if model.blind else "controls"
        return f"leave {name} out, or use fewer columns: it needs products"
    if model.confidence is not None:
        return "leave confidence out, or use fewer columns: a certificate needs products"
    if definition.own_ridge and not (family.least_squares and not model._has_each):
        return f"use another definition, or fewer columns: {definition.name!r} needs products"
    if _is_open(family):
        return f"give the {family.name} family its dispersion: to estimate it needs products"
    return ""


def _is_open(family: Family) -> bool:
    """Whether a family has a parameter that is estimated first."""

    def ask(_: Family) -> Any:
        raise _OpenError

    try:
        family.completed(ask)
    except _OpenError:
        return True
    return False


class _OpenError(Exception):
    """A family asked for a model to estimate its parameter at."""
