"""`tutti doctor` on machines that are only described, against real system-call filters, and on this one.

The texts in golden/ are written anew with UPDATE_GOLDEN=1.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from call_filters import KILL, MBIND, MEMFD, READV, REFUSE_EPERM, needs_filters, run_filtered
from described_machine import NAMES, DescribedMachine, script
from rich.console import Console

from tutti.doctor.check import FAIL, OK, UNKNOWN, WARN, Check
from tutti.doctor.cores import core_checks, expanded
from tutti.doctor.hosts import host_checks
from tutti.doctor.limits import limit_checks
from tutti.doctor.machine import Machine
from tutti.doctor.mechanisms import mechanisms_of
from tutti.doctor.reach import reach_checks
from tutti.doctor.report import SCHEMA, document, examine, exit_status, show
from tutti.doctor.trials import TRIES, run_trials
from tutti.errors import UserError
from tutti.launch.elf import read_elf
from tutti.launch.hosts import Host
from tutti.launch.library import ROOT
from tutti.sizes import rounded

GOLDEN = Path(__file__).resolve().parent / "golden"


def compare(name: str, text: str) -> None:
    """Compares with a text in golden/, or writes it."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def machine_checks(machine):
    return [*reach_checks(machine), *limit_checks(machine), *core_checks(machine)]


def by_id(checks):
    return {check.id: check for check in checks}


# --- described machines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_report_of_a_described_machine(name, tmp_path):
    machine = DescribedMachine.named(name, tmp_path)
    out = StringIO()
    show(machine, machine_checks(machine), Console(file=out, width=110))
    compare(f"doctor-{name}.txt", "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")


def test_json_of_a_described_machine(tmp_path):
    machine = DescribedMachine.named("docker-default", tmp_path)
    compare("doctor.json", json.dumps(document(machine, machine_checks(machine)), indent=1) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_well_says_what_follows_and_what_to_do(name, tmp_path):
    for check in machine_checks(DescribedMachine.named(name, tmp_path)):
        assert check.status in (OK, WARN, FAIL, UNKNOWN)
        assert check.found
        if check.status in (WARN, FAIL):
            assert check.consequence, check.id
            assert check.remedy, check.id
        else:
            assert not check.remedy, check.id


def with_facts(tmp_path, **facts):
    return DescribedMachine(tmp_path, facts)


REFUSED = [False, "process_vm_readv: EPERM (Operation not permitted)"]
YAMA = "/proc/sys/kernel/yama/ptrace_scope"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"files": {YAMA: "1"}}, "sudo sysctl -w kernel.yama.ptrace_scope=0"),
        ({"files": {YAMA: "3"}}, "/etc/sysctl.d/99-ptrace.conf, and boot again"),
        ({"files": {YAMA: "1", "/.dockerenv": ""}}, "docker run --cap-add=SYS_PTRACE"),
        ({"files": {YAMA: "1", "/run/.containerenv": ""}}, "podman run --cap-add=SYS_PTRACE"),
        (
            {
                "files": {"/proc/self/status": "Seccomp:\t2", "/.dockerenv": ""},
                "trials": {"cma-child": REFUSED},
            },
            "docker run --security-opt seccomp=unconfined",
        ),
        ({"files": {"/proc/self/uid_map": "1000 1000 1"}}, "start mpirun inside of the container"),
        ({"trials": {"cma": [False, "process_vm_readv: ENOSYS"]}}, "CONFIG_CROSS_MEMORY_ATTACH"),
        ({}, "security module"),
    ],
)
def test_the_remedy_for_cma_follows_from_what_refuses_it(facts, words, tmp_path):
    facts = {**facts, "trials": {"cma": REFUSED, **facts.get("trials", {})}}
    check = by_id(reach_checks(with_facts(tmp_path, **facts)))["cma"]
    assert check.status == WARN
    assert words in check.remedy


def test_a_restricted_scope_is_well_where_siblings_can_all_the_same(tmp_path):
    check = by_id(reach_checks(with_facts(tmp_path, files={YAMA: "1"})))["ptrace-scope"]
    assert (check.status, "yet siblings can here" in check.found) == (OK, True)


def test_closed_descriptors_are_no_matter_while_sockets_carry_them(tmp_path):
    closed = {"descriptors": [False, "EACCES"]}
    machine = with_facts(tmp_path, trials=closed)
    assert by_id(reach_checks(machine))["proc-fd"].status == OK
    assert mechanisms_of(machine)["window"]["usable"]
    machine = with_facts(tmp_path, trials={**closed, "sockets": [False, "EPERM"]})
    assert by_id(reach_checks(machine))["proc-fd"].status == FAIL
    assert not any(way["usable"] for way in mechanisms_of(machine).values())


def test_limits_take_the_window_before_they_take_everything(tmp_path):
    ways = mechanisms_of(with_facts(tmp_path, limits={"file-size": 100 << 20}))
    assert (ways["window"]["usable"], ways["staged"]["usable"]) == (False, True)
    machine = with_facts(tmp_path, limits={"file-size": 10 << 20})
    assert mechanisms_of(machine)["staged"]["usable"] is False
    assert by_id(limit_checks(machine))["file-size"].status == FAIL


CORES = {
    f"/sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list": f"{n % 4},{n % 4 + 4}" for n in range(8)
}
QUOTA = {"/proc/self/cgroup": "0::/", "/sys/fs/cgroup/cpu.max": "200000 100000"}


@pytest.mark.parametrize(
    ("ranks", "more", "status", "found", "consequence"),
    [
        (4, {}, OK, "4 cores with 8 hardware threads; a core for each rank", ""),
        (6, {}, WARN, "4 cores with 8 hardware threads; 1.5 ranks a core", "none has to take turns"),
        (8, {}, WARN, "4 cores with 8 hardware threads; 2 ranks a core", "none has to take turns"),
        (9, {}, WARN, "4 cores with 8 hardware threads; 2.25 ranks a core", "ranks take turns"),
        (
            2,
            QUOTA,
            OK,
            "4 cores with 8 hardware threads, but time for 2 of them (cgroup quota); a core for each rank",
            "",
        ),
        (
            3,
            QUOTA,
            WARN,
            "4 cores with 8 hardware threads, but time for 2 of them (cgroup quota); 1.5 ranks for each",
            "stopped for a part of every period",
        ),
    ],
)
def test_a_number_of_ranks_is_held_against_the_cores(ranks, more, status, found, consequence, tmp_path):
    machine = with_facts(tmp_path, processors=8, files={**CORES, **more}, ranks=ranks)
    check = by_id(core_checks(machine))["cores"]
    assert (check.status, check.found, check.title) == (status, found, f"Cores, for {ranks} ranks")
    assert consequence in check.consequence
    assert bool(check.consequence) == bool(check.remedy) == (status == WARN)


def test_one_rank_on_one_core_is_well(tmp_path):
    check = by_id(core_checks(with_facts(tmp_path, processors=1, ranks=1)))["cores"]
    assert (check.status, check.title) == (OK, "Cores, for 1 rank")


@pytest.mark.parametrize(
    ("ranks", "more", "found"),
    [
        (4, {}, "one for each of 4 ranks: TUTTI_PROGRESS=thread"),
        (None, {}, "one for each of up to 4 ranks: TUTTI_PROGRESS=thread"),
        (5, {}, "not one for each rank too"),
        (4, QUOTA, "not one for each rank too"),
    ],
)
def test_threads_for_progress_need_processors(ranks, more, found, tmp_path):
    machine = with_facts(tmp_path, processors=8, files={**CORES, **more}, ranks=ranks)
    assert by_id(core_checks(machine))["progress"].found.startswith(found)


def test_limits_are_for_the_ranks_that_are_asked_about(tmp_path):
    facts = {"processors": 2, "limits": {"open-files": 100}}
    assert by_id(limit_checks(with_facts(tmp_path, **facts)))["open-files"].status == OK
    check = by_id(limit_checks(with_facts(tmp_path, **facts, ranks=64)))["open-files"]
    assert (check.status, check.found) == (WARN, "100, for 64 ranks on this machine")


def test_exit_status_is_1_only_for_what_does_not_work():
    def made(status):
        return Check("x", "x", status, "x")

    assert exit_status([made(OK), made(WARN), made(UNKNOWN)]) == 0
    assert exit_status([made(WARN), made(FAIL)]) == 1


@pytest.mark.parametrize(("text", "numbers"), [("0", [0]), ("0-2,8", [0, 1, 2, 8]), ("", []), ("x", [])])
def test_processor_lists(text, numbers):
    assert expanded(text) == numbers


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (65536, "64 KiB"), (3 << 29, "1.5 GiB"), (1 << 50, "1024 TiB")]
)
def test_sizes(count, text):
    assert rounded(count) == text


# --- MPIs that only look like some -----------------------------------------------------------------------------------

OPENMPI = "mpirun (Open MPI) 5.0.9"
HYDRA = "HYDRA build details:\\n    Version:   5.0.2"
#: Launchers: give the ranks LD_PRELOAD as the real ones do; lose it; cannot start anything.
GIVES = 'while [ "$1" != sh ]; do case $1 in LD_PRELOAD=*) export "$1";; esac; shift; done; exec "$@"'
LOSES = 'while [ "$1" != sh ]; do shift; done; unset LD_PRELOAD; exec "$@"'
BREAKS = "echo 'no slots available' >&2; exit 3"


class Fakes:
    """Installations in folders, a machine whose PATH holds some of them, and a library that can be preloaded."""

    def __init__(self, folder: Path, kit) -> None:
        self.folder = folder
        self.library = kit.library("preload/libtutti-fake.so", "int tutti_fake;\n")
        self.hosts = []

    def install(self, name, abi, version, soname, does=GIVES):
        prefix = self.folder / name
        script(
            prefix / "bin/mpirun", f"[ \"$1\" = --version ] && {{ printf '{version}\\n'; exit; }}\n{does}\n"
        )
        show_words = f"echo cc -I{prefix}/include -L{prefix}/lib -lmpi"
        script(prefix / "bin/mpicc", f'[ "$1" = -show ] && {show_words}\n')
        library = prefix / "lib" / soname
        library.parent.mkdir(parents=True, exist_ok=True)
        library.write_text("")
        (library.parent / "libmpi.so").symlink_to(soname)
        self.hosts.append(Host(name, abi, prefix / "bin/mpirun", name))
        return prefix

    def machine(self, path, **more):
        environment = {"PATH": ":".join([*map(str, path), "/usr/bin", "/bin"]), **more}
        # The real /usr/bin has an MPI on some machines: only what is asked for may be found.
        machine = DescribedMachine(self.folder / "root", {"environment": environment}, self.hosts)
        machine.which = lambda name: next(
            (Path(place) / name for place in path if (Path(place) / name).exists()), None
        )
        return machine

    def checks(self, path, **more):
        return list(host_checks(self.machine(path, **more), (), lambda abi: self.library))

    def text(self, checks):
        lines = []
        for check in checks:
            lines.append(f"{check.status} {check.id}: {check.found}")
            lines += [f"    {line}" for line in (check.consequence, check.remedy) if line]
        text = "\n".join(lines) + "\n"
        return text.replace(str(self.library), "/LIBRARY").replace(str(self.folder), "/ROOT")


@pytest.fixture
def fakes(tmp_path, kit):
    return Fakes(tmp_path, kit)


def test_report_of_mpis_that_are_mixed_up(fakes):
    openmpi = fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40", LOSES)
    mpich = fakes.install("mpich", "mpich", HYDRA, "libmpi.so.12", BREAKS)
    mixed = fakes.folder / "mixed"
    mixed.mkdir()
    (mixed / "mpirun").symlink_to(openmpi / "bin/mpirun")
    (mixed / "mpicc").symlink_to(mpich / "bin/mpicc")
    other = fakes.install("wheel", "openmpi", OPENMPI, "libmpi.so.40")
    checks = fakes.checks([mixed], LD_LIBRARY_PATH=str(other / "lib"), VIRTUAL_ENV=str(mpich))
    compare("doctor-mixed-hosts.txt", fakes.text(checks))


def test_a_compiler_whose_library_is_a_linker_script_is_known(fakes):
    openmpi = fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40")
    mpich = fakes.install("mpich", "mpich", HYDRA, "libmpi.so.12")
    (mpich / "lib/libmpi.so").unlink()
    (mpich / "lib/libmpi.so").write_text("INPUT(libmpi.so.12)")
    (openmpi / "bin/mpicc").unlink()
    assert by_id(fakes.checks([openmpi / "bin", mpich / "bin"]))["mpi-tools"].status == FAIL


def test_one_mpi_all_from_one_place_is_well(fakes):
    openmpi = fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40")
    checks = fakes.checks([openmpi / "bin"], LD_LIBRARY_PATH=str(openmpi / "lib"))
    assert {check.status for check in checks} == {OK}
    compare("doctor-one-host.txt", fakes.text(checks))


def test_mpi_of_the_path_is_looked_at_too(fakes):
    site = fakes.install("site", "mpich", HYDRA, "libmpi.so.12", "shift 3; " + GIVES)
    fakes.hosts.clear()
    checks = by_id(fakes.checks([site / "bin"]))
    assert checks["host-path"].status == OK
    assert "MPICH (Hydra) 5.0.2" in checks["host-path"].found


def test_a_second_mpi_in_the_same_folder_is_looked_at_too(fakes):
    prefix = fakes.install("usr", "openmpi", OPENMPI, "libmpi.so.40")
    fakes.hosts[:] = [Host("known", "openmpi", prefix / "bin/mpirun.openmpi", "known")]
    (prefix / "bin/mpirun").rename(prefix / "bin/mpirun.openmpi")
    (prefix / "bin/mpiexec").symlink_to("mpirun.openmpi")
    assert "host-path" not in by_id(fakes.checks([prefix / "bin"]))
    script(prefix / "bin/mpirun", f"printf '{HYDRA}\\n'\n")
    assert "MPICH (Hydra)" in by_id(fakes.checks([prefix / "bin"]))["host-path"].found


def test_two_installations_of_one_abi_are_a_warning(fakes):
    one = fakes.install("one", "mpich", HYDRA, "libmpi.so.12")
    two = fakes.install("two", "mpich", HYDRA, "libmpi.so.12")
    (one / "bin/mpicc").unlink()
    check = by_id(fakes.checks([one / "bin", two / "bin"]))["mpi-tools"]
    assert (check.status, "two installations" in check.consequence) == (WARN, True)


def environment(fakes, *packages, libraries=(), modules=()):
    """A Python environment: packages as pip notes them, MPI libraries, and mpi4py with modules that need some."""
    prefix = fakes.folder / "environment"
    site = prefix / "lib/python3.11/site-packages"
    site.mkdir(parents=True)
    for package in packages:
        (site / f"{package}.dist-info").mkdir()
    for library in libraries:
        (prefix / "lib" / library).write_text("")
    for number, (needed, source) in enumerate(modules):
        (site / "mpi4py").mkdir(exist_ok=True)
        (site / "mpi4py" / f"MPI.{number}.so").write_bytes(source.read_bytes())
        assert needed in read_elf(site / "mpi4py" / f"MPI.{number}.so").needed
    return prefix


def wheels(fakes, prefix, path=()):
    return by_id(fakes.checks(path, VIRTUAL_ENV=str(prefix)))["wheels"]


def test_two_mpis_in_one_environment_are_told_by_their_libraries(fakes):
    prefix = environment(fakes, libraries=["libmpi.so.12", "libmpi_abi.so.1", "libmpi.so.40"])
    check = wheels(fakes, prefix)
    assert check.status == WARN
    assert check.found.startswith(f"MPICH or Intel MPI and Open MPI in {prefix} (")
    assert f"{prefix}/lib/libmpi.so.12 and {prefix}/lib/libmpi.so.40" in check.found
    assert check.remedy == "an environment of its own for each MPI"


def test_two_mpis_of_one_abi_are_told_by_their_packages(fakes):
    packages = ["mpich-5.0.2", "impi_rt-2021.18.1", "impi_devel-2021.18.1", "numpy-2.0.0"]
    prefix = environment(fakes, *packages, libraries=["libmpi.so.12"])
    check = wheels(fakes, prefix)
    assert (check.status, "Intel MPI and MPICH in" in check.found) == (WARN, True)
    assert check.remedy.startswith("pip uninstall impi_rt mpich, then install one of them again")


def test_two_mpis_of_conda_are_told_too(fakes):
    prefix = environment(fakes, "openmpi-5.0.11", libraries=["libmpi.so.40"])
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta/mpich-4.2.0-hd3b9a3f_100.json").write_text("{}")
    check = wheels(fakes, prefix)
    assert (check.status, "MPICH and Open MPI in" in check.found) == (WARN, True)
    assert check.remedy.startswith("conda remove")


def test_one_mpi_with_a_library_for_the_standard_abi_is_one(fakes):
    prefix = environment(fakes, "mpich-5.0.2", libraries=["libmpi.so.12", "libmpi_abi.so.1"])
    check = wheels(fakes, prefix)
    assert (check.status, check.found) == (OK, f"{prefix}/lib/libmpi.so.12")


def test_mpi4py_that_was_linked_with_the_mpi_of_the_system_is_noticed(fakes, kit):
    keep = "-Wl,--no-as-needed"
    openmpi = kit.library("system/libmpi.so.40", "int ompi;\n")
    mpich = kit.library("system/libmpi.so.12", "int mpich;\n")
    foreign = ("libmpi.so.40", kit.library("foreign.so", "int foreign;\n", keep, str(openmpi)))
    own = ("libmpi.so.12", kit.library("own.so", "int own;\n", keep, str(mpich)))
    prefix = environment(fakes, "mpich-5.0.2", libraries=["libmpi.so.12"], modules=[foreign])
    check = wheels(fakes, prefix)
    assert (check.status, "needs libmpi.so.40, which is not of this environment" in check.found) == (
        WARN,
        True,
    )
    (prefix / "lib/python3.11/site-packages/mpi4py/MPI.other.so").write_bytes(own[1].read_bytes())
    assert wheels(fakes, prefix).status == OK


def test_the_second_environment_is_looked_at_too(fakes):
    mpich = fakes.install("mpich", "mpich", HYDRA, "libmpi.so.12")
    both = environment(fakes, libraries=["libmpi.so.12", "libmpi.so.40"])
    machine = fakes.machine([mpich / "bin"], VIRTUAL_ENV=str(mpich), CONDA_PREFIX=str(both))
    check = by_id(host_checks(machine, (), lambda abi: fakes.library))["wheels"]
    assert (check.status, f"in {both}" in check.found) == (WARN, True)


def test_no_mpi_at_all_fails(fakes):
    checks = by_id(fakes.checks([]))
    assert checks["hosts"].status == FAIL


def test_only_the_hosts_that_were_asked_for_are_started(fakes):
    fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40")
    fakes.install("mpich", "mpich", HYDRA, "libmpi.so.12", BREAKS)
    machine = fakes.machine([])
    names = [check.id for check in host_checks(machine, ("openmpi",), lambda abi: fakes.library)]
    assert [name for name in names if name.startswith(("host-", "preload-"))] == [
        "host-openmpi",
        "preload-openmpi",
    ]
    with pytest.raises(UserError, match="--host intel: not found"):
        list(examine(machine, ("intel",)))


def test_root_is_told_what_open_mpi_wants(fakes):
    fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40")
    machine = fakes.machine([])
    machine.facts["is_root"] = True
    check = next(iter(host_checks(machine, (), lambda abi: fakes.library)))
    assert (check.id, check.status) == ("host-openmpi", WARN)
    assert "OMPI_ALLOW_RUN_AS_ROOT=1" in check.remedy


def test_a_launcher_that_hangs_is_ended_with_all_it_started(fakes, monkeypatch):
    monkeypatch.setattr("tutti.doctor.hosts._RANK_SECONDS", 0.5)
    mark = fakes.folder / "ended"
    hangs = f"trap 'echo x > {mark}; kill $child; exit' TERM; sleep 600 & child=$!; wait"
    fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40", hangs)
    begin = time.monotonic()
    check = by_id(fakes.checks([]))["preload-openmpi"]
    assert time.monotonic() - begin < 300
    assert (check.status, "did not end within 0.5 s" in check.found) == (UNKNOWN, True)
    assert mark.exists()


def test_a_library_that_is_missing_matters_only_where_an_mpi_needs_it(fakes):
    fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40")
    checks = by_id(host_checks(fakes.machine([]), (), lambda abi: None))
    assert checks["library-openmpi"].status == FAIL
    assert checks["library-mpich"].status == OK
    assert checks["preload-openmpi"].status == UNKNOWN


def test_a_library_that_cannot_be_loaded_fails_with_the_loaders_words(fakes):
    fakes.install("openmpi", "openmpi", OPENMPI, "libmpi.so.40")
    broken = fakes.folder / "libtutti-broken.so"
    broken.write_text("no library")
    check = by_id(host_checks(fakes.machine([]), (), lambda abi: broken))["library-openmpi"]
    assert (check.status, "LD_PRELOAD" in check.found) == (FAIL, True)


# --- the kernel itself -----------------------------------------------------------------------------------------------


def filtered_trials(rules):
    """run_trials in a process under a system-call filter. rules: number of a call -> what is done about it."""
    done = run_filtered(
        rules,
        """
import json
from tutti.doctor.trials import run_trials
print(json.dumps({name: [trial.worked, trial.detail] for name, trial in run_trials().items()}))
""",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_filters
def test_calls_that_a_filter_refuses_are_found():
    trials = filtered_trials({READV: REFUSE_EPERM, MBIND: REFUSE_EPERM})
    assert trials["cma"] == [False, "process_vm_readv: EPERM (Operation not permitted)"]
    assert trials["cma-child"][0] is False
    assert trials["mbind"] == [False, "mbind: EPERM (Operation not permitted)"]
    assert trials["memfd"][0] is True


@needs_filters
def test_a_filter_that_kills_is_survived_and_named():
    trials = filtered_trials({MBIND: KILL})
    assert trials["mbind"] == [False, "mbind: the process was ended by SIGSYS"]
    assert trials["memfd"][0] is True
    assert trials["cma"][0] is None
    assert "SIGSYS at mbind" in trials["cma"][1]


@needs_filters
def test_without_memfd_nothing_is_shared_and_the_rest_is_still_tried():
    trials = filtered_trials({MEMFD: REFUSE_EPERM})
    assert trials["memfd"][0] is False
    assert trials["window"][0] is False
    assert trials["descriptors"][0] is None
    assert trials["cma"] == run_outcome("cma")


def run_outcome(name):
    trial = run_trials()[name]
    return [trial.worked, trial.detail]


def test_a_limit_of_file_sizes_takes_the_window():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20));"
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tutti.doctor.trials import run_trials;"
        "trials = run_trials(); print(trials['memfd'].worked, trials['window'].worked)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["True", "False"]


def test_siblings_agree_with_a_transfer_of_ones_own():
    trials = run_trials()
    assert set(trials) == set(TRIES)
    libc = ctypes.CDLL(None, use_errno=True)
    if trials["cma"].worked:
        assert hasattr(libc, "process_vm_readv")
    for trial in trials.values():
        assert trial.worked or trial.detail


# --- the command, here -----------------------------------------------------------------------------------------------


def test_the_real_thing_ends_with_a_status_that_fits(tutti):
    done = tutti("doctor", "--json")
    report = json.loads(done.stdout)
    assert report["schema"] == SCHEMA
    ids = [check["id"] for check in report["checks"]]
    assert len(ids) == len(set(ids))
    assert {"cma", "ptrace-scope", "memfd", "cores", "mpi-tools", "library-mpich"} <= set(ids)
    failed = [check for check in report["checks"] if check["status"] == FAIL]
    assert (done.returncode, report["exit_status"]) == (bool(failed),) * 2
    assert sum(report["counts"].values()) == len(ids)


def test_the_real_report_for_people_names_every_check_title(tutti):
    done = tutti("doctor")
    assert done.returncode in (0, 1)
    assert "Cross-memory attach" in done.stdout
    assert " checks: " in done.stdout.splitlines()[-1]


def test_an_unknown_host_is_one_line_and_status_2(tutti_here):
    done = tutti_here("doctor", "--host", "nothing")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_interrupt_ends_it_with_130_and_its_launcher_too(fakes):
    mark = fakes.folder / "ended"
    hangs = f"sleep 600 & child=$!; trap 'touch {mark}; kill $child; exit' TERM; touch {fakes.folder}/started; wait"
    prefix = fakes.install("site", "openmpi", OPENMPI, "libmpi.so.40", hangs)
    environment = {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", _INTERRUPTED, str(fakes.library), str(prefix / "bin/mpirun")]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300
        while not (fakes.folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
        assert process.stderr.read() == "tutti: interrupted\n"
    assert mark.exists()


#: The command with one host and a library that need not be built.
_INTERRUPTED = """
import sys
from pathlib import Path
import tutti.doctor.report, tutti.doctor.hosts, tutti.doctor.machine
from tutti.launch.hosts import Host
host = Host("site", "openmpi", Path(sys.argv[2]), "site")
tutti.doctor.machine.Machine.hosts = lambda self: [host]
checks = tutti.doctor.hosts.host_checks
tutti.doctor.report.host_checks = lambda machine, selected: checks(machine, selected, lambda abi: Path(sys.argv[1]))
sys.argv[1:] = ["doctor", "--host", "site"]
from tutti.main import main
main()
"""


def test_a_number_of_ranks_can_be_asked_about(tutti_here):
    report = json.loads(tutti_here("doctor", "--ranks", "100000", "--json").stdout)
    assert by_id([Check(**check) for check in report["checks"]])["cores"].title == "Cores, for 100000 ranks"
    assert tutti_here("doctor", "--ranks", "-1").returncode == 2


@pytest.mark.parametrize("command", ["doctor", "info"])
def test_help_has_examples(tutti, command):
    done = tutti(command, "--help")
    assert done.returncode == 0
    assert "Examples" in done.stdout
    assert f"tutti {command}" in done.stdout


def test_this_machine_can_be_described():
    machine = Machine()
    assert machine.processors
    assert machine.memory_bytes
    assert machine.run(["sh", "-c", "echo $X"], {"X": "y"}).output == "y\n"
    assert machine.run(["/nowhere"]).status is None
