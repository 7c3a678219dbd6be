"""What objects show in a notebook, in a browser, under light and dark themes."""

import pytest

from fairridge import FairRidgeClassifier, audit
from fairridge.inference import Certificate

pytestmark = [pytest.mark.slow, pytest.mark.browser]

# The output area of JupyterLab: its tables, text and page have the colors of the theme.
THEMES = {
    "light": ("rgb(255, 255, 255)", "rgb(0, 0, 0)"),
    "dark": ("rgb(17, 17, 17)", "rgb(255, 255, 255)"),
}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ background: {page}; color: {text}; font: 13px sans-serif; }}
.output {{ overflow: auto; max-width: 760px; }}
table {{ border-collapse: collapse; border: none; font-size: 12px; color: {text}; }}
</style>{outputs}"""
# Colors of elements that have text of their own.
COLORS = """[...new Set([...document.querySelectorAll('.output *')]
  .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color))]"""
BEHIND = """[...new Set([...document.querySelectorAll('.output *')]
  .map(e => getComputedStyle(e).backgroundColor))]"""


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_the_colors_of_the_theme(browser, people, people_X, tmp_path, theme):
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"]).fit(people_X, people["binomial"])
    shown = [
        model.summary(),
        model.path(people_X, people["binomial"], unfairness=[0, 0.02, 0.1, 1]),
        audit(people["binomial"], model.predict(people_X), sensitive_features=people_X[["sex"]]),
        Certificate(0.05, 0.01, 0.95, 0.06, "draws", 1234, False, 5678),
    ]
    outputs = "".join(f'<div class="output">{one._repr_html_()}</div>' for one in shown)
    page, text = THEMES[theme]
    file = tmp_path / "notebook.html"
    file.write_text(PAGE.format(page=page, text=text, outputs=outputs), encoding="utf-8")
    browser.color_scheme(theme)
    browser.open(file)
    lines = {"rgb(0, 114, 178)", "rgb(213, 94, 0)", "rgb(0, 158, 115)"}
    assert set(browser.run(COLORS)) <= {text, *lines}
    assert browser.run(BEHIND) == ["rgba(0, 0, 0, 0)"]
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run("document.querySelectorAll('table').length") >= 4
    assert browser.messages == []
    browser.screenshot(tmp_path / f"{theme}.png")
