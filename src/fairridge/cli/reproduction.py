"""The command that reproduces the paper."""

from __future__ import annotations

import typer

__all__ = ["reproduce"]


def reproduce(context: typer.Context) -> None:
    """Reproduce the figures and check the claims of the paper (--help for its options)."""
    from fairridge.experiments.__main__ import main

    try:
        code = main(context.args)
    except SystemExit as stop:  # how the parser of the experiments ends
        code = stop.code if isinstance(stop.code, int) else 1
    if code:
        raise typer.Exit(code)
