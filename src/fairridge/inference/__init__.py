"""Standard errors of fair models, and bounds that hold for new people.

`inference_of` is the entry point for models; `certify` and `rows_needed` answer how
strict a bound in training must be.
"""

from fairridge.inference.analysis import Analysis, Scheme
from fairridge.inference.bands import PathBands, bands_of
from fairridge.inference.build import inference_of, scheme_of
from fairridge.inference.certificate import Certificate, rows_needed
from fairridge.inference.certify import (
    CERTIFICATIONS,
    Certification,
    certify,
    certify_each,
    held_out_test,
    require_share,
)
from fairridge.inference.estimates import Contrast, Estimates, Interval, WaldTest
from fairridge.inference.federated import RowProducts, products_of
from fairridge.inference.pooling import PooledInference, pool
from fairridge.inference.posterior import MAX_KEPT_COLUMNS, posterior_covariance
from fairridge.inference.restore import restored
from fairridge.inference.result import Inference

__all__ = [
    "CERTIFICATIONS",
    "MAX_KEPT_COLUMNS",
    "Analysis",
    "Certificate",
    "Certification",
    "Contrast",
    "Estimates",
    "Inference",
    "Interval",
    "PathBands",
    "PooledInference",
    "RowProducts",
    "Scheme",
    "WaldTest",
    "bands_of",
    "certify",
    "certify_each",
    "held_out_test",
    "inference_of",
    "pool",
    "posterior_covariance",
    "products_of",
    "require_share",
    "restored",
    "rows_needed",
    "scheme_of",
]
