"""Rows in memory, the same rows elsewhere, and how close two models must be."""

from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairridge import FairRidgeRegressor, sources
from tests.zoo import LateModule

dd = LateModule("dask.dataframe")

# More numbers than `search.glm.FEW_NUMBERS`, where λ is scanned with few passes.
N = 4000
COLUMNS = ["sex", "skill", "age", "region", "years"]
SENSITIVE = ["age", "sex"]
ROLES = {"response": "wage", "sensitive": SENSITIVE}
NUMBERS = (
    "alpha_", "beta_", "fair_intercept_", "coef_", "intercept_", "lambda_", "unfairness_",
    "deviance_", "loglik_", "dispersion_", "explained_deviance_", "explained_by_sensitive_",
)  # fmt: skip

# What an audit of a source has alone, or not at all.
OTHER = ("_backend", "learned_share", "score_bins", "record")


def make_people(n=N, seed=1):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male", "other"], n, p=[0.48, 0.48, 0.04])
    age = rng.normal(40.0, 10.0, n)
    region = pd.Categorical(rng.choice(list("abc"), n), categories=["c", "unused", "b", "a"])
    skill = rng.normal(size=n) + (sex == "male")
    years = rng.normal(size=n) + 0.02 * age
    eta = (
        0.5 * skill
        - 0.3 * years
        + 0.4 * (sex == "male")
        + 0.02 * (age - 40)
        + 0.3 * (region == "a")
    )
    offset = 0.2 * rng.normal(size=n)
    return pd.DataFrame(
        {
            "sex": sex,
            "skill": skill,
            "age": age,
            "region": region,
            "years": years,
            "wage": 10.0 + eta + rng.normal(size=n),
            "hired": np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"),
            "job": np.array(["cook", "clerk", "smith"])[
                (eta[:, None] * [0.0, 0.7, -0.5] + rng.gumbel(size=(n, 3))).argmax(1)
            ],
            "visits": rng.poisson(np.exp(0.4 * eta + offset)),
            "cost": rng.gamma(2.0, np.exp(0.3 * eta) / 2.0),
            "weight": rng.integers(0, 4, n).astype(float),
            "exposure": offset,
        }
    )


@pytest.fixture(scope="session")
def people():
    return make_people()


def columns_of(response, weight=None, offset=None):
    return [*COLUMNS, response, *(name for name in (weight, offset) if name)]


def write_files(frame, folder, cuts=(0, 1, 1600, 1600), **options):
    """Write a frame to several files, one of them empty and one of a single row."""
    folder.mkdir(exist_ok=True)
    ends = [*cuts[1:], len(frame)]
    for k, (start, stop) in enumerate(zip(cuts, ends, strict=True)):
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(table, folder / f"part-{k}.parquet", **{"row_group_size": 300} | options)
    return folder


def in_parquet(frame, folder, **roles):
    return sources.parquet(write_files(frame, folder / "files"), **roles, batch_rows=1300)


def in_dask(frame, folder, **roles):
    return sources.dask(dd.from_pandas(frame, npartitions=3, sort=False), **roles)


HOMES = {"parquet": in_parquet, "dask": in_dask}


@pytest.fixture(params=["parquet", pytest.param("dask", marks=pytest.mark.slow)])
def home(request, tmp_path):
    """A function from a frame and roles to rows somewhere else."""
    return lambda frame, **roles: HOMES[request.param](frame, tmp_path, **roles)


def assert_same_model(ours, theirs, tolerance=1e-10):
    for name in NUMBERS:
        a, b = (np.asarray(getattr(model, name), dtype=float) for model in (ours, theirs))
        scale = max(np.abs(b[np.isfinite(b)]).max(initial=0.0), 1e-300)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale, err_msg=name)
    assert ours.status_ == theirs.status_
    assert ours.n_rows_ == theirs.n_rows_
    assert list(ours.coef_names_) == list(theirs.coef_names_)
    assert list(ours.feature_names_in_) == list(theirs.feature_names_in_)


def numbers_of(found, name=""):
    """All that a record holds, by where it is."""
    if is_dataclass(found):
        parts = {field.name: getattr(found, field.name) for field in fields(found)}
        parts = {key: part for key, part in parts.items() if key not in OTHER}
    elif isinstance(found, dict):
        parts = found
    elif isinstance(found, tuple | np.ndarray):
        parts = dict(enumerate(found))
    else:
        return {name: found}
    return {
        k: v for key, part in parts.items() for k, v in numbers_of(part, f"{name}/{key}").items()
    }


def assert_same_audit(ours, theirs, tolerance=1e-9, enough=500):
    found, expected = numbers_of(ours), numbers_of(theirs)
    assert found.keys() == expected.keys()
    assert len(expected) > enough
    for name, value in expected.items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=tolerance, abs=1e-12, nan_ok=True)
        assert found[name] == value, name


@pytest.fixture
def small(people):
    return people[columns_of("wage")].head(400)


@pytest.fixture
def folder(small, tmp_path):
    return write_files(small, tmp_path / "files", cuts=(0, 100, 100, 250))


def in_memory(frame, **options):
    """A model of the wage."""
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    return model.fit(frame[COLUMNS], frame["wage"], **options)
