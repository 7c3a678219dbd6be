"""The options whose pairs are tried, and the cases made of them.

A new option is one entry of `OPTIONS`, its default first, and a line in
`tools.pairs.data` where rows or models are made of it. Combinations that have no
meaning are lines of `IMPOSSIBLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

OPTIONS: dict[str, tuple[str, ...]] = {
    "family": ("gaussian", "binomial", "probit", "poisson", "multinomial", "cox"),
    "definition": (
        "statistical-parity", "variance", "equality-of-opportunity", "individual", "mean-parity",
        "mean-opportunity", "mean-odds", "combined", "function",
    ),
    "penalty": ("ridge", "radial", "lasso", "elastic-net"),
    "blind": ("no", "yes"),
    "controls": ("none", "given"),
    "confidence": ("none", "auto", "held-out"),
    "isolated": ("no", "yes"),
    "missing_S": ("none", "category", "number"),
    "missing_X": ("none", "some"),
    "min_frequency": ("none", "6"),
    "base": ("first", "most-frequent", "named"),
    "rare": ("no", "yes"),
    "unknown": ("error", "base", "mean"),
    "class_weight": ("none", "balanced", "dict"),
    "sample_weight": ("none", "given"),
    "offset": ("none", "given"),
    "exposure": ("none", "given"),
    "maps": ("none", "predictor_map", "sensitive_map"),
    "bounds": ("one", "each"),
    "predictor_penalty": ("0", "1", "cv"),
    "input": ("pandas", "polars", "arrays", "sparse", "parquet"),
    "S": ("sensitive", "sensitive_features"),
}  # fmt: skip
CLASSIFIERS = ("binomial", "probit", "multinomial")
MATRICES = ("arrays", "sparse")
# Options whose pairs say nothing: the two cannot be asked for together.
IMPOSSIBLE: tuple[dict[str, Sequence[str]], ...] = (
    {"class_weight": ("balanced", "dict"), "family": ("gaussian", "poisson", "cox")},
    # Matrices have no levels.
    {"input": MATRICES, "unknown": ("base", "mean")},
    {"input": MATRICES, "min_frequency": ("6",)},
    {"input": MATRICES, "base": ("most-frequent", "named")},
    # A source says which of its columns are sensitive.
    {"input": ("parquet",), "S": ("sensitive_features",)},
)


class Case(Mapping[str, str]):
    """One value of every option; those not named have their defaults.

    Parameters
    ----------
    **values
        Values that differ from the defaults.
    """

    def __init__(self, **values: str) -> None:
        for name, value in values.items():
            if value not in OPTIONS[name]:
                raise ValueError(f"{name}={value!r} is not one of {OPTIONS[name]}.")
        self._values = {name: values.get(name, known[0]) for name, known in OPTIONS.items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.values()))

    @property
    def chosen(self) -> dict[str, str]:
        """Values that differ from the defaults."""
        return {name: value for name, value in self.items() if value != OPTIONS[name][0]}

    def with_default(self, *names: str) -> Case:
        """Return the case with some options left alone."""
        return Case(**{name: v for name, v in self.chosen.items() if name not in names})

    def __repr__(self) -> str:
        return "Case(" + ", ".join(f"{k}={v!r}" for k, v in self.chosen.items()) + ")"


def matches(case: Mapping[str, str], conditions: Mapping[str, Sequence[str]]) -> bool:
    """Whether options, of which some may not be there yet, have all of these values."""
    # A generator takes three times as long, and collecting the tests waits for it.
    for name, values in conditions.items():  # noqa: SIM110
        if case.get(name) not in values:
            return False
    return True


def is_possible(case: Mapping[str, str], barred: Iterable[Mapping[str, Sequence[str]]]) -> bool:
    """Whether no combination that is barred is part of a case."""
    return not any(matches(case, conditions) for conditions in chain(IMPOSSIBLE, barred))


def all_pairs(barred: Iterable[Mapping[str, Sequence[str]]]) -> list[Case]:
    """Return cases that have every two values of different options together, but the barred.

    Parameters
    ----------
    barred : iterable of mappings
        Combinations that `fit` refuses: a case with one of them says nothing else.
    """
    from allpairspy import AllPairs

    barred, names = tuple(barred), list(OPTIONS)
    rows = AllPairs(
        [list(OPTIONS[name]) for name in names],
        filter_func=lambda row: is_possible(dict(zip(names, row, strict=False)), barred),
    )
    cases = [Case(**dict(zip(names, row, strict=True))) for row in rows]
    # With combinations barred, the generator leaves some pairs out.
    return cases + missing_cases(cases, barred)


def missing_cases(
    cases: Sequence[Case], barred: Iterable[Mapping[str, Sequence[str]]]
) -> list[Case]:
    """Return few more cases, so that all have every pair that is possible.

    Parameters
    ----------
    cases : sequence of Case
        Those that are there; what is barred tells nothing.
    barred : iterable of mappings
        Combinations that are refused.
    """
    barred, found = tuple(barred), []
    useful = [case for case in cases if is_possible(case, barred)]
    left = wanted_pairs(barred).difference(*map(pairs_of, useful))
    while left:
        pair = min(left, key=sorted)
        case = _completed(pair, left, barred)
        if case is None:  # any third value bars one of the two
            left.remove(pair)
        else:
            found.append(case)
            left -= pairs_of(case)
    return found


def completed(values: Mapping[str, str], barred: Iterable[Any]) -> Case | None:
    """Return a case with some values, and defaults as far as they are possible."""
    return _completed(values.items(), frozenset(), tuple(barred))


def _completed(pair: Iterable[tuple[str, str]], left: Any, barred: Any) -> Case | None:
    """Return a case with a pair, and with as many others that are left as fit in."""
    values = _filled(dict(pair), left, barred)
    return None if values is None else Case(**values)


def _filled(values: dict[str, str], left: Any, barred: Any) -> dict[str, str] | None:
    """Give the options that have no value yet one, and go back where none is possible."""
    name = next((one for one in OPTIONS if one not in values), None)
    if name is None:
        return values
    gains = [
        (sum(frozenset(((name, one), item)) in left for item in values.items()), -k, one)
        for k, one in enumerate(OPTIONS[name])
    ]
    for _, _, one in sorted(gains, reverse=True):
        more = values | {name: one}
        found = _filled(more, left, barred) if is_possible(more, barred) else None
        if found is not None:
            return found
    return None


def pairs_of(case: Mapping[str, str]) -> set[frozenset[tuple[str, str]]]:
    """Return every two values of a case."""
    return {frozenset(pair) for pair in combinations(case.items(), 2)}


def wanted_pairs(barred: Iterable[Mapping[str, Sequence[str]]]) -> set[frozenset[Any]]:
    """Return every two values that are not barred."""
    barred = tuple(barred)
    return {
        frozenset(((a, x), (b, y)))
        for a, b in combinations(OPTIONS, 2)
        for x in OPTIONS[a]
        for y in OPTIONS[b]
        if is_possible({a: x, b: y}, barred)
    }


def covering(cases: Sequence[Case], runs: Callable[[Case], bool]) -> list[Case]:
    """Return few of the cases that have every value of every option, as far as all have.

    Parameters
    ----------
    cases : sequence of Case
        To choose from.
    runs : callable
        Whether a case tells anything.
    """
    useful = [case for case in cases if runs(case)]
    left = {item for case in useful for item in case.items()}
    chosen = []
    while left:
        best = max(useful, key=lambda case: len(left & set(case.items())))
        chosen.append(best)
        left -= set(best.items())
    return chosen
