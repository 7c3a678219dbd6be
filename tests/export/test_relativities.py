"""Tariff factors: against the coefficients, the rows of a portfolio, and refits."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import relativities, scorecard
from fairridge.families import Tweedie

BANDS = {"age": [18, 25, 40, 65]}


@pytest.fixture(scope="module")
def portfolio():
    rng, n = np.random.default_rng(11), 900
    X = pd.DataFrame(
        {
            "power": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["=north", "east", "west"], n),
            "age": rng.uniform(16.0, 80.0, n),
        }
    )
    years = rng.uniform(0.2, 1.0, n)
    rate = np.exp(-1.0 + 0.3 * X["power"] + 0.4 * (X["region"] == "west") - 0.01 * X["age"])
    return X, rng.poisson(rate * years), years


@pytest.fixture(scope="module")
def model(portfolio):
    X, y, years = portfolio
    poisson = FairRidgeRegressor(0.05, sensitive=["sex"], family="poisson")
    return poisson.fit(X, y, offset=np.log(years))


@pytest.fixture(scope="module")
def table(model, portfolio):
    X, y, years = portfolio
    return relativities(model, X, y, exposure=years, bands=BANDS)


def test_a_fit_with_an_exposure_needs_it_beside_responses(portfolio, table):
    X, y, years = portfolio
    model = FairRidgeRegressor(0.05, sensitive=["sex"], family="poisson")
    model.fit(X, y, exposure=years)
    with pytest.raises(ValueError, match=r"fitted with an exposure.*pass exposure=…"):
        relativities(model, X, y)
    base = relativities(model, X, y, exposure=years, bands=BANDS).iloc[0]
    assert base["observed_over_expected"] == pytest.approx(1.0)
    pd.testing.assert_series_equal(base, table.iloc[0])


def coefficients(model):
    return dict(zip(model.coef_names_, model.coef_, strict=True))


def test_levels_have_the_exponential_of_their_coefficient(model, table):
    by_name = coefficients(model)
    for _, line in table[table["attribute"].isin(["sex", "region"])].iterrows():
        wanted = np.exp(by_name.get(f"{line['attribute']}[{line['level']}]", 0.0))
        assert line["relativity"] == pytest.approx(wanted)
    roles = dict(zip(table["attribute"], table["role"], strict=True))
    assert roles == {
        "(base)": "", "sex": "sensitive", "power": "predictor", "region": "predictor",
        "age": "predictor",
    }  # fmt: skip


def test_the_factors_multiply_to_the_mean(model, table, portfolio):
    """Rows at the references of their bands have exactly exposure × base × Π relativities."""
    X, _, years = portfolio
    age = table[table["attribute"] == "age"]
    power = table[table["attribute"] == "power"].iloc[0]
    rows = X.head(40).copy()
    places = np.arange(40) % len(age)
    rows["age"] = age["reference"].to_numpy()[places]
    factor = np.full(40, table["relativity"].iloc[0]) * years[:40]
    factor *= age["relativity"].to_numpy()[places]
    factor *= power["relativity"] ** (rows["power"] - power["reference"])
    for name in ("sex", "region"):
        levels = table[table["attribute"] == name].set_index("level")["relativity"]
        factor *= rows[name].map(levels)
    np.testing.assert_allclose(factor, model.predict(rows, offset=np.log(years[:40])))


def test_portfolio_is_counted_by_level_and_band(model, table, portfolio):
    X, y, years = portfolio
    expected = model.predict(X, offset=np.log(years))
    inside = {
        ("region", "=north"): X["region"] == "=north",
        ("age", "below 18"): X["age"] < 18,
        ("age", "25 to 40"): (X["age"] >= 25) & (X["age"] < 40),
        ("age", "from 65"): X["age"] >= 65,
        ("(base)", ""): X["age"] > 0,
    }
    lines = table.set_index(["attribute", "level"])
    for key, rows in inside.items():
        line = lines.loc[key]
        assert line["exposure"] == pytest.approx(years[rows].sum())
        assert line["observed"] == y[rows].sum()
        assert line["expected"] == pytest.approx(expected[rows].sum())
        ratio = y[rows].sum() / expected[rows].sum()
        assert line["observed_over_expected"] == pytest.approx(ratio)
        if key[0] == "age":
            mean = np.average(X["age"][rows], weights=years[rows])
            assert line["reference"] == pytest.approx(mean)


def test_intervals_are_those_of_the_inference(model, table, portfolio):
    X, y, years = portfolio
    found = model.inference(X, y, offset=np.log(years)).to_frame().set_index("term")
    line = table.set_index(["attribute", "level"]).loc[("region", "west")]
    assert line["lower"] == pytest.approx(np.exp(found.loc["region[west]", "lower"]))
    assert line["upper"] == pytest.approx(np.exp(found.loc["region[west]", "upper"]))
    young = table.set_index(["attribute", "level"]).loc[("age", "18 to 25")]
    base = table[(table["attribute"] == "age") & (table["relativity"] == 1.0)].iloc[0]
    step = young["reference"] - base["reference"]
    ends = np.exp(step * found.loc["age", ["lower", "upper"]].to_numpy(float))
    assert sorted(ends) == pytest.approx([young["lower"], young["upper"]])
    assert base["lower"] == base["upper"] == 1.0
    narrow, rate = relativities(model, X, y, exposure=years, confidence=0.5).iloc[0], table.iloc[0]
    assert rate["lower"] < narrow["lower"] < narrow["upper"] < rate["upper"]


def test_factors_alone_need_no_rows(model):
    alone = relativities(model, bands=BANDS)
    assert list(alone.columns) == ["attribute", "role", "level", "reference", "relativity"]
    assert alone[alone["attribute"] == "age"]["reference"].tolist() == [21.5, 32.5, 52.5]
    assert relativities(model).iloc[-1]["level"] == "per unit"


def test_new_rows_have_exposures_and_no_intervals(model, portfolio):
    X, y, years = portfolio
    with pytest.warns(UserWarning, match="relativities have no intervals"):
        found = relativities(model, X.head(300), y[:300], exposure=years[:300])
    assert "lower" not in found
    assert found["observed"].iloc[0] == y[:300].sum()
    assert "observed" not in relativities(model, X, exposure=years)


def test_blind_models_of_amounts_with_weights(portfolio):
    X, y, years = portfolio
    blind = FairRidgeRegressor(0.05, sensitive=["sex"], family=Tweedie(power=1.5), blind=True,
                               definition="mean-parity")  # fmt: skip
    blind.fit(X, y, sample_weight=years)
    found = relativities(blind, X, y, sample_weight=years)
    assert "sex" not in set(found["attribute"])
    assert found["exposure"].iloc[0] == pytest.approx(years.sum())
    assert found["expected"].iloc[0] == pytest.approx((years * blind.predict(X)).sum())


def test_missing_numbers_have_a_factor(portfolio):
    X, y, years = portfolio
    gaps = X.assign(age=X["age"].where(np.arange(len(X)) % 7 > 0))
    model = FairRidgeRegressor(0.05, sensitive=["sex"], family="poisson", missing="level")
    model.fit(gaps, y, offset=np.log(years))
    found = relativities(model, gaps, y, exposure=years, bands=BANDS)
    lost = found.set_index(["attribute", "level"]).loc[("age", "(missing)")]
    rows = gaps["age"].isna()
    assert lost["observed"] == y[rows].sum()
    at_base = found[(found["attribute"] == "age") & (found["relativity"] == 1.0)]["reference"]
    pair = pd.concat([X.head(1).assign(age=np.nan), X.head(1).assign(age=at_base.iloc[0])])
    means = model.predict(pair)
    assert lost["relativity"] == pytest.approx(means[0] / means[1])


@pytest.mark.parametrize(
    ("bands", "message"),
    [
        ({"height": [1, 2]}, "'height', which is not a column"),
        ({"sex": [1, 2]}, "'sex', which has levels"),
        ({"age": [25, 18]}, "increasing"),
    ],
)
def test_bad_bands_are_named(model, bands, message):
    with pytest.raises(ValueError, match=message):
        relativities(model, bands=bands)


def test_other_families_are_refused_by_name(model, portfolio):
    X, y, _ = portfolio
    gaussian = FairRidgeRegressor(0.05, sensitive=["sex"]).fit(X, y)
    with pytest.raises(ValueError, match="is a gaussian model with the identity link"):
        relativities(gaussian)
    classes = FairRidgeClassifier(0.05, sensitive=["sex"]).fit(X, y > 0)
    with pytest.raises(ValueError, match=r"binomial model.*export\.scorecard"):
        relativities(classes)
    with pytest.raises(ValueError, match=r"is a poisson model.*export\.relativities"):
        scorecard(model)
