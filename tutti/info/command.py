"""The options of `tutti info`."""

import json

import typer

from tutti.console import busy, for_output

EPILOG = """Examples:

    tutti info

    tutti info --json | jq '.settings[] | select(.source != "default")'

    tutti info --json | jq -r '.algorithms[] | select(.collective == "bcast") | .algorithm'

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


def info(as_json: bool = typer.Option(False, "--json", help="As JSON.")) -> None:
    """What is built and found here, every algorithm, every setting and where its value comes from."""
    from tutti.info.facts import collect, show

    with busy("looking"):
        facts = collect()
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        show(facts, for_output())
