"""The model card: the numbers of the report, as Markdown."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, report


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    S = rng.integers(0, 2, (300, 1)).astype(float)
    X = np.column_stack([S, rng.normal(size=(300, 2)) + S])
    y = np.where(X.sum(axis=1) + rng.normal(size=300) > 1, "yes", "no")
    model = FairRidgeClassifier(0.02, sensitive=[0], definition="mean-parity", confidence=0.9)
    return model.fit(X, y), X, y


@pytest.mark.slow
def test_it_is_written_as_markdown_with_the_numbers_of_the_report(case, tmp_path):
    model, X, y = case
    place = tmp_path / "card.md"
    page = report(model, X, y, place, cv=0, bootstrap=0, title="Loans | 2026", format="card")
    text = place.read_text(encoding="utf-8")
    assert text == page.card
    assert text.startswith("# Loans | 2026\n\n")
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        "Model", "Intended use", "Data", "Accuracy", "Fairness", "Groups", "Limits", "Settings",
    ]  # fmt: skip
    assert "| Bound r | 0.02 |" in text
    assert text.lower().count("| rows | 300 |") == 1
    said = "is certified" if model.certificate_.granted else "could not be certified"
    assert f"The bound 0.02 {said} for the population with confidence 0.9" in text
    sizes = [int((X[:, 0] == level).sum()) for level in (0, 1)]
    assert all(f"| {size} | " in text for size in sizes)
    # Every table has rows of equal length.
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) > 25


def test_new_rows_have_no_card(case):
    with pytest.raises(ValueError, match=r"format='card' .* new_rows=True"):
        report(*case, format="card", new_rows=True)
    with pytest.raises(ValueError, match="format='pdf'"):
        report(*case, format="pdf")
