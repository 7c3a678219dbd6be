"""Formulas of the documentation as MathML, which browsers draw themselves: a hook of MkDocs.

Pages write $…$ and $$…$$, as on GitHub. The site needs no script and no font
for that, and works from disk.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves of a formula, in a line or on its own.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page that is already HTML."""
    content = INLINE.sub(lambda found: convert(html.unescape(found[1])), content)
    return DISPLAYED.sub(lambda found: convert(html.unescape(found[1]), display="block"), content)
