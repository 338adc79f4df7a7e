import pytest

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes
from holdfast.data.selection import schema_of
from holdfast.spec.constraints import Constraints
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import SpecError

ATTRIBUTES = Attributes.of({"sex": ("f", "m"), "age": ("0", "1", "2")})


def spec(*zeros: dict[str, str | list[str] | list[int]]) -> Spec:
    return Spec(
        data=Data(path="data.csv", cells=("sex", "age")),
        constraints=Constraints(structural_zeros=zeros),
        privacy=Privacy(epsilon="1"),
    )


def test_structural_zeros_match_all_their_levels() -> None:
    zeros = spec({"sex": "f", "age": ["1", "2"]}, {"age": [2, 9]})
    assert schema_of(zeros, ATTRIBUTES).impossible == Runs.of({1, 2, 5})
    assert schema_of(spec(), ATTRIBUTES).names == ("sex", "age")


def test_names_the_wrong_one() -> None:
    with pytest.raises(SpecError, match=r"^constraints\.structural_zeros\[1\] sex names .* 'x'"):
        schema_of(spec({"age": "0"}, {"sex": "x"}), ATTRIBUTES)
