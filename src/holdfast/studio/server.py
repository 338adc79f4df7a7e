"""The studio on a port of this machine: a socket, bound before anything is said, and the server on it."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import uvicorn

from holdfast.studio.app import studio
from holdfast.studio.desk import Desk
from holdfast.studio.guard import Keys
from holdfast.system.errors import SpecError
from holdfast.system.files import sweep

LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - where it is exposed, by a password alone
MOST_AT_ONCE = 256
"""Connections that are open at once: who opens more is turned away, and takes no file handles from others."""


@dataclass(frozen=True)
class Opened:
    """A studio that is about to run."""

    address: str
    """Where a browser of this machine goes: it has the token."""
    elsewhere: str | None
    """Where others go, who need the password."""
    run: Callable[[], None]
    """Serve, until it is stopped from the keyboard or by `stop`."""
    stop: Callable[[], None]


def opened(desk: Desk, *, port: int = 0, password: str | None = None) -> Opened:
    """Take a port, a free one where none is named; without a password on the loopback interface alone."""
    exposed = password is not None
    taken = _bound(EVERYWHERE if exposed else LOOPBACK, port)
    number = int(taken.getsockname()[1])
    keys = Keys(password=password)
    machine = socket.gethostname()
    names = (machine, f"{machine}.local", socket.getfqdn()) if exposed else ()
    app = studio(desk, keys, port=number, names=names, any_address=exposed)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,  # its own would close the handlers of whoever opened the studio
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
            limit_concurrency=MOST_AT_ONCE,
        )
    )
    sweep(desk.place.folder)  # what killed runs left of files that were coming in

    def run() -> None:
        with taken, suppress(KeyboardInterrupt):
            server.run(sockets=[taken])
        for job in desk.jobs.values():
            if not job.end():
                job.wait()  # it draws, and what it draws is charged

    def stop() -> None:
        server.should_exit = True

    return Opened(
        f"http://{LOOPBACK}:{number}/?token={keys.token}",
        f"http://{machine}:{number}/" if exposed else None,
        run,
        stop,
    )


def _bound(host: str, port: int) -> socket.socket:
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise SpecError(f"port {port} cannot be used ({error.strerror}): name another, or none.") from None
    return taken
