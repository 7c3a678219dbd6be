"""What a command returns to the shell."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes beside 0."""

    FAILED = 1
    BAD_INPUT = 2
    NOT_GRANTED = 3  # done, and the answer is no
    INTERRUPTED = 130  # what shells and the parser make of Ctrl-C: 128 + SIGINT
