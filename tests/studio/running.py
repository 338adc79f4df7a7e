"""Studios on ports of their own, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from holdfast.studio.desk import Desk
from holdfast.studio.server import Opened, opened


@contextmanager
def running(target: Path, password: str | None = None) -> Iterator[tuple[Desk, Opened]]:
    """Open a studio, and end it."""
    desk = Desk.at(target)
    studio = opened(desk, password=password)
    thread = Thread(target=studio.run, daemon=True)
    thread.start()
    try:
        yield desk, studio
    finally:
        studio.stop()
        thread.join()
