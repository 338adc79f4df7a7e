"""Searches in processes of their own: what they find and say comes back, and they end with their work."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.studio.jobs import Job
from holdfast.studio.searches import elsewhere
from holdfast.system.errors import HoldfastError

LONG = 600.0


def squared(number: int, tell: Any = None) -> int:
    if tell is not None:
        tell(number)
    return number**2


def refused(number: int) -> int:
    raise HoldfastError(f"{number} is refused.")


def broken(number: int) -> int:
    raise ValueError(f"a secret: {number}")


def gone(number: int) -> int:
    os._exit(number)


def slept(seconds: float, tell: Any) -> None:
    tell(os.getpid())
    time.sleep(seconds)


def test_what_is_found_and_told_comes_back() -> None:
    told: list[Any] = []
    assert elsewhere(squared, 7) == 49
    assert elsewhere(squared, 7, told=told.append) == 49
    assert told == [7]


@pytest.mark.parametrize(
    ("find", "said"),
    [(refused, "3 is refused"), (broken, "ValueError: this is a fault"), (gone, "not enough")],
)
def test_what_goes_wrong_is_one_sentence_without_a_secret(find: Any, said: str) -> None:
    with pytest.raises(HoldfastError, match=said) as error:
        elsewhere(find, 3)
    assert "secret" not in str(error.value)


def test_a_search_ends_with_the_work_that_it_is_of() -> None:
    told: list[int] = []
    job = Job("", lambda _: elsewhere(slept, LONG, told=told.append)).start()
    while not told:
        time.sleep(0.01)
    job.end()
    job.wait(LONG / 10)
    assert job.ended
    assert not there(told[0])


def test_a_search_ends_when_the_studio_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "studio.py"
    program.write_text(
        "from holdfast.studio.searches import elsewhere\n"
        "from tests.studio.test_searches import slept\n"
        "if __name__ == '__main__':\n"
        f"    elsewhere(slept, {LONG}, told=lambda number: print(number, flush=True))\n"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    command, env = [sys.executable, str(program)], {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as studio:
        assert studio.stdout is not None
        search = int(studio.stdout.readline())
        studio.kill()
    while there(search):
        time.sleep(0.05)


def there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
