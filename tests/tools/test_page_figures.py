"""Figures of the documentation come from the code of their pages."""

import os
import re
from pathlib import Path

import pytest

from tools.page_figures import draw

ROOT = Path(__file__).resolve().parents[2]
PAGE = """
```python
import matplotlib.pyplot as plt
from pathlib import Path

Path("left.txt").write_text("by the page")
print("a word")
plt.plot([0, 1], [0, 1])
plt.title("the first")
```

![A line](figures/line.svg)

```python
plt.figure()
plt.title("the second")
```

![A frame](figures/frame.svg)
"""


@pytest.mark.slow
def test_each_figure_is_what_the_code_before_it_drew(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figures = draw(PAGE)
    assert list(figures) == ["figures/line.svg", "figures/frame.svg"]
    assert b"the first" in figures["figures/line.svg"]
    assert b"the second" in figures["figures/frame.svg"]
    assert b"the first" not in figures["figures/frame.svg"]
    assert not os.listdir(tmp_path)  # what pages write goes elsewhere
    assert not capsys.readouterr().out
    assert draw(PAGE) == figures  # the same bytes on every build


def test_no_figure_of_a_page_is_committed():
    """A file of the same name would take the place of the figure that the code draws."""
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guides/*.md")]
    named = {
        page.parent / name
        for page in pages
        for name in re.findall(r"\]\((figures/[^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert named
    assert not [path for path in named if path.exists()]
