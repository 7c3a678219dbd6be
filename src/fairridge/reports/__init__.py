"""Tables and figures. The only code that imports a plotting library."""

from fairridge.reports.curves import TradeOff, ValidationCurve, plot_trade_off, plot_validation
from fairridge.reports.paths import PathCurves, PathPlot, plot_path
from fairridge.reports.summary import CoefficientRow, GroupSummary, Summary

__all__ = [
    "CoefficientRow",
    "GroupSummary",
    "PathCurves",
    "PathPlot",
    "Summary",
    "TradeOff",
    "ValidationCurve",
    "plot_path",
    "plot_trade_off",
    "plot_validation",
]
