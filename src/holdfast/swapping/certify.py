"""Recording a swapped file: from what is public and the mechanism to a certificate."""

from datetime import UTC, datetime
from fractions import Fraction

from holdfast.certificate.certify import guarantee_section
from holdfast.certificate.model import (
    PublicationSection,
    RandomnessSection,
    Software,
    TableSection,
    TargetSection,
    VerdictSection,
)
from holdfast.certificate.records.model import (
    RecordsCertificate,
    SizeSection,
    StrataSection,
    SwappingSection,
)
from holdfast.certificate.verdict import verdict_of_swaps
from holdfast.mechanisms.permutation_swapping import PermutationSwapping, SwappingRecord
from holdfast.privacy.guarantee import times
from holdfast.privacy.swapping import least_epsilon
from holdfast.spec.model import Privacy
from holdfast.spec.publication import Publication
from holdfast.spec.whom import Whom
from holdfast.swapping.facts import Facts
from holdfast.version import VERSION
from holdfast.words import counted

CLOSEST = 2
"""Records in which two files of one scope differ at least."""
SEEDED = (
    "This file was swapped from a seeded generator. Whoever knows the seed can undo the swap: it protects"
    " nobody and is for tests and studies only."
)


def certify_records(
    privacy: Privacy,
    facts: Facts,
    mechanism: PermutationSwapping,
    *,
    secure: bool,
    table: TableSection | None = None,
    publication: Publication | None = None,
    created: str | None = None,
) -> RecordsCertificate:
    """Record a release of swapped records; nothing in the record depends on the draw."""
    said = {} if publication is None else publication.said
    guarantee = guarantee_section(mechanism.guarantee)
    record = mechanism.record()
    assert isinstance(record, SwappingRecord)  # noqa: S101 - its own record
    return RecordsCertificate(
        software=Software(name="holdfast", version=VERSION),
        created=created or datetime.now(UTC).isoformat(timespec="seconds"),
        publication=PublicationSection(**said) if said else None,
        records=facts.records,
        table=table,
        invariants=facts.invariants,
        induced=facts.induced,
        strata=_strata(mechanism),
        swapping=_swapping(mechanism),
        mechanism=record,
        target=TargetSection(**dict(privacy)),
        guarantee=guarantee,
        randomness=RandomnessSection(source="operating system" if secure else "seeded", secure=secure),
        verdict=_verdict(mechanism),
        caveats=tuple(_caveats(facts, mechanism, secure=secure)),
    )


def _strata(mechanism: PermutationSwapping) -> StrataSection:
    strata = mechanism.strata
    return StrataSection(
        strata=strata.number,
        largest=strata.largest,
        singletons=strata.singletons,
        alike=strata.alike,
        sizes=tuple(
            SizeSection(
                size=size,
                strata=number,
                epsilon=float(mechanism.epsilon("slides", size)),
                epsilon_tight=float(mechanism.epsilon("tight", size)),
                smallest_epsilon=float(least_epsilon(size)),
            )
            for size, number in strata.sizes
        ),
    )


def _swapping(mechanism: PermutationSwapping) -> SwappingSection:
    slides, tight = mechanism.least
    return SwappingSection(
        stratum_size=mechanism.strata.largest,
        rate=mechanism.rate,
        epsilon=float(mechanism.epsilon("slides")),
        epsilon_tight=float(mechanism.epsilon("tight")),
        smallest_epsilon=float(slides),
        smallest_epsilon_tight=float(tight),
        rates=mechanism.rates,
    )


def _closest(mechanism: PermutationSwapping) -> Fraction:
    """Return what two files lose that are as close as any two of the scope."""
    return CLOSEST * mechanism.epsilon(mechanism.bound)


def _verdict(mechanism: PermutationSwapping) -> VerdictSection:
    """Say what it comes to for two files that are as close as they can be: two records apart, never one."""
    return verdict_of_swaps(_closest(mechanism), mechanism.whom)


def _caveats(facts: Facts, mechanism: PermutationSwapping, *, secure: bool) -> list[str]:
    whom, strata = mechanism.whom, mechanism.strata
    swap = _names(mechanism.swap)
    within = f"with the same {_names(mechanism.stratify)}" if mechanism.stratify else "of the file"
    found = [] if secure else [SEEDED]
    found.append(
        f"Distance counts {whom.counted}, in no order: how many must change to make one file the other. With"
        f" all that is kept, nobody's {swap} changes alone: another one {within} takes it. So the"
        f" closest files are two {whom.counted} apart, and for these the odds change by up to"
        f" exp({float(_closest(mechanism)):.6g}) = {times(_closest(mechanism))}."
    )
    found.append(_singletons(strata.singletons, strata.alike, mechanism, whom))
    found.append(
        f"Everything of a {whom.record} but its {swap} is published as it is, together with"
        f" {_names(mechanism.stratify) or 'nothing else'}, and so is how many {whom.counted} have each {swap}"
        f" in each stratum. Whoever knows enough of a {whom.one} to find it in the file learns the rest that"
        f" is held. The guarantee is about which {swap} belongs to which {whom.record}, and about nothing"
        " else."
    )
    found.append(_visible(mechanism, whom))
    if facts.records.persons is not None or facts.records.id is not None:
        found.append(
            f"A {whom.one} moves whole: all rows with its {facts.records.id} follow it, and what they hold is"
            " published as it is."
        )
    return found


def _visible(mechanism: PermutationSwapping, whom: Whom) -> str:
    """Say what stays visible, by the design alone: what the data would tell is not for a certificate."""
    swap, held = _names(mechanism.swap), _names(mechanism.held)
    new = f" Ids in {_names(mechanism.renumber)} are new." if mechanism.renumber else ""
    return (
        f"What stays visible: {held} remain with each {whom.record}. Where one of them goes with {swap} by"
        " what everybody knows, as a tract lies in one county or numbers were given out place by place, a"
        f" {whom.record} whose values do not fit is seen to have moved, and from where. The guarantee"
        " compares all files with the same counts, also those that such knowledge rules out: it does not"
        f" hide that.{new}"
    )


def _singletons(alone: int, alike: int, mechanism: PermutationSwapping, whom: Whom) -> str:
    swap, share = _names(mechanism.swap), mechanism.strata.records
    if not alone and not alike:
        return f"Every stratum has at least two {whom.counted} that differ: none is left out of the swap."
    parts = []
    if alone:
        is_alone = "is" if alone == 1 else "are"
        parts.append(
            f"{counted(alone, whom.record, whom.counted)} of {share:,} {is_alone} alone in a stratum, and"
            f" published as {'it is' if alone == 1 else 'they are'}, {swap} included: nothing protects"
            f" {'it' if alone == 1 else 'them'}."
        )
    if alike:
        parts.append(
            f"{counted(alike, whom.record, whom.counted)} more {'is' if alike == 1 else 'are'} in strata that"
            f" share one {swap}, or all else: no swap changes these."
        )
    return " ".join(parts)


def _names(names: tuple[str, ...]) -> str:
    return " and ".join(names)
