"""Hiring under the four-fifths rule.

The rule is about decisions, so the bound is not chosen by hand: `choose_bound` finds the
largest one whose decisions meet the rule on held-out people. Applicants are scored without
their sex (`blind=True`), which is needed to fit and to check.
"""

# %%
import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, audit, choose_bound
from fairridge.rules import AdverseImpact

rng = np.random.default_rng(1)
n = 8000
woman = rng.random(n) < 0.4
score = rng.normal(size=n) - 0.5 * woman
years = np.maximum(rng.normal(8 - 2 * woman, 4), 0).round(1)
task = rng.normal(size=n)
hired = rng.random(n) < 1 / (1 + np.exp(-(score + task + 0.15 * (years - 8) - 0.3)))
people = pd.DataFrame({"sex": np.where(woman, "f", "m"), "score": score, "task": task})
people["years"] = years
train, new = slice(0, 4000), slice(4000, None)

# %%
# Without a bound, women are hired far less often:
options = {"sensitive": ["sex"], "definition": "mean-parity", "blind": True}
free = FairRidgeClassifier(1, **options).fit(people[train], hired[train])
chance = free.predict_proba(people[new])
found = audit(hired[new], chance, sensitive_features=people[new][["sex"]])
print(f"ratio of selection rates: {found['sex'].demographic_parity_ratio:.2f}")

# %%
# The largest bound that meets the rule with confidence 0.9:
model = FairRidgeClassifier(**options)
chosen = choose_bound(
    model, people[train], hired[train], people[new], hired[new],
    rule=AdverseImpact(0.8, favorable=True), confidence=0.9,
)  # fmt: skip
chosen

# %%
# The ratio on held-out people against the bound; the rule asks for 0.8.
import matplotlib.pyplot as plt

tried = chosen.tested
figure, axes = plt.subplots()
axes.plot(1000 * tried["unfairness"], tried["value"], "o-")
axes.axhline(0.8, color="black", linestyle="--")
axes.set(xlabel="1,000 × bound r", ylabel="ratio of selection rates")
