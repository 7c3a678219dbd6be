"""The audit report of a model, as a method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairridge.estimators._parameters import check_count
from fairridge.outputs import writing
from fairridge.report.html import AuditReport

__all__ = ["Reports"]


class Reports:
    """Writes audit reports."""

    def report(
        self,
        path: Any,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        title: str | None = None,
        response: str | None = None,
        cv: int = 10,
        bootstrap: int | None = None,
        random_state: int = 0,
        threshold: float | None = None,
        positive: Any = None,
        bins: int = 4,
        small: int = 30,
        source: str | None = None,
        date: str | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> AuditReport:
        """Write one self-contained HTML file for a validator or a regulator.

        The same arguments write the same file, byte by byte.

        Parameters
        ----------
        path : str, path-like or None
            Where to write it; None only returns it.
        X, y, sensitive_features, sample_weight, offset
            The training data, as in `fit`. A model that is fitted already must
            have been fitted to them; one that is not is fitted for the report.
        title, response : str, optional
            Title of the report, and name of the response where y has none.
        cv : int, default=10
            Folds on which rows are held out; 0 for none.
        bootstrap : int, optional
            Refits to resampled rows, for the interval of unfairness: by
            default 400 for gaussian models and 100 for others, fewer for
            large data; 0 for none.
        random_state : int, default=0
            Seed of folds and refits.
        threshold : float, optional
            A row is selected when its score is above this: by default 0.5 for
            probabilities, the median response for numbers, and 0 for log
            hazard ratios. With more than two classes the likeliest one counts.
        positive : label, optional
            The class that scores are of: by default the second of two, or all
            of more.
        bins, small : int
            Groups of a numeric attribute, and rows below which a group is
            marked as small.
        source, date : str, optional
            For the record: where the data come from, and a date.
        progress : callable, optional
            Called with the stage, the steps done and the number of steps.

        Returns
        -------
        AuditReport
            The page, and what it shows.
        """
        from fairridge.estimators._report import ReportOptions, gather

        if not hasattr(self, "_solve"):
            raise TypeError(
                f"{type(self).__name__} is not found for many bounds at once, so it has no audit "
                "report; fairridge.metrics.audit compares groups for its predictions."
            )
        _check_options(cv, bootstrap)
        options = ReportOptions(
            title, response, cv, bootstrap, random_state, threshold, positive, bins, small,
            source, date,
        )  # fmt: skip
        contents = gather(self, X, y, sensitive_features, sample_weight, offset, options, progress)
        report = AuditReport(contents)
        if path is not None:
            with writing(path) as file:
                file.write(report.html.encode())
        return report


def _check_options(cv: Any, bootstrap: Any) -> None:
    if check_count("cv", cv, least=0) == 1:
        raise ValueError("cv=1 holds no rows out; use at least 2 folds, or 0 for none.")
    if bootstrap is not None:
        check_count("bootstrap", bootstrap, least=0)
