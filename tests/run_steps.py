"""The whole test-suite, step by step: `./dev test`. Prints a line for each step and `N passed, N failed` at the end.

A step is a command; how many tests it ran is read from what it prints (CTest, GoogleTest, pytest, or a last line
`N passed, N failed`). A step that exits non-zero has failed, whatever it printed. Full output: build/test-logs/.
"""

import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tutti.launch.hosts import all_hosts  # noqa: E402

LOGS = ROOT / "build" / "test-logs"
PYTHON = sys.executable
PROCESSORS = os.cpu_count() or 1
#: Steps of a lane run one after the other, the lanes beside each other. In front stands what a busy machine disturbs:
#: launchers, ranks that spin, times. Beside them, what starts many small processes, which needs a part of a processor.
#: Behind, what computes with the whole machine: it takes what the others leave.
FRONT, BESIDE, BEHIND = "front", "beside", "behind"
#: How nice the steps of a lane are.
NICE = {BESIDE: 10, BEHIND: 19}


def as_nice_as(lane: str) -> List[str]:
    """What stands in front of a command. Where the kernel shares the processors among sessions before it looks at a
    process, the session counts."""
    if lane not in NICE:
        return []
    how = str(NICE[lane])
    script = f'{{ echo {how} >/proc/self/autogroup; }} 2>/dev/null || true; exec "$0" "$@"'
    return ["nice", "-n", how, "bash", "-c", script]


@dataclass
class Step:
    """One command of the suite."""

    name: str
    command: List[str]
    #: Taken for hung after this many seconds.
    limit: float
    variables: Dict[str, str] = field(default_factory=dict)
    lane: str = FRONT


def count(output: str, status: int) -> Tuple[int, int]:
    """(passed, failed) of a step that printed `output` and exited with `status`."""
    google_passed = [int(number) for number in re.findall(r"\[  PASSED  \] (\d+) tests?", output)]
    google_failed = [int(number) for number in re.findall(r"(\d+) FAILED TESTS?$", output, re.M)]
    if google_passed or google_failed:
        passed, failed = sum(google_passed), sum(google_failed)
    else:
        passed = failed = 0
        for line in reversed(output.splitlines()):
            numbers = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", line)}
            if numbers:
                passed, failed = numbers.get("passed", 0), numbers.get("failed", 0) + numbers.get("error", 0)
                break
        else:
            passed, failed = (1, 0) if status == 0 else (0, 1)
    if status != 0 and failed == 0:
        failed = 1
    return passed, failed


#: What CTest puts in front of the lines of a test.
_TEST_NUMBER = re.compile(r"^\d+: ", re.M)
#: Where a failure is told, by our own tests, GoogleTest and the sanitizers; and what comes after the last word of it.
_TOLD = re.compile(r"^(FAIL|FAILED) |: Failure$|\[  FAILED  \]|(ERROR|WARNING): \w+Sanitizer|runtime error:")
_NEXT_TEST = re.compile(r"^(PASS|RUN|ok) |\[ RUN      \]|\[       OK \]")


def why_nothing_ran(output: str) -> List[str]:
    """The last words of a step that has passed and failed nothing: what is missing here."""
    return output.splitlines()[-4:-1]


def what_failed(output: str) -> List[str]:
    """The lines of a failed step that tell what failed, each with what follows it; the last ones if there is none."""
    told: List[str] = []
    left = 0
    for line in _TEST_NUMBER.sub("", output).splitlines():
        left = 26 if _TOLD.search(line) else 0 if _NEXT_TEST.search(line) else max(0, left - 1)
        if left:
            told.append(line)
    return told[:300] or output.splitlines()[-60:]


#: One process at a time is done with, so that what it has used is told apart from what others have.
_reaping = threading.Lock()


def processor_seconds() -> float:
    """Of all processes that are done with, and of all that these have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_for(process: "subprocess.Popen[bytes]", limit: float) -> float:
    """Waits for its end, and returns its processor seconds. Raises subprocess.TimeoutExpired after `limit` seconds."""
    deadline = time.monotonic() + limit
    try:
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(process.args, limit)
            time.sleep(0.02)
    except ChildProcessError:  # whoever has ended it has waited for it
        return 0
    with _reaping:
        before = processor_seconds()
        process.wait()
        return processor_seconds() - before


@dataclass
class Outcome:
    """Of a step."""

    passed: int
    failed: int
    seconds: float
    #: The sum over processors.
    processor_seconds: float
    output: str


class Lane:
    """Steps that run one after the other, while those of other lanes run beside them."""

    def __init__(self, steps: List[Step], report: Callable[[Step, Outcome], None]) -> None:
        self._steps = list(steps)
        self._report = report
        self._changing = threading.Lock()
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._thread = threading.Thread(target=self._run_all, daemon=True)
        self._thread.start()

    def _run_all(self) -> None:
        while True:
            with self._changing:
                if not self._steps:
                    return
                step = self._steps.pop(0)
            started = time.monotonic()
            try:
                outcome = self._run(step)
            except OSError as problem:
                outcome = Outcome(0, 1, 0, 0, f"{problem}\n")
            outcome.seconds = time.monotonic() - started
            self._report(step, outcome)

    def _run(self, step: Step) -> Outcome:
        """Runs one step."""
        # Whoever runs the tests may have measured the machine or tuned it: not for the tests.
        environment = {**os.environ, "XDG_CONFIG_HOME": str(LOGS / "no-configuration"), **step.variables}
        log = LOGS / (re.sub(r"[^\w.-]+", "-", step.name) + ".log")
        with open(log, "w", encoding="utf-8") as file:
            with self._changing:
                self._process = subprocess.Popen(
                    [*as_nice_as(step.lane), *step.command],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            used = 0.0
            try:
                used = wait_for(self._process, step.limit)
                status = self._process.returncode
            except subprocess.TimeoutExpired:
                self._stop(signal.SIGKILL)
                status = -1
                file.write(f"\nstopped: still running after {step.limit:.0f} s\n")
        output = log.read_text(encoding="utf-8", errors="replace")
        return Outcome(*count(output, status), 0, used, output)

    def join(self) -> None:
        """Waits for all steps."""
        self._thread.join()

    def end(self) -> None:
        """Nothing is begun any more, and what runs is ended."""
        with self._changing:
            self._steps.clear()
            # Ninja ends its compilers and removes what is half done.
            self._stop(signal.SIGTERM)

    def _stop(self, number: int) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        os.killpg(self._process.pid, number)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def configure(preset: str) -> str:
    """A shell command."""
    return f"cmake --preset {preset} >/dev/null"


def compile_all(preset: str) -> str:
    """A shell command; Ninja itself, so that who waits for it waits for its compilers, too."""
    return f"ninja -C build/{preset} -j {PROCESSORS}"


OTHER_PROCESSORS = ("aarch64", "ppc64le")
#: There after ./dev setup --pages.
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
#: Python tests of commands that measure the machine, and have seconds for it.
MEASURING = [f"tests/python/test_{command}*.py" for command in ("bench", "probe", "tune")]
#: What of the core has neither threads nor shared memory, or threads that go on one at a time: half of what
#: ThreadSanitizer takes, and nothing to find.
WITHOUT_THREADS = ["topology", "reduction", "selection", "explain", "bench", "roll_call"]
#: What of an MPI's tests depends on the MPI, for the one that comes second and for those after that. The rest is the
#: library's alone.
OF_THE_SECOND = (
    "bare semantics fuzz threads teams progress persistent partitioned two-sided requests spawn inner fortran "
    "communicators memory faults endings"
).split()
OF_THE_OTHERS = "bare semantics fuzz two-sided spawn inner fortran".split()


def run_tests(preset: str, without: Sequence[str] = ()) -> List[str]:
    """A command. without: names of tests."""
    return [
        "ctest",
        "--test-dir",
        f"build/{preset}",
        "--no-tests=error",
        "--verbose",
        "--parallel",
        str(PROCESSORS),
        *(["--exclude-regex", f"^({'|'.join(without)})$"] if without else []),
    ]


def build_then_test(preset: str, limit: float, without: Sequence[str] = ()) -> List[str]:
    """A sanitizer's build and its tests, as one shell command. limit: of each test program, in seconds."""
    # ThreadSanitizer of older compilers does not know the address layout of newer kernels.
    plain = "setarch $(uname -m) -R"
    return [
        "bash",
        "-euc",
        f"{configure(preset)}; {compile_all(preset)}; "
        f'if {plain} true 2>/dev/null; then run="{plain}"; else run=; fi; '
        f"$run {shlex.join(run_tests(preset, without))} --timeout {limit:.0f}",
    ]


def build_then_test_mpi(preset: str) -> List[str]:
    """The library with a sanitizer under one MPI, after the sanitizer's build of the core; as one shell command."""
    command = ["tests/mpi/run", "--host", "openmpi", "--library", f"build/{preset}/src/mpi/libtutti.so"]
    command += ["--ranks", "2", "--fuzz-seconds", "240", "--only"]
    command += ["semantics", "fuzz", "threads", "progress", "persistent", "partitioned", "hardware"]
    return [
        "bash",
        "-euc",
        f"ninja -C build/{preset} -j {PROCESSORS} tutti-preload tutti-openmpi; {shlex.join(command)}",
    ]


def host_names() -> List[str]:
    """The MPIs to test with: all that are installed."""
    return [host.name for host in all_hosts()]


def for_processor(processor: str) -> List[Step]:
    """What is built and emulated for another processor than this machine's."""
    run = ["tests/architectures/run", processor]
    if not (ROOT / ".deps" / "architectures" / processor / "stamp").exists():
        # It says what is missing, and passes nothing.
        return [Step(f"{processor}, emulated", run, 600, lane=BEHIND)]
    build = ["bash", "-euc", f"{configure(processor)}; exec {compile_all(processor)}"]
    found = [Step(f"{processor} build", build, 2 * 3600.0, lane=BEHIND)]
    for part in ("core", "preload", "mpi", "mpi4py"):
        command = [*run, "--only", f"{part}:"]
        found.append(Step(f"{processor} {part}, emulated", command, 4 * 3600.0, lane=BEHIND))
    command = ["tests/install/run", processor]
    found.append(Step(f"{processor} wheel in an empty root, emulated", command, 3600, lane=BEHIND))
    return found


def steps(full: bool) -> List[Step]:
    """The suite. full: `./dev test --all`."""
    sweep = {"TUTTI_TEST_SWEEP": "full"} if full else {}
    sweep_sanitized = {"TUTTI_TEST_SWEEP": "full" if full else "short"}
    rest = ["--all"] if full else []
    patience = 10.0 if full else 1.0
    pytest = [PYTHON, "-m", "pytest"]
    measuring = [str(file.relative_to(ROOT)) for name in MEASURING for file in sorted(ROOT.glob(name))]
    found = [
        Step("format and lint", ["./dev", "lint", "--fast"], 1200, lane=BESIDE),
        Step("settings page", [PYTHON, "tools/settings-page", "--check"], 60),
        Step("page of tutti.h", [PYTHON, "tools/api-page", "--check"], 60),
        Step("algorithms page", [PYTHON, "tools/algorithms-page", "--check"], 60),
        Step("page of predictions between nodes", [PYTHON, "tools/between-nodes-page", "--check"], 120),
        Step("manual and completions", [PYTHON, "tools/command-pages", "--check"], 60),
        Step("python, what measures", [*pytest, *measuring], 900),
        Step(
            "python",
            [*pytest, "tests/python", *(f"--ignore={file}" for file in measuring)],
            1800,
            lane=BESIDE,
        ),
        Step("preload", ["tests/preload/run"], 1200, lane=BESIDE),
        Step("core", run_tests("release"), 1800 * patience, sweep, lane=BEHIND),
    ]
    if BROWSER:
        command = [*pytest, "tests/pages", "--ignore=tests/pages/test_book.py"]
        found.append(Step("pages in a browser", command, 900, lane=BESIDE))
    hosts = host_names()
    found.append(Step("mpi4py as published", ["tests/mpi4py/wheels"], 300))
    for place, host in enumerate(hosts):
        # In the short run all parts for one of them, and for the others what depends on the MPI. That of the standard
        # ABI is one of the others once more.
        parts = []
        if not full:
            parts = ["--ranks", *("1 2 5" if place == 0 else "2" if host == "abi" else "2 5").split()]
            parts += ["--fuzz-seconds", "12" if place < 2 else "6"]
        if not full and place > 0:
            parts += ["--only", *(OF_THE_SECOND if place == 1 else OF_THE_OTHERS)]
        found.append(Step(f"mpi {host}", ["tests/mpi/run", "--host", host, *rest, *parts], 900 * patience))
    if shutil.which("mpirun.mpich"):
        words = ["tests/mpi/run", "--host", "mpich-debian", "--only", "inner", "fortran"]
        found.append(Step("mpi mpich-debian", words, 300))
    found.append(Step("nodes", ["tests/nodes/run", *([] if full else ["--short"])], 900 * patience))
    for host in hosts if full else hosts[:1]:
        words = ["tests/mpi/run", "--host", host, "--nodes", "2,1"]
        found.append(Step(f"mpi {host} on nodes", words, 600))
    for host in hosts if full else hosts[:1]:
        # What spans nodes is the library's, with one machine as several nodes.
        short = [] if full else ["--fuzz-seconds", "5"]
        for shape in ("2,2,2,2", "1,3,2", "1,1,1,1") if full else ("1,3,2",):
            words = ["tests/mpi/run", "--host", host, "--ranks-per-node", shape, *short]
            found.append(Step(f"mpi {host} spanning {shape}", words, 600))
    for host in hosts if full else []:
        # The same where the nodes have a network of their own.
        for shape in ("1,3,2", "2,2,2,2", "1,1,1,1"):
            words = ["tests/mpi/run", "--host", host, "--nodes", shape, "--internode"]
            found.append(Step(f"mpi {host} on nodes {shape}, spanning", words, 900))
        for option in ("--ranks-per-node", "--nodes"):
            words = ["tests/mpi4py/run", "--host", host, option, "1,3,2", "--skip", "Dup", "--limit", "1800"]
            found.append(Step(f"mpi4py {host} {option[2:]} 1,3,2", words, 3700))
    for host in hosts if full else [host for host in hosts if host == "mpich"]:
        words = ["tests/mpi4py/run", "--host", host, "--ranks", "1,2,4,5" if full else "2", *rest]
        found.append(Step(f"mpi4py {host}", words, 600 * patience))
    for host in hosts if full and os.environ.get("TUTTI_TEST_SUITES") else []:
        found.append(Step(f"suites of others, {host}", ["tests/suites/run", "--host", host], 7200))
    for processor in OTHER_PROCESSORS if full else ():
        found += for_processor(processor)
    if full:
        # Where ./dev setup --slurm --containers was not run they say so, and pass nothing.
        found.append(Step("slurm", ["tests/slurm/run"], 3600))
        found.append(Step("containers", ["tests/containers/run"], 3600))
        # The same of programs that `examples/applications/run setup` has not installed.
        found.append(
            Step("applications", ["examples/applications/run", "check", "--touch", "2000"], 2 * 3600.0)
        )
        found.append(Step("install below a prefix", ["tests/install/prefix"], 3600))
        found.append(Step("install in empty roots", ["tests/install/run"], 3600))
        command = ["bash", "-euc", f"{configure('clang')}; exec {compile_all('clang')}"]
        found.append(Step("build with Clang", command, 3600))
        found.append(Step("book", ["./dev", "book"], 600))
        if BROWSER:
            found.append(Step("book in a browser", [*pytest, "tests/pages/test_book.py"], 1800))
    # Ranks as fibres, in orders that follow from seeds: each repetition has others.
    repeats = {"GTEST_REPEAT": "40"} if full else {}
    command = build_then_test("simulated", 900.0 * patience)
    found.append(Step("core simulated", command, 1800 * patience, repeats, lane=BEHIND))
    if full:
        races = {"TSAN_OPTIONS": "halt_on_error=1 abort_on_error=1"}
        command = build_then_test("simulated-tsan", 3 * 3600.0)
        found.append(Step("core simulated tsan", command, 4 * 3600, races, lane=BEHIND))
        found.append(Step("planted faults", [PYTHON, "tests/simulated/mutations.py"], 4 * 3600, lane=BEHIND))
    for preset in ("asan", "tsan"):
        # On two cores ThreadSanitizer takes about an hour for the full sweep.
        limit = 3 * 3600.0 if full else 1500.0
        command = build_then_test(preset, limit, WITHOUT_THREADS if preset == "tsan" and not full else ())
        found.append(Step(f"core {preset}", command, 2 * limit, sweep_sanitized, lane=BEHIND))
        if full and preset == "asan" and "openmpi" in hosts:
            found.append(Step("mpi openmpi asan", build_then_test_mpi(preset), 7200, lane=BEHIND))
    return found


def print_durations(durations: List[Tuple[float, float, str]], total: float) -> None:
    """Where the time went: the longest step first."""
    used = sum(each[1] for each in durations)
    print(
        f"\n{total / 60:.1f} minutes, {used:.0f} processor seconds. Of each step the seconds, and those of processors:"
    )
    for seconds, processors, name in sorted(durations, reverse=True):
        print(f"  {seconds:7.1f} s {processors:7.1f} s  {name}")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every rank count, host and suite")
    parser.add_argument("--only", metavar="TEXT", help="only steps with this in their name")
    options = parser.parse_args(arguments)
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = [step for step in steps(options.all) if not options.only or options.only in step.name]
    started = time.monotonic()
    total_passed = total_failed = 0
    durations: List[Tuple[float, float, str]] = []
    reporting = threading.Lock()

    def report(step: Step, outcome: Outcome) -> None:
        nonlocal total_passed, total_failed
        with reporting:
            total_passed += outcome.passed
            total_failed += outcome.failed
            durations.append((outcome.seconds, outcome.processor_seconds, step.name))
            line = f"{step.name:<24}{outcome.passed:6d} passed {outcome.failed:4d} failed {outcome.seconds:7.1f} s"
            print(line, flush=True)
            told = what_failed(outcome.output) if outcome.failed else []
            if not outcome.passed and not outcome.failed:
                told = why_nothing_ran(outcome.output)
            print("".join(f"    | {line}\n" for line in told), end="", flush=True)

    lanes = [Lane([step for step in chosen if step.lane == lane], report) for lane in (FRONT, BESIDE, BEHIND)]
    try:
        for lane in lanes:
            lane.join()
    finally:
        for lane in lanes:
            lane.end()
        print_durations(durations, time.monotonic() - started)
    print(f"{total_passed} passed, {total_failed} failed")
    # A lane that has broken off has not said so.
    return 1 if total_failed or not chosen or len(durations) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
