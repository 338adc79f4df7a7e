"""Searches that may take long, each in a process of its own: ended at once, and in nobody's way.

A program that is being solved hears nothing until it is solved. So what is asked of a large table is asked of
another process, which is killed where nobody waits for it any more. It gets public values, or what only the
curator sees, through a pipe; nothing of it is written anywhere.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, TypeVar

from holdfast.studio.jobs import FAULT, MEMORY
from holdfast.system.errors import HoldfastError
from holdfast.system.progress import look

PRELOADED = ["holdfast.studio.figures", "holdfast.cli"]
"""What processes begin with: the searches, and what the program itself would make each of them load."""
WAIT = 0.05
"""Seconds between looks whether it is still waited for."""
POLITE = 5
"""By how much it gives way to whoever clicks."""
FoundT = TypeVar("FoundT")
Tell = Callable[[Any], None]


@cache
def _context() -> Any:
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    context = get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(PRELOADED)
    return context


def elsewhere(find: Callable[..., FoundT], *given: Any, told: Tell | None = None) -> FoundT:
    """Return what is found by a function of a module, in a process that ends when the work here does.

    The function gets what is ``given``, and with ``told`` a last argument, by which it says what it knows
    before its end.
    """
    receiver, sender = _context().Pipe(duplex=False)
    process = _context().Process(target=_run, args=(sender, find, given, told is not None), daemon=True)
    process.start()
    sender.close()
    try:
        while True:
            while not receiver.poll(WAIT):
                look()
            kind, value = receiver.recv()
            if kind == "found":
                found: FoundT = value
                return found
            if kind == "problem":
                raise HoldfastError(value)
            if told is not None:
                told(value)
    except EOFError:
        raise HoldfastError(MEMORY) from None
    finally:
        process.kill()
        process.join()
        receiver.close()


def _run(sender: Connection, find: Callable[..., Any], given: tuple[Any, ...], tells: bool) -> None:
    Thread(target=_end_with_the_studio, daemon=True).start()
    with suppress(OSError, AttributeError):
        os.nice(POLITE)
    with suppress(BrokenPipeError):
        try:
            more = (lambda value: sender.send(("told", value)),) if tells else ()
            sender.send(("found", find(*given, *more)))
        except HoldfastError as error:
            sender.send(("problem", str(error)))
        except Exception as error:
            sender.send(("problem", f"{type(error).__name__}: {FAULT}"))


def _end_with_the_studio() -> None:
    """End this process when the studio does, however that ends: nobody waits for what is found."""
    studio = parent_process()
    if studio is not None:
        studio.join()
        os._exit(1)
