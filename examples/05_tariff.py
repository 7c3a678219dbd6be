"""A motor tariff with exposure.

Claims per insured year: the bound is on yearly rates, weighted by exposure, and the total of
the predicted claims is that of the observed ones.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor
from fairridge.export import relativities

rng = np.random.default_rng(0)
n = 20_000
age = rng.integers(18, 80, n)
sex = rng.choice(["f", "m"], n)
power = rng.choice(["low", "middle", "high"], n, p=[0.4, 0.4, 0.2])
exposure = rng.uniform(0.1, 1.0, n)
rate = np.exp(-2 + 0.4 * (sex == "m") + 0.3 * (power == "high") - 0.01 * (age - 45))
claims = rng.poisson(rate * exposure)
X = pd.DataFrame({"sex": sex, "age": age, "power": power})

options = {"sensitive": ["sex"], "family": "poisson", "definition": "mean-parity"}
model = FairRidgeRegressor(0.01, **options).fit(X, claims, exposure=exposure)
total = model.predict(X, exposure=exposure).sum() / claims.sum()
print(f"R² of yearly rates on sex {model.unfairness_:.4f}, predicted over observed {total:.6f}")

# %%
# Yearly rates of both sexes along the path:
bounds = [0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
path = FairRidgeRegressor(**options).path(X, claims, exposure=exposure, unfairness=bounds)
figure, axes = plt.subplots()
for group in ("f", "m"):
    rows = sex == group
    rates = [np.average(path.at(r).predict(X)[rows], weights=exposure[rows]) for r in bounds]
    axes.plot(bounds, rates, "o-", label=group)
axes.set(xlabel="bound r", ylabel="claims per year")
axes.legend()

# %%
# Tariff factors relative to the base levels:
print(relativities(model, bands={"age": [18, 25, 40, 65]}).to_string(index=False))
