"""How the program ends: every end has its exit code, and nothing that an unexpected error holds is shown."""

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_errors import sentence

from holdfast.system.errors import SpecError

MAIN = [sys.executable, "-c", "from holdfast.cli import main; main()"]


Fails = Callable[[BaseException], None]


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Let `holdfast plan` raise something."""
    import holdfast.cli.plan  # noqa: F401 - loaded before it is changed

    def let(error: BaseException) -> None:
        def plan(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("holdfast.plan", plan)

    return let


class PanicError(BaseException):
    """What a panic in another language becomes: no Exception."""


@pytest.mark.parametrize(
    "error", [ValueError("secret 42"), RecursionError("secret 42"), PanicError("secret 42")]
)
def test_the_unexpected_is_one_sentence_without_its_values(
    run: Run, fails: Fails, error: BaseException
) -> None:
    fails(error)
    outcome = run("plan", __file__)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == (
        f"unexpected: {type(error).__name__} in holdfast.cli.plan: this is a fault of Holdfast; run again"
        " with --debug and report the trace (leave confidential values out).\n"
    )


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("secret 42"),
        ImportError("libscipy.so: failed to map segment from shared object"),
        OSError("libscipy.so: cannot allocate memory"),
        OSError(errno.ENOMEM, "secret 42"),
        RuntimeError("can't start new thread"),
        NameError("name 'PyLazyFrame' is not defined", name="PyLazyFrame"),
        SystemError("error return without exception set"),  # of pyarrow, while it is loaded
        PanicError('Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }'),
    ],
)
def test_too_little_memory_is_no_fault(run: Run, fails: Fails, error: BaseException) -> None:
    fails(error)
    outcome = run("plan", __file__)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: there is not enough memory for this: ")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("release", "--jsn"), "no such option: --jsn, did you mean '--json': see holdfast release --help."),
        (("ledger", "open", "--epsilon", "3"), "no such option: --epsilon: see holdfast ledger open --help."),
    ],
)
def test_an_option_is_proposed_where_it_is_near(run: Run, command: tuple[str, ...], said: str) -> None:
    assert run(*command).err == f"error: {said}\n"


def test_debug_shows_the_trace(run: Run, fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(ValueError("secret \x1b[2J 42"))
    for arguments in (("--debug", "plan", __file__), ("plan", __file__, "--debug")):
        outcome = run(*arguments)
        assert outcome.code == 3
        assert "Traceback" in outcome.err
        assert r"ValueError: secret \x1b[2J 42" in outcome.err
    monkeypatch.setenv("HOLDFAST_DEBUG", "1")
    assert "Traceback" in run("plan", __file__).err
    monkeypatch.setenv("HOLDFAST_DEBUG", "0")
    assert "Traceback" not in run("plan", __file__).err


def test_what_the_user_can_mend_has_no_trace(run: Run, fails: Fails) -> None:
    for error, words in (
        (SpecError("it is\nwrong: mend it."), r"it is\nwrong: mend it."),
        (MemoryError(), "not enough memory"),
        (
            PermissionError(13, "Permission denied", "some\x1bwhere"),
            r"some\x1bwhere cannot be used (Perm",
        ),
        (OSError(28, "No space left on device"), "the output cannot be written (No space left on device)"),
    ):
        fails(error)
        outcome = run("--debug", "plan", __file__)
        assert outcome.code == 2
        assert words in sentence(outcome.err)


def test_whoever_stops_it_sees_that_it_stopped(run: Run, fails: Fails) -> None:
    fails(KeyboardInterrupt())
    outcome = run("plan", __file__)
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "stopped\n")


def test_a_pipe_that_is_closed_is_silent(run: Run, fails: Fails) -> None:
    fails(BrokenPipeError(32, "Broken pipe"))
    # The stream of a test has no number: nothing is redirected.
    outcome = run("plan", __file__)
    assert (outcome.code, outcome.out, outcome.err) == (141, "", "")


def test_warnings_of_libraries_are_not_for_users(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import holdfast.cli.plan  # noqa: F401 - loaded before it is changed

    def plan(*_: object, **__: object) -> None:
        warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
        raise SpecError("wrong: mend it.")

    monkeypatch.setattr("holdfast.plan", plan)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        outcome = run("plan", __file__)
    assert sentence(outcome.err) == "wrong: mend it."


@pytest.fixture
def release(run: Run, example: Path) -> Path:
    out = example.parent / "out"
    assert run("release", example, "--out", out).code == 0
    return out


def test_nobody_reads_on(release: Path) -> None:
    """With a real pipe: no trace, and no complaint of the interpreter at its end."""
    for arguments in (["verify", str(release)], ["certificate", "schema"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*MAIN, *arguments], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_disk_is_told_once(release: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*MAIN, "verify", str(release)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "the output cannot be written (No space left on device)" in sentence(done.stderr)


def test_closed_streams_are_no_error(release: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *MAIN, "verify", str(release)], check=False
    )
    assert done.returncode == 0


def test_a_plain_locale_spells_names_out(example: Path) -> None:
    folder = example.parent / "caf\u00e9"
    folder.mkdir()
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments, code in ((["init", str(folder)], 0), (["verify", str(folder)], 2)):
        done = subprocess.run([*MAIN, *arguments], env=plain, capture_output=True, check=False)
        assert done.returncode == code
        assert rb"caf\xe9" in done.stdout + done.stderr or rb"caf\udcc3\udca9" in done.stdout + done.stderr
        assert b"Traceback" not in done.stderr
