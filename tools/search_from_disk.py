"""Let the search of the site work from disk (a hook of MkDocs).

Browsers let a page that is opened from disk read scripts, not JSON. The theme
therefore looks for the index in `search/search_index.js` there, which its own plugin
`offline` would write together with a script from another site. This hook writes the
same file, and `docs/js/worker-from-disk.js` takes the place of that script.
"""

from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority


@event_priority(-100)  # after the search plugin has written its index
def on_post_build(config: Any) -> None:
    """Write the index as a script beside the one in JSON (called by MkDocs)."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}\n", encoding="utf-8")
