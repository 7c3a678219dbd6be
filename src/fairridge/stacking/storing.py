"""Stacked models in files: the layer as JSON, and beside it the learners, by skops or joblib.

JSON executes nothing when it is loaded. Learners are objects of any library, which JSON cannot
hold: they are in a second file, whose digest the first one has. One of skops says what types
it needs before it makes any of them; one of joblib is a pickle, which can run anything.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairridge.arguments import check_option
from fairridge.data import Design
from fairridge.export.codec import decode, encode
from fairridge.export.model_file import (
    RefusedError,
    header,
    model_document,
    model_of,
    write_document,
)
from fairridge.outputs import writing
from fairridge.stacking.crossfit import Deployed
from fairridge.stacking.features import Features, LayerColumns
from fairridge.stacking.learners import ClassScores, MeanScores

FORMATS = ("skops", "joblib")
# Parameters that are objects of other libraries.
OBJECTS = ("estimators", "proxy", "cv", "sensitive_map")
# The kinds of learners, as fields of `Features`.
KINDS = ("learners", "proxies", "maps")
# What the default learner is made of, beside the types that skops trusts.
OWN_TYPES = (
    "fairridge.stacking.learners.Categories",
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)
# Splitters of scikit-learn, which `cv` may be.
SPLITTERS = "sklearn.model_selection._split."


def write_stack(model: Any, path: Any, learners: str) -> None:
    """Write a fitted stacked model to two files.

    Parameters
    ----------
    model : FairStacking
        The model.
    path : str or path-like
        The JSON file; the learners go beside it, into a file of the same name with the ending
        of their format.
    learners : {"skops", "joblib"}
        Their format.
    """
    check_option("learners", learners, FORMATS)
    features: Features = model._features
    parameters = model.get_params(deep=False)
    objects = {name: parameters.pop(name) for name in OBJECTS}
    if model.prefit:  # the learners themselves
        objects["estimators"] = None
    for kind in KINDS:
        objects[kind] = [list(one.learners) for one in getattr(features, kind)]
    content = _dumped(objects, learners)
    beside = f"{os.fspath(path)}.{learners}"
    owner, columns = type(model).__name__, features.columns
    document = header(owner, model.fingerprint_) | {
        "parameters": {
            name: encode(value, f"{name}=… of {owner}") for name, value in parameters.items()
        },
        "columns": {
            "names": encode(columns.names, "names of columns"),
            "n_columns": columns.n_columns,
            "sensitive": encode(columns.sensitive, "positions of S"),
            "design": encode(columns.design, "columns of S"),
            "blind": columns.blind,
        },
        "features": {
            "interactions": features.interactions,
            "passthrough": features.passthrough,
            **{kind: [_described(one) for one in getattr(features, kind)] for kind in KINDS},
        },
        "fixed": model._fixed,
        "layer": model_document(model.layer_),
        "learners": {
            "file": os.path.basename(beside),
            "format": learners,
            "sha256": hashlib.sha256(content).hexdigest(),
        },
    }
    with writing(beside) as file:
        file.write(content)
    write_document(document, path)


def read_stack(
    document: dict[str, Any],
    path: Any,
    classes: dict[str, type[Any]],
    layers: dict[str, type[Any]],
    trusted: bool | Sequence[str],
) -> Any:
    """Make a stacked model of its document and of the file with its learners."""
    kept = document["learners"]
    learners, beside = str(kept["format"]), Path(path).parent / Path(str(kept["file"])).name
    if learners not in FORMATS:
        raise ValueError(f"its learners have the unknown format {learners!r}.")
    if not beside.exists():
        raise RefusedError(f"has its learners in {beside.name!r}, which is not beside it.")
    content = beside.read_bytes()
    if hashlib.sha256(content).hexdigest() != kept["sha256"]:
        raise RefusedError(f"has its learners in {beside.name!r}, which is not the file it names.")
    objects = _loaded(content, learners, trusted, beside.name)
    layer = model_of(document["layer"], layers)
    parameters = {name: decode(value) for name, value in document["parameters"].items()}
    kind = classes[document["class"]]
    model = kind(**parameters, **{name: objects[name] for name in OBJECTS})
    design = decode(document["columns"]["design"])
    if not isinstance(design, Design):
        raise ValueError("its columns of S are not a design.")
    columns = LayerColumns(
        decode(document["columns"]["names"]),
        int(document["columns"]["n_columns"]),
        decode(document["columns"]["sensitive"]),
        design,
        bool(document["columns"]["blind"]),
        kind.__name__,
    )
    facts = document["features"]
    deployed = {
        name: tuple(
            _deployed(one, fitted, getattr(layer, "classes_", None))
            for one, fitted in zip(facts[name], objects[name], strict=True)
        )
        for name in KINDS
    }
    features = Features(
        columns,
        **deployed,
        interactions=bool(facts["interactions"]),
        passthrough=bool(facts["passthrough"]),
    )
    return model._restore(features, layer, bool(document["fixed"]))


def _described(one: Deployed) -> dict[str, Any]:
    """Say what is made of the predictions of a learner."""
    scorer = one.scorer
    if isinstance(scorer, MeanScores):
        return {"names": list(one.names), "link": scorer.link, "least": scorer.least}
    return {"names": list(one.names), "link": None, "least": 0.0}


def _deployed(facts: dict[str, Any], fitted: Any, classes: Any) -> Deployed:
    """Undo `_described`."""
    names, link = tuple(map(str, facts["names"])), facts["link"]
    if link is None:
        return Deployed(names, tuple(fitted), ClassScores(np.asarray(classes)))
    return Deployed(names, tuple(fitted), MeanScores(str(link), float(facts["least"])))


def _dumped(objects: dict[str, Any], learners: str) -> bytes:
    if learners == "joblib":
        import joblib

        buffer = io.BytesIO()
        joblib.dump(objects, buffer, compress=3)
        return buffer.getvalue()
    return bytes(_skops("save").dumps(objects))


def _loaded(content: bytes, learners: str, trusted: bool | Sequence[str], name: str) -> Any:
    """Read the learners, if they are trusted."""
    if learners == "joblib":
        if trusted is not True:
            raise RefusedError(
                f"has its learners in {name!r}, a pickle, which can run any code when it is "
                "loaded. If you know where it comes from, pass trusted=True."
            )
        import joblib

        return joblib.load(io.BytesIO(content))
    skops = _skops("load")
    needed = set(skops.get_untrusted_types(data=content)).difference(OWN_TYPES)
    unknown = {name for name in needed if not name.startswith(SPLITTERS)}
    strange = sorted(unknown if isinstance(trusted, bool) else unknown.difference(trusted))
    if strange and trusted is not True:
        raise RefusedError(
            f"has learners of types that are not known to be harmless: {', '.join(strange)}. If "
            f"you trust them, pass trusted={strange!r}."
        )
    return skops.loads(content, trusted=[*OWN_TYPES, *needed])


def _skops(purpose: str) -> Any:
    try:
        import skops.io as skops
    except ImportError as error:
        raise ImportError(
            f"{purpose} of a stacked model needs skops: pip install 'fairridge[stacking]'"
            + (", or pass learners='joblib'." if purpose == "save" else ".")
        ) from error
    return skops
