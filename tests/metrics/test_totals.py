"""Totals of predictions over totals of responses, which fits keep and summaries show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, audit, load, save
from fairridge.estimators._summary import totals_text


def people(n: int = 600) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(3)
    s = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1])
    X = pd.DataFrame({"s": s, "age": rng.integers(20, 60, n), "x": rng.normal(size=n)})
    exposure = rng.uniform(0.2, 1.0, n)
    y = rng.poisson(exposure * np.exp(0.2 * X["x"] + 0.7 * (s == "b")))
    return X, y, exposure


def test_ratios_are_those_of_an_audit() -> None:
    X, y, exposure = people()
    weight = np.linspace(0.5, 2.0, len(y))
    model = FairRidgeRegressor(
        0.02, sensitive=["s", "age"], family="poisson", definition="mean-parity"
    ).fit(X, y, exposure=exposure, sample_weight=weight)
    predicted = model.predict(X, exposure=exposure)
    given = {"sample_weight": weight, "exposure": exposure}
    audited = audit(y, predicted, sensitive_features=X[["s", "age"]], **given)
    parts = [group for part in audited.attributes for group in part.groups]
    groups = {f"{g.attribute}: {g.group}": g.predicted_over_observed for g in parts}
    expected = {"all rows": audited.overall.predicted_over_observed, **groups}
    assert set(model.total_ratios_) == set(expected)
    for name, found in model.total_ratios_.items():
        wanted = expected[name]
        assert list(found.values()) == pytest.approx([wanted.value, wanted.low, wanted.high])
    assert model.total_ratios_["all rows"]["ratio"] == pytest.approx(1.0, abs=1e-10)
    text = str(model.summary(details=True))
    assert "Total predicted over total observed" in text
    assert "s: b 0." in text


def test_every_class_has_its_total(tmp_path: Any) -> None:
    X, y, _ = people()
    model = FairRidgeClassifier(0.02, sensitive=["s"], definition="mean-parity").fit(
        X, np.where(y > 1, "many", np.where(y > 0, "one", "none"))
    )
    everyone = [name for name in model.total_ratios_ if name.startswith("all rows")]
    assert everyone == ["all rows → many", "all rows → none", "all rows → one"]
    for name in everyone:
        assert model.total_ratios_[name]["ratio"] == pytest.approx(1.0, abs=1e-10)
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").total_ratios_ == model.total_ratios_


def test_least_squares_keeps_no_totals() -> None:
    X, y, _ = people(100)
    model = FairRidgeRegressor(0.02, sensitive=["s", "age"]).fit(X, y.astype(float))
    assert model.total_ratios_ == {}
    assert "Total predicted" not in str(model.summary(details=True))


def test_summaries_show_the_groups_that_are_farthest_off() -> None:
    ratios = {"all rows": 1.0, "a": 0.5, "b": 1.9, "c": 1.1, "d": 1.02, "e": 1.01, "f": 0.99}
    each = {name: {"ratio": r, "low": r, "high": r} for name, r in ratios.items()}
    (text,) = totals_text(each)
    order = [text.index(f"{name} ") for name in ("all rows", "; a", "; b", "; c", "; d")]
    assert order == sorted(order)
    assert "2 others are nearer to 1" in text
