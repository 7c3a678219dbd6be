"""Models of every family, on columns of every kind."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairridge.families import Tweedie
from tests.zoo import model_of

NASTY = {
    'a"b': ["it's", 'say "hi"', "back\\slash"],
    "<script>alert(1)</script>": ["</td>", "a;DROP TABLE data;--", "%s ${HOME} {x}"],
    "größe µ 年齢": ["ünïcode", "日本", "emoji 🙂"],
    "a`b'c": ["", " ", "line\nbreak"],
}


@pytest.fixture(scope="session")
def workers():
    """People with numbers, booleans, texts and declared levels; and responses of every family."""
    rng = np.random.default_rng(17)
    n = 240
    frame = pd.DataFrame(
        {
            "skill": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], n),
            "hours": rng.integers(10, 50, n),
            "region": pd.Categorical(
                rng.choice(["west", "north", "east"], n), ["moon", "west", "north", "east"]
            ),
            "manager": rng.random(n) < 0.3,
            "age": rng.integers(20, 65, n).astype(float),
        }
    )
    eta = 0.6 * frame["skill"] + 0.5 * (frame["sex"] == "m") + 0.01 * frame["age"] - 0.5
    noise = rng.normal(size=n)
    p = 1 / (1 + np.exp(-eta))
    responses = {
        "gaussian": eta + noise,
        "poisson": rng.poisson(np.exp(eta)),
        "gamma": rng.gamma(2.0, np.exp(eta)),
        "tweedie": np.where(rng.random(n) < 0.3, 0.0, rng.gamma(2.0, np.exp(eta))),
        "quasi-binomial": np.clip(p + 0.1 * noise, 0.0, 1.0),
        "binomial": np.where(rng.random(n) < p, "yes", "no"),
        "multinomial": np.array(["a", "b", "c"])[
            (rng.random(n) < p).astype(int) + (rng.random(n) < 0.4)
        ],
        "cox": pd.DataFrame(
            {"time": rng.exponential(np.exp(-eta)).round(3) + 0.001, "event": rng.random(n) < 0.8}
        ),
    }
    return SimpleNamespace(X=frame, y=responses, sensitive=["sex", "age"])


FAMILIES = ("gaussian", "poisson", "gamma", "tweedie", "quasi-binomial", "binomial",
            "multinomial", "cox")  # fmt: skip


def make_model(family, **options):
    return model_of(Tweedie(power=1.3) if family == "tweedie" else family, 0.1, **options)


@pytest.fixture(scope="session")
def fitted(workers):
    """Return a fitted model of a family; every family is fitted once."""
    kept = {}

    def fit(family):
        if family not in kept:
            model = make_model(family, sensitive=workers.sensitive)
            kept[family] = model.fit(workers.X, workers.y[family])
        return kept[family]

    return fit


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def model(family, fitted):
    return fitted(family)


@pytest.fixture(scope="session")
def nasty():
    """Names and levels that hurt those who paste text into code."""
    rng = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame({name: rng.choice(levels, n) for name, levels in NASTY.items()})
    frame["linear_predictor"] = rng.normal(size=n)
    y = np.array(["no\\' OR 1=1", 'yes "🙂"'])[
        (frame["linear_predictor"] + rng.normal(size=n) > 0).astype(int)
    ]
    return SimpleNamespace(X=frame, y=y, sensitive=list(NASTY)[:2])
