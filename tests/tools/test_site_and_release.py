"""The tools that build the site and try a release."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tools.external_links import links_page
from tools.long_description import for_package_index
from tools.lowest import EXTRAS, lowest_versions
from tools.page_descriptions import description_of

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guides/*.md")])
FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


def project(dependencies, **extras):
    none = {name: [] for name in (*EXTRAS, "dev")}
    return {"dependencies": dependencies, "optional-dependencies": none | extras}


def test_lower_bounds_become_versions():
    dev = ["polars>=1.0", "ruff>=0.6"]  # frames are the user's, tools are not
    found = lowest_versions(project(["numpy>=1.26"], dask=["dask[dataframe]>=2024.12"], dev=dev))
    assert found == {"numpy": "1.26", "dask": "2024.12", "polars": "1.0"}


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml", reason="the extra `docs` is not installed")
    from tools.mathml import on_page_content

    inline = on_page_content(r'a <span class="arithmatex">\(x &lt; \lambda_2\)</span> b')
    assert inline.startswith("a <math")
    assert "arithmatex" not in inline
    assert "&amp;lt;" not in inline
    assert "&#x003BB;" in inline or "λ" in inline
    displayed = on_page_content('<div class="arithmatex">\n\\[\nr^2\n\\]</div>')
    assert 'display="block"' in displayed
    assert "msup" in displayed


def formulas_of(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`]*`", "", text)
    displayed = re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL)
    return displayed + re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if formulas_of(page)], ids=lambda p: p.stem
)
def test_every_formula_of_the_site_is_understood(page):
    """A command that the converter does not know would be on the page as it is written."""
    converter = pytest.importorskip("latex2mathml.converter", reason="the extra `docs` is missing")
    assert not [one for one in formulas_of(page) if "\\" in converter.convert(one)]


def test_workflows_ask_for_targets_that_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    asked = [
        target
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text())["jobs"].values()
        for step in job["steps"]
        for words in re.findall(r"^make (.*)$", step.get("run", ""), re.MULTILINE)
        for target in words.split()
    ]
    assert {"test", "test-all", "test-lowest", "dist", "docs"} <= set(asked) <= set(targets)


def test_every_python_of_the_classifiers_is_tested():
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["tests"]
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    (makefile,) = re.findall(r"^PYTHONS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert tests["strategy"]["matrix"]["python"] == named == makefile.split()


def test_the_page_of_external_links_has_those_of_readme_and_site():
    page = links_page()
    for name in ("README.md", "docs/datasets.md"):
        addresses = re.findall(r"\]\((https?://[^)\s]+)\)", (ROOT / name).read_text("utf-8"))
        assert addresses
        assert not [one for one in addresses if f"| <{one}> |" not in page]


README = """
[fast](docs/speed.md#how) and [`f[0]`](docs/guides/f.md), [license](LICENSE), [site](https://x.org)

<!-- repository only -->

![picture](docs/img/a.png)

<!-- end -->
The end.
"""


def test_relative_links_lead_to_the_site_if_it_has_an_address():
    expected = "\nfast and `f[0]`, license, [site](https://x.org)\n\nThe end.\n"
    assert for_package_index(README) == expected
    found = for_package_index(README, "https://docs.example/latest/")
    assert "[fast](https://docs.example/latest/speed.html#how)" in found
    assert "[`f[0]`](https://docs.example/latest/guides/f.html)" in found
    assert ", license," in found


def test_the_search_index_is_a_script_as_well(tmp_path):
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
    from tools.search_from_disk import on_post_build

    (tmp_path / "search").mkdir()
    (tmp_path / "search/search_index.json").write_text('{"docs": []}', encoding="utf-8")
    on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    script = (tmp_path / "search/search_index.js").read_text(encoding="utf-8")
    assert script == 'var __index = {"docs": []}\n'


def test_every_page_has_a_description_of_its_own():
    described = [description_of(page.read_text(encoding="utf-8")) for page in PAGES]
    assert len(set(described)) == len(PAGES)
    assert None not in described
