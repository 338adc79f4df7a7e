"""Reading a spec from its TOML file."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.spec.files import FilesSpec, of_files
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import SpecError
from holdfast.system.files import require_file
from holdfast.system.text import require_shallow
from holdfast.system.ways import setting

MOST_BYTES = 10 * 2**20


def read_spec(path: str | Path) -> Spec:
    """Return the spec of one table in a TOML file; its paths are relative to the file's folder.

    >>> file, *_ = hf.write_example(".")
    >>> hf.read_spec(file).data.cells
    ('county', 'education')
    """
    spec = read_any_spec(path)
    if not isinstance(spec, Spec):
        raise SpecError(
            f"{path} has {setting('tables')}, and this is for a spec of one table: give the table that is"
            " meant a spec of its own."
        )
    return spec


def read_any_spec(path: str | Path) -> Spec | TablesSpec | FilesSpec:
    """Return the spec in a TOML file, of one table or of several, of one file or of several."""
    path, values = read_toml(path)
    return spec_of(values, path.parent, str(path))


def spec_of(values: Mapping[str, Any], folder: Path, file: str) -> Spec | TablesSpec | FilesSpec:
    """Return the spec that values of a file describe."""
    try:
        if of_files(values):
            return FilesSpec.of(values, folder=folder, file=file)
        section = TablesSpec if "tables" in values else Spec
        return section.of(values, folder=folder, file=file)
    except SpecError as error:
        raise SpecError(f"{file}, {error}") from None


def read_toml(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the path and the values of a TOML file; raises SpecError where it is none."""
    if not isinstance(path, str | Path):
        raise SpecError(f"a spec is a file or a Spec, not a {type(path).__name__}: name one, or make one.")
    path = Path(path)
    require_file(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SpecError(f"{path} has more than {MOST_BYTES // 2**20} MB: name the spec, not its data.")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}, line {line} is not UTF-8 text: save the spec as UTF-8.") from None
    return path, toml_values(text, path)


def toml_values(text: str, path: str | Path) -> dict[str, Any]:
    """Return the values of a TOML file's text; raises SpecError, which names the file, where it is none."""
    try:
        values = tomllib.loads(text.replace("\r\n", "\n"))
        require_shallow(values)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path} is not TOML ({_first_line(error)}): correct it there.") from None
    except (ValueError, RecursionError):
        raise SpecError(f"{path} is not TOML (a value is too long or too deep): shorten it.") from None
    for key in _too_large(values):
        raise SpecError(f"{path}, {key} is or has a number that does not fit 64 bits: write a smaller one.")
    return values


def _too_large(value: object, key: str = "the spec") -> Iterator[str]:
    """Yield the keys of whole numbers that no count can be; TOML has them of any length."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield key
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _too_large(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _too_large(item, key)


def _first_line(error: Exception) -> str:
    message = str(error).partition("\n")[0]
    return message[:1].lower() + message[1:]
