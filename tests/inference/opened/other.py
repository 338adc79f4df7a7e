"""Files of noisy measurements as other code writes them, and the estimates of one dense problem."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# a state with two counties, four tracts and eight blocks; codes as on the spine of 2020
CODES = {
    "US": ["0"],
    "State": ["044"],
    "County": ["044001", "044003"],
    "Tract": ["04400100", "04400101", "04400300", "04400301"],
    "Block": [
        f"0440{county}{tract}{block}" for county in ("01", "03") for tract in ("00", "01") for block in "12"
    ],
}
SIZES = (3, 2)
"""Of the attributes colour and size; every block has six cells."""
SHAPES = {"total": (1, 1), "colour": (3, 1), "size": (1, 2), "detailed": (3, 2)}
VARIANCES = {"total": 4.25, "colour": 9.5, "size": 40.0, "detailed": 100.0}


def truth() -> dict[str, np.ndarray]:
    """Return the counts of all nodes, by level: one line a node, six cells."""
    leaves = np.random.default_rng(1).poisson(30, size=(8, 6))
    leaves[:, 5] = 0  # nobody is of the third colour and the second size
    return {
        level: np.stack([leaves[inside(level, code)].sum(axis=0) for code in codes])
        for level, codes in CODES.items()
    }


def inside(level: str, code: str) -> list[int]:
    return [at for at, block in enumerate(CODES["Block"]) if level == "US" or block.startswith(code)]


def rows_of(query: str) -> np.ndarray:
    """Return the rows of a query over six cells."""
    parts = [np.eye(n) if size > 1 else np.ones((1, n)) for n, size in zip(SIZES, SHAPES[query], strict=True)]
    return np.kron(*parts)


def measured(variance: Mapping[tuple[str, str], float] | None = None) -> list[dict[str, Any]]:
    """Return a row for each node and query; some nodes have another variance, or none."""
    other, rng = variance or {}, np.random.default_rng(2)
    found = []
    for level, tables in truth().items():
        for code, table in zip(CODES[level], tables, strict=True):
            for query, shape in SHAPES.items():
                v = other.get((code, query), VARIANCES[query])
                values = np.rint(
                    rows_of(query) @ table + rng.normal(size=int(np.prod(shape))) * min(v, 99) ** 0.5
                )
                if np.isfinite(v):
                    found.append(
                        {
                            "level": level,
                            "geocode": code,
                            "query_name": f"{query}_dpq",
                            "colour": axis("colour", query, shape[0]),
                            "size": axis("size", query, shape[1]),
                            "query_shape": list(shape),
                            "value": values.astype(int).tolist(),
                            "variance": v,
                            "plb": 0.1,
                        }
                    )
    return found


def axis(name: str, query: str, size: int) -> str:
    return "detailed" if query == "detailed" else name if size > 1 else "*"


def constraints() -> list[dict[str, Any]]:
    """Return the total of the state, and no more than is there of each colour in the counties."""
    tables = truth()
    found = []
    for level, query, sign, shape in (
        ("State", "total", "=", (1, 1)),
        ("US", "total", "=", (1, 1)),
        ("County", "colour", "<=", (3, 1)),
    ):
        for code, table in zip(CODES[level], tables[level], strict=True):
            found.append(
                {
                    "level": level,
                    "geocode": code,
                    "query_name": f"{query}_con",
                    "sign": sign,
                    "colour": axis("colour", query, shape[0]),
                    "size": "*",
                    "query_shape": list(shape),
                    "value": (rows_of(query) @ table).astype(int).tolist(),
                    "variance": 0.0,
                }
            )
    return found


SCHEMA = {"query_shape": pa.list_(pa.int32()), "value": pa.list_(pa.int32()), "variance": pa.float32()}


def write(path: Path, rows: Sequence[Mapping[str, Any]], without: Sequence[str] = ("level",)) -> None:
    """Write rows as they are on the disks of others: lists of 32 bits, and floats of 32."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [name for name in rows[0] if name not in without]
    columns = {name: pa.array([row[name] for row in rows], SCHEMA.get(name)) for name in names}
    pq.write_table(pa.table(columns), path)


def layout(folder: Path, rows: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]] = ()) -> Path:
    """Write the layout of 2020: a folder for each level, measurements by state, constraints beside them."""
    for role, some in (("DPQuery", rows), ("Constraint", known)):
        for level in CODES:
            own = [row for row in some if row["level"] == level]
            if own:
                parts = own[: len(own) // 2], own[len(own) // 2 :]
                for number, part in enumerate(parts):
                    if part:
                        write(
                            folder / f"{level}.parquet" / role / "State=044" / f"part-{number}.parquet", part
                        )
    return folder


def dense(
    rows: Sequence[Mapping[str, Any]], known: Sequence[tuple[np.ndarray, float]], asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimates and variances of queries over all 48 cells, by least squares at once."""
    M, y, v = [], [], []
    for row in rows:
        own = np.zeros((1, 8))
        own[0, inside(row["level"], row["geocode"])] = 1
        matrix = np.kron(own, rows_of(row["query_name"].removesuffix("_dpq")))
        M.append(matrix)
        y += row["value"]
        v += [row["variance"]] * len(matrix)
    A = np.concatenate(M) / np.sqrt(v)[:, None]
    b = np.array(y) / np.sqrt(v)
    C = np.stack([row for row, _ in known]) if known else np.zeros((0, 48))
    c = np.array([value for _, value in known])
    first = np.linalg.pinv(C) @ c if len(C) else np.zeros(48)
    _, sizes, right = np.linalg.svd(C) if len(C) else (None, np.zeros(0), np.eye(48))
    N = right[int((sizes > 1e-9).sum()) :].T
    inverse = np.linalg.pinv((A @ N).T @ (A @ N))
    x = first + N @ inverse @ (A @ N).T @ (b - A @ first)
    return asked @ x, np.einsum("qi,ij,qj->q", asked @ N, inverse, asked @ N)
