"""What is refused, and what is known to be wrong.

A refusal is one sentence that names the options which do not go together. The
combinations that `fit` refuses are left out of the design, because a model that
is not there says nothing else; each is tried by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.pairs.options import OPTIONS, Case, matches

Values = tuple[str, ...]


def but(option: str, *values: str) -> Values:
    """Return the other values of an option."""
    return tuple(value for value in OPTIONS[option] if value not in values)


@dataclass(frozen=True)
class Refusal:
    """A combination that is refused.

    Attributes
    ----------
    verbs : tuple of str
        What refuses it; "fit" comes before everything else.
    options : mapping of str to tuple of str
        The values that do not go together.
    words : tuple of str
        What the sentence says, among other things: names of parameters.
    reason : str
        For the page of option pairs.
    always : bool
        Whether it is refused on any data.
    """

    verbs: Values
    options: Mapping[str, Values]
    words: Values
    reason: str
    always: bool = True

    def applies(self, verb: str, case: Case) -> bool:
        """Whether it is about this; there is nothing without a fit."""
        return bool({verb, "fit"} & set(self.verbs)) and matches(case, self.options)


@dataclass(frozen=True)
class Fault:
    """A combination that is known to break, until it is mended.

    Attributes
    ----------
    since : str
        When it was found.
    verb : str
        What breaks.
    case : Case
        The smallest case that shows it.
    reason : str
        What is wrong.
    """

    since: str
    verb: str
    case: Case
    reason: str

    def applies(self, verb: str, case: Case) -> bool:
        """Whether it is about this."""
        chosen = {name: (value,) for name, value in self.case.chosen.items()}
        return verb == self.verb and matches(case, chosen)


CERTIFIED = ("auto", "held-out")
SHARES = ("equality-of-opportunity", "individual", "combined", "function")
# Means among the rows of a class.
AMONG = ("mean-opportunity", "mean-odds")

FIT: tuple[Refusal, ...] = (
    Refusal(
        ("fit",),
        {"exposure": ("given",), "family": but("family", "poisson")},
        ("exposure", "log link"),
        "only with the log link are responses proportional to an exposure",
    ),
    Refusal(
        ("fit",),
        {"bounds": ("each",), "definition": but("definition", "mean-parity")},
        ("definition=", "unfairness"),
        "only predicted means have a share for each attribute",
    ),
    Refusal(
        ("fit",),
        {"definition": AMONG, "family": ("gaussian", "poisson", "cox")},
        ("mean-o", "model"),
        "numbers have no positive class",
    ),
    Refusal(
        ("fit",),
        {"definition": ("mean-parity",), "family": ("cox",)},
        ("mean", "cox"),
        "a Cox model predicts no means",
    ),
    Refusal(
        ("fit",),
        {"blind": ("yes",), "definition": SHARES},
        ("definition=", "blind"),
        "these definitions read the coefficients of S",
    ),
    Refusal(
        ("fit",),
        {"blind": ("yes",), "penalty": but("penalty", "ridge")},
        ("penalty=", "blind"),
        "there are no coefficients of S to penalize",
    ),
    Refusal(
        ("fit",),
        {"definition": ("mean-parity", *AMONG), "penalty": but("penalty", "ridge")},
        ("penalty=", "definition="),
        "these definitions have a ridge of their own",
    ),
    Refusal(
        ("fit",),
        {"confidence": CERTIFIED, "bounds": ("each",)},
        ("confidence", "unfairness"),
        "a certificate is about one bound",
    ),
    Refusal(
        ("fit",),
        {"confidence": CERTIFIED, "definition": (*SHARES, *AMONG)},
        ("certified",),
        "only R² on S has a limit in the population that is known",
    ),
    Refusal(
        ("fit",),
        {
            "confidence": CERTIFIED,
            "definition": ("statistical-parity",),
            "family": ("binomial", "probit", "poisson", "multinomial"),
            "blind": ("no",),
        },
        ("certified", "deviance"),
        "a share of deviance varies too much between samples",
    ),
    Refusal(
        ("fit",),
        {"confidence": ("auto",), "predictor_penalty": ("cv",)},
        ("confidence", "predictor_penalty"),
        'the rows chose the penalty; `certification="held-out"` allows it',
    ),
    Refusal(
        ("fit",),
        {"confidence": ("held-out",), "maps": but("maps", "none")},
        ("held-out", "_map"),
        "maps look at all rows",
    ),
    Refusal(
        ("fit",),
        {"confidence": ("held-out",), "input": ("parquet",)},
        ("held-out", "memory"),
        "half of the rows are kept from the fit",
    ),
    Refusal(
        ("fit",),
        {
            "confidence": CERTIFIED,
            "isolated": ("yes",),
            "family": but("family", "gaussian"),
            "predictor_penalty": ("0",),
            "min_frequency": ("none",),
        },
        ("isolated", "certificate", "confidence"),
        "a certificate would not hold for people with these levels",
    ),
    Refusal(
        ("fit",),
        {"controls": ("given",), "definition": (*SHARES, *AMONG)},
        ("definition=", "controls"),
        "these definitions have no version given controls",
    ),
    Refusal(
        ("fit",),
        {"controls": ("given",), "maps": ("predictor_map",)},
        ("controls", "predictor_map"),
        "the map makes features of the controls, too",
    ),
    Refusal(
        ("fit",),
        {"definition": ("function",), "input": ("parquet",)},
        ("memory", "definition"),
        "your own function needs every row",
    ),
    Refusal(
        ("fit",),
        {"family": ("cox",), "input": ("sparse",)},
        ("parse",),
        "risk sets are sums over dense columns",
    ),
    Refusal(
        ("fit",),
        {"maps": but("maps", "none"), "input": ("parquet",)},
        ("_map", "memory"),
        "maps look at all rows",
    ),
    Refusal(
        ("fit",),
        {"maps": ("predictor_map",), "input": ("sparse",)},
        ("predictor_map", "sparse"),
        "most maps make dense features",
    ),
    Refusal(
        ("fit",),
        {"missing_S": but("missing_S", "none"), "input": ("parquet", "sparse")},
        ("missing",),
        "missing values are looked for before the first sums; fill them in beforehand",
    ),
    Refusal(
        ("fit",),
        {"missing_X": but("missing_X", "none"), "input": ("parquet", "sparse")},
        ("missing",),
        "missing values are looked for before the first sums; fill them in beforehand",
    ),
    Refusal(
        ("fit",),
        {"class_weight": ("balanced",), "input": ("parquet",)},
        ("class_weight", "memory"),
        "the classes are counted first; a dict of weights works",
    ),
    Refusal(
        ("fit",),
        {"bounds": ("each",), "maps": ("sensitive_map",)},
        ("sensitive_map", "unfairness"),
        "the map mixes the attributes",
    ),
    Refusal(
        ("fit",),
        {"predictor_penalty": ("cv",), "input": ("parquet",)},
        ("predictor_penalty", "memory"),
        "rows are left out one by one",
    ),
)
EXPORTS = ("to_sql", "to_python", "to_onnx", "to_sklearn", "scorecard", "reasons", "proxies")
SEVERAL = ("binomial", "probit", "poisson", "multinomial")
OTHERS: tuple[Refusal, ...] = (
    Refusal(
        ("cross_validate",),
        {"input": ("parquet",), "family": but("family", "gaussian")},
        ("gaussian", "not in memory"),
        "only moments of folds are added up",
    ),
    Refusal(
        ("cross_validate",),
        {"input": ("parquet",), "definition": ("individual",)},
        ("definition=", "not in memory"),
        "only moments of folds are added up",
    ),
    Refusal(
        ("cross_validate",),
        {"input": ("parquet",), "confidence": ("auto",)},
        ("confidence", "not in memory"),
        "only moments of folds are added up",
    ),
    Refusal(
        ("inference", "population_unfairness"),
        {"family": ("cox",), "input": ("parquet",)},
        ("Cox", "memory"),
        "risk sets reach over all rows",
    ),
    Refusal(
        ("fit",),
        {"definition": ("individual",), "rare": ("yes",)},
        ("individual", "separate"),
        "a level with few rows may decide the response, and the model without a bound has no end",
        always=False,
    ),
    Refusal(
        ("inference", "population_unfairness"),
        {"rare": ("yes",)},
        ("separate", "standard errors"),
        "a level with few rows may decide the response",
        always=False,
    ),
    Refusal(
        ("inference", "population_unfairness"),
        {"isolated": ("yes",), "predictor_penalty": ("cv",)},
        ("separate", "standard errors"),
        "a penalty that is almost zero leaves the level its infinite coefficient",
        always=False,
    ),
    Refusal(
        (*EXPORTS, "Monitor", "save"),
        {"maps": ("predictor_map",)},
        ("_map", "needs a model without feature maps"),
        "features are not columns of the input",
    ),
    Refusal(
        (*EXPORTS, "Monitor", "save"),
        {"maps": ("sensitive_map",), "blind": ("no",)},
        ("_map", "needs a model without feature maps"),
        "features are not columns of the input; blind models need none of S",
    ),
    Refusal(
        ("proxies", "Monitor"),
        {"maps": ("sensitive_map",), "blind": ("yes",)},
        ("_map", "needs a model without feature maps"),
        "features are not columns of the input",
    ),
    Refusal(
        ("to_sql", "to_sklearn"),
        {"family": ("probit",)},
        ("probit", "link"),
        "neither has the normal distribution",
    ),
    Refusal(
        ("scorecard",),
        {"family": but("family", "binomial")},
        ("scorecard", "link"),
        "points are log odds",
    ),
    Refusal(
        ("scorecard",),
        {"missing_X": ("some",)},
        ("scorecard", "missing"),
        "a missing number has no points; cut the column into intervals",
    ),
    Refusal(
        ("scorecard",),
        {"missing_S": ("number",), "blind": ("no",)},
        ("scorecard", "missing"),
        "a missing number has no points; cut the column into intervals",
    ),
    Refusal(
        ("scorecard",),
        {"missing_S": ("category",), "input": ("arrays",), "blind": ("no",)},
        ("scorecard", "missing"),
        "categories in an array are numbers",
    ),
    Refusal(
        ("to_sklearn",),
        {"missing_X": ("some",)},
        ("to_sklearn", "missing"),
        "use `to_sql`, `to_python` or `to_onnx`",
    ),
    Refusal(
        ("to_sklearn",),
        {"missing_S": but("missing_S", "none"), "blind": ("no",)},
        ("to_sklearn", "missing"),
        "use `to_sql`, `to_python` or `to_onnx`",
    ),
    Refusal(
        ("inference", "population_unfairness"),
        {"bounds": ("each",)},
        ("unfairness", "attribute"),
        "these are about one bound",
    ),
    Refusal(
        ("cross_validate", "compare", "report"),
        {"confidence": ("held-out",)},
        ("held-out", "cross-validation"),
        'rows would be held out twice; `certification="auto"` works',
    ),
    Refusal(
        ("cross_validate", "compare", "report"),
        {"confidence": ("auto",), "missing_S": but("missing_S", "none")},
        ("certified", "fewer than 10 rows"),
        "a training set of folds may have too few people of a group for a certificate",
        always=False,
    ),
    Refusal(
        ("fairridge choose",),
        {"family": ("cox",)},
        ("times",),
        "rules are about decisions for numbers and classes",
    ),
    Refusal(
        ("choose_bound", "compare", "report", "report(new_rows=True)", "Monitor"),
        {"input": ("sparse",)},
        ("Sparse", "X"),
        "pass `X.toarray()`",
    ),
    Refusal(
        ("choose_bound", "compare", "report", "report(new_rows=True)"),
        {"input": ("parquet",)},
        ("not in memory",),
        "groups are compared row by row",
    ),
    Refusal(
        ("inference", "population_unfairness"),
        {"penalty": ("lasso", "elastic-net")},
        ("penalty=", "standard errors"),
        "the penalty selects columns",
    ),
    Refusal(
        ("inference", "population_unfairness"),
        {"definition": ("function",)},
        ("definition=", "standard errors"),
        "how your function depends on a row is not known",
    ),
    Refusal(
        ("population_unfairness",),
        {"definition": (*SHARES, *AMONG)},
        ("population_unfairness", "bound"),
        "the interval is one of R² on S of the linear predictor",
    ),
    Refusal(
        ("population_unfairness",),
        {"definition": ("mean-parity",), "family": but("family", "gaussian")},
        ("population_unfairness", "bound"),
        "the interval is one of R² on S of the linear predictor",
    ),
    Refusal(
        ("population_unfairness",),
        {"definition": ("statistical-parity",), "family": SEVERAL, "blind": ("no",)},
        ("population_unfairness", "bound"),
        "a share of deviance is bounded, and the interval is one of R²",
    ),
)
REFUSED = FIT + OTHERS
# Faults that were found and are not mended yet.
KNOWN: tuple[Fault, ...] = ()


def barred(*verbs: str) -> list[Mapping[str, Values]]:
    """Return the combinations that fit refuses, and those that some verb does on any data."""
    others = [one for one in OTHERS if one.always and {*verbs} & {*one.verbs}]
    return [one.options for one in (*FIT, *others)]


def refusals_of(verb: str, case: Case) -> list[Refusal]:
    """Return why something may be refused."""
    return [one for one in REFUSED if one.applies(verb, case)]


def faults_of(verb: str, case: Case) -> list[Fault]:
    """Return why something may break."""
    return [one for one in KNOWN if one.applies(verb, case)]
