"""What is seen on a terminal: no line is wider than it, and what takes long says what it does."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from conftest import ROOT

from tutti.cli import parser
from tutti.launch.library import find_tool
from tutti.lines import columns_of, fitted

COMMANDS = list(parser().commands)
#: Each is carried out in one process; none measures.
TYPED = [
    [],
    ["--help"],
    *([command, "--help"] for command in COMMANDS),
    ["nonsense"],
    ["bench", "--nonsense"],
    ["run", "./there-is-no-such-program"],
    ["study", "list"],
    ["sim", "--machines"],
]
ASKING = [
    ["topo"],
    ["topo", "-t", "package:2 numa:4 core:8 pu:1", "--mapping", "shuffle:1"],
    ["info"],
    ["explain"],
    ["explain", "bcast", "64K", "8"],
    ["explain", "allgather", "64", "--nodes", "128x18"],
    ["doctor"],
]
#: Of tutti, one command after the other; what each ended with is of no matter.
ONE_AFTER_THE_OTHER = """
import json, sys
from tutti.main import main
for words in json.loads(sys.argv[1]):
    print("\\n$ tutti", *words, flush=True)
    try:
        main(words)
    except SystemExit:
        pass
"""


def shown(words, columns):
    """What a command, or Python with these words, prints to a terminal; its control sequences taken away."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=end,
        stdout=end,
        stderr=end,
        cwd=ROOT,
        env={**environment, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(end)
    read = b""
    try:
        while True:
            more = os.read(terminal, 65536)
            if not more:
                break
            read += more
    except OSError:  # how Linux says that nobody is left at the other end
        pass
    os.close(terminal)
    process.wait(60)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.decode()).replace("\r\n", "\n")


def too_wide(text, columns):
    """Lines that do not fit, after the command that printed them; what has no space cannot be cut."""
    told, command = [], ""
    for line in text.split("\n"):
        command = line if line.startswith("$ tutti") else command
        if not line.startswith("$ tutti"):
            last = line.split("\r")[-1].rstrip()  # what stands there when a line has been rewritten
            if len(last) > columns and len(last.split()) > 1:
                told.append((command, last))
    return told


def one_after_the_other(commands, columns):
    return shown(["-c", ONE_AFTER_THE_OTHER, json.dumps(commands)], columns)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_of_a_help_or_a_mistake_is_wider_than_the_terminal(columns):
    text = one_after_the_other(TYPED, columns)
    assert text.count("$ tutti") == len(TYPED)
    assert text.count("Examples:") == len(COMMANDS)
    assert too_wide(text, columns) == []


@pytest.mark.skipif(find_tool("tutti-predict", "tools") is None, reason="the tools are not built")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_of_an_answer_is_wider_than_the_terminal(columns):
    text = one_after_the_other(ASKING, columns)
    assert text.count("$ tutti") == len(ASKING)
    assert "Traceback" not in text
    assert too_wide(text, columns) == []


def test_what_takes_a_second_says_what_it_does():
    code = "import sys, time; from tutti.console import busy\nwith busy('thinking'): time.sleep(float(sys.argv[1]))"
    assert "thinking" in shown(["-c", code, "1.5"], 80)
    assert shown(["-c", code, "0"], 80) == ""
    piped = subprocess.run([sys.executable, "-c", code, "1.2"], capture_output=True, cwd=ROOT, check=True)
    assert (piped.stdout, piped.stderr) == (b"", b"")


def test_lines_are_cut_between_words_and_begin_where_their_last_column_did():
    assert fitted("one two three", 8) == "one two\nthree"
    assert fitted("  a  one two three", 12) == "  a  one two\n     three"
    assert fitted("    see   /a/long/path\nnext", 18) == "    see\n      /a/long/path\nnext"
    assert fitted("/a/path/that/is/longer", 10) == "/a/path/that/is/longer"
    assert fitted("one two three", None) == "one two three"


def test_a_pipe_has_no_columns(tmp_path):
    with open(tmp_path / "file", "w", encoding="utf-8") as file:
        assert columns_of(file) is None


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_results_of_a_benchmark_can_be_read(columns):
    times = {"host_us": 12345.678, "tutti_us": 1234.567, "host_inside_us": 1.5, "tutti_inside_us": 1.25}
    about = {"host": "mpich", "ranks": 2, "checked": True, "ratio": 10.0, "spread_pct": 12.0}
    ours = {"collective": "allreduce", "bytes": 16384, "algorithm": "direct-read", "mechanism": "window"}
    code = (
        "import json, sys; from tutti.bench.report import result_tables; from tutti.console import for_output\n"
        "[for_output().print(one) for one in result_tables([json.loads(sys.argv[1])], {'mpich': 'MPICH'})]"
    )
    text = shown(["-c", code, json.dumps({**times, **about, **ours})], columns)
    assert too_wide(text, columns) == []
    assert "…" not in text
    for words in ("allreduce", "16 KiB", "speed-up", "10", "direct-read"):
        assert words in text
    assert ("right" in text) == (columns > 60)
    assert ("inside" in text) == (columns == 120)
    assert ("more columns where there is room" in text) == (columns < 120)
