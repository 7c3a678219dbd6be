"""A path: all bounds at once.

One call fits the models for a hundred bounds, and shows what each costs.
"""

# %%
import numpy as np

from fairridge import FairRidgeClassifier
from fairridge.datasets import load_german_credit

credit = load_german_credit()
model = FairRidgeClassifier(sensitive=["Age", "Gender"], definition="mean-parity")
X = credit.X[["Age", "Gender", "Duration", "Credit_amount", "Housing", "Telephone"]]
path = model.path(X, credit.y, unfairness=np.linspace(0, 0.16, 101))
path.plot()

# %%
# Every model of the path can be taken from it:
strict = path.at(0.001)
print(f"{strict.status_}: R² of probabilities on S {strict.unfairness_:.4f}")
print(f"accuracy {strict.score(X, credit.y):.3f}")
