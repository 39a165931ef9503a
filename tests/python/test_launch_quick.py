"""tutti-run starts what is plain as Python would, and leaves all else to Python."""

import json
import os
import subprocess
import sys

import pytest

from tutti import places
from tutti.launch.hosts import all_hosts
from tutti.launch.library import find_tool
from tutti.launch.plan import make_plan

QUICK = find_tool("tutti-run", "tools")
pytestmark = pytest.mark.skipif(QUICK is None, reason="tutti-run is not built")

#: What stands in the files of launchers by which they are known, and prints what a start gets.
SHOW = """#!/bin/sh
# {known}
printf '%s\\n' "$TUTTI_EXPLAIN|$TUTTI_WAIT" "$0" "$@"
"""


@pytest.fixture(scope="session")
def shown(kit):
    """Launchers that are known by their file."""
    known = {"hydra": "HYDRA build details", "intel": "I_MPI_MPIRUN"}
    return {
        name: str(kit.script(f"quick-{name}/mpirun", SHOW.format(known=text))) for name, text in known.items()
    }


@pytest.fixture(scope="session")
def openmpi(kit):
    """A launcher that is known by what lies beside it."""
    kit.script("quick-openmpi/ompi_info", "")
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\n"
        'int main(int c, char** v) { char* e = getenv("TUTTI_EXPLAIN"); char* w = getenv("TUTTI_WAIT");'
        ' printf("%s|%s\\n", e ? e : "", w ? w : ""); for (int i = 0; i < c; ++i) puts(v[i]); return 0; }\n'
    )
    return str(kit.compile("quick-openmpi/mpirun", source))


def quick(words, environment, script):
    """Lines that a launcher prints that tutti-run starts; None if it leaves the words after `tutti run` to Python."""
    script.write_text("import json, sys; print('LEFT', json.dumps(sys.argv[1:]))\n")
    done = subprocess.run(
        [QUICK, "--python", sys.executable, script, "run", *map(str, words)],
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    if done.stdout.startswith("LEFT "):
        assert json.loads(done.stdout[5:]) == ["run", *map(str, words)]
        return None
    return done.stdout.splitlines()


@pytest.fixture
def started(tmp_path, preload):
    """Lines that the launcher prints, started by tutti-run; None where that leaves it to Python."""

    def call(*words, options=(), environment=None):
        base = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        return quick(
            ["--library", preload, *options, *words], {**base, **(environment or {})}, tmp_path / "script"
        )

    return call


def by_python(preload, words, values, environment):
    """The same of the plan that Python makes."""
    plan = make_plan(list(map(str, words)), preload, values, {**os.environ, **environment})
    assert plan.warnings == []
    value = {**environment, **plan.variables}
    return [f"{value.get('TUTTI_EXPLAIN', '')}|{value.get('TUTTI_WAIT', '')}", *plan.words]


LINES = ["-n 2 APP", "-n 4 -- APP -x :not", "APP", "--version-of-mine=3 APP", "-np 2 APP a b"]
OF_HYDRA = [
    "-genv A 1 -genvall -ppn 2 -bind-to core -n 4 APP -genv",
    "-genv TUTTI_WAIT yield APP",
    "-l -hosts=a,b APP",
]
OF_OPENMPI = [
    "--oversubscribe --bind-to none -np 4 APP",
    "--mca btl self -x A=1 -x TUTTI_WAIT=yield APP",
    "-x B APP",
]


@pytest.mark.parametrize("line", [*LINES, *OF_HYDRA])
@pytest.mark.parametrize("launcher", ["hydra", "intel"])
@pytest.mark.parametrize("app", ["mpich", "mpich_debian", "abi", "indirect", "rpath", "fortran_mpich"])
def test_hydra_gets_the_words_that_python_would_give_it(started, shown, apps, preload, launcher, line, app):
    words = [shown[launcher], *[str(apps[app]) if word == "APP" else word for word in line.split()]]
    environment = {"TUTTI_WAIT": "spin", "TUTTI_CHUNK": "1M"}
    assert started(*words, environment=environment) == by_python(preload, words, {}, environment)


@pytest.mark.parametrize("line", [*LINES, *OF_OPENMPI])
@pytest.mark.parametrize("app", ["openmpi", "fortran_openmpi"])
def test_open_mpi_gets_the_words_that_python_would_give_it(started, openmpi, apps, preload, line, app):
    words = [openmpi, *[str(apps[app]) if word == "APP" else word for word in line.split()]]
    environment = {"TUTTI_WAIT": "spin"}
    assert started(*words, environment=environment) == by_python(preload, words, {}, environment)


def test_options_are_understood_as_by_python(started, shown, apps, preload):
    words = [shown["hydra"], "-n", "2", str(apps["mpich"])]
    for options, values in (
        (["-s", "WAIT=spin"], {"TUTTI_WAIT": "spin"}),
        (["--set", "tutti_wait=spin", "--summary"], {"TUTTI_EXPLAIN": "summary", "TUTTI_WAIT": "spin"}),
        (["--set=wait=a=b", "--explain", "--"], {"TUTTI_EXPLAIN": "1", "TUTTI_WAIT": "a=b"}),
        (["--explain", "-s", "EXPLAIN=/x"], {"TUTTI_EXPLAIN": "/x"}),
    ):
        assert started(*words, options=options) == by_python(preload, words, values, {})


def test_python_programs_are_plain(started, shown, preload):
    words = [shown["hydra"], "-n", "2", sys.executable, "x.py"]
    assert started(*words) == by_python(preload, words, {}, {})


def test_a_launcher_in_path_is_found(started, shown, apps, preload):
    folder = os.path.dirname(shown["hydra"])
    environment = {"PATH": f"/nowhere:{folder}:{os.environ['PATH']}"}
    found = started("mpirun", "-n", "2", apps["mpich"], environment=environment)
    assert found == ["|", shown["hydra"], "-genv", "LD_PRELOAD", str(preload), "-n", "2", str(apps["mpich"])]


@pytest.mark.parametrize(
    "line",
    [
        "HYDRA -n 2 openmpi", "HYDRA -n 2 plain", "HYDRA -n 2 static", "HYDRA -n 2 static_mpi", "HYDRA -n 2 /bin/sh",
        "HYDRA -n 1 mpich : -n 1 mpich", "HYDRA -n 2", "HYDRA", "HYDRA --version", "HYDRA -n 2 nowhere",
        "HYDRA -wdir / -n 2 mpich", "HYDRA -path=/ mpich", "HYDRA -genv LD_PRELOAD x mpich",
        "HYDRA --brand-new 3 mpich", "HYDRA -configfile f", "HYDRA openmpi1", "HYDRA cray", "env HYDRA -n 2 mpich",
        "mpich", "nice mpich",
        "/nowhere/mpirun mpich", "srun mpich", "time HYDRA mpich",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_python(started, shown, apps, line):
    words = [shown["hydra"] if word == "HYDRA" else str(apps.get(word, word)) for word in line.split()]
    assert started(*words) is None


@pytest.mark.parametrize(
    "options",
    [
        ["-v"],
        ["--dry-run"],
        ["--help"],
        ["-s", "WAYT=spin"],
        ["-s", "WAIT"],
        ["--json"],
        ["--bogus"],
        ["--library", "/x"],
    ],
)
def test_what_there_is_to_say_is_left_to_python(started, shown, apps, options):
    assert started(shown["hydra"], apps["mpich"], options=options) is None


def test_a_preload_of_the_user_is_left_to_python(started, shown, apps, preload):
    assert started(shown["hydra"], apps["mpich"], environment={"LD_PRELOAD": str(preload)}) is None


def test_a_sanitizer_is_left_to_python(started, shown, kit, preload):
    shared = kit.folder / "mpich-lib/libmpi.so.12"
    source = "int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }\n"
    rpath = f"-Wl,-rpath,{shared.parent}"
    program = kit.compile("quick-asan", source, "-fsanitize=address", str(shared), rpath)
    assert started(shown["hydra"], program) is None
    through = kit.library("quick-lib/libchecked.so", "int checked;\n", "-fsanitize=address")
    source = "int MPI_Init(int*, char***); extern int checked; int main(void) { return MPI_Init(0, 0) + checked; }\n"
    program = kit.compile("quick-through", source, str(through), str(shared), f"{rpath}:{through.parent}")
    assert started(shown["hydra"], program) is None


def test_damaged_files_are_left_to_python(started, shown, apps, kit):
    whole = apps["mpich"].read_bytes()
    for bytes_left in (0, 3, 63, 100, 900, len(whole) // 2):
        path = kit.folder / "damaged"
        path.write_bytes(whole[:bytes_left])
        path.chmod(0o755)
        assert started(shown["hydra"], path) is None


@pytest.mark.parametrize("host", all_hosts(), ids=lambda host: host.name)
def test_real_launchers_need_no_python(tmp_path, kit, host):
    wrapper = {"abi": "mpicc_abi", "openmpi-debian": "mpicc.openmpi"}.get(host.name, "mpicc")
    source = kit.folder / f"quick-real-{host.name}.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char** v) { MPI_Init(&c, &v);"
        ' puts(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none"); MPI_Finalize(); return 0; }\n'
    )
    program = source.with_suffix("")
    environment = {**os.environ, **host.environment(), "TUTTI_ENABLE": "0"}
    subprocess.run([host.mpirun.parent / wrapper, "-o", program, source], check=True, env=environment)
    words = [*host.launch_words(1), program]
    assert quick(words, environment, tmp_path / "script") == [places.find_preload()]
