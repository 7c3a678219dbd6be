"""Three projects from a messy file to the last page; the simulated truth is the judge."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    Monitor,
    audit,
    choose_bound,
    load,
    report,
    save,
)
from fairridge.export import relativities, to_sklearn, to_sql
from fairridge.rules import AdverseImpact
from tests.zoo import r_squared

pytestmark = pytest.mark.slow


def through_a_file(frame):
    """Write rows as CSV and read them again, gaps and all."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)))


def indicator(frame, name, level):
    return (frame[name] == level).to_numpy(dtype=float)[:, None]


# ------------------------------------------------------------------------- a tariff


def policies(n, seed):
    """Return claims with gaps in the age; men drive stronger cars, and have more claims."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "region": rng.choice(["country", "town"], n, p=[0.6, 0.4]),
            "age": np.where(rng.random(n) < 0.05, np.nan, rng.uniform(18, 80, n).round()),
            "power": (rng.normal(70, 15, n) + 15.0 * (sex == "m")).round(1),
            "exposure": rng.uniform(0.1, 1.0, n).round(3),
        }
    )
    age = frame["age"].fillna(49.0)
    eta = -2.6 + 0.3 * (frame["region"] == "town") - 0.01 * (age - 49.0)
    eta += 0.01 * (frame["power"] - 70.0) + 0.4 * (sex == "m")
    frame["rate"] = np.exp(eta)
    frame["claims"] = rng.poisson(frame["rate"] * frame["exposure"])
    return frame


def test_a_motor_tariff(tmp_path):
    rows, new = through_a_file(policies(20_000, 0)), through_a_file(policies(20_000, 1))
    columns = ["sex", "region", "age", "power"]
    X, years = rows[columns], rows["exposure"]
    options = {"family": "poisson", "sensitive": "sex", "missing": "level"}
    free = FairRidgeRegressor(1.0, **options).fit(X, rows["claims"], exposure=years)
    ratios = free.inference(X, rows["claims"], exposure=years).to_frame(
        confidence=0.999, exponentiate=True
    ).set_index("term")  # fmt: skip
    for term, effect in {"region[town]": 0.3, "power": 0.01, "age": -0.01}.items():
        assert ratios.loc[term, "lower"] < np.exp(effect) < ratios.loc[term, "upper"], term
    fair = FairRidgeRegressor(0.01, definition="mean-parity", **options)
    fair.fit(X, rows["claims"], exposure=years)
    men = indicator(new, "sex", "m")
    before, after = (r_squared(model.predict(new[columns]), men) for model in (free, fair))
    assert r_squared(new["rate"].to_numpy(), men) > 0.15
    assert before > 0.15
    assert after < 0.3 * before
    paid = pd.Series(fair.predict(new[columns], exposure=new["exposure"]))
    assert r_squared(paid.to_numpy(), men) < 0.02
    # The tariff earns what it must.
    assert paid.sum() == pytest.approx((new["rate"] * new["exposure"]).sum(), rel=0.05)
    found = audit(
        new["claims"],
        paid,
        sensitive_features=new["sex"],
        exposure=new["exposure"],
        favorable="low",
    )
    assert found.mean_ratio.value > 0.9
    ratios = {group.group: group.predicted_over_observed for group in found["sex"].groups}
    for sex in ("f", "m"):  # what a bound costs: women pay for the claims of men
        own = new["sex"] == sex
        truth = paid[own].sum() / (new["rate"] * new["exposure"])[own].sum()
        assert ratios[sex].low < truth < ratios[sex].high
    assert ratios["m"].high < 1.0 < ratios["f"].low
    factors = relativities(
        free, X, rows["claims"], exposure=years, confidence=0.999,
        bands={"age": [18, 30, 50, 65], "power": [60, 90]},
    )  # fmt: skip
    town = factors[factors["level"] == "town"].iloc[0]
    assert town["lower"] < np.exp(0.3) < town["upper"]
    assert '"power"' in to_sql(fair, exposure="exposure")
    save(fair, tmp_path / "tariff.json")
    loaded = load(tmp_path / "tariff.json")
    page = report(
        loaded, new[columns], new["claims"], tmp_path / "page.html", new_rows=True,
        exposure=new["exposure"],
    )  # fmt: skip
    assert "sex explains at most 1.00 % of the variance of the predicted rates" in page.summary
    assert (tmp_path / "page.html").stat().st_size > 10_000


# ------------------------------------------------------------------------- hiring


def applicants(n, seed, gap=0.8):
    """Return people of whom men have more years, and were hired more often for the same skill.

    Degrees are a reason that nobody disputes, and men have a few more.
    """
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    skill = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "applicant": [f"A{k:06d}" for k in range(n)],
            "sex": sex,
            "test": (50 + 10 * skill + 5 * rng.normal(size=n)).round(1),
            "years": np.maximum(rng.gamma(3.0, 2.0, n) + 2.5 * gap * (sex == "m"), 0).round(1),
            "degree": np.where(rng.random(n) < 0.4 + 0.1 * (sex == "m"), "master", "bachelor"),
        }
    )
    eta = -0.7 + 0.5 * (frame["degree"] == "master")
    eta += +0.9 * skill + gap * 0.5 * (sex == "m") + 0.15 * (frame["years"] - 7.0)
    frame["hired"] = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return frame


def impact_ratio(model, people, top):
    score = model.predict_proba(people.drop(columns=["applicant", "hired", "sex"]))[:, 1]
    selected = pd.Series(score >= np.quantile(score, 1.0 - top))
    rates = selected.groupby(people["sex"].to_numpy()).mean()
    return rates.min() / rates.max()


def test_hiring_without_asking_for_sex(tmp_path):
    train, held = (through_a_file(applicants(4000, seed)) for seed in (0, 1))
    people = applicants(60_000, 2)
    model = FairRidgeClassifier(
        sensitive="sex", blind=True, controls="degree", definition="mean-parity"
    )
    parts = [frame.drop(columns=["applicant", "hired"]) for frame in (train, held)]
    rule = AdverseImpact(0.7, top=0.2, minimum_share=0.02)
    choice = choose_bound(model, parts[0], train["hired"], parts[1], held["hired"], rule=rule)
    assert choice.granted
    # The rule holds where it must: in the population.
    free = model.set_params(unfairness=1.0).fit(parts[0], train["hired"])
    assert impact_ratio(free, people, 0.2) < 0.7
    assert impact_ratio(choice.model, people, 0.2) >= 0.7
    # Among people with the same degree, sex explains next to nothing of the scores.
    for degree in ("bachelor", "master"):
        alike = people[people["degree"] == degree]
        rows, men = alike[["test", "years", "degree"]], indicator(alike, "sex", "m")
        fair, plain = (
            r_squared(one.predict_proba(rows)[:, 1], men) for one in (choice.model, free)
        )
        assert plain > 0.02
        assert fair < 0.01
    save(choice.model, tmp_path / "model.json")
    deployed = load(tmp_path / "model.json")
    alone = people[["test", "years", "degree"]]
    np.testing.assert_array_equal(deployed.predict(alone), choice.model.predict(alone))
    page = report(deployed, parts[0], train["hired"], tmp_path / "page.html", cv=3, bootstrap=0)
    assert "AdverseImpact" in page.html
    assert "p-value of the bound" in page.html
    found = audit(
        held["hired"], deployed.predict_proba(parts[1]), sensitive_features=held[["sex"]],
        top=0.2, positive="yes",
    )  # fmt: skip
    assert found.overall.selection_rate.value == pytest.approx(0.2, abs=0.01)
    changed = applicants(6000, 3, gap=3.0)
    bound = max(2.0 * choice.unfairness, 0.02)
    for rows, alarm in ((people[:6000], False), (changed, True)):
        watch = Monitor(deployed, unfairness=bound)
        assert watch.update(rows.drop(columns=["applicant", "hired"])).alarm == alarm


# ------------------------------------------------------------------------- survival


def patients(n, seed):
    """Return times and events; older people and men fare worse, and doses are for the young."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    age = rng.uniform(30, 80, n).round()
    dose = np.where(rng.random(n) < 0.08, np.nan, 5.0 - 0.03 * age + rng.normal(size=n))
    eta = 0.03 * (age - 55) - 0.4 * np.nan_to_num(dose, nan=3.35) + 0.7 * (sex == "m")
    time = rng.exponential(5.0 * np.exp(-eta - 1.3))
    frame = pd.DataFrame({"sex": sex, "age": age, "dose": dose})
    frame["time"], frame["event"] = np.minimum(time, 8.0).round(4) + 1e-4, (time < 8.0) * 1
    return frame


def test_survival_behind_a_pipeline(tmp_path):
    rows, new = (through_a_file(patients(3000, seed)) for seed in (0, 1))
    columns, y = ["sex", "age", "dose"], rows[["time", "event"]]
    prepare = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), ["sex"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    fair = FairRidgeSurvival(0.02, sensitive=["sex_m"])
    model = make_pipeline(prepare, fair).fit(rows[columns], y)
    free = make_pipeline(prepare, FairRidgeSurvival(1.0, sensitive=["sex_m"]))
    free.fit(rows[columns], y)
    # Hazard ratios of the model without a bound are those of the truth.
    Z = free[:-1].transform(rows[columns])
    ratios = free[-1].inference(Z, y).to_frame(confidence=0.999, exponentiate=True)
    ratios = ratios.set_index("term")
    spread = rows["age"].std(ddof=0)
    for term, effect in {"sex_m": 0.7, "age": 0.03 * spread}.items():
        assert ratios.loc[term, "lower"] < np.exp(effect) < ratios.loc[term, "upper"], term
    men = indicator(new, "sex", "m")
    assert r_squared(free.predict(new[columns]), men) > 0.1
    assert r_squared(model.predict(new[columns]), men) < 0.04
    assert model.score(new[columns], new[["time", "event"]]) > 0.6
    plain = to_sklearn(model)
    relative = plain.predict(new[columns]) - model.predict(new[columns])
    assert np.ptp(relative) < 1e-9
    page = report(model, rows[columns], y, tmp_path / "page.html", cv=2, bootstrap=0)
    assert page.contents.subject.sensitive == ("sex_m",)
    save(model, tmp_path / "patients.json")
    loaded = load(tmp_path / "patients.json")
    np.testing.assert_array_equal(loaded.predict(new[columns]), model.predict(new[columns]))
    # Half of the people outlive their median, as far as times are known.
    seen, medians = (
        new["time"] < 8.0,
        loaded[-1].predict_median(loaded[:-1].transform(new[columns])),
    )
    assert (new["time"] > medians)[seen | (medians < 8.0)].mean() == pytest.approx(0.5, abs=0.05)
    times = np.linspace(0.5, 7.5, 30)
    brier = {}
    for name, one in (("free", free), ("fair", loaded)):
        survival = one[-1].predict_survival_function(one[:-1].transform(new[columns]), times=times)
        brier[name] = audit(
            new[["time", "event"]], one.predict(new[columns]), sensitive_features=new["sex"],
            survival=(times, survival),
        ).overall.brier  # fmt: skip
    assert brier["free"].high < 0.25  # that of a coin
    assert brier["free"].value < brier["fair"].value < brier["free"].value + 0.03
    watch = Monitor(model, unfairness=0.06)
    assert not watch.update(new[columns]).alarm
