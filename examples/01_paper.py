"""The paper's model in ten lines.

Fair ridge regression of the violent crime rate: race and foreign birth may explain at most
5 % of what the model explains.
"""

# %%
from fairridge import FairRidgeRegressor
from fairridge.datasets import load_communities_crime

crime = load_communities_crime()
model = FairRidgeRegressor(unfairness=0.05, sensitive=crime.sensitive).fit(crime.X, crime.y)
print(f"R² {model.score(crime.X, crime.y):.3f}, unfairness {model.unfairness_:.4f}")

# %%
# Without a bound, S explains most of the predictions:
free = FairRidgeRegressor(unfairness=1, sensitive=crime.sensitive).fit(crime.X, crime.y)
print(f"R² {free.score(crime.X, crime.y):.3f}, unfairness {free.unfairness_:.4f}")

# %%
# The bound shrinks the coefficients of S and leaves those of the other predictors alone.
for name, bounded, unbounded in zip(model.sensitive_names_, model.alpha_, free.alpha_, strict=True):
    print(f"{name:>24}: {unbounded:7.4f} without a bound, {bounded:7.4f} with it")

# %%
# All bounds at once, and what they cost:
import numpy as np

path = model.path(crime.X, crime.y, unfairness=np.linspace(0, 0.9, 91))
path.plot("accuracy")
