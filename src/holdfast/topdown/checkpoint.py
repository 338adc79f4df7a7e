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
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.certificate.text import CERTIFICATE
from holdfast.durable import sync_file, sync_folder
from holdfast.errors import HoldfastError
from holdfast.mechanisms.topdown.file import FILE, MeasurementsOutput, Values, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown

PREFIX = ".measured-"
NOTE = "checkpoint.json"


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
        """Return what was measured for this very release before; None where there is nothing."""
        try:
            note = json.loads((self.folder / NOTE).read_text(encoding="utf-8"))
            same = hmac.compare_digest(str(note["of"]), self._mark(bytes.fromhex(note["salt"])))
            return (
                read_measurements(self.folder / FILE, mechanism.design, mechanism.measurements)
                if same
                else None
            )
        except (OSError, ValueError, LookupError, TypeError, HoldfastError):
            return None

    def keep(self, measured: MeasurementsOutput) -> None:
        """Put measurements on the disk; the note that makes them count is written last."""
        self.remove()
        self.folder.mkdir(mode=0o700)
        measured.write(self.folder, Path(FILE).stem, parquet=True)
        sync_file(self.folder / FILE)
        salt = secrets.token_bytes(16)
        draft = self.folder / f"{NOTE}.draft"
        note = {"salt": salt.hex(), "of": self._mark(salt), "for": self.out.name}
        draft.write_text(json.dumps(note), encoding="utf-8")
        sync_file(draft)
        draft.rename(self.folder / NOTE)
        sync_folder(self.folder)
        sync_folder(self.folder.parent)

    def remove(self) -> None:
        """Throw it away."""
        with suppress(OSError):
            shutil.rmtree(self.folder)

    def _mark(self, salt: bytes) -> str:
        return hmac.new(salt, self.told.encode() + b"\0" + self.identity, hashlib.sha256).hexdigest()


def sweep(parent: Path) -> None:
    """Throw away what waits beside releases that are whole: their runs were ended at their very end."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError, LookupError, TypeError):
            name = json.loads((folder / NOTE).read_text(encoding="utf-8"))["for"]
            if (parent / name / CERTIFICATE).is_file():
                shutil.rmtree(folder)
