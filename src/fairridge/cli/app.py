"""The commands of ``fairridge``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from fairridge.cli.auditing import audit
from fairridge.cli.comparing import compare
from fairridge.cli.data_sets import datasets
from fairridge.cli.deciding import choose, monitor
from fairridge.cli.demonstration import demo
from fairridge.cli.deploying import export, reasons
from fairridge.cli.errors import as_options, explain, notes
from fairridge.cli.examples import EXAMPLES
from fairridge.cli.exit_codes import ExitCode
from fairridge.cli.fitting import fit, path
from fairridge.cli.options import AsJson
from fairridge.cli.parameters import options_of
from fairridge.cli.predicting import predict
from fairridge.cli.reporting import report
from fairridge.cli.terminal import Result

COMMANDS = (
    fit, path, predict, reasons, export, audit, compare, choose, monitor, report, datasets, demo,
)  # fmt: skip
HELP = "Regression models that are fair to a degree you choose."


def application(wanted: str) -> typer.Typer:
    """Return the commands; only the wanted one has options, and does anything."""
    # Options are made from parameters of the library, which takes its time to be imported.
    app = typer.Typer(
        name="fairridge",
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help=HELP,
    )
    app.callback(help=HELP)(_options)
    for command in COMMANDS:
        name = command.__name__
        made = as_command(command) if name == wanted else lambda: None
        examples = "\n\n".join(["Examples:", *EXAMPLES[name]])
        app.command(name, epilog=examples, help=command.__doc__)(made)
    return app


def as_command(command: Callable[..., Result | None]) -> Callable[..., int]:
    """Let a command take records of options, and its users the options themselves."""
    # A command that returns a `Result` also gets the option --json.
    hints = get_type_hints(command, include_extras=True)
    has_result = hints.pop("return") is Result
    groups = {name: found for name, hint in hints.items() if (found := options_of(hint))}
    options = {name: group.options() for name, group in groups.items()}

    def called(**values: Any) -> int:
        as_json = has_result and values.pop("as_json")
        for name, group in groups.items():
            given = {option.name: values.pop(option.name) for option in options[name]}
            values[name] = group.read(given)
        result = command(**values)
        if result is None:
            return 0
        result.report(as_json)
        return result.code

    # The options of a group stand in its place.
    parameters = [
        item
        for name, parameter in signature(command).parameters.items()
        for item in options.get(
            name, [parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)]
        )
    ]
    if has_result:
        parameters.append(
            Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
        )
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    return called


def _version(wanted: bool) -> None:
    if wanted:
        from fairridge._version import __version__

        sys.stdout.write(f"fairridge {__version__}\n")
        raise typer.Exit()


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take options before the command."""


def _forget_output() -> None:
    """Keep Python from writing at exit what could not be written before."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_options(app: typer.Typer, command: str, text: str) -> str:
    """Write arguments of the library as options, in a message of a command."""
    group = typer.main.get_command(app)
    known = getattr(group, "commands", {}).get(command)
    parameters = () if known is None else known.params
    options = {item.name: item.opts[0] for item in parameters if item.opts[0].startswith("--")}
    return as_options(text, options)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: NumPy calls buffers invalid if it comes there."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors become one line."""
    arguments = arguments or ["--help"]
    # The command, also of a line that a shell asks to complete.
    line = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    words = line.split()[1:] if "_FAIRRIDGE_COMPLETE" in os.environ else arguments
    wanted = words[0] if words else ""
    app = application(wanted)
    write = partial(_in_options, app, wanted)
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
        if _interrupted(error):
            raise KeyboardInterrupt from None
        explained = explain(error)
        if explained is None:
            raise
        _forget_output()
        sys.stderr.write(f"fairridge: {write(explained[0])}\n")
        return explained[1]
