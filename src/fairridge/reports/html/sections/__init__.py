"""The sections of the audit report, one per file."""

from fairridge.reports.html.sections.coefficients import coefficients_section
from fairridge.reports.html.sections.comparison import comparison_section
from fairridge.reports.html.sections.console import console
from fairridge.reports.html.sections.groups import groups_section
from fairridge.reports.html.sections.limits import limits_section
from fairridge.reports.html.sections.record import record_section
from fairridge.reports.html.sections.sources import sources_section
from fairridge.reports.html.sections.summary import summary_section
from fairridge.reports.html.sections.trade_off import trade_off_section
from fairridge.reports.html.sections.words import words_section

__all__ = [
    "coefficients_section",
    "comparison_section",
    "console",
    "groups_section",
    "limits_section",
    "record_section",
    "sources_section",
    "summary_section",
    "trade_off_section",
    "words_section",
]
