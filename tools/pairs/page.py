"""The page of what is refused, docs/options.md: ``python -m tools.pairs.page``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.pairs.options import OPTIONS
from tools.pairs.refusals import REFUSED, Refusal

# Values by what users call them; others are ``option="value"``.
NAMES: dict[tuple[str, str], str] = {
    ("family", "gaussian"): "gaussian",
    ("family", "binomial"): "binomial",
    ("family", "probit"): "probit",
    ("family", "poisson"): "Poisson",
    ("family", "multinomial"): "multinomial",
    ("family", "cox"): "Cox models",
    ("definition", "variance"): '`StatisticalParity(measure="variance")`',
    ("definition", "combined"): "`Combined(…)`",
    ("definition", "function"): "your own function as `definition`",
    ("blind", "yes"): "`blind=True`",
    ("controls", "given"): "`controls`",
    ("confidence", "auto"): "`confidence`",
    ("confidence", "held-out"): '`certification="held-out"`',
    ("isolated", "yes"): "levels that decide the response",
    ("missing_S", "category"): "missing categories in S",
    ("missing_S", "number"): "missing numbers in S",
    ("missing_X", "some"): "missing values in X",
    ("exposure", "given"): "`exposure`",
    ("maps", "predictor_map"): "`predictor_map`",
    ("maps", "sensitive_map"): "`sensitive_map`",
    ("bounds", "each"): "a bound per attribute",
    ("input", "sparse"): "a sparse X",
    ("input", "parquet"): "rows in files",
}
# All of some values, by a shorter name.
TOGETHER = {
    ("confidence", ("auto", "held-out")): "`confidence`",
    ("missing_S", ("category", "number")): "missing values in S",
    ("definition", tuple(v for v in OPTIONS["definition"] if v != "mean-parity")): (
        'any other definition than `"mean-parity"`'
    ),
    (
        "family",
        tuple(v for v in OPTIONS["family"] if v != "binomial"),
    ): "other models than logistic",
    (
        "family",
        tuple(v for v in OPTIONS["family"] if v != "gaussian"),
    ): "models that are not gaussian",
}


HEAD = (
    "# Option pairs\n\n"
    "Every two options of the models are tried together, with everything that can be done with "
    "a model. What is not listed works; what is listed raises an error that names the options."
    "\n\n| together | refused by | why |\n|---|---|---|\n"
)


def page() -> str:
    """Return the page, with one line for each refusal, in Markdown."""
    return HEAD + "\n".join(map(_line, REFUSED)) + "\n"


def _line(refusal: Refusal) -> str:
    verbs = ", ".join(f"`{verb}`" for verb in refusal.verbs)
    reason = refusal.reason + ("" if refusal.always else " (on some data)")
    return f"| {_together(refusal.options)} | {verbs} | {reason} |"


def _together(options: Mapping[str, Sequence[str]]) -> str:
    # A default that is part of a condition goes without saying.
    parts = {k: v for k, v in options.items() if tuple(v) != (OPTIONS[k][0],) or k == "definition"}
    return " × ".join(_shown(name, tuple(values)) for name, values in parts.items())


def _shown(option: str, values: tuple[str, ...]) -> str:
    if (option, values) in TOGETHER:
        return TOGETHER[option, values]
    own = [value for value in values if (option, value) not in NAMES]
    plain = [f'`{option}="{v}"`' if k == 0 else f'`"{v}"`' for k, v in enumerate(own)]
    return ", ".join([*plain, *(NAMES[option, v] for v in values if v not in own)])


if __name__ == "__main__":
    print(page(), end="")
