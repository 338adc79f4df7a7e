from holdfast.spec.closest import closest


def test_case_does_not_hide_the_nearest_name() -> None:
    assert closest("COUNTY", ["sex", "county"]) == "did you mean 'county'?"


def test_lists_only_some_of_many() -> None:
    assert closest("zzz", [f"level {i}" for i in range(20)]).endswith("'level 7' and 12 more.")


def test_has_words_for_nothing() -> None:
    assert closest("a", []) == "there is none to choose from."
