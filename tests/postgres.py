"""A PostgreSQL server of the tests' own: in a folder of its own, on a socket in it, gone behind them."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "never-shown"  # noqa: S105 - of a server that lives for seconds
USER = "curator"


@dataclass(frozen=True)
class Server:
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PGHOST": str(self.folder), "PGUSER": USER, "PGPASSWORD": PASSWORD}

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """Write to the database, as no release can."""
        from adbc_driver_postgresql import dbapi

        with pytest.MonkeyPatch.context() as patch:
            for key, value in self.environment.items():
                patch.setenv(key, value)
            connected = dbapi.connect("postgresql:///postgres", autocommit=True)
        with connected, connected.cursor() as cursor:
            yield cursor


@contextmanager
def running() -> Iterator[Server]:
    """Start a server, which root may not run, and stop it; skip where there is none."""
    pytest.importorskip("adbc_driver_postgresql")
    places = os.pathsep.join(
        [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    )
    control = shutil.which("pg_ctl", path=places)
    if control is None:
        pytest.skip("PostgreSQL's server is not installed")
    programs = Path(control).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    (folder / "password").write_text(PASSWORD)
    user = None
    if os.geteuid() == 0:
        user = "nobody"
        shutil.chown(folder, user)
        shutil.chown(folder / "password", user)

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, "-D", folder / "data", *arguments],
            check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": places, "LC_ALL": "C"},
        )  # fmt: skip

    try:
        login = ("-U", USER, "-A", "scram-sha-256", f"--pwfile={folder / 'password'}")
        call("initdb", "--no-sync", "--encoding=UTF8", "--no-locale", *login)
        call("pg_ctl", "-w", "-t", "300", "-l", str(folder / "log"), "-o", f"-F -h '' -k {folder}", "start")
        try:
            yield Server(folder)
        finally:
            call("pg_ctl", "-w", "-t", "300", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
