"""Reading a spec from its TOML file."""

import tomllib
from pathlib import Path

from holdfast.errors import SpecError
from holdfast.spec.model import Spec


def read_spec(path: str | Path) -> Spec:
    """Return the spec in a TOML file; its paths are relative to the file's folder."""
    if not isinstance(path, str | Path):
        raise SpecError(f"a spec is a file or a Spec, not a {type(path).__name__}: name one, or make one.")
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise SpecError(f"{path} does not exist: check the path of the spec.") from None
    except IsADirectoryError:
        raise SpecError(f"{path} is a folder: name the spec file in it.") from None
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}, line {line} is not UTF-8 text: save the spec as UTF-8.") from None
    try:
        values = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path} is not TOML ({_first_line(error)}): correct it there.") from None
    except (ValueError, RecursionError):
        raise SpecError(f"{path} is not TOML (a value is too long or too deep): shorten it.") from None
    try:
        return Spec.of(values, folder=path.parent, file=str(path))
    except SpecError as error:
        raise SpecError(f"{path}, {error}") from None


def _first_line(error: Exception) -> str:
    message = str(error).partition("\n")[0]
    return message[:1].lower() + message[1:]
