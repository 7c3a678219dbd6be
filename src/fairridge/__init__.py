"""Regression models that are fair to a degree you choose."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fairridge._version import __version__

if TYPE_CHECKING:
    from fairridge.estimators import (
        FairnessPath,
        FairRidgeClassifier,
        FairRidgeRegressor,
        FairRidgeSurvival,
        row_products,
    )
    from fairridge.export import attribution, proxies
    from fairridge.files import load, save
    from fairridge.inference import rows_needed
    from fairridge.metrics.audit import audit
    from fairridge.peers import (
        BarycenterClassifier,
        BarycenterRegressor,
        BlindExactRegressor,
        ConvexFairClassifier,
        ConvexFairRegressor,
        KomiyamaRegressor,
        ReductionsClassifier,
        SteinbergRegressor,
        ZafarClassifier,
        ZafarRegressor,
    )
    from fairridge.stacking import FairStackingClassifier, FairStackingRegressor
    from fairridge.validation import Monitor, choose_bound, compare, cross_validate
    from fairridge.validation.report import report

__all__ = [
    "BarycenterClassifier",
    "BarycenterRegressor",
    "BlindExactRegressor",
    "ConvexFairClassifier",
    "ConvexFairRegressor",
    "FairRidgeClassifier",
    "FairRidgeRegressor",
    "FairRidgeSurvival",
    "FairStackingClassifier",
    "FairStackingRegressor",
    "FairnessPath",
    "KomiyamaRegressor",
    "Monitor",
    "ReductionsClassifier",
    "SteinbergRegressor",
    "ZafarClassifier",
    "ZafarRegressor",
    "__version__",
    "attribution",
    "audit",
    "choose_bound",
    "compare",
    "cross_validate",
    "load",
    "proxies",
    "report",
    "row_products",
    "rows_needed",
    "save",
]
# Where the public names are defined.
_HOMES = {
    "FairRidgeClassifier": "estimators",
    "FairRidgeRegressor": "estimators",
    "FairRidgeSurvival": "estimators",
    "FairStackingClassifier": "stacking",
    "FairStackingRegressor": "stacking",
    "FairnessPath": "estimators",
    "Monitor": "validation",
    "attribution": "export",
    "audit": "metrics",
    "choose_bound": "validation",
    "compare": "validation",
    "cross_validate": "validation",
    "load": "files",
    "proxies": "export",
    "report": "validation.report",
    "row_products": "estimators",
    "rows_needed": "inference",
    "save": "files",
}


def __getattr__(name: str) -> Any:
    """Import models and modules when they are first used."""
    # They bring SciPy and scikit-learn, which take a second to import: the command line must
    # already be able to answer, or to be interrupted.
    if name in __all__:
        home = _HOMES.get(name, "peers")
        value = getattr(import_module(f"{__name__}.{home}"), name)
    elif name.isidentifier() and not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
