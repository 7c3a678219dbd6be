"""Which outcome people want, and who is selected for it: by a threshold, or by capacity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats

# Beginnings of words that name an unwanted outcome.
UNFAVORABLE = re.compile(
    r"(default|fraud|churn|arrest|recid|crim|delinq|bankrupt|overdue|foreclos|chargeoff|"
    r"convict|reject|refus|deni|deny|declin|dropout|attrition|layoff|fail|death|died|dead$|"
    r"bads?$|unpaid|violen|violat)"
)
NEGATIONS = frozenset({"no", "not", "non", "never", "without", "un"})
# Labels that say only whether what the response is called has happened.
YES, NO = frozenset({"1", "true", "yes", "y", "t"}), frozenset({"0", "false", "no", "n", "f", "-1"})


@dataclass(frozen=True)
class Favorable:
    """The outcome that people want, and why it was chosen."""

    label: Any  # the class; "high" or "low" for numbers
    # Whether a high score (predicted number, probability of the positive class, log hazard ratio)
    # means this outcome.
    high: bool
    words: str  # the outcome for readers, such as "default = 0"
    reason: str = ""  # why it was chosen if the user did not say; "" otherwise

    @property
    def with_reason(self) -> str:
        """The outcome, and why it was chosen if the user did not say."""
        doubt = f" ({self.reason}; the option favorable changes it)" if self.reason else ""
        return f"{self.words}{doubt}"

    def __str__(self) -> str:
        return f"favorable outcome: {self.with_reason}"


def favorable_outcome(
    favorable: Any,
    response: str = "",
    positive: Any = None,
    classes: Sequence[Any] = (),
    score: str = "",
) -> Favorable:
    """Choose the outcome that people want; where `favorable` is None, names of outcomes tell."""
    # Those such as default, bad, fraud, churn or arrest are unfavorable, and without such a name
    # high scores are favorable. `positive` is the class that scores are of, if they are of
    # `classes`; `score` says what numbers are other than predictions of the response, such as a
    # hazard, of which low values are favorable.
    labels = [] if positive is None else [*classes, *([] if positive in classes else [positive])]
    reason = ""
    if favorable is None:
        high, reason = (False, "assumed") if score else _guess(response, positive, labels)
    else:
        high = _is_high(favorable, positive, labels)
    if positive is None:
        label = "high" if high else "low"
        what = score or (f"predictions of {response}" if response else "predictions")
        return Favorable(label, high, f"{label} {what}", reason)
    others = [named for named in labels if named != positive]
    label = positive if high else others[0] if len(others) == 1 else _negated(str(plain(positive)))
    return Favorable(label, high, f"{response or 'class'} = {plain(label)}", reason)


def named_class(favorable: Any, classes: Sequence[Any], positive: Any = None) -> Any:
    """Return the class that scores are of: of more than two, `favorable` may name it, too."""
    if positive is None and len(classes) > 2:
        return find_label(favorable, classes)
    return positive


def wanted_outcome(
    favorable: Any, response: str, classes: Sequence[Any], positive: Any = None, default: Any = None
) -> tuple[Any, Favorable | None]:
    """Return the class that scores are of, or a default, and the outcome that people want."""
    # Numbers have no class. Of several classes without one, none is wanted.
    named = named_class(favorable, classes, positive)
    named = default if named is None else named
    if classes and named is None:
        return None, None
    return named, favorable_outcome(favorable, response, named, classes)


def _negated(text: str) -> str:
    """Return what is not this outcome, such as "promoted" for "not promoted"."""
    return text[4:] if text.casefold().startswith("not ") else f"not {text}"


def find_label(wanted: Any, labels: Sequence[Any]) -> Any:
    """Return the label that is meant, which may be given as text; None if there is none."""
    for label in labels:
        if label == wanted:
            return label
    known = {str(plain(label)): label for label in labels}
    folded = {text.casefold(): label for text, label in known.items()}
    text = str(plain(wanted))
    return known.get(text, folded.get(text.casefold()))


def plain(label: Any) -> Any:
    """Return a label without the type of an array."""
    return label.item() if isinstance(label, np.generic) else label


def _is_high(favorable: Any, positive: Any, labels: Sequence[Any]) -> bool:
    """Whether the outcome that was named has high scores."""
    named = find_label(favorable, labels)
    if named is not None:
        if len(labels) > 2 and named != positive:
            raise ValueError(
                f"favorable={favorable!r}, but the scores are of {plain(positive)!r}, one of "
                f"{len(labels)} classes; name the same class for both, or favorable='low'."
            )
        return bool(named == positive)
    if isinstance(favorable, str) and favorable in ("low", "high"):
        return favorable == "high"
    known = ", ".join(repr(plain(label)) for label in labels)
    either = f"a class ({known}), " if labels else ""
    raise ValueError(f"favorable={favorable!r} is not known; use {either}'low' or 'high'.")


def _guess(response: str, positive: Any, labels: Sequence[Any]) -> tuple[bool, str]:
    """Whether high scores are favorable as far as names suggest, and why."""
    if positive is None:
        if _unfavorable(response):
            return False, f"a guess from the name {response!r}"
        return True, "assumed"
    others = [other for other in labels if other != positive]
    for label, high in ((positive, False), *(((others[0], True),) if len(others) == 1 else ())):
        text = str(plain(label))
        if text.casefold() in YES | NO:
            # 1 of "default" is unfavorable, and so is 0 of "no_default" or "not_arrested".
            if _unfavorable(response) is (text.casefold() in YES):
                return high, f"a guess from the name {response!r}"
        elif _unfavorable(text):
            return high, f"a guess from the name {text!r}"
    return True, "assumed"


def _unfavorable(name: str) -> bool | None:
    """Whether a name suggests an unwanted outcome; False if negated, None if it does not."""
    words = [
        word.casefold()
        for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+", str(name))
    ]
    joined = [*words, *(a + b for a, b in pairwise(words))]
    if not any(UNFAVORABLE.match(word) for word in joined):
        return None
    return not any(word in NEGATIONS for word in words)


# ------------------------------------------------------------------------ who is selected


# Scores that differ by less, relative to their size, are the same: a rate that was multiplied by
# an exposure and divided by it is the rate but for rounding.
ROUNDING = 16 * np.finfo(np.float64).eps


def check_top(top: Any, threshold: float | None = None) -> float | int | None:
    """Return a share between 0 and 1, or a count of at least 1; None if a threshold may select."""
    if top is None:
        return None
    if threshold is not None:
        raise ValueError(
            f"threshold={threshold!r} and top={top!r} are two ways to select; give one of them."
        )
    whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
    if whole and top >= 1:
        return int(top)
    if isinstance(top, float | np.floating) and 0.0 < top < 1.0:
        return float(top)
    raise ValueError(
        f"top={top!r} must be a share between 0 and 1, such as 0.2, or a count, such as 500."
    )


def select(
    score: Floats,
    weight: Floats,
    threshold: float | None,
    top: float | int | None,
    *,
    high: bool = True,
) -> Booleans | None:
    """Return who is selected, where high or low scores are favorable; None if nothing says so."""
    # Low scores are selected if they are not above the threshold.
    if top is not None:
        return select_top(score if high else -score, weight, top)
    return None if threshold is None else (score > threshold) == high


def select_top(score: Floats, weight: Floats, top: float | int) -> Booleans:
    """Select the rows with the highest scores, and at most so many."""
    # Rows with the same score are decided alike: if there is no room for all of them, none is
    # selected. Rows count with their weights, of rates with their exposure: a share is one of the
    # sum of weights, and a count is compared with it.
    room = top * float(weight.sum()) if isinstance(top, float) else float(top)
    order = np.argsort(-score, kind="stable")  # from the highest score on
    ordered = score[order]
    lower = ordered[:-1] - ordered[1:] > ROUNDING * np.abs(ordered[:-1])
    places = np.empty(len(score), dtype=np.intp)
    places[order] = np.concatenate([[0], np.cumsum(lower)])
    taken = np.cumsum(np.bincount(places, weights=weight))
    chosen: Booleans = (taken <= room * (1.0 + 1e-12))[places]
    return chosen
