"""The audit report: one self-contained HTML file."""

from fairridge.reports.html.contents import (
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
from fairridge.reports.html.page import AuditReport, render_report

__all__ = [
    "AuditReport",
    "Curve",
    "Decisions",
    "Predictor",
    "Refits",
    "ReportContents",
    "Sample",
    "Sighted",
    "Subject",
    "Term",
    "render_report",
]
