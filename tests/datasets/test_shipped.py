"""The data sets in the package: known counts, and fairml's own frames where they exist."""

import hashlib
import json
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairridge import datasets

FOLDER = files("fairridge.datasets") / "data"
MANIFEST = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
TOOLS = Path(__file__).resolve().parents[2] / "tools"


# Family and sensitive attributes.
KNOWN = {
    "communities_crime": ("gaussian", ["racepctblack", "PctForeignBorn"]),
    "german_credit": ("binomial", ["Age", "Foreign_worker", "Gender"]),
    "adult": ("binomial", ["sex", "age", "race"]),
    "bank": ("binomial", ["age"]),
    "health_insurance": ("poisson", ["black", "female", "xage"]),
    "contraceptive_choice": ("multinomial", ["wife_age", "wife_religion"]),
    "rossi": ("cox", ["race", "age"]),
}


def counts(column):
    return column.value_counts(sort=False).to_dict()


# Files and manifest


@pytest.mark.parametrize("name", MANIFEST)
def test_files_are_those_of_the_manifest(name):
    content = (FOLDER / MANIFEST[name]["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == MANIFEST[name]["sha256"]
    assert len(content) == MANIFEST[name]["bytes"]


def test_nothing_else_ships_and_it_is_small():
    shipped = {entry.name for entry in FOLDER.iterdir()}
    assert shipped == {"manifest.json", *(entry["file"] for entry in MANIFEST.values())}
    assert sum(len(entry.read_bytes()) for entry in FOLDER.iterdir()) < 600_000


def test_manifest_was_built_from_the_present_recipes():
    recipes = tomllib.loads((TOOLS / "datasets.toml").read_text(encoding="utf-8"))
    assert list(recipes) == list(MANIFEST)
    for name, recipe in recipes.items():
        assert {key: MANIFEST[name][key] for key in recipe} == recipe


@pytest.mark.parametrize("info", datasets.available(), ids=lambda info: info.name)
def test_roles(info):
    data = getattr(datasets, f"load_{info.name}")()
    assert data.name == info.name
    assert (data.family, data.sensitive) == KNOWN[info.name]
    assert data.frame.shape == (info.rows, info.columns)
    assert list(data.X.columns) == [c for c in data.frame.columns if c not in info.response]
    assert set(data.sensitive) <= set(data.X.columns)
    assert len(data.y) == info.rows
    assert not data.frame.isna().any(axis=None)
    for part in (info.license, info.citation, MANIFEST[info.name]["source"]["package"]):
        assert part in data.description


def test_data_set_is_a_mapping_of_its_attributes():
    data = datasets.load_rossi()
    assert data["frame"] is data.frame
    assert set(data.keys()) == {
        *("name", "frame", "X", "y", "response", "sensitive", "family", "description"),
    }
    assert "target" not in data
    with pytest.raises(KeyError, match="target"):
        data["target"]
    assert repr(data).startswith("Dataset('rossi', family='cox', rows=432, columns=9")


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'compas' is not a data set.*german_credit"):
        datasets.load("compas")


# Counts that the publications of the data print, and sums.
COUNTS = {
    "german_credit": {
        "Credit_risk": {"BAD": 300, "GOOD": 700},
        "Gender": {"Female": 310, "Male": 690},
        "Foreign_worker": {"no": 37, "yes": 963},
    },
    "adult": {
        "income": {"<=50K": 22654, ">50K": 7508},
        "sex": {"Female": 9782, "Male": 20380},
        "native_country": {"United-States": 27504, "Non-United-States": 2658},
    },
    "bank": {
        "subscribed": {"no": 35662, "yes": 4533},
        "loan": {"no": 33947, "yes": 6248},
    },
    "health_insurance": {
        "site": {"1": 1113, "2": 1173, "3": 704, "4": 875, "5": 740, "6": 1033},
    },
    "contraceptive_choice": {
        "contraceptive_method": {"no use": 629, "long-term": 333, "short-term": 511},
        "wife_religion": {"non-Islam": 220, "Islam": 1253},
    },
    "rossi": {"race": {"other": 53, "black": 379}},
}
SUMS = {
    "communities_crime": {"racepctblack": 357.20, "PctForeignBorn": 429.80},
    "german_credit": {"Credit_amount": 3271258},
    "health_insurance": {"female": 2921},
    "rossi": {"arrest": 114, "week": 19809},
}


@pytest.mark.parametrize("name", MANIFEST)
def test_counts_are_those_that_are_published(name):
    frame = datasets.load(name).frame
    for column, known in COUNTS.get(name, {}).items():
        assert counts(frame[column]) == known
    for column, known in SUMS.get(name, {}).items():
        assert frame[column].sum() == pytest.approx(known)


def test_the_histogram_of_crime_is_that_of_uci():
    """Over fifteenths closed on the right; the row left out is in the fourth of them."""
    printed = np.array([484, 420, 284, 177, 142, 113, 59, 76, 57, 38, 37, 20, 23, 14, 50])
    hundredths = np.rint(datasets.load_communities_crime().y * 100).astype(int)
    found = np.bincount(np.maximum(-(-hundredths * 15 // 100) - 1, 0))
    np.testing.assert_array_equal(printed - found, np.eye(15)[3])


# fairml's frames


def fairml_frame(rda, name):
    import rdata

    return rdata.read_rda(rda / f"{name}.rda")[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "bank"])
def test_frame_equals_fairml(rda, name):
    ours, theirs = datasets.load(name).frame, fairml_frame(rda, name)
    assert list(ours.columns) == list(theirs.columns)
    for column in ours.columns:
        values, expected = ours[column].array, theirs[column].array
        if isinstance(expected.dtype, pd.CategoricalDtype):
            assert list(values.categories) == list(expected.categories)
            values, expected = values.codes, expected.codes
        np.testing.assert_array_equal(values, expected)


def test_german_credit_differs_from_fairml_in_gender_only(rda):
    theirs = fairml_frame(rda, "german.credit").reset_index(drop=True)
    ours = datasets.load_german_credit().frame
    assert set(ours.columns) == set(theirs.columns)
    for name in ours.columns:
        if isinstance(ours[name].dtype, pd.CategoricalDtype):
            cross = pd.crosstab(ours[name], theirs[name]) > 0
            assert (cross.sum() == 1).all(), name
            assert (cross.sum(axis=1) == 1).all(), name
        else:
            np.testing.assert_array_equal(ours[name], theirs[name])
    assert (ours["Gender"].astype(str) != theirs["Gender"].astype(str)).all()


def test_communities_crime_contains_the_rows_fairml_removed(rda):
    theirs = fairml_frame(rda, "communities.and.crime")
    ours = datasets.load_communities_crime().frame
    assert set(theirs.columns) - set(ours.columns) == {"state", "county", "fold"}
    # Rows are numbered from 1 as in the source, whose row 131 is the incomplete one.
    ours.index = [row for row in range(1, 1995) if row != 131]
    # These are, counted from 0, the positions of the source's incomplete columns.
    removed = [1, 2, 30, *range(101, 118), *range(121, 125), 126]
    expected = theirs[ours.columns].drop(index=131)
    pd.testing.assert_frame_equal(ours.drop(index=removed), expected, check_index_type=False)
