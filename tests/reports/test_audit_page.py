"""The page: complete in itself, the same every time, and true to its contents."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.validation.report import case as report_case

pytestmark = pytest.mark.slow

VOID = {"br", "col", "input", "meta"}


class Reader(HTMLParser):
    """Checks nesting, and keeps tags, attributes and texts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.spans, self.text = [], [], [], {}, []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append((tag, dict(attributes).get("data-t")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            tag, key = self.open[-1]
            if tag not in ("script", "style"):
                self.text.append(data)
            if key is not None:
                self.spans[key] = self.spans.get(key, "") + data


def payload(page):
    text = re.search(r'<script type="application/json" id="series">(.*?)</script>', page).group(1)
    return json.loads(text)


def test_complete_in_itself(gaussian_report):
    page, reader = gaussian_report.html, Reader(gaussian_report.html)
    assert page.startswith("<!doctype html>")
    assert not re.search(r"(https?:)?//[a-z]", page.replace("// ", ""))
    assert not {"link", "img", "iframe", "object", "embed", "form"} & set(reader.tags)
    assert not [a for a in reader.attributes if a[1].startswith("on")]
    assert all(value.startswith("#") for _, name, value in reader.attributes if name == "href")
    assert reader.tags.count("script") == 2


def test_only_its_own_script_may_run(gaussian_report):
    page = gaussian_report.html
    script = page.rsplit("<script>", 1)[1].rsplit("</script>", 1)[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert f"script-src &#x27;sha256-{digest}&#x27;" in policy
    assert "default-src &#x27;none&#x27;" in policy


def test_links_point_to_sections(binomial_report):
    reader = Reader(binomial_report.html)
    targets = {value for _, name, value in reader.attributes if name == "id"}
    links = {value[1:] for _, name, value in reader.attributes if name == "href"}
    assert len(links) >= 8
    assert links <= targets
    described = {value for _, name, value in reader.attributes if name == "aria-labelledby"}
    assert described <= targets


def test_texts_at_the_chosen_bound_are_those_of_the_payload(binomial_report):
    contents, data = binomial_report.contents, payload(binomial_report.html)
    spans, m = Reader(binomial_report.html).spans, len(contents.unfairness)
    assert len(spans) > 100
    for key, shown in spans.items():
        texts = data["views"][data["view"]].get(key) or data["texts"][key]
        assert len(texts) in (1, m)
        assert shown == texts[-1 if len(texts) == 1 else contents.chosen]
    assert len(data["shares"]) == m
    assert data["chosen"] == contents.chosen
    keys = [set(own) for own in data["views"].values()]
    assert all(own == keys[0] for own in keys)


def test_the_same_every_time(people, people_X, tmp_path):
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"])
    options = {"cv": 3, "bootstrap": 5}
    first = fairridge.report(model, people_X, people["gaussian"], tmp_path / "a.html", **options)
    fairridge.report(model, people_X, people["gaussian"], str(tmp_path / "b.html"), **options)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == first.html
    other = fairridge.report(model, people_X, people["gaussian"], random_state=1, **options)
    assert other.html != first.html
    dated = fairridge.report(model, people_X, people["gaussian"], date="1 May 2030", **options)
    assert "1 May 2030" in dated.html
    assert not re.search(r"20[2-9]\d-\d\d-\d\d", first.html)


def test_the_fingerprint_sees_every_value(people, people_X):
    model = FairRidgeRegressor(0.05, sensitive=["sex"])

    def fingerprint(X, y):
        record = fairridge.report(model, X, y, cv=0, bootstrap=0).contents.subject.record
        return dict(record)["Fingerprint of the rows (SHA-256)"]

    y = people["gaussian"].to_numpy()
    base = fingerprint(people_X, y)
    assert re.fullmatch("[0-9a-f]{64}", base)
    changed = people_X.copy()
    changed.loc[7, "income"] += 1e-9
    renamed = people_X.rename(columns={"income": "Income"})
    other = y.copy()
    other[3] += 1e-9
    categories = people_X.assign(region=pd.Categorical(people_X["region"]))
    assert fingerprint(categories, y) == base
    found = {base, fingerprint(changed, y), fingerprint(renamed, y), fingerprint(people_X, other)}
    assert len(found) == 4


def test_wide_data_stay_small(monkeypatch):
    rng = np.random.default_rng(0)
    n = 300
    monkeypatch.setattr(report_case, "POINTS", 40)
    X = pd.DataFrame(rng.normal(size=(n, 120)), columns=[f"x{k}" for k in range(120)])
    X["state"] = [f"state number {k}" for k in rng.integers(0, 43, n)]
    X["town"] = [f"town number {k}" for k in rng.integers(0, 9, n)]
    X["age"] = rng.normal(size=n)
    y = X["x0"] + 0.5 * X["age"] + rng.normal(size=n)
    model = FairRidgeRegressor(0.05, sensitive=["state", "town", "age"])
    report = fairridge.report(model, X, y, cv=2, bootstrap=2)
    assert len(report.html.encode()) < 3e6
    assert report.contents.left_out > 40
    assert "smaller groups are not shown" in report.html
    assert f"{report.contents.left_out} more, with smaller coefficients" in report.html


def test_small_groups_are_marked(people, people_X):
    X = people_X.copy()
    X.loc[:4, "region"] = "tiny"
    model = FairRidgeRegressor(0.05, sensitive=["region"])
    page = fairridge.report(model, X, people["gaussian"], cv=2, bootstrap=2).html
    assert "tiny †" in "".join(Reader(page).text)


@pytest.mark.parametrize("options", [{"cv": 0}, {"bootstrap": 0}])
def test_parts_may_be_left_out(people, people_X, options):
    model = FairRidgeRegressor(0.05, sensitive=["sex"])
    report = fairridge.report(
        model, people_X, people["gaussian"], **{"cv": 2, "bootstrap": 2} | options
    )
    Reader(report.html)
    record = dict(report.contents.subject.record)
    assert record["Held-out rows"] == ("none" if "cv" in options else "2 folds, seed 0")
    assert record["Refits"] == ("none" if "bootstrap" in options else "2, seed 0")
    assert ("refitted" in report.summary) == ("bootstrap" not in options)
    assert ("held out" in report.summary) == ("cv" not in options)


def test_progress_counts_to_the_end(people, people_X):
    steps = []
    model = FairRidgeRegressor(0.05, sensitive=["sex"])
    fairridge.report(model, people_X, people["gaussian"], cv=2, bootstrap=3,
                 progress=lambda *step: steps.append(step))  # fmt: skip
    done = [count for _, count, _ in steps]
    assert done == list(range(1, steps[-1][2] + 1))
    assert [stage for stage, *_ in dict.fromkeys(s[:1] for s in steps)] == [
        "held-out folds", "refits", "groups",
    ]  # fmt: skip


def test_functions_among_the_settings_have_no_address(people, people_X):
    def share(fit):
        return fit.sensitive_variance / (fit.sensitive_variance + fit.predictor_variance)

    model = FairRidgeRegressor(0.05, sensitive=["sex"], definition=share)
    page = fairridge.report(model, people_X, people["gaussian"], cv=0, bootstrap=0).html
    assert " at 0x" not in page
    assert "share" in page


def test_the_report_says_what_it_is(gaussian_report):
    assert repr(gaussian_report).startswith("AuditReport('Fairness audit of a model for gaussian'")
    assert "5.00 %" in gaussian_report.summary
    assert "RMSE, held-out rows" in gaussian_report.html
    assert "RMSE, training" not in gaussian_report.html


@pytest.mark.slow
def test_many_rows_have_fewer_folds_and_no_refits(people, people_X, monkeypatch):
    from fairridge.validation.report import gather

    monkeypatch.setattr(gather, "MANY_ROWS", 300)
    monkeypatch.setattr(gather, "REFIT_WORK", 1e5)
    model = FairRidgeRegressor(0.05, sensitive=["sex"])
    few = fairridge.report(model, people_X, people["gaussian"]).contents
    assert (few.folds, few.refits) == (3, None)
    asked = fairridge.report(model, people_X, people["gaussian"], cv=4, bootstrap=3).contents
    assert (asked.folds, asked.refits.count) == (4, 3)


FIGURE = re.compile(r"[−-]?\d[\d,.]*")


@pytest.mark.parametrize("kind", ["counts", "blind", "new"])
def test_a_paragraph_has_three_figures_at_most(people, people_X, kind):
    sensitive, column, options = ["sex", "years"], "binomial", {"cv": 3, "bootstrap": 4}
    X = people_X.rename(columns={"age": "years"})
    X = X.assign(years=np.where(X["years"] > X["years"].median(), "old", "young"))
    model = FairRidgeClassifier(0.02, sensitive=sensitive, blind=kind == "blind")
    if kind == "counts":
        model, column = FairRidgeRegressor(0.05, sensitive=sensitive, family="poisson"), "poisson"
        options["top"] = 0.2
    elif kind == "new":
        model, options = model.fit(X, people[column]), {"new_rows": True}
    page = fairridge.report(model, X, people[column], **options)
    paragraphs = page.summary.split("\n\n")
    assert len(paragraphs) >= 5
    for text in paragraphs:
        assert len(FIGURE.findall(text)) <= 3, text
    # Differences between shares are in points, and shares in %.
    assert not re.search(r"differ\w* by up to [\d.]+ %", page.summary)


def test_calibration_begins_with_totals(tmp_path):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 400)
    X = pd.DataFrame({"sex": sex, "x": rng.normal(size=400) + (sex == "m")})
    y = np.where(rng.random(400) < 1 / (1 + np.exp(-X["x"])), "yes", "no")
    model = FairRidgeClassifier(0.02, sensitive=["sex"], definition="mean-parity").fit(X, y)
    place = tmp_path / "report.html"
    fairridge.report(model, X, y, place, favorable="yes")
    text = place.read_text(encoding="utf-8")
    found = re.search(r"Total predicted over total observed: ([^<]*)", text).group(1)
    numbers_of = r"(\S.*?) (\d\.\d{3}) \((\d\.\d{3}) to (\d\.\d{3})\)"
    groups = {
        name.lstrip(", "): list(map(float, rest)) for name, *rest in re.findall(numbers_of, found)
    }
    assert set(groups) == {"all rows", "f", "m"}
    assert all(low < value < high for value, low, high in groups.values())
    assert groups["all rows"][0] == pytest.approx(1.0, abs=0.01)
    assert groups["m"][0] < 1.0 < groups["f"][0]  # what a bound costs
