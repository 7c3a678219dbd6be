"""The fair ridge regression model, and its relatives for other numeric responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import RegressorMixin

from fairridge._typing import TableLike, VectorLike
from fairridge.arguments import check_flag
from fairridge.estimators import _means
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._parameters import FamilyLike
from fairridge.estimators._posterior import posterior_deviation
from fairridge.estimators._responses import NumericResponse
from fairridge.search.setup import resolve_regression_family


@dataclass(eq=False, repr=False, kw_only=True)
class FairRidgeRegressor(RegressorMixin, FairRidge):
    """Ridge regression whose unfairness is bounded by a number you choose.

    Predictors X are decorrelated from the sensitive attributes S by least
    squares, U = X − SB, and

        min D(α, β) + λ(r)‖α‖² + λ₂‖β‖²,  η = Sα + Uβ,

    is solved at the smallest λ(r) that keeps the unfairness of the model at
    most r (Scutari, Panero and Proissl 2022, "Achieving Fairness with a Simple
    Ridge Penalty"). D is the deviance of the family, ‖y − η‖² for gaussian
    models.

    Parameters
    ----------
    family : str or object, default="gaussian"
        Distribution of the response: "gaussian", "poisson", "quasi-poisson",
        "negative-binomial", "gamma", "tweedie", "quasi-binomial", or an object
        from `fairridge.families`. Negative binomial, gamma and tweedie models
        use the log link, the others their canonical links.
    definition : str, object or callable, default="statistical-parity"
        What is bounded. "statistical-parity", that of the paper,
        "equality-of-opportunity" and "individual" choose a point on one path of
        models α(λ), with α = 0 at r = 0; in gaussian models the second is the
        first with another r. "mean-parity" bounds R² of the predicted means on S:
        take it for counts and amounts. Or an object from
        `fairridge.fairness`, or ``f(fit) -> float``.
    predictor_penalty : float or "cv", default=0.0
        λ₂, on the scale of scikit-learn's `Ridge`, for standardized U. "cv"
        chooses it at the bound, by leaving rows out, one by one for gaussian
        models: see `predictor_penalty_`.

    Attributes
    ----------
    alpha_, beta_ : ndarray of shape (q,) and (p,)
        Coefficients of S and of U, original scale.
    fair_intercept_ : float
        η = fair_intercept_ + Sα + Uβ, S uncentered and U centered.
    coef_, intercept_ : ndarray of shape (k,) and float
        The same model in the encoded columns Z: η = intercept_ + Z·coef_.
    coef_names_ : ndarray of str
        Names of these columns, in the order of the input, with the levels of a
        categorical in place of their column.
    lambda_ : float
        λ(r); ∞ at r = 0. With a bound per attribute, this, `unfairness_` and
        `status_` are dicts with an entry for each.
    predictor_penalty_ : float
        λ₂ of the fit. With ``predictor_penalty="cv"`` it is the one of 25 values,
        10⁻⁴ to 10² times the mean of the nonzero eigenvalues of UᵀU (n, if
        columns are standardized), with the smallest error on rows left out, at
        the bound of the model.
    unfairness_ : float
        Unfairness reached on the training rows.
    unfairness_components_ : dict of str to float
        What `unfairness_` is made of.
    dependence_ : dict of str to float
        What describes every model in training, whatever its bound is on:
        `share_of_eta` and `share_of_means`, R² on S of the linear predictor and
        of the predicted means, and for classifiers `decision_gap`, the largest
        difference between groups in the share of rows that are given a class.
    group_differences_ : dict of str to float
        What that means between people, in training: `max_correlation`, the
        largest |COR| of predictions with S; `standardized_mean_difference`,
        `lowest_group_mean` and `highest_group_mean` of levels of S; and for
        classifiers `adverse_impact_ratio[CLASS]`, the lowest share of a group
        that is given the class, over the highest.
    total_ratios_ : dict of str to dict
        Total of predictions over total of responses in training: `ratio`, and `low`
        and `high` of its 95 % interval, for "all rows" and each group of at least 30;
        empty for gaussian models and rows that are not in memory (`audit` has them).
    status_ : str
        "inactive", "converged", "jumped" (met with room to spare: no minimum lies between),
        "infeasible", "not-converged", or "separated": nominally met, but meaningless,
        because levels decide the response.
    bound_active_, converged_ : bool
        `bound_active_`: the bound changes the fit. `converged_`: the bound is met.
    sign_flips_ : dict of str to dict
        Predictors of a blind model whose coefficients have another sign than
        without a bound: `coefficient`, `standard_error`, `free_coefficient` and
        `free_standard_error` of each; an error is NaN if there is none.
    isolated_ : dict of str to int
        Levels that decide the response, with the number of their rows; these
        rows take no part in the fit and the bound. See `separation`.
    certificate_ : Certificate or None
        What `confidence` found: `bound` (r), `training_bound` (r′), `confidence`,
        `upper` (what unfairness in the population may be), `method`, `n_rows`,
        `granted` and `rows_needed`.
    deviance_, loglik_, explained_deviance_ : float
        Deviance (the residual sum of squares for gaussian models),
        log-likelihood, and R² or D² in training.
    dispersion_ : float
        Estimated dispersion; 1 if the family fixes it.
    explained_by_sensitive_ : ndarray of shape (p,)
        Share of each predictor's variance that S explains.
    variance_inflation_ : ndarray of shape (p,)
        1/(1 − R²) of each predictor on S and the other predictors; absent if
        there are controls, or more columns than rows.
    sensitive_names_, predictor_names_ : ndarray of str
        Encoded column names.
    n_iter_ : int
        Passes over the data.

    See Also
    --------
    FairRidgeClassifier : The same for classes.
    FairRidgeSurvival : The same for censored times.
    FairStackingRegressor : Any learner under the bound.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), Achieving fairness with a simple ridge
        penalty, Statistics and Computing 32, 77: section 3.1; other families: section 4.4.
    .. [2] "The model" in docs/model.md, and "Least squares" in docs/algorithms.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 500)
    >>> skill = rng.normal(size=500) + sex
    >>> wage = 2 * skill + 3 * sex + rng.normal(size=500)
    >>> model = FairRidgeRegressor(unfairness=0.05, sensitive=[0])
    >>> round(model.fit(np.column_stack([sex, skill]), wage).unfairness_, 6)
    0.05
    """

    family: FamilyLike = "gaussian"

    _response_kind = property(NumericResponse.of)

    def predict(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        offset: VectorLike | None = None,
        exposure: VectorLike | None = None,
        return_std: bool = False,
    ) -> Any:
        """Predict the mean response, or with the log link and without an exposure the rate.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            New rows; columns of a frame may be in any order.
        sensitive_features : frame or array, optional
            Required if and only if it was given at fit.
        offset : array-like of shape (n,), optional
            Added to the linear predictor.
        exposure : array-like of shape (n,) or float, optional
            For families with the log link: multiplies the rate, so that the prediction
            is a count or an amount of the row.
        return_std : bool, default=False
            Whether to return the posterior standard deviation of the mean as well, for gaussian
            models with `predictor_penalty` > 0. The penalties are read as priors:
            β ~ N(0, σ²/λ₂) and α ~ N(0, σ²/λ(r)) on the columns as penalized, flat for the
            intercept, with σ² the mean squared residual, and λ₂, λ(r) and σ² as known. It is
            not the deviation of a response, whose variance is larger by σ².

        Returns
        -------
        ndarray of shape (n,), or a pair of these
            For rows of `fairridge.sources` the predictions are lazy: a Dask or Spark
            collection, or for Parquet files an object with `write(path)`.
        """
        mean = _means.predict(
            self, X, sensitive_features=sensitive_features, offset=offset, exposure=exposure
        )
        if not check_flag("return_std", return_std):
            return mean
        return mean, posterior_deviation(self, X, sensitive_features)

    score = _means.score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            family = resolve_regression_family(self.family)
        except ValueError:  # fit raises it
            return tags
        tags.target_tags.positive_only = family.link == "log"
        tags.regressor_tags.poor_score = bool(not family.least_squares and self.unfairness != 1.0)
        return tags
