"""Give every public name a page of its own when the site is built (a hook of MkDocs).

`docs/api.md` lists the names by task, one `::: name` each. The build makes a page
`api/NAME.md` of each, below the list in the navigation, and shows a table with links and
summaries in its place.
"""

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

PAGE = "api.md"
# `::: name`, with options of the reference that belong to it.
ENTRY = re.compile(r"^::: (?P<name>\S+)\n(?P<options>(?:    .*\n)*)", re.MULTILINE)
# Entries that follow each other make one table.
RUN = re.compile(r"(?:^::: \S+\n(?:    .*\n)*\n*)+", re.MULTILINE)


def entries(markdown: str) -> dict[str, str]:
    """Return the names that the page lists, with their options."""
    return {entry["name"]: entry["options"] for entry in ENTRY.finditer(markdown + "\n")}


def title(name: str) -> str:
    """Return what a page is called: the name, with its module unless that is fairridge."""
    return name.removeprefix("fairridge.")


def page_of(name: str, options: str) -> str:
    """Return the page of a name."""
    settings = options or "    options:\n"
    return (
        f"---\ndescription: {json.dumps(summary_of(name), ensure_ascii=False)}\n---\n\n"
        f"# {title(name)}\n\n::: {name}\n{settings}"
        "      heading_level: 2\n      show_root_full_path: true\n"
        f"\n[All public names](../{PAGE})\n"
    )


def found(name: str) -> Any:
    """Return what has a public name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def is_documented(name: str) -> bool:
    """Return whether a name is that of a class or a function, and not of a constant."""
    return inspect.isroutine(found(name)) or inspect.isclass(found(name))


def summary_of(name: str) -> str:
    """Return the first sentence of a docstring."""
    if not is_documented(name):
        values = ", ".join(map(repr, get_args(found(name)) or found(name)))
        return f"A constant: {values}."
    return (
        (inspect.getdoc(found(name)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    )


def indexed(markdown: str) -> str:
    """Return the page with tables of links in place of the entries."""

    def table(run: re.Match[str]) -> str:
        rows = (
            f"| [`{title(name)}`](api/{title(name)}.md) | {summary_of(name)} |\n"
            for name in entries(run[0])
        )
        return "| name | |\n|---|---|\n" + "".join(rows) + "\n"

    return RUN.sub(table, markdown + "\n")


def with_section(nav: list[Any], page: str, section: list[Any]) -> list[Any]:
    """Return a navigation with a section in place of a page."""
    found = []
    for entry in nav:
        if isinstance(entry, dict):
            ((name, inside),) = entry.items()
            if inside == page:
                entry = {name: section}
            elif isinstance(inside, list):
                entry = {name: with_section(inside, page, section)}
        found.append(entry)
    return found


def on_config(config: Any) -> Any:
    """Put the pages into the navigation (called by MkDocs)."""
    listed = entries(Path(config.docs_dir, PAGE).read_text(encoding="utf-8"))
    pages = [{title(name): f"api/{title(name)}.md"} for name in listed]
    config.nav = with_section(config.nav, PAGE, [{"All names": PAGE}, *pages])
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages (called by MkDocs)."""
    from mkdocs.structure.files import File

    listed = entries(files.get_file_from_path(PAGE).content_string)
    for name, options in listed.items():
        path = f"api/{title(name)}.md"
        files.append(File.generated(config, path, content=page_of(name, options)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Show the tables (called by MkDocs)."""
    return indexed(markdown) if page.file.src_uri == PAGE else markdown
