"""Find docstrings of internal names that are longer than a line: ``python -m tools.docstrings``.

Names in `docs/api.md`, with the public members of classes and of their bases, have numpydoc;
so have, in their own way, the commands, whose docstrings are their help.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairridge.cli.app import COMMANDS
from tools import api_pages

ROOT = Path(__file__).resolve().parents[1]


def place(found: Any) -> tuple[str, str]:
    """Return the module and the qualified name of a class, a function or a member."""
    found = getattr(found, "fget", None) or getattr(found, "func", None) or found
    found = inspect.unwrap(getattr(found, "__func__", found))
    return getattr(found, "__module__", ""), getattr(found, "__qualname__", "")


def public() -> set[tuple[str, str]]:
    """Return the places of names that readers of the site or of ``--help`` see."""
    names = api_pages.entries((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    found = [api_pages.found(name) for name in names if api_pages.is_documented(name)]
    classes = [base for one in found if inspect.isclass(one) for base in one.__mro__]
    members = [
        member for one in classes for name, member in vars(one).items() if not name.startswith("_")
    ]
    return {place(one) for one in (*found, *classes, *members, *COMMANDS)}


def documented(node: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.Constant]]:
    """Yield the docstrings of classes and functions, by qualified name."""
    for child in ast.iter_child_nodes(node):
        name = owner
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            name = f"{owner}.{child.name}".removeprefix(".")
            first = child.body[0]
            if ast.get_docstring(child) is not None and isinstance(first, ast.Expr):
                yield name, first.value
        yield from documented(child, name)


def long_ones() -> Iterator[str]:
    """Yield the file, the line and the name of every docstring that is too long."""
    known, source = public(), ROOT / "src"
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        for name, text in documented(ast.parse(path.read_text(encoding="utf-8"))):
            if text.lineno != text.end_lineno and (module, name) not in known:
                yield f"{path.relative_to(ROOT)}:{text.lineno}: {name}"


if __name__ == "__main__":
    found = list(long_ones())
    sys.stdout.write("".join(f"{one} has more than one line of docstring.\n" for one in found))
    sys.exit(bool(found))
