"""Pointers to neighbours' memory, and blocks that change their owner: from C, Fortran and Python."""

from pathlib import Path

from jobs import Job
from runner import FOLDER

ROOT = Path(__file__).resolve().parents[2]
#: What keeps blocks from being handed over where they lie, and what is done with those that are.
SETTINGS = [
    ("TUTTI_CHECK", "1"),
    ("TUTTI_MECHANISM", "cma,staged"),
    ("TUTTI_HUGE", "off"),
    ("TUTTI_ENABLE", "0"),
]
BINDINGS = ["mpif", "mpi", "f08"]
#: mpi4py as it is published finds the MPI when it is imported.
MPI4PY = ROOT / ".venv" / "mpi4py" / "wheel"
PYTHON = ROOT / ".venv" / "bin" / "python"
LIBRARIES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40", "intel": "libmpi.so.12"}


def check(runner):
    """The functions from each language, and the examples."""
    is_c = Path(runner.launcher.program(FOLDER, "tutti-test-pointers")).exists()
    for count in (2, 3) if is_c else ():
        runner.program("pointers:", count, "pointers")
        for size in (1000, 300000):
            check_example(runner, count, "halo", [size, 1 + count % 2, 3])
            check_example(runner, count, "pipeline", [size, 21, 2])
    for binding in BINDINGS:
        check_fortran(runner, binding)
    check_python(runner)
    for name, value in SETTINGS if is_c and runner.preload else ():
        runner.program(f"pointers, {name}={value},", 2, "pointers", variables={name: value})


def check_example(runner, count, example, words):
    """The example program finds its own results right."""
    outcome = runner.start(count, f"example-{example}", words).wait(60)
    with_tutti = "with" if runner.preload else "without"
    good = outcome.status == 0 and f"bytes, {with_tutti} Tutti: 0 " in outcome.text
    if example == "halo":
        good = good and ("there are none" in outcome.text) != bool(runner.preload)
    name = f"{runner.arguments.host} {count} the example {example}, {' '.join(map(str, words))}"
    runner.verdict(good, name, outcome.why(), outcome.text)


def check_fortran(runner, binding, name="pointers", says="pointers {shared}: all is right"):
    """The module tutti, where the host has the binding."""
    program = f"{name}-{binding}"
    if not Path(runner.launcher.program(FOLDER, f"tutti-test-{program}")).exists():
        return
    for count in (2, 3):
        outcome = runner.start(count, program, variables={"OMP_WAIT_POLICY": "passive"}).wait(60)
        good = outcome.status == 0 and says.format(shared=int(bool(runner.preload))) in outcome.text
        label = f"{runner.arguments.host} {count} {name} in Fortran, {binding}"
        runner.verdict(good, label, outcome.why(), outcome.text)


def check_python(runner, name="pointers", says="arrays of {count} ranks are right, {how}\n"):
    """tutti.mpi with mpi4py."""
    host = runner.arguments.host
    library = ROOT / ".venv" / "mpi" / host / "lib" / LIBRARIES.get(host, "-")
    if not MPI4PY.is_dir() or not library.exists():
        return
    for count in (2, 3):
        variables = {"PYTHONPATH": f"{MPI4PY}:{ROOT}", "MPI4PY_LIBMPI": str(library)}
        script = str(ROOT / FOLDER / f"{name}_python.py")
        line = runner.launcher.command(count, [str(PYTHON), script], variables)
        outcome = Job(line, runner.launcher.environment).wait(120)
        wanted = says.format(count=count, how="shared" if runner.preload else "copied")
        good = outcome.status == 0 and outcome.text.count(wanted) == count
        runner.verdict(good, f"{host} {count} {name} in Python", outcome.why(), outcome.text)
