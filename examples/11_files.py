"""Files larger than memory.

A fit reads Parquet files in batches. Its results are those of a fit in memory.
"""

# %%
import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, sources

rng = np.random.default_rng(0)
for part in range(4):
    n = 50_000
    age = rng.uniform(18, 70, n)
    income = rng.lognormal(10 + 0.01 * age, 0.4)
    paid = rng.random(n) < 1 / (1 + np.exp(-(income - 40_000) / 20_000))
    frame = pd.DataFrame({"age": age, "income": income, "region": rng.choice(list("abc"), n)})
    frame.assign(paid=paid).to_parquet(f"part-{part}.parquet")

# %%
rows = sources.parquet("part-*.parquet", response="paid", sensitive=["age"])
model = FairRidgeClassifier(0.01, definition="mean-parity").fit(rows)
print(f"{model.status_}, {model.unfairness_:.6f} after {model.n_iter_} passes over the files")

# %%
# The same rows in memory:
together = pd.concat(pd.read_parquet(f"part-{part}.parquet") for part in range(4))
memory = FairRidgeClassifier(0.01, sensitive=["age"], definition="mean-parity")
memory.fit(together.drop(columns="paid"), together["paid"])
print(f"largest difference of coefficients: {np.abs(memory.coef_ - model.coef_).max():.1e}")

# %%
# What the bound did to the probabilities of old and young people:
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
some = together.sample(2000, random_state=0).drop(columns="paid")
free = FairRidgeClassifier(1, sensitive=["age"], definition="mean-parity").fit(
    together.drop(columns="paid"), together["paid"]
)
for name, fitted in {"no bound": free, "r = 0.01": memory}.items():
    axes.plot(some["age"], fitted.predict_proba(some)[:, 1], ".", markersize=3, label=name)
axes.set(xlabel="age", ylabel="probability of repayment")
axes.legend()
