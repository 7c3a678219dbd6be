"""Figures of the experiments."""

import pandas as pd
import pytest

from reproduction import drawing
from reproduction.figures import FIGURES

from .conftest import linear, matched, results
from .test_claims import logistic


def test_names_at_the_ends_do_not_overlap():
    figure, grid = drawing.axes(1, 1, width=5.0, height=3.0)
    ax = grid[0, 0]
    ax.set_ylim(0.0, 2.0)
    drawing.names_at_ends(ax, {"a": (1.0, "red"), "b": (1.001, "red"), "c": (0.2, "red")})
    places = {text.get_text(): text.xy[1] for text in ax.texts}
    assert places["c"] == 0.2
    assert places["b"] - places["a"] > 0.05
    drawing.render(figure)


def test_fairmls_sample_is_the_line_and_ours_the_band():
    rows = [{"case": "example", "run": k, "r": 0.1, "value": float(k)} for k in range(11)]
    found = drawing.quantile_rows(pd.DataFrame(rows), ("r",)).iloc[0]
    assert (found["value"], found["low"], found["high"]) == pytest.approx((5.0, 0.5, 9.5))
    rows.append({"case": "vu.test", "run": 0, "r": 0.1, "value": 20.0})
    found = drawing.quantile_rows(pd.DataFrame(rows), ("r",)).iloc[0]
    assert (found["value"], found["low"], found["high"]) == pytest.approx((20.0, 0.5, 9.5))


@pytest.fixture(scope="module")
def found():
    return results(
        linear=linear(FRRM=0.9), matched=matched(0.95), logistic=logistic(0.6, 0.5),
        logistic_matched=logistic(0.6, 0.55),
    )  # fmt: skip


def figure(name):
    return next(one for one in FIGURES if one.name == name)


@pytest.mark.slow
def test_differences_are_drawn_on_one_scale(found):
    one = figure("rmse")
    table = one.table(found)
    at = table[(table["kind"] == "difference") & (table["case"] == "LSAC") & (table["r"] == 0.2)]
    assert at.set_index("model")["mean"].round(6).to_dict() == {
        "NCLM": -10.0, "ZLM": -10.0, "ZLM, |COR|": -10.0, "ZLM, same share": -5.0
    }  # fmt: skip
    drawn = one.draw(table)
    assert len(drawn.axes) == 10  # no blank panels
    assert all(ax.has_data() for ax in drawn.axes)
    assert len({ax.get_ylim() for ax in drawn.axes[5:]}) == 1
    assert [tick.get_text() for tick in drawn.axes[5].get_xticklabels()] == ["0", "", ".2"]
    drawing.render(drawn)


@pytest.mark.slow
def test_files_are_the_same_each_time(found):
    one = figure("f1")
    first, second = (drawing.render(one.draw(one.table(found))) for _ in range(2))
    assert first == second
    assert first["png"].startswith(b"\x89PNG")
    assert b"<svg" in first["svg"]


def test_ties_are_shaded():
    drawn, grid = drawing.axes(1, 1, width=3.0, height=2.0)
    axes = grid[0, 0]
    drawing.tie_band(axes)
    (band,) = axes.patches
    shaded = band.get_window_extent().transformed(axes.transData.inverted())
    assert (shaded.y0, shaded.y1) == pytest.approx((-0.5, 0.5))
    drawing.render(drawn)
