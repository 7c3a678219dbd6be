"""List the links that leave the site on a page of their own (a hook of MkDocs).

A strict build checks every link within the site. Links to other sites cannot be
checked without a network, so the page `links.md` names them with the pages that use
them. The build makes it, so it cannot be out of date. `python -m tools.external_links`
prints it.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NAME = "links.md"
BESIDE_THE_SITE = (
    "README.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "CHANGELOG.md",
)
FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((https?://[^)\s]+)\)|<(https?://[^>\s]+)>")
INTRODUCTION = """# External links

These are the links to other sites, with the pages that use them. Files such as README.md,
which have no link here, are in the repository only. The build checks all links between
pages; it cannot check external ones without a network.
"""


def external_links(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the addresses that Markdown links to, each with the files that do so.

    Parameters
    ----------
    texts : dict[str, str]
        Markdown by name of file.

    Returns
    -------
    links : dict[str, list[str]]
        Names of files by address, both sorted. Code is not searched.
    """
    found: dict[str, set[str]] = {}
    for name, text in texts.items():
        for groups in LINK.findall(FENCED.sub("", text)):
            found.setdefault("".join(groups), set()).add(name)
    return {address: sorted(found[address]) for address in sorted(found)}


def links_page(root: Path = ROOT) -> str:
    """Return the page that lists the external links of a tree."""
    docs = root / "docs"
    pages = {path.relative_to(docs).as_posix(): path for path in docs.rglob("*.md")}
    beside = {name: root / name for name in BESIDE_THE_SITE}
    texts = {name: path.read_text(encoding="utf-8") for name, path in (pages | beside).items()}
    lines = [INTRODUCTION, "| address | used on |", "|---|---|"]
    for address, names in external_links(texts).items():
        used = ", ".join(f"[{name}]({name})" if name in pages else name for name in names)
        lines.append(f"| <{address}> | {used} |")
    return "\n".join(lines) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the page to the files of the site (called by MkDocs)."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, NAME, content=links_page()))
    return files


if __name__ == "__main__":
    print(links_page())
