"""Verifying a release: hashes, schema, and every invariant with exact equality."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.certificate.record import digest, read_certificate
from holdfast.certificate.write import CERTIFICATE, sha256
from holdfast.errors import DataError, ReleaseError
from holdfast.tables.invariants import InvariantBlock
from holdfast.tables.read import read_release
from holdfast.tables.schema import Schema


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what it is, whether it holds, and if not, where it fails."""

    name: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True)
class Verification:
    """The outcome of all checks."""

    folder: Path
    checks: tuple[Check, ...]

    @property
    def kept(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)


def verify(folder: str | Path) -> Verification:
    """Check a release folder against its certificate.

    Raises ReleaseError where there is no release to check; everything else is a check that fails.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder: name the folder of a release.")
    path = folder / CERTIFICATE
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ReleaseError(f"{path} cannot be read: name the folder of a release.") from None
    content = read_certificate(text, str(path))
    return Verification(folder, tuple(_checks(folder, content)))


def _checks(folder: Path, content: dict[str, Any]) -> Iterator[Check]:
    body = {key: value for key, value in content.items() if key != "digest"}
    yield _check("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    files = content.get("files")
    if not isinstance(files, dict) or not any(name.startswith("table.") for name in files):
        yield Check("files", holds=False, detail="the certificate names no table")
        return
    for name, expected in files.items():
        path = folder / Path(name).name
        if not path.is_file():
            yield Check(f"{name} unchanged", holds=False, detail="the file is missing")
        else:
            yield _check(f"{name} unchanged", sha256(path) == expected, "its SHA-256 differs")
    table = next(name for name in files if name.startswith("table."))
    yield from _invariant_checks(folder / Path(table).name, content)


def _invariant_checks(path: Path, content: dict[str, Any]) -> Iterator[Check]:
    try:
        schema = Schema.from_dict(content["table"]["schema"])
        blocks = [(InvariantBlock.from_dict(item, schema), item) for item in content["invariants"]]
        counts = read_release(path, schema, content["table"]["count"]).counts
    except DataError as error:
        yield Check("schema", holds=False, detail=str(error))
        return
    except (KeyError, TypeError, ValueError):
        yield Check("schema", holds=False, detail="the certificate's schema or invariants are damaged")
        return
    yield Check("schema", holds=True)
    impossible = sorted(cell for cell in schema.impossible if counts[cell] != 0)
    if schema.impossible:
        yield _check("structural zeros", not impossible, "a structural zero holds a count")
    for block, item in blocks:
        found, stated = block.evaluate(counts).tolist(), item["values"]
        wrong = [i for i, (f, s) in enumerate(zip(found, stated, strict=False)) if f != s]
        if len(found) != len(stated):
            yield Check(f"invariant {block.name}", holds=False, detail="the number of values differs")
        elif wrong:
            i = wrong[0]
            detail = f"{item['labels'][i]} is {found[i]}, not {stated[i]}"
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            yield Check(f"invariant {block.name}", holds=False, detail=detail + more)
        else:
            yield Check(f"invariant {block.name}: {len(stated)} kept", holds=True)


def _check(name: str, holds: bool, otherwise: str) -> Check:
    return Check(name, holds, "" if holds else otherwise)
