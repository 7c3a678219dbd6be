"""Tables: numbers as they are written, and what text, notebooks and frames have of a table."""

import numpy as np
import pytest

from fairridge.tables import SHOWN_ROWS, Column, Table, estimate, number, numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5000"), (0.99996, "1.000"), (12243.41, "12,243"), (-0.0013615, "-0.001362"),
        (3.21e-5, "3.210e-05"), (1.5e9, "1.500e+09"), (0.0, "0"), (np.nan, ""), (-np.inf, "-∞"),
    ],
)  # fmt: skip
def test_numbers_have_significant_digits(value, text):
    assert number(value) == text


def test_numbers_of_a_column_can_be_told_apart():
    assert numbers([11.2134, 11.2256, 11.2391], 3) == ["11.213", "11.226", "11.239"]
    assert numbers([0.1, 250.0]) == ["0.1000", "250.0"]
    assert numbers([4.32e-31, 0.05], 3) == ["0", "0.0500"]
    assert numbers([2.0, 2.0 + 1e-15], 3) == ["2.00", "2.00"]
    assert numbers([]) == []
    assert numbers([4.32e-31], scale=1.0) == ["0"]  # nothing, beside shares


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        ((10.4, 10.39, 10.41), ["10.40", "10.39", "10.41"]),
        ((0.0, 0.0, 0.0154), ["0.0000", "0.0000", "0.0154"]),
        ((12243.0, 11000.5, 13500.0), ["12,243", "11,000", "13,500"]),
        ((1.5, np.nan, np.inf), ["1.50", "", "∞"]),
    ],
)
def test_ends_of_an_interval_differ_from_the_estimate(found, texts):
    assert estimate(*found) == texts


def table(**columns):
    return Table("Title", columns, [("Rows", "12")], ["A note."])


def test_columns_are_as_wide_as_their_cells():
    found = table(
        term=Column(["x", "sex[m]"], ""),
        error=Column([0.009619, 0.1], "std err"),
        statistic=Column([1059.0854, -2.0], "t", ".3f"),
        only=Column([1, 2], None),
        nothing=Column([np.nan, np.nan], "empty"),
    )
    assert found.text().splitlines()[3:7] == [
        "         std err         t",
        "--------------------------",
        "x       0.009619  1059.085",
        "sex[m]    0.1000    -2.000",
    ]
    assert "Rows:" in found.text()
    assert found.text().endswith("\n\nA note.")
    assert list(found.frame()) == ["term", "error", "statistic", "only", "nothing"]


def test_what_does_not_fit_stands_below():
    numbered = {f"column {k}": Column([float(k)], f"column {k}") for k in range(12)}
    lines = table(name=Column(["everybody"], ""), **numbered).text().splitlines()
    assert max(map(len, lines)) <= 78
    assert sum(line.startswith("everybody") for line in lines) == 2
    assert all(f"column {k}" in " ".join(lines) for k in range(12))


def test_brief_tables_print_their_first_rows():
    values = {"row": list(range(1234)), "unfairness": [0.01] * 1234, "y": [np.nan] * 1234}
    text = Table.of(values, "Title", "A note.", brief=True).text()
    assert len(text.splitlines()) == SHOWN_ROWS + 7
    assert text.endswith("A note.\n… and 1,214 more rows")
    assert " 0.01\n" in text
    assert "y" not in text.splitlines()[2]  # nothing to show


def test_notebooks_show_the_first_rows_and_escape_names():
    html = table(name=Column(["<b>"] * 1234, "<i>")).html()
    assert html.count("<tr>") == SHOWN_ROWS + 2  # and those of the head and the fact
    assert "… and 1,214 more rows" in html
    assert "&lt;b&gt;" in html
    assert "&lt;i&gt;" in html


def test_rows_are_named_by_as_many_columns_as_tell_them_apart():
    wide = {f"column {k}": Column([1.0, 2.0], f"column {k}") for k in range(9)}
    terms = {"class": Column(["a", "b"], "class"), "term": Column(["x", "x"], "term")}
    lines = table(**terms, **wide).text().splitlines()
    assert sum(line.split()[:1] == ["a"] for line in lines) == 2
    assert sum("term" in line for line in lines) == 1  # classes suffice
    terms["class"] = Column(["a", "a"], "class")
    terms["term"] = Column(["x", "z"], "term")
    lines = table(**terms, **wide).text().splitlines()
    assert sum(line.split()[:2] == ["a", "z"] for line in lines) == 2
