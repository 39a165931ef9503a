"""What the tests of tutti explain share: the tool that predicts, and the words that are shown."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from tutti.explain.answer import show

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TUTTI_BUILD_DIR", REPOSITORY / "build" / "release"))
TOOL = BUILD / "tools" / "tutti-predict"
needs_tool = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")


def text_of(told, width=120):
    console = Console(width=width, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    show(told, console)
    console.file.close()
    return [line.rstrip() for line in console.export_text().splitlines()]
