"""Ridge penalties as priors: the uncertainty that remains about the mean of a gaussian model.

The minimum of ‖y − c − Sα − Uβ‖² + λ·αᵀKα + λ₂‖β‖² is the posterior mean under

    y ~ N(c + Sα + Uβ, σ²),  α ~ N(0, σ²/λ·K⁻¹),  β ~ N(0, σ²/λ₂·I),

a flat prior for c and columns as the penalties see them (standardized by
default; K = I for the ridge). S ⟂ U in training, so that the posterior
covariances are σ²(SᵀS + λK)⁻¹ and σ²(UᵀU + λ₂I)⁻¹, and that of the intercept at the
column means is σ²/W. With features of a kernel this is a Gaussian process
(Scutari, Panero and Proissl 2022, section 4.1).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from fairridge._typing import Floats
from fairridge.inference.state import to_raw
from fairridge.models import Fit
from fairridge.search import PenalizedProblem
from fairridge.solvers.spectrum import Spectrum

# Columns up to which matrices of their number are kept with a model: 8 MB each.
MAX_KEPT_COLUMNS = 1000


def posterior_covariance(problem: PenalizedProblem, fit: Fit) -> Floats | None:
    """Return the posterior covariance of the coefficients of [S, X], for centered columns."""
    # σ² is the mean squared residual. There is none for models whose penalties are not such priors,
    # and beyond `MAX_KEPT_COLUMNS` columns.
    settings, basis = problem.settings, problem.basis
    q, p = basis.B.shape
    prior = problem.has_leave_one_out and not problem.space.compressed
    if not prior or settings.predictor_penalty == 0.0 or q + p > MAX_KEPT_COLUMNS:
        return None
    penalty, lambda_2 = settings.penalty, settings.predictor_penalty
    of_S = _covariance(basis.sensitive, penalty.quadratic(basis.sensitive), fit.lambda_)
    U, prior_variance = basis.predictors, 1.0 / lambda_2
    # 1/(l + λ₂) in the directions with variance, 1/λ₂ in all others.
    change = 1.0 / (U.eigenvalues + lambda_2) - prior_variance
    of_U = (U.vectors * change) @ U.vectors.T + prior_variance * np.eye(p)
    of_U /= np.outer(U.scale, U.scale)
    to_raw_coefficients = np.linalg.inv(to_raw(basis))[1:, 1:]  # (α − Bβ, β)
    out = to_raw_coefficients @ block_diag(of_S, of_U) @ to_raw_coefficients.T
    variance = fit.deviance / basis.weight
    return np.asarray(variance * (out + out.T) / 2.0)


def _covariance(spectrum: Spectrum, K: Floats, lambda_: float) -> Floats:
    """Return (SᵀS + λK)⁻¹ of the original columns; 0 at λ = ∞, where α is known to be 0."""
    if np.isinf(lambda_):
        return np.zeros_like(K)
    scatter = (spectrum.vectors * spectrum.eigenvalues) @ spectrum.vectors.T
    inverse = np.linalg.pinv(scatter + lambda_ * K, hermitian=True)
    return np.asarray(inverse / np.outer(spectrum.scale, spectrum.scale))
