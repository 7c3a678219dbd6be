"""From a model on its rows to the bound in training that holds in the population.

Models are fitted for some bounds r′ up to r. What S explains of their scores on
new people has an upper confidence limit for each, from draws; the certified bound is the
largest r′ up to which that limit is at most r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Literal

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.inference.certificate import Certificate, check_certified, first_crossing
from fairridge.inference.few_rows import attribute_of
from fairridge.inference.optimism import optimism
from fairridge.inference.scores import ExplainedScores, explained_scores, share_of
from fairridge.inference.tails import too_heavy
from fairridge.models import Fit
from fairridge.search import PenalizedProblem, Solution

Certification = Literal["auto", "held-out"]
CERTIFICATIONS = ("auto", "held-out")
Upper = Callable[[float], float]

# As r′ → 0 the direction of α and with it c has a limit; this is near enough.
LEAST_BOUND = 1e-4
# Values of r′ between which limits are interpolated.
GRID = 6
# Values of r′, relative to r, that are tested on held-out rows, fairest first.
TESTED = np.linspace(0.0, 1.0, 11)


def certify(
    problem: PenalizedProblem,
    unfairness: float,
    confidence: float = 0.95,
) -> Certificate:
    """Find the bound to fit with so that another one holds in the population.

    Parameters
    ----------
    problem : PenalizedProblem
        The model on its rows, for every λ, with a bound on R² on S of the linear predictor,
        `StatisticalParity(measure="variance")`, or of the predicted means, `MeanParity()`.
    unfairness : float
        r, which is to hold in the population.
    confidence : float, default=0.95
        1 − δ, over samples of rows from the population.

    Returns
    -------
    Certificate
        With the bound to fit with, and whether it is granted.

    See Also
    --------
    Certificate : What it returns.
    fairridge.rows_needed : How many rows certify a bound.

    References
    ----------
    .. [1] "The bound in the population" in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> model = FairRidgeRegressor(0.2, confidence=0.95)  # its fit calls this function
    >>> print(model.fit(X, y, sensitive_features=S).certificate_.granted)
    True
    """
    check_certified(unfairness, max(problem.basis.sensitive.rank, 1), confidence)
    return certify_each(problem, np.array([unfairness]), confidence)[0]


def certify_each(problem: PenalizedProblem, bounds: Floats, confidence: float) -> list[Certificate]:
    """Certify several bounds, each by itself, with models and passes that serve all."""
    # The bound 0 is never granted, 1 always.
    require_certifiable(problem)
    require_rows_of_groups(problem.engine)
    inner = bounds[(bounds > 0.0) & (bounds < 1.0)]
    largest = float(inner.max(initial=2.0 * LEAST_BOUND))
    least = min(LEAST_BOUND, float(inner.min(initial=largest)) / 2.0)
    grid = np.append(np.geomspace(least, largest, GRID), 1.0)
    solutions = problem.solve(grid)
    met = [solution for solution in solutions if solution.choice.met]
    if not met or met[-1] is not solutions[-1]:
        raise ValueError(
            "the model without a bound has not converged, so nothing can be certified; raise "
            "max_iter, or add a small predictor_penalty."
        )
    models = _explained(problem, [solution.fit for solution in met])
    n = problem.engine.n_rows
    free = models[-1].share
    shares, upper = _limits(models, confidence)
    warning = too_heavy(problem.engine, problem.basis.center)
    found = [_certificate(float(r), shares, free, upper, confidence, n) for r in bounds]
    return [_with_warning(one, warning) for one in found]


def _limits(models: list[ExplainedScores], confidence: float) -> tuple[Floats, Upper]:
    """Return the values in training of the models, and the upper limit at any value between."""
    # Models that are the same but for rounding count once, and so do all if S explains nothing.
    by_root = {float(np.sqrt(model.odds)): model for model in models if model.odds > 0.0}
    ordered = [by_root[root] for root in sorted(by_root)] or [models[-1]]
    # If models can be arbitrarily fair, the limits at r′ = 0 are those of the fairest.
    if ordered[0].share <= 2.0 * LEAST_BOUND and ordered[0].odds > 0.0:
        ordered = [ordered[0].fair(), *ordered]
    limits = np.sqrt([model.quantile(confidence) for model in ordered])
    roots = np.sqrt([model.odds for model in ordered])

    if len(roots) == 1:
        return np.array([ordered[0].share]), lambda _: share_of(float(limits[0]) ** 2)
    between = PchipInterpolator(roots, limits)  # roots of odds are almost a line

    def upper(share: float) -> float:
        root = np.clip(np.sqrt(share / (1.0 - share)), roots[0], roots[-1])
        return share_of(float(between(root)) ** 2)

    return np.array([model.share for model in ordered]), upper


def _certificate(
    r: float, shares: Floats, free: float, upper: Upper, confidence: float, n: int
) -> Certificate:
    """Find the largest bound in training for one bound in the population."""
    if free <= r and upper(free) <= r:
        return Certificate(r, r, confidence, upper(free), "draws", n, True, n)
    end = min(r, free)
    points = [*(float(x) for x in shares if x < end), end]
    training = None if r == 0.0 else first_crossing(lambda x: upper(x) - r, points)
    if training is not None:
        limit = min(upper(training), r)  # rounding of the root may exceed r
        return Certificate(r, training, confidence, limit, "draws", n, True, n)
    least = float(shares[0])
    enough = None
    if r > 0.0 and least == 0.0:  # the limit of the odds at r′ = 0 falls as 1/n
        limit = upper(0.0)
        enough = ceil(n * limit / (1.0 - limit) * (1.0 - r) / r)
    return Certificate(r, 0.0, confidence, upper(least), "draws", n, False, enough)


def _with_warning(certificate: Certificate, warning: str | None) -> Certificate:
    """Say why a bound may not hold; one of 1 does, and no number of rows helps others."""
    if warning is None or certificate.bound == 1.0:
        return certificate
    enough = certificate.rows_needed if certificate.granted else None
    return replace(certificate, rows_needed=enough, warning=warning)


# ---------------------------------------------------------------------- which models


def require_share(problem: PenalizedProblem) -> None:
    """Refuse bounds that are not on R² on S of predictions, and those that leave rows out."""
    definition, family = problem.definition, problem.family
    if definition.certifiable(family) is None:
        raise ValueError(
            f"{definition.name} of a {family.name} model cannot be certified"
            f"{definition.not_certifiable_because}. Use definition='mean-parity', or "
            "StatisticalParity(measure='variance')."
        )
    if problem.isolation is not None:
        raise ValueError(
            "levels whose rows all have the same outcome are isolated, and a certificate would "
            "not hold for people with these levels: merge them (min_frequency), drop their "
            "columns, or set a small predictor_penalty. Or leave confidence out."
        )


def require_certifiable(problem: PenalizedProblem) -> None:
    """Refuse models without a certificate unless rows are held out, and state the reason."""
    require_share(problem)
    if problem.space.compressed:
        raise ValueError(
            "a bound cannot be certified with more predictor columns than rows; use fewer columns, "
            "or leave confidence out."
        )
    if not problem.basis.sensitive.rank:
        raise ValueError("all sensitive columns are constant: there is nothing to certify.")
    n = problem.engine.n_rows
    k = 1 + problem.basis.sensitive.rank + problem.basis.predictors.rank
    if n <= k:
        raise ValueError(
            f"{n} rows cannot certify a model with {k} coefficients; use fewer columns, or leave "
            "confidence out."
        )


def _explained(problem: PenalizedProblem, fits: list[Fit]) -> list[ExplainedScores]:
    """Evaluate the scores that a definition bounds, on the training rows."""
    scores = _scores(problem.definition, fits, fits[0].engine)
    if problem.space.uses_sensitive:
        whole = np.linalg.norm(scores[-1].coefficients) or 1.0
        followed = [min(1.0, float(np.linalg.norm(one.coefficients) / whole)) for one in scores]
        return [replace(one, followed=m) for one, m in zip(scores, followed, strict=True)]
    return [
        replace(one, followed=0.0, optimism=optimism(problem, fit, one))
        for one, fit in zip(scores, fits, strict=True)
    ]


def _scores(definition: Definition, fits: list[Fit], engine: Engine) -> list[ExplainedScores]:
    """Evaluate the scores that a definition bounds, on any rows."""
    linear = definition.certifiable(fits[0].family) == "linear predictors"
    return explained_scores(fits, engine, None if linear else definition.means(fits[0]))


# ---------------------------------------------------------------------- held-out rows


def held_out_test(
    problem: PenalizedProblem, bound: float, held_out: Engine, confidence: float
) -> tuple[Solution, Solution, Certificate]:
    """Test models on rows that they were not fitted to, fairest first."""
    # The hypothesis that R² on S exceeds the bound is tested for r′ = 0, r/10, …, r in turn, up to
    # the first that is not rejected: such a sequence, fixed beforehand, needs no correction for the
    # number of tests (Bauer 1991).
    # Returned are the last model that passed, the fairest if none did, and the one with the bound
    # r.
    require_rows_of_groups(held_out)
    solutions = problem.solve(bound * TESTED)
    fits = [solution.fit for solution in solutions]
    scores = _scores(problem.definition, fits, held_out)
    limits = [share_of(model.quantile(confidence)) for model in scores]
    usable = [solution.choice.met for solution in solutions]
    passed = [limit <= bound and met for limit, met in zip(limits, usable, strict=True)]
    last = passed.index(False) - 1 if False in passed else len(passed) - 1
    n, granted = fits[0].engine.n_rows + held_out.n_rows, last >= 0
    last, enough = max(last, 0), n
    if not granted:
        enough = _enough(scores[0], bound, confidence, n)  # type: ignore[assignment]
    training = float(bound * TESTED[last])
    found = Certificate(bound, training, confidence, limits[last], "held-out", n, granted, enough)
    warning = too_heavy(held_out, fits[0].basis.center)
    return solutions[last], solutions[-1], _with_warning(found, warning)


def _enough(model: ExplainedScores, bound: float, confidence: float, n: int) -> int | None:
    """Return how many rows would pass the test if R² on S stays; None if no number would."""
    if bound <= 0.0 or model.share >= bound:
        return None

    def excess(log_factor: float) -> float:
        more = float(np.exp(log_factor))
        other = replace(model, covariance=model.covariance / more, degrees=more * model.degrees)
        return share_of(other.quantile(confidence)) - bound

    # A limit within the bound was refused for another reason: its model missed its own bound.
    if excess(0.0) <= 0.0 or excess(np.log(1e6)) > 0.0:
        return None
    return ceil(n * float(np.exp(brentq(excess, 0.0, np.log(1e6)))))


MIN_GROUP_ROWS = 10


def require_rows_of_groups(engine: Engine) -> None:
    """Refuse to certify a bound for groups of fewer than ten rows, with their names."""
    # Groups are the two values of a 0-1 column of S and the levels of a categorical one, the base
    # level included; levels without rows do not count.
    columns = np.flatnonzero(engine.moments().binary[: engine.n_sensitive])
    names = [engine.names[k] for k in columns]
    owners = [attribute_of(name) or name for name in names]
    attributes = list(dict.fromkeys(owners))

    def counts(y: Floats, Z: Floats, weight: Floats, offset: Floats | None) -> Floats:
        ones = Z[:, columns] > 0.5
        none = [~ones[:, [own == name for own in owners]].any(axis=1) for name in attributes]
        return np.column_stack([ones, *none]).sum(axis=0).astype(np.float64)

    if not names:
        return
    rows = engine.sum_over_columns(counts, np.zeros(len(engine.names))).astype(int).tolist()
    others = (_base_level(name, names) for name in attributes)
    each = zip([*names, *others], rows, strict=True)
    small = [f"{name} ({n})" for name, n in each if 0 < n < MIN_GROUP_ROWS]
    if small:
        raise ValueError(
            f"a bound cannot be certified for groups of fewer than {MIN_GROUP_ROWS} rows: "
            f"{', '.join(small)}. Merge these groups with others in the data, collect more of "
            "their rows, or leave confidence out."
        )


def _base_level(attribute: str, names: list[str]) -> str:
    """Describe the rows without any level of an attribute that has a column."""
    if attribute in names:
        return f"{attribute} = 0"
    start = f"{attribute}["
    others = [name[len(start) : -1] for name in names if name.startswith(start)]
    if len(others) > 5:  # as many as messages list
        return f"the base level of {attribute}"
    return f"{attribute} other than {', '.join(others)}"
