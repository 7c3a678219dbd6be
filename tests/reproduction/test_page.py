"""What the page says."""

from reproduction.claims import CLAIMS, judge
from reproduction.output import html_page
from reproduction.page import claims_table, markdown_page, verdicts_by_section
from reproduction.results import Results
from reproduction.settings import Settings

from .conftest import linear, results


def judge_all(found):
    return [(one, judge(one, found)) for one in CLAIMS]


def test_the_page_says_it_all():
    found = results(linear=linear(FRRM=1.1))
    judged = judge_all(found)
    text = markdown_page(found, judged, {"rmse": "figures/rmse.png"})
    html = html_page(text, {"rmse": b"\x89PNG"})
    assert "![Lower is better." in text
    assert "(figures/rmse.png)" in text
    assert 'src="data:image/png;base64,iVBORw=="' in html
    assert "figures/rmse.png" not in html
    assert "**Claim 20 does not hold:**" in text
    assert "<strong>Claim 20 does not hold:</strong>" in html
    assert "Skipped: 'logistic' was not asked for." in text
    assert "FRRM has its penalty on standardized S" in text
    assert "training RMSE on all rows" not in text
    assert html.count("<table>") == html.count("</table>") >= 4
    assert len(claims_table(judged)) == len(CLAIMS)
    counted = verdicts_by_section(judged)
    assert counted.to_numpy().sum() == len(CLAIMS)
    assert list(counted) == ["holds", "holds in part", "does not hold", "cannot be checked"]
    assert list(counted.index) == sorted(counted.index)


def test_the_page_says_what_the_unit_of_s_matters():
    values = {"FRRM": 0.36788, "FRRM, raw S": 0.37305, "NCLM": 0.36737}
    found = results(scale=[{"case": "LSAC", "run": 0, "model": name, "r": 0.05, "train_rmse": value}
                           for name, value in values.items()])  # fmt: skip
    text = markdown_page(found, judge_all(found), {})
    assert (
        "| training RMSE on all rows, r = 0.05 | FRRM, standardized S | FRRM, raw S | NCLM |"
        in text
    )
    assert "| LSAC | 0.36788 | 0.37305 | 0.36737 |" in text


def test_skipped_results_are_listed_with_their_files():
    skipped = {("linear", "COMPAS"): "compas.rda is missing",
               ("linear", "LSAC"): "law.school.admissions.rda is missing",
               ("fairlearn", "BANK"): "no fairlearn"}  # fmt: skip
    found = Results(Settings(), {}, skipped=skipped)
    text = markdown_page(found, judge_all(found), {})
    assert "- `linear`: skipped on COMPAS, LSAC (compas.rda is missing; law.school" in text
    assert "- `fairlearn`: skipped on BANK (no fairlearn)" in text
    assert text.count("by --data") == 1
