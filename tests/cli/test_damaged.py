"""Releases with any field or file replaced, all hashes right: kept, violated or refused, and never a fault.

Too little memory is no verdict: it is told, and nothing is said of the release.
"""

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from tests.certificate.places import Place, at, changed, places
from tests.cli.conftest import Run
from tests.mechanisms.swapping.small import put
from tests.processing.small import DATA, SPEC
from tests.releases.several_tables import write_people
from tests.small_releases import released

import holdfast
from holdfast.certificate.text import canonical, digest
from holdfast.certificate.write import sha256
from holdfast.ledger.account import Ledger
from holdfast.processing.processed import postprocess
from holdfast.system.text import DEEPEST

KINDS = ("table", "tables", "records", "topdown", "processed")
TABLE = "lattice-laplace, zeros and weights"
SHALLOW = 2
"""Steps from the top of a certificate to what is damaged in every place."""


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


VALUES: tuple[Any, ...] = (
    *(None, True, [], {}, [None], {"a": 1}, nested(DEEPEST // 2), nested(2 * DEEPEST)),
    *(0, -1, 2**63, 10**30, 10**399, 10**400, 1e308, 5e-324),
    *("", "NaN", "-Infinity", "-3/2", "1/0", "1e999999999", "9" * 5000, "é\u202e\0", "\ud800", "x" * 70_000),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a release of each kind."""
    home = tmp_path_factory.mktemp("home")
    released(TABLE).write(home / "table")
    released("lattice-laplace").write(home / "parquet", parquet=True)
    released("topdown, bounds, regions").write(home / "topdown")
    holdfast.release(write_people(home), home / "tables", seed=1)
    put("records", home / "records")
    (home / "holdfast.toml").write_text(SPEC)
    (home / "data.csv").write_text(DATA)
    holdfast.release(home / "holdfast.toml", home / "release", seed=3)
    postprocess(home / "release", "rounded-l2", home / "processed", bias_draws=20)
    return home


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a release, and what a processed one is of."""

    def made(kind: str) -> Path:
        if kind == "processed":
            shutil.copytree(home / "release", tmp_path / "release")
        return Path(shutil.copytree(home / kind, tmp_path / kind))

    return made


def sealed(folder: Path, content: dict[str, Any]) -> None:
    """Write a certificate whose hashes and digest are right."""
    body = {key: value for key, value in content.items() if key != "digest"}
    if isinstance(body.get("files"), dict):
        found = {name: sha256(folder / name) for name in body["files"] if (folder / name).is_file()}
        body["files"] = {**body["files"], **found}
    text = canonical({**body, "digest": digest(body)})
    (folder / "certificate.json").write_bytes(text.encode("utf-8", "backslashreplace"))


def content_of(folder: Path) -> dict[str, Any]:
    read = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def damaged(content: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield a certificate with each of some places replaced once, and every fifth one deleted or doubled.

    These are the first of each list, and every third of what is deep in the certificate: each value has its
    turn many times.
    """
    every = [
        place
        for place, _ in places(content)
        if place not in ((), ("digest",)) and all(isinstance(step, str) or step < 1 for step in place)
    ]
    shallow = [place for place in every if len(place) <= SHALLOW]
    tried = shallow + [place for place in every if len(place) > SHALLOW][::3]
    for number, place in enumerate(tried):
        yield place, changed(content, place, VALUES[number % len(VALUES)])
        if number % 5:
            continue
        other = json.loads(json.dumps(content))
        holder = at(other, place[:-1])
        if isinstance(holder, list):
            holder.append(holder[int(place[-1])])
        else:
            del holder[place[-1]]
        yield place, other


def judged(run: Run, *arguments: str | Path) -> int:
    """Run a command, and return its code; an error is one sentence, and a fault none of them."""
    outcome = run(*arguments)
    assert outcome.code in (0, 1, 2), (arguments, outcome.err)
    assert "Traceback" not in outcome.out + outcome.err
    if outcome.code == 2:
        assert outcome.err.startswith("error: ")
        assert outcome.err.count("\n") == 1
    return outcome.code


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_field_holds_verify_comes_to_a_verdict(
    run: Run, copy: Callable[[str], Path], kind: str
) -> None:
    folder = copy(kind)
    content = content_of(folder)
    codes = set()
    for number, (_, other) in enumerate(damaged(content)):
        sealed(folder, other)
        codes.add(judged(run, "verify", folder, "--quick"))
        if number % 50 == 0:
            codes.add(judged(run, "verify", folder))
    assert {1, 2} <= codes
    sealed(folder, content)
    assert judged(run, "verify", folder) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 300, 985, 100_000])
def test_what_is_nested_too_deeply_is_refused(
    run: Run, copy: Callable[[str], Path], kind: str, depth: int, *, quick: bool
) -> None:
    folder = copy(kind)
    path = folder / "certificate.json"
    begin, comma, end = path.read_text(encoding="utf-8").partition(",\n")
    path.write_text(f'{begin},\n  "x": {"[" * depth}{"]" * depth}{comma}{end}', encoding="utf-8")
    outcome = run("verify", folder, *(["--quick"] if quick else []))
    assert outcome.code == 2
    assert outcome.err == f"error: {path} is nested too deeply: restore it from the release.\n"


@pytest.mark.parametrize("text", ["a = " + "[" * 200 + "]" * 200, ".".join("a" * 2000) + " = 1"])
def test_a_spec_that_is_nested_too_deeply_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    for command in (("plan", tmp_path / "s.toml"), ("release", tmp_path / "s.toml", "--out", tmp_path / "o")):
        outcome = run(*command)
        assert outcome.code == 2
        assert "too deep" in outcome.err


# Too little memory


def refuse(error: BaseException) -> Callable[..., Any]:
    def called(*_: object, **__: object) -> Any:
        raise error

    return called


QUICK, CELLS = "holdfast.certificate.quick", "holdfast.certificate.certified_cells"
PAGE = "holdfast.certificate.page.render"
STAGES = (
    ("table", "holdfast.certificate.released_counts._whole_counts"),
    ("table", f"{QUICK}.read_counts"),
    *(("table", f"{CELLS}.{name}") for name in ("Schema.from_dict", "Sums.evaluate")),
    *(
        ("table", f"holdfast.derivation.derive.{name}")
        for name in ("public_of", "certify", "accuracy", "verdict")
    ),
    *(("tables", f"{QUICK}.{name}") for name in ("read_counts", "_margin")),
    ("tables", "holdfast.derivation.several.certify_tables"),
    *(("records", f"holdfast.mechanisms.swapping.file.{name}") for name in ("survey", "open_microdata")),
    *(("records", f"holdfast.derivation.records.{name}") for name in ("read_counts", "certify_records")),
    *(
        ("topdown", f"holdfast.mechanisms.topdown.details.{name}")
        for name in ("read_measurements", "estimated")
    ),
    ("topdown", "holdfast.mechanisms.topdown.measurements.released_parts"),
    *(
        ("processed", f"holdfast.verification.processed.{name}")
        for name in ("certificate_of", "read_column", "process")
    ),
    *((kind, PAGE) for kind in ("table", "tables", "records", "processed")),
)


SHORTAGES = (MemoryError(), pa.ArrowMemoryError(), OSError(errno.ENOMEM, "no memory"))
"""Each of which comes at several stages."""


@pytest.mark.parametrize(("kind", "stage"), STAGES)
def test_too_little_memory_is_no_verdict(
    run: Run, copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, kind: str, stage: str
) -> None:
    folder = copy(kind)
    error = SHORTAGES[STAGES.index((kind, stage)) % len(SHORTAGES)]
    monkeypatch.setattr(stage, refuse(error))
    outcome = run("verify", folder)
    assert outcome.code == 2, (stage, error)
    assert outcome.err == (
        f"error: there is not enough memory to verify {folder}, and nothing is said of it: use a larger"
        " machine.\n"
    )


@pytest.mark.parametrize("stage", ["judge", "store.read"])
def test_too_little_memory_is_no_verdict_on_a_ledger(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    Ledger.create(tmp_path / "l", budget=Fraction(1), standard="pure")
    assert run("ledger", "verify", tmp_path / "l").code == 0
    monkeypatch.setattr(f"holdfast.ledger.verify.{stage}", refuse(MemoryError()))
    outcome = run("ledger", "verify", tmp_path / "l")
    assert outcome.code == 2
    assert "not enough memory to verify" in outcome.err


def test_a_stop_is_no_verdict(run: Run, copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, stage in STAGES[::5]:
        with monkeypatch.context() as patched:
            folder = copy(kind)
            patched.setattr(stage, refuse(KeyboardInterrupt()))
            assert run("verify", folder).code == 130
            shutil.rmtree(folder)
            shutil.rmtree(folder.parent / "release", ignore_errors=True)


# Files


def csv_damages(text: str) -> Iterator[str]:
    head, *rows = text.splitlines(keepends=True)
    first = rows[0].rpartition(",")[0]
    yield ""
    yield head
    yield head + "".join(rows[:-1])
    yield head + "".join([*rows, rows[-1]])
    yield head + "".join([rows[1], rows[0], *rows[2:]])
    for value in ("", "-1", "1.0", "1e3", "9" * 30, "9" * 5000, "NaN", "null", "é", "\0", '"', "=1+1", "1,1"):
        yield head + f"{first},{value}\n" + "".join(rows[1:])
    yield text[: len(text) // 2]
    yield "\ufeff" + text
    yield text.replace("\n", "\r\n")


@pytest.mark.parametrize("kind", ["table", "tables", "records", "topdown", "processed"])
def test_whatever_a_table_holds_verify_comes_to_a_verdict(
    run: Run, copy: Callable[[str], Path], kind: str
) -> None:
    folder = copy(kind)
    content = content_of(folder)
    path = next(iter(sorted(folder.glob("*.csv"))))
    for text in csv_damages(path.read_text(encoding="utf-8")):
        path.write_bytes(text.encode())
        sealed(folder, content)
        for options in ((), ("--quick",)):
            assert judged(run, "verify", folder, *options) == 1


def frame_damages(frame: pl.DataFrame, number: str) -> Iterator[pl.DataFrame]:
    """Yield frames that are not what was released."""
    yield frame.head(0)
    yield frame.head(frame.height - 1)
    yield pl.concat([frame, frame.tail(1)])
    yield frame.reverse()
    yield frame.drop(number)
    yield frame.rename({number: "other"})
    for kind in (pl.Float64, pl.String, pl.Int8, pl.Boolean, pl.Null, pl.List(pl.Int64), pl.Date):
        empty = pl.Series(number, [None] * frame.height, dtype=kind)
        filled = frame[number].cast(kind) if kind in (pl.Float64, pl.String, pl.Boolean) else empty
        yield frame.with_columns(filled)
    for value in (-1, None, -(2**63)):
        first = pl.Series(number, [value, *frame[number].to_list()[1:]], dtype=pl.Int64)
        yield frame.with_columns(first)
    text = next(name for name in frame.columns if frame[name].dtype == pl.String)
    yield frame.with_columns(pl.lit(None, pl.String).alias(text))
    yield frame.with_columns(pl.lit("x" * 70_000).alias(text))
    yield frame.with_columns(pl.lit(1).alias(text))


@pytest.mark.parametrize(
    ("kind", "name", "number"),
    [
        ("parquet", "table.parquet", "n"),
        ("topdown", "measurements.parquet", "value"),
        ("records", "microdata.parquet", "income"),
    ],
)
def test_whatever_parquet_holds_verify_comes_to_a_verdict(
    run: Run, copy: Callable[[str], Path], kind: str, name: str, number: str
) -> None:
    folder = copy(kind)
    content, path = content_of(folder), folder / name
    whole, frame = path.read_bytes(), pl.read_parquet(path)
    for place, other in enumerate(frame_damages(frame, number)):
        other.write_parquet(path)
        sealed(folder, content)
        free = kind != "parquet" and other.schema == frame.schema and other.height == frame.height
        quick = judged(run, "verify", folder, "--quick")
        if place % 3 == 0 or (quick != 1 and kind != "topdown"):  # what takes long is not done for all
            assert judged(run, "verify", folder) == 1 or (free and not other[number].null_count())
    for part in (0, len(whole) // 3, len(whole) - 1):
        path.write_bytes(whole[:part])
        sealed(folder, content)
        assert judged(run, "verify", folder) == 1
        judged(run, "verify", folder, "--quick")
