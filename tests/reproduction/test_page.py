"""What the page says."""

import re
from pathlib import Path

import pytest

from reproduction.claims import CLAIMS, Verdict, judge
from reproduction.figures import FIGURES
from reproduction.output import html_page, write_all
from reproduction.page import claims_table, details_page, markdown_page

from .conftest import fairml, linear, logistic, matched, results

COMMITTED = Path(__file__).parents[2] / "docs" / "reproduction.md"
DETAILS = COMMITTED.parents[1] / "reproduction" / "details.md"


@pytest.mark.slow
def test_the_page_says_it_all(tmp_path, monkeypatch):
    found = results(
        linear=linear(FRRM=1.1), matched=matched(0.9), fairml=fairml(10.5),
        logistic=logistic(0.6, 0.5), logistic_matched=logistic(0.6, 0.5),
    )  # fmt: skip
    off = ("opportunity_vanishes", "quasi_binomial_beta_constant")
    judged = [
        (one, Verdict("does not hold", "") if one.name in off else judge(one, found))
        for one in CLAIMS
    ]
    text = markdown_page(found, judged, {"rmse": "figures/rmse.png"})
    details = details_page(found, judged)
    html = html_page(text, {"rmse": b"\x89PNG"})
    order = ("## Summary", "## What the paper concludes", "## How to read", "## Findings")
    assert sorted(order, key=text.index) == list(order)
    assert "behind in 10 of 10 cells" in text
    assert text.index('<span class="verdict holds">✔ ') < text.index("## Summary")
    assert "![Figure 7](figures/rmse.png)" in text
    assert "*Figure 7. Predictive RMSE (paper, Fig. 7)" in text
    assert "](details.html#E5)" in text
    assert '<a id="E5"></a>E5' in details
    assert 'src="data:image/png;base64,iVBORw=="' in html
    assert "figures/rmse.png" not in html
    assert "<math" in html
    assert "$" not in html
    row = '| <b class="verdict fails" title="does not hold">✘</b> | Higher in 10 of 10'
    assert row in details
    assert row not in text
    argument = '<b class="verdict open" title="not checkable">?†</b> |'
    assert f"{argument} The paper gives no" in details
    assert f"{argument}\n" in text
    assert "*Figure 1 is skipped: 'bias' was not asked for.*" in text
    assert html.count("<table>") == html.count("</table>") > 0
    table = claims_table(judged)
    assert len(table) == len(CLAIMS)
    assert (table["basis"] == "argument").sum() == 4
    monkeypatch.setenv("PATH", str(tmp_path))
    said, _ = write_all(found, tmp_path / "out")
    assert (tmp_path / "out" / "index.html").exists()
    assert not (tmp_path / "out" / "index.pdf").exists()
    assert "no PDF: there is no Chromium or Chrome to print it" in said


@pytest.mark.parametrize("page", [COMMITTED, DETAILS])
def test_the_committed_pages_are_complete(page):
    text = page.read_text(encoding="utf-8")
    for debris in ("True", "As before", "-0.0", "nan", "skipped"):
        assert not re.search(rf"\b{debris}\b|{debris}\d", text)


def test_the_committed_page_has_all_figures_and_is_short():
    text = COMMITTED.read_text(encoding="utf-8")
    images = re.findall(r"\((img/reproduction/[^)]+)\)", text)
    assert len(images) == len(FIGURES)
    folder = COMMITTED.parent / "img" / "reproduction"
    assert {Path(image).name for image in images} == {path.name for path in folder.iterdir()}
    shown = re.sub(r"</?(?:span|b|a)[^>]*>|[|*#]|-{3,}", " ", text)
    assert len(shown.split()) <= 2800
