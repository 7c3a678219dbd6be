"""Columns that cannot be categories are refused before any work."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    compare,
    cross_validate,
    load,
    save,
    sources,
)


def data(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "key": [f"k{code:05d}" for code in codes],
            "x": rng.normal(size=n),
        }
    )
    return X, X["x"] + rng.normal(size=n)


@pytest.mark.parametrize(("n", "levels"), [(3000, 1001), (100, 51), (12, 11)])
@pytest.mark.parametrize("kind", ["text", "categorical", "polars"])
def test_too_many_levels_are_refused_by_name(n, levels, kind):
    X, y = data(n, levels)
    X = {"text": X, "categorical": X.astype({"key": "category"}), "polars": pl.from_pandas(X)}[kind]
    message = rf"column 'key' has {levels:,} levels in {n:,} rows, such as 'k00000': .*max_levels"
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor(sensitive="sex").fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "levels"), [(3000, 1000), (100, 50), (12, 10)])
def test_as_many_as_are_allowed_are_fitted(n, levels):
    X, y = data(n, levels)
    model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0).fit(X, y)
    assert len(model.coef_) == levels + 1


def test_users_can_allow_more_and_fewer(tmp_path):
    X, y = data(60, 40)
    model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0, max_levels=None).fit(X, y)
    save(model, tmp_path / "m.json")
    assert load(tmp_path / "m.json").max_levels is None
    with pytest.raises(ValueError, match="column 'key' has 20 levels in 60 rows"):
        FairRidgeRegressor(sensitive="sex", max_levels=19).fit(*data(60, 20))
    with pytest.raises(ValueError, match="max_levels=0 must be a whole number"):
        FairRidgeRegressor(sensitive="sex", max_levels=0).fit(X, y)


def test_sensitive_columns_are_counted_too():
    X, y = data(100, 80)
    with pytest.raises(ValueError, match="column 'key' has 80 levels"):
        FairRidgeRegressor(sensitive="key").fit(X, y)
    with pytest.raises(ValueError, match="column 'key' has 80 levels"):
        FairRidgeRegressor().fit(X[["x"]], y, sensitive_features=X[["key"]])


def test_declared_levels_without_rows_do_not_count():
    X, y = data(100, 20)
    declared = [f"k{code:05d}" for code in range(2000)]
    X["key"] = pd.Categorical(X["key"], categories=declared)
    model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0).fit(X, y)
    assert len(model.coef_) == 2001


def test_every_way_to_a_fit_refuses(tmp_path):
    X, y = data(3000, 1500)
    for run in (
        lambda: KomiyamaRegressor(sensitive="sex").fit(X, y),
        lambda: FairRidgeClassifier(sensitive="sex").fit(X, y > 0),
        lambda: FairRidgeRegressor(sensitive="sex").path(X, y),
        lambda: cross_validate(FairRidgeRegressor(sensitive="sex"), X, y, unfairness=[0.1], cv=2),
        lambda: compare(X, y, sensitive="sex", models={}),
    ):
        with pytest.raises(ValueError, match="column 'key' has 1,500 levels in 3,000 rows"):
            run()
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive="sex")
    with pytest.raises(ValueError, match="column 'key' has 1,500 levels, such as 'k00000'"):
        FairRidgeRegressor().fit(source)
