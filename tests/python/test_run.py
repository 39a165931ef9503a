"""`tutti run`, from the command line to what the ranks get."""

import os
import signal
import subprocess
import sys

import pytest

from tutti.hosts import all_hosts
from tutti.run import parse_settings
from tutti.settings import Setting

KNOWN = [Setting("ALGORITHM", "string", "", "x"), Setting("WAIT", "auto|spin", "auto", "y")]


def test_launcher_gets_the_preload_for_its_ranks_only(tutti, apps, launchers, preload):
    done = tutti("run", "--library", preload, launchers["openmpi"], "-n", "2", apps["openmpi"], "x y")
    assert done.stdout.splitlines() == [
        "-x", f"LD_PRELOAD={preload}", "-n", "2", str(apps["openmpi"]), "x y", "preload=",
    ]  # fmt: skip
    assert done.stderr == ""


def test_exit_status_is_the_launchers(tutti, apps, launchers, preload):
    assert tutti("run", "--library", preload, launchers["mpich"], "-n", "1", apps["mpich"]).returncode == 7


def test_signals_reach_the_launcher(kit, preload, apps):
    text = '#!/bin/sh\n[ "$1" = --version ] && { echo HYDRA; exit; }\necho ready\nexec sleep 60\n'
    launcher = kit.script("sleepy/mpirun", text)
    words = [sys.executable, "-m", "tutti", "run", "--library", preload, launcher, apps["mpich"]]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("launcher", "app", "says"),
    [
        ("mpich", "openmpi", "was built for the Open MPI ABI"),
        ("openmpi", "mpich", "was built for the MPICH ABI"),
        ("openmpi", "abi", "was built for the MPI standard ABI"),
        ("mpich", "static_mpi", "linked in statically"),
        ("foreign", "mpich", "unknown launcher"),
    ],
)
def test_what_cannot_work_is_one_line_and_status_2(tutti_here, launchers, apps, preload, launcher, app, says):
    done = tutti_here("run", "--library", preload, launchers[launcher], "-n", "2", apps[app])
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tutti: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["./nothing-here"], ["mpirun", "-n", "2", "./nothing-here"], ["mpirun", "-n", "2"]]
)
def test_missing_program_is_one_line_and_status_2(tutti_here, launchers, preload, words):
    words = [launchers["openmpi"] if word == "mpirun" else word for word in words]
    done = tutti_here("run", "--library", preload, *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no program" in done.stderr


def test_programs_of_two_mpis_in_one_job_are_refused(tutti_here, launchers, apps, preload):
    done = tutti_here(
        "run", "--library", preload, launchers["mpich"], "-n", "1", apps["mpich"], ":", "-n", "1", apps["abi"]
    )
    assert done.returncode == 2
    assert "cannot run in one job" in done.stderr


def test_missing_library_is_one_line_and_status_2(tutti_here, launchers, apps):
    done = tutti_here("run", "--library", "/nowhere.so", launchers["mpich"], apps["mpich"])
    assert (done.returncode, done.stderr) == (2, "tutti: no library '/nowhere.so'\n")


def test_what_is_no_library_is_refused(tutti_here, launchers, apps, tmp_path):
    file = tmp_path / "library.so"
    file.write_text("not a library")
    done = tutti_here("run", "--library", file, launchers["mpich"], apps["mpich"])
    assert done.returncode == 2
    assert "cannot use the library" in done.stderr


def test_python_programs_go_by_the_launcher(tutti, launchers, preload):
    done = tutti("run", "-v", "--library", preload, launchers["openmpi"], "-n", "2", "python3", "x.py")
    assert done.returncode == 7
    assert "its MPI cannot be seen in the file" in done.stderr


def test_srun_with_a_script_needs_to_be_told(tutti_here, launchers, kit):
    path = kit.script("job.sh", "#!/bin/sh\n")
    done = tutti_here("run", launchers["slurm"], "-n", "2", path)
    assert done.returncode == 2
    assert "name the library with --library" in done.stderr


def test_single_rank_without_launcher(tutti, kit, preload):
    kit.library("mpich-lib/libmpi.so.12", "int MPI_Init(int* c, char*** v) { (void)c; (void)v; return 0; }\n")
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\nint MPI_Init(int*, char***);\n"
        'int main(int c, char** v) { MPI_Init(&c, &v); printf("%s %s %s", v[1], getenv("LD_PRELOAD"), '
        'getenv("TUTTI_WAIT")); return 5; }\n'
    )
    shared = kit.folder / "mpich-lib/libmpi.so.12"
    program = kit.compile("single", source, str(shared), f"-Wl,-rpath,{shared.parent}")
    done = tutti(
        "run", "--library", preload, "-s", "WAIT=spin", program, "word", env={**os.environ, "LD_PRELOAD": ""}
    )
    assert (done.returncode, done.stdout) == (5, f"word {preload} spin")


def test_single_rank_of_unknown_mpi_is_refused(tutti_here, apps):
    done = tutti_here("run", apps["plain"])
    assert done.returncode == 2
    assert "without a launcher" in done.stderr


def test_dry_run_prints_a_command_that_can_be_pasted(tutti, launchers, apps, preload):
    words = [
        "run",
        "--dry-run",
        "--library",
        preload,
        "--set",
        "algorithm=bcast:xhc;^share",
        launchers["mpich"],
    ]
    done = tutti(*words, "-n", "2", apps["mpich"], "a b")
    again = subprocess.run(["sh", "-c", done.stdout], capture_output=True, text=True, check=False)
    assert again.returncode == 7
    assert again.stdout.splitlines()[:6] == [
        "-genv", "LD_PRELOAD", str(preload), "-genv", "TUTTI_ALGORITHM", "bcast:xhc;^share",
    ]  # fmt: skip
    assert "a b" in again.stdout.splitlines()


def test_settings_of_the_environment_are_passed_on(tutti_here, launchers, apps, preload):
    environment = {**os.environ, "TUTTI_VERBOSE": "1"}
    done = tutti_here(
        "run", "--dry-run", "--library", preload, launchers["mpich"], apps["mpich"], env=environment
    )
    assert "-genv TUTTI_VERBOSE 1" in done.stdout


def test_verbose_says_what_was_found(tutti_here, launchers, apps, preload):
    done = tutti_here(
        "run", "-v", "--dry-run", "--library", preload, launchers["intel"], "-n", "1", apps["indirect"]
    )
    for text in (
        "libmpi.so.12 through libphysics.so",
        "launcher: Intel MPI",
        f"library: {preload}",
        "command: ",
    ):
        assert text in done.stderr


def test_profiler_in_the_program_is_warned_of(tutti_here, launchers, apps, preload):
    done = tutti_here("run", "--dry-run", "--library", preload, launchers["mpich"], apps["profiled"])
    assert done.returncode == 0
    assert "PMPI_*" in done.stderr


@pytest.mark.parametrize("pair", ["WAIT=spin", "wait=spin", "TUTTI_WAIT=spin"])
def test_settings_in_any_spelling(pair):
    assert parse_settings([pair], KNOWN) == ({"TUTTI_WAIT": "spin"}, [])


def test_unknown_setting_is_a_warning_with_the_nearest():
    values, warnings = parse_settings(["ALGORYTHM=x"], KNOWN)
    assert values == {"TUTTI_ALGORYTHM": "x"}
    assert "the nearest is ALGORITHM" in warnings[0]


PROBE = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  printf("%d %s %s\n", ranks, getenv("LD_PRELOAD"), getenv("TUTTI_ALGORITHM"));
  MPI_Finalize();
  return 0;
}
"""


@pytest.mark.parametrize("host", all_hosts(), ids=lambda host: host.name)
def test_real_launchers_hand_everything_to_every_rank(tutti, kit, preload, host):
    wrapper = {"abi": "mpicc_abi", "openmpi-debian": "mpicc.openmpi"}.get(host.name, "mpicc")
    source = kit.folder / f"probe-{host.name}.c"
    source.write_text(PROBE)
    program = source.with_suffix("")
    environment = {**os.environ, **host.environment()}
    subprocess.run([host.mpirun.parent / wrapper, "-o", program, source], check=True, env=environment)
    spec = "bcast:xhc,k=4;allreduce:^share"
    words = ["run", "--library", preload, "--set", f"ALGORITHM={spec}", *host.launch_words(1), program]
    done = tutti(*words, ":", "-n", "1", program, env=environment)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == sorted(["", *[f"2 {preload} {spec}"] * 2])
