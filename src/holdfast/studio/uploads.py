"""Files of a browser, written to the chosen folder as they come: never whole in memory, nor elsewhere.

A form of several parts (RFC 7578) has a header for each part, whose name and file name are the browser's
word: of a file name only its last step is taken, and only where it is a plain one.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import cast

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser
from starlette.requests import Request

from holdfast.studio.place import Incoming, Place
from holdfast.system.errors import DataError, HoldfastError
from holdfast.system.files import plain_name

MOST_FILES, MOST_TEXT = 2_000, 100_000
SPARE = 64 * 2**20
"""Bytes of the disk that stay free."""


@dataclass(eq=False)
class _Parts:
    """The parts of a form as they come."""

    place: Place
    folder: str
    names: list[str] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)
    file: Incoming | None = None
    key: str = ""
    text: bytearray = field(default_factory=bytearray)
    header: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    headers: dict[str, str] = field(default_factory=dict)

    def on_part_begin(self) -> None:
        self.headers, self.file, self.key = {}, None, ""
        self.text.clear()

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self.header[0].extend(data[start:end])

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self.header[1].extend(data[start:end])

    def on_header_end(self) -> None:
        name, value = (bytes(part).decode("utf-8", "replace") for part in self.header)
        self.headers[name.lower()] = value
        for part in self.header:
            part.clear()

    def on_headers_finished(self) -> None:
        said = self.headers.get("content-disposition", "")
        found = dict(re.findall(r'(?i)\b(name|filename)="((?:[^"\\]|\\.)*)"', said))
        self.key = found.get("name", "")
        if "filename" not in found:
            return
        name = last_name(found["filename"])
        if not name:
            return  # no file was chosen
        if len(self.names) >= MOST_FILES:
            raise DataError(f"these are more than {MOST_FILES:,} files: choose fewer.")
        self.file = Incoming(self.place, f"{self.folder}{name}")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self.file is not None:
            self.file.write(data[start:end])
        elif len(self.text) + end - start <= MOST_TEXT:
            self.text.extend(data[start:end])

    def on_part_end(self) -> None:
        if self.file is not None:
            self.names.append(self.file.done())
            self.file = None
        else:
            self.fields.setdefault(self.key, []).append(self.text.decode("utf-8", "replace"))

    def drop(self) -> None:
        """Forget what is not whole."""
        if self.file is not None:
            self.file.drop()


def last_name(given: str) -> str:
    r"""Return the last step of a path that a browser names; "" of none, and of one that is not plain.

    >>> [last_name(given) for given in ("people.csv", "../../x.csv", "C:\\a\\b.csv", "..", "")]
    ['people.csv', 'x.csv', 'b.csv', '', '']
    """
    name = re.split(r"[/\\]", given.replace('\\"', '"').replace("%22", '"'))[-1].lstrip(".")[-200:]
    return name if plain_name(name) else ""


async def received(
    request: Request, place: Place, folder: str = ""
) -> tuple[Sequence[str], dict[str, list[str]]]:
    """Write the files of a form below a folder of the place, and return their names and the other fields."""
    kind = Message()
    kind["content-type"] = request.headers.get("content-type", "")
    boundary = cast("str | None", kind.get_param("boundary"))
    if kind.get_content_type() != "multipart/form-data" or not boundary:
        raise DataError("no file came with this: choose one.")
    room, length = shutil.disk_usage(place.folder).free, int(request.headers.get("content-length", "0"))
    if length + SPARE > room:
        raise DataError(f"the disk has {room / 1e9:.1f} GB left, which is not enough for this file.")
    parts = _Parts(place, folder)
    names = ("on_part_begin", "on_header_field", "on_header_value", "on_header_end", "on_headers_finished")
    callbacks = {name: getattr(parts, name) for name in (*names, "on_part_data", "on_part_end")}
    try:
        parser = MultipartParser(boundary, callbacks)  # type: ignore[arg-type]
        async for block in request.stream():
            parser.write(block)
        parser.finalize()
    except FormParserError:
        raise DataError("what the browser sent is damaged: send it again.") from None
    except HoldfastError:
        raise
    finally:
        parts.drop()
    return parts.names, parts.fields
