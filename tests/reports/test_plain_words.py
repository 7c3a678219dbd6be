"""What a report says of a pay model, sentence by sentence, and which class numbers are of."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairStackingRegressor,
    audit,
    report,
)


def employees(n=600):
    rng = np.random.default_rng(3)
    level = rng.integers(1, 7, n)
    sex = np.where(rng.random(n) < 0.75 - 0.09 * level, "woman", "man")
    tenure = np.clip(rng.normal(6 + level, 3, n) - 1.5 * (sex == "woman"), 0, None)
    salary = 10.2 + 0.18 * level + 0.01 * tenure - 0.05 * (sex == "woman")
    salary += 0.08 * rng.normal(size=n)
    X = pd.DataFrame({"level": level, "sex": sex, "tenure": tenure})
    return X, pd.Series(salary, name="log_salary")


def numberless(text):
    """Return paragraphs without their numbers."""
    return [re.sub(r"\d[\d.,]*\d|\d", "#", part) for part in text.split("\n\n")]


# The share of everyone, that among people of the same level, and how both are said.
BOUND = "Among people of the same level, sex explains"
LEFT = "of what is left of the variance of the predictions"
PAY = [
    "This gaussian model predicts log_salary from # predictors, using # rows.",
    f"Its bound is r = #: {BOUND} at most # % {LEFT}. Without a bound the value would be # %.",
    "What is left is what a linear regression on level does not explain.",
    "In training it achieves # %, and # % on rows that were held out, adjusted for chance.",
    "Among everyone, on rows that were held out, adjusted for chance, sex explains # % of the "
    "variance of the predictions.",
    f"In # % of the models refitted with the same bound to resampled rows, the share {LEFT} due to "
    "sex, among people of the same level is between # % and # %. So in the population it may lie "
    "anywhere in that range.",
    "Among everyone, a flexible learner of the sensitive attributes, which also sees dependence "
    "that is not linear, explains # % (interval # % to # %) of the variance of the predictions.",
    "In the population that these rows come from, with # % confidence: "
    f"{BOUND} between # % and # % {LEFT}.",
    "R² is # on held-out rows, against # without a bound; its standard error is #.",
    "Mean predictions of a group differ from what was observed by up to #, against less than a "
    "hundredth of that without a bound (calibration).",
    "The mean prediction of sex = woman is # below that of man (interval # to #), the largest "
    "difference of two groups.",
    "Observed means of these two groups differ by #.",
    "Among people of the same level, the mean prediction of sex = woman is # below that of "
    "all others (interval of the difference # to #).",
]
NEW = [
    f"The model was fitted with the bound r = #: {BOUND} at most # % {LEFT}.",
    f"On these new rows: {BOUND} # % (interval # % to # %) {LEFT}. That is undecided: the "
    "interval has the bound in it.",
    "R² is # on the new rows.",
    "Mean predictions of a group differ from what was observed by up to #.",
    "The mean prediction of sex = woman is # below that of man (interval # to #), the largest "
    "difference of two groups.",
    "Observed means of these two groups differ by #.",
    "Among people of the same level, the mean prediction of sex = woman is # below that of "
    "all others (interval of the difference # to #).",
    "None of the # columns has changed much since the fit: PSI is below #, or no larger than "
    "chance makes it.",
]


def test_every_sentence_about_a_pay_model():
    X, y = employees()
    model = FairRidgeRegressor(0.05, sensitive="sex", controls=["level"]).fit(X, y)
    page = report(model, X, y, cv=3, bootstrap=25)
    assert numberless(page.summary) == PAY
    assert numberless(report(model, X, y, new_rows=True).summary) == NEW
    limit = "Whether level may justify differences, or is itself a result of discrimination"
    assert limit in page.html
    words = re.sub("<[^>]+>", "", page.html)
    explained = f"explain {page.contents.attribution[page.contents.chosen].total:.2%}"
    assert (
        "In training, among people of the same level, the sensitive attributes "
        f"{explained.replace('%', ' %')} of what is left of the variance of the scores."
    ) in words
    assert "explain of each predictor, among people of the same level" in words
    assert limit in page.card
    assert "The bound concerns the predictions. Shares above a threshold" in page.card


@pytest.mark.parametrize(("unfairness", "new_rows"), [(0.0, True), (0.05, False)])
def test_a_report_compares_groups_among_equals_as_an_audit_does(unfairness, new_rows):
    X, y = employees()
    model = FairRidgeRegressor(unfairness, sensitive="sex", controls=["level"]).fit(X, y)
    options = {"new_rows": True} if new_rows else {"cv": 0, "bootstrap": 0}
    page = report(model, X, y, **options)
    contents = page.contents
    shown = contents.samples[0].audits[contents.chosen].attributes[0].groups
    known = audit(y, model.predict(X), sensitive_features=X[["sex"]], controls=X[["level"]])
    for group, other in zip(shown, known["sex"].groups, strict=True):
        found, expected = group.adjusted_difference, other.adjusted_difference
        assert found.value == pytest.approx(expected.value, rel=1e-7)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-7)
    assert (found.value == 0.0) == (unfairness == 0.0)
    assert "Among equals" in page.html
    assert ("equals that of all others" in page.summary) == (unfairness == 0.0)


@pytest.fixture(scope="module")
def classes():
    X, y = employees()
    y = np.array(["low", "middle", "high"])[np.digitize(y, [10.7, 11.0])]
    model = FairRidgeClassifier(0.05, sensitive="sex", definition="mean-parity").fit(X, y)
    return model, X, y


def test_a_report_names_the_class_that_numbers_are_of(classes):
    model, X, y = classes
    page = report(model, X, y, cv=0, bootstrap=0)
    assert "the share of rows that are given a class differs by up to" in page.summary
    assert "of the variance of the predicted probability of high." in page.summary
    P = model.predict_proba(X)
    for k, label in enumerate(model.classes_):
        start = page.card.index(f"sex, training rows, class {label}:")
        shown = re.findall(r"\| (man|woman) \| [\d,]+ \| ([\d.]+)", page.card[start : start + 200])
        for sex, mean in shown:
            assert float(mean) == pytest.approx(P[X["sex"] == sex, k].mean(), rel=5e-3)
        assert len(shown) == 2
    first = page.contents.main.outcome
    assert f"in tables, of {first} in charts and for two attributes together" in page.html
    assert f"Rates and decisions are on training rows, for class {first};" in page.html
    new = report(model, X, y, new_rows=True)
    assert f"of {first} in charts" in new.html


def test_an_audit_names_the_class_that_numbers_are_of(classes):
    model, X, y = classes
    found = audit(y, model.predict_proba(X), sensitive_features=X[["sex"]], positive="middle")
    assert "what follows is of class: middle, its probability and decisions for it" in str(found)
    for frame in (found.to_frame(), found.attributes_frame(), found.calibration_frame()):
        assert set(frame["class"]) == {"middle"}
    two = audit(y == "low", model.predict_proba(X)[:, 1], sensitive_features=X[["sex"]])
    assert "what follows" not in str(two)
    assert "class" not in two.to_frame()


@pytest.mark.parametrize(("prefit", "piped"), [(False, True), (True, False)])
def test_a_stack_says_what_it_reads_and_what_is_held_out(prefit, piped):
    X, y = employees()
    learner = make_pipeline(
        make_column_transformer(("passthrough", ["level", "tenure"])), DecisionTreeRegressor()
    )
    if prefit:
        learner.fit(X[:300], y[:300])
        X, y = X[300:], y[300:]
    stack = FairStackingRegressor(learner, 0.05, sensitive="sex", prefit=prefit, random_state=0)
    if piped:
        stack = make_pipeline(FunctionTransformer(), stack)
    stack.fit(X, y)
    page = report(stack, X, y, cv=3, bootstrap=0)
    subject = page.contents.subject
    assert subject.model == "FairStackingRegressor"
    assert subject.predictors == ("level", "tenure")
    reads = " rows; its layer reads score of DecisionTreeRegressor."
    assert reads in page.summary
    assert reads in page.card
    assert "Only the layer is refitted without the rows that are held out." in page.summary
    before = "they were fitted before." in page.summary
    others = "every row has the score of learners that were fitted to other rows." in page.summary
    assert (before, others) == (prefit, not prefit)
    training = report(stack, X, y, cv=0, bootstrap=0)
    assert "held out" not in training.summary
    new = report(stack, X, y, new_rows=True)
    assert new.contents.subject.predictors == ("level", "tenure")
    assert "FairStackingRegressor, gaussian" in new.html
