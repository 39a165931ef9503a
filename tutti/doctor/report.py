"""`tutti doctor`: what this machine allows, and the remedy for what it does not."""

from typing import Any, Dict, Iterator, List, Sequence, Tuple

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tutti import __version__
from tutti.doctor.check import FAIL, OK, UNKNOWN, WARN, Check
from tutti.doctor.cores import core_checks
from tutti.doctor.hosts import host_checks
from tutti.doctor.limits import limit_checks
from tutti.doctor.machine import Machine
from tutti.doctor.mechanisms import mechanisms_of
from tutti.doctor.reach import reach_checks
from tutti.sizes import rounded

SCHEMA = "tutti-doctor-1"
#: Exit status if a check fails; with warnings alone it is 0, since they cost time and not results.
FAILED = 1

_STYLES = {OK: "green", WARN: "yellow", FAIL: "bold red", UNKNOWN: "cyan"}
_STATUSES = (OK, WARN, FAIL, UNKNOWN)


def examine(machine: Machine, selected: Tuple[str, ...] = (), **more: Any) -> Iterator[Check]:
    """All checks, each as soon as it is done. selected: hosts to look at only. more: for host_checks.

    Raises UserError, before anything is done, if a host is not there.
    """
    about_hosts = host_checks(machine, selected, **more)

    def in_turn() -> Iterator[Check]:
        for part in (reach_checks, limit_checks, core_checks):
            yield from part(machine)
        yield from about_hosts

    return in_turn()


def exit_status(checks: Sequence[Check]) -> int:
    """FAILED if something does not work at all, otherwise 0."""
    return FAILED if any(check.status == FAIL for check in checks) else 0


def _counts(checks: Sequence[Check]) -> Dict[str, int]:
    return {status: sum(check.status == status for check in checks) for status in _STATUSES}


def machine_facts(machine: Machine) -> Dict[str, Any]:
    """What the report is about."""
    return {
        "kernel": machine.kernel,
        "processors": len(machine.processors),
        "memory_bytes": machine.memory_bytes,
        "container": machine.container or None,
    }


def document(machine: Machine, checks: Sequence[Check]) -> Dict[str, Any]:
    """What --json prints; docs/doctor.md describes it."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "machine": machine_facts(machine),
        "exit_status": exit_status(checks),
        "counts": _counts(checks),
        "mechanisms": mechanisms_of(machine),
        "checks": [vars(check) for check in checks],
    }


def mechanism_line(machine: Machine) -> str:
    """ "window, cma, staged; not xpmem"."""
    ways = mechanisms_of(machine)
    yes = [name for name, way in ways.items() if way["usable"]]
    no = [name for name, way in ways.items() if way["usable"] is False]
    return (", ".join(yes) or "none") + (f"; not {', '.join(no)}" if no else "")


def _remarks(checks: Sequence[Check], console: Console) -> None:
    for check in checks:
        if not (check.consequence or check.remedy):
            continue
        console.print(
            f"[{_STYLES[check.status]}]{check.status}[/] [bold]{check.id}[/]: {escape(check.title)}"
        )
        rows = Table.grid(padding=(0, 1))
        rows.add_column(width=9)
        rows.add_column(overflow="fold")
        for head, text in (("means", check.consequence), ("remedy", check.remedy)):
            if text:
                rows.add_row(f"  {head}", escape(text))
        console.print(rows)


def show(machine: Machine, checks: List[Check], console: Console) -> None:
    """Prints a table of all checks, then what follows from those that are not well."""
    facts = machine_facts(machine)
    head = [facts["kernel"], f"{facts['processors']} processors"]
    head += [rounded(facts["memory_bytes"])] if facts["memory_bytes"] else []
    head += [f"in a container ({facts['container']})"] if facts["container"] else []
    console.print(f"Tutti {__version__} on {', '.join(head)}\n")
    table = Table("", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    table.add_column("check", overflow="fold", ratio=2)
    table.add_column("found", overflow="fold", ratio=3)
    for check in checks:
        table.add_row(f"[{_STYLES[check.status]}]{check.status}[/]", escape(check.title), escape(check.found))
    console.print(table)
    console.print()
    _remarks(checks, console)
    counts = _counts(checks)
    console.print(f"Ranks here reach each other's memory by: {mechanism_line(machine)}.")
    words = [f"{count} {status}" for status, count in counts.items() if count]
    console.print(f"{len(checks)} checks: {', '.join(words)}.")
