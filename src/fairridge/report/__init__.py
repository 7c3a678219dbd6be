"""Tables and figures. The only code that imports a plotting library."""

from fairridge.report.paths import PathCurves, PathPlot, plot_path
from fairridge.report.summary import CoefficientRow, Summary

__all__ = ["CoefficientRow", "PathCurves", "PathPlot", "Summary", "plot_path"]
