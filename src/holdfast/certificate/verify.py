"""Verifying a release: hashes, schema, and every invariant with exact equality."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.certificate.record import digest, read_certificate
from holdfast.certificate.write import CERTIFICATE, sha256
from holdfast.errors import HoldfastError, ReleaseError
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
        yield _file_check(folder / Path(name).name, name, expected)
    table = next(name for name in files if name.startswith("table."))
    yield from _invariant_checks(folder / Path(table).name, content)


def _file_check(path: Path, name: str, expected: object) -> Check:
    try:
        return _check(f"{name} unchanged", sha256(path) == expected, "its SHA-256 differs")
    except FileNotFoundError:
        return Check(f"{name} unchanged", holds=False, detail="the file is missing")
    except (OSError, ValueError):  # no access, a folder, or a name that no file can have
        return Check(f"{name} unchanged", holds=False, detail="the file cannot be read")


def _invariant_checks(path: Path, content: dict[str, Any]) -> Iterator[Check]:
    try:
        schema = Schema.from_dict(content["table"]["schema"])
        blocks = [
            (InvariantBlock.from_dict(item, schema), _whole_numbers(item["values"]))
            for item in content["invariants"]
        ]
        counts = read_release(path, schema, str(content["table"]["count"])).counts
        found = [block.evaluate(counts).tolist() for block, _ in blocks]
    except HoldfastError as error:
        yield Check("schema", holds=False, detail=str(error))
        return
    except (LookupError, TypeError, ValueError, OSError):
        yield Check("schema", holds=False, detail="the certificate's schema or invariants are damaged")
        return
    yield Check("schema", holds=True)
    mechanism = content.get("mechanism")
    if isinstance(mechanism, dict) and mechanism.get("nonnegative") == "true":
        yield _check("counts at least 0", bool((counts >= 0).all()), "a count is negative")
    if schema.impossible:
        empty = not counts[~schema.possible].any()
        yield _check("structural zeros", empty, "a structural zero holds a count")
    for (block, stated), values in zip(blocks, found, strict=True):
        yield _invariant_check(block, values, stated)


def _invariant_check(block: InvariantBlock, found: list[int], stated: list[int]) -> Check:
    name = f"invariant {block.name}"
    if len(found) != len(stated):
        return Check(name, holds=False, detail="the number of values differs")
    wrong = [i for i, (f, s) in enumerate(zip(found, stated, strict=True)) if f != s]
    if not wrong:
        return Check(f"{name}: {len(stated)} kept", holds=True)
    first = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    detail = f"{block.labels[first]} is {found[first]}, not {stated[first]}{more}"
    return Check(name, holds=False, detail=detail)


def _whole_numbers(values: object) -> list[int]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise TypeError
    return values


def _check(name: str, holds: bool, otherwise: str) -> Check:
    return Check(name, holds, "" if holds else otherwise)
