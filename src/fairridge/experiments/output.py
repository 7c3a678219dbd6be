"""From results to files: tables, figures, claims and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairridge.experiments.claims import CLAIMS, judge
from fairridge.experiments.figures import FIGURES
from fairridge.experiments.page import Judged, claims_table, tally, write_page
from fairridge.experiments.results import Results, SkippedError
from fairridge.experiments.table import Table, write_whole
from fairridge.report.experiments import draw_sheet, draw_tally, render

__all__ = ["write_all"]


def write_all(results: Results, out: Path, docs: Path | None = None) -> list[str]:
    """Write everything into a folder, and say what was written.

    Parameters
    ----------
    results : Results
        What the experiments found.
    out : Path
        The folder: ``tables/``, ``figures/``, ``claims.csv``, ``index.md`` and
        ``index.html``.
    docs : Path, optional
        A folder of documentation, for the page and its figures alone.
    """
    order = sorted(CLAIMS, key=lambda one: (one.section, one.number))
    judged = [(one, judge(one, results)) for one in order]
    tables = _tables(results)
    for name, table in tables.items():
        write_whole(out / "tables" / f"{name}.csv", table.to_csv())
    write_whole(out / "claims.csv", claims_table(judged).to_csv())
    files, lines = _figures(tables, judged)
    for name, kinds in files.items():
        for kind, content in kinds.items():
            write_whole(out / "figures" / f"{name}.{kind}", content)
    images = {name: kinds["png"] for name, kinds in files.items()}
    page = write_page(results, judged, images, "figures")
    write_whole(out / "index.md", page.as_markdown())
    write_whole(out / "index.html", page.as_html())
    lines.append(f"{len(tables)} tables, {len(files)} figures, {len(judged)} claims: {out}")
    lines.append(f"page: {out / 'index.html'}")
    if docs is not None:
        lines.append(f"page: {_into_docs(results, judged, images, docs)}")
    return lines


def _tables(results: Results) -> dict[str, Table]:
    """Return the tables of the figures for which there are results."""
    tables = {}
    for figure in FIGURES:
        try:
            tables[figure.name] = figure.table(results)
        except SkippedError:
            continue
    return tables


def _figures(
    tables: Mapping[str, Table], judged: Judged
) -> tuple[dict[str, dict[str, bytes]], list[str]]:
    """Draw what can be drawn; without matplotlib there are tables only."""
    files = {}
    try:
        for figure in FIGURES:
            if figure.name in tables:
                files[figure.name] = render(draw_sheet(figure.sheet(tables[figure.name])))
        files["verdicts"] = render(draw_tally(tally(judged)))
    except ImportError as error:
        return {}, [f"figures: skipped ({error})"]
    return files, []


def _into_docs(results: Results, judged: Judged, images: Mapping[str, bytes], docs: Path) -> Path:
    for name, content in images.items():
        write_whole(docs / "img" / "reproduction" / f"{name}.png", content)
    page = write_page(results, judged, images, "img/reproduction")
    write_whole(docs / "reproduction.md", page.as_markdown())
    return docs / "reproduction.md"
