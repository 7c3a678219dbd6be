"""Beside fairlearn.

The same data, the same linear model, and the whole trade-off from both libraries.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

from fairridge import FairRidgeClassifier, audit
from fairridge.datasets import load_adult

adult = load_adult()
rows = np.random.default_rng(0).choice(len(adult.y), 10_000, replace=False)
X = adult.X.iloc[rows][["sex", "education_num", "hours_per_week", "age", "capital_gain"]]
y = (np.asarray(adult.y)[rows] == ">50K").astype(int)
sex = X[["sex"]]


def gap(decisions):
    """Return the difference of selection rates."""
    return audit(y, decisions, sensitive_features=sex)["sex"].demographic_parity_difference


# %%
start = time.process_time()
path = FairRidgeClassifier(sensitive=["sex"], definition="mean-parity").path(X, y)
ours = [(gap(m.predict(X)), m.score(X, y)) for m in map(path.at, (0, 0.001, 0.005, 0.02, 0.1))]
seconds = time.process_time() - start

# %%
start = time.process_time()
numbers = pd.get_dummies(X.drop(columns="sex")).astype(float)
numbers = (numbers - numbers.mean()) / numbers.std()
theirs = []
for limit in (0.01, 0.05, 0.1):
    reduced = ExponentiatedGradient(LogisticRegression(), DemographicParity(difference_bound=limit))
    reduced.fit(numbers, y, sensitive_features=X["sex"])
    decisions = reduced.predict(numbers, random_state=0)
    theirs.append((gap(decisions), (decisions == y).mean()))
print(f"five of {len(path.unfairness)} bounds: {seconds:.1f} s here")
print(f"three bounds: {time.process_time() - start:.1f} s there")

# %%
figure, axes = plt.subplots()
axes.plot(*np.transpose(ours), "o-", label="fairridge")
axes.plot(*np.transpose(theirs), "s-", label="fairlearn, ExponentiatedGradient")
axes.set(xlabel="difference of selection rates", ylabel="accuracy in training")
axes.legend()
