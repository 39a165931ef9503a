"""The table of examples/applications names files that are there, and what `run` can carry out."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

pytest.importorskip("tomllib")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "applications"
loader = SourceFileLoader("applications_run", str(FOLDER / "run"))
run = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(run)


@pytest.mark.parametrize("name", run.PROGRAMS)
def test_a_program_of_the_table_can_be_run(name):
    program = run.PROGRAMS[name]
    assert program["packages"]
    assert set(program["mpi"]) <= set(run.MPIS)
    re.compile(program["result"])
    assert re.compile(program.get("seconds", "(x)")).groups == 1
    for line in [*program.get("build", []), program["command"]]:
        for mpi in program["mpi"]:
            for word in re.findall(rf"{re.escape(str(FOLDER))}/[\w.]+", run.filled(line, mpi, 2)):
                assert Path(word).is_file()


def test_every_input_belongs_to_a_program():
    used = " ".join(str(program) for program in run.PROGRAMS.values())
    for path in FOLDER.iterdir():
        if path.is_file() and path.name not in ("run", "programs.toml"):
            assert "{here}/" + path.name in used


def test_what_the_mpi_carried_out_is_counted_by_its_reasons():
    def row(calls, algorithm, reason):
        return {"calls": calls, "algorithm": algorithm, "reason": reason}

    rows = [row(5, "eager", "cheapest"), row(2, "host", "a rank alone"), row(3, "host", "no data")]
    assert run.told(rows + rows[1:2]) == "12, the MPI's 7; 4: a rank alone; 3: no data"
