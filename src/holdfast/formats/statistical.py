"""Tables for statistical offices: JSON-stat 2.0 and SDMX-CSV 2.0, with the status of each observation."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from holdfast.certificate.metadata import described
from holdfast.data.cell_status import STATUS
from holdfast.formats.cells import PublishedCells
from holdfast.formats.tabular import MEANINGS
from holdfast.system.errors import ReleaseError

MOST_VALUES = 5_000_000
"""Of a cube, which has a place for each combination of levels."""
OBSERVED = {"noisy": "E", "exact": "A", "forced": "E", "structural zero": "A", "estimated": "E"}
"""The code of a status in SDMX's CL_OBS_STATUS: A is a normal value, E an estimated one."""
_CODE = re.compile(r"[A-Za-z0-9_@$-]+")


def json_stat(cells: PublishedCells) -> bytes:
    """Return a data set of JSON-stat 2.0: the cube of all levels, null where a combination is no cell."""
    schema, attributes = cells.schema, tuple(cells.schema.attributes)
    size = [len(attribute.levels) for attribute in attributes]
    whole = int(np.prod(size, dtype=object))
    if whole > MOST_VALUES:
        raise ReleaseError(
            f"the cube of all levels has {whole:,} places, and JSON-stat is written up to {MOST_VALUES:,}:"
            " export CSV or Parquet."
        )
    place = np.ravel_multi_index([schema.codes(name) for name in schema.names], size)
    values: list[Any] = [None] * whole
    status: list[str | None] = [None] * whole
    for at, number, word in zip(place.tolist(), cells.numbers, cells.status, strict=True):
        values[at], status[at] = number, word
    facts = described(cells.certificate)
    content = {
        "version": "2.0",
        "class": "dataset",
        "label": cells.title,
        **({"source": facts["publisher"]["name"]} if "publisher" in facts else {}),
        "updated": cells.certificate.created,
        "note": [facts["description"]],
        "id": list(schema.names),
        "size": size,
        "dimension": {
            attribute.name: {"label": attribute.name, "category": {"index": list(attribute.levels)}}
            for attribute in attributes
        },
        "value": values,
        "status": status if None not in status else {str(at): one for at, one in enumerate(status) if one},
        "extension": {
            "count": cells.count,
            "status": {"label": MEANINGS},
            **({"certificate": digest} if (digest := cells.certificate.digest) else {}),
        },
    }
    return (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8")


def sdmx_csv(cells: PublishedCells) -> bytes:
    """Return SDMX-CSV 2.0: a row an observation, with its status, in the codes of SDMX and in words.

    A level that is no code of SDMX, such as "Very High", gets one, and its own name stands
    in a column beside.
    """
    schema = cells.schema
    frame = cells.to_frame()
    dimensions = component_names(schema.names)
    columns: dict[str, pl.Series] = {}
    labels: dict[str, pl.Series] = {}
    for name, attribute in zip(dimensions, schema.attributes, strict=True):
        codes = codes_of(attribute.levels)
        columns[name] = pl.Series(codes, dtype=pl.String).gather(schema.codes(attribute.name))
        if codes != list(attribute.levels):
            labels[f"{name}_LABEL"] = frame[attribute.name]
    status = frame[STATUS]
    alike = {"STRUCTURE": "dataflow", "STRUCTURE_ID": structure_id(cells), "ACTION": "I"}
    found = pl.DataFrame(
        {
            **{name: pl.repeat(text, frame.height, eager=True) for name, text in alike.items()},
            **columns,
            "OBS_VALUE": pl.Series(cells.texts, dtype=pl.String),
            "OBS_STATUS": status.replace_strict(OBSERVED, return_dtype=pl.String),
            "HOLDFAST_STATUS": status,
            **labels,
        }
    )
    return found.write_csv(line_terminator="\n").encode("utf-8")


def structure_id(cells: PublishedCells) -> str:
    """Return the name of the data flow: agency, id and version, as SDMX writes them."""
    publication = cells.certificate.publication
    publisher = (publication.publisher if publication else None) or "HOLDFAST"
    agency = re.sub(r"[^A-Za-z0-9_-]+", "_", publisher).strip("_-") or "HOLDFAST"
    if not agency[0].isalpha():
        agency = f"A_{agency}"
    return f"{agency}:{cells.certificate.parts[0].name.upper()}_{cells.certificate.settled[:8].upper()}(1.0)"


def component_names(names: Sequence[str]) -> list[str]:
    """Return names of dimensions that SDMX allows, all different: letters, digits and underscores.

    >>> component_names(["county", "age group", "3+"])
    ['COUNTY', 'AGE_GROUP', 'D_3_']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name).upper()
        plain = plain if plain[:1].isalpha() else f"D_{plain}"
        while plain in (*found, "OBS_VALUE", "OBS_STATUS", "STRUCTURE", "STRUCTURE_ID", "ACTION"):
            plain += "_"
        found.append(plain)
    return found


def codes_of(levels: Sequence[str]) -> list[str]:
    """Return levels as codes of SDMX, all different; those that are codes stay as they are.

    >>> codes_of(["Low", "Very High", "Very-High", "85+"])
    ['Low', 'Very_High', 'Very-High', '85_']
    """
    taken = {level for level in levels if _CODE.fullmatch(level)}
    found: list[str] = []
    for level in levels:
        code = level
        if not _CODE.fullmatch(level):
            code = re.sub(r"[^A-Za-z0-9_@$-]", "_", level) or "_"
            while code in taken:
                code += "_"
            taken.add(code)
        found.append(code)
    return found
