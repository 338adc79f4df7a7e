"""An in-toto Statement on the files of a release, in a DSSE envelope signed by the key of its publisher.

The statement names each file by its SHA-256, and as predicate what the certificate guarantees. DSSE signs its
pre-authentication encoding, "DSSEv1" with the lengths of type and body before them, by Ed25519 [rfc8032].
"""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

from holdfast.certificate.model import Certificate
from holdfast.certificate.sign import SigningKey
from holdfast.certificate.text import CERTIFICATE, FORMAT

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"


def statement(certificate: Certificate, text: bytes) -> dict[str, Any]:
    """Return the statement on the files of a certificate, and on the certificate itself."""
    hashes = {CERTIFICATE: sha256(text).hexdigest(), **certificate.files}
    guarantee = certificate.guarantee
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": value}} for name, value in sorted(hashes.items())],
        "predicateType": f"urn:{FORMAT.replace('/', ':')}",
        "predicate": {
            "software": certificate.software.model_dump(mode="json"),
            "created": certificate.created,
            "guarantee": {
                "statement": guarantee.statement,
                "standard": guarantee.standard,
                "intensity": {name: str(value) for name, value in guarantee.intensity.items()},
                "invariants": list(guarantee.scope.invariants),
            },
            "certificate": certificate.digest,
        },
    }


def encoded(body: bytes) -> bytes:
    """Return what DSSE signs.

    >>> encoded(b"{}")
    b'DSSEv1 28 application/vnd.in-toto+json 2 {}'
    """
    kind = PAYLOAD.encode("ascii")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)


def envelope(certificate: Certificate, text: bytes, key: SigningKey) -> bytes:
    """Return the statement in its envelope."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    body = json.dumps(statement(certificate, text), ensure_ascii=False).encode("utf-8")
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signed = {"keyid": sha256(public).hexdigest(), "sig": b64encode(key.sign(encoded(body))).decode("ascii")}
    content = {"payload": b64encode(body).decode("ascii"), "payloadType": PAYLOAD, "signatures": [signed]}
    return (json.dumps(content, indent=2) + "\n").encode("utf-8")
