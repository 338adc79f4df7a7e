"""All checks of one folder: signature, seal, files, and what each kind of release keeps."""

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast_verify.ed25519 import public_key, verifies
from holdfast_verify.processed import RELEASE, processed_checks
from holdfast_verify.record import (
    CERTIFICATE,
    PAGE,
    SIGNATURE,
    DamagedError,
    NoReleaseError,
    NotCheckedError,
    digest,
    field,
    flaw,
    object_of,
    objects,
    plain_bytes,
    read,
    texts,
    visible,
)
from holdfast_verify.records import records_checks
from holdfast_verify.tables import Check, agreements, table_checks

SEEDED = "THIS RELEASE PROTECTS NOBODY: it was drawn from a seeded generator, for tests and studies only."
WARNED = {
    "hardly-changed": "The noise hardly changes anything: see the verdict in the certificate.",
    "next-to-nothing": "The guarantee promises next to nothing: see the verdict in the certificate.",
}


@dataclass(frozen=True)
class Verification:
    """What was found of a folder."""

    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    @property
    def violated(self) -> bool:
        """Whether a check does not hold."""
        return any(check.holds is False for check in self.checks)

    @property
    def kept(self) -> bool:
        """Whether all was checked, and all of it holds."""
        return all(check.holds for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 where all holds, 1 where something does not, 2 where something could not be checked."""
        return 1 if self.violated else 0 if self.kept else 2


def verify(folder: str | Path, public: str | Path | None = None) -> Verification:
    """Check a folder; raises NoReleaseError where there is nothing to check."""
    folder = Path(folder)
    if not folder.is_dir():
        raise NoReleaseError(f"{folder} is not a folder: name the folder of a release.")
    try:
        raw = plain_bytes(folder / CERTIFICATE)
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise NoReleaseError(
            f"{folder / CERTIFICATE} cannot be read: name the folder of a release."
        ) from None
    content = read(text, str(folder / CERTIFICATE))
    kind = _kind(content)
    if public is not None and kind == "processed":
        raise NoReleaseError(f"a key is for releases, and {folder} is a processed table: verify its release.")
    checks = [] if public is None else [_signature(folder, raw, _key(Path(public)))]
    checks += _seal(folder, text, content, kind)
    sealed = {check.name for check in checks if check.holds}
    try:
        checks += _kept(folder, content, kind, sealed)
    except DamagedError as error:
        checks.append(Check("certificate", holds=False, detail=str(error)))
    except NotCheckedError as error:
        checks.append(Check("what is kept", holds=None, detail=str(error)))
    return Verification(tuple(checks), tuple(_warnings(folder, content)))


def _kind(content: dict[str, Any]) -> str:
    """Return the kind of the first part, which is that of all."""
    parts = content.get("parts")
    first = parts[0] if isinstance(parts, list) and parts else None
    return str(first.get("kind")) if isinstance(first, dict) else ""


def _key(path: Path) -> bytes:
    try:
        found = public_key(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        found = None
    if found is None:
        raise NoReleaseError(f"{path} is not a public Ed25519 key in PEM: name the publisher's public key.")
    return found


def _signature(folder: Path, text: bytes, key: bytes) -> Check:
    try:
        signature = plain_bytes(folder / SIGNATURE)
    except OSError:
        return Check("signature", holds=False, detail=f"{SIGNATURE} is missing or cannot be read")
    made = verifies(key, text, signature)
    return Check.that("signature", made, "it was not made with this key for this certificate")


def _seal(folder: Path, text: str, content: dict[str, Any], kind: str) -> Iterator[Check]:
    """Check the digest and the text of the certificate, and the hash of every file."""
    same = digest(content) == content.get("digest")
    yield Check.that("certificate unchanged", same, "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    try:
        files = object_of(content, "files")
        known = [*_files(content).values(), *([RELEASE] if kind == "processed" else []), PAGE]
        known += _exports(content, known)
    except DamagedError as error:
        yield Check("files", holds=False, detail=str(error))
        return
    for name in (name for name in known if name not in files):
        yield Check("files", holds=False, detail=f"the certificate does not name {name}")
    for name, expected in files.items():
        check = f"{name} unchanged"
        if name not in known:  # so that nothing leads out of the folder
            yield Check(check, holds=False, detail="no release has a file of this name")
            continue
        try:
            yield Check.that(check, _sha256(folder / name) == expected, "its SHA-256 differs")
        except FileNotFoundError:
            yield Check(check, holds=False, detail="the file is missing")
        except OSError:
            yield Check(check, holds=False, detail="it is no plain file that can be read")


def _sha256(path: Path) -> str:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise IsADirectoryError
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(content: dict[str, Any]) -> dict[str, str]:
    """Return the file of every output that the parts name."""
    files, found = object_of(content, "files"), dict[str, str]()
    for part in objects(content, "parts"):
        if not texts(part, "outputs"):
            raise DamagedError("a part of the certificate has no outputs")
        for output in texts(part, "outputs"):
            named = [file for end in (".csv", ".parquet") if (file := f"{output}{end}") in files]
            if len(named) != 1 or output in found or not _plain(named[0]):
                raise DamagedError("the certificate does not name one file for each output")
            found[output] = named[0]
    if not found:
        raise DamagedError("the certificate has no parts")
    return found


def _exports(content: dict[str, Any], others: list[str]) -> list[str]:
    """Return the files that have the release in other formats."""
    names = texts(content, "exports") if "exports" in content else []
    if len({*names, *others, CERTIFICATE}) < len(names) + len(others) + 1 or not all(map(_plain, names)):
        raise DamagedError("the certificate does not name one file for each export")
    return names


def _plain(name: str) -> bool:
    """Whether this is the name of a file inside of its folder."""
    return not any(sign in name for sign in "/\\:") and visible(name) == name


def _kept(folder: Path, content: dict[str, Any], kind: str, sealed: set[str]) -> Iterator[Check]:
    """Check what is released against all that is kept."""
    files, parts = _files(content), objects(content, "parts")
    quoted = content.get("quoted_formulas") is True
    if kind == "processed":
        yield from processed_checks(folder, content)
        return
    if kind == "records":
        yield from records_checks(folder, parts[0], files, sealed)
        return
    if kind != "table":
        raise DamagedError("the certificate is of no known kind")
    several, kept = content.get("joined") is not None, True
    for part in parts:
        if field(part, "kind") != "table":
            continue
        name = texts(part, "outputs")[0]
        same = f"{files[name]} unchanged" in sealed
        try:
            for check in table_checks(folder, files[name], part, quoted=quoted, sealed=same):
                kept &= check.holds is True
                yield check._replace(name=f"{name}: {check.name}") if several else check
        except NotCheckedError as error:
            kept = False
            yield Check(f"{name}: what is kept", holds=None, detail=str(error))
    if several and kept:
        yield from agreements(folder, content, files, quoted=quoted)


def _warnings(folder: Path, content: dict[str, Any]) -> Iterator[str]:
    """Yield what everybody should be told, however well all is kept."""
    randomness = content.get("randomness")
    if not isinstance(randomness, dict) or randomness.get("secure") is not True:
        yield SEEDED
    parts = content.get("parts")
    alone = [part.get("alone") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    for holder in (content, *alone):
        verdict = holder.get("verdict") if isinstance(holder, dict) else None
        told = verdict.get("warnings") if isinstance(verdict, dict) else None
        for one in told if isinstance(told, list) else ():
            known = WARNED.get(str(one.get("id"))) if isinstance(one, dict) else None
            yield known or "The certificate warns of something: see its verdict."
    files = content.get("files")
    named = {CERTIFICATE, SIGNATURE, *(files if isinstance(files, dict) else ())}
    for name in sorted({path.name for path in folder.iterdir()} - named):
        yield f"'{visible(name)}' is no part of the release: the certificate does not name it."
