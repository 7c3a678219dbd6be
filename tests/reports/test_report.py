"""Summaries, frames and figures of real fits."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairridge import FairRidgeRegressor
from tests.zoo import LateModule

plt = LateModule("matplotlib.pyplot")


@pytest.fixture(scope="module")
def frame(people):
    return people[["age", "sex", "income", "score", "region"]]


@pytest.fixture(scope="module")
def model(frame, people):
    return FairRidgeRegressor(0.05, sensitive=["age", "sex"]).fit(frame, people["gaussian"])


@pytest.fixture(scope="module")
def path(model, frame, people):
    return model.path(frame, people["gaussian"])


def test_the_summary_prints_what_matters(model):
    text = str(model.summary(details=True))
    for label in (
        "FairRidgeRegressor", "Bound r:", "0.05", "Achieved:", "λ(r):", "converged", "R²:",
        "Explained by S:", "Explained by U:", "sex[male]", "region[west]", "sensitive",
    ):  # fmt: skip
        assert label in text
    assert f"{model.lambda_:.6g}" in text
    assert max(len(line) for line in text.splitlines()[:-2]) <= 78


def test_the_summary_is_a_table_too(model):
    table = model.summary(details=True).to_frame()
    assert isinstance(table, pd.DataFrame)
    assert table["term"].tolist()[1:3] == ["age", "sex[male]"]
    np.testing.assert_array_equal(table["coefficient"][1:3], model.alpha_)
    np.testing.assert_array_equal(table["raw"], [model.intercept_, *model.coef_])
    np.testing.assert_array_equal(
        table["explained_by_sensitive"][3:], model.explained_by_sensitive_
    )


def test_a_path_is_a_frame_of_the_library_that_came_in(path, frame, people):
    table = path.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert table.shape == (101, 7 + 6)
    np.testing.assert_array_equal(table["sex[male]"], path.alpha[:, 1])
    other = FairRidgeRegressor(sensitive=["age", "sex"]).path(
        pl.from_pandas(frame), people["gaussian"].to_numpy()
    )
    assert isinstance(other.to_frame(), pl.DataFrame)
    np.testing.assert_allclose(other.alpha, path.alpha, rtol=1e-12)
    assert "101 bounds on statistical-parity" in repr(path)


def test_a_path_of_many_columns_names_those_that_matter():
    rng = np.random.default_rng(41)
    Z = rng.normal(size=(300, 30))
    y = Z[:, 1] + Z[:, 3:8] @ [5.0, -4.0, 3.0, 2.0, 1.5] + rng.normal(size=300)
    ax = FairRidgeRegressor(sensitive=[0, 1, 2]).path(Z, y).plot()
    legend = ax.get_legend()
    named = [text.get_text() for text in legend.get_texts()]
    assert named == ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]
    assert legend.get_title().get_text() == "22 smaller ones in gray"
    assert len(ax.lines) == 30 + 1
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("kind", "lines"), [("coefficients", 2 + 4 + 1), ("constraints", 3), ("accuracy", 1)]
)
def test_figures_show_the_path(path, kind, lines, tmp_path):
    ax = path.plot(kind)
    assert len(ax.lines) == lines
    drawn = {"coefficients": None, "constraints": path.achieved, "accuracy": path.score}[kind]
    if drawn is not None:
        assert any(np.array_equal(line.get_ydata(), drawn) for line in ax.lines)
    ax.figure.savefig(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 5000
    plt.close(ax.figure)


def test_figures_can_share_axes_and_refuse_unknown_kinds(path):
    figure, ax = plt.subplots()
    assert path.plot("accuracy", ax=ax) is ax
    plt.close(figure)
    with pytest.raises(ValueError, match="kind='pie'"):
        path.plot("pie")
