"""Link the site to the repository that pyproject.toml names (a hook of MkDocs).

The address is written once, as "Repository" in `project.urls`; without it the site
has no such link.
"""

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
