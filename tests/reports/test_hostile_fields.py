"""No text of any field of a report becomes markup."""

from copy import copy
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser

import pytest

import fairridge
from fairridge import FairRidgeRegressor
from fairridge.metrics.attribution import Attribution, Proxies
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.group_measures import AttributeAudit, CalibrationBin, GroupMeasures
from fairridge.metrics.measure import Measure
from fairridge.reports.html import contents
from tests.reports.conftest import small

HOSTILE = """<script>alert(1)</script>"><img src=x onerror=alert(1)>' onload=alert(1) x='"""
SHOWN = (Attribution, Proxies, Favorable, AttributeAudit, CalibrationBin, GroupMeasures, Measure)
RECORDS = (*(each for each in vars(contents).values() if is_dataclass(each)), *SHOWN)
# These choose code, and never reach a page.
CODES = {
    "Subject.reads", "Subject.link", "Curve.key", "NewRowsMeasure.key", "ReportContents.status",
    "ReportContents.dependence_shares", "Sighted.dependence_shares", "Measure.whole",
}  # fmt: skip
FIELDS = sorted(
    name
    for record in RECORDS
    for field in fields(record)
    if "str" in str(field.type)
    if (name := f"{record.__name__}.{field.name}") not in CODES
)


class Tags(HTMLParser):
    """Collects tags and the names of attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.names = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.names |= {name for name, _ in attributes}


def with_text(value):
    """Put the hostile text before every text of a value."""
    if isinstance(value, str):
        return HOSTILE + value
    if isinstance(value, dict):
        return {HOSTILE + key: each for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(with_text, value))
    return value


def poisoned(value, record):
    """Copy a value with hostile texts in all fields of a record, wherever it occurs inside."""
    if isinstance(value, dict):
        return {key: poisoned(each, record) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(poisoned(each, record) for each in value)
    if not is_dataclass(value):
        return value
    found = copy(value)
    for field in fields(value):
        own, before = f"{type(value).__name__}.{field.name}", getattr(value, field.name)
        inert = own in FIELDS and type(value).__name__ == record
        after = with_text(before) if inert else poisoned(before, record)
        object.__setattr__(found, field.name, after)
    return found


@pytest.fixture(scope="module")
def pages(small_report, small_report_of_classes, people, people_X):
    """Return reports with all kinds of fields, and their tags."""
    X, y, sensitive = people_X, people["gaussian"], ["sex", "age"]
    bounds = {"sex": 0.01, "age": 0.02}
    each = FairRidgeRegressor(bounds, sensitive=sensitive, definition="mean-parity").fit(X, y)
    blind = small(FairRidgeRegressor(0.001, sensitive=sensitive, blind=True), X, y)
    assert blind.contents.flips
    found = [small_report, small_report_of_classes, blind]
    found.append(fairridge.report(each, X, y, new_rows=True))
    return [(page, Tags(page.html)) for page in found]


def test_fields_of_all_records_are_found():
    assert {"Subject.title", "Term.name", "Drift.part", "GroupMeasures.group"} <= set(FIELDS)


@pytest.mark.slow
@pytest.mark.parametrize("record", sorted({field.partition(".")[0] for field in FIELDS}))
def test_hostile_texts_are_inert(record, pages):
    for page, before in pages:
        after = Tags(type(page)(poisoned(page.contents, record)).html)
        assert set(after.tags) <= set(before.tags)
        assert after.tags.count("script") == before.tags.count("script")
        assert after.names <= before.names
