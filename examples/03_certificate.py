"""A bound that holds for people outside the file.

A bound in training is exceeded in about half of all new samples. A certificate lowers it so
far that the one you asked for holds in the population, with the confidence that you choose.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fairridge import FairRidgeRegressor

rng = np.random.default_rng(0)


def sample(n):
    """Return people: S, two predictors and the response."""
    s = rng.normal(size=n)
    x = np.column_stack([0.6 * s + rng.normal(size=n), rng.normal(size=n)])
    return np.column_stack([s, x]), x.sum(axis=1) + 0.5 * s + rng.normal(size=n)


X, y = sample(500)
certified = FairRidgeRegressor(0.05, sensitive=[0], confidence=0.95).fit(X, y)
certified.certificate_

# %%
# How often is the bound kept on a million new people? A hundred samples of 500 rows:
many, _ = sample(1_000_000)


def in_population(model):
    """Return the share of the variance of scores that S explains in the population."""
    return np.corrcoef(model.predict(many), many[:, 0])[0, 1] ** 2


shares = {"without a certificate": [], "with confidence 0.95": []}
for _ in range(100):
    rows, response = sample(500)
    for name, confidence in zip(shares, (None, 0.95), strict=True):
        model = FairRidgeRegressor(0.05, sensitive=[0], confidence=confidence)
        shares[name].append(in_population(model.fit(rows, response)))

figure, axes = plt.subplots()
for name, values in shares.items():
    over = np.mean(np.array(values) > 0.05)
    axes.hist(values, bins=20, alpha=0.6, label=f"{name}: {over:.0%} exceed it")
axes.axvline(0.05, color="black", linestyle="--")
axes.set(xlabel="share explained by S in the population", ylabel="samples")
axes.legend()
