"""The fuzz of models in use: some of its problems, and that it notices what is wrong."""

import copy

import numpy as np
import pytest

from tools.fuzz import uses
from tools.fuzz.__main__ import main
from tools.fuzz.uses import USES, draw_use, estimator, examine_use

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", [0, 12])
def test_models_in_use_are_right(first):
    for seed in range(USES + first, USES + first + 12):
        use = draw_use(seed)
        assert examine_use(use).violations == (), use.label


def test_every_family_and_kind_is_drawn():
    drawn = [draw_use(USES + k) for k in range(400)]
    assert {use.family for use in drawn} == set(uses.FAMILIES)
    assert {use.kind for use in drawn} == set(uses.KINDS)


@pytest.fixture
def use():
    return next(
        use
        for use in map(draw_use, range(USES, USES + 500))
        if (use.family, use.kind) == ("poisson", "mean-parity") and 0.0 < use.unfairness < 1.0
    )


def test_a_wrong_export_is_noticed(use, monkeypatch):
    def forgets_a_column(model, rows):
        eta, mean = uses._python(model, rows)
        return eta + 0.1, mean

    monkeypatch.setitem(uses.EXPORTS, "Python", forgets_a_column)
    assert examine_use(use).violations == ("Python: η differs by 0.1",)


def test_a_table_that_is_read_as_another_is_noticed(use, monkeypatch):
    wrong = {name: lambda frame: frame.iloc[::-1].reset_index(drop=True) for name in uses.TABLES}
    monkeypatch.setattr(uses, "TABLES", wrong)
    assert any("coefficients differ" in one for one in examine_use(use).violations)


def test_weights_that_are_not_repetitions_are_noticed(use, monkeypatch):
    real = uses.repeated

    def once_more(given):
        other = copy.copy(given)
        object.__setattr__(other, "weight", np.maximum(given.weight, 1.0))
        return real(other)

    monkeypatch.setattr(uses, "repeated", once_more)
    assert any("repeated rows: deviance" in one for one in examine_use(use).violations)


def test_the_table_says_how_long_fits_took(capsys):
    assert main(["--seed", str(USES), "--problems", "3"]) == 0
    shown = capsys.readouterr().out
    assert "processor time of fits: 50 % within" in shown
    assert shown.count("slow: ") == 3


def test_estimators_have_what_is_drawn(use):
    model = estimator(use)
    assert (model.family, model.unfairness) == (use.family, use.unfairness)
