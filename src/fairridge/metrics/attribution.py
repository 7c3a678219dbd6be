"""Which sensitive attributes, and which predictors, unfairness comes from.

Attribution and proxies work on covariance matrices of the size of the number of
columns, so they cost nothing next to a fit. How well predictors predict attributes,
the other direction of a proxy, needs rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data import Levels
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


# ------------------------------------------------------------------------ leakage


# The row of all predictors together.
ALL = "(all predictors)"
Values = Floats | Levels


@dataclass(frozen=True, repr=False)
class AttributeLeakage(Tabular):
    """How well each predictor predicts each sensitive attribute, on held-out rows."""

    predictors: tuple[str, ...]  # names, with "(all predictors)" as the last
    attributes: tuple[str, ...]  # names of the sensitive attributes
    # What is measured of each attribute: "AUC" of its levels, each against the others and weighted
    # by their rows; "R²" of a number.
    measures: tuple[str, ...]
    # AUC is 0.5 and R² 0 or less if the predictor is uninformative; 1 if it determines the
    # attribute. NaN if the attribute does not vary. Of shape (k+1, a).
    values: Floats
    _backend: Any = None

    @property
    def columns(self) -> dict[str, Floats]:
        """The values of each attribute, by what a table calls them."""
        names = zip(self.attributes, self.measures, strict=True)
        return {
            f"tells {name} ({measure})": self.values[:, k]
            for k, (name, measure) in enumerate(names)
        }

    def _tables(self) -> list[Table]:
        """Return one row per predictor, all of them together last."""
        columns = {name: Column(values, name, ".3f") for name, values in self.columns.items()}
        columns = {"predictor": Column(list(self.predictors), "predictor")} | columns
        note = "On held-out rows; an AUC of 0.5 and an R² of 0 are those of chance."
        return [Table("How well predictors predict S", columns, (), [note], self._backend)]


def attribute_leakage(
    predictors: Mapping[str, Values],
    attributes: Mapping[str, Values],
    *,
    weight: Floats | None = None,
    n_folds: int = 5,
    backend: Any = None,
) -> AttributeLeakage:
    """Predict every attribute from each predictor alone, and from all of them, across folds."""
    # Numbers enter linearly. A categorical enters by the mean of the attribute in each level,
    # shrunk towards the mean of all rows and found on other rows than those the model is fitted to
    # (scikit-learn's ``TargetEncoder``), so that 900 ZIP codes can be informative without repeating
    # each row's own attribute. A missing category is a level; a missing number of a predictor is
    # the mean of the others beside a 0/1 column, and rows without the number of an attribute do not
    # count for that attribute. There are fewer folds if a level of the attribute has fewer rows.
    groups = [[name] for name in predictors] + [list(predictors)]
    values = np.empty((len(groups), len(attributes)))
    for k, column in enumerate(attributes.values()):
        for j, names in enumerate(groups):
            values[j, k] = _held_out([predictors[name] for name in names], column, weight, n_folds)
    measures = ["AUC" if isinstance(c, Levels) else "R²" for c in attributes.values()]
    return AttributeLeakage((*predictors, ALL), tuple(attributes), tuple(measures), values, backend)


def _held_out(
    columns: Sequence[Values], target: Values, weight: Floats | None, n_folds: int
) -> float:
    """Return AUC or R² of predictions of an attribute, each from the other folds."""
    codes, Z = _written(columns)
    # Their mean is 1, so that the penalties of the models are those of rows without weights.
    weight = np.ones(len(Z)) if weight is None else weight / weight.mean()
    measured: Any = _area
    if isinstance(target, Levels):
        rows, y = _levels_of_several_rows(target)
    else:
        rows, measured = np.flatnonzero(~np.isnan(target)), _r_squared
        y = target[rows]
    varies = bool((y != y[:1]).any())
    return measured(codes, Z[rows], y, weight[rows], n_folds) if varies else float("nan")


def _written(columns: Sequence[Values]) -> tuple[list[bool], Floats]:
    """Return which columns of a matrix are codes, and the matrix, without missing numbers."""
    codes, found = [], []
    for column in columns:
        values = column.codes if isinstance(column, Levels) else column
        codes.append(isinstance(column, Levels))
        lost = np.isnan(values)
        if lost.any():
            mean = 0.0 if lost.all() else float(values[~lost].mean())
            found.append(np.where(lost, mean, values))
            codes.append(False)
            values = lost
        found.append(values)
    return codes, np.column_stack(found).astype(float)


def _area(codes: Sequence[bool], Z: Floats, y: Integers, weight: Floats, n_folds: int) -> float:
    # These modules take longer to import than all of this library.
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(min(n_folds, int(np.bincount(y).min())), shuffle=True, random_state=0)
    several = y.max() > 1
    kind = "multiclass" if several else "binary"
    model = _pipeline(codes, LogisticRegression(max_iter=1000), kind)
    given = {"logisticregression__sample_weight": weight}
    probabilities = cross_val_predict(model, Z, y, cv=folds, method="predict_proba", params=given)
    how: dict[str, Any] = {"multi_class": "ovr", "average": "weighted"} if several else {}
    shown = probabilities if several else probabilities[:, 1]
    return float(roc_auc_score(y, shown, sample_weight=weight, **how))


def _r_squared(codes: Sequence[bool], Z: Floats, y: Floats, weight: Floats, n_folds: int) -> float:
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(min(n_folds, len(y)), shuffle=True, random_state=0)
    model = _pipeline(codes, Ridge(1.0), "continuous")
    predicted = cross_val_predict(model, Z, y, cv=folds, params={"ridge__sample_weight": weight})
    return float(r2_score(y, predicted, sample_weight=weight))


def _levels_of_several_rows(column: Levels) -> tuple[Integers, NDArray[Any]]:
    """Return the rows of levels that have at least two, and their levels from 0."""
    _, codes, counts = np.unique(column.codes, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(counts[codes] > 1)
    return rows, np.unique(codes[rows], return_inverse=True)[1]


def _pipeline(codes: Sequence[bool], model: Any, target: str) -> Any:
    """Standardize numbers, encode categoricals by the target, and predict linearly."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler, TargetEncoder

    categorical = np.flatnonzero(codes)
    numeric = np.flatnonzero(~np.asarray(codes))
    encoder = TargetEncoder(target_type=target, **_shuffled_folds(target))
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(encoder, StandardScaler()), categorical), (StandardScaler(), numeric)
        ),
        model,
    )


def _shuffled_folds(target: str) -> dict[str, Any]:
    """Make the folds of a TargetEncoder the same each time, in any version of scikit-learn."""
    import sklearn
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils.fixes import parse_version

    if parse_version(sklearn.__version__) < parse_version("1.9"):
        return {"cv": 3, "random_state": 0}
    kind = KFold if target == "continuous" else StratifiedKFold
    return {"cv": kind(3, shuffle=True, random_state=0)}
