"""The command that shows everything on two data sets that ship."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fairridge.cli.inputs import read
from fairridge.cli.terminal import progress, say, table
from fairridge.cli.training_data import Columns, ModelOptions, make_model, prepare

__all__ = ["demo"]

CASES = ("german_credit", "communities_crime")
BOUND = 0.05
# Half of what a report has by default: enough to show, and quick.
FOLDS, REFITS = 5, 50
SHOWN = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


def demo(
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Where to write the reports.")
    ] = "demo-output",
) -> None:
    """Fit paths on two data sets that ship, show the trade-off, and write both reports."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "", out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        place = folder / f"{name}.html"
        training = prepare(read(f"builtin:{name}"), Columns())
        model = make_model(training, ModelOptions(unfairness=BOUND))
        with progress(name) as step:
            from fairridge import report

            written = report(
                model,
                training.X,
                training.y,
                place,
                cv=FOLDS,
                bootstrap=REFITS,
                response=training.response,
                source=training.origin,
                progress=step,
            )
        _show(name, written.contents)
        say(f"Report: {place.resolve()}\n", style="bold")
    say(
        "Bound: how much of what the model explains may come from the sensitive attributes. "
        "Ratio: lowest selection rate of a group over the highest (0.8: four-fifths rule). "
        "Accuracy, ratio and decisions are on held-out rows.",
        style="dim",
    )


def _show(name: str, contents: Any) -> None:
    subject, curve, sample = contents.subject, contents.accuracy[0], contents.main
    outcome = f" = {subject.outcome}" if subject.outcome else ""
    title = (
        f"{name}: {subject.family} model of {subject.response}{outcome}, "
        f"{subject.n_rows:,} rows, sensitive: {', '.join(subject.sensitive)}"
    )
    say(title, style="bold")
    rows = []
    for k in _positions(contents):
        audit, decisions = sample.audits[k], sample.decisions
        changed = decisions.all_gained[k] + decisions.all_lost[k]
        bound = "none" if k == contents.free else f"{contents.unfairness[k]:g}"
        rows.append(
            [
                f"{bound} ←" if k == contents.chosen else bound,
                f"{contents.achieved[k]:.1%}",
                f"{curve.best_known[k]:.3f} ± {curve.error[k]:.3f}",
                f"{audit.demographic_parity_ratio:.2f}",
                f"{changed:,}",
            ]
        )
    head = ["bound r", "achieved", curve.name, "lowest ratio", "decisions changed"]
    table("", head, rows)


def _positions(contents: Any) -> list[int]:
    """Return the bounds nearest to round ones, while they bind, and no bound."""
    found = []
    for bound in SHOWN:
        k = int(np.argmin(np.abs(contents.unfairness[:-1] - bound)))
        if abs(contents.unfairness[k] - bound) < 0.25 * max(bound, 1e-9) + 1e-12:
            found.append(k)
    return sorted({*found, contents.chosen, contents.free})
