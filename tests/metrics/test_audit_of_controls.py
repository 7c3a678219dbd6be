"""Audits given controls, of several classes and of crossed attributes agree with models."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from fairridge import FairRidgeClassifier, FairRidgeRegressor, audit, save
from fairridge.cli import main


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(0), 1_500
    level = rng.integers(1, 6, n)
    X = pd.DataFrame(
        {
            "level": level,
            "site": rng.choice(["north", "south"], n),
            "sex": np.where(rng.random(n) < 0.3 + 0.08 * level, "m", "f"),
            "race": rng.choice(list("abc"), n),
            "x": rng.normal(size=n),
        }
    )
    eta = 0.3 * level + 0.4 * (X["sex"] == "m") + 0.5 * X["x"]
    return X, eta + 0.5 * rng.normal(size=n), rng.uniform(0.5, 2.0, n)


def test_adjusted_differences_are_coefficients_beside_the_controls(people):
    X, y, weight = people
    found = audit(
        y, y, sensitive_features=X[["race"]], controls=X[["level", "site"]], sample_weight=weight
    )
    others = np.column_stack([np.ones(len(X)), X["level"], X["site"] == "north"]).astype(float)
    for group in found["race"].groups:
        columns = np.column_stack([X["race"] == group.group, others]).astype(float)
        fit = sm.WLS(y, columns, weights=weight).fit(cov_type="HC1", use_t=True)
        known = group.adjusted_difference
        assert known.value == pytest.approx(fit.params.iloc[0], rel=1e-9)
        assert known.error == pytest.approx(fit.bse.iloc[0], rel=1e-6)
        assert (known.low, known.high) == pytest.approx(tuple(fit.conf_int().iloc[0]), rel=1e-5)


def test_controls_need_as_many_rows(people):
    X, y, _ = people
    with pytest.raises(ValueError, match="controls has 10 rows, and the predictions 1500"):
        audit(y, y, sensitive_features=X[["sex"]], controls=X[["level"]].iloc[:10])


def test_several_classes_add_up_as_in_the_model(people):
    X, y, _ = people
    classes = np.array(["lo", "mid", "hi"])[np.digitize(y, [0.5, 1.5])]
    model = FairRidgeClassifier(0.02, sensitive=["sex", "race"], definition="mean-parity")
    probability = model.fit(X, classes).predict_proba(X)
    found = audit(classes, probability, sensitive_features=X[["sex", "race"]])
    assert found.r_squared == pytest.approx(model.unfairness_, abs=1e-9)
    assert list(found.by_class) == model.classes_.tolist()
    spread = probability.var(axis=0)
    each = np.array([share.value for share in found.by_class.values()])
    assert each @ spread / spread.sum() == pytest.approx(found.r_squared, rel=1e-9)
    # The class that rates are about does not change what R² means.
    other = audit(classes, probability, sensitive_features=X[["sex", "race"]], positive="lo")
    assert other.r_squared == pytest.approx(found.r_squared, rel=1e-12)


def test_the_command_knows_the_controls_of_a_model(people, tmp_path, capsys):
    X, y, _ = people
    model = FairRidgeRegressor(0.02, sensitive=["sex", "race"], controls="level").fit(X, y)
    save(model, tmp_path / "model.json")
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    rows, file = str(tmp_path / "rows.csv"), str(tmp_path / "model.json")
    assert main(["audit", rows, "--model", file, "--response", "y", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["controls"] == ["level"]
    assert facts["partial_r_squared"] == pytest.approx(model.unfairness_, abs=1e-9)
    plain = ["audit", rows, "--prediction", "y", "--sensitive", "sex", "--response", "y"]
    assert main([*plain, "--controls", "level"]) == 0
    assert "the same given level (partial R²)" in capsys.readouterr().out
    assert main([*plain, "--controls", "levl"]) != 0
    assert "levl" in capsys.readouterr().err


def test_the_command_audits_several_classes_together(people, tmp_path, capsys):
    X, y, _ = people
    classes = np.array(["lo", "mid", "hi"])[np.digitize(y, [0.5, 1.5])]
    model = FairRidgeClassifier(0.02, sensitive=["sex"], definition="mean-parity").fit(X, classes)
    save(model, tmp_path / "model.json")
    X.assign(y=classes).to_csv(tmp_path / "rows.csv", index=False)
    rows, file = str(tmp_path / "rows.csv"), str(tmp_path / "model.json")
    assert main(["audit", rows, "--model", file, "--response", "y", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["share_of_means"] == pytest.approx(model.unfairness_, abs=1e-9)
    assert facts["share_of_means[mid]"] >= 0.0
