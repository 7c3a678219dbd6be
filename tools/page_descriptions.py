"""Describe each page to search engines by its first sentences (a hook of MkDocs)."""

import re
from typing import Any

LONGEST = 160
# Markup, and what of it is text.
MARKUP = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\*\*|`|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)"), ""),
)
# A paragraph of text: no heading, list, table, picture, code or formula.
TEXT = re.compile(r"(?![^`]*```)[\w“*\[`][^$]*\Z")


def description_of(markdown: str) -> str | None:
    """Return as many first sentences of a page as search engines show, at least one."""
    text = next(filter(TEXT.match, re.split(r"\n\s*\n", markdown.strip())), None)
    if text is None:
        return None
    for pattern, kept in MARKUP:
        text = pattern.sub(kept, text)
    first, *others = re.split(r"(?<=[.?!:]) +", " ".join(text.split()))
    for sentence in others:
        if len(first) + len(sentence) >= LONGEST:
            break
        first = f"{first} {sentence}"
    return f"{first[:-1]}." if first.endswith(":") else first


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Describe the page, unless it does so itself (called by MkDocs)."""
    if "description" not in page.meta:
        page.meta["description"] = description_of(markdown)
    return markdown
