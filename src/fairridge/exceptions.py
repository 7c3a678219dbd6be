"""Warnings the library issues; errors are plain ``ValueError`` and ``TypeError``."""


class DataWarning(UserWarning):
    """The data have a defect with a defined answer.

    Such as collinear, constant or empty columns, or row labels in another order.

    See Also
    --------
    BoundWarning : About the bound.

    References
    ----------
    .. [1] docs/data.md.

    Examples
    --------
    >>> import warnings
    >>> from fairridge.exceptions import DataWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DataWarning)  # these columns are known
    ...
    """


class BoundWarning(UserWarning):
    """The bound could not be met, or more than one penalty meets it.

    See Also
    --------
    DataWarning : About the data.

    References
    ----------
    .. [1] "Other families" in docs/algorithms.md.

    Examples
    --------
    >>> import warnings
    >>> from fairridge.exceptions import BoundWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", BoundWarning)  # a bound that is not met is an error
    ...
    """
