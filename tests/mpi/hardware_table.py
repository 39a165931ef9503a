#!/usr/bin/env python3
"""Writes the table of docs/hardware.md: what every host makes of every level, by itself and with Tutti.

Two ranks on the machine that this runs on, of which each host's own launcher binds each to a core, or none. The answers
are those of the program tutti-test-hardware-levels, which tests/mpi/run asks, too.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import hardware
import launcher as launchers

HOSTS = ["openmpi-debian", "openmpi", "mpich-debian", "mpich", "abi", "intel"]
NAMES = {
    "openmpi-debian": "Open MPI 4.1",
    "openmpi": "Open MPI 5.0",
    "mpich-debian": "MPICH 4.0",
    "mpich": "MPICH 5.0",
    "abi": "MPICH 5.0, standard ABI",
    "intel": "Intel MPI 2021",
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "hardware.md"
BEGIN, END = "<!-- table: tests/mpi/hardware_table.py -->", "<!-- end of table -->"


def column(host, library, binding):
    """The answers of one host."""
    build = launchers.DEFAULT_BUILD
    return hardware.answers(launchers.Launcher(host, build, library), binding)


def answers(binding):
    """By question: those of the hosts by themselves, then that with Tutti on all of them."""
    library = launchers.library_of(launchers.DEFAULT_BUILD)
    alone = {host: column(host, None, binding) for host in HOSTS}
    ours = {host: column(host, library, binding) for host in HOSTS}
    found = {}
    for question in ours[HOSTS[0]]:
        rows = {ours[host].get(question, "?") for host in HOSTS}
        together = (
            rows.pop() if len(rows) == 1 else "; ".join(f"{NAMES[h]}: {ours[h].get(question)}" for h in HOSTS)
        )
        cells = [alone[host].get(question, alone[host].get("all that follows", "?")) for host in HOSTS]
        found[question] = [*cells, together]
    return found


def table(binding, rows):
    """In Markdown: a row for each question."""
    lines = [
        f"| {binding} | " + " | ".join(NAMES[host] for host in HOSTS) + " | with Tutti |",
        "|---" * (len(HOSTS) + 2) + "|",
        *(f"| {question} | {' | '.join(cells)} |" for question, cells in rows.items()),
    ]
    return "\n".join(lines)


def main():
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    bound, unbound = answers("bound"), answers("unbound")
    others = {question: cells for question, cells in unbound.items() if cells != bound.get(question)}
    tables = f"{table('bound', bound)}\n\n{table('unbound, where that differs', others)}"
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}")


if __name__ == "__main__":
    main()
