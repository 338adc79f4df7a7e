"""Folders of every kind, as released and changed in many ways: what every verifier must agree on."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
from tests.certificate.falsify import forgeries, write
from tests.certificate.places import changed as changed_at
from tests.certificate.places import places
from tests.certificate.test_quick import CERTIFICATES, TABLES, WHOLE
from tests.mechanisms.swapping.small import asked, put
from tests.mechanisms.swapping.test_verify import TAMPERED
from tests.processing.small import DATA
from tests.processing.small import SPEC as PROCESSED
from tests.processing.test_verify import WRONG
from tests.releases.people_and_units import spec
from tests.releases.several_tables import write_people
from tests.small_releases import released

import holdfast
from holdfast.certificate.text import canonical, digest
from holdfast.processing.processed import postprocess

KINDS = (
    WHOLE,
    "lattice-laplace, told",
    "lattice-laplace, bounded noise",
    "lattice-laplace, nested",
    "conditioned, inequalities",
    "topdown, bounds, regions",
    "noisy-count, strata",
    "k-norm-gradient, quantile",
    "k-norm-gradient, linear",
)
ODD: list[tuple[int, dict[str, Any]]] = [
    (0, {"values": [12.0, 8]}),
    (0, {"values": [True, 8]}),
    (0, {"values": [10**30, 8]}),
    (0, {"attributes": ["sex"] * 40}),
    (0, {"attributes": ["nothing"]}),
    (0, {"kind": "sum"}),
    (0, {"where": {"age": ["none"]}}),
    (0, {"where": []}),
    (0, {"labels": ""}),
    (2, {"weights": [2, 2, 10**30]}),
    (2, {"cells": [0, 1, 10**9]}),
    (2, {"rows": [0, 0, -1]}),
]
NAMES = ("../table.csv", "sub/x", "a\\b", "..", "", "other.txt", "TABLE.CSV", "__proto__")
HEADER, BODY = "town;kind;income", [f"{'=a' if at % 3 else 'b é'};{at % 4};{at % 7}" for at in range(40)]


def good(place: Path, kinds: Sequence[str] = KINDS) -> Iterator[Path]:
    """Write releases of every kind."""
    for kind in kinds:
        yield released(kind).write(place / kind)
    yield released(WHOLE).write(place / "parquet", parquet=True)
    yield released("lattice-laplace, told").write(place / "told in parquet", parquet=True)
    work = place / "work"
    work.mkdir()
    yield holdfast.release(write_people(work), place / "several", seed=1).folder
    together = spec(place / "files", publication={"status": True, "formats": ["csvw", "assessment"]})
    yield holdfast.release(together, place / "together", seed=2).folder
    (work / "processed.toml").write_text(PROCESSED)
    (work / "data.csv").write_text(DATA)
    holdfast.release(work / "processed.toml", place / "raw", seed=3)
    for method in ("nonnegative-l2", "rounded-l2"):
        postprocess(place / "raw", method, place / method, bias_draws=2)
        yield place / method
    yield put("records", place / "records")
    yield put("households", place / "households")
    (work / "homes.csv").write_text("\n".join([HEADER, *BODY, ""]), encoding="utf-16")
    swapped = asked(
        work,
        "homes.csv",
        data={"cells": ["town", "kind"], "separator": ";", "encoding": "utf-16"},
        mechanism={"stratify": ["kind"], "swap": ["town"]},
        invariants=[{"margin": ["kind"], "where": {"income": [1, 3]}}, {"total": True}, {"margin": ["town"]}],
    )
    yield holdfast.release(swapped, place / "swapped", seed=1, accept_no_protection=True).folder


def content_of(folder: Path) -> dict[str, Any]:
    read = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def absurd(content: dict[str, Any], chance: Random) -> dict[str, Any]:
    """Return a certificate with a value where no such value belongs."""
    there = [place for place, _ in places(content) if place and place[0] == "parts"]
    found: dict[str, Any] = changed_at(content, chance.choice(there), chance.choice(WRONG))
    return found


def tampered(released: Sequence[Path], place: Path, forged: int = 25) -> Iterator[Path]:
    """Write copies that were changed, most of them with every hash made right again."""
    chance = Random("tampered")

    def copy(folder: Path, name: str) -> Path:
        return Path(shutil.copytree(folder, place / f"{folder.name} {name}"))

    for folder in released:
        for at in range(3):
            changed = copy(folder, f"byte {at}")
            path = chance.choice(sorted(changed.iterdir()))
            content = bytearray(path.read_bytes())
            content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
            path.write_bytes(content)
            yield changed
        changed = copy(folder, "gone")
        chance.choice(sorted(changed.iterdir())).unlink()
        yield changed
        path = next(path for path in sorted(folder.iterdir()) if path.suffix in (".csv", ".parquet"))
        changed = copy(folder, "link")
        (changed / path.name).unlink()
        (changed / path.name).symlink_to(path)
        yield changed
        if content_of(folder)["parts"][0]["kind"] == "table":
            for at, forgery in enumerate(forgeries(content_of(folder), chance, forged)):
                changed = copy(folder, f"forged {at} {forgery.name}")
                write(changed, forgery.content, page=False)
                yield changed
            for at in range(forged // 2):
                changed = copy(folder, f"absurd {at}")
                write(changed, absurd(content_of(folder), chance), page=False)
                yield changed
        if path.suffix == ".csv" and folder.name != "swapped":
            lines = path.read_text(encoding="utf-8").splitlines()
            for at in range(1, len(lines), max(len(lines) // 4, 1)):
                told = "," + lines[at].rpartition(",")[2] if lines[0].endswith(",status") else ""
                begin, _, count = lines[at].removesuffix(told).rpartition(",")
                other = str(float(count) + 1) if "." in count else str(int(count) + 1)
                changed = copy(folder, f"count {at}")
                (changed / path.name).write_text(
                    "\n".join([*lines[:at], f"{begin},{other}{told}", *lines[at + 1 :], ""])
                )
                write(changed, content_of(changed), page=False)
                yield changed
    yield from _texts(place, copy, next(folder for folder in released if folder.name == WHOLE))
    yield from _records(copy, place, {folder.name: folder for folder in released})


def _texts(place: Path, copy: Callable[[Path, str], Path], whole: Path) -> Iterator[Path]:
    for name, change in TABLES.items():
        folder = copy(whole, name)
        table = folder / "table.csv"
        table.write_bytes(change(table.read_bytes().decode()).encode())
        write(folder, content_of(folder), page=False)
        yield folder
    for name, change in CERTIFICATES.items():
        folder = copy(whole, f"certificate, {name}")
        path = folder / "certificate.json"
        path.write_bytes(change(path.read_bytes().decode()).encode())
        yield folder
    for at, name in enumerate(NAMES):
        folder = copy(whole, f"named {at}")
        body = content_of(folder)
        body["files"][name] = "0" * 64
        del body["digest"]
        text = canonical({**body, "digest": digest(body)})
        (folder / "certificate.json").write_text(text, encoding="utf-8")
        yield folder
    for at, (place_of, odd) in enumerate(ODD):
        folder = copy(whole, f"odd {at}")
        body = content_of(folder)
        body["parts"][0]["invariants"][place_of] |= odd
        write(folder, body, page=False)
        yield folder
    folder = copy(whole, "numbers")  # floats and whole numbers as no other language writes them
    body = content_of(folder)
    body["verdict"] |= {"right": 1e16, "sure": 1e-5, "more": [2**53 + 1, -0.0, 1e22, 5e-324, 0.1, 123456.0]}
    body["verdict"]["\U0001f600"] = body["verdict"]["\uffff"] = "é\x7f\u2028"
    write(folder, body, page=False)
    yield folder


def _records(copy: Callable[[Path, str], Path], place: Path, named: dict[str, Path]) -> Iterator[Path]:
    for name, change in TAMPERED.items():
        folder = copy(named["records"], name)
        pq.write_table(change(pq.read_table(folder / "microdata.parquet")), folder / "microdata.parquet")
        write(folder, content_of(folder), page=False)
        yield folder
    text = (named["swapped"] / "microdata.csv").read_bytes().decode("utf-16")
    lines = text.splitlines()
    for at, other in enumerate(
        (
            text.replace("\n=a;1;", "\nb é;1;", 1),
            text.replace(";1;", ";2;", 1),
            text.replace(";6\n", ";7\n", 1),
            text.replace(";6\n", ";\n", 1),
            "\n".join([*lines, lines[-1], ""]),
            "\n".join([*lines[:1], *reversed(lines[1:]), ""]),
            text.replace("town", "home", 1),
            text + '"',
        )
    ):
        folder = copy(named["swapped"], f"records {at}")
        (folder / "microdata.csv").write_bytes(other.encode("utf-16"))
        write(folder, content_of(folder), page=False)
        yield folder
