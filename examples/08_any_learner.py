"""Any learner made fair.

Boosted trees see everything; a fair ridge on their out-of-fold scores keeps the bound. One
cross-fit serves all bounds.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from fairridge import FairRidgeClassifier, FairStackingClassifier
from fairridge.datasets import load_adult

adult = load_adult()
rng = np.random.default_rng(0)
order = rng.permutation(len(adult.y))
train, test = order[:3000], order[3000:13000]
X, y = adult.X, np.asarray(adult.y)
bounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05]

models = {
    "boosted trees": FairStackingClassifier(sensitive=["sex"], cv=3, random_state=0),
    "linear": FairRidgeClassifier(sensitive=["sex"], definition="mean-parity"),
}
figure, axes = plt.subplots()
for name, model in models.items():
    path = model.path(X.iloc[train], y[train], unfairness=bounds)
    scores = [path.at(r).predict_proba(X.iloc[test])[:, 1] for r in bounds]
    axes.plot(bounds, [roc_auc_score(y[test], p) for p in scores], "o-", label=name)
axes.set(xlabel="bound r", ylabel="AUC on held-out rows")
axes.legend()
