"""The command line: `tutti run`, `tutti topo` and so on, a package each."""

from typing import Any, List, Optional

import click
import typer
import typer.core
import typer.main

from tutti import __version__
from tutti.bench import command as bench
from tutti.doctor import command as doctor
from tutti.explain import command as explain
from tutti.info import command as info
from tutti.launch import command as launch
from tutti.nearest import hint
from tutti.probe import command as probe
from tutti.profile import command as profile
from tutti.report import command as report
from tutti.sim import command as sim
from tutti.study import command as study
from tutti.topo import command as topo
from tutti.tune import command as tune


class _Commands(typer.core.TyperGroup):
    """The commands; a wrong name is told the nearest right one."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> Optional[click.Command]:
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command else []:
            if parameter.default is None:  # what is not there needs no words
                parameter.show_default = False  # type: ignore[attr-defined]
        return command

    def resolve_command(self, ctx: click.Context, args: List[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            like = hint(args[0], self.commands)
            raise click.UsageError(f"no such command '{args[0]}'{like}", ctx)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Tutti: faster MPI collectives inside a node, for programs as they are.",
    epilog="Exit status of all commands but run, which has that of the program: 0 fine; 1 something that was looked "
    "at or measured is not as it should be; 2 a mistake, in one line; 130 stopped by Ctrl-C or SIGTERM, with nothing "
    "left running.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tutti {__version__}")
        raise typer.Exit()


@app.callback()
def _common(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


# In the order of the help.
app.command("run", epilog=launch.EPILOG, context_settings={"allow_interspersed_args": False})(launch.run)
app.command("topo", epilog=topo.EPILOG)(topo.topo)
app.command("explain", epilog=explain.EPILOG)(explain.explain)
app.command("sim", epilog=sim.EPILOG)(sim.sim)
app.command("study", epilog=study.EPILOG)(study.study)
app.command("bench", epilog=bench.EPILOG)(bench.bench)
app.command("probe", epilog=probe.EPILOG, context_settings={"allow_interspersed_args": False})(probe.probe)
app.command("profile", epilog=profile.EPILOG)(profile.profile)
app.command("report", epilog=report.EPILOG)(report.report)
app.command("info", epilog=info.EPILOG)(info.info)
app.command("doctor", epilog=doctor.EPILOG)(doctor.doctor)
app.command("tune", epilog=tune.EPILOG, context_settings={"allow_interspersed_args": False})(tune.tune)


def parser() -> click.Group:
    """Everything that can be typed, as Click has it: for what is written from it."""
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group)
    for name in group.commands:
        group.get_command(click.Context(group), name)
    return group
