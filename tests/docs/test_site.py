"""Every page is in the navigation, every link leads somewhere, every name is there once."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

import fairridge
from tools import api_pages
from tools.external_links import NAME as LINKS_PAGE

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = re.findall(r"^::: (\S+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
# Modules whose names are public, and those of their names that are not.
PUBLIC = {
    "fairridge": {"__version__"},
    "fairridge.datasets": set(),
    "fairridge.exceptions": set(),
    "fairridge.fairness": {"CallableDefinition", "is_variance_share"},
    "fairridge.families": set(),
    "fairridge.penalties": set(),
    "fairridge.rules": set(),
    "fairridge.sources": set(),
    "fairridge.validation": set(),
}


def found(path):
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def public_names(module):
    """What a package lists, or what a module defines."""
    home = importlib.import_module(module)
    if hasattr(home, "__all__"):
        return home.__all__
    defined = {n: v for n, v in vars(home).items() if getattr(v, "__module__", "") == module}
    return [name for name in defined if not name.startswith("_")]


def test_every_public_name_is_in_the_api_reference_once():
    there = {id(found(path)) for path in DOCUMENTED}
    missing = [
        f"{module}.{name}"
        for module, private in PUBLIC.items()
        for name in public_names(module)
        if name not in private and id(found(f"{module}.{name}")) not in there
    ]
    assert not missing
    times = Counter(id(found(path)) for path in DOCUMENTED)
    assert [path for path in DOCUMENTED if times[id(found(path))] > 1] == []


def test_every_public_name_has_a_page_and_a_line_that_leads_to_it():
    listed = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    index = api_pages.indexed(listed)
    assert list(api_pages.entries(listed)) == DOCUMENTED
    assert ":::" not in index
    for path in DOCUMENTED:
        name = path.removeprefix("fairridge.")
        row = re.search(
            rf"^\| \[`{re.escape(name)}`\]\(api/{re.escape(name)}.md\) \| (.+) \|$", index, re.M
        )
        assert row, path
        assert row[1].endswith("."), path
        assert f"\n::: {path}\n" in api_pages.page_of(path, "")


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"([\w/-]+\.md)\s*$", text[text.index("\nnav:") :], re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert sorted(named) == sorted(
        pages | {LINKS_PAGE, "gallery/index.md"}
    )  # which the build makes


MEASURED = re.compile(r"<!-- measured: .*?<!-- end -->", re.DOTALL)


def test_the_documentation_stays_short():
    """The site, but for a table that is made of the code, and what the README and it link to."""
    beside = "README.md", "benchmarks/tables.md", "reproduction/README.md", "tools/fuzz/README.md"
    pages = {*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in beside)}
    words = (
        word
        for path in pages - {ROOT / "docs" / "options.md"}
        for word in MEASURED.sub("", path.read_text("utf-8")).split()
    )
    assert sum(bool(re.search(r"\w", word)) for word in words) <= 40_000  # not lines of tables


def anchors_of(page):
    """The headings of a page as MkDocs and GitHub name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ],
)
def test_every_link_of_pages_beside_the_site_resolves(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in set(re.findall(r"\]\(([^)\s]+)\)", text)):
        name, _, anchor = link.partition("#")
        if "://" not in link:
            assert (ROOT / name).exists(), link
            assert not anchor or anchor in anchors_of(ROOT / name), link


def test_the_readme_and_the_home_page_begin_alike():
    """Both install, fit, audit unseen people, show three models and say what to know before."""
    home = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    begin = home[: home.index('<div class="grid cards"')]
    order = ("pip install", "audit(", "![", "| logistic regression", "**Before you use it**")
    assert sorted(order, key=begin.index) == list(order)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.replace("](docs/", "](").startswith(begin)


def test_the_gpu_guide_quotes_the_measured_times():
    measured = (ROOT / "benchmarks/tables.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs/gpu.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| (.+, torch \| [\d.]+ \| [\d.]+) \|$", guide, re.MULTILINE)
    assert quoted
    assert all(f"| {row} |" in measured for row in quoted)


def test_the_documented_version_is_this_one():
    assert f"\nversion: {fairridge.__version__}\n" in (ROOT / "CITATION.cff").read_text()
