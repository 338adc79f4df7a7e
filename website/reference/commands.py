"""The page of the commands: every argument and option, from the parser itself."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from holdfast.cli.app import GROUPS, app

HEAD = """# Commands

`holdfast COMMAND --help` says the same in a terminal. Exit codes: **0** all kept, **1** a violation was found, **2** an error,
whose message says where it is and how to mend it, **3** a fault of Holdfast itself. The [tour](../guides/tour.md) runs every
command once. What `--json` prints is in [JSON outputs](outputs.md).
"""


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that runs, as `audit universe`, with its parser."""
    yield from _inside(get_command(app), "")


def _inside(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _inside(command, f"{before}{name} ")
        else:
            yield before + name, command


def page() -> str:
    """Return the page."""
    lines = [HEAD]
    for name, command in commands():
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        usage = " ".join([f"holdfast {name}", *(_usage(each) for each in arguments), "[OPTIONS]"])
        lines += [f"## holdfast {name}", "", " ".join((command.help or "").split()), "", f"    {usage}", ""]
        lines += ["| argument or option | what it does | default |", "|---|---|---|"]
        lines += [_row(each) for each in (*arguments, *options)]
        lines += [""]
    lines += ["## Groups", "", *(f"- `holdfast {name}`: {words}" for name, words in GROUPS.items()), ""]
    return "\n".join(lines)


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        shown = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        words = ", ".join(f"`{word}`" for word in parameter.opts)
        shown = (
            words if parameter.is_flag else f"{words} `{parameter.metavar or parameter.type.name.upper()}`"
        )
    default = "must be given" if parameter.required else _default(parameter)
    said = " ".join((getattr(parameter, "help", "") or "").split())
    return f"| {_cell(shown)} | {_cell(said)} | {_cell(default)} |"


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or value is False or callable(value) or value in ("", []):
        return ""
    return f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
