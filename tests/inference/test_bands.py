"""Bands that hold for all models of a path at once."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, KomiyamaRegressor
from fairridge.fairness import StatisticalParity
from fairridge.families import Gaussian
from fairridge.penalties import Ridge
from tests.zoo import LateModule

from .problems import analyzed, draw, influences_of
from .test_models import COLUMNS, SENSITIVE, make_people

plt = LateModule("matplotlib.pyplot")

BOUNDS = np.array([0.0, 0.01, 0.05, 0.2, 0.5, 1.0])


@pytest.fixture(scope="module")
def people():
    return make_people(n=500)


@pytest.fixture(scope="module")
def path(people):
    model = FairRidgeRegressor(sensitive=SENSITIVE)
    return model.path(people[COLUMNS], people["wage"], unfairness=BOUNDS)


@pytest.mark.parametrize("covariance", ["HC1", "HC3"])
def test_errors_at_each_bound_are_those_of_the_model(people, path, covariance):
    found = path.bands(covariance=covariance)
    np.testing.assert_array_equal(found.unfairness, BOUNDS)
    np.testing.assert_allclose(found.estimate[:, 1:3], path.alpha)
    for k, r in enumerate(BOUNDS):
        one = path.at(r).inference(people[COLUMNS], people["wage"], covariance=covariance)
        width = len(found.names)
        np.testing.assert_allclose(
            found.standard_errors[k], one.fair.standard_errors[:width], rtol=1e-8, atol=1e-12
        )


def test_critical_values_are_those_of_multipliers():
    settings = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}
    data, bounds = draw(Gaussian(), n=200), (0.0, 0.01, 0.1, 0.3)
    S, X, y, _ = data
    found = (
        FairRidgeRegressor()
        .path(X, y[:, 0], sensitive_features=S, unfairness=bounds)
        .bands(covariance="HC0")
    )
    influences = np.stack(
        [
            influences_of(analyzed(Gaussian(), data, StatisticalParity(), r, **settings))[1][:, 0]
            for r in bounds
        ]
    )
    errors = np.sqrt((influences**2).sum(axis=1)) / 200
    normal = np.random.default_rng(1).standard_normal((20_000, 200))
    moved = normal @ influences[1:] / 200 / errors[1:, None]
    expected = np.quantile(np.abs(moved).max(axis=0), 0.95, axis=0)
    np.testing.assert_allclose(found.critical, expected, rtol=0.03)


def test_bands_of_classes(people):
    model = FairRidgeClassifier(sensitive=SENSITIVE, definition="mean-parity")
    path = model.path(people[COLUMNS], people["job"], unfairness=[0.0, 0.02, 1.0])
    found = path.bands()
    assert len(found.names) == 18
    assert found.names[0] == "intercept → clerk"
    frame = found.to_frame()
    assert len(frame) == 3 * 18
    assert frame["coefficient"].between(frame["lower"], frame["upper"]).all()
    ax = path.plot(bands=True)
    assert len(ax.collections) == 8  # one per color
    plt.close(ax.figure)


def test_figures_shade_bands(path):
    found, ax = path.bands(0.8), path.plot(bands=True, confidence=0.8)
    shaded = ax.collections[0].get_paths()[0].vertices[:, 1]
    deviation = path._deviations[0][0]
    assert shaded.max() == pytest.approx(deviation * found.upper[:, 1].max())
    assert shaded.min() == pytest.approx(deviation * found.lower[:, 1].min())
    plt.close(ax.figure)


def test_what_has_no_bands(people, path):
    with pytest.raises(ValueError, match="bands=True is for kind='coefficients'"):
        path.plot("accuracy", bands=True)
    with pytest.raises(ValueError, match="confidence=95"):
        path.bands(95)
    numbers = people[["age", "skill"]]
    other = KomiyamaRegressor(sensitive=["age"]).path(numbers, people["wage"])
    with pytest.raises(ValueError, match="KomiyamaRegressor has no standard errors"):
        other.bands()


@pytest.mark.slow
def test_bands_cover_the_whole_path():
    rng, bounds = np.random.default_rng(3), np.linspace(0.0, 1.0, 21)

    def sample(n):
        S = np.column_stack([rng.random(n) < 0.4, rng.exponential(size=n)]).astype(float)
        X = 0.5 * S @ [[1.0, 0.3], [-0.4, 0.6]] + rng.normal(size=(n, 2)) * (1.0 + S[:, :1])
        y = S @ [1.0, 0.5] + X @ [0.7, -0.4] + (0.5 + S[:, 0]) * rng.normal(size=n)
        return FairRidgeRegressor().path(X, y, sensitive_features=S, unfairness=bounds)

    truth = sample(300_000)
    expected = np.column_stack([truth.intercept, truth.alpha, truth.beta])
    covered = np.zeros(5)
    for _ in range(100):
        found = sample(500).bands()
        inside = (found.lower - 1e-9 <= expected) & (expected <= found.upper + 1e-9)
        covered += inside.all(axis=0) / 100
    error = np.sqrt(0.05 * 0.95 / 100)
    assert (covered > 0.95 - 3 * error).all()
