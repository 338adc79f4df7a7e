"""What readers are told of the count of a cell, its status, and the name of the column of it.

    structural zero   it cannot occur, as everyone knows
    exact             the invariants alone give its count, whatever the noise
    forced            they give it together with what everyone knows, such as that no count is below 0; the
                      count that is published may still have noise
    estimated         it was computed from what was measured, or processed after the release: it is biased
    noisy             it has unbiased noise of a public law, or noise within public bounds

What fixes a cell follows from public values alone [holdfast, universe/status.py].
"""

STATUS = "status"
STATUSES = ("noisy", "exact", "forced", "structural zero", "estimated")
