"""Every mechanism of files of records, on small files: the whole law of what is released, by hand."""

from dataclasses import replace
from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.contract.files import BOUNDS, COLUMNS, FILES, Bound, File, FileCase, distance

import holdfast
from holdfast.certificate.model import Certificate
from holdfast.data.sections import RecordsSection
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.catalogue import MECHANISMS, OF_TABLES
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import embedded as group
from holdfast.mechanisms.swapping.embedded import Swap, swap_group
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.mechanisms.swapping.options import PermutationSwappingOptions
from holdfast.mechanisms.swapping.public import PublicStrata, Strata
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Pure
from holdfast.releases.records import PreparedRecords, prepare_records
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.spec.privacy import RECORD
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.testing.goodness import LEVEL, p_value

CASES = [case for kind in MECHANISMS if kind not in OF_TABLES for case in FILES.get(kind, ())]
each = pytest.mark.parametrize("case", CASES, ids=str)
DRAWS = 20_000
DESIGN = ColumnRoles(("stratum",), ("swapped",), ("held",))


def table(file: File) -> pa.Table:
    return pa.table({name: [record[at] for record in file] for at, name in enumerate(COLUMNS)})


def asked(case: FileCase, **options: Any) -> Spec:
    return Spec.of(
        {
            "data": {},
            "privacy": {"standard": "pure", "adjacency": "unit"},
            "mechanism": {
                "name": "permutation-swapping",
                "stratify": ["stratum"],
                "swap": ["swapped"],
                "rate": str(case.rate),
                **options,
            },
        }
    )


def ready(case: FileCase, file: File | None = None, **options: Any) -> PreparedRecords:
    return prepare_records(asked(case, **options), table(case.file if file is None else file))


# the loss


@each
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_loss_is_within_the_guarantee(case: FileCase, bound: Bound) -> None:
    stated = float(ready(case, bound=bound).mechanism.guarantee.intensity.parameters()["epsilon"])
    worst = max(case.losses())
    assert worst <= stated * (1 + 1e-12)
    if case.attained and bound == "tight":
        assert worst >= stated * (1 - 1e-9)
        other = Fraction(1, 100) if case.rate <= Fraction(1, 2) else Fraction(99, 100)
        assert max(case.losses(other)) > stated * 1.01  # it can be found to be too much


@each
def test_the_two_bounds_are_in_order(case: FileCase) -> None:
    mechanism = ready(case).mechanism
    assert isinstance(mechanism, PermutationSwapping)
    assert mechanism.epsilon("tight") <= mechanism.epsilon("slides")
    assert mechanism.strata == case.strata


def test_the_closest_files_are_two_records_apart() -> None:
    for case in CASES:
        apart = [distance(one, other) for one in case.files for other in case.files if one != other]
        assert min(apart) == 2


# the draws


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system's generator be a seeded one."""
    source = SeededEntropy(7)
    monkeypatch.setattr(group, "SystemEntropy", lambda: source)


def largest(case: FileCase) -> File:
    """Return the records of the largest stratum, under no name."""
    members = [[r for r in case.file if r[0] == key] for key in sorted({record[0] for record in case.file})]
    return tuple(("", one, two) for _, one, two in max(members, key=len))


def drawn(case: FileCase, seed: int | None = None) -> list[File]:
    """Return releases of the largest stratum, in the order in which they leave."""
    many = tuple((f"{at:06d}", one, two) for at in range(DRAWS) for _, one, two in largest(case))
    released = swap_group(table(many), Swap(DESIGN, case.rate, seed)).records
    found: dict[str, File] = {}
    for key, one, two in zip(*(released.column(name).to_pylist() for name in COLUMNS), strict=True):
        found[key] = (*found.get(key, ()), ("", one, two))
    assert len(found) == DRAWS
    return list(found.values())


def shares(case: FileCase, rate: Fraction, numbers: dict[File, int]) -> dict[tuple[int], float]:
    """Return the chance of each release by its number."""
    law = case.law(largest(case), rate)
    return {(numbers.setdefault(file, len(numbers)),): float(chance) for file, chance in law.items()}


@each
@pytest.mark.parametrize("seed", [None, 5], ids=["system", "by stratum"])
@pytest.mark.usefixtures("fixed")
def test_the_draws_follow_the_law(case: FileCase, seed: int | None) -> None:
    """Of the released records, in no order; a law at another rate is told apart."""
    numbers: dict[File, int] = {}
    law, other = shares(case, case.rate, numbers), shares(case, case.rate * Fraction(9, 10), numbers)
    seen = np.array([[numbers[tuple(sorted(file))]] for file in drawn(case, seed)])
    assert p_value(seen, law) > LEVEL
    assert p_value(seen, other) < LEVEL / 1000


DISTINCT = [case for case in CASES if len({two for _, _, two in largest(case)}) == len(largest(case))]


@pytest.mark.parametrize("case", DISTINCT, ids=str)
@pytest.mark.parametrize("seed", [None, 5], ids=["system", "by stratum"])
@pytest.mark.usefixtures("fixed")
def test_the_order_is_uniform_and_tells_nothing_of_who_moved(case: FileCase, seed: int | None) -> None:
    """All orders of what is held are as likely as each other, also where the first record moved."""
    true = {two: one for _, one, two in largest(case)}
    orders: dict[tuple[str, ...], int] = {}
    seen = [
        ([orders.setdefault(tuple(r[2] for r in file), len(orders))], file[0]) for file in drawn(case, seed)
    ]
    law = {(number,): 1 / len(orders) for number in range(len(orders))}
    moved = [number for number, (_, one, two) in seen if one != true[two]]
    stayed = [number for number, (_, one, two) in seen if one == true[two]]
    assert len(orders) == factorial(len(true))
    for part in (moved, stayed):
        assert p_value(np.array(part), law) > LEVEL
    assert p_value(np.array(moved[: len(moved) // 2] * 2 + [[0]] * (len(moved) // 10)), law) < LEVEL / 1000


# what is public


@each
def test_the_mechanism_sees_public_values_only(case: FileCase) -> None:
    """Every other file with the same induced invariants has the same certificate."""
    own = ready(case)
    for file in (case.files[0], case.files[-1], tuple(reversed(case.file))):
        other = ready(case, file)
        assert other.mechanism.record() == own.mechanism.record()
        assert other.mechanism.guarantee == own.mechanism.guarantee
        assert _undated(other) == _undated(own)
    stranger = (*case.file[:-1], (case.file[-1][0], "another", case.file[-1][2]))
    assert ready(case, tuple(sorted(stranger))).file.public.scope != own.file.public.scope


def _undated(prepared: PreparedRecords) -> dict[str, Any]:
    return {**prepared.certify(secure=True).to_dict(), "created": ""}


@each
def test_the_record_leads_back(case: FileCase) -> None:
    own = ready(case, nulls="level", bound="tight")
    record = own.mechanism.record()
    assert type(record).model_validate_json(record.model_dump_json()) == record
    again = type(own.mechanism).of(record, own.file.public)
    assert again.record() == record
    assert again.guarantee == own.mechanism.guarantee
    certificate = own.certify(secure=False)
    read = Certificate.from_json(certificate.to_json())
    assert read == certificate
    assert read.to_json() == certificate.to_json()


@each
def test_a_release_is_verified_and_charged_first(
    case: FileCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "account.db", standard="pure", budget=Fraction(1000))

    def charged(*given: Any) -> Any:
        assert ledger.spent() > 0
        return swap_group(*given)

    monkeypatch.setattr("holdfast.mechanisms.swapping.embedded.swap_group", charged)
    done = holdfast.release(
        asked(case), tmp_path / "out", data=table(case.file), ledger=ledger, accept_no_protection=True
    )
    assert holdfast.verify(done.folder).kept
    assert ledger.spent() == done.certificate.guarantee.intensity["epsilon"]


# what it refuses


NINE = Target("unit", Pure(Fraction(9)))


def answered(strata: Strata, target: Target = NINE, **options: Any) -> PermutationSwapping:
    chosen = PermutationSwappingOptions(name="permutation-swapping", stratify=("s",), swap=("c",), **options)
    columns = ColumnRoles(("s",), ("c",), ("x",))
    section = RecordsSection(kind="parquet", columns=(), rows=strata.records)
    return PermutationSwapping.answer(PublicStrata(section, columns, (), RECORD, strata, ()), target, chosen)


SOME = Strata(((1, 2), (5, 1)))


def test_the_lower_rate_that_meets_the_target_is_taken() -> None:
    mechanism = answered(SOME)
    assert mechanism.guarantee.meets(NINE)
    lower, upper = mechanism.rates
    assert lower < upper
    assert mechanism.rate <= lower * Fraction(1_000_000_001, 1_000_000_000)
    assert not replace(mechanism, rate=mechanism.rate * Fraction(99, 100)).guarantee.meets(NINE)


@pytest.mark.parametrize(
    ("strata", "said"),
    [
        (Strata(((1, 9),)), "every stratum has one record"),
        (Strata(((1, 2), (5, 1)), alike=5), "every swap would leave the file as it is"),
        (Strata(()), "every stratum has one record"),
    ],
)
def test_what_no_swap_would_change_is_refused(strata: Strata, said: str) -> None:
    with pytest.raises(GuaranteeError, match=said):
        answered(strata)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Target("semi", Pure(Fraction(9))), 'adjacency="unit"'),
        (Target("unit", Pure(Fraction(1, 10))), "ask for at least 0.895880"),
    ],
)
def test_targets_that_it_cannot_meet_are_refused(target: Target, said: str) -> None:
    with pytest.raises((GuaranteeError, SpecError), match=said):
        answered(SOME, target)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rate": "0"}, "above 0 and below 1"),
        ({"rate": "1"}, "above 0 and below 1"),
        ({"rate": "-1/2"}, "above 0 and below 1"),
        ({"rate": "1e-12"}, "out of reach"),
        ({"rate": "0.1234567890123456789012"}, "out of reach"),
        ({"swap": ["s"]}, "also in stratify"),
        ({"swap": []}, "is empty"),
        ({"swap": ["c", "c"]}, "twice"),
        ({"stratify": [""]}, "empty name"),
        ({"nulls": "maybe"}, "nulls"),
        ({"bound": "loose"}, "bound"),
        ({"ratee": "1/2"}, "did you mean 'rate'"),
    ],
)
def test_options_that_make_no_swap_are_refused(options: dict[str, Any], said: str) -> None:
    whole = {"name": "permutation-swapping", "stratify": ["s"], "swap": ["c"], **options}
    with pytest.raises(SpecError, match=said) as refused:
        PermutationSwappingOptions(**whole)
    assert str(refused.value).startswith(("mechanism.", "mechanism has"))
    assert "\n" not in str(refused.value)
