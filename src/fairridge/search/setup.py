"""From names, rows and settings to the problem to solve: the only place that decides.

A model is a space (which columns) × a ridge (on α, or on what S explains of predictions)
× a solver (gaussian, generalized linear, means). Everything else reads attributes that
every problem has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge import families
from fairridge._typing import Floats
from fairridge.arguments import meant
from fairridge.engines import Engine, has_many_sparse, has_only_numbers, is_wide
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
from fairridge.families import Family
from fairridge.families.base import SinglePredictor
from fairridge.families.sums import RowFunction
from fairridge.models import Isolation, drop_separated
from fairridge.models.spaces import (
    Space,
    blind_space,
    compress,
    controlled_space,
    plain_space,
    sparse_features,
)
from fairridge.penalties import ElasticNet, Lasso, Penalty, Radial, Ridge
from fairridge.search.gaussian import (
    GaussianProblem,
    GaussianRidge,
    RidgeOnExplained,
    RidgeOnSensitive,
)
from fairridge.search.glm import GLMProblem
from fairridge.search.means import MeanParityProblem
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import ModelSettings, PenalizedProblem
from fairridge.search.sample import LargeGLM
from fairridge.search.sparse import SparseProblem

# Numbers in [S, X] below which a model is not worth a sample of the rows.
SMALL_DATA = 400_000
# Largest p for which a dense p × p matrix is formed.
MAX_DENSE_COLUMNS = 4_000


def set_up(
    engine: Engine, family: Family, definition: Definition, settings: ModelSettings
) -> PenalizedProblem:
    """Set a model up on some rows, in memory or elsewhere."""
    isolation: Isolation | None = None
    if settings.isolates and may_separate(engine, family, settings):
        isolation = drop_separated(engine, family)
    if isolation is not None:
        engine = isolation.kept
    settings = _with_own_ridge(family, definition, settings)
    iterates = has_many_sparse(engine) and _iterates(engine, family, definition, settings)
    if iterates:
        sparse: Any = engine  # in memory: only such rows have sparse columns
        features = sparse_features(sparse, standardize=settings.standardize)
        return SparseProblem(features, lambda space: _solver(space, family, definition, settings))
    space = _space(engine, settings)
    return _solver(space, family, definition, settings, isolation)


def may_separate(engine: Engine, family: Family, settings: ModelSettings) -> bool:
    """Whether to look for levels that decide the response."""
    # With a penalty every coefficient is finite, as the user chose it, and so are they with more
    # columns than rows, where levels are uninformative. Numbers have no levels.
    compresses = not settings.blind and not settings.controls
    wide = compresses and is_wide(engine)
    finite = family.least_squares or settings.predictor_penalty > 0.0 or wide
    return not (finite or has_only_numbers(engine))


def _with_own_ridge(family: Family, definition: Definition, settings: ModelSettings) -> Any:
    """Return the settings with the ridge of a definition, or of a blind model."""
    name = settings.penalty.name
    if settings.blind and name != "ridge":
        raise ValueError(f"blind=True works with penalty='ridge' only; got {name!r}.")
    if definition.penalizes_means and name != "ridge":
        raise ValueError(
            f"definition={definition.name!r} works with penalty='ridge' only; got {name!r}."
        )
    definition.require(family)
    closed = family.least_squares and not settings.each
    radial = settings.blind or (definition.penalizes_means and closed)
    return replace(settings, penalty=Radial()) if radial else settings


def _space(engine: Engine, settings: ModelSettings) -> Space:
    """Return the columns that a model is solved in."""
    options: dict[str, Any] = {
        "standardize": settings.standardize,
        "n_targets": settings.n_targets,
        "penalized": settings.predictor_penalty > 0.0,
    }
    if settings.controls:
        return controlled_space(engine, settings.controls, blind=settings.blind, **options)
    if settings.blind:
        return blind_space(engine, **options)
    if is_wide(engine):
        return compress(
            engine,
            standardize=settings.standardize,
            predictor_penalty=settings.predictor_penalty,
        )
    return plain_space(engine, **options)


def _solver(
    space: Any,
    family: Family,
    definition: Definition,
    settings: ModelSettings,
    isolation: Isolation | None = None,
) -> PenalizedProblem:
    """Return the problem in a space."""
    if family.least_squares and not settings.each:
        ridge: GaussianRidge = (
            RidgeOnExplained(space, settings.predictor_penalty)
            if settings.blind
            else RidgeOnSensitive.of(space, settings)
        )
        return GaussianProblem(space, definition, settings, ridge)
    glm = penalized_glm(space, family, settings)
    kind = MeanParityProblem if definition.penalizes_means else GLMProblem
    return kind(glm, definition, isolation)


def penalized_glm(space: Space, family: Family, settings: ModelSettings) -> PenalizedGLM:
    """Set a model up; what its family leaves open is estimated at the model without a bound."""
    engine = space.engine
    warm_start: Floats | None = None
    small = engine.n_rows * len(engine.names) < SMALL_DATA
    kind: type[PenalizedGLM] = PenalizedGLM if small else LargeGLM

    def free(family: Family) -> Callable[[RowFunction], Floats]:
        nonlocal warm_start
        glm = kind(space, family, settings)
        if warm_start is not None:
            glm.start_from(warm_start)
        raw, center = glm.coordinates.raw(glm.solved(0.0)[1].theta), glm.basis.center
        warm_start = np.column_stack([raw[:, 0] - raw[:, 1:] @ center, raw[:, 1:]])
        return lambda function: space.engine.sum_over_rows(function, center, raw[:, 0], raw[:, 1:])

    glm = kind(space, family.completed(free), settings)
    return glm.ridged if glm.is_undetermined else glm


# ------------------------------------------------------------------ sparse columns


def _iterates(
    engine: Engine, family: Family, definition: Definition, settings: ModelSettings
) -> bool:
    """Whether a model of many sparse columns is solved by products with them alone."""
    # Raises if it is not, and they are too many for matrices of them.
    reason = _needs_matrices(family, definition, settings)
    if reason and has_many_sparse(engine, MAX_DENSE_COLUMNS):
        raise ValueError(
            f"{reason} of the columns of X with each other, and the sparse X has "
            f"{len(engine.names) - engine.n_sensitive:,} columns: more than {MAX_DENSE_COLUMNS:,}."
        )
    return not reason


def _needs_matrices(family: Family, definition: Definition, settings: ModelSettings) -> str:
    """Return what needs matrices, and what to do instead; empty if nothing does."""
    if settings.predictor_penalty == 0.0:
        return "set predictor_penalty > 0: without it a fit needs products"
    if settings.blind or settings.controls:
        name = "blind=True" if settings.blind else "controls"
        return f"leave {name} out, or use fewer columns: it needs products"
    if settings.certified:
        return "leave confidence out, or use fewer columns: a certificate needs products"
    if definition.penalizes_means and not (family.least_squares and not settings.each):
        return f"use another definition, or fewer columns: {definition.name!r} needs products"
    if family.is_open:
        return f"give the {family.name} family its dispersion: to estimate it needs products"
    return ""


# ------------------------------------------------------------------ what names mean

_DEFINITIONS: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        *(StatisticalParity(), EqualityOfOpportunity(), IndividualFairness()),
        *(MeanParity(), MeanOpportunity(), MeanOdds()),
    )
}


# Names that other libraries use, what they are called here, and what that is.
_ELSEWHERE = {
    "demographic-parity": ("mean-parity", "demographic parity of predicted means"),
    "equalized-odds": ("mean-odds", "equalized odds of predicted means"),
    "equal-opportunity": ("mean-opportunity", "equal opportunity of predicted means"),
}


def _unknown_definition(name: str) -> str:
    """Ask for the definition that a wrong name may have meant."""
    known, meaning = _ELSEWHERE.get(name.casefold().replace("_", "-"), (None, ""))
    if known is None:
        hint = meant(name, _DEFINITIONS)
    else:
        hint = f"Did you mean {known!r}? It is {meaning}."
    return (
        f"definition={name!r} is not known. {hint} An object from fairridge.fairness or a "
        "callable can be passed, too."
    )


def resolve_definition(definition: Any) -> Definition:
    """Return the definition meant by a short name, an object or a function."""
    if isinstance(definition, str):
        if definition not in _DEFINITIONS:
            raise ValueError(_unknown_definition(definition))
        return _DEFINITIONS[definition]
    if isinstance(definition, Combined):
        return replace(
            definition, definitions=[resolve_definition(d) for d in definition.definitions]
        )
    if isinstance(definition, Definition):
        return definition
    known = hasattr(definition, "value") or callable(definition)
    if known and not isinstance(definition, type):
        return CallableDefinition(definition)
    raise TypeError(
        f"definition={definition!r}: use a short name, an object from fairridge.fairness "
        "or a function of the fit."
    )


_PENALTIES: dict[str, type[Any]] = {
    penalty.name: penalty for penalty in (Ridge, Radial, Lasso, ElasticNet)
}


def resolve_penalty(penalty: Any) -> Penalty:
    """Return the penalty meant by a short name or an object."""
    if isinstance(penalty, str) and penalty in _PENALTIES:
        return _PENALTIES[penalty]()
    if hasattr(penalty, "coefficients") and not isinstance(penalty, type):
        return penalty
    raise ValueError(
        f"penalty={penalty!r} is not known. {meant(penalty, _PENALTIES)} An object from "
        "fairridge.penalties can be passed, too."
    )


# The public families that read numbers, by their short names.
REGRESSION_FAMILIES: dict[str, type[Any]] = {
    family.name: family
    for family in map(vars(families).get, families.__all__)
    if isinstance(family, type)
    and issubclass(family, SinglePredictor)
    and family is not SinglePredictor
    and family.reads == "numbers"
}


def resolve_regression_family(family: Any) -> Family:
    """Return the family of a numeric response meant by a short name or an object."""
    if isinstance(family, str) and family in REGRESSION_FAMILIES:
        resolved: Family = REGRESSION_FAMILIES[family]()
        return resolved
    if isinstance(family, SinglePredictor) and family.reads == "numbers":
        return family
    hint = {
        "binomial": "For classes use FairRidgeClassifier, for proportions 'quasi-binomial'.",
        "multinomial": "Use FairRidgeClassifier.",
        "cox": "Use FairRidgeSurvival.",
    }.get(str(family)) or meant(family, REGRESSION_FAMILIES)
    raise ValueError(
        f"family={family!r} is not known here. {hint} An object from fairridge.families, or of a "
        "class derived from SinglePredictor, can be passed, too."
    )
