"""What was drawn, kept beside a release in the making: after a crash it goes on from there.

Estimation from measurements takes long and draws nothing. So these are on the disk before it begins, in a
hidden folder of their own beside the one that is to be made, with a salted fingerprint of the data and of all
that was settled. Whoever runs the same command again finds them: no new noise, and no new charge. A draw of
anything else is thrown away, which costs nothing, as nobody has seen it. A mechanism says whether it can go
on from its draw: `resumable` [holdfast, mechanisms/mechanism.py].
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.certificate.text import CERTIFICATE
from holdfast.outputs import Output
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.files import plain_name, sync_folder
from holdfast.system.private import ForeignError, Private
from holdfast.system.text import read_json

PREFIX = ".measured-"
NOTE, DRAFT = "checkpoint.json", "checkpoint.json.draft"


@dataclass(frozen=True)
class Checkpoint:
    """The hidden folder of a release that is to have this path, and what its draw is of.

    ``request`` is the digest of all that was asked for, and ``identity`` that of the data, which is
    confidential.
    """

    out: Path
    request: str
    identity: bytes

    @property
    def folder(self) -> Path:
        """Where it is."""
        return _place(self.out)

    def __repr__(self) -> str:
        return f"<checkpoint in {self.folder}>"

    def restore(self, restored: Callable[[Path], Output]) -> Output | None:
        """Return what was drawn for this very release before, from its file; None where there is nothing.

        Raises ReleaseError where somebody else put something in its place.
        """
        try:
            with Private.opened(self.folder) as inside:
                note = read_json(_text(inside, NOTE))
                same = hmac.compare_digest(str(note["of"]), self._mark(bytes.fromhex(note["salt"])))
                return restored(inside.named(note["file"])) if same and plain_name(note["file"]) else None
        except ForeignError as error:
            raise self._refused(error) from None
        except (OSError, ValueError, LookupError, TypeError, HoldfastError):
            return None

    def keep(self, name: str, drawn: Output) -> None:
        """Put a draw on the disk by the name of its output; the note that makes it count comes last."""
        try:
            with Private.made(self.folder) as inside:
                inside.close_to_others()
                inside.clear()
                file = drawn.write(inside, name, parquet=True)
                inside.sync()
                salt = secrets.token_bytes(16)
                note = {"salt": salt.hex(), "of": self._mark(salt), "for": self.out.name, "file": file}
                inside.write(DRAFT, json.dumps(note).encode())
                inside.sync()
                os.rename(DRAFT, NOTE, src_dir_fd=inside.handle, dst_dir_fd=inside.handle)
                inside.sync()
            sync_folder(self.folder.parent)
        except OSError as error:
            raise self._refused(error) from None

    def get(self, name: str) -> bytes | None:
        """Return a piece of what was made of the draw; None where it is not there."""
        try:
            with Private.opened(self.folder) as inside, inside.open(name) as file:
                return file.read()
        except OSError:
            return None

    def put(self, name: str, content: bytes) -> None:
        """Keep a piece of what is made of the draw; who reads it looks whether it is whole."""
        try:
            with Private.opened(self.folder) as inside:
                draft = f"{name}.draft"
                inside.remove(draft)
                inside.write(draft, content)
                os.rename(draft, name, src_dir_fd=inside.handle, dst_dir_fd=inside.handle)
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> ReleaseError:
        reason = error.strerror or "the disk refuses"
        return ReleaseError(
            f"{self.folder} cannot be used ({reason}), where measurements wait for their release: name a"
            " folder elsewhere."
        )

    def _mark(self, salt: bytes) -> str:
        return hmac.new(salt, self.request.encode() + b"\0" + self.identity, hashlib.sha256).hexdigest()


def forget(out: Path) -> None:
    """Throw away what waits for a release that is to have this path, as it is whole."""
    _remove(_place(out))


def sweep(parent: Path) -> None:
    """Throw away what waits beside releases that are whole: their runs were ended at their very end."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError, LookupError, TypeError):
            with Private.opened(folder) as inside:
                name = read_json(_text(inside, NOTE))["for"]
            if plain_name(name) and (parent / name / CERTIFICATE).is_file():
                _remove(folder)


def _place(out: Path) -> Path:
    name = hashlib.sha256(os.fsencode(out.name)).hexdigest()[:16]
    return out.parent / f"{PREFIX}{name}"


def _remove(folder: Path) -> None:
    with suppress(OSError), Private.opened(folder) as inside:
        inside.discard()


def _text(inside: Private, name: str) -> str:
    with inside.open(name) as file:
        return file.read().decode("utf-8")
