"""HTML that is safe by construction: text is escaped unless it is HTML already."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset({"br", "col", "input", "meta"})


class Html(str):
    """Text that is HTML; only `element` and `join` make it out of other text."""

    __slots__ = ()


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Make one element."""
    # Children that are text are escaped, HTML is not, None is nothing. ``class_`` is class,
    # ``data_view`` is data-view; attributes that are None or False are left out, and True has no
    # value.
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        parts.append(f" {label}" if value is True else f' {label}="{escape(str(value))}"')
    if name in VOID:
        return Html("".join([*parts, ">"]))
    return Html("".join([*parts, ">", join(children), f"</{name}>"]))


def join(children: Iterable[Any]) -> Html:
    """Put children one after another, escaping what is text."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str | int | float):
            parts.append(escape(str(child), quote=False))
        else:
            parts.append(join(child))
    return Html("".join(parts))


def section(identity: str, title: str, *children: Any) -> Html:
    """Make a section with a heading that links can point to."""
    label = f"{identity}-title"
    heading = element("h2", title, id=label)
    return element("section", heading, children, id=identity, aria_labelledby=label)


def remark(text: str) -> Html | None:
    """Make a remark below something; None for no text."""
    return element("p", text, class_="note") if text else None


def json_for_html(value: Any) -> Html:
    """Write JSON that no HTML parser can take for markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)
