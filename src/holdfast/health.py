"""What a machine has of all that is needed: each finding with its state; a command words the cure.

A finding is *fine*, *absent* (a part that only some commands need) or *broken*. Nothing here reads data, and
nothing is written but a file of one byte in the folder of temporary files.
"""

import os
import re
import stat
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from holdfast.system.errors import HoldfastError
from holdfast.version import VERSION

State = Literal["fine", "absent", "broken"]
EXTRAS = {
    "databases": ("duckdb", "adbc_driver_postgresql"),
    "docs": ("holdfast_docs",),
    "files": ("openpyxl", "pyreadstat"),
    "infer": ("arviz",),
    "lakes": ("fsspec",),
    "spark": ("pyspark",),
    "web": ("python_multipart", "starlette", "uvicorn"),
}
"""The modules of each extra."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: its name, what it is like, and what was found."""

    name: str
    state: State
    found: str


@dataclass(frozen=True)
class Health:
    """All findings."""

    findings: tuple[Finding, ...]

    @property
    def well(self) -> bool:
        """Whether nothing is broken; what is absent may be so."""
        return all(finding.state != "broken" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"well": self.well, "findings": [asdict(finding) for finding in self.findings]}


def examine(ledger: Path | None = None) -> Health:
    """Look at versions, randomness, engines, the browser, folders, extras, and a ledger if one is named."""
    looks: list[Callable[[], Iterator[Finding]]] = [
        _versions,
        _entropy,
        _engines,
        _folders,
        _browser,
        _extras,
    ]
    if ledger is not None:
        looks.append(lambda: _ledger(ledger))
    return Health(tuple(finding for look in looks for finding in look()))


def _versions() -> Iterator[Finding]:
    """Each package that Holdfast takes is there, and is not too old."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "fine" if sys.version_info >= (3, 11) else "broken", python)
    yield Finding("holdfast", "fine", VERSION)
    for package, least in _required():
        try:
            found = version(package)
        except PackageNotFoundError:
            yield Finding(package, "broken", "not installed")
            continue
        old = _number(found) < _number(least)
        yield Finding(package, "broken" if old else "fine", f"{found}, older than {least}" if old else found)


def _required() -> list[tuple[str, str]]:
    """Return the packages that this version asks for, each with its least version."""
    try:
        lines = requires("holdfast-dp") or ()
    except PackageNotFoundError:  # run from a folder, not installed
        return []
    asked = [
        re.match(r"([\w.-]+)>=([\d.]+)", line.replace(" ", "")) for line in lines if "extra ==" not in line
    ]
    return sorted((one[1], one[2]) for one in asked if one)


def _number(text: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with: 2.0.1rc1 is (2, 0, 1)."""
    return tuple(int(part) for part in re.findall(r"(?:^|\.)(\d+)", text.partition("+")[0]))


def _entropy() -> Iterator[Finding]:
    """Two reads of the operating system's generator differ, and no bit of many words stands still."""
    try:
        first, second = os.urandom(64), os.urandom(64)
        still = bytes(64)
        ones, zeros = still, bytes([255]) * 64
        for _ in range(64):
            word = os.urandom(64)
            ones = bytes(a | b for a, b in zip(ones, word, strict=True))
            zeros = bytes(a & b for a, b in zip(zeros, word, strict=True))
        sound = first != second and ones == bytes([255]) * 64 and zeros == still
    except (NotImplementedError, OSError):
        yield Finding("entropy", "broken", "the operating system gives no randomness")
        return
    said = "the operating system's generator" if sound else "the operating system's generator repeats itself"
    yield Finding("entropy", "fine" if sound else "broken", said)


def _engines() -> Iterator[Finding]:
    yield _tried("solver", _solves)
    yield _tried("compiler", _compiles)
    yield _spark()


def _spark() -> Finding:
    """PySpark, and a Java that it runs on."""
    from holdfast.engines.spark_session import JAVA, require_installed  # noqa: PLC0415

    if find_spec("pyspark") is None:
        return Finding("spark", "absent", "no PySpark")
    try:
        require_installed()
    except HoldfastError as error:
        return Finding("spark", "absent", str(error))
    return Finding("spark", "fine", f"PySpark {version('pyspark')}, and Java {JAVA} or newer")


def _tried(name: str, act: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "fine", act())
    except Exception as error:
        return Finding(name, "broken", f"{type(error).__name__}: {error}"[:200])


def _solves() -> str:
    """Let HiGHS look for the largest x with x = 3."""
    import numpy as np  # noqa: PLC0415
    from scipy.sparse import csr_array  # noqa: PLC0415

    from holdfast.programs.solver import Program, Status  # noqa: PLC0415

    three = np.array([3])
    solution = Program(csr_array(np.ones((1, 1), dtype=np.int64)), three, three, most=three).solve(
        maximise=np.array([1])
    )
    if solution.status is not Status.SOLVED or solution.point is None or solution.point[0] != 3:
        raise ArithmeticError(f"the largest x with x = 3 is {solution.point}")
    return f"HiGHS {version('highspy')}"


def _compiles() -> str:
    """Let numba compile a loop, and say where it is kept."""
    import numpy as np  # noqa: PLC0415

    from holdfast.system.compiled import compiled  # noqa: PLC0415

    loop = compiled(_sum)
    if int(loop(np.arange(5))) != 10:
        raise ArithmeticError("0 + 1 + 2 + 3 + 4 is not 10")
    place = getattr(getattr(loop, "stats", None), "cache_path", None)
    return f"numba, kept in {place}" if place else "numba, nothing is kept: each start compiles again"


def _sum(values: Any) -> int:
    total = 0
    for value in values:
        total += value
    return total


def _folders() -> Iterator[Finding]:
    for name, folder in (("folder", Path.cwd()), ("temporary files", Path(tempfile.gettempdir()))):
        writable = os.access(folder, os.W_OK | os.X_OK)
        yield Finding(name, "fine" if writable else "broken", str(folder))
    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
            shared = stat.S_IMODE(Path(file.name).stat().st_mode) & 0o077
        open_ = bool(shared) and os.name == "posix"
        said = "others may read temporary files" if open_ else "of this user alone"
        yield Finding("private files", "broken" if open_ else "fine", said)
    except OSError as error:
        yield Finding("private files", "broken", str(error))


def _browser() -> Iterator[Finding]:
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        yield Finding("browser", "absent", "none was found")
        return
    yield Finding("browser", "fine", str(getattr(found, "name", type(found).__name__)))


def _extras() -> Iterator[Finding]:
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        said = f"without {', '.join(missing)}" if missing else ", ".join(modules)
        yield Finding(f"extra {extra}", "absent" if missing else "fine", said)


def _ledger(path: Path) -> Iterator[Finding]:
    """Open a ledger, check its rows, and look at who may read its salt."""
    from holdfast.ledger.account import Ledger  # noqa: PLC0415
    from holdfast.ledger.verify import verify_ledger  # noqa: PLC0415

    try:
        account = Ledger.open(path)
        said = f"{len(account.rows())} rows, {account.left()} of {account.budget} left"
        kept = verify_ledger(path).kept
    except HoldfastError as error:
        yield Finding("ledger", "broken", str(error))
        return
    yield Finding("ledger", "fine" if kept else "broken", said)
    if not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)):
        yield Finding("ledger's file", "broken", f"{path} or its folder may not be written to")
    salt = Path(f"{path}.salt")
    if not salt.exists():
        yield Finding("ledger's salt", "broken", f"{salt} is missing")
        return
    open_ = os.name == "posix" and bool(stat.S_IMODE(salt.stat().st_mode) & 0o077)
    yield Finding(
        "ledger's salt", "broken" if open_ else "fine", f"{salt}{', which others may read' * open_}"
    )
