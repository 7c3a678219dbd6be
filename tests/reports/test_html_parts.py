"""Markup that is safe, numbers that read well, axes that are round."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairridge.markup import element, join, json_for_html
from fairridge.reports.html import numbers
from fairridge.reports.html.sections.comparison import alternatives
from fairridge.reports.html.sections.limits import limits_section


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "a < b & c", title='say "no"')
    assert inner == '<b title="say &quot;no&quot;">a &lt; b &amp; c</b>'
    assert element("p", inner, None, 3, ["x", "<y>"]) == f"<p>{inner}3x&lt;y&gt;</p>"
    assert element("input", type="radio", checked=True, hidden=False, name=None) == (
        '<input type="radio" checked>'
    )
    assert element("label", for_="r", aria_label="x", data_t="k") == (
        '<label for="r" aria-label="x" data-t="k"></label>'
    )
    # Drawings need closing tags: browsers nest what is left open.
    assert element("circle", r=1) == '<circle r="1"></circle>'


@given(st.text())
def test_no_text_becomes_markup(text):
    assert "<" not in join([text])
    assert element("p", title=text).count("<") == 2
    safe = json_for_html({text: [text]})
    assert not set("<>&") & set(safe)
    assert json.loads(safe) == {text: [text]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (-0.012345, "−0.0123"),
        (123456.7, "123,457"),
        (1e7, "1.00e+07"),
        (3e-9, "3.00e−09"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_number(value, text):
    assert numbers.number(value) == text


def test_percent_ratio_signed_span():
    assert numbers.percent(0.1234) == "12.3 %"
    assert numbers.percent(-0.1234, 2) == "−12.34 %"
    assert numbers.percent(math.nan) == "–"
    assert numbers.ratio(0.7996) == "0.800"
    assert numbers.signed(0.5) == "+0.500"
    assert numbers.signed(-0.5, 1) == "−0.5"
    assert numbers.signed(-1e-9) == numbers.signed(0.0) == "0.000"
    assert numbers.span(0.1, 0.25) == "10 – 25 %"
    assert numbers.span(1.5, 2.5, shares=False) == "1.50 – 2.50"
    assert numbers.span(0.671, 0.674) == "67.1 – 67.4 %"
    assert numbers.span(-0.004, 0.012) == "−0.4 – 1.2 %"
    assert numbers.span(10.39, 10.41, shares=False) == "10.39 – 10.41"
    assert numbers.column([4.32e-31, 0.05, math.nan]) == ["0", "0.0500", "–"]
    assert numbers.column([4.32e-31], 1.0) == ["0"]
    assert numbers.span(math.nan, 1.0) == "–"
    assert numbers.count(np.int64(1234567)) == "1,234,567"
    assert numbers.bound(0.05) == "0.05"


def test_alternatives_are_the_first_within_the_limit(small_report):
    contents = small_report.contents
    values = contents.accuracy[0].held_out
    free = values[-1]
    found = alternatives(contents)
    losses = [words for words in found if re.match("at most .*%", words)]
    assert losses
    for words in losses:
        share = float(words.split()[2]) / 100
        within = values >= free * (1 - share) - 1e-9
        assert found[words] == np.flatnonzero(within)[0]


def test_limits_name_the_page_that_says_more(small_report):
    (page,) = re.findall(r"docs/[a-z-]+\.md", str(limits_section(small_report.contents)))
    assert (Path(__file__).resolve().parents[2] / page).is_file()
