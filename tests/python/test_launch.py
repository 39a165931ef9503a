"""`tutti run`, from the command line to what the ranks get."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from unittest import mock

import click
import pytest
import typer.main

from tutti import places
from tutti.cli import app
from tutti.errors import UserError
from tutti.launch.hosts import all_hosts
from tutti.launch.mistakes import WITH_VALUES
from tutti.launch.plain_command import FLAGS, VALUES, read
from tutti.launch.plan import RANKS, Plan, make_certain_plan, make_plan
from tutti.launch.program import inspect_program
from tutti.variables import parse_settings

KNOWN = ["ALGORITHM", "WAIT"]


def test_launcher_gets_the_preload_for_its_ranks_only(tutti, apps, launchers, preload):
    done = tutti("run", "--library", preload, launchers["openmpi"], "-n", "2", apps["openmpi"], "x y")
    assert done.stdout.splitlines() == [
        "-x", f"LD_PRELOAD={preload}", "-n", "2", str(apps["openmpi"]), "x y", "preload=",
    ]  # fmt: skip
    assert done.stderr == ""


def test_options_of_ours_stand_in_front_of_the_launcher(tutti, apps, launchers, preload):
    mpirun, app = launchers["mpich"], apps["mpich"]
    done = tutti("run", "--library", preload, mpirun, "-n", "2", "--explain", app, check=False)
    assert done.returncode == 2
    assert f"type: tutti run --explain {mpirun} -n 2 {app}" in done.stderr
    assert set(WITH_VALUES) == set(VALUES)
    # Behind the program it is the program's.
    done = tutti("run", "--library", preload, mpirun, "-n", "2", app, "--explain")
    assert done.stderr == ""


def test_a_file_that_may_not_be_executed_is_told(tutti, tmp_path, launchers, preload):
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    done = tutti("run", "--library", preload, script, check=False)
    assert (done.returncode, f"type: chmod +x {script}" in done.stderr) == (2, True)
    done = tutti("run", "--library", preload, launchers["mpich"], "-n", "1", script, check=False)
    assert f"type: chmod +x {script}" in done.stderr


def test_an_mpi4py_of_another_mpi_is_told(tutti, kit, apps, launchers, preload):
    python = kit.script("prefix/bin/python3", "#!/bin/sh\n")
    package = python.parent.parent / "lib" / "python3.9" / "site-packages" / "mpi4py"
    package.mkdir(parents=True)
    shutil.copy(apps["mpich"], package / "MPI.cpython-39.so")
    says = f"the mpi4py of '{python}' was built for the MPICH ABI"
    done = tutti("run", "--library", preload, launchers["openmpi"], "-n", "1", python, "x.py")
    assert says in done.stderr
    assert (
        says
        not in tutti(
            "run", "--library", preload, launchers["mpich"], "-n", "1", python, "x.py", check=False
        ).stderr
    )
    # Where PYTHONPATH names another, that one counts.
    other = kit.folder / "elsewhere" / "mpi4py"
    other.mkdir(parents=True)
    shutil.copy(apps["openmpi"], other / "MPI.cpython-39.so")
    words = ["run", "--library", preload, launchers["openmpi"], "-n", "1", python, "x.py"]
    assert says not in tutti(*words, env={**os.environ, "PYTHONPATH": str(other.parent)}).stderr
    # One that is for several of them finds out by itself.
    shutil.copy(apps["openmpi"], package / "MPI.openmpi-cpython-39.so")
    assert (
        says not in tutti("run", "--library", preload, launchers["openmpi"], "-n", "1", python, "x.py").stderr
    )


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


def without_tutti(words):
    """What the fake launchers print of these, if they are started as they are."""
    return [*map(str, words), "preload="]


@pytest.mark.parametrize(
    ("launcher", "app", "says"),
    [
        ("mpich", "openmpi", "was built for the Open MPI ABI"),
        ("openmpi", "mpich", "was built for the MPICH ABI"),
        ("openmpi", "abi", "was built for the MPI standard ABI"),
        ("mpich", "static_mpi", "linked in statically"),
        ("openmpi", "openmpi1", "older than 3"),
    ],
)
def test_what_tutti_cannot_reach_runs_without_it_and_a_line_says_so(
    tutti, launchers, apps, preload, launcher, app, says
):
    done = tutti("run", "--library", preload, "-s", "WAIT=spin", launchers[launcher], "-n", "2", apps[app])
    assert done.returncode == 7
    assert done.stdout.splitlines() == without_tutti(["-n", "2", apps[app]])
    assert done.stderr.startswith("tutti: warning: ")
    assert says in done.stderr
    assert done.stderr.endswith(": run without Tutti\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("mpi", "binding"), [("openmpi", "libmpi_mpifh.so.40"), ("mpich", "libmpifort.so.12")]
)
def test_fortran_is_reached_and_said_to_be(tutti_here, launchers, apps, preload, mpi, binding):
    app = apps[f"fortran_{mpi}"]
    words = ["run", "--dry-run", "--library", preload, launchers[mpi], app]
    done = tutti_here(*words)
    assert (str(preload) in done.stdout, done.stderr) == (True, "")
    assert (
        f"tutti: {app}: calls MPI from Fortran, by {binding}\n" in tutti_here("run", "-v", *words[1:]).stderr
    )


def test_a_profiler_that_is_linked_in_is_no_hindrance(tutti_here, launchers, apps, preload):
    words = ["run", "--dry-run", "--library", preload, launchers["mpich"], apps["profiled"]]
    assert tutti_here(*words).stderr == ""
    assert "has MPI functions of its own linked in" in tutti_here("run", "-v", *words[1:]).stderr


def test_programs_of_two_mpis_in_one_job_run_without(tutti, launchers, apps, preload):
    words = ["-n", "1", apps["mpich"], ":", "-n", "1", apps["abi"]]
    done = tutti("run", "--library", preload, launchers["mpich"], *words)
    assert done.returncode == 7
    assert done.stdout.splitlines() == without_tutti(words)
    assert "cannot run in one job" in done.stderr


def test_one_program_that_is_not_reached_is_said_where_others_are(tutti_here, launchers, apps, preload):
    words = ["-n", "1", apps["mpich"], ":", "-n", "1", apps["static_mpi"]]
    done = tutti_here("run", "--dry-run", "--library", preload, launchers["mpich"], *words)
    assert f"LD_PRELOAD {preload}" in done.stdout
    assert done.stderr == f"tutti: warning: '{apps['static_mpi']}': its MPI is linked in statically\n"


def test_a_program_for_another_processor_runs_without(tutti, launchers, apps, preload, kit):
    other = kit.folder / "app-other"
    data = bytearray(apps["mpich"].read_bytes())
    data[18:20] = (183).to_bytes(2, "little")  # AArch64
    other.write_bytes(data)
    other.chmod(0o755)
    done = tutti("run", "--library", preload, launchers["mpich"], other)
    assert done.stdout.splitlines() == without_tutti([other])
    assert "another kind of processor" in done.stderr


@pytest.mark.parametrize("words", [["./nothing-here"], ["/nowhere/mpirun", "-n", "2", "./app"]])
def test_missing_program_is_one_line_and_status_2(tutti_here, preload, words):
    done = tutti_here("run", "--library", preload, *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "tutti: no " in done.stderr


def test_a_program_that_only_the_launcher_can_find_is_left_to_it(tutti, launchers, preload):
    done = tutti("run", "--library", preload, launchers["openmpi"], "-n", "2", "./elsewhere")
    assert done.returncode == 7
    assert done.stdout.splitlines()[0] == "-x"
    assert "the launcher may know better" in done.stderr


@pytest.mark.parametrize("words", [["--version"], ["--help", "all"], ["-n", "2"], ["--app", "file"]])
def test_what_is_no_start_of_a_program_is_left_to_the_launcher(tutti, kit, preload, words):
    version = '[ -n "$LD_PRELOAD" ] || { echo "mpirun (Open MPI) 5.0.9"; exit; }'
    text = f'#!/bin/sh\n{version}\nprintf "%s\\n" "$@" "$LD_PRELOAD"\n'
    done = tutti("run", "--library", preload, kit.script("asked/mpirun", text), *words)
    assert done.stdout.splitlines() == [*words, str(preload)]
    assert done.stderr.count("\n") == (0 if words[0] in ("--version", "--help") else 1)


def test_an_unknown_launcher_hands_down_what_it_inherits(tutti, launchers, apps, preload):
    done = tutti("run", "--library", preload, launchers["foreign"], "-n", "2", apps["mpich"])
    assert done.returncode == 7
    assert done.stdout.splitlines() == ["-n", "2", str(apps["mpich"]), f"preload={preload}"]
    assert "unknown launcher" in done.stderr


def test_missing_library_is_one_line_and_status_2(tutti_here, launchers, apps):
    done = tutti_here("run", "--library", "/nowhere.so", launchers["mpich"], apps["mpich"])
    assert (done.returncode, done.stderr) == (2, "tutti: no library '/nowhere.so'\n")


def test_what_is_no_library_is_refused(tutti_here, launchers, apps, tmp_path):
    file = tmp_path / "library.so"
    file.write_text("not a library")
    done = tutti_here("run", "--library", file, launchers["mpich"], apps["mpich"])
    assert done.returncode == 2
    assert "cannot use the library" in done.stderr


def test_no_library_is_no_reason_not_to_start(launchers, apps):
    done = make_plan([launchers["mpich"], str(apps["mpich"])], None, {}, os.environ)
    assert str(places.find_preload()) in " ".join(done.words)
    with mock.patch.object(places, "find_preload", return_value=None):
        done = make_plan([launchers["mpich"], str(apps["mpich"])], None, {}, os.environ)
    assert done.words == [launchers["mpich"], str(apps["mpich"])]
    assert done.warnings == ["the library is not there (run ./dev setup && ./dev build): run without Tutti"]


def test_who_measures_does_not_measure_without_tutti(launchers, apps, preload):
    with pytest.raises(UserError, match="linked in statically"):
        make_certain_plan([launchers["mpich"], str(apps["static_mpi"])], preload, {}, os.environ)
    assert make_certain_plan([launchers["mpich"], str(apps["mpich"])], preload, {}, os.environ).reach == RANKS


def test_python_programs_are_nothing_unusual(tutti, launchers, preload):
    done = tutti("run", "--library", preload, launchers["openmpi"], "-n", "2", sys.executable, "x.py")
    assert (done.returncode, done.stderr) == (7, "")
    assert f"LD_PRELOAD={preload}" in done.stdout


def test_srun_starts_programs_of_any_mpi(tutti_here, launchers, kit, preload):
    path = kit.script("job.sh", "#!/bin/sh\n")
    done = tutti_here("run", "--dry-run", "--library", preload, launchers["slurm"], "-n", "2", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"LD_PRELOAD={preload}" in done.stdout


SHOW = 'printf "%s|" "$LD_PRELOAD" "$TUTTI_WAIT" "$@"'


@pytest.mark.parametrize(
    "words",
    [
        ["{script}", "a b"],
        ["sh", "{script}", "a b"],
        ["sh", "-c", SHOW, "sh", "a b"],
        ["env", "X=1", "{script}", "a b"],
        ["nice", "-n", "1", "{script}", "a b"],
        ["timeout", "20", "sh", "{script}", "a b"],
        [sys.executable, "-c", "import subprocess; subprocess.run(['{script}', 'a b'])"],
        ["{bare}", "a b"],
    ],
    ids=lambda words: words[0].rpartition("/")[2],
)
def test_what_starts_others_hands_the_variables_down(tutti, kit, preload, words):
    script = kit.script("show.sh", f"#!/bin/sh\n{SHOW}\n")
    bare = kit.script("bare", f"{SHOW}\n")
    words = [word.replace("{script}", str(script)).replace("{bare}", str(bare)) for word in words]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = tutti("run", "--library", preload, "-s", "WAIT=spin", *words, env=environment)
    assert (done.stdout, done.stderr) == (f"{preload}|spin|a b|", "")


def test_status_and_signals_of_a_script_are_its_own(tutti, preload):
    assert tutti("run", "--library", preload, "sh", "-c", "exit 9").returncode == 9
    assert tutti("run", "--library", preload, "sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL


def test_a_launcher_behind_wrappers_gets_the_preload_for_its_ranks_only(tutti, launchers, apps, preload):
    words = ["env", "A=b", "nice", launchers["openmpi"], "-n", "2", apps["openmpi"]]
    done = tutti("run", "--library", preload, *words)
    assert done.stdout.splitlines() == [
        "-x",
        f"LD_PRELOAD={preload}",
        "-n",
        "2",
        str(apps["openmpi"]),
        "preload=",
    ]
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.parametrize("option", [[], ["-p"]])
def test_the_time_of_shells_is_understood(tutti, kit, launchers, apps, preload, option):
    """A program of that name may be missing, where a shell has a word of its own for it."""
    for name in ("bash", "env", "sh"):
        link = kit.folder / "few" / name
        link.parent.mkdir(exist_ok=True)
        if not link.exists():
            link.symlink_to(shutil.which(name) or f"/bin/{name}")
    environment = {**os.environ, "PATH": str(kit.folder / "few")}
    words = ["-s", "WAIT=spin", "time", *option, launchers["openmpi"], "-n", "2", apps["openmpi"]]
    done = tutti("run", "--library", preload, *words, env=environment)
    assert done.returncode == 7
    assert done.stdout.splitlines()[:2] == ["-x", f"LD_PRELOAD={preload}"]
    assert "real" in done.stderr
    assert ("\t" not in done.stderr) == bool(option)


def test_a_launcher_in_a_script_starts_its_daemons_with_the_variables(tutti, preload):
    names = ("OMPI_MCA_orte_launch_agent", "PRTE_MCA_prte_launch_agent")
    show = "; ".join(f'echo "${name}"' for name in names)
    done = tutti("run", "--library", preload, "sh", "-c", show)
    assert done.stdout.splitlines() == [f"env LD_PRELOAD={preload} {daemon}" for daemon in ("orted", "prted")]
    done = tutti("run", "--library", preload, "sh", "-c", show, env={**os.environ, names[0]: "mine"})
    assert done.stdout.splitlines()[0] == "mine"


def test_a_program_of_no_mpi_is_said(tutti_here, launchers, apps, preload):
    for words in ([apps["plain"]], [launchers["mpich"], "-n", "2", apps["plain"]], ["nice", apps["plain"]]):
        done = tutti_here("run", "--dry-run", "--library", preload, *words)
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
        assert "has no MPI among the libraries it needs" in done.stderr


def test_what_enters_a_container_starts_others(tutti_here, launchers, apps, preload, tmp_path):
    enters = shutil.copy(apps["plain"], tmp_path / "ch-run")
    words = [launchers["mpich"], "-n", "2", enters, "root", "--", apps["mpich"]]
    done = tutti_here("run", "--dry-run", "--library", preload, *words)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_static_program_is_said_to_be_one(tutti, apps, preload):
    done = tutti("run", "--library", preload, apps["static"])
    assert done.returncode == 0
    assert "linked statically" in done.stderr


@pytest.mark.parametrize("words", [["env", "-i"], ["env", "-u", "LD_PRELOAD"], ["sudo"]])
def test_what_takes_the_variables_away_is_said(tutti_here, kit, apps, preload, words):
    kit.script("bin/sudo", "#!/bin/sh\n")
    environment = {**os.environ, "PATH": f"{kit.folder}/bin:{os.environ['PATH']}"}
    done = tutti_here("run", "--dry-run", "--library", preload, *words, apps["mpich"], env=environment)
    assert "runs without Tutti" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not shutil.which("setpriv"), reason="no setpriv, without which root can read everything")
@pytest.mark.parametrize("launched", [True, False])
def test_an_executable_that_cannot_be_read_is_started(kit, apps, launchers, preload, launched):
    path = kit.folder / "unreadable"
    if not path.exists():
        shutil.copy(apps["mpich"], path)
        path.chmod(0o111)
    rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    words = [launchers["mpich"], "-n", "1", path] if launched else [path]
    command = [*rights, sys.executable, "-m", "tutti", "run", "--library", preload, *words]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(kit.folder / "mpich-lib")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == (7 if launched else 0)
    assert f"'{path}' cannot be read: Permission denied" in done.stderr
    assert done.stderr.count("\n") == 1
    if launched:
        assert done.stdout.splitlines()[:3] == ["-genv", "LD_PRELOAD", str(preload)]


def test_signals_that_python_ignores_are_not_ignored_in_the_program(tutti, preload):
    done = tutti("run", "--library", preload, "sh", "-c", "grep SigIgn /proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


def test_the_locale_that_python_sets_for_itself_is_not_the_programs(preload):
    for given in ({}, {"LC_CTYPE": "C.UTF-8"}):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "", "LANG": "", **given}
        words = [sys.executable, "-m", "tutti", "run", "--library", preload, "sh", "-c", 'echo "$LC_CTYPE"']
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.strip() == given.get("LC_CTYPE", "")


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


def test_a_sanitizer_comes_first_in_the_program_but_not_in_what_starts_it(
    tutti_here, kit, launchers, preload
):
    shared = kit.folder / "mpich-lib/libmpi.so.12"
    source = "int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }\n"
    program = kit.compile(
        "app-asan", source, "-fsanitize=address", str(shared), f"-Wl,-rpath,{shared.parent}"
    )
    (runtime,) = inspect_program(str(program), os.environ).sanitizers

    def command(*words):
        done = tutti_here("run", "--dry-run", "--library", preload, *words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert f"LD_PRELOAD {runtime}:{preload} " in command(launchers["mpich"], "-n", "2", program)
    assert f"LD_PRELOAD={runtime}:{preload} " in command(program)
    for words in ([launchers["mpich"], "nice", program], ["nice", program], ["sh", "-c", str(program)]):
        text = command(*words)
        assert runtime not in text
        assert "verify_asan_link_order=0" in text


def test_nothing_slow_is_imported(kit, apps, preload):
    """`tutti run` is in the way of every start: what it takes is what it imports, and the interpreter itself."""
    hydra = kit.folder / "quick/mpirun"
    hydra.parent.mkdir(exist_ok=True)
    hydra.write_bytes(b"HYDRA build details:")
    hydra.chmod(0o755)
    words = ["run", "--dry-run", "-s", "WAIT=spin", "--library", str(preload)]
    words += [str(hydra), "-n", "2", str(apps["mpich"])]
    code = f"""
import sys
sys.path.insert(0, {str(places.ROOT)!r})
import os  # as site does
before = set(sys.modules)
from tutti.main import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    imported = done.stdout.splitlines()[-1].split()
    assert {name for name in imported if not name.startswith("tutti")} <= {
        "__future__",
        "_struct",
        "mmap",
        "struct",
    }
    assert set(imported).isdisjoint(["tutti.cli", "tutti.settings", "tutti.launch.library", "tutti.nearest"])


def test_the_quick_way_knows_the_options_that_the_help_shows():
    command = typer.main.get_command(app).get_command(None, "run")
    shown = {option: bool(parameter.is_flag) for parameter in command.params if isinstance(parameter, click.Option)
             for option in parameter.opts}  # fmt: skip
    assert shown == {**dict.fromkeys(FLAGS, True), **dict.fromkeys(VALUES, False)}


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["--bogus", "x"], ["-s"], ["-vs", "A=b", "x"], ["--library"]]
)
def test_what_is_not_plain_is_left_to_the_full_command_line(words):
    assert read(words) is None


def test_options_end_where_the_command_begins():
    options = read(["-v", "--set=A=b", "-s", "C=d", "--library", "/l", "--", "-x", "-v"])
    assert (options.verbose, options.settings, options.library, options.words) == (
        True,
        ["A=b", "C=d"],
        "/l",
        ["-x", "-v"],
    )


@pytest.mark.parametrize("word", ["", "a b", "it's", "a=b;c", "\u00e9", "$x", "plain/x.y:z", "-n"])
def test_words_are_quoted_as_shells_want_them(word):
    assert Plan([word], {}, RANKS, [], []).command() == shlex.quote(word)


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
