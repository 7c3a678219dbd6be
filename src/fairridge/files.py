"""Models in files: which estimators can be saved and loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairridge import estimators, peers
from fairridge.arguments import check_option
from fairridge.data.pipelines import split_pipeline
from fairridge.export import linear_form
from fairridge.export.model_file import (
    header,
    model_document,
    model_of,
    read_document,
    write_document,
)
from fairridge.export.objects import FORMATS, read_objects, require_writable, write_objects
from fairridge.stacking import FairStackingClassifier, FairStackingRegressor
from fairridge.stacking.storing import read_stack, stack_document

STACKS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (FairStackingClassifier, FairStackingRegressor)
}
PIPELINE = Pipeline.__name__


def save(model: Any, path: Any, *, learners: str = "skops") -> None:
    """Write a fitted model to a file that people can read.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge, a stacked one, or a `Pipeline` with one of them as
        its last step.
    path : str or path-like
        A JSON file, replaced if it is there. The learners of a stacked model and the other
        steps of a `Pipeline`, which JSON cannot hold, go beside it, into ``path.skops`` or
        ``path.joblib``, and ``path.steps.skops`` or ``path.steps.joblib``; scores of the
        training rows are not saved. A step that cannot be saved is an error that names it.
    learners : {"skops", "joblib"}, default="skops"
        How learners and steps are written. skops (extra ``stacking``) names the types it needs
        before it makes any of them; joblib writes a pickle, which can run any code when it is
        loaded.

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
    check_option("learners", learners, FORMATS)
    write_document(_document(model, path, learners), path)


def load(path: Any, *, trusted: bool | Sequence[str] = ()) -> Any:
    """Read a model from a file; nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        What `save` wrote. Anything else is a ValueError that names the file.
    trusted : bool or sequence of str, default=()
        For stacked models and pipelines: names of types that learners and steps may have,
        beside those of scikit-learn and of the default learner. True trusts all, and is needed
        for what joblib wrote, since that is a pickle.

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
    return read_document(path, lambda document: _model(document, path, trusted))


def _document(model: Any, path: Any, learners: str) -> dict[str, Any]:
    """Return what JSON keeps of a model, and write the rest beside it."""
    if type(model) is Pipeline:
        return _pipeline_document(model, path, learners)
    if STACKS.get(type(model).__name__) is type(model):
        check_is_fitted(model)
        return stack_document(model, path, learners)
    linear_form(model, "save", predicts=True)
    if _classes().get(type(model).__name__) is not type(model):
        raise TypeError(
            f"save needs a model of fairridge, because a file holds no code; "
            f"{type(model).__name__} is a class of its own."
        )
    return model_document(model)


def _pipeline_document(model: Pipeline, path: Any, learners: str) -> dict[str, Any]:
    """Return what JSON keeps of a pipeline: its last step, and where the others are."""
    steps, last = split_pipeline(model)
    for name, step in model.steps[:-1]:
        try:
            require_writable(step, learners)
        except ImportError:  # skops itself is missing
            raise
        except Exception as error:  # whatever a class of any library raises
            raise TypeError(
                f"step {name!r} of the Pipeline, a {type(step).__name__}, cannot be saved: {error}"
            ) from error
    inner = _document(last, path, learners)
    return header(PIPELINE, inner["fingerprint"]) | {
        "steps": None if steps is None else write_objects(steps, path, learners, ".steps"),
        "name": model.steps[-1][0],
        "model": inner,
    }


def _model(document: dict[str, Any], path: Any, trusted: bool | Sequence[str]) -> Any:
    """Make a model of its document, and of the files beside it."""
    kind = document.get("class")
    if kind == PIPELINE:
        kept, last = document["steps"], _model(document["model"], path, trusted)
        steps = [] if kept is None else read_objects(kept, path, trusted, "steps").steps
        return Pipeline([*steps, (str(document["name"]), last)])
    if kind in STACKS:
        return read_stack(document, path, STACKS, _classes(), trusted)
    return model_of(document, _classes())


def _classes() -> dict[str, type[Any]]:
    """Estimators that a file may name: the linear ones."""
    public = {name: getattr(home, name) for home in (estimators, peers) for name in home.__all__}
    return {name: item for name, item in public.items() if hasattr(item, "_description")}
