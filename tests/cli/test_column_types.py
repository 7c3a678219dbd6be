"""Text that holds numbers and dates, in messy loan applications."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairridge.cli.column_types import Kinds, typed
from fairridge.cli.errors import BadInputError

ROLES = ("--response", "default", "--sensitive", "race")


def loans(n, seed):
    """Loan applications as they come: keys, amounts, rates, dates and codes, all as text."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["Black", "White"], n, p=[0.3, 0.7])
    income = np.round(rng.lognormal(10.8 - 0.3 * (race == "Black"), 0.4, n), 2)
    rate = np.round(rng.uniform(3, 20, n), 2)
    opened = np.datetime64("2015-01-01") + rng.integers(0, 2000, n)
    days = pd.to_datetime(opened)
    eta = -1.5 + 0.12 * (rate - 10) - 1.2 * np.log(income / 5e4) + rng.logistic(size=n)
    return pd.DataFrame(
        {
            "id": [f"L{seed}-{k:06d}" for k in range(n)],
            "race": race,
            "income": [f"${value:,.2f}" for value in income],
            "savings": [
                f"{value:,.1f}".replace(",", " ").replace(".", ",") for value in income / 7
            ],
            "rate": [f"{value}%" for value in rate],
            "opened": days.strftime("%Y-%m-%d"),
            "born": [d.strftime("%d/%m/%Y") for d in days - pd.to_timedelta(9000, "D")],
            "zip": rng.choice([f"0{k}" for k in range(2100, 2120)] + ["94110", "10001"], n),
            "default": (eta > 0).astype(int),
        }
    )


@pytest.fixture
def files(folder):
    for name, n, seed in (("train.csv", 2000, 1), ("new.csv", 300, 2)):
        loans(n, seed).to_csv(folder / name, index=False)
    return folder


def cleaned(frame):
    """The same columns as a careful user would write them."""
    text = frame["savings"].str.replace(" ", "").str.replace(",", ".")
    epoch = pd.Timestamp("1970-01-01")
    born = pd.to_datetime(frame["born"], format="%d/%m/%Y")
    return frame.drop(columns="id").assign(
        income=frame["income"].str.replace("[$,]", "", regex=True).astype(float),
        savings=text.astype(float),
        rate=frame["rate"].str.rstrip("%").astype(float),
        opened=(pd.to_datetime(frame["opened"]) - epoch).dt.days.astype(float),
        born=(born - epoch).dt.days.astype(float),
    )


def test_a_key_is_refused_before_any_work(run, files):
    shown = run("fit", "train.csv", *ROLES)
    assert shown.code == 2
    assert "column 'id' is text with 2,000 different values in 2,000 rows" in shown.error
    assert "--drop id" in shown.error


def test_messy_columns_are_read_as_what_they_mean_and_said(run, files):
    fitted = run("fit", "train.csv", *ROLES, "--drop", "id", "--out", "m.json")
    assert fitted.code == 0
    for words in (
        "note: 7 columns become 27 encoded columns; 2,000 rows.",
        "Column 'income': read '$",
        "Column 'savings': read '",
        ", a number with a decimal comma.",
        ", a number of percent.",
        "Column 'opened' holds dates: read as days since 1970-01-01.",
        ", day first, in days since 1970-01-01.",
    ):
        assert words in fitted.error
    assert "'zip'" not in fitted.error
    cleaned(loans(2000, 1)).to_csv("clean.csv", index=False)
    run("fit", "clean.csv", *ROLES, "--categorical", "zip", "--out", "clean.json")
    cleaned(loans(300, 2)).to_csv("clean_new.csv", index=False)
    messy = run("predict", "new.csv", "-m", "m.json", "--out", "scores.csv")
    assert messy.code == 0
    assert "Column 'income': read '$" in messy.error
    run("predict", "clean_new.csv", "-m", "clean.json", "--out", "clean_scores.csv")
    scores = pd.read_csv("scores.csv", dtype=str)
    same = pd.read_csv("clean_scores.csv", dtype=str)
    np.testing.assert_allclose(
        scores["probability_1"].astype(float), same["probability_1"].astype(float), rtol=1e-9
    )
    # What was given is written back as it was.
    given = loans(300, 2).astype(str)
    pd.testing.assert_frame_equal(scores[given.columns], given, check_dtype=False)


def test_codes_stay_text_in_a_file_without_leading_zeros(run, files):
    run("fit", "train.csv", *ROLES, "--drop", "id", "--out", "m.json")
    new = loans(300, 2)
    new = new[new["zip"] == "94110"]
    new.to_csv("one_zip.csv", index=False)
    scored = run("predict", "one_zip.csv", "-m", "m.json", "--json")
    assert scored.code == 0
    assert len(json.loads(scored.out)["probability_1"]) == len(new)


@pytest.mark.slow
def test_reports_audits_and_comparisons_read_alike(run, files):
    run("fit", "train.csv", *ROLES, "--drop", "id", "--out", "m.json")
    audited = run("audit", "new.csv", "-m", "m.json", "-y", "default")
    assert audited.out.startswith("Favorable outcome: default = 0")
    report = run("report", "train.csv", "-y", "default", "-m", "m.json", "--cv", 0,
                 "--bootstrap", 0)  # fmt: skip
    assert report.code == 0
    compared = run("compare", "train.csv", *ROLES, "--drop", "id,zip", "--models", "FGRRM",
                   "--cv", 2)  # fmt: skip
    assert compared.code == 0
    assert "Column 'rate': read '" in compared.error


def column(*values, kind=None):
    return pa.table({"x": pa.array(values, kind or pa.string())})


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1,234.50", "-$2", "$0.5"], [1234.5, -2.0, 0.5]),
        (["17.25%", "3 %"], [17.25, 3.0]),
        (["1 234,5", "7", "12\u00a0345\u202f678,25"], [1234.5, 7.0, 12345678.25]),
        (["1.234,5 €", "9"], [1234.5, 9.0]),
        (["1,234", "5"], [1234.0, 5.0]),
        (["2024-02-29", "1970-01-02"], [19782.0, 1.0]),
        (["29/02/2024", "2.1.1970", "1970-01-03"], [19782.0, 1.0, 2.0]),
        (["1970-01-01T12:00:00", "1970-01-02T01:00:00+01:00"], [0.5, 1.0]),
    ],
)
def test_numbers_and_dates_are_recognized(texts, numbers):
    table, notes = typed(column(*texts, None), ["x"], Kinds())
    assert table["x"].to_pylist() == [*numbers, None]
    assert len(notes) == 1
    assert repr(texts[0]) in notes[0]


@pytest.mark.parametrize(
    "texts",
    [
        ["02139", "94110"],
        ["01", "$5"],
        ["$5", "€5"],
        ["5%", "6"],
        ["1", "2"],
        ["$5", "none"],
        ["1,23,4", "5"],
        ["12/31/2024", "01/02/2024"],
        ["31/02/2024", "01/02/2024"],
        ["1,5", "1.5"],
        ["5$5", "6"],
    ],
)
def test_other_text_stays_text(texts):
    table, notes = typed(column(*texts), ["x"], Kinds())
    assert table["x"].to_pylist() == texts
    assert notes == ()


def test_what_users_say_overrules_looks():
    codes = column("007", "010")
    assert typed(codes, ["x"], Kinds(numeric=("x",)))[0]["x"].to_pylist() == [7.0, 10.0]
    amounts = column("$5", "$6")
    assert typed(amounts, ["x"], Kinds(categorical=("x",)))[0]["x"].to_pylist() == ["$5", "$6"]
    years = column(2020, 2021, kind=pa.int64())
    assert typed(years, ["x"], Kinds(categorical=("x",)))[0]["x"].to_pylist() == ["2020", "2021"]
    with pytest.raises(BadInputError, match="--date x: '12/31/2024' is not a date"):
        typed(column("12/31/2024"), ["x"], Kinds(date=("x",)))
    with pytest.raises(BadInputError, match="--numeric x: its numbers are written in different"):
        typed(column("5%", "6"), ["x"], Kinds(numeric=("x",)))


def test_dates_of_parquet_files_are_days(run, folder):
    rng = np.random.default_rng(0)
    n = 80
    table = pa.table(
        {
            "sex": rng.choice(["f", "m"], n).tolist(),
            "day": [date.fromordinal(737000 + int(k)) for k in rng.integers(0, 900, n)],
            "code": rng.choice(["1", "2", "3"], n).tolist(),
            "y": rng.normal(size=n),
        }
    )
    pq.write_table(table, "dates.parquet")
    shown = run("fit", "dates.parquet", "-y", "y", "-s", "sex", "--json")
    facts = json.loads(shown.out)
    assert "Column 'day' holds dates: read as days since 1970-01-01." in facts["remarks"]
    assert [row["term"] for row in facts["coefficients"]] == [
        "(intercept)", "sex[m]", "day", "code[2]", "code[3]",
    ]  # fmt: skip
