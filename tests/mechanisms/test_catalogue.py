"""From a spec to a mechanism: what each can meet, which keys it has, and what is refused in a sentence."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tests.example import changed

from holdfast.certificate.head import AssumedSection
from holdfast.mechanisms.catalogue import MECHANISMS, NAMED, OF_TABLES, mechanism_of
from holdfast.mechanisms.lattice_laplace import LatticeLaplace, LatticeLaplaceOptions
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, GaussianNoise, Intensity, Pure
from holdfast.public import Public
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError, HoldfastError, SpecError
from holdfast.verification.verify import verify

Prepare = Callable[..., Prepared]


@pytest.fixture
def prepared(example: Path) -> Prepare:
    spec = read_spec(example)

    def call(
        mechanism: dict[str, Any],
        privacy: dict[str, Any],
        *,
        nonnegative: bool = False,
        inequalities: tuple[dict[str, Any], ...] = (),
    ) -> Prepared:
        values = spec.model_dump()
        values |= {"mechanism": mechanism, "privacy": privacy}
        values["constraints"] = {"nonnegative": nonnegative, "inequalities": inequalities}
        return prepare(Spec.of(values, folder=spec.folder))

    return call


ZCDP = {"standard": "zcdp", "rho": "1/2"}
PURE = {"epsilon": "1"}
SMALL = {"standard": "approximate", "epsilon": "1", "delta": "1e-9"}


@pytest.mark.parametrize(
    ("name", "privacy", "intensity"),
    [
        ("lattice-laplace", PURE, Pure(Fraction(1))),
        ("k-norm", PURE, Pure(Fraction(1))),
        ("lattice-gaussian", ZCDP, GaussianNoise.of(Fraction(1, 2))),
    ],
)
def test_a_release_has_the_strength_that_was_asked_for(
    prepared: Prepare, name: str, privacy: dict[str, Any], intensity: Intensity
) -> None:
    ready = prepared({"name": name}, privacy)
    assert ready.mechanism.guarantee.intensity == intensity
    release = ready.release(SeededEntropy(1))
    assert release.certificate.table.mechanism.name == name
    universe = ready.public.universe
    assert np.array_equal(universe.matrix @ release.table.counts, universe.values)


@pytest.mark.parametrize(("privacy", "other"), [(PURE, "lattice-laplace"), (SMALL, "lattice-gaussian")])
def test_without_inequalities_conditioned_names_the_mechanism_of_that_law(
    prepared: Prepare, privacy: dict[str, Any], other: str
) -> None:
    with pytest.raises(SpecError, match=other):
        prepared({"name": "conditioned"}, privacy)


def test_an_approximate_target_is_met_by_more_than_zcdp_allows(prepared: Prepare) -> None:
    guarantee = prepared({"name": "lattice-gaussian"}, SMALL).mechanism.guarantee
    rho = guarantee.intensity.parameters()["rho"]
    assert Fraction(15, 1000) < rho < Fraction(17, 1000)  # by zCDP alone 0.01496 implies (1, 1e-9)


def test_no_count_is_negative_where_that_is_asked_for(prepared: Prepare) -> None:
    ready = prepared({"name": "conditioned"}, PURE, nonnegative=True)
    intensity = ready.guarantee.intensity
    assert isinstance(intensity, Pure)
    assert Fraction(999, 1000) < intensity.epsilon <= 1  # the parameter is one of a grid
    assert ready.mechanism.noise is None
    assert ready.table.accuracy is None
    assert (ready.sample(SeededEntropy(1), 200) >= 0).all()


LOW = {"where": {"county": ["Alpha", "Beta"], "education": "Low"}, "at_least": 30}
"""The confidential table has 35 there."""


def test_inequalities_are_kept_and_paid_for(prepared: Prepare) -> None:
    ready = prepared({"name": "conditioned"}, PURE, nonnegative=True, inequalities=(LOW,))
    counts = ready.sample(SeededEntropy(1), 100).reshape(-1, 4, 4)
    assert (counts[:, :2, 0].sum(axis=1) >= 30).all()
    assert (counts >= 0).all()
    guarantee = ready.mechanism.guarantee
    assert guarantee.intensity == Pure(Fraction(1))
    assert any("gamma = 1" in item.claim.words for item in guarantee.evidence)  # too many tables to list


@pytest.mark.parametrize(
    ("mechanism", "inequality", "said"),
    [
        ("lattice-laplace", LOW, "inequalities bound the release, .* set name='conditioned'"),
        ("conditioned", {"where": {"county": "Omega"}, "at_least": 1}, "inequalities"),
        ("conditioned", {"where": {"region": "Alpha"}, "at_least": 1}, "not among the cells"),
        ("conditioned", {"total": True, "at_least": 1, "equals": 5}, "equals"),
        ("conditioned", {"total": True}, "at_least"),
        ("conditioned", {"at_least": 1}, "says nothing"),
    ],
)
def test_wrong_inequalities_are_refused(
    prepared: Prepare, mechanism: str, inequality: dict[str, Any], said: str
) -> None:
    with pytest.raises(HoldfastError, match=said) as refused:
        prepared({"name": mechanism}, PURE, inequalities=(inequality,))
    assert "\n" not in str(refused.value)


def test_a_negative_count_is_found_where_none_may_be(prepared: Prepare, tmp_path: Path) -> None:
    ready = prepared({"name": "conditioned"}, PURE, nonnegative=True)
    folder = ready.release(SeededEntropy(1)).write(tmp_path / "release")
    assert any(check.name == "counts at least 0" and check.holds for check in verify(folder).checks)
    table = folder / "table.csv"
    first, second = (int(line.rsplit(",", 1)[1]) for line in table.read_text().splitlines()[1:3])
    changed = table.read_text().replace(f"Low,{first}\n", f"Low,{first + second + 1}\n", 1)
    table.write_text(changed.replace(f"Medium,{second}\n", "Medium,-1\n", 1))
    assert [c.name for c in verify(folder).checks if not c.holds and "0" in c.name] == ["counts at least 0"]


def test_a_chain_is_never_pure(prepared: Prepare) -> None:
    privacy = {"standard": "approximate", "epsilon": "1", "delta": "1/10"}
    ready = prepared({"name": "conditioned", "chain": True}, privacy, nonnegative=True)
    guarantee = ready.mechanism.guarantee
    assert isinstance(guarantee.intensity, Approximate)
    assert 0 < guarantee.intensity.delta <= Fraction(1, 10)
    assert {item.kind for item in guarantee.evidence} == {"proved", "estimated", "assumed"}
    assert (ready.sample(SeededEntropy(1), 5) >= 0).all()


def test_real_noise_is_for_studies(prepared: Prepare) -> None:
    ready = prepared({"name": "projected-gaussian"}, ZCDP)
    sample = ready.sample(SeededEntropy(1), 3)
    universe = ready.public.universe
    assert np.allclose(universe.matrix @ sample.T, universe.values[:, None])
    evidence = ready.certify(secure=False).guarantee.evidence
    assert any(
        isinstance(item, AssumedSection) and "float" in item.claim.words + item.claim.basis
        for item in evidence
    )
    with pytest.raises(GuaranteeError, match="lattice-gaussian"):
        ready.release(SeededEntropy(1))


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], bool, str]] = {
    "an unknown name": ({"name": "k-nrom"}, PURE, False, "did you mean 'k-norm'"),
    "a standard it does not meet": ({"name": "k-norm"}, ZCDP, False, 'standard="pure"'),
    "negative counts": ({"name": "k-norm"}, PURE, True, "'conditioned'"),
    "a key of none": ({"name": "k-norm", "base": "double-geometric"}, PURE, False, "unknown key 'base'"),
    "a key of another": ({"name": "k-norm", "norm": "l1"}, PURE, False, "unknown key 'norm'"),
    "an unknown norm": ({"norm": "l3"}, PURE, False, r"\[mechanism\] norm must be one of 'l1'"),
    "nothing per unit": ({"epsilon_per_unit": "0"}, {}, False, r"\[mechanism\] epsilon_per_unit .* positive"),
    "no budget": ({}, {}, False, r"privacy\.epsilon is missing"),
    "a wrong key": ({"nrm": "l2"}, PURE, False, "did you mean 'norm'"),
    "moves without a chain": ({"name": "conditioned", "moves": "m.txt"}, PURE, True, "chain = true"),
    "a pure chain": ({"name": "conditioned", "chain": True}, PURE, True, "approximate"),
    "no truncated Gaussian": ({"name": "conditioned"}, ZCDP, True, 'standard="pure"'),
    "per unit of another": ({"name": "k-norm", "epsilon_per_unit": "1"}, PURE, False, "unknown key"),
    "k-norm per record": ({"name": "k-norm"}, {**PURE, "adjacency": "unit"}, False, "semi"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_met_is_refused_in_a_sentence(prepared: Prepare, case: str) -> None:
    mechanism, privacy, nonnegative, said = REFUSED[case]
    with pytest.raises(HoldfastError, match=said) as refused:
        prepared(mechanism, privacy, nonnegative=nonnegative)
    assert "\n" not in str(refused.value)


def test_another_key_is_told_by_its_place_and_file(example: Path) -> None:
    example.write_text(example.read_text().replace('norm = "l1"', 'nrm = "l1"'))
    with pytest.raises(SpecError) as caught:
        prepare(example)
    assert str(caught.value) == (f"{example}, [mechanism] has an unknown key 'nrm': did you mean 'norm'?")


def test_a_mechanism_reads_its_own_keys(example: Path) -> None:
    kind, options = mechanism_of(changed(example, mechanism={"norm": "l2", "epsilon_per_unit": "0.25"}))
    assert kind is LatticeLaplace
    assert options == LatticeLaplaceOptions(
        name="lattice-laplace", norm="l2", epsilon_per_unit=Fraction(1, 4)
    )
    assert options.sets_intensity == "epsilon_per_unit=1/4"


def test_a_missed_target_is_not_blamed_on_what_was_not_given(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism with half of the noise that the target needs."""

    def weak(cls: type[LatticeLaplace], public: Public, target: Target, options: object) -> LatticeLaplace:
        return LatticeLaplace(public.premises(target.adjacency), "l1", Fraction(1, 3))

    monkeypatch.setattr(LatticeLaplace, "answer", classmethod(weak))
    with pytest.raises(GuaranteeError) as caught:
        prepare(example)
    assert str(caught.value) == (
        "lattice-laplace reaches epsilon 2 here, which does not meet the target epsilon 1 in [privacy]: ask"
        " for that much, or choose another mechanism."
    )


def test_every_mechanism_says_what_it_is() -> None:
    assert list(NAMED) == [kind.name for kind in OF_TABLES]
    assert set(MECHANISMS) - set(OF_TABLES) == {PermutationSwapping}
    for kind in MECHANISMS:
        assert kind.standards
        assert kind.Options.model_fields["name"].default == kind.name
        assert get_args(kind.Record.model_fields["name"].annotation) == (kind.name,)
    bounded = [kind.name for kind in MECHANISMS if kind.bounded]
    assert bounded == ["conditioned", "permutation-swapping", "topdown", "wasserstein-exponential"]
    assert [kind.name for kind in MECHANISMS if kind.needs_bounds] == ["conditioned"]
    outputs = {kind.name: (kind.output, *kind.estimated) for kind in MECHANISMS if kind.output != "table"}
    assert outputs == {
        "noisy-count": ("statistic",),
        "permutation-swapping": ("microdata",),
        "topdown": ("measurements", "table"),
        "wasserstein-k-norm-gradient": ("estimate",),
    }


def test_the_way_out_of_a_standard_can_be_released() -> None:
    for standard in ("pure", "zcdp", "approximate", "gaussian"):
        able = [kind for kind in MECHANISMS if standard in kind.standards and kind.released]
        assert able, standard
    assert {kind.name for kind in MECHANISMS if not kind.released} == {
        "projected-gaussian",
        "naive-laplace",
        "naive-gaussian",
    }
