"""Options that commands share, as records: a command takes a record, its users the options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from fairridge.cli.column_types import Kinds
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import names
from fairridge.cli.model_values import bound_of, class_weight_of, predictor_penalty_of
from fairridge.cli.options import (
    Blind,
    Categorical,
    Certify,
    ClassWeight,
    Confidence,
    Controls,
    Date,
    Definition,
    Drop,
    DropMissing,
    Event,
    Family,
    Link,
    MaxLevels,
    MinFrequency,
    Missing,
    Numeric,
    Offset,
    Penalty,
    Positive,
    PredictorPenalty,
    Predictors,
    Response,
    Sensitive,
    Separation,
    Ties,
    Unfairness,
    Unknown,
    Weight,
)

__all__ = ["Columns", "ModelOptions", "gathered"]


@dataclass(frozen=True)
class Columns:
    """What the user says about columns.

    Attributes
    ----------
    response, event, weight, offset : str or None
        Names.
    sensitive, predictors, drop, controls : sequence of str or None
        Names, with commas or without.
    family : str or None
        The family; None guesses it.
    drop_missing : bool
        Whether rows with missing values are left out.
    categorical, numeric, date : sequence of str or None
        Names of columns that hold categories, numbers or dates, whatever they
        look like.
    min_frequency : float or None
        Rows, or share of them, below which levels of a predictor are merged.
    max_levels : int or None
        Most levels of a column of text; None for the library's rule.
    missing, unknown : str
        What missing values and unseen levels do.
    """

    response: Response = None
    sensitive: Sensitive = None
    event: Event = None
    predictors: Predictors = None
    drop: Drop = None
    controls: Controls = None
    weight: Weight = None
    offset: Offset = None
    drop_missing: DropMissing = False
    categorical: Categorical = None
    numeric: Numeric = None
    date: Date = None
    min_frequency: MinFrequency = None
    max_levels: MaxLevels = None
    missing: Missing = "error"
    unknown: Unknown = "error"
    family: Family = None

    @property
    def kinds(self) -> Kinds:
        """What the user says that columns hold."""
        found = Kinds(
            names(self.categorical, "--categorical"),
            names(self.numeric, "--numeric"),
            names(self.date, "--date"),
        )
        every = (*found.categorical, *found.numeric, *found.date)
        twice = next((name for name in every if every.count(name) > 1), None)
        if twice is not None:
            raise BadInputError(
                f"{twice!r} cannot be two of --categorical, --numeric and --date; choose one."
            )
        return found


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of a model, as they come from the command line."""

    unfairness: Unfairness = "0.05"
    definition: Definition = "statistical-parity"
    penalty: Penalty = "ridge"
    predictor_penalty: PredictorPenalty = "0"
    separation: Separation = "isolate"
    blind: Blind = False
    confidence: Confidence = None
    certification: Certify = "auto"
    ties: Ties = None
    link: Link = None
    positive: Positive = None
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        """Refuse values that mean nothing before any data are read."""
        bound_of(self.unfairness)
        predictor_penalty_of(self.predictor_penalty)
        class_weight_of(self.class_weight)


def gathered(*, omit: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take records of options, and its users the options themselves.

    Parameters
    ----------
    omit : sequence of str
        Fields of the records that the command has no option for; they keep
        their defaults.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        groups: dict[str, Any] = {k: kind for k, kind in hints.items() if is_dataclass(kind)}

        @wraps(command)
        def called(**values: Any) -> None:
            for name, kind in groups.items():
                known = [f.name for f in fields(kind) if f.name not in omit]
                values[name] = kind(**{field: values.pop(field) for field in known})
            command(**values)

        parameters = list(_parameters(command, hints, omit))
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def _parameters(
    command: Callable[..., None], hints: dict[str, Any], omit: Sequence[str]
) -> list[Parameter]:
    """Return the parameters of a command, with those of its records in their places."""
    found = []
    for name, parameter in signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            found.append(parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY))
            continue
        own = get_type_hints(kind, include_extras=True)
        found += [
            Parameter(
                one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=own[one.name]
            )
            for one in fields(kind)
            if one.name not in omit
        ]
    return found
