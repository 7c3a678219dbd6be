"""The Python of the README and of every page runs as it stands, and prints what it says.

So do the commands of the pages; `tests/cli/test_examples.py` runs those of the README.
"""

import re
import shlex
import warnings
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from fairridge import FairRidgeClassifier, audit, datasets
from fairridge.cli import main
from tests.zoo import LateModule

plt = LateModule("matplotlib.pyplot")

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT.parent / "shared" / "reference"
# A block of code, and the block of text that follows it with its output.
# In a tab both are indented.
BLOCK = re.compile(
    r"^( *)```(python|sh)\n(.*?)^\1```\n(?:\n\1```text\n(.*?)^\1```\n)?",
    re.DOTALL | re.MULTILINE,
)
# A difference that rounds to zero has the sign of its rounding errors.
SIGNED_ZERO = re.compile(r" -(0\.0+)(?!\d)")


def all_blocks_of(page):
    return blocks_in((ROOT / page).read_text(encoding="utf-8"))


def blocks_in(text):
    return [(language, dedent(code), dedent(out)) for _, language, code, out in BLOCK.findall(text)]


def blocks_of(page):
    return [block for language, *block in all_blocks_of(page) if language == "python"]


def run_commands(text):
    """Run the lines of a shell block that call the command line; others are for shells."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("fairridge "):
            assert main(shlex.split(line, comments=True)[1:]) == 0, line


FOUND = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guides/*.md")])
PAGES = [
    page
    for page in ("README.md", *(path.relative_to(ROOT).as_posix() for path in FOUND))
    if blocks_of(page)
]
# Packages that a page shows and that need not be installed.
OPTIONAL = ("array_api_strict", "fairlearn", "statsmodels")
# What a newcomer tries first.
FIRST = ("docs/index.md",)


def lines(text):
    return [SIGNED_ZERO.sub(r"  \1", line).rstrip() for line in dedent(text).splitlines()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask, to pandas
@pytest.mark.filterwarnings("ignore:Setting a value on a Series")  # of fairlearn, to pandas
@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=() if p in FIRST else pytest.mark.slow) for p in PAGES]
)
def test_every_example_runs(page, tmp_path, monkeypatch, capsys):
    blocks = blocks_of(page)
    if any("fetch_fairml" in code for code, _ in blocks):
        # Without a network: the folder of the environment variable, and the one the page names.
        pytest.importorskip("rdata", reason="the extra `data` is not installed")
        if not REFERENCE.is_dir():
            pytest.skip("fairml's data are not here: shared/reference/rda")
        monkeypatch.setenv("FAIRRIDGE_DATA", str(REFERENCE / "rda"))
        (tmp_path / "fairml-data").symlink_to(REFERENCE / "rda")
    for package in OPTIONAL:
        if any(re.search(rf"^(import|from) {package}\b", code, re.MULTILINE) for code, _ in blocks):
            pytest.importorskip(package, reason=f"{package} is not installed")
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # the README reads a file of a clone
    monkeypatch.chdir(tmp_path)
    reader = {"__name__": "__main__"}  # who reads a page from its beginning
    with threadpool_limits(1, "blas"):
        for language, code, output in all_blocks_of(page):
            if language == "sh":
                if page != "README.md":
                    run_commands(code)
                capsys.readouterr()
                continue
            exec(compile(code, page, "exec"), reader)
            printed = capsys.readouterr().out
            assert not output or lines(printed) == lines(output), code
    plt.close("all")


@pytest.mark.slow
def test_the_code_of_aif360_runs_where_it_is_installed(capsys):
    """It is not a dependency, so its blocks are marked py and left out above."""
    pytest.importorskip("aif360", reason="AIF360 is not installed")
    text = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    (tab,) = re.findall(r'^=== "AIF360"\n(.*?)^===', text, re.DOTALL | re.MULTILINE)
    reader = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        for _, code, output in blocks_in(tab.replace("```py\n", "```python\n")):
            exec(compile(code, "coming-from.md", "exec"), reader)
            assert lines(capsys.readouterr().out) == lines(output), code


@pytest.mark.slow
def test_the_three_models_of_the_readme_have_the_figures_of_its_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:logistic|`\"mean).*\|$", text, re.MULTILINE)
    printed = [[float(n) for n in re.findall(r"(\d+\.\d)(?:%| points)", row)] for row in rows]
    adult, who = datasets.load_adult(), ["age", "sex"]
    found = np.zeros((3, 4))
    for seed in range(6):
        X, X_new, y, y_new = train_test_split(adult.X, adult.y, random_state=seed)
        kinds = ((1, "mean-parity"), (0.01, "mean-parity"), (0.01, "mean-opportunity"))
        for row, (r, definition) in zip(found, kinds, strict=True):
            model = FairRidgeClassifier(r, sensitive=who, definition=definition).fit(X, y)
            p = model.predict_proba(X_new)
            all_groups = audit(y_new, p, sensitive_features=X_new[who], favorable=">50K")
            sexes = all_groups["sex"]
            gaps = sexes.demographic_parity_difference, sexes.equal_opportunity_difference
            row += [model.score(X_new, y_new), all_groups.r_squared, *gaps]
    np.testing.assert_allclose(printed, 100.0 * found / 6, atol=0.051)


def test_pages_say_what_they_print():
    """At most the first words of a newcomer print without the output beside them."""
    silent = [page for page in PAGES if not any(output for _, output in blocks_of(page))]
    assert set(silent) <= {"README.md", "docs/index.md", "docs/report.md"}


@pytest.mark.parametrize("name", [info.name for info in datasets.available()])
def test_every_data_set_has_a_fit(name):
    example = getattr(datasets, f"load_{name}").__doc__.partition("Examples\n")[2]
    assert ">>> from fairridge import FairRidge" in example
    assert ".fit(" in example or ".path(" in example


@pytest.mark.spark
def test_the_spark_example_compiles():
    text = (ROOT / "docs" / "larger-than-memory.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```\n", text, re.DOTALL | re.MULTILINE)
    compile(code, "larger-than-memory.md", "exec")
