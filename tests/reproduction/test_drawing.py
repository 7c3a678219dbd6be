"""Figures of the experiments."""

import numpy as np
import pandas as pd
import pytest

from reproduction.drawing import Curve, Panel, Sheet, draw_sheet, draw_verdicts, render

X = np.array([0.0, 0.1, 0.5])


@pytest.fixture
def sheet():
    bars = Curve("FRRM", X, X + 1, X + 0.9, X + 1.2, marker=True)
    band = Curve("NCLM", X, 2 * X + 1, 2 * X, 2 * X + 2, color="NCLM", style="--")
    panels = tuple(Panel(f"panel {k}", (bars, band), level=1.0) for k in range(4))
    return Sheet(panels, "r", "RMSE", "even", 3)


def test_panels_share_one_legend(sheet):
    figure = draw_sheet(sheet)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in shown] == [f"panel {k}" for k in range(4)]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["FRRM", "NCLM"]
    # Values of x stand at equal distances, under their own names.
    assert [tick.get_text() for tick in shown[0].get_xticklabels()] == ["0", ".1", ".5"]
    # Only the left panels name y, only the lowest of a column name x.
    assert [ax.get_ylabel() for ax in shown] == ["RMSE", "", "", "RMSE"]
    assert [ax.get_xlabel() for ax in shown] == ["", "r", "r", "r"]
    render(figure)


def test_names_at_the_ends_do_not_overlap():
    curves = tuple(Curve(name, X, np.full(3, 1.0 + 0.001 * k), color=name)
                   for k, name in enumerate(("S1", "S2", "X1")))  # fmt: skip
    curves += (Curve("X2", X, np.zeros(3), color="X2"),)
    figure = draw_sheet(Sheet((Panel("", curves),), "r", "", legend="ends"))
    (ax,) = figure.axes
    places = sorted(text.xy[1] for text in ax.texts)
    low, high = ax.get_ylim()
    assert (np.diff(places) >= 0.06 * (high - low) * 0.99).all()
    assert max(places) <= high
    assert not figure.legends
    render(figure)


def test_files_are_the_same_each_time(sheet):
    first, second = render(draw_sheet(sheet)), render(draw_sheet(sheet))
    assert first == second
    assert first["png"].startswith(b"\x89PNG")
    assert b"<svg" in first["svg"]


def test_a_log_scale_and_a_shade():
    curve = Curve("r = .1", np.array([1.0, 10.0, 100.0]), X, color="#08306B")
    figure = draw_sheet(Sheet((Panel("bias", (curve,), shade=(2.0, 20.0)),), "λ", "", "log"))
    (ax,) = figure.axes
    assert ax.get_xscale() == "log"
    assert len(ax.patches) == 1
    render(figure)


def test_counts_are_stacked():
    figure = draw_verdicts(
        pd.DataFrame({"holds": [1, 2], "does not hold": [3, 0]}, index=["a", "b"])
    )
    (ax,) = figure.axes
    assert [bar.get_width() for bar in ax.patches] == [1, 2, 3, 0]
    assert [bar.get_x() for bar in ax.patches] == [0, 0, 1, 2]
    assert sorted(text.get_text() for text in ax.texts) == ["1", "2", "3"]
    render(figure)
