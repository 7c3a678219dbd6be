"""Reason codes add up, and never name a sensitive attribute unasked."""

import numpy as np
import pytest

from fairridge.export import reasons


def explained_eta(model, X, label=None, **options):
    eta = model._linear_predictor(X, options.get("sensitive_features"), None)
    if eta.ndim == 1:
        return -eta if label is not None and label == model.classes_[0] else eta
    return eta.max(axis=1) if label is None else eta[:, list(model.classes_).index(label)]


@pytest.mark.parametrize("sensitive", [False, True])
def test_contributions_add_up_to_the_linear_predictor(model, workers, sensitive):
    found = reasons(model, workers.X, sensitive=sensitive, top=None)
    np.testing.assert_allclose(
        found.linear_predictor, explained_eta(model, workers.X), rtol=1e-10, atol=1e-10
    )
    if sensitive:
        np.testing.assert_array_equal(found.rest, 0.0)
    else:
        assert set(found.attributes) == {"skill", "hours", "region", "manager"}


def test_contributions_are_relative_to_the_training_mean(fitted, workers):
    model = fitted("gaussian")
    found = reasons(model, workers.X, top=None)
    np.testing.assert_allclose(found.contributions.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.level, workers.y["gaussian"].mean(), rtol=1e-10)
    coefficient = model.coef_[model.coef_names_ == "skill"]
    skill = found.contributions[:, found.attributes.index("skill")]
    expected = coefficient * (workers.X["skill"] - workers.X["skill"].mean())
    np.testing.assert_allclose(skill, expected, rtol=1e-10, atol=1e-12)
    levels = dict(zip(model.coef_names_, model.coef_, strict=True))
    by_level = workers.X["region"].map(lambda r: levels.get(f"region[{r}]", 0.0)).astype(float)
    region = found.contributions[:, found.attributes.index("region")]
    np.testing.assert_allclose(region, by_level - by_level.mean(), rtol=1e-10, atol=1e-12)


def test_reasons_of_predictors_do_not_depend_on_sensitive_attributes(model, workers):
    rows = workers.X.head(20)
    changed = rows.assign(sex=np.where(rows["sex"] == "f", "m", "f"), age=rows["age"] + 7.0)
    label = getattr(model, "classes_", [None])[0]
    found, other = (reasons(model, X, label=label, top=None) for X in (rows, changed))
    np.testing.assert_array_equal(found.contributions, other.contributions)
    assert found.ranking == other.ranking
    assert (found.rest != other.rest).all()


@pytest.mark.parametrize("direction", ["both", "down"])
def test_reasons_are_ranked(fitted, workers, direction):
    found = reasons(fitted("binomial"), workers.X, direction=direction, top=3)
    assert len(found) == len(workers.X)
    for row in range(40):
        values = [value for _, _, value in found[row]]
        assert len(values) <= 3
        if direction == "both":
            assert values == sorted(values, key=abs, reverse=True)
            others = np.delete(found.contributions[row], found.ranking[row])
            assert np.abs(others).max() <= abs(values[-1])
        else:
            assert values == sorted(values)
            assert all(value < 0 for value in values)


def test_the_frame_tells_rank_value_and_contribution(fitted, workers):
    found = reasons(fitted("binomial"), workers.X.head(2), top=2)
    table = found.to_frame()
    assert table.columns.tolist() == ["row", "rank", "attribute", "value", "contribution"]
    assert table["row"].tolist() == [0, 0, 1, 1]
    assert table["rank"].tolist() == [1, 2, 1, 2]
    first = table.iloc[0]
    actual = workers.X.iloc[0][first["attribute"]]
    shown = f"{actual:g}" if isinstance(actual, float) else str(actual)
    assert first["value"] == shown
    assert (first["attribute"], first["value"], first["contribution"]) == found[0][0]


def test_a_class_can_be_chosen(fitted, workers):
    model = fitted("multinomial")
    for label in model.classes_:
        found = reasons(model, workers.X, label=label)
        np.testing.assert_allclose(
            found.linear_predictor, explained_eta(model, workers.X, label), rtol=1e-9, atol=1e-12
        )
    two = fitted("binomial")
    no, yes = (reasons(two, workers.X, label=label) for label in ("no", "yes"))
    np.testing.assert_array_equal(no.contributions, -yes.contributions)
    with pytest.raises(ValueError, match="label='x' is not a class of this model"):
        reasons(two, workers.X, label="x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top=0 must be a positive integer"),
        ({"direction": "sideways"}, "direction='sideways' is not known"),
    ],
)
def test_bad_options_are_named(fitted, workers, options, message):
    with pytest.raises(ValueError, match=message):
        reasons(fitted("gaussian"), workers.X, **options)


def test_reasons_are_written_as_sentences(fitted, workers):
    found = reasons(fitted("gaussian"), workers.X, direction="down", top=2)
    sentences = found.sentences(names={"skill": "the test result"})
    assert len(sentences) == len(workers.X)
    row = next(row for row in range(len(found)) if found[row][:1] and found[row][0][0] == "skill")
    _, value, size = found[row][0]
    assert sentences[row][0] == f"the test result is {value}, which lowers the score."
    template = "{rank}. {attribute}={value} ({contribution:+.3f}) {effect}"
    assert found.sentences(template)[row][0] == f"1. skill={value} ({size:+.3f}) lowers"


@pytest.mark.parametrize("template", ["{name} is {value}", "{attribute", "{value.__class__.x}"])
def test_templates_that_cannot_be_filled_in_are_named(fitted, workers, template):
    found = reasons(fitted("gaussian"), workers.X.head(3))
    with pytest.raises(ValueError, match=r"cannot be filled in.*it may use {attribute}, {value}"):
        found.sentences(template)
