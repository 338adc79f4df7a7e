"""Files of a browser, written to the chosen folder as they come: never whole in memory, nor elsewhere.

A form of several parts (RFC 7578) has a header for each part, whose name and file name are the browser's
word: of a file name only its last step is taken, and only where it is a plain one. A folder that is dropped
comes as its files, each by its own name or that of the folder before it; any other name is refused, and the
folder appears whole or not at all.
"""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.message import Message
from typing import Protocol, cast

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser
from starlette.requests import Request

from holdfast.studio.place import CERTIFICATE, Incoming, Place
from holdfast.system.drafts import Draft, drafted
from holdfast.system.errors import DataError, HoldfastError
from holdfast.system.files import plain_name
from holdfast.system.text import in_quotes

MOST_FILES, MOST_TEXT = 2_000, 100_000
SPARE = 64 * 2**20
"""Bytes of the disk that stay free."""


class Sink(Protocol):
    """Where the bytes of a file go."""

    def write(self, part: bytes) -> None:
        """Take a part of it."""
        ...

    def done(self) -> str:
        """See it to its end, and return its name."""
        ...

    def drop(self) -> None:
        """Forget it."""
        ...


@dataclass(eq=False)
class _Parts:
    """The parts of a form as they come."""

    into: Callable[[str, Mapping[str, list[str]]], "Sink | None"]
    """Where a file of a name goes, given the fields before it; nowhere if it is none."""
    names: list[str] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)
    file: "Sink | None" = None
    key: str = ""
    text: bytearray = field(default_factory=bytearray)
    parts: int = 0
    words: int = 0
    """Bytes of all fields that are no files."""
    header: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    headers: dict[str, str] = field(default_factory=dict)

    def on_part_begin(self) -> None:
        self.parts += 1
        if self.parts > MOST_FILES:
            raise DataError(f"these are more than {MOST_FILES:,} files: choose fewer.")
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
        if len(self.names) >= MOST_FILES:
            raise DataError(f"these are more than {MOST_FILES:,} files: choose fewer.")
        self.file = self.into(found["filename"].replace('\\"', '"').replace("%22", '"'), self.fields)

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self.file is not None:
            self.file.write(data[start:end])
            return
        self.words += end - start
        if self.words > MOST_TEXT:
            raise DataError("there is more text beside the file than a form has: send it again.")
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
    name = re.split(r"[/\\]", given)[-1].lstrip(".")[-200:]
    return name if plain_name(name) else ""


async def received(request: Request, place: Place) -> tuple[Sequence[str], dict[str, list[str]]]:
    """Write the files of a form into the place, and return their names and the other fields."""

    def into(given: str, _: object) -> Sink | None:
        name = last_name(given)
        return Incoming(place, name) if name else None

    return await _parsed(request, place, into)


async def folder_received(request: Request, place: Place, room: str) -> str:
    """Write the files of a folder as a new folder of a room, and return its name; HoldfastError otherwise.

    What is called after the folder is its name, or that of the field "folder".
    """
    with ExitStack() as stack:
        made: list[Draft] = []

        def into(given: str, fields: Mapping[str, list[str]]) -> Sink | None:
            if not given:
                return None  # no file was chosen
            folder, _, name = given.rpartition("/")
            folder = folder or next(iter(fields.get("folder", ())), "") or "release"
            if not plain_name(folder) or not plain_name(name) or folder.startswith("."):
                raise DataError(
                    f"{in_quotes(given)} is no file of a release, which has no folders within: drop the"
                    f" folder that has {CERTIFICATE} itself."
                )
            if name.startswith("."):
                return None  # what a system keeps for itself
            if not made:
                place.inside(room).mkdir(exist_ok=True)
                target = place.inside(place.free(f"{room}/{folder[:100]}"))
                made.append(stack.enter_context(drafted(target)))
            return _Within(made[0], name)

        names, _ = await _parsed(request, place, into)
        if CERTIFICATE not in names:
            raise DataError(
                f"no {CERTIFICATE} came with this: drop the folder of a release, with all its files."
            )
        made[0].seal()
        made[0].publish()
        return place.name(made[0].folder)


@dataclass(eq=False)
class _Within:
    """A file of a folder in the making."""

    draft: Draft
    name: str

    def __post_init__(self) -> None:
        try:
            self._file = self.draft.inside.create(self.name)
        except FileExistsError:
            raise DataError(f"{in_quotes(self.name)} came twice: drop one folder at a time.") from None

    def write(self, part: bytes) -> None:
        try:
            self._file.write(part)
        except OSError as error:
            raise DataError(f"{in_quotes(self.name)} cannot be written: {error.strerror}.") from None

    def done(self) -> str:
        self._file.close()
        return self.name

    def drop(self) -> None:
        self._file.close()


async def _parsed(
    request: Request, place: Place, into: Callable[[str, Mapping[str, list[str]]], Sink | None]
) -> tuple[Sequence[str], dict[str, list[str]]]:
    kind = Message()
    kind["content-type"] = request.headers.get("content-type", "")
    boundary = cast("str | None", kind.get_param("boundary"))
    if kind.get_content_type() != "multipart/form-data" or not boundary:
        raise DataError("no file came with this: choose one.")
    length = request.headers.get("content-length")
    if length is None:
        raise DataError("what comes does not say how long it is: send it from a browser.")
    room = shutil.disk_usage(place.folder).free
    if int(length) + SPARE > room:
        raise DataError(f"the disk has {room / 1e9:.1f} GB left, which is not enough for this file.")
    parts = _Parts(into)
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
