"""Tables for notebooks: what objects show of themselves there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

# Rows of a long table that are shown.
SHOWN_ROWS = 20
CELL = "padding:2px 7px;text-align:right"
LEFT = "padding:2px 7px;text-align:left"
COLORS = ("#0072B2", "#D55E00", "#009E73")


def frame_html(frame: Any, title: str = "", notes: Iterable[str] = ()) -> str:
    """Show a frame of any library, the first rows of it if it is long."""
    import narwhals as nw

    columns = nw.from_native(frame, eager_only=True).to_dict(as_series=False)
    return table_html(columns, title, notes)


def facts_html(facts: Sequence[tuple[str, str]], title: str = "") -> str:
    """Show labels and values, one pair a line."""
    rows = "".join(
        f'<tr><th style="{LEFT}">{escape(label)}</th><td style="{CELL}">{escape(value)}</td></tr>'
        for label, value in facts
    )
    return f"<table>{_caption(title)}<tbody>{rows}</tbody></table>"


def lines_html(
    x: Any,
    lines: Mapping[str, Any],
    label: str,
    width: int = 350,
    height: int = 160,
    margin: int = 40,
) -> str:
    """Draw lines over one axis as a small picture, with their names below."""
    x = np.asarray(x, dtype=float)
    order = np.argsort(x, kind="stable")
    known = np.concatenate([np.asarray(values, dtype=float) for values in lines.values()])
    known = known[np.isfinite(known)]
    low, high = (0.0, 1.0) if not known.size else (float(known.min()), float(known.max()))
    across, up = _scale(x.min(), x.max(), margin, width - 8), _scale(low, high, height - margin, 8)
    drawn, names = [], []
    for color, (name, values) in zip(COLORS, lines.items(), strict=False):
        pairs = [(x[k], float(values[k])) for k in order if math.isfinite(values[k])]
        points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in pairs)
        drawn.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{points}"/>')
        names.append(f'<span style="color:{color}">━</span> {escape(name)}')
    axis = (
        f'<path d="M{margin},8V{height - margin}H{width - 8}" fill="none" stroke="currentColor"/>'
        + _text(margin - 4, 14, f"{high:.3g}", "end")
        + _text(margin - 4, height - margin, f"{low:.3g}", "end")
        + _text(margin, height - margin + 14, f"{x.min():g}", "middle")
        + _text(width - 10, height - margin + 14, f"{x.max():g}", "end")
        + _text((margin + width) / 2, height - 4, label, "middle")
    )
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"{axis}{''.join(drawn)}</svg><div>{' &nbsp; '.join(names)}</div>"
    )


def table_html(
    columns: Mapping[str, Sequence[Any]], title: str = "", notes: Iterable[str] = ()
) -> str:
    """Show columns by name, the first rows of them if they are long."""
    n_rows = len(next(iter(columns.values()), []))
    shown = range(min(n_rows, SHOWN_ROWS))
    # A column that is empty in all rows says nothing.
    kept = {
        name: values for name, values in columns.items() if any(_cell(values[k]) for k in shown)
    }
    style = {
        name: LEFT if any(isinstance(values[k], str) for k in shown) else CELL
        for name, values in kept.items()
    }
    head = "".join(f'<th style="{style[name]}">{escape(str(name))}</th>' for name in kept)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style[name]}">{escape(_cell(values[k]))}</td>'
            for name, values in kept.items()
        )
        + "</tr>"
        for k in shown
    )
    notes = [*notes, *([f"… and {n_rows - SHOWN_ROWS:,} more rows"] if n_rows > SHOWN_ROWS else [])]
    below = "".join(f"<div><small>{escape(note)}</small></div>" for note in notes if note)
    head = f"<thead><tr>{head}</tr></thead>"
    return f"<table>{_caption(title)}{head}<tbody>{body}</tbody></table>{below}"


def _caption(title: str) -> str:
    if not title:
        return ""
    return f'<caption style="text-align:left"><b>{escape(title)}</b></caption>'


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _scale(low: float, high: float, start: float, end: float) -> Any:
    span = high - low or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="11" fill="currentColor" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
