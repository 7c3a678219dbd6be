"""Show the docstrings of models as `help()` does: with the parameters that they inherit.

An extension of griffe, which reads the sources for the API reference. Models describe a
parameter where it is declared; `fairridge.estimators._docstrings` puts these descriptions
together when a class is created.
"""

import inspect
from importlib import import_module
from typing import Any

import griffe

# Packages whose classes inherit descriptions of parameters.
PLACES = ("fairridge.estimators.", "fairridge.peers.", "fairridge.stacking.")


class RuntimeDocstrings(griffe.Extension):
    """Replaces the docstrings of models by those that they have at runtime."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Look at a class whose members have been read."""
        if not cls.path.startswith(PLACES) or cls.docstring is None:
            return
        found = getattr(import_module(cls.module.path), cls.name, None)
        doc = None if found is None else inspect.getdoc(found)
        if doc is not None:
            cls.docstring.value = doc
