"""Predictors whose sign a bound changes in models that do not use S."""

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    compare,
    load,
    report,
    save,
    sources,
)
from tests import zoo

N = 1500
OPTIONS = {"sensitive": ["sex"], "blind": True}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(14)
    man = rng.random(N) < 0.5
    skill, branch = rng.normal(size=N), rng.normal(size=N) + 1.2 * man
    commute = rng.normal(size=N) - 0.9 * man
    frame = pd.DataFrame({"sex": np.where(man, "m", "f"), "skill": skill})
    frame = frame.assign(branch=branch, commute=commute)
    return frame, 0.8 * skill + 0.8 * branch - 0.2 * commute


def respond(family, eta):
    return zoo.responses(eta, 4, labels=(0, 1))[family]


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "cox"])
@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_both_models_are_shown_with_their_errors(people, family, definition):
    if family == "cox" and definition == "mean-parity":
        pytest.skip("hazards are not means")
    frame, eta = people
    y = respond(family, eta)
    options = OPTIONS | {"definition": definition}
    model = zoo.model_of(family, 0.002, **options).fit(frame, y)
    free = zoo.model_of(family, 1.0, **options).fit(frame, y)
    names = list(model.coef_names_)
    b, b0 = np.ravel(model.coef_), np.ravel(free.coef_)
    flipped = [name for name, one, other in zip(names, b, b0, strict=True) if one * other < 0.0]
    assert flipped == list(model.sign_flips_) == ["commute"]
    found, place = model.sign_flips_["commute"], names.index("commute")
    assert found["coefficient"] == b[place]
    assert found["free_coefficient"] == pytest.approx(b0[place], rel=1e-6)
    for one, key in ((model, "standard_error"), (free, "free_standard_error")):
        inference = one.inference(frame, y)
        errors = dict(zip(inference.names, inference.standard_errors, strict=True))
        assert found[key] == pytest.approx(errors["commute"], rel=1e-5)
    assert not free.sign_flips_
    assert not zoo.model_of(family, 0.002, sensitive=["sex"]).fit(frame, y).sign_flips_


def test_classes_are_named(people):
    frame, eta = people
    model = FairRidgeClassifier(0.002, **OPTIONS).fit(frame, respond("multinomial", eta))
    assert set(model.sign_flips_) <= {
        f"{name} → {label}" for label in model.classes_ for name in model.predictor_names_
    }
    assert any(name.startswith("commute → ") for name in model.sign_flips_)


def test_what_has_no_errors_is_shown_without(people, tmp_path):
    frame, eta = people
    twice = frame.assign(again=2.0 * frame["skill"])
    with pytest.warns(UserWarning, match="again|skill"):
        model = FairRidgeRegressor(0.002, **OPTIONS).fit(twice, respond("gaussian", eta))
    found = model.sign_flips_["commute"]
    assert np.isnan([found["standard_error"], found["free_standard_error"]]).all()
    assert f"commute {found['free_coefficient']:+.3g} → {found['coefficient']:+.3g}" in " ".join(
        str(model.summary()).split()
    )
    bounds = FairRidgeRegressor({"sex": 0.002}, definition="mean-parity", **OPTIONS)
    bounds.fit(frame, respond("gaussian", eta))
    assert np.isnan(bounds.sign_flips_["commute"]["standard_error"])
    save(bounds, tmp_path / "model.json")
    np.testing.assert_equal(load(tmp_path / "model.json").sign_flips_, bounds.sign_flips_)


def test_files_of_models_and_rows_have_them(people, tmp_path):
    frame, eta = people
    y = respond("gaussian", eta)
    model = FairRidgeRegressor(0.002, **OPTIONS).fit(frame, y)
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").sign_flips_ == model.sign_flips_
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    rows = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive="sex")
    there = FairRidgeRegressor(0.002, blind=True).fit(rows)
    for key, value in model.sign_flips_["commute"].items():
        assert there.sign_flips_["commute"][key] == pytest.approx(value, rel=1e-6)


def test_summaries_show_predictors_only(people):
    frame, eta = people
    model = FairRidgeRegressor(0.002, **OPTIONS).fit(frame, respond("gaussian", eta))
    summary = model.summary()
    table = summary.to_frame()
    assert list(table["term"]) == ["(intercept)", "skill", "branch", "commute"]
    assert table["coefficient"].tolist() == table["raw"].tolist()
    np.testing.assert_allclose(table["raw"], [model.intercept_, *model.coef_])
    text = " ".join(str(summary).split())
    assert "Does not need sex to score people." in text
    assert "after what S explains" not in text
    assert "Explained by U" not in text
    found = model.sign_flips_["commute"]
    assert (
        f"commute {found['free_coefficient']:+.3g} ({found['free_standard_error']:.2g}) → "
        f"{found['coefficient']:+.3g} ({found['standard_error']:.2g})"
    ) in text
    sighted = " ".join(str(FairRidgeRegressor(0.002, sensitive=["sex"]).fit(
        frame, respond("gaussian", eta)).summary()).split())  # fmt: skip
    assert "after what S explains is taken out" in sighted
    assert "Sign changed" not in sighted


@pytest.mark.slow
def test_reports_list_them_and_no_coefficients_of_s(people):
    frame, eta = people
    y = respond("gaussian", eta)
    model = FairRidgeRegressor(0.002, **OPTIONS)
    page = report(model, frame, y, bootstrap=0, cv=2)
    text = page.html if hasattr(page, "html") else str(page)
    assert "Signs that the bound has changed" in text
    assert "sex[m]" not in text.split('id="coefficients"')[1].split("<section")[0]
    for sentence in ("has been taken out, so", "takes this part out", "decorrelated column"):
        assert sentence not in text
    sighted = report(FairRidgeRegressor(0.002, sensitive=["sex"]), frame, y, bootstrap=0, cv=2)
    text = sighted.html if hasattr(sighted, "html") else str(sighted)
    assert "Signs that the bound has changed" not in text
    assert "takes this part out" in text


def test_comparisons_list_them(people):
    frame, eta = people
    y = respond("gaussian", eta)
    plain = FairRidgeRegressor(sensitive=["sex"])
    models = {"blind": FairRidgeRegressor(**OPTIONS), "with S": plain}
    found = compare(frame, y, sensitive=["sex"], unfairness=[0.002], cv=3, models=models)
    ((name, r, flips),) = found.sign_flips
    assert (name, r, list(flips)) == ("blind", 0.002, ["commute"])
    assert "blind, r = 0.002: Sign changed by the bound" in str(found)
