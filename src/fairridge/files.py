"""Models in files: which estimators can be saved and loaded."""

from __future__ import annotations

from typing import Any

from fairridge import estimators, peers
from fairridge.export import linear_form, read_model, write_model


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file that people can read.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.
    path : str or path-like
        A JSON file, replaced if it is there.
    """
    linear_form(model, "save", predicts=True)
    if _classes().get(type(model).__name__) is not type(model):
        raise TypeError(
            f"save needs a model of fairridge, because a file holds no code; "
            f"{type(model).__name__} is a class of its own."
        )
    write_model(model, path)


def load(path: Any) -> Any:
    """Read a model from a file; nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        What `save` wrote. Anything else is a ValueError that names the file.

    Returns
    -------
    estimator
        The fitted model.
    """
    return read_model(path, _classes())


def _classes() -> dict[str, type[Any]]:
    """Estimators that a file may name: the linear ones."""
    public = {name: getattr(home, name) for home in (estimators, peers) for name in home.__all__}
    return {name: item for name, item in public.items() if hasattr(item, "_description")}
