"""Link the site to the repository that pyproject.toml names (a hook of MkDocs).

The address is written once, as "Repository" in `project.urls`; without it the site
has no such link, and says of other files of the repository where they are.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def repository(project: dict[str, Any]) -> str | None:
    """Return the address of the repository, if the project has one."""
    return project.get("urls", {}).get("Repository")


def on_config(config: Any) -> Any:
    """Set the link in the header (called by MkDocs)."""
    address = repository(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])
    if address is not None:
        config.repo_url, config.repo_name = address, "Repository"
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Link files outside of docs/ to the repository (called by MkDocs)."""
    if "/" in page.file.src_uri:  # whose links upward stay within docs/
        return markdown
    address = repository(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])

    def written(found: re.Match[str]) -> str:
        text, path = found.groups()
        if address is None:
            return f"{text} (`{path}` in the repository)"
        return f"[{text}]({address}/blob/main/{path})"

    return re.sub(r"\[([^\]]+)\]\(\.\./((?!\.\./)[^)]+)\)", written, markdown)
