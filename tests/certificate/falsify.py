"""Falsified certificates: one field changed, and every hash made right again, as a forger would."""

import json
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from jinja2 import TemplateError
from tests.certificate.places import Place, at, places

from holdfast.certificate.model import SEAL, Certificate
from holdfast.certificate.page import render
from holdfast.certificate.quick import PAGE
from holdfast.certificate.text import canonical, digest
from holdfast.certificate.write import sha256
from holdfast.privacy.claims import ClaimError
from holdfast.system.errors import GuaranteeError

UNSEALED = ("files", "digest", "format")
"""What a forger makes right, and what says how to read the rest."""


class Forgery(NamedTuple):
    """A certificate with one field changed."""

    place: Place
    what: str
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """The place in one word."""
        return ".".join("*" if isinstance(step, int) else step for step in self.place)


def forgeries(written: dict[str, Any], chance: Random, size: int) -> Iterator[Forgery]:
    """Yield changes of single fields at random, each of another value than there was."""
    tried = [place for place, _ in places(written) if place and place[0] not in UNSEALED]
    while size:
        place = chance.choice(tried)
        copy = json.loads(json.dumps(written))
        value, (*outer, last) = at(copy, place), place
        holder = at(copy, tuple(outer))
        what, new = chance.choice(list(_changes(value, chance, in_object=isinstance(holder, dict))))
        if what == "dropped":
            del holder[last]
        else:
            holder[last] = new
        if copy != written or canonical(copy) != canonical(written):
            size -= 1
            yield Forgery(place, what, copy)


def _changes(value: Any, chance: Random, *, in_object: bool) -> Iterator[tuple[str, Any]]:
    if in_object:
        yield "dropped", None
    if isinstance(value, bool):
        yield from [("flipped", not value)] * 2
    elif isinstance(value, int | float):
        half = value // 2 if isinstance(value, int) else value / 2
        yield from [("halved", half), ("doubled", value * 2), ("more", value + 1), ("less", value - 1)]
    elif value is None:
        yield from [("set", 1), ("set", "1"), ("set", True), ("set", [])]
    elif isinstance(value, str):
        try:
            number = Fraction(value)
            yield from [("halved", str(number / 2)), ("doubled", str(number * 2))]
        except (ValueError, ZeroDivisionError):
            yield from [("changed", value + "x"), ("changed", "x" + value[1:]), ("emptied", "")]
    elif isinstance(value, list) and value:
        yield "item dropped", value[:-1]
        yield "item dropped", value[1:]
        yield "item doubled", [*value, chance.choice(value)]
        yield "swapped", [value[-1], *value[1:-1], value[0]]
    elif isinstance(value, list):
        yield "filled", ["x"]
    else:
        yield "emptied", {}
        yield "filled", {**value, "x": "y"}


def _in_parquet(content: dict[str, Any]) -> bool:
    return "table.parquet" in content["files"]


def write(folder: Path, content: dict[str, Any], *, page: bool) -> None:
    """Write a certificate with hashes and a digest that are right, and its own page where it has one."""
    if page:
        body = {name: value for name, value in content.items() if name not in SEAL}
        with suppress(
            ValueError, ArithmeticError, LookupError, TypeError, TemplateError, ClaimError, GuaranteeError
        ):  # what has no page keeps the old
            page_of = render(Certificate.from_json(json.dumps(body)), parquet=_in_parquet(content))
            (folder / PAGE).write_text(page_of, encoding="utf-8")
    files = {name: sha256(folder / name) for name in content["files"]}
    body = {**{name: value for name, value in content.items() if name != "digest"}, "files": files}
    (folder / "certificate.json").write_text(canonical({**body, "digest": digest(body)}), encoding="utf-8")
