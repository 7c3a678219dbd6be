"""A model as an ONNX graph, for any runtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from fairridge.data import Levels, Table, as_table, require_log_link
from fairridge.data.columns import OTHER
from fairridge.export.form import InputColumn, LinearForm, named_form, predicting_form
from fairridge.export.scikit_learn import to_sklearn

# Old enough for today's runtimes, new enough for 64-bit Softmax and ArgMax.
OPSET, ML_OPSET = 18, 3
OWN = "/fairridge/"
TAKEN = ("", "linear_predictor", "prediction", "probabilities")


def to_onnx(
    model: Any, X: Any = None, *, offset: str | None = None, exposure: str | None = None
) -> Any:
    """Build an ONNX model (extra ``onnx``) that predicts in 64-bit floats.

    Where every column is a number the input is one tensor ``X`` of shape
    (n, k) with the columns of the fit, S before X if S came as
    `sensitive_features`. Otherwise every column is an input of its own, of
    shape (n, 1), with its name: numbers as doubles, levels as strings (or as
    64-bit integers). Outputs are ``linear_predictor``, ``prediction`` and, for
    classes, ``probabilities``: the metadata ``classes`` has the labels of its
    columns as JSON, and ``positive`` the class that is modeled, of two.

    A level that was not there at fit is an error or what `unknown` says. With
    ``missing="level"`` a missing number is NaN, and a missing level the text
    "(missing)"; columns are then inputs of their own. Otherwise NaN gives NaN,
    but a predicted label cannot be missing: look for NaN before. Probabilities
    of the probit link are exact to 1e-7 only, because runtimes have its function
    in 32 bits.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge, or a `Pipeline` with one as its last step and steps of
        scikit-learn before it, which skl2onnx converts. Such a graph has 32-bit floats, and the
        inputs and outputs of skl2onnx. Or a stacked model: boosted trees of scikit-learn become
        trees of 64-bit floats, which need a runtime with version 5 of ai.onnx.ml, and skl2onnx
        converts other learners, often to 32 bits.
    X : frame or array, optional
        Some rows, for the types of the columns; for a `Pipeline`, and for stacked models of
        learners that skl2onnx converts.
    offset, exposure : str, optional
        Names of further inputs of shape (n, 1), doubles: what is added to every linear
        predictor, and, for models with the log link, positive exposures, whose logarithm is
        added. Without an exposure the prediction of a model that was fitted with one, or with
        an offset, is the rate per unit of exposure, and with it the count or amount of the
        row; the metadata ``prediction`` says "rate" or "count".

    Returns
    -------
    onnx.ModelProto
        The graph; its metadata say what the columns and classes are.

    See Also
    --------
    to_sql : A query.
    to_sklearn : An estimator of scikit-learn.

    References
    ----------
    .. [1] docs/export.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.export import to_onnx
    >>> model = FairRidgeRegressor(0.05).fit(X, y, sensitive_features=S)
    >>> print([output.name for output in to_onnx(model).graph.output])
    ['linear_predictor', 'prediction']
    """
    if isinstance(model, Pipeline):
        for name, column in (("offset", offset), ("exposure", exposure)):
            if column is not None:
                raise ValueError(f"to_onnx of a Pipeline takes no {name}; export the last step.")
        return _pipeline(model, X)
    if hasattr(model, "layer_inputs"):
        if offset is not None:
            raise ValueError("to_onnx of a stacked model takes no offset; use exposure.")
        return model.as_onnx(X, exposure=exposure)
    form = predicting_form(model, "to_onnx")
    if not form.all_numeric:  # else columns are found by position
        form = named_form(model, "to_onnx")
    return completed(Graph(), form, offset, exposure)


def completed(
    graph: Graph,
    form: LinearForm,
    offset: str | None,
    exposure: str | None,
    version: int = ML_OPSET,
) -> Any:
    """Add a linear model to a graph that makes its columns, or to an empty one."""
    onnx = graph.onnx
    outputs = _outputs(graph, form, _linear_predictor(graph, form, offset, exposure))
    built = onnx.helper.make_graph(
        graph.nodes, form.estimator_name, graph.inputs, outputs, graph.constants
    )
    exported = onnx.helper.make_model(
        built,
        producer_name="fairridge",
        opset_imports=[
            onnx.helper.make_opsetid("", OPSET),
            onnx.helper.make_opsetid("ai.onnx.ml", version),
        ],
        ir_version=8,
    )
    onnx.helper.set_model_props(exported, _properties(form, exposure))
    onnx.checker.check_model(exported, full_check=True)
    return exported


def _properties(form: LinearForm, exposure: str | None) -> dict[str, str]:
    """Say what the outputs are."""
    properties = {}
    if form.link == "log" and (form.offsets or exposure is not None):
        properties["prediction"] = "rate" if exposure is None else "count"
    if form.classes is not None:
        properties["classes"] = json.dumps(form.labels, ensure_ascii=False)
        if len(form.labels) == 2:
            properties["positive"] = json.dumps(form.positive, ensure_ascii=False)
    return properties


def _pipeline(model: Pipeline, X: Any) -> Any:
    """Convert the steps by skl2onnx, with the last one as scikit-learn's own model."""
    plain = to_sklearn(model)
    if X is None:
        raise ValueError("to_onnx of a Pipeline needs some rows, for the types of columns: X=…")
    for name, step in model.steps[:-1]:
        if step not in (None, "passthrough") and not type(step).__module__.startswith("sklearn."):
            raise ValueError(
                f"step {name!r} is a {type(step).__name__}, which is not of scikit-learn and "
                "cannot be exported; export the last step alone."
            )
    try:
        return by_skl2onnx(plain, _types(as_table(X)), "a Pipeline")
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        from skl2onnx import supported_converters

        known = supported_converters()
        strange = [
            name for name, step in plain.steps[:-1] if f"Sklearn{type(step).__name__}" not in known
        ]
        where = f"step {strange[0]!r}" if strange else "a step of the Pipeline"
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{where} cannot be exported to ONNX: {reason}") from error


def by_skl2onnx(model: Any, inputs: list[tuple[str, str, int]], what: str, **options: Any) -> Any:
    """Convert a model of scikit-learn with inputs of some names, types and numbers of columns."""
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError(
            f"to_onnx of {what} needs skl2onnx: pip install 'fairridge[onnx]'"
        ) from error
    settings = model.get_params().items()
    if any(value is True for name, value in settings if name.endswith("add_indicator")):
        raise ValueError("skl2onnx leaves out what add_indicator=True adds; set it to False.")
    kinds = skl2onnx.common.data_types
    types = [(name, getattr(kinds, f"{kind}TensorType")([None, k])) for name, kind, k in inputs]
    last = model[-1] if isinstance(model, Pipeline) else model
    plain = {id(last): {"zipmap": False}} if hasattr(last, "predict_proba") else None
    return skl2onnx.convert_sklearn(model, initial_types=types, options=plain, **options)


def _types(table: Table) -> list[tuple[str, str, int]]:
    """Say what the inputs are: one per column of a frame, or one for an array."""
    if table.names is None:
        return [("X", "Float", table.shape[1])]
    columns = zip(table.names, map(table.column, range(table.shape[1])), strict=True)
    return [(name, "String" if isinstance(c, Levels) else "Float", 1) for name, c in columns]


class Graph:
    """Nodes and constants under way; its own values are named ``/fairridge/…``."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError("to_onnx needs onnx: pip install 'fairridge[onnx]'") from error
        self.onnx: Any = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.columns: dict[str, str] = {}  # values that stand for columns, by their names

    def column(self, name: str, kind: str) -> str:
        """Return the value of a column, of shape (n, 1): an input, unless it was made."""
        if name not in self.columns:
            if name in TAKEN or name.startswith(OWN):
                raise ValueError(f"{name!r} cannot be the name of an input in ONNX; rename it.")
            self.inputs.append(self.value(name, kind, ["n", 1]))
            self.columns[name] = name
        return self.columns[name]

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node, and return the name of its value; inputs are names or constants."""
        names = [item if isinstance(item, str) else self._constant(item) for item in inputs]
        output = output or f"{OWN}{kind}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [output], **attributes))
        return output

    def _constant(self, values: Any) -> str:
        array = np.atleast_1d(values)
        name = f"{OWN}constant{len(self.constants)}"
        if array.dtype.kind in "UO":
            tensor = self.onnx.helper.make_tensor(
                name,
                self.onnx.TensorProto.STRING,
                array.shape,
                [str(value).encode() for value in array.ravel()],
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name

    def value(self, name: str, kind: str, shape: list[Any]) -> Any:
        """Describe an input or output."""
        element = getattr(self.onnx.TensorProto, kind)
        return self.onnx.helper.make_tensor_value_info(name, element, shape)


def _linear_predictor(
    graph: Graph, form: LinearForm, offset: str | None, exposure: str | None
) -> str:
    """Return η, of shape (n, m)."""
    if form.all_numeric and not graph.columns:
        graph.inputs.append(graph.value("X", "DOUBLE", ["n", len(form.inputs)]))
        slopes = np.hstack([column.coefficients for column in form.inputs]).T.copy()
        total = graph.node("MatMul", "X", slopes)
    else:
        terms = [_term(graph, column) for column in form.inputs]
        total = reduce(partial(graph.node, "Add"), terms)
    if offset is not None:
        total = graph.node("Add", total, _number(graph, offset))
    if exposure is not None:
        require_log_link(form.link)
        total = graph.node("Add", total, graph.node("Log", _number(graph, exposure)))
    return graph.node("Add", total, form.intercept, output="linear_predictor")


def _number(graph: Graph, name: str) -> str:
    """Add an input of one number per row."""
    if name in TAKEN or name.startswith(OWN) or name in {value.name for value in graph.inputs}:
        raise ValueError(f"{name!r} is another input or output in ONNX, or nothing; rename it.")
    graph.inputs.append(graph.value(name, "DOUBLE", ["n", 1]))
    return name


def _term(graph: Graph, column: InputColumn) -> str:
    """Return what one column adds to η."""
    if not column.levels:
        number = graph.column(column.name, "DOUBLE")
        term = graph.node("Mul", number, column.coefficients[:, :1].T.copy())
        if column.missing is None:
            return term
        return graph.node("Where", graph.node("IsNaN", number), column.missing, term)
    # A column whose levels were all merged says nothing, but its encoder needs some level.
    values = column.level_values or {OTHER: np.zeros(len(column.coefficients))}
    kind, levels = encoded_levels(column.name, list(values))
    level, unseen = graph.column(column.name, kind), column.unseen
    # (n, 1, levels) of 0 and 1; `zeros` says whether an unseen level is all 0 or an error.
    marks = graph.node(
        "OneHotEncoder", level, domain="ai.onnx.ml", zeros=int(unseen is not None), **levels
    )
    marks = graph.node("Cast", marks, to=graph.onnx.TensorProto.DOUBLE)
    marks = graph.node("Squeeze", marks, np.array([1], dtype=np.int64))
    table = np.array(list(values.values()))
    if unseen is None or not unseen.any():
        return graph.node("MatMul", marks, table)
    # Levels add what they differ from an unseen one, which is all zeros.
    return graph.node("Add", graph.node("MatMul", marks, table - unseen), unseen)


def encoded_levels(name: str, levels: list[Any]) -> tuple[str, dict[str, Any]]:
    """Return the type of an input with levels, and how an encoder names them."""
    if all(isinstance(level, str) for level in levels):
        return "STRING", {"cats_strings": levels}
    integers = (int, np.integer)
    if all(isinstance(level, integers) and not isinstance(level, bool) for level in levels):
        return "INT64", {"cats_int64s": [int(level) for level in levels]}
    raise ValueError(
        f"column {name!r} has levels such as {levels[0]!r}; ONNX encodes strings and integers "
        "only: convert them before fitting."
    )


def _outputs(graph: Graph, form: LinearForm, eta: str) -> list[Any]:
    outputs = [graph.value(eta, "DOUBLE", ["n", len(form.intercept)])]
    if form.classes is None:
        MEANS[form.link](graph, eta, "prediction")
        return [*outputs, graph.value("prediction", "DOUBLE", ["n", 1])]
    if form.link == "softmax":
        graph.node("Softmax", eta, output="probabilities", axis=1)
        codes = graph.node("ArgMax", eta, axis=1, keepdims=1)
    else:
        both = [COMPLEMENTS[form.link](graph, eta), MEANS[form.link](graph, eta, None)]
        ordered = both[::-1] if form.models_first else both
        graph.node("Concat", *ordered, output="probabilities", axis=1)
        compared = "Less" if form.models_first else "Greater"  # a tie is the first class
        second = graph.node(compared, eta, form.family.threshold)
        codes = graph.node("Cast", second, to=graph.onnx.TensorProto.INT64)
    kind, labels = _labels(np.sort(form.classes))
    graph.node("Gather", labels, codes, output="prediction")
    return [
        *outputs,
        graph.value("prediction", kind, ["n", 1]),
        graph.value("probabilities", "DOUBLE", ["n", len(form.classes)]),
    ]


def _labels(classes: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    kind = classes.dtype.kind
    if kind in "iu":
        return "INT64", classes.astype(np.int64)
    if kind == "f":
        return "DOUBLE", classes.astype(np.float64)
    return ("BOOL", classes) if kind == "b" else ("STRING", classes)


def _exponential(graph: Graph, eta: str, output: str | None) -> str:
    return graph.node("Exp", graph.node("Min", eta, 700.0), output=output)


def _logistic(graph: Graph, eta: str, output: str | None) -> str:
    """1/(1 + e^−η) from e^−|η|, which keeps all digits of small probabilities."""
    power = graph.node("Exp", graph.node("Neg", graph.node("Abs", eta)))
    top = graph.node("Where", graph.node("GreaterOrEqual", eta, 0.0), 1.0, power)
    return graph.node("Div", top, graph.node("Add", 1.0, power), output=output)


def _normal(graph: Graph, eta: str, output: str | None) -> str:
    """Φ(η) = ½(1 + erf(η/√2)); runtimes have erf in 32 bits only."""
    float32, float64 = graph.onnx.TensorProto.FLOAT, graph.onnx.TensorProto.DOUBLE
    scaled = graph.node("Mul", eta, np.sqrt(0.5))
    erf = graph.node("Cast", graph.node("Erf", graph.node("Cast", scaled, to=float32)), to=float64)
    return graph.node("Mul", graph.node("Add", erf, 1.0), 0.5, output=output)


def _complementary_log_log(graph: Graph, eta: str, output: str | None) -> str:
    """1 − e^−t with t = e^η, by its series where t is small."""
    t = _exponential(graph, eta, None)
    series: Any = 1.0
    for k in (4.0, 3.0, 2.0):
        series = graph.node("Sub", 1.0, graph.node("Mul", graph.node("Div", t, k), series))
    large = graph.node("Sub", 1.0, graph.node("Exp", graph.node("Neg", t)))
    small = graph.node("Less", t, 1e-3)
    return graph.node("Where", small, graph.node("Mul", t, series), large, output=output)


MEANS: dict[str, Callable[[Graph, str, str | None], str]] = {
    "identity": lambda graph, eta, output: graph.node("Identity", eta, output=output),
    "log": _exponential,
    "logit": _logistic,
    "probit": _normal,
    "cloglog": _complementary_log_log,
}
# Of what is not chosen, without a difference.
COMPLEMENTS: dict[str, Callable[[Graph, str], str]] = {
    "logit": lambda graph, eta: _logistic(graph, graph.node("Neg", eta), None),
    "probit": lambda graph, eta: _normal(graph, graph.node("Neg", eta), None),
    "cloglog": lambda graph, eta: graph.node(
        "Exp", graph.node("Neg", _exponential(graph, eta, None))
    ),
}
