"""`tutti probe` as it is typed: the order of things, what is shown, the exit status."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tutti import bench_choice, probe, probe_validate
from tutti.errors import UserError
from tutti.hosts import Host, host_of_mpirun, installed_hosts
from tutti.probe_words import summary

#: Exit status: all right; measured, but the predictions are worse than what is aimed at; stopped by Ctrl-C.
RIGHT, MISSED, STOPPED = 0, 1, 130


class ProbeOptions(NamedTuple):
    """What the user asked for."""

    output: Optional[Path] = None
    seconds: float = 45.0
    as_json: bool = False
    plot: Optional[Path] = None
    #: Use this file instead of measuring.
    source: Optional[Path] = None
    validate: bool = False
    ranks: List[int] = [2]  # noqa: RUF012
    host: str = ""
    mpirun: str = ""
    #: Time for each cell of the validation.
    cell_seconds: float = 0.05


class _Bar:
    """A progress bar with the time left, on standard error; nothing where that is no terminal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%"),
            TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> "_Bar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, title: str, done: float) -> None:
        self._bar.update(self._task, description=title, completed=done)


def _host(options: ProbeOptions) -> Host:
    """The MPI to validate with. Raises UserError."""
    if options.mpirun:
        return host_of_mpirun(options.mpirun)
    hosts = [host for host in installed_hosts() if not options.host or host.name == options.host]
    if not hosts:
        raise UserError(
            f"no MPI{f' named {options.host}' if options.host else ''} is installed and built; "
            "run ./dev setup && ./dev build"
        )
    return hosts[0]


def _predicted_file(plot: Path) -> Path:
    """probe.png -> probe-predicted.png."""
    return plot.with_name(f"{plot.stem}-predicted{plot.suffix}")


def _validate(document: Dict[str, Any], options: ProbeOptions) -> Dict[str, Any]:
    """Predictions against observations, in a form for --json."""
    host = _host(options)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probe.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        with _Bar() as bar:
            hop = float(document["model"]["hop"])
            # Tutti's own choice, which is measured beside, rests on the same parameters, and on no table.
            variables = {"TUTTI_PROBE": str(file), "TUTTI_TABLE": "off"}
            cells, notes = probe_validate.observe(
                host, options.ranks, options.cell_seconds, hop, probe.hop_now, bar, variables
            )
        points = probe_validate.points_of(
            cells, probe_validate.Predictor(file), probe_validate.usable_cores()
        )
    if not points:
        raise UserError("nothing could be compared: no algorithm was measured that the model predicts")
    if options.plot:
        probe_validate.draw(points, _predicted_file(options.plot))
    median, most = probe_validate.errors_of(points)
    choices = bench_choice.choices_of(cells, {host.name: host.title})
    return {
        "host": host.title,
        "median_error_percent": median,
        "percentile_90_error_percent": most,
        "choice": bench_choice.summary(choices),
        "words": [*probe_validate.report(points), *bench_choice.report(choices), *notes],
        "points": [point._asdict() for point in points],
    }


def command(options: ProbeOptions) -> int:
    """Runs it; returns the exit status. Raises UserError for what the user can put right."""
    if options.source:
        document = probe.read(options.source)
    else:
        with _Bar() as bar:
            lines, left_out = probe.measure(options.seconds, bar)
        document, _ = probe.document(lines, left_out, probe.shipped_model(), options.seconds)
    path = options.output or (None if options.source else probe.user_file())
    if path and not (options.source and path == options.source):
        probe.write_atomically(path, json.dumps(document, indent=1) + "\n")
    if options.plot:
        from tutti.probe_picture import draw

        draw(document, options.plot)
    validation = _validate(document, options) if options.validate else None
    if options.as_json:
        print(json.dumps({**document, **({"validation": validation} if validation else {})}, indent=1))
    else:
        _show(document, path, options, validation)
    if validation is None:
        return RIGHT
    reached = (
        validation["median_error_percent"] <= probe_validate.AIM[0]
        and validation["percentile_90_error_percent"] <= probe_validate.AIM[1]
    )
    return RIGHT if reached else MISSED


def _show(
    document: Dict[str, Any],
    path: Optional[Path],
    options: ProbeOptions,
    validation: Optional[Dict[str, Any]],
) -> None:
    for sentence in summary(document):
        print(sentence)
    for warning in document.get("warnings", []):
        print(f"warning: {warning}")
    for note in document["left_out"]:
        print(f"left out: {note}")
    for sentence in validation["words"] if validation else []:
        print(sentence)
    if path:
        print(f"written: {path}")
    if options.plot:
        pictures = [options.plot, *([_predicted_file(options.plot)] if validation else [])]
        print(f"drawn: {', '.join(str(each) for each in pictures)}")


def run(options: ProbeOptions) -> int:
    """As `command`, but Ctrl-C is one line and its own exit status; no process is left then, and the old file stays."""
    try:
        return command(options)
    except KeyboardInterrupt:
        width = shutil.get_terminal_size().columns
        print(f"\r{' ' * (width - 1)}\rtutti: stopped; no file was changed", file=sys.stderr)
        return STOPPED
