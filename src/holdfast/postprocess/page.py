"""The page of a processed table: what it is, where it came from, and how far it is off, for any reader."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from holdfast.certificate.pictures import bars
from holdfast.visible import visible


def render(record: Mapping[str, Any]) -> str:
    """Return the page of a certificate, without its files and digest."""
    bias = record["bias"]
    tables = []
    if bias["measured"]:
        for title, part in (("Fitted to the invariants", bias), ("Near the release", bias["rough"])):
            rows = part["classes"]
            drawn = bars([row["bias"] for row in rows])
            named = [(_size(row), row, bar) for row, bar in zip(rows, drawn, strict=True)]
            tables.append(
                {"title": title, "stand_in": part["stand_in"], "draws": part["draws"], "rows": named}
            )
    return _environment().get_template("page.html.j2").render(record, tables=tables)


def _size(row: Mapping[str, Any]) -> str:
    least, most = row["least"], row["most"]
    if most is None:
        return f"{least:,} or more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("holdfast", "postprocess"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signed": _signed}
    return environment
