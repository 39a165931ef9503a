"""The manual pages, as the man macros have them."""

from typing import Iterable, List

import click

from tutti import __version__


def escaped(text: str) -> str:
    """Text as roff prints it: options with hyphens that can be searched for and copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


def _bold(words: Iterable[str]) -> str:
    return ", ".join(f"\\fB{escaped(word)}\\fR" for word in words)


def option_words(parameter: click.Parameter) -> List[str]:
    """How it is written, the short form first."""
    return sorted([*parameter.opts, *parameter.secondary_opts], key=len)


def is_flag(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.is_flag


def value_name(parameter: click.Parameter) -> str:
    """What stands for its value."""
    return parameter.metavar or parameter.type.name.upper()


def options_of(command: click.Command) -> List[click.Option]:
    """--help is one."""
    with click.Context(command) as context:
        found = command.get_params(context)
    return [each for each in found if isinstance(each, click.Option) and not each.hidden]


def arguments_of(command: click.Command) -> List[click.Argument]:
    return [each for each in command.params if isinstance(each, click.Argument)]


def _option_lines(command: click.Command) -> List[str]:
    lines = [".SH OPTIONS"]
    for option in options_of(command):
        value = "" if is_flag(option) else f" \\fI{escaped(value_name(option))}\\fR"
        lines += [".TP", f"{_bold(option_words(option))}{value}", escaped(option.help or "Print help.")]
        default = option.default
        if not is_flag(option) and isinstance(default, (str, int, float)) and default != "":
            lines[-1] += escaped(f" Default: {default}.")
    return lines


def _head(name: str, summary: str) -> List[str]:
    title = name.replace(" ", "-")
    return [
        '.\\" Written by tools/command-pages.',
        f'.TH {escaped(title.upper())} 1 "" "Tutti {__version__}" "Tutti"',
        ".SH NAME",
        f"{escaped(title)} \\- {escaped(summary)}",
    ]


def _paragraphs(text: str) -> List[str]:
    """Prose in paragraphs; what is indented stands as it is."""
    lines: List[str] = []
    for paragraph in text.strip("\n").split("\n\n"):
        if paragraph.startswith("    "):
            lines += [
                ".PP",
                ".RS 4",
                ".EX",
                *[escaped(line.strip()) for line in paragraph.splitlines()],
                ".EE",
                ".RE",
            ]
        else:
            lines += [".PP", *[escaped(line.strip()) for line in paragraph.splitlines()]]
    return lines


def _epilog(text: str) -> List[str]:
    lines: List[str] = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.strip() == "Examples:":
            lines.append(".SH EXAMPLES")
        elif paragraph.startswith("Exit status:"):
            lines += [".SH EXIT STATUS", *_paragraphs(paragraph.replace("Exit status:", "", 1).strip())[1:]]
        elif lines:
            lines += _paragraphs(paragraph)
        else:
            lines += [".SH NOTES", *_paragraphs(paragraph)[1:]]
    return lines


def summary_of(command: click.Command) -> str:
    """The first line of its help, as a title."""
    line = (command.help or "").strip().splitlines()[0].rstrip(".")
    return line[:1].lower() + line[1:]


def manual_of_command(name: str, command: click.Command) -> str:
    """tutti-NAME.1."""
    usage = f".B tutti {escaped(name)}\n[\\fIOPTIONS\\fR]"
    for argument in arguments_of(command):
        usage += f" {escaped(argument.metavar or argument.human_readable_name)}"
    lines = [*_head(f"tutti {name}", summary_of(command)), ".SH SYNOPSIS", usage, ".SH DESCRIPTION"]
    lines += _paragraphs(command.help or "")[1:] + _option_lines(command) + _epilog(command.epilog or "")
    return "\n".join([*lines, ".SH SEE ALSO", ".BR tutti (1)", ""])


def manual_of_group(group: click.Group) -> str:
    """tutti.1."""
    lines = [
        *_head("tutti", "faster MPI collectives inside a node, for programs as they are"),
        ".SH SYNOPSIS",
        ".B tutti\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        "Tutti carries out the collectives of MPI programs in place of the MPI. Put",
        ".B tutti run",
        "in front of the command that you type anyway. Alone, on a terminal,",
        ".B tutti",
        "says which MPIs there are here, and what to type next.",
        ".SH COMMANDS",
    ]
    for name, command in group.commands.items():
        lines += [".TP", f".BR tutti\\-{name} (1)", escaped((command.help or "").strip().splitlines()[0])]
    lines += _option_lines(group)
    status = (group.epilog or "").split(": ", 1)
    lines += [".SH EXIT STATUS", f"{escaped(status[0].removeprefix('Exit status '))}: {escaped(status[1])}"]
    others = [f".BR tutti\\-{name} (1)," for name in group.commands]
    return "\n".join([*lines, ".SH SEE ALSO", *others[:-1], others[-1].rstrip(","), ""])
