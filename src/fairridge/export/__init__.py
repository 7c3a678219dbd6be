"""Fitted models elsewhere: SQL, Python, scikit-learn, ONNX, scorecards, tariffs, reasons, files.

Every function takes a fitted linear model, and sees of it a `LinearForm`.
"""

from fairridge.export.explanations import attribution, proxies
from fairridge.export.form import InputColumn, LinearForm, linear_form
from fairridge.export.onnx_graph import to_onnx
from fairridge.export.python_source import to_python
from fairridge.export.reasons import Direction, Reasons, reasons
from fairridge.export.relativities import relativities
from fairridge.export.scikit_learn import to_sklearn
from fairridge.export.scorecard import Scorecard, ScorecardLine, scorecard
from fairridge.export.sql import to_sql
from fairridge.export.training import fingerprint

__all__ = [
    "Direction",
    "InputColumn",
    "LinearForm",
    "Reasons",
    "Scorecard",
    "ScorecardLine",
    "attribution",
    "fingerprint",
    "linear_form",
    "proxies",
    "reasons",
    "relativities",
    "scorecard",
    "to_onnx",
    "to_python",
    "to_sklearn",
    "to_sql",
]
