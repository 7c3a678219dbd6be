"""What fit and path show of models: tables, JSON, a figure."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fairridge.cli.terminal import note, say, show
from fairridge.cli.training_data import Data
from fairridge.outputs import writing
from fairridge.tables import SHOWN_ROWS, Column, Table

# Bounds whose models a screen shows.
SHORT_PATH = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


def announce(training: Data) -> None:
    """Say what was made of the data."""
    note(f"Family: {training.family}, because {training.reason}.")
    for remark in training.remarks:
        note(remark)


def announce_size(training: Data) -> None:
    """Say before a fit how large it is, if that is known."""
    if training.encoded is not None:
        columns, encoded, rows = training.X.num_columns, training.encoded, training.X.num_rows
        note(f"note: {columns:,} columns become {encoded:,} encoded columns; {rows:,} rows.")


def show_model(model: Any, everything: bool) -> None:
    """Print facts and coefficients; many only if everything is wanted."""
    summary = model.summary()
    (whole,) = summary._tables()
    show(replace(whole, brief=not everything).text())
    if len(summary.coefficients) > SHOWN_ROWS and not everything:
        say("--all shows all coefficients.", style="dim")


def show_path(path: Any) -> None:
    """Print the models of a path, or some of many."""
    score = {"r_squared": "R²", "d_squared": "D²"}.get(path.score_name, path.score_name)
    rows = list(range(len(path.unfairness)))
    if len(rows) > SHOWN_ROWS:
        rows = sorted({int(abs(path.unfairness - r).argmin()) for r in SHORT_PATH})
    columns = {
        "r": Column(path.unfairness[rows], "r", ".4g"),
        "achieved": Column(path.achieved[rows], "achieved", ".2%"),
        "score": Column(path.score[rows], score, ".4f"),
        "lambda": Column(path.lambda_[rows], "λ(r)", ".4g"),
        "status": Column([path.status[k] for k in rows], "status"),
    }
    show(Table(f"Path: {path.definition}, in training", columns).text())
    if path.isolated:
        levels = ", ".join(f"{name} ({rows:,})" for name, rows in path.isolated.items())
        note(f"Isolated, since all their rows have the same outcome (rows): {levels}.")


def model_facts(model: Any, training: Data) -> dict[str, Any]:
    """Return what is known of a fitted model, for machines."""
    from fairridge.metrics.dependence_shares import WORDS

    summary, classes = model.summary(), list(getattr(model, "classes_", ()))
    return {
        "model": summary.title,
        "family": training.family,
        "classes": classes or None,
        "positive": getattr(model, "positive_", None),
        "reason": training.reason,
        "rows": model.n_rows_,
        "encoded_columns": len(model.coef_names_),
        "remarks": list(training.remarks),
        "response": training.response,
        "sensitive": list(training.roles.sensitive),
        "unfairness": model.unfairness,
        "achieved": model.unfairness_,
        **(dict.fromkeys(WORDS) | model.dependence_),
        "lambda": model.lambda_,
        "predictor_penalty": model.predictor_penalty_,
        "status": model.status_,
        "certificate": None if model.certificate_ is None else asdict(model.certificate_),
        "isolated": model.isolated_,
        "blind": model.blind,
        "controls": list(training.roles.controls),
        "group_differences": model.group_differences_,
        "explained_deviance": model.explained_deviance_,
        "log_likelihood": model.loglik_,
        "fingerprint": model.fingerprint_,
        "coefficients": [
            {
                "term": row.term,
                "role": row.role or "intercept",
                "coefficient": row.coefficient,
                "raw": row.raw,
                "explained_by_sensitive": row.explained,
            }
            for row in summary.coefficients
        ],
    }


def show_certificate(model: Any) -> None:
    """Say what a certified bound promises for the population."""
    known = model.certificate_
    if known is None:
        return
    certain = f"with {known.confidence:.4g} confidence, by {known.method}, {known.n_rows:,} rows"
    if not known.granted:
        upper = f"unfairness may be {known.upper:.4g} {certain}"
        say(f"No certificate: {known.warning or upper}.")
        return
    say(f"Certificate: unfairness in the population is at most {known.upper:.4g} {certain}.")
    price = "" if known.price is None else f", which lowers D² in training by {known.price:.4g}"
    fitted = f"For that the model was fitted with the bound {known.training_bound:.4g}{price}."
    say(fitted, style="dim")
    if known.warning is not None:
        say(f"It may not hold: {known.warning}.")


def announce_penalty(model: Any, path: Any) -> None:
    """Say at which bound the penalty on predictors was chosen, if it was."""
    if model.predictor_penalty == "cv":
        bound, value = model.unfairness, path.predictor_penalty
        note(f"Penalty on predictors, chosen by cross-validation at r = {bound}: {value:.4g}.")


def save_figure(path: Any, place: str) -> None:
    """Draw the coefficients of a path into a file."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'fairridge[plot]'") from error
    matplotlib.use("Agg")
    axes = path.plot("coefficients")
    with writing(place) as file:
        axes.figure.savefig(file, dpi=140, format=Path(place).suffix[1:].lower() or "png")
