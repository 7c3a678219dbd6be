"""Run all benchmarks and write the table.

``python -m benchmarks [--out FILE] [--only gaussian|logistic|means|validation|streaming|wide]``
"""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.logistic import logistic_table
from benchmarks.mean_parity import mean_parity_table
from benchmarks.measure import peak_memory, seconds
from benchmarks.problems import PROBLEMS
from benchmarks.rivals import bare, ours, scikit_learn, statsmodels_ols
from benchmarks.streaming import streaming_table
from benchmarks.validation import validation_table
from benchmarks.wide import wide_table

RIVALS = (bare, ours, scikit_learn, statsmodels_ols)
LIBRARIES = ("fairridge", "numpy", "scikit-learn", "statsmodels", "fairlearn")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-output/benchmarks.md"))
    parser.add_argument(
        "--only", choices=["gaussian", "logistic", "means", "validation", "streaming", "wide"]
    )
    arguments = parser.parse_args()
    lines = [header()]
    if arguments.only in (None, "gaussian"):
        # First, while this process is small: on Linux a child starts from its parent's peak.
        memory = memory_line()
        lines += ["## Gaussian paths", "", *gaussian_table(), "", memory, ""]
    if arguments.only in (None, "logistic"):
        lines += ["## Logistic, Cox and multinomial models", "", *logistic_table(), ""]
    if arguments.only in (None, "means"):
        lines += ["## Bounds on predicted means", "", *mean_parity_table(), ""]
    if arguments.only in (None, "validation"):
        lines += ["## 50 × 10-fold cross-validation, 7 bounds", "", *validation_table(), ""]
    if arguments.only in (None, "streaming"):
        lines += ["## Rows in files", "", *streaming_table(), ""]
    if arguments.only in (None, "wide"):
        lines += ["## More columns than rows", "", *wide_table()]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print(f"\nwritten to {arguments.out}")


def header() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"{platform.machine()}, Python {platform.python_version()}, {versions}.\n"


def gaussian_table() -> list[str]:
    """Seconds, and in brackets the multiple of the bare product."""
    titles = [f"{p.name}: n={p.n:,}, p={p.p}, q={p.q}" for p in PROBLEMS]
    rows: dict[str, list[str]] = {}
    for problem in PROBLEMS:
        floor = None
        for rival in RIVALS:
            for name, case in rival.CASES.items():
                try:
                    taken = seconds(case, problem)
                except NotImplementedError as reason:
                    rows.setdefault(name, []).append(f"not run ({reason})")
                    continue
                floor = floor or taken
                rows.setdefault(name, []).append(f"{taken * 1e3:,.2f} ms ({taken / floor:.2f}×)")
                print(f"{problem.name:8} {name:50} {rows[name][-1]}", flush=True)
        problem.__dict__.pop("data", None)
    table = ["| | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(titles)]
    return table + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]


def memory_line() -> str:
    problem = PROBLEMS[-1]
    peaks = {name: peak_memory(case, problem) for name, case in ours.CASES.items()}
    worst = "; ".join(f"{name}: {peak:.2f}×" for name, peak in peaks.items())
    return f"Peak memory on the large problem, input included, as a multiple of the input: {worst}."


if __name__ == "__main__":
    main()
