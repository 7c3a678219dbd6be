"""The description on a package index, made from the README (a metadata hook of Hatchling).

A package index shows the README without the repository around it, so relative
links and pictures lead nowhere there. Links to pages of docs/ become links to the
site if `project.urls` in pyproject.toml has a "Documentation", and plain text
otherwise. Passages between the comments `<!-- repository only -->` and
`<!-- end -->` are left out, and so are pictures of the repository.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY_ONLY = re.compile(r"<!-- repository only -->.*?<!-- end -->\n*", re.DOTALL)
RELATIVE_PICTURE = re.compile(r"^!\[[^]]*\]\((?![a-z]+:)[^)\s]+\)\n+", re.MULTILINE)
# Text in brackets and a target that has no scheme. Code in the text may contain brackets.
RELATIVE_LINK = re.compile(r"(?<!!)\[((?:`[^`]*`|[^][`])+)\]\((?![a-z]+:)([^)\s]+)\)")
PAGE = re.compile(r"docs/([\w/-]+)\.md(#[\w-]+)?")


def for_package_index(readme: str, documentation: str | None = None) -> str:
    """Return the README without relative links and pictures.

    Parameters
    ----------
    readme : str
        Markdown.
    documentation : str, optional
        Address of the site, to which links to pages of docs/ then lead.

    Returns
    -------
    description : str
        Markdown that needs no repository.
    """

    def replaced(link: re.Match[str]) -> str:
        text, target = link.groups()
        page = PAGE.fullmatch(target)
        if documentation is None or page is None:
            return text
        return f"[{text}]({documentation.rstrip('/')}/{page[1]}.html{page[2] or ''})"

    text = RELATIVE_PICTURE.sub("", REPOSITORY_ONLY.sub("", readme))
    return RELATIVE_LINK.sub(replaced, text)


class LongDescription(MetadataHookInterface):
    """Fills in the field `readme`, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read the README of the tree that is built."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        documentation = metadata.get("urls", {}).get("Documentation")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": for_package_index(text, documentation),
        }
