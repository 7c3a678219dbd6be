"""Standard errors, certificates, worked scores and intersections in the report."""

import re

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival, audit
from fairridge.peers import ZafarRegressor
from fairridge.reports.html import numbers
from fairridge.reports.html.contents import coefficient_errors

ROUGH = {"cv": 0, "bootstrap": 0}


@pytest.mark.slow
def test_intervals_are_those_of_inference(small_report, people, people_X):
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"]).fit(people_X, people["gaussian"])
    inference = model.inference(people_X, people["gaussian"])
    contents = small_report.contents
    for kind in ("raw", "fair"):
        table = inference.to_frame(kind).set_index("term")
        for name, known in coefficient_errors(contents.inference, kind).items():
            if name != "(lambda)":  # whose interval is another one
                row = table.loc[name]
                np.testing.assert_allclose(
                    known, row[["standard_error", "lower", "upper"]], rtol=1e-6
                )
    expected = inference.population_unfairness(0.95)
    assert contents.population.upper == pytest.approx(expected.upper, rel=1e-6)
    assert f"{numbers.percent(expected.upper, 2)} of the variance" in small_report.summary
    _, low, high = coefficient_errors(contents.inference, "fair")["income"]
    assert f"{numbers.number(low)} to {numbers.number(high)}" in small_report.html


def test_models_without_standard_errors_say_why(people, people_X, small_report):
    page = fairridge.report(
        ZafarRegressor(0.05, sensitive=["sex"]), people_X, people["gaussian"], **ROUGH
    )
    assert page.contents.inference is None
    assert "There are no standard errors: ZafarRegressor has no standard errors." in page.html
    of_coefficients = [
        text.split('id="coefficients"')[1].split('id="sources"')[0]
        for text in (page.html, small_report.html)
    ]
    assert ["95 % interval" in text for text in of_coefficients] == [False, True]
    parity = FairRidgeClassifier(0.05, sensitive=["sex"])
    refused = fairridge.report(parity, people_X, people["binomial"], **ROUGH)
    assert refused.contents.population is None
    assert "not known: there is an interval for shares of the variance" in refused.html


@pytest.mark.parametrize(("bound", "words"), [(0.2, "is certified"), (0.0005, "is not certified")])
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.BoundWarning")
def test_certificates_in_plain_words(people, people_X, bound, words):
    model = FairRidgeRegressor(bound, sensitive=["sex"], confidence=0.9)
    page = fairridge.report(model, people_X, people["gaussian"], cv=2, bootstrap=2)
    fitted = model.fit(people_X, people["gaussian"])
    certificate = page.contents.certificate
    assert certificate.upper == pytest.approx(fitted.certificate_.upper)
    assert f"The bound {words}" in page.summary
    assert "with 90 % confidence" in page.summary
    costs = re.search(r"in training, which lowers D² there by ([\d.]+)", page.summary)
    if certificate.granted:
        assert float(costs.group(1)) == pytest.approx(certificate.price, rel=0.01)
    contents = page.contents
    assert contents.achieved[contents.chosen] <= certificate.training_bound + 1e-9


def shown_number(text):
    return float(text.replace("−", "-").replace(",", ""))


def typical_rows(scoring, people_X, n=2):
    row = pd.DataFrame([dict(scoring.typical)] * n)
    return row[people_X.columns].astype({"income": float, "age": float, "score": float})


def test_a_score_can_be_recomputed_from_the_page(small_report_of_classes, people, people_X):
    report = small_report_of_classes
    scoring = report.contents.scoring
    page = re.sub(r"<small>.*?</small>", "", report.html)
    table = re.search(r'<table class="worked">.*?</table>', page, re.S).group(0)
    rows = [
        [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]
    ]
    *terms, (_, _, eta), (_, _, prediction) = rows
    total = sum(shown_number(value) * shown_number(b) for _, value, b in terms)
    assert total == pytest.approx(shown_number(eta), abs=2e-5)
    assert 1 / (1 + np.exp(-total)) == pytest.approx(shown_number(prediction), abs=1e-5)
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"]).fit(people_X, people["binomial"])
    row = typical_rows(scoring, people_X)
    assert scoring.prediction[0] == pytest.approx(model.predict_proba(row)[0, 1])
    assert ("sex", "female") in scoring.base_levels
    assert "sex: female" in report.html
    assert row["sex"].iloc[0] == people_X["sex"].mode()[0]


@pytest.mark.slow
def test_scores_of_other_families(people, people_X):
    several = FairRidgeClassifier(0.05, sensitive=["sex"]).fit(people_X, people["multinomial"])
    page = fairridge.report(several, people_X, people["multinomial"], **ROUGH)
    row = typical_rows(page.contents.scoring, people_X)
    np.testing.assert_allclose(page.contents.scoring.prediction, several.predict_proba(row)[0])
    answer = people[["time", "status"]].rename(columns={"status": "event"})
    cox = FairRidgeSurvival(0.05, sensitive=["sex"]).fit(people_X, answer)
    page = fairridge.report(cox, people_X, answer, **ROUGH)
    assert "a Cox model has no intercept" in page.html
    np.testing.assert_allclose(page.contents.scoring.eta, cox.predict(row)[:1])


@pytest.mark.slow
def test_two_attributes_together(binomial_report, people, people_X):
    contents = binomial_report.contents
    (pair,) = contents.intersections
    assert pair.chosen.attribute == "sex × age"
    assert sum(group.count for group in pair.chosen.groups) == len(people)
    single = {group.group for part in contents.main.audits[0].attributes for group in part.groups}
    crossed = [group.group for group in pair.chosen.groups]
    assert all(set(name.split(" × ")) <= single for name in crossed)
    rows = people_X[["sex", "age"]]
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"]).fit(people_X, people["binomial"])
    page = fairridge.report(model, people_X, people["binomial"], **ROUGH)
    expected = audit(
        people["binomial"], model.predict_proba(people_X), sensitive_features=rows,
        intersections=True,
    )  # fmt: skip
    found = page.contents.intersections[0].chosen.groups
    for group, other in zip(found, expected.attributes[-1].groups, strict=True):
        assert group.group == other.group
        assert group.selection_rate == other.selection_rate


def test_words_are_explained(small_report, small_report_of_classes):
    words = small_report_of_classes.html.split('id="words"')[1].split("</section>")[0]
    for word in ("S", "D²", "SMD", "KS", "TPR", "λ(r)"):
        assert f"<b>{word}</b>: " in words
    assert "<b>TPR</b>" not in small_report.html  # which has none
    for number in set(re.findall(r'data-note="(\d+)"', small_report_of_classes.html)):
        assert f'<li value="{number}">' in words


def test_the_price_in_other_terms(small_report_of_classes):
    contents, summary = small_report_of_classes.contents, small_report_of_classes.summary
    here, free = (contents.main.audits[k] for k in (contents.chosen, contents.free))
    odds = [numbers.points(one.equalized_odds_difference) for one in (here, free)]
    assert (
        f"{odds[0]} between groups, against {odds[1]} without a bound"
        in small_report_of_classes.summary
    )
    off = max(
        abs(group.calibration.value)
        for part in here.attributes
        for group in part.groups
        if not group.small
    )
    assert f"by up to {100 * off:.1f} points, against" in summary
