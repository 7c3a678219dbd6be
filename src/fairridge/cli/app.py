"""The commands of ``fairridge``."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Annotated

import typer

from fairridge.cli.auditing import audit
from fairridge.cli.comparing import compare
from fairridge.cli.data_sets import datasets
from fairridge.cli.deciding import choose, monitor
from fairridge.cli.demonstration import demo
from fairridge.cli.deploying import export, reasons
from fairridge.cli.errors import as_options, explain, notes
from fairridge.cli.examples import epilog
from fairridge.cli.exit_codes import ExitCode
from fairridge.cli.fitting import fit, path
from fairridge.cli.interruption import INTERRUPTION
from fairridge.cli.predicting import predict
from fairridge.cli.reporting import report

app = typer.Typer(
    name="fairridge",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Regression models that are fair to a degree you choose.",
)
COMMANDS = (
    fit, path, predict, reasons, export, audit, compare, choose, monitor, report, datasets, demo,
)  # fmt: skip
for command in COMMANDS:
    app.command(epilog=epilog(command.__name__))(command)


def _version(wanted: bool) -> None:
    if wanted:
        from fairridge._version import __version__

        sys.stdout.write(f"fairridge {__version__}\n")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Regression models that are fair to a degree you choose."""


def _forget_output() -> None:
    """Keep Python from writing at exit what could not be written before."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_options(command: str, text: str) -> str:
    """Write arguments of the library as options, in a message of a command."""
    group = typer.main.get_command(app)
    known = getattr(group, "commands", {}).get(command)
    parameters = () if known is None else known.params
    options = {item.name: item.opts[0] for item in parameters if item.opts[0].startswith("--")}
    return as_options(text, options)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors become one line."""
    arguments = arguments or ["--help"]
    write = partial(_in_options, arguments[0])
    try:
        with notes(write):
            code = app(args=arguments, prog_name="fairridge", standalone_mode=False)
            sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except typer.Abort:  # the input ended at a question
        raise KeyboardInterrupt from None
    except BrokenPipeError:  # the reader closed the pipe
        _forget_output()
        return 1
    except Exception as error:
        if INTERRUPTION.seen:
            raise KeyboardInterrupt from None
        explained = explain(error)
        if explained is None:
            raise
        _forget_output()
        sys.stderr.write(f"fairridge: {write(explained[0])}\n")
        return explained[1]
