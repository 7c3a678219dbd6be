"""A report for those who decide.

One HTML file: what the model does, what fairness costs, how sure one can be, and the limits.
"""

# %%
from pathlib import Path

from fairridge import FairRidgeClassifier, report
from fairridge.datasets import load_german_credit

credit = load_german_credit()
model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
X = credit.X[["Age", "Gender", "Duration", "Credit_amount", "Housing", "Telephone"]]
model.fit(X, credit.y)
report(model, X, credit.y, "report.html", title="German credit", cv=3)
print(f"{Path('report.html').stat().st_size / 1e3:.0f} kB, opens from disk")

# %%
# The numbers behind the first page:
print(model.summary())

# %%
# What fairness costs, drawn from the same path:
model.path(X, credit.y, unfairness=[k / 1000 for k in range(121)]).plot("accuracy")
