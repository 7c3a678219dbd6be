"""The sections of the audit report, one per file."""
