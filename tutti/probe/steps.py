"""`tutti probe` as it is typed: the order of things, what is shown, the exit status."""

import json
import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

from tutti import files
from tutti.bench import choice
from tutti.console import progress_bar
from tutti.errors import INTERRUPTED, UserError
from tutti.launch.hosts import Host, host_of_mpirun, how_to_get_one, installed_hosts
from tutti.lines import say, tell
from tutti.probe import measurement, predictions
from tutti.probe.sentences import summary

#: Exit status: all right; the predictions are worse than what is aimed at, or nothing of use was measured.
RIGHT, MISSED = 0, 1


class ProbeOptions(NamedTuple):
    """What the user asked for."""

    output: Optional[Path] = None
    seconds: float = 45.0
    as_json: bool = False
    plot: Optional[Path] = None
    #: Use this file instead of measuring.
    source: Optional[Path] = None
    validate: bool = False
    wanted: predictions.Wanted = predictions.Wanted()
    host: str = ""
    mpirun: str = ""


def _host(options: ProbeOptions) -> Host:
    """The MPI to validate with. Raises UserError."""
    if options.mpirun:
        return host_of_mpirun(options.mpirun)
    found = installed_hosts()
    if not found:
        raise UserError(f"no MPI to measure; {how_to_get_one()}")
    for host in found:
        if options.host in ("", host.name):
            return host
    names = ", ".join(host.name for host in found)
    raise UserError(f"--host {options.host}: not installed or not built (there are: {names})")


def _predicted_file(plot: Path) -> Path:
    """probe.png -> probe-predicted.png."""
    return plot.with_name(f"{plot.stem}-predicted{plot.suffix}")


def _validate(document: Dict[str, Any], options: ProbeOptions, host: Host) -> Dict[str, Any]:
    """Predictions against observations, in a form for --json."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probe.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        with progress_bar(remaining=True) as bar:
            # A shipped value says nothing of a state of this machine.
            hop = 0.0 if "hop" in document["shipped"] else float(document["model"]["hop"])
            # Tutti's own choice, which is measured beside, rests on the same parameters, and on no table.
            variables = {"TUTTI_PROBE": str(file), "TUTTI_TABLE": "off"}
            cells, notes = predictions.observe(host, options.wanted, hop, bar, variables)
        points = predictions.points_of(cells, predictions.Predictor(file))
    notes += predictions.without_points(points, options.wanted)
    if not points:
        what = "no algorithm was measured that the model predicts"
        raise UserError("; ".join(["nothing could be compared", *(notes or [what])]))
    if options.plot:
        files.draw(_predicted_file(options.plot), lambda path: predictions.draw(points, path))
    median, most = predictions.errors_of(points)
    choices = choice.choices_of(cells, {host.name: host.title})
    return {
        "host": host.title,
        "median_error_percent": median,
        "percentile_90_error_percent": most,
        "choice": choice.summary(choices),
        "words": [*predictions.report(points), *choice.report(choices), *notes],
        "points": [point._asdict() for point in points],
    }


def carry_out(options: ProbeOptions) -> int:
    """Runs it; returns the exit status. Raises UserError for what the user can put right."""
    path = options.output or (None if options.source else measurement.user_file())
    # Before anything is measured in vain.
    host = _host(options) if options.validate else None
    document = measurement.read(options.source) if options.source else {}
    if path:
        files.check_output(path)
    if options.plot:
        files.check_picture(options.plot)
    if not options.source:
        with progress_bar(remaining=True) as bar:
            measured = measurement.measure(options.seconds, bar)
        document, fitted = measurement.document(
            measured.lines, measured.left_out, measurement.shipped_model(), options.seconds
        )
        document.update(measurement.network_of(path) if path else {})
        useless = measurement.why_useless(document, fitted, measured.main_failure)
        if useless:
            say(f"{path} is not written: {useless}")
            return MISSED
    if path and not (options.source and path == options.source):
        files.write(path, json.dumps(document, indent=1) + "\n")
    if options.plot:
        _picture(document, options)
    validation = _validate(document, options, host) if host else None
    if options.as_json:
        print(json.dumps({**document, **({"validation": validation} if validation else {})}, indent=1))
    else:
        _show(document, path, options, validation)
    if validation is None:
        return RIGHT
    reached = (
        validation["median_error_percent"] <= predictions.AIM[0]
        and validation["percentile_90_error_percent"] <= predictions.AIM[1]
    )
    return RIGHT if reached else MISSED


def _sentences(document: Dict[str, Any], options: ProbeOptions) -> List[str]:
    """What there is to say of a probe. Raises UserError for a file that somebody has edited too boldly."""
    try:
        lines = [*summary(document), *(f"warning: {warning}" for warning in document.get("warnings", []))]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UserError(f"{options.source}: it is not as tutti probe writes it; measure again") from None
    if options.source:
        why = measurement.verdict(options.source)
        lines += [f"warning: the library does not use it here: {why}"] if why else []
    return [*lines, *(f"left out: {note}" for note in document["left_out"])]


def _picture(document: Dict[str, Any], options: ProbeOptions) -> None:
    from tutti.probe.picture import draw

    assert options.plot
    try:
        files.draw(options.plot, lambda path: draw(document, path))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        if not options.source:
            raise
        raise UserError(f"{options.source}: it is not as tutti probe writes it; measure again") from None


def _show(
    document: Dict[str, Any],
    path: Optional[Path],
    options: ProbeOptions,
    validation: Optional[Dict[str, Any]],
) -> None:
    for sentence in _sentences(document, options):
        tell(sentence)
    for sentence in validation["words"] if validation else []:
        tell(sentence)
    if path:
        tell(f"written: {path}")
    if options.plot:
        pictures = [options.plot, *([_predicted_file(options.plot)] if validation else [])]
        tell(f"drawn: {', '.join(str(each) for each in pictures)}")


def run(options: ProbeOptions) -> int:
    """As `carry_out`, but Ctrl-C is one line and its own exit status; no process is left, and the old file stays."""
    try:
        return carry_out(options)
    except KeyboardInterrupt:
        say("stopped; no file was changed")
        return INTERRUPTED
