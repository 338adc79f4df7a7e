"""Options of mechanisms: classes that are checked when they are made, wherever they are named."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast import registry
from holdfast.spec.load import read_spec
from holdfast.spec.mechanism import MechanismOptions
from holdfast.system.errors import SpecError

DATA = hf.Data(cells=("county", "education"), count="children")
REQUIRED: dict[str, dict[str, Any]] = {"permutation-swapping": {"stratify": ["a"], "swap": ["b"]}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key": ({"norm": "l3", "nonsense": 3}, "mechanism has an unknown key 'nonsense': choose from"),
    "a misspelt key": ({"nrm": "l1"}, "mechanism has an unknown key 'nrm': did you mean 'norm'?"),
    "a wrong value": ({"norm": "l3"}, "mechanism.norm must be one of 'l1' or 'l2', not 'l3'."),
    "an unknown name": (
        {"name": "latice-laplace"},
        "'latice-laplace' is not known: did you mean 'lattice-laplace'?",
    ),
    "a name that is none": ({"name": 3}, "mechanism.name must be text"),
    "the key of another": ({"name": "k-norm", "norm": "l1"}, "mechanism has an unknown key 'norm'"),
    "a rounded number": ({"epsilon_per_unit": 0.1}, "mechanism.epsilon_per_unit is the rounded number 0.1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_at_once(case: str) -> None:
    options, said = REFUSED[case]
    with pytest.raises(SpecError) as refused:
        hf.MechanismChoice(**options)
    assert said in str(refused.value)
    with pytest.raises(SpecError) as in_a_spec:
        hf.Spec(data=DATA, mechanism=options)  # type: ignore[arg-type]
    assert str(in_a_spec.value).startswith(str(refused.value).split(":")[0])


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_is_named_with_the_place(case: str, example: Path) -> None:
    options, _ = REFUSED[case]
    keys = "\n".join(f"{key} = {value!r}" for key, value in {"name": "lattice-laplace", **options}.items())
    example.write_text(example.read_text().split("[mechanism]")[0] + f"[mechanism]\n{keys}\n")
    with pytest.raises(SpecError) as refused:
        read_spec(example)
    assert str(refused.value).startswith(f"{example}, [mechanism] ")


@pytest.mark.parametrize("name", registry.OWN)
def test_each_mechanism_is_a_class_of_options(name: str) -> None:
    kind = registry.find(name)
    options = getattr(hf, kind.__name__)
    assert options is kind.Options
    made = options(**REQUIRED.get(name, {}))
    assert isinstance(made, MechanismOptions)
    assert made == hf.MechanismChoice(name=name, **REQUIRED.get(name, {}))
    assert repr(made).startswith(f"{kind.__name__}(")
    assert "name=" not in repr(made)


def test_a_spec_takes_options_a_mapping_or_nothing() -> None:
    one = hf.Spec(data=DATA, mechanism=hf.LatticeLaplace(norm="l2", epsilon_per_unit=Fraction(1, 4)))
    other = hf.Spec.of({"data": DATA.model_dump(), "mechanism": {"norm": "l2", "epsilon_per_unit": "1/4"}})
    assert one.mechanism == other.mechanism
    assert one.model_dump()["mechanism"]["epsilon_per_unit"] == "1/4"
    assert hf.Spec(data=DATA).mechanism == hf.LatticeLaplace()


def test_the_name_of_another_class_is_refused() -> None:
    with pytest.raises(SpecError, match=r"mechanism\.name must be one of 'lattice-laplace'"):
        hf.LatticeLaplace(name="k-norm")  # type: ignore[arg-type]
