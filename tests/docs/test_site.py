"""Every page is in the navigation, every link leads somewhere, every name is there once."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

import fairridge

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = re.findall(r"^::: (\S+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
# Modules whose names are public, and those of their names that are not.
PUBLIC = {
    "fairridge": {"__version__"},
    "fairridge.datasets": set(),
    "fairridge.exceptions": set(),
    "fairridge.fairness": {
        "CallableDefinition", "is_variance_share", "resolve_definition",
    },
    "fairridge.families": {"resolve_regression_family"},
    "fairridge.penalties": {"resolve_penalty"},
    "fairridge.rules": set(),
    "fairridge.sources": set(),
    "fairridge.validation": set(),
}  # fmt: skip


def found(path):
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def test_every_public_name_is_in_the_api_reference():
    there = {id(found(path)) for path in DOCUMENTED}
    missing = [
        f"{module}.{name}"
        for module, private in PUBLIC.items()
        for name in importlib.import_module(module).__all__
        if name not in private and id(found(f"{module}.{name}")) not in there
    ]
    assert not missing


def test_no_name_is_there_twice():
    times = Counter(id(found(path)) for path in DOCUMENTED)
    assert [path for path in DOCUMENTED if times[id(found(path))] > 1] == []


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"([\w/-]+\.md)\s*$", text[text.index("\nnav:") :], re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert sorted(named) == sorted(pages)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"])
def test_every_link_of_pages_beside_the_site_resolves(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = {link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)}
    assert not [link for link in links if "://" not in link and not (ROOT / link).exists()]


def test_the_documented_version_is_this_one():
    assert f"\nversion: {fairridge.__version__}\n" in (ROOT / "CITATION.cff").read_text()
