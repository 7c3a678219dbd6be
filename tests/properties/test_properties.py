"""What must hold for any data."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairridge import FairRidgeRegressor

DEFINITIONS = ("statistical-parity", "equality-of-opportunity", "individual")


@st.composite
def problems(draw):
    """Rows with correlated S and X of unequal scale, q and p small."""
    seed = draw(st.integers(0, 2**32 - 1))
    n, q, p = draw(st.integers(20, 120)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, q)) @ rng.normal(size=(q, q))
    X = rng.normal(size=(n, p)) + S @ rng.normal(size=(q, p))
    y = X @ rng.normal(size=p) + S @ rng.normal(size=q) + rng.normal(size=n)
    assume(np.linalg.cond(np.column_stack([S, X])) < 1e3)
    return S, X, y


bounds = st.one_of(st.floats(1e-8, 1.0), st.just(0.0))
definitions = st.sampled_from(DEFINITIONS)


def fit(S, X, y, r, definition="statistical-parity", **options):
    sensitive = list(range(S.shape[1]))
    weight = options.pop("sample_weight", None)
    model = FairRidgeRegressor(r, sensitive=sensitive, definition=definition, **options)
    return model.fit(np.column_stack([S, X]), y, sample_weight=weight)


@given(problems(), bounds, definitions, st.sampled_from([0.0, 10.0]))
def test_the_bound_is_met(problem, r, definition, ridge):
    model = fit(*problem, r, definition, predictor_penalty=ridge)
    assert model.unfairness_ <= r + 1e-10
    assert abs(model.unfairness_ - r) <= 1e-10 or not model.bound_active_
    assert r < 1.0 or model.lambda_ == 0.0


@given(problems(), bounds)
def test_decorrelated_predictors_are_orthogonal_to_S(problem, r):
    S, X, y = problem
    model = fit(S, X, y, r)
    fair = model.predict(np.column_stack([S, X])) - S @ model.alpha_
    centered = S - S.mean(0)
    assert np.abs(centered.T @ fair).max() <= 1e-9 * len(y) * np.abs(centered).max() * (
        1 + np.abs(fair).max()
    )


@pytest.mark.slow
@given(problems(), bounds, definitions, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(problem, r, definition, random):
    S, X, y = problem
    plain = fit(S, X, y, r, definition)
    rows, s, x = (list(range(size)) for size in (len(y), S.shape[1], X.shape[1]))
    for order in (rows, s, x):
        random.shuffle(order)
    other = fit(S[rows][:, s], X[rows][:, x], y[rows], r, definition)
    np.testing.assert_allclose(other.alpha_, plain.alpha_[s], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.beta_, plain.beta_[x], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@given(problems(), bounds, definitions, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_units_and_origin_of_S_do_not_matter(problem, r, definition, origin, unit):
    S, X, y = problem
    plain = fit(S, X, y, r, definition)
    other = fit(S * unit + origin, X, y, r, definition)
    np.testing.assert_allclose(other.alpha_ * unit, plain.alpha_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.beta_, plain.beta_, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@given(problems(), bounds, definitions, st.integers(0, 10_000))
def test_integer_weights_equal_repeated_rows(problem, r, definition, seed):
    S, X, y = problem
    counts = np.random.default_rng(seed).integers(0, 4, len(y))
    assume(np.count_nonzero(counts) > S.shape[1] + X.shape[1] + 3)
    weighted = fit(S, X, y, r, definition, sample_weight=counts)
    repeated = fit(*(np.repeat(a, counts, axis=0) for a in (S, X, y)), r, definition)
    scale = np.abs(repeated.coef_).max()
    np.testing.assert_allclose(weighted.alpha_, repeated.alpha_, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(weighted.beta_, repeated.beta_, rtol=0, atol=1e-10 * scale)
    assert weighted.loglik_ == pytest.approx(repeated.loglik_, rel=1e-10)


@given(problems(), bounds)
def test_an_offset_is_a_known_part_of_the_response(problem, r):
    S, X, y = problem
    Z = np.column_stack([S, X])
    offset = np.linspace(-3, 5, len(y))
    model = FairRidgeRegressor(r, sensitive=list(range(S.shape[1])))
    shifted = model.fit(Z, y + offset, offset=offset).predict(Z, offset=offset)
    plain = model.fit(Z, y).predict(Z)
    np.testing.assert_allclose(shifted - offset, plain, atol=1e-8)


@pytest.mark.slow
@given(problems(), st.floats(1e-6, 0.9))
def test_no_smaller_penalty_meets_the_bound(problem, r):
    S, X, y = problem
    model = fit(S, X, y, r)
    assume(model.bound_active_)
    centered = (S - S.mean(0)) / S.std(0)
    lambda_ = model.lambda_ * 0.999
    alpha = np.linalg.solve(
        centered.T @ centered + lambda_ * np.eye(S.shape[1]), centered.T @ (y - y.mean())
    )
    rest = (model.predict(np.column_stack([S, X])) - S @ model.alpha_).var()
    variance = (centered @ alpha).var()
    assert variance / (variance + rest) > r
