"""Models in files: which estimators can be saved and loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fairridge import estimators, peers
from fairridge.export import linear_form, write_model
from fairridge.export.model_file import model_of, read_document
from fairridge.stacking import FairStackingClassifier, FairStackingRegressor
from fairridge.stacking.storing import read_stack, write_stack

STACKS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (FairStackingClassifier, FairStackingRegressor)
}


def save(model: Any, path: Any, *, learners: str = "skops") -> None:
    """Write a fitted model to a file that people can read.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge, or a stacked one.
    path : str or path-like
        A JSON file, replaced if it is there. The learners of a stacked model, which JSON
        cannot hold, go beside it, into ``path.skops`` or ``path.joblib``; scores of the
        training rows are not saved.
    learners : {"skops", "joblib"}, default="skops"
        How the learners of a stacked model are written. skops (extra ``stacking``) names the
        types it needs before it makes any of them; joblib writes a pickle, which can run any
        code when it is loaded.

    See Also
    --------
    load : Reads the file.
    fairridge.export.to_sql : Predictions without Python.

    References
    ----------
    .. [1] docs/export.md.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> import fairridge
    >>> path = Path(tempfile.mkdtemp()) / "model.json"
    >>> fairridge.save(model, path)
    >>> print(bool((fairridge.load(path).predict(X) == model.predict(X)).all()))
    True
    """
    if STACKS.get(type(model).__name__) is type(model):
        check_is_fitted(model)
        write_stack(model, path, learners)
        return
    linear_form(model, "save", predicts=True)
    if _classes().get(type(model).__name__) is not type(model):
        raise TypeError(
            f"save needs a model of fairridge, because a file holds no code; "
            f"{type(model).__name__} is a class of its own."
        )
    write_model(model, path)


def load(path: Any, *, trusted: bool | Sequence[str] = ()) -> Any:
    """Read a model from a file; nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        What `save` wrote. Anything else is a ValueError that names the file.
    trusted : bool or sequence of str, default=()
        For stacked models: names of types that learners may have, beside those of
        scikit-learn and of the default learner. True trusts all, and is needed for learners
        that joblib wrote, since these are a pickle.

    Returns
    -------
    estimator
        The fitted model.

    See Also
    --------
    save : Writes the file.

    References
    ----------
    .. [1] docs/export.md.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> import fairridge
    >>> path = Path(tempfile.mkdtemp()) / "model.json"
    >>> fairridge.save(model, path)
    >>> print(fairridge.load(path).unfairness)
    0.01
    """

    def read(document: dict[str, Any]) -> Any:
        if document.get("class") in STACKS:
            return read_stack(document, path, STACKS, _classes(), trusted)
        return model_of(document, _classes())

    return read_document(path, read)


def _classes() -> dict[str, type[Any]]:
    """Estimators that a file may name: the linear ones."""
    public = {name: getattr(home, name) for home in (estimators, peers) for name in home.__all__}
    return {name: item for name, item in public.items() if hasattr(item, "_description")}
