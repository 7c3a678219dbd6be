"""Text that holds numbers and dates."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairridge import FairRidgeRegressor, save
from fairridge.cli.column_types import Kinds, typed
from fairridge.cli.errors import BadInputError


def column(*values, kind=None):
    return pa.table({"x": pa.array(values, kind or pa.string())})


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1,234.50", "-$2", "$0.5"], [1234.5, -2.0, 0.5]),
        (["17.25%", "3 %"], [17.25, 3.0]),
        (["1 234,5", "7", "12\u00a0345\u202f678,25"], [1234.5, 7.0, 12345678.25]),
        (["1.234,5 €", "9"], [1234.5, 9.0]),
        (["2024-02-29", "1970-01-02"], [19782.0, 1.0]),
        (["29/02/2024", "2.1.1970", "1970-01-03"], [19782.0, 1.0, 2.0]),
        (["1970-01-01T12:00:00", "1970-01-02T01:00:00+01:00"], [0.5, 1.0]),
    ],
)
def test_numbers_and_dates_are_recognized(texts, numbers):
    table, notes, _ = typed(column(*texts, None), ["x"], Kinds())
    assert table["x"].to_pylist() == [*numbers, None]
    assert len(notes) == 1
    assert repr(texts[0]) in notes[0]


@pytest.mark.parametrize(
    "texts",
    [
        ["02139", "94110"],
        ["$5", "€5"],
        ["$5", "none"],
        ["1,23,4", "5"],
        ["12/31/2024", "01/02/2024"],
        ["31/02/2024", "01/02/2024"],
        ["1,5", "1.5"],
    ],
)
def test_other_text_stays_text(texts):
    table, notes, _ = typed(column(*texts), ["x"], Kinds())
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


def amounts(values):
    """Numbers as Europeans write them."""
    return [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in values]


@pytest.fixture
def european(run, folder):
    """A model of amounts with a decimal comma, rates in percent and codes that are numbers."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 80),
            "amount": amounts(rng.uniform(900.0, 9000.0, 80)),
            "rate": [f"{value}%" for value in rng.integers(1, 30, 80)],
            "price": [f"€ {value}" for value in rng.integers(1, 30, 80)],
            "grade": [f"{value:03d}" for value in rng.integers(1, 40, 80)],
            "seen": [f"{value:02d}.03.2024" for value in rng.integers(1, 28, 80)],
            "size": rng.uniform(1.0, 9.0, 80).round(3),
            "y": amounts(rng.normal(5000.0, 900.0, 80)),
        }
    )
    frame.to_csv("train.csv", sep=";", index=False)
    fitted = run("fit", "train.csv", "--response", "y", "--sensitive", "sex", "--numeric",
                 "grade", "--out", "m.json")  # fmt: skip
    assert fitted.code == 0, fitted.error
    return frame


def predicted(run, frame, *options):
    frame.to_csv("new.csv", sep=";", index=False)
    found = run("predict", "new.csv", "--model", "m.json", "--json", *options)
    assert found.code == 0, found.error
    return json.loads(found.out)["prediction"]


def test_a_file_is_read_in_the_style_of_the_fit(run, european):
    """A point alone says nothing about itself; the file of the fit does."""
    rows = european.head(3)
    plain = predicted(run, rows.assign(amount=["6096,00", "1250,00", "900"]))
    assert predicted(run, rows.assign(amount=["6.096", "1.250", "900"])) == plain
    assert predicted(run, rows.assign(amount=["6.096", "1.250,00", "900"])) == plain
    assert predicted(run, rows.assign(amount=[6096, 1250, 900])) == plain


def test_a_monitor_reads_weights_in_the_style_of_the_fit(run, european, folder):
    states = []
    for k, weights in enumerate((["6.096", "1.250"], ["6096,00", "1250,00"], ["6,096", "1,25"])):
        european.assign(y=weights * 40).to_csv("new.csv", sep=";", index=False)
        found = run("monitor", "new.csv", "--model", "m.json", "--state", f"{k}.json",
                    "--weight", "y")  # fmt: skip
        assert found.code == 0, found.error
        states.append((folder / f"{k}.json").read_text())
    assert states[0] == states[1] != states[2]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("amount", ["6.09", "900"], "has '6.09'; the file that the model was fitted to has numbers "
         "with a decimal comma"),
        ("rate", [5, 6], "has numbers without \"%\"; the file that the model was fitted to has "
         "numbers of percent"),
        ("price", ["$ 5", "$ 6"], "has '$ 5'; the file that the model was fitted to has numbers in "
         "€"),
        ("size", ["6,5", "1,25"], "has '6,5'; the file that the model was fitted to has numbers "
         "with a decimal point"),
        ("size", ["5%", "6%"], "has '5%'; the file that the model was fitted to has numbers"),
        ("seen", [19_000, 19_001], "has numbers; the file that the model was fitted to has dates"),
        ("size", ["2024-01-31", "2024-02-01"], "holds dates; the file that the model was fitted"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_the_fit_is_refused(run, european, name, values, message):
    european.head(2).assign(**{name: values}).to_csv("new.csv", sep=";", index=False)
    result = run("predict", "new.csv", "--model", "m.json")
    assert result.code == 2
    assert f"column {name!r} {message}" in result.error


@pytest.mark.parametrize("name", ["grade", "rate", "price"])
def test_what_only_looks_different_is_read(run, european, name):
    other = {"grade": [36, 7], "rate": ["07%", "3%"], "price": ["5", "6"]}[name]
    same = {"grade": ["036", "007"], "rate": ["7%", "3%"], "price": ["€ 5", "€ 6"]}[name]
    rows = european.head(2)
    found = predicted(run, rows.assign(**{name: other}))
    assert found == predicted(run, rows.assign(**{name: same}))


def test_bad_rows_are_those_that_contradict_the_fit(run, european):
    rows = european.head(3).assign(amount=["6.09", "1.250", "900"])
    found = predicted(run, rows, "--on-bad-row", "flag")
    assert found[0] is None
    good = predicted(run, rows.tail(2))
    assert found[1:] == good


def test_every_command_that_reads_rows_for_a_model_reads_alike(run, european):
    new = european.head(60).assign(amount="6.096", y=["6.096"] * 30 + ["1.250"] * 29 + ["900"])
    new.to_csv("new.csv", sep=";", index=False)
    expected = json.loads(run("predict", "new.csv", "-m", "m.json", "--json").out)["prediction"]
    y = np.repeat([6096.0, 1250.0, 900.0], [30, 29, 1])
    audited = run("audit", "new.csv", "-m", "m.json", "-y", "y", "--json")
    assert audited.code == 0, audited.error
    groups = [g for g in json.loads(audited.out)["groups"] if g["attribute"] == "sex"]
    counts = np.array([group["count"] for group in groups])
    means = np.array([group["mean_prediction"] for group in groups])
    assert counts @ means / 60 == pytest.approx(np.mean(expected), rel=1e-9)
    outcomes = np.array([group["mean_response"] for group in groups])
    assert counts @ outcomes / 60 == pytest.approx(y.mean(), rel=1e-9)
    reported = run("report", "new.csv", "-m", "m.json", "-y", "y", "--new-rows", "--json")
    assert reported.code == 0, reported.error
    rmse = {one["key"]: one["value"] for one in json.loads(reported.out)["measures"]}["rmse"]
    assert rmse == pytest.approx(np.sqrt(np.mean((y - expected) ** 2)), rel=1e-9)
    explained = run("reasons", "new.csv", "-m", "m.json", "--json")
    assert explained.code == 0, explained.error
    assert "6.096" in explained.out


def test_a_model_of_python_reads_numbers_however_they_are_written(run, folder):
    """It remembers no style, but it knows that the column held numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": rng.normal(size=50), "grade": rng.integers(1, 40, 50)})
    model = FairRidgeRegressor(0.1, sensitive=["s"]).fit(frame, rng.normal(size=50))
    save(model, "m.json")
    expected = model.predict(frame.head(2))
    texts = [f"{value:03d}" for value in frame["grade"].head(2)]
    found = predicted(run, frame.head(2).assign(grade=texts))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_stream_does_not_read_text_as_numbers(run, folder):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "s": rng.normal(size=90),
            "rate": [f"{value}%" for value in rng.integers(1, 9, 90)],
            "y": rng.normal(size=90),
        }
    )
    frame.to_parquet("d.parquet")
    roles = ("--response", "y", "--sensitive", "s", "--json")
    streamed = run("fit", "d.parquet", "--stream", *roles)
    assert streamed.code == 2
    assert "column 'rate' holds text or dates that mean numbers, such as '" in streamed.error
    assert run("fit", "d.parquet", "--stream", *roles, "--categorical", "rate").code == 0
    numbers = run("fit", "d.parquet", "--stream", *roles, "--categorical", "s")
    assert numbers.code == 2
    assert "--categorical s: the column holds double" in numbers.error


def test_times_are_days_to_the_nanosecond():
    moments = pa.array([0, 43_200_000_000_001, None], pa.timestamp("ns"))
    table, notes, _ = typed(pa.table({"x": moments}), ["x"], Kinds())
    assert notes == ("Column 'x' holds dates: read as days since 1970-01-01.",)
    first, half, missing = table["x"].to_pylist()
    assert (first, missing) == (0.0, None)
    assert half == pytest.approx(0.5, abs=1e-12)


def test_blank_lines_above_the_names_say_nothing_about_separators(run, folder):
    rows = "".join(f"{k % 2};{k},5;{(k * 7) % 5},25\n" for k in range(30))
    (folder / "d.csv").write_text(f"\ufeff\r\n \ns;x;y\n{rows}", encoding="utf-8")
    result = run("fit", "d.csv", "--response", "y", "--sensitive", "s")
    assert result.code == 0, result.error
