"""Every two options of stacked models together; the options are in `tools/pairs/stacks.py`."""

import pytest

from tools.pairs.stacks import OPTIONS, Stack, cases, refused_cases, tried

pytest.importorskip("onnxruntime")
pytest.importorskip("skops")
CASES = cases()


def named(case):
    chosen = [value for name, value in case.items() if value != OPTIONS[name][0]]
    return "-".join(chosen) or "defaults"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.BoundWarning")
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("case", CASES, ids=named)
def test_all_pairs(case):
    tried(case)


@pytest.mark.parametrize(("case", "words"), list(refused_cases()))
def test_refusals_say_why(case, words):
    stack = Stack(case)
    with pytest.raises((ValueError, TypeError), match=words):
        stack.model().fit(**stack.fitting())
