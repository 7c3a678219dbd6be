"""Tables and figures. The only code that imports a plotting library."""

from fairridge.reports.comparison import TradeOff, plot_trade_off
from fairridge.reports.paths import PathCurves, PathPlot, plot_path
from fairridge.reports.summary import CoefficientRow, Summary
from fairridge.reports.validation import ValidationCurve, plot_validation

__all__ = [
    "CoefficientRow",
    "PathCurves",
    "PathPlot",
    "Summary",
    "TradeOff",
    "ValidationCurve",
    "plot_path",
    "plot_trade_off",
    "plot_validation",
]
