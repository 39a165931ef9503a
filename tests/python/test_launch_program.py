"""Which MPI a file was linked with."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import MAIN, MPI

from tutti.errors import UserError
from tutti.launch.elf import NotElf, read_elf
from tutti.launch.program import abi_of_library, inspect_program


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libmpi.so.40", "openmpi"),
        ("libmpi.so.40.30.4", "openmpi"),
        ("libmpi_mpifh.so.40", "openmpi"),
        ("libmpi_usempif08.so.40", "openmpi"),
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpifort.so.12", "mpich"),
        ("libmpichfort.so.12", "mpich"),
        ("libmpi_cray.so.12", "mpich"),
        ("libmpi_gnu_123.so.12", "mpich"),
        ("libmpi_abi.so.1", "abi"),
        ("libmpifort_abi.so.1", "abi"),
        ("libmpi.so.20", "openmpi-old"),
        ("libmpi_shm_heap_proxy.so", None),
        ("libmpires.so.12", None),
        ("libm.so.6", None),
    ],
)
def test_library_names_tell_the_abi(name, abi):
    assert abi_of_library(name) == abi


@pytest.mark.parametrize(
    ("app", "abi"),
    [("openmpi", "openmpi"), ("mpich", "mpich"), ("abi", "abi"), ("cray", "mpich"), ("plain", None)],
)
def test_programs_tell_their_abi(apps, app, abi):
    assert inspect_program(str(apps[app]), os.environ).abi == abi


@pytest.mark.parametrize("app", ["indirect", "rpath"])
def test_mpi_is_found_behind_another_library(apps, app):
    program = inspect_program(str(apps[app]), os.environ)
    assert program.abi == "mpich"
    assert "through libphysics.so" in program.reason


def test_ld_library_path_is_followed(apps, kit):
    assert inspect_program(str(apps["unlocated"]), os.environ).abi is None
    environment = {**os.environ, "LD_LIBRARY_PATH": str(kit.folder / "lib")}
    assert inspect_program(str(apps["unlocated"]), environment).abi == "mpich"


@pytest.mark.parametrize(
    ("app", "why"),
    [("static_mpi", "its MPI is linked in statically"), ("openmpi1", "older than 3"), ("mpich", None)],
)
def test_what_cannot_be_reached_is_noticed(apps, app, why):
    obstacle = inspect_program(str(apps[app]), os.environ).obstacle
    assert obstacle is None if why is None else why in obstacle


def test_a_static_program_without_mpi_may_start_others(apps):
    program = inspect_program(str(apps["static"]), os.environ)
    assert (program.abi, program.obstacle, program.reason) == (None, None, "linked statically")


def test_a_static_mpi_is_seen_without_the_symbols_that_the_loader_sees(kit, apps):
    path = kit.compile("app-static-all", MPI + MAIN.split(";", 1)[1], "-static")
    assert "linked in statically" in inspect_program(str(path), os.environ).obstacle


def test_a_set_uid_program_is_noticed(apps, monkeypatch):
    path = apps["mpich"].with_name("app-set-uid")
    shutil.copy(apps["mpich"], path)
    path.chmod(0o4755)
    assert inspect_program(str(path), os.environ).obstacle is None  # it becomes who starts it
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "set-uid" in inspect_program(str(path), os.environ).obstacle


def test_a_set_gid_program_is_noticed(apps, monkeypatch):
    path = apps["mpich"].with_name("app-set-gid")
    shutil.copy(apps["mpich"], path)
    path.chmod(0o2755)
    monkeypatch.setattr(os, "getegid", lambda: os.getgid() + 1)
    assert "set-gid" in inspect_program(str(path), os.environ).obstacle


@pytest.mark.parametrize(
    ("app", "binding"), [("openmpi", "libmpi_mpifh.so.40"), ("mpich", "libmpifort.so.12")]
)
def test_fortran_is_told_by_the_library_that_it_needs(apps, app, binding):
    program = inspect_program(str(apps[f"fortran_{app}"]), os.environ)
    assert (program.abi, program.fortran) == (app, binding)
    assert inspect_program(str(apps[app]), os.environ).fortran is None


def test_a_file_that_cannot_be_read_is_taken_as_it_is(apps, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tutti.launch.program.read_elf", refuse)
    program = inspect_program(str(apps["mpich"]), os.environ)
    assert (program.abi, program.obstacle, program.opaque) == (None, None, True)
    assert "cannot be read: Permission denied" in program.reason


def test_linked_in_profiler_is_noticed(apps):
    program = inspect_program(str(apps["profiled"]), os.environ)
    assert program.abi == "mpich"
    assert program.wraps_mpi


def test_needing_mpi_is_not_wrapping_it(apps):
    assert not inspect_program(str(apps["mpich"]), os.environ).wraps_mpi


def test_name_as_tail_of_another_is_seen(apps):
    # Linkers store MPI_Init as the end of PMPI_Init.
    assert read_elf(apps["static_mpi"], ("MPI_Init",)).symbols == {"MPI_Init": True}


def test_path_is_searched(apps):
    environment = {**os.environ, "PATH": str(apps["mpich"].parent)}
    assert inspect_program("app-mpich", environment).path == str(apps["mpich"])


def test_working_folder_of_the_launcher_is_searched(apps):
    assert inspect_program("./app-abi", os.environ, folder=str(apps["abi"].parent)).abi == "abi"


def test_missing_program_is_named():
    with pytest.raises(UserError, match=r"no program '\./nothing-here'"):
        inspect_program("./nothing-here", os.environ)


@pytest.mark.parametrize(
    "line", ["#!{plain} -u", "#!/usr/bin/env app-plain", "#!/usr/bin/env -S A=1 app-plain -x"]
)
def test_scripts_are_followed_to_their_interpreter(apps, kit, line):
    path = kit.script("script", line.format(plain=apps["plain"]) + "\n")
    environment = {**os.environ, "PATH": f"{kit.folder}:{os.environ['PATH']}"}
    program = inspect_program(str(path), environment)
    assert program.abi is None
    assert program.reason == "a script for app-plain"
    assert program.opaque


@pytest.mark.parametrize(("name", "by_shell"), [("sh", True), (sys.executable, False)])
def test_interpreters_may_start_anything(name, by_shell):
    program = inspect_program(name, os.environ)
    assert (program.opaque, program.by_shell) == (True, by_shell)


def test_script_for_an_mpi_interpreter_has_its_abi(apps, kit):
    path = kit.script("script-mpi", f"#!{apps['openmpi']}\n")
    assert inspect_program(str(path), os.environ).abi == "openmpi"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"text"])
def test_what_is_no_elf_file_is_said_to_be_none(tmp_path: Path, content):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(NotElf):
        read_elf(file)
