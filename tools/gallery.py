"""Render the scripts in examples/ with what they print and draw (a hook of MkDocs).

A script begins with a docstring: its title, an empty line, and what it shows.
`# %%` begins a cell; comments right after it are text. The build runs the cells
of a script in order, and shows after each what it printed, the value of its last
line and what it drew. The first figure of a script is its thumbnail.
"""

import ast
import contextlib
import io
import os
import re
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.api_pages import with_section

FOLDER = Path(__file__).parents[1] / "examples"
PAGE = "gallery"


@dataclass(frozen=True)
class Cell:
    """A part of a script, and what it left."""

    text: str
    code: str
    printed: str = ""
    html: str = ""
    figures: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Example:
    """A script as a page shows it."""

    name: str
    title: str
    about: str
    cells: tuple[Cell, ...] = field(default=())


def scripts() -> list[Path]:
    """Return the scripts that the gallery shows, in order."""
    return sorted(FOLDER.glob("[0-9]*.py"))


def read(script: Path) -> Example:
    """Split a script into cells, without running it."""
    source = script.read_text(encoding="utf-8")
    title, _, about = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    body = source.split('"""', 2)[2]
    cells = []
    for part in re.split(r"^# %%.*\n", body, flags=re.MULTILINE):
        lead = re.match(r"(?:# ?.*\n)*", part)
        comments = lead[0] if lead else ""
        text = re.sub(r"^# ?", "", comments, flags=re.MULTILINE).strip()
        code = part[len(comments) :].strip()
        if text or code:
            cells.append(Cell(text, code))
    return Example(script.stem.partition("_")[2], title.rstrip("."), about, tuple(cells))


def run(example: Example) -> Example:
    """Run the cells of an example in a folder of their own."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    reader: dict[str, Any] = {"__name__": "__main__"}
    style = {
        "svg.hashsalt": "fairridge",
        "figure.figsize": (6.0, 3.6),
        "font.size": 12,
        "svg.fonttype": "none",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        plt.rc_context(style),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        cells = tuple(_ran(cell, reader) for cell in example.cells)
    return Example(example.name, example.title, example.about, cells)


def _ran(cell: Cell, reader: dict[str, Any]) -> Cell:
    import matplotlib.pyplot as plt

    tree = ast.parse(cell.code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "example", "exec"), reader)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "example", "eval"), reader)
    figures = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="svg", bbox_inches="tight")
        figures.append(picture.getvalue())
    plt.close("all")
    html = getattr(value, "_repr_html_", None)
    shown = "" if figures or value is None or html else f"{value!r}\n"
    text = printed.getvalue() + shown
    return Cell(cell.text, cell.code, text, html() if html else "", tuple(figures))


def page_of(example: Example) -> tuple[str, dict[str, bytes]]:
    """Return an example as Markdown, and its figures by file name."""
    parts, figures = [f"# {example.title}", example.about], {}
    for cell in example.cells:
        parts += [cell.text] if cell.text else []
        parts += [f"```python\n{cell.code}\n```"] if cell.code else []
        parts += [f"```text\n{cell.printed.rstrip()}\n```"] if cell.printed.strip() else []
        parts += [f'<div class="output" markdown="0">{cell.html}</div>'] if cell.html else []
        for picture in cell.figures:
            name = f"{example.name}-{len(figures) + 1}.svg"
            figures[name] = picture
            parts.append(f"![{example.title}]({name})")
    parts.append(f"[Download the script]({example.name}.py){{download}}")
    return "\n\n".join(parts) + "\n", figures


def index_of(examples: list[Example]) -> str:
    """Return the page that shows all examples."""
    cards = []
    for example in examples:
        drawn = any(cell.figures for cell in example.cells)
        picture = f"    ![]({example.name}-1.svg){{.thumbnail}}\n\n" if drawn else ""
        cards.append(
            f"- [**{example.title}**]({example.name}.md)\n\n{picture}    {example.about}\n"
        )
    lead = "Each example runs in less than a minute, and can be downloaded as a script.\n"
    return (
        f'# Gallery\n\n{lead}\n<div class="grid cards" markdown>\n\n'
        + "\n".join(cards)
        + "\n</div>\n"
    )


def on_config(config: Any) -> Any:
    """Put the pages into the navigation (called by MkDocs)."""
    examples = map(read, scripts())
    pages = [{one.title.rstrip("."): f"{PAGE}/{one.name}.md"} for one in examples]
    index = f"{PAGE}/index.md"
    config.nav = with_section(config.nav, index, [index, *pages])
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages, their figures and the scripts (called by MkDocs)."""
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    examples = []
    for script in scripts():
        try:
            example = run(read(script))
        except Exception as error:
            raise PluginError(f"{script.name}: {error!r}") from error
        examples.append(example)
        text, figures = page_of(example)
        made: dict[str, str | bytes] = {f"{example.name}.md": text, **figures}
        made[f"{example.name}.py"] = script.read_text(encoding="utf-8")
        for name, content in made.items():
            files.append(File.generated(config, os.path.join(PAGE, name), content=content))
    files.append(File.generated(config, f"{PAGE}/index.md", content=index_of(examples)))
    return files
