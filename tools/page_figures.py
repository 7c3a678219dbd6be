"""Draw the figures of the documentation when the site is built (a hook of MkDocs).

A page shows a figure with `![What it shows](figures/NAME.svg)`. Such a file is
not in docs/: it is the figure that the Python of the page has drawn so far. So
no picture is committed, and none can differ from the code beside it.
"""

import contextlib
import io
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

# scikit-learn dispatches arrays only if this is set before SciPy is imported; one page does.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# The same blocks that tests/docs/test_pages.py runs, and the figures between them.
PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<figure>figures/[^)]+\.svg)\)",
    re.DOTALL | re.MULTILINE,
)


def draw(markdown: str) -> dict[str, bytes]:
    """Run the Python of a page and return its figures by file name.

    Parameters
    ----------
    markdown : str
        The page.

    Returns
    -------
    figures : dict[str, bytes]
        SVG by the name that the page gives it; empty, and nothing is run, if
        the page shows no figure.

    Raises
    ------
    ValueError
        If the page shows a figure before its code has drawn one.
    """
    parts = list(PART.finditer(markdown))
    if not any(part["figure"] for part in parts):
        return {}
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figures = {}
    reader: dict[str, Any] = {"__name__": "__main__"}
    # The same ids on every build, and letters that the browser can search.
    # And letters that are legible on a telephone, where a figure is half as wide as drawn.
    style = {"svg.hashsalt": "fairridge", "svg.fonttype": "none", "font.size": 13.0}
    # tests/docs/ holds that pages cause no warnings, but for those of other libraries.
    plt.close("all")  # whatever was drawn before
    with _scratch_folder(), plt.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            if part["code"] is not None:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(part["code"], "page", "exec"), reader)
                continue
            if not plt.get_fignums():
                raise ValueError(f"no code before {part['figure']} has drawn a figure")
            picture = io.BytesIO()
            plt.gcf().savefig(picture, format="svg", bbox_inches="tight", metadata={"Date": None})
            plt.close("all")
            figures[part["figure"]] = picture.getvalue()
    return figures


@contextlib.contextmanager
def _scratch_folder() -> Iterator[None]:
    # Pages write reports and models into the working directory.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Add the figures of a page to the files of the site (called by MkDocs)."""
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    try:
        figures = draw(markdown)
    except Exception as error:
        raise PluginError(f"{page.file.src_uri}: {error!r}") from error
    folder = os.path.dirname(page.file.src_uri)
    for name, picture in figures.items():
        files.append(File.generated(config, os.path.join(folder, name), content=picture))
    return markdown
