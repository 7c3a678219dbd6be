"""Monitoring with drift.

A monitor looks at the people who arrive, and may be looked at after every batch. Here the
population changes after 10,000 rows.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fairridge import FairRidgeRegressor, Monitor

rng = np.random.default_rng(0)


def people(n, shift=0.0):
    """Return S and two predictors; the first depends on S, more so after a shift."""
    s = rng.integers(0, 2, n).astype(float)
    x = np.column_stack([(0.5 + shift) * s + rng.normal(size=n), rng.normal(size=n)])
    return np.column_stack([s, x])


X = people(5000)
y = X[:, 1] + X[:, 2] + rng.normal(size=5000)
model = FairRidgeRegressor(0.03, sensitive=[0]).fit(X, y)
monitor = Monitor(model, unfairness=0.05)

wealth = []
for batch in range(60):
    state = monitor.update(people(500, shift=0.0 if batch < 20 else 0.9))
    wealth.append(state.wealth)
    if state.alarm:
        break
print(f"alarm after {500 * (batch + 1):,} rows")

# %%
# The evidence against the bound, which stays below the line while the bound is kept:
figure, axes = plt.subplots()
axes.semilogy(500 * np.arange(1, len(wealth) + 1), wealth)
axes.axvline(10_000, color="gray", linestyle=":", label="the population changes")
axes.axhline(100, color="black", linestyle="--", label="alarm")
axes.legend()
axes.set(xlabel="rows seen", ylabel="evidence (wealth)")
