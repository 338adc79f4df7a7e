"""What was measured, kept beside a release in the making: after a crash it goes on from there.

Estimation takes long and draws nothing. So the measurements are on the disk before it begins, in a hidden
folder of their own beside the one that is to be made, with a salted fingerprint of the data and of all that
was settled. Whoever runs the same command again finds them: no new noise, and no new charge. Measurements of
anything else are thrown away, which costs nothing, as nobody has seen them.
"""

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.certificate.text import CERTIFICATE
from holdfast.durable import sync_folder
from holdfast.errors import HoldfastError, ReleaseError
from holdfast.mechanisms.topdown.file import FILE, MeasurementsOutput, Values, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.plain import plain_name
from holdfast.private import ForeignError, Private
from holdfast.strict import read_json

PREFIX = ".measured-"
NOTE, DRAFT = "checkpoint.json", "checkpoint.json.draft"


@dataclass(frozen=True)
class Checkpoint:
    """The hidden folder of a release that is to have this path, and what its measurements are of.

    ``told`` is all that was asked for, as text, and ``identity`` that of the data, which is confidential.
    """

    out: Path
    told: str
    identity: bytes

    @classmethod
    def of(cls, out: Path, told: str, identity: bytes) -> "Checkpoint":
        """Return the checkpoint of a folder that is to be made."""
        return cls(out.absolute(), told, identity)

    @property
    def folder(self) -> Path:
        """Where it is."""
        name = hashlib.sha256(os.fsencode(self.out.name)).hexdigest()[:16]
        return self.out.parent / f"{PREFIX}{name}"

    def __repr__(self) -> str:
        return f"<checkpoint in {self.folder}>"

    def found(self, mechanism: TopDown) -> Values | None:
        """Return what was measured for this very release before; None where there is nothing.

        Raises ReleaseError where somebody else put something in its place.
        """
        try:
            with Private.opened(self.folder) as inside:
                note = read_json(_text(inside, NOTE))
                same = hmac.compare_digest(str(note["of"]), self._mark(bytes.fromhex(note["salt"])))
                if not same:
                    return None
                return read_measurements(inside.named(FILE), mechanism.design, mechanism.measurements)
        except ForeignError as error:
            raise self._refused(error) from None
        except (OSError, ValueError, LookupError, TypeError, HoldfastError):
            return None

    def keep(self, measured: MeasurementsOutput) -> None:
        """Put measurements on the disk; the note that makes them count is written last."""
        try:
            with Private.made(self.folder) as inside:
                inside.close_to_others()
                inside.clear()
                measured.write(inside, Path(FILE).stem, parquet=True)
                inside.sync()
                salt = secrets.token_bytes(16)
                note = {"salt": salt.hex(), "of": self._mark(salt), "for": self.out.name}
                inside.write(DRAFT, json.dumps(note).encode())
                inside.sync()
                os.rename(DRAFT, NOTE, src_dir_fd=inside.handle, dst_dir_fd=inside.handle)
                inside.sync()
            sync_folder(self.folder.parent)
        except OSError as error:
            raise self._refused(error) from None

    def remove(self) -> None:
        """Throw it away."""
        _remove(self.folder)

    def _refused(self, error: OSError) -> ReleaseError:
        reason = error.strerror or "the disk refuses"
        return ReleaseError(
            f"{self.folder} cannot be used ({reason}), where measurements wait for their release: name a"
            " folder elsewhere."
        )

    def _mark(self, salt: bytes) -> str:
        return hmac.new(salt, self.told.encode() + b"\0" + self.identity, hashlib.sha256).hexdigest()


def sweep(parent: Path) -> None:
    """Throw away what waits beside releases that are whole: their runs were ended at their very end."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError, LookupError, TypeError):
            with Private.opened(folder) as inside:
                name = read_json(_text(inside, NOTE))["for"]
            if plain_name(name) and (parent / name / CERTIFICATE).is_file():
                _remove(folder)


def _remove(folder: Path) -> None:
    with suppress(OSError), Private.opened(folder) as inside:
        inside.discard()


def _text(inside: Private, name: str) -> str:
    with inside.open(name) as file:
        return file.read().decode("utf-8")
