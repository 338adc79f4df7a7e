"""A release of swapped records: its files, what they tell, and what a failure on the way costs."""

import errno
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import (
    KINDS,
    asked,
    households,
    persons,
    records,
    released,
    typed,
    with_ids,
)

import holdfast
import holdfast.releases.handover
from holdfast.certificate.read import read_certificate
from holdfast.ledger.account import Ledger
from holdfast.ledger.verify import verify_ledger
from holdfast.mechanisms.swapping import embedded
from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.mechanisms.swapping.outputs import SwappedOutput
from holdfast.releases.resume import ChargedError
from holdfast.spec.model import Spec
from holdfast.system.drafts import Draft
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.files import PREFIX


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


# what is written


def test_the_files_of_a_release(tmp_path: Path) -> None:
    done = released(tmp_path, households(), **KINDS["records"])
    assert {path.name for path in done.folder.iterdir()} == {
        "certificate.html",
        "certificate.json",
        "microdata.parquet",
        "table.csv",
    }
    assert {path.name for path in tmp_path.iterdir()} == {"households.parquet", "out", "out-utility.json"}
    assert holdfast.verify(done.folder).kept
    assert done.to_dict()["utility"] == str(tmp_path / "out-utility.json")


def test_the_table_counts_the_records(tmp_path: Path) -> None:
    released(
        tmp_path,
        households(),
        data={"cells": ["county", "tenure"], "levels": {"tenure": ["own", "rent", "free"]}},
    )
    table = pl.read_csv(tmp_path / "out/table.csv", infer_schema=False)
    found = pl.read_parquet(tmp_path / "out/microdata.parquet")
    for county, tenure, count in table.iter_rows():
        assert int(count) == found.filter((pl.col("county") == county) & (pl.col("tenure") == tenure)).height
    assert table.height == found["county"].n_unique() * 3


def test_columns_types_and_their_order_stay(tmp_path: Path) -> None:
    released(tmp_path, typed(), mechanism={"stratify": ["s"], "swap": ["c"]})
    one, two = (pq.read_schema(tmp_path / name) for name in ("households.parquet", "out/microdata.parquet"))
    assert two.equals(one)
    assert two.metadata is None or b"pandas" not in two.metadata


def test_table_in_parquet_and_records_as_they_came(tmp_path: Path) -> None:
    pl.DataFrame(households()).write_csv(tmp_path / "data.csv")
    spec = asked(tmp_path, "data.csv", data={"cells": ["county"]})
    folder = holdfast.release(spec, tmp_path / "out", parquet=True, seed=1, accept_no_protection=True).folder
    assert {path.name for path in folder.iterdir()} == {
        "certificate.html",
        "certificate.json",
        "microdata.csv",
        "table.parquet",
    }
    assert holdfast.verify(folder).kept


def test_two_runs_from_one_seed_are_equal_and_others_are_not(tmp_path: Path) -> None:
    bytes_of = {}
    for name, seed in (("one", 1), ("two", 1), ("three", 2), ("four", None), ("five", None)):
        (tmp_path / name).mkdir()
        released(tmp_path / name, households(300), seed=seed)
        bytes_of[name] = (tmp_path / name / "out/microdata.parquet").read_bytes()
    assert bytes_of["one"] == bytes_of["two"]
    assert len(set(bytes_of.values())) == 4


# what order tells


ODD = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1] * 20, pa.int32()), ["x", "y", "z", "unused"])
OTHER = pa.array(ODD.to_pylist()).dictionary_encode()


def in_order(table: pa.Table, folder: Path, **options: Any) -> bytes:
    """Release a file that was written in its own way, and return the released records."""
    folder.mkdir()
    pq.write_table(table, folder / "households.parquet", **options)
    holdfast.release(
        asked(folder, "households.parquet", data={"cells": ["county"]}),
        folder / "out",
        seed=9,
        accept_no_protection=True,
    )
    return (folder / "out/microdata.parquet").read_bytes()


def test_the_release_depends_on_no_order_of_the_input(tmp_path: Path) -> None:
    """Rows, row groups, dictionaries, notes and statistics of the input leave no trace."""
    plain = households().append_column("category", ODD)
    one = in_order(plain, tmp_path / "plain")
    assert in_order(shuffled(plain), tmp_path / "shuffled") == one
    assert in_order(shuffled(plain, 1), tmp_path / "groups", row_group_size=7) == one
    assert in_order(households().append_column("category", OTHER), tmp_path / "dictionary") == one
    noted = plain.replace_schema_metadata({"pandas": "{}"})
    assert in_order(noted, tmp_path / "noted", compression="gzip", write_statistics=False) == one
    certificates = [
        json.loads((tmp_path / name / "out/certificate.json").read_text()) for name in ("plain", "groups")
    ]
    for certificate in certificates:
        del certificate["created"], certificate["digest"], certificate["files"]["certificate.html"]
    assert certificates[0] == certificates[1]


def test_csv_depends_on_no_order_of_the_input(tmp_path: Path) -> None:
    found = []
    for name, table in (("one", households()), ("two", shuffled(households()))):
        (tmp_path / name).mkdir()
        pl.DataFrame(table).write_csv(tmp_path / name / "data.csv")
        holdfast.release(
            asked(tmp_path / name, "data.csv"), tmp_path / name / "out", seed=9, accept_no_protection=True
        )
        found.append((tmp_path / name / "out/microdata.csv").read_bytes())
    assert found[0] == found[1]


def test_the_release_tells_nothing_of_who_moved(tmp_path: Path) -> None:
    """Of two files that a swap makes equal, the certificates are equal too, but for the time."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    released(one, households(), **KINDS["records"])
    swapped = pq.read_table(one / "out/microdata.parquet")
    assert records(swapped) != records(households())
    released(two, swapped, **KINDS["records"])
    certificates = [json.loads((folder / "out/certificate.json").read_text()) for folder in (one, two)]
    for certificate in certificates:
        for name in ("created", "digest", "files"):
            del certificate[name]
    assert certificates[0] == certificates[1]


def test_nothing_shown_tells_how_many_moved(tmp_path: Path) -> None:
    done = released(tmp_path, households(500))
    moved = json.loads((tmp_path / "out-utility.json").read_text())["moved"]
    assert moved > 100
    for shown in (repr(done), json.dumps(done.to_dict()), (tmp_path / "out/certificate.html").read_text()):
        assert f" {moved} " not in shown
        assert "share_moved" not in shown


# failures


def drafts(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PREFIX}*"))


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def stop(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    pq.write_table(households(), tmp_path / "households.parquet")
    return asked(tmp_path, "households.parquet", data={"cells": ["county"]})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "account.db", standard="pure", budget=Fraction(50))


STEPS: list[tuple[object, str]] = [
    (SwappedOutput, "write"),
    (embedded, "swap_group"),
    (Draft, "free"),
    (Draft, "seal"),
    (Ledger, "complete"),
]


@pytest.mark.parametrize("failure", [full, stop])
@pytest.mark.parametrize(("place", "name"), STEPS)
def test_a_failure_after_the_charge_is_told_and_resumed(
    place: object, name: str, failure: Any, spec: Spec, ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, failure)
        with pytest.raises(ChargedError, match=r"row 1 of .* is charged, and .*resume=1"):
            holdfast.release(spec, tmp_path / "out", ledger=ledger, accept_no_protection=True)
    spent = ledger.spent()
    assert spent > 0
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out-utility.json").exists()
    done = holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, accept_no_protection=True)
    assert ledger.spent() == spent
    assert done.report is not None
    assert holdfast.verify(done.folder).kept
    assert verify_ledger(ledger.path, releases=[done.folder]).kept
    assert not drafts(tmp_path)


def test_nobody_else_may_look_before_the_completion(
    spec: Spec, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete, seen = Ledger.complete, list[int]()

    def look(self: Ledger, *given: Any, **named: Any) -> Any:
        seen.extend(path.stat().st_mode & 0o077 for path in tmp_path.glob(".holdfast-*"))
        return complete(self, *given, **named)

    monkeypatch.setattr(Ledger, "complete", look)
    holdfast.release(spec, tmp_path / "out", ledger=ledger, accept_no_protection=True)
    assert seen == [0]


def test_a_whole_release_without_its_name_gets_it(spec: Spec, ledger: Ledger, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "publish", stop)
        with pytest.raises(ChargedError, match="its release is whole in"):
            holdfast.release(spec, tmp_path / "out", ledger=ledger, accept_no_protection=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "swap_group", stop)  # nothing is drawn again
        done = holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, accept_no_protection=True)
    assert done.report is None
    assert holdfast.verify(tmp_path / "out").kept
    assert verify_ledger(ledger.path, releases=[tmp_path / "out"]).kept


@pytest.mark.parametrize("change", [{"mechanism": {"rate": "1/3"}}, {"mechanism": {"swap": ["tenure"]}}])
def test_only_the_same_release_is_drawn_for_a_row(
    change: dict[str, Any], spec: Spec, ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "swap_group", stop)
        with pytest.raises(ChargedError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger, accept_no_protection=True)
    sections = {"data": {"cells": ["county"]}, **change}
    with pytest.raises(HoldfastError):
        holdfast.release(
            asked(tmp_path, "households.parquet", **sections),
            tmp_path / "out",
            ledger=ledger,
            resume=1,
            accept_no_protection=True,
        )
    assert not (tmp_path / "out").exists()
    holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, accept_no_protection=True)


@pytest.mark.parametrize(
    "step", [(holdfast.releases.handover, "write_page"), (Draft, "reserve"), (Draft, "__init__")]
)
def test_what_fails_before_the_charge_costs_nothing(
    step: tuple[object, str], spec: Spec, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*step, full)
    with pytest.raises((OSError, ReleaseError)):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, accept_no_protection=True)
    assert ledger.spent() == 0
    assert not drafts(tmp_path)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out-utility.json").exists()


def test_a_process_that_is_killed_while_it_swaps_is_resumed(
    spec: Spec, ledger: Ledger, tmp_path: Path
) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.mechanisms.swapping.small import asked\n"
        "import holdfast\n"
        "from holdfast.mechanisms.swapping import embedded\n"
        "embedded.swap_group = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "folder = Path(sys.argv[1])\n"
        "spec = asked(folder, 'households.parquet', data={'cells': ['county']})\n"
        "holdfast.release(spec, folder / 'out', ledger=folder / 'account.db', accept_no_protection=True)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[3], check=False
    )
    assert ran.returncode == -9
    assert ledger.spent() > 0
    assert not (tmp_path / "out").exists()
    holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, accept_no_protection=True)
    assert holdfast.verify(tmp_path / "out").kept
    assert not drafts(tmp_path)


def test_a_report_that_cannot_be_written_is_told_and_the_release_is_there(
    spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.releases.handover.write_new_text", full)
    with pytest.raises(ReleaseError, match="is written, but the curator's report cannot be"):
        holdfast.release(spec, tmp_path / "out", accept_no_protection=True)
    assert holdfast.verify(tmp_path / "out").kept


@pytest.mark.parametrize("kind", KINDS)
def test_every_shape_is_charged_and_verified_with_its_ledger(
    kind: str, ledger: Ledger, tmp_path: Path
) -> None:
    table = with_ids(households())
    pq.write_table(table, tmp_path / "households.parquet")
    pq.write_table(persons(table), tmp_path / "persons.parquet")
    done = holdfast.release(
        asked(tmp_path, "households.parquet", **KINDS[kind]),
        tmp_path / "out",
        ledger=ledger,
        accept_no_protection=True,
    )
    assert ledger.spent() == done.certificate.guarantee.intensity["epsilon"]
    assert verify_ledger(ledger.path, releases=[done.folder]).kept
    assert read_certificate(done.folder) == done.certificate


def test_columns_of_every_type_are_charged(ledger: Ledger, tmp_path: Path) -> None:
    pq.write_table(typed(), tmp_path / "data.parquet")
    spec = asked(tmp_path, "data.parquet", mechanism={"stratify": ["s"], "swap": ["c"]})
    holdfast.release(spec, tmp_path / "out", ledger=ledger, accept_no_protection=True)
    pq.write_table(shuffled(typed()), tmp_path / "data.parquet")
    spent = ledger.spent()
    holdfast.release(
        spec, tmp_path / "again", ledger=ledger, accept_no_protection=True
    )  # the same records, so the same account
    assert ledger.spent() == 2 * spent


# options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"utility": "out/report.json"}, "is inside of the release"),
        ({"utility": "there.json"}, "exists already"),
        ({"utility": "report.txt"}, "end it with .json"),
        ({"utility": "nowhere/report.json"}, "does not exist: create it first"),
        ({"engine": "foo"}, "there is no engine 'foo': choose embedded or spark"),
        ({"quote_formulas": True}, "leave out the argument quote_formulas"),
        ({"resume": 1}, "name the ledger too"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: dict[str, Any], said: str, spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReleaseError, match=said):
        holdfast.release(spec, tmp_path / "out", **options, accept_no_protection=True)
    assert not (tmp_path / "out").exists()
    assert not drafts(tmp_path)
    assert (tmp_path / "there.json").read_text() == "{}"


def test_frames_are_released(tmp_path: Path) -> None:
    for name, frame in (
        ("arrow", typed()),
        ("polars", pl.DataFrame(households())),
        ("pandas", households().to_pandas()),
    ):
        columns = {"stratify": ["s"], "swap": ["c"]} if name == "arrow" else {}
        done = holdfast.release(
            asked(mechanism=columns), tmp_path / name, data=frame, seed=1, accept_no_protection=True
        )
        assert holdfast.verify(done.folder).kept, name


def test_an_enumeration_of_polars_stays_one(tmp_path: Path) -> None:
    frame = pl.DataFrame(households()).with_columns(pl.col("tenure").cast(pl.Enum(["own", "rent", "none"])))
    frame.write_parquet(tmp_path / "in.parquet")
    holdfast.release(
        asked(tmp_path, "in.parquet"),
        tmp_path / "out",
        data=tmp_path / "in.parquet",
        seed=1,
        accept_no_protection=True,
    )
    assert pl.read_parquet(tmp_path / "out" / "microdata.parquet").schema == frame.schema


def test_the_curators_report_stays_out_of_other_releases(tmp_path: Path) -> None:
    holdfast.release(asked(), tmp_path / "one", data=households(), seed=1, accept_no_protection=True)
    with pytest.raises(ReleaseError, match=r"sub-utility.json is inside of a release"):
        holdfast.release(
            asked(), tmp_path / "one" / "sub", data=households(), seed=1, accept_no_protection=True
        )
    assert not (tmp_path / "one" / "sub").exists()


def test_a_target_that_no_rate_reaches_has_no_two_rates(tmp_path: Path) -> None:
    far = asked(mechanism={"rate": None}, privacy={"epsilon": "60"})
    found = holdfast.release(
        far, tmp_path / "far", data=households(), seed=1, accept_no_protection=True
    ).certificate
    assert not swapping_of(found.records)[1].swapping.two_rates
    near = asked(mechanism={"rate": None}, privacy={"epsilon": "6"})
    found = holdfast.release(
        near, tmp_path / "near", data=households(), seed=1, accept_no_protection=True
    ).certificate
    assert swapping_of(found.records)[1].swapping.two_rates
