"""Parties that add their moments and fit one model without showing a row."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, KomiyamaRegressor, ZafarRegressor, row_products, sources
from fairridge.exceptions import DataWarning
from fairridge.inference import RowProducts
from fairridge.sources import LevelCounts, RowMoments

from .conftest import COLUMNS, SENSITIVE, assert_same_model, columns_of

ROLES = {"response": "wage", "sensitive": SENSITIVE}


@pytest.fixture
def parties(people):
    """Three parties; the first has nobody of other sex, the last no region c."""
    frame = people[columns_of("wage", "weight", "exposure")].head(1500)
    frame = frame.assign(region=frame["region"].astype(str))
    first = frame["sex"] != "other"
    second = ~first | (frame["region"] == "c")
    parts = [
        frame[first & ~second].iloc[:600],
        frame[second],
        frame[first & ~second].iloc[600:],
    ]
    assert sum(map(len, parts)) == 1500
    return parts


def held_by(parties, **roles):
    return [sources.frame(part, **ROLES, **roles, batch_rows=200) for part in parties]


def joint(parties, **roles):
    found = held_by(parties, **roles)
    levels = sum(
        (sources.count_levels(source) for source in found[1:]), start=sources.count_levels(found[0])
    )
    return [sources.moments(source, level_counts=levels) for source in found]


def in_memory(parties, **options):
    frame = pd.concat(parties)
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    return model.fit(frame[COLUMNS], frame["wage"], **options)


EXTRAS = {"predictors": ["skill", "region", "years"], "weight": "weight", "offset": "exposure"}


def test_the_joint_model_is_that_of_all_rows_together(parties):
    a, b, c = joint(parties, **EXTRAS)
    ours = FairRidgeRegressor(0.05).fit(a + b + c)
    whole = pd.concat(parties)
    theirs = in_memory(parties, sample_weight=whole["weight"], offset=whole["exposure"])
    assert_same_model(ours, theirs)
    np.testing.assert_allclose(
        ours.predict(whole[COLUMNS]), theirs.predict(whole[COLUMNS]), rtol=1e-11
    )
    path = FairRidgeRegressor().path(c + a + b)
    np.testing.assert_allclose(path.at(0.05).alpha_, theirs.alpha_, rtol=1e-10)


def test_a_party_can_leave(parties):
    predictors = {"predictors": ["skill", "region", "years"]}
    a, b, c = joint(parties, **predictors)
    left = FairRidgeRegressor(0.05).fit(a + b + c - c)
    assert_same_model(left, FairRidgeRegressor(0.05).fit(a + b))
    # Levels that only the party that left had are empty from then on.
    with pytest.warns(DataWarning, match=r"'sex\[other\]' are constant"):
        left = FairRidgeRegressor(0.05).fit(a + b + c - b)
    assert left.alpha_[2] == 0.0


def test_level_counts_and_moments_are_files(parties, tmp_path):
    found = held_by(parties, **EXTRAS)
    for k, source in enumerate(found):
        sources.count_levels(source).save(tmp_path / f"{k}.json")
    levels = LevelCounts.load(tmp_path / "0.json") + LevelCounts.load(tmp_path / "1.json")
    levels = levels + LevelCounts.load(tmp_path / "2.json")
    for k, source in enumerate(found):
        sources.moments(source, level_counts=levels).save(tmp_path / f"{k}.npz")
    a, b, c = (RowMoments.load(tmp_path / f"{k}.npz") for k in range(3))
    direct = joint(parties, **EXTRAS)
    for loaded, original in zip((a, b, c), direct, strict=True):
        assert loaded.level_counts == original.level_counts
        assert loaded.moments.n_rows == original.moments.n_rows
        np.testing.assert_array_equal(loaded.moments.scatter, original.moments.scatter)
    assert_same_model(
        FairRidgeRegressor(0.05).fit(a + b + c),
        FairRidgeRegressor(0.05).fit(direct[0] + direct[1] + direct[2]),
        tolerance=1e-15,
    )


def test_a_file_holds_no_rows(parties, tmp_path):
    """What a party gives away does not grow with its rows."""
    (large, *_), (small, *_) = joint(parties), joint([part.head(80) for part in parties])
    for moments, name in ((large, "large"), (small, "small")):
        moments.save(tmp_path / name)
    sizes = [(tmp_path / name).stat().st_size for name in ("large", "small")]
    assert abs(sizes[0] - sizes[1]) < 200
    assert large.moments.n_rows > 5 * small.moments.n_rows


def test_parties_that_did_not_agree_first(parties):
    separate = [sources.moments(source) for source in held_by(parties)]
    with pytest.raises(ValueError, match="add the level counts of all parties first"):
        separate[0] + separate[1]
    other = sources.frame(parties[0], response="wage", sensitive="age")
    with pytest.raises(ValueError, match="different columns"):
        sources.count_levels(held_by(parties)[0]) + sources.count_levels(other)
    with pytest.raises(ValueError, match="level counts are of other columns"):
        sources.moments(other, level_counts=sources.count_levels(held_by(parties)[0]))
    first, second, _ = held_by(parties)
    with pytest.raises(ValueError, match=r"rows 0 to .*column 'sex' has the level 'other'"):
        sources.moments(second, level_counts=sources.count_levels(first))


def test_only_moments_add_to_moments(parties):
    moments = joint(parties)[0]
    with pytest.raises(TypeError, match=r"moments add to moments of other rows.*sum\(parts\[1:\]"):
        sum([moments, moments])
    with pytest.raises(TypeError, match="level counts add to level counts of other rows"):
        moments.level_counts + 3


def test_columns_may_come_in_another_order(parties):
    expected = in_memory(parties)
    used = [*COLUMNS, "wage"]
    mixed = [parties[0][used], parties[1][used[::-1]], parties[2][used[2:] + used[:2]]]
    a, b, c = joint(mixed)
    assert_same_model(FairRidgeRegressor(0.05).fit(a + b + c), expected)
    # Columns keep their order; that of roles is another matter.
    first, second = (
        sources.moments(sources.frame(mixed[0], response="wage", sensitive="age", predictors=names))
        for names in (["years", "skill"], ["skill", "years"])
    )
    with pytest.raises(ValueError, match="differently encoded"):
        first + second


def test_models_that_need_rows(parties):
    total = joint(parties)[0]
    with pytest.raises(ValueError, match="only gaussian models are fitted to moments"):
        FairRidgeRegressor(family="poisson").fit(total)
    with pytest.raises(ValueError, match="this definition of fairness needs the rows"):
        FairRidgeRegressor(definition="individual").fit(total)
    total = joint(parties, predictors=["skill"])[1]
    with pytest.raises(TypeError, match="moments hold no rows"):
        FairRidgeRegressor().fit(total).predict(total)


@pytest.mark.parametrize("model", [KomiyamaRegressor, ZafarRegressor])
def test_moments_serve_models_of_comparison(people, model):
    frame = people[["age", "skill", "wage"]]
    total = sources.moments(sources.frame(frame, response="wage", sensitive="age"))
    theirs = model(0.3, sensitive="age").fit(frame[["age", "skill"]], frame["wage"])
    np.testing.assert_allclose(model(0.3).fit(total).coef_, theirs.coef_)


def test_moments_without_enough_digits(people):
    frame = people[["age", "skill", "wage"]].assign(
        near=lambda d: d["skill"] + 1e-5 * np.sin(np.arange(len(d)))
    )
    total = sources.moments(sources.frame(frame, response="wage", sensitive="age"))
    with pytest.raises(ValueError, match="do not carry enough digits"):
        FairRidgeRegressor().fit(total)


KINDS = {
    "plain": {},
    "near the kink": {"unfairness": 0.3},
    "controls": {"controls": ["skill"]},
    "means": {"definition": "mean-parity"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "covariance"), [(kind, "HC1" if kind == "plain" else "HC3") for kind in KINDS]
)
def test_standard_errors_from_products_that_parties_add(parties, tmp_path, kind, covariance):
    moments = joint(parties, **EXTRAS)
    total = moments[0] + moments[1] + moments[2]
    options = {"unfairness": 0.02} | KINDS[kind]
    model = FairRidgeRegressor(**options).fit(total)
    for k, source in enumerate(held_by(parties, **EXTRAS)):
        row_products(model, total, source, covariance=covariance).save(tmp_path / f"{k}.npz")
    found = [RowProducts.load(tmp_path / f"{k}.npz") for k in range(3)]
    ours = model.inference(total, products=sum(found[1:], start=found[0]), covariance=covariance)
    whole = pd.concat(parties)
    data = {"sample_weight": whole["weight"], "offset": whole["exposure"]}
    other = FairRidgeRegressor(sensitive=SENSITIVE, **options)
    other.fit(whole[COLUMNS], whole["wage"], **data)
    theirs = other.inference(whole[COLUMNS], whole["wage"], **data, covariance=covariance)
    places = [ours.names.index(name) for name in theirs.names]
    np.testing.assert_allclose(
        ours.covariance[np.ix_(places, places)], theirs.covariance, rtol=1e-6, atol=1e-12
    )
    assert ours.aic == pytest.approx(theirs.aic)
    assert ours.facts.near_kink == theirs.facts.near_kink == (kind == "near the kink")


def test_products_that_do_not_belong_together(parties, tmp_path):
    first, *others = joint(parties, **EXTRAS)
    total = sum(others, start=first)
    sources_ = held_by(parties, **EXTRAS)
    model = FairRidgeRegressor(0.02).fit(total)
    one = row_products(model, total, sources_[0])
    with pytest.raises(ValueError, match=f"of {one.n_rows} rows, and the model of {model.n_rows_}"):
        model.inference(total, products=one)
    strict = row_products(model, total, sources_[1], covariance="HC3")
    with pytest.raises(ValueError, match="of different models"):
        one + strict
    with pytest.raises(ValueError, match="of another model"):
        model.inference(total, products=strict)
    with pytest.raises(ValueError, match="standard errors need the rows"):
        model.inference(total)
    path = tmp_path / "moments.npz"
    total.save(path)
    with pytest.raises(ValueError, match="does not hold products"):
        RowProducts.load(path)
