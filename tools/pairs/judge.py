"""Whether verbs work, refuse, or break, and whether they should."""

from __future__ import annotations

import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from fairridge.estimators import _choosing
from fairridge.validation.report import case as report_case
from tools.pairs.data import Setting
from tools.pairs.options import OPTIONS, Case, is_possible
from tools.pairs.refusals import Fault, Refusal, faults_of, refusals_of
from tools.pairs.verbs import VERBS, WrongError

# What a user may be told; anything else is a fault of ours.
SENTENCES = (ValueError, TypeError, NotImplementedError)
LONGEST = 400


@dataclass(frozen=True)
class Outcome:
    """What became of a verb.

    Attributes
    ----------
    verb, case
        What was tried.
    kind : {"works", "refuses", "breaks"}
        How it ended.
    text : str
        What was said.
    where : str
        Line of code that said it.
    """

    verb: str
    case: Case
    kind: str
    text: str = ""
    where: str = ""

    @property
    def fault(self) -> str:
        """What is wrong; empty if it is as the tables say."""
        expected = refusals_of(self.verb, self.case)
        if faults_of(self.verb, self.case):
            return ""
        if self.kind == "works":
            firm = [one.options for one in expected if one.always]
            return f"works, though {firm[0]} are refused" if firm else ""
        if self.kind == "breaks":
            return f"breaks: {self.text} ({self.where})"
        if "\n" in self.text or len(self.text) > LONGEST:
            return f"refuses in more than one sentence: {self.text}"
        if not any(_says(self.text, one) for one in expected):
            return f"refuses: {self.text} ({self.where})"
        return ""

    def __str__(self) -> str:
        return f"{self.verb}: {self.fault or self.kind}\n    {self.case}"


def _says(text: str, refusal: Refusal) -> bool:
    return all(word in text for word in refusal.words)


@contextmanager
def setting_of(case: Case) -> Iterator[Setting]:
    """Make the rows of a case; warnings are none of our business here."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        # Dozens of bounds and of penalties differ in nothing that matters here.
        stack.enter_context(patch.object(report_case, "POINTS", 2))
        stack.enter_context(patch.object(_choosing, "GRID", _choosing.GRID[::6]))
        yield Setting(case, Path(folder))


def try_verb(verb: str, setting: Setting) -> Outcome:
    """Do one thing."""
    try:
        VERBS[verb](setting)
    except WrongError as error:
        return Outcome(verb, setting.case, "breaks", str(error))
    except SENTENCES as error:
        # numpy's own errors are ours: they are subclasses, or say nothing of parameters.
        kind = "refuses" if type(error).__name__ != "LinAlgError" else "breaks"
        return Outcome(verb, setting.case, kind, str(error), _place(error))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return Outcome(verb, setting.case, "breaks", text, _place(error))
    return Outcome(verb, setting.case, "works")


def outcomes(case: Case, verbs: Iterable[str]) -> list[Outcome]:
    """Do several things with one model."""
    with setting_of(case) as setting:
        return [try_verb(verb, setting) for verb in verbs]


def shrunk(outcome: Outcome, barred: Iterable[Mapping[str, tuple[str, ...]]]) -> Outcome:
    """Return the same fault with as few options as show it."""
    barred = tuple(barred)
    for name in OPTIONS:
        if name not in outcome.case.chosen:
            continue
        case = outcome.case.with_default(name)
        if not is_possible(case, barred):
            continue
        other = outcomes(case, [outcome.verb])[0]
        if other.kind == outcome.kind and other.fault:
            outcome = other
    return outcome


def still_breaks(fault: Fault) -> bool:
    """Whether a fault that is known is still there."""
    found = outcomes(fault.case, [fault.verb])[0]
    if found.kind == "breaks":
        return True
    allowed = any(_says(found.text, one) for one in refusals_of(fault.verb, fault.case))
    return found.kind == "refuses" and not allowed


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
