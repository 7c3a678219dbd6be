"""From what a user passes to rows an engine can sum over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._arrays import to_host
from fairridge._typing import Floats, Integers
from fairridge.arguments import check_number, check_option
from fairridge.data import (
    MAX_LEVELS,
    Design,
    Rows,
    as_table,
    learn_design,
    offset_arguments,
    offset_names,
    read_offset,
    require_few_levels,
    require_log_link,
    require_offsets,
    warn_of_order,
    weights,
)
from fairridge.data.columns import Base
from fairridge.data.design import warn_of_dates, warn_of_keys
from fairridge.data.table import in_place
from fairridge.engines import Engine, MemoryEngine, PrecomputedMoments, in_memory
from fairridge.estimators._device import read_device
from fairridge.estimators._each import columns_of_each
from fairridge.estimators._model import FairModel
from fairridge.estimators._responses import Classes, Inputs, Response
from fairridge.families import Family
from fairridge.search import Usage, require_inputs
from fairridge.sources import RowMoments, RowSource
from fairridge.sources.encoder import BatchEncoder
from fairridge.sources.roles import Roles
from fairridge.sources.stream import StreamEngine


@dataclass(frozen=True)
class Training:
    """Training data, ready to be summed over."""

    design: Design  # what the model remembers of its columns
    engine: Engine  # where the rows are
    response: Response  # the family and its classes
    n_rows: int  # rows with a positive weight
    backend: Any  # the frame library of the input; None for arrays
    # The rows before feature maps, if there are any: a training set of cross-validation fits
    # them anew.
    unmapped: Rows | None = None
    held_out: Engine | None = None  # rows that are kept from the fit, to test models on
    kept: Any = field(default_factory=partial(slice, None))  # which rows of the input these are
    # Which of "offset" and "exposure" the rows came with, unless it cancels.
    offsets: tuple[str, ...] = ()

    def engine_on(self, positions: NDArray[np.intp]) -> MemoryEngine:
        """Return an engine for some of the rows."""
        if not in_memory(self.engine):
            raise TypeError(
                "cross-validation needs the rows in memory: pass NumPy arrays or a frame."
            )
        return engine_of(self.engine.rows.take(positions), self.response.family)

    def part(self, positions: Integers) -> Training:
        """Return some of the rows, with maps fitted to them."""
        if self.unmapped is None:
            engine, unmapped = self.engine_on(positions), None
        else:
            engine, _ = self.fold(positions, positions)
            unmapped = self.unmapped.take(positions)
        response = self.response.on(engine)
        return replace(
            self, engine=engine, response=response, n_rows=len(positions), unmapped=unmapped
        )

    def fold(self, train: Integers, test: Integers) -> tuple[MemoryEngine, MemoryEngine]:
        """Return engines for training and validation rows, with maps fitted to the first."""
        if self.unmapped is None:
            return self.engine_on(train), self.engine_on(test)
        parts = [self.unmapped.take(positions) for positions in (train, test)]
        design = self.design.refitted((parts[0].sensitive, parts[0].predictors), parts[0].weight)
        first, second = (
            engine_of(
                part.with_columns(
                    *design.map((part.sensitive, part.predictors)), design.encoded_names
                ),
                self.response.family,
            )
            for part in parts
        )
        return first, second


def read_inputs(
    X: Any, sensitive_features: Any, sample_weight: Any, offset: Any, y: Any = None
) -> Inputs:
    """Validate what comes with a response, and leave out rows of zero weight."""
    # Of the response only the order of its row labels is looked at.
    beside = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    beside |= {} if offset is None else offset_arguments(offset)
    warn_of_order(X=X, y=y, **beside)
    table = as_table(X)
    n = table.shape[0]
    attributes = (
        None
        if sensitive_features is None
        else as_table(sensitive_features, argument="sensitive_features")
    )
    if attributes is not None and attributes.shape[0] != n:
        raise ValueError(
            f"X has {n} rows but sensitive_features has {attributes.shape[0]}; "
            "pass one row of each per observation."
        )
    weight = weights(sample_weight, n)
    keep: Any = slice(None)
    if weight is not None and not weight.all():
        keep = np.flatnonzero(weight)
        table, weight = table.take(keep), weight[keep]
        attributes = None if attributes is None else attributes.take(keep)
    shift = None if offset is None else read_offset(offset, n, keep)
    return Inputs(table, attributes, n, keep, weight, shift)


def read_training(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> Training:
    """Read what a model is fitted to, wherever its rows are."""
    check_option("unknown", model.unknown, model._unknown_rules)
    check_option("missing", model.missing, ("error", "level"))
    if model.sensitive_map is not None and model._traits.needs_groups:
        raise ValueError(
            f"{type(model).__name__} divides people into groups, and sensitive_map makes numbers "
            "of them: leave it out, and merge or cut the attributes beforehand."
        )
    if model.missing != "error" and (in_place(X) or isinstance(X, RowSource | RowMoments)):
        raise ValueError(
            "missing='level' needs the rows in main memory, to look for missing values before the "
            "first sums: pass a frame or a NumPy array, or fill them in beforehand."
        )
    offsets = () if offset is None else offset_names(offset)
    if in_place(X):
        device = read_device(model, X, y, sensitive_features, sample_weight, offset)
        _require_two(device[1].n_rows, model)
        return _completed(model, Training(*device, device[1].n_rows, None), offsets)
    if not isinstance(X, RowSource | RowMoments):
        training = _read_rows(model, X, y, sensitive_features, sample_weight, offset)
        return _completed(model, training, offsets)
    given = dict.fromkeys(offsets, offset)
    refuse_more_data(
        y=y, sensitive_features=sensitive_features, sample_weight=sample_weight, **given
    )
    if isinstance(X, RowMoments):
        return _completed(model, _read_moments(model, X), X.level_counts.roles.offsets)
    return _completed(model, _read_source(model, X), X.roles.offsets)


def _completed(model: FairModel, training: Training, offsets: tuple[str, ...]) -> Training:
    """Say which offsets there are, check limits, and find what a bound is conditional on."""
    if offsets and training.response.family.n_predictors == 1:
        training = replace(training, offsets=offsets)
    names, bounds, response = getattr(model, "controls", None), model.unfairness, training.response
    if names is not None:
        response = replace(response, controls=training.design.control_columns(names))
    require_inputs(
        training.engine,
        response.family,
        partial(_usage, model),
        offsets=training.offsets,
        standardize=bool(getattr(model, "standardize", True)),
        n_controls=len(response.controls),
    )
    if isinstance(bounds, Mapping):
        response = replace(response, each=columns_of_each(bounds, training.design))
    return replace(training, response=response)


def _usage(model: FairModel) -> Usage:
    """Return what a model does with its columns."""
    traits, learner = model._traits, getattr(model, "estimator", None)
    on_means = getattr(traits.definition, "penalizes_means", False)
    return Usage(
        # A learner of another library has coefficients of its own, or none.
        penalized=traits.advice is None or learner is not None,
        uses_sensitive=traits.needs_sensitive and learner is None,
        holds_sensitive=learner is not None or (traits.needs_sensitive and not on_means),
        has_penalty=hasattr(model, "predictor_penalty"),
    )


def require_response(response: Response, inputs: Inputs, offsets: tuple[str, ...]) -> None:
    """Check response and offset of rows in memory, before their columns are known."""
    offset = inputs.offset if _has_offset(response.family) else None
    rows = Rows((), (), (), response.values, response.targets, inputs.weight, offset)
    engine = engine_of(rows, response.family)
    require_inputs(engine, response.family, lambda: Usage(penalized=True), offsets=offsets)


def _read_source(model: FairModel, data: RowSource) -> Training:
    """Read what must be known of rows elsewhere before a model is set up."""
    # That is one pass over the columns with levels, if there are any, and
    # one over all columns for the moments.
    _require_roles(model, data.roles)
    kind = model._response_kind
    if not kind.has_labels and not unread_response(model).family.separable:
        data.require_order()
    survey = data.count_levels(labels=kind.has_labels)
    if kind.has_labels and not survey.classes.size:
        raise ValueError("there are no rows with a positive weight.")
    response, reader = kind.streamed(survey.classes)
    design = survey.design_with(_min_frequency(model), _base(model))
    roles = data.roles
    if response.family.n_predictors > 1:  # an offset of all classes cancels
        roles = replace(roles, offset=None, exposure=None)
    require_few_levels(design, None, getattr(model, "max_levels", MAX_LEVELS))
    engine = StreamEngine(data, BatchEncoder(roles, design, reader), response.family)
    _require_two(engine.n_rows, model)
    if response.family.reads == "times" and not engine.extent.high[1]:
        raise ValueError("y has no events (all rows are censored); a Cox model needs some.")
    if hasattr(response.family, "check") and response.classes is None:
        response.family.check(np.concatenate([engine.extent.low, engine.extent.high]))
    return Training(design, engine, response, engine.n_rows, None)


def _read_moments(model: FairModel, data: RowMoments) -> Training:
    """Fit to moments alone, which is all that a gaussian model needs."""
    response = unread_response(model, data.level_counts.roles)
    if not response.family.least_squares:
        raise ValueError(
            f"{type(model).__name__} needs the rows: only gaussian models are fitted to moments."
        )
    if isinstance(model.unfairness, Mapping):
        raise ValueError(
            "bounds per attribute need the rows, and these are moments; give one number as "
            "unfairness."
        )
    if getattr(model, "confidence", None) is not None:
        raise ValueError(
            "confidence needs the rows: moments do not show how R² on S varies between samples."
        )
    if not model._traits.moments_suffice:
        raise ValueError(
            "this definition of fairness needs the rows; moments serve statistical parity and "
            "equality of opportunity."
        )
    if _min_frequency(model) is not None:
        raise ValueError(
            "min_frequency needs the rows: moments have a column for every level. Merge rare "
            "levels before summing."
        )
    if _base(model) is not None:
        raise ValueError(
            "base needs the rows: moments have a column for every level but the first. Leave it "
            "out."
        )
    design, moments = data.design, data.moments
    _require_two(moments.n_rows, model)
    engine = PrecomputedMoments(
        moments, design.encoded_names, len(design.sensitive.names), _no_rows
    )
    return Training(design, engine, response, moments.n_rows, None)


def _min_frequency(model: FairModel) -> float | None:
    """Return the count or share below which levels are merged; models without it merge none."""
    value = getattr(model, "min_frequency", None)
    return None if value is None else check_number("min_frequency", value, minimum=0.0, strict=True)


def _base(model: FairModel) -> Base:
    """Return the base levels that are asked for; models without the parameter take the first."""
    base: Any = getattr(model, "base", None)
    if base is None or (isinstance(base, str) and base == "most-frequent"):
        return base  # type: ignore[return-value]
    if isinstance(base, Mapping):
        return {str(name): level for name, level in base.items()}
    raise ValueError(
        f"base={base!r} must be None (the first level), 'most-frequent', or levels by column, "
        "such as {'brand': 'VW'}."
    )


def unread_response(model: FairModel, roles: Roles | None = None) -> Response:
    """Return the family of a model whose response is not read yet."""
    if roles is not None:
        _require_roles(model, roles)
    kind = model._response_kind
    if kind.has_labels:  # any classes serve: only the family is needed
        kind = Classes(kind.link)
    return kind.streamed(np.arange(2))[0]


def _require_roles(model: FairModel, roles: Roles) -> None:
    """Raise unless a model can be fitted to columns with these roles."""
    roles.require_training()
    if roles.exposure is not None:
        require_log_link(model._response_kind.link)
    for name in ("predictor_map", "sensitive_map"):
        if getattr(model, name, None) is not None:
            raise ValueError(
                f"{name} needs the rows in memory: fit to a frame or an array, or write the "
                "features as columns first."
            )
    named = model.sensitive
    columns = (named,) if isinstance(named, str | int) else named
    if columns is not None and tuple(columns) != roles.sensitive:
        raise ValueError(
            f"the model names sensitive={named!r}, but the rows name {list(roles.sensitive)!r}; "
            "leave it out of the model."
        )


def _no_rows() -> Engine:
    raise ValueError(
        "these moments do not carry enough digits: columns are almost collinear, or the response "
        "is almost a linear function of them. Drop or combine such columns, or fit to the rows."
    )


def refuse_more_data(**arguments: Any) -> None:
    """Raise if something is passed that the rows have as columns."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"leave {name} out: these rows have their response, sensitive attributes, weight, "
                "offset and exposure as columns; name them in fairridge.sources."
            )


def _require_two(n_rows: int, model: FairModel) -> None:
    if n_rows < 2:
        raise ValueError(
            f"n_samples={n_rows}: {type(model).__name__} needs at least two rows with positive "
            "weight."
        )


def _read_rows(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> Training:
    """Read rows in memory: learn the columns, encode them, and apply maps, if there are any."""
    name = type(model).__name__
    table = as_table(X, sparse=model._takes_sparse)
    if table.is_sparse:
        _check_sparse(model)
    inputs = read_inputs(table, sensitive_features, sample_weight, offset, y)
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    response = model._response_kind.read(y, inputs)
    n = len(response.values)
    _require_two(n, model)
    design = learn_design(
        inputs.table,
        inputs.attributes,
        model.sensitive,
        getattr(model, "max_levels", MAX_LEVELS),
        inputs.weight,
        _min_frequency(model),
        model.missing,
        _base(model),
    )
    warn_of_keys(inputs.table, design)
    warn_of_dates(inputs.table, design)
    pieces = design.encode(inputs.table, inputs.attributes, model.unknown, estimator_name=name)
    rows = Rows(
        *pieces,
        design.encoded_names,
        response.values,
        response.targets,
        inputs.weight,
        inputs.offset if _has_offset(response.family) else None,
    )
    unmapped = None
    if model.sensitive_map is not None or model.predictor_map is not None:
        unmapped = rows
        design = design.with_maps(pieces, inputs.weight, model.sensitive_map, model.predictor_map)
        rows = rows.with_columns(*design.map(pieces), design.encoded_names)
    engine = engine_of(rows, response.family)
    backend = inputs.table.backend
    return Training(design, engine, response, n, backend, unmapped, kept=inputs.keep)


def _check_sparse(model: FairModel) -> None:
    """Refuse what would have to write a sparse matrix out."""
    if model.missing != "error":
        raise ValueError(
            "missing='level' needs dense columns, and X is sparse: fill missing values in "
            "beforehand."
        )
    if model.predictor_map is not None:
        raise ValueError(
            "predictor_map needs dense columns, and X is sparse: transform X before the fit, with "
            "TruncatedSVD or another transformer of sparse matrices."
        )


def _has_offset(family: Family) -> bool:
    """Whether an offset is for the passes over the rows."""
    # A gaussian response is read less its offset; of classes, what is added to
    # the linear predictors of all of them cancels.
    return not family.least_squares and family.n_predictors == 1


def engine_of(rows: Rows, family: Family) -> MemoryEngine:
    """Sum over rows as a family needs it."""
    return MemoryEngine(rows, separable=family.separable, many_passes=not family.least_squares)


def read_scored(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> tuple[Inputs, Floats]:
    """Return the rows of positive weight, and their linear predictors; y is read later."""
    facts = model._fitted
    if isinstance(X, RowSource | RowMoments):
        raise TypeError(
            "score needs rows in memory: pass a frame and its response, or write predictions "
            "of these rows and compare them."
        )
    name = type(model).__name__
    require_offsets(facts.offsets, offset, name)
    attributes = facts.reads.attributes(sensitive_features, estimator_name=name)
    table = as_table(X, devices=True, sparse=model._takes_sparse)
    inputs = read_inputs(table, attributes, sample_weight, offset, y)
    scores = model._linear_predictor(inputs.table, inputs.attributes, inputs.offset)
    return inputs, to_host(scores)
