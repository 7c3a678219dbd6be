"""A page of headings, text, tables and figures, as Markdown and as HTML."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Document"]

_STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
       padding: 0 1.2rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.6rem; } h3 { margin-top: 2rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.86rem; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: 0.4rem 0.6rem; text-align: left;
         vertical-align: top; }
th { border-bottom: 2px solid #999; } code { background: #f3f3f3; padding: 0.1rem 0.25rem; }
.holds { color: #0072B2; } .in-part { color: #2b7da8; } .not { color: #D55E00; }
figcaption { color: #555; font-size: 0.9rem; }
.wide { overflow-x: auto; }
"""


@dataclass
class Document:
    """Blocks in order, each known in both forms.

    Attributes
    ----------
    title : str
        Of the page.
    images : dict of str to bytes
        PNG files by name, which the HTML page carries within itself.
    folder : str
        Where the Markdown page finds the images.
    """

    title: str
    images: Mapping[str, bytes]
    folder: str
    _markdown: list[str] = field(default_factory=list)
    _html: list[str] = field(default_factory=list)

    def heading(self, text: str, level: int = 2) -> None:
        """Add a heading."""
        self._markdown.append(f"{'#' * level} {text}")
        self._html.append(f"<h{level}>{_inline(text)}</h{level}>")

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs, in which `code`, **bold** and [links](url) may occur."""
        for paragraph in paragraphs:
            self._markdown.append(paragraph)
            self._html.append(f"<p>{_inline(paragraph)}</p>")

    def items(self, entries: Sequence[str]) -> None:
        """Add a list."""
        if entries:
            self._markdown.append("\n".join(f"- {entry}" for entry in entries))
            listed = "".join(f"<li>{_inline(entry)}</li>" for entry in entries)
            self._html.append(f"<ul>{listed}</ul>")

    def code(self, text: str) -> None:
        """Add a block of code."""
        self._markdown.append(f"```bash\n{text}\n```")
        self._html.append(f"<pre><code>{html.escape(text)}</code></pre>")

    def figure(self, name: str, caption: str) -> None:
        """Add a figure, where it was drawn."""
        if name in self.images:
            self._markdown.append(f"![{caption}]({self.folder}/{name}.png)")
            data = base64.b64encode(self.images[name]).decode()
            image = f'<img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
        else:
            image = ""
        self._markdown.append(f"*{caption}*")
        self._html.append(f"<figure>{image}<figcaption>{_inline(caption)}</figcaption></figure>")

    def table(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table."""
        if not rows:
            return
        lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
        self._markdown.append("\n".join(lines))
        head = "".join(f"<th>{_inline(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{_inline(value)}</td>" for value in row) + "</tr>"
            for row in rows
        )
        self._html.append(
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def as_markdown(self) -> str:
        """Return the Markdown page."""
        return f"# {self.title}\n\n" + "\n\n".join(self._markdown) + "\n"

    def as_html(self) -> str:
        """Return a page that needs no other file."""
        body = "\n".join(self._html)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{_STYLE}</style></head>\n"
            f"<body><h1>{html.escape(self.title)}</h1>\n{body}\n</body></html>\n"
        )


def _cell(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ")


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    escaped = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', escaped)
