"""Sanitizers: what is one, and where it stands in LD_PRELOAD."""

import os
import shutil
import subprocess

import pytest

from tutti.launch.program import inspect_program
from tutti.launch.sanitizers import behind_others, kind_of, preload_of

MAIN = "int main(void) { return 0; }\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/usr/lib/libasan.so.8", "address"),
        ("libtsan.so.2.0.0", "thread"),
        ("liblsan.so", "leak"),
        ("libhwasan.so.0", "hwaddress"),
        ("libubsan.so.1", "undefined"),
        ("libclang_rt.asan-x86_64.so", "address"),
        ("libclang_rt.tsan.so", "thread"),
        ("libclang_rt.ubsan_standalone-x86_64.so", "undefined"),
        ("libasan.a", None),
        ("libasanity.so", None),
        ("libmpi.so.12", None),
    ],
)
def test_runtimes_are_known_by_their_names(name, kind):
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("runtimes", "theirs", "expected"),
    [
        ([], None, "/t.so"),
        ([], "/a.so /b.so", "/t.so:/a.so:/b.so"),
        (["/libasan.so.8"], None, "/libasan.so.8:/t.so"),
        (["/libasan.so.8"], "/a.so:/b.so", "/libasan.so.8:/t.so:/a.so:/b.so"),
        (["/libasan.so.8"], "libasan.so.8:/a.so", "libasan.so.8:/t.so:/a.so"),
        ([], "/x/libasan.so.8:/a.so", "/x/libasan.so.8:/t.so:/a.so"),
        ([], "/a.so:/libasan.so.8:/b.so", "/a.so:/libasan.so.8:/t.so:/b.so"),
        (["/libasan.so.8"], "/a.so:/libubsan.so.1", "/libasan.so.8:/a.so:/libubsan.so.1:/t.so"),
        ([], "/old/libtutti.so:/a.so:/old/libtutti-mpich.so:/t.so", "/t.so:/a.so"),
        ([], "::", "/t.so"),
    ],
)
def test_a_sanitizer_comes_first_and_the_users_order_stays(runtimes, theirs, expected):
    assert preload_of("/t.so", runtimes, theirs) == expected


def test_the_users_options_are_kept():
    assert behind_others({}) == "verify_asan_link_order=0"
    assert behind_others({"ASAN_OPTIONS": "detect_leaks=0"}) == "detect_leaks=0:verify_asan_link_order=0"
    assert behind_others({"ASAN_OPTIONS": "verify_asan_link_order=1"}) == "verify_asan_link_order=1"


@pytest.mark.parametrize(("option", "name"), [("address", "libasan.so"), ("thread", "libtsan.so")])
def test_the_runtime_of_gcc_is_found_where_the_loader_finds_it(kit, option, name):
    program = kit.compile(f"gcc-{option}", MAIN, f"-fsanitize={option}")
    (found,) = inspect_program(str(program), os.environ).sanitizers
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert os.path.basename(found).startswith(name)
    assert found in loaded


def test_the_runtime_that_a_library_needs_is_found(kit):
    kit.library("lib/libchecked.so", "int checked(void) { return 0; }\n", "-fsanitize=address")
    use = "int checked(void); int main(void) { return checked(); }\n"
    program = kit.compile("uses-checked", use, "-Llib", "-lchecked", "-Wl,-rpath,$ORIGIN/lib")
    (found,) = inspect_program(str(program), os.environ).sanitizers
    assert kind_of(found) == "address"


def test_the_runtime_that_clang_links_in_is_seen_and_needs_nothing(kit):
    clang = shutil.which("clang") or shutil.which("clang-14")
    if clang is None:
        pytest.skip("no Clang here")
    source = kit.folder / "clang.c"
    source.write_text(MAIN)
    made = subprocess.run(
        [clang, "-fsanitize=address", "-o", source.with_suffix(""), source], capture_output=True
    )
    if made.returncode:
        pytest.skip("Clang's sanitizers are not installed")
    program = inspect_program(str(source.with_suffix("")), os.environ)
    assert (program.built_in, program.sanitizers) == ("address", ())
