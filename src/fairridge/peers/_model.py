"""What several models of comparison share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.arguments import check_number
from fairridge.data import Encoding, Rows
from fairridge.data.groups import Groups, attribute_values, learn_groups, require_discrete
from fairridge.engines import Engine, in_memory
from fairridge.estimators._responses import Classes, NumericResponse, ResponseKind
from fairridge.estimators._training import Training
from fairridge.exceptions import DataWarning
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


def rows_of(engine: Engine, name: str) -> Rows:
    """Return the rows themselves, which models of groups need."""
    if not in_memory(engine):
        raise TypeError(f"{name} needs the rows in memory.")
    return engine.rows


def discrete_values(engine: Engine, name: str) -> Floats:
    """Return the values of the attributes, one column each; raise if one has more than 20."""
    rows = rows_of(engine, name)
    values = attribute_values(rows.sensitive)
    require_discrete(values, rows.sensitive, rows.names)
    return values


def groups_of(training: Training, name: str) -> tuple[Groups, Integers]:
    """Return the groups of training rows, and which row is in which."""
    values, encoding = discrete_values(training.engine, name), training.design.sensitive
    assert isinstance(encoding, Encoding)
    groups = learn_groups(values, encoding)
    if len(groups.labels) == 1:
        warn_user(
            f"all rows are in one group ({groups.labels[0]}): there is nothing to make fair.",
            DataWarning,
        )
    return groups, groups.codes(values)


def require_predictors(training: Training, name: str) -> None:
    """Raise if a model that predicts from X alone has no X."""
    if not training.design.positions_predictors:
        raise ValueError(
            f"{name} predicts from X without S, but X has {training.design.n_columns} feature(s) "
            "and all of them are sensitive."
        )


def plain_logistic() -> LogisticRegression:
    """Return a model for standardized columns that has next to no penalty."""
    return LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)


def on_original_scale(model: Any, scaler: StandardScaler) -> Any:
    """Let a linear classifier of standardized columns take the columns themselves."""
    if not hasattr(model, "coef_"):  # fairlearn puts a constant in place of a fit to one label
        return model
    model.coef_ = model.coef_ / scaler.scale_
    model.intercept_ = model.intercept_ - model.coef_ @ scaler.mean_
    return model
