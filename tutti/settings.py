"""The table of settings. It exists once, in C++ (src/base/settings.cpp); `tutti-settings` prints it as JSON."""

import re
from pathlib import Path
from typing import Dict, List, NamedTuple

from tutti.launch.library import find_tool, printed_json
from tutti.places import settings_page
from tutti.variables import PREFIX

_ROW = re.compile(r"^\| `TUTTI_(\w+)` \| (.*) \| (.*) \| (.*) \|$")

PAGE_HEAD = """# Settings

Every setting is an environment variable; `tutti run --set NAME=VALUE` sets one for a run. An unknown name
or a value that cannot be used is one warning with the nearest right one, and the default stays. This page is
written by `./dev format` from the table in `src/base/settings.cpp`; the tests check that the two agree.

| variable | type | default | what it does |
|---|---|---|---|
"""


class Setting(NamedTuple):
    """One row of the table."""

    name: str
    type: str
    default: str
    sentence: str


def accepts(setting: Setting, text: str) -> bool:
    """Whether the library can use `text`, as far as its type tells (see store in src/base/settings.cpp)."""
    if setting.type == "bool":
        return text.lower() in ("0", "1", "no", "yes", "false", "true", "off", "on")
    if setting.type in ("bytes", "count"):
        return re.fullmatch(r"\d+([kmgt](b|ib)?|b|ib)?", text, re.IGNORECASE) is not None
    if setting.type == "seconds":
        return re.fullmatch(r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", text, re.IGNORECASE) is not None
    if setting.type == "auto or sizes":
        sizes = text.split(",")
        return text == "auto" or all(
            re.fullmatch(r"0*[1-9]\d*([kmgt](b|ib)?|b|ib)?", each, re.IGNORECASE) for each in sizes
        )
    return "|" not in setting.type or text in setting.type.split("|")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(settings: List[Setting]) -> str:
    """The text of docs/settings.md."""
    rows = []
    for setting in settings:
        default = f"`{_cell(setting.default)}`" if setting.default else "not set"
        rows.append(
            f"| `{PREFIX}{setting.name}` | {_cell(setting.type)} | {default} | {_cell(setting.sentence)} |\n"
        )
    return PAGE_HEAD + "".join(rows)


def parse_page(text: str) -> List[Setting]:
    """The rows of a page written by `page`."""
    settings = []
    for line in text.splitlines():
        found = _ROW.match(line)
        if found:
            name, kind, default, sentence = (part.replace("\\|", "|") for part in found.groups())
            settings.append(Setting(name, kind, "" if default == "not set" else default.strip("`"), sentence))
    return settings


def built_settings() -> List[Setting]:
    """The table as the built library has it; empty if nothing is built."""
    tool = find_tool("tutti-settings", "tools")
    if tool is None:
        return []
    rows: List[Dict[str, str]] = printed_json(tool)
    return [Setting(row["name"], row["type"], row["default"], row["sentence"]) for row in rows]


def all_settings() -> List[Setting]:
    """The table: the library's own, or without a build the reference page's."""
    settings = built_settings()
    if settings:
        return settings
    file = Path(settings_page())
    return parse_page(file.read_text(encoding="utf-8")) if file.is_file() else []


def setting_names() -> List[str]:
    """Without the prefix."""
    return [setting.name for setting in all_settings()]
