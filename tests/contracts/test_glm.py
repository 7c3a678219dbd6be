"""What must hold for every family, penalty and definition, checked from the rows alone."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax, xlogy

from fairridge import FairRidgeClassifier, FairRidgeRegressor, families
from fairridge.exceptions import BoundWarning
from fairridge.fairness import (
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    StatisticalParity,
)
from fairridge.penalties import ElasticNet
from tests.zoo import crossed, model_of, pairwise

# Families of the package and what they are called here; Gaussian models have tests of their own.
NAMED = {
    "Binomial": ["binomial"],
    "Cox": ["cox", "efron"],
    "Gamma": ["gamma"],
    "Multinomial": ["multinomial"],
    "NegativeBinomial": ["negative-binomial"],
    "Poisson": ["poisson"],
    "QuasiBinomial": ["quasi-binomial"],
    "QuasiPoisson": ["quasi-poisson"],
    "Tweedie": ["tweedie"],
}
OTHERS = {"SinglePredictor", "Family", "Gaussian", "RowSums"}
# Families whose sums over rows are nearly those of a family that the quick tests have, and the
# one that takes longest.
RELATIVES = {"efron", "gamma", "negative-binomial", "quasi-binomial", "quasi-poisson", "tweedie"}
RELATIVES |= {"multinomial"}
NAMES = [name for names in NAMED.values() for name in names]


def of_families(*arguments):
    """Parameters that begin with the name of a family."""
    slow = pytest.mark.slow if arguments[0] in RELATIVES else ()
    return pytest.param(*arguments, marks=slow)


FAMILIES = [of_families(name) for name in NAMES]
PENALTIES = {"ridge": "ridge", "radial": "radial", "lasso": "lasso", "elastic": ElasticNet(0.3)}
L1 = {"ridge": 0.0, "radial": 0.0, "lasso": 1.0, "elastic": 0.3}
POWER, KAPPA = 1.4, 0.6


def test_every_family_is_here():
    assert set(NAMED) | OTHERS == set(families.__all__)


# --------------------------------------------------------------------- data


class Data:
    """Rows for one family: S, X, y, and weights and offsets where they are asked for."""

    def __init__(self, family, seed=3, n=160, weighted=False):
        rng = np.random.default_rng(seed)
        self.family = family
        self.S = rng.normal(size=(n, 2)) @ [[1.0, 0.5], [0.0, 3.0]] + [2.0, -1.0]
        self.X = rng.normal(size=(n, 3)) + self.S @ rng.normal(size=(2, 3)) * 0.2
        self.weight = rng.uniform(0.3, 2.0, n) if weighted else None
        with_offset = weighted and family != "multinomial"  # for classes a constant cancels
        self.offset = 0.5 * rng.normal(size=n) if with_offset else None
        centered = self.S - self.S.mean(0)
        eta = 0.2 + self.X @ [0.6, -0.4, 0.3] + centered @ [0.5, -0.2]
        eta = eta if self.offset is None else eta + self.offset
        self.y = self._response(rng, eta, centered)

    def _response(self, rng, eta, centered):
        n, family = len(eta), self.family
        if family == "multinomial":
            scores = np.column_stack([eta, centered[:, 0], -0.5 * eta, 0.0 * eta])
            draws = rng.random((n, 1)) > np.cumsum(softmax(scores, axis=1), axis=1)
            return draws.sum(axis=1)
        if family in ("cox", "efron"):
            time = np.ceil(4.0 * rng.exponential(np.exp(-eta))) / 4.0  # many ties
            return np.column_stack([time, rng.random(n) < 0.7])
        return {
            "binomial": lambda: (rng.random(n) < expit(eta)) * 1,
            "quasi-binomial": lambda: rng.binomial(4, expit(eta)) / 4.0,
            "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2.0),
            "negative-binomial": lambda: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, n)),
            "poisson": lambda: rng.poisson(np.exp(eta)),
            "quasi-poisson": lambda: 3.0 * rng.poisson(np.exp(eta) / 3.0),
            "tweedie": lambda: rng.poisson(np.exp(eta / 2)) * rng.gamma(2.0, np.exp(eta / 2) / 2),
        }[family]()

    @property
    def Z(self):
        return np.column_stack([self.S, self.X])

    @property
    def weights(self):
        return np.ones(len(self.S)) if self.weight is None else self.weight

    @property
    def arguments(self):
        return {"sample_weight": self.weight, "offset": self.offset}

    def model(self, r=0.05, **options):
        objects = {
            "tweedie": families.Tweedie(POWER),
            "negative-binomial": families.NegativeBinomial(KAPPA),
        }
        options = {"sensitive": [0, 1], **options}
        return model_of(objects.get(self.family, self.family), r, **options)

    def fit(self, r=0.05, **options):
        return self.model(r, **options).fit(self.Z, self.y, **self.arguments)

    # What the model sees, written out.

    @property
    def centered(self):
        return self.S - np.average(self.S, axis=0, weights=self.weights)

    @property
    def U(self):
        root = np.sqrt(self.weights)[:, None]
        S, X = self.centered, self.X - np.average(self.X, axis=0, weights=self.weights)
        return X - S @ np.linalg.lstsq(S * root, X * root, rcond=None)[0]

    def spread(self, columns):
        return np.sqrt(np.average(columns**2, axis=0, weights=self.weights))

    def eta(self, model, *, sensitive=True, predictors=True, center=True, offset=True):
        """η of shape (n, m), with coefficients set to zero on centered or uncentered S."""
        alpha, beta = np.atleast_2d(model.alpha_), np.atleast_2d(model.beta_)
        S = self.centered if center else self.S
        middle = np.average(self.S, axis=0, weights=self.weights) if center else np.zeros(2)
        eta = np.tile(np.atleast_1d(model.fair_intercept_) + alpha @ middle, (len(S), 1))
        eta = eta + S @ alpha.T * sensitive + self.U @ beta.T * predictors
        return eta if self.offset is None or not offset else eta + self.offset[:, None]

    def deviance(self, eta):
        y, w = self.y, self.weights
        if self.family == "multinomial":
            return 2.0 * w @ (logsumexp(eta, axis=1) - eta[np.arange(len(y)), y])
        eta = eta[:, 0]
        if self.family in ("cox", "efron"):
            return self._partial(eta)[0]
        mu = np.exp(eta)
        a, b = 1.0 - POWER, 2.0 - POWER
        unit = {
            "binomial": lambda: np.logaddexp(0, eta) - y * eta,
            "quasi-binomial": lambda: (
                np.logaddexp(0, eta) - y * eta + xlogy(y, y) + xlogy(1 - y, 1 - y)
            ),
            "gamma": lambda: eta - np.log(y) + y / mu - 1.0,
            "negative-binomial": lambda: (
                xlogy(y, y / mu) - (y + 1 / KAPPA) * np.log((1 + KAPPA * y) / (1 + KAPPA * mu))
            ),
            "poisson": lambda: xlogy(y, y / mu) - y + mu,
            "quasi-poisson": lambda: xlogy(y, y / mu) - y + mu,
            "tweedie": lambda: y**b / (a * b) - y * mu**a / a + mu**b / b,
        }[self.family]()
        return 2.0 * w @ unit

    def slope(self, eta):
        """Derivative of the deviance in η."""
        y, w = self.y, self.weights
        if self.family == "multinomial":
            return 2.0 * w[:, None] * (softmax(eta, axis=1) - (y[:, None] == np.arange(4)))
        eta = eta[:, 0]
        if self.family in ("cox", "efron"):
            return self._partial(eta)[1][:, None]
        mu = np.exp(eta)
        unit = {
            "binomial": lambda: expit(eta) - y,
            "quasi-binomial": lambda: expit(eta) - y,
            "gamma": lambda: 1.0 - y / mu,
            "negative-binomial": lambda: (mu - y) / (1.0 + KAPPA * mu),
            "poisson": lambda: mu - y,
            "quasi-poisson": lambda: mu - y,
            "tweedie": lambda: (mu - y) * mu ** (1.0 - POWER),
        }[self.family]()
        return (2.0 * w * unit)[:, None]

    def _partial(self, eta):
        time, event = self.y[:, 0], self.y[:, 1] == 1.0
        w = self.weights
        risk, loglik, slope = w * np.exp(eta), 0.0, w * event
        for t in np.unique(time[event]):
            dying = event & (time == t)
            m = np.count_nonzero(dying)
            loglik += (w * eta)[dying].sum()
            for j in range(m):
                taken = j / m if self.family == "efron" else 0.0
                part = risk * ((time >= t) - taken * dying)
                loglik -= w[dying].mean() * np.log(part.sum())
                slope = slope - w[dying].mean() * part / part.sum()
        return -2.0 * loglik, -2.0 * slope


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "weights and offset"])
def weighted(request):
    return request.param


@pytest.fixture
def data(family, weighted):
    return Data(family, weighted=weighted)


# ---------------------------------------------------------------- optimality


def as_penalized(a, l1):
    """Add to the coefficients of all classes what makes l1·|a| + ½(1 − l1)·a² least, by column."""
    columns = []
    for column in a.T:
        places = np.append(column, np.median(column))
        if l1 < 1.0:  # between kinks Σ sign(a − c) is a whole number
            whole = np.arange(-len(column), len(column) + 1) / len(column)
            places = np.append(places, column.mean() + whole * l1 / (1.0 - l1))
        gaps = column - places[:, None]
        costs = (l1 * np.abs(gaps) + 0.5 * (1.0 - l1) * gaps**2).sum(axis=1)
        columns.append(gaps[np.argmin(costs)])
    a = np.array(columns).T
    return np.where(np.abs(a) < 1e-9, 0.0, a)


def violation(data, model, penalty, predictor_penalty=0.0, standardize=True):
    """Return how far the penalized deviance is from stationary, in units of its slopes."""
    g = data.slope(data.eta(model))
    sd = data.spread(data.centered) if standardize else np.ones(2)
    sd_U = data.spread(data.U) if standardize else np.ones(3)
    s, u = data.centered / sd, data.U / sd_U
    a, b = np.atleast_2d(model.alpha_) * sd, np.atleast_2d(model.beta_) * sd_U
    on_beta = np.abs(g.T @ u + 2.0 * predictor_penalty * b)
    l1 = L1[penalty]
    a = as_penalized(a, l1) if len(a) > 1 and l1 else a
    K = (s * data.weights[:, None]).T @ s if penalty == "radial" else (1.0 - l1) * np.eye(2)
    on_alpha = g.T @ s
    if np.isfinite(model.lambda_):
        on_alpha = on_alpha + 2.0 * model.lambda_ * a @ K
        weight = 2.0 * model.lambda_ * l1
        moving = np.abs(on_alpha + weight * np.sign(a))
        on_alpha = np.where(a != 0.0, moving, np.maximum(np.abs(on_alpha) - weight, 0.0))
    else:
        on_alpha = np.zeros_like(a)
    on_level = np.zeros(1) if data.family in ("cox", "efron") else np.abs(g.sum(axis=0))
    return max(x.max() for x in (on_alpha, on_beta, on_level)) / np.abs(g).sum()


OPTIONS = {
    "plain": {},
    "ridge on X": {"predictor_penalty": 20.0},
    "raw columns": {"standardize": False},
}


@crossed(family=NAMES, penalty=PENALTIES, r=[0.0, 0.1], option=OPTIONS, weighted=[False, True])
def test_the_penalized_deviance_is_stationary(data, penalty, r, option):
    options = OPTIONS[option]
    model = data.fit(r, penalty=PENALTIES[penalty], **options)
    assert violation(data, model, penalty, **options) < 1e-9
    assert model.converged_
    assert model.deviance_ == pytest.approx(data.deviance(data.eta(model)), rel=1e-10)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_classes_may_be_called_anything(penalty):
    data = Data("multinomial")
    renamed = Data("multinomial")
    new = np.array([2, 0, 3, 1])
    renamed.y = new[data.y]
    plain, other = (d.fit(0.1, penalty=PENALTIES[penalty]) for d in (data, renamed))
    assert other.lambda_ == pytest.approx(plain.lambda_, rel=1e-6)
    np.testing.assert_allclose(other.alpha_[new], plain.alpha_, atol=1e-8)
    np.testing.assert_allclose(other.beta_[new], plain.beta_, atol=1e-8)


@crossed(family=NAMES, penalty=["lasso", "elastic"], weighted=[False, True])
def test_without_unfairness_the_penalty_is_the_smallest_that_leaves_nothing(data, penalty):
    fair = data.fit(0.0, penalty=PENALTIES[penalty])
    np.testing.assert_array_equal(fair.alpha_, 0.0)
    slopes = data.slope(data.eta(fair)).T @ (data.centered / data.spread(data.centered))
    if data.family != "multinomial":
        expected = np.abs(slopes).max() / (2.0 * L1[penalty])
        assert fair.lambda_ == pytest.approx(expected, rel=1e-8)
    nearly = data.fit(1e-3, penalty=PENALTIES[penalty])
    assert nearly.alpha_.any()
    assert 0.9 * fair.lambda_ < nearly.lambda_ < fair.lambda_


@crossed(family=NAMES, penalty=["ridge", "radial"], weighted=[False, True])
def test_without_unfairness_a_smooth_penalty_is_infinite(data, penalty):
    fair = data.fit(0.0, penalty=penalty)
    np.testing.assert_array_equal(fair.alpha_, 0.0)
    assert (fair.lambda_, fair.unfairness_, fair.status_) == (np.inf, 0.0, "converged")


# --------------------------------------------------------------- definitions


def variance(values, data):
    values = values - np.average(values, axis=0, weights=data.weights)
    return np.average(values**2, axis=0, weights=data.weights).sum()


def deviance_share(data, model, center=True):
    full, without, null = deviances(data, model, center)
    return (full - without) / (full - null)


def deviances(data, model, center):
    parts = ((True, True), (False, True), (False, False))
    return [
        data.deviance(data.eta(model, sensitive=s, predictors=u, center=center)) for s, u in parts
    ]


def nagelkerke_share(data, model):
    full, without, null = deviances(data, model, True)
    n = data.weights.sum()
    return 1.0 - (1.0 - np.exp((without - null) / n)) / (1.0 - np.exp((full - null) / n))


def tjur_share(data, model):
    def gap(eta):
        mu, w, y = expit(eta[:, 0]), data.weights, data.y
        return np.average(mu, weights=w * y) - np.average(mu, weights=w * (1 - y))

    return 1.0 - gap(data.eta(model, sensitive=False)) / gap(data.eta(model))


def variance_share(data, model):
    sensitive = variance(data.centered @ np.atleast_2d(model.alpha_).T, data)
    return sensitive / (sensitive + variance(data.U @ np.atleast_2d(model.beta_).T, data))


def parity(data, model):
    share = variance_share if data.family in ("cox", "efron") else deviance_share
    return share(data, model)


def opportunity(data, model):
    """Sequential sums of squares of η on S, then on y."""
    eta, y = data.eta(model, offset=False), data.y
    if data.family in ("cox", "efron"):
        y = -np.log(y[:, 0])
    elif data.family == "multinomial":
        y = (y[:, None] == np.arange(4)) * 1.0
    root = np.sqrt(data.weights)[:, None]

    def explained(*columns):
        A = np.column_stack([np.ones(len(eta)), *columns])
        return variance(A @ np.linalg.lstsq(A * root, eta * root, rcond=None)[0], data)

    return explained(data.S) / explained(data.S, y)


def distances(data):
    if data.family in ("cox", "efron"):
        time, event = data.y[:, 0], data.y[:, 1]
        return np.abs(np.subtract.outer(time, time) * np.subtract.outer(event, event))
    if data.family in ("binomial", "multinomial"):
        return np.not_equal.outer(data.y, data.y) * 1.0
    return np.abs(np.subtract.outer(data.y, data.y))


def individual(data, model):
    pairs = distances(data) * np.multiply.outer(data.weights, data.weights)

    def treatment(fitted):
        scores = data.S @ np.atleast_2d(fitted.alpha_).T
        return sum((pairs * np.subtract.outer(c, c) ** 2).sum() for c in scores.T)

    return treatment(model) / treatment(data.fit(1.0))


def share_of_scores(fit):
    """A definition as a user would write it."""
    scores, eta = fit.S @ fit.alpha.T, fit.linear_predictor()
    np.testing.assert_allclose(eta, fit.intercept + scores + fit.U @ fit.beta.T, atol=1e-10)
    assert len(fit.y) == len(eta) == len(fit.weights)
    gaps = [x - np.average(x, axis=0, weights=fit.weights) for x in (scores, eta)]
    ours, all_ = (np.average(x**2, axis=0, weights=fit.weights).sum() for x in gaps)
    return ours / all_


DEFINITIONS = {
    "parity": ("statistical-parity", parity),
    "uncentered": (
        StatisticalParity(center=False, measure="deviance"),
        lambda data, model: deviance_share(data, model, center=False),
    ),
    "deviance": (StatisticalParity(measure="deviance"), deviance_share),
    "variance": (StatisticalParity(measure="variance"), variance_share),
    "nagelkerke": (StatisticalParity(measure="nagelkerke"), nagelkerke_share),
    "tjur": (StatisticalParity(measure="tjur"), tjur_share),
    "opportunity": (EqualityOfOpportunity(), opportunity),
    "individual": (IndividualFairness(), individual),
    "largest": (
        Combined(["statistical-parity", "equality-of-opportunity", "individual"]),
        lambda data, model: max(part(data, model) for part in (parity, opportunity, individual)),
    ),
    "mean": (
        Combined([StatisticalParity(), IndividualFairness()], weights=[3, 1]),
        lambda data, model: 0.75 * parity(data, model) + 0.25 * individual(data, model),
    ),
    "callable": (share_of_scores, variance_share),
}


OUTCOMES = ("binomial", "quasi-binomial")
DEFINED = {
    "family": NAMES,
    "definition": DEFINITIONS,
    "penalty": PENALTIES,
    "r": [1e-5, 0.02, 0.2, 1.0],
    "weighted": [False, True],
}


def is_defined(family, definition, *others):
    return definition != "tjur" or family in OUTCOMES


@pytest.mark.parametrize(tuple(DEFINED), pairwise(*DEFINED.values(), allowed=is_defined))
def test_the_bound_is_met_by_the_definition_written_out(data, definition, penalty, r):
    ours, by_hand = DEFINITIONS[definition]
    model = data.fit(r, definition=ours, penalty=PENALTIES[penalty])
    assert model.converged_
    assert model.unfairness_ <= r + 1e-10 or r == 1.0  # a share may be larger than 1
    assert model.unfairness_ == pytest.approx(by_hand(data, model), rel=1e-6, abs=1e-9)
    assert violation(data, model, penalty) < 1e-9
    if model.bound_active_:
        assert abs(model.unfairness_ - r) <= 1e-10
        assert model.status_ == "converged"
        assert 0.0 < model.lambda_ < np.inf
    else:
        assert (model.lambda_, model.status_) == (0.0, "inactive")
    assert model.bound_active_ == (r < 1.0) or r == 0.2
    assert all(np.isfinite(value) for value in model.unfairness_components_.values())


def test_the_largest_of_several_needs_the_largest_penalty(data):
    combined = DEFINITIONS["largest"][0]
    model = data.fit(0.05, definition=combined)
    singles = [data.fit(0.05, definition=name).lambda_ for name in combined.definitions]
    assert model.lambda_ == pytest.approx(max(singles), rel=1e-6)


def test_uncentered_shares_depend_on_the_origin_and_centered_ones_do_not(family):
    def value(center, shift):
        data = Data(family)
        data.S = data.S + shift
        return data.fit(1.0, definition=StatisticalParity(center, "deviance")).unfairness_

    assert value(True, 10.0) == pytest.approx(value(True, 0.0), rel=1e-8)
    moved = abs(value(False, 10.0) - value(False, 0.0))
    assert moved > 1e-3 or family in ("cox", "efron")  # the partial likelihood has no origin


def test_tjurs_measure_is_refused_where_there_are_no_outcomes():
    with pytest.raises(ValueError, match="needs a binomial model, not a poisson one"):
        Data("poisson").fit(definition=StatisticalParity(measure="tjur"))


# -------------------------------------------------------------- rows and paths


@pytest.mark.parametrize(
    ("family", "definition", "weighted"),
    [of_families(*row) for row in pairwise(NAMES, ["parity", "individual"], [False, True])],
)
def test_a_path_equals_its_models(data, definition):
    bounds = [0.0, 0.01, 0.1, 0.35, 1.0]
    model = data.model(definition=DEFINITIONS[definition][0])
    path = model.path(data.Z, data.y, unfairness=bounds, **data.arguments)
    for k, r in enumerate(bounds):
        single = data.fit(r, definition=DEFINITIONS[definition][0])
        np.testing.assert_allclose(path.alpha[k], single.alpha_, atol=1e-8)
        np.testing.assert_allclose(path.beta[k], single.beta_, atol=1e-8)
        np.testing.assert_allclose(path.lambda_[k], single.lambda_, rtol=1e-6)
        assert path.deviance[k] == pytest.approx(single.deviance_, rel=1e-9)
        assert path.status[k] == single.status_
        at = path.at(r)
        np.testing.assert_allclose(at.predict(data.Z), single.predict(data.Z), atol=1e-7)
        assert (at.unfairness, at.status_) == (r, single.status_)


def test_a_path_has_101_bounds_and_a_frame(family):
    data = Data(family, n=60)
    path = data.model().path(data.Z, data.y)
    frame = path.to_frame()
    classes = 4 if family == "multinomial" else 1
    assert len(path) == 101
    assert frame.shape == (101, 6 + classes * 6)
    assert (np.diff(path.achieved) >= -1e-9).all()
    assert (np.diff(path.deviance) <= 1e-9 * path.deviance[0]).all()
    assert set(path.status) <= {"converged", "inactive"}


@pytest.mark.parametrize("definition", ["parity", "opportunity", "individual"])
@pytest.mark.parametrize("family", [of_families(f) for f in NAMES if f != "efron"])
def test_integer_weights_equal_repeated_rows(family, definition):
    # Efron's ties depend on how many rows there are.
    data = Data(family)
    counts = np.random.default_rng(5).integers(0, 4, len(data.S))
    rows = np.repeat(np.arange(len(counts)), counts)
    weighted = data.model(0.05, definition=DEFINITIONS[definition][0])
    weighted.fit(data.Z, data.y, sample_weight=counts)
    repeated = data.model(0.05, definition=DEFINITIONS[definition][0])
    repeated.fit(data.Z[rows], data.y[rows])
    for name in (
        "alpha_",
        "beta_",
        "fair_intercept_",
        "lambda_",
        "deviance_",
        "loglik_",
        "dispersion_",
    ):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-7, atol=1e-9, err_msg=name
        )


def test_units_and_origin_of_S_do_not_matter(data):
    plain = data.fit(0.05)
    moved = Data(data.family, weighted=data.weight is not None)
    moved.S = moved.S * [100.0, 0.01] + [1000.0, -7.0]
    other = moved.fit(0.05)
    np.testing.assert_allclose(other.alpha_ * [100.0, 0.01], plain.alpha_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.beta_, plain.beta_, rtol=1e-6, atol=1e-9)


def test_a_constant_offset_moves_the_intercept_only(family):
    data = Data(family)
    plain = data.fit(0.05)
    shifted = data.model(0.05).fit(data.Z, data.y, offset=np.full(len(data.S), 3.0))
    np.testing.assert_allclose(shifted.alpha_, plain.alpha_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(shifted.beta_, plain.beta_, rtol=1e-7, atol=1e-10)
    moves = family not in ("cox", "efron", "multinomial")
    np.testing.assert_allclose(
        shifted.fair_intercept_, plain.fair_intercept_ - 3.0 * moves, atol=1e-8
    )
    assert shifted.deviance_ == pytest.approx(plain.deviance_, rel=1e-9)


def test_an_offset_of_all_classes_cancels():
    data = Data("multinomial")
    offset = np.random.default_rng(7).normal(size=len(data.S))
    plain, shifted = data.fit(0.05), data.model(0.05).fit(data.Z, data.y, offset=offset)
    np.testing.assert_allclose(shifted.alpha_, plain.alpha_, atol=1e-8)
    np.testing.assert_allclose(
        shifted.predict_proba(data.Z, offset=offset), plain.predict_proba(data.Z), atol=1e-8
    )


# ------------------------------------------------ shares that are not monotone


def small_problem(family, seed):
    rng = np.random.default_rng(seed)
    n, q, p = int(rng.integers(12, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    S = rng.normal(size=(n, q))
    X = rng.normal(size=(n, p)) + S @ rng.normal(size=(q, p)) * 0.5
    eta = X @ rng.normal(size=p) * rng.uniform(0, 2) + S @ rng.normal(size=q) * rng.uniform(0, 2)
    if family == "binomial":
        return S, X, (rng.random(n) < expit(eta)) * 1.0
    return S, X, rng.poisson(np.exp(np.clip(eta, -3, 2))) * 1.0


def plain_newton(family, D, y, penalty, theta):
    """Minimize a penalized deviance slowly and safely."""
    log_partition = (lambda x: np.logaddexp(0, x)) if family == "binomial" else np.exp

    def value(t):
        return 2.0 * np.sum(log_partition(D @ t) - y * (D @ t)) + t @ (penalty * t)

    for _ in range(200):
        mu = expit(D @ theta) if family == "binomial" else np.exp(D @ theta)
        h = mu * (1.0 - mu) if family == "binomial" else mu
        gradient = 2.0 * D.T @ (mu - y) + 2.0 * penalty * theta
        H = 2.0 * (D * h[:, None]).T @ D + 2.0 * np.diag(penalty)
        step, length = -np.linalg.solve(H, gradient), 1.0
        while value(theta + length * step) > value(theta) + 1e-12 and length > 1e-9:
            length /= 2.0
        theta = theta + length * step
        if -(gradient @ step) < 1e-18:
            break
    return theta


@cache
def profile_of(family, seed):
    """The deviance share of a small problem on the grid of penalties."""
    return share_profile(family, *small_problem(family, seed), GRID)


def share_profile(family, S, X, y, lambdas):
    """The deviance share for some penalties, by brute force."""
    centered = S - S.mean(0)
    U = X - X.mean(0) - centered @ np.linalg.lstsq(centered, X - X.mean(0), rcond=None)[0]
    D = np.column_stack([np.ones(len(y)), centered / centered.std(0), U / U.std(0)])
    on_S = (np.arange(D.shape[1]) >= 1) & (np.arange(D.shape[1]) <= S.shape[1])
    theta, shares = np.zeros(D.shape[1]), []
    log_partition = (lambda x: np.logaddexp(0, x)) if family == "binomial" else np.exp
    for lambda_ in lambdas[::-1]:
        theta = plain_newton(family, D, y, lambda_ * on_S, theta)
        level = np.arange(len(theta)) == 0
        full, without, null = (
            2.0 * np.sum(log_partition(D @ t) - y * (D @ t))
            for t in (theta, theta * ~on_S, theta * level)
        )
        shares.append((full - without) / (full - null))
    return np.array(shares[::-1])


GRID = np.concatenate([[0.0], np.logspace(-3, 8, 221)])


def scan(shares, r):
    """Neighbors on the grid of the smallest λ beyond which the bound always holds."""
    above = np.flatnonzero(shares > r)
    return (0.0, 0.0) if not above.size else (GRID[above[-1]], GRID[above[-1] + 1])


def fit_small(family, S, X, y, r):
    sensitive = list(range(S.shape[1]))
    if family == "binomial":
        model = FairRidgeClassifier(r, sensitive=sensitive)
    else:
        model = FairRidgeRegressor(r, sensitive=sensitive, family=family)
    return model.fit(np.column_stack([S, X]), y)


# Seeds found by trying some hundreds: rising, then falling shares, without separation.
HILLS = [("poisson", 77), ("poisson", 46), ("poisson", 58), ("poisson", 105), ("binomial", 105),
         ("binomial", 119)]  # fmt: skip


@pytest.mark.parametrize("height", [-0.5, 0.1, 0.5, 0.9])
@pytest.mark.parametrize(("family", "seed"), HILLS)
def test_the_smallest_penalty_from_which_on_the_bound_holds(family, seed, height):
    S, X, y = small_problem(family, seed)
    shares = profile_of(family, seed)
    foot, top = shares[0], shares.max()
    assert top > foot + 1e-4  # it does rise
    r = foot + height * (top - foot)
    lo, hi = scan(shares, r)
    model = fit_small(family, S, X, y, r)
    assert lo <= model.lambda_ <= hi
    assert model.unfairness_ == pytest.approx(r, abs=1e-9)
    assert model.status_ == "converged"


# Shares above 1: without S the model is worse than none.
LARGE = [("poisson", 14), ("poisson", 57), ("binomial", 13), ("binomial", 17), ("binomial", 82)]


@pytest.mark.parametrize("r", [0.05, 0.9, 0.999])
@pytest.mark.parametrize(("family", "seed"), LARGE)
def test_a_share_above_one_is_bounded(family, seed, r):
    S, X, y = small_problem(family, seed)
    shares = profile_of(family, seed)
    assert shares[0] > 1.0
    lo, hi = scan(shares, r)
    model = fit_small(family, S, X, y, r)
    assert lo <= model.lambda_ <= hi
    assert model.unfairness_ == pytest.approx(r, abs=1e-9)


def test_a_bound_that_nothing_meets_is_said(family):
    data = Data(family)
    with pytest.warns(BoundWarning, match="no penalty meets unfairness=0.2"):
        model = data.fit(0.2, definition=lambda fit: 0.4 + fit.sensitive_variance)
    assert (model.status_, model.converged_) == ("infeasible", False)
    np.testing.assert_array_equal(model.alpha_, 0.0)


def test_a_definition_that_is_no_number_is_refused(family):
    with pytest.raises(ValueError, match="finite number"):
        Data(family).fit(0.2, definition=lambda fit: float("nan"))


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.BoundWarning")
@pytest.mark.parametrize("r", [0.1, 0.5, 0.9])
def test_a_hill_is_met_on_its_far_side(family, r):
    def hill(fit):
        x = fit.sensitive_variance / fit.unconstrained().sensitive_variance
        return 4.0 * x * (1.0 - x)

    data = Data(family)
    model = data.fit(r, definition=hill)
    assert model.unfairness_ == pytest.approx(r, abs=1e-10)
    # The side on which the bound holds is that of the smaller coefficients.
    assert np.sum(model.alpha_**2) < 0.5 * np.sum(data.fit(1.0).alpha_ ** 2)
