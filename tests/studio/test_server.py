"""The studio as a guest in a process: it leaves what was there as it was."""

import logging
from pathlib import Path

from holdfast.studio.desk import Desk
from holdfast.studio.server import opened


def test_handlers_of_who_opens_the_studio_stay_open(tmp_path: Path) -> None:
    closed: list[bool] = []

    class Listening(logging.Handler):
        def close(self) -> None:
            closed.append(True)
            super().close()

    handler = Listening()
    found = opened(Desk.at(tmp_path))
    found.stop()
    found.run()
    assert not closed
    handler.close()
    assert closed
