"""Loan applications as a bank has them, made up."""

import numpy as np
import pandas as pd

AREAS = 900


def loans(n=20_000, seed=0):
    """Return messy applications: keys, amounts as text, two formats of dates, gaps, copies.

    `default` is 1 for a loan that was not paid back. Incomes differ between races, and
    areas are mostly of one race, so that ZIP codes tell it.
    """
    rng = np.random.default_rng(seed)
    share = np.random.default_rng(7).beta(0.4, 0.8, AREAS)  # the same areas for every sample
    area = rng.integers(0, AREAS, n)
    black = rng.random(n) < share[area]
    female = rng.random(n) < 0.45
    age = np.round(np.clip(rng.normal(42, 12, n), 18, 80))
    income = np.round(rng.lognormal(10.9 - 0.35 * black - 0.1 * female, 0.4), 2)
    rate = np.round(np.clip(rng.normal(12, 4, n) + 1.5 * black, 2, 30), 2)
    opened = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), "D")
    eta = -2.2 + 0.12 * (rate - 12) - 1.3 * np.log(income / 5e4) + 0.01 * (40 - age)
    default = (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    money = [f"${value:,.2f}" for value in income]
    purpose = rng.choice(["car", "home", "medical", "wedding"], n, p=[0.5, 0.3, 0.1995, 0.0005])
    frame = pd.DataFrame(
        {
            "application_id": [f"A{seed}-{k:07d}" for k in range(n)],
            "opened": opened.strftime("%Y-%m-%d"),
            "closed": (opened + pd.Timedelta(400, "D")).strftime("%d/%m/%Y"),
            "income": money,
            "income_copy": money,
            "rate": [f"{value:.2f}%" for value in rate],
            "zip": [f"{1001 + 7 * k:05d}" for k in area],
            "purpose": np.where(default == 1, np.where(purpose == "wedding", "car", purpose),
                                purpose),
            "sex": np.where(female, "F", "M"),
            "race": np.where(black, "Black", "White"),
            "age": age.astype(int),
            "default": default,
        }
    )  # fmt: skip
    spelled = rng.random(n) < 0.1
    frame["sex"] = np.where(spelled & ~female, "Male", frame["sex"])
    gaps = rng.random(n) < 0.02
    frame["rate"] = np.where(gaps, "N/A", frame["rate"])
    return frame
