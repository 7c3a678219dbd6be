"""The tools that build the site and try a release."""

import pytest

from tools.lowest import EXTRAS, lowest_versions


def project(dependencies, **extras):
    none = {name: [] for name in (*EXTRAS, "dev")}
    return {"dependencies": dependencies, "optional-dependencies": none | extras}


def test_lower_bounds_become_versions():
    dev = ["polars>=1.0", "ruff>=0.6"]  # frames are the user's, tools are not
    found = lowest_versions(project(["numpy>=1.26"], dask=["dask[dataframe]>=2024.12"], dev=dev))
    assert found == {"numpy": "1.26", "dask": "2024.12", "polars": "1.0"}


@pytest.mark.parametrize("line", ["numpy", "numpy<3", "numpy>=1.26,<3"])
def test_a_dependency_without_a_plain_lower_bound_is_an_error(line):
    with pytest.raises(SystemExit, match="no lower bound"):
        lowest_versions(project([line]))


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml", reason="the extra `docs` is not installed")
    from tools.mathml import on_page_content

    inline = on_page_content(r'a <span class="arithmatex">\(x &lt; \lambda_2\)</span> b')
    assert inline.startswith("a <math")
    assert "arithmatex" not in inline
    assert "&amp;lt;" not in inline
    assert "&#x003BB;" in inline or "λ" in inline
    displayed = on_page_content('<div class="arithmatex">\n\\[\nr^2\n\\]</div>')
    assert 'display="block"' in displayed
    assert "msup" in displayed
