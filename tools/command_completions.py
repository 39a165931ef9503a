"""What bash, zsh and fish complete: commands, options, files where an option takes one, names of MPIs, and behind
`tutti run` any command."""

from typing import List

import click
from command_manual import arguments_of, is_flag, option_words, options_of, summary_of

#: Options whose values are names that can be listed.
VALUES = {"--host": ["mpich", "openmpi", "intel", "abi", "openmpi-debian"]}


def _takes_file(option: click.Parameter) -> bool:
    return option.type.name in ("path", "file", "filename")


def _long(option: click.Option) -> str:
    return option_words(option)[-1]


def _all_words(command: click.Command) -> List[str]:
    return [word for option in options_of(command) for word in option_words(option)]


def _with_value(command: click.Command) -> List[click.Option]:
    return [option for option in options_of(command) if not is_flag(option) and option.name != "help"]


def _takes_files(command: click.Command) -> bool:
    """Whether what stands behind its options are files."""
    return any(_takes_file(argument) for argument in arguments_of(command))


def _is_wrapper(command: click.Command) -> bool:
    """Whether another command follows its options."""
    return any(argument.nargs == -1 for argument in arguments_of(command)) and command.name == "run"


BASH = """# bash completion of tutti. Written by tools/command-pages.
_tutti() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{commands}" -- "$cur")
    return
  fi
  local options= files= taking= operands= at
  case $command in
{cases}
    *) return ;;
  esac
  if [[ $command == run ]]; then
    # Behind the options of tutti run stands any command.
    for ((at = 2; at < COMP_CWORD; at++)); do
      if [[ " $taking " == *" ${{COMP_WORDS[at]}} "* ]]; then
        ((at++))
      elif [[ ${{COMP_WORDS[at]}} != -* ]]; then
        if declare -F _command_offset >/dev/null; then
          _command_offset "$at"
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        return
      fi
    done
  fi
  if [[ $prev == --host ]]; then
    mapfile -t COMPREPLY < <(compgen -W "{hosts}" -- "$cur")
  elif [[ " $files " == *" $prev "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ " $taking " == *" $prev "* ]]; then
    return
  elif [[ $cur != -* && $operands == files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ $cur == -* || $command != run ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  fi
}}
complete -o filenames -F _tutti tutti
"""


def bash(group: click.Group) -> str:
    """For /usr/share/bash-completion/completions/tutti."""
    cases = []
    for name, command in group.commands.items():
        taking = [word for option in _with_value(command) for word in option_words(option)]
        files = [
            word for option in _with_value(command) if _takes_file(option) for word in option_words(option)
        ]
        cases.append(
            f'    {name}) options="{" ".join(_all_words(command))}" taking="{" ".join(taking)}" '
            + f'files="{" ".join(files)}"{" operands=files" if _takes_files(command) else ""} ;;'
        )
    names = " ".join([*group.commands, *_all_words(group)])
    return BASH.format(commands=names, cases="\n".join(cases), hosts=" ".join(VALUES["--host"]))


def _zsh_text(text: str) -> str:
    for letter in "\\[]:":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("'", "'\\''")


def _zsh_option(option: click.Option) -> str:
    words = option_words(option)
    names = words[0] if len(words) == 1 else "{" + ",".join(words) + "}"
    text = f"[{_zsh_text((option.help or 'Print help.').splitlines()[0])}]"
    if not is_flag(option):
        listed = VALUES.get(_long(option))
        what = f"({' '.join(listed)})" if listed else "_files" if _takes_file(option) else " "
        text += f":{_zsh_text(option.name or '')}:{what}"
    star = "*" if option.multiple else ""
    return f"'{star}'{names}'{text}'" if len(words) > 1 else f"'{star}{names}{text}'"


def zsh(group: click.Group) -> str:
    """For a folder of $fpath."""
    lines = [
        "#compdef tutti",
        "# Written by tools/command-pages.",
        "",
        "_tutti() {",
        "  local -a commands",
        "  commands=(",
    ]
    lines += [f"    '{name}:{_zsh_text(summary_of(command))}'" for name, command in group.commands.items()]
    lines += ["  )", "  if ((CURRENT == 2)); then", "    _describe -t commands 'command of tutti' commands"]
    lines += [
        "    _arguments " + " ".join(_zsh_option(option) for option in options_of(group)),
        "    return",
        "  fi",
    ]
    lines += ["  local command=$words[2]", "  shift words", "  ((CURRENT--))", "  case $command in"]
    for name, command in group.commands.items():
        parts = [_zsh_option(option) for option in options_of(command)]
        if _is_wrapper(command):
            parts += ["'(-)1:program: _command_names -e'", "'*::arguments: _normal'"]
        elif _takes_files(command):
            parts.append("'*:file:_files'")
        lines += [
            f"    {name})",
            "      _arguments -s \\",
            " \\\n".join(f"        {part}" for part in parts),
            "      ;;",
        ]
    return "\n".join([*lines, "  esac", "}", "", '_tutti "$@"', ""])


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _fish_option(option: click.Option) -> str:
    text = ""
    for word in option_words(option):
        text += f" -l {word[2:]}" if word.startswith("--") else f" -s {word[1:]}"
    if not is_flag(option):
        listed = VALUES.get(_long(option))
        text += f" -x -a '{' '.join(listed)}'" if listed else " -r -F" if _takes_file(option) else " -x"
    return f"{text} -d '{_fish_text((option.help or 'Print help.').splitlines()[0])}'"


def fish(group: click.Group) -> str:
    """For ~/.config/fish/completions and the like."""
    names = " ".join(group.commands)
    none = f"not __fish_seen_subcommand_from {names}"
    lines = ["# fish completion of tutti. Written by tools/command-pages.", "complete -c tutti -f"]
    for name, command in group.commands.items():
        lines.append(f"complete -c tutti -n '{none}' -a {name} -d '{_fish_text(summary_of(command))}'")
    lines += [f"complete -c tutti -n '{none}'{_fish_option(option)}" for option in options_of(group)]
    for name, command in group.commands.items():
        seen = f"__fish_seen_subcommand_from {name}"
        lines += [f"complete -c tutti -n '{seen}'{_fish_option(option)}" for option in options_of(command)]
        if _is_wrapper(command):
            lines.append(f"complete -c tutti -n '{seen}' -x -a '(__fish_complete_subcommand --fcs-skip=2)'")
        elif _takes_files(command):
            lines.append(f"complete -c tutti -n '{seen}' -F")
    return "\n".join([*lines, ""])
