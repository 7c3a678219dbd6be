"""Groups that are too small for a certificate."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, sources


def people(counts, n=400, seed=0):
    """Draw rows of which some groups have a given number."""
    rng = np.random.default_rng(seed)
    codes = np.zeros(n, dtype=int)
    codes[: sum(counts)] = np.repeat(np.arange(1, len(counts) + 1), counts)
    codes = rng.permutation(codes)
    X = pd.DataFrame({"race": np.array(["b", "a", "c"])[codes], "x1": rng.normal(size=n)})
    X["x2"] = rng.normal(size=n) + 0.5 * (codes == 1)
    return X, X["x1"] + X["x2"] + codes + rng.normal(size=n)


def certified(**options):
    return FairRidgeRegressor(0.3, **{"sensitive": ["race"], "confidence": 0.9} | options)


@pytest.mark.parametrize(
    ("counts", "named"),
    [
        ((9, 50), r"race other than b, c \(9\)\."),
        ((3, 4), r"race\[c\] \(4\), race other than b, c \(3\)\."),
    ],
)
def test_groups_of_fewer_than_ten_rows_are_refused_by_name(counts, named):
    X, y = people(counts)
    with pytest.raises(ValueError, match=named):
        certified().fit(X, y)
    with pytest.raises(ValueError, match=named):
        certified().path(X, y, unfairness=[0.1, 0.3])
    assert certified(confidence=None).fit(X, y).certificate_ is None
    X, y = people((10, 10))
    assert certified().fit(X, y).certificate_.n_rows == 400


def test_the_base_of_many_levels_is_called_so():
    rng = np.random.default_rng(0)
    level = rng.permutation(np.repeat(list("abcdefgh"), [8, *7 * [56]]))
    X = pd.DataFrame({"job": level, "x1": rng.normal(size=400)})
    with pytest.raises(ValueError, match=r"the base level of job \(8\)\."):
        certified(sensitive=["job"]).fit(X, X["x1"] + rng.normal(size=400))


@pytest.mark.parametrize("rare", [0, 1])
def test_both_values_of_a_column_of_zeros_and_ones_are_groups(rare):
    X, y = people((5, 0))
    Z = np.column_stack([(X["race"] == "a") == rare, X[["x1", "x2"]]]).astype(float)
    name = r"x0 = 0 \(5\)" if rare == 0 else r"x0 \(5\)"
    with pytest.raises(ValueError, match=name):
        certified(sensitive=[0]).fit(Z, y)


def test_levels_without_rows_and_numbers_are_no_groups():
    X, y = people((50, 0))
    X["race"] = pd.Categorical(X["race"], categories=["b", "a", "z"])
    X["age"] = np.linspace(0, 1, 400)
    assert certified(sensitive=["race", "age"]).fit(X, y).certificate_.n_rows == 400


def test_rows_in_files_and_held_out_rows_have_groups_too(tmp_path):
    X, y = people((9, 50))
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(
        tmp_path / "rows.parquet", response="y", sensitive=["race"], batch_rows=150
    )
    with pytest.raises(ValueError, match=r"race other than b, c \(9\)"):
        certified(sensitive=None).fit(source)
    # Half of the rows are tested, and hold about half of a group.
    X, y = people((14, 50))
    with pytest.raises(ValueError, match="race other than b, c"):
        certified(certification="held-out").fit(X, y)
