"""Options that several commands share."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer


def option(
    metavar: str | None, text: str, *names: str, panel: str | None = None, **more: Any
) -> Any:
    """Make an option; a parameter's own name is that of its option unless others are given."""
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
Sensitive = Annotated[
    list[str] | None,
    of_data(
        "NAME",
        "Sensitive column; several with commas, or by repeating the option.",
        "--sensitive",
        "-s",
    ),
]
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
        None,
        "Read Parquet files batch by batch, in memory that does not grow with them; patterns "
        "such as 'data/*.parquet' are read like that anyway.",
        "--stream",
    ),
]
Favorable = Annotated[
    str | None,
    option(
        "CLASS|low|high",
        "Outcome that people want: a class, or low or high predictions; guessed by default.",
    ),
]
Threshold = Annotated[float | None, option("T", "Predictions above are selected.")]
Top = Annotated[
    str | None,
    option("SHARE|COUNT", "Capacity, in place of a threshold: 0.2 of the rows, or 500 of them."),
]
MinimumShare = Annotated[
    float, option("SHARE", "Groups with a smaller share of all rows are not compared.")
]
Bins = Annotated[int, option("N", "Groups of a numeric attribute.")]
Small = Annotated[int, option("N", "Groups with fewer rows are marked.")]
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
        None,
        "In CSV output, put ' before text that a spreadsheet would run as a formula.",
        "--safe-csv",
    ),
]
AsJson = Annotated[bool, option(None, "Print JSON for machines.", "--json")]
