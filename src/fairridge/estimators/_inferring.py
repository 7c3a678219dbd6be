"""Standard errors of a fitted model, from the rows that it was fitted to."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats, TableLike, VectorLike
from fairridge.arguments import check_option
from fairridge.data import (
    Design,
    as_table,
    dense_columns,
    joined_offsets,
    read_offset,
    require_offsets,
)
from fairridge.data.table import labels
from fairridge.engines import (
    Engine,
    Moments,
    PrecomputedMoments,
    in_memory,
    threads_for_passes,
)
from fairridge.estimators._certifying import warn_of_dependent_rows
from fairridge.estimators._each import require_one_bound
from fairridge.estimators._model import as_fitted
from fairridge.estimators._training import Training, read_training
from fairridge.inference import (
    Analysis,
    Inference,
    PathBands,
    RowProducts,
    bands_of,
    inference_of,
    products_of,
    restored,
    scheme_of,
)
from fairridge.search import Choice, PenalizedProblem, Solution
from fairridge.sources import RowMoments, RowSource
from fairridge.sources.federated import rows_of_party
from fairridge.sources.stream import StreamEngine

WEIGHTS = ("sampling", "frequency")


def inference(
    self: Any,
    X: TableLike,
    y: VectorLike | None = None,
    *,
    sensitive_features: TableLike | None = None,
    sample_weight: VectorLike | None = None,
    offset: VectorLike | None = None,
    exposure: VectorLike | None = None,
    covariance: Literal["HC0", "HC1", "HC3", "cluster"] = "HC1",
    clusters: VectorLike | None = None,
    weights: Literal["sampling", "frequency"] = "sampling",
    products: RowProducts | None = None,
) -> Inference:
    """Return standard errors of the fitted model, in one more pass over its rows.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight, offset, exposure
        As in `fit`, with the same rows.
    covariance : {"HC0", "HC1", "HC3", "cluster"}, default="HC1"
        Which estimator of the covariance.
    clusters : array-like of shape (n,), optional
        Labels of clusters, for rows that are not independent of each other. A certificate
        does not hold for such rows, and a warning says so.
    weights : {"sampling", "frequency"}, default="sampling"
        What sample weights are: inverse probabilities of being sampled, where only
        ratios matter, or counts: a row of weight w is w identical rows.
        Rows of one cluster add up either way.
    products : RowProducts, optional
        The sum of the `fairridge.row_products` of all parties, if X are moments.

    Returns
    -------
    Inference
        Coefficients with standard errors; print it, or take `to_frame()`.
    """
    check_is_fitted(self)
    settings = as_fitted(self)
    require_one_bound(settings, "inference")
    check_option("weights", weights, WEIGHTS)
    frequency = weights == "frequency"
    if products is not None or isinstance(X, RowMoments):
        _require_products(self, X, products, covariance, frequency)
    if clusters is not None:
        warn_of_dependent_rows(self)
    shift = joined_offsets(self.family_.link, offset, exposure)
    if not isinstance(X, RowSource | RowMoments):
        require_offsets(self._fitted.offsets, shift, type(self).__name__)
    training = settings._read(X, y, sensitive_features, sample_weight, shift)
    engine = training.engine if clusters is not None else _with_moments(self, training.engine)
    with threads_for_passes(training.engine, training.response.family):
        problem = settings._problem_on(engine, training.response)
        rows = None
        if in_memory(training.engine):
            n = as_table(X, sparse=True, devices=True).shape[0]
            rows = np.arange(n)[training.kept][_not_isolated(problem)], n
            if clusters is not None:
                clusters = labels(clusters, n, "clusters", rows[0])
        return inference_on(
            self,
            training,
            problem,
            covariance=covariance,
            clusters=clusters,
            frequency=frequency,
            products=products,
            known=engine is not training.engine,
            rows=rows,
        )


def inference_on(
    model: Any, training: Training, problem: PenalizedProblem, **options: Any
) -> Inference:
    """Return standard errors of a fitted model that is set up on its rows."""
    title, facts = type(model).__name__, model._fitted
    reads, raw = facts.reads, facts.by_column(model.coef_)
    return inference_of(
        problem,
        _restored(model, facts.bound, raw, problem),
        # The places of `coef_` among the encoded columns [S, X].
        order=len(facts.design.encoded_names) - len(reads.encoded_names) + reads.input_order,
        labels=getattr(model, "classes_", None),
        title=title,
        backend=training.backend,
        coefficients=np.column_stack([np.atleast_1d(model.intercept_), raw]),
        read=partial(_encoded, reads, model.unknown, title),
        **options,
    )


def _encoded(
    design: Design, unknown: Any, name: str, X: Any, sensitive_features: Any, offset: Any
) -> tuple[Floats, Floats]:
    """Return columns of new rows in the order of `coef_names_`, and offsets."""
    table, attributes = as_table(X), design.attributes(sensitive_features, estimator_name=name)
    sensitive, predictors = design.encode(table, attributes, unknown, estimator_name=name)
    shift = read_offset(offset, table.shape[0])
    columns = dense_columns((*sensitive, *predictors), design.encoded_names)
    return columns[:, design.input_order], np.zeros(len(columns)) if shift is None else shift


def _with_moments(model: Any, engine: Engine) -> Engine:
    """Return rows in memory with the moments that the fit has summed over them."""
    moments: Moments | None = model._moments
    if moments is None or not in_memory(engine) or engine.n_rows != moments.n_rows:
        return engine
    return PrecomputedMoments(moments, engine.names, engine.n_sensitive, lambda: engine)


def row_products(
    model: Any,
    moments: RowMoments,
    source: RowSource,
    *,
    covariance: Literal["HC0", "HC1", "HC3"] = "HC1",
    weights: Literal["sampling", "frequency"] = "sampling",
) -> RowProducts:
    """Return what the standard errors of a model need of the rows of one party.

    Parameters
    ----------
    model : FairRidgeRegressor
        Fitted to the moments of all parties together.
    moments : RowMoments
        These moments.
    source : RowSource
        The rows of one party, in `parquet`, `dask`, `spark` or `frame` of `fairridge.sources`.
    covariance : {"HC0", "HC1", "HC3"}, default="HC1"
        Which estimator of the covariance.
    weights : {"sampling", "frequency"}, default="sampling"
        What sample weights are; see `inference`.

    Returns
    -------
    RowProducts
        Small matrices that add up over parties; `model.inference(moments, products=…)` takes
        their sum.

    See Also
    --------
    fairridge.sources.moments : What parties give away first.
    fairridge.inference.RowProducts : What it returns.

    References
    ----------
    .. [1] "How it is computed" in docs/inference.md.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> from fairridge import FairRidgeRegressor, row_products, sources
    >>> rows = sources.frame(people, response="wage", sensitive=["sex"])
    >>> moments = sources.moments(rows)
    >>> model = FairRidgeRegressor(0.05).fit(moments)
    >>> products = row_products(model, moments, rows)
    >>> print(model.inference(moments, products=products).names)
    ('(intercept)', 'sex[m]', 'age')
    """
    check_is_fitted(model)
    settings, facts = as_fitted(model), model._fitted
    check_option("weights", weights, WEIGHTS)
    if not isinstance(moments, RowMoments) or not isinstance(source, RowSource):
        raise TypeError("row_products takes moments of all rows, and a source of one party's rows.")
    scheme = scheme_of(covariance, None, weights == "frequency", moments.moments.n_rows)
    training = read_training(settings, moments, None, None, None, None)
    party = rows_of_party(source, moments.level_counts)
    engine = PrecomputedMoments(
        moments.moments,
        training.engine.names,
        training.engine.n_sensitive,
        lambda: _RowsOfParty(party),
    )
    problem = settings._problem_on(engine, training.response)
    return products_of(
        problem,
        _restored(model, facts.bound, facts.by_column(model.coef_), problem),
        scheme,
        model=_digest(model, covariance, scheme.frequency),
        n_rows=party.n_rows,
    )


class _RowsOfParty:
    """The rows of one party, for sums of products alone: moments are of all rows."""

    passes = 0

    def __init__(self, engine: StreamEngine) -> None:
        self.sum_over_columns = engine.sum_over_columns

    def __getattr__(self, name: str) -> Any:
        raise ValueError(
            "these moments do not carry enough digits for standard errors: columns are almost "
            "collinear. Drop or combine such columns."
        )


def _digest(model: Any, covariance: str, frequency: bool) -> str:
    """Name the model and the estimator that products belong to."""
    kind = "frequency" if frequency else "sampling"
    name = model._fitted.traits.definition.name
    return f"{model.fingerprint_} {model.lambda_!r} {name} {covariance} {kind}"


def _require_products(
    model: Any, X: Any, products: RowProducts | None, covariance: str, frequency: bool
) -> None:
    """Raise unless there are moments, and products of a model's rows for these errors."""
    if products is None or not isinstance(X, RowMoments):
        raise ValueError(
            "standard errors need the rows; moments give only the coefficients. With several "
            "parties, pass the sum of their fairridge.row_products as products=, beside moments."
        )
    if products.model != _digest(model, covariance, frequency):
        raise ValueError(
            "these products are of another model, or for another covariance or other weights."
        )
    if products.n_rows != model.n_rows_:
        raise ValueError(
            f"these products are of {products.n_rows} rows, and the model of {model.n_rows_}: add "
            "those of all parties."
        )


def _restored(model: Any, bound: Any, raw: Floats, problem: PenalizedProblem) -> Solution:
    """Find the fitted model again, from its bound and the coefficients of its encoded columns."""
    certificate = model.certificate_
    bound = bound if certificate is None else certificate.training_bound
    return restored(
        problem,
        unfairness=float(bound),
        lambda_=model.lambda_,
        status=model.status_,
        achieved=model.unfairness_,
        raw_intercept=model.intercept_,
        raw_coefficients=raw,
        n_rows=model.n_rows_,
    )


def bands(
    model: Any,
    training: Training,
    problem: PenalizedProblem,
    path: Any,
    *,
    confidence: float,
    covariance: str,
) -> PathBands:
    """Return confidence bands for the models of a path."""
    if not hasattr(type(model), "inference"):
        raise ValueError(f"{type(model).__name__} has no standard errors, so it has no bands.")
    scheme = scheme_of(covariance, None, False, problem.engine.n_rows)
    analyses: list[Analysis] = []
    with threads_for_passes(training.engine, training.response.family):
        fits = problem.fits(path.lambda_)
        for r, fit, achieved, status in zip(
            path.unfairness, fits, path.achieved, path.status, strict=True
        ):
            choice = Choice(fit.lambda_, status)
            solution = Solution(float(r), fit, float(achieved), {}, choice)
            like = analyses[0] if analyses else None
            analyses.append(Analysis(problem, solution, scheme, like))
        names = tuple(name for name, _ in path.named_coefficients())
        backend = training.backend
        return bands_of(analyses, confidence=confidence, names=names, backend=backend)


def _not_isolated(problem: PenalizedProblem) -> Any:
    """Return which rows a model is fitted to, isolated ones left out."""
    isolation = problem.isolation
    if isolation is None or not in_memory(isolation.all_rows):
        return slice(None)
    levels = tuple(isolated.level for isolated in isolation.levels)
    return ~isolation.all_rows.rows.in_any(levels)
