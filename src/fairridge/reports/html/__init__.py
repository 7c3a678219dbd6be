"""The audit report: one self-contained HTML file."""

from fairridge.reports.html.contents import (
    Crossed,
    Curve,
    Decisions,
    Predictor,
    Refits,
    ReportContents,
    Sample,
    Sighted,
    Subject,
    Term,
)
from fairridge.reports.html.evidence import CoefficientError, ScoreTerm, Scoring, Uncertainty
from fairridge.reports.html.page import AuditReport, NewRowsReport, render_report
from fairridge.reports.html.validation_contents import Drift, Measure, NewRowsContents

__all__ = [
    "AuditReport",
    "CoefficientError",
    "Crossed",
    "Curve",
    "Decisions",
    "Drift",
    "Measure",
    "NewRowsContents",
    "NewRowsReport",
    "Predictor",
    "Refits",
    "ReportContents",
    "Sample",
    "ScoreTerm",
    "Scoring",
    "Sighted",
    "Subject",
    "Term",
    "Uncertainty",
    "render_report",
]
