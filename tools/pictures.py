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


def draw_path(model: FairRidgeClassifier, data) -> None:
    """Draw what a bound does to the coefficients, and what it costs."""
    path = model.path(data.X, data.y, unfairness=np.linspace(0.0, 0.06, 61))
    with plt.rc_context({"font.size": 12}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
        path.plot("accuracy", ax=left)
        path.plot("coefficients", ax=right)  # its legend stands on its right
        figure.savefig(IMAGES / "path.png", dpi=100)


def photograph_report(model: FairRidgeClassifier, data) -> None:
    """Write the audit report, and take a picture of its first screen."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("the picture of the report needs Chromium: make browser")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report(model, data.X, data.y, page, favorable="GOOD")
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--window-size={SCREEN}", f"--screenshot={IMAGES / 'report.png'}", page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    credit = load_german_credit()
    chosen = FairRidgeClassifier(unfairness=0.01, sensitive=["Age", "Gender"])
    chosen.fit(credit.X, credit.y)
    draw_path(chosen, credit)
    photograph_report(chosen, credit)
    print(f"{IMAGES / 'path.png'}\n{IMAGES / 'report.png'}")
