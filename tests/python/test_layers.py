"""No file of src/ includes one of a folder above its own: the libraries show wrong arrows of sources, not headers."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

SOURCES = (".h", ".cpp", ".c", ".S")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
#: The core's folders, the lowest first. The order is that of the build.
CORE = re.findall(
    r"^tutti_layer\((\w+)", (ROOT / "src" / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE
)
#: By folder: those that it may include beside its own.
BELOW = {
    **{layer: CORE[:place] for place, layer in enumerate(CORE)},
    "preload": ["base", "memory"],
    "mpi": [*CORE, "preload"],
}


def found(source: Path, file: Path, quote: str, name: str):
    """The file of `source` that the preprocessor takes; None if it is none of these."""
    for folder in [file.parent, source] if quote == '"' else [source]:
        path = (folder / name).resolve()
        if path.is_file() and source in path.parents:
            return path
    return None


def complaints(source: Path):
    """What is wrong with the includes of all files in `source`, which is laid out as src/ is."""
    source = source.resolve()
    wrong = []
    for file in sorted(path for path in source.rglob("*") if path.suffix in SOURCES):
        place = file.relative_to(source)
        layer = place.parts[0]
        for quote, name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            if name == "mpi.h" and layer != "mpi":
                wrong.append(f"{place} includes mpi.h")
            path = found(source, file, quote, name)
            if path and path.relative_to(source).parts[0] not in [layer, *BELOW[layer]]:
                wrong.append(f"{place} includes {path.relative_to(source)}")
    return wrong


def made(folder: Path, files):
    """Writes `files` (text by path) into `folder`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_every_folder_is_a_layer():
    assert sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()) == sorted(BELOW)


def test_arrows_point_down():
    assert complaints(ROOT / "src") == []


@pytest.mark.parametrize(
    ("file", "line", "included"),
    [
        ("sync/flag.h", '#include "engine/task.h"', "engine/task.h"),
        ("sync/deep/flag.h", '#include "../../engine/task.h"', "engine/task.h"),
        ("engine/node.cpp", "#  include <selection/model.h>", "selection/model.h"),
        ("preload/malloc.cpp", '#include "sync/flag.h"', "sync/flag.h"),
        ("memory/window.h", '#include "preload/shared.h"', "preload/shared.h"),
        ("collectives/a/b.cpp", '#include "mpi/start/contribution.h"', "mpi/start/contribution.h"),
        ("collectives/a/b.cpp", "#include <mpi.h>", "mpi.h"),
        ("preload/find_mpi.cpp", '#include "mpi.h"', "mpi.h"),
    ],
)
def test_an_arrow_that_points_up_is_found(tmp_path, file, line, included):
    headers = [
        "sync/flag.h",
        "engine/task.h",
        "selection/model.h",
        "preload/shared.h",
        "mpi/start/contribution.h",
    ]
    files = {**dict.fromkeys(headers, ""), file: f"#pragma once\n{line}\n"}
    assert complaints(made(tmp_path, files)) == [f"{file} includes {included}"]


def test_arrows_that_point_down_or_out_are_none_of_these(tmp_path):
    files = {
        "mpi/part.cpp": '#include <mpi.h>\n#include "preload/part.h"\n#include "base/log.h"\n',
        "preload/part.h": '#include "memory/window.h"\n',
        "memory/window.h": '#include <memory>\n#include "log.h"\n#include "hwy/highway.h"\n// #include "mpi/part.h"\n',
        "memory/log.h": '#include "base/log.h"\n',
        "base/log.h": "",
    }
    assert complaints(made(tmp_path, files)) == []
