"""The audit report: one self-contained HTML file."""

from fairridge.reports.html.contents import (
    AttributeBound,
    Crossed,
    Curve,
    Decisions,
    Refits,
    ReportContents,
    Sample,
    Sighted,
    Subject,
    Term,
)
from fairridge.reports.html.evidence import ScoreTerm, Scoring, coefficient_errors
from fairridge.reports.html.page import AuditReport, NewRowsReport, render_report
from fairridge.reports.html.validation_contents import (
    BoundOnRows,
    Drift,
    NewRowsContents,
    NewRowsMeasure,
)

__all__ = [
    "AttributeBound",
    "AuditReport",
    "BoundOnRows",
    "Crossed",
    "Curve",
    "Decisions",
    "Drift",
    "NewRowsContents",
    "NewRowsMeasure",
    "NewRowsReport",
    "Refits",
    "ReportContents",
    "Sample",
    "ScoreTerm",
    "Scoring",
    "Sighted",
    "Subject",
    "Term",
    "coefficient_errors",
    "render_report",
]
