"""Ed25519 signatures, checked by RFC 8032, section 5.1.7, in plain integers.

The equation is checked without the cofactor, as most libraries do: [S]B = R + [k]A, with R as it was written.
Nothing here is secret, so it need not take constant time.
"""

import base64
import hashlib
import re

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
"""A square root of -1."""
PREFIX = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of a public key in its PEM file [RFC 8410]."""

Point = tuple[int, int, int, int]
"""X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z."""
NEUTRAL: Point = (0, 1, 1, 0)


def public_key(pem: str) -> bytes | None:
    """Return the 32 bytes of a public key in PEM, None where it is none."""
    found = re.fullmatch(
        r"\s*-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END PUBLIC KEY-----\s*", pem
    )
    try:
        der = base64.b64decode("".join(found[1].split()), validate=True) if found else b""
    except ValueError:
        return None
    return der[len(PREFIX) :] if der.startswith(PREFIX) and len(der) == len(PREFIX) + 32 else None


def verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature of a message was made with the private key that belongs to a public one."""
    point = _decoded(key)
    if point is None or len(signature) != 64:
        return False
    written, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    if scalar >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(written + key + message).digest(), "little") % ORDER
    x, y, z, t = _times(k, point)
    return _encoded(_sum(_times(scalar, BASE), (-x % P, y, z, -t % P))) == written


def _sum(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    found = NEUTRAL
    while scalar:
        if scalar & 1:
            found = _sum(found, point)
        point, scalar = _sum(point, point), scalar >> 1
    return found


def _encoded(point: Point) -> bytes:
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decoded(written: bytes) -> Point | None:
    """Return the point that 32 bytes stand for, None where they stand for none."""
    y = int.from_bytes(written, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if len(written) != 32 or y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (not x and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = _decoded((4 * pow(5, -1, P) % P).to_bytes(32, "little")) or NEUTRAL
