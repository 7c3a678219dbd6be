"""The command that shows everything on two data sets that ship."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from fairridge.cli.inputs import BUILTIN
from fairridge.cli.options import Columns, option
from fairridge.cli.terminal import progress, say, show
from fairridge.cli.training_data import make_model, read_data
from fairridge.tables import Column, Table

# The data sets, and the outcome that people want: GOOD credit, and little crime.
CASES = {"german_credit": "GOOD", "communities_crime": "low"}
# Bounds that are shown, while they bind.
SHOWN_BOUNDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


def demo(
    out: Annotated[
        str, option("DIR", "Where to write the reports.", "--out", "-o")
    ] = "demo-output",
) -> None:
    """Fit paths on two data sets that ship, show the trade-off, and write both reports."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "", out)
    folder.mkdir(parents=True, exist_ok=True)
    findings = ""
    for name, favorable in CASES.items():
        place = folder / f"{name}.html"
        training = read_data(f"{BUILTIN}{name}", Columns(), {})
        model = make_model(training, {})
        with progress(name) as step:
            from fairridge import report

            written = report(
                model,
                training.X,
                training.y,
                place,
                cv=5,  # half of what a report has by default, as of refits: quick
                bootstrap=50,
                response=training.response,
                favorable=favorable,
                source=training.origin,
                progress=step,
            )
        _show(name, written.contents)
        if name == "german_credit":
            findings = _findings(written.contents)
        say(f"Report: {place.resolve()}\n", style="bold")
    say(
        "bound r: how much of what the model explains may come from the sensitive attributes; "
        "achieved: how much does, in training. All others are on held-out rows. "
        "lowest ratio: share of a group for which the favorable outcome is predicted, lowest over "
        "highest (0.8: four-fifths rule). decisions changed: against no bound. "
        "largest SMD: standardized mean difference between a group and all others.",
        style="dim",
    )
    say(f"\nIn short, for the loans: {findings}", style="bold")


def _findings(contents: Any) -> str:
    """Say in three sentences what the bound does, what it costs, and what is left."""
    k, free, curve = contents.chosen, contents.free, contents.accuracy[0]
    changed, audits = contents.main.decisions.changed[k], contents.main.audits
    before, after = (100 * audits[j].demographic_parity_ratio for j in (free, k))
    attributes = ", ".join(contents.subject.sensitive)
    return (
        f"{attributes} may account for at most {100 * contents.unfairness[k]:g} % of what the "
        f"model explains, and account for {contents.achieved[free]:.1%} without that bound. "
        f"On applicants that the model has not seen, the bound changes {changed:,} of "
        f"{contents.subject.n_rows:,} decisions and takes {curve.name} from "
        f"{curve.best_known[free]:.3f} to {curve.best_known[k]:.3f} (± {curve.error[k]:.3f}). "
        f"For every 100 approvals in the group with the highest rate, the group with the lowest "
        f"gets {after:.0f} instead of {before:.0f}; the four-fifths rule asks for 80."
    )


def _show(name: str, contents: Any) -> None:
    subject, curve, sample = contents.subject, contents.accuracy[0], contents.main
    title = (
        f"{name}: {subject.family} model of {subject.modeled}, "
        f"{subject.n_rows:,} rows, sensitive: {', '.join(subject.sensitive)}"
    )
    say(title, style="bold")
    if subject.rule:
        say(f"{subject.favorable[0].upper()}{subject.favorable[1:]}: {subject.rule}.")
    free, chosen = contents.free, contents.chosen
    # The bounds nearest to round ones, while they bind, and no bound.
    found = {chosen, free}
    for bound in SHOWN_BOUNDS:
        k = int(np.argmin(np.abs(contents.unfairness[:-1] - bound)))
        if abs(contents.unfairness[k] - bound) < 0.25 * max(bound, 1e-9) + 1e-12:
            found.add(k)
    rows = sorted(found)
    bounds = [
        ("none" if k == free else f"{contents.unfairness[k]:g}") + " ←" * (k == chosen)
        for k in rows
    ]
    scores = [f"{curve.best_known[k]:.3f} ± {curve.error[k]:.3f}" for k in rows]
    columns = {
        "bound": Column(bounds, "bound r"),
        "achieved": Column([contents.achieved[k] for k in rows], "achieved", ".1%"),
        "score": Column(scores, curve.name),
    }
    audits, decisions = [sample.audits[k] for k in rows], sample.decisions
    if decisions is None:
        distances = [audit.standardized_mean_difference for audit in audits]
        columns["distance"] = Column(distances, "largest SMD", ".2f")
    else:
        ratios = [audit.demographic_parity_ratio for audit in audits]
        columns["ratio"] = Column(ratios, "lowest ratio", ".2f")
        columns["changed"] = Column([decisions.changed[k] for k in rows], "decisions changed", ",")
    show(Table(columns=columns).text())
