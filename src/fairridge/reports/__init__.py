"""Tables and figures. The only code that imports a plotting library."""

from fairridge.reports.figures import ModelCurve, PathCurves, PathPlot, plot_curves, plot_path
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
