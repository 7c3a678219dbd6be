"""What a model says in every format, under the same names."""

import numpy as np
import pandas as pd

from fairridge.export import to_onnx, to_python, to_sklearn, to_sql
from tests.zoo import LateModule

duckdb = LateModule("duckdb")
onnxruntime = LateModule("onnxruntime")

KINDS = {"tensor(double)": np.float64, "tensor(string)": object, "tensor(int64)": np.int64}


def run_query(query, rows, name="data"):
    with duckdb.connect() as connection:
        connection.register(name, rows)
        return connection.execute(query).df()


def of_table(table, model):
    """Return the columns of a table of predictions, which are named after the classes."""
    labels = [f"_{label}" for label in getattr(model, "classes_", [])]
    several = len(labels) > 2
    eta = [f"linear_predictor{suffix}" for suffix in (labels if several else [""])]
    found = {"prediction": table["prediction"], "linear_predictor": table[eta]}
    if labels:
        parts = labels if several else labels[1:]
        found["probabilities"] = table[[f"probability{suffix}" for suffix in parts]]
    return found


def in_sql(model, rows, query=None):
    return of_table(run_query(query or to_sql(model), rows), model)


def compiled(model):
    """Return the function of a module of plain Python."""
    module = {}
    exec(compile(to_python(model), "score", "exec"), module)
    return module["predict"]


def in_python(model, rows):
    predict = compiled(model)
    return of_table(pd.DataFrame([predict(row) for row in rows.to_dict("records")]), model)


def in_onnx(model, rows):
    """Run a graph on a frame, or on a matrix where it wants one."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        to_onnx(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feed = {
        entry.name: np.asarray(rows if entry.name == "X" else rows[[entry.name]]).astype(
            KINDS[entry.type]
        )
        for entry in session.get_inputs()
    }
    names = [entry.name for entry in session.get_outputs()]
    found = dict(zip(names, session.run(names, feed), strict=True))
    return found | {"prediction": found["prediction"][:, 0]}


def in_scikit_learn(model, rows):
    plain = to_sklearn(model)
    found = {"prediction": plain.predict(rows)}
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(plain.classes_, model.classes_)
        found["probabilities"] = plain.predict_proba(rows)
    return found


FORMATS = {"sql": in_sql, "python": in_python, "onnx": in_onnx, "sklearn": in_scikit_learn}


def assert_close(found, expected):
    """Numbers agree to 1e-12, of the typical one where terms cancel."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    typical = 1e-12 * np.abs(expected).mean()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=typical)


def assert_same(found, model, X, **options):
    """What a format says of rows is what the model says."""
    expected = model.predict(X, **options)
    if expected.dtype.kind == "f":
        assert_close(found["prediction"], expected)
    else:
        assert np.asarray(found["prediction"]).tolist() == expected.tolist()
    if "linear_predictor" in found:
        shift = options.get("sensitive_features"), options.get("offset")
        assert_close(found["linear_predictor"], _columns(model._linear_predictor(X, *shift)))
    if hasattr(model, "predict_proba"):
        probabilities = np.asarray(found["probabilities"])
        of_all = model.predict_proba(X, **options)
        assert_close(probabilities, of_all[:, -probabilities.shape[1] :])


def _columns(values):
    return values[:, None] if values.ndim == 1 else values
