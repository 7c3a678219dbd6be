"""Tables and figures. The only code that imports a plotting library."""

from fairridge.reports.curves import ModelCurve, plot_curves
from fairridge.reports.paths import PathCurves, PathPlot, plot_path
from fairridge.reports.summary import CoefficientRow, GroupSummary, Summary

__all__ = [
    "CoefficientRow",
    "GroupSummary",
    "ModelCurve",
    "PathCurves",
    "PathPlot",
    "Summary",
    "plot_curves",
    "plot_path",
]
