"""`tutti info`: what is built, what is installed, how ranks can reach each other, what can be chosen and set."""

import subprocess
from typing import Any, Dict, List, Mapping, Optional

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tutti import __version__, places
from tutti.doctor.hosts import Hosts, library_of
from tutti.doctor.machine import Machine
from tutti.doctor.mechanisms import mechanisms_of
from tutti.launch.library import find_library, find_part, find_tool, printed_json
from tutti.launch.program import ABI_NAMES
from tutti.nearest import nearest
from tutti.settings import PREFIX, Setting, accepts, all_settings

SCHEMA = "tutti-info-1"
#: The built programs that the commands use, but for the benchmarks of the MPIs: name -> folder, and what for.
TOOLS = {
    "tutti-run": ("tools", "tutti run, where nothing is unusual; Python does without"),
    "tutti-topo": ("tools", "tutti topo"),
    "tutti-predict": ("tools", "tutti explain"),
    "tutti-table": ("tools", "tutti tune --check and --diff"),
    "tutti-probe-measure": ("bench", "tutti probe"),
    "tutti-settings": ("tools", "the table of settings"),
    "tutti-algorithms": ("tools", "the list of algorithms"),
    "tutti-build": ("tools", "how all this was built"),
}


def _output(tool: str) -> Any:
    """What a tool prints as JSON; None if it is not built or does not work."""
    path = find_tool(tool, TOOLS[tool][0])
    if path is None:
        return None
    try:
        return printed_json(path)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def setting_rows(settings: List[Setting], environment: Mapping[str, str]) -> List[Dict[str, Any]]:
    """Every setting with the value it has here. source: default, environment, or environment, not usable."""
    rows = []
    for setting in settings:
        given: Optional[str] = environment.get(PREFIX + setting.name) or None
        usable = given is None or accepts(setting, given)
        rows.append(
            {
                **setting._asdict(),
                "name": PREFIX + setting.name,
                "set": given,
                "value": setting.default if given is None or not usable else given,
                "source": "default"
                if given is None
                else "environment"
                if usable
                else "environment, not usable",
            }
        )
    return rows


def unknown_settings(
    settings: List[Setting], environment: Mapping[str, str]
) -> List[Dict[str, Optional[str]]]:
    """TUTTI_ variables that are no settings, with the nearest one."""
    names = [PREFIX + setting.name for setting in settings]
    given = sorted(name for name in environment if name.startswith(PREFIX) and name not in names)
    return [{"name": name, "nearest": nearest(name, names)} for name in given]


def _host_rows(machine: Machine) -> List[Dict[str, Any]]:
    return [
        {
            "name": found.host.name,
            "title": found.host.title,
            "version": found.title if found.launcher else None,
            "abi": found.host.abi or None,
            "mpirun": str(found.host.mpirun),
            "mpi_library": str(library_of(found) or ""),
            "library": str(find_library(found.host.abi) or "") if found.host.abi else "",
            "bench": str(found.host.bench or ""),
        }
        for found in Hosts(machine).found
    ]


def collect(machine: Optional[Machine] = None) -> Dict[str, Any]:
    """Everything that `tutti info` shows."""
    machine = machine or Machine()
    settings = all_settings()
    return {
        "schema": SCHEMA,
        "version": __version__,
        "build": _output("tutti-build"),
        "libraries": {abi: str(find_part(abi) or "") for abi in ABI_NAMES},
        "tools": {name: str(find_tool(name, folder) or "") for name, (folder, _) in TOOLS.items()},
        "hosts": _host_rows(machine),
        "mechanisms": mechanisms_of(machine),
        "algorithms": [
            {key: row[key] for key in ("collective", "algorithm", "requirements", "parameter")}
            for row in _output("tutti-algorithms") or []
        ],
        "settings": setting_rows(settings, machine.environment),
        "unknown_settings": unknown_settings(settings, machine.environment),
    }


def _build_lines(build: Optional[Dict[str, Any]], console: Console) -> None:
    if build is None:
        console.print(f"[yellow]not built[/]: {places.remedy()}\n")
        return
    console.print(f"built by {build['compiler']}, {build['type']}: {escape(build['flags'])}", highlight=False)
    sets = [
        row["instruction_set"] + ("" if row["runs_here"] else " (not on this processor)")
        for row in build["kernels"]
    ]
    console.print(f"reductions built for {', '.join(sets)}\n", highlight=False)


def _table(title: str, *heads: str) -> Table:
    table = Table(title=title, title_justify="left")
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def show(facts: Dict[str, Any], console: Console) -> None:
    """Prints it for people."""
    console.print(f"Tutti {facts['version']}", highlight=False)
    _build_lines(facts["build"], console)
    libraries = _table("Libraries", "library for", "file")
    for abi, path in facts["libraries"].items():
        libraries.add_row(ABI_NAMES[abi], escape(path) or "[yellow]not built[/]")
    programs = _table("Programs", "name", "for", "file")
    for name, path in facts["tools"].items():
        programs.add_row(name, TOOLS[name][1], escape(path) or "[yellow]not built[/]")
    hosts = _table("MPIs found", "name", "MPI", "launcher", "library", "benchmark")
    for host in facts["hosts"]:
        built = ["yes" if host[part] else "[yellow]no[/]" for part in ("library", "bench")]
        title = host["version"] or f"{host['title']} [yellow](its launcher does not work)[/]"
        hosts.add_row(host["name"], title, escape(host["mpirun"]), *built)
    ways = _table(
        "How ranks here reach each other's memory (tutti doctor says more)", "mechanism", "usable", "why"
    )
    for name, way in facts["mechanisms"].items():
        usable = {True: "[green]yes[/]", False: "[yellow]no[/]"}.get(way["usable"], "[cyan]not known[/]")
        ways.add_row(name, usable, escape(way["why"]))
    algorithms = _table("Algorithms", "collective", "algorithm", "requires")
    previous = ""
    for row in facts["algorithms"]:
        collective = row["collective"] if row["collective"] != previous else ""
        previous = row["collective"]
        name = row["algorithm"] + (f" [dim](,{row['parameter']}=N)[/]" if row["parameter"] else "")
        algorithms.add_row(collective, name, escape(row["requirements"]))
    settings = _table("Settings", "variable", "type", "value", "default", "from", "what it does")
    for row in facts["settings"]:
        set_here = row["source"] != "default"
        value = escape(row["value"]) or "not set"
        settings.add_row(
            row["name"],
            escape(row["type"]),
            f"[bold]{value}[/]" if set_here else value,
            escape(row["default"]) or "not set",
            row["source"] if set_here else f"[dim]{row['source']}[/]",
            escape(row["sentence"]),
        )
    for table in (libraries, programs, hosts, ways, *([algorithms] if facts["algorithms"] else []), settings):
        console.print(table)
        console.print()
    for row in facts["unknown_settings"]:
        like = f"; the nearest is {row['nearest']}" if row["nearest"] else ""
        console.print(f"[yellow]{row['name']} is set, but is no setting{like}[/]")
