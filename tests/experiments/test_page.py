"""What the page says."""

from fairridge.experiments.claims import CLAIMS, judge
from fairridge.experiments.page import claims_table, tally, write_page
from fairridge.experiments.results import Results
from fairridge.experiments.settings import Settings

from .conftest import linear, results


def judge_all(found):
    return [(one, judge(one, found)) for one in CLAIMS]


def test_the_page_says_it_all():
    found = results(linear=linear(FRRM=1.1))
    judged = judge_all(found)
    page = write_page(found, judged, {"rmse": b"\x89PNG"}, "figures")
    text, html = page.as_markdown(), page.as_html()
    assert "![Lower is better." in text
    assert "**Claim 20 does not hold:**" in text
    assert "<strong>Claim 20 does not hold:</strong>" in html
    assert "Skipped: 'logistic' was not asked for." in text
    assert "FRRM has its penalty on standardized S" in text
    assert "training RMSE on all rows" not in text
    assert html.count("<table>") == html.count("</table>") >= 4
    assert len(claims_table(judged)) == len(CLAIMS)
    counted = tally(judged)
    assert sum(map(sum, counted.counts.values())) == len(CLAIMS)


def test_the_page_says_what_the_unit_of_s_matters():
    values = {"FRRM": 0.36788, "FRRM, raw S": 0.37305, "NCLM": 0.36737}
    found = results(scale=[{"case": "LSAC", "run": 0, "model": name, "r": 0.05, "train_rmse": value}
                           for name, value in values.items()])  # fmt: skip
    text = write_page(found, judge_all(found), {}, "figures").as_markdown()
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
    text = write_page(found, judge_all(found), {}, "figures").as_markdown()
    assert "- `linear`: skipped on COMPAS, LSAC (compas.rda is missing; law.school" in text
    assert "- `fairlearn`: skipped on BANK (no fairlearn)" in text
    assert text.count("by --data") == 1
