"""The audit report of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fairridge._progress import Progress
from fairridge.arguments import check_count, check_flag, check_option
from fairridge.data import name_of
from fairridge.estimators._training import refuse_more_data
from fairridge.metrics.audit import check_options
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.outputs import writing
from fairridge.reports.html import AuditReport, NewRowsReport
from fairridge.sources import RowSource
from fairridge.validation.report.gather import gather
from fairridge.validation.report.new_rows import gather_new_rows
from fairridge.validation.report.rows import ReportSettings
from fairridge.validation.scored_model import PassedRows, ScoredModel, scored_model


def report(
    model: Any,
    X: Any,
    y: Any = None,
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
        The training data, as in `fit`; or other rows, with `new_rows`: then X may also be a
        source of rows (`fairridge.sources`), alone, for a linear model. With the log link and
        an offset or exposure, groups are compared by rates, weighted by exposure. Beside an
        exposure y are counts or amounts, and what a model that is not of fairridge predicts are
        rates.
    out : str or path-like, optional
        Where to write the page; by default it is only returned.
    title : str, optional
        Title of the report.
    response : str, optional
        Name of the response, if y has none.
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
        The class that scores are of: by default the modeled one of two, or all of more.
    favorable : label, "low" or "high", optional
        The outcome that people want, as in `fairridge.audit`: those for whom
        it is predicted are selected. Without it the report guesses from names,
        and its first sentence says what it took.
    bins : int, default=4
        Groups of a numeric attribute.
    small : int, default=30
        Groups with fewer rows are marked as small.
    source, date : str, optional
        For the record: where the data come from, and a date.
    new_rows : bool, default=False
        Whether to validate the fitted model on rows that it has not seen: whether the
        bound holds there, groups and calibration, and how far each column has drifted
        from the training rows. Nothing is fitted, so that `cv` and `bootstrap` have no
        part.
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
    judged = scored_model(model)
    given = PassedRows(X, y, sensitive_features, sample_weight, offset, exposure)
    _check_rows(given, new_rows)
    response = response or ("".join(X.roles.response) if isinstance(X, RowSource) else name_of(y))
    options = ReportSettings(
        title, response, cv, bootstrap, random_state, threshold, top, positive, favorable, bins,
        small, source, date,
    )  # fmt: skip
    _check_settings(judged, options, format, new_rows)
    page = _page(judged, given, options, new_rows, progress)
    if out is not None:
        with writing(out) as file:
            file.write(page.text(format).encode())
    return page


def _page(
    model: ScoredModel,
    given: PassedRows,
    options: ReportSettings,
    new_rows: bool,
    progress: Callable[[str, int, int], None] | None,
) -> AuditReport | NewRowsReport:
    """Gather what there is to show, of the rows of the fit or of others."""
    model.refuse_offsets(offset=given.offset, exposure=given.exposure)
    if check_flag("new_rows", new_rows) or not model.fair:
        return NewRowsReport(gather_new_rows(model, given, options))
    if not hasattr(model.last, "unfairness_"):
        model = model.with_steps_fitted(given)
    with Progress(None, None if progress is None else False, "step") as bar:
        return AuditReport(gather(model, given, options, progress or bar.stage))


def _check_rows(given: PassedRows, new_rows: bool) -> None:
    """Raise unless there are responses, and the rows are where the report can read them."""
    if isinstance(given.X, RowSource):
        refuse_more_data(**{name: value for name, value in vars(given).items() if name != "X"})
        if not new_rows:
            raise TypeError(
                "a report on training rows needs these in memory: pass a frame or an array; or "
                "report on rows that the model has not seen, with new_rows=True."
            )
    elif given.y is None:
        raise ValueError("predictions are compared with responses: pass y.")


def _check_settings(model: ScoredModel, options: ReportSettings, kind: str, new_rows: bool) -> None:
    """Raise unless these settings of a report go together."""
    check_option("format", kind, ("html", "card"))
    if kind == "card" and (new_rows or not model.fair):
        raise ValueError(
            "format='card' describes a linear model of fairridge on its training rows; use "
            "format='html' for other models, and for new_rows=True."
        )
    if options.cv is not None and check_count("cv", options.cv, minimum=0) == 1:
        raise ValueError("cv=1 holds no rows out; use at least 2 folds, or 0 for none.")
    if options.bootstrap is not None:
        check_count("bootstrap", options.bootstrap, minimum=0)
    check_options(CONFIDENCE, options.bins, options.small)
