"""Which launcher it is, and where the programs stand in its command line."""

import pytest

from tutti.errors import UserError
from tutti.launch.hosts import all_hosts
from tutti.launch.launcher import (
    HYDRA,
    OPENMPI,
    SLURM,
    Launcher,
    Preload,
    for_daemons,
    glimpse,
    looks_like_launcher,
    parse_contexts,
    recognise,
    with_variables,
)

OMPI = Launcher(OPENMPI, "Open MPI", "openmpi", 5)
MPICH = Launcher(HYDRA, "MPICH", "mpich", 5)
SRUN = Launcher(SLURM, "Slurm", None)


@pytest.mark.parametrize(
    ("name", "kind", "abi", "title"),
    [
        ("openmpi", OPENMPI, "openmpi", "Open MPI 5.0.9"),
        ("openmpi4", OPENMPI, "openmpi", "Open MPI 4.1.4"),
        ("mpich", HYDRA, "mpich", "MPICH (Hydra) 5.0.2"),
        ("intel", HYDRA, "mpich", "Intel MPI 2021.18"),
        ("slurm", SLURM, None, "Slurm 23.11.4"),
    ],
)
def test_launchers_are_recognised(launchers, name, kind, abi, title):
    launcher = recognise(launchers[name])
    assert (launcher.kind, launcher.abi, launcher.title) == (kind, abi, title)


def test_unknown_launcher_is_refused(launchers):
    with pytest.raises(UserError, match="unknown launcher"):
        recognise(launchers["foreign"])


def test_missing_launcher_is_refused():
    for ask in (recognise, glimpse):
        with pytest.raises(UserError, match="no launcher"):
            ask("/nowhere/mpirun")


@pytest.mark.parametrize("host", all_hosts(), ids=lambda host: host.name)
def test_real_launchers_are_known_by_their_file_as_by_their_answer(host):
    seen, said = glimpse(str(host.mpirun)), recognise(str(host.mpirun))
    assert seen is not None
    assert (seen.kind, seen.abi) == (said.kind, said.abi)
    assert said.title.startswith(seen.title)


def test_a_launcher_of_which_nothing_is_known_has_to_be_asked(launchers):
    assert glimpse(launchers["openmpi"]) is None


def test_prrte_that_cannot_say_its_version_is_known_by_name(kit):
    path = kit.script("prrte/prterun", "#!/bin/sh\necho Sorry\n")
    assert recognise(str(path)).kind == OPENMPI


@pytest.mark.parametrize(
    "name", ["mpirun", "/opt/bin/mpiexec", "mpiexec.hydra", "mpirun.openmpi", "srun", "prterun"]
)
def test_launcher_names(name):
    assert looks_like_launcher(name)


@pytest.mark.parametrize("name", ["./app", "python3", "mpirunner", "srunx"])
def test_program_names(name):
    assert not looks_like_launcher(name)


def test_standard_abi_starts_under_hydra_and_open_mpi_6(launchers):
    assert recognise(launchers["mpich"]).starts("abi")
    assert recognise(launchers["openmpi6"]).starts("abi")
    assert not recognise(launchers["openmpi"]).starts("abi")
    assert not recognise(launchers["mpich"]).starts("openmpi")


@pytest.mark.parametrize(
    ("launcher", "line"),
    [
        (OMPI, "-n 2 app a -n b"),
        (OMPI, "--oversubscribe --bind-to none -np 4 app"),
        (OMPI, "--mca btl self,vader -x A=1 -x B app --mca x y"),
        (OMPI, "--map-by ppr:2:node --hostfile=h -H a,b:2 app"),
        (OMPI, "-n 2 -- app x"),
        (MPICH, "-n 2 app"),
        (MPICH, "-genv A 1 -genvall -ppn 2 -bind-to core -n 4 app -genv"),
        (MPICH, "-hosts=a,b -l -np 3 app"),
        (MPICH, "-print-all-exitcodes -prepend-rank app"),
        (SRUN, "-n 2 app"),
        (SRUN, "-n2 -N1 -l app"),
        (SRUN, "--ntasks=2 --mpi pmix -ln4 app"),
        (SRUN, "-ln 4 --exclusive app"),
        (SRUN, "-n 2 --multi-prog app"),
    ],
)
def test_program_is_found_behind_the_options(launcher, line):
    words = line.split()
    context = parse_contexts(launcher, words)[0]
    assert context.program == "app"
    assert [*context.options, "app", *context.rest] == words


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("--brand-new-flag sh -c x", "sh"),
        ("--brand-new-option value sh", "sh"),
        ("--brand-new -n 2 sh", "sh"),
    ],
)
def test_unknown_option_is_judged_by_what_follows(line, program):
    assert parse_contexts(OMPI, line.split())[0].program == program


def test_several_programs():
    contexts = parse_contexts(MPICH, "-n 1 a x : -n 2 -wdir /tmp b y".split())
    assert [context.program for context in contexts] == ["a", "b"]
    assert contexts[1].value_of("wdir") == "/tmp"
    assert contexts[0].value_of("wdir") is None


@pytest.mark.parametrize("line", ["", "-n 2", "-n 1 a :", "-n 1 a : -n 2"])
def test_missing_program_is_said(line):
    with pytest.raises(UserError, match="no program to start"):
        parse_contexts(OMPI, line.split())


@pytest.mark.parametrize(
    ("launcher", "line"),
    [(OMPI, "--app file"), (MPICH, "-configfile file")],
)
def test_files_with_programs_are_not_read(launcher, line):
    with pytest.raises(UserError, match="is not read here"):
        parse_contexts(launcher, line.split())


def words_of(launcher, line, values=None, inherited=None, runtimes=()):
    contexts = parse_contexts(launcher, line.split())
    preload = Preload("/t.so", [*runtimes, *[()] * len(contexts)], inherited)
    return " ".join(with_variables(launcher, contexts, preload, values or {}))


def test_open_mpi_passes_by_x_to_each_program():
    line = words_of(OMPI, "-n 1 a : -n 1 b c", {"TUTTI_WAIT": "spin"})
    assert line == "-x LD_PRELOAD=/t.so -x TUTTI_WAIT -n 1 a : -x LD_PRELOAD=/t.so -x TUTTI_WAIT -n 1 b c"


def test_open_mpi_keeps_the_users_preload_behind_ours():
    assert words_of(OMPI, "-x LD_PRELOAD=/u.so -n 1 a") == "-x LD_PRELOAD=/t.so:/u.so -n 1 a"
    assert words_of(OMPI, "-x LD_PRELOAD -n 1 a", inherited="/e.so") == "-x LD_PRELOAD=/t.so:/e.so -n 1 a"
    assert words_of(OMPI, "-n 1 a", inherited="/e.so") == "-x LD_PRELOAD=/t.so:/e.so -n 1 a"


def test_open_mpi_leaves_what_the_user_passes():
    line = words_of(OMPI, "-x TUTTI_WAIT=yield -n 1 a", {"TUTTI_WAIT": "spin"})
    assert line == "-x LD_PRELOAD=/t.so -x TUTTI_WAIT=yield -n 1 a"


def test_hydra_passes_by_genv_once():
    line = words_of(MPICH, "-n 1 a : -n 1 b", {"TUTTI_WAIT": "spin"})
    assert line == "-genv LD_PRELOAD /t.so -genv TUTTI_WAIT spin -n 1 a : -n 1 b"


def test_hydra_keeps_the_users_preload_behind_ours():
    line = words_of(MPICH, "-genv LD_PRELOAD /u.so -n 1 a : -env LD_PRELOAD /v.so -n 1 b")
    assert line == "-genv LD_PRELOAD /t.so:/u.so -n 1 a : -env LD_PRELOAD /t.so:/v.so -n 1 b"
    line = words_of(MPICH, "-genv LD_PRELOAD /u.so -n 1 a : -n 1 b", inherited="/e.so")
    assert line == "-genv LD_PRELOAD /t.so:/u.so -n 1 a : -n 1 b"
    line = words_of(MPICH, "-env LD_PRELOAD /u.so -n 1 a : -n 1 b")
    assert line == "-genv LD_PRELOAD /t.so -env LD_PRELOAD /t.so:/u.so -n 1 a : -n 1 b"


def test_each_program_has_the_sanitizer_that_it_has():
    asan = [("/x/libasan.so.8",)]
    assert words_of(OMPI, "-n 1 a : -n 1 b", runtimes=asan) == (
        "-x LD_PRELOAD=/x/libasan.so.8:/t.so -n 1 a : -x LD_PRELOAD=/t.so -n 1 b"
    )
    assert words_of(MPICH, "-n 1 a : -n 1 b", runtimes=asan) == (
        "-genv LD_PRELOAD /x/libasan.so.8:/t.so -n 1 a : -env LD_PRELOAD /t.so -n 1 b"
    )
    assert words_of(SRUN, "-n 1 a", runtimes=asan) == "--export=ALL,LD_PRELOAD=/x/libasan.so.8:/t.so -n 1 a"


def test_daemons_of_open_mpi_are_started_with_what_a_shell_leaves_as_it_is():
    found = for_daemons({"LD_PRELOAD": "/t.so", "TUTTI_WAIT": "spin", "TUTTI_ALGORITHM": "bcast:xhc;^share"})
    assert found == {
        "OMPI_MCA_orte_launch_agent": "env LD_PRELOAD=/t.so TUTTI_WAIT=spin orted",
        "PRTE_MCA_prte_launch_agent": "env LD_PRELOAD=/t.so TUTTI_WAIT=spin prted",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-n 2 a", "--export=ALL,LD_PRELOAD=/t.so -n 2 a"),
        ("--export=ALL,X=1 a", "--export=ALL,X=1,LD_PRELOAD=/t.so a"),
        ("--export PATH a", "--export=PATH,TUTTI_WAIT,LD_PRELOAD=/t.so a"),
        ("--export=NONE a", "--export=TUTTI_WAIT,LD_PRELOAD=/t.so a"),
        ("--export=ALL,LD_PRELOAD=/u.so a", "--export=ALL,LD_PRELOAD=/t.so:/u.so a"),
    ],
)
def test_slurm_passes_by_export(monkeypatch, given, expected):
    monkeypatch.delenv("SLURM_EXPORT_ENV", raising=False)
    assert words_of(SRUN, given, {"TUTTI_WAIT": "spin"}) == expected


def test_slurm_jobs_without_the_users_environment_stay_so(monkeypatch):
    """sbatch --export=NONE sets it for what stands in the job."""
    monkeypatch.setenv("SLURM_EXPORT_ENV", "NONE")
    assert words_of(SRUN, "-n 2 a") == "--export=LD_PRELOAD=/t.so -n 2 a"
    assert words_of(SRUN, "--export=ALL -n 2 a") == "--export=ALL,LD_PRELOAD=/t.so -n 2 a"
