"""`tutti run` with the real MPIs, in every form in which people start programs: what Tutti carried out counts."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tutti import places
from tutti.launch.hosts import all_hosts
from tutti.launch.program import inspect_program

pytestmark = pytest.mark.skipif(places.find_preload() is None, reason="libtutti.so is not built")

HOSTS = [pytest.param(host, id=host.name) for host in all_hosts()]
#: One of each kind of launcher, for what depends on nothing else.
KINDS = [pytest.param(host, id=host.name) for host in all_hosts() if host.name in ("mpich", "openmpi")]

CALLS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int* mine = calloc(%(count)d, sizeof(int));
  int* sums = calloc(%(count)d, sizeof(int));
  mine[0] = 1;
  for (int call = 0; call < 5; ++call)
    MPI_Allreduce(mine, sums, %(count)d, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("sum %%d\n", sums[%(read)d]);
  MPI_Finalize();
  return 0;
}
"""


def built(kit, host, name, *options, count=16384, read=0):
    """A program that adds up over all ranks; it is built once."""
    program = kit.folder / f"{name}-{host.name}"
    if not program.exists():
        wrapper = {"abi": "mpicc_abi", "openmpi-debian": "mpicc.openmpi"}.get(host.name, "mpicc")
        source = program.with_suffix(".c")
        source.write_text(CALLS % {"count": count, "read": read})
        environment = {**os.environ, **host.environment()}
        words = [host.mpirun.parent / wrapper, "-g", "-o", program, source, *options]
        subprocess.run(words, check=True, env=environment)
    return program


def run(host, *words, before=(), **variables):
    """`tutti run words`, whose ranks report what ran. before: what starts tutti itself."""
    environment = {**os.environ, **host.environment(), "TUTTI_EXPLAIN": "1", **variables}
    command = [*before, sys.executable, "-m", "tutti", "run", *words]
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True, text=True, env=environment, timeout=240, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def carried_out(done):
    """Whether two ranks added up, by Tutti and not by the MPI."""
    said = done.stdout + done.stderr
    report = re.search(r"tutti: 2 ranks, .* (\d+) collectives? in .*, 0 of them by the MPI itself", said)
    return done.returncode == 0 and said.count("sum 2") == 2 and report is not None


def job(kit, host, program, name="job"):
    """A script as one submits it."""
    line = " ".join(host.launch_words(2))
    return kit.script(f"{name}-{host.name}.sh", f"#!/bin/bash\nset -e\n{line} {program}\n")


@pytest.mark.parametrize("host", HOSTS)
def test_a_job_script_that_calls_mpirun(kit, host):
    done = run(host, job(kit, host, built(kit, host, "sums")))
    assert carried_out(done), done.stderr
    assert "warning" not in done.stderr


@pytest.mark.parametrize("host", HOSTS)
def test_a_shell_with_a_line_of_commands(kit, host):
    program = built(kit, host, "sums")
    line = f"true && {' '.join(host.launch_words(2))} {program} 2>&1 | cat"
    assert carried_out(run(host, "bash", "-c", line))


@pytest.mark.parametrize("host", HOSTS)
def test_wrappers_in_front_of_mpirun_and_of_the_program(kit, host):
    words = ["env", "A=b", "nice", "timeout", "200", *host.launch_words(2), "nice", built(kit, host, "sums")]
    done = run(host, *words)
    assert carried_out(done), done.stderr
    assert "warning" not in done.stderr


@pytest.mark.parametrize("host", KINDS)
@pytest.mark.parametrize("form", ["make", "python", "shell ranks", "script of sh", "strace", "nested"])
def test_other_programs_that_start_mpirun(kit, host, form):
    program = built(kit, host, "sums")
    launch = host.launch_words(2)
    line = " ".join([*launch, str(program)])
    if form == "strace" and not shutil.which("strace"):
        pytest.skip("no strace here")
    makefile = kit.folder / f"Makefile-{host.name}"
    makefile.write_text(f"all:\n\t{line}\n")
    words = {
        "make": ["make", "-s", "-f", makefile],
        "python": [sys.executable, "-c", f"import subprocess; subprocess.run({line.split()!r}, check=True)"],
        "shell ranks": [*launch, "sh", "-c", f"exec {program}"],
        "script of sh": [kit.script(f"bare-{host.name}", f"{line}\n")],
        "strace": ["strace", "-f", "-o", "/dev/null", *launch, program],
        "nested": ["sh", "-c", f"{sys.executable} -m tutti run {line}"],
    }[form]
    done = run(host, *words)
    assert carried_out(done), done.stderr


@pytest.mark.skipif(not shutil.which("setpriv"), reason="no setpriv, without which root can read everything")
@pytest.mark.parametrize("host", KINDS)
def test_an_executable_that_cannot_be_read(kit, host):
    program = kit.folder / f"unreadable-{host.name}"
    if not program.exists():
        shutil.copy(built(kit, host, "sums"), program)
        program.chmod(0o111)
    rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    done = run(host, *host.launch_words(2), program, before=rights)
    assert carried_out(done), done.stderr
    assert f"'{program}' cannot be read: Permission denied" in done.stderr


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("form", ["alone", "by Python"])
def test_a_single_rank_without_mpirun(kit, host, form):
    program = built(kit, host, "sums")
    by_python = [sys.executable, "-c", f"import os; os.execv('{program}', ['sums'])"]
    done = run(host, *(by_python if form == "by Python" else [program]))
    assert (done.returncode, done.stdout) == (0, "sum 1\n"), done.stderr
    assert "tutti: 1 rank, " in done.stderr


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind here")
@pytest.mark.parametrize("host", KINDS)
def test_valgrind_around_a_program(kit, host):
    done = run(host, "valgrind", "-q", built(kit, host, "sums"))
    assert (done.returncode, "sum 1" in done.stdout) == (0, True), done.stderr
    assert "tutti: 1 rank, " in done.stderr


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("form", ["direct", "job script", "first by hand"])
def test_address_sanitizer_is_no_hindrance(kit, host, form):
    program = built(kit, host, "asan", "-fsanitize=address")
    variables = {"ASAN_OPTIONS": "detect_leaks=0"}  # the MPIs have some
    words = [*host.launch_words(2), program]
    if form == "job script":
        words = [job(kit, host, program, "job-asan")]
    elif form == "first by hand":
        runtime = inspect_program(str(program), os.environ).sanitizers[0]
        options = (
            ["-x", f"LD_PRELOAD={runtime}"] if host.abi == "openmpi" else ["-genv", "LD_PRELOAD", runtime]
        )
        words[-1:-1] = options
    done = run(host, *words, **variables)
    assert "does not come first" not in done.stderr
    assert carried_out(done), done.stderr


@pytest.mark.parametrize("host", HOSTS)
def test_address_sanitizer_still_finds_what_it_is_for(kit, host):
    program = built(kit, host, "over", "-fsanitize=address", read=16384)
    done = run(host, *host.launch_words(2), program, ASAN_OPTIONS="detect_leaks=0")
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr


@pytest.mark.parametrize("host", HOSTS)
def test_the_launcher_says_nothing_else_under_tutti(kit, host):
    """The launcher of a script is preloaded, too, and what else it starts on its way."""
    line = " ".join([*host.launch_words(2), "sh", "-c", "'echo here'"])
    done = run(host, "bash", "-c", line)
    assert (done.returncode, done.stdout, done.stderr) == (0, "here\nhere\n", "")


FORTRAN = r"""
#include <mpi.h>
#include <stdio.h>
void mpi_init_(int*);
void mpi_finalize_(int*);
void mpi_allreduce_(void*, void*, int*, int*, int*, int*, int*);
int main(void) {
  int error, count = 1, one = 1, sum = 0;
  mpi_init_(&error);
  int type = MPI_Type_c2f(MPI_INT), operator = MPI_Op_c2f(MPI_SUM), world = MPI_Comm_c2f(MPI_COMM_WORLD);
  mpi_allreduce_(&one, &sum, &count, &type, &operator, &world, &error);
  printf("sum %d\n", sum);
  mpi_finalize_(&error);
  return 0;
}
"""


@pytest.mark.parametrize(
    "host", [host for host in HOSTS if host.values[0].name in ("intel", "openmpi-debian")]
)
def test_what_fortran_compilers_call_is_reached(kit, host):
    """Of the MPIs here these two have Fortran's functions; C that calls them needs no Fortran compiler."""
    source = kit.folder / f"fortran-{host.name}.c"
    source.write_text(FORTRAN)
    program = source.with_suffix("")
    wrapper = "mpicc.openmpi" if host.name == "openmpi-debian" else "mpicc"
    folder = host.mpirun.parent.parent / "lib"
    binding = (
        ["-lmpi_mpifh"] if host.abi == "openmpi" else ["-L", folder, folder / "libmpifort.so.12", "-lmpi"]
    )
    words = [host.mpirun.parent / wrapper, "-o", program, source, f"-Wl,-rpath,{folder}", *binding]
    subprocess.run([str(word) for word in words], check=True, env={**os.environ, **host.environment()})
    # The binding finds its MPI by this only.
    path = {"LD_LIBRARY_PATH": str(folder)} if host.name == "intel" else {}
    done = run(host, *host.launch_words(2), program, **path)
    assert (done.returncode, done.stdout.count("sum 2")) == (0, 2), done.stderr
    assert carried_out(done), done.stderr
