"""Progress of work that takes a while: bars on terminals, and nowhere else."""

import io
import sys
import time

import pytest

from fairridge import _progress
from fairridge._progress import Progress


class Terminal(io.StringIO):
    """Where tqdm writes if it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("delay", "shown"), [(0.0, True), (60.0, False)])
def test_only_work_that_takes_longer_than_a_moment_has_a_bar(monkeypatch, delay, shown):
    monkeypatch.setattr(_progress, "DELAY", delay)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(None, None, "step") as bar:
        bar.stage("held-out folds", 1, 4)
        bar.stage("groups", 0, 7)
        time.sleep(0.15)  # bars are drawn ten times a second
        bar.stage("groups", 7, 7)
    assert ("groups: 100%" in sys.stderr.getvalue()) == shown


def test_logs_and_pipes_have_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "DELAY", 0.0)
    with Progress(None, None, "step") as bar:
        bar.stage("groups", 7, 7)
    assert capsys.readouterr() == ("", "")


def test_a_report_needs_no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # Python's way to say: not installed
    with Progress(None, None, "step") as bar:
        bar.stage("groups", 7, 7)
