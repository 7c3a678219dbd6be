"""Show methods that classes get by assignment, `predict = _labels.predict`, as methods.

An extension of griffe, which reads the sources for the API reference and takes
such lines for attributes without a docstring.
"""

from copy import copy
from typing import Any

import griffe


class AssignedMethods(griffe.Extension):
    """Replaces attributes of classes that name a function by that function."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Look through all classes once the package has been read."""
        for module in _modules(pkg):
            for cls in module.classes.values():
                if not cls.is_alias:
                    _replace_attributes(cls)


def _modules(module: griffe.Module) -> list[griffe.Module]:
    inner = [found for found in module.modules.values() if not found.is_alias]
    return [module, *(deeper for found in inner for deeper in _modules(found))]


def _replace_attributes(cls: griffe.Class) -> None:
    for name, attribute in list(cls.members.items()):
        value = getattr(attribute, "value", None)
        if not isinstance(value, griffe.ExprAttribute):
            continue
        try:
            found = cls.modules_collection[value.canonical_path]
        except KeyError:  # an attribute of an object, or another library's
            continue
        if found.is_function:
            method = copy(found)
            method.name = name
            cls.set_member(name, method)
