"""Level counts and moments of other parties with one wrong field: an error that names the file."""

import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, sources
from fairridge.sources import LevelCounts, RowMoments
from tests.zoo import REMOVED, with_changed_field

FORGED = (None, -1, 0, 1e308, 10**400, "x", True, [], {}, [[1]], [1, 2, 3], [["a", -1.0]], REMOVED)
# So many forgeries per field; the next field goes on in the list where this one stopped.
EACH = 3


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 40),
            "skill": rng.normal(size=40),
            "region": pd.Categorical(rng.choice(["a", "b"], 40), ["a", "b", "c"]),
            "weight": rng.uniform(1.0, 2.0, 40),
        }
    )
    frame["wage"] = frame["skill"] + (frame["sex"] == "m") + rng.normal(size=40)
    return sources.frame(frame, response="wage", sensitive="sex", weight="weight")


def places(value, above=()):
    if above:
        yield above
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*above, key))


def forged_copies(document):
    """Every field of a document, changed to something else or left out."""
    for number, place in enumerate(places(document)):
        for step in range(EACH):
            value = FORGED[(EACH * number + step) % len(FORGED)]
            yield with_changed_field(document, place, value)


def loaded(kind, path):
    """The object, or what the error says."""
    try:
        return kind.load(path), ""
    except ValueError as error:
        return None, str(error)


def test_forged_level_counts_are_named_or_harmless(source, tmp_path):
    path, wrong = tmp_path / "levels.json", 0
    sources.count_levels(source).save(path)
    for document in forged_copies(json.loads(path.read_text())):
        path.write_text(json.dumps(document))
        found, message = loaded(LevelCounts, path)
        if found is None:
            wrong += 1
            assert message.startswith(f"{path} does not hold level counts")
            continue
        assert isinstance(found + found, LevelCounts)
        with suppress(ValueError):  # of other columns, for example
            sources.moments(source, level_counts=found)
    assert wrong > 60


def moments_fields(source, path):
    sources.moments(source).save(path)
    with np.load(path) as stored:
        return dict(stored)


def test_forged_moments_are_named_or_harmless(source, tmp_path):
    path, wrong = tmp_path / "moments.npz", 0
    fields = moments_fields(source, path)
    bad = [np.nan, np.inf, -1.0, 0.0, 1e308, "x", [], [[1.0]], np.ones(3), np.ones((2, 2)), True]
    forgeries = [{**fields, name: np.array(value)} for name in fields for value in bad]
    forgeries += [{k: v for k, v in fields.items() if k != name} for name in fields]
    for name in ("mean", "scatter"):
        for value in (np.nan, np.inf, -1e6, 1e308):
            changed = fields[name].copy()
            changed.flat[1] = value
            forgeries.append({**fields, name: changed})
    for forged in forgeries:
        np.savez(path, **forged)
        found, message = loaded(RowMoments, path)
        if found is None:
            wrong += 1
            assert message.startswith(f"{path} does not hold moments")
            continue
        with suppress(ValueError):  # too few rows, for example
            model = FairRidgeRegressor(0.1).fit(found)
            assert np.isfinite(model.coef_).all()
    assert wrong > 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": np.array(-1.0)}, "n_rows and weight of Moments must be positive"),
        ({"mean": np.full(5, np.nan)}, "mean of Moments is .*, not Floats"),
        ({"scatter": -np.eye(5)}, "scatter of Moments must be symmetric and positive semidefinite"),
        ({"level_counts": np.array("{}")}, "'roles'"),
    ],
)
def test_what_is_wrong_with_moments_is_said(source, tmp_path, changes, message):
    path = tmp_path / "moments.npz"
    np.savez(path, **{**moments_fields(source, path), **changes})
    with pytest.raises(ValueError, match=message):
        RowMoments.load(path)
