"""Models in files: JSON that people can read, and that executes nothing when it is loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from fairridge._version import __version__
from fairridge.data.classes import models_first
from fairridge.export.codec import NotSaved, decode, encode
from fairridge.export.records import learned_by, require_sound
from fairridge.families.base import modeled_class
from fairridge.outputs import checksum, writing

# Counts up whenever files of the version before can no longer be read as they are.
FORMAT = 1
# The frame library of the training data is a matter of the machine, not of the model; its moments
# only save inference a pass. Sums by group are not kept, but what follows from them.
LEFT_OUT = {"_backend": None, "_moments": None, "_groups": None}
# Attributes of a fit that follow from its sums by group when they are first read.
FROM_GROUPS = ("dependence_", "group_differences_", "total_ratios_")
# What files of earlier versions lack: attributes, with what they are then, and parameters, which
# have their defaults.
ADDED: dict[str, Any] = {
    "_profiles": (), "_text_styles": (), "_offsets": (), "sign_flips_": {"dict": {}},
}  # fmt: skip
ADDED_PARAMETERS = ("base", "certification", "random_state")
# Ways to certify that files of earlier versions name; "auto" has their place.
GONE_CERTIFICATIONS = ("closed-form", "draws")
# What reading a file that is not what it says can lead to.
DAMAGES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def write_document(document: dict[str, Any], path: Any) -> None:
    """Write a document with its checksum."""
    document["checksum"] = checksum(document)
    # A lone surrogate, which UTF-8 cannot hold, becomes JSON's own escape of it.
    content = (_layout(document) + "\n").encode("utf-8", "backslashreplace")
    with writing(path) as file:
        file.write(content)


def model_document(model: Any) -> dict[str, Any]:
    """Return what JSON keeps of a fitted estimator; it is known that it can be read."""
    owner = type(model).__name__
    # Those of the fit, but for `unknown`, which is about rows to predict.
    parameters = model._fitted.settings.get_params(deep=False) | {"unknown": model.unknown}
    # A model from a file of an earlier version may lack some of these.
    following = {name: getattr(model, name) for name in FROM_GROUPS if hasattr(model, name)}
    learned = {
        name: value
        for name, value in (vars(model) | following).items()
        if name not in {*parameters, *LEFT_OUT, "_settings"}
    }
    mapped = parameters.get("sensitive_map")
    if mapped is not None:
        # Of a model that predicts without S: the features have names, and no one maps again.
        if not isinstance(mapped, NotSaved):
            mapped = NotSaved(f"{type(mapped).__module__}.{type(mapped).__qualname__}")
        parameters["sensitive_map"], design = mapped, learned["_design"]
        named = replace(design.sensitive, transformer=mapped)
        learned["_design"] = replace(design, sensitive=named)
    document = header(owner, model.fingerprint_) | {
        "parameters": {
            name: encode(value, f"{name}=… of {owner}") for name, value in parameters.items()
        },
        "fitted": {name: encode(value, f"{name} of {owner}") for name, value in learned.items()},
    }
    try:  # whatever is written can be read
        model_of(document, {owner: type(model)})
    except ValueError as error:
        raise ValueError(f"this {owner} cannot be saved: {error}") from error
    return document


def header(owner: str, fingerprint: str) -> dict[str, Any]:
    """Return what every document begins with."""
    return {
        "format": FORMAT,
        "library": "fairridge",
        "version": __version__,
        "class": owner,
        "fingerprint": fingerprint,
    }


def read_document(path: Any, read: Callable[[dict[str, Any]], Any]) -> Any:
    """Return what a function makes of the document in a file; any fault is one error."""
    text = Path(path).read_bytes()
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_refuse)
        _require_format(document)
        return read(document)
    except RefusedError as error:
        raise ValueError(f"{os.fspath(path)!r} {error}") from None
    except DAMAGES as error:
        raise ValueError(
            f"{os.fspath(path)!r} is not a fairridge model file, or it is damaged: {error}"
        ) from error


class RefusedError(Exception):
    """A file that is sound, but not for us."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number.")


def _require_format(document: Any) -> None:
    if not isinstance(document, dict) or document.get("library") != "fairridge":
        raise ValueError('it lacks "library": "fairridge".')
    if document.get("format") != FORMAT:
        raise RefusedError(
            f"has format {document.get('format')!r} (written by fairridge "
            f"{document.get('version')}); this version of fairridge reads format {FORMAT}."
        )
    if document.get("checksum") != checksum(document):
        raise ValueError("its content does not match its checksum.")


def model_of(document: dict[str, Any], classes: Mapping[str, type[Any]]) -> Any:
    """Make a model of its document."""
    name = document["class"]
    if name not in classes:
        raise RefusedError(
            f"holds a model of the class {name!r}, which is not known here; known are "
            f"{', '.join(sorted(classes))}."
        )
    model, parameters, learned = classes[name](), document["parameters"], document["fitted"]
    known, types = model.get_params(deep=False), learned_by(model)
    _require_keys("parameters", parameters, known, f"no parameter of {name}")
    _require_keys("fitted", learned, types, f"nothing a {name} learns")
    for key in known:
        if key not in parameters and key not in ADDED_PARAMETERS:
            raise ValueError(f"{key!r} is missing.")
    if parameters.get("certification") in GONE_CERTIFICATIONS:
        parameters = parameters | {"certification": "auto"}
    added = {key: value for key, value in ADDED.items() if key in types}
    for key, value in {**added, **parameters, **learned, **LEFT_OUT}.items():
        setattr(model, key, _decoded(key, value, number=key in learned))
    if "classes_" in learned and "positive_" not in learned:
        # Files of version 0.3 and before have the modeled class last.
        labels = model.classes_
        model.classes_, model.positive_ = np.sort(labels), modeled_class(labels)
        if models_first(model):
            model.family_ = replace(model.family_, tie=1)
    model._settings = clone(model)
    require_sound(model)
    return model


def _require_keys(part: str, stored: Any, allowed: Mapping[str, Any], otherwise: str) -> None:
    if not isinstance(stored, dict):
        raise ValueError(f"{part!r} must be an object of JSON.")
    for key in stored:
        if key not in allowed:
            raise ValueError(f"{key!r} is {otherwise}.")


def _decoded(key: str, value: Any, *, number: bool) -> Any:
    try:
        decoded = decode(value)
    except DAMAGES as error:
        raise ValueError(f"{key!r} cannot be read: {error}") from error
    # Results of NumPy have its methods; what was a plain float loses nothing by them.
    return np.float64(decoded) if number and isinstance(decoded, float) else decoded


def _layout(value: Any, depth: int = 0) -> str:
    """Write JSON with one entry a line, but plain lists and small objects on one line."""
    short = json.dumps(value, ensure_ascii=False, allow_nan=False)
    nested = isinstance(value, dict | list) and len(short) > 88
    plain = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    if not nested or plain or not value:
        return short
    pad = "  " * (depth + 1)
    if isinstance(value, list):
        lines = [f"{pad}{_layout(item, depth + 1)}" for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{'  ' * depth}]"
    lines = [
        f"{pad}{json.dumps(key, ensure_ascii=False)}: {_layout(item, depth + 1)}"
        for key, item in value.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{'  ' * depth}}}"
