"""What the tools that write pages of docs/ have in common."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def write_or_check(file: Path, text: str) -> int:
    """Writes the page; with --check in the command line only says whether it has this text. Returns an exit status."""
    tool = Path(sys.argv[0]).name
    if "--check" not in sys.argv[1:]:
        file.write_text(text, encoding="utf-8")
        return 0
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return 0
    print(f"{tool}: {file.relative_to(ROOT)} is out of date; run ./dev format", file=sys.stderr)
    return 1
