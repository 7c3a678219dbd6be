"""A path: all bounds at once.

One call fits the models for a hundred bounds, and shows what each costs.
"""

# %%
from fairridge import FairRidgeClassifier
from fairridge.datasets import load_german_credit

credit = load_german_credit()
model = FairRidgeClassifier(sensitive=["Age", "Gender"], definition="mean-parity")
path = model.path(credit.X, credit.y)
path.plot()

# %%
# Every model of the path can be taken from it:
strict = path.at(0.001)
print(f"{strict.status_}: R² of probabilities on S {strict.unfairness_:.4f}")
print(f"accuracy {strict.score(credit.X, credit.y):.3f}")
