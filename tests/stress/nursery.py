"""Whole `holdfast` processes, cheaply: one process imports everything, and each command is a fork of it.

A command waits for its signal before it begins, so that many can begin at once, and so that another process
can attach to it first. No thread of Python runs in the nursery, and nothing is computed there before a fork.
"""

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
PATIENCE = 900.0
"""A command that takes longer hangs, however busy the machine is."""
MODULES = ("release", "ledger", "verify", "example", "certificate", "census", "compare")
GO = getattr(signal, "SIGUSR1", signal.SIGTERM)
ANY_TRACER = (0x59616D61, 2**64 - 1)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal that killed it, and all that it said."""

    code: int
    text: str

    @property
    def faults(self) -> list[str]:
        """What no command may ever say or do."""
        found = []
        if self.code not in (0, 1, 2, -signal.SIGKILL):
            found.append(f"exit code {self.code}: {self.text[-300:]!r}")
        if "Traceback" in self.text or "unexpected:" in self.text:
            found.append(f"a trace: {self.text[-300:]!r}")
        if self.code == 2 and self.text.count("error: ") != 1:
            found.append(f"not one sentence: {self.text[-300:]!r}")
        return found


class Running:
    """A command that waits for `go`, or runs.

    It is known by its number: the system gives the number of a process that ended to another one.
    """

    def __init__(self, nursery: "Nursery", number: int, pid: int, log: Path) -> None:
        self.nursery, self.number, self.pid, self.log = nursery, number, pid, log
        self.handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        """Means this process alone; it is alive now, as it waits."""

    def go(self) -> Self:
        """Let it begin."""
        self._send(GO)
        return self

    def kill(self) -> None:
        """Kill it, if it still runs."""
        with suppress(ProcessLookupError):
            self._send(signal.SIGKILL)

    def _send(self, sign: signal.Signals) -> None:
        if self.handle is not None:
            signal.pidfd_send_signal(self.handle, sign)
        else:
            os.kill(self.pid, sign)

    def wait(self, patience: float = PATIENCE) -> Ended:
        """Return how it ended, once; one that hangs is killed."""
        status = self.nursery.status(self.number, patience)
        hung = "" if status is not None else f"\nhung for {patience:.0f} s"
        if status is None:
            self.kill()
            self.nursery.status(self.number, patience)
        self.nursery.forget(self.number)
        if self.handle is not None:
            os.close(self.handle)
        text = self.log.read_text(encoding="utf-8", errors="replace") + hung
        return Ended(-1000 if status is None else os.waitstatus_to_exitcode(status), text)


class Nursery:
    """The process that commands are forked from."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.begun = folder, 0
        self.asking, self.changed = threading.Lock(), threading.Condition()
        self.statuses: dict[int, int] = {}
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "COLUMNS": "200"}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "MPLBACKEND": "agg"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.stress.nursery"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pids: dict[int, int] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=PATIENCE)

    def start(self, *words: str | Path, cwd: Path | None = None) -> Running:
        """Fork a command that waits."""
        with self.asking:
            self.begun += 1
            log = self.folder / f"{self.begun}.log"
            log.touch()  # a command can be killed before it says anything
            number = self.begun
            asked = {
                "number": number,
                "words": [str(word) for word in words],
                "cwd": str(cwd or self.folder),
                "log": str(log),
            }
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            with self.changed:
                if not self.changed.wait_for(lambda: number in self.pids, PATIENCE):
                    raise RuntimeError("the nursery does not answer")
                return Running(self, number, self.pids.pop(number), log)

    def run(self, *words: str | Path, cwd: Path | None = None) -> Ended:
        """Run a command to its end."""
        return self.start(*words, cwd=cwd).go().wait()

    def need(self, *words: str | Path, cwd: Path | None = None) -> None:
        """Run a command that must succeed for a trial to make sense."""
        ended = self.run(*words, cwd=cwd)
        if ended.code:
            raise RuntimeError(f"holdfast {' '.join(map(str, words))}: {ended.text}")

    def status(self, number: int, patience: float) -> int | None:
        """Return the wait status of a command, None if it has not ended in time."""
        with self.changed:
            self.changed.wait_for(lambda: number in self.statuses, patience)
            return self.statuses.get(number)

    def forget(self, number: int) -> None:
        """Let go of a command that has ended."""
        with self.changed:
            self.statuses.pop(number, None)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told: dict[str, Any] = json.loads(line)
            with self.changed:
                if "status" in told:
                    self.statuses[told["number"]] = told["status"]
                else:
                    self.pids[told["number"]] = told["pid"]
                self.changed.notify_all()


def serve() -> None:
    """Fork a command for every line that is read, and tell how each ends."""
    for name in MODULES:
        importlib.import_module(f"holdfast.cli.{name}")
    for name in ("holdfast.ledger.verify", "holdfast.verification.verify", "matplotlib.pyplot"):
        importlib.import_module(name)
    signal.pthread_sigmask(signal.SIG_BLOCK, {GO})
    pending = b""
    alive: dict[int, int] = {}
    while True:
        if select.select([0], [], [], 0.004)[0]:
            read = os.read(0, 1 << 16)
            if not read:
                return
            *lines, pending = (pending + read).split(b"\n")
            for line in lines:
                asked = json.loads(line)
                number = asked.pop("number")
                pid = os.fork()
                if pid == 0:
                    _become(**asked)
                alive[pid] = number
                _tell(number=number, pid=pid)
        while alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            _tell(number=alive.pop(pid), status=status)


def _tell(**values: int) -> None:
    os.write(1, json.dumps(values).encode() + b"\n")


def _become(words: list[str], cwd: str, log: str) -> None:
    """Be the command: wait for the signal, run it, and end."""
    code = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.chdir(cwd)
        _allow_tracing()
        from holdfast.cli import main

        sys.argv = ["holdfast", *words]
        signal.sigwait({GO})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {GO})
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    finally:
        os._exit(code)


def _allow_tracing() -> None:
    """Let a process that is no ancestor attach, where the kernel asks for that (prctl PR_SET_PTRACER)."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(ANY_TRACER[0], ctypes.c_ulong(ANY_TRACER[1]), 0, 0, 0)


if __name__ == "__main__":
    serve()
