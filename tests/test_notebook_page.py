"""A notebook as JupyterLab shows it, light and dark, in a real browser."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETUP = """
import numpy as np
import pandas as pd
from fairridge import FairRidgeClassifier, FairRidgeRegressor, audit, compare
rng = np.random.default_rng(5)
n = 600
X = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.uniform(20, 70, n).round()})
X["skill"] = rng.normal(size=n) + (X["sex"] == "m")
X["job"] = rng.choice([f"a job with a long name {k}" for k in range(12)], n)
y = np.where(X["skill"] + 0.02 * X["age"] > 1 + rng.normal(size=n), "yes", "no")
options = {"sensitive": ["sex", "age"], "definition": "mean-parity", "predictor_penalty": 1.0}
model = FairRidgeClassifier(0.02, **options).fit(X, y)
"""
# What each cell shows, and something that it must say.
CELLS = {
    "model": "Unfairness reached in training",
    "model.summary()": "S explains",
    "model.path(X, y)": "bound",
    "audit(y, model.predict_proba(X), sensitive_features=X[['sex']])": "selected",
    "compare(X, y, sensitive='sex', models={'bounded': model})": "bounded",
    "FairRidgeRegressor(0.2, sensitive='sex', confidence=0.95)"
    ".fit(X, X['skill'] ** 2).certificate_": "Upper limit in the population",
}
# Of every output: tables, text, text with too little contrast (WCAG 2, 1.4.3), and what is cut.
LOOK = """(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => channels(color).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      const [, , , alpha = 1] = channels(color);
      if (alpha > 0.5) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = (one) => {
    const style = getComputedStyle(one);
    const color = one.closest('svg') ? style.fill : style.color;
    const [a, b] = [light(color), light(behind(one))].sort((x, y) => x - y);
    return (b + 0.05) / (a + 0.05);
  };
  // The diagram is scikit-learn's.
  const ours = (one) => one.checkVisibility() && !one.closest('.sk-top-container');
  const written = (one) => ours(one) && [...one.childNodes].some(
    node => node.nodeType === 3 && node.data.trim() && node.data.trim() !== '━');
  return [...document.querySelectorAll('.jp-OutputArea-output')].map(output => {
    const texts = [...output.querySelectorAll('*')].filter(written);
    const pale = texts.filter(one => contrast(one) < 4.5);
    const right = output.getBoundingClientRect().right + 1;
    return {
      tables: output.querySelectorAll('table').length,
      rows: output.querySelectorAll('tr').length,
      pictures: output.querySelectorAll('svg polyline').length,
      text: output.innerText,
      pale: pale.map(one => one.outerHTML.slice(0, 200)),
      wide: texts.filter(one => one.getBoundingClientRect().right > right)
        .map(one => one.innerText),
    };
  });
})()"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook that was run, as JupyterLab would save it."""
    nbformat = pytest.importorskip("nbformat", reason="nbconvert is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbconvert is not installed")
    new = nbformat.v4
    cells = [new.new_code_cell(code) for code in [SETUP, *CELLS]]
    found = new.new_notebook(cells=cells)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        nbclient.NotebookClient(found, timeout=120, kernel_name="python3").execute()
    return found


@pytest.fixture(params=["light", "dark"])
def shown(request, notebook, browser, tmp_path):
    """The outputs of the notebook's page in the colors of a theme."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(theme=request.param)
    exporter.require_js_url = exporter.mathjax_url = ""
    page, _ = exporter.from_notebook_node(notebook)
    (tmp_path / "notebook.html").write_text(page, encoding="utf-8")
    browser.color_scheme(request.param)
    browser.resize(1100, 900)
    browser.open(tmp_path / "notebook.html")
    yield browser.run(LOOK)
    browser.color_scheme("light")
    browser.resize(1280, 900)


def test_objects_are_tables_that_can_be_read(shown):
    assert [output["pictures"] for output in shown] == [0, 0, 2, 0, 0, 0]  # a path
    for output, (code, expected) in zip(shown, CELLS.items(), strict=True):
        assert output["tables"] >= 1, code
        assert output["rows"] >= 3, code
        assert expected in output["text"], code
        assert output["pale"] == [], code
        assert output["wide"] == [], code
