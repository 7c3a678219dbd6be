"""Commands show the numbers of an independent computation, and say what they are of."""

import json

import pytest

from tests.contracts.independent import people, seen, share

CLOSE = {"rel": 1e-6, "abs": 1e-7}
CASES = {
    "gaussian": ("statistical-parity", "controls", ["--controls", "level"]),
    "counts": ("mean-parity", "plain", ["--family", "poisson", "--exposure", "exposure"]),
    "four": ("mean-parity", "plain", []),
}


@pytest.mark.parametrize("kind", CASES)
def test_fit_report_audit_and_monitor(run, folder, kind):
    definition, option, arguments = CASES[kind]
    case = seen(kind, definition, option, "weighted")
    X, y, weight, exposure = people()
    X.assign(y=y[kind], weight=weight, exposure=exposure).to_csv("people.csv", index=False)
    rows = ["people.csv", "--response", "y", "--weight", "weight"]
    reads = ["--sensitive", "sex,age", "--predictors", "level,hours,x", *arguments]
    model = ["--unfairness", 0.05, "--definition", definition]
    exposed = ["--exposure", "exposure"] if kind == "counts" else []
    found = json.loads(run("fit", *rows, *reads, *model, "--out", "m.json", "--json").out)
    again = ["--model", "m.json", *exposed]
    audited = json.loads(run("audit", *rows, *again, "--json").out)
    assert found["achieved"] == pytest.approx(case.bounded(), **CLOSE)
    for key, value in case.shares().items():
        assert found[key] == pytest.approx(value, **CLOSE)
        assert audited[key] == pytest.approx(value, **CLOSE)
    if option == "controls":
        given = share(case.means, case.S, case.mean_weight, case.C)
        assert audited["partial_r_squared"] == pytest.approx(given, **CLOSE)
    new = json.loads(run("report", *rows, *again, "--new-rows", "--out", "r.html", "--json").out)
    shown = {one["key"]: one["value"] for one in new["measures"]}
    for key, value in case.shares().items():
        assert shown[key] == pytest.approx(value, **CLOSE)
    assert case.bounded() == pytest.approx(shown.get("bounded", shown["share_of_means"]), **CLOSE)


def test_one_sentence_says_what_is_bounded(run, folder):
    X, y, *_ = people()
    X.assign(y=y["gaussian"]).to_csv("people.csv", index=False)
    rows = ["people.csv", "--response", "y"]
    model = ["--sensitive", "sex,age", "--controls", "level", "--unfairness", 0.05]
    none = ["--cv", 0, "--bootstrap", 0]
    texts = [
        run("fit", *rows, *model, "--out", "m.json").out,
        run("report", *rows, *model, *none, "--out", "r.html").out,
        run("report", *rows, *model, *none, "--card", "--out", "c.md").out,
        run("report", *rows, "--model", "m.json", "--new-rows", "--out", "n.html").out,
        (folder / "c.md").read_text(),
    ]
    said = (
        "Among people of the same level, sex and age together explain at most 5.00 % of what is "
        "left of the variance of the predictions."
    )
    assert [said in " ".join(text.split()) for text in texts] == [True] * 5
