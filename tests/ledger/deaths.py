"""Processes that are killed at a chosen step: no test waits for the moment, or counts on any speed."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

PATIENCE = 600.0
"""Seconds after which a process hangs; a busy machine takes a while."""
LASTING = {"open", "close", "write", "fsync", "link", "unlink", "chmod", "flock", "execute"}
"""Calls of the system and of SQLite that may change files and locks; between two of them nothing does."""


def killed(act: Callable[[], object], step: int) -> bool:
    """Run an act in a process that is killed before some lasting call; whether it came to that."""
    if (child := os.fork()) == 0:
        code, seen = 1, 0

        def look(_: FrameType, event: str, called: object) -> None:
            nonlocal seen
            if event == "c_call" and getattr(called, "__name__", "") in LASTING:
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(look)
            act()
            sys.setprofile(None)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0
