"""Scoring without S, given accepted reasons.

Sex is not used to score, and the job family may explain differences: the bound is on what sex
explains of the scores beyond the job family. Which reasons are accepted is a legal question.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor

rng = np.random.default_rng(0)
n = 4000
woman = rng.random(n) < 0.45
family = np.where(rng.random(n) < 0.3 + 0.3 * woman, "office", "plant")
skill = rng.normal(size=n)
nights = np.maximum(rng.normal(6 - 3 * woman, 2), 0)
pay = 20 + 3 * skill + 0.6 * nights + 2 * (family == "plant") - woman + rng.normal(size=n)
X = pd.DataFrame({"family": family, "skill": skill, "nights": nights})
S = pd.DataFrame({"sex": np.where(woman, "f", "m")})

# %%
# What is left of the scores after the job family, on what is left of sex:
bounds = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
scores = {"with sex": [], "blind": []}
for name, blind in zip(scores, (False, True), strict=True):
    for r in bounds:
        model = FairRidgeRegressor(r, blind=blind, controls=["family"])
        model.fit(X, pay, sensitive_features=S)
        given = {} if blind else {"sensitive_features": S}
        scores[name].append(model.score(X, pay, **given))

figure, axes = plt.subplots()
for name, values in scores.items():
    axes.plot(bounds, values, "o-", label=name)
axes.set(xlabel="bound r, given the job family", ylabel="R² in training")
axes.legend()

# %%
# The blind model needs no column of S, and says which signs it turned around:
blind = FairRidgeRegressor(0.01, blind=True, controls=["family"])
blind.fit(X, pay, sensitive_features=S)
print(blind.predict(X.head(3)).round(1))
print(f"partial R² {blind.unfairness_:.4f}; sign flips: {list(blind.sign_flips_)}")
