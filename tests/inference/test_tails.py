"""Attributes whose variance rows do not show."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.exceptions import BoundWarning
from fairridge.inference.tails import tail_index

NAMED = r"'income' decide its variance .*; give the logarithm of this attribute or bands"
N = 1500


def drawn(income, seed=0):
    rng = np.random.default_rng(seed)
    n = len(income)
    sex = rng.random(n) < 0.4
    x = rng.normal(size=n) + 0.3 * np.log1p(income) + 0.5 * sex
    frame = pd.DataFrame({"income": income, "sex": sex.astype(float), "x": x})
    return frame, x + 0.5 * sex + rng.normal(size=n)


def pareto(index, n=N):
    """Quantiles of a Pareto distribution."""
    return ((np.arange(n) + 0.5) / n) ** (-1.0 / index)


def regressor(**options):
    return FairRidgeRegressor(0.1, sensitive=["income", "sex"], **{"confidence": 0.9} | options)


@pytest.mark.parametrize("index", [1.0, 6.0])
def test_the_index_of_pareto_numbers_is_theirs(index):
    found = tail_index(pareto(index, 100_000)[:1001])
    assert found == pytest.approx(index, rel=0.02)


def test_equal_numbers_have_no_tail():
    assert tail_index(np.ones(20)) == np.inf
    # Counts: three of 9 above seven of 4, whose roots meet at 2.5.
    assert tail_index(np.array([9.0] * 3 + [4.0] * 7)) == pytest.approx(9 / (3 * np.log(9 / 6.25)))


@pytest.mark.parametrize("certification", ["auto", "held-out"])
def test_certificates_of_a_heavy_tail_warn_and_name_it(certification):
    income = np.random.default_rng(1).permutation(pareto(2.2))
    X, y = drawn(income)
    with pytest.warns(BoundWarning, match=NAMED):
        model = regressor(certification=certification).fit(X, y)
    found = model.certificate_
    assert found.granted or found.rows_needed is None
    assert "logarithm" in found.warning
    assert "logarithm" in found._repr_html_()
    if certification == "auto":
        X["income"] = np.log(income)
        light = regressor().fit(X, y).certificate_
        assert light.granted
        assert light.warning is None


def test_a_path_warns_once_and_not_of_what_holds_anyway():
    X, y = drawn(np.random.default_rng(1).permutation(pareto(2.2)))
    with pytest.warns(BoundWarning, match=NAMED) as caught:
        path = regressor().path(X, y, unfairness=[0.1, 0.3, 1.0])
    assert len(caught) == 1
    assert [one.granted for one in path.certificates] == [True] * 3
    assert [one.warning is None for one in path.certificates] == [False, False, True]


@pytest.mark.parametrize("draw", ["normal", "poisson"])
def test_light_tails_are_certified(draw):
    income = getattr(np.random.default_rng(0), draw)(size=N)
    found = regressor().fit(*drawn(income - income.min())).certificate_
    assert found.granted
    assert found.warning is None


def test_rows_in_files_are_warned_of_alike(tmp_path):
    X, y = drawn(np.random.default_rng(1).permutation(pareto(2.2)))
    label = (y > 0.0).astype(int)
    X.assign(y=label).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(
        tmp_path / "rows.parquet", response="y", sensitive=["income", "sex"], batch_rows=400
    )
    options = {"definition": "mean-parity", "confidence": 0.9}
    with pytest.warns(BoundWarning, match=NAMED):
        streamed = FairRidgeClassifier(0.1, **options).fit(source)
    with pytest.warns(BoundWarning, match=NAMED):
        own = FairRidgeClassifier(0.1, sensitive=["income", "sex"], **options).fit(X, label)
    assert streamed.certificate_.warning == own.certificate_.warning
