"""Put a report with its slider on the site (a hook of MkDocs)."""

import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from fairridge import FairRidgeClassifier, report
from fairridge.datasets import load_german_credit

PAGE = "example-report.html"
SENSITIVE = ["Age", "Gender"]
PREDICTORS = ["Duration", "Credit_amount", "Housing", "Telephone"]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the report of the model in the picture of reports."""
    credit = load_german_credit()
    model = FairRidgeClassifier(0.01, sensitive=SENSITIVE, definition="mean-parity")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / PAGE
        report(model, credit.X[[*SENSITIVE, *PREDICTORS]], credit.y, page, favorable="GOOD")
        content = page.read_text(encoding="utf-8")
    files.append(File.generated(config, PAGE, content=content))
    return files
