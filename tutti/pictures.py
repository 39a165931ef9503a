"""How pictures are written, whatever draws them."""

from pathlib import Path
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_picture(figure: "Figure", path: Path, dpi: int, kind: Optional[str] = None) -> None:
    """To a file of that kind, such as "svg", by default that of its name. In SVG text stays text, and one drawing makes
    one file whenever it is drawn."""
    from matplotlib import rc_context

    kind = kind or path.suffix.lstrip(".").lower()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tutti"}):
        figure.savefig(path, format=kind or None, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
