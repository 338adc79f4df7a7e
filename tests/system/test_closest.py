from holdfast.system.text import closest


def test_case_does_not_hide_the_nearest_name() -> None:
    assert closest("COUNTY", ["sex", "county"]) == "did you mean 'county'?"


def test_lists_only_some_of_many() -> None:
    assert closest("zzz", [f"level {i}" for i in range(20)]).endswith("'level 7' and 12 more.")


def test_has_words_for_nothing() -> None:
    assert closest("a", []) == "there is none to choose from."


def test_what_would_take_long_is_not_looked_through() -> None:
    many = [f"level {number}" for number in range(10_001)]
    assert closest("level 10000x", many) == "did you mean 'level 1000'?"
    assert closest("x" * 5000, ["x" * 5001]).startswith("choose from 'xxx")
