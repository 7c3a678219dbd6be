"""The small faults that a line can be given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

# What stands in for what: a condition is turned around, an operation becomes its inverse.
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Place:
    """A piece of a line, and what it becomes."""

    line: int
    start: int  # bytes into the line, as `ast` counts them
    end: int
    before: str
    after: str

    def applied(self, source: str) -> str:
        """Return the source with this fault."""
        lines = source.encode().splitlines(keepends=True)
        one = lines[self.line - 1]
        lines[self.line - 1] = one[: self.start] + self.after.encode() + one[self.end :]
        return b"".join(lines).decode()


def places(source: str) -> Iterator[Place]:
    """Yield the faults that the lines of a module can be given, one after the other.

    Expressions of several lines are left out, and so are pieces of text, whose places Python 3.11
    does not know.
    """
    lines = source.encode().splitlines()
    for node in _executed(ast.parse(source), inside=False):
        after = _replacement(node)
        if after is None or node.lineno != node.end_lineno:
            continue
        before = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
        yield Place(node.lineno, node.col_offset, node.end_col_offset or 0, before, after)


def _executed(node: ast.AST, *, inside: bool) -> Iterator[ast.expr]:
    """Yield the expressions below a node that a function computes, whose tests are known."""
    # What a module computes when it is imported is not run by any one test. In annotations | and
    # constants are types, and `strict` of zip() makes no difference unless something else is wrong.
    inside = inside or isinstance(node, FUNCTIONS)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.arguments) or getattr(node, "arg", None) == "strict":
            continue
        for child in value if isinstance(value, list) else [value]:
            if inside and isinstance(child, ast.expr):
                yield child
            if isinstance(child, ast.AST):
                yield from _executed(child, inside=inside)


def _replacement(node: ast.expr) -> str | None:
    """Return what stands in for an expression; None where it has no counterpart."""
    match node:
        case ast.Compare(left, [one], right) if type(one) in OPPOSITES:
            other: ast.expr = ast.Compare(left, [OPPOSITES[type(one)]()], right)  # type: ignore[list-item]
        case ast.BoolOp(one, values):
            other = ast.BoolOp(OPPOSITES[type(one)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left, one, right) if type(one) in OPPOSITES and not _text(node):
            other = ast.BinOp(left, OPPOSITES[type(one)](), right)  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            other = operand
        case ast.IfExp(test, body, orelse):
            other = ast.IfExp(test, orelse, body)
        case ast.Constant(value=bool(value)):
            other = ast.Constant(not value)
        case _:
            return None
    return f"({ast.unparse(other)})"


def _text(node: ast.BinOp) -> bool:
    """Whether pieces of text are put together: their difference is an error of every test."""
    sides = (node.left, node.right)
    return any(
        isinstance(one, ast.JoinedStr)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in sides
    )
