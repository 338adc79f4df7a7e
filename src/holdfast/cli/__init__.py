"""The command line: parse, call one library function, render.

Exit codes: 0 kept, 1 violated, 2 error, 3 a fault of Holdfast. Heavy imports wait until a command runs.
"""

from holdfast.cli.app import main

__all__ = ["main"]
