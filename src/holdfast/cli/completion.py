"""Completion of commands and options in a shell: a script with all of them, so that nothing runs at a tab."""

from collections.abc import Iterator
from typing import Any

from holdfast.system.errors import SpecError

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_holdfast() {
    local word=${COMP_WORDS[COMP_CWORD]} path="" next words i
    for ((i = 1; i < COMP_CWORD; i++)); do
        next="${path:+$path }${COMP_WORDS[i]}"
        case "$next" in
            %(paths)s) path=$next ;;
        esac
    done
    case "$path" in
%(words)s
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _holdfast holdfast
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def completion_script(command: Any, shell: str) -> str:
    """Return the script for a shell, from the tree of commands: what follows one is an option or a file."""
    if shell not in SHELLS:
        raise SpecError(f"there is no completion for {shell!r}: choose {', '.join(SHELLS)}.")
    tree = dict(_tree(command, ()))
    if shell == "fish":
        return "\n".join(_fish(tree)) + "\n"
    paths = "|".join(f'"{" ".join(path)}"' for path in tree if path)
    words = "\n".join(f'        "{" ".join(path)}") {_bash(*known)} ;;' for path, known in tree.items())
    return (_ZSH if shell == "zsh" else "") + _BASH % {"paths": paths, "words": words}


KnownNames = tuple[dict[str, str], dict[str, str]]
"""The commands within a command, and its options, each with its help."""


def _tree(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], KnownNames]]:
    inner = getattr(command, "commands", {})
    options = {
        name: parameter.help or ""
        for parameter in command.params
        if not getattr(parameter, "hidden", True)
        for name in parameter.opts
        if name.startswith("-")
    }
    helps = {name: (one.help or "").partition("\n")[0] for name, one in inner.items()}
    yield path, (helps, {**options, "--help": "Show the help."})
    for name, one in inner.items():
        yield from _tree(one, (*path, name))


def _bash(commands: dict[str, str], options: dict[str, str]) -> str:
    return f'words="{" ".join(commands)}"; [[ $word == -* ]] && words="{" ".join(options)}"'


def _fish(tree: dict[tuple[str, ...], KnownNames]) -> Iterator[str]:
    for path, (commands, options) in tree.items():
        seen = " and ".join(f"__fish_seen_subcommand_from {name}" for name in path)
        here = f"{seen}; and not __fish_seen_subcommand_from {' '.join(commands)}" if commands else seen
        if not path:
            here = "__fish_use_subcommand"
        here = here.replace(" and __fish", "; and __fish")
        for name, text in commands.items():
            yield f"complete -c holdfast -f -n '{here}' -a {name} -d {_quoted(text)}"
        for option, text in options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            yield f"complete -c holdfast -n '{here}' {kind} -d {_quoted(text)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
