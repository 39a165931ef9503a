"""The seam for simulators (src/base/simulated.h): an ordinary build has nothing of it, and nothing by which ranks tell
each other something is outside of it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_layers import CORE, ROOT, SOURCES

#: All that the seam is, but for its header.
HOOK = re.compile(r"^\s*if constexpr \(simulated::on\)\s[^;{}]*;\n", re.MULTILINE)
INCLUDE = re.compile(r'^#include "base/simulated\.h"\n', re.MULTILINE)

#: What is compiled, of one folder each: flags and waits, copies, reductions, time stamps, fences, the kernel's copies.
UNITS = {
    "memory": ["copy_requests.cpp", "exposures.cpp", "region.cpp", "stream.cpp", "transfers.cpp"],
    "engine": ["channel.cpp", "disagreement.cpp", "operation.cpp", "remains.cpp"],
    "collectives": ["allreduce/eager.cpp", "bcast/eager.cpp", "common/trees/pull.cpp"],
    "partitioned": ["sides.cpp"],
}


def core_sources():
    for layer in CORE:
        for path in sorted((ROOT / "src" / layer).rglob("*")):
            if path.suffix in SOURCES:
                yield path


def objects(folder: Path, *options: str):
    """The objects of UNITS from folder/src."""
    compiled = {}
    for layer, files in UNITS.items():
        text = "".join(f'#include "{layer}/{file}"\n' for file in files)
        (folder / f"{layer}.cpp").write_text(text)
        words = [
            "g++",
            "-std=c++20",
            "-fcoroutines",
            "-O3",
            "-DNDEBUG",
            "-fPIC",
            "-fvisibility=hidden",
            "-w",
            "-Isrc",
        ]
        subprocess.run([*words, *options, "-c", f"{layer}.cpp", "-o", f"{layer}.o"], cwd=folder, check=True)
        compiled[layer] = (folder / f"{layer}.o").read_bytes()
    return compiled


@pytest.mark.skipif(not shutil.which("g++"), reason="other compilers are called in other ways")
def test_ordinary_objects_are_the_same_to_the_byte_without_the_seam(tmp_path):
    with_it, without = tmp_path / "with", tmp_path / "without"
    hooks = 0
    for path in core_sources():
        name = path.relative_to(ROOT)
        text = path.read_text(encoding="utf-8")
        stripped, here = HOOK.subn("", text)
        stripped = "" if name == Path("src/base/simulated.h") else INCLUDE.sub("", stripped)
        hooks += here
        assert "simulated::" not in stripped, f"{name}: a use of the seam that is more than a statement"
        for folder, content in ((with_it, text), (without, stripped)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    assert hooks > 10
    plain = objects(without)
    assert objects(with_it) == plain
    # In a simulator's build there is more in each of them.
    simulated = objects(with_it, "-DTUTTI_SIMULATED")
    assert [layer for layer in UNITS if simulated[layer] == plain[layer]] == []


def test_no_library_of_an_ordinary_build_calls_a_simulator():
    libraries = sorted((ROOT / "build" / "release" / "src").glob("libtutti_*.a"))
    if not libraries:
        pytest.skip("nothing is built")
    found = subprocess.run(
        ["nm", "--demangle", *libraries], capture_output=True, text=True, check=True
    ).stdout
    assert "tutti::Communicator" in found
    assert "tutti::simulated::" not in found


#: Where else something stands that threads or processes may change at the same time, and why ranks say nothing by it.
OTHERS = {
    "engine/arrangement.h": "threads of one rank",
    "engine/node.h": "threads of one rank: how much of the own window there is",
    "engine/remains.h": "threads of one rank: how much is left behind",
    "memory/attachments.h": "threads of one rank: which operations run",
    "memory/copy_requests.h": "threads of one rank: who of them serves",
    "memory/devices/host_pages.h": "threads of one rank: which pages are no device's",
    "memory/growing_mapping.cpp": "threads of one rank: where the next mapping goes",
    "memory/growing_mapping.h": "threads of one rank, and its children",
    "memory/huge_pages.h": "threads of one rank",
    "memory/page_ranges.h": "threads of one rank",
    "memory/pages.cpp": "a page of this process alone",
    "memory/region.cpp": "this rank touches its own pages, so that they are there",
    "memory/stream.cpp": "take_lines(), which has a hook of its own",
    "memory/view.h": "threads of one rank: what of a peer's memory is mapped",
    "memory/viewed.h": "threads of one rank",
    "memory/window.h": "threads of one rank, and its children",
    "memory/window_heap.c": "threads of one rank, as mimalloc does it",
    "memory/window_spans.h": "threads of one rank",
    "memory/window_state.h": "a rank and its child after fork()",
    "messages/messages.h": "threads of one rank: how far its own messages to a peer are",
    "partitioned/sides.cpp": "threads of one rank",
    "partitioned/sides.h": "threads of one rank: Side, Sender and Receiver; what lies in arenas is sync::Word",
    "sync/word.h": "the seam",
}
RAW = re.compile(r"std::atomic<|atomic_ref|__atomic_|__sync_|(?<!asm )\bvolatile\b|stdatomic")


def test_ranks_tell_each_other_nothing_outside_the_seam():
    found = {
        str(path.relative_to(ROOT / "src")) for path in core_sources() if RAW.search(path.read_text("utf-8"))
    }
    assert found == set(OTHERS), (
        "sync::Word is for what ranks share; what is not theirs is listed here, with a reason"
    )


@pytest.mark.parametrize(
    "line",
    ["std::atomic<int> ready;", "auto* at = static_cast<volatile int*>(flag);", "__atomic_load_n(flag, 2);"],
)
def test_what_is_outside_is_found(line):
    assert RAW.search(line)
