"""Levels of few rows: degrees of freedom by hand, coverage, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources


def study(rng, rare, n=400):
    """People of whom the first few have a level of their own, which does nothing."""
    sex = (rng.random(n) < 0.4) * 1.0
    skill, level = rng.normal(size=n) + 0.5 * sex, np.zeros(n)
    level[:rare] = 1.0
    Z = pd.DataFrame({"sex": sex, "skill]": skill, "rare": level})
    return Z, skill + sex + rng.normal(size=n)


def inferred(Z, y, covariance="HC1", r=0.05):
    return FairRidgeRegressor(r, sensitive=["sex"]).fit(Z, y).inference(Z, y, covariance=covariance)


@pytest.mark.parametrize(("covariance", "rare"), [("HC1", 2), ("HC3", 3), ("HC1", 12)])
def test_degrees_of_freedom_are_nearly_those_of_bell_and_mccaffrey(covariance, rare):
    Z, y = study(np.random.default_rng(rare), rare)
    found = inferred(Z, y, covariance, r=1.0)
    design = np.column_stack([np.ones(len(Z)), Z])
    pinv = np.linalg.pinv(design)
    left = np.eye(len(Z)) - design @ pinv
    b = pinv**2 / np.diag(left) ** (2 if covariance == "HC3" else 0)
    for row, ours in zip(b, found.raw.df, strict=True):
        forms = left * row  # the product with its transpose has the eigenvalues of Σ b e²
        exact = np.trace(forms) ** 2 / np.trace(forms @ forms)
        assert min(ours, 20.0) <= min(exact, 20.0) * (1.0 + 1e-9)
        assert min(ours, 20.0) >= 0.9 * min(exact, 20.0)
    assert found.raw.df[3] == pytest.approx(rare - 1, rel=0.12)
    ends = found.confidence_interval()[3]
    assert ends[1] - ends[0] > 4.0 * found.standard_errors[3]  # not 3.92, by normal quantiles
    t = found.estimate[3] / found.standard_errors[3]
    assert found.to_frame()["p_value"][3] == pytest.approx(
        2.0 * student.sf(abs(t), found.raw.df[3])
    )
    assert "'rare' (" in str(found)


def test_variances_are_corrected_for_what_residuals_lack():
    Z, y = study(np.random.default_rng(1), 2)
    found, plain = inferred(Z, y, r=1.0), inferred(Z, y, covariance="HC0", r=1.0)
    design = np.column_stack([np.ones(len(Z)), Z])
    pinv = np.linalg.pinv(design)
    leverage = np.einsum("ij,ji->i", design, pinv)
    error = y - design @ (pinv @ y)
    hc0 = (pinv**2) @ error**2
    lacking = (pinv**2).sum(axis=1) / (pinv**2 @ (1.0 - leverage))
    hc1 = hc0 * len(y) / (len(y) - 4)
    # Many rows tell of the others, which are those of HC1 and HC0.
    wanted = np.array([*hc1[:3], hc0[3] * lacking[3]])
    np.testing.assert_allclose(found.standard_errors, np.sqrt(wanted), rtol=1e-6)
    np.testing.assert_allclose(plain.standard_errors[:3], np.sqrt(hc0[:3]), rtol=1e-6)
    assert found.standard_errors[3] ** 2 > 1.9 * hc1[3]


def test_a_level_of_one_row_has_no_standard_error():
    Z, y = study(np.random.default_rng(3), 1)
    found = inferred(Z, y)
    assert np.isnan(found.standard_errors[3])
    assert np.isnan(found.confidence_interval()[3]).all()
    assert np.isfinite(found.standard_errors[:3]).all()
    assert "No standard errors of 'rare': each belongs to one row" in str(found)
    with pytest.raises(ValueError, match=r"cannot be tested.* Merge it with others"):
        found.wald_test(["rare"])
    with pytest.raises(ValueError, match="rare"):
        found.predict(Z)
    assert len(found.predict(Z[Z["rare"] == 0.0])) == len(Z) - 1


@pytest.mark.parametrize(
    ("covariance", "sensitive"), [("HC0", "sex"), ("HC1", "rare"), ("HC3", "rare")]
)
def test_a_level_of_one_row_leaves_the_errors_of_others(covariance, sensitive):
    """They are those without the row; HC0 and HC1 are corrected for what residuals lack."""
    Z, y = study(np.random.default_rng(3), 1)
    model = FairRidgeRegressor(1.0, sensitive=[sensitive])
    found = model.fit(Z, y).inference(Z, y, covariance=covariance)
    errors = dict(zip(found.names, found.standard_errors, strict=True))
    without = inferred(Z[1:].drop(columns="rare"), y[1:], covariance, r=1.0)
    wanted = dict(zip(without.names, without.standard_errors, strict=True))
    for name, error in wanted.items():
        assert errors[name] == pytest.approx(error, rel=1e-6 if covariance == "HC3" else 0.01)
    assert np.isnan(errors["rare"])
    bound = inferred(Z, y, covariance).standard_errors[:3]
    np.testing.assert_allclose(bound, inferred(Z, y).standard_errors[:3], rtol=0.05)


def test_the_base_of_few_rows_makes_all_levels_uncertain():
    rng = np.random.default_rng(4)
    job = np.where(np.arange(300) < 3, "a", rng.choice(["b", "c"], 300))
    Z = pd.DataFrame({"sex": rng.random(300), "job": job})
    found = inferred(Z, rng.normal(size=300))
    df = dict(zip(found.names, found.raw.df, strict=True))
    assert df["job[b]"] == pytest.approx(2.0, rel=0.1)
    assert found.wald_test(["job"]).df_residual == pytest.approx(2.0, rel=0.1)


def test_files_and_repeated_rows_agree_with_rows_in_memory(tmp_path):
    Z, y = study(np.random.default_rng(5), 4)
    Z["y"] = (y > 0.5) * 1
    Z.to_parquet(tmp_path / "rows.parquet")
    model = FairRidgeClassifier(0.05, sensitive=["sex"])
    X = Z.drop(columns="y")
    memory = model.fit(X, Z["y"]).inference(X, Z["y"])
    rows = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=["sex"])
    files = FairRidgeClassifier(0.05).fit(rows).inference(rows)
    np.testing.assert_allclose(files.raw.df, memory.raw.df, rtol=1e-6)
    np.testing.assert_allclose(files.standard_errors, memory.standard_errors, rtol=1e-6)
    assert memory.raw.df[3] < 10.0


@pytest.mark.slow
@pytest.mark.parametrize(("covariance", "rare"), [("HC1", 2), ("HC3", 3)])
def test_intervals_of_few_rows_cover(rare, covariance):
    covered = 0
    for seed in range(300):
        Z, y = study(np.random.default_rng([rare, seed]), rare)
        low, high = inferred(Z, y, covariance).confidence_interval()[3]
        covered += low <= 0.0 <= high
    assert covered / 300 >= 0.92  # more than two Monte Carlo errors below


@pytest.mark.slow
def test_unequal_levels_that_do_nothing_are_rejected_as_often_as_promised():
    shares, rejected = np.arange(1, 9)[::-1] ** 1.5, 0
    for seed in range(300):
        rng = np.random.default_rng([8, seed])
        while True:
            job = rng.choice(8, 300, p=shares / shares.sum())
            if np.bincount(job, minlength=8).min() >= 2:
                break
        Z, y = study(rng, 0, 300)
        Z = Z.drop(columns="rare").assign(job=[f"j{k}" for k in job])
        rejected += inferred(Z, y).wald_test(["job"]).p_value < 0.05
    assert 0.005 <= rejected / 300 <= 0.065
