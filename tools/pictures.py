"""The pictures of README and site, made anew: `make pictures`.

What a bound does to predictions by age and sex, the method, and the first screen of an
audit report, which needs Chromium.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fairridge import FairRidgeClassifier, FairRidgeRegressor, report
from fairridge.datasets import load_adult, load_german_credit

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SCREEN = "1200,860"
AGES = [16, 25, 30, 35, 40, 45, 50, 55, 60, 91]


def draw_hero(r: float = 0.01) -> None:
    """Draw the mean predicted chance of unseen people, without a bound and with one."""
    adult = load_adult()
    X, X_new, y, y_new = train_test_split(adult.X, adult.y, random_state=0)
    band = pd.cut(X_new["age"], AGES)
    middle = X_new["age"].groupby(band, observed=False).mean()
    with plt.rc_context({"font.size": 13}):
        figure, panels = plt.subplots(1, 2, figsize=(10.0, 3.9), sharey=True, layout="constrained")
        for ax, bound in zip(panels, (1.0, r), strict=True):
            model = FairRidgeClassifier(bound, sensitive=["age", "sex"], definition="mean-parity")
            chance = 100.0 * model.fit(X, y).predict_proba(X_new)[:, 1]
            for sex, label, color in (("Male", "men", "#0072B2"), ("Female", "women", "#D55E00")):
                rows = (X_new["sex"] == sex).to_numpy()
                means = pd.Series(chance[rows]).groupby(band[rows].to_numpy()).mean()
                ax.plot(middle.to_numpy(), means.to_numpy(), "o-", color=color, label=label)
            accuracy = f"accuracy {100.0 * model.score(X_new, y_new):.1f} %"
            title = "No bound" if bound == 1.0 else f"r = {bound:g}"
            ax.set_title(f"{title}: {accuracy}", loc="left")
            ax.set_xlabel("age")
            ax.spines[["top", "right"]].set_visible(False)
        panels[0].set_ylabel(
            "mean predicted chance of\nmore than $50,000, in %".replace("$", r"\$")
        )
        panels[0].set_ylim(0.0, 60.0)
        panels[0].legend(frameon=False)
        figure.savefig(IMAGES / "hero.png", dpi=150)


def draw_method(r: float = 0.01) -> None:
    """Draw what S explains of a predictor and what it leaves, and scores before and after."""
    rng, n = np.random.default_rng(0), 300
    age = rng.uniform(20.0, 65.0, n)
    skill = 20.0 + 0.35 * (age - 20.0) + rng.normal(0.0, 4.0, n)
    pay = 0.3 * age + 1.2 * skill + rng.normal(0.0, 6.0, n)
    data = pd.DataFrame({"age": age, "skill": skill})
    slope, level = np.polyfit(age, skill, 1)
    with plt.rc_context({"font.size": 12}):
        figure, (split, scores) = plt.subplots(1, 2, figsize=(10.0, 3.9), layout="constrained")
        split.scatter(age, skill, s=8, color="#999999")
        split.axline((20.0, level + 20.0 * slope), slope=slope, color="#D55E00")
        far = np.argsort(skill - level - slope * age)[-3]
        ends = level + slope * age[far], skill[far]
        split.plot([age[far]] * 2, ends, color="#0072B2", linewidth=2)
        split.annotate("rest, U", (age[far], np.mean(ends)), (6, 0), textcoords="offset points",
                       color="#0072B2", va="center")  # fmt: skip
        split.annotate("what S explains, SB", (44.0, level + 44.0 * slope), (0, -75),
                       textcoords="offset points", color="#D55E00")  # fmt: skip
        split.set(xlabel="S: age", ylabel="X: skill, in points")
        split.set_title("1. X is split into what S explains, and the rest", loc="left")
        for bound, color, name in ((1.0, "#999999", "no bound"), (r, "#009E73", f"r = {r:g}")):
            model = FairRidgeRegressor(bound, sensitive=["age"]).fit(data, pay)
            found = model.predict(data)
            label = f"{name}: age explains {100.0 * model.unfairness_:.0f} %"
            scores.scatter(age, found, s=8, color=color, label=label)
        scores.set(xlabel="S: age", ylabel="score")
        scores.set_title("2. The weight of S shrinks, that of U stays", loc="left")
        scores.legend(frameon=False)
        for ax in (split, scores):
            ax.spines[["top", "right"]].set_visible(False)
        figure.savefig(IMAGES / "method.png", dpi=150)


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
    draw_hero()
    draw_method()
    photograph_report(chosen, rows, credit.y)
    for name in ("hero", "method", "report"):
        print(IMAGES / f"{name}.png")
