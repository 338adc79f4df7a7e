"""Noise that is the same each time: one release of one identity, independent noise of two."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.ledger.chain import stream_key
from holdfast.ledger.report import ledger_report
from holdfast.releases.prepared import Drawing, Prepared
from holdfast.releases.repeatable import table_identity
from holdfast.releases.resume import ChargedError
from holdfast.sampling.entropy import KeyedEntropy
from holdfast.system.errors import BudgetError, GuaranteeError, SpecError
from holdfast.testing.goodness import LEVEL, p_value
from holdfast.testing.losses import log_shares

COUNTS = (3, 1, 2, 4)
CELLS = (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"))


def frame(counts: tuple[int, ...] = COUNTS) -> pl.DataFrame:
    rows = [(*cell, n) for cell, n in zip(CELLS, counts, strict=True)]
    return pl.DataFrame(rows, schema=["row", "column", "n"], orient="row")


def spec(period: str | None = None, epsilon: str = "1", **options: Any) -> hf.Spec:
    return hf.Spec.of(
        {
            "data": {"cells": ["row", "column"], "count": "n"},
            "invariants": [{"margin": ["row"]}],
            "privacy": {"unit": "person", "epsilon": epsilon, "adjacency": "unit"},
            "mechanism": {"name": "lattice-laplace", "repeatable": True, **options},
            **({} if period is None else {"publication": {"period": period}}),
        }
    )


@pytest.fixture
def ledger(tmp_path: Path) -> hf.Ledger:
    return hf.Ledger.create(tmp_path / "people.ledger", standard="pure", budget=Fraction(3))


def counts(prepared: Prepared, ledger: hf.Ledger) -> list[int]:
    found: list[int] = prepared.release(ledger=ledger, accept_no_protection=True).table.counts.tolist()
    return found


def test_the_same_table_has_the_same_noise_and_costs_once(ledger: hf.Ledger) -> None:
    first = counts(hf.prepare(spec(), frame()), ledger)
    for again in range(2, 5):
        assert counts(hf.prepare(spec(), frame()), ledger) == first
        assert len(ledger.rows()) == again
        assert ledger.spent() == 1
    assert hf.verify_ledger(ledger.path).kept
    assert [one["repeats"] for one in ledger_report(ledger.path).to_dict()["rows"]] == [None, 1, 1, 1]


def test_a_repeat_is_free_where_nothing_is_left(tmp_path: Path) -> None:
    ledger = hf.Ledger.create(tmp_path / "small", standard="pure", budget=Fraction(1))
    first = counts(hf.prepare(spec(), frame()), ledger)
    with pytest.raises(BudgetError):
        counts(hf.prepare(spec("2021"), frame()), ledger)
    assert counts(hf.prepare(spec(), frame()), ledger) == first


CHANGED: dict[str, tuple[hf.Spec, pl.DataFrame]] = {
    "the confidential table": (spec(), frame((2, 2, 2, 4))),
    "its invariants": (spec(), frame((3, 2, 2, 4))),
    "the strength": (spec(epsilon="1/2"), frame()),
    "the law": (spec(norm="l2"), frame()),
    "the period": (spec("2021"), frame()),
    "the file beside the table": (spec(), frame().with_columns(other=pl.lit("z"))),
}


@pytest.mark.parametrize("what", CHANGED)
def test_whatever_else_is_asked_has_a_key_of_its_own_and_is_charged(what: str, ledger: hf.Ledger) -> None:
    own, (asked, data) = hf.prepare(spec(), frame()).table, CHANGED[what]
    other = hf.prepare(asked, data).table
    assert table_identity(own) != table_identity(other)
    assert stream_key(bytes(32), table_identity(own)) != stream_key(bytes(32), table_identity(other))
    counts(hf.prepare(spec(), frame()), ledger)
    before = ledger.spent()
    counts(hf.prepare(asked, data), ledger)
    assert ledger.spent() > before
    assert hf.verify_ledger(ledger.path).kept


def test_files_with_one_identity_and_other_tables_have_other_keys() -> None:
    """The identity of a file does not tell which column of a row holds what; the table does."""
    rows = {"one": ["p", "q", "q"], "other": ["q", "p", "q"]}
    asked = hf.Spec.of(
        {
            "data": {"cells": ["one"], "levels": {"one": ["p", "q"]}},
            "invariants": [{"total": True}],
            "privacy": {"unit": "person", "epsilon": "1"},
            "mechanism": {"name": "lattice-gaussian", "repeatable": True},
        }
    ).model_copy(update={"privacy": hf.Privacy(unit="person", standard="zcdp", rho="1")})
    data = pl.DataFrame(rows)
    turned = pl.DataFrame({"one": ["q", "q", "q"], "other": ["p", "p", "q"]})
    one, other = (hf.prepare(asked, each).table for each in (data, turned))
    assert one.identity == other.identity
    assert table_identity(one) != table_identity(other)


def test_salts_keys_and_marks_are_apart() -> None:
    key, mark = stream_key(bytes(32), bytes(32))
    assert key.hex() != mark
    assert stream_key(b"\1" + bytes(31), bytes(32)) != (key, mark)
    one, other = KeyedEntropy(key, mark), KeyedEntropy(key, mark)
    words = one.words(1000)
    assert np.array_equal(words, np.concatenate([other.words(1), other.words(999)]))
    assert np.unique(words).size == 1000
    assert abs(np.unpackbits(words.view(np.uint8)).mean() - 0.5) < 0.01
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedEntropy(key[:16], mark)
    assert key.hex() not in repr(vars(one))


DRAWS = 4_000


@pytest.mark.parametrize("name", ["lattice-laplace", "lattice-gaussian"])
@pytest.mark.parametrize("bound", [None, 6])
def test_over_keys_the_noise_follows_the_law_and_is_independent(name: str, bound: int | None) -> None:
    """Of many identities, by chi-square; the noise of one and the next is tested as a pair, too."""
    standard = {"standard": "zcdp", "rho": "1"} if name == "lattice-gaussian" else {"epsilon": "2"}
    target = {"standard": "approximate", "epsilon": "4", "delta": "1/100"} if bound else standard
    asked = hf.Spec.of(
        {
            "data": {"cells": ["row", "column"], "count": "n"},
            "invariants": [{"margin": ["row"]}, {"margin": ["column"]}],
            "privacy": {"unit": "person", **target},
            "mechanism": {"name": name, "repeatable": True, **({"bound": bound} if bound else {})},
        }
    )
    prepared = hf.prepare(asked, frame()).table
    law = prepared.mechanism.law(prepared.counts)
    drawn = np.concatenate(
        [law.sample(KeyedEntropy(*stream_key(bytes(32), at.to_bytes(32, "big"))), 1) for at in range(DRAWS)]
    )
    steps = np.arange(-6, 7)[:, None] * np.array([1, -1, -1, 1])
    points = prepared.counts + steps
    shares = np.exp(log_shares(law, points))
    single = dict(zip(map(tuple, points.tolist()), shares.tolist(), strict=True))
    assert p_value(drawn, single) > LEVEL
    pairs = {
        (*one, *other): p * q for one, p in single.items() for other, q in single.items() if p * q > 1e-3
    }
    assert p_value(np.column_stack([drawn[::2], drawn[1::2]]), pairs) > LEVEL
    same = np.column_stack([drawn[::2], drawn[::2]])
    assert p_value(same, pairs) < LEVEL / 1000


def test_counts_that_differ_from_those_of_the_same_words_are_never_handed_over(
    ledger: hf.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another sampler would make another draw of the same words: both together are not paid for."""
    wide = spec(epsilon="1/1000")  # two draws are hardly the same by chance
    counts(hf.prepare(wide, frame()), ledger)
    words = KeyedEntropy.words
    monkeypatch.setattr(KeyedEntropy, "words", lambda self, size: words(self, size + 1)[1:])
    other = hf.prepare(wide, frame())
    with pytest.raises(ChargedError, match=r"counts of row 2 are not those of row 1.*another period"):
        counts(other, ledger)
    assert ledger.spent() == Fraction(1, 1000)


def test_a_release_to_a_folder_is_the_same_and_verified(ledger: hf.Ledger, tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        made.append(hf.release(spec(), tmp_path / name, data=frame(), ledger=ledger, parquet=name == "two"))
        assert hf.verify(tmp_path / name).kept
    one = pl.read_csv(tmp_path / "one" / "table.csv")
    two = pl.read_parquet(tmp_path / "two" / "table.parquet")
    assert one["n"].to_list() == two["n"].to_list()
    assert [each.repeats for each in made] == [None, 1]
    assert made[1].to_dict()["repeats"] == 1
    check = hf.verify_ledger(ledger.path, releases=[tmp_path / "one", tmp_path / "two"])
    assert check.kept, check.problems
    certificate = json.loads((tmp_path / "two" / "certificate.json").read_text())
    assert certificate["randomness"] == {"source": "a secret key of the table", "secure": True}
    assumed = [one["id"] for one in certificate["guarantee"]["evidence"] if one["kind"] == "assumed"]
    assert "noise-keyed" in assumed
    salt = bytes.fromhex((tmp_path / "people.ledger.salt").read_text())
    key, mark = stream_key(salt, table_identity(hf.prepare(spec(), frame()).table))
    account = json.dumps([row.to_dict() for row in ledger.rows()])
    assert mark in account
    for text in (account, *(path.read_bytes().decode("latin-1") for path in (tmp_path / "one").iterdir())):
        assert salt.hex() not in text
        assert key.hex() not in text
    assert "has the same noise" in (tmp_path / "two" / "certificate.html").read_text()


def test_what_draws_anew_says_nothing_of_keys(tmp_path: Path) -> None:
    fresh = spec().model_copy(update={"mechanism": hf.LatticeLaplace()})
    text = hf.prepare(fresh, frame()).certify(secure=True).to_json()
    assert "repeatable" not in text
    assert "noise-keyed" not in text


def test_without_a_ledger_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"repeatable.*secret salt of a ledger: name one"):
        hf.prepare(spec(), frame()).release()
    with pytest.raises(SpecError, match="name one"):
        hf.release(spec(), tmp_path / "out", data=frame())
    assert not (tmp_path / "out").exists()
    with pytest.raises(SpecError, match="repeatable"):
        spec(repeatable="yes")


def test_a_seed_makes_no_repeat(ledger: hf.Ledger) -> None:
    """A study of it draws from its seed, is marked as ever, and is charged each time."""
    prepared = hf.prepare(spec(), frame())
    for total in (1, 2):
        made = prepared.release(hf.SeededEntropy(total), ledger=ledger, accept_no_protection=True)
        assert not made.certificate.randomness.secure
        assert ledger.spent() == total


def test_a_source_that_is_named_is_that_of_the_key(ledger: hf.Ledger) -> None:
    """What a certificate says of the noise is so, whoever asks."""
    prepared = hf.prepare(spec(), frame())
    first = counts(prepared, ledger)
    made = prepared.release(hf.SystemEntropy(), ledger=ledger, accept_no_protection=True)
    assert made.table.counts.tolist() == first
    with pytest.raises(SpecError, match="name one"):
        prepared.release(hf.SystemEntropy())


def test_a_row_that_was_never_handed_over_has_the_same_noise(
    ledger: hf.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash the same command costs nothing more, with the row to resume and without."""
    (tmp_path / "data.csv").write_text(frame().write_csv())
    drawn = Drawing.draw
    seen: list[list[int]] = []

    def failing(self: Drawing) -> Any:
        seen.append(drawn(self)["table"].to_frame()["n"].to_list())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Drawing, "draw", failing)
    with pytest.raises(ChargedError, match="row 1"):
        hf.release(spec(), tmp_path / "out", data=frame(), ledger=ledger)
    monkeypatch.undo()
    hf.release(spec(), tmp_path / "again", data=frame(), ledger=ledger)
    hf.release(spec(), tmp_path / "out", data=frame(), ledger=ledger, resume=1)
    for name in ("again", "out"):
        assert pl.read_csv(tmp_path / name / "table.csv")["n"].to_list() == seen[0]
    assert ledger.spent() == 1
    assert hf.verify_ledger(ledger.path, releases=[tmp_path / "again", tmp_path / "out"]).kept


def test_of_several_tables_none_is_repeatable(tmp_path: Path) -> None:
    from holdfast.releases.repeatable import is_repeatable

    part = hf.prepare(spec(), frame()).table
    assert is_repeatable({"table": part})
    with pytest.raises(SpecError, match=r"for a release of one table, and one is one of 2"):
        is_repeatable({"one": part, "two": replace(part, name="two")})


def test_a_bound_beside_a_ledger_is_what_has_to_be_left_out(ledger: hf.Ledger) -> None:
    asked = hf.Spec.of(
        {
            "data": {"cells": ["row", "column"], "count": "n"},
            "invariants": [{"margin": ["row"]}],
            "privacy": {"unit": "person", "standard": "approximate", "epsilon": "4", "delta": "1/100"},
            "mechanism": {"name": "lattice-laplace", "bound": 6, "repeatable": True},
        }
    )
    prepared = hf.prepare(asked, frame())
    with pytest.raises(
        GuaranteeError, match=r"mechanism.bound has a delta, which no ledger takes: leave out"
    ):
        prepared.release(ledger=ledger)
    with pytest.raises(SpecError, match=r"name one with .*, and leave out mechanism.bound, whose delta no"):
        prepared.release()
    assert ledger.spent() == 0
