"""Public names are documented in full, and examples in docstrings print what they say."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from tools import api_pages

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
# Examples that import a large package, or fit many models; those of Spark are tested with it.
SLOW = {
    f"fairridge.{name}"
    for name in (
        "families.distances",
        "families.loglinear",
        "fairness.means",
        "peers.reductions.estimator",
        "reports.html.page",
        "sources._dask",
        "validation.choice",
        "validation.comparison",
        "validation.comparison_result",
        "validation.report.write",
    )
}
SPARK = "fairridge.sources._spark"
NAMES = [
    name
    for name in api_pages.entries((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    if api_pages.is_documented(name)
]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in MODULES
        if name != SPARK
    ],
)
def test_the_examples_of_a_module_run(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def sections_of(found):
    return set(re.findall(r"^([A-Z][\w ]*)\n-{3,}$", inspect.getdoc(found), re.MULTILINE))


def arguments_of(found):
    """What a caller may pass; nothing to errors, protocols and abstract classes."""
    if inspect.isclass(found) and (inspect.isabstract(found) or issubclass(found, Exception)):
        return []
    if getattr(found, "_is_protocol", False):
        return []
    return list(inspect.signature(found).parameters)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented_in_full(name):
    found = api_pages.found(name)
    sections = sections_of(found)
    assert sections >= {"See Also", "References", "Examples"}
    if inspect.isclass(found):
        assert sections & {"Parameters", "Attributes"} or not arguments_of(found)
    else:
        assert "Parameters" in sections or not arguments_of(found)
        assert "Returns" in sections or inspect.signature(found).return_annotation == "None"


@pytest.mark.parametrize("name", NAMES)
def test_names_beside_a_public_name_are_public(name):
    """A name is one of its module, or has its module before it."""
    found = api_pages.found(name)
    section = inspect.getdoc(found).partition("See Also\n--------\n")[2].partition("\n\n")[0]
    near = re.findall(r"^(\S+) :", section, re.MULTILINE)
    assert near
    home = name.rpartition(".")[0]
    known = set(api_pages.entries((ROOT / "docs/api.md").read_text(encoding="utf-8")))
    assert {one if one in known else f"{home}.{one}" for one in near} <= known


def test_pages_and_headings_that_docstrings_refer_to_exist():
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    pages = set(re.findall(r"\bdocs/[\w/-]+\.md", text))
    headings = set(re.findall(r'"([^"\n]+)"\s+in\s+(docs/[\w/-]+\.md)', text))
    assert pages
    assert headings
    assert not [page for page in pages if not (ROOT / page).is_file()]
    for heading, page in headings:
        found = re.search(rf"^#+ {re.escape(heading)}$", (ROOT / page).read_text("utf-8"), re.M)
        assert found, (page, heading)


@pytest.mark.slow
def test_the_site_shows_lists_with_links():
    griffe = pytest.importorskip("griffe", reason="griffe is not installed")
    from tools.docstring_lists import with_lists

    doc = inspect.cleandoc(
        """Load.

        See Also
        --------
        load : Any of them,
            by name.
        fairridge.audit : Tables.

        References
        ----------
        .. [1] "The model" in
            docs/model.md.
        """
    )
    known = ["fairridge.load", "fairridge.audit", "fairridge.datasets.load"]
    lists = with_lists(doc, "fairridge.datasets.shipped.load_adult", known)
    assert '- <a href="datasets.load.html"><code>load</code></a>: Any of them, by name.\n' in lists
    assert '- <a href="audit.html"><code>fairridge.audit</code></a>: Tables.\n' in lists
    assert '1. "The model" in <a href="../model.html">docs/model.md</a>.' in lists
    extensions = griffe.load_extensions(str(ROOT / "tools/docstring_lists.py"))
    package = griffe.load("fairridge", search_paths=[SOURCE], extensions=extensions)
    assert (
        '"FairRidgeClassifier.html"'
        in package["estimators.regressor.FairRidgeRegressor"].docstring.value
    )
