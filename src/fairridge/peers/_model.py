"""What several models of comparison share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from fairridge._typing import Floats
from fairridge.arguments import check_number
from fairridge.engines import Engine
from fairridge.estimators._responses import Classes, NumericResponse, ResponseKind
from fairridge.families import Gaussian
from fairridge.models import FairBasis
from fairridge.search import Choice, Solution


def response_kind(model: Any) -> ResponseKind:
    """Read two classes if the model is a classifier, and else numbers."""
    if isinstance(model, ClassifierMixin):
        return Classes(only_two=True)
    return NumericResponse(Gaussian())


def costly(model: Any, tags: Any, penalty: float | None = None) -> Any:
    """Set scikit-learn's tags: a bound, or a penalty, may cost accuracy."""
    poor = bool(penalty or model.unfairness < 1.0)
    if tags.regressor_tags is not None:
        tags.regressor_tags.poor_score = poor
    if tags.classifier_tags is not None:
        tags.classifier_tags.poor_score = poor
        tags.classifier_tags.multi_class = not model._response_kind.only_two
    return tags


def given_penalty(name: str, value: Any) -> str | None:
    """Return ``name=value`` of a penalty that is a parameter; None if a bound chooses it."""
    return None if value is None else f"{name}={check_number(name, value, minimum=0.0):g}"


def solve_penalized(problem: Any, bounds: Floats, penalty: float | None) -> list[Solution]:
    """Find the smallest penalty that meets each bound, or use the penalty of the user."""
    definition = problem.definition
    if penalty is None:
        solutions: list[Solution] = problem.solve(bounds)
        return solutions
    fit = problem.fits(np.array([penalty]))[0]
    done = "inactive" if penalty == 0.0 else "converged"
    status: Any = done if problem.converged(penalty) else "not-converged"
    value, components = definition.value(fit), definition.components(fit)
    return [Solution(float(r), fit, value, components, Choice(penalty, status)) for r in bounds]


def fair_columns(engine: Engine, basis: FairBasis) -> tuple[Floats, Floats]:
    """Return the rows of S, centered, and of U."""
    S, X, _, _ = engine.dense_columns()
    S = S - basis.center_sensitive
    return S, X - basis.center_predictors - S @ basis.B
