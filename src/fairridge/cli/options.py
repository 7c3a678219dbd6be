"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "Bins",
    "Blind",
    "Categorical",
    "Certify",
    "ClassWeight",
    "Confidence",
    "Controls",
    "Date",
    "Definition",
    "Drop",
    "DropMissing",
    "Event",
    "Family",
    "Favorable",
    "Figures",
    "Input",
    "Link",
    "MaxLevels",
    "MinFrequency",
    "Missing",
    "Model",
    "Numeric",
    "Offset",
    "Penalty",
    "Positive",
    "PredictorPenalty",
    "Predictors",
    "Response",
    "RowsOut",
    "SafeCsv",
    "SavedModel",
    "Seed",
    "Sensitive",
    "Separation",
    "Separator",
    "Small",
    "Stream",
    "Threshold",
    "Ties",
    "Unfairness",
    "Unknown",
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
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Columns whose values are categories, even if they look like numbers or dates.",
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Columns of text that must be read as numbers, such as '$1,234.50' or '17.25%'.",
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Columns of text that must be read as dates: 2024-12-31, or 31/12/2024, day first.",
    ),
]
MaxLevels = Annotated[
    int | None,
    typer.Option(
        "--max-levels",
        metavar="N",
        min=1,
        rich_help_panel=DATA,
        help="Most values that text may have; by default 1000, and half as many as rows.",
    ),
]
MinFrequency = Annotated[
    float | None,
    typer.Option(
        "--min-frequency",
        metavar="N",
        rich_help_panel=DATA,
        help="Merge levels of predictors with fewer rows into '(other)', where unknown levels go, "
        "too; below 1, with a smaller share of the rows.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="error|level",
        rich_help_panel=DATA,
        help="What missing values of S and predictors are: an error, or a level of their own, and "
        "of numbers the mean beside a column that says so.",
    ),
]
Unknown = Annotated[
    str,
    typer.Option(
        "--unknown",
        metavar="error|base|mean",
        rich_help_panel=DATA,
        help="What levels do that the model has not seen: an error, the base level (of S the "
        "average), or the average.",
    ),
]
Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--controls",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Predictors that may explain differences: the bound is on what S explains beyond "
        "them.",
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
    str,
    typer.Option(
        "--unfairness",
        "-r",
        metavar="R",
        rich_help_panel=MODEL,
        help="Bound on unfairness: 0 leaves no linear dependence on S, 1 is unconstrained. With "
        "--definition mean-parity also one per attribute: sex=0.01,age=0.1.",
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
        help="What is bounded. statistical-parity, equality-of-opportunity and individual choose a "
        "point on one path of models, and all leave no linear dependence on S at 0; mean-parity "
        "bounds R² of predicted means on S, mean-opportunity the same among the positive class.",
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
    str,
    typer.Option(
        "--predictor-penalty",
        metavar="NUMBER|cv",
        rich_help_panel=MODEL,
        help="Ridge penalty on predictors; cv chooses it at the bound, by cross-validation.",
    ),
]
Separation = Annotated[
    str,
    typer.Option(
        "--separation",
        metavar="isolate|warn|error",
        rich_help_panel=MODEL,
        help="What happens to levels of predictors whose rows all have the same outcome: isolate "
        "leaves their rows out of fit and bound, warn keeps them, error refuses them.",
    ),
]
Blind = Annotated[
    bool,
    typer.Option(
        "--blind",
        rich_help_panel=MODEL,
        help="Use sensitive attributes to fit and bound, and not to predict.",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        metavar="P",
        rich_help_panel=MODEL,
        help="Confidence with which the bound holds for the population, not just in training.",
    ),
]
Certify = Annotated[
    str,
    typer.Option(
        "--certification",
        metavar="auto|closed-form|draws|held-out",
        rich_help_panel=MODEL,
        help="How --confidence is reached.",
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
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        rich_help_panel=MODEL,
        help="Class that is modeled, of two; the second in alphabetical order by default.",
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        metavar="balanced|CLASS=WEIGHT",
        rich_help_panel=MODEL,
        help="Weights of classes in the fit, several with commas; the bound is about the rows as "
        "they are.",
    ),
]
Favorable = Annotated[
    str | None,
    typer.Option(
        "--favorable",
        metavar="CLASS|low|high",
        help="Outcome that people want: a class, or low or high predictions; guessed by default.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", metavar="T", help="Predictions above are selected."),
]
Bins = Annotated[int, typer.Option("--bins", metavar="N", help="Groups of a numeric attribute.")]
Small = Annotated[
    int, typer.Option("--small", metavar="N", help="Groups with fewer rows are marked.")
]
Figures = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write all figures: CSV or Parquet."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="FILE", help="Model file that fit has written."),
]
SavedModel = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="Model file that fit has written.")
]
RowsOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="CSV or Parquet with all columns; CSV to the screen by default.",
    ),
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
