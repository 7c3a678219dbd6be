"""A stacked model as an ONNX graph: learners, their scores, and the layer on top.

Boosted trees of scikit-learn become one node each, `TreeEnsemble` of ai.onnx.ml 5, which has
64-bit floats and sets of categories as they do; skl2onnx converts other learners.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import partial, reduce
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline

from fairridge.arguments import enumerated
from fairridge.data import Levels, Table, as_table
from fairridge.data.columns import CategoricalColumn
from fairridge.export.form import named_form
from fairridge.export.onnx_graph import (
    ML_OPSET,
    OPSET,
    OWN,
    Graph,
    by_skl2onnx,
    completed,
    encoded_levels,
)
from fairridge.stacking.crossfit import Deployed
from fairridge.stacking.features import Features
from fairridge.stacking.learners import (
    PROBABILITY_MARGIN,
    Categories,
    ClassScores,
    described,
    last_step,
    name_of,
    where_failed,
)

TREES = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
# The version of ai.onnx.ml that has `TreeEnsemble`.
TREES_OPSET = 5
OLD_TREES = {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}
# The type of an input that has no levels.
NUMBER = "DOUBLE"


class _Split(IntEnum):
    """How `TreeEnsemble` splits rows."""

    BELOW = 0  # up to a threshold
    MEMBER = 6  # in a set of categories


def stack_graph(model: Any, X: Any, exposure: str | None) -> Any:
    """Return the ONNX model of a fitted stacked model; see `fairridge.export.to_onnx`."""
    features: Features = model._features
    _refuse(features)
    graph, learners = Graph(), (*features.learners, *features.proxies)
    seen = _seen(graph, features, learners, None if X is None else as_table(X))
    trees = False
    for one in learners:
        scores = []
        for learner in one.learners:
            made = _own_trees(learner)
            trees |= made is not None
            raw = _converted(graph, learner, seen) if made is None else _boosted(graph, *made, seen)
            scores.append(_scored(graph, one, learner, raw, probabilities=made is None))
        mean = reduce(partial(graph.node, "Add"), scores)
        if len(scores) > 1:
            mean = graph.node("Div", mean, float(len(scores)))
        for k, name in enumerate(one.names):
            graph.columns[name] = _picked(graph, mean, k)
    if trees:
        _refuse_old_trees(graph, learners)
    _products(graph, features)
    form = named_form(model.layer_, "to_onnx")
    return completed(graph, form, None, exposure, TREES_OPSET if trees else ML_OPSET)


def _refuse(features: Features) -> None:
    """Raise if predictions need what a graph does not have."""
    design = features.columns.design
    if features.columns.blind:
        return
    if features.maps or design.sensitive is not design.sensitive.inner:
        raise ValueError("to_onnx of a stacked model takes no sensitive_map, unless it is blind.")
    if design.sensitive.inner.products:
        raise ValueError("to_onnx of a stacked model takes no intersections, unless it is blind.")


def _refuse_old_trees(graph: Graph, learners: tuple[Deployed, ...]) -> None:
    """Raise if skl2onnx made trees, whose nodes the version of ai.onnx.ml for ours has not."""
    if OLD_TREES.isdisjoint(node.op_type for node in graph.nodes):
        return
    every = (model for one in learners for model in one.learners)
    others = {described(model) for model in every if _own_trees(model) is None}
    raise ValueError(
        f"to_onnx: {enumerated(sorted(others))} and boosted trees cannot be in one graph. Use "
        "learners of one kind, and a proxy of the same kind if the model is blind."
    )


def _seen(
    graph: Graph, features: Features, learners: tuple[Deployed, ...], table: Table | None
) -> list[tuple[str, str]]:
    """Return name and value of every column that learners see, as inputs of the graph."""
    columns = features.columns
    places = [k for k in range(columns.n_columns) if not (columns.blind and k in columns.sensitive)]
    names = [f"x{k}" if columns.names is None else columns.names[k] for k in places]
    if columns.names is None:
        graph.inputs.append(graph.value("X", NUMBER, ["n", columns.n_columns]))
        graph.columns |= {
            name: _picked(graph, "X", k) for name, k in zip(names, places, strict=True)
        }
    levels = _levels_in(table)
    for learner in (model for one in learners for model in one.learners):
        made = _own_trees(learner)
        if made is not None:
            levels |= {names[k]: list(known) for k, known in made[0].items() if k < len(names)}
    seen = [
        (
            name,
            graph.column(name, encoded_levels(name, levels[name])[0] if name in levels else NUMBER),
        )
        for name in names
    ]
    if not columns.blind and not columns.sensitive:
        seen += zip(columns.learner_names, _attributes(graph, features).values(), strict=True)
    return seen


def _levels_in(table: Table | None) -> dict[str, list[Any]]:
    """Return the levels of the columns of some rows."""
    if table is None:
        return {}
    columns = {table.label(k): table.column(k) for k in range(table.shape[1])}
    return {name: list(one.levels) for name, one in columns.items() if isinstance(one, Levels)}


def _attributes(graph: Graph, features: Features) -> dict[str, str]:
    """Return the encoded columns of S, by name."""
    found: dict[str, str] = {}
    for column in features.columns.design.sensitive.inner.columns:
        if not isinstance(column, CategoricalColumn):
            found[column.name] = graph.column(column.name, NUMBER)
            continue
        kind, _ = encoded_levels(column.name, list(column.levels))
        value = graph.column(column.name, kind)
        others = [level for k, level in enumerate(column.levels) if k != column.base]
        for name, level in zip(column.encoded_names, others, strict=True):
            found[name] = _coded(graph, value, {level: 1.0}, 0.0)
    return found


def _products(graph: Graph, features: Features) -> None:
    """Add products of S, or of the proxies, with the scores."""
    if not features.interactions:
        return
    if features.columns.blind:
        factors = {name: graph.columns[name] for one in features.proxies for name in one.names}
    else:
        factors = _attributes(graph, features)
    for score in (name for one in features.learners for name in one.names):
        for name, factor in factors.items():
            graph.columns[f"{name} × {score}"] = graph.node("Mul", factor, graph.columns[score])


def _scored(graph: Graph, one: Deployed, learner: Any, raw: str, *, probabilities: bool) -> str:
    """Return what `one.scorer` makes of the predictions of a learner."""
    # `raw` is what the trees of a learner sum up to, or else its probabilities or means.
    scorer: Any = one.scorer
    if isinstance(scorer, ClassScores):
        if not probabilities and len(scorer.classes) == 2:
            most = np.log((1.0 - PROBABILITY_MARGIN) / PROBABILITY_MARGIN)
            return graph.node("Max", graph.node("Min", raw, most), -most)
        likely = raw if probabilities else graph.node("Softmax", raw, axis=1)
        if len(scorer.places(learner)) < len(scorer.classes):
            raise ValueError(f"to_onnx: learner {name_of(learner)} has not seen every class.")
        limited = graph.node(
            "Max", graph.node("Min", likely, 1.0 - PROBABILITY_MARGIN), PROBABILITY_MARGIN
        )
        logs = graph.node("Log", limited)
        others = np.arange(1, len(scorer.classes))
        return graph.node(
            "Sub", graph.node("Gather", logs, others, axis=1), _picked(graph, logs, 0)
        )
    mean = raw
    if not probabilities and last_step(learner).loss == "poisson":
        mean = graph.node("Exp", raw)
    if scorer.link == "log":
        return graph.node("Log", graph.node("Max", mean, scorer.least))
    if scorer.link == "logit":
        mean = graph.node(
            "Max", graph.node("Min", mean, 1.0 - PROBABILITY_MARGIN), PROBABILITY_MARGIN
        )
        return graph.node("Log", graph.node("Div", mean, graph.node("Sub", 1.0, mean)))
    return mean


def _picked(graph: Graph, matrix: str, k: int) -> str:
    """Return one column of a matrix, of shape (n, 1)."""
    return graph.node("Gather", matrix, np.array([k]), axis=1)


def _coded(graph: Graph, value: str, codes: Mapping[Any, float], other: float) -> str:
    """Return numbers for levels."""
    text = all(isinstance(level, str) for level in codes)
    keys: dict[str, Any] = {"keys_strings" if text else "keys_int64s": list(codes)}
    numbers = graph.node(
        "LabelEncoder", value, domain="ai.onnx.ml", **keys,
        values_floats=[float(code) for code in codes.values()], default_float=other,
    )  # fmt: skip
    return graph.node("Cast", numbers, to=graph.onnx.TensorProto.DOUBLE)


# ------------------------------------------------------------------------------- trees


def _own_trees(learner: Any) -> tuple[Mapping[int, Mapping[Any, float]], Any] | None:
    """Return the codes of levels by column, and the trees; None for other learners."""
    trees = last_step(learner)
    if not isinstance(trees, TREES):
        return None
    if learner is trees:
        return None if trees.is_categorical_ is not None else ({}, trees)
    if len(learner.steps) > 2 or not isinstance(learner[0], Categories):
        return None
    if trees.is_categorical_ is None:  # codes are numbers to them
        return learner[0].levels_, trees
    encoder = trees._preprocessor.named_transformers_["encoder"]
    found = {}
    for k, known in zip(np.flatnonzero(trees.is_categorical_), encoder.categories_, strict=True):
        places = {float(code): float(place) for place, code in enumerate(known)}
        codes = learner[0].levels_[int(k)]
        found[int(k)] = {level: places.get(float(code), np.nan) for level, code in codes.items()}
    return found, trees


def _boosted(
    graph: Graph, codes: Mapping[int, Mapping[Any, float]], trees: Any, seen: list[tuple[str, str]]
) -> str:
    """Return the sums of all trees, of shape (n, trees at a time)."""
    values = [
        _coded(graph, value, codes[k], np.nan) if k in codes else value
        for k, (_, value) in enumerate(seen)
    ]
    if trees.is_categorical_ is not None:  # scikit-learn has categories first
        values = [values[k] for k in codes] + [v for k, v in enumerate(values) if k not in codes]
    rows = graph.node("Concat", *values, axis=1)
    attributes = _ensemble(graph, trees)
    total = graph.node("TreeEnsemble", rows, domain="ai.onnx.ml", **attributes)
    return graph.node("Add", total, np.asarray(trees._baseline_prediction, dtype=np.float64))


def _ensemble(graph: Graph, trees: Any) -> dict[str, Any]:
    """Return all trees as attributes of a node."""
    splits: list[Any] = []
    leaves: list[Any] = []
    members: list[float] = []
    roots: list[int] = []
    for step in trees._predictors:
        for target, tree in enumerate(step):
            roots.append(len(splits))
            _add_tree(tree, target, splits, members, leaves)
    features, modes, values, left, left_leaf, right, right_leaf, missing = zip(*splits, strict=True)
    targets, weights = zip(*leaves, strict=True)
    tensor = graph.onnx.numpy_helper.from_array
    attributes = {
        "n_targets": trees.n_trees_per_iteration_, "aggregate_function": 1,  # the sum
        "post_transform": 0,
        "tree_roots": roots, "nodes_featureids": features,
        "nodes_modes": tensor(np.array(modes, dtype=np.uint8), "modes"),
        "nodes_splits": tensor(np.array(values, dtype=np.float64), "splits"),
        "nodes_truenodeids": left, "nodes_trueleafs": left_leaf,
        "nodes_falsenodeids": right, "nodes_falseleafs": right_leaf,
        "nodes_missing_value_tracks_true": missing,
        "leaf_targetids": targets,
        "leaf_weights": tensor(np.array(weights, dtype=np.float64), "weights"),
    }  # fmt: skip
    if members:
        attributes["membership_values"] = tensor(np.array(members, dtype=np.float64), "members")
    return attributes


def _add_tree(
    tree: Any, target: int, splits: list[Any], members: list[float], leaves: list[Any]
) -> None:
    """Add the splits and leaves of one tree, the root first."""
    nodes = tree.nodes
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    if not len(inner):  # a tree of one leaf, which needs a split that makes no difference
        leaves.append((target, nodes[0]["value"]))
        leaf = len(leaves) - 1
        splits.append((0, _Split.BELOW, 0.0, leaf, 1, leaf, 1, 1))
        return
    place = {int(node): len(splits) + k for k, node in enumerate(inner)}
    for node in np.flatnonzero(nodes["is_leaf"]):
        place[int(node)] = len(leaves)
        leaves.append((target, nodes[node]["value"]))
    for node in nodes[inner]:
        mode, split = _Split.BELOW, node["num_threshold"]
        if node["is_categorical"]:
            mode, split = _Split.MEMBER, 0.0
            bits = tree.raw_left_cat_bitsets[node["bitset_idx"]]
            codes = [c for c in range(32 * len(bits)) if int(bits[c // 32]) >> (c % 32) & 1]
            # A set must not be empty, as that of a split between missing and all others would be;
            # no level has the code -1.
            members += [*(codes or [-1]), np.nan]
        sides = [
            (place[int(child)], int(nodes[int(child)]["is_leaf"]))
            for child in (node["left"], node["right"])
        ]
        splits.append(
            (int(node["feature_idx"]), mode, split, *sides[0], *sides[1],
             int(node["missing_go_to_left"]))
        )  # fmt: skip


# ----------------------------------------------------------------------- other learners


def _converted(graph: Graph, learner: Any, seen: list[tuple[str, str]]) -> str:
    """Return probabilities or means of a learner, by skl2onnx."""
    first = learner[0] if isinstance(learner, Pipeline) else learner
    rows = [value for _, value in seen]
    types = [("rows", "Double", len(seen))]
    if isinstance(first, ColumnTransformer):
        text = graph.onnx.TensorProto.STRING
        kinds = {value.name: value.type.tensor_type.elem_type for value in graph.inputs}
        types = [(name, "String" if kinds.get(name) == text else "Double", 1) for name, _ in seen]
    else:
        rows = [graph.node("Concat", *rows, axis=1)]
    versions = {"": OPSET, "ai.onnx.ml": ML_OPSET}
    try:
        made = by_skl2onnx(learner, types, name_of(learner), target_opset=versions)
    except ImportError:
        raise
    except Exception as error:  # skl2onnx raises errors of any kind
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"to_onnx: skl2onnx cannot convert learner {described(learner)}"
            f"{where_failed(learner, error)}: {reason}"
        ) from error
    return _merged(graph, made, rows)


def _impute(graph: Graph, node: Any) -> None:
    """Fill in missing numbers as a node does that runtimes have in 32 bits only."""
    (rows,), (filled,) = node.input, node.output
    given = {one.name: graph.onnx.helper.get_attribute_value(one) for one in node.attribute}
    if "imputed_value_floats" not in given:
        graph.nodes.append(node)
        return
    code = given["replaced_value_float"]
    missing = graph.node("IsNaN", rows)
    if not np.isnan(code):
        missing = graph.node("Equal", rows, graph.node("CastLike", code, rows))
    values = graph.node("CastLike", np.array([given["imputed_value_floats"]]), rows)
    graph.node("Where", missing, values, rows, output=filled)


def _merged(graph: Graph, made: Any, rows: list[str]) -> str:
    """Add the nodes of another graph, fed by values of this one; return its last output."""
    prefix = f"{OWN}learner{len(graph.nodes)}/"
    inner = graph.onnx.compose.add_prefix(made, prefix).graph
    for value, source in zip(inner.input, rows, strict=True):
        graph.nodes.append(graph.onnx.helper.make_node("Identity", [source], [value.name]))
    for node in inner.node:
        if node.op_type == "Imputer":
            _impute(graph, node)
        else:
            graph.nodes.append(node)
    graph.constants += list(inner.initializer)
    return graph.node("Cast", inner.output[-1].name, to=graph.onnx.TensorProto.DOUBLE)
