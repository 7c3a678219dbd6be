"""What a summary says of a model under a bound."""

from __future__ import annotations

from typing import Any

__all__ = ["bound_facts"]

SHARES = {
    "r_squared_sensitive": "Explained by S",
    "r_squared_predictors": "Explained by U",
    "r_squared_response": "Explained by y after S",
}


def bound_facts(model: Any, multiplier: str) -> tuple[tuple[str, str], ...]:
    """Return label and value of what stands above the table of coefficients.

    Parameters
    ----------
    model : BoundedModel
        A fitted model.
    multiplier : str
        What `lambda_` is called.
    """
    facts = {
        "Family": model.family_.name,
        "Rows": f"{model.n_rows_:,}",
        "R²" if model.family_.least_squares else "D²": f"{model.explained_deviance_:.4f}",
        "Log-likelihood": f"{model.loglik_:.2f}",
        "Definition": model._definition.name,
        "Bound r": f"{float(model.unfairness):g}",
        "Achieved": f"{model.unfairness_:.6g}",
        multiplier: f"{model.lambda_:.6g}",
        "Status": model.status_,
    }
    if model.sensitive_map is not None:
        facts["Variance of S dropped"] = f"{model.sensitive_dropped_:.4g}"
    facts |= {SHARES.get(key, key): f"{value:.6g}" for key, value in model.components_.items()}
    return tuple(facts.items())
