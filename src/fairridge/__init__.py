"""Regression models that are fair to a degree you choose."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairridge.estimators import (
        BarycenterRegressor,
        ConvexFairClassifier,
        ConvexFairRegressor,
        FairnessPath,
        FairRidgeClassifier,
        FairRidgeRegressor,
        FairRidgeSurvival,
        KomiyamaRegressor,
        ReductionsClassifier,
        SteinbergRegressor,
        ZafarClassifier,
        ZafarRegressor,
        cross_validate,
    )
    from fairridge.estimators._exports import load, save
    from fairridge.estimators.compare import compare

__version__ = "0.1.0"
__all__ = [
    "BarycenterRegressor",
    "ConvexFairClassifier",
    "ConvexFairRegressor",
    "FairRidgeClassifier",
    "FairRidgeRegressor",
    "FairRidgeSurvival",
    "FairnessPath",
    "KomiyamaRegressor",
    "ReductionsClassifier",
    "SteinbergRegressor",
    "ZafarClassifier",
    "ZafarRegressor",
    "__version__",
    "compare",
    "cross_validate",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Import models and modules when they are first used.

    They bring SciPy and scikit-learn, which take a second to import: the
    command line must already be able to answer, or to be interrupted.
    """
    if name in __all__:
        module = "estimators._exports" if name in ("load", "save") else "estimators"
        value = getattr(import_module(f"{__name__}.{module}"), name)
    elif name.isidentifier() and not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
