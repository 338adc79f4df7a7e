"""Which Parquet files of a folder hold measurements or constraints, and of which level each is.

The 2020 products have a folder for each level, `County.parquet`, with `DPQuery` and `Constraint` in it, and
parts by state in these. A level may also be the name of a file or folder, or stand in a column.
"""

from dataclasses import dataclass
from pathlib import Path

from holdfast.system.errors import DataError

SUFFIX = ".parquet"
MEASURED, KNOWN = "dpquery", "constraint"
PARTS = ("part", "measurement", "data", "nmf", "values", "noisy")
"""How files are called that are parts of something, and not a level."""


@dataclass(frozen=True)
class FoundFile:
    """A file, the set of measurements that it belongs to, its level if its path tells it, and its role."""

    path: Path
    universe: str
    level: str | None
    constraint: bool


def found_files(folder: Path) -> tuple[FoundFile, ...]:
    """Return the Parquet files of a folder, or of one file; raises DataError where there is not one set."""
    if folder.is_file():
        return (FoundFile(folder, "", None, constraint=False),)
    if not folder.is_dir():
        raise DataError(f"{folder} is neither a folder nor a file: name a folder of noisy measurements.")
    found = tuple(_found(path, folder) for path in sorted(folder.rglob(f"*{SUFFIX}")) if path.is_file())
    if not found:
        raise DataError(f"{folder} has no Parquet file: name a folder of noisy measurements.")
    universes = sorted({each.universe for each in found})
    if len(universes) > 1:
        raise DataError(
            f"{folder} holds several sets of measurements, {' and '.join(map(repr, universes))}: open one of"
            " these folders after the other."
        )
    return found


def _found(path: Path, folder: Path) -> FoundFile:
    parts = path.relative_to(folder).parts
    inner = [part for part in parts[:-1] if "=" not in part]
    role = [place for place, part in enumerate(inner) if _role(part) is not None]
    constraint = any(_role(part) == KNOWN for part in parts)
    named = [place for place, part in enumerate(inner) if part.lower().endswith(SUFFIX)]
    if named:
        return FoundFile(path, "/".join(inner[: named[0]]), _plain(inner[named[0]]), constraint)
    if role:
        above = inner[: role[0]]
        level = above[-1] if above else _of_file(parts[-1])
        return FoundFile(path, "/".join(above[:-1]), level, constraint)
    hive = [part.partition("=")[2] for part in parts[:-1] if part.lower().startswith(("level=", "geolevel="))]
    level = hive[0] if hive else _of_file(parts[-1])
    if level is None and inner:
        return FoundFile(path, "/".join(inner[:-1]), inner[-1], constraint)
    return FoundFile(path, "/".join(inner), level, constraint)


def _role(part: str) -> str | None:
    """Return what a part of a path says of its files, if it does."""
    plain = part.lower().removesuffix(SUFFIX)
    return next((role for role in (MEASURED, KNOWN) if plain.startswith(role)), None)


def _of_file(name: str) -> str | None:
    """Return the level that a file is named by; None for parts of something."""
    plain = _plain(name)
    return None if plain.lower().startswith(PARTS) or _role(plain) is not None else plain


def _plain(name: str) -> str:
    return name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name
