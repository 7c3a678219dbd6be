"""Which sensitive attributes, and which predictors, unfairness comes from.

Everything here works on covariance matrices of the size of the number of
columns, so it costs nothing next to a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.metrics.attribute_leakage import AttributeLeakage
from fairridge.solvers.spectrum import RANK_TOLERANCE
from fairridge.tables import Column, Table, Tabular, number

# The split looks at 2¹⁵ subsets then.
MAX_SPLIT_ATTRIBUTES = 15
ABOUT_PROXIES = (
    "S explains: share of the predictor's variance. entering: share of the term in what predictors "
    "bring of S. remaining: its share in what is left of S. difference: by how much the term is "
    "larger per unit of a column of S, or in a level than in all other rows."
)


@dataclass(frozen=True, repr=False)
class Attribution(Tabular):
    """R²_S split over sensitive attributes.

    Attributes
    ----------
    attributes : tuple of str
        Their names; a categorical with several levels is one attribute.
    shares : ndarray of shape (k,)
        What each contributes; they sum to `total`.
    alone, last : ndarray of shape (k,)
        R² of the attribute alone, and what it adds to all the others.
    total : float
        R²_S of all attributes together.

    See Also
    --------
    fairridge.attribution : Makes it.

    References
    ----------
    .. [1] Lindeman, Merenda and Gold (1980), Introduction to bivariate and multivariate
        analysis.
    .. [2] docs/audit.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import attribution
    >>> found = attribution(model)
    >>> print(abs(found.shares.sum() - found.total) < 1e-12)
    True
    """

    attributes: tuple[str, ...]
    shares: Floats
    alone: Floats
    last: Floats
    total: float
    _backend: Any = None

    def _tables(self) -> list[Table]:
        shares = {"share": self.shares, "alone": self.alone, "last": self.last}
        columns = {name: Column(values, name, scale=1.0) for name, values in shares.items()}
        columns = {"attribute": Column(list(self.attributes), "attribute")} | columns
        note = f"Shares sum to R² = {number(self.total)} of all attributes together."
        return [Table("R² by sensitive attribute", columns, (), [note], self._backend)]


def lmg(
    covariance: Floats,
    cross: Floats,
    variance: float,
    players: Sequence[int],
    attributes: Sequence[str],
    backend: Any = None,
) -> Attribution:
    """Split R²_S exactly over sensitive attributes (Lindeman, Merenda and Gold's measure)."""
    # v(T) = tr(c_Tᵀ Σ_T⁺ c_T) / VAR(η) is the R² of η regressed on the attributes in T, with Σ the
    # covariance of the encoded columns of S, `players` the attributes that these belong to, and c =
    # COV(S, η), with a column for each of several η. An attribute gets the mean of what it adds,
    # over all orders in which the attributes can enter: its Shapley value
    #
    #     φ_j = Σ_{T ∌ j} |T|!(k−|T|−1)!/k! · (v(T ∪ j) − v(T)),
    #
    # which is never negative and sums to v(S) = R²_S. In training, where S and U are orthogonal, c
    # = Σα and VAR(η) = VAR(Sα) + VAR(Uβ).
    k = len(attributes)
    if k > MAX_SPLIT_ATTRIBUTES:
        raise ValueError(
            f"an exact split looks at every subset of the {k} sensitive attributes; "
            f"pass at most {MAX_SPLIT_ATTRIBUTES}."
        )
    values = _explained_by_subsets(covariance, cross, np.asarray(players, dtype=np.intp), k)
    values = values / variance if variance > 0.0 else np.zeros_like(values)
    everyone = len(values) - 1
    sets = np.arange(len(values))
    sizes = np.array([int(s).bit_count() for s in sets])
    weights = np.array([factorial(t) * factorial(k - t - 1) / factorial(k) for t in range(k)])
    shares = np.zeros(k)
    for j in range(k):
        without = sets[(sets >> j) & 1 == 0]
        shares[j] = weights[sizes[without]] @ (values[without | (1 << j)] - values[without])
    alone = values[[1 << j for j in range(k)]]
    last = values[everyone] - values[[everyone ^ (1 << j) for j in range(k)]]
    return Attribution(
        tuple(attributes), shares, alone, np.maximum(last, 0.0), float(values[everyone]), backend
    )


def _explained_by_subsets(covariance: Floats, cross: Floats, players: Integers, k: int) -> Floats:
    """tr(c_Tᵀ Σ_T⁺ c_T) for every subset T of k attributes, in the order of their bits."""
    # Attributes are eliminated one after the other, from all subsets of those before at once: each
    # subset leaves the next attribute out or takes its Schur complement. All 2^k subsets cost
    # little more than the last step.
    order = np.argsort(players, kind="stable")
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    correlation = covariance / np.outer(scale, scale)
    c = (cross.reshape(len(scale), -1) / scale[:, None])[order]
    # In place of VAR(η) stands 0, from which every attribute taken subtracts what it explains.
    nothing = np.zeros((c.shape[1], c.shape[1]))
    states = np.block([[correlation[np.ix_(order, order)], c], [c.T, nothing]])[None]
    for size in np.bincount(players, minlength=k):
        left = states[:, size:, size:]
        values, vectors = np.linalg.eigh(states[:, :size, :size])
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > RANK_TOLERANCE)
        products = np.swapaxes(vectors, 1, 2) @ states[:, :size, size:]
        taken = left - np.swapaxes(products * inverse[:, :, None], 1, 2) @ products
        states = np.concatenate([left, taken])
    return -np.trace(states, axis1=1, axis2=2)


@dataclass(frozen=True, repr=False)
class Proxies(Tabular):
    """How S enters η through the predictors.

    η is a sum of terms, one per predictor (x_jβ_j) and one for S itself
    (S(α − Bβ)), so whatever is linear in η splits over them exactly.

    Attributes
    ----------
    predictors : tuple of str
        Names; a categorical is one predictor.
    sensitive : tuple of str
        Encoded columns of S.
    labels : tuple of str
        Classes of a multinomial model; one empty name otherwise.
    explained : ndarray of shape (k,)
        Share of each predictor's variance that S explains.
    differences : ndarray of shape (m, k, q)
        COV(x_jβ_j, S)/VAR(S): by how much the term is larger per unit of a
        column of S. For the 0/1 column of a level that is the difference of
        means between that level and all other rows.
    direct : ndarray of shape (m, q)
        The same for the term S(α − Bβ).
    entering : ndarray of shape (m, k+1)
        COV(x_jβ_j, SBβ)/VAR(SBβ): share of each predictor in what all of them
        together bring of S into η; these sum to 1. The last entry is the term
        S(α − Bβ): −1 takes everything back, as at r = 0.
    remaining : ndarray of shape (m, k+1)
        COV(x_jβ_j, Sα)/VAR(Sα): share of each term in what is left of S in η;
        with the last entry they sum to 1. NaN where nothing is left (α = 0).
    telling : AttributeLeakage or None
        How well each predictor predicts each attribute on held-out rows, if rows
        were given.

    See Also
    --------
    fairridge.proxies : Makes it.

    References
    ----------
    .. [1] "The model" in docs/model.md: η = c + S(α − Bβ) + Xβ.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import proxies
    >>> found = proxies(model)
    >>> print(found.sensitive, found.to_frame()["term"].tolist())
    ('Age', 'Gender[Male]') ['Duration', '(sensitive)']
    """

    predictors: tuple[str, ...]
    sensitive: tuple[str, ...]
    labels: tuple[str, ...]
    explained: Floats
    differences: Floats
    direct: Floats
    entering: Floats
    remaining: Floats
    _backend: Any = None
    telling: AttributeLeakage | None = None

    @property
    def total(self) -> Floats:
        """COV(η, S)/VAR(S), of shape (m, q): what all terms sum to."""
        return self.direct + self.differences.sum(axis=1)

    def _tables(self) -> list[Table]:
        """Return one row per term, the sensitive attributes themselves last."""
        names, m = (*self.predictors, "(sensitive)"), len(self.labels)
        explained = np.tile([*self.explained, np.nan], m)
        classes = Column([label for label in self.labels for _ in names], "class")
        columns = {
            **({"class": classes} if m > 1 else {}),
            "term": Column(names * m, "term"),
            "explained_by_sensitive": Column(explained, "S explains", ".1%"),
            "entering": Column(self.entering.ravel(), "entering", scale=1.0),
            "remaining": Column(self.remaining.ravel(), "remaining", scale=1.0),
        }
        both = np.concatenate([self.differences, self.direct[:, None, :]], axis=1)
        for k, name in enumerate(self.sensitive):
            column = f"difference: {name}"
            columns[column] = Column(both[:, :, k].ravel(), column)
        beside = {} if self.telling is None else self.telling.columns
        for name, values in beside.items():  # of all predictors in a table of its own
            columns[name] = Column(np.tile([*values[:-1], np.nan], m), None)
        title = "How S enters scores"
        table = Table(title, columns, notes=[ABOUT_PROXIES], backend=self._backend)
        return [table, *([] if self.telling is None else self.telling._tables())]


def proxy_terms(
    covariance: Floats,
    B: Floats,
    alpha: Floats,
    beta: Floats,
    deviation: Floats,
    players: Sequence[int],
    predictors: Sequence[str],
    sensitive: Sequence[str],
    labels: Sequence[str] = ("",),
    backend: Any = None,
) -> Proxies:
    """Split the covariance of η with S over the terms of η."""
    # B has the coefficients of X on S, so that COV(S, X) = covariance·B; `alpha` and `beta` those
    # of S and U, one row per linear predictor. `deviation` are the standard deviations of the
    # encoded predictors, and `players` the predictors that these belong to.
    owner = np.zeros((B.shape[1], len(predictors)))
    owner[np.arange(B.shape[1]), np.asarray(players, dtype=np.intp)] = 1.0
    cross = covariance @ B
    terms = np.einsum("qj,mj,jk->mkq", cross, beta, owner, optimize=True)
    direct = (alpha - beta @ B.T) @ covariance
    variance = np.diag(covariance)
    unit = np.where(variance > 0.0, variance, np.inf)
    all_terms = np.concatenate([terms, direct[:, None, :]], axis=1)
    both = np.array([np.einsum("qj,qj->j", B, cross), deviation**2]) @ owner
    explained = np.divide(both[0], both[1], out=np.zeros(len(predictors)), where=both[1] > 0.0)
    return Proxies(
        tuple(predictors),
        tuple(sensitive),
        tuple(labels),
        np.clip(explained, 0.0, 1.0),
        terms / unit,
        direct / unit,
        _along(all_terms, beta @ B.T, covariance),
        _along(all_terms, alpha, covariance),
        backend,
    )


def _along(terms: Floats, direction: Floats, covariance: Floats) -> Floats:
    """COV(term, Sd)/VAR(Sd), for terms given by their covariances with S."""
    variance = np.einsum("mq,qr,mr->m", direction, covariance, direction)
    part = np.einsum("mkq,mq->mk", terms, direction)
    return np.divide(
        part, variance[:, None], out=np.full_like(part, np.nan), where=variance[:, None] > 0.0
    )
