"""Random problems: what a user might fit, on data a user might have.

A problem is a function of its seed alone, so that a violation is reproduced
from one number.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

FAMILIES = (
    "gaussian", "binomial", "quasi-binomial", "poisson", "gamma", "tweedie", "multinomial", "cox",
)  # fmt: skip
DEFINITIONS = {
    "statistical-parity": 0.4,
    "equality-of-opportunity": 0.2,
    "individual": 0.15,
    "uncentered": 0.1,
    "nagelkerke": 0.05,
    "combined": 0.1,
}
PENALTIES = {"ridge": 0.6, "radial": 0.15, "lasso": 0.15, "elastic-net": 0.1}
PEERS = {"gaussian": ("komiyama", "zafar"), "binomial": ("zafar",)}
BOUNDS = (0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
ROWS = (4, 6, 8, 12, 20, 30, 50, 80, 150, 300)
SHAPES = {
    "normal": 0.4,
    "binary": 0.2,
    "rare": 0.05,
    "whole": 0.1,
    "heavy": 0.05,
    "shifted": 0.05,
    "tiny": 0.05,
    "huge": 0.05,
    "lognormal": 0.05,
}
DEFECTS = {
    "none": 0.78,
    "predictor is sensitive": 0.06,
    "collinear sensitive": 0.05,
    "collinear predictors": 0.05,
    "constant predictor": 0.03,
    "constant sensitive": 0.03,
}
WEIGHTS = {"none": 0.4, "uniform": 0.2, "whole": 0.1, "zeros": 0.15, "extreme": 0.15}
MAPS = {"none": 0.85, "predictors": 0.1, "sensitive": 0.05}
SOURCES = {"memory": 0.8, "parquet": 0.1, "moments": 0.1}
# Seeds from here on draw bounds on other things than α, of the problem they would draw otherwise.
OTHER = 10**9
OTHERS = {
    "mean-parity": 0.3,
    "mean-opportunity": 0.15,
    "blind": 0.15,
    "blind means": 0.15,
    "controls": 0.15,
    "same-outcome": 0.05,
    "closeness": 0.05,
}
# Seeds from here on draw data that the library may refuse, of a problem with a smaller seed.
BEYOND = 3 * 10**9
BEYOND_LIMITS = ("units", "response", "weights", "offset")
CLASSES = ("binomial", "multinomial")
# Families whose offsets are logarithms of exposures.
LOG_LINKS = ("poisson", "gamma", "tweedie")
TWINS = {"none": 0.55, "permuted": 0.15, "scaled": 0.15, "saved": 0.15}


@dataclass(frozen=True)
class Problem:
    """Data, a model, and what else to compare it with.

    Attributes
    ----------
    seed : int
        Makes the problem again.
    model : str
        "ridge" for the library's own models, or a peer: "komiyama", "zafar".
    family, definition, penalty, ties : str
        As users name them; "uncentered", "nagelkerke" and "combined" are objects.
    unfairness, predictor_penalty : float
        r and λ₂.
    standardize : bool
        Whether penalties see standardized columns.
    S, X : ndarray
        Columns as given.
    y : ndarray
        Numbers, codes of classes, or (time, event).
    weight, offset : ndarray or None
        Of every row.
    maps : str
        Which columns get their squares as further features.
    source : str
        Where the rows of a second fit come from, or "memory" for none.
    twin : str
        A second fit that must agree: of permuted rows, of scaled columns, of the saved model, or
        one taken from a path.
    traits : tuple of str
        What is nasty about the data.
    blind : bool
        Whether the model does without S when it predicts.
    controls : int
        How many of the first columns of X are controls.
    """

    seed: int
    model: str
    family: str
    definition: str
    penalty: str
    unfairness: float
    predictor_penalty: float
    standardize: bool
    ties: str
    S: Floats = field(repr=False)
    X: Floats = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    weight: Floats | None = field(repr=False)
    offset: Floats | None = field(repr=False)
    maps: str
    source: str
    twin: str
    traits: tuple[str, ...]
    blind: bool = False
    controls: int = 0

    @property
    def has_other_bound(self) -> bool:
        """Whether something else than α is bounded, with a penalty of its own."""
        return self.blind or self.controls > 0 or self.bounds_means

    @property
    def bounds_means(self) -> bool:
        """Whether predicted means are bounded."""
        return self.definition.startswith("mean-")

    @property
    def label(self) -> str:
        """One line that says what the problem is."""
        n, q, p = len(self.X), self.S.shape[1], self.X.shape[1]
        return (
            f"{'blind ' * self.blind}{self.model}/{self.family}/{self.definition}/{self.penalty} "
            f"r={self.unfairness:g} {f'controls={self.controls} ' * (self.controls > 0)}"
            f"λ₂={self.predictor_penalty:g} n={n} q={q} p={p} maps={self.maps} "
            f"source={self.source} twin={self.twin} {'' if self.standardize else 'raw scale '}"
            f"[{', '.join(self.traits)}]"
        )

    @property
    def features(self) -> tuple[Floats, Floats]:
        """S and X as the model sees them, after the maps."""
        S = with_squares(self.S) if self.maps == "sensitive" else self.S
        X = with_squares(self.X) if self.maps == "predictors" else self.X
        return S, X


def with_squares(Z: Floats) -> Floats:
    """Return columns and their squares."""
    return np.hstack([Z, Z**2])


def draw(seed: int) -> Problem:
    """Return the problem of a seed."""
    if seed >= BEYOND:
        return _beyond(draw(seed - BEYOND), seed)
    return _with_other_bound(_draw(seed)) if seed >= OTHER else _draw(seed)


def _beyond(problem: Problem, seed: int) -> Problem:
    """Make the data of a problem absurd, in one way."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(BEYOND_LIMITS))
    n = len(problem.X)
    changes: dict[str, Any] = {"seed": seed, "traits": (*problem.traits, f"beyond: {kind}")}
    if kind == "units":
        powers = rng.choice([-12.0, 0.0, 12.0], problem.S.shape[1])
        changes |= {"S": problem.S * 10.0**powers, "standardize": problem.model != "ridge"}
        changes["twin"] = _possible(problem.twin, problem.maps, changes["standardize"])
    elif kind == "weights":
        # One row, or a few, with all of the weight.
        changes["weight"] = np.where(rng.random(n) < 2.0 / n, 1.0, 10.0 ** rng.uniform(-14, -9, n))
    elif kind == "offset" and problem.model == "ridge":
        changes["offset"] = rng.normal(size=n) * 10.0 ** rng.uniform(1.5, 3.0)
    elif problem.family in ("gaussian", "gamma", "tweedie"):
        # Multiples of ε: a response whose digits are rounding.
        changes["y"] = 1.0 + 2.0**-52 * np.round(8.0 * rng.random(n))
    elif problem.family == "poisson":
        changes["y"] = problem.y * 10.0 ** rng.integers(12, 17)
    return replace(problem, **changes)


def _with_other_bound(problem: Problem) -> Problem:
    """Bound something else on the same data."""
    rng = np.random.default_rng([problem.seed, 1])
    kind = _suitable(_pick(rng, OTHERS), problem.family)
    twin = "path" if rng.random() < 0.25 else problem.twin
    about_pairs = kind in ("same-outcome", "closeness")
    keeps_penalty = about_pairs and problem.model == "ridge"
    definitions = {"blind": "statistical-parity", "controls": "statistical-parity"}
    memory = problem.source == "memory" or kind == "closeness"
    blind = kind.startswith("blind")
    given = kind == "controls" or (blind and rng.random() < 0.4)
    # Rates given controls would hardly ever meet.
    rates = kind == "blind means" and given and problem.family in LOG_LINKS
    return replace(
        problem,
        model="ridge",
        definition=definitions.get(kind, "mean-parity" if kind == "blind means" else kind),
        penalty=problem.penalty if keeps_penalty else "ridge",
        maps="none",
        source="memory" if memory else "parquet",
        twin=twin,
        blind=blind,
        controls=max(1, problem.X.shape[1] // 2) if given else 0,
        offset=rng.normal(size=len(problem.X)) * 0.5 if rates else problem.offset,
    )


def _suitable(kind: str, family: str) -> str:
    """Return a kind that the family has: hazards have no means, and classes no distances."""
    if family == "cox":
        return kind if kind in ("blind", "controls") else "blind"
    if kind == "mean-opportunity" and family not in CLASSES:
        return "mean-parity"
    return "same-outcome" if kind == "closeness" and family in CLASSES else kind


def _draw(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    family = str(rng.choice(FAMILIES))
    model = "ridge" if rng.random() < 0.85 else str(rng.choice(PEERS.get(family, ("ridge",))))
    n, q, p = int(rng.choice(ROWS)), int(rng.choice([1, 1, 2, 2, 3, 5])), 1
    p = int(rng.choice([1, 1, 2, 3, 5, 8]))
    S, shapes_S = _columns(rng, n, q)
    X, shapes_X = _columns(rng, n, p)
    X = _related(rng, S, X)
    defect = _pick(rng, DEFECTS)
    _damage(S, X, defect)
    weights = _pick(rng, WEIGHTS)
    definition = _pick(rng, DEFINITIONS) if model == "ridge" else "own"
    source = _pick(rng, SOURCES)
    if source == "moments" and not (
        family == "gaussian" and definition in ("statistical-parity", "equality-of-opportunity")
    ):
        source = "parquet"
    maps = _pick(rng, MAPS) if model == "ridge" else "none"
    twin = _pick(rng, TWINS)
    standardize = bool(rng.random() < 0.85) or model != "ridge"
    return Problem(
        seed=seed,
        model=model,
        family=family,
        definition=definition,
        penalty=_pick(rng, PENALTIES) if model == "ridge" else "none",
        unfairness=float(rng.choice(BOUNDS)),
        predictor_penalty=float(rng.choice([0, 0, 0, 0.1, 1, 100])) if model == "ridge" else 0.0,
        standardize=standardize,
        ties=str(rng.choice(["breslow", "efron"])),
        S=S,
        X=X,
        y=_response(rng, family, _linear_predictor(rng, S, X)),
        weight=_weight(rng, weights, n),
        offset=rng.normal(size=n) * 0.3 if rng.random() < 0.2 else None,
        maps=maps,
        source="memory" if maps != "none" else source,
        twin=_possible(twin, maps, standardize),
        traits=tuple(sorted({*shapes_S, *shapes_X, defect, f"weights: {weights}"} - {"none"})),
    )


def _possible(twin: str, maps: str, standardize: bool) -> str:
    """Scaling changes what squares and penalties mean, and maps are not saved."""
    if twin == "scaled" and (maps != "none" or not standardize):
        return "permuted"
    return "none" if twin == "saved" and maps != "none" else twin


def _pick(rng: np.random.Generator, shares: dict[str, float]) -> str:
    return str(rng.choice(list(shares), p=list(shares.values())))


def _columns(rng: np.random.Generator, n: int, k: int) -> tuple[Floats, list[str]]:
    shapes = [_pick(rng, SHAPES) for _ in range(k)]
    return np.column_stack([_column(rng, n, shape) for shape in shapes]), shapes


def _column(rng: np.random.Generator, n: int, shape: str) -> Floats:
    z = rng.normal(size=n)
    if shape == "binary":
        return (z > 0.5 * rng.normal()).astype(float)
    if shape == "rare":
        return (np.arange(n) == rng.integers(n)).astype(float)
    if shape == "whole":
        return np.round(3.0 * z)
    if shape == "heavy":
        return rng.standard_t(2, size=n)
    if shape == "shifted":
        return z + 10.0 ** rng.integers(1, 6)
    if shape == "tiny":
        return z * 10.0 ** -rng.integers(2, 9)
    if shape == "huge":
        return z * 10.0 ** rng.integers(2, 9)
    return np.exp(z) if shape == "lognormal" else z


def _scaled(Z: Floats) -> Floats:
    deviation = Z.std(axis=0)
    return (Z - Z.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)


def _related(rng: np.random.Generator, S: Floats, X: Floats) -> Floats:
    """Let S explain something of X, each column in its own units."""
    deviation = X.std(axis=0)
    share = _scaled(S) @ rng.normal(size=(S.shape[1], X.shape[1])) * rng.choice([0, 0.3, 1, 5])
    return X + share * np.where(deviation > 0.0, deviation, 1.0)


def _damage(S: Floats, X: Floats, defect: str) -> None:
    if defect == "predictor is sensitive":
        X[:, 0] = S[:, 0]
    elif defect == "collinear sensitive" and S.shape[1] > 1:
        S[:, 1] = 2.0 * S[:, 0] - 3.0
    elif defect == "collinear predictors" and X.shape[1] > 1:
        X[:, 1] = -3.0 * X[:, 0]
    elif defect == "constant predictor":
        X[:, 0] = 7.0
    elif defect == "constant sensitive" and S.shape[1] > 1:
        S[:, 0] = 7.0


def _linear_predictor(rng: np.random.Generator, S: Floats, X: Floats) -> Floats:
    strengths = [0.0, 0.1, 0.5, 1.0, 3.0]
    eta = _scaled(S) @ rng.normal(size=S.shape[1]) * rng.choice(strengths)
    eta = eta + _scaled(X) @ rng.normal(size=X.shape[1]) * rng.choice(strengths)
    return eta / max(1.0, eta.std() / rng.choice([0.5, 1.0, 2.0]))


def _response(rng: np.random.Generator, family: str, eta: Floats) -> NDArray[Any]:
    n = len(eta)
    if family == "gaussian":
        y = eta * rng.choice([1, 1, 0]) + rng.normal(size=n) * rng.choice([1, 1, 0.1, 1e-6])
        return y * 10.0 ** rng.choice([0, 0, 0, -6, 6]) + rng.choice([0, 0, 1e3])
    if family == "binomial":
        return (rng.random(n) < expit(eta)).astype(int)
    if family == "quasi-binomial":
        shares = expit(eta + rng.normal(size=n))
        return rng.binomial(4, expit(eta)) / 4.0 if rng.random() < 0.5 else shares
    if family == "poisson":
        return rng.poisson(np.exp(eta - rng.choice([0, 2]))).astype(float)
    if family == "gamma":
        return np.maximum(rng.gamma(2.0, np.exp(eta) / 2.0), 1e-12)
    if family == "tweedie":
        return np.where(rng.random(n) < 0.4, 0.0, rng.gamma(2.0, np.exp(eta) / 2.0))
    if family == "multinomial":
        classes = int(rng.integers(3, 5))
        scores = np.outer(eta, rng.normal(size=classes)) + rng.gumbel(size=(n, classes))
        return scores.argmax(axis=1)
    time = rng.exponential(np.exp(-eta)) + 1e-9
    if rng.random() < 0.5:
        time = np.ceil(3.0 * time)
    return np.column_stack([time, rng.random(n) < rng.choice([0.2, 0.7, 1.0])]).astype(float)


def _weight(rng: np.random.Generator, kind: str, n: int) -> Floats | None:
    if kind == "none":
        return None
    if kind == "uniform":
        return rng.uniform(0.2, 3.0, n)
    if kind == "whole":
        return rng.integers(1, 4, n).astype(float)
    if kind == "zeros":
        return rng.integers(0, 3, n).astype(float)
    return 10.0 ** rng.uniform(-4, 4, n)
