"""Fitted models elsewhere: SQL, scikit-learn, ONNX, scorecards, reason codes, files.

Everything here works on a `LinearForm`, which every linear model can produce.
"""

from fairridge.export.form import InputColumn, LinearForm
from fairridge.export.model_file import FORMAT, read_model, write_model
from fairridge.export.onnx_graph import to_onnx
from fairridge.export.reasons import Direction, Reasons, reasons
from fairridge.export.scikit_learn import to_sklearn
from fairridge.export.scorecard import Scorecard, ScorecardLine, scorecard
from fairridge.export.sql import to_sql
from fairridge.export.training import TrainingColumns, fingerprint

__all__ = [
    "FORMAT",
    "Direction",
    "InputColumn",
    "LinearForm",
    "Reasons",
    "Scorecard",
    "ScorecardLine",
    "TrainingColumns",
    "fingerprint",
    "read_model",
    "reasons",
    "scorecard",
    "to_onnx",
    "to_sklearn",
    "to_sql",
    "write_model",
]
