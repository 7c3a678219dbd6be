"""Models judged on rows: what the audit report shows."""
