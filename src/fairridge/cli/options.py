"""Options that several commands share, as types and as records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from fairridge.cli.parameters import Parameters


def option(metavar: str, text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """Make an option; a parameter's own name is that of its option unless others are given."""
    # A flag has no values, and "" in their place.
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


of_data = partial(option, panel="Data")
of_model = partial(option, panel="Model")

Input = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="CSV or Parquet file, builtin:NAME, or a pattern of Parquet files.",
    ),
]
Response = Annotated[str | None, of_data("NAME", "Column to predict.", "--response", "-y")]
Weight = Annotated[str | None, of_data("NAME", "Column of weights.")]
Offset = Annotated[
    str | None,
    of_data("NAME", "Column that is added to the linear predictor, such as log exposure."),
]
Exposure = Annotated[
    str | None,
    of_data(
        "NAME",
        "Column of exposures, such as policy years, that counts or amounts are proportional to; "
        "predictions are then compared as rates.",
    ),
]
Separator = Annotated[
    str | None, of_data("CHAR", "What separates columns of a CSV file; guessed by default.")
]
Stream = Annotated[
    bool,
    of_data(
        "",
        "Read Parquet files batch by batch, in memory that does not grow with them; patterns "
        "such as 'data/*.parquet' are read like that anyway.",
        "--stream",
    ),
]
Figures = Annotated[str | None, option("FILE", "Write all figures: CSV or Parquet.", "--out", "-o")]
_SAVED = option("FILE", "Model file that fit has written.", "--model", "-m")
Model = Annotated[str | None, _SAVED]
SavedModel = Annotated[str, _SAVED]
ModelOut = Annotated[str | None, option("FILE", "Where to save the model.", "--out", "-o")]
RowsOut = Annotated[
    str | None,
    option("FILE", "CSV or Parquet with all columns; CSV to the screen by default.", "--out", "-o"),
]
Seed = Annotated[int, option("N", "Seed of random numbers.", min=0, max=2**32 - 1)]
SafeCsv = Annotated[
    bool,
    option(
        "",
        "In CSV output, put ' before text that a spreadsheet would run as a formula.",
        "--safe-csv",
    ),
]
AsJson = Annotated[bool, option("", "Print JSON for machines.", "--json")]


@dataclass(frozen=True)
class Compared:
    """Columns that groups are compared by; names may be given with commas or one by one."""

    response: Response = None
    sensitive: Annotated[
        list[str] | None,
        of_data(
            "NAME",
            "Sensitive column; several with commas, or by repeating the option.",
            "--sensitive",
            "-s",
        ),
    ] = None
    event: Annotated[
        str | None,
        of_data("NAME", "Whether the time in --response is an event (1) or censored (0)."),
    ] = None
    controls: Annotated[
        list[str] | None,
        of_data(
            "NAME",
            "Columns that may explain differences: what counts is what S explains beyond them.",
        ),
    ] = None
    weight: Weight = None
    offset: Offset = None
    exposure: Exposure = None

    @property
    def others(self) -> dict[str, str]:
        """Columns of weights, offsets and exposures, by the argument of `fit`."""
        known = {"sample_weight": self.weight, "offset": self.offset, "exposure": self.exposure}
        return {argument: name for argument, name in known.items() if name is not None}


@dataclass(frozen=True)
class Columns(Compared):
    """What the user says about the columns of a model."""

    predictors: Annotated[
        list[str] | None, of_data("NAME", "Predictors; all other columns by default.")
    ] = None
    drop: Annotated[list[str] | None, of_data("NAME", "Columns to leave out, such as keys.")] = None
    drop_missing: Annotated[
        bool, of_data("", "Leave out rows with missing values.", "--drop-missing")
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
    family: Annotated[
        str | None,
        of_model(
            "NAME",
            "Distribution of the response, such as gaussian, binomial, poisson or cox; "
            "guessed from the response by default.",
        ),
    ] = None


# Rows are columns of a file; messages name the options, and what has none is said here.
ROWS = {
    "X": "the data",
    "y": "--response names it",
    "sensitive_features": "--sensitive names columns of the data",
    "sample_weight": "--weight names it",
    "offset": "--offset names it",
    "exposure": "--exposure names it",
    "controls": "--controls names columns of the data",
    "response": "--response names it",
    "random_state": "--seed is that of everything that is drawn",
    "progress": "a terminal has a bar by itself",
}
OF_MODEL = {"sensitive_features": "the model knows their columns"}
MODEL = Parameters(
    {
        "FairRidgeClassifier": "classifiers",
        "FairRidgeRegressor": "regression",
        "FairRidgeSurvival": "survival models",
    },
    apart={
        **ROWS,
        "sensitive": "--sensitive names columns of the data",
        "family": "--family is guessed from the response",
        "predictor_map": "it is an object of Python",
        "sensitive_map": "it is an object of Python",
    },
    flags={"unfairness": ("--unfairness", "-r")},
    panel="Model",
)
