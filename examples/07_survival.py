"""Survival: times until an event.

Recidivism after release from prison: a Cox model whose log hazards depend on race as little
as you choose.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fairridge import FairRidgeSurvival
from fairridge.datasets import load_rossi

rossi = load_rossi()
bounds = np.linspace(0, 0.05, 11)
path = FairRidgeSurvival(sensitive=rossi.sensitive).path(rossi.X, rossi.y, unfairness=bounds)
concordance = [path.at(r).score(rossi.X, rossi.y) for r in bounds]

figure, axes = plt.subplots()
axes.plot(bounds, concordance, "o-")
axes.set(xlabel="bound r", ylabel="concordance index")

# %%
# Hazard ratios of the model at r = 0.01:
model = FairRidgeSurvival(0.01, sensitive=rossi.sensitive).fit(rossi.X, rossi.y)
for name, value in zip(model.coef_names_, np.exp(model.coef_), strict=True):
    print(f"{name:>12}: {value:.2f}")
