"""From files of noisy measurements to a folder on which intervals, posteriors and counts work."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.data.columns import as_text
from holdfast.data.files import open_file
from holdfast.data.geography import Spine
from holdfast.data.nmf.blocks import QueryBlock, blocks_of, joined
from holdfast.data.nmf.completeness import complete
from holdfast.data.nmf.consistency import require_consistent
from holdfast.data.nmf.files import found_files
from holdfast.data.nmf.folder import CODEBOOK
from holdfast.data.nmf.lists import LARGEST
from holdfast.data.nmf.opened import KnownQuery, MeasuredSums, Noise, OpenedMeasurements, Sign
from holdfast.data.nmf.queries import HistogramQuery, Reader
from holdfast.data.nmf.tree import by_length, spine_of
from holdfast.lattice.arrays import IntArray
from holdfast.spec.codebook import CENSUS_2020
from holdfast.system.errors import DataError, SpecError
from holdfast.system.progress import steps
from holdfast.system.ways import option

NOISES: tuple[Noise, ...] = ("gaussian", "laplace")


def open_measurements(
    folder: str | Path,
    out: str | Path,
    *,
    codebook: str | Path | None = None,
    invariants: str | Path | None = None,
    within: Sequence[str] = (),
    noise: str = "gaussian",
) -> OpenedMeasurements:
    """Read noisy measurements in the layout of the 2020 census products, and write them as a folder.

    Args:
        folder: the files of one set of measurements, of persons or of units.
        out: the new folder, on which `intervals`, `infer` and `estimate` work.
        codebook: a TOML file with the levels of attributes, and what recodes put together; `codebook.toml` in
            the folder unless another one is named.
        invariants: a file with sums that are published elsewhere: geocode, value, and level where that has to
            be said.
        within: nodes of one level; what lies in them is opened, and nothing else.
        noise: the law of the noise.

    >>> columns = {"geocode": ["0", "01", "02"], "query_name": "total", "query_shape": [[1]] * 3}
    >>> rows = pl.DataFrame({**columns, "value": [[9], [4], [6]], "variance": 2.0})
    >>> rows.write_parquet("files.parquet")
    >>> hf.open_measurements("files.parquet", "opened").sizes
    (1, 2)

    """
    found = read_measurements(folder, codebook=codebook, invariants=invariants, within=within, noise=noise)
    found.write(out)
    return found


def read_measurements(
    folder: str | Path,
    *,
    codebook: str | Path | None = None,
    invariants: str | Path | None = None,
    within: Sequence[str] = (),
    noise: str = "gaussian",
) -> OpenedMeasurements:
    """Return what the files of a folder say."""
    law = next((each for each in NOISES if each == noise), None)
    if law is None:
        raise SpecError(f"{option('noise')} is {noise!r}: write {' or '.join(NOISES)}.")
    folder = Path(folder)
    beside = folder / CODEBOOK if (folder / CODEBOOK).is_file() else None
    book = CENSUS_2020.with_file(beside if codebook is None else Path(codebook))
    files = found_files(folder)
    blocks = [block for file in steps(files, "reading measurements") for block in blocks_of(file)]
    noisy = _by_level([block for block in blocks if block.sign is None])
    if not noisy:
        raise DataError(f"{folder} has no measurement with a variance: name a folder of noisy measurements.")
    sure = _by_level([block for block in blocks if block.sign is not None])
    if len(noisy) == 1:
        noisy, sure = _split(noisy, sure)
    levels: dict[str, list[str]] = {}
    for name, each in (*noisy.items(), *((name, each) for name, each in sure.items() if name in noisy)):
        levels.setdefault(name, []).extend(code for block in each for code in block.codes)
    spine = spine_of(levels, within)
    reader = Reader.of([block for each in noisy.values() for block in each], book, list(levels))
    queries, measured = _measured(noisy, reader, spine)
    known, warnings = _known(sure, reader, spine)
    if invariants is not None:
        known += _published(Path(invariants), reader, spine)
    require_consistent(known, spine, reader.histogram)
    usual = [] if within else list(sure)
    warnings = [*complete(spine, levels, usual, queries, measured), *warnings]
    source = {
        each.path.relative_to(folder).as_posix() if folder.is_dir() else each.path.name: _digest(each.path)
        for each in files
    }
    return OpenedMeasurements(
        spine, reader.histogram, law, queries, measured, tuple(known), source, tuple(warnings)
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_level(blocks: Iterable[QueryBlock]) -> dict[str, list[QueryBlock]]:
    found: dict[str, list[QueryBlock]] = {}
    for block in blocks:
        found.setdefault(block.level or "", []).append(block)
    return found


def _split(
    noisy: Mapping[str, list[QueryBlock]], sure: Mapping[str, list[QueryBlock]]
) -> tuple[dict[str, list[QueryBlock]], dict[str, list[QueryBlock]]]:
    """Return one level as several, by the lengths of codes, where these differ."""
    ((name, blocks),) = noisy.items()
    every = list(dict.fromkeys(code for block in blocks for code in block.codes))
    parts = by_length(every)
    if len(parts) == 1:
        known = [block for each in sure.values() for block in each]
        return {name or "level": blocks}, {name or "level": known}
    return _parted(blocks, parts), _parted([block for each in sure.values() for block in each], parts)


def _parted(blocks: Sequence[QueryBlock], parts: Mapping[str, list[str]]) -> dict[str, list[QueryBlock]]:
    found: dict[str, list[QueryBlock]] = {}
    for name, codes in parts.items():
        inside = set(codes)
        for block in blocks:
            kept = np.array([at for at, code in enumerate(block.codes) if code in inside], dtype=np.int64)
            if kept.size:
                found.setdefault(name, []).append(block.some(kept))
    return found


def _measured(
    levels: Mapping[str, list[QueryBlock]], reader: Reader, spine: Spine
) -> tuple[tuple[HistogramQuery, ...], tuple[MeasuredSums, ...]]:
    queries: dict[str, HistogramQuery] = {}
    found = []
    for place, name in enumerate(spine.levels.names):
        for block in _together(levels.get(name, ())):
            query = reader.query(block)
            if queries.setdefault(query.name, query) != query:
                raise DataError(
                    f"{block.path} has {block.query} counting something else at the level {name} than at"
                    " another: give it another name there."
                )
            nodes, kept = _places(spine.codes(name), block)
            if nodes.size:
                one = block.some(kept)
                at = list(queries).index(query.name)
                found.append(MeasuredSums(place, at, nodes, one.values, one.variances))
    if not found:
        raise DataError("nothing was measured of the nodes that are named: name others.")
    return tuple(queries.values()), tuple(found)


def _known(
    levels: Mapping[str, list[QueryBlock]], reader: Reader, spine: Spine
) -> tuple[list[KnownQuery], list[str]]:
    found, warnings = [], []
    for place, name in enumerate(spine.levels.names):
        for block in _together(levels.get(name, ())):
            try:
                query = reader.query(block)
            except DataError:
                said = ", ".join(f"{column} {text}" for column, text in block.axes.items() if text != "*")
                warnings.append(
                    f"the constraint {block.query} of the level {name} was left out, as nothing says what it"
                    f" counts ({said or 'no column names it'}): a codebook may."
                )
                continue
            nodes, kept = _places(spine.codes(name), block)
            if not nodes.size:
                continue
            sign: Sign = block.sign or "="  # type: ignore[assignment]
            some = block.some(kept)
            found.append(KnownQuery(place, query, sign, nodes, some.values))
            if sign == "=" and nodes.size < len(spine.codes(name)):
                warnings.append(
                    f"the constraint {block.query} is of {nodes.size:,} of the"
                    f" {len(spine.codes(name)):,} nodes"
                    f" of the level {name}: counts keep it, and intervals do without it."
                )
    return found, warnings


def _together(blocks: Sequence[QueryBlock]) -> list[QueryBlock]:
    """Return one block for each query and sign."""
    named: dict[tuple[str, str | None], list[QueryBlock]] = {}
    for block in blocks:
        named.setdefault((block.query, block.sign), []).append(block)
    return [joined(each) for each in named.values()]


def _places(codes: Sequence[str], block: QueryBlock) -> tuple[IntArray, IntArray]:
    """Return the places of the nodes of a block on their level, rising, and which of its rows they are."""
    known = {code: at for at, code in enumerate(codes)}
    pairs = sorted((known[code], row) for row, code in enumerate(block.codes) if code in known)
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _published(path: Path, reader: Reader, spine: Spine) -> list[KnownQuery]:
    """Return the totals of nodes that a file tells: a column geocode, value, and level if it has one."""
    source = open_file(path)
    for column in ("geocode", "value"):
        if column not in source.header:
            raise DataError(
                f"{path} has no column {column!r}: published sums have geocode and value, and level."
            )
    columns = [name for name in ("geocode", "value", "level") if name in source.header]
    loaded = dict(zip(columns, source.load([source.header.index(name) for name in columns]), strict=True))
    codes = as_text(source, loaded["geocode"]).to_list()
    numbers = as_text(source, loaded["value"]).cast(pl.Int64, strict=False)
    if numbers.null_count():
        row = int(numbers.is_null().arg_true()[0])
        raise DataError(f"{source.place(row, 'value')} is no whole number: a published sum is one.")
    sizes = numbers.cast(pl.Float64).abs()
    if sizes.sum() > LARGEST:
        row = int(sizes.arg_max() or 0)
        raise DataError(
            f"{source.place(row, 'value')} is {numbers[row]}: sums of more than 2^53 are not exact, and no"
            " counts of records."
        )
    levels = as_text(source, loaded["level"]).to_list() if "level" in loaded else [None] * len(codes)
    told: dict[int, dict[int, int]] = {}
    known = [{code: at for at, code in enumerate(each.levels)} for each in spine.levels]
    for row, (code, level, value) in enumerate(zip(codes, levels, numbers.to_list(), strict=True)):
        names = [name for name in spine.levels.names if level in (None, name)]
        place = next(
            (spine.levels.axis(name) for name in names if code in known[spine.levels.axis(name)]), None
        )
        if place is None:
            raise DataError(
                f"{source.place(row, 'geocode')} is {code!r}, which is no node of the measurements."
            )
        node = known[place][code]
        if told.setdefault(place, {}).setdefault(node, value) != value:
            raise DataError(
                f"{source.place(row, 'value')} is another number of {code!r} than before: keep one."
            )
    query = HistogramQuery("total", (None,) * len(reader.histogram.levels))
    found = []
    for place, each in sorted(told.items()):
        name, size = spine.levels.names[place], len(spine.codes(spine.levels.names[place]))
        if len(each) < size:
            raise DataError(
                f"{path} has {len(each):,} of the {size:,} nodes of the level {name}: an invariant is"
                " known at"
                " every node of a level, so list all of them."
            )
        nodes = np.array(sorted(each), dtype=np.int64)
        values = np.array([[each[node]] for node in nodes.tolist()], dtype=np.int64)
        found.append(KnownQuery(place, query, "=", nodes, values))
    return found
