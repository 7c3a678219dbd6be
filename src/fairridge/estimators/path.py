"""All models of a path, from r = 0 to r = 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from fairridge._typing import Floats
from fairridge.arguments import listed
from fairridge.data import make_frame
from fairridge.estimators import _inferring
from fairridge.estimators._outcome import isolated_levels, refit_at
from fairridge.estimators._training import Training
from fairridge.inference import PathBands
from fairridge.reports import PathCurves, PathPlot, plot_path
from fairridge.reports.sketch import sketch
from fairridge.search import Problem, Solution
from fairridge.tables import Table


@dataclass(frozen=True)
class FairnessPath:
    """Coefficients and fairness for many bounds.

    Attributes
    ----------
    unfairness : ndarray of shape (m,)
        The bounds r.
    lambda_ : ndarray of shape (m,)
        λ(r).
    alpha, beta : ndarray of shape (m, q) and (m, p)
        Coefficients of S and of U, original scale; (m, K, q) and (m, K, p)
        for K classes.
    intercept : ndarray of shape (m,) or (m, K)
        Intercepts, S uncentered.
    achieved : ndarray of shape (m,)
        The definition's value.
    status : tuple of str
        "inactive", "converged", "jumped", "infeasible", "not-converged" or "separated".
    deviance, score : ndarray of shape (m,)
        Deviance, and R² or D², in training.
    components : dict of str to ndarray
        What the definition is made of.
    sensitive_names, predictor_names : tuple of str
        Encoded column names.
    class_names : tuple of str or None
        Labels, if coefficients are per class.
    isolated : dict of str to int
        Levels that decide the response, with the number of their rows: no model of
        the path is fitted to these rows, and no bound is about them.
    definition : str
        Name of the definition that the bounds are about.
    score_name : str
        What `score` is: the name of its column in tables and of its line in plots.
    certificates : tuple of Certificate or None
        What each bound promises for the population, with `confidence`; bounds
        that are not granted have the model at r = 0.
    predictor_penalty : float
        λ₂ of all models; with ``predictor_penalty="cv"`` it was chosen at the bound
        of the model that the path is of.

    See Also
    --------
    fairridge.FairRidgeRegressor : Its `path` returns this.
    fairridge.inference.PathBands : Confidence bands of a path.

    References
    ----------
    .. [1] "Least squares" and "Other families" in docs/algorithms.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> path = FairRidgeRegressor().path(X, y, sensitive_features=S, unfairness=[0, 0.1, 1])
    >>> print(path.score.round(3), path.status)
    [0.304 0.475 0.614] ('converged', 'converged', 'inactive')
    """

    unfairness: Floats
    lambda_: Floats
    alpha: Floats
    beta: Floats
    intercept: Floats
    achieved: Floats
    status: tuple[str, ...]
    deviance: Floats
    score: Floats
    components: dict[str, Floats]
    sensitive_names: tuple[str, ...]
    predictor_names: tuple[str, ...]
    class_names: tuple[str, ...] | None
    isolated: dict[str, int]
    definition: str
    score_name: str
    _deviations: tuple[Floats, Floats]
    _backend: Any
    _origin: tuple[Any, Any, Any]
    certificates: tuple[Any, ...] | None = None
    predictor_penalty: float = 0.0

    def __len__(self) -> int:
        return len(self.unfairness)

    def __repr__(self) -> str:
        ends = f"{self.unfairness.min():g} to {self.unfairness.max():g}"
        note = f"; {self._note}" if self._note else ""
        return f"FairnessPath({len(self)} bounds on {self.definition}, r = {ends}{note})"

    @property
    def _note(self) -> str:
        """Return which rows all models are without."""
        rows = sum(self.isolated.values())
        return f"{rows:,} row(s) of {listed(list(self.isolated))} isolated" if rows else ""

    def _repr_html_(self) -> str:
        lines = {"achieved": self.achieved, self.score_name: self.score}
        chart = sketch(self.unfairness, lines, "bound on unfairness, r")
        few = np.unique(np.linspace(0, len(self) - 1, min(len(self), 11)).astype(int))
        columns = {
            "unfairness": self.unfairness[few],
            "achieved": self.achieved[few],
            self.score_name: self.score[few],
            "status": [self.status[k] for k in few],
        }
        return chart + Table.of(columns, repr(self)).html()

    def at(self, unfairness: float) -> Any:
        """Return the fitted model for one bound, whether it is on the path or not."""
        return refit_at(*self._origin, unfairness)

    def to_frame(self) -> Any:
        """Return one row per bound: fairness, fit, and a column for every coefficient."""
        columns: dict[str, Any] = {
            "unfairness": self.unfairness,
            "lambda_": self.lambda_,
            "achieved": self.achieved,
            "status": list(self.status),
            "deviance": self.deviance,
            self.score_name: self.score,
        }
        if self.certificates is not None:
            for name in ("training_bound", "price", "upper", "granted"):
                columns[name] = [getattr(certificate, name) for certificate in self.certificates]
        for name, values in self.named_coefficients():
            # A column of the data may be called "intercept", too.
            while name in columns:
                name = f"coef_{name}"
            columns[name] = values
        return make_frame(columns, self._backend)

    def named_coefficients(self) -> list[tuple[str, Floats]]:
        """Every coefficient with its name, class by class."""
        names = ("intercept", *self.sensitive_names, *self.predictor_names)
        values = np.concatenate([self.intercept[..., None], self.alpha, self.beta], axis=-1)
        if self.class_names is None:
            return list(zip(names, values.T, strict=True))
        return [
            (f"{name} → {label}", values[:, k, j])
            for k, label in enumerate(self.class_names)
            for j, name in enumerate(names)
        ]

    def bands(
        self, confidence: float = 0.95, *, covariance: Literal["HC0", "HC1", "HC3"] = "HC1"
    ) -> PathBands:
        """Return a confidence band for every coefficient, which holds for all bounds at once.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence of each band.
        covariance : {"HC0", "HC1", "HC3"}, default="HC1"
            Which estimator of the covariance.

        Returns
        -------
        PathBands
            One band for every coefficient.
        """
        return _inferring.bands(*self._origin, self, confidence=confidence, covariance=covariance)

    def plot(
        self,
        kind: PathPlot = "coefficients",
        ax: Any = None,
        *,
        bands: bool = False,
        confidence: float = 0.95,
    ) -> Any:
        """Draw the path with matplotlib.

        Parameters
        ----------
        kind : {"coefficients", "constraints", "accuracy"}
            What to draw over r.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        bands : bool, default=False
            Whether to shade confidence bands around coefficients; see `bands`.
        confidence : float, default=0.95
            Confidence of each band.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        if bands and kind != "coefficients":
            raise ValueError(f"bands=True is for kind='coefficients', not for kind={kind!r}.")
        alpha, beta = self._scaled(self.alpha, self.beta)
        ends: tuple[tuple[Floats, Floats], ...] = ()
        if bands:
            shaded = self.bands(confidence)
            ends = tuple(self._scaled(*self._split(part)) for part in (shaded.lower, shaded.upper))
        sensitive_names, predictor_names = self.sensitive_names, self.predictor_names
        if self.class_names is not None:
            sensitive_names, predictor_names = (
                tuple(f"{name} → {label}" for label in self.class_names for name in names)
                for names in (sensitive_names, predictor_names)
            )
        curves = PathCurves(
            self.unfairness,
            self.achieved,
            alpha,
            beta,
            self.components,
            self.score,
            sensitive_names,
            predictor_names,
            self.definition,
            self.score_name,
            self._note,
            ends,
        )
        return plot_path(curves, kind, ax)

    def _split(self, values: Floats) -> tuple[Floats, Floats]:
        """Return α and β of coefficients in the order of `named_coefficients`."""
        q, shape = self.alpha.shape[-1], self.intercept.shape
        each = values.reshape(*shape, -1)
        return each[..., 1 : 1 + q], each[..., 1 + q :]

    def _scaled(self, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
        """Return coefficients times standard deviations, one row per bound."""
        on_alpha, on_beta = alpha * self._deviations[0], beta * self._deviations[1]
        return on_alpha.reshape(len(self), -1), on_beta.reshape(len(self), -1)


def path_of(
    model: Any, training: Training, problem: Problem, solutions: list[Solution]
) -> FairnessPath:
    """Collect the solutions for many bounds."""
    fits = [solution.fit for solution in solutions]
    design, basis, classes = training.design, problem.basis, training.response.classes
    deviance, null = np.array([fit.deviance for fit in fits]), problem.null_deviance
    certificates = tuple(solution.certificate for solution in solutions)
    several = classes if np.ndim(fits[0].alpha) == 2 else None
    return FairnessPath(
        unfairness=np.array([solution.unfairness for solution in solutions]),
        lambda_=np.array([fit.lambda_ for fit in fits]),
        alpha=np.array([fit.alpha for fit in fits]),
        beta=np.array([fit.beta for fit in fits]),
        intercept=np.array([fit.intercept for fit in fits]),
        achieved=np.array([solution.achieved for solution in solutions]),
        status=tuple(solution.choice.status for solution in solutions),
        deviance=deviance,
        score=1.0 - deviance / null if null > 0.0 else np.ones(len(fits)),
        components={
            name: np.array([solution.components[name] for solution in solutions])
            for name in solutions[0].components
        },
        sensitive_names=design.sensitive.names,
        predictor_names=design.predictors.names,
        class_names=None if several is None else tuple(map(str, several)),
        isolated=isolated_levels(problem, design),
        definition=model._traits.definition.name,
        score_name="r_squared" if problem.family.least_squares else "d_squared",
        _deviations=(
            np.sqrt(basis.sensitive.squares() / basis.weight),
            np.sqrt(basis.predictors.squares() / basis.weight),
        ),
        _backend=training.backend,
        _origin=(clone(model), training, problem),
        certificates=certificates if certificates[0] is not None else None,
        predictor_penalty=float(getattr(model, "predictor_penalty", 0.0)),
    )
