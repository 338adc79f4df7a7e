"""Run a command line of Holdfast, or a script, in this process, as in a folder of its own, and keep what it prints."""

import contextlib
import io
import os
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.cli import main
from website.pages import ROOT

sys.path.append(str(ROOT / "verify" / "src"))  # the second verifier is run where it stands
import holdfast_verify.cli


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def _as_in(folder: Path, line: str) -> Iterator[None]:
    before, words, width = Path.cwd(), sys.argv, os.environ.get("COLUMNS")
    os.chdir(folder)
    sys.argv = shlex.split(line, comments=True)
    os.environ["COLUMNS"] = "200"
    try:
        yield
    finally:
        os.chdir(before)
        sys.argv = words
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width


def run(line: str, folder: Path) -> Ran:
    """Run one line in a folder."""
    program = _program(line)
    out, err = io.StringIO(), io.StringIO()
    with _as_in(folder, line), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            program()
            code: object = 0
        except SystemExit as end:
            code = end.code
    return Ran(int(code) if isinstance(code, int) else 0, out.getvalue(), err.getvalue())


def _program(line: str) -> Callable[[], object]:
    if line.startswith("python "):
        return lambda: runpy.run_path(sys.argv[1], run_name="__main__")
    return holdfast_verify.cli.main if line.startswith("holdfast-verify ") else main
