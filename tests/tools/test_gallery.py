"""The examples run, and the gallery shows what they print and draw."""

import pytest

from tools import gallery

SCRIPT = '''"""A title.

What it shows.
"""

# %%
# Some *text*.
import matplotlib.pyplot as plt

print("six", 2 * 3)

# %%
values = [1, 2]
values

# %%
# Only text.

# %%
plt.plot(values)
'''


@pytest.fixture
def example(tmp_path):
    script = tmp_path / "03_some_name.py"
    script.write_text(SCRIPT, encoding="utf-8")
    return gallery.run(gallery.read(script))


def test_a_script_becomes_a_page(example):
    page, figures = gallery.page_of(example)
    assert page.startswith("# A title\n\nWhat it shows.\n\nSome *text*.\n\n```python\nimport")
    assert "```text\nsix 6\n```" in page
    assert "```text\n[1, 2]\n```" in page
    assert "Only text." in page
    assert list(figures) == ["some_name-1.svg"]
    assert figures["some_name-1.svg"].startswith(b"<?xml")
    assert "(some_name.py)" in page


def test_the_index_has_a_card_of_each(example):
    index = gallery.index_of([example])
    assert "[**A title**](some_name.md)" in index
    assert "![](some_name-1.svg)" in index


@pytest.mark.slow
@pytest.mark.parametrize("script", gallery.scripts(), ids=lambda script: script.stem)
def test_every_example_runs_and_draws(script):
    ran = gallery.run(gallery.read(script))
    assert any(cell.figures for cell in ran.cells)
