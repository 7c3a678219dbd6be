"""From rows that are not in memory to what a model trains on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairridge.arguments import check_option
from fairridge.engines import Engine, PrecomputedMoments
from fairridge.estimators._model import FairModel
from fairridge.estimators._responses import Response
from fairridge.estimators._training import Training, read_rows
from fairridge.families import Family
from fairridge.sources import RowMoments, RowSource
from fairridge.sources.encoder import BatchEncoder
from fairridge.sources.roles import Roles
from fairridge.sources.stream import StreamEngine

__all__ = ["read_training", "refuse_more_data", "unread_response"]


def read_training(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> Training:
    """Read what a model is fitted to, wherever its rows are."""
    check_option("unknown", model.unknown, ("error", "base"))
    if model._traits.needs_groups and model.sensitive_map is not None:
        raise ValueError(
            f"{type(model).__name__} divides people into groups, and sensitive_map makes numbers "
            "of them: leave it out, and merge or cut the attributes beforehand."
        )
    if not isinstance(X, RowSource | RowMoments):
        return read_rows(model, X, y, sensitive_features, sample_weight, offset)
    refuse_more_data(
        y=y, sensitive_features=sensitive_features, sample_weight=sample_weight, offset=offset
    )
    return _read_moments(model, X) if isinstance(X, RowMoments) else _read_source(model, X)


def _read_source(model: FairModel, data: RowSource) -> Training:
    """Read what must be known of rows elsewhere before a model is set up.

    That is one pass over the columns with levels, if there are any, and
    one over all columns for the moments.
    """
    _check(model, data.roles)
    kind = model._response_kind
    if not kind.has_labels and not unread_response(model).family.separable:
        data.require_order()
    survey = data.count_levels(labels=kind.has_labels)
    if kind.has_labels and not survey.classes.size:
        raise ValueError("there are no rows with a positive weight.")
    response, reader = kind.streamed(survey.classes)
    design, roles = survey.design, _without_idle_offset(data.roles, response.family)
    engine = StreamEngine(
        data,
        BatchEncoder(roles, design, reader),
        design.encoded_names,
        len(design.sensitive.names),
        family=response.family,
        has_offset=roles.offset is not None and not reader.less_offset,
    )
    _require_two(engine.n_rows, model)
    if response.family.reads == "times" and not engine.first.high[1]:
        raise ValueError("y has no events (all rows are censored); a Cox model needs some.")
    if hasattr(response.family, "check") and response.classes is None:
        response.family.check(np.concatenate([engine.first.low, engine.first.high]))
    return Training(design, engine, response, engine.n_rows, None)


def _without_idle_offset(roles: Roles, family: Family) -> Roles:
    """Leave the offset out where it cancels: in the linear predictors of several classes."""
    return roles if family.n_predictors == 1 else replace(roles, offset=None)


def _read_moments(model: FairModel, data: RowMoments) -> Training:
    """Fit to moments alone, which is all that a gaussian model needs."""
    response = unread_response(model, data.level_counts.roles)
    if not response.family.least_squares:
        raise ValueError(
            f"{type(model).__name__} needs the rows: only gaussian models are fitted to moments."
        )
    if not model._traits.moments_suffice:
        raise ValueError(
            "this definition of fairness needs the rows; moments serve statistical parity and "
            "equality of opportunity."
        )
    design, moments = data.design, data.moments
    _require_two(moments.n_rows, model)
    engine = PrecomputedMoments(
        moments, design.encoded_names, len(design.sensitive.names), _no_rows
    )
    return Training(design, engine, response, moments.n_rows, None)


def unread_response(model: FairModel, roles: Roles | None = None) -> Response:
    """Return the family of a model, before anyone has looked at its response."""
    if roles is not None:
        _check(model, roles)
    two = np.arange(2)  # any will do: only the family is asked for
    return model._response_kind.streamed(two)[0]


def _check(model: FairModel, roles: Roles) -> None:
    roles.require_training()
    _refuse_maps(model)
    _require_same_sensitive(model, roles)


def _no_rows() -> Engine:
    raise ValueError(
        "these moments do not carry enough digits: columns are almost collinear, or the response "
        "is almost a linear function of them. Drop or combine such columns, or fit to the rows."
    )


def refuse_more_data(**arguments: Any) -> None:
    """Raise if something is passed beside rows that have it all."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"leave {name} out: these rows have their response, sensitive attributes, weight "
                "and offset as columns; name them in fairridge.sources."
            )


def _refuse_maps(model: FairModel) -> None:
    for name in ("predictor_map", "sensitive_map"):
        if getattr(model, name, None) is not None:
            raise ValueError(
                f"{name} needs the rows in memory: fit to a frame or an array, or write the "
                "features as columns first."
            )


def _require_same_sensitive(model: FairModel, roles: Roles) -> None:
    named = model.sensitive
    if named is None:
        return
    columns = (named,) if isinstance(named, str | int) else tuple(named)
    if columns != roles.sensitive:
        raise ValueError(
            f"the model names sensitive={named!r}, but the rows name {list(roles.sensitive)!r}; "
            "leave it out of the model."
        )


def _require_two(n_rows: int, model: FairModel) -> None:
    if n_rows < 2:
        raise ValueError(
            f"n_samples={n_rows}: {type(model).__name__} needs at least two rows with positive "
            "weight."
        )
