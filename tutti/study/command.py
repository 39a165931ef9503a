"""The options of `tutti study`."""

import json
import sys
from pathlib import Path
from typing import Optional

import typer

from tutti import files
from tutti.console import for_output, progress_bar
from tutti.errors import UserError
from tutti.nearest import hint

EPILOG = """Examples:

    tutti study list

    tutti study xhc-8

    tutti study cma-7 --output figures

    tutti study share-1 --probe probe.json --json

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


def study(
    name: str = typer.Argument("list", help="A figure, such as xhc-8, or list."),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="A folder: NAME.json, NAME.csv and NAME.png go there."
    ),
    probe: Optional[Path] = typer.Option(
        None, "--probe", help="A file of tutti probe, for what would be measured with it."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables."),
) -> None:
    """A figure of the papers that Tutti is made from: measured here, or simulated, beside what the paper says of it."""
    from tutti.study import report
    from tutti.study.catalogue import FIGURES, names
    from tutti.study.compare import outcome, seconds_in, sentence, statements_of
    from tutti.study.rows import Source, rows_of

    if name == "list":
        if as_json:
            print(json.dumps(report.listed(), indent=1))
        else:
            report.show_list(for_output())
        return
    figure = next((each for each in FIGURES if each.name == name), None)
    if figure is None:
        raise UserError(
            f"there is no figure {name}{hint(name, [*names(), 'list'])}; tutti study list has all"
        )
    if not figure.panels:
        raise UserError(f"{name} is not answered: {figure.without}")
    paths = [output / f"{name}.{suffix}" for suffix in ("json", "csv", "png")] if output else []
    for path in paths:
        files.check_output(path)
    with progress_bar() as told:
        source = Source(probe, told)
        rows = rows_of(figure, source)
    seconds = seconds_in(source.answers)
    sentences = [sentence(each, outcome(each, seconds)) for each in statements_of(figure)]
    document = report.document(figure, rows, sentences)
    if paths:
        files.write(paths[0], json.dumps(document, indent=1) + "\n")
        files.write(paths[1], report.as_csv(rows))
        files.draw(paths[2], lambda path: report.draw(figure, rows, path))
    if as_json:
        json.dump(document, sys.stdout, indent=1)
        print()
    else:
        report.show(figure, rows, sentences, for_output())
