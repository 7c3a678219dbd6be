"""Rows as a user passes them, for models that are fitted to them or judged on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import has_fit_parameter

from fairridge.data.pipelines import at_bound, fit_arguments, split_pipeline
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs


@dataclass(frozen=True)
class PassedRows:
    """Rows as `fit` takes them."""

    X: Any
    y: Any
    sensitive_features: Any = None
    sample_weight: Any = None
    offset: Any = None
    exposure: Any = None

    @property
    def inputs(self) -> Inputs:
        """The rows with a positive weight, without offset and response."""
        return read_inputs(self.X, self.sensitive_features, self.sample_weight, None)

    def read(self, offset: Any = None) -> Inputs:
        """Return the rows with a positive weight, with offset and exposure as a model joins them.

        Of the response only the order of its row labels is looked at.
        """
        given = self.X, self.sensitive_features, self.sample_weight, offset, self.y
        return read_inputs(*given)

    def shift(self, model: Any) -> Any:
        """Return offset and exposure, as the functions that read rows take them."""
        return model._shift(self.offset, self.exposure) if isinstance(model, LinearModel) else None

    def beside(self, model: Any) -> dict[str, Any]:
        """Return the arguments of a model's `fit` beside X and y."""
        last = split_pipeline(model)[1]
        if self.sample_weight is not None and not has_fit_parameter(last, "sample_weight"):
            raise TypeError(
                f"a {type(last).__name__} cannot be fitted to weighted rows: its fit takes no "
                "sample_weight; leave out the weights or the model."
            )
        given = vars(self).copy()
        del given["X"], given["y"]
        return fit_arguments(model, **given)

    def fitted(self, model: Any, r: float) -> Any:
        """Return a copy of a model, fitted for one bound; models without a bound ignore it."""
        return at_bound(model, r).fit(self.X, self.y, **self.beside(model))
