"""The audit report: one self-contained HTML file."""

from fairridge.reports.html.page import AuditReport, NewRowsReport

__all__ = ["AuditReport", "NewRowsReport"]
