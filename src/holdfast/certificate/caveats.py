"""What readers of a certificate have to know beside the guarantee, whatever the mechanism."""

from typing import Literal

from holdfast.privacy.claims import claim


@claim("seeded")
def seeded(what: Literal["release", "tables", "swap"]) -> str:
    """Claim that whoever knows a seed can undo what protects a release."""
    begins = {
        "release": "This release was drawn from a seeded generator. Whoever knows the seed can take the noise"
        " off again",
        "tables": "These tables were drawn from a seeded generator. Whoever knows the seed can take the noise"
        " off again",
        "swap": "This file was swapped from a seeded generator. Whoever knows the seed can undo the swap",
    }
    return f"{begins[what]}: it protects nobody and is for tests and studies only."


@claim("levels-from-the-data")
def levels_from_data(attributes: tuple[str, ...]) -> str:
    """Claim that levels were taken from the data."""
    return (
        f"The levels of {', '.join(attributes)} were taken from the data, so the list of levels is published"
        " as it is."
    )


@claim("nesting-from-the-data")
def nesting_from_data(inner: tuple[str, ...], outer: tuple[str, ...]) -> str:
    """Claim that what lies where was taken from the data."""
    pairs = " and ".join(f"each {one} in one {other}" for one, other in zip(inner, outer, strict=True))
    return (
        f"What lies where, {pairs}, was taken from the data, and is published as it is by the list of cells."
    )


@claim("invariants-exact")
def invariants_exact() -> str:
    """Claim that invariants are outside of the guarantee."""
    return (
        "The invariants are published exactly. What they reveal by themselves, alone or with other sources,"
        " is outside of the guarantee."
    )


@claim("invariants-of-all-exact")
def invariants_of_all_exact() -> str:
    """Claim that the invariants of all tables are outside of the guarantee."""
    return (
        "The invariants of all tables are published exactly. What they reveal together, alone or with other"
        " sources, is outside of the guarantee."
    )


@claim("chapters-alone")
def chapters_alone() -> str:
    """Claim that a part among several speaks of its table alone."""
    return (
        "A chapter speaks of its table alone. Who sees all tables can learn as much as the guarantee of all"
        " together allows, which is the one to rely on."
    )


@claim("units-alone")
def units_alone() -> str:
    """Claim that losses of different units are apart."""
    return (
        "Each table protects the unit that its chapter names. What different units lose is not"
        " added up: a sum"
        " over people and households would be the loss of nobody. Whoever is told of in the record of another"
        " unit, as a householder in that of the home, is protected there as a part of that unit."
    )


@claim("known-across")
def known_across() -> str:
    """Claim that constraints across tables bind what is released, and no data that are compared."""
    return (
        "What is known across tables is kept by the released counts. The files that a guarantee"
        " compares need not"
        " keep it: to whoever holds to it, one record that changes may take others along, of the"
        " same file or of"
        " another, and each of them is a record more."
    )


@claim("processed")
def processed_from_release() -> str:
    """Claim that a table has the guarantee of its release [semi-dp, Proposition 23], and a bias."""
    return (
        "This table was computed from the release and its invariants alone, so it has the guarantee of the"
        " release, among tables with the same invariants, and costs no budget [semi-dp, Proposition 23]. It"
        " is biased, which the release is not: taking negative counts away tends to push small counts up, and"
        " so others down."
    )
