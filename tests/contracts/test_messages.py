"""What a mistake is answered with: what is wrong, with its value, and one thing to do."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairStackingClassifier
from fairridge.exceptions import DataWarning

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


SOURCES = Path(fairridge.__file__).parent
DATES = pd.date_range("2020-01-01", periods=200)
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
    "predict without two columns": (
        lambda X, y: fitted(X, y).predict(X.drop(columns=["Amount", "Duration"])),
        "X has no columns 'Duration', 'Amount', which were there at fit.",
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
    "missing values": (
        lambda X, y: fitted(with_gaps(X), y),
        "Columns have missing values (NaN): 'Age' (3), 'Account' (1), 'Duration' (6). Fit with "
        "missing='level' to learn from them, or impute them first. (Dropping rows can drop more "
        "people of one group.)",
    ),
    "missing numbers": (
        lambda X, y: fitted(with_gaps(X).assign(Account="none", Age=X["Age"]), y),
        "Column 'Duration' has 6 missing values (NaN). Fit with missing='level'",
    ),
    "missing values at predict": (
        lambda X, y: fitted(X, y).predict(with_gaps(X).assign(Age=X["Age"])),
        "Columns have missing values (NaN): 'Account' (1), 'Duration' (6).",
    ),
    "text for a regressor": (
        lambda X, y: FairRidgeRegressor(sensitive=SENSITIVE).fit(X, y),
        "this model predicts numbers. For classes use FairRidgeClassifier",
    ),
    "family": (
        lambda X, y: FairRidgeRegressor(family="poison", sensitive="Age").fit(X, X["Amount"]),
        "family='poison' is not known here. Did you mean 'poisson'?",
    ),
    "dates": (
        lambda X, y: fitted(X.assign(since=DATES), y),
        "Column 'since' holds dates. Make numbers of them, such as days since 1970: "
        "(pandas.to_datetime(X['since']) - pandas.Timestamp('1970-01-01')).dt.days.",
    ),
    "dates as objects": (
        lambda X, y: fitted(X.assign(since=DATES.date), y),
        "Column 'since' holds dates. Make numbers of them",
    ),
    "dates of polars": (
        lambda X, y: fitted(pl.from_pandas(X.assign(since=DATES)), y),
        "such as days since 1970: X['since'].dt.epoch('d').",
    ),
}


def with_gaps(people):
    """Return people with missing values in three columns."""
    gaps = people.copy()
    gaps.loc[:5, "Duration"] = np.nan
    gaps.loc[2, "Account"] = None
    gaps.loc[7:9, "Age"] = np.nan
    return gaps


@pytest.mark.parametrize("mistake", MESSAGES)
def test_a_message_names_the_fault_and_what_to_do(mistake, people, risk):
    call, message = MESSAGES[mistake]
    with pytest.raises(ValueError, match=re.escape(message)):
        call(people, risk)


@pytest.mark.parametrize(
    ("make", "zone"),
    [(pd.DataFrame, None), (pd.DataFrame, "Europe/Rome"), (pl.from_pandas, None), (pa.table, None)],
)
def test_dates_become_days_as_the_message_says(make, zone, people, risk):
    X = make(people[["Gender"]].assign(since=DATES.tz_localize(zone)))
    with pytest.raises(ValueError, match="Make numbers of them") as error:
        classifier(sensitive="Gender").fit(X, risk)
    source = str(error.value).split("1970: ")[1].removesuffix(".")
    days = np.asarray(eval(source, {"X": X, "pandas": pd}))
    np.testing.assert_array_equal(days, 18262 + np.arange(200))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.table])
def test_dates_as_text_are_asked_about(make, people):
    text = pd.Series(DATES[:40].strftime("%Y-%m-%d").to_list() * 5)
    X = make(people[["Gender"]].assign(since=text))
    with pytest.warns(DataWarning, match="'since' holds dates as text") as warned:
        FairRidgeRegressor(sensitive="Gender").fit(X, people["Amount"])
    source = str(warned[0].message).split("1970: ")[1].removesuffix(".")
    days = np.asarray(eval(source, {"X": X, "pandas": pd}))
    np.testing.assert_array_equal(days, 18262 + np.tile(np.arange(40), 5))


def test_dates_that_somebody_made_categories_are_categories(people):
    text = pd.Series(DATES[:4].strftime("%Y-%m-%d").to_list() * 50, dtype="category")
    X = people[["Gender"]].assign(since=text)
    model = FairRidgeRegressor(sensitive="Gender").fit(X, people["Amount"])
    assert "since[2020-01-02]" in model.coef_names_


def test_classes_that_differ_in_case_only_are_asked_about(people, risk):
    spelled = np.where(risk == "BAD", "no", np.where(people["Amount"] > 0, "Yes", "YES"))
    with pytest.warns(DataWarning, match="'YES' and 'Yes': are they one"):
        classifier().fit(people, spelled)


def test_a_frame_of_one_row_is_predicted(people, risk):
    model = fitted(people, risk)
    row = people.iloc[3].to_frame().T.infer_objects()
    assert model.predict(row) == model.predict(people)[3]


def texts_of_messages():
    """Return the text of every error and warning in the sources, by file and line."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            warns = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_user"
            if warns or isinstance(node, ast.Raise):
                parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                yield f"{path.name}:{node.lineno}", "".join(map(str, parts))


def test_messages_give_reasons_in_sentences_of_their_own():
    texts = dict(texts_of_messages())
    assert len(texts) > 500
    assert not {where for where, text in texts.items() if re.search("so that|which then is", text)}
