"""What is handed to others: completions, manual pages, module, recipes, and how what is installed is found."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import ROOT

from tutti import places
from tutti.launch import hosts as launch_hosts
from tutti.launch.library import find_part, find_tool
from tutti.launch.plain_command import _settings, read

PACKAGING = ROOT / "packaging"
sys.path.insert(0, str(ROOT / "tools"))

from command_completions import bash, fish, zsh  # noqa: E402
from command_manual import manual_of_command, manual_of_group  # noqa: E402

from tutti.cli import parser  # noqa: E402


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program} here")


# --- manual and completions -------------------------------------------------------------------------------------------


def test_what_is_kept_is_what_the_parser_says():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "command-pages"), "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_new_option_makes_all_of_them_stale():
    group = parser()
    before = [bash(group), zsh(group), fish(group), manual_of_command("info", group.commands["info"])]
    group.commands["info"].params.append(click.Option(["--brand-new"], is_flag=True, help="What is new."))
    after = [bash(group), zsh(group), fish(group), manual_of_command("info", group.commands["info"])]
    assert all(old != new and "brand" in new for old, new in zip(before, after))


@needs("groff")
@pytest.mark.parametrize("page", sorted((PACKAGING / "man").iterdir()), ids=lambda page: page.name)
def test_manual_pages_are_clean(page):
    words = ["groff", "-man", "-ww", "-Tutf8", "-P-c", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
    assert done.stderr == ""
    plain = re.sub(".\b", "", done.stdout)  # without what prints twice
    assert {"NAME", "SYNOPSIS", "DESCRIPTION"} <= set(plain.split())


def test_the_manual_escapes_what_roff_would_read():
    group = click.Group(
        "tutti",
        commands={"x": click.Command("x", help=".dot first\n\nback\\slash")},
        epilog="Exit status of x: 0.",
    )
    page = manual_of_command("x", group.commands["x"])
    assert "\\&.dot first" in page
    assert "back\\eslash" in page
    assert "tutti\\-x (1)" in manual_of_group(group)


def completed(*words):
    """What bash offers for the last of these words."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; printf "%s\\n" "${COMPREPLY[@]}"'
    call = ["bash", "-c", script, "bash", str(PACKAGING / "completions" / "tutti.bash"), *words]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_names_files_and_programs():
    assert completed("tutti", "be") == ["bench"]
    assert completed("tutti", "bench", "--host-") == ["--host-wait", "--host-best"]
    assert completed("tutti", "bench", "--host", "op") == ["openmpi", "openmpi-debian"]
    assert completed("tutti", "bench", "--json", "READ") == ["README.md"]
    assert completed("tutti", "report", "READ") == ["README.md"]
    assert completed("tutti", "bench", "--seconds", "") == []
    assert "--summary" in completed("tutti", "run", "--s")
    assert "bash" in completed("tutti", "run", "--summary", "bas")
    assert "bash" in completed("tutti", "run", "-s", "A=1", "bas")


@needs("zsh")
def test_zsh_reads_its_completion():
    assert subprocess.run(["zsh", "-n", str(PACKAGING / "completions" / "_tutti")]).returncode == 0


@needs("fish")
def test_fish_completes_commands_and_options():
    file = PACKAGING / "completions" / "tutti.fish"
    for line, expected in (
        ("tutti ben", "bench"),
        ("tutti run --summ", "--summary"),
        ("tutti bench --host in", "intel"),
    ):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {file}; complete -C '{line}'"],
            capture_output=True,
            text=True,
        )
        assert expected in [offer.split("\t")[0] for offer in done.stdout.splitlines()]


# --- module and recipes -----------------------------------------------------------------------------------------------


def test_the_module_sets_no_preload():
    code = [
        line
        for line in (PACKAGING / "modules" / "tutti.in").read_text().splitlines()
        if not line.startswith("#")
    ]
    commands = [line for line in code if "PRELOAD" in line or "setenv" in line]
    assert commands == []


def cmake_options():
    """What the build can be told."""
    text = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    return set(re.findall(r"(?:option|set)\((TUTTI_\w+)", text))


def test_the_spack_recipe_is_python_and_names_options_that_there_are():
    tree = ast.parse((PACKAGING / "spack" / "tutti" / "package.py").read_text())
    (package,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    called = {
        node.value.func.id
        for node in package.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    known = {"license", "version", "variant", "depends_on", "resource", "requires", "conflicts", "generator"}
    assert called <= known
    named = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and str(node.value).startswith("TUTTI_")
    }
    assert named
    assert named <= cmake_options()


def test_the_easyconfig_is_python_and_names_options_that_there_are():
    (file,) = (PACKAGING / "easybuild").glob("*.eb")
    values = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz"}
    exec(compile(file.read_text(), str(file), "exec"), values)
    chain = values["toolchain"]
    assert file.name == f"{values['name']}-{values['version']}-{chain['name']}-{chain['version']}.eb"
    assert {"homepage", "description", "moduleclass", "sanity_check_paths"} <= set(values)
    assert set(re.findall(r"-D(TUTTI_\w+)=", values["configopts"])) <= cmake_options()


def test_versions_agree():
    from tutti import __version__

    assert f"project(tutti VERSION {__version__} " in (ROOT / "CMakeLists.txt").read_text()
    assert [file.name.split("-")[1] for file in (PACKAGING / "easybuild").iterdir()] == [__version__]


# --- an older C library -----------------------------------------------------------------------------------------------


def test_the_first_versions_of_functions_are_those_of_the_c_library():
    found = {}
    for line in (ROOT / "cmake" / "glibc_floor" / "old_versions.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        library, version, *names = line.split()
        paths = [Path("/lib/x86_64-linux-gnu") / name for name in (library, "libc.so.6")]
        if not all(path.exists() for path in paths):
            pytest.skip("the C library is elsewhere")
        for path in paths:
            if path not in found:
                out = subprocess.run(["objdump", "-T", str(path)], capture_output=True, text=True).stdout
                found[path] = set(re.findall(r"\(?(GLIBC_[\d.]+)\)?\s+(\w+)$", out, re.MULTILINE))
        # Since 2.34 what these libraries had is in the C library itself, at the old versions, too.
        assert [name for name in names if not any((version, name) in found[path] for path in paths)] == []


CALLS_NEW_FUNCTIONS = r"""
#include "new_functions.c"
#include <stdio.h>
#include <string.h>

static int check(const char* name, int good) {
  if (!good) printf("wrong: %s\n", name);
  return !good;
}

int main(int count, char** words) {
  struct stat facts, same;
  int wrong = check("stat", count > 0 && stat(words[0], &facts) == 0 && facts.st_size > 0);
  const int file = open(words[0], O_RDONLY);
  wrong += check("fstat", fstat(file, &same) == 0 && same.st_ino == facts.st_ino && same.st_mtime == facts.st_mtime);
  wrong += check("stat of nothing", stat("/no/such/file", &same) == -1 && errno == ENOENT);
  wrong += check("lstat", lstat("/proc/self/exe", &same) == 0 && S_ISLNK(same.st_mode));
  wrong += check("gettid", gettid() == getpid());
  wrong += check("arc4random", arc4random() != arc4random() || arc4random() != arc4random());
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  struct timespec begin, until, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  until = begin;
  until.tv_nsec += 50000000;
  if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec += 1;
  pthread_mutex_lock(&mutex);
  wrong += check("clockwait", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double waited = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
  wrong += check("how long it waits", waited > 0.049 && waited < 5);
  wrong += check("mathematics", pow(2, 10) == 1024 && hypot(3, 4) == 5 && exp(0) == 1 && log(1) == 0);
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  struct dl_find_object found, none;
  memset(&found, 0, sizeof found);
  wrong += check("own code", _dl_find_object((void*)&main, &found) == 0 && found.dlfo_eh_frame);
  wrong += check("its bounds", (char*)&main >= (char*)found.dlfo_map_start && (char*)&main < (char*)found.dlfo_map_end);
  wrong += check("code of the C library", _dl_find_object((void*)&memcpy, &none) == 0);
  wrong += check("no code", _dl_find_object(&mutex, &none) == -1);
#endif
  return wrong;
}
"""


@needs("cc")
def test_functions_that_an_older_c_library_lacks_do_what_they_are_for(tmp_path):
    source, program = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text(CALLS_NEW_FUNCTIONS)
    floor = ROOT / "cmake" / "glibc_floor"
    # Hidden, as in the build: seen by the C library, its own calls would come back here.
    words = [
        "cc",
        "-O1",
        "-fno-builtin",
        "-fvisibility=hidden",
        "-w",
        f"-I{floor}",
        str(source),
        "-o",
        str(program),
    ]
    words += ["-lm", "-pthread"]
    made = subprocess.run(words, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


# --- where things are -------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """As in a wheel: everything in the package, and no checkout."""
    package = tmp_path / "site-packages" / "tutti"
    for name in (
        "lib/libtutti.so",
        "lib/libtutti-mpich.so",
        "libexec/tutti-bench-mpich",
        "libexec/tutti-topo",
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    monkeypatch.setattr(places, "PACKAGE", str(package))
    monkeypatch.setattr(places, "ROOT", str(package.parent))
    monkeypatch.setattr(places, "PREFIX", str(tmp_path))
    return package


def test_a_wheel_has_everything_in_the_package(installed):
    assert places.find_preload() == str(installed / "lib" / "libtutti.so")
    assert find_part("mpich") == installed / "lib" / "libtutti-mpich.so"
    assert find_part("openmpi") is None
    assert find_tool("tutti-topo", "tools") == installed / "libexec" / "tutti-topo"


def test_below_a_prefix_libraries_are_where_libraries_are(tmp_path, monkeypatch):
    package = tmp_path / "share" / "tutti" / "tutti"
    library, tool = tmp_path / "lib" / "tutti" / "libtutti.so", tmp_path / "libexec" / "tutti" / "tutti-topo"
    for file in (library, tool):
        file.parent.mkdir(parents=True)
        file.write_text("")
    monkeypatch.setattr(places, "PACKAGE", str(package))
    monkeypatch.setattr(places, "ROOT", str(package.parent))
    monkeypatch.setattr(places, "PREFIX", str(tmp_path))
    assert places.find_preload() == str(library)
    assert find_tool("tutti-topo", "tools") == tool


def launcher(folder, words):
    """An mpirun that says these words of itself."""
    folder.mkdir(parents=True)
    file = folder / "mpirun"
    file.write_text(f"#!/bin/sh\necho '{words}'\n")
    file.chmod(0o755)
    return file


def test_without_a_checkout_the_mpis_are_those_in_path(installed, tmp_path, monkeypatch):
    first = launcher(tmp_path / "one" / "bin", "HYDRA build details: Version: 4.2.1")
    again = launcher(tmp_path / "two" / "bin", "HYDRA build details: Version: 4.1")
    other = launcher(tmp_path / "three" / "bin", "mpirun (Open MPI) 5.0.5")
    library = tmp_path / "one" / "lib" / "libmpi.so.12"
    library.parent.mkdir()
    library.write_text("")
    folders = [str(file.parent) for file in (first, again, other)]
    monkeypatch.setenv("PATH", ":".join([*folders, "/bin"]))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    found = {host.name: host for host in launch_hosts.all_hosts() if str(tmp_path) in str(host.mpirun)}
    assert {name: host.mpirun for name, host in found.items()} == {"mpich": first, "openmpi": other}
    assert found["mpich"].library_folder == library.parent
    assert found["mpich"].bench == installed / "libexec" / "tutti-bench-mpich"
    assert found["openmpi"].bench is None
    assert [host.name for host in launch_hosts.installed_hosts()] == ["mpich"]


def test_a_benchmark_of_the_same_abi_does(installed, tmp_path):
    host = launch_hosts.Host("intel", "mpich", tmp_path / "mpirun", "Intel MPI")
    assert host.bench == installed / "libexec" / "tutti-bench-mpich"


# --- the first minute -------------------------------------------------------------------------------------------------


def test_tutti_alone_is_ten_lines_with_the_next_command(monkeypatch):
    from tutti import welcome

    lines = welcome.welcome().splitlines()
    assert len(lines) <= 10
    if launch_hosts.all_hosts():
        assert any(line.strip().startswith("tutti run mpirun") for line in lines)


def test_tutti_alone_says_how_to_get_an_mpi(monkeypatch):
    from tutti import welcome

    class NoHosts:
        found = ()

        def __init__(self, machine):
            pass

    monkeypatch.setattr(welcome, "Hosts", NoHosts)
    monkeypatch.setattr(places, "is_checkout", lambda: False)
    assert "No MPI was found here" in welcome.welcome()
    assert "pip install mpich" in welcome.welcome()


def test_summary_is_a_plain_option():
    options = read(["--summary", "mpirun", "-n", "2", "./app"])
    assert options.words == ["mpirun", "-n", "2", "./app"]
    assert _settings(options, []) == {"TUTTI_EXPLAIN": "summary"}
    options.explain = True
    assert _settings(options, []) == {"TUTTI_EXPLAIN": "1"}


def test_the_command_of_a_checkout_starts_where_paths_are_long_or_have_spaces(tmp_path):
    script = {"__file__": str(ROOT / "tools" / "link-checkout"), "__name__": "link_checkout"}
    exec((ROOT / "tools" / "link-checkout").read_text(), script)
    folder = tmp_path / "a folder"
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(sys.executable)
    main = folder / "main"
    main.write_text("import sys; print(sys.argv[1:])\n")
    quick = folder / "quick"
    command = folder / "tutti"
    command.write_text(script["command_text"](str(python), str(main), str(quick)))
    command.chmod(0o755)

    def said(*words):
        done = subprocess.run([str(command), *words], capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    assert said("a b") == "['a b']\n"
    assert said("run", "a b") == "['run', 'a b']\n"
    quick.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    quick.chmod(0o755)
    assert said("a b") == "['a b']\n"
    assert said("run", "a b") == f"--python|{python}|{main}|run|a b|"


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("python_beside", [False, True])
def test_the_command_of_a_wheel_finds_its_package_and_its_python(tmp_path, linked, python_beside):
    def script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    show = '#!/bin/sh\nprintf "%s|" "$@"\n'
    prefix = tmp_path / "a prefix"
    command = script(prefix / "bin/tutti", (ROOT / "packaging/wheel-command").read_text())
    (prefix / "lib/python3.10/site-packages").mkdir(parents=True)
    package = prefix / "lib/python3.11/site-packages/tutti"
    script(package / "libexec/tutti-run", show)
    elsewhere = script(tmp_path / "path/python3.11", show)
    python = script(prefix / "bin/python3", show) if python_beside else elsewhere
    if linked:
        (tmp_path / "link").symlink_to(command)
        command = tmp_path / "link"
    environment = {**os.environ, "PATH": f"{tmp_path}/path:{os.environ['PATH']}"}
    done = subprocess.run(
        [command, "run", "a b"], capture_output=True, text=True, env=environment, check=True
    )
    flag, found, main, *words = done.stdout.split("|")
    assert (flag, os.path.realpath(found)) == ("--python", str(python))
    assert os.path.realpath(main) == str(package / "libexec/tutti-python")
    assert words == ["run", "a b", ""]
