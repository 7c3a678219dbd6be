"""Small pictures for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

COLORS = ("#0072B2", "#D55E00", "#009E73")


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


def _scale(low: float, high: float, start: float, end: float) -> Any:
    span = high - low or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="11" fill="currentColor" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
