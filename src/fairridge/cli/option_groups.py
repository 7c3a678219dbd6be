"""Options that commands share, as records: a command takes a record, its users the options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

from fairridge.cli.column_types import Kinds
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import names, repeated
from fairridge.cli.model_values import bound_of, class_weight_of, predictor_penalty_of
from fairridge.cli.options import (
    AsJson,
    Exposure,
    Offset,
    Response,
    Sensitive,
    Weight,
    of_data,
    of_model,
)
from fairridge.cli.terminal import Result

Command = Callable[..., Result | None]


@dataclass(frozen=True)
class Columns:
    """What the user says about columns; names may be given with commas or one by one."""

    response: Response = None
    sensitive: Sensitive = None
    event: Annotated[
        str | None,
        of_data("NAME", "Whether the time in --response is an event (1) or censored (0)."),
    ] = None
    predictors: Annotated[
        list[str] | None, of_data("NAME", "Predictors; all other columns by default.")
    ] = None
    drop: Annotated[list[str] | None, of_data("NAME", "Columns to leave out, such as keys.")] = None
    controls: Annotated[
        list[str] | None,
        of_data(
            "NAME",
            "Predictors that may explain differences: the bound is on what S explains beyond them.",
        ),
    ] = None
    weight: Weight = None
    offset: Offset = None
    exposure: Exposure = None
    drop_missing: Annotated[
        bool, of_data(None, "Leave out rows with missing values.", "--drop-missing")
    ] = False
    categorical: Annotated[
        list[str] | None,
        of_data(
            "NAME", "Columns whose values are categories, even if they look like numbers or dates."
        ),
    ] = None
    numeric: Annotated[
        list[str] | None,
        of_data(
            "NAME", "Columns of text that must be read as numbers, such as '$1,234.50' or '17.25%'."
        ),
    ] = None
    date: Annotated[
        list[str] | None,
        of_data(
            "NAME",
            "Columns of text that must be read as dates: 2024-12-31, or 31/12/2024, day first.",
        ),
    ] = None
    min_frequency: Annotated[
        float | None,
        of_data(
            "N",
            "Merge levels of predictors with fewer rows into '(other)', where unknown levels "
            "go, too; below 1, with a smaller share of the rows.",
        ),
    ] = None
    base: Annotated[
        list[str] | None,
        of_data(
            "COLUMN=LEVEL",
            "Level that the coefficients of a column compare with, instead of the first; "
            "'most-frequent' for all predictors.",
        ),
    ] = None
    max_levels: Annotated[
        int | None,
        of_data(
            "N", "Most values that text may have; by default 1000, and half as many as rows.", min=1
        ),
    ] = None
    missing: Annotated[
        str,
        of_data(
            "error|level",
            "What missing values of S and predictors are: an error, or a level of their own, "
            "and of numbers the mean beside a column that marks them.",
        ),
    ] = "error"
    unknown: Annotated[
        str,
        of_data(
            "error|base|mean",
            "What levels do that the model has not seen: an error, the base level (of S the "
            "average), or the average.",
        ),
    ] = "error"
    family: Annotated[
        str | None,
        of_model(
            "NAME",
            "Distribution of the response, such as gaussian, binomial, poisson or cox; "
            "guessed from the response by default.",
        ),
    ] = None

    @property
    def others(self) -> dict[str, str]:
        """Columns of weights, offsets and exposures, by the argument of `fit`."""
        known = {"sample_weight": self.weight, "offset": self.offset, "exposure": self.exposure}
        return {argument: name for argument, name in known.items() if name is not None}

    @property
    def kinds(self) -> Kinds:
        """What the user says that columns hold."""
        kinds = Kinds(
            names(self.categorical, "--categorical"),
            names(self.numeric, "--numeric"),
            names(self.date, "--date"),
        )
        twice = repeated((*kinds.categorical, *kinds.numeric, *kinds.date))
        if twice is not None:
            raise BadInputError(
                f"{twice!r} cannot be two of --categorical, --numeric and --date; choose one."
            )
        return kinds


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of a model, as they come from the command line."""

    unfairness: Annotated[
        str,
        of_model(
            "R",
            "Bound on unfairness: 0 leaves no linear dependence on S, 1 is unconstrained. "
            "With --definition mean-parity also one per attribute: sex=0.01,age=0.1.",
            "--unfairness",
            "-r",
        ),
    ] = "0.05"
    definition: Annotated[
        str,
        of_model(
            "NAME",
            "What is bounded. statistical-parity, the default, is that of the paper, and right "
            "for numbers and times; for classes, counts and amounts take mean-parity, R² of "
            "predicted means on S; mean-opportunity is the same among the positive class, "
            "mean-odds among every class. equality-of-opportunity and individual are the paper's "
            "other ones, which choose a point on the path of models of statistical-parity.",
        ),
    ] = "statistical-parity"
    penalty: Annotated[
        str, of_model("NAME", "On sensitive attributes: ridge, radial, lasso or elastic-net.")
    ] = "ridge"
    predictor_penalty: Annotated[
        str,
        of_model(
            "NUMBER|cv",
            "Ridge penalty on predictors; cv chooses it at the bound, by cross-validation.",
        ),
    ] = "0"
    separation: Annotated[
        str,
        of_model(
            "isolate|warn|error",
            "What happens to levels of predictors whose rows all have the same outcome: "
            "isolate leaves their rows out of fit and bound, warn keeps them, error refuses them.",
        ),
    ] = "isolate"
    blind: Annotated[
        bool,
        of_model(None, "Use sensitive attributes to fit and bound, and not to predict.", "--blind"),
    ] = False
    confidence: Annotated[
        float | None,
        of_model(
            "P", "Confidence with which the bound holds for the population, not just in training."
        ),
    ] = None
    certification: Annotated[str, of_model("auto|held-out", "How --confidence is reached.")] = (
        "auto"
    )
    ties: Annotated[
        str | None,
        of_model("NAME", "How survival treats equal times: breslow (the default) or efron."),
    ] = None
    link: Annotated[
        str | None,
        of_model("NAME", "How two classes get their probabilities: logit, probit or cloglog."),
    ] = None
    positive: Annotated[
        str | None,
        of_model(
            "LABEL", "Class that is modeled, of two; the second in alphabetical order by default."
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        of_model(
            "balanced|CLASS=WEIGHT",
            "Weights of classes in the fit, several with commas; the bound is about the rows "
            "as they are.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse values that mean nothing before any data are read."""
        bound_of(self.unfairness)
        predictor_penalty_of(self.predictor_penalty)
        class_weight_of(self.class_weight)


def gathered(*, omit: Sequence[str] = ()) -> Callable[[Command], Callable[..., int]]:
    """Let a command take records of options, and its users the options themselves.

    A command that returns a `Result` also gets the option --json.

    Parameters
    ----------
    omit : sequence of str
        Fields of `Columns` and `ModelOptions` that the command has no option
        for; they keep their defaults.
    """

    def decorate(command: Command) -> Callable[..., int]:
        hints = get_type_hints(command, include_extras=True)
        has_result = hints.pop("return") is Result
        groups = {name: _options(kind, omit) for name, kind in hints.items() if is_dataclass(kind)}

        @wraps(command)
        def called(*, as_json: bool = False, **values: Any) -> int:
            for name, options in groups.items():
                values[name] = hints[name](**{item.name: values.pop(item.name) for item in options})
            result = command(**values)
            if result is None:
                return 0
            result.report(as_json)
            return result.code

        # The options of a record stand in its place.
        parameters = [
            item
            for name, parameter in signature(command).parameters.items()
            for item in groups.get(
                name, [parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)]
            )
        ]
        if has_result:
            parameters.append(
                Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
            )
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {item.name: item.annotation for item in parameters}
        return called

    return decorate


def _options(kind: Any, omit: Sequence[str]) -> list[Parameter]:
    """Return the options of a record."""
    unwanted = omit if kind in (Columns, ModelOptions) else ()
    hints = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            item.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if item.default is MISSING else item.default,
            annotation=hints[item.name],
        )
        for item in fields(kind)
        if item.name not in unwanted
    ]
