"""From results to files: tables, figures, claims and the page."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from latex2mathml.converter import convert
from markdown_it import MarkdownIt

from reproduction.claims import CLAIMS, judge
from reproduction.drawing import render
from reproduction.figures import FIGURES
from reproduction.page import TITLE, claims_table, details_page, markdown_page
from reproduction.results import Results, SkippedError

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
       padding: 0 1.2rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.6rem; } h3 { margin-top: 2rem; }
img { max-width: 100%; height: auto; } p > em { color: #555; font-size: 0.9rem; }
/* Wide tables scroll within themselves, and show a shadow where they go on. */
table { border-collapse: collapse; font-size: 0.86rem; margin: 1rem 0; display: block;
        overflow-x: auto;
        background: linear-gradient(to right, #fff 1rem, transparent 2rem) 0 0 / 2rem 100%
          no-repeat local, linear-gradient(to left, #fff 1rem, transparent 2rem) 100% 0 / 2rem 100%
          no-repeat local, linear-gradient(to right, #0005, transparent) 0 0 / 0.7rem 100% no-repeat
          scroll, linear-gradient(to left, #0005, transparent) 100% 0 / 0.7rem 100% no-repeat
          scroll; }
table:has(.verdict) td:nth-child(2) { min-width: 9rem; }
table:has(.verdict) td:last-child { min-width: 14rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.4rem 0.6rem; text-align: left;
         vertical-align: top; }
th { border-bottom: 2px solid #999; }
.verdict { white-space: nowrap; border-radius: 0.7rem; padding: 0.05rem 0.5rem; color: #fff;
           font-weight: 600; }
.holds { background: #1b7a3d; } .corrected { background: #0b6e75; }
.software { background: #4a5a8a; } .part { background: #8a6100; }
.fails { background: #b3261e; } .open { background: #5f6368; }
code { background: #f3f3f3; padding: 0.1rem 0.25rem; }
@media screen and (max-width: 45rem) { /* so that text in figures can be read */
  p:has(> img) { overflow-x: auto; } img { max-width: none; width: 52rem; }
}
@page { size: A4; margin: 16mm 14mm; }
@media print {
  body { font-size: 10pt; max-width: none; margin: 0; padding: 0; }
  table { display: table; font-size: 8pt; } tr, img { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""


# The second page, a file of the repository.
DETAILS = "reproduction/details.md"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def write_all(
    results: Results, out: Path, docs: Path | None = None
) -> tuple[list[str], list[Path]]:
    """Write everything into a folder; return lines that say what was written, and its pages.

    The folder gets ``tables/``, ``figures/``, ``claims.csv``, ``index.md``,
    ``index.html``, which needs no other file, the same of the details, and
    ``index.pdf`` if there is a browser; `docs`, a folder of documentation, the
    page and its figures, and the folder ``reproduction`` beside it the details.
    """
    judged = [(one, judge(one, results)) for one in CLAIMS]
    tables = _tables(results)
    figures = {
        figure.name: render(figure.draw(tables[figure.name]))
        for figure in FIGURES
        if figure.name in tables
    }
    images = {name: kinds["png"] for name, kinds in figures.items()}
    page = markdown_page(results, judged, {name: f"figures/{name}.png" for name in images})
    details = details_page(results, judged)
    files: dict[str, bytes] = {
        f"figures/{name}.{kind}": content
        for name, kinds in figures.items()
        for kind, content in kinds.items()
    }
    texts = {f"tables/{name}.csv": table.to_csv(index=False) for name, table in tables.items()}
    texts |= {
        "claims.csv": claims_table(judged).to_csv(index=False),
        "index.md": page,
        "index.html": html_page(page, images),
        "details.md": details,
        "details.html": html_page(details, images),
    }
    _write(out, files | {name: text.encode() for name, text in texts.items()})
    lines = [f"{len(tables)} tables, {len(figures)} figures, {len(judged)} statements: {out}"]
    lines += [f"page: {out / 'index.html'}", _print_pdf(out)]
    pages = [out / name for name in texts]
    if docs is not None:
        places = {name: f"img/reproduction/{name}.png" for name in images}
        page = markdown_page(results, judged, places, f"../{DETAILS}")
        details = details_page(results, judged, f"../{docs.name}/reproduction.md")
        _write(docs, {places[name]: image for name, image in images.items()})
        _write(docs, {"reproduction.md": page.encode()})
        _write(docs.parent, {DETAILS: details.encode()})
        pages += [docs / "reproduction.md", docs.parent / DETAILS]
        lines.append(f"page: {pages[-2]}, details: {pages[-1]}")
    return lines, pages


def _tables(results: Results) -> dict[str, pd.DataFrame]:
    """Return the tables of the figures for which there are results."""
    tables = {}
    for figure in FIGURES:
        try:
            tables[figure.name] = figure.table(results)
        except SkippedError:
            continue
    return tables


def html_page(page: str, images: Mapping[str, bytes]) -> str:
    """Return a Markdown page as HTML that needs no other file.

    Formulas are kept from Markdown, to which two subscripts are emphasis.
    """
    formulas = re.findall(r"\$([^$]+)\$", page)
    body: str = MarkdownIt().enable("table").render(re.sub(r"\$[^$]+\$", "$$", page))

    def embedded(match: re.Match[str]) -> str:
        data = base64.b64encode(images[match[1]]).decode()
        return f'src="data:image/png;base64,{data}"'

    body = re.sub(r'src="figures/([^"]+)\.png"', embedded, body)
    rest = iter(formulas)
    body = re.sub(r"\$\$", lambda _: convert(next(rest)), body)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE}</title><style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )


def _print_pdf(out: Path) -> str:
    """Print the page by a browser, and say so."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return "no PDF: there is no Chromium or Chrome to print it"
    target = (out / "index.pdf").resolve()
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={target}",
            (out / "index.html").resolve().as_uri(),
        ]  # fmt: skip
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            return f"no PDF: {browser} failed ({error.__class__.__name__})"
    return f"PDF: {target}"


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
