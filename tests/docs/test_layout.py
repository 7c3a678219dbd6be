"""The site in a real browser: nothing is wider than the page, or it shows that it scrolls."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.claims import CLAIMS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
# Of a page: blocks of code, displayed formulas and tables that are wider than their place;
# of these, whether a shadow shows that they scroll; text outside of them that is cut; formulas
# that nobody has typeset; figures, with the size of their letters where they can be measured.
LOOK = """(() => {
  const scrolls = (one) => one.scrollWidth > one.clientWidth + 1;
  const all = (where) => [...document.querySelectorAll('.md-content ' + where)];
  const text = (one) => one.textContent.trim().slice(0, 60);
  const places = 'pre > code, math[display=block], .md-typeset__scrollwrap';
  const shadow = (one) => getComputedStyle(one).backgroundImage.includes('gradient');
  const framed = 'pre, math, .md-typeset__scrollwrap, .output, p:has(> img)';
  return {
    page: document.documentElement.scrollWidth,
    code: all('pre > code').filter(scrolls).map(text),
    formulas: all('math[display=block]').filter(scrolls).map(text),
    silent: all(places).filter(one => scrolls(one) && !shadow(one)).map(text),
    cut: all('*').filter(one => !one.closest(framed) && one.checkVisibility()
      && one.getBoundingClientRect().right > innerWidth + 1).map(text),
    raw: all('.arithmatex').map(text).concat(
      all('p, li, td').map(one => one.innerText).filter(one => /\\$[^$\\n]+\\$/.test(one))),
    figures: all('img[src$=".svg"]:not(.thumbnail)').map(
      one => [one.getAttribute('src'), one.clientWidth]),
  };
})()"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": paths}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def looked_at(site, browser):
    """What LOOK finds on every page of the site: by width, and by name."""
    browser.color_scheme("light")
    found = {1280: {}, 390: {}}
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # whose style is at the root of a server
            continue
        for width, seen in found.items():
            browser.resize(width, 900)
            if width == 1280:  # as it grows, a page still moves its sides
                browser.open(page)
            seen[page.relative_to(site).as_posix()] = browser.run(LOOK)
    browser.resize(1280, 900)
    return found


def named(pages, what):
    return {name: page[what] for name, page in pages.items() if page[what]}


def letters(file):
    """Return the sizes of the letters of a figure, relative to its width."""
    drawn = file.read_text(encoding="utf-8")
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn)[1])
    return [float(size) / width for size in re.findall(r"font: (?:\w+ )*([\d.]+)px", drawn)]


def test_everything_fits_a_laptop(looked_at):
    pages = looked_at[1280]
    assert len(pages) > 100
    assert not {name: page["page"] for name, page in pages.items() if page["page"] > 1280}
    for what in ("code", "formulas", "silent", "cut", "raw"):
        assert named(pages, what) == {}, what


def test_what_does_not_fit_a_telephone_shows_that_it_scrolls(looked_at, site):
    pages = looked_at[390]
    assert not {name: page["page"] for name, page in pages.items() if page["page"] > 390}
    for what in ("silent", "cut"):
        assert named(pages, what) == {}, what
    small = {
        (name, source): min(sizes) * width
        for name, page in pages.items()
        for source, width in page["figures"]
        if (sizes := letters((site / name).parent / source)) and min(sizes) * width < 8.0
    }
    assert small == {}


def test_verdicts_have_an_icon_a_word_and_a_color(site, browser):
    browser.open(site / "reproduction.html")
    script = """[...document.querySelectorAll('.verdict')].map(one =>
      [`${one.innerText} ${one.title}`, getComputedStyle(one).backgroundColor,
       !one.closest('table')])"""
    verdicts = browser.run(script)
    assert all(re.match(r"\W+ *\d* *\w", text) for text, _, _ in verdicts)
    tally = sum(int(re.search(r"\d+", text)[0]) for text, _, above in verdicts if above)
    beside = sum(bool(one.beside) for one in CLAIMS)  # of what the paper does not say, or again
    assert tally == sum(not above for _, _, above in verdicts) - beside > 0
    colors = {text.lstrip("✔✎⚙◐✘? 0123456789").split()[0]: color for text, color, _ in verdicts}
    assert "rgba(0, 0, 0, 0)" not in colors.values()
