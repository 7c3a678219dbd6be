"""What the page says."""

import re
from pathlib import Path

import pytest

from reproduction.claims import CLAIMS, judge
from reproduction.errata import ERRATA
from reproduction.figures import FIGURES
from reproduction.output import html_page, write_all
from reproduction.page import claims_table, markdown_page
from reproduction.results import Results
from reproduction.settings import Settings

from .conftest import linear, matched, results
from .test_claims import fairml, logistic

COMMITTED = Path(__file__).parents[2] / "docs" / "reproduction.md"


def judge_all(found):
    return [(one, judge(one, found)) for one in CLAIMS]


@pytest.fixture(scope="module")
def found():
    return results(
        linear=linear(FRRM=1.1), matched=matched(0.9), fairml=fairml(10.5),
        logistic=logistic(0.6, 0.5), logistic_matched=logistic(0.6, 0.5),
    )  # fmt: skip


def test_the_page_says_it_all(found):
    judged = judge_all(found)
    text = markdown_page(found, judged, {"rmse": "figures/rmse.png"})
    html = html_page(text, {"rmse": b"\x89PNG"})
    assert text.index("## Summary") < text.index("## How to read") < text.index("## Findings")
    assert "at equal R²_S FRRM is ahead in 10 and behind in 0 of 10 cells" in text
    assert "![Figure 6](figures/rmse.png)" in text
    assert "*Figure 6. Predictive RMSE (paper, Fig. 7)" in text
    assert 'src="data:image/png;base64,iVBORw=="' in html
    assert "figures/rmse.png" not in html
    assert '<h2 id="errata">' in html
    assert "| **does not hold** | Higher in 10 of 10 cells" in text
    assert "| **not checkable** † | The paper gives no numbers" in text
    assert "*Figure 1 is skipped: 'bias' was not asked for.*" in text
    assert html.count("<table>") == html.count("</table>") >= 10
    table = claims_table(judged)
    assert len(table) == len(CLAIMS)
    assert (table["basis"] == "argument").sum() == 3


@pytest.mark.slow
def test_paired_differences_have_intervals(found):
    text = markdown_page(found, judge_all(found), {})
    assert "| LSAC | NCLM | **+10.00±0.03** | **+10.00±0.03** |" in text
    assert "| LSAC | ZLM, equal R²_S | **−10.00±0.03** | **−10.00±0.03** |" in text
    assert "| vu.test | 0.01 | +5.000 % | −10.000 % | 0.0100 |" in text


def test_every_erratum_has_a_place_and_says_what_it_lacks():
    text = markdown_page(results(), judge_all(results()), {})
    for one in ERRATA:
        assert f"| {one.name} | {one.where} |" in text
    assert text.count("| skipped: ") == len(ERRATA)


def test_skipped_results_are_listed_with_their_files():
    skipped = {("linear", "COMPAS"): "compas.rda is missing",
               ("linear", "LSAC"): "law.school.admissions.rda is missing",
               ("fairlearn", "BANK"): "no fairlearn"}  # fmt: skip
    found = Results(Settings(), {}, skipped=skipped)
    text = markdown_page(found, judge_all(found), {})
    assert "- `linear`: skipped on COMPAS, LSAC (compas.rda is missing; law.school" in text
    assert "- `fairlearn`: skipped on BANK (no fairlearn)" in text
    assert text.count("by --data") == 1


def test_time_is_told():
    wall = ({"names": ["linear"], "seconds": 50.0, "jobs": 2, "parts": 250},
            {"names": ["all"], "seconds": 1300.0, "jobs": 2, "parts": 900})  # fmt: skip
    found = Results(Settings(), {}, seconds={("linear", "C&C"): 12.0}, wall=wall)
    text = markdown_page(found, judge_all(found), {})
    assert "22.5 minutes of wall time in 2 processes (the linear part: 50 s)." in text
    assert "`linear` 12" in text


@pytest.mark.slow
def test_without_a_browser_there_is_a_page_and_no_pdf(found, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = write_all(found, tmp_path / "out")
    assert (tmp_path / "out" / "index.html").exists()
    assert not (tmp_path / "out" / "index.pdf").exists()
    assert "no PDF: there is no Chromium or Chrome to print it" in said


@pytest.mark.slow
def test_a_browser_prints_the_page(found, tmp_path):
    said = write_all(found, tmp_path)
    if not (tmp_path / "index.pdf").exists():
        pytest.skip(said[-1])
    assert (tmp_path / "index.pdf").read_bytes().startswith(b"%PDF")


def test_the_committed_page_is_complete():
    text = COMMITTED.read_text(encoding="utf-8")
    for debris in ("True", "As before", "-0.0", "nan", "skipped"):
        assert not re.search(rf"\b{debris}\b|{debris}\d", text)
    images = re.findall(r"\((img/reproduction/[^)]+)\)", text)
    assert len(images) == len(FIGURES)
    folder = COMMITTED.parent / "img" / "reproduction"
    assert {Path(image).name for image in images} == {path.name for path in folder.iterdir()}
