"""Fit a fair path on generated data, print it and save its plots.

Run it with ``python examples/demo.py``; ``make demo`` shows the command line instead.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor

OUT = Path("demo-output")


def wages(n: int = 2000) -> tuple[pd.DataFrame, np.ndarray]:
    """Wages that depend on skill, and on sex and age both directly and through experience."""
    rng = np.random.default_rng(2022)
    sex = rng.choice(["female", "male"], n)
    age = rng.uniform(20, 65, n)
    male = sex == "male"
    experience = 0.5 * (age - 20) + 3 * male + rng.normal(scale=4, size=n)
    skill = rng.normal(size=n)
    sector = rng.choice(["public", "service", "industry"], n, p=[0.3, 0.4, 0.3])
    wage = (
        12 + 0.25 * experience + 3 * skill + 2 * male + 0.05 * age
        + 1.5 * (sector == "industry") + rng.normal(scale=2, size=n)
    )  # fmt: skip
    frame = {"sex": sex, "age": age, "experience": experience, "skill": skill, "sector": sector}
    return pd.DataFrame(frame), wage


def main() -> None:
    """Fit, print, draw."""
    people, wage = wages()
    model = FairRidgeRegressor(unfairness=0.05, sensitive=["sex", "age"]).fit(people, wage)
    print(model.summary())
    path = model.path(people, wage)
    figure, axes = plt.subplots(1, 3, figsize=(17, 4.6), layout="constrained")
    for ax, kind in zip(axes, ("coefficients", "constraints", "accuracy"), strict=True):
        path.plot(kind, ax=ax)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "path.png", dpi=140)
    steps = path.to_frame().iloc[[0, 1, 2, 5, 10, 20, 50, 100]]
    print(f"\nThe path, {len(path)} models:")
    print(steps[["unfairness", "lambda_", "achieved", "r_squared"]].to_string(index=False))
    print(f"\nFigure: {OUT / 'path.png'}")


if __name__ == "__main__":
    main()
