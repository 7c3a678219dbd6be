"""Texts that move with the slider.

A page is written out at the chosen bound, so that it reads without a script.
Every text that depends on the bound is a span with a key; the page's script
looks the key up and puts another text there. It never makes markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairridge.reports.html.contents import Audited, Sample
from fairridge.reports.html.markup import Html, element

__all__ = ["Board", "view_of"]


def view_of(sample: Sample) -> str:
    """Name of what a reader chooses to look at: rows and outcome."""
    return f"{sample.rows}|{sample.outcome}"


class Board:
    """Collects texts by bound, and by view where they depend on it.

    Parameters
    ----------
    contents : Audited
        What the report shows.
    """

    def __init__(self, contents: Audited) -> None:
        self.contents = contents
        self.views = [view_of(sample) for sample in contents.samples]
        self._texts: dict[str, list[str]] = {}
        self._by_view: dict[str, dict[str, list[str]]] = {view: {} for view in self.views}
        self._count = 0

    def text(self, texts: Sequence[str], **attributes: Any) -> Html:
        """Show one text per bound."""
        texts = list(texts)
        if len(set(texts)) == 1:
            return element("span", texts[0], **attributes)
        key = self._key()
        self._texts[key] = texts
        return element("span", texts[self.contents.chosen], data_t=key, **attributes)

    def each(self, function: Callable[[int], str], **attributes: Any) -> Html:
        """Show a function of the position of the bound."""
        return self.text(list(map(function, range(len(self.contents.unfairness)))), **attributes)

    def by_view(self, texts: Mapping[str, Sequence[str]], **attributes: Any) -> Html:
        """Show one text per bound and view."""
        if len({tuple(own) for own in texts.values()}) == 1:
            return self.text(texts[self.views[0]], **attributes)
        key = self._key()
        for view, own in texts.items():
            # One text stands for the same text at every bound.
            self._by_view[view][key] = list(own) if len(set(own)) > 1 else [own[0]]
        shown = texts[self.views[0]][self.contents.chosen]
        return element("span", shown, data_t=key, **attributes)

    def of_samples(self, function: Callable[[Sample, int], str], **attributes: Any) -> Html:
        """Show a function of the sample and the position of the bound."""
        bounds = range(len(self.contents.unfairness))
        texts = {
            view: [function(sample, k) for k in bounds]
            for view, sample in zip(self.views, self.contents.samples, strict=True)
        }
        return self.by_view(texts, **attributes)

    def payload(self) -> dict[str, Any]:
        """Return all texts, for the script."""
        return {"texts": self._texts, "views": self._by_view}

    def _key(self) -> str:
        self._count += 1
        return f"t{self._count}"
