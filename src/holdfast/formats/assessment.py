"""Answers, as far as a certificate has them, for who evaluates a release by published guidance.

NIST SP 800-226 asks of a guarantee: unit, parameters, mechanism, composition, security and trust. ISO/IEC
27559 asks of a framework: context, data, identifiability, mitigation, governance. What only the agency knows
is left open, by name.
"""

from html import escape

from holdfast.certificate.metadata import described
from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import ProcessedPart
from holdfast.certificate.verdict import LEVELS

OPEN = "*For the agency to answer.*"


def assessment(certificate: Certificate) -> bytes:
    """Return a page in Markdown: a heading for each question, and what the certificate says of it."""
    guarantee, unit = certificate.guarantee, certificate.guarantee.unit
    scope = guarantee.scope
    evidence = [f"- {item.kind}: {item.claim.words}" for item in guarantee.evidence]
    kept = [f"- {name}" for name in scope.invariants] or ["- nothing"]
    draws = [
        f"{part.name}: {part.mechanism.name}"
        for part in certificate.parts
        if not isinstance(part, ProcessedPart)
    ]
    budget = (
        f"This release is row {certificate.ledger.row} of a ledger, whose account adds up what it knows of."
        if certificate.ledger
        else "This release alone. It was charged to no ledger."
    )
    secure = certificate.randomness.secure
    apart = unit.value.whom.apart(unit.distance)
    sections = {
        "NIST SP 800-226": {
            "Guarantee and its parameters": guarantee.statement,
            "What the parameters come to": (
                f"{LEVELS[certificate.verdict.level]} A guess between two tables, from even odds, is right"
                f" in at most {certificate.verdict.right:.1%} of cases."
            ),
            "Unit of privacy": f"{unit.name}: data that differ in at most {apart}, within the same scope.",
            "Neighbours and scope": (
                "Compared are data with the same invariants; these are outside of the guarantee:\n\n"
                + "\n".join(kept)
            ),
            "Mechanisms": "; ".join(draws) or "The table was processed after its release.",
            "Evidence": "\n".join(evidence),
            "Composition": budget,
            "Utility and bias": (
                " ".join(claim.words for claim in certificate.caveats) or "The noise is unbiased."
            ),
            "Randomness and floating point": (
                f"Noise from {certificate.randomness.source}, drawn in exact whole numbers."
                if secure
                else "A seeded generator: **this release protects nobody.**"
            ),
            "Trust model and access to the data": OPEN,
            "Security of the data before release": OPEN,
            "How the parameters were chosen": OPEN,
        },
        "ISO/IEC 27559": {
            "Context: recipients, purpose, environment": OPEN,
            "Data: what is published": described(certificate)["description"],
            "Identifiability: what is learnt of one unit at most": guarantee.statement,
            "Mitigation": "Randomised by the mechanisms above; proofs and assumptions are under Evidence.",
            "Governance: responsibility, review, incidents": OPEN,
            "Transparency": (
                f"A certificate with the SHA-256 {certificate.digest} lies beside the files, and anyone can"
                " verify it."
            ),
        },
    }
    made = f"Made from a certificate of {certificate.created}, by {certificate.software.name}"
    text = [f"# Assessment of {described(certificate)['name']}", ""]
    text += [f"{made} {certificate.software.version}.", ""]
    for title, answers in sections.items():
        text += [f"## {title}", ""]
        for heading, answer in answers.items():
            text += [f"### {heading}", "", answer, ""]
    # names are of the data, and a page in Markdown may have tags and links in it
    return escape("\n".join(text), quote=False).replace("[", r"\[").encode("utf-8")
