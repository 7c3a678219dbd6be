"""Warnings the library issues; errors are plain ``ValueError`` and ``TypeError``."""


class DataWarning(UserWarning):
    """The data have a defect with a defined answer: collinear, constant or empty columns."""


class BoundWarning(UserWarning):
    """The bound could not be met, or more than one penalty meets it."""
