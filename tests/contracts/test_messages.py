"""What a mistake is answered with: what is wrong, with its value, and one thing to do."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairridge import FairRidgeClassifier, FairStackingClassifier

SENSITIVE = ["Gender", "Age"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 200
    return pd.DataFrame(
        {
            "Account": rng.choice(["none", "some", "much"], n),
            "Duration": rng.normal(size=n),
            "Amount": rng.normal(size=n),
            "Gender": rng.choice(["F", "M"], n),
            "Age": rng.normal(40, 10, n),
        }
    )


@pytest.fixture(scope="module")
def risk(people):
    noise = np.random.default_rng(1).normal(size=len(people))
    return np.where(people["Duration"] + noise > 0, "GOOD", "BAD")


def classifier(**options):
    return FairRidgeClassifier(**{"sensitive": SENSITIVE, "unfairness": 0.05} | options)


def fitted(people, risk, **options):
    return classifier(**options).fit(people, risk)


# A call with people and their risk, and what its error says.
MESSAGES = {
    "predict without a column of S": (
        lambda X, y: fitted(X, y).predict(X.drop(columns="Gender")),
        "X has no column 'Gender', which was there at fit. This model needs its sensitive columns "
        "(Gender, Age) to predict: add them, or use a model with blind=True, which needs them in "
        "fit only.",
    ),
    "predict without sensitive_features": (
        lambda X, y: (
            classifier(sensitive=None)
            .fit(X[["Amount"]], y, sensitive_features=X["Age"])
            .predict(X[["Amount"]])
        ),
        "or use a model with blind=True, which needs them in fit only.",
    ),
    "predict with a stack and without S": (
        lambda X, y: (
            FairStackingClassifier(DecisionTreeClassifier(max_depth=2), sensitive="Age")
            .fit(X[["Duration", "Amount", "Age"]], y)
            .predict(X[["Duration", "Amount"]])
        ),
        "X has no column 'Age', which was there at fit. This model needs its sensitive columns "
        "(Age)",
    ),
    "predict without another column": (
        lambda X, y: fitted(X, y).predict(X.drop(columns="Amount")),
        "X has no column 'Amount', which was there at fit. Pass the columns of the fit, in any "
        "order.",
    ),
    "predict one row": (
        lambda X, y: fitted(X, y).predict(X.iloc[0]),
        "X is a series with one value per column. Pass a frame of one row",
    ),
    "sensitive": (
        lambda X, y: classifier(sensitive=["gender"]).fit(X, y),
        "sensitive: X has no column 'gender'. Did you mean 'Gender'?",
    ),
    "controls": (
        lambda X, y: classifier(controls=["income"]).fit(X, y),
        "controls: X has no column 'income'. There are Account, Duration, Amount, Gender, Age.",
    ),
    "demographic parity": (
        lambda X, y: classifier(definition="demographic-parity").fit(X, y),
        "Did you mean 'mean-parity'? It is demographic parity of predicted means.",
    ),
    "equalized odds": (
        lambda X, y: classifier(definition="equalized_odds").fit(X, y),
        "Did you mean 'mean-odds'? It is equalized odds of predicted means.",
    ),
    "equal opportunity": (
        lambda X, y: classifier(definition="equal-opportunity").fit(X, y),
        "Did you mean 'mean-opportunity'? It is equal opportunity of predicted means.",
    ),
    "another definition": (
        lambda X, y: classifier(definition="mean parity").fit(X, y),
        "definition='mean parity' is not known. Did you mean 'mean-parity'?",
    ),
    "penalty": (
        lambda X, y: classifier(penalty="rigde").fit(X, y),
        "penalty='rigde' is not known. Did you mean 'ridge'?",
    ),
}


@pytest.mark.parametrize("mistake", MESSAGES)
def test_a_message_names_the_fault_and_what_to_do(mistake, people, risk):
    call, message = MESSAGES[mistake]
    with pytest.raises(ValueError, match=re.escape(message)):
        call(people, risk)


def test_a_frame_of_one_row_is_predicted(people, risk):
    model = fitted(people, risk)
    row = people.iloc[3].to_frame().T.infer_objects()
    assert model.predict(row) == model.predict(people)[3]
