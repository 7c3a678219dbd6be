"""Texts that move with the slider.

A page is written out at the chosen bound, so that it reads without a script.
Every text that depends on the bound is a span with a key; the page's script
looks the key up and puts another text there. It never makes markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairridge.markup import Html, element
from fairridge.reports.html.contents import Audited, Sample


def view_of(sample: Sample) -> str:
    """Name of what a reader chooses to look at: rows and outcome."""
    return f"{sample.rows}|{sample.outcome}"


class Board:
    """Collects texts by bound, and by view if they depend on it."""

    def __init__(self, contents: Audited) -> None:
        self.contents = contents
        self._texts: dict[str, list[str]] = {}
        views = map(view_of, contents.samples)
        self._by_view: dict[str, dict[str, list[str]]] = {view: {} for view in views}
        self._count = 0

    def text(self, texts: Sequence[str]) -> Html:
        """Show one text per bound."""
        key = None
        if len(set(texts)) > 1:
            key = self._key()
            self._texts[key] = list(texts)
        return element("span", texts[self.contents.chosen], data_t=key)

    def each(self, function: Callable[[int], str]) -> Html:
        """Show a function of the position of the bound."""
        return self.text(list(map(function, range(len(self.contents.unfairness)))))

    def of_samples(self, function: Callable[[Sample, int], str]) -> Html:
        """Show a function of the sample and the position of the bound."""
        bounds = range(len(self.contents.unfairness))
        first, *others = texts = [
            [function(sample, k) for k in bounds] for sample in self.contents.samples
        ]
        if all(other == first for other in others):
            return self.text(first)
        key = self._key()
        for view, by_bound in zip(self._by_view.values(), texts, strict=True):
            # One text stands for the same text at every bound.
            view[key] = by_bound if len(set(by_bound)) > 1 else by_bound[:1]
        return element("span", first[self.contents.chosen], data_t=key)

    def payload(self) -> dict[str, Any]:
        """Return all texts, for the script."""
        return {"texts": self._texts, "views": self._by_view}

    def _key(self) -> str:
        self._count += 1
        return f"t{self._count}"
