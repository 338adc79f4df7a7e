"""Releases charged to a ledger: the charge comes first, and other invariants are composed anew."""

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from tests.ledger.accounts import verify_stored

from holdfast.ledger import Ledger
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.releases.prepare import prepare
from holdfast.releases.resume import ChargedError
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.constraints import Invariant
from holdfast.spec.data import Data
from holdfast.spec.example import EXAMPLE_DATA, EXAMPLE_SPEC
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import HoldfastError, InvariantError


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    (tmp_path / "children.csv").write_text(EXAMPLE_DATA)
    (tmp_path / "holdfast.toml").write_text(EXAMPLE_SPEC)
    return tmp_path / "holdfast.toml"


def other(demo: Path, old: str, new: str) -> Path:
    path = demo.with_name("other.toml")
    assert old in EXAMPLE_SPEC
    path.write_text(EXAMPLE_SPEC.replace(old, new))
    return path


def ledger(demo: Path, budget: str, standard: str = "pure") -> Ledger:
    return Ledger.create(demo.with_name("ledger.db"), standard=standard, budget=Fraction(budget))  # type: ignore[arg-type]


def test_the_same_invariants_add_up_until_the_budget_is_spent(demo: Path) -> None:
    account, prepared = ledger(demo, "5/2"), prepare(demo)
    assert prepared.release(ledger=account).row is not None
    second = prepared.release(ledger=account)
    assert second.row is not None
    assert second.row.total == 2
    with pytest.raises(HoldfastError, match=r"2 of 2\.5 \(5/2\).*1 more and 0\.5 \(1/2\)"):
        prepared.release(ledger=account)
    assert account.spent() == 2
    assert verify_stored(account.path).kept


def test_other_invariants_are_composed_on_the_intersection(demo: Path) -> None:
    # Both margins: kappa 1/6 at a = 3. County totals alone: a = 2, kappa 1/4. Together a = 3 and l1 6:
    # (1/6 + 1/4) 6 = 5/2, more than 1 + 1.
    account = ledger(demo, "10")
    prepare(demo).release(ledger=account)
    county = other(demo, 'margin = ["education"]           #', "total = true #")
    row = prepare(county).release(ledger=account).row
    assert row is not None
    assert row.charge.intensity == 1
    assert row.total == Fraction(5, 2)


def test_a_total_never_falls(demo: Path) -> None:
    account = ledger(demo, "10")
    county = other(demo, 'margin = ["education"]           #', "total = true #")
    totals = []
    for path in (county, demo, county):
        row = prepare(path).release(ledger=account).row
        assert row is not None
        totals.append(row.total)
    assert totals == sorted(totals)


def test_the_charge_stands_before_anything_is_drawn(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account, prepared = ledger(demo, "2"), prepare(demo)

    def crash(self: LatticeLaplace, *args: object) -> None:
        assert account.spent() == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(LatticeLaplace, "outputs", crash)
    with pytest.raises(ChargedError, match="it was stopped"):
        prepared.release(ledger=account)
    assert account.spent() == 1


def test_the_row_names_the_certificate_and_the_certificate_the_row(demo: Path, tmp_path: Path) -> None:
    account = ledger(demo, "2")
    release = prepare(demo).release(SeededEntropy(1), ledger=account)
    assert release.row is not None
    assert release.row.charge.certificate == release.certificate.settled
    folder = release.write(tmp_path / "out")
    assert release.row.hash in (folder / "certificate.json").read_text()


def test_a_ledger_in_rho_or_mu_takes_pure_releases_at_their_price(demo: Path) -> None:
    row = prepare(demo).release(ledger=ledger(demo, "1", "zcdp")).row
    assert row is not None
    assert row.total == Fraction(1, 2)  # epsilon^2 / 2
    (demo.with_name("ledger.db")).rename(demo.with_name("old.db"))
    (demo.with_name("ledger.db.salt")).unlink()
    row = prepare(demo).release(ledger=ledger(demo, "2", "gaussian")).row
    assert row is not None
    assert 1.232035 <= float(row.total) < 1.23204


def test_another_adjacency_is_brought_to_that_of_the_first(demo: Path) -> None:
    account = ledger(demo, "10")
    prepare(demo).release(ledger=account)
    row = prepare(other(demo, 'adjacency = "semi"', 'adjacency = "unit"')).release(ledger=account).row
    assert row is not None
    assert row.total == 1 + 3  # 1 a record, and one person's change takes 3


def test_in_a_ledger_per_record_a_release_may_cost_less_than_alone(demo: Path) -> None:
    account = ledger(demo, "10")
    prepare(other(demo, 'adjacency = "semi"', 'adjacency = "unit"')).release(ledger=account)
    row = (
        prepare(other(demo, 'epsilon = "1"', 'epsilon = "9"'))
        .release(ledger=account, accept_no_protection=True)
        .row
    )
    assert row is not None
    assert row.charge.intensity == 9  # at 3 records
    assert row.total == 1 + 3
    assert verify_stored(account.path).kept


def test_levels_in_another_order_and_more_of_them_are_of_the_same_account(demo: Path) -> None:
    account = ledger(demo, "10")
    prepare(demo).release(ledger=account)
    for levels in ('["Delta", "Beta", "Gamma", "Alpha"]', '["Alpha", "Beta", "Gamma", "Delta", "Zeta"]'):
        prepare(other(demo, '["Alpha", "Beta", "Gamma", "Delta"]', levels)).release(ledger=account)
    assert account.spent() == 3


def test_the_fingerprint_says_nothing_without_the_salt(demo: Path) -> None:
    one = ledger(demo, "10")
    two = Ledger.create(demo.with_name("two.db"), standard="pure", budget=Fraction(10))
    prepared = prepare(demo)
    rows = [prepared.release(ledger=account).row for account in (one, one, two)]
    prints = [row.charge.dataset for row in rows if row is not None]
    assert prints[0] == prints[1] != prints[2]


def test_invariants_that_reveal_everything_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,n\nx,p,3\nx,q,2\ny,p,4\ny,q,5\n")
    head = '[data]\npath = "t.csv"\ncells = ["a", "b"]\ncount = "n"\n[privacy]\nepsilon = "1"\n'
    (tmp_path / "one.toml").write_text(head + '[[invariants]]\nmargin = ["a"]\n')
    (tmp_path / "two.toml").write_text(
        head + '[[invariants]]\nwhere = { a = "x", b = "p" }\n[[invariants]]\nwhere = { a = "y", b = "p" }\n'
    )
    account = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(10))
    prepare(tmp_path / "one.toml").release(ledger=account)
    with pytest.raises(HoldfastError, match="leave one possible table"):
        prepare(tmp_path / "two.toml").release(ledger=account)
    assert account.spent() == 1


def test_two_years_add_up_and_a_shuffled_copy_gets_no_fresh_account(demo: Path) -> None:
    account = ledger(demo, "10")
    prepare(demo).release(ledger=account)
    county = other(demo, 'margin = ["education"]           #', "total = true #")
    demo.with_name("children.csv").write_text(EXAMPLE_DATA.replace("Alpha,Low,15", "Alpha,Low,16"))
    prepare(county).release(ledger=account)
    assert account.spent() == 1 + 1  # each at its own distance
    head, *rows = EXAMPLE_DATA.splitlines()
    demo.with_name("children.csv").write_text("\n".join([head, *reversed(rows)]))
    prepare(county).release(ledger=account)
    assert account.spent() == 1 + Fraction(5, 2)  # of the first file, and so at its longer distance
    files = [row.charge.dataset for row in account.rows()]
    assert files[0] == files[2] != files[1]


PEOPLE = """county,sex,age
north,f,young
north,f,old
north,m,old
south,f,young
south,m,young
south,m,old
"""


def table(folder: Path, *cells: str) -> Path:
    path = folder / f"{'-'.join(cells)}.toml"
    path.write_text(
        f"[data]\npath = 'people.csv'\ncells = {list(cells)}\n[[invariants]]\nmargin = ['county']\n"
        "[privacy]\nepsilon = '1'\n"
    )
    return path


def test_two_tables_of_one_file_add_up_and_a_third_over_budget_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    account = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(5, 2))
    totals = []
    for cells in (("county", "sex"), ("county", "age")):
        row = prepare(table(tmp_path, *cells)).release(ledger=account).row
        assert row is not None
        totals.append(row.total)
    assert totals == [1, 2]
    with pytest.raises(HoldfastError, match=r"2 of 2\.5 \(5/2\).*1 more and 0\.5 \(1/2\)"):
        prepare(table(tmp_path, "county", "sex", "age")).release(ledger=account)
    assert account.spent() == 2
    assert verify_stored(account.path).kept


def test_other_invariants_of_another_table_of_the_file_lengthen_the_distance(tmp_path: Path) -> None:
    # each keeps one margin of its own at 2 records; both together take 3, in any form of the file
    frame = pl.read_csv(PEOPLE.encode())
    account = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(5))
    frame.write_csv(tmp_path / "people.csv")
    prepare(table(tmp_path, "county", "sex")).release(ledger=account)
    spec = table(tmp_path, "age", "sex").read_text().replace("'county'", "'age'")
    (tmp_path / "other.toml").write_text(spec.replace("csv", "parquet"))
    frame.select(reversed(frame.columns)).reverse().write_parquet(tmp_path / "people.parquet")
    row = prepare(tmp_path / "other.toml").release(ledger=account).row
    assert row is not None
    assert row.total == 2 * Fraction(6, 4)
    # another year adds up at its own distance
    frame.head(5).write_parquet(tmp_path / "people.parquet")
    row = prepare(tmp_path / "other.toml").release(ledger=account).row
    assert row is not None
    assert row.total == 3 + 1


def test_a_gaussian_release_stated_as_epsilon_and_delta_is_charged_by_its_rho(demo: Path) -> None:
    account = ledger(demo, "2", "zcdp")
    text = gaussian(demo).read_text().replace('"zcdp"', '"approximate"')
    gaussian(demo).write_text(text.replace('rho = "1/2" ', 'epsilon = "1"\ndelta = "1e-6" '))
    row = prepare(demo.with_name("gaussian.toml")).release(ledger=account).row
    assert row is not None
    assert row.charge.standard == "zcdp"
    assert row.total == row.charge.intensity < Fraction(1, 10)


def test_a_ledger_is_for_its_owner_only(demo: Path) -> None:
    account = ledger(demo, "10")
    assert account.path.stat().st_mode & 0o777 == 0o600


def gaussian(demo: Path, *, county_only: bool = False) -> Path:
    text = EXAMPLE_SPEC.replace('"lattice-laplace"', '"lattice-gaussian"').replace('"pure"', '"zcdp"')
    text = text.replace('epsilon = "1" ', 'rho = "1/2" ').replace('norm = "l1"', "")
    if county_only:
        text = text.replace('margin = ["education"]           #', "total = true #")
    path = demo.with_name("gaussian.toml")
    path.write_text(text)
    return path


def test_gaussian_and_laplace_noise_add_up_in_rho(demo: Path) -> None:
    account = ledger(demo, "2", "zcdp")
    assert prepare(gaussian(demo)).release(ledger=account).row is not None
    row = prepare(demo).release(ledger=account).row
    assert row is not None
    assert row.charge.standard == "pure"
    assert row.total == 1  # epsilon 1 is rho 1/2 at most
    assert verify_stored(account.path).kept


def test_gaussian_noise_is_composed_on_the_intersection(demo: Path) -> None:
    # Both margins: l2^2 is 6 at a = 3, sigma^2 6. County totals alone: 8 at a = 2, as two records may move
    # between the same cells, sigma^2 8. Together 6: 6/12 + 6/16.
    account = ledger(demo, "2", "zcdp")
    prepare(gaussian(demo)).release(ledger=account)
    row = prepare(gaussian(demo, county_only=True)).release(ledger=account).row
    assert row is not None
    assert row.total == Fraction(7, 8)


def test_rho_is_no_epsilon(demo: Path) -> None:
    account = ledger(demo, "2")
    with pytest.raises(HoldfastError, match='set standard="pure"'):
        prepare(gaussian(demo)).release(ledger=account)
    assert account.spent() == 0


CUBE = pl.DataFrame(
    [(f"{n % 3 + 1}", f"{n // 3 % 3 + 1}", f"{n // 9 + 1}") for n in range(27)]
    + [("1", "1", "2"), ("1", "2", "2")],
    schema=["a", "b", "c"],
    orient="row",
)


def pairs(names: str, *kept: str) -> Spec:
    """Return the spec of a table of three attributes that keeps margins of two."""
    invariants = tuple(Invariant(margin=tuple(margin)) for margin in kept)
    return Spec(data=Data(cells=tuple(names)), invariants=invariants, privacy=Privacy(epsilon="1"))


def test_a_column_is_one_attribute_in_all_releases_of_a_file(demo: Path) -> None:
    account = ledger(demo, "100")
    prepare(pairs("abc", "ab", "bc"), CUBE).release(ledger=account)
    # taken for other attributes, x, y and z would be tied to nothing, and the total 10/3 in place of 45/2
    with pytest.raises(InvariantError, match="row 1 are of one file, and the column 'x' has another name"):
        prepare(pairs("xyz", "xz"), CUBE.rename({"a": "x", "b": "y", "c": "z"})).release(ledger=account)
    with pytest.raises(InvariantError, match="row 1 and this release are of one file, and the column 'a'"):
        prepare(pairs("abc", "a", "c"), CUBE.rename({"a": "b", "b": "a"})).release(ledger=account)
    respelt = CUBE.with_columns(pl.col("a").replace({"1": "01"}))
    with pytest.raises(InvariantError, match="levels that are written otherwise"):
        prepare(pairs("abc", "ab"), respelt).release(ledger=account)
    assert account.spent() == 1
    row = prepare(pairs("cab", "ac"), CUBE.select("b", "c", "a").reverse()).release(ledger=account).row
    assert row is not None
    assert row.total == Fraction(45, 2)
