"""What the page says."""

import re
from pathlib import Path

import pytest

from reproduction.claims import CLAIMS, judge
from reproduction.errata import ERRATA
from reproduction.figures import FIGURES
from reproduction.output import html_page, write_all
from reproduction.page import claims_table, details_page, markdown_page
from reproduction.results import Results
from reproduction.settings import Settings
from reproduction.typesetting import typeset

from .conftest import linear, matched, results
from .test_claims import fairml, logistic

COMMITTED = Path(__file__).parents[2] / "docs" / "reproduction.md"
DETAILS = COMMITTED.parents[1] / "reproduction" / "details.md"


def judge_all(found):
    return [(one, judge(one, found)) for one in CLAIMS]


@pytest.fixture(scope="module")
def found():
    return results(
        linear=linear(FRRM=1.1), matched=matched(0.9), fairml=fairml(10.5),
        logistic=logistic(0.6, 0.5), logistic_matched=logistic(0.6, 0.5),
    )  # fmt: skip


@pytest.mark.slow
def test_the_page_says_it_all(found):
    judged = judge_all(found)
    text = markdown_page(found, judged, {"rmse": "figures/rmse.png"})
    details = details_page(found, judged)
    html = html_page(text, {"rmse": b"\x89PNG"})
    order = ("## Summary", "## What the paper concludes", "## How to read", "## Findings")
    assert sorted(order, key=text.index) == list(order)
    assert "behind in 10 of 10 cells" in text
    assert text.index('<span class="verdict holds">✔ ') < text.index("## Summary")
    assert "![Figure 7](figures/rmse.png)" in text
    assert "*Figure 7. Predictive RMSE (paper, Fig. 7)" in text
    assert "](#E2)" in text
    assert "](details.html#E5)" in text
    assert "](index.html#E2)" in details
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
    assert "[The details](details.html)" in text
    assert "[the findings](index.html)" in details
    assert "`linear` 1; " in details
    assert "*Figure 1 is skipped: 'bias' was not asked for.*" in text
    assert html.count("<table>") == html.count("</table>") >= 9
    table = claims_table(judged)
    assert len(table) == len(CLAIMS)
    assert (table["basis"] == "argument").sum() == 4


def test_variants_and_repetitions_are_not_counted(found):
    judged = [(one, verdict) for one, verdict in judge_all(found) if one.topic == "linear"]
    text = markdown_page(found, judged, {})
    counted = sum(int(number) for number in re.findall(r'<span class="verdict \w+">\S (\d+)', text))
    beside = [one for one, _ in judged if one.beside]
    assert counted == len(judged) - len(beside) > 0
    assert text.count("(variant)") == len(beside) > 0


def test_a_partial_run_says_nothing_about_what_it_did_not_compute():
    nothing = results(linear=linear())
    text = markdown_page(nothing, judge_all(nothing), {})
    assert "The method" not in text
    assert "misprints; two" not in text
    assert "not computed</span>" in text
    assert "NCLM's coefficient estimates are not in closed form" not in text


def test_what_is_called_a_tie_is_shown(found):
    details = details_page(found)
    for limit in ("0", "0.25", "0.5", "1"):
        assert f"| {limit} % | 0/6 of 6 | 10/0 of 10 | 0/10 of 10 |" in details


@pytest.mark.slow
def test_paired_differences_have_intervals(found):
    details = details_page(found)
    assert "| LSAC | NCLM | **+10.00±0.03** | **+10.00±0.03** |" in details
    assert "| LSAC | ZLM, equal $R^{2}_{S}$ | **−10.00±0.03** | **−10.00±0.03** |" in details
    assert "| LSAC | NCLM | +10.00 ±0.00 ±0.03 | +10.00 ±0.00 ±0.03 |" in details


def test_floors_are_compared_with_recorded_answers():
    rss = {"FRRM": 100.0, "NCLM": 90.0, "NCLM, floors": 104.0, "NCLM, fairml": 105.0}
    rows = [
        {"case": case, "run": 0, "model": model, "r": 0.01, "rss": rss[model],
         "share": 0.009, "active": 1.0}
        for case, models in (("vu.test", rss), ("NLSY", list(rss)[:3]), ("LSAC", list(rss)[:3]))
        for model in models
    ]  # fmt: skip
    text = details_page(results(floors=rows))
    assert "| vu.test | .01 | −10.000 % | +4.000 % | +5.000 % | 0.0090 | 0.0090 |" in text
    assert "| NLSY | .01 | −10.000 % | +4.000 % |  | 0.0090 |  |" in text
    assert "of the 1 recorded answers to 0.952 %" in text
    assert "in active cells: LSAC 0 of 1, NLSY 0 of 1." in text


def test_every_erratum_has_a_place_and_says_what_it_lacks():
    page, details = markdown_page(results(), [], {}), details_page(results())
    for one in ERRATA:
        home = details if one.substantive else page
        assert f'| <a id="{one.name}"></a>{one.name} | {one.where} |' in home
    assert details.count("| skipped: ") == len(ERRATA)


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
    found = Results(Settings(), {}, seconds={("linear", "C&C"): 12.0})
    assert "`linear` 12" in details_page(found)


@pytest.mark.slow
def test_without_a_browser_there_is_a_page_and_no_pdf(found, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said, _ = write_all(found, tmp_path / "out")
    assert (tmp_path / "out" / "index.html").exists()
    assert not (tmp_path / "out" / "index.pdf").exists()
    assert "no PDF: there is no Chromium or Chrome to print it" in said


@pytest.mark.slow
def test_a_browser_prints_the_page(found, tmp_path):
    said, _ = write_all(found, tmp_path)
    if not (tmp_path / "index.pdf").exists():
        pytest.skip(said[-1])
    assert (tmp_path / "index.pdf").read_bytes().startswith(b"%PDF")


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


def test_subscripts_are_no_emphasis():
    page = html_page(r"*Both* $R^{2}_{\mathrm{EO}}$ and $D_{\mathrm{IF}}$.", {})
    assert page.count("<em>") == 1
    assert page.count("<math") == page.count("</math>") == 2


def test_formulas_are_typeset_where_they_are():
    found = typeset("At r ≤ .05, |COV(ŷ, S_i)| of `zlm(r = .05)` and R²_S: 10⁻¹⁴.")
    assert found == (
        r"At $r\leq.05$, $\lvert\mathrm{COV}(\hat y,S_{i})\rvert$ of `zlm(r = .05)` and "
        r"$R^{2}_{S}$: $10^{-14}$."
    )
    assert typeset("| a | \\|COV\\| | [b](c_r = 0) |") == (
        r"| a | $\lvert\mathrm{COV}\rvert$ | [b](c_r = 0) |"
    )
    assert typeset("αᵀVAR(S)α at r = 0.34") == (r"$\alpha^\top \mathrm{VAR}(S) \alpha$ at $r=0.34$")
