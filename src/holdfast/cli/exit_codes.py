"""How the program ends: an exit code, and one sentence at most on standard error.

0 kept, 1 violated, 2 an error that the user can mend, 3 a fault of Holdfast; 130 stopped by the user, and 141
where nobody reads on. With --json standard output has the same error for programs. What an unexpected error
says of itself may hold confidential values: it is not shown.
"""

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from io import TextIOWrapper
from typing import TextIO, cast

import typer

from holdfast.system.errors import HoldfastError, error_to_dict
from holdfast.system.machine import short_of_memory
from holdfast.system.text import closest, visible
from holdfast.system.ways import in_a_terminal

FULL = {errno.ENOSPC, errno.EDQUOT}
"""What a disk says that has no room, or none for this user."""
ERROR, FAULT, STOPPED, UNREAD = 2, 3, 130, 141
WRONG_USAGE = cast("type[Exception]", typer.BadParameter.__mro__[2])
"""The base of all that typer says of a wrong command line."""


MEMORY, SYSTEM, USAGE, UNEXPECTED = "memory", "system", "usage", "fault"
"""Codes beside those of Holdfast's errors: what the machine lacks, a wrong command line, a fault."""
_AS_JSON: ContextVar[bool] = ContextVar("errors as JSON", default=False)


def exit_code(command: Callable[[], object], *, debug: bool, as_json: bool = False) -> int:
    """Run a command, and return the exit code; whatever it raises ends here."""
    _AS_JSON.set(as_json)
    _open_streams()
    if not debug:
        warnings.showwarning = _unheard  # those of other libraries are for whoever writes programs
    try:
        with in_a_terminal():
            command()
        sys.stdout.flush()
    except SystemExit:
        raise
    except typer.Exit as end:
        return _flushed(end.exit_code)
    except WRONG_USAGE as error:
        return _usage(error)
    except HoldfastError as error:
        return _fail(error.code, str(error))
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped", STOPPED)
    except BrokenPipeError:
        return _unread()
    except BaseException as error:  # a panic of polars is no Exception
        if short_of_memory(error):
            return _fail(
                MEMORY,
                "there is not enough memory for this: name fewer columns, merge levels, keep fewer"
                " invariants, or use a larger machine.",
            )
        return _of_the_system(error) if isinstance(error, OSError) else _fault(error, debug=debug)
    return 0


def _open_streams() -> None:
    """Give the program streams that it can write any name to, also where it was started without."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: what is opened next would take its place
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what the terminal cannot show is spelt out
            stream.reconfigure(errors="backslashreplace")


def _say(sentence: str, code: int) -> int:
    """Write one line to standard error, whatever names are in it; nobody may be there to read it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{visible(sentence)}\n")
        sys.stderr.flush()
    return _flushed(code)


def _fail(code: str, sentence: str) -> int:
    """Say what is wrong in one sentence, and to programs that asked for JSON on standard output, too."""
    if _AS_JSON.get():
        with suppress(OSError, ValueError):
            sys.stdout.write(json.dumps({"error": error_to_dict(code, sentence)}, indent=2) + "\n")
    fault = code == UNEXPECTED
    return _say(f"{'unexpected' if fault else 'error'}: {sentence}", FAULT if fault else ERROR)


def _flushed(code: int) -> int:
    """Return the code once standard output is out, or another where that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        return _of_the_system(error)
    return code


def _unread() -> int:
    _forget(sys.stdout)
    return UNREAD


def _forget(stream: TextIO) -> None:
    """Let what is left in a stream go nowhere, so that the interpreter does not complain at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _usage(error: Exception) -> int:
    """Say what is wrong with a command line as any other error is said; who gave nothing gets the help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{context.get_help()}\n")
        return _flushed(ERROR)
    complaint = error.format_message().strip().rstrip(".")  # type: ignore[attr-defined]
    if type(error).__name__ == "NoSuchOption":  # the parser's own words and choice differ between versions
        word = error.option_name  # type: ignore[attr-defined]
        advice = closest(word, known) if (known := getattr(error, "possibilities", None)) else ""
        complaint = f"no such option: {word}" + (f", {advice}" if advice.startswith("did you") else "")
    path = "holdfast" if context is None else context.command_path
    complaint = complaint.replace(". Did you mean", ", did you mean").replace("? (", " (").rstrip("?")
    return _fail(USAGE, f"{complaint[:1].lower()}{complaint[1:]}: see {path} --help.")


def _of_the_system(error: OSError) -> int:
    reason = error.strerror or type(error).__name__
    if error.errno in FULL and error.filename is not None:
        return _fail(
            SYSTEM, f"the disk of {error.filename} is full ({reason}): make room, or write elsewhere."
        )
    if error.filename is not None:
        return _fail(
            SYSTEM, f"{error.filename} cannot be used ({reason}): check the path and its permissions."
        )
    _forget(sys.stdout)
    return _fail(
        SYSTEM,
        f"the output cannot be written ({reason}): make room or write elsewhere, and look for what the"
        " command did before it is run again.",
    )


def _fault(error: BaseException, *, debug: bool) -> int:
    if debug:
        for line in "".join(traceback.format_exception(error)).splitlines():
            _say(line, FAULT)
    return _fail(
        UNEXPECTED,
        f"{type(error).__name__} in {_module(error)}: this is a fault of Holdfast; run again with --debug and"
        " report the trace (leave confidential values out).",
    )


def _module(error: BaseException) -> str:
    """Return the innermost module of Holdfast in the trace of an error."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [str(frame.f_globals.get("__name__")) for frame in frames]
    return next((name for name in reversed(names) if name.startswith("holdfast.")), "holdfast")


def _unheard(*_: object, **__: object) -> None:
    """Take a warning, and tell nobody."""
