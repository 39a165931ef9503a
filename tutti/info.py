"""`tutti info`: what is built, what is installed, what can be set."""

import os
from typing import Any, Dict

from rich.console import Console
from rich.table import Table

from tutti import __version__
from tutti.hosts import all_hosts
from tutti.library import find_library, find_tool
from tutti.program import ABI_NAMES
from tutti.settings import PREFIX, all_settings


def collect() -> Dict[str, Any]:
    """Everything that `tutti info` shows."""
    return {
        "version": __version__,
        "libraries": {abi: str(find_library(abi) or "") for abi in ABI_NAMES},
        "tools": {
            name: str(find_tool(name, "tools") or "")
            for name in ("tutti-topo", "tutti-settings", "tutti-algorithms")
        },
        "hosts": [
            {
                "name": host.name,
                "title": host.title,
                "mpirun": str(host.mpirun),
                "library": str(host.library or ""),
                "bench": str(host.bench or ""),
            }
            for host in all_hosts()
        ],
        "settings": [
            {**setting._asdict(), "name": PREFIX + setting.name, "set": os.environ.get(PREFIX + setting.name)}
            for setting in all_settings()
        ],
    }


def show(console: Console) -> None:
    """Prints it for people."""
    facts = collect()
    console.print(f"Tutti {facts['version']}\n")
    libraries = Table("library for", "file", title="Libraries", title_justify="left")
    for abi, path in facts["libraries"].items():
        libraries.add_row(ABI_NAMES[abi], path or "[yellow]not built[/]")
    hosts = Table("MPI", "launcher", "library", "benchmark", title="MPIs found", title_justify="left")
    for host in facts["hosts"]:
        built = ["yes" if host[part] else "[yellow]no[/]" for part in ("library", "bench")]
        hosts.add_row(host["title"], host["mpirun"], *built)
    settings = Table("variable", "type", "default", "what it does", title="Settings", title_justify="left")
    for row in facts["settings"]:
        value = row["default"] if row["set"] is None else f"{row['default']} [bold](set: {row['set']})[/]"
        settings.add_row(row["name"], row["type"], value, row["sentence"])
    for table in (libraries, hosts, settings):
        console.print(table)
        console.print()
