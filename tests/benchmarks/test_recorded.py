"""The recorded table: what became slower, and how the page shows it."""

import shutil
from dataclasses import asdict

import pytest

from benchmarks import growth, page, recorded
from benchmarks.__main__ import PARTS, main
from benchmarks.figures import Figure, measured, slope


def record(**seconds):
    """Return a table of one part, whose yardstick takes as long as `bare`."""
    bare = seconds["bare"]
    figures = [
        Figure("n = 10", name if name == "bare" else f"fairridge, {name}", taken, taken / bare)
        for name, taken in seconds.items()
    ]
    return {"gaussian": {"machine": "one", "figures": [asdict(one) for one in figures]}}


def test_what_became_slower_is_named_whatever_the_machine():
    then = record(bare=1.0, fit=2.0, path=3.0, other=1.0)
    # A machine half as fast, on which one case became worse and one better.
    now = record(bare=2.0, fit=4.0, path=9.0, other=1.0)
    text, slower = recorded.report(then, now)
    assert slower
    assert "1 became slower:\n   1.50  gaussian, n = 10, fairridge, path: 3.00× then, 4.50×" in text
    assert "1 became faster:\n   0.50  gaussian, n = 10, fairridge, other" in text
    assert "fairridge, fit" not in text
    assert "bare" not in text  # nobody else's times are ours to judge
    assert not recorded.report(then, now, tolerance=1.6)[1]


def test_a_yardstick_of_ours_is_compared_by_its_seconds():
    def of(seconds):
        figure = Figure("n = 10", "fairridge, path", seconds, 1.0)
        return {"inference": {"machine": "one", "figures": [asdict(figure)]}}

    (change,) = recorded.changes(of(1.0), of(2.0))
    assert (change.factor, change.compared) == (2.0, False)


def test_nothing_is_compared_with_nothing():
    assert recorded.report({}, record(bare=1.0, fit=2.0)) == (
        "The recorded table has none of these cases; nothing was compared.",
        False,
    )


def test_tables_are_written_part_by_part(tmp_path):
    path = tmp_path / "some" / "table.json"
    recorded.write(path, record(bare=1.0, fit=2.0))
    recorded.write(path, {"small": {"machine": "two", "figures": []}})
    assert recorded.read(path) == record(bare=1.0, fit=2.0) | {
        "small": {"machine": "two", "figures": []}
    }


def test_cases_take_turns_and_missing_libraries_are_named():
    calls = []

    def absent():
        import no_such_library_of_ours

        return no_such_library_of_ours

    cases = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b"), "c": absent}
    first, second, third = measured("p", cases, budget=0.0)
    assert calls == ["a", "b", "a", "b"]
    assert first.ratio == 1.0
    assert second.ratio == second.seconds / first.seconds
    assert third.seconds is None
    assert third.extra == {"why": "no_such_library_of_ours is not installed"}


def test_slopes_are_those_of_the_largest_sizes():
    sizes = [1, 10, 100, 1000]
    assert slope(sizes, [5.0, 1e2, 1e4, 1e6]) == pytest.approx(2.0)


def test_growth_is_a_table_per_axis_with_slopes():
    figures = [
        Figure("", "fairridge, fit", n**1.5 / 1e6, axis="rows", size=n) for n in (100, 1000, 10_000)
    ]
    lines = growth.render(growth.PART, figures)
    assert lines[0] == "| rows | 100 | 1,000 | 10,000 | slope |"
    assert lines[2] == "| fairridge, fit | 1 ms | 31.6 ms | 1 s | 1.50 |"


def _copied(folder):
    for name in (page.TABLES, page.PICTURE):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(page.ROOT / name, folder / name)


@pytest.mark.slow
def test_every_part_has_a_place_on_the_page(tmp_path):
    _copied(tmp_path)
    figures = [asdict(Figure("p", "fairridge, x", 1.25, 2.5, axis="rows", size=n)) for n in (1, 9)]
    whole = {name: {"machine": f"of {name}", "figures": figures} for name in PARTS}
    page.rewrite(tmp_path, PARTS, whole)
    text = (tmp_path / page.TABLES).read_text()
    assert text.count("<!-- measured: ") == text.count("<!-- end -->") == len(PARTS) + 1
    first, *others = PARTS  # one machine is named once, above the parts
    assert text.count(f"Measured on of {first}, unless stated otherwise.") == 1
    assert all(f"Measured on of {name}." in text for name in others)
    assert f"](../{page.PICTURE.as_posix()})" in text
    assert (tmp_path / page.PICTURE).read_text().startswith("<?xml")
    page.rewrite(tmp_path, PARTS, whole)
    assert (tmp_path / page.TABLES).read_text() == text


@pytest.mark.slow
def test_the_page_shows_what_is_recorded(tmp_path):
    _copied(tmp_path)
    page.rewrite(tmp_path, PARTS, recorded.read(recorded.RECORDED))
    written = (page.ROOT / page.TABLES).read_text()
    assert (tmp_path / page.TABLES).read_text() == written


@pytest.mark.slow
def test_the_command_measures_and_compares(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recorded, "RECORDED", tmp_path / "recorded.json")
    assert main(["small", "--quick", "--out", str(tmp_path)]) == 0
    assert "nothing was compared" in capsys.readouterr().out
    shutil.copy(tmp_path / "measured.json", tmp_path / "recorded.json")
    assert main(["compare", "--out", str(tmp_path)]) == 0
    assert "0 became slower." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--quick", "--record"], "not to be recorded"),
        (["compare"], "measure first"),
        (["smal"], "no part 'smal'; parts are small, gaussian"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(arguments, said, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*arguments, "--out", str(tmp_path)])
    assert said in capsys.readouterr().err
