"""The pictures of README and site, made anew: `make pictures`.

A path of models of German credit, and the first screen of their audit report,
which needs Chromium.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from fairridge import FairRidgeClassifier, report
from fairridge.datasets import load_german_credit

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SCREEN = "1200,860"


def draw_path(model: FairRidgeClassifier, X, y) -> None:
    """Draw what a bound does to the coefficients; the text is legible on a telephone."""
    path = model.path(X, y, unfairness=np.linspace(0.0, 0.16, 161))
    with plt.rc_context({"font.size": 13}):
        figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
        path.plot("coefficients", ax=axes)
        figure.savefig(IMAGES / "path.png", dpi=150)


def photograph_report(model: FairRidgeClassifier, X, y) -> None:
    """Write the audit report, and take a picture of its first screen."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("the picture of the report needs Chromium: make browser")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report(model, X, y, page, favorable="GOOD")
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--window-size={SCREEN}", f"--screenshot={IMAGES / 'report.png'}", page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    credit = load_german_credit()
    rows = credit.X[["Age", "Gender", "Duration", "Credit_amount", "Housing", "Telephone"]]
    chosen = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    chosen.fit(rows, credit.y)
    draw_path(chosen, rows, credit.y)
    photograph_report(chosen, rows, credit.y)
    print(f"{IMAGES / 'path.png'}\n{IMAGES / 'report.png'}")
