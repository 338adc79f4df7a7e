"""How a draw is decided: integers and proved enclosures decide every draw, never a rounded float.

One word of randomness is a uniform number u known to 64 bits: u lies in [w, w + 1) / 2^64. A comparison
of u with a real number p is decided from w and the integer floor(p 2^64), unless the two are equal, or from
floats where they are clear. Else u gets more bits and p a narrower enclosure (ball arithmetic), until they
part. So each comparison has exactly the probability of the real number, at the cost of one word.
"""
