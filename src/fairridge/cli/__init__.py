"""The command line: parse, call, show. Nothing is computed here."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Sequence

from fairridge.cli.examples import EXAMPLES
from fairridge.cli.exit_codes import ExitCode

__all__ = ["main"]

MISSING = "fairridge: the command line needs {}: pip install 'fairridge[cli]'\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    # 0: done. 2: bad usage or bad input, reported in one line. 3: done, and the answer is no
    # (`choose`). 130: interrupted, as in shells (128 + SIGINT). 1: anything else.
    # A stream that is closed gets no output.
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    try:
        code = _run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        sys.stderr.write("fairridge: interrupted.\n")
        code = ExitCode.INTERRUPTED
    if arguments is None:  # the program ends here: Ctrl-C comes too late
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _run(arguments: list[str]) -> int:
    try:
        from fairridge.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("fairridge"):
            raise
        missing = MISSING.format(error.name)
        if arguments and "--help" not in arguments:
            sys.stderr.write(missing)
            return ExitCode.FAILED
        # What commands are for can be shown without the package.
        wanted = [name for name in EXAMPLES if name in arguments] or list(EXAMPLES)
        examples = "".join(f"  {line}\n" for name in wanted for line in EXAMPLES[name])
        sys.stdout.write(f"Examples:\n{examples}\n{missing}")
        return 0
    return run(arguments)
