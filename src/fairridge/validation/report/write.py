"""The audit report of a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

from sklearn.base import clone

from fairridge._progress import DelayedBar
from fairridge.arguments import check_count, check_flag, check_option
from fairridge.data.pipelines import split_pipeline
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.outputs import writing
from fairridge.reports.html import AuditReport, NewRowsReport
from fairridge.stacking._stacking import FairStacking
from fairridge.validation.report.any_model import gather_predictions
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.gather import gather
from fairridge.validation.report.new_rows import gather_new_rows


def report(
    model: Any,
    X: Any,
    y: Any,
    out: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    title: str | None = None,
    response: str | None = None,
    cv: int | None = None,
    bootstrap: int | None = None,
    random_state: int = 0,
    threshold: float | None = None,
    top: float | int | None = None,
    positive: Any = None,
    favorable: Any = None,
    bins: int = 4,
    small: int = 30,
    source: str | None = None,
    date: str | None = None,
    new_rows: bool = False,
    format: Literal["html", "card"] = "html",  # noqa: A002
    progress: Callable[[str, int, int], None] | None = None,
) -> AuditReport | NewRowsReport:
    """Write one self-contained HTML file for a validator or a regulator.

    The same arguments write the same file, byte by byte.

    Parameters
    ----------
    model : estimator
        A linear or stacked model of fairridge, also as the last step of a `Pipeline`. If it is
        fitted, it must have been fitted to these data; otherwise it is fitted for the report.
        Of any other classifier or regressor, which must be fitted, the page compares groups on
        these rows, and says what it leaves out; it needs `sensitive_features`.
    X, y, sensitive_features, sample_weight, offset, exposure
        The training data, as in `fit`; or other rows, with `new_rows`. With the log link and
        an offset or exposure, groups are compared by rates, weighted by exposure.
    out : str or path-like, optional
        Where to write the page; by default it is only returned.
    title, response : str, optional
        Title of the report, and name of the response if y has none.
    cv : int, optional
        Folds on which rows are held out: by default 10, or 3 above 20,000 rows;
        0 for none.
    bootstrap : int, optional
        Refits to resampled rows, for the interval of unfairness: by
        default 400 for gaussian models and 100 for others, fewer for
        large data, and none where fewer than 25 are done in reasonable time;
        0 for none.
    random_state : int, default=0
        Seed of folds and refits.
    threshold : float, optional
        A row is selected when its score is above this, or not above it if
        low scores are favorable: by default 0.5 for probabilities. With more
        than two classes the likeliest one counts. Numbers and log hazard ratios
        decide nothing by themselves: without `threshold` or `top` the report
        compares means, and shows no decisions.
    top : float or int, optional
        How many are selected instead, those with the best scores: a share (0.2) or a
        number of rows (500), as in `fairridge.audit`.
    positive : label, optional
        The class that scores are of: by default `positive_` of two, or all
        of more.
    favorable : label, "low" or "high", optional
        The outcome that people want, as in `fairridge.audit`: those for whom
        it is predicted are selected. Without it the report guesses from names,
        and its first sentence says what it took.
    bins, small : int
        Groups of a numeric attribute, and rows below which a group is
        marked as small.
    source, date : str, optional
        For the record: where the data come from, and a date.
    new_rows : bool, default=False
        Whether these are rows that the fitted model has not seen, to validate
        it on: whether the bound holds there, groups and calibration, and how
        far each column has drifted from the training rows. Nothing is fitted, so
        that `cv` and `bootstrap` have no part.
    format : {"html", "card"}, default="html"
        What `out` becomes: the page, or a model card in Markdown, which has the
        sections of Mitchell et al. (2019) and leaves intended use to you.
    progress : callable, optional
        Called with the stage, the steps done and the number of steps. By default
        a bar on a terminal if the report takes more than two seconds and tqdm is
        installed.

    Returns
    -------
    AuditReport, or NewRowsReport if `new_rows` or for a model that is not of fairridge
        The page, and what it shows.

    See Also
    --------
    fairridge.audit : Tables of the same groups.
    fairridge.reports.html.AuditReport : What it returns.

    References
    ----------
    .. [1] docs/report.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import report
    >>> page = report(model, X, y, cv=0, bootstrap=0, favorable="GOOD")
    >>> print(page.html[:15])
    <!doctype html>
    """
    if isinstance(split_pipeline(model)[1], FairStacking):
        _refuse_offsets(model, offset=offset)
    model, X, y, S, weight, exposure = _of_last(
        model, X, y, sensitive_features, sample_weight, exposure, new_rows
    )
    _check_settings(model, format, new_rows, cv, bootstrap)
    options = ReportSettings(
        title, response, cv, bootstrap, random_state, threshold, top, positive, favorable, bins,
        small, source, date,
    )  # fmt: skip
    page: AuditReport | NewRowsReport
    if not isinstance(model, LinearModel):
        _refuse_offsets(model, offset=offset, exposure=exposure)
        page = NewRowsReport(gather_predictions(model, X, y, S, weight, options))
        return _written(page, out, format)
    data = X, y, S, weight, model._shift(offset, exposure)
    if check_flag("new_rows", new_rows):
        page = NewRowsReport(gather_new_rows(model, *data, options))
    else:
        with DelayedBar() if progress is None else nullcontext(progress) as shown:
            page = AuditReport(gather(model, *data, options, shown))
    return _written(page, out, format)


def _of_last(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    exposure: Any,
    new_rows: bool,
) -> tuple[Any, ...]:
    """Return the last step of a pipeline or the layer of a stack, and the rows that it reads."""
    steps, last = split_pipeline(model)
    if steps is not None and isinstance(last, LinearModel | FairStacking):
        if not new_rows and not hasattr(last, "unfairness_"):  # not fitted yet
            steps = clone(steps).fit(X, y)
        model, X = last, steps.transform(X)
    if not isinstance(model, FairStacking):
        return model, X, y, sensitive_features, sample_weight, exposure
    rows = (
        model.layer_inputs(X, sensitive_features=sensitive_features, exposure=exposure)
        | {"y": y, "sample_weight": sample_weight}
        if new_rows
        else model.training_of_layer(X, y, sensitive_features, sample_weight, exposure)
    )
    names = ("X", "y", "sensitive_features", "sample_weight", "exposure")
    return model.layer_, *map(rows.get, names)


def _check_settings(
    model: Any, kind: str, new_rows: bool, cv: int | None, bootstrap: int | None
) -> None:
    """Raise unless these settings of a report go together."""
    check_option("format", kind, ("html", "card"))
    if kind == "card" and (new_rows or not isinstance(model, LinearModel)):
        raise ValueError(
            "format='card' describes a linear model of fairridge on its training rows; use "
            "format='html' for other models, and for new_rows=True."
        )
    if cv is not None and check_count("cv", cv, minimum=0) == 1:
        raise ValueError("cv=1 holds no rows out; use at least 2 folds, or 0 for none.")
    if bootstrap is not None:
        check_count("bootstrap", bootstrap, minimum=0)


def _written(page: Any, out: Any, kind: str) -> Any:
    if out is not None:
        with writing(out) as file:
            file.write(page.text(kind).encode())
    return page


def _refuse_offsets(model: Any, **given: Any) -> None:
    for name, values in given.items():
        if values is not None:
            raise TypeError(
                f"{type(model).__name__} has no linear predictor that an {name} could be added "
                f"to; leave the {name} out."
            )
