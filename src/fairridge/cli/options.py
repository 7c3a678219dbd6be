"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "Definition",
    "Drop",
    "DropMissing",
    "Event",
    "Family",
    "Input",
    "Link",
    "Model",
    "Offset",
    "Penalty",
    "PredictorPenalty",
    "Predictors",
    "Response",
    "SafeCsv",
    "Seed",
    "Sensitive",
    "Separator",
    "Stream",
    "Ties",
    "Unfairness",
    "Weight",
]

DATA = "Data"
MODEL = "Model"

Input = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="CSV or Parquet file, builtin:NAME, or a pattern of Parquet files.",
    ),
]
Response = Annotated[
    str | None,
    typer.Option(
        "--response", "-y", metavar="NAME", rich_help_panel=DATA, help="Column to predict."
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Whether the time in --response is an event (1) or censored (0).",
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        "-s",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Sensitive column; several with commas, or by repeating the option.",
    ),
]
Predictors = Annotated[
    list[str] | None,
    typer.Option(
        "--predictors",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Predictors; all other columns by default.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", metavar="NAME", rich_help_panel=DATA, help="Columns to leave out, such as keys."
    ),
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing", rich_help_panel=DATA, help="Leave out rows with missing values."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", metavar="NAME", rich_help_panel=DATA, help="Column of weights."),
]
Offset = Annotated[
    str | None,
    typer.Option(
        "--offset",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Column that is added to the linear predictor, such as log exposure.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        rich_help_panel=DATA,
        help="What separates columns of a CSV file; guessed by default.",
    ),
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        rich_help_panel=DATA,
        help="Read Parquet files batch by batch, in memory that does not grow with them; patterns "
        "such as 'data/*.parquet' are read like that anyway.",
    ),
]
Unfairness = Annotated[
    float,
    typer.Option(
        "--unfairness",
        "-r",
        metavar="R",
        rich_help_panel=MODEL,
        help="Bound on unfairness: 0 is fair, 1 unconstrained.",
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        "--family",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="Distribution of the response, such as gaussian, binomial, poisson or cox; guessed "
        "from the response by default.",
    ),
]
Definition = Annotated[
    str,
    typer.Option(
        "--definition",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="statistical-parity, equality-of-opportunity, individual, mean-parity or "
        "mean-opportunity.",
    ),
]
Penalty = Annotated[
    str,
    typer.Option(
        "--penalty",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="On sensitive attributes: ridge, radial, lasso or elastic-net.",
    ),
]
PredictorPenalty = Annotated[
    float,
    typer.Option(
        "--predictor-penalty",
        metavar="NUMBER",
        rich_help_panel=MODEL,
        help="Ridge penalty on predictors.",
    ),
]
Ties = Annotated[
    str | None,
    typer.Option(
        "--ties",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="How survival treats equal times: breslow (the default) or efron.",
    ),
]
Link = Annotated[
    str | None,
    typer.Option(
        "--link",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="How two classes get their probabilities: logit, probit or cloglog.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="FILE", help="Model file that fit has written."),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Seed of random numbers."),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="In CSV output, put ' before text that a spreadsheet would run as a formula.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
