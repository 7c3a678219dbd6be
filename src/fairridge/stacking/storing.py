"""Stacked models in files: the layer as JSON, and beside it the learners, by skops or joblib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairridge.data import Design
from fairridge.export.codec import decode, encode
from fairridge.export.model_file import header, model_document, model_of
from fairridge.export.objects import read_objects, write_objects
from fairridge.stacking.crossfit import Deployed
from fairridge.stacking.features import Features, LayerColumns
from fairridge.stacking.learners import ClassScores, MeanScores

# Parameters that are objects of other libraries.
OBJECTS = ("estimators", "proxy", "cv", "sensitive_map")
# The kinds of learners, as fields of `Features`.
KINDS = ("learners", "proxies", "maps")


def stack_document(model: Any, path: Any, learners: str) -> dict[str, Any]:
    """Write the learners beside the JSON file, and return what JSON keeps of a stacked model."""
    features: Features = model._features
    parameters = model.get_params(deep=False)
    objects = {name: parameters.pop(name) for name in OBJECTS}
    if model.prefit:  # the learners themselves
        objects["estimators"] = None
    for kind in KINDS:
        objects[kind] = [list(one.learners) for one in getattr(features, kind)]
    owner, columns = type(model).__name__, features.columns
    return header(owner, model.fingerprint_) | {
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
        "learners": write_objects(objects, path, learners),
    }


def read_stack(
    document: dict[str, Any],
    path: Any,
    classes: dict[str, type[Any]],
    layers: dict[str, type[Any]],
    trusted: bool | Sequence[str],
) -> Any:
    """Make a stacked model of its document and of the file with its learners."""
    objects = read_objects(document["learners"], path, trusted)
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
            _deployed(one, fitted) for one, fitted in zip(facts[name], objects[name], strict=True)
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
    scorer: Any = one.scorer
    if isinstance(scorer, MeanScores):
        return {"names": list(one.names), "link": scorer.link, "least": scorer.least}
    return {"names": list(one.names), "link": None, "classes": encode(scorer.classes, "classes")}


def _deployed(facts: dict[str, Any], fitted: Any) -> Deployed:
    """Undo `_described`."""
    names, link = tuple(map(str, facts["names"])), facts["link"]
    if link is None:
        return Deployed(names, tuple(fitted), ClassScores(np.asarray(decode(facts["classes"]))))
    return Deployed(names, tuple(fitted), MeanScores(str(link), float(facts["least"])))
