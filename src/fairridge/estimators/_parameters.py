"""Types of parameters that a name or an object can be given for."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.base import BaseEstimator

from fairridge.fairness import Definition
from fairridge.families import Family
from fairridge.models import Fit
from fairridge.penalties import Penalty

DefinitionLike = str | Definition | Callable[[Fit], float]
FamilyLike = str | Family
PenaltyLike = str | Penalty
# A transformer of scikit-learn, or a pipeline of them.
FeatureMap = BaseEstimator | None
